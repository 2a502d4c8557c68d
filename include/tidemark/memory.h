/* tidemark/memory.h: pools of buffers that are reused without tracking each use.
 *
 * The model. A buffer carries two frontiers. `past` must have finished before the memory may be
 * touched: it is the death frontier of the memory's previous buffer. `uses` holds the last
 * operations that named the buffer: at most one per queue, and none that a later one knew. A free
 * merges both with the frontier of the freeing queue into the block's *death frontier*, because a
 * free comes after all earlier operations of its queue.
 *
 * That is more than necessary if every operation names the buffers that it touches, and the freeing
 * queue has had other work since. A pool with uses_are_named builds the death frontier from the
 * last uses alone. From the freeing position it adds the entries that represent no operation (a
 * host's epoch, an epoch from another process). It adds all entries if no operation named the
 * buffer, or if some uses are not remembered.
 *
 * An allocation has a position. The first possible of these steps satisfies it:
 *
 *   1. a free block with a death frontier that the position knows, or that the tracker has seen
 *      finish: no wait. At most 256 fitting blocks are examined, and 256 blocks with neighbours to
 *      join;
 *   2. fresh memory, while the pool is within its *budget*;
 *   3. of at most 256 fitting free blocks, the one that leaves the fewest *gap waits*; else the
 *      free neighbours that do so, of all. Each operation that names the buffer waits, on the
 *      device, for the missing epochs. Such a wait is for execution only: it ends when the
 *      signaller has finished, with any status, and imports the signaller's frontier;
 *   4. without a limit, fresh memory beyond the budget;
 *   5. fresh memory in place of *idle* chunks, whose bytes are all free and whose users have
 *      finished: these go back to the source;
 *   6. TIDE_NOMEM. Then the size and the busy bytes together exceed the limit, or the source has no
 *      more. So an idle pool serves any size within its limit. The statistics show both.
 *
 * The budget is the pool's `limit`, if one is set; all memory taken from the source counts towards
 * a limit. Otherwise the budget is twice the peak of live blocks, at least 64 MiB. Blocks that were
 * ever handed out count towards it; ends of chunks that were too small for a request do not. So two
 * queues that take and free the same sizes, one far ahead of the other, share the budget without a
 * gap wait. A program with constant live memory takes a bounded amount from the source, however
 * long it runs: the budget, the ends of chunks, and the gaps that random sizes leave between live
 * blocks (in a test with sizes up to 32 MiB, four times the peak in all).
 *
 * A host position (NULL) cannot wait on a device. For it, step 3 is a finished block, or a run of
 * finished neighbours, of all. Fresh memory beyond the budget and in place of idle chunks is next,
 * and an unfinished block last. So a pool needs a limit if hosts free memory faster than devices
 * finish with it.
 *
 * TIDE_POOL_WAIT_FIRST swaps steps 2 and 3, and step 1 examines 16 blocks. The pool then takes the
 * least memory, at the price of waits between queues.
 *
 * Splitting a block copies its death frontier to both parts; joining merges.
 *
 * A pool knows positions, not queues; tide_queue_alloc and tide_queue_free in queue.h supply them.
 * A buffer returns to the pool that it came from. If the memory belongs to one device, queues of
 * other devices are refused it.
 *
 * Source: "Causal Dependency Tracking with Vector Clock Frontiers".
 */
#ifndef TIDEMARK_MEMORY_H
#define TIDEMARK_MEMORY_H

#include "tidemark/context.h"

#ifdef __cplusplus
extern "C" {
#endif

struct tide_pool;
struct tide_buffer;
struct tide_device; /* device.h */

/* The source of a pool's memory. Called on the thread that calls the pool, perhaps with the
 * scheduler's lock held, and when the pool ends, perhaps after its device. Neither function may
 * call the library. */
struct tide_memory_source {
  void *(*map)(void *self, size_t size); /* returns NULL without memory; preferably page-aligned */
  void (*unmap)(void *self, void *memory, size_t size);
  void *self;
};

/* The preference when every free block needs a wait. A host position (NULL) always prefers fresh
 * memory, within the limit, to an unfinished block. */
enum tide_pool_policy {
  TIDE_POOL_GROW_FIRST, /* fresh memory within the budget, then gap waits */
  TIDE_POOL_WAIT_FIRST  /* gap waits, then fresh memory within the limit */
};

/* The least budget, in bytes, of a pool without a limit. */
#define TIDE_POOL_BUDGET_LEAST ((size_t)64 << 20)

struct tide_pool_params {
  size_t struct_size;
  const char *label;
  const struct tide_memory_source *source; /* NULL: the context's allocator */
  size_t limit; /* maximum bytes taken from the source, never exceeded; 0: none */
  enum tide_pool_policy policy;
  size_t chunk; /* bytes taken at a time; 0: 4 MiB; larger blocks get a chunk of their own */
  size_t align; /* alignment of blocks, a power of two; 0: 64 */
  const struct tide_device *device; /* the device that owns the memory, which outlives its uses:
                                       queues of other devices may free buffers, but not use them.
                                       NULL: host memory, for all */
  uint32_t buffers;                 /* maximum live buffers; 0: 4096 */
  bool frees_cover_uses; /* a compiler's promise that the freeing queue knows all uses: operations
                            then do not raise `uses` (check mode verifies the promise) */
  bool uses_are_named;   /* every operation that touches a buffer names it: the next user of the
                            memory waits for these alone */
};

/* How an allocation was satisfied; counted in the statistics. */
enum tide_reuse {
  TIDE_REUSE_KNOWN,    /* the requester's frontier covers the death frontier: no wait */
  TIDE_REUSE_FINISHED, /* the tracker has seen the death frontier finish: no wait */
  TIDE_REUSE_GAP,      /* execution-only waits close the gap */
  TIDE_REUSE_FRESH     /* never used, or new from the source */
};

struct tide_pool_stats {
  uint64_t allocs, frees;
  uint64_t reused_known, reused_finished, reused_gap, fresh; /* buffers, by enum tide_reuse */
  uint64_t gap_waits; /* entries that reused_gap left to wait for, one or more per buffer */
  uint64_t splits, joins, refused_joins;
  uint64_t live_buffers;
  uint64_t deferred_buffers; /* included in live_buffers: freed, but a held operation names them, or
                                another member of a session may read them (cluster.h) */
  uint64_t live_bytes, peak_bytes;    /* requested bytes of live buffers */
  uint64_t source_bytes, source_peak; /* taken from the source */
  uint64_t busy_bytes;                /* source_bytes without idle chunks */
  uint64_t source_used; /* source_bytes without the unused end of the newest chunk: the limit that
                           would have satisfied all allocations so far in the same way */
  uint64_t limit;       /* from the params; 0: none */
  uint64_t budget;      /* bytes of blocks that are taken before gap waits are made */
};

/* Creates a pool. Takes nothing from the source before the first allocation. NULL params select the
 * defaults. TIDE_NOMEM; TIDE_INVALID: struct_size is missing, an alignment that is no power of two,
 * a source without a function, an unknown policy. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_pool_create(struct tide_context *context,
                                                           const struct tide_pool_params *params,
                                                           struct tide_pool **out_pool);
/* Destroys the pool. TIDE_BUSY: buffers live, or the tracker has not seen all blocks finish;
 * nothing changes. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_pool_destroy(struct tide_pool *pool);
/* Copies the statistics, all of one moment. */
TIDE_API void tide_pool_stats(struct tide_pool *pool, struct tide_pool_stats *out_stats);
/* Returns idle chunks to the source. Returns the number of bytes. */
TIDE_API size_t tide_pool_trim(struct tide_pool *pool);

/* Allocates `size` bytes (>= 1) at `position`. A host passes NULL: it knows only the tracker, and
 * calls tide_buffer_ready before it touches the memory. The buffer's owner frees it once.
 * TIDE_NOMEM: no free block fits, and the size and the busy bytes exceed the limit, or the source
 * has no more; TIDE_FULL: the limit of buffers. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_pool_alloc(struct tide_pool *pool, size_t size,
                                                          const struct tide_position *position,
                                                          const char *label,
                                                          struct tide_buffer **out_buffer);
/* Makes a buffer of memory that the caller owns (for a memfd or a dma-buf: its mapping). It is
 * tracked like any other, and never reused for another buffer. tide_pool_free drops the buffer. The
 * caller may touch or unmap the memory once tide_buffer_idle returns true; call that before
 * freeing. TIDE_INVALID; TIDE_NOMEM; TIDE_FULL. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_pool_import(struct tide_pool *pool, void *memory,
                                                           size_t size, const char *label,
                                                           struct tide_buffer **out_buffer);
/* Frees at `position` (NULL: the host, which has waited for all uses). Held operations that name
 * the buffer keep it until they have entered. The handle is invalid at once. */
TIDE_API void tide_pool_free(struct tide_buffer *buffer, const struct tide_position *position);

/* Returns the address of the bytes; constant while the buffer lives. An operation that names the
 * buffer may touch them while its body runs, the host once tide_buffer_ready returns true. */
TIDE_API void *tide_buffer_data(const struct tide_buffer *buffer);
/* Returns the requested size. */
TIDE_API size_t tide_buffer_size(const struct tide_buffer *buffer);
/* Returns the label, or the name instead (context.h). Lives as long as the buffer. */
TIDE_API const char *tide_buffer_label(const struct tide_buffer *buffer);
/* Returns how the allocation was satisfied; FRESH for imported memory. */
TIDE_API enum tide_reuse tide_buffer_reuse(const struct tide_buffer *buffer);
/* True if the host may write the buffer: the tracker alone satisfies `past`. */
TIDE_API bool tide_buffer_ready(const struct tide_buffer *buffer);
/* True if, in addition, all operations that named the buffer have finished, and no other member of
 * a session may read it (cluster.h). */
TIDE_API bool tide_buffer_idle(const struct tide_buffer *buffer);

#ifdef __cplusplus
}
#endif
#endif
