/* device/cuda_device.h: what the files of the GPU device share. */
#ifndef TIDE_DEVICE_CUDA_DEVICE_H
#define TIDE_DEVICE_CUDA_DEVICE_H

#include "base/body_frame.h"
#include "causal/context_state.h"
#include "device/cuda_driver.h"
#include "tidemark/backend.h"
#include "tidemark/cuda.h"

/* How often a stream that has not called back is asked whether it has failed: a driver does not
 * call back after an error. And one that could not be told to call: this is all that is left. */
#define TIDE_CUDA_WATCH 100000000u
#define TIDE_CUDA_LOOK 1000000u

/* A stream, and *marks* on it: calls of ours that the driver makes when all before is over. */
struct tide_cuda_stream {
  struct tide_cuda *cuda;
  void *handle;
  uint32_t sent;                        /* marks */
  uint32_t answered;                    /* atomic, waited on */
  bool deaf;                            /* a mark could not be sent */
  void (*kick)(struct tide_cuda *cuda); /* after a mark was heard; NULL: nobody */
};

struct tide_cuda_slot {
  struct tide_cuda_stream stream;
  struct tide_work *work; /* NULL: free */
  tide_axis axis;         /* of the last one */
  uint64_t since;
};

struct tide_cuda {
  struct tide_context *context;
  struct tide_cuda_driver driver;
  struct tide_cuda_info info;
  struct tide_device *device;
  struct tide_thread *thread;
  uint64_t limit;
  uint32_t parked_state; /* atomic, waited on */
  uint32_t stop;         /* atomic */
  uint32_t inside;       /* atomic: the driver's threads that are in a call of a slot's stream */
  uint32_t depth;
  struct tide_cuda_slot *slots; /* the thread's own while there is one */
  uint32_t under_way;           /* likewise */
  struct tide_body_frame frame; /* likewise */
};

/* The executor of a device that tide_cuda_open has opened, and of no other. */
struct tide_cuda *tide_cuda_of(const struct tide_device *gpu);

enum tide_status tide_cuda_stream_init(struct tide_cuda *cuda, struct tide_cuda_stream *stream);
/* Nothing is under way on it. */
void tide_cuda_stream_fini(struct tide_cuda_stream *stream);
void tide_cuda_stream_mark(struct tide_cuda_stream *stream);
/* Without asking the driver. */
bool tide_cuda_stream_is_over(const struct tide_cuda_stream *stream);
/* Asks the driver: TIDE_OK: it is over; TIDE_BUSY: not yet; else it has failed, for good. */
enum tide_status tide_cuda_stream_ask(const struct tide_cuda_stream *stream);

#endif
