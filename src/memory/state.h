/* memory/state.h: the structs of a pool and its blocks.
 *
 * A block's description lies apart from the block, whose memory may be a device's.
 * A block is in one state; its death frontier counts in FREE and WAITING:
 *
 *   LIVE     a buffer has it
 *   FRESH    never handed out
 *   FREE     may be handed out where its death frontier is satisfied
 *   WAITING  its death frontier says nothing: in a grace period
 *
 * Neighbours in the same chunk are linked in the order of their addresses. Free
 * neighbours are left apart until a request needs them joined: so a block keeps
 * the size and the death frontier that the next request is likely to ask for.
 *
 * A block's death frontier becomes its buffer's past by handing over the storage: the
 * two change places. Each block and each handle has one, whatever it holds.
 *
 * One lock guards all fields that change. A name ends in _locked where the
 * lock is held; `block` functions hold it always. */
#ifndef TIDE_MEMORY_STATE_H
#define TIDE_MEMORY_STATE_H

#include "base/check.h"
#include "base/lock.h"
#include "causal/context_state.h"
#include "memory/bins.h"
#include "memory/death.h"
#include "memory/grace.h"
#include "memory/pool.h"

#define TIDE_POOL_LABEL 32

struct tide_chunk {
  struct tide_link link;
  void *memory; /* as it came from the source */
  size_t size;
  struct tide_block *first;
};

enum tide_block_state { TIDE_BLOCK_LIVE, TIDE_BLOCK_FRESH, TIDE_BLOCK_FREE, TIDE_BLOCK_WAITING };

struct tide_block {
  struct tide_link link; /* in a bin, a grace list or the spares */
  struct tide_chunk *chunk;
  struct tide_block *before, *after;
  char *memory;
  size_t size;
  enum tide_block_state state;
  struct tide_death *death;
};

/* The handle. Constant after creation, but where it says otherwise. */
struct tide_buffer {
  struct tide_buffer_head head;
  struct tide_buffer *next_spare;
  uint64_t serial; /* tells its lives apart */
  struct tide_pool *pool;
  struct tide_block *block; /* NULL: imported */
  void *memory;
  size_t size;
  uint32_t references; /* atomic: the owner until the free is complete, and operations */
  uint32_t freed;      /* atomic: the owner has let go */
  uint32_t pins;       /* guarded by the lock; 0 at the end of a life */
  bool free_positioned;
  enum tide_reuse reuse;
  tide_axis
      free_axis; /* a free that waits for the pins: where it stood. Its frontier lies in the */
  uint64_t free_epoch; /* block's death meanwhile, which nobody else needs while the block lives. */
  struct tide_frontier *uses; /* guarded by the lock, as the next two; see head.repeaters, too */
  uint32_t repeats;           /* which of the repeaters are somebody's: a bit each */
  uint64_t gathered[TIDE_REPEATERS]; /* their epochs that have gone into `uses` */
  struct tide_death *past;
  char label[TIDE_POOL_LABEL];
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
  const void *home; /* params.device, which only sched looks into */
  char label[TIDE_POOL_LABEL];
  struct tide_lock lock; /* guards all below */
  struct tide_link chunks;
  struct tide_buffer *spare_buffers; /* the newest spare is the next to be used: it is warm */
  struct tide_link spare_blocks;
  size_t spare_block_count;
  struct tide_slab *slabs;
  struct tide_frontier *scratch;
  /* What can be worked out from other counts is not counted: tide_pool_stats does so. */
  struct tide_pool_stats stats; /* those of bytes, joins and splits */
  uint64_t live_block_bytes;    /* whole blocks, where `stats` counts what was asked for */
  uint64_t peak_block_bytes;
  uint64_t live;                         /* buffers */
  uint64_t imports_live, deferred_live;  /* of these: imported; freed, but still pinned */
  uint64_t lingering;                    /* handles that are over, but operations refer to them */
  uint64_t reused[TIDE_REUSE_FRESH + 1]; /* allocs, by how they were satisfied */
  uint64_t more_gap_waits;               /* than one for each that had to wait */
  struct tide_namers namers;
  struct tide_grace grace;
  struct tide_bins free, fresh; /* blocks in those states */
  uint64_t uncut_bytes;         /* of source_bytes: never handed out, or lost to alignment */
  uint32_t asking;              /* threads in the source's map(), with the lock let go */
  uint32_t awaiting;            /* threads that sleep until one of those has returned */
  uint32_t answers;             /* atomic, slept on: how often one has */
  uint64_t chunks_added;
};

static inline void tide_pool_lock(struct tide_pool *pool) {
  tide_lock_take(&pool->lock, pool->context->platform);
}
static inline void tide_pool_unlock(struct tide_pool *pool) { tide_lock_give(&pool->lock); }

/* ---- block.c ---------------------------------------------------------------- */

/* Makes all of `memory`, which is the aligned part of the chunk's, a fresh block. Needs one spare
 * block. */
struct tide_block *tide_chunk_add(struct tide_pool *pool, struct tide_chunk *chunk, char *memory,
                                  size_t size);
/* Nothing of it is in use, and the tracker saw everything finish that was. */
bool tide_chunk_finished(struct tide_pool *pool, struct tide_chunk *chunk);
/* All its blocks become spares. The memory is the caller's to give back. */
void tide_chunk_remove(struct tide_pool *pool, struct tide_chunk *chunk);

/* Out of its bin, cut to `size`, into use. Needs one spare block. */
void tide_block_take(struct tide_pool *pool, struct tide_block *block, size_t size);
/* Out of use, to wait for a grace period. */
void tide_block_wait(struct tide_pool *pool, struct tide_block *block);
/* Out of use, with block->death set, which says when it is satisfied: into a bin. */
static inline void tide_block_shelve(struct tide_pool *pool, struct tide_block *block) {
  TIDE_ASSERT(block->state == TIDE_BLOCK_LIVE);
  block->state = TIDE_BLOCK_FREE;
  tide_bins_insert(&pool->free, tide_bin_of(block->size), &block->link);
}
/* One or the other. */
static inline void tide_block_leave(struct tide_pool *pool, struct tide_block *block) {
  if (tide_death_opaque(block->death)) tide_block_wait(pool, block);
  else tide_block_shelve(pool, block);
}
/* Blocks whose grace period is over become free, with nothing left to wait for. */
void tide_block_await_grace(struct tide_pool *pool);
static inline void tide_pool_step_grace(struct tide_pool *pool) {
  if (tide_grace_busy(&pool->grace)) tide_block_await_grace(pool);
}

enum tide_joining {
  TIDE_JOIN_ALIKE, /* where one of the two death frontiers serves for both */
  TIDE_JOIN_ALL    /* wherever it can be done */
};
/* Joins free neighbours; returns how many joins there were. */
size_t tide_block_join_free(struct tide_pool *pool, enum tide_joining joining);

/* Joins the free neighbours that together have `size` bytes and leave the fewest entries to wait
 * for to a requester that knows `frontier`, at most `most`: the first of those that leave as few.
 * False: there are none among the first `looks` blocks. */
bool tide_block_join_run(struct tide_pool *pool, size_t size, const struct tide_frontier *frontier,
                         size_t most, uint32_t looks);

/* ---- best_fit.c --------------------------------------------------------------- */

struct tide_choice {
  struct tide_block *block; /* NULL: none */
  enum tide_reuse reuse;
  size_t missing; /* GAP: entries to wait for */
};

/* At most so many blocks of each kind are looked at; beyond, a good one may be missed. MANY is for
 * requests that would take memory from the source or wait: some microseconds each. */
#define TIDE_CHOOSE_FEW 16u
#define TIDE_CHOOSE_MANY 256u
#define TIDE_CHOOSE_ALL UINT32_MAX

/* Chooses a free block of at least `size` bytes for a requester that knows `frontier`. */
void tide_best_fit_free(struct tide_pool *pool, size_t size, const struct tide_frontier *frontier,
                        uint32_t looks, struct tide_choice *out_choice);
void tide_best_fit_fresh(struct tide_pool *pool, size_t size, uint32_t looks,
                         struct tide_choice *out_choice);

/* ---- reuse_order.c ---------------------------------------------------------- */

struct tide_request {
  size_t size; /* whole blocks */
  const struct tide_frontier *known;
  bool is_host; /* cannot wait on a device: fresh memory, within the limit, before a gap */
};

/* Finds a block by the pool's policy; the lock may be let go meanwhile. Needs stock, and leaves
 * some if true. False: no memory, or another thread is about to add a chunk that may spare a gap
 * wait; then tide_source_await_locked waits for it. */
bool tide_best_fit(struct tide_pool *pool, const struct tide_request *request,
                   struct tide_choice *out_choice);

/* ---- preallocated.c ---------------------------------------------------------------- */

/* Is there a spare handle, two spare blocks, room for a snapshot? If not, they are allocated; the
 * lock is let go meanwhile. False: no memory. */
#define TIDE_SPARE_BLOCKS 2 /* one for a new chunk, one for the rest of a split */
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
/* Takes a chunk with room for `size` bytes in one piece, while tide_source_allows it (`most`
 * SIZE_MAX: the pool's limit alone); the lock is let go meanwhile. NULL, or a fresh block, with
 * the pool stocked. */
struct tide_block *tide_source_take_locked(struct tide_pool *pool, size_t size, size_t most);
/* A chunk counts from when the source is asked, with the lock let go: so the budget may seem used
 * up while a chunk comes that serves several requests. Called when a request found no block. False:
 * no such chunk is on its way. Else blocks until a chunk has come, or none has, and returns true:
 * time to look again. `chunks` is the value of chunks_added before the last look. */
bool tide_source_await_locked(struct tide_pool *pool, uint64_t chunks);
/* The chunk has been removed. No lock. */
void tide_source_give(struct tide_pool *pool, struct tide_chunk *chunk);

/* ---- buffer.c --------------------------------------------------------------- */

size_t tide_buffer_bytes(const struct tide_pool *pool);
void tide_buffer_make(struct tide_pool *pool, struct tide_buffer *buffer);
/* A new life: the places of the old one are nobody's any more. */
void tide_buffer_forget_repeats(struct tide_buffer *buffer);
void tide_pool_emit(struct tide_pool *pool, const struct tide_buffer *buffer,
                    const struct tide_position *position, struct tide_event *event);

#endif
