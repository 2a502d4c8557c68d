/* memory/grace.h: blocks that wait until everything has finished that was under way.
 *
 * A death frontier that is tainted and has no signaller does not say when it is
 * satisfied. But whatever it stands for had been given an epoch when the block
 * died; so once all that was given by then has finished, so has that. One
 * snapshot of all live axes serves all blocks that wait when it is taken; those
 * that die later wait for the next. The pool's lock guards it. */
#ifndef TIDE_MEMORY_GRACE_H
#define TIDE_MEMORY_GRACE_H

#include "base/list.h"
#include "tidemark/causal.h"

struct tide_grace {
  struct tide_link waiting; /* died after the snapshot was taken, or there is none */
  struct tide_link covered; /* free once the snapshot has finished */
  size_t blocks;            /* in both lists; whoever puts one in or takes one out counts */
  tide_axis *axes;          /* the snapshot; room for `capacity` */
  uint64_t *epochs;
  size_t capacity;
  size_t left;   /* entries that have not been seen to finish; the first of the arrays */
  size_t wanted; /* entries that the last snapshot would have needed */
  bool active;   /* a period is under way */
  size_t (*snapshot)(void *self, tide_axis *axes, uint64_t *epochs, size_t size);
  void *self;
};

void tide_grace_init(struct tide_grace *grace);
/* Any block in here? */
static inline bool tide_grace_busy(const struct tide_grace *grace) { return grace->blocks != 0; }
/* True when the period has finished: then all in `covered` are free, and the caller must take them
 * out before the next step. Starts the next one when some wait and none is under way. */
bool tide_grace_step(struct tide_grace *grace, struct tide_tracker *tracker);
/* Room for `capacity` axes and as many epochs behind them; what was there is not needed any more.
 * Only while no period is under way. */
static inline void tide_grace_room(struct tide_grace *grace, uint64_t *room, size_t capacity) {
  grace->axes = room;
  grace->epochs = room + capacity;
  grace->capacity = capacity;
}
/* Is there a snapshot to be taken that lacks room? */
static inline bool tide_grace_starved(const struct tide_grace *grace) {
  return !grace->active && grace->wanted > grace->capacity;
}

#endif
