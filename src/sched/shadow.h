/* sched/shadow.h: check mode's own account of what is ordered behind what.
 *
 * Exact vector clocks, one entry a queue, never evicted, never helped by what
 * happened to have finished. Kept beside the real thing so that luck in timing
 * hides nothing. All of it is guarded by the scheduler's lock. */
#ifndef TIDE_SCHED_SHADOW_H
#define TIDE_SCHED_SHADOW_H

#include "base/lock.h"
#include "tidemark/sched.h"

/* As long as the highest queue that is known needs it to be; what is beyond is 0. */
struct tide_shadow_clock {
  uint64_t *epochs;
  size_t count, capacity;
};

/* What a timeline value teaches. */
struct tide_shadow_record {
  uint64_t value;
  bool below; /* whoever waits for less learns it too: nobody else may signal what is between */
  struct tide_shadow_clock clock;
};

/* One access that a later one might have to be ordered behind. */
struct tide_shadow_access {
  uint32_t queue;
  bool write;
  uint64_t epoch, offset, size;
  char label[24];
};

enum tide_shadow_kind { TIDE_SHADOW_TIMELINE, TIDE_SHADOW_BUFFER, TIDE_SHADOW_THREAD };

/* What is known about a timeline, a buffer or a thread. */
struct tide_shadow {
  enum tide_shadow_kind kind;
  uint64_t key;
  struct tide_shadow *next;            /* in its bucket */
  struct tide_shadow_clock clock;      /* THREAD */
  struct tide_shadow_record *records;  /* TIMELINE, ascending */
  struct tide_shadow_access *accesses; /* BUFFER */
  size_t count, capacity;
  char label[32];
};

/* A signal that a queue's operations made, to suggest as the wait that is missing. */
struct tide_shadow_hint {
  uint64_t epoch, value;
  char label[32];
};

struct tide_shadow_queue {
  const void *queue;
  bool in_order;
  struct tide_shadow_clock clock;
  struct tide_shadow_hint *hints; /* ascending by epoch */
  size_t hint_count, hint_capacity;
  char label[32];
};

struct tide_shadow_table {
  const struct tide_allocator *allocator;
  struct tide_shadow *buckets[1024];
  struct tide_shadow_queue *queues;
  size_t queue_count, queue_capacity;
  bool out_of_memory;
};

void tide_shadow_fini(struct tide_shadow_table *table);
/* Finds or makes; NULL when there is no memory. */
struct tide_shadow *tide_shadow_get(struct tide_shadow_table *table, enum tide_shadow_kind kind,
                                    uint64_t key);
/* Finds; NULL when there is none. */
struct tide_shadow *tide_shadow_find(struct tide_shadow_table *table, enum tide_shadow_kind kind,
                                     uint64_t key);
void tide_shadow_forget(struct tide_shadow_table *table, enum tide_shadow_kind kind, uint64_t key);

static inline uint64_t tide_shadow_epoch(const struct tide_shadow_clock *clock, size_t queue) {
  return queue < clock->count ? clock->epochs[queue] : 0;
}
/* These three leave out what there is no memory for; the table then says so. */
void tide_shadow_merge(struct tide_shadow_table *table, struct tide_shadow_clock *to,
                       const struct tide_shadow_clock *from);
void tide_shadow_copy(struct tide_shadow_table *table, struct tide_shadow_clock *to,
                      const struct tide_shadow_clock *from);
void tide_shadow_set(struct tide_shadow_table *table, struct tide_shadow_clock *clock, size_t queue,
                     uint64_t epoch);
void tide_shadow_clock_fini(struct tide_shadow_table *table, struct tide_shadow_clock *clock);
/* Room for one more of `size` bytes in an array; false when there is no memory. */
bool tide_shadow_grow(struct tide_shadow_table *table, void **array, size_t count, size_t *capacity,
                      size_t size);

#endif
