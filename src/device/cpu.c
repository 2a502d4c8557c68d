/* The cpu device: worker threads that run bodies' host functions. */
#include "base/check.h"
#include "base/alloc.h"
#include "base/params.h"
#include "device/workers.h"
#include "tidemark/backend.h"
#include "tidemark/cpu.h"

#define WORKERS_MOST 256
#define SPIN_DEFAULT 20000 /* ns: about the cost of waking a parked thread */

static enum tide_status run_body(const struct tide_body_class *body, void *arguments) {
  return body->host(arguments);
}

static void kick(void *self) { tide_workers_call(self); }

static enum tide_status start(void *self, struct tide_device *device) {
  return tide_workers_start(self, device, "tide-cpu");
}

static void free_workers(struct tide_workers *workers) {
  const struct tide_allocator *allocator = workers->context->allocator;
  tide_workers_fini(workers);
  tide_free(allocator, workers, 1, sizeof *workers);
}

static void stop(void *self) {
  tide_workers_stop(self);
  free_workers(self);
}

/* Replaces zeros by the defaults. False: too many workers. */
static bool fill_params(struct tide_cpu_params *params, const struct tide_platform *platform) {
  uint32_t cores = platform->cores(platform->self);
  if (params->workers > WORKERS_MOST) return false;
  if (!params->workers) params->workers = cores > 1 ? cores - 1 : 1;
  if (params->workers > WORKERS_MOST) params->workers = WORKERS_MOST;
  if (!params->spin_ns) params->spin_ns = params->workers < cores ? SPIN_DEFAULT : TIDE_CPU_NO_SPIN;
  if (params->spin_ns == TIDE_CPU_NO_SPIN) params->spin_ns = 0;
  return true;
}

enum tide_status tide_cpu_open(struct tide_context *context, const struct tide_cpu_params *params,
                               struct tide_device **out_device) {
  struct tide_cpu_params own;
  enum tide_status status = tide_params_copy(&own, sizeof own, params);
  if (status != TIDE_OK) return status;
  if (!fill_params(&own, context->platform)) return TIDE_INVALID;
  struct tide_workers *workers = tide_alloc(context->allocator, 1, sizeof *workers);
  if (!workers) return TIDE_NOMEM;
  status =
      tide_workers_init(workers, context, own.workers, TIDE_AT_ONCE_MAX, own.spin_ns, run_body);
  if (status != TIDE_OK) {
    tide_free(context->allocator, workers, 1, sizeof *workers);
    return status;
  }
  struct tide_backend backend = {.name = "cpu",
                                 .in_order = true,
                                 .sequential = true,
                                 .hands = own.workers,
                                 .domain = TIDE_DOMAIN_QUEUE,
                                 .kick = kick,
                                 .start = start,
                                 .stop = stop,
                                 .self = workers};
  status = tide_device_open(context, &backend, own.label ? own.label : "cpu", out_device);
  if (status != TIDE_OK) free_workers(workers);
  return status;
}

uint32_t tide_cpu_workers(const struct tide_device *device) {
  const struct tide_backend *backend = tide_device_backend(device);
  return backend->kick == kick ? ((const struct tide_workers *)backend->self)->capacity : 0;
}
