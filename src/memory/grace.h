/* memory/grace.h: grace periods: blocks wait until all operations under way have finished.
 *
 * A death frontier that is tainted and has no signaller does not tell when it is satisfied. But all
 * operations that it stands for had an epoch when the block died. So it is satisfied once all
 * epochs given by then have finished. One snapshot of all live axes serves all blocks that wait
 * when it is taken; blocks that die later wait for the next one. Guarded by the pool's lock. */
#ifndef TIDE_MEMORY_GRACE_H
#define TIDE_MEMORY_GRACE_H

#include "base/list.h"
#include "tidemark/causal.h"

struct tide_grace {
  struct tide_link waiting; /* blocks that wait for the next snapshot */
  struct tide_link covered; /* blocks that are free once the snapshot has finished */
  size_t blocks;            /* length of both lists, updated by the callers */
  tide_axis *axes;          /* the snapshot; `capacity` entries */
  uint64_t *epochs;
  size_t capacity;
  size_t left;   /* unfinished entries, at the front of the arrays */
  size_t wanted; /* entries that the last snapshot would have needed */
  bool active;   /* a period is under way */
  size_t (*snapshot)(void *self, tide_axis *axes, uint64_t *epochs, size_t size);
  void *self;
};

void tide_grace_init(struct tide_grace *grace);
/* True if any block waits. */
static inline bool tide_grace_busy(const struct tide_grace *grace) { return grace->blocks != 0; }
/* True if the period has finished: then all blocks in `covered` are free, and the caller must
 * remove them before the next step. Starts a period if blocks wait and none is under way. */
bool tide_grace_step(struct tide_grace *grace, struct tide_tracker *tracker);
/* Replaces the storage of the snapshot: `room` has `capacity` axes, and as many epochs behind them.
 * The old contents are dropped, so no period may be under way. */
static inline void tide_grace_room(struct tide_grace *grace, uint64_t *room, size_t capacity) {
  grace->axes = room;
  grace->epochs = room + capacity;
  grace->capacity = capacity;
}
/* True if the next snapshot needs more capacity. */
static inline bool tide_grace_starved(const struct tide_grace *grace) {
  return !grace->active && grace->wanted > grace->capacity;
}

#endif
