/* memory/state.h: the structs of a pool and its blocks.
 *
 * A block's descriptor is stored apart from its memory, which may be a device's. A block is in one
 * state; its death frontier counts in FREE and WAITING:
 *
 *   LIVE     in use by a buffer
 *   FRESH    never handed out
 *   FREE     may be handed out once its death frontier is satisfied
 *   WAITING  its death frontier is opaque: in a grace period
 *
 * Neighbours in the same chunk are linked in the order of their addresses. Free neighbours stay
 * separate until a request needs them joined. So a block keeps the size and the death frontier that
 * the next request is likely to need.
 *
 * A block's death frontier becomes its buffer's past without a copy: block and handle exchange
 * their storage. Each block and each handle always has the storage of one death.
 *
 * One lock guards all fields that change. The caller holds it where a name ends in _locked, and for
 * all `block` functions. */
#ifndef TIDE_MEMORY_STATE_H
#define TIDE_MEMORY_STATE_H

#include "base/check.h"
#include "base/label.h"
#include "base/lock.h"
#include "causal/context_state.h"
#include "memory/bins.h"
#include "memory/death.h"
#include "memory/grace.h"
#include "memory/pool.h"

struct tide_chunk {
  struct tide_link link;
  void *memory; /* the source's address, not aligned */
  size_t size;
  struct tide_block *first;
};

enum tide_block_state { TIDE_BLOCK_LIVE, TIDE_BLOCK_FRESH, TIDE_BLOCK_FREE, TIDE_BLOCK_WAITING };

struct tide_block {
  struct tide_link link; /* entry of a bin, a grace list or the spares */
  struct tide_chunk *chunk;
  struct tide_block *before, *after;
  char *memory;
  size_t size;
  enum tide_block_state state;
  struct tide_death *death;
};

/* A handle of a buffer. Fields are constant after the allocation, unless they say otherwise. */
struct tide_buffer {
  struct tide_buffer_head head;
  struct tide_buffer *next_spare;
  uint64_t serial; /* number of the handle's current life */
  uint32_t number; /* of the handle in its pool, from 1 */
  struct tide_pool *pool;
  struct tide_block *block; /* NULL: imported */
  void *memory;
  size_t size;
  uint32_t references; /* atomic: one of the owner until the free is complete, one an operation */
  uint32_t freed;      /* atomic: the owner has freed the buffer */
  uint32_t pins;       /* guarded by the lock; 0 at the end of a life */
  bool free_positioned;
  bool unlabelled; /* the label is the name of the kind and the number */
  enum tide_reuse reuse;
  /* The position of a free that waits for the pins. Meanwhile the position's frontier is in the
   * block's death, which is unused while the block lives. */
  tide_axis free_axis;
  uint64_t free_epoch;
  struct tide_frontier *uses; /* guarded by the lock, as the next two; see head.repeaters, too */
  uint32_t repeats;           /* bit i: repeaters[i] belongs to a queue */
  uint64_t gathered[TIDE_REPEATERS]; /* the repeaters' epochs that are merged into `uses` */
  struct tide_death *past;
  char label[TIDE_LABEL_SIZE];
};

struct tide_slab {
  _Alignas(16) struct tide_slab *next;
  size_t bytes;
};

struct tide_pool {
  struct tide_context *context;
  struct tide_owned owned;
  struct tide_memory_source source;
  size_t limit, chunk, align; /* limit: 0 for none */
  bool waits_first;           /* params.policy */
  uint32_t buffers;
  bool covered;     /* params.frees_cover_uses */
  bool named;       /* params.uses_are_named */
  const void *home; /* params.device, opaque to the pool */
  char label[TIDE_LABEL_SIZE];
  struct tide_lock lock; /* guards all below */
  struct tide_link chunks;
  struct tide_buffer *spare_buffers; /* newest first: the newest is still in the caches */
  struct tide_link spare_blocks;
  size_t spare_block_count;
  uint32_t handles; /* made so far */
  struct tide_slab *slabs;
  uint32_t slab_items; /* of the next slab; 0: the first */
  struct tide_frontier *scratch;
  /* Counts that follow from others are not kept: tide_pool_stats computes them. */
  struct tide_pool_stats stats; /* only the counts of bytes, joins and splits */
  uint64_t live_block_bytes;    /* bytes of whole blocks; `stats` counts requested bytes */
  uint64_t peak_block_bytes;
  uint64_t live;                         /* buffers */
  uint64_t imports_live, deferred_live;  /* included in `live`: imported; freed, but still pinned */
  uint64_t lingering;                    /* freed handles that operations still refer to */
  uint64_t reused[TIDE_REUSE_FRESH + 1]; /* allocs, by how they were satisfied */
  uint64_t more_gap_waits;               /* gap waits beyond the first of each alloc */
  struct tide_namers namers;
  struct tide_grace grace;
  struct tide_bins free, fresh; /* blocks in those states */
  uint64_t uncut_bytes;         /* part of source_bytes: never handed out, or lost to alignment */
  uint32_t asking;              /* threads that are at the source, partly unlocked */
  uint32_t awaiting;            /* threads parked until one of those is done */
  uint32_t answers;             /* atomic, waited on: counts the threads that are done */
  uint64_t chunks_added;
};

static inline void tide_pool_lock(struct tide_pool *pool) {
  tide_lock_take(&pool->lock, pool->context->platform);
}
static inline void tide_pool_unlock(struct tide_pool *pool) { tide_lock_give(&pool->lock); }

struct tide_request {
  size_t size; /* whole blocks */
  const struct tide_frontier *known;
  const struct tide_insight *insight; /* NULL: none */
  bool is_host; /* cannot wait on a device: fresh memory, within the limit, before a gap */
};

/* ---- block.c ---------------------------------------------------------------- */

/* Makes all of `memory`, the aligned part of the chunk, a fresh block. Needs one spare block. */
struct tide_block *tide_chunk_add(struct tide_pool *pool, struct tide_chunk *chunk, char *memory,
                                  size_t size);
/* True if no block of the chunk is in use, and all former uses have finished. */
bool tide_chunk_is_idle(const struct tide_pool *pool, const struct tide_chunk *chunk);
/* Removes the chunk; all its blocks become spares. The caller must give the memory back. */
void tide_chunk_remove(struct tide_pool *pool, struct tide_chunk *chunk);

/* Takes a block from its bin into use, and splits off the bytes beyond `size`. Needs one spare
 * block. */
void tide_block_take(struct tide_pool *pool, struct tide_block *block, size_t size);
/* Ends the use of a block, which then waits for a grace period. */
void tide_block_wait(struct tide_pool *pool, struct tide_block *block);
/* Ends the use of a block and puts it into a bin. block->death is set, and not opaque. */
static inline void tide_block_shelve(struct tide_pool *pool, struct tide_block *block) {
  TIDE_ASSERT(block->state == TIDE_BLOCK_LIVE);
  block->state = TIDE_BLOCK_FREE;
  tide_bins_insert(&pool->free, tide_bin_of(block->size), &block->link);
}
/* Ends the use of a block: an opaque death waits for a grace period. */
static inline void tide_block_leave(struct tide_pool *pool, struct tide_block *block) {
  if (tide_death_opaque(block->death)) tide_block_wait(pool, block);
  else tide_block_shelve(pool, block);
}
/* Frees the blocks of each finished grace period: nothing is left to wait for. */
void tide_block_await_grace(struct tide_pool *pool);
static inline void tide_pool_step_grace(struct tide_pool *pool) {
  if (tide_grace_busy(&pool->grace)) tide_block_await_grace(pool);
}

enum tide_joining {
  TIDE_JOIN_ALIKE, /* only if one of the two death frontiers implies the other */
  TIDE_JOIN_ALL    /* wherever the deaths can be joined */
};
/* Joins free neighbours. Returns the number of joins. */
size_t tide_block_join_free(struct tide_pool *pool, enum tide_joining joining);

/* Joins a run of free neighbours that has at least request->size bytes together. Chooses the run
 * with the fewest entries to wait for, at most `most`, for the requester; the first of equals.
 * False if the first `looks` blocks have no such run, or its deaths cannot be joined. */
bool tide_block_join_run(struct tide_pool *pool, const struct tide_request *request, size_t most,
                         uint32_t looks);

/* ---- best_fit.c --------------------------------------------------------------- */

struct tide_choice {
  struct tide_block *block; /* NULL: none */
  enum tide_reuse reuse;
  size_t missing; /* GAP: entries to wait for */
};

/* Limits of the blocks of each kind that one search examines; a good block beyond may be missed.
 * MANY is for requests that would take memory from the source or wait: some microseconds each. */
#define TIDE_CHOOSE_FEW 16u
#define TIDE_CHOOSE_MANY 256u
#define TIDE_CHOOSE_ALL UINT32_MAX

/* Chooses a free block that is large enough for the request. */
void tide_best_fit_free(struct tide_pool *pool, const struct tide_request *request, uint32_t looks,
                        struct tide_choice *out_choice);
void tide_best_fit_fresh(struct tide_pool *pool, size_t size, uint32_t looks,
                         struct tide_choice *out_choice);

/* ---- reuse_order.c ---------------------------------------------------------- */

/* Finds a block by the pool's policy; the lock may be let go meanwhile. Needs spares, and leaves
 * some if true. False: no memory, or another thread is about to add a chunk that may spare a gap
 * wait; then tide_source_await_locked waits for that chunk. */
bool tide_reuse_choose(struct tide_pool *pool, const struct tide_request *request,
                       struct tide_choice *out_choice);

/* ---- preallocated.c ---------------------------------------------------------------- */

/* Ensures a spare handle, two spare blocks and capacity for a snapshot. Allocates the missing ones;
 * the lock is let go meanwhile. False: no memory. */
#define TIDE_SPARE_BLOCKS 2 /* the block of a new chunk, and the second part of a split */
bool tide_pool_refill_locked(struct tide_pool *pool);
static inline bool tide_pool_preallocate_locked(struct tide_pool *pool) {
  if (pool->spare_block_count >= TIDE_SPARE_BLOCKS && pool->spare_buffers &&
      !tide_grace_starved(&pool->grace)) {
    return true;
  }
  return tide_pool_refill_locked(pool);
}
void tide_pool_preallocated_free(struct tide_pool *pool);

/* ---- source.c --------------------------------------------------------------- */

/* NULL: from the context's allocator. */
void tide_source_init(struct tide_pool *pool, const struct tide_memory_source *source);
/* Returns the bytes that the pool cuts off its chunks before gap waits are made, if a block of
 * `more` bytes becomes live next. Uncut bytes do not count: a request may be too large for the end
 * of each chunk. With a limit, the budget is the limit, and all bytes count. */
size_t tide_source_budget(const struct tide_pool *pool, size_t more);
/* True if the bytes that are not uncut stay within `most`, and source_bytes within the limit, with
 * `size` bytes more. */
bool tide_source_allows(const struct tide_pool *pool, size_t size, size_t most);
/* Adds a chunk with at least `size` contiguous bytes, if tide_source_allows it (`most` SIZE_MAX:
 * only the pool's limit counts). The lock is let go meanwhile. Returns a fresh block, with spares
 * left in the pool; NULL if it fails. */
struct tide_block *tide_source_take_locked(struct tide_pool *pool, size_t size, size_t most);
/* A chunk counts from the call of the source on, or up to the end of that call, with the lock let
 * go. So the budget may seem used up while a chunk is on its way that serves several requests, or
 * on its way back. Called when a request found no block. False: no thread is at the source.
 * Otherwise blocks until one has left it, and returns true: the caller searches again. `chunks` is
 * the value of chunks_added before the last search. */
bool tide_source_await_locked(struct tide_pool *pool, uint64_t chunks);
/* Gives a removed chunk back to the source. No lock is held. */
void tide_source_give(struct tide_pool *pool, struct tide_chunk *chunk);
/* Returns the bytes of source_bytes that are not in idle chunks. */
uint64_t tide_source_busy_bytes(const struct tide_pool *pool);
/* Gives idle chunks back, the oldest first, until the limit allows `size` bytes more: at least one,
 * and all where no limit tells how many do. The lock is let go meanwhile. Returns their bytes. */
size_t tide_source_give_idle_locked(struct tide_pool *pool, size_t size);

/* ---- buffer.c --------------------------------------------------------------- */

size_t tide_buffer_bytes(const struct tide_pool *pool);
void tide_buffer_make(struct tide_pool *pool, struct tide_buffer *buffer);
/* Begins a new life of the handle: no queue has a repeater any more. */
void tide_buffer_forget_repeats(struct tide_buffer *buffer);
void tide_pool_emit(struct tide_pool *pool, const struct tide_buffer *buffer,
                    const struct tide_position *position, struct tide_event *event);

#endif
