/* tidemark/shared.h: timelines in memory that several processes map (scope *system*).
 *
 * The model. A *region* is memory that the caller provides, mapped from a descriptor (memfd). It is
 * an array of timelines, *slots*, all of one owner:
 *
 *      region   | head | slot 0 | slot 1 | slot 2 | …
 *      slot     value 7   lowest broken -   failed from -   records  {a@3} for 5   {a@4, b@9} for 7
 *
 * One process owns the right to signal, and maps the region writable. Others map it read-only and
 * are *readers*: a query is one load, "v is good" is two, and a blocked wait is one futex. No
 * process waits for another: a reader that is stopped, or dies, has no effect. A writer that dies
 * at any instruction leaves no partial record behind. Then the *reaper*, another process that maps
 * the region writable (the service), fails the unreached values, and their waiters are notified.
 *
 *      owner                              reader
 *      tide_shared_format, _attach        tide_shared_attach
 *      tide_shared_open(slot, generation) … receives slot and generation …
 *      tide_shared_signal(slot, 5)        tide_shared_wait(slot, generation, 5, deadline)
 *      tide_shared_close(slot)            TIDE_CANCELLED, for ever: generations are not reused
 *
 * A signal writes its record (the signaller and its frontier) to a free record slot and then stores
 * the value: a reader of the value finds the record, or later ones that have replaced it. A
 * frontier is meaningful in another process only if both got their axes from the same *shared
 * lease*; both sides name the lease when they attach. Otherwise, or without a known frontier, the
 * value is external: it satisfies waits and carries no knowledge.
 *
 * A reader trusts nothing. The writer may be hostile, and the bytes may change between two loads.
 * The sizes are checked once and kept outside of the region; a record is copied, then checked, then
 * used. A hostile writer can lie about its own timelines. It cannot make a reader crash, read out
 * of bounds, or wait beyond its deadline. Name a lease only if you trust the writer's statements
 * about its past.
 *
 * Duties of the process that maps the region. A file that can shrink removes the mapping under its
 * readers: require a memfd with F_SEAL_SHRINK set (fcntl F_GET_SEALS) before you map it. Readers
 * get a descriptor that cannot be written (F_SEAL_FUTURE_WRITE, or opened anew read-only).
 *
 * Threads: calls that write to one slot (open, signal, publish, fail, close) must not overlap, in
 * one process or several: the reaper begins when the owner has ended, not when it is silent. Any
 * thread may call everything else at any time.
 *
 * Errors, unless a comment says otherwise: TIDE_INVALID: no such slot; TIDE_DENIED: the call
 * writes, and the view is read-only; TIDE_CANCELLED: the slot is closed, or of another generation.
 *
 * Source: docs/shared.md; futex(2), memfd_create(2).
 */
#ifndef TIDEMARK_SHARED_H
#define TIDEMARK_SHARED_H

#include "tidemark/timeline.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The dimensions of a region. */
struct tide_shared_shape {
  uint32_t count;   /* slots; 1..2^20 */
  uint32_t records; /* records kept per slot: 0: none, all values are external; else 2..1024 */
  uint8_t capacity; /* capacity of a record's frontier: 1..255; 0 without records */
};

/* Returns the size in bytes of a region of this shape; 0: an invalid shape, or too large. */
TIDE_API size_t tide_shared_size(const struct tide_shared_shape *shape);
/* Initializes zeroed memory, 64-byte aligned, as a region: once, before any process attaches.
 * TIDE_INVALID: the shape, the alignment; TIDE_FULL: `size` is too small. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_shared_format(void *memory, size_t size,
                                                             const struct tide_shared_shape *shape);

/* A process's view of a region. The caller's storage; no release is needed. */
struct tide_shared {
  unsigned char *memory;
  const struct tide_platform *platform;
  uint64_t lease;
  size_t slot_size, record_size;
  struct tide_shared_shape shape;
  bool writable;
  bool alone; /* see tide_shared_set_alone */
};

struct tide_shared_params {
  size_t struct_size;
  const struct tide_platform *platform; /* required; must outlive the view */
  bool writable;                        /* the memory is mapped writable, and this process may
                                           signal */
  uint64_t lease; /* source of the axes: the same number in all processes that share a lease; 0:
                     none is shared, and records are written and read as external */
};

/* Attaches a view: checks the region's head once, and copies the needed part of it. TIDE_INVALID:
 * params (struct_size is missing, too), alignment; TIDE_CORRUPT: not a region, not of this version,
 * or larger than `size`. */
TIDE_API TIDE_MUST_CHECK enum tide_status
tide_shared_attach(struct tide_shared *out_shared, void *memory, size_t size,
                   const struct tide_shared_params *params);
/* Sets whether other processes map the region. A signaller cannot see the waiters, so each signal
 * makes the system call that wakes them. True: no other process has mapped the region, and no
 * thread here waits, so signals skip the call. Set false before the descriptor leaves the process,
 * and not while another thread writes. */
TIDE_API void tide_shared_set_alone(struct tide_shared *shared, bool alone);

/* ---- functions of the owner ------------------------------------------------------------------ */

/* Opens a new timeline in a closed slot, and wakes waiters that already wait for this generation.
 * The generation must be above those of earlier timelines, and above 0: TIDE_INVALID. TIDE_BUSY:
 * the slot is open. */
TIDE_API TIDE_MUST_CHECK enum tide_status
tide_shared_open(struct tide_shared *shared, uint32_t slot, uint32_t generation, uint64_t initial);
/* Raises the value, and wakes. The value is tracked if `frontier` lists (axis, epoch), the
 * signaller, the region keeps records and the view names a lease. NULL: external. On an error
 * nothing has changed. TIDE_VALUE: the value would not increase; TIDE_INVALID: the frontier is not
 * valid or does not list the signaller; or the failure's status: value is in the failed part. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_shared_signal(struct tide_shared *shared,
                                                             uint32_t slot, uint64_t value,
                                                             const struct tide_frontier *frontier,
                                                             tide_axis axis, uint64_t epoch);
/* Stores an external value without waking: waiters sleep until tide_shared_wake. For an owner that
 * changes many slots and wakes later. Values from lowest_broken on (UINT64_MAX: none) may have
 * broken one by one while later ones were reached; only the owner knows the state of each. Neither
 * number ever goes back: the value keeps its maximum, lowest_broken its minimum. After a failure,
 * returns the failure's status; the value stays. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_shared_publish(struct tide_shared *shared,
                                                              uint32_t slot, uint64_t value,
                                                              uint64_t lowest_broken);
/* Wakes all waiters of the slot, which then check it again. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_shared_wake(struct tide_shared *shared,
                                                           uint32_t slot);
/* Fails the unreached values from `from` upward (0: all), and wakes. The first failure's status
 * stays; a later one may only begin lower. TIDE_INVALID also: status is TIDE_OK, TIDE_TIMEOUT,
 * TIDE_NOT_FOUND or TIDE_CORRUPT, which have other meanings here. */
TIDE_API TIDE_MUST_CHECK enum tide_status
tide_shared_fail(struct tide_shared *shared, uint32_t slot, uint64_t from, enum tide_status status);
/* Closes the timeline, and wakes: all holders of its generation get TIDE_CANCELLED from now on. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_shared_close(struct tide_shared *shared,
                                                            uint32_t slot);
/* Reaps a writer that has ended: fails all unreached values of all open slots, and wakes all
 * waiters of the region. Generations that were still to come fail, too. Reached values stay
 * reached. May be called twice. TIDE_INVALID also: a status as for tide_shared_fail. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_shared_reap(struct tide_shared *shared,
                                                           enum tide_status status);

/* ---- functions of all processes -------------------------------------------------------------- */

/* Returns the current value: one load. 0: no such slot. The value may be that of another
 * generation. */
TIDE_API uint64_t tide_shared_value(const struct tide_shared *shared, uint32_t slot);
/* Returns the state of a value. TIDE_OK: good, and stays so; TIDE_TIMEOUT: pending, or the slot has
 * not reached this generation; TIDE_NOT_FOUND: at or above the lowest broken one, so only the owner
 * knows its state; TIDE_CORRUPT: no correct owner writes such bytes; else the failure. Never
 * blocks. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_shared_look(const struct tide_shared *shared,
                                                           uint32_t slot, uint32_t generation,
                                                           uint64_t value);
/* Blocks until tide_shared_look returns another status than TIDE_TIMEOUT, or the deadline passes. A
 * deadline of TIDE_NOW never enters the kernel. TIDE_UNSUPPORTED: it would sleep, and the platform
 * has no wait_shared. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_shared_wait(const struct tide_shared *shared,
                                                           uint32_t slot, uint32_t generation,
                                                           uint64_t value, uint64_t deadline);

/* Returns the slot's word, for a waiter that also checks other memory, which the owner writes
 * before it wakes. Read the word, check everything, then sleep with tide_shared_sleep while the
 * word is unchanged. */
TIDE_API uint32_t tide_shared_word(const struct tide_shared *shared, uint32_t slot);
/* Sleeps while the word is `seen`. TIDE_OK: check again; TIDE_TIMEOUT: the deadline has passed;
 * TIDE_UNSUPPORTED: the platform has no wait_shared. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_shared_sleep(const struct tide_shared *shared,
                                                            uint32_t slot, uint32_t seen,
                                                            uint64_t deadline);

struct tide_shared_point {
  const struct tide_shared *shared;
  uint32_t slot, generation;
  uint64_t value;
};
/* Blocks until tide_shared_look of a point returns another status than TIDE_TIMEOUT, and returns
 * it. *out_index (may be NULL) is the index of that point, the first if there are several.
 * TIDE_TIMEOUT; TIDE_INVALID: count 0. With more than 128 points, or on a system that cannot sleep
 * on several words, it checks each millisecond. */
TIDE_API TIDE_MUST_CHECK enum tide_status
tide_shared_wait_any(const struct tide_shared_point *points, size_t count, uint64_t deadline,
                     size_t *out_index);
/* Copies the record of a good value, checked (NULL: only info). The record is the smallest kept
 * tracked one >= value: coarse, if another record reached the value. Without one, or without a
 * shared lease, the record is external, and the frontier empty and tainted, as with every error.
 * Errors as from tide_shared_look; TIDE_NOT_FOUND also: the initial value or below; TIDE_CORRUPT
 * also: no correct owner writes such a record. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_shared_record(const struct tide_shared *shared,
                                                             uint32_t slot, uint32_t generation,
                                                             uint64_t value,
                                                             struct tide_frontier *out_frontier,
                                                             struct tide_record_info *out_info);

#ifdef __cplusplus
}
#endif
#endif
