/* Buffers: handles of memory, from alloc to the last operation that names them. */
#include "base/check.h"
#include "base/alloc.h"
#include "memory/state.h"

size_t tide_buffer_bytes(const struct tide_pool *pool) {
  uint8_t capacity = pool->context->frontier_capacity;
  size_t bytes =
      sizeof(struct tide_buffer) + tide_death_size(capacity) + tide_frontier_size(capacity);
  return (bytes + 15) & ~(size_t)15;
}

void tide_buffer_make(struct tide_pool *pool, struct tide_buffer *buffer) {
  uint8_t capacity = pool->context->frontier_capacity;
  buffer->pool = pool;
  buffer->head.covered = pool->covered;
  buffer->past = (void *)(buffer + 1);
  tide_death_init(buffer->past, capacity);
  buffer->uses = (void *)((char *)(buffer + 1) + tide_death_size(capacity));
  tide_frontier_init(buffer->uses, capacity);
  buffer->next_spare = pool->spare_buffers;
  pool->spare_buffers = buffer;
}

/* Makes a handle without references spare. */
static inline void close_locked(struct tide_pool *pool, struct tide_buffer *buffer) {
  buffer->next_spare = pool->spare_buffers;
  pool->spare_buffers = buffer;
}

/* Drops the owner's reference. After the last one no reference can be added. */
static inline void drop_locked(struct tide_pool *pool, struct tide_buffer *buffer) {
  if (tide_load_acquire(&buffer->references) == 1 || tide_fetch_sub(&buffer->references, 1u) == 1) {
    close_locked(pool, buffer);
  } else {
    pool->lingering++;
  }
}

/* ---- operations ----------------------------------------------------------------- */

void tide_buffer_retain(struct tide_buffer *buffer) { tide_fetch_add(&buffer->references, 1u); }

void tide_buffer_release(struct tide_buffer *buffer) {
  struct tide_pool *pool = buffer->pool;
  uint32_t before = tide_fetch_sub(&buffer->references, 1u);
  TIDE_ASSERT(before != 0);
  if (before != 1) return;
  tide_pool_lock(pool);
  pool->lingering--;
  close_locked(pool, buffer);
  tide_pool_unlock(pool);
}

/* Adds the repeated uses, which were recorded without the lock, to `uses`. The queue's frontier at
 * the time is lost: it matters only to uses that take the lock anyway. */
static void gather_locked(struct tide_buffer *buffer) {
  struct tide_eviction eviction = {.tracker = buffer->pool->context->tracker};
  for (uint32_t left = buffer->repeats; left; left &= left - 1) {
    unsigned i = (unsigned)__builtin_ctz(left);
    struct tide_repeater *repeater = &buffer->head.repeaters[i];
    uint64_t epoch = tide_load_acquire(&repeater->epoch);
    if (epoch <= buffer->gathered[i]) continue;
    buffer->gathered[i] = epoch;
    tide_frontier_raise(buffer->uses, tide_load_relaxed(&repeater->axis), epoch, &eviction);
  }
}

/* Prepares a repeated use of this axis to be recorded without the lock, if its slot is free. */
static inline void repeat_locked(struct tide_buffer *buffer, const struct tide_naming *use) {
  unsigned i = use->axis % TIDE_REPEATERS;
  struct tide_repeater *repeater = &buffer->head.repeaters[i];
  tide_axis axis = tide_load_relaxed(&repeater->axis);
  if (axis && axis != use->axis) return;
  if (axis && tide_load_relaxed(&repeater->epoch) >= use->epoch) return;
  buffer->gathered[i] = use->epoch;
  tide_store_release(&repeater->epoch, use->epoch);
  tide_store_release(&repeater->axis, use->axis);
  buffer->repeats |= 1u << i;
}

void tide_buffer_forget_repeats(struct tide_buffer *buffer) {
  for (; buffer->repeats; buffer->repeats &= buffer->repeats - 1) {
    struct tide_repeater *repeater = &buffer->head.repeaters[__builtin_ctz(buffer->repeats)];
    tide_store_relaxed(&repeater->axis, (tide_axis)0);
  }
}

/* A tail call: the fast path needs no stack. */
__attribute__((noinline)) static void use_and_unlock(struct tide_buffer *buffer,
                                                     const struct tide_naming *use) {
  gather_locked(buffer);
  tide_uses_add(buffer->uses, use, buffer->pool->context->tracker);
  repeat_locked(buffer, use);
  tide_pool_unlock(buffer->pool);
}

__attribute__((noinline)) static void use_contended(struct tide_buffer *buffer,
                                                    const struct tide_naming *use) {
  tide_pool_lock(buffer->pool);
  use_and_unlock(buffer, use);
}

/* Raises a listed queue that has learned nothing since, or is the only one. False: neither. */
static inline bool use_again(struct tide_buffer *buffer, const struct tide_naming *use,
                             uint64_t *epoch) {
  if (*epoch >= use->since) repeat_locked(buffer, use);
  else if (buffer->uses->count > 1 || buffer->repeats) return false;
  if (*epoch < use->epoch) *epoch = use->epoch;
  return true;
}

/* Raises a queue that is listed with others, or replaces the only use, which this one knows. Not
 * inline: the most frequent path needs no stack. */
__attribute__((noinline)) static bool use_behind(struct tide_buffer *buffer,
                                                 const struct tide_naming *use) {
  struct tide_frontier *uses = buffer->uses;
  if (uses->count > 1) {
    size_t slot = tide_frontier_slot(uses, use->axis);
    return slot != TIDE_NO_SLOT && use_again(buffer, use, tide_frontier_at(uses, slot));
  }
  /* Repeated uses of others may be known, too. */
  if (buffer->repeats) return false;
  struct tide_frontier_entry only = tide_frontier_first(uses);
  if (tide_frontier_look_up(use->known, only.axis) < only.epoch) return false;
  tide_frontier_list_one(uses, use->axis, use->epoch);
  return true;
}

/* Records a first, following or repeated use. False: another case, and nothing has changed. */
static inline bool use_quickly(struct tide_buffer *buffer, const struct tide_naming *use) {
  struct tide_frontier *uses = buffer->uses;
  if (uses->count > 0) {
    if (uses->count > 1 || tide_frontier_first(uses).axis != use->axis)
      return use_behind(buffer, use);
    return use_again(buffer, use, tide_frontier_first_epoch(uses));
  }
  tide_frontier_list_one(uses, use->axis, use->epoch);
  return true;
}

void tide_buffer_trace(struct tide_buffer *buffer, const struct tide_naming *use) {
  struct tide_pool *pool = buffer->pool;
  if (!tide_lock_try(&pool->lock)) {
    use_contended(buffer, use);
  } else if (!use_quickly(buffer, use)) {
    use_and_unlock(buffer, use);
  } else {
    tide_pool_unlock(pool);
  }
}

/* ---- check mode ------------------------------------------------------------------ */

static __attribute__((noinline)) void tell_check(const struct tide_buffer *buffer,
                                                 enum tide_event_kind kind) {
  const struct tide_context *context = buffer->pool->context;
  const struct tide_platform *platform = context->platform;
  tide_pool_lock(buffer->pool);
  bool pinned = buffer->pins != 0;
  tide_pool_unlock(buffer->pool);
  struct tide_event event = {.kind = kind,
                             .detail = pinned,
                             .thread = platform->thread_id(platform->self),
                             .value = buffer->serial,
                             .object = buffer};
  context->check->event(context->check->self, &event);
}

static inline bool is_checked(const struct tide_buffer *buffer) {
  return __builtin_expect(buffer->pool->context->check != NULL, 0);
}

/* ---- freeing -------------------------------------------------------------------- */

static inline void count_out_locked(struct tide_pool *pool, const struct tide_buffer *buffer) {
  pool->live--;
  pool->stats.live_bytes -= buffer->size;
  pool->live_block_bytes -= buffer->block->size;
}

static __attribute__((noinline)) void emit_free(struct tide_pool *pool,
                                                const struct tide_buffer *buffer,
                                                const struct tide_position *position) {
  struct tide_event event = {.kind = TIDE_EVENT_FREE};
  if (position) event.frontier = position->frontier;
  tide_pool_emit(pool, buffer, position, &event);
}

/* tide_death_follow, where possible. A pool of named uses makes a smaller death; a deferred free
 * has its position in the storage of the death. */
static bool follow_after_search(struct tide_buffer *buffer, const struct tide_position *position) {
  struct tide_death *death = buffer->block->death;
  if (!position || buffer->pool->named || position->frontier == &death->frontier) return false;
  return tide_death_follow(death, buffer->past, buffer->uses, position);
}

/* Completes a free. The sink may read the death frontier: the event precedes any change of it. */
static void complete_locked(struct tide_buffer *buffer, const struct tide_position *position,
                            const struct tide_insight *insight, bool tell) {
  struct tide_pool *pool = buffer->pool;
  gather_locked(buffer);
  if (!buffer->block) {
    if (tell) emit_free(pool, buffer, position);
    pool->live--;
    pool->imports_live--;
    return;
  }
  struct tide_ending ending = {.past = buffer->past,
                               .uses = buffer->uses,
                               .position = position,
                               .tracker = pool->context->tracker,
                               .namers = &pool->namers,
                               .insight = insight,
                               .covered = pool->covered,
                               .named = pool->named};
  if (!follow_after_search(buffer, position)) tide_death_make(buffer->block->death, &ending);
  if (tell) emit_free(pool, buffer, position);
  count_out_locked(pool, buffer);
  tide_block_leave(pool, buffer->block);
  if (tide_grace_busy(&pool->grace)) tide_block_await_grace(pool);
}

/* Keeps the position of a free until the held operations that name the buffer have entered. */
static void defer_locked(struct tide_buffer *buffer, const struct tide_position *position) {
  if (buffer->block) buffer->pool->deferred_live++;
  buffer->free_positioned = position != NULL;
  if (!position) return;
  buffer->free_axis = position->axis;
  buffer->free_epoch = position->epoch;
  if (!buffer->block) return;
  struct tide_eviction eviction = {buffer->pool->context->tracker, position->axis};
  tide_frontier_copy(&buffer->block->death->frontier, position->frontier, &eviction);
}

static void complete_deferred_locked(struct tide_buffer *buffer) {
  struct tide_position position = {
      .axis = buffer->free_axis,
      .epoch = buffer->free_epoch,
      .frontier = buffer->block ? &buffer->block->death->frontier : NULL,
  };
  if (buffer->block) buffer->pool->deferred_live--;
  complete_locked(buffer, buffer->free_positioned ? &position : NULL, NULL, false);
}

/* free_and_unlock and free_contended are tail calls: the fast path needs no stack. */
__attribute__((noinline)) static void free_and_unlock(struct tide_buffer *buffer,
                                                      const struct tide_position *position,
                                                      const struct tide_insight *insight) {
  struct tide_pool *pool = buffer->pool;
  TIDE_ASSERT(!tide_load_relaxed(&buffer->freed));
  tide_store_release(&buffer->freed, 1u);
  bool tell = pool->context->sink != NULL;
  if (buffer->pins) {
    if (tell) emit_free(pool, buffer, position);
    defer_locked(buffer, position);
  } else {
    complete_locked(buffer, position, insight, tell);
    drop_locked(pool, buffer);
  }
  tide_pool_unlock(pool);
}

__attribute__((noinline)) static void free_contended(struct tide_buffer *buffer,
                                                     const struct tide_position *position,
                                                     const struct tide_insight *insight) {
  tide_pool_lock(buffer->pool);
  free_and_unlock(buffer, position, insight);
}

/* True if the freeing position dominates the buffer's past (for the host: if there is no past).
 * Called before the lock is taken: the past and the position are the caller's own. */
static inline bool dominates_past(const struct tide_buffer *buffer,
                                  const struct tide_position *position) {
  return position ? tide_death_stands(buffer->past, position) : tide_death_empty(buffer->past);
}

/* True if a free waits for neither held operations nor a grace period. */
static inline bool is_quick(const struct tide_pool *pool, const struct tide_buffer *buffer) {
  if (tide_load_relaxed(&buffer->freed) | buffer->pins || !buffer->block) return false;
  return !tide_grace_busy(&pool->grace);
}

/* Finishes a free. The death frontier has a signaller, or is empty. */
static inline void finish_quickly(struct tide_pool *pool, struct tide_buffer *buffer,
                                  const struct tide_position *position) {
  tide_store_release(&buffer->freed, 1u);
  if (__builtin_expect(pool->context->sink != NULL, 0)) emit_free(pool, buffer, position);
  count_out_locked(pool, buffer);
  tide_block_shelve(pool, buffer->block);
  drop_locked(pool, buffer);
  tide_pool_unlock(pool);
}

/* Makes the death of a used buffer: of its last uses, if the position's axis is a namer; else of
 * the freeing position, if that knows them. */
static inline bool follow_used(struct tide_pool *pool, const struct tide_buffer *buffer,
                               const struct tide_position *position) {
  struct tide_death *death = buffer->block->death;
  if (!position) return false;
  if (pool->named && tide_namers_have(&pool->namers, position->axis)) {
    return tide_death_follow_uses(death, buffer->uses, position, &pool->namers);
  }
  if (!dominates_past(buffer, position) || !tide_uses_known(buffer->uses, position->frontier))
    return false;
  tide_death_fill(death, position);
  return true;
}

/* A tail call: other frees need less stack. */
__attribute__((noinline)) static void free_used(struct tide_buffer *buffer,
                                                const struct tide_position *position,
                                                const struct tide_insight *insight) {
  struct tide_pool *pool = buffer->pool;
  gather_locked(buffer);
  if (is_quick(pool, buffer) && follow_used(pool, buffer, position)) {
    finish_quickly(pool, buffer, position);
  } else {
    free_and_unlock(buffer, position, insight);
  }
}

void tide_pool_free(struct tide_buffer *buffer, const struct tide_position *position) {
  tide_pool_free_with(buffer, position, NULL);
}

void tide_pool_free_with(struct tide_buffer *buffer, const struct tide_position *position,
                         const struct tide_insight *insight) {
  if (!buffer) return;
  struct tide_pool *pool = buffer->pool;
  if (!position && is_checked(buffer)) tell_check(buffer, TIDE_EVENT_BUFFER_FREED);
  bool knows = dominates_past(buffer, position);
  if (!tide_lock_try(&pool->lock)) return free_contended(buffer, position, insight);
  bool used = buffer->uses->count || buffer->uses->tainted;
  if (used && (pool->named || buffer->repeats)) return free_used(buffer, position, insight);
  if (!knows || !is_quick(pool, buffer)) return free_and_unlock(buffer, position, insight);
  if (used && !(position && tide_uses_known(buffer->uses, position->frontier))) {
    return free_and_unlock(buffer, position, insight);
  }
  if (position) tide_death_fill(buffer->block->death, position);
  else tide_death_clear(buffer->block->death);
  finish_quickly(pool, buffer, position);
}

void tide_buffer_pin(struct tide_buffer *buffer) {
  tide_pool_lock(buffer->pool);
  buffer->pins++;
  tide_pool_unlock(buffer->pool);
}

void tide_buffer_unpin(struct tide_buffer *buffer) {
  struct tide_pool *pool = buffer->pool;
  tide_pool_lock(pool);
  TIDE_ASSERT(buffer->pins != 0);
  bool last = --buffer->pins == 0 && tide_load_relaxed(&buffer->freed);
  if (last) {
    complete_deferred_locked(buffer);
    drop_locked(pool, buffer);
  }
  tide_pool_unlock(pool);
}

/* ---- queries -------------------------------------------------------------------- */

bool tide_buffer_is_fresh(const struct tide_buffer *buffer) {
  return buffer->reuse == TIDE_REUSE_FRESH;
}

const struct tide_frontier *tide_buffer_past(const struct tide_buffer *buffer) {
  return &buffer->past->frontier;
}

void tide_buffer_past_signaller(const struct tide_buffer *buffer, tide_axis *out_axis,
                                uint64_t *out_epoch) {
  *out_axis = buffer->past->axis;
  *out_epoch = buffer->past->epoch;
}

const struct tide_frontier *tide_buffer_death(const struct tide_buffer *buffer, tide_axis *out_axis,
                                              uint64_t *out_epoch) {
  if (!buffer->block || buffer->pins) return NULL;
  *out_axis = buffer->block->death->axis;
  *out_epoch = buffer->block->death->epoch;
  return &buffer->block->death->frontier;
}

uint64_t tide_buffer_serial(const struct tide_buffer *buffer) { return buffer->serial; }

bool tide_buffer_pinned(const struct tide_buffer *buffer) { return buffer->pins != 0; }

bool tide_buffer_covered(const struct tide_buffer *buffer) { return buffer->pool->covered; }

bool tide_buffer_freed(const struct tide_buffer *buffer) {
  return tide_load_acquire(&buffer->freed) != 0;
}

const struct tide_pool *tide_buffer_pool(const struct tide_buffer *buffer) { return buffer->pool; }

void *tide_buffer_data(const struct tide_buffer *buffer) { return buffer->memory; }
size_t tide_buffer_size(const struct tide_buffer *buffer) { return buffer->size; }
const char *tide_buffer_label(const struct tide_buffer *buffer) { return buffer->label; }
enum tide_reuse tide_buffer_reuse(const struct tide_buffer *buffer) { return buffer->reuse; }

bool tide_buffer_ready(const struct tide_buffer *buffer) {
  bool ready = tide_death_finished(buffer->past, buffer->pool->context->tracker);
  if (ready && is_checked(buffer)) tell_check(buffer, TIDE_EVENT_BUFFER_READY);
  return ready;
}

/* True if the repeated uses have finished, which may not be in `uses` yet. */
static bool repeats_finished(const struct tide_buffer *buffer) {
  for (uint32_t left = buffer->repeats; left; left &= left - 1) {
    const struct tide_repeater *repeater = &buffer->head.repeaters[__builtin_ctz(left)];
    if (!tide_tracker_finished(buffer->pool->context->tracker, tide_load_relaxed(&repeater->axis),
                               tide_load_acquire(&repeater->epoch))) {
      return false;
    }
  }
  return true;
}

/* True if no operation refers to the buffer, or all that entered have finished and none is held. */
static bool is_idle(const struct tide_buffer *buffer) {
  struct tide_pool *pool = buffer->pool;
  if (tide_load_acquire(&buffer->references) == 1) return true;
  if (pool->covered) return false;
  tide_pool_lock(pool);
  bool idle = buffer->pins == 0 && tide_uses_finished(buffer->uses, pool->context->tracker) &&
              repeats_finished(buffer);
  tide_pool_unlock(pool);
  return idle;
}

bool tide_buffer_idle(const struct tide_buffer *buffer) {
  bool idle = tide_buffer_ready(buffer) && is_idle(buffer);
  if (idle && is_checked(buffer)) tell_check(buffer, TIDE_EVENT_BUFFER_IDLE);
  return idle;
}
