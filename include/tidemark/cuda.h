/* tidemark/cuda.h: an NVIDIA GPU as a device.
 *
 * The model. A GPU is opened through its driver, which is loaded on demand: Tidemark links nothing
 * of CUDA. Without a driver or a GPU, open returns TIDE_UNSUPPORTED with a sentence that gives the
 * reason. An operation's body has a function `enqueue`, which puts copies and kernels on a
 * *stream*. They run one after the other, and the operation ends with the last one.
 *
 *      static enum tide_status enqueue(const void *arguments, struct tide_cuda_stream *stream) {
 *        const struct blur *b = arguments;
 *        return tide_cuda_launch(stream, &(struct tide_cuda_launch){.kernel = b->kernel, …});
 *      }
 *
 * The operations of one queue run one after the other; those of different queues run in parallel. A
 * call from the driver reports the end of an operation, without polling. As with other devices, the
 * operation then signals its timelines.
 *
 * Memory is either the device's (an address, not a pointer) or pinned memory of the host, which
 * both can use. Managed memory is not used. A thread that has seen an operation's end sees the
 * device's writes to host memory.
 *
 * Failures. A stream that reports an error loses the device, and so does an operation that exceeds
 * the limit: everything unfinished fails (TIDE_LOST; TIDE_TIMEOUT). Work that may still run counts
 * as finished only when the driver reports its end.
 *
 * Threads: any thread may call every function; one thread at a time may use a stream. `enqueue` is
 * called by the device's own thread.
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
  uint32_t ordinal;   /* the GPU's number */
  uint32_t depth;     /* operations in progress at once, at most TIDE_CUDA_DEPTH_MOST; 0: 16 */
  uint64_t limit;     /* maximum ns per operation; 0: ten seconds; TIDE_FOREVER: none */
};

/* Opens a GPU: in-order, with bodies that have struct tide_cuda_ops. NULL params select the
 * defaults. `diag` (may be NULL) gives the reason of an error. tide_device_close closes it, and
 * blocks until the GPU is done; destroy streams, modules and memory before. TIDE_UNSUPPORTED: no
 * driver, too old a driver, or no GPU; TIDE_NOT_FOUND: no GPU of that ordinal; TIDE_INVALID: too
 * deep; or the driver's error. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_cuda_open(struct tide_context *context,
                                                         const struct tide_cuda_params *params,
                                                         struct tide_device **out_device,
                                                         struct tide_diag *diag);

/* The description of a CUDA body: `ops` of its class points to `ops` here. */
struct tide_cuda_ops {
  struct tide_body_ops ops; /* kind: TIDE_OPS_CUDA */
  /* Puts the work on the stream, in order, and waits for none of it. An error fails the operation,
   * once the work that it had put there is over. Called by the device's own thread. */
  enum tide_status (*enqueue)(const void *arguments, struct tide_cuda_stream *stream);
};

struct tide_cuda_info {
  char name[TIDE_CUDA_NAME];
  int driver;       /* the supported version: 13000 is 13.0 */
  int major, minor; /* compute capability */
  int multiprocessors;
  int shared_bytes; /* maximum per block, on request */
  bool wait_value;  /* tide_cuda_wait_value works */
  bool clusters;    /* launches may have clusters */
};
/* Fills in the properties of a CUDA device; they never change. */
TIDE_API void tide_cuda_info(const struct tide_device *gpu, struct tide_cuda_info *out_info);

/* ---- memory --------------------------------------------------------------------- */

/* Allocates device memory, uninitialized. TIDE_NOMEM. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_cuda_alloc(struct tide_device *gpu, size_t size,
                                                          uint64_t *out_address);
/* Frees device memory that no work uses any more. 0 is fine. */
TIDE_API void tide_cuda_free(struct tide_device *gpu, uint64_t address);
/* Allocates pinned host memory. The pointer is also its address on the device. TIDE_NOMEM. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_cuda_alloc_host(struct tide_device *gpu, size_t size,
                                                               void **out_memory);
/* Frees pinned host memory. NULL is fine. */
TIDE_API void tide_cuda_free_host(struct tide_device *gpu, void *memory);
/* Pins existing memory, in whole pages. TIDE_NOMEM; TIDE_INVALID: pinned already. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_cuda_pin(struct tide_device *gpu, void *memory,
                                                        size_t size);
/* Unpins memory that tide_cuda_pin pinned. */
TIDE_API void tide_cuda_unpin(struct tide_device *gpu, void *memory);

/* ---- kernels --------------------------------------------------------------------- */

/* Loads a module from PTX text. `diag` has the first message of the driver's assembler.
 * TIDE_CORRUPT: the text does not assemble; TIDE_UNSUPPORTED: not for this GPU or driver. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_cuda_load(struct tide_device *gpu, const char *ptx,
                                                         struct tide_cuda_module **out_module,
                                                         struct tide_diag *diag);
/* Unloads a module. None of its kernels may run. NULL is fine. */
TIDE_API void tide_cuda_unload(struct tide_cuda_module *module);
/* Finds a kernel by its name. TIDE_NOT_FOUND; or the driver's error. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_cuda_find(struct tide_cuda_module *module,
                                                         const char *name,
                                                         struct tide_cuda_kernel **out_kernel,
                                                         struct tide_diag *diag);

/* ---- commands on a stream ---------------------------------------------------------- */

struct tide_cuda_launch {
  struct tide_cuda_kernel *kernel;
  uint32_t grid[3], block[3]; /* 0 counts as 1 */
  uint32_t cluster[3];        /* blocks per cluster; all 0: no clusters */
  uint32_t shared_bytes;      /* per block, in addition to the kernel's static ones */
  const void *arguments;      /* laid out like the kernel's parameters; copied */
  size_t size;
};

/* Launches a kernel. This function and the next four return at once. Their errors concern the call:
 * TIDE_INVALID, TIDE_UNSUPPORTED (no clusters, no wait_value), TIDE_LOST …. The stream's end
 * reports later failures. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_cuda_launch(struct tide_cuda_stream *stream,
                                                           const struct tide_cuda_launch *launch);
/* Copies between two addresses, each on the device or in pinned memory. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_cuda_copy(struct tide_cuda_stream *stream,
                                                         uint64_t to, uint64_t from, size_t size);
/* Sets each byte of memory at such an address. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_cuda_fill(struct tide_cuda_stream *stream,
                                                         uint64_t to, uint8_t byte, size_t size);
/* Suspends the stream until the word, 4-byte aligned, is at least `value` (as a signed difference).
 * It has no deadline: the caller must ensure that some thread or device writes the word. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_cuda_wait_value(struct tide_cuda_stream *stream,
                                                               uint64_t address, uint32_t value);
/* Writes the word after all work before it on the stream. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_cuda_write_value(struct tide_cuda_stream *stream,
                                                                uint64_t address, uint32_t value);

/* Creates a stream of the caller's own, in addition to those of the queues. */
TIDE_API TIDE_MUST_CHECK enum tide_status
tide_cuda_stream_create(struct tide_device *gpu, struct tide_cuda_stream **out_stream);
/* Blocks until all its work is over, however long that takes, and destroys the stream. NULL is
 * fine. */
TIDE_API void tide_cuda_stream_destroy(struct tide_cuda_stream *stream);
/* Blocks until all work of the stream is over. TIDE_TIMEOUT; TIDE_LOST …: the work has failed. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_cuda_stream_wait(struct tide_cuda_stream *stream,
                                                                uint64_t deadline);

#ifdef __cplusplus
}
#endif
#endif
