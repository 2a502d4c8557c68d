/* Chunks and the blocks that they are cut into: splitting, joining. */
#include "base/check.h"
#include "causal/tracker.h"
#include "memory/state.h"

static struct tide_block *spare_pop(struct tide_pool *pool) {
  struct tide_link *link = tide_list_pop_front(&pool->spare_blocks);
  TIDE_ASSERT(link != NULL);
  pool->spare_block_count--;
  struct tide_block *block = TIDE_CONTAINER(link, struct tide_block, link);
  tide_death_clear(block->death);
  return block;
}

/* Adds a spare, which is the next to be used: its memory is still in the caches. */
static void spare_push(struct tide_pool *pool, struct tide_block *block) {
  tide_list_insert_before(pool->spare_blocks.next, &block->link);
  pool->spare_block_count++;
}

static struct tide_bins *bins_of(struct tide_pool *pool, const struct tide_block *block) {
  return block->state == TIDE_BLOCK_FRESH ? &pool->fresh : &pool->free;
}

static bool is_binned(const struct tide_block *block) {
  return block->state == TIDE_BLOCK_FRESH || block->state == TIDE_BLOCK_FREE;
}

static void bin_insert(struct tide_pool *pool, struct tide_block *block) {
  tide_bins_insert(bins_of(pool, block), tide_bin_of(block->size), &block->link);
}

/* ---- chunks ------------------------------------------------------------------ */

struct tide_block *tide_chunk_add(struct tide_pool *pool, struct tide_chunk *chunk, char *memory,
                                  size_t size) {
  struct tide_block *block = spare_pop(pool);
  block->chunk = chunk;
  block->before = block->after = NULL;
  block->memory = memory;
  block->size = size;
  block->state = TIDE_BLOCK_FRESH;
  chunk->first = block;
  pool->uncut_bytes += chunk->size;
  tide_list_push_back(&pool->chunks, &chunk->link);
  bin_insert(pool, block);
  return block;
}

bool tide_chunk_is_idle(const struct tide_pool *pool, const struct tide_chunk *chunk) {
  struct tide_tracker *tracker = pool->context->tracker;
  for (const struct tide_block *block = chunk->first; block; block = block->after) {
    if (block->state == TIDE_BLOCK_LIVE) return false;
    if (block->state == TIDE_BLOCK_FRESH || tide_death_finished(block->death, tracker)) continue;
    /* Without a live axis, all epochs that were ever given have finished. */
    if (block->state == TIDE_BLOCK_WAITING && tide_tracker_live(tracker) == 0) continue;
    return false;
  }
  return true;
}

void tide_chunk_remove(struct tide_pool *pool, struct tide_chunk *chunk) {
  struct tide_block *block = chunk->first;
  size_t uncut = chunk->size;
  while (block) {
    struct tide_block *after = block->after;
    tide_list_remove(&block->link);
    if (block->state == TIDE_BLOCK_WAITING) pool->grace.blocks--;
    if (block->state != TIDE_BLOCK_FRESH) uncut -= block->size;
    spare_push(pool, block);
    block = after;
  }
  pool->uncut_bytes -= uncut;
  tide_list_remove(&chunk->link);
}

/* ---- splitting --------------------------------------------------------------- */

/* Splits off the bytes beyond `size`. Both parts have the whole block's death frontier, signaller
 * and taint, since both were used with it. */
static void split_block(struct tide_pool *pool, struct tide_block *block, size_t size) {
  struct tide_block *rest = spare_pop(pool);
  rest->chunk = block->chunk;
  rest->before = block;
  rest->after = block->after;
  if (rest->after) rest->after->before = rest;
  block->after = rest;
  rest->memory = block->memory + size;
  rest->size = block->size - size;
  rest->state = block->state;
  block->size = size;
  if (!tide_death_empty(block->death)) {
    tide_death_copy(rest->death, block->death);
  }
  bin_insert(pool, rest);
  pool->stats.splits++;
}

void tide_block_take(struct tide_pool *pool, struct tide_block *block, size_t size) {
  TIDE_ASSERT(is_binned(block) && block->size >= size);
  tide_list_remove(&block->link);
  if (block->size > size) split_block(pool, block, size);
  if (block->state == TIDE_BLOCK_FRESH) pool->uncut_bytes -= size;
  block->state = TIDE_BLOCK_LIVE;
}

void tide_block_wait(struct tide_pool *pool, struct tide_block *block) {
  TIDE_ASSERT(block->state == TIDE_BLOCK_LIVE);
  block->state = TIDE_BLOCK_WAITING;
  tide_list_push_back(&pool->grace.waiting, &block->link);
  pool->grace.blocks++;
}

void tide_block_await_grace(struct tide_pool *pool) {
  while (tide_grace_step(&pool->grace, pool->context->tracker)) {
    struct tide_link *link;
    while ((link = tide_list_pop_front(&pool->grace.covered))) {
      struct tide_block *block = TIDE_CONTAINER(link, struct tide_block, link);
      pool->grace.blocks--;
      tide_death_clear(block->death);
      block->state = TIDE_BLOCK_FREE;
      bin_insert(pool, block);
    }
  }
}

/* ---- joining ----------------------------------------------------------------- */

static bool have_like_deaths(const struct tide_block *a, const struct tide_block *b) {
  if (tide_death_empty(a->death) || tide_death_empty(b->death)) {
    return tide_death_empty(a->death) && tide_death_empty(b->death);
  }
  return tide_death_covers(a->death, b->death) != 0;
}

/* True if the states of two blocks allow a join. */
static bool are_joinable(struct tide_pool *pool, struct tide_block *a, struct tide_block *b) {
  if (!b || a->state == TIDE_BLOCK_LIVE || b->state == TIDE_BLOCK_LIVE) return false;
  if (is_binned(a) && is_binned(b)) return true;
  pool->stats.refused_joins++;
  return false;
}

/* Merges b into a. Neither is in a bin. Only the end of a chunk is fresh, so a is not. */
static void merge_blocks(struct tide_pool *pool, struct tide_block *a, struct tide_block *b) {
  TIDE_ASSERT(a->state == TIDE_BLOCK_FREE);
  if (b->state == TIDE_BLOCK_FRESH) pool->uncut_bytes -= b->size;
  a->size += b->size;
  a->after = b->after;
  if (a->after) a->after->before = a;
  spare_push(pool, b);
  pool->stats.joins++;
}

/* Joins as many followers as possible to the block. Returns the number of joins. */
static size_t join_run(struct tide_pool *pool, struct tide_block *block,
                       enum tide_joining joining) {
  struct tide_tracker *tracker = pool->context->tracker;
  size_t joins = 0;
  struct tide_block *next;
  while (are_joinable(pool, block, next = block->after)) {
    tide_death_settle(block->death, &pool->namers);
    tide_death_settle(next->death, &pool->namers);
    if (joining == TIDE_JOIN_ALIKE && !have_like_deaths(block, next)) break;
    if (!tide_death_join(block->death, next->death, pool->scratch, tracker)) {
      pool->stats.refused_joins++;
      break;
    }
    tide_list_remove(&next->link);
    tide_list_remove(&block->link);
    merge_blocks(pool, block, next);
    bin_insert(pool, block);
    joins++;
  }
  return joins;
}

size_t tide_block_join_free(struct tide_pool *pool, enum tide_joining joining) {
  size_t joins = 0;
  for (struct tide_link *at = pool->chunks.next; at != &pool->chunks; at = at->next) {
    struct tide_chunk *chunk = TIDE_CONTAINER(at, struct tide_chunk, link);
    for (struct tide_block *block = chunk->first; block; block = block->after) {
      joins += join_run(pool, block, joining);
    }
  }
  return joins;
}

/* A run of neighbours that begins with `first`. */
struct run {
  struct tide_block *first;
  size_t count, size, missing;
};

/* Adds the next block to the run. False if the block is in use or in a grace period, or if the run
 * would leave more than `most` entries to wait for, or one that the requester may not await. */
static bool run_take(struct tide_pool *pool, struct run *run, const struct tide_block *next,
                     const struct tide_request *request, size_t most) {
  struct tide_tracker *tracker = pool->context->tracker;
  bool closable = true;
  if (!is_binned(next) || next->size > SIZE_MAX - run->size) return false;
  if (next->state == TIDE_BLOCK_FRESH && run->count == 0) return false;
  if (!tide_death_settle(next->death, &pool->namers) &&
      !tide_death_known_with(next->death, request->known, request->insight)) {
    run->missing += tide_death_missing(next->death, request->known, tracker, &closable);
    closable = closable && run->missing <= most &&
               tide_death_may_be_awaited(next->death, request->insight);
  }
  if (!closable || next->death->frontier.tainted) return false;
  run->count++;
  run->size += next->size;
  return true;
}

static bool join_deaths(struct tide_pool *pool, const struct run *run) {
  struct tide_tracker *tracker = pool->context->tracker;
  for (size_t i = 1; i < run->count; i++) {
    struct tide_block *next = run->first->after;
    if (!tide_death_join(run->first->death, next->death, pool->scratch, tracker)) {
      pool->stats.refused_joins++;
      return false;
    }
    tide_list_remove(&next->link);
    tide_list_remove(&run->first->link);
    merge_blocks(pool, run->first, next);
    bin_insert(pool, run->first);
  }
  return true;
}

/* Examines each block once: runs do not overlap. */
bool tide_block_join_run(struct tide_pool *pool, const struct tide_request *request, size_t most,
                         uint32_t looks) {
  struct run best = {.count = 0};
  for (struct tide_link *at = pool->chunks.next; at != &pool->chunks; at = at->next) {
    struct tide_block *block = TIDE_CONTAINER(at, struct tide_chunk, link)->first;
    for (struct run run = {.first = block}; block && looks; block = block->after, looks--) {
      if (!run_take(pool, &run, block, request, most)) {
        run = (struct run){.first = block->after};
      } else if (run.size >= request->size) {
        if (run.missing == 0) return join_deaths(pool, &run);
        most = run.missing - 1;
        best = run;
        run = (struct run){.first = block->after};
      }
    }
  }
  return best.count != 0 && join_deaths(pool, &best);
}
