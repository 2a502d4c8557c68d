/* device/cuda_device.h: shared by the files of the GPU device. */
#ifndef TIDE_DEVICE_CUDA_DEVICE_H
#define TIDE_DEVICE_CUDA_DEVICE_H

#include "base/body_frame.h"
#include "causal/context_state.h"
#include "device/cuda_driver.h"
#include "tidemark/backend.h"
#include "tidemark/cuda.h"

/* Intervals in ns between queries of a stream. WATCH: the mark has not come, and after an error the
 * driver does not call. LOOK: no mark could be sent, so only queries detect the end. */
#define TIDE_CUDA_WATCH 100000000u
#define TIDE_CUDA_LOOK 1000000u

/* A stream with *marks*: host functions that the driver calls when all work before them is over. */
struct tide_cuda_stream {
  struct tide_cuda *cuda;
  void *handle;
  uint32_t sent;                        /* marks sent */
  uint32_t answered;                    /* atomic, waited on: marks that the driver has called */
  bool deaf;                            /* a mark could not be sent */
  void (*kick)(struct tide_cuda *cuda); /* called after each mark; NULL: none */
};

struct tide_cuda_slot {
  struct tide_cuda_stream stream;
  struct tide_work *work; /* NULL: free */
  tide_axis axis;         /* the queue of the newest work */
  uint64_t since;
};

struct tide_cuda {
  struct tide_context *context;
  struct tide_cuda_driver driver;
  struct tide_cuda_info info;
  struct tide_device *device;
  struct tide_thread *thread;
  uint64_t limit;
  uint32_t parked_state; /* atomic, waited on: enum parked_state */
  uint32_t stop;         /* atomic */
  uint32_t inside;       /* atomic: driver threads inside a call of a slot's stream */
  uint32_t depth;
  struct tide_cuda_slot *slots; /* private to the thread while it runs */
  uint32_t under_way;           /* likewise */
  struct tide_body_frame frame; /* likewise */
};

/* Returns the executor of a device that tide_cuda_open has opened; no other device is allowed. */
struct tide_cuda *tide_cuda_of(const struct tide_device *gpu);

enum tide_status tide_cuda_stream_init(struct tide_cuda *cuda, struct tide_cuda_stream *stream);
/* Destroys the stream, which must be idle. */
void tide_cuda_stream_fini(struct tide_cuda_stream *stream);
void tide_cuda_stream_mark(struct tide_cuda_stream *stream);
/* True if all marks have come. Does not query the driver. */
bool tide_cuda_stream_is_over(const struct tide_cuda_stream *stream);
/* Queries the driver. TIDE_OK: the stream is over; TIDE_BUSY: not yet; any other status: it has
 * failed for good. */
enum tide_status tide_cuda_stream_ask(const struct tide_cuda_stream *stream);

#endif
