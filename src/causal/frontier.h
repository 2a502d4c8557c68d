/* causal/frontier.h: how a frontier lies in memory, for the files that write one. */
#ifndef TIDE_CAUSAL_FRONTIER_H
#define TIDE_CAUSAL_FRONTIER_H

#include "tidemark/causal.h"

/* Two full frontiers that share no axis. */
#define TIDE_UNION_MAX (2 * TIDE_FRONTIER_CAPACITY_MAX)

static inline tide_axis *tide_frontier_axes_of(struct tide_frontier *f) {
  return (tide_axis *)(void *)(f + 1);
}
static inline uint64_t *tide_frontier_epochs_of(struct tide_frontier *f) {
  return (uint64_t *)(void *)(f + 1) + f->capacity;
}

/* Entries on their way into a frontier: sorted, perhaps more than it can take. */
struct tide_entries {
  const tide_axis *axes;
  const uint64_t *epochs;
  size_t count;
};

/* Writes those of `entries` that stay into `to`, whose entries are overwritten; taints it when one
 * is lost. entries.count > to->capacity; the arrays may not be to's own. */
void tide_frontier_shed(struct tide_frontier *to, struct tide_entries entries,
                        const struct tide_eviction *eviction);

#endif
