/* tidemark/cuda.h: an NVIDIA GPU as a device.
 *
 * The model. A GPU is opened through its driver, which is loaded when it is asked for: Tidemark
 * links nothing of CUDA, and where there is no driver or no GPU the answer is TIDE_UNSUPPORTED with
 * a sentence that says why. An operation's body has a function `enqueue`, which puts copies and
 * kernels on a *stream*; they run one after the other, and when the last is over the operation is.
 *
 *      static enum tide_status enqueue(const void *arguments, struct tide_cuda_stream *stream) {
 *        const struct blur *b = arguments;
 *        return tide_cuda_launch(stream, &(struct tide_cuda_launch){.kernel = b->kernel, …});
 *      }
 *
 * Each queue's operations run one after the other; those of different queues run side by side. The
 * end of an operation comes back as a call from the driver: nobody polls for it. As with other
 * devices it then signals its timelines, and whoever waits for these goes on.
 *
 * Memory is the device's (an address, not a pointer) or the host's, pinned, which both can use;
 * there is no managed memory. What the device wrote to host memory is seen by whoever saw the
 * operation's end.
 *
 * Failures. A stream that reports an error, and an operation that takes longer than the limit, lose
 * the device: everything unfinished fails (TIDE_LOST; TIDE_TIMEOUT). What may still run counts as
 * finished only when the driver says that it is over.
 *
 * Threads: all functions from any thread; one stream by one at a time. `enqueue` is called by the
 * device's own thread.
 *
 * Source: "CUDA Driver API".
 */
#ifndef TIDEMARK_CUDA_H
#define TIDEMARK_CUDA_H

#include "tidemark/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

struct tide_cuda_stream;
struct tide_cuda_module;
struct tide_cuda_kernel; /* lives as long as its module */

#define TIDE_CUDA_DEPTH_MOST 64u
#define TIDE_CUDA_NAME 64

struct tide_cuda_params {
  size_t struct_size;
  const char *label;  /* copied, cut at 31 bytes; NULL: "gpu" */
  const char *driver; /* the shared object to load; NULL: libcuda.so.1 */
  uint32_t ordinal;   /* which GPU */
  uint32_t depth;     /* operations under way at once, at most TIDE_CUDA_DEPTH_MOST; 0: 16 */
  uint64_t limit;     /* ns that one may take; 0: ten seconds; TIDE_FOREVER: none */
};

/* In order; takes bodies with struct tide_cuda_ops. NULL params are the defaults. TIDE_UNSUPPORTED:
 * no driver, too old a one, or no GPU; TIDE_NOT_FOUND: none of that ordinal; TIDE_INVALID: too
 * deep; or the driver's answer. `diag` (may be NULL) says which of it. Closed by tide_device_close,
 * which blocks until the GPU is done; streams, modules and memory were given back before. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_cuda_open(struct tide_context *context,
                                                         const struct tide_cuda_params *params,
                                                         struct tide_device **out_device,
                                                         struct tide_diag *diag);

/* The bodies of a CUDA device: the `ops` of their class points to `ops` here. */
struct tide_cuda_ops {
  struct tide_body_ops ops; /* kind: TIDE_OPS_CUDA */
  /* Puts the work on the stream, in order, and waits for none of it. If it fails the operation
   * does, once the work that it had put there is over. Called by the device's own thread. */
  enum tide_status (*enqueue)(const void *arguments, struct tide_cuda_stream *stream);
};

struct tide_cuda_info {
  char name[TIDE_CUDA_NAME];
  int driver;       /* the version that it supports: 13000 is 13.0 */
  int major, minor; /* compute capability */
  int multiprocessors;
  int shared_bytes; /* that a block may have, if it asks */
  bool wait_value;  /* tide_cuda_wait_value works */
  bool clusters;    /* launches may have them */
};
/* Fills in the properties of a CUDA device; they never change. */
TIDE_API void tide_cuda_info(const struct tide_device *gpu, struct tide_cuda_info *out_info);

/* ---- memory --------------------------------------------------------------------- */

/* On the device; nothing is set. TIDE_NOMEM. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_cuda_alloc(struct tide_device *gpu, size_t size,
                                                          uint64_t *out_address);
/* Nothing uses it any more. 0 is fine. */
TIDE_API void tide_cuda_free(struct tide_device *gpu, uint64_t address);
/* On the host, pinned: the pointer is its address on the device, too. TIDE_NOMEM. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_cuda_alloc_host(struct tide_device *gpu, size_t size,
                                                               void **out_memory);
/* NULL is fine. */
TIDE_API void tide_cuda_free_host(struct tide_device *gpu, void *memory);
/* Pins memory that there is already, whole pages. TIDE_NOMEM; TIDE_INVALID: it is pinned. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_cuda_pin(struct tide_device *gpu, void *memory,
                                                        size_t size);
/* What was pinned there. */
TIDE_API void tide_cuda_unpin(struct tide_device *gpu, void *memory);

/* ---- kernels --------------------------------------------------------------------- */

/* PTX, as text. TIDE_CORRUPT: it does not assemble; TIDE_UNSUPPORTED: not for this GPU or driver.
 * `diag` has the first of what the driver's assembler says. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_cuda_load(struct tide_device *gpu, const char *ptx,
                                                         struct tide_cuda_module **out_module,
                                                         struct tide_diag *diag);
/* None of its kernels runs. NULL is fine. */
TIDE_API void tide_cuda_unload(struct tide_cuda_module *module);
/* TIDE_NOT_FOUND. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_cuda_find(struct tide_cuda_module *module,
                                                         const char *name,
                                                         struct tide_cuda_kernel **out_kernel);

/* ---- what goes on a stream ---------------------------------------------------------- */

struct tide_cuda_launch {
  struct tide_cuda_kernel *kernel;
  uint32_t grid[3], block[3]; /* 0 counts as 1 */
  uint32_t cluster[3];        /* blocks of one; all 0: none */
  uint32_t shared_bytes;      /* of each block, beside what the kernel has by itself */
  const void *arguments;      /* as the kernel's parameters lie, copied */
  size_t size;
};

/* These return at once. What they answer is of the call: TIDE_INVALID, TIDE_UNSUPPORTED (no
 * clusters, no wait_value), TIDE_LOST …; what happens later the stream's end says. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_cuda_launch(struct tide_cuda_stream *stream,
                                                           const struct tide_cuda_launch *launch);
/* Each an address on the device or pinned memory. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_cuda_copy(struct tide_cuda_stream *stream,
                                                         uint64_t to, uint64_t from, size_t size);
/* Each byte, of an address as those of a copy. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_cuda_fill(struct tide_cuda_stream *stream,
                                                         uint64_t to, uint8_t byte, size_t size);
/* The stream goes on when the word, 4-byte aligned, is at least that (as a signed difference). It
 * has no deadline: whoever queues it makes sure that somebody writes. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_cuda_wait_value(struct tide_cuda_stream *stream,
                                                               uint64_t address, uint32_t value);
/* After all that is before it on the stream. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_cuda_write_value(struct tide_cuda_stream *stream,
                                                                uint64_t address, uint32_t value);

/* A stream of one's own, beside those of the queues. */
TIDE_API TIDE_MUST_CHECK enum tide_status
tide_cuda_stream_create(struct tide_device *gpu, struct tide_cuda_stream **out_stream);
/* Blocks until all of it is over, however long that takes. NULL is fine. */
TIDE_API void tide_cuda_stream_destroy(struct tide_cuda_stream *stream);
/* Until all of it is over. TIDE_TIMEOUT; TIDE_LOST …: it has failed. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_cuda_stream_wait(struct tide_cuda_stream *stream,
                                                                uint64_t deadline);

#ifdef __cplusplus
}
#endif
#endif
