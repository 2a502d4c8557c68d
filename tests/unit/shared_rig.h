/* A region that two views look at: a writer's and a reader's. */
#ifndef TESTS_UNIT_SHARED_RIG_H
#define TESTS_UNIT_SHARED_RIG_H

#include "harness.h"
#include "timeline/shared_layout.h"

#include <stdlib.h>
#include <string.h>

enum { LEASE = 77 };

static const tide_axis axis_a = 0x0000200000000001u; /* host:0.1 */
static const tide_axis axis_b = 0x0000200000000002u;

typedef TIDE_FRONTIER_STORAGE(known, 8);

/* {a@epoch, b@epoch * 10} */
static inline const struct tide_frontier *knowing(known *storage, uint64_t epoch) {
  tide_frontier_init(&storage->frontier, 8);
  tide_frontier_insert_or_raise(&storage->frontier, axis_a, epoch, NULL);
  tide_frontier_insert_or_raise(&storage->frontier, axis_b, epoch * 10, NULL);
  return &storage->frontier;
}

static inline void signal_known(struct tide_shared *shared, uint32_t slot, uint64_t value,
                                uint64_t epoch) {
  known storage;
  CHECK_OK(tide_shared_signal(shared, slot, value, knowing(&storage, epoch), axis_a, epoch));
}
static inline enum tide_status signal_plain(struct tide_shared *shared, uint32_t slot,
                                            uint64_t value) {
  return tide_shared_signal(shared, slot, value, NULL, 0, 0);
}

static inline void attach(struct tide_shared *shared, void *memory, size_t size, bool writable,
                          uint64_t lease) {
  struct tide_shared_params params = {
      .struct_size = sizeof params, tide_platform_linux(), writable, lease};
  CHECK_OK(tide_shared_attach(shared, memory, size, &params));
}

#endif
