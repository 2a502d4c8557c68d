/* tidemark/memory.h: buffers that are reused without tracking their uses.
 *
 * The model. A buffer always carries two frontiers. `past` must have finished before the memory may
 * be touched: the death frontier of the memory's previous buffer. `uses` holds the last operations
 * that named the buffer: at most one a queue, and none that a later one knew. A free makes both,
 * and the frontier of the freeing queue, the block's *death frontier*: a free comes after all
 * earlier operations of its queue.
 *
 * That is more than necessary where every operation names the buffers that it
 * touches, and the freeing queue has had other work since. A pool with
 * uses_are_named makes the death frontier of the last uses alone. Of the freeing
 * position it adds the entries that stand for no operation (a host's epoch, an
 * epoch from elsewhere); all of them where no operation named the buffer, or some
 * uses are not remembered.
 *
 * An allocation brings a position and is satisfied by the first of these:
 *
 *   1. a free block whose death frontier the position knows, or the tracker has
 *      seen finish: no wait. At most 256 of those that fit are looked at, and 256
 *      blocks for neighbours to join;
 *   2. fresh memory, while the pool is within its *budget*;
 *   3. the free block that leaves the fewest *gap waits*, of at most 256 that fit;
 *      else the free neighbours that do so, of all. Each operation that names
 *      the buffer waits, on the device, for the missing epochs. Such a wait is for
 *      execution only: it opens when the signaller has finished, with any
 *      status, and imports the signaller's frontier;
 *   4. without a limit, fresh memory beyond the budget;
 *   5. TIDE_NOMEM. The statistics tell the limit and the users of the memory.
 *
 * The budget is the pool's `limit`, if one is set. All that is taken from the source counts towards
 * a limit. Otherwise the budget is twice the peak of live blocks, at least 64 MiB, and blocks count
 * that were ever handed out; ends of chunks that were too small for a request don't. So two queues
 * that take and free the same sizes, one far ahead of the other, share the budget without a gap
 * wait. A program whose live memory is constant takes a bounded amount from the source, however
 * long it runs: the budget, the ends of chunks, and the gaps that random sizes leave between live
 * blocks (in a test with sizes up to 32 MiB, four times the peak in all).
 *
 * A host position (NULL) cannot wait on a device. For it, step 3 is a finished block,
 * or a run of finished neighbours, of all; fresh memory beyond the budget is next, and
 * an unfinished block last. So hosts that free memory faster than devices finish with
 * it need a limit.
 *
 * TIDE_POOL_WAIT_FIRST swaps steps 2 and 3, and step 1 looks at 16 blocks: the least
 * memory, at the price of waits between queues.
 *
 * Splitting a block gives its death frontier to both parts; joining merges.
 *
 * The pool knows positions, not queues; tide_queue_alloc and tide_queue_free in
 * queue.h bring them. Pools don't mix: a buffer goes back where it came from, and
 * where the memory is one device's, other devices' queues are refused it.
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

/* Where a pool's memory comes from. Called on the thread that calls the pool, perhaps with the
 * scheduler's lock held, and by the pool's end, which may come after that of its device: neither
 * function may call the library. */
struct tide_memory_source {
  void *(*map)(void *self, size_t size); /* NULL when there is none; page-aligned is best */
  void (*unmap)(void *self, void *memory, size_t size);
  void *self;
};

/* Which comes first where no free block can be had without a wait. A host position (NULL) always
 * prefers fresh memory, within the limit, to an unfinished block. */
enum tide_pool_policy {
  TIDE_POOL_GROW_FIRST, /* fresh memory within the budget, then gap waits */
  TIDE_POOL_WAIT_FIRST  /* gap waits, then fresh memory within the limit */
};

/* Bytes: the least budget of a pool without a limit. */
#define TIDE_POOL_BUDGET_LEAST ((size_t)64 << 20)

struct tide_pool_params {
  size_t struct_size;
  const char *label;
  const struct tide_memory_source *source; /* NULL: the context's allocator */
  size_t limit; /* bytes taken from the source at most, never exceeded; 0: none */
  enum tide_pool_policy policy;
  size_t chunk; /* bytes taken at a time; 0: 4 MiB, and larger blocks get a chunk of their own */
  size_t align; /* of blocks, a power of two; 0: 64 */
  const struct tide_device *device; /* the memory's: queues of other devices may free buffers, and
                                       not use them; outlives its uses. NULL: the host's, for all */
  uint32_t buffers;                 /* live buffers at most; 0: 4096 */
  bool frees_cover_uses; /* a compiler's promise that the freeing queue knows all uses: operations
                            then don't raise `uses` (check mode verifies the promise) */
  bool uses_are_named;   /* every operation that touches a buffer names it: the next user of the
                            memory waits for these alone */
};

/* How an allocation was satisfied; counted in the stats. */
enum tide_reuse {
  TIDE_REUSE_KNOWN,    /* the requester's frontier covers the death frontier: no wait */
  TIDE_REUSE_FINISHED, /* the tracker saw it finish: no wait */
  TIDE_REUSE_GAP,      /* execution-only waits close the gap */
  TIDE_REUSE_FRESH     /* never used, or new from the source */
};

struct tide_pool_stats {
  uint64_t allocs, frees;
  uint64_t reused_known, reused_finished, reused_gap, fresh; /* buffers, by enum tide_reuse */
  uint64_t gap_waits; /* entries that reused_gap left to wait for, one or more a buffer */
  uint64_t splits, joins, refused_joins;
  uint64_t live_buffers;
  uint64_t live_bytes, peak_bytes;    /* handed out, as asked for */
  uint64_t source_bytes, source_peak; /* taken from the source */
  uint64_t source_used; /* of source_bytes, all but the unused end of the newest chunk: the limit
                           with which allocations so far would have been satisfied alike */
  uint64_t limit;       /* as given; 0: none */
  uint64_t budget;      /* bytes of blocks that are taken before gap waits are made */
};

/* NULL params are the defaults. TIDE_NOMEM; TIDE_INVALID: an alignment that is no power of two, a
 * source without a function, an unknown policy. Takes nothing from the
 * source before the first allocation. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_pool_create(struct tide_context *context,
                                                           const struct tide_pool_params *params,
                                                           struct tide_pool **out_pool);
/* TIDE_BUSY while buffers live or blocks are not finished by the tracker; nothing changes then. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_pool_destroy(struct tide_pool *pool);
/* All of one moment. */
TIDE_API void tide_pool_stats(struct tide_pool *pool, struct tide_pool_stats *out_stats);
/* Gives chunks back to the source that are free as a whole and whose death frontiers have finished.
 * Returns the bytes given back. */
TIDE_API size_t tide_pool_trim(struct tide_pool *pool);

/* Hands out `size` bytes (>= 1) at `position` (NULL: a host that knows only the tracker, and asks
 * tide_buffer_ready before it touches the memory). The buffer's owner frees it once. TIDE_NOMEM:
 * the limit is reached, or the source has no more, and no free block fits; TIDE_FULL at the limit
 * of buffers. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_pool_alloc(struct tide_pool *pool, size_t size,
                                                          const struct tide_position *position,
                                                          const char *label,
                                                          struct tide_buffer **out_buffer);
/* Memory that the caller owns (a memfd or a dma-buf: what it is mapped at) takes part the same way;
 * it is never handed to anybody else. TIDE_INVALID, TIDE_NOMEM, TIDE_FULL. `free`
 * drops the buffer; the caller may touch or unmap the memory once tide_buffer_idle says so — ask
 * before freeing. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_pool_import(struct tide_pool *pool, void *memory,
                                                           size_t size, const char *label,
                                                           struct tide_buffer **out_buffer);
/* Frees at `position` (NULL: the host, which waited for all uses). Operations that are held with
 * this buffer keep it until they have entered. The handle is gone for the caller. */
TIDE_API void tide_pool_free(struct tide_buffer *buffer, const struct tide_position *position);

/* Where the bytes are; constant while the buffer lives. What may be touched when: an operation that
 * names the buffer, when its body runs; the host, once tide_buffer_ready. */
TIDE_API void *tide_buffer_data(const struct tide_buffer *buffer);
/* As it was asked for. */
TIDE_API size_t tide_buffer_size(const struct tide_buffer *buffer);
/* "" when none was given. Lives as long as the buffer. */
TIDE_API const char *tide_buffer_label(const struct tide_buffer *buffer);
/* How its allocation was satisfied; FRESH for imported memory. */
TIDE_API enum tide_reuse tide_buffer_reuse(const struct tide_buffer *buffer);
/* May the host write it? The tracker alone satisfies `past`. */
TIDE_API bool tide_buffer_ready(const struct tide_buffer *buffer);
/* Have all operations that named it finished too? */
TIDE_API bool tide_buffer_idle(const struct tide_buffer *buffer);

#ifdef __cplusplus
}
#endif
#endif
