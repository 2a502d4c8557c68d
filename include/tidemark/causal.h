/* tidemark/causal.h: axes, epochs, frontiers, and the tracker of finished epochs.
 *
 * The model. Everything that makes progress (a queue, a host thread, a file ring, a collective) has
 * an *axis*: a number that is never reused. Each step on an axis is an *epoch*: 1, 2, 3 … An
 * operation is one point, (axis, epoch). Draw all axes as parallel lines: an operation's past is
 * the part to the left of a cut across them. A *frontier* is that cut, stored sparsely:
 *
 *      queue:0.1  --1---2---3---4-|-5-------->
 *      queue:0.2  --1---2-|---------3---4---->      {queue:0.1@4, queue:0.2@2}
 *      host:0.1   ----------------------1---->
 *
 * An axis that is not listed has epoch 0: none of its steps are known. All of Tidemark rests on one
 * guarantee: *(a, e) in a queue's frontier means that every operation that enters this queue from
 * now on starts only after all epochs <= e of axis a have finished.*
 *
 * Taint. A frontier has a fixed capacity. When an entry must be evicted, the frontier is marked
 * *tainted*: entries may be missing, and the remaining ones are still true. Taint is asymmetric.
 * "Does F know all that G needs?" is *no* for a tainted G, because G's needs are not all listed
 * (even if it lists none). A tainted F is compared as usual.
 *
 * The signaller rule. A tracked record (of a timeline value, for example) names the operation that
 * made it, its *signaller*. The record is satisfied if the signaller is known, or has finished: one
 * look-up, tainted or not. Dominance over whole frontiers is only for pasts without a single
 * signaller.
 *
 * The *tracker* maps each axis to the epoch that the host has seen finish.
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

/* An axis: [63:48] machine · [47:44] domain · [43:0] ordinal. 0 is no axis. */
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

/* Returns "queue", "collective" …; NULL for an unknown domain. */
TIDE_API const char *tide_domain_name(unsigned domain);

/* An allocator of ordinals, which only increase. The default of a context is machine 0 and a lease
 * that is private to the process. Thread-safe after init. */
struct tide_lease {
  uint16_t machine;
  uint64_t next[TIDE_DOMAIN_COUNT]; /* the next ordinal; starts at 1 */
  uint64_t end[TIDE_DOMAIN_COUNT];  /* end of the range: the last ordinal + 1 */
};

/* Initializes a lease, in the caller's storage, to all ordinals from 1 on, in every domain, of this
 * machine number. */
TIDE_API void tide_lease_init(struct tide_lease *lease, uint16_t machine);
/* Returns an axis that was never used before. TIDE_EXHAUSTED: the lease has no ordinal left (it
 * never wraps); TIDE_INVALID: an unknown domain. */
TIDE_API TIDE_MUST_CHECK enum tide_status
tide_lease_take(struct tide_lease *lease, enum tide_domain domain, tide_axis *out_axis);

/* ---- frontiers ------------------------------------------------------------ */

#define TIDE_FRONTIER_CAPACITY_MAX 255

/* The head of a frontier. The entries follow in memory, in a private layout. The caller owns the
 * storage: tide_frontier_size(capacity) bytes, 8-byte aligned. No release is needed. Not
 * thread-safe by itself. */
struct tide_frontier {
  uint8_t capacity; /* 1..255 */
  uint8_t count;    /* 0..capacity */
  uint8_t tainted;  /* 0 or 1 */
  uint8_t raised;   /* private: probable index of the entry that was raised last */
  uint16_t window;  /* private: number of consecutive axes, from the first one on, with one slot
                       each; 0: none */
  uint8_t reserved[2];
};

/* Private: the number of words after the head. */
#define TIDE_FRONTIER_WORDS(capacity)                                                              \
  ((capacity) < 9 ? (size_t)2 * (capacity) : ((size_t)2 * (capacity) + 7) / 8 * 8 + 1)

static inline size_t tide_frontier_size(size_t capacity) {
  return sizeof(struct tide_frontier) + TIDE_FRONTIER_WORDS(capacity) * sizeof(uint64_t);
}

/* Storage for a frontier with a capacity of `cap` entries, for the stack or a struct. */
#define TIDE_FRONTIER_STORAGE(name, cap)                                                           \
  union {                                                                                          \
    struct tide_frontier frontier;                                                                 \
    uint64_t storage[1 + TIDE_FRONTIER_WORDS(cap)];                                                \
  } name

/* An entry of a frontier. */
struct tide_frontier_entry {
  tide_axis axis;
  uint64_t epoch;
};

/* An iterator over the entries of a frontier, which no thread may change meanwhile:
 *
 *   struct tide_frontier_cursor at = tide_frontier_begin(frontier);
 *   struct tide_frontier_entry entry;
 *   while (tide_frontier_next(&at, &entry)) …
 *
 * The members are private. */
struct tide_frontier_cursor {
  const tide_axis *axes; /* NULL: the frontier has a window */
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

/* Returns the next entry, in axis order. False: no more entries. */
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

/* The eviction policy of a full frontier. A function that accepts NULL instead uses no tracker and
 * keeps no axis. */
struct tide_eviction {
  struct tide_tracker *tracker; /* finished entries are evicted first, without taint; may be NULL */
  tide_axis keep;               /* never evicted (a queue's own axis); 0: none */
};

enum tide_order { TIDE_EQUAL, TIDE_BEFORE, TIDE_AFTER, TIDE_CONCURRENT };

/* Initializes to empty and untainted. Capacity 1..255 (0 is treated as 1). */
TIDE_API void tide_frontier_init(struct tide_frontier *frontier, uint8_t capacity);
/* Makes the frontier empty and untainted; keeps the capacity. */
TIDE_API void tide_frontier_clear(struct tide_frontier *frontier);
/* Copies `from` to `to`, with eviction if `to` is smaller. */
TIDE_API void tide_frontier_copy(struct tide_frontier *to, const struct tide_frontier *from,
                                 const struct tide_eviction *eviction);
/* Returns the epoch of an axis; 0: not listed. */
TIDE_API uint64_t tide_frontier_get(const struct tide_frontier *frontier, tide_axis axis);
/* Sets the axis' entry to max(old, epoch). Epoch 0 changes nothing. */
TIDE_API void tide_frontier_insert_or_raise(struct tide_frontier *frontier, tide_axis axis,
                                            uint64_t epoch, const struct tide_eviction *eviction);
/* Raises like tide_frontier_insert_or_raise, mostly inline: if the axis is the one that was raised
 * last, as a queue's own is, or if the frontier has a window. */
static inline void tide_frontier_raise(struct tide_frontier *frontier, tide_axis axis,
                                       uint64_t epoch, const struct tide_eviction *eviction) {
  uint64_t *words = (uint64_t *)(void *)(frontier + 1);
  uint64_t place = frontier->raised; /* no valid index if there is a window */
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
/* Removes an entry, without taint: the caller knows that it is not needed. */
TIDE_API void tide_frontier_drop(struct tide_frontier *frontier, tide_axis axis);
/* Sets `to` to the component-wise maximum. The result is tainted if either input was, or if an
 * entry was lost. When the union does not fit, entries that the tracker has seen finish are evicted
 * first (smallest epoch first, no taint). After them the entries with the smallest epochs go, which
 * taints the result. Ties: the larger axis goes. `eviction->keep` is never evicted. The result does
 * not depend on the layout of the entries. */
TIDE_API void tide_frontier_merge(struct tide_frontier *to, const struct tide_frontier *from,
                                  const struct tide_eviction *eviction);
/* True if `f` knows all that `g` needs. False whenever g is tainted. */
TIDE_API bool tide_frontier_dominates(const struct tide_frontier *f, const struct tide_frontier *g);
/* Compares. EQUAL: each dominates the other. AFTER: only f dominates g. BEFORE: only g dominates f.
 * CONCURRENT: neither. A tainted frontier is never dominated, so a tainted g is never EQUAL or
 * AFTER, a tainted f never EQUAL or BEFORE. */
TIDE_API enum tide_order tide_frontier_compare(const struct tide_frontier *f,
                                               const struct tide_frontier *g);
/* True if an operation that knows `f` and needs `g` may start: each entry of g is in f, or the
 * tracker (may be NULL) has seen it finish. False whenever g is tainted. */
TIDE_API bool tide_frontier_satisfied(const struct tide_frontier *f, struct tide_tracker *tracker,
                                      const struct tide_frontier *g);
/* Checks the invariants of a frontier from untrusted memory: sorted, unique, no axis 0, no epoch 0,
 * count <= capacity. TIDE_CORRUPT, with a diag. */
TIDE_API TIDE_MUST_CHECK enum tide_status
tide_frontier_validate(const struct tide_frontier *frontier, struct tide_diag *diag);

/* Prints `{queue:0.3@7, host:0.1@2}`, domain:machine.ordinal@epoch in axis order; `{…}~` is
 * tainted; `{}` is empty. Returns the length of the whole text, without the terminator, cut or
 * not. */
TIDE_API size_t tide_frontier_print(const struct tide_frontier *frontier, char *buffer,
                                    size_t size);
/* Prints `queue:0.3`; `?9:0.3` for an unknown domain. Returns the length of the whole text, as
 * above. */
TIDE_API size_t tide_axis_print(tide_axis axis, char *buffer, size_t size);
/* Parses the text form. Spaces are optional, and axes may come in any order. Reads `length` bytes,
 * without a terminator. TIDE_CORRUPT, with line 1 and the column: a duplicate, an unknown domain, a
 * number out of range; TIDE_FULL, likewise: more entries than the capacity. On error the frontier
 * is cleared. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_frontier_parse(const char *text, size_t length,
                                                              struct tide_frontier *frontier,
                                                              struct tide_diag *diag);

/* Returns the size of the wire form, little-endian: u8 version (1), u8 flags (bit 0 taint), u16
 * count, then count × (u64 axis, u64 epoch), sorted by axis. A frontier has one encoding. Decode
 * returns TIDE_CORRUPT for any other: unknown version or flag, unsorted, duplicate, axis 0, unknown
 * domain, epoch 0, short or long input. */
static inline size_t tide_frontier_wire_size(size_t count) { return 4 + 16 * count; }
/* Writes the wire form. *out_size is the number of bytes that were written or are needed.
 * TIDE_FULL: `size` is too small. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_frontier_encode(const struct tide_frontier *frontier,
                                                               void *buffer, size_t size,
                                                               size_t *out_size);
/* Reads the wire form. TIDE_FULL: count exceeds the capacity; TIDE_CORRUPT. On error the frontier
 * is cleared. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_frontier_decode(const void *bytes, size_t size,
                                                               struct tide_frontier *frontier,
                                                               struct tide_diag *diag);

/* ---- position ------------------------------------------------------------- */

/* The position of a queue or a thread: the epoch that was assigned last on its own axis, and its
 * knowledge. The frontier is the guarantee. It lists the own axis only as far as the next entry is
 * ordered after it: all epochs where completion is in order, otherwise those that were imported
 * back. A queue embeds a position. A host thread that wants tracked signals owns one, with an axis
 * of domain host. */
struct tide_tracker_axis;

struct tide_position {
  tide_axis axis;
  uint64_t epoch;
  struct tide_frontier *frontier;    /* owned by the owner of the position */
  struct tide_tracker_axis *tracked; /* private; NULL at first */
};

/* ---- tracker -------------------------------------------------------------- */

/* The tracker: axis -> finished epoch, as the host has seen it. Thread-safe. An axis is unknown
 * until it is registered; the epochs of an unknown axis are never finished. A closed axis has
 * finished all its epochs, permanently. The unfinished epochs of a failed axis satisfy no wait
 * until its backend certifies that they can no longer touch memory. An advance costs O(log waiters
 * of that axis). */
struct tide_tracker_params {
  size_t struct_size;
  const struct tide_allocator *allocator;
  const struct tide_platform *platform;
};

/* Creates a tracker; a context creates its own. Both pointers are required. TIDE_NOMEM;
 * TIDE_INVALID: struct_size is missing. */
TIDE_API TIDE_MUST_CHECK enum tide_status
tide_tracker_create(const struct tide_tracker_params *params, struct tide_tracker **out_tracker);
/* Destroys the tracker. No wait may be pending. NULL is fine. */
TIDE_API void tide_tracker_destroy(struct tide_tracker *tracker);
/* Registers an axis; the only call that allocates. TIDE_BUSY: the axis is known or closed already;
 * TIDE_NOMEM. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_tracker_register(struct tide_tracker *tracker,
                                                                tide_axis axis);
/* Marks all epochs <= epoch as finished. A lower or equal epoch changes nothing. Runs the callbacks
 * that became ready, without a lock held. TIDE_NOT_FOUND: an unknown axis. */
TIDE_API enum tide_status tide_tracker_advance(struct tide_tracker *tracker, tide_axis axis,
                                               uint64_t epoch);
/* Fails the axis, which makes no further progress: its waiters fail with `status`, without a lock
 * held. The first failure wins. TIDE_NOT_FOUND: an unknown axis. */
TIDE_API enum tide_status tide_tracker_fail(struct tide_tracker *tracker, tide_axis axis,
                                            enum tide_status status);
/* Certifies that the unfinished epochs of a failed axis can no longer touch memory: they count as
 * finished. TIDE_INVALID: the axis has not failed; TIDE_NOT_FOUND: an unknown axis. */
TIDE_API enum tide_status tide_tracker_certify(struct tide_tracker *tracker, tide_axis axis);
/* Closes the axis: all epochs that were ever assigned have finished. Its state shrinks to an
 * interval. TIDE_NOT_FOUND: an unknown axis. */
TIDE_API enum tide_status tide_tracker_close(struct tide_tracker *tracker, tide_axis axis);
/* True if (axis, epoch) has finished. */
TIDE_API bool tide_tracker_finished(struct tide_tracker *tracker, tide_axis axis, uint64_t epoch);
/* Returns the finished epoch; 0: unknown axis; UINT64_MAX: closed or certified. */
TIDE_API uint64_t tide_tracker_epoch(struct tide_tracker *tracker, tide_axis axis);
/* Returns the number of axes that are registered and not closed. */
TIDE_API size_t tide_tracker_live(struct tide_tracker *tracker);

/* A wait until all entries of a frontier have finished. The caller provides the storage, one node
 * per entry. The fields after `user` are private. */
struct tide_waiter {
  uint64_t private_words[7];
};
struct tide_frontier_wait {
  struct tide_waiter *nodes; /* the caller's array, at least frontier->count long */
  void (*done)(struct tide_frontier_wait *wait,
               enum tide_status status); /* no lock held; called once */
  void *user;
  struct tide_tracker *tracker;
  struct tide_frontier_wait *next, **link; /* links of the tracker's list of pending waits */
  struct tide_tracker_axis *at;
  uint32_t status;
  uint8_t first, others, front, state;
};
/* Registers a wait. `done` runs on the thread that finishes the last entry, or inside this call
 * when all have finished already. If `done` advances an axis that another wait depends on, that
 * wait's `done` runs nested in it, so a chain of such calls must be bounded. (Chains of timepoints
 * (timeline.h) do not nest.) On an error nothing is registered. TIDE_NOT_FOUND: an unknown axis;
 * TIDE_INVALID: a tainted frontier, which lists its needs incompletely; TIDE_FULL: node_count is
 * too small. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_tracker_wait(struct tide_tracker *tracker,
                                                            const struct tide_frontier *frontier,
                                                            struct tide_frontier_wait *wait,
                                                            size_t node_count);
/* True: `done` will never run. False: `done` has run, or is running on another thread. */
TIDE_API bool tide_tracker_cancel(struct tide_frontier_wait *wait);

#ifdef __cplusplus
}
#endif
#endif
