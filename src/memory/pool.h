/* memory/pool.h: what sched asks of a buffer. The pool's own lock is taken
 * inside; sched may hold its lock meanwhile (sched before pool before tracker). */
#ifndef TIDE_MEMORY_POOL_H
#define TIDE_MEMORY_POOL_H

#include "base/atomic.h"
#include "tidemark/memory.h"

/* One reference for each operation that names the buffer, from submit until it has finished: the
 * struct stays, and so does what `past` points to, even when the buffer is freed meanwhile. */
void tide_buffer_retain(struct tide_buffer *buffer);
void tide_buffer_release(struct tide_buffer *buffer);

/* A held operation names the buffer: a free completes only when all of these have entered (or
 * left). */
void tide_buffer_pin(struct tide_buffer *buffer);
void tide_buffer_unpin(struct tide_buffer *buffer);

/* An operation that names a buffer has entered: what it is, and what will have finished when it
 * starts. */
struct tide_naming {
  tide_axis axis;
  uint64_t epoch;
  const struct tide_frontier *known; /* may list (axis, epoch) itself */
  uint64_t since; /* what is known had all been known at this epoch, and not before; else `epoch`.
                     Never more than that */
};

/* Raises `uses`. The operation satisfies the buffer's past when it starts. Uses that it knows need
 * not be remembered any more. */
void tide_buffer_trace(struct tide_buffer *buffer, const struct tide_naming *use);

/* A queue that uses the buffer again and again has a place where it raises its own entry of `uses`,
 * without the lock: nobody else writes there. The place is given under the lock, to one queue in a
 * life of the buffer; whoever holds the lock and asks for `uses` looks into it first. */
#define TIDE_REPEATERS 4u
struct tide_repeater {
  tide_axis axis; /* atomic; 0: nobody's */
  uint64_t epoch; /* atomic: of its newest use */
};

/* What a buffer begins with. */
struct tide_buffer_head {
  bool
      covered; /* the pool was told that every free comes after all uses: params.frees_cover_uses */
  struct tide_repeater repeaters[TIDE_REPEATERS]; /* an axis has its own by its number */
};

/* Calls for one axis come one after another, and all of them before the free is complete: it waits
 * for those that are pinned, and whoever frees comes after the others.
 *
 * Why a repeated use needs only a store. Where the queue has learned nothing since its newest use
 * that was told, there is nothing in `uses` that it knows now and did not know then: an epoch is
 * told of before anybody can learn it. So all that could change is the queue's own entry. */
static inline void tide_buffer_use(struct tide_buffer *buffer, const struct tide_naming *use) {
  struct tide_buffer_head *head = (struct tide_buffer_head *)(void *)buffer;
  if (head->covered) return;
  struct tide_repeater *own = &head->repeaters[use->axis % TIDE_REPEATERS];
  uint64_t epoch = tide_load_relaxed(&own->epoch);
  if (tide_load_relaxed(&own->axis) != use->axis) {
    tide_buffer_trace(buffer, use);
  } else if (epoch < use->epoch) {
    if (epoch < use->since) tide_buffer_trace(buffer, use);
    else tide_store_release(&own->epoch, use->epoch);
  }
}

/* What must have finished before the memory may be touched; constant until the last release. Empty
 * and untainted for fresh memory. */
const struct tide_frontier *tide_buffer_past(const struct tide_buffer *buffer);
/* The one-lookup form: when axis != 0, "known or finished" of it satisfies `past`. */
void tide_buffer_past_signaller(const struct tide_buffer *buffer, tide_axis *out_axis,
                                uint64_t *out_epoch);

/* What must have finished before its memory is somebody else's, with the signaller as above: only
 * while TIDE_EVENT_FREE is told of. NULL: held operations still name it, so it is not known yet. */
const struct tide_frontier *tide_buffer_death(const struct tide_buffer *buffer, tide_axis *out_axis,
                                              uint64_t *out_epoch);

/* Where it came from; the device that a pool's memory belongs to, NULL when it is everybody's; and
 * the pool's name. All constant. */
const struct tide_pool *tide_buffer_pool(const struct tide_buffer *buffer);
const void *tide_pool_home(const struct tide_pool *pool);
const char *tide_pool_label(const struct tide_pool *pool);

/* The pool was told that every free comes after all uses (params.frees_cover_uses). */
bool tide_buffer_covered(const struct tide_buffer *buffer);

/* Tells apart the buffers of a pool that had the same handle one after the other. */
uint64_t tide_buffer_serial(const struct tide_buffer *buffer);

/* Was it freed (so that naming it again is a use after free)? */
bool tide_buffer_freed(const struct tide_buffer *buffer);

/* Bytes that are taken from the source before gap waits are made, where `peak` bytes were live at a
 * time. */
static inline size_t tide_memory_budget(size_t limit, uint64_t peak) {
  if (limit) return limit;
  if (peak > SIZE_MAX / 2) return SIZE_MAX;
  return peak > TIDE_POOL_BUDGET_LEAST / 2 ? 2 * (size_t)peak : TIDE_POOL_BUDGET_LEAST;
}

/* Blocks whose death frontier is tainted and has no signaller are reused only after a grace period:
 * all that had been given an epoch when the period began has finished. `snapshot` says what that
 * is: it fills (axis, newest *given* epoch) of every live axis and returns how many there are; when
 * that is more than `size` nothing of it is used, and it is asked again once there is room.
 *
 * It is called by alloc, free, trim and destroy with the pool's lock held, and on some of these
 * paths with the scheduler's lock held too, on others not: so it must not take the scheduler's
 * lock, nor call the pool. It must see an epoch that was given before tide_buffer_use told of it (a
 * plain atomic load does: the pool's lock lies between, or the store to a repeater that the free
 * has gathered). The default asks the context's tracker, to which queues tell each epoch that they
 * give. */
void tide_pool_set_grace(struct tide_pool *pool,
                         size_t (*snapshot)(void *self, tide_axis *axes, uint64_t *epochs,
                                            size_t size),
                         void *self);

#endif
