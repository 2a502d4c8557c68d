/* causal/shadow.h: exact vector clocks, for tools that judge an order instead of making one.
 *
 * A clock has one entry per queue, and no entry is ever evicted. A clock contains only the orders
 * that a program stated (waits, the order of a queue, the waits of a thread). An operation that
 * happened to finish early adds nothing, so lucky timing hides no error.
 *
 *    check mode        beside the scheduler: is every pair of conflicting accesses ordered?
 *    the Vulkan layer  beside a foreign program: which of its waits does another one imply?
 *
 * No function locks: one lock of the caller guards a table and all that belongs to it. If memory
 * runs out, an entry is left out and the table says so (`out_of_memory`). A clock that lacks an
 * entry would call ordered pairs unordered, so the caller stops judging. */
#ifndef TIDE_CAUSAL_SHADOW_H
#define TIDE_CAUSAL_SHADOW_H

#include "base/label.h"

/* A vector clock, indexed by queue. It is as long as the highest known queue requires; further
 * entries are 0. */
struct tide_shadow_clock {
  uint64_t *epochs;
  size_t count, capacity;
};

/* The knowledge that a timeline value carries. */
struct tide_shadow_record {
  uint64_t value;
  bool below; /* a wait for a smaller value imports the record, too: no other signaller can signal a
                 value between */
  uint32_t queue; /* the signaller's queue, and its epoch there; set by the caller, or left 0 */
  uint64_t epoch;
  struct tide_shadow_clock clock;
};

/* An access that a later one might have to be ordered behind. */
struct tide_shadow_access {
  uint32_t queue;
  bool write;
  uint64_t epoch, sequence, offset, size;
  char label[TIDE_LABEL_SIZE];
};

/* A range of bytes. */
struct tide_shadow_range {
  uint64_t begin, end;
};

#define TIDE_SHADOW_HOST UINT32_MAX

enum tide_shadow_kind { TIDE_SHADOW_TIMELINE, TIDE_SHADOW_BUFFER, TIDE_SHADOW_THREAD };

/* The knowledge about a timeline, a buffer or a thread. */
struct tide_shadow {
  enum tide_shadow_kind kind;
  uint64_t key;
  struct tide_shadow *next;            /* the next in the bucket */
  struct tide_shadow_clock clock;      /* THREAD */
  struct tide_shadow_record *records;  /* TIMELINE, ascending */
  struct tide_shadow_access *accesses; /* BUFFER */
  size_t count, capacity;
  struct tide_shadow_range *ranges; /* BUFFER: the written bytes, ascending and disjoint */
  size_t range_count, range_capacity;
  bool traced;  /* BUFFER: only operations can have written it: `ranges` counts */
  bool singly;  /* TIMELINE: one owner signals it, in order */
  bool covered; /* BUFFER: its free has to come after all uses */
  bool freed;   /* BUFFER: freed, on queue `freed_on`; TIDE_SHADOW_HOST: by a host */
  uint32_t freed_on;
  uint32_t awaited;   /* BUFFER: uses by parts of instances that have not all their parts yet */
  uint64_t forgotten; /* TIMELINE: records up to this value may be missing */
  char label[TIDE_LABEL_SIZE];
};

/* A signal by a queue's operation, to suggest as the missing wait. */
struct tide_shadow_hint {
  uint64_t epoch, value;
  char label[TIDE_LABEL_SIZE];
};

struct tide_shadow_queue {
  const void *queue, *device, *progress;
  uint64_t axis, newest; /* the epoch that entered last */
  bool in_order;
  struct tide_shadow_clock clock;
  struct tide_shadow_hint *hints; /* ascending by epoch */
  size_t hint_count, hint_capacity;
  char label[TIDE_LABEL_SIZE];
};

struct tide_shadow_table {
  const struct tide_allocator *allocator;
  struct tide_shadow *buckets[1024];
  struct tide_shadow_queue *queues;
  size_t queue_count, queue_capacity;
  bool out_of_memory;
};

void tide_shadow_fini(struct tide_shadow_table *table);
/* Returns the shadow of a key, which is created if missing; NULL: no memory. */
struct tide_shadow *tide_shadow_get(struct tide_shadow_table *table, enum tide_shadow_kind kind,
                                    uint64_t key);
/* Returns the shadow of a key; NULL: none. */
struct tide_shadow *tide_shadow_find(struct tide_shadow_table *table, enum tide_shadow_kind kind,
                                     uint64_t key);
void tide_shadow_forget(struct tide_shadow_table *table, enum tide_shadow_kind kind, uint64_t key);

static inline uint64_t tide_shadow_epoch(const struct tide_shadow_clock *clock, size_t queue) {
  return queue < clock->count ? clock->epochs[queue] : 0;
}
void tide_shadow_merge(struct tide_shadow_table *table, struct tide_shadow_clock *to,
                       const struct tide_shadow_clock *from);
void tide_shadow_copy(struct tide_shadow_table *table, struct tide_shadow_clock *to,
                      const struct tide_shadow_clock *from);
void tide_shadow_set(struct tide_shadow_table *table, struct tide_shadow_clock *clock, size_t queue,
                     uint64_t epoch);
void tide_shadow_clock_fini(struct tide_shadow_table *table, struct tide_shadow_clock *clock);
/* Ensures capacity for one more element of `size` bytes. False: no memory. */
bool tide_shadow_grow(struct tide_shadow_table *table, void **array, size_t count, size_t *capacity,
                      size_t size);

/* Inserts a record in the order of values. Several signallers of one value share one record, with
 * the knowledge of all. NULL: no memory. */
struct tide_shadow_record *tide_shadow_add_record(struct tide_shadow_table *table,
                                                  struct tide_shadow *timeline, uint64_t value,
                                                  bool below,
                                                  const struct tide_shadow_clock *clock);
/* Returns the record with the smallest value >= `value`; NULL: none, or records of such old values
 * were dropped. */
struct tide_shadow_record *tide_shadow_find_record(const struct tide_shadow *timeline,
                                                   uint64_t value);
/* Returns the record with the largest value < `value`; NULL: none. */
struct tide_shadow_record *tide_shadow_find_below(const struct tide_shadow *timeline,
                                                  uint64_t value);
/* Adds a range to the written bytes. */
void tide_shadow_add_range(struct tide_shadow_table *table, struct tide_shadow *buffer,
                           uint64_t begin, uint64_t end);
/* Finds the first bytes of a range that are not written. False: all are. */
bool tide_shadow_find_gap(const struct tide_shadow *buffer, uint64_t begin, uint64_t end,
                          struct tide_shadow_range *out_gap);
/* Drops all but the newest `kept` records. */
void tide_shadow_drop_records(struct tide_shadow_table *table, struct tide_shadow *timeline,
                              size_t kept);

#endif
