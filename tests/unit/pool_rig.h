/* What the tests of pools share: a context whose memory is counted and can be made to fail, a pool,
 * and a few positions that stand for queues. */
#ifndef TESTS_UNIT_POOL_RIG_H
#define TESTS_UNIT_POOL_RIG_H

#include "causal/context_state.h"
#include "causal/tracker.h"
#include "harness.h"
#include "memory/pool.h"
#include <stdlib.h>
#include <string.h>

#ifndef RIG_QUEUES
#define RIG_QUEUES 6
#define RIG_ROOM 16
#endif
#define KIB ((size_t)1024)

struct rig_queue {
  struct tide_position position;
  TIDE_FRONTIER_STORAGE(frontier, RIG_ROOM);
};

struct rig {
  struct tide_allocator allocator;
  struct tide_context *context;
  struct tide_pool *pool;
  struct rig_queue queues[RIG_QUEUES];
  uint64_t allocs;  /* so far */
  uint64_t fail_at; /* this one fails, and all after it while fail_on */
  bool fail_on;
  int64_t live_bytes;
};

static inline void *rig_alloc(void *self, size_t size, size_t align) {
  struct rig *rig = self;
  uint64_t now = __atomic_add_fetch(&rig->allocs, 1, __ATOMIC_RELAXED);
  if (rig->fail_at && (now == rig->fail_at || (rig->fail_on && now > rig->fail_at))) return NULL;
  if (size > SIZE_MAX >> 24) return NULL; /* sanitizers end the program instead */
  if (align < sizeof(void *)) align = sizeof(void *);
  void *memory = NULL;
  if (posix_memalign(&memory, align, size)) return NULL;
  __atomic_add_fetch(&rig->live_bytes, (int64_t)size, __ATOMIC_RELAXED);
  return memory;
}

static inline void rig_free(void *self, void *memory, size_t size) {
  struct rig *rig = self;
  __atomic_sub_fetch(&rig->live_bytes, (int64_t)size, __ATOMIC_RELAXED);
  free(memory);
}

static inline void rig_open(struct rig *rig, uint8_t capacity,
                            const struct tide_pool_params *params) {
  memset(rig, 0, sizeof *rig);
  rig->allocator = (struct tide_allocator){rig_alloc, rig_free, rig};
  struct tide_context_params context_params = {.struct_size = sizeof context_params,
                                               .allocator = &rig->allocator,
                                               .frontier_capacity = capacity};
  CHECK_OK(tide_context_create(&context_params, &rig->context));
  for (unsigned i = 0; i < RIG_QUEUES; i++) {
    struct rig_queue *queue = &rig->queues[i];
    tide_axis axis;
    CHECK_OK(tide_lease_take(rig->context->lease, TIDE_DOMAIN_QUEUE, &axis));
    CHECK_OK(tide_tracker_register(rig->context->tracker, axis));
    tide_frontier_init(&queue->frontier.frontier, RIG_ROOM);
    queue->position = (struct tide_position){.axis = axis, .frontier = &queue->frontier.frontier};
  }
  if (params) CHECK_OK(tide_pool_create(rig->context, params, &rig->pool));
  /* The rig gives epochs without telling the tracker, so that must not be asked for grace periods.
   */
  if (params) tide_pool_set_grace(rig->pool, NULL, NULL);
}

static inline struct tide_position *at(struct rig *rig, unsigned queue) {
  return &rig->queues[queue].position;
}
static inline tide_axis axis_of(struct rig *rig, unsigned queue) {
  return rig->queues[queue].position.axis;
}

/* Queues 0 to `count` - 1 are a scheduler's: what has an epoch there names its buffers. */
static inline void rig_name(struct rig *rig, unsigned count) {
  for (unsigned i = 0; i < count; i++) {
    tide_tracker_set_names(tide_tracker_find(rig->context->tracker, axis_of(rig, i)));
  }
}

/* An operation of somebody who says nothing of what is known. */
static inline void use_at(struct tide_buffer *buffer, tide_axis axis, uint64_t epoch) {
  static const struct tide_frontier nothing = {.capacity = 1};
  tide_buffer_use(buffer, &(struct tide_naming){axis, epoch, &nothing, epoch, NULL});
}

/* The queue gives its next epoch to an operation that names the buffer (NULL: none). */
static inline uint64_t submit(struct rig *rig, unsigned queue, struct tide_buffer *buffer) {
  struct tide_position *position = at(rig, queue);
  struct tide_eviction eviction = {.keep = position->axis};
  position->epoch++;
  tide_frontier_raise(position->frontier, position->axis, position->epoch, &eviction);
  struct tide_naming use = {position->axis, position->epoch, position->frontier, position->epoch,
                            NULL};
  if (buffer) tide_buffer_use(buffer, &use);
  return position->epoch;
}

/* From here on the queue knows what another one does now. */
static inline void learn(struct rig *rig, unsigned queue, unsigned from) {
  struct tide_eviction eviction = {.keep = axis_of(rig, queue)};
  tide_frontier_merge(at(rig, queue)->frontier, at(rig, from)->frontier, &eviction);
}

/* The tracker sees everything of the queue finish. */
static inline void finish(struct rig *rig, unsigned queue) {
  (void)tide_tracker_advance(rig->context->tracker, axis_of(rig, queue), at(rig, queue)->epoch);
}
static inline void finish_all(struct rig *rig) {
  for (unsigned i = 0; i < RIG_QUEUES; i++) finish(rig, i);
}

static inline struct tide_buffer *take(struct rig *rig, unsigned queue, size_t size) {
  struct tide_buffer *buffer;
  CHECK_OK(tide_pool_alloc(rig->pool, size, at(rig, queue), "b", &buffer));
  return buffer;
}
static inline void drop(struct rig *rig, unsigned queue, struct tide_buffer *buffer) {
  tide_pool_free(buffer, at(rig, queue));
}

static inline struct tide_pool_stats stats_of(struct rig *rig) {
  struct tide_pool_stats stats;
  tide_pool_stats(rig->pool, &stats);
  return stats;
}

/* Everything finishes, and nothing is left. */
static inline void rig_close(struct rig *rig) {
  finish_all(rig);
  for (unsigned i = 0; i < RIG_QUEUES; i++) {
    (void)tide_tracker_close(rig->context->tracker, axis_of(rig, i));
  }
  CHECK_OK(tide_pool_destroy(rig->pool));
  tide_context_destroy(rig->context);
  CHECK_EQ_U64((uint64_t)rig->live_bytes, 0);
}

/* One small chunk and no more: whoever wants memory must take what others had. */
static const struct tide_pool_params one_chunk = {
    .struct_size = sizeof one_chunk, .limit = 64 * KIB, .chunk = 64 * KIB};

static inline void check_past(struct rig *rig, const struct tide_buffer *buffer, const char *text) {
  char said[256], want[256];
  TIDE_FRONTIER_STORAGE(wanted, RIG_ROOM);
  tide_frontier_init(&wanted.frontier, RIG_ROOM);
  /* "0@3 2@1": queue and epoch. */
  for (const char *c = text; *c;) {
    char *end;
    unsigned queue = (unsigned)strtoul(c, &end, 10);
    uint64_t epoch = strtoull(end + 1, &end, 10);
    tide_frontier_raise(&wanted.frontier, axis_of(rig, queue), epoch, NULL);
    c = *end ? end + 1 : end;
  }
  tide_frontier_print(&wanted.frontier, want, sizeof want);
  tide_frontier_print(tide_buffer_past(buffer), said, sizeof said);
  CHECK_EQ_STR(said, want);
}

static inline void check_signaller(struct rig *rig, const struct tide_buffer *buffer, int queue,
                                   uint64_t epoch) {
  tide_axis axis;
  uint64_t said;
  tide_buffer_past_signaller(buffer, &axis, &said);
  CHECK_EQ_U64(axis, queue < 0 ? 0 : axis_of(rig, (unsigned)queue));
  CHECK_EQ_U64(said, epoch);
}

/* Hands out all of the chunk, so that its one block has a death frontier when it is dropped. */
static inline struct tide_buffer *take_all(struct rig *rig, unsigned queue) {
  return take(rig, queue, 64 * KIB);
}

#define CHECK_REUSE(buffer, reuse) CHECK_EQ_U64(tide_buffer_reuse(buffer), reuse)

#endif
