/* What the tests of the tracker share: a heap that can fail, axes, waits that say how they ended.
 */
#ifndef TESTS_UNIT_TRACKER_RIG_H
#define TESTS_UNIT_TRACKER_RIG_H

#include "harness.h"

#include "base/check.h"
#include "base/random.h"
#include "causal/tracker_axis.h"

#include <stdlib.h>
#include <string.h>

static inline tide_axis queue(uint64_t ordinal) {
  return tide_axis_make(0, TIDE_DOMAIN_QUEUE, ordinal);
}

/* Refuses after `left` more calls; counts what is out, and calls. */
static struct { int left, out, calls; } heap = {1 << 30, 0, 0};

static inline void *heap_alloc(void *self, size_t size, size_t align) {
  (void)self;
  heap.calls++;
  if (heap.left-- <= 0) return NULL;
  heap.out++;
  return aligned_alloc(align, (size + align - 1) / align * align);
}

static inline void heap_free(void *self, void *memory, size_t size) {
  (void)self;
  memset(memory, 0xa5, size);
  heap.out--;
  free(memory);
}

static const struct tide_allocator allocator = {heap_alloc, heap_free, NULL};

static inline struct tide_tracker *make(unsigned axes) {
  struct tide_tracker_params params = {
      .struct_size = sizeof params, &allocator, tide_platform_linux()};
  struct tide_tracker *tracker;
  CHECK_OK(tide_tracker_create(&params, &tracker));
  for (uint64_t i = 1; i <= axes; i++) CHECK_OK(tide_tracker_register(tracker, queue(i)));
  return tracker;
}

static inline void drop(struct tide_tracker *tracker) {
  tide_tracker_destroy(tracker);
  CHECK_EQ_U64(heap.out, 0);
}

/* A wait for up to 8 epochs that notes how it ended. */
struct probe {
  struct tide_frontier_wait wait;
  struct tide_waiter nodes[8];
  TIDE_FRONTIER_STORAGE(needs, 8);
  unsigned done;
  enum tide_status status;
  void (*then)(struct probe *probe); /* called from the callback */
  struct tide_tracker *tracker;
  struct probe *other;
};

static inline void probe_done(struct tide_frontier_wait *wait, enum tide_status status) {
  struct probe *probe = TIDE_CONTAINER(wait, struct probe, wait);
  probe->done++;
  probe->status = status;
  if (probe->then) probe->then(probe);
}

static inline void probe_init(struct probe *probe, struct tide_tracker *tracker) {
  memset(probe, 0xa5, sizeof *probe);
  tide_frontier_init(&probe->needs.frontier, 8);
  probe->wait.nodes = probe->nodes;
  probe->wait.done = probe_done;
  probe->done = 0;
  probe->then = NULL;
  probe->tracker = tracker;
}

static inline void probe_need(struct probe *probe, tide_axis axis, uint64_t epoch) {
  tide_frontier_raise(&probe->needs.frontier, axis, epoch, NULL);
}

static inline enum tide_status probe_start(struct probe *probe) {
  enum tide_status status =
      tide_tracker_wait(probe->tracker, &probe->needs.frontier, &probe->wait, 8);
  tide_frontier_clear(&probe->needs.frontier); /* the wait must not need it any more */
  return status;
}

/* Waits for one epoch. */
static inline void probe_one(struct probe *probe, struct tide_tracker *tracker, tide_axis axis,
                             uint64_t epoch) {
  probe_init(probe, tracker);
  probe_need(probe, axis, epoch);
  CHECK_OK(probe_start(probe));
}

static inline void check_done(const struct probe *probe, enum tide_status status) {
  CHECK_EQ_U64(probe->done, 1);
  CHECK_STATUS(probe->status, status);
}

struct raw {
  struct tide_finish_wait wait;
  unsigned fired;
};

static inline void raw_fire(struct tide_node *node, enum tide_status status) {
  CHECK_OK(status);
  TIDE_CONTAINER(node, struct raw, wait.node)->fired++;
}

#endif
