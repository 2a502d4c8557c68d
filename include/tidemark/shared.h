/* tidemark/shared.h: timelines in memory that several processes map (scope *system*).
 *
 * The model. A *region* is memory that the caller hands in, mapped from a descriptor (memfd). It is
 * a row of timelines, *slots*, all of one owner:
 *
 *      region   | head | slot 0 | slot 1 | slot 2 | …
 *      slot     value 7   lowest broken -   failed from -   records  {a@3} for 5   {a@4, b@9} for 7
 *
 * One process owns the right to signal, and maps it writable. Others map it read-only and are
 * *readers*: to query is one load, "v is good" is two, and a blocked wait is one futex. No process
 * waits for another: a reader that is stopped, or dies, is not noticed, and a writer that dies at
 * any instruction leaves no partial record behind. Then the *reaper*, one that maps it writable too
 * (the service), fails the unreached values, and their waiters are told.
 *
 *      owner                              reader
 *      tide_shared_format, _attach        tide_shared_attach
 *      tide_shared_open(slot, generation) … is told slot and generation …
 *      tide_shared_signal(slot, 5)        tide_shared_wait(slot, generation, 5, deadline)
 *      tide_shared_close(slot)            TIDE_CANCELLED, for ever: generations are not used again
 *
 * A signal writes its record (the signaller and its frontier) to a free slot and then stores the
 * value: a reader of the value finds the record, or later ones that have replaced it. A frontier
 * means something in another process only if both got their axes from the same *shared lease*: both
 * sides name it when they attach. Otherwise, or where the frontier is not known, the value is
 * external: it opens waits and teaches nothing.
 *
 * A reader trusts nothing. The writer may be hostile, and the bytes may change between two looks.
 * The sizes are checked once and kept outside of the region; a record is copied, then checked, then
 * used. A hostile writer can lie about its own timelines; it cannot make a reader crash, read out
 * of bounds, or wait beyond its deadline. Name a lease only where you trust the writer to tell the
 * truth about its past.
 *
 * Duties of the mapper: a file that can shrink takes the mapping away under its readers, so ask for
 * a memfd with F_SEAL_SHRINK set (fcntl F_GET_SEALS) before you map it. And readers get a
 * descriptor that cannot be written (F_SEAL_FUTURE_WRITE, or opened anew read-only).
 *
 * Threads: calls that write to one slot (open, signal, publish, fail, close) must not overlap, in
 * one process or several: the reaper begins when the owner has ended, not when it is silent.
 * Anything else may be called from any thread at any time.
 *
 * Errors, unless it says otherwise: TIDE_INVALID: no such slot; TIDE_DENIED: it writes, and was
 * attached to read only; TIDE_CANCELLED: the slot is closed, or of another generation.
 *
 * Source: docs/shared.md; futex(2), memfd_create(2).
 */
#ifndef TIDEMARK_SHARED_H
#define TIDEMARK_SHARED_H

#include "tidemark/timeline.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a region is made for. */
struct tide_shared_shape {
  uint32_t count;   /* slots; 1..2^20 */
  uint32_t records; /* that a slot keeps: 0: none, all values are external; else 2..1024 */
  uint8_t capacity; /* of a record's frontier: 1..255; 0 without records */
};

/* The bytes that a region of this shape takes; 0: no such shape, or more than fits. */
TIDE_API size_t tide_shared_size(const struct tide_shared_shape *shape);
/* Makes zeroed memory, 64-byte aligned, a region: once, before anybody attaches. TIDE_INVALID: the
 * shape, the alignment; TIDE_FULL: `size` is too small. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_shared_format(void *memory, size_t size,
                                                             const struct tide_shared_shape *shape);

/* One process's view of a region. The caller's storage; there is nothing to release. */
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
  const struct tide_platform *platform; /* required; it outlives the view */
  bool writable;                        /* the memory is mapped so, and this process may signal */
  uint64_t lease; /* of whom the axes come: the same number in all processes that share a lease; 0:
                     of nobody else, records leave and enter as external */
};

/* Looks at the region's head once, and copies what it needs. TIDE_INVALID: params, alignment;
 * TIDE_CORRUPT: it is not a region, not of this version, or larger than `size`. */
TIDE_API TIDE_MUST_CHECK enum tide_status
tide_shared_attach(struct tide_shared *out_shared, void *memory, size_t size,
                   const struct tide_shared_params *params);
/* A signaller cannot see who sleeps, so each signal makes the system call that wakes. True: nobody
 * else has mapped the region, and no thread here waits, so it need not. Say false before the
 * descriptor leaves, and not while another thread writes. */
TIDE_API void tide_shared_set_alone(struct tide_shared *shared, bool alone);

/* ---- the owner's -------------------------------------------------------------------------- */

/* A new timeline in a slot that is closed; who waits for this generation already is woken. The
 * generation tells it from earlier ones and must be above theirs, and above 0: TIDE_INVALID.
 * TIDE_BUSY: the slot is open. */
TIDE_API TIDE_MUST_CHECK enum tide_status
tide_shared_open(struct tide_shared *shared, uint32_t slot, uint32_t generation, uint64_t initial);
/* Raises the value, and wakes. With a frontier, which lists (axis, epoch), the signaller, the value
 * is tracked, if the region keeps records and the view names a lease; NULL: external. TIDE_VALUE:
 * it would not go up; TIDE_INVALID: the frontier is not valid or does not list the signaller; the
 * failure: value is in the failed part. Then nothing has changed. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_shared_signal(struct tide_shared *shared,
                                                             uint32_t slot, uint64_t value,
                                                             const struct tide_frontier *frontier,
                                                             tide_axis axis, uint64_t epoch);
/* Stores only; who sleeps sleeps on until tide_shared_wake: for an owner that changes many slots
 * and wakes later. External. Values from lowest_broken on (UINT64_MAX: none) may have broken one by
 * one while later ones were reached: what became of them, the owner is to be asked. Neither number
 * ever goes back: the value keeps its maximum, lowest_broken its minimum. The failure, if there is
 * one: the value stays. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_shared_publish(struct tide_shared *shared,
                                                              uint32_t slot, uint64_t value,
                                                              uint64_t lowest_broken);
/* Wakes whoever sleeps on the slot, to look again. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_shared_wake(struct tide_shared *shared,
                                                           uint32_t slot);
/* Fails what is not reached from `from` upward (0: all), and wakes. The first failure's status
 * stays; a later one may only begin lower. TIDE_INVALID also: status is TIDE_OK, TIDE_TIMEOUT,
 * TIDE_NOT_FOUND or TIDE_CORRUPT, which mean something else here. */
TIDE_API TIDE_MUST_CHECK enum tide_status
tide_shared_fail(struct tide_shared *shared, uint32_t slot, uint64_t from, enum tide_status status);
/* Ends the timeline, and wakes: whoever holds its generation gets TIDE_CANCELLED from now on. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_shared_close(struct tide_shared *shared,
                                                            uint32_t slot);
/* The reaper's, of a writer that has ended: fails all that is unreached in all open slots, and
 * wakes all who sleep in the region; generations that would have come fail, too. What was reached
 * stays so. May be done twice. TIDE_INVALID as
 * above. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_shared_reap(struct tide_shared *shared,
                                                           enum tide_status status);

/* ---- everybody's -------------------------------------------------------------------------- */

/* The current value: one load. 0: no such slot. It may be that of another generation. */
TIDE_API uint64_t tide_shared_value(const struct tide_shared *shared, uint32_t slot);
/* What became of a value: TIDE_OK: it is good, and stays so; TIDE_TIMEOUT: nothing yet, or the slot
 * has not come to this generation;
 * TIDE_NOT_FOUND: at or above the lowest broken one, which the memory does not tell apart: ask the
 * owner; TIDE_CORRUPT: no owner writes such things; else the failure. Never blocks. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_shared_look(const struct tide_shared *shared,
                                                           uint32_t slot, uint32_t generation,
                                                           uint64_t value);
/* Blocks until look has another answer than TIDE_TIMEOUT, or the deadline passes. A deadline of
 * TIDE_NOW never enters the kernel. TIDE_UNSUPPORTED: it would sleep, and the platform has no
 * wait_shared. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_shared_wait(const struct tide_shared *shared,
                                                           uint32_t slot, uint32_t generation,
                                                           uint64_t value, uint64_t deadline);

/* For whoever has more to look at than the slot, which the owner writes before it wakes: read the
 * word, look at everything, sleep for as long as the word is that. Sleeping answers TIDE_OK: look
 * again; TIDE_TIMEOUT: the deadline has passed; TIDE_UNSUPPORTED as above. */
TIDE_API uint32_t tide_shared_word(const struct tide_shared *shared, uint32_t slot);
/* Sleeps while the word is `seen`: see above. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_shared_sleep(const struct tide_shared *shared,
                                                            uint32_t slot, uint32_t seen,
                                                            uint64_t deadline);

struct tide_shared_point {
  const struct tide_shared *shared;
  uint32_t slot, generation;
  uint64_t value;
};
/* Blocks until one of them has an answer, which it gives, and in *out_index (may be NULL) whose it
 * is: the first, if there are several. TIDE_TIMEOUT; TIDE_INVALID: count 0. Above 128 points, or on
 * a system that cannot sleep on several, it looks again each millisecond. */
TIDE_API TIDE_MUST_CHECK enum tide_status
tide_shared_wait_any(const struct tide_shared_point *points, size_t count, uint64_t deadline,
                     size_t *out_index);
/* Copies what is known about a good value, checked (NULL: only info). The smallest tracked record
 * that is kept and >= value answers: coarse, when that is not the one that reached it. Without one,
 * or a shared lease, the answer is external, and the frontier empty and tainted, as with every
 * error. What look answers, if it is not TIDE_OK; TIDE_NOT_FOUND also: the initial value or below;
 * TIDE_CORRUPT: no owner writes such a record. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_shared_record(const struct tide_shared *shared,
                                                             uint32_t slot, uint32_t generation,
                                                             uint64_t value,
                                                             struct tide_frontier *out_frontier,
                                                             struct tide_record_info *out_info);

#ifdef __cplusplus
}
#endif
#endif
