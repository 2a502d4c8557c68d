/* Pools: creation, allocation, statistics, trimming, destruction. */
#include "base/params.h"
#include "base/check.h"
#include "base/alloc.h"
#include "causal/tracker.h"
#include "memory/state.h"

#define DEFAULT_CHUNK ((size_t)4 << 20)
#define DEFAULT_ALIGN ((size_t)64)
#define DEFAULT_BUFFERS 4096u

/* Gives a buffer its label; without one, the name that the handle may have already. */
static inline void set_label(struct tide_buffer *buffer, const char *label) {
  if (!label && buffer->unlabelled) return;
  tide_label_name(buffer->label, label, "buffer", buffer->number);
  buffer->unlabelled = !label;
}

/* ---- making and unmaking ------------------------------------------------------ */

static bool params_good(const struct tide_pool_params *params) {
  if (params->align & (params->align - 1)) return false;
  if (params->source && (!params->source->map || !params->source->unmap)) return false;
  return (unsigned)params->policy <= TIDE_POOL_WAIT_FIRST;
}

static size_t snapshot_tracker(void *self, tide_axis *axes, uint64_t *epochs, size_t size) {
  return tide_tracker_snapshot(self, axes, epochs, size);
}

static void pool_init(struct tide_pool *pool, struct tide_context *context,
                      const struct tide_pool_params *params) {
  pool->context = context;
  pool->align = params->align > 16 ? params->align : params->align ? 16 : DEFAULT_ALIGN;
  pool->chunk = params->chunk ? params->chunk : DEFAULT_CHUNK;
  /* Rounds up to whole blocks. The source refuses absurd sizes. */
  if (pool->chunk > SIZE_MAX - pool->align) pool->chunk = SIZE_MAX - pool->align;
  pool->chunk = (pool->chunk + pool->align - 1) & ~(pool->align - 1);
  pool->limit = params->limit;
  pool->waits_first = params->policy == TIDE_POOL_WAIT_FIRST;
  pool->buffers = params->buffers ? params->buffers : DEFAULT_BUFFERS;
  pool->covered = params->frees_cover_uses;
  pool->named = params->uses_are_named && !params->frees_cover_uses;
  pool->home = params->device;
  tide_label_name(pool->label, params->label, "pool", tide_context_number(context));
  tide_lock_init(&pool->lock);
  tide_list_init(&pool->chunks);
  tide_list_init(&pool->spare_blocks);
  pool->namers.tracker = context->tracker;
  tide_grace_init(&pool->grace);
  pool->grace.snapshot = snapshot_tracker;
  pool->grace.self = pool->context->tracker;
  tide_bins_init(&pool->free);
  tide_bins_init(&pool->fresh);
  tide_source_init(pool, params->source);
}

static void pool_free(struct tide_pool *pool) {
  struct tide_context *context = pool->context;
  tide_pool_preallocated_free(pool);
  tide_free(context->allocator, pool->scratch, 1, tide_frontier_size(context->frontier_capacity));
  tide_free(context->allocator, pool, 1, sizeof *pool);
}

static void free_all(struct tide_pool *pool) {
  struct tide_link *link;
  tide_context_disown(pool->context, &pool->owned);
  while ((link = tide_list_pop_front(&pool->chunks)))
    tide_source_give(pool, TIDE_CONTAINER(link, struct tide_chunk, link));
  pool_free(pool);
}

/* Frees the pool with the buffers that are left: no operation can use them any more. */
static void destroy_owned(struct tide_owned *owned) {
  free_all(TIDE_CONTAINER(owned, struct tide_pool, owned));
}
static const struct tide_owned_ops owned_ops = {.destroy = destroy_owned};

enum tide_status tide_pool_create(struct tide_context *context,
                                  const struct tide_pool_params *params,
                                  struct tide_pool **out_pool) {
  struct tide_pool_params own;
  enum tide_status known = tide_params_copy(&own, sizeof own, params);
  if (known != TIDE_OK) return known;
  params = &own;
  if (!context || !out_pool) return TIDE_INVALID;
  *out_pool = NULL;
  if (!params_good(params)) return TIDE_INVALID;
  struct tide_pool *pool = tide_alloc(context->allocator, 1, sizeof *pool);
  if (!pool) return TIDE_NOMEM;
  pool_init(pool, context, params);
  pool->grace.wanted = 1; /* the first preallocation includes a snapshot */
  pool->scratch = tide_alloc(context->allocator, 1, tide_frontier_size(context->frontier_capacity));
  if (pool->scratch) tide_frontier_init(pool->scratch, context->frontier_capacity);
  tide_pool_lock(pool);
  bool preallocated = pool->scratch && tide_pool_preallocate_locked(pool) && pool->grace.capacity;
  tide_pool_unlock(pool);
  if (!preallocated) {
    pool_free(pool);
    return TIDE_NOMEM;
  }
  tide_context_own(context, TIDE_OWNED_POOL, &pool->owned, &owned_ops);
  *out_pool = pool;
  return TIDE_OK;
}

enum tide_status tide_pool_destroy(struct tide_pool *pool) {
  if (!pool) return TIDE_OK;
  tide_pool_lock(pool);
  tide_pool_step_grace(pool);
  bool busy = pool->live + pool->lingering != 0 || tide_source_busy_bytes(pool) != 0;
  tide_pool_unlock(pool);
  if (busy) return TIDE_BUSY;
  free_all(pool);
  return TIDE_OK;
}

size_t tide_pool_trim(struct tide_pool *pool) {
  tide_pool_lock(pool);
  tide_pool_step_grace(pool);
  size_t bytes = tide_source_give_idle_locked(pool, SIZE_MAX);
  tide_pool_unlock(pool);
  return bytes;
}

static size_t unused_end(const struct tide_pool *pool) {
  if (tide_list_empty(&pool->chunks)) return 0;
  const struct tide_block *block =
      TIDE_CONTAINER(pool->chunks.prev, struct tide_chunk, link)->first;
  while (block->after) block = block->after;
  return block->state == TIDE_BLOCK_FRESH ? block->size : 0;
}

void tide_pool_stats(struct tide_pool *pool, struct tide_pool_stats *out_stats) {
  tide_pool_lock(pool);
  struct tide_pool_stats stats = pool->stats;
  stats.live_buffers = pool->live;
  stats.deferred_buffers = pool->deferred_live;
  stats.reused_known = pool->reused[TIDE_REUSE_KNOWN];
  stats.reused_finished = pool->reused[TIDE_REUSE_FINISHED];
  stats.reused_gap = pool->reused[TIDE_REUSE_GAP];
  stats.fresh = pool->reused[TIDE_REUSE_FRESH];
  stats.gap_waits = stats.reused_gap + pool->more_gap_waits;
  stats.allocs = stats.reused_known + stats.reused_finished + stats.reused_gap + stats.fresh;
  stats.frees = stats.allocs - (stats.live_buffers - pool->imports_live - pool->deferred_live);
  stats.source_used = stats.source_bytes - unused_end(pool);
  stats.busy_bytes = tide_source_busy_bytes(pool);
  stats.limit = pool->limit;
  stats.budget = tide_source_budget(pool, 0);
  tide_pool_unlock(pool);
  *out_stats = stats;
}

const void *tide_pool_home(const struct tide_pool *pool) { return pool->home; }
const char *tide_pool_label(const struct tide_pool *pool) { return pool->label; }

void tide_pool_set_grace(struct tide_pool *pool,
                         size_t (*snapshot)(void *self, tide_axis *axes, uint64_t *epochs,
                                            size_t size),
                         void *self) {
  tide_pool_lock(pool);
  pool->grace.snapshot = snapshot;
  pool->grace.self = self;
  tide_pool_unlock(pool);
}

/* ---- allocation ----------------------------------------------------------------- */

/* Takes a spare handle. The caller has ensured one. */
static inline struct tide_buffer *open_locked(struct tide_pool *pool) {
  struct tide_buffer *buffer = pool->spare_buffers;
  pool->spare_buffers = buffer->next_spare;
  TIDE_ASSERT(buffer->pins == 0);
  buffer->serial++;
  tide_store_relaxed(&buffer->references, 1u);
  tide_store_relaxed(&buffer->freed, 0u);
  /* Omits stores that would change nothing: the next lock waits for each store. */
  if (buffer->uses->count || buffer->uses->tainted) tide_frontier_empty(buffer->uses);
  if (buffer->repeats) tide_buffer_forget_repeats(buffer);
  pool->live++;
  return buffer;
}

/* Makes a buffer of a block that was taken from its bin. */
static inline struct tide_buffer *hand_out(struct tide_pool *pool, struct tide_block *block,
                                           size_t size) {
  struct tide_buffer *buffer = open_locked(pool);
  struct tide_death *unused = buffer->past;
  buffer->past = block->death;
  block->death = unused;
  buffer->block = block;
  buffer->memory = block->memory;
  buffer->size = size;
  struct tide_pool_stats *stats = &pool->stats;
  stats->live_bytes += size;
  if (stats->live_bytes > stats->peak_bytes) stats->peak_bytes = stats->live_bytes;
  pool->live_block_bytes += block->size;
  if (pool->live_block_bytes > pool->peak_block_bytes) {
    pool->peak_block_bytes = pool->live_block_bytes;
  }
  return buffer;
}

/* Not inline: a path without a sink would otherwise clear the event, too. */
__attribute__((noinline)) static void emit_alloc(struct tide_pool *pool,
                                                 const struct tide_buffer *buffer,
                                                 const struct tide_position *position) {
  struct tide_event event = {
      .kind = TIDE_EVENT_ALLOC,
      .detail = (uint32_t)buffer->reuse,
      .cause_axis = buffer->past->axis,
      .cause_epoch = buffer->past->epoch,
      .frontier = &buffer->past->frontier,
  };
  tide_pool_emit(pool, buffer, position, &event);
}

static const struct tide_frontier nothing = {.capacity = 1};

static const struct tide_frontier *known_at(const struct tide_position *position) {
  return position ? position->frontier : &nothing;
}

/* Returns the size in whole blocks; 0: too large. */
static inline size_t whole_size(const struct tide_pool *pool, size_t size) {
  size_t whole;
  if (__builtin_add_overflow(size, pool->align - 1, &whole)) return 0;
  return whole & ~(pool->align - 1);
}

static enum tide_status alloc_locked(struct tide_pool *pool, size_t size,
                                     const struct tide_position *position,
                                     const struct tide_insight *insight, const char *label,
                                     struct tide_buffer **out_buffer) {
  struct tide_request request = {.size = whole_size(pool, size),
                                 .known = known_at(position),
                                 .insight = insight,
                                 .is_host = position == NULL};
  struct tide_choice choice;
  *out_buffer = NULL;
  if (request.size == 0) return TIDE_NOMEM;
  if (pool->live >= pool->buffers) return TIDE_FULL;
  if (!tide_pool_preallocate_locked(pool) || !tide_reuse_choose(pool, &request, &choice))
    return TIDE_NOMEM;
  if (pool->live >= pool->buffers) return TIDE_FULL;
  tide_block_take(pool, choice.block, request.size);
  struct tide_buffer *buffer = hand_out(pool, choice.block, size);
  set_label(buffer, label);
  buffer->reuse = choice.reuse;
  pool->reused[choice.reuse]++;
  if (choice.missing) pool->more_gap_waits += choice.missing - 1;
  if (pool->context->sink) emit_alloc(pool, buffer, position);
  *out_buffer = buffer;
  return TIDE_OK;
}

/* alloc_and_unlock and alloc_contended are tail calls: the fast path needs no stack. */
__attribute__((noinline)) static enum tide_status
alloc_and_unlock(struct tide_pool *pool, size_t size, const struct tide_position *position,
                 const struct tide_insight *insight, const char *label,
                 struct tide_buffer **out_buffer) {
  enum tide_status status;
  uint64_t chunks;
  do {
    chunks = pool->chunks_added;
    status = alloc_locked(pool, size, position, insight, label, out_buffer);
  } while (status == TIDE_NOMEM && tide_source_await_locked(pool, chunks));
  tide_pool_unlock(pool);
  return status;
}

__attribute__((noinline)) static enum tide_status
alloc_contended(struct tide_pool *pool, size_t size, const struct tide_position *position,
                const char *label, struct tide_buffer **out_buffer) {
  tide_pool_lock(pool);
  return alloc_and_unlock(pool, size, position, NULL, label, out_buffer);
}

/* Returns the newest free block of exactly this size. NULL if there is none, or if the request
 * needs more than to take it. */
static inline struct tide_block *newest_of_size(struct tide_pool *pool, size_t whole,
                                                unsigned bin) {
  if (whole == 0 || pool->live >= pool->buffers || !pool->spare_buffers) return NULL;
  if (tide_grace_busy(&pool->grace)) return NULL;
  struct tide_link *list = &pool->free.lists[bin], *link = list->next;
  struct tide_block *block = TIDE_CONTAINER(link, struct tide_block, link);
  return link != list && block->size == whole ? block : NULL;
}

/* Finds the epoch that the frontier lists of the signaller's axis. Checks two likely slots only:
 * the slot at the block's death, and the slot of the frontier's own entry. False: a search is
 * needed. */
static inline bool suggest_known(const struct tide_death *death,
                                 const struct tide_frontier *frontier, uint64_t *out_epoch) {
  *out_epoch = tide_frontier_get_at(frontier, death->place, death->axis);
  if (*out_epoch == 0) *out_epoch = tide_frontier_get_raised(frontier, death->axis);
  return *out_epoch != 0;
}

/* Determines the reuse of a block for a requester that does not know its death. Only the simple
 * case: the signaller stands for the whole death, and its axis is a cached namer. False: a full
 * search is needed, or fresh memory comes before a gap wait. */
static inline bool find_reuse(struct tide_pool *pool, struct tide_death *death,
                              enum tide_reuse *out_reuse) {
  if (!tide_namers_listed(&pool->namers, death->axis)) return false;
  if (!death->listed || death->frontier.tainted) return false;
  const struct tide_tracker_axis *state = pool->namers.states[death->axis % TIDE_NAMERS];
  bool finished = tide_tracker_axis_finished(state) >= death->epoch;
  if (tide_load_acquire(&state->axis) != death->axis) return false;
  if (!finished && !pool->waits_first) return false;
  if (finished) tide_death_clear(death);
  *out_reuse = finished ? TIDE_REUSE_FINISHED : TIDE_REUSE_GAP;
  return true;
}

/* Fast path: returns the newest block of exactly this size. Either the requester knows its death
 * frontier, mostly since it freed the block itself, or there is no other block. A full search would
 * return the same block. NULL: nothing has changed, and the full search is needed. */
static inline struct tide_block *reuse_newest(struct tide_pool *pool, size_t whole, unsigned bin,
                                              const struct tide_position *position,
                                              enum tide_reuse *out_reuse) {
  struct tide_block *block = newest_of_size(pool, whole, bin);
  if (!block) return NULL;
  struct tide_death *death = block->death;
  if (!death->axis) {
    *out_reuse = TIDE_REUSE_FINISHED;
    return tide_death_empty(death) ? block : NULL;
  }
  if (!position) return NULL;
  *out_reuse = TIDE_REUSE_KNOWN;
  uint64_t known;
  if (!suggest_known(death, position->frontier, &known)) return NULL;
  if (known >= death->epoch) return block;
  /* Unknown to the requester: only if there is no other. */
  if (block->link.next != block->link.prev) return NULL;
  if (!tide_bins_last(&pool->free, bin)) return NULL;
  if (!find_reuse(pool, death, out_reuse)) return NULL;
  return block;
}

/* Sets the label without the lock: no other thread has the buffer yet. A tail call. */
__attribute__((noinline)) static enum tide_status give_label(struct tide_buffer *buffer,
                                                             const char *label) {
  set_label(buffer, label);
  return TIDE_OK;
}

enum tide_status tide_pool_alloc(struct tide_pool *pool, size_t size,
                                 const struct tide_position *position, const char *label,
                                 struct tide_buffer **out_buffer) {
  if (!out_buffer || !pool || size == 0) {
    if (out_buffer) *out_buffer = NULL;
    return TIDE_INVALID;
  }
  /* Computed before the lock is taken: all loads behind the lock wait for it. */
  size_t whole = whole_size(pool, size);
  unsigned bin = tide_bin_of(whole ? whole : 8);
  if (!tide_lock_try(&pool->lock)) return alloc_contended(pool, size, position, label, out_buffer);
  enum tide_reuse reuse;
  struct tide_block *block = reuse_newest(pool, whole, bin, position, &reuse);
  if (!block) return alloc_and_unlock(pool, size, position, NULL, label, out_buffer);
  struct tide_link *before = block->link.prev, *after = block->link.next;
  before->next = after;
  after->prev = before;
  block->state = TIDE_BLOCK_LIVE;
  pool->reused[reuse]++;
  struct tide_buffer *buffer = hand_out(pool, block, size);
  buffer->reuse = reuse;
  *out_buffer = buffer;
  if (__builtin_expect(pool->context->sink != NULL, 0)) {
    set_label(buffer, label);
    emit_alloc(pool, buffer, position);
  }
  tide_pool_unlock(pool);
  return label || !buffer->unlabelled ? give_label(buffer, label) : TIDE_OK;
}

enum tide_status tide_pool_alloc_with(struct tide_pool *pool, size_t size,
                                      const struct tide_position *position,
                                      const struct tide_insight *insight, const char *label,
                                      struct tide_buffer **out_buffer) {
  if (!insight || !pool || !out_buffer || size == 0)
    return tide_pool_alloc(pool, size, position, label, out_buffer);
  tide_pool_lock(pool);
  return alloc_and_unlock(pool, size, position, insight, label, out_buffer);
}

enum tide_status tide_pool_import(struct tide_pool *pool, void *memory, size_t size,
                                  const char *label, struct tide_buffer **out_buffer) {
  if (!out_buffer) return TIDE_INVALID;
  *out_buffer = NULL;
  if (!pool || !memory || size == 0) return TIDE_INVALID;
  enum tide_status status = TIDE_OK;
  tide_pool_lock(pool);
  if (pool->live >= pool->buffers) status = TIDE_FULL;
  else if (!tide_pool_preallocate_locked(pool)) status = TIDE_NOMEM;
  if (status == TIDE_OK) {
    struct tide_buffer *buffer = open_locked(pool);
    set_label(buffer, label);
    tide_death_clear(buffer->past);
    buffer->block = NULL;
    pool->imports_live++;
    buffer->memory = memory;
    buffer->size = size;
    buffer->reuse = TIDE_REUSE_FRESH;
    *out_buffer = buffer;
    if (pool->context->sink) emit_alloc(pool, buffer, NULL);
  }
  tide_pool_unlock(pool);
  return status;
}

/* ---- events ----------------------------------------------------------------------- */

void tide_pool_emit(struct tide_pool *pool, const struct tide_buffer *buffer,
                    const struct tide_position *position, struct tide_event *event) {
  const struct tide_sink *sink = pool->context->sink;
  const struct tide_platform *platform = pool->context->platform;
  if (sink->wants_time) event->time = platform->now(platform->self);
  event->thread = platform->thread_id(platform->self);
  if (position) {
    event->axis = position->axis;
    event->epoch = position->epoch;
  }
  event->value = buffer->size;
  event->object = buffer;
  event->label = buffer->label;
  event->object_label = pool->label;
  sink->event(sink->self, event);
}
