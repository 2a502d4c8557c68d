/* memory/pool.h: the scheduler's interface to buffers. The functions take the pool's own lock; the
 * caller may hold the scheduler's (lock order: scheduler, pool, tracker). */
#ifndef TIDE_MEMORY_POOL_H
#define TIDE_MEMORY_POOL_H

#include "base/atomic.h"
#include "tidemark/memory.h"

/* Each operation that names the buffer has one reference, from submit until it has finished. The
 * struct stays until then, and so does the past, even if the buffer is freed meanwhile. */
void tide_buffer_retain(struct tide_buffer *buffer);
void tide_buffer_release(struct tide_buffer *buffer);

/* Each held operation that names the buffer pins it, and each member of a session that may read it:
 * a free completes only when all of these have entered (or left), or have read. */
void tide_buffer_pin(struct tide_buffer *buffer);
void tide_buffer_unpin(struct tide_buffer *buffer);

/* Knowledge of a requester beyond the entries of its frontier. A call comes with the pool's lock,
 * and with the locks that the requester holds. */
struct tide_insight {
  void *self;
  /* True if `known` implies that (axis, epoch) has finished, by an entry of another axis. */
  bool (*implies)(void *self, const struct tide_frontier *known, tide_axis axis, uint64_t epoch);
  /* True if the requester may wait for (axis, epoch). */
  bool (*may_await)(void *self, tide_axis axis, uint64_t epoch);
};

/* Does tide_pool_alloc and tide_pool_free; `insight` may be NULL. */
enum tide_status tide_pool_alloc_with(struct tide_pool *pool, size_t size,
                                      const struct tide_position *position,
                                      const struct tide_insight *insight, const char *label,
                                      struct tide_buffer **out_buffer);
void tide_pool_free_with(struct tide_buffer *buffer, const struct tide_position *position,
                         const struct tide_insight *insight);

/* An entered operation that names a buffer, and the frontier that has finished when it starts. */
struct tide_naming {
  tide_axis axis;
  uint64_t epoch;
  const struct tide_frontier *known; /* may list (axis, epoch) itself */
  /* The axis has known all of `known` since this epoch, and not before. `epoch`: not recorded.
   * Never above `epoch`. */
  uint64_t since;
  const struct tide_insight *insight; /* NULL: none */
};

/* Adds the operation to `uses`. The operation satisfies the buffer's past when it starts. Drops the
 * uses that the operation knows. */
void tide_buffer_trace(struct tide_buffer *buffer, const struct tide_naming *use);

/* A slot where a queue that uses the buffer repeatedly raises its own entry of `uses` without the
 * lock: no other thread writes there. The slot is given under the lock, to one queue in a life of
 * the buffer. A thread that reads `uses` under the lock merges the slots first. */
#define TIDE_REPEATERS 4u
struct tide_repeater {
  tide_axis axis; /* atomic; 0: unused */
  uint64_t epoch; /* atomic: the newest use */
};

/* The first fields of a buffer. */
struct tide_buffer_head {
  bool covered;                                   /* every free comes after all uses */
  struct tide_repeater repeaters[TIDE_REPEATERS]; /* indexed by axis % TIDE_REPEATERS */
};

/* Records a use. Calls for one axis come one after another, and all before the free is complete: a
 * free waits for pinned operations, and its caller comes after the others.
 *
 * Why a repeated use needs only a store: suppose that the queue has learned nothing since its
 * newest traced use. Then it knows no entry of `uses` that it did not know at that use, because an
 * epoch is traced before any queue can learn it. So only the queue's own entry can change. */
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

/* Returns the operations that must have finished before the memory may be touched. Constant until
 * the last release. Empty and untainted for fresh memory. */
const struct tide_frontier *tide_buffer_past(const struct tide_buffer *buffer);
/* Returns the past's signaller, axis 0 if none: if it is known or has finished, the past is
 * satisfied. */
void tide_buffer_past_signaller(const struct tide_buffer *buffer, tide_axis *out_axis,
                                uint64_t *out_epoch);

/* Returns the operations that must have finished before the memory may be used again, with their
 * signaller as above. Only during TIDE_EVENT_FREE. NULL: held operations still name the buffer, so
 * the operations are not known yet; or the buffer is imported. */
const struct tide_frontier *tide_buffer_death(const struct tide_buffer *buffer, tide_axis *out_axis,
                                              uint64_t *out_epoch);

/* Return the buffer's pool; the device that a pool's memory belongs to, NULL if any device may use
 * it; the pool's name. All constant. */
const struct tide_pool *tide_buffer_pool(const struct tide_buffer *buffer);
const void *tide_pool_home(const struct tide_pool *pool);
const char *tide_pool_label(const struct tide_pool *pool);

/* True if no operation has used the memory before. */
bool tide_buffer_is_fresh(const struct tide_buffer *buffer);

/* True if every free comes after all uses, by the pool's params.frees_cover_uses. */
bool tide_buffer_covered(const struct tide_buffer *buffer);

/* True if a held operation names the buffer. Under the scheduler's lock. */
bool tide_buffer_pinned(const struct tide_buffer *buffer);

/* Returns a number that differs between successive buffers with the same handle. */
uint64_t tide_buffer_serial(const struct tide_buffer *buffer);

/* True if the buffer was freed, so that naming it again is a use after free. */
bool tide_buffer_freed(const struct tide_buffer *buffer);

/* Returns the bytes that are taken from the source before gap waits are made, if at most `peak`
 * bytes were live at a time. */
static inline size_t tide_memory_budget(size_t limit, uint64_t peak) {
  if (limit) return limit;
  if (peak > SIZE_MAX / 2) return SIZE_MAX;
  return peak > TIDE_POOL_BUDGET_LEAST / 2 ? 2 * (size_t)peak : TIDE_POOL_BUDGET_LEAST;
}

/* Sets the snapshot function of grace periods. A block with a death frontier that is tainted and
 * has no signaller is reused only after a grace period: all epochs given when the period began have
 * finished. `snapshot` fills (axis, newest *given* epoch) of every live axis and returns their
 * number. If that exceeds `size`, the result is dropped, and `snapshot` is called again with more
 * capacity.
 *
 * Alloc, free, trim and destroy call `snapshot` with the pool's lock held, on some paths with the
 * scheduler's lock, too. So `snapshot` must neither take the scheduler's lock nor call the pool. It
 * must see an epoch that was given before tide_buffer_use recorded it. A plain atomic load does:
 * the pool's lock lies between, or the store to a repeater that the free has gathered. The default
 * is a snapshot of the context's tracker, which queues notify of each epoch that they give. */
void tide_pool_set_grace(struct tide_pool *pool,
                         size_t (*snapshot)(void *self, tide_axis *axes, uint64_t *epochs,
                                            size_t size),
                         void *self);

#endif
