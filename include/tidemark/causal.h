/* tidemark/causal.h: what must have happened before what.
 *
 * The model. Everything that makes progress (a queue, a host thread, a file
 * ring, a collective) gets an *axis*: a number that is never used again. Each
 * step on an axis is an *epoch*: 1, 2, 3 … An operation is one point, (axis,
 * epoch). Draw all axes as parallel lines, and an operation's past is what lies
 * left of a cut across them. A *frontier* is that cut, written down sparsely:
 *
 *      queue:0.1  --1---2---3---4-|-5-------->
 *      queue:0.2  --1---2-|---------3---4---->      {queue:0.1@4, queue:0.2@2}
 *      host:0.1   ----------------------1---->
 *
 * An axis that is not listed is at 0: nothing of it is known. The one sentence
 * that all of Tidemark rests on: *(a, e) in a queue's frontier guarantees that
 * whatever enters this queue next starts only after all epochs <= e of axis a
 * have finished.*
 *
 * Taint. A frontier has a fixed capacity. When an entry has to go, the frontier
 * is marked *tainted*: entries may be missing; those that are here are still
 * true. Taint is asymmetric. "Does F know all that G needs?" is answered *no*
 * when G is tainted, since G's needs are not all listed (even if it lists none),
 * while a tainted F is compared as usual.
 *
 * The signaller rule. A tracked record (a timeline value's, say) names the
 * operation that made it, its *signaller*. "The signaller is known, or has
 * finished" is the whole test whether the record is satisfied: one look-up,
 * tainted or not. Dominance over whole frontiers is for what has no single
 * signaller.
 *
 * The *tracker* holds what the host has seen finish: axis -> epoch.
 *
 * Source: "Causal Dependency Tracking with Vector Clock Frontiers".
 */
#ifndef TIDEMARK_CAUSAL_H
#define TIDEMARK_CAUSAL_H

#include "tidemark/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- axes ---------------------------------------------------------------- */

/* [63:48] machine · [47:44] domain · [43:0] ordinal. 0 is not an axis. */
typedef uint64_t tide_axis;

enum tide_domain {
  TIDE_DOMAIN_QUEUE = 1,
  TIDE_DOMAIN_COLLECTIVE = 2,
  TIDE_DOMAIN_HOST = 3,
  TIDE_DOMAIN_STORAGE = 4,
  TIDE_DOMAIN_NETWORK = 5,
  TIDE_DOMAIN_KERNEL = 6,
  TIDE_DOMAIN_EXTERNAL = 7,
  TIDE_DOMAIN_COUNT = 8
};

#define TIDE_ORDINAL_MAX ((1ull << 44) - 1)

static inline tide_axis tide_axis_make(uint16_t machine, enum tide_domain domain,
                                       uint64_t ordinal) {
  return (uint64_t)machine << 48 | (uint64_t)((unsigned)domain & 15u) << 44 |
         (ordinal & TIDE_ORDINAL_MAX);
}
static inline uint16_t tide_axis_machine(tide_axis axis) { return (uint16_t)(axis >> 48); }
static inline unsigned tide_axis_domain(tide_axis axis) { return (unsigned)(axis >> 44) & 15u; }
static inline uint64_t tide_axis_ordinal(tide_axis axis) { return axis & TIDE_ORDINAL_MAX; }

/* "queue", "collective" …; "domain9" and so on are never returned: NULL if unknown. */
TIDE_API const char *tide_domain_name(unsigned domain);

/* Hands out ordinals, which only go up. The embedded default is machine 0 and a
 * lease that is private to the process. Thread-safe after init. */
struct tide_lease {
  uint16_t machine;
  uint64_t next[TIDE_DOMAIN_COUNT]; /* the next ordinal; from 1 */
  uint64_t end[TIDE_DOMAIN_COUNT];  /* one past the last that may be given */
};

/* Everything from ordinal 1 on, in every domain, for this machine number. The caller's storage. */
TIDE_API void tide_lease_init(struct tide_lease *lease, uint16_t machine);
/* An axis that nobody had before. TIDE_EXHAUSTED when the lease has no ordinal left (it never
 * wraps); TIDE_INVALID for an unknown domain. */
TIDE_API TIDE_MUST_CHECK enum tide_status
tide_lease_take(struct tide_lease *lease, enum tide_domain domain, tide_axis *out_axis);

/* ---- frontiers ------------------------------------------------------------ */

#define TIDE_FRONTIER_CAPACITY_MAX 255

/* The head of a frontier; its entries follow in memory, in a way that is private. Made in storage
 * of tide_frontier_size(capacity) bytes, 8-byte aligned, that the caller owns; there is nothing to
 * release. Not thread-safe by itself. */
struct tide_frontier {
  uint8_t capacity; /* 1..255 */
  uint8_t count;    /* 0..capacity */
  uint8_t tainted;  /* 0 or 1 */
  uint8_t raised;   /* private: where the entry may be that was raised last */
  uint16_t window;  /* private: how many axes from its first one on have a place each; 0: none */
  uint8_t reserved[2];
};

/* Private: how many words follow the head. */
#define TIDE_FRONTIER_WORDS(capacity)                                                              \
  ((capacity) < 9 ? (size_t)2 * (capacity) : ((size_t)2 * (capacity) + 7) / 8 * 8 + 1)

static inline size_t tide_frontier_size(size_t capacity) {
  return sizeof(struct tide_frontier) + TIDE_FRONTIER_WORDS(capacity) * sizeof(uint64_t);
}

/* Storage for a frontier with room for `cap` entries, for the stack or a struct. */
#define TIDE_FRONTIER_STORAGE(name, cap)                                                           \
  union {                                                                                          \
    struct tide_frontier frontier;                                                                 \
    uint64_t storage[1 + TIDE_FRONTIER_WORDS(cap)];                                                \
  } name

/* What a frontier says of one axis. */
struct tide_frontier_entry {
  tide_axis axis;
  uint64_t epoch;
};

/* On its way through the entries of a frontier, which nobody may change meanwhile:
 *
 *   struct tide_frontier_cursor at = tide_frontier_begin(frontier);
 *   struct tide_frontier_entry entry;
 *   while (tide_frontier_next(&at, &entry)) …
 *
 * Its members are private. */
struct tide_frontier_cursor {
  const tide_axis *axes; /* NULL: there is a window */
  const uint64_t *epochs;
  tide_axis first;
  size_t place, end;
};

static inline struct tide_frontier_cursor tide_frontier_begin(const struct tide_frontier *f) {
  const uint64_t *words = (const uint64_t *)(const void *)(f + 1);
  struct tide_frontier_cursor cursor;
  cursor.place = 0;
  cursor.first = 0;
  if (f->window) {
    cursor.first = words[0];
    cursor.axes = NULL;
    cursor.epochs = words + 1;
    cursor.end = f->window;
  } else {
    cursor.axes = words;
    cursor.epochs = words + f->capacity;
    cursor.end = f->count;
  }
  return cursor;
}

/* The next entry, in axis order. False: there are no more. */
static inline bool tide_frontier_next(struct tide_frontier_cursor *cursor,
                                      struct tide_frontier_entry *out_entry) {
  size_t place = cursor->place, end = cursor->end;
  if (!cursor->axes)
    while (place < end && cursor->epochs[place] == 0) place++;
  if (place >= end) return false;
  out_entry->axis = cursor->axes ? cursor->axes[place] : cursor->first + place;
  out_entry->epoch = cursor->epochs[place];
  cursor->place = place + 1;
  return true;
}

struct tide_context; /* context.h */
struct tide_tracker;

/* What may be evicted when a frontier is full. NULL where one is taken means: no
 * tracker, nothing is kept. */
struct tide_eviction {
  struct tide_tracker *tracker; /* finished entries go first, without taint; may be NULL */
  tide_axis keep;               /* never evicted (a queue's own axis); 0 = none */
};

enum tide_order { TIDE_EQUAL, TIDE_BEFORE, TIDE_AFTER, TIDE_CONCURRENT };

/* Empty, untainted. Capacity 1..255 (0 is taken as 1). */
TIDE_API void tide_frontier_init(struct tide_frontier *frontier, uint8_t capacity);
/* Empty and untainted again; the capacity stays. */
TIDE_API void tide_frontier_clear(struct tide_frontier *frontier);
/* to := from, evicting if `to` is smaller. */
TIDE_API void tide_frontier_copy(struct tide_frontier *to, const struct tide_frontier *from,
                                 const struct tide_eviction *eviction);
/* The epoch of an axis; 0 when it is not listed. */
TIDE_API uint64_t tide_frontier_get(const struct tide_frontier *frontier, tide_axis axis);
/* The entry becomes max(old, epoch). Epoch 0 changes nothing. */
TIDE_API void tide_frontier_insert_or_raise(struct tide_frontier *frontier, tide_axis axis,
                                            uint64_t epoch, const struct tide_eviction *eviction);
/* The same, mostly without a call: where it is the axis that was raised last, as a queue's own is,
 * and where all that are listed lie close together. */
static inline void tide_frontier_raise(struct tide_frontier *frontier, tide_axis axis,
                                       uint64_t epoch, const struct tide_eviction *eviction) {
  uint64_t *words = (uint64_t *)(void *)(frontier + 1);
  uint64_t place = frontier->raised; /* no place, where there is a window */
  if (place < frontier->count && words[place] == axis) {
    words += frontier->capacity;
    if (words[place] < epoch) words[place] = epoch;
    return;
  }
  place = axis - words[0];
  if (place < frontier->window && words[1 + place]) {
    if (words[1 + place] < epoch) words[1 + place] = epoch;
    return;
  }
  tide_frontier_insert_or_raise(frontier, axis, epoch, eviction);
}
/* Takes an entry out (no taint: the caller knows that it is not needed). */
TIDE_API void tide_frontier_drop(struct tide_frontier *frontier, tide_axis axis);
/* to := component-wise max. Tainted if either was, or if an entry was lost. When the union
 * does not fit: first entries go that the tracker knows to be finished (smallest epoch first,
 * no taint), then those with the smallest epochs, and the result is tainted. Ties: the larger
 * axis goes. `eviction->keep` never goes. The result does not depend on how entries were laid out.
 */
TIDE_API void tide_frontier_merge(struct tide_frontier *to, const struct tide_frontier *from,
                                  const struct tide_eviction *eviction);
/* Does `f` know all that `g` needs? False whenever g is tainted. */
TIDE_API bool tide_frontier_dominates(const struct tide_frontier *f, const struct tide_frontier *g);
/* EQUAL: each dominates the other. AFTER: f dominates g alone. BEFORE: g dominates f alone.
 * CONCURRENT: neither. Since nothing dominates a tainted frontier, a tainted g is never EQUAL or
 * AFTER, a tainted f never EQUAL or BEFORE. */
TIDE_API enum tide_order tide_frontier_compare(const struct tide_frontier *f,
                                               const struct tide_frontier *g);
/* May something start that knows `f`, when it needs `g`? Each entry of g is in f or finished by
 * the tracker (may be NULL). False whenever g is tainted. */
TIDE_API bool tide_frontier_satisfied(const struct tide_frontier *f, struct tide_tracker *tracker,
                                      const struct tide_frontier *g);
/* Are the invariants kept? Sorted, unique, no axis 0, no epoch 0, count <= capacity.
 * For memory that came from elsewhere. TIDE_CORRUPT and a diag otherwise. */
TIDE_API TIDE_MUST_CHECK enum tide_status
tide_frontier_validate(const struct tide_frontier *frontier, struct tide_diag *diag);

/* Text: `{queue:0.3@7, host:0.1@2}`, domain:machine.ordinal@epoch in axis order; `{…}~` is tainted;
 * `{}` is empty. Returns the length of the whole text, without the terminator, cut or not. */
TIDE_API size_t tide_frontier_print(const struct tide_frontier *frontier, char *buffer,
                                    size_t size);
/* `queue:0.3`; `?9:0.3` where the domain is unknown. Returns the whole length, as above. */
TIDE_API size_t tide_axis_print(tide_axis axis, char *buffer, size_t size);
/* Spaces are free; axes may come in any order; a duplicate, an unknown domain, a number out of
 * range or more entries than the capacity is TIDE_CORRUPT / TIDE_FULL with line 1 and the column.
 * `length` bytes are read, no terminator needed. On error the frontier is cleared. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_frontier_parse(const char *text, size_t length,
                                                              struct tide_frontier *frontier,
                                                              struct tide_diag *diag);

/* Wire form, little-endian: u8 version (1), u8 flags (bit 0 taint), u16 count, then count × (u64
 * axis, u64 epoch), sorted by axis. There is one encoding of a frontier: anything else is
 * TIDE_CORRUPT on decode (unknown version or flag, unsorted, duplicate, axis 0, unknown domain,
 * epoch 0, short or long input). */
static inline size_t tide_frontier_wire_size(size_t count) { return 4 + 16 * count; }
/* TIDE_FULL when `size` is too small; *out_size is what is needed or was written. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_frontier_encode(const struct tide_frontier *frontier,
                                                               void *buffer, size_t size,
                                                               size_t *out_size);
/* TIDE_FULL when count exceeds the capacity. On error the frontier is cleared. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_frontier_decode(const void *bytes, size_t size,
                                                               struct tide_frontier *frontier,
                                                               struct tide_diag *diag);

/* ---- position ------------------------------------------------------------- */

/* Where something stands: the last epoch given on its own axis, and what it knows. The frontier is
 * the guarantee: it lists the own axis only as far as the next entry is ordered behind it (all of
 * it where completion is in order; else as far as it was imported back). A queue embeds one; a host
 * thread that wants its signals tracked owns one with an axis of domain host. */
struct tide_tracker_axis;

struct tide_position {
  tide_axis axis;
  uint64_t epoch;
  struct tide_frontier *frontier;    /* owned by whoever owns the position */
  struct tide_tracker_axis *tracked; /* private; NULL at first */
};

/* ---- tracker -------------------------------------------------------------- */

/* Axis -> finished epoch, as the host has seen it. Thread-safe. An axis is unknown until it is
 * registered; the epochs of an unknown axis are never finished. A closed axis has finished all its
 * epochs, for ever. A failed axis' unfinished epochs satisfy nobody until its backend certifies
 * that they can no longer touch memory. Advancing costs O(log waiters of that axis). */
struct tide_tracker_params {
  size_t struct_size;
  const struct tide_allocator *allocator;
  const struct tide_platform *platform;
};

/* Both params are required. TIDE_NOMEM. A context makes its own. */
TIDE_API TIDE_MUST_CHECK enum tide_status
tide_tracker_create(const struct tide_tracker_params *params, struct tide_tracker **out_tracker);
/* Nobody may wait any more. NULL is fine. */
TIDE_API void tide_tracker_destroy(struct tide_tracker *tracker);
/* TIDE_BUSY when the axis is known or closed already; TIDE_NOMEM. The only call that allocates. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_tracker_register(struct tide_tracker *tracker,
                                                                tide_axis axis);
/* All epochs <= epoch have finished. Going down or standing still changes nothing. Runs the
 * callbacks that became ready, without a lock held. TIDE_NOT_FOUND for an unknown axis. */
TIDE_API enum tide_status tide_tracker_advance(struct tide_tracker *tracker, tide_axis axis,
                                               uint64_t epoch);
/* The axis will make no further progress: its waiters fail with `status`, without a lock held. The
 * first failure wins. TIDE_NOT_FOUND for an unknown axis, as from the next two. */
TIDE_API enum tide_status tide_tracker_fail(struct tide_tracker *tracker, tide_axis axis,
                                            enum tide_status status);
/* The failed axis' unfinished epochs can no longer touch memory: they count as finished.
 * TIDE_INVALID: it has not failed. */
TIDE_API enum tide_status tide_tracker_certify(struct tide_tracker *tracker, tide_axis axis);
/* All epochs that were ever given have finished. The axis' state shrinks to an interval. */
TIDE_API enum tide_status tide_tracker_close(struct tide_tracker *tracker, tide_axis axis);
/* Has (axis, epoch) finished? */
TIDE_API bool tide_tracker_finished(struct tide_tracker *tracker, tide_axis axis, uint64_t epoch);
/* The finished epoch; 0 when unknown, UINT64_MAX when closed or certified. */
TIDE_API uint64_t tide_tracker_epoch(struct tide_tracker *tracker, tide_axis axis);
/* How many axes are registered and not closed. */
TIDE_API size_t tide_tracker_live(struct tide_tracker *tracker);

/* Waits until all entries of a frontier have finished. Storage is the caller's: one node an entry.
 * What follows `user` is private. */
struct tide_waiter {
  uint64_t private_words[7];
};
struct tide_frontier_wait {
  struct tide_waiter *nodes; /* the caller's array, at least frontier->count long */
  void (*done)(struct tide_frontier_wait *wait,
               enum tide_status status); /* no lock held; called once */
  void *user;
  struct tide_tracker *tracker;
  struct tide_frontier_wait *next, **link; /* in the tracker's list of all that are pending */
  struct tide_tracker_axis *at;
  uint32_t status;
  uint8_t first, others, front, state;
};
/* `done` may do anything but advance, by whatever way, what the next wait's `done` waits for, for
 * ever: such calls nest. Chains of timepoints (timeline.h) don't. Registers. `done` runs on the
 * thread that finishes the last entry, or in here when all have finished already. TIDE_NOT_FOUND
 * for an unknown axis, TIDE_INVALID for a tainted frontier (nobody can say when it has finished),
 * TIDE_FULL when node_count is too small: then nothing is registered. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_tracker_wait(struct tide_tracker *tracker,
                                                            const struct tide_frontier *frontier,
                                                            struct tide_frontier_wait *wait,
                                                            size_t node_count);
/* True: `done` will never run. False: it has run or is running on another thread. */
TIDE_API bool tide_tracker_cancel(struct tide_frontier_wait *wait);

#ifdef __cplusplus
}
#endif
#endif
