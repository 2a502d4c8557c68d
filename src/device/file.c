/* The file device: a ring, or threads if the kernel has no io_uring; and streams beside it. */
#include "base/check.h"
#include "base/alloc.h"
#include "base/params.h"
#include "base/text.h"
#include "device/uring.h"
#include "device/transfer.h"
#include "device/workers.h"
#include "tidemark/backend.h"

#include <string.h>

#define DEPTH_DEFAULT 64
#define DEPTH_MOST 4096
#define THREADS_MOST 8

struct tide_file {
  struct tide_context *context;
  struct tide_ring *ring; /* NULL: threads */
  struct tide_workers workers;
  struct tide_streams streams;
  char kind[96];
};

static bool takes(void *self, const struct tide_body_class *body) {
  (void)self;
  const struct tide_file_ops *ops = tide_file_ops_of(body);
  return ops && ops->verb != TIDE_IO_NONE && ops->describe != NULL;
}

static void kick(void *self) {
  struct tide_file *file = self;
  if (file->ring) tide_ring_kick(file->ring);
  else tide_workers_call(&file->workers);
}

static void cancel(void *self) {
  struct tide_file *file = self;
  tide_streams_cancel(&file->streams);
  if (file->ring) tide_ring_cancel(file->ring);
}

/* Runs on a worker. False: the streams took the work. */
static bool run_transfer(void *self, struct tide_work *work) {
  struct tide_file *file = self;
  struct tide_io io;
  struct stat info;
  int error;
  if (!work->body) return true;
  tide_transfer_block_signals();
  enum tide_io_verb verb = tide_transfer_verb(work);
  if (!tide_transfer_prepare(work, &io) || (verb != TIDE_IO_SYNC && io.size == 0)) return true;
  if (verb != TIDE_IO_SYNC && fstat(io.descriptor, &info) == 0 &&
      tide_streams_want(&file->streams, verb, &io, &info)) {
    tide_streams_take(&file->streams, work, verb, &io, &info);
    return false;
  }
  work->status = tide_transfer(verb, &io, &error);
  if (work->status != TIDE_OK) tide_transfer_fail(work, verb, &io, work->status, error);
  return true;
}

static enum tide_status use_threads(struct tide_file *file, uint32_t depth, const char *why) {
  struct tide_text text;
  tide_text_init(&text, file->kind, sizeof file->kind);
  tide_text_format(&text, "threads (%s)", why);
  uint32_t count = depth < THREADS_MOST ? depth : THREADS_MOST;
  enum tide_status status = tide_workers_init(&file->workers, file->context, count, 1, 0, NULL);
  file->workers.take = run_transfer;
  file->workers.take_self = file;
  return status;
}

static enum tide_status use_best(struct tide_file *file, uint32_t depth, bool force_threads) {
  if (force_threads) return use_threads(file, depth, "asked for");
  int error = 0;
  enum tide_status status =
      tide_ring_create(file->context, depth, &file->streams, &file->ring, &error);
  if (status == TIDE_UNSUPPORTED) {
    char why[64];
    struct tide_text text;
    tide_text_init(&text, why, sizeof why);
    tide_text_format(&text, "io_uring: %s", strerror(error));
    return use_threads(file, depth, why);
  }
  if (status == TIDE_OK) memcpy(file->kind, "io_uring", sizeof "io_uring");
  return status;
}

static enum tide_status start(void *self, struct tide_device *device) {
  struct tide_file *file = self;
  tide_streams_start(&file->streams, device);
  return file->ring ? tide_ring_start(file->ring, device)
                    : tide_workers_start(&file->workers, device, "tide-file");
}

static void free_file(struct tide_file *file) {
  if (file->ring) tide_ring_destroy(file->ring);
  else tide_workers_fini(&file->workers);
  tide_streams_fini(&file->streams);
  tide_free(file->context->allocator, file, 1, sizeof *file);
}

static void stop(void *self) {
  struct tide_file *file = self;
  if (file->ring) tide_ring_stop(file->ring);
  else tide_workers_stop(&file->workers);
  tide_streams_stop(&file->streams);
  free_file(file);
}

enum tide_status tide_file_open(struct tide_context *context, const struct tide_file_params *params,
                                struct tide_device **out_device) {
  struct tide_file_params own;
  enum tide_status status = tide_params_copy(&own, sizeof own, params);
  if (status != TIDE_OK) return status;
  if (own.depth > DEPTH_MOST) return TIDE_INVALID;
  struct tide_file *file = tide_alloc(context->allocator, 1, sizeof *file);
  if (!file) return TIDE_NOMEM;
  file->context = context;
  tide_streams_init(&file->streams, context);
  status = use_best(file, own.depth ? own.depth : DEPTH_DEFAULT, own.force_threads);
  if (status != TIDE_OK) {
    tide_free(context->allocator, file, 1, sizeof *file);
    return status;
  }
  struct tide_backend backend = {.name = "file",
                                 .in_order = false,
                                 .hands = file->ring ? 1 : file->workers.capacity,
                                 .domain = TIDE_DOMAIN_STORAGE,
                                 .takes = takes,
                                 .kick = kick,
                                 .cancel = cancel,
                                 .start = start,
                                 .stop = stop,
                                 .self = file};
  status = tide_device_open(context, &backend, own.label ? own.label : "file", out_device);
  if (status != TIDE_OK) free_file(file);
  return status;
}

const char *tide_file_kind(const struct tide_device *device) {
  const struct tide_backend *backend = tide_device_backend(device);
  return backend->kick == kick ? ((const struct tide_file *)backend->self)->kind : "";
}
