/* The file device: a ring, or threads where the kernel has none to give. */
#include "base/check.h"
#include "base/memory.h"
#include "base/text.h"
#include "device/ring.h"
#include "device/transfer.h"
#include "device/workers.h"
#include "tidemark/device.h"

#include <string.h>

#define DEPTH_DEFAULT 64
#define DEPTH_MOST 4096
#define THREADS_MOST 8

struct tide_file {
  const struct tide_context *context;
  struct tide_backend backend;
  struct tide_device *device; /* NULL: detached */
  struct tide_ring *ring;     /* NULL: threads */
  struct tide_workers workers;
  char kind[96];
};

static bool takes(void *self, const struct tide_body_class *body) {
  (void)self;
  return body->verb != TIDE_IO_NONE && body->io != NULL;
}

static void kick(void *self) {
  struct tide_file *file = self;
  if (file->ring) tide_ring_kick(file->ring);
  else tide_workers_call(&file->workers);
}

static enum tide_status run_transfer(const struct tide_body_class *body, void *arguments) {
  struct tide_io io;
  enum tide_status status = body->io(arguments, &io);
  return status != TIDE_OK ? status : tide_transfer(body->verb, &io);
}

static enum tide_status use_threads(struct tide_file *file, uint32_t depth, const char *why) {
  struct tide_text text;
  tide_text_init(&text, file->kind, sizeof file->kind);
  tide_text_format(&text, "threads (%s)", why);
  uint32_t count = depth < THREADS_MOST ? depth : THREADS_MOST;
  return tide_workers_init(&file->workers, file->context, count, 1, 0, run_transfer);
}

static enum tide_status use_best(struct tide_file *file, uint32_t depth, bool force_threads) {
  if (force_threads) return use_threads(file, depth, "asked for");
  int error = 0;
  enum tide_status status = tide_ring_create(file->context, depth, &file->ring, &error);
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

enum tide_status tide_file_create(const struct tide_context *context,
                                  const struct tide_file_params *params,
                                  struct tide_file **out_file) {
  uint32_t depth = params && params->depth ? params->depth : DEPTH_DEFAULT;
  if (depth > DEPTH_MOST) return TIDE_INVALID;
  struct tide_file *file = tide_alloc(context->allocator, 1, sizeof *file);
  if (!file) return TIDE_NOMEM;
  file->context = context;
  file->backend = (struct tide_backend){.name = "file",
                                        .in_order = false,
                                        .domain = TIDE_DOMAIN_STORAGE,
                                        .takes = takes,
                                        .kick = kick,
                                        .self = file};
  enum tide_status status = use_best(file, depth, params && params->force_threads);
  if (status != TIDE_OK) {
    tide_free(context->allocator, file, 1, sizeof *file);
    return status;
  }
  file->backend.hands = file->ring ? 1 : file->workers.capacity;
  *out_file = file;
  return TIDE_OK;
}

const struct tide_backend *tide_file_backend(const struct tide_file *file) {
  return &file->backend;
}
const char *tide_file_kind(const struct tide_file *file) { return file->kind; }

enum tide_status tide_file_attach(struct tide_file *file, struct tide_device *device) {
  if (!device || file->device) return TIDE_INVALID;
  enum tide_status status = file->ring ? tide_ring_start(file->ring, device)
                                       : tide_workers_start(&file->workers, device, "tide-file");
  if (status == TIDE_OK) file->device = device;
  return status;
}

void tide_file_detach(struct tide_file *file) {
  if (!file->device) return;
  if (file->ring) tide_ring_stop(file->ring);
  else tide_workers_stop(&file->workers);
  file->device = NULL;
}

void tide_file_destroy(struct tide_file *file) {
  if (!file) return;
  tide_file_detach(file);
  if (file->ring) tide_ring_destroy(file->ring);
  else tide_workers_fini(&file->workers);
  tide_free(file->context->allocator, file, 1, sizeof *file);
}

/* ---- both halves at once --------------------------------------------------------------- */

enum tide_status tide_file_open(const struct tide_context *context, struct tide_sched *sched,
                                const struct tide_file_params *params, const char *label,
                                struct tide_file **out_file, struct tide_device **out_device) {
  struct tide_file *file;
  struct tide_device *device = NULL;
  enum tide_status status = tide_file_create(context, params, &file);
  if (status != TIDE_OK) return status;
  status = tide_device_create(sched, &file->backend, label, &device);
  if (status == TIDE_OK) status = tide_file_attach(file, device);
  if (status != TIDE_OK) {
    if (device) TIDE_ASSERT(tide_device_destroy(device) == TIDE_OK); /* nobody has seen it */
    tide_file_destroy(file);
    return status;
  }
  *out_file = file;
  *out_device = device;
  return TIDE_OK;
}

void tide_file_close(struct tide_file *file) {
  if (!file) return;
  struct tide_device *device = file->device;
  if (device) TIDE_ASSERT(tide_device_settle(device, TIDE_FOREVER) == TIDE_OK);
  tide_file_detach(file);
  if (device) TIDE_ASSERT(tide_device_destroy(device) == TIDE_OK);
  tide_file_destroy(file);
}
