/* The device kinds that programs can name, from tidemark/device.h. */
#include "tidemark/device.h"
#include "tool/tool.h"

#include "base/text.h"

#include <stdlib.h>
#include <string.h>

/* An executor and the device on it: what destroy needs of both. */
struct made {
  struct tide_cpu *cpu;
  struct tide_file *file;
  struct tide_device *device;
};

/* A whole number within bounds, or the diag says what is wrong with it. */
static enum tide_status read_option(const struct tide_plan_option *option, int64_t least,
                                    int64_t most, uint32_t *out_number, struct tide_diag *diag) {
  if (option->text)
    return tide_diag_at(diag, TIDE_INVALID, option->line, option->column,
                        "option '%s' takes a number", option->key);
  if (option->integer < least || option->integer > most)
    return tide_diag_at(diag, TIDE_INVALID, option->line, option->column,
                        "option '%s' is %lld; expected %lld to %lld", option->key,
                        (long long)option->integer, (long long)least, (long long)most);
  *out_number = (uint32_t)option->integer;
  return TIDE_OK;
}

static enum tide_status unknown_option(const struct tide_plan_option *option, const char *kind,
                                       const char *expected, struct tide_diag *diag) {
  return tide_diag_at(diag, TIDE_NOT_FOUND, option->line, option->column,
                      "a %s device has no option '%s'; expected %s", kind, option->key, expected);
}

static enum tide_status finish(struct made *made, enum tide_status status,
                               struct tide_device **out_device, void **out_handle) {
  if (status == TIDE_OK) {
    *out_device = made->device;
    *out_handle = made;
    return TIDE_OK;
  }
  if (made->device) (void)!tide_device_destroy(made->device);
  tide_cpu_destroy(made->cpu);
  tide_file_destroy(made->file);
  free(made);
  return status;
}

static void destroy(void *self, void *handle) {
  struct made *made = handle;
  (void)self;
  if (made->cpu) tide_cpu_detach(made->cpu);
  if (made->file) tide_file_detach(made->file);
  (void)!tide_device_destroy(made->device);
  tide_cpu_destroy(made->cpu);
  tide_file_destroy(made->file);
  free(made);
}

static size_t describe_cpu(void *self, void *handle, char *buffer, size_t size) {
  const struct made *made = handle;
  uint32_t workers = tide_cpu_workers(made->cpu);
  (void)self;
  return (size_t)snprintf(buffer, size, "%u worker%s", workers, workers == 1 ? "" : "s");
}

static size_t describe_file(void *self, void *handle, char *buffer, size_t size) {
  const struct made *made = handle;
  (void)self;
  return (size_t)snprintf(buffer, size, "%s", tide_file_kind(made->file));
}

/* ---- cpu ----------------------------------------------------------------------- */

/* An operation that stalls keeps its thread, and no worker: so each queue that takes brings a
 * thread. */
static enum tide_status add_takers(const struct tide_device_request *request,
                                   struct tide_cpu_params *params, struct tide_diag *diag) {
  const struct tide_platform *platform = request->context->platform;
  uint32_t takers = request->device->takers, cores = platform->cores(platform->self);
  if (!takers) return TIDE_OK;
  if (!params->workers) params->workers = cores > 1 ? cores - 1 : 1;
  params->workers += takers;
  if (params->workers <= 256) return TIDE_OK;
  return tide_diag_set(diag, TIDE_FULL,
                       "%u of its queues take, and each needs a thread; it has at most 256",
                       takers);
}

static enum tide_status make_cpu(void *self, const struct tide_device_request *request,
                                 struct tide_device **out_device, void **out_handle,
                                 struct tide_diag *diag) {
  struct tide_cpu_params params = {.workers = 0};
  (void)self;
  for (size_t i = 0; i < request->device->option_count; i++) {
    const struct tide_plan_option *option = &request->device->options[i];
    if (strcmp(option->key, "workers") != 0) return unknown_option(option, "cpu", "workers", diag);
    enum tide_status status = read_option(option, 1, 256, &params.workers, diag);
    if (status != TIDE_OK) return status;
  }
  enum tide_status status = add_takers(request, &params, diag);
  if (status != TIDE_OK) return status;
  struct made *made = calloc(1, sizeof *made);
  if (!made) return TIDE_NOMEM;
  status = tide_cpu_create(request->context, &params, &made->cpu);
  if (status == TIDE_OK)
    status = tide_device_create(request->sched, tide_cpu_backend(made->cpu), request->device->label,
                                &made->device);
  if (status == TIDE_OK) status = tide_cpu_attach(made->cpu, made->device);
  return finish(made, status, out_device, out_handle);
}

/* ---- file ------------------------------------------------------------------------- */

static enum tide_status make_file(void *self, const struct tide_device_request *request,
                                  struct tide_device **out_device, void **out_handle,
                                  struct tide_diag *diag) {
  struct tide_file_params params = {.depth = 0};
  (void)self;
  for (size_t i = 0; i < request->device->option_count; i++) {
    const struct tide_plan_option *option = &request->device->options[i];
    uint32_t threads = 0;
    enum tide_status status;
    if (strcmp(option->key, "depth") == 0)
      status = read_option(option, 1, 4096, &params.depth, diag);
    else if (strcmp(option->key, "threads") == 0)
      status = read_option(option, 0, 1, &threads, diag);
    else return unknown_option(option, "file", "depth or threads", diag);
    if (status != TIDE_OK) return status;
    params.force_threads |= threads != 0;
  }
  struct made *made = calloc(1, sizeof *made);
  if (!made) return TIDE_NOMEM;
  enum tide_status status = tide_file_create(request->context, &params, &made->file);
  if (status == TIDE_OK)
    status = tide_device_create(request->sched, tide_file_backend(made->file),
                                request->device->label, &made->device);
  if (status == TIDE_OK) status = tide_file_attach(made->file, made->device);
  return finish(made, status, out_device, out_handle);
}

static const struct tide_device_kind kinds[] = {
    {"cpu", "worker threads; `workers N`", true, make_cpu, destroy, describe_cpu, NULL},
    {"file", "reads and writes through io_uring; `depth N`, `threads 1`", false, make_file, destroy,
     describe_file, NULL},
};

const struct tide_device_kind *tide_tool_devices(size_t *out_count) {
  *out_count = sizeof kinds / sizeof kinds[0];
  return kinds;
}
