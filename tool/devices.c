/* The device kinds that programs can name, from tidemark/device.h. */
#include "tidemark/cpu.h"
#include "tidemark/file.h"
#include "tidemark/vulkan.h"
#include "tool/tool.h"

#include "base/text.h"

#include <stdlib.h>
#include <string.h>

/* Reads a whole number within bounds. On an error the diag has the reason. */
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

static size_t describe_cpu(void *self, const struct tide_device *device, char *buffer,
                           size_t size) {
  uint32_t workers = tide_cpu_workers(device);
  (void)self;
  return (size_t)snprintf(buffer, size, "%u worker%s", workers, workers == 1 ? "" : "s");
}

static size_t describe_file(void *self, const struct tide_device *device, char *buffer,
                            size_t size) {
  (void)self;
  return (size_t)snprintf(buffer, size, "%s", tide_file_kind(device));
}

/* ---- cpu ----------------------------------------------------------------------- */

/* Adds workers for the queues that take: an operation that stalls keeps its thread, so each of
 * these queues brings one. */
static enum tide_status add_takers(const struct tide_device_request *request,
                                   struct tide_cpu_params *params, struct tide_diag *diag) {
  const struct tide_platform *platform = tide_context_platform(request->context);
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
                                 struct tide_device **out_device, struct tide_diag *diag) {
  struct tide_cpu_params params = {.struct_size = sizeof params, .label = request->device->label};
  (void)self;
  for (size_t i = 0; i < request->device->option_count; i++) {
    const struct tide_plan_option *option = &request->device->options[i];
    if (strcmp(option->key, "workers") != 0) return unknown_option(option, "cpu", "workers", diag);
    enum tide_status status = read_option(option, 1, 256, &params.workers, diag);
    if (status != TIDE_OK) return status;
  }
  enum tide_status status = add_takers(request, &params, diag);
  if (status != TIDE_OK) return status;
  return tide_cpu_open(request->context, &params, out_device);
}

/* ---- file ------------------------------------------------------------------------- */

static enum tide_status make_file(void *self, const struct tide_device_request *request,
                                  struct tide_device **out_device, struct tide_diag *diag) {
  struct tide_file_params params = {.struct_size = sizeof params, .label = request->device->label};
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
  return tide_file_open(request->context, &params, out_device);
}

/* ---- vulkan ----------------------------------------------------------------------- */

static enum tide_status make_vulkan(void *self, const struct tide_device_request *request,
                                    struct tide_device **out_device, struct tide_diag *diag) {
  struct tide_vulkan_params params = {.struct_size = sizeof params,
                                      .label = request->device->label,
                                      .keep_on_host = request->keep_on_host};
  (void)self;
  for (size_t i = 0; i < request->device->option_count; i++) {
    const struct tide_plan_option *option = &request->device->options[i];
    enum tide_status status = TIDE_OK;
    if (strcmp(option->key, "name") == 0) params.name = option->text;
    else if (strcmp(option->key, "ahead") == 0)
      status = read_option(option, 1, TIDE_VULKAN_AHEAD_MOST, &params.ahead, diag);
    else if (strcmp(option->key, "queues") == 0)
      status = read_option(option, 1, TIDE_HARDWARE_QUEUES_MAX, &params.hardware_queues, diag);
    else return unknown_option(option, "vulkan", "name, ahead or queues", diag);
    if (status != TIDE_OK) return status;
    if (strcmp(option->key, "name") == 0 && !option->text)
      return tide_diag_at(diag, TIDE_INVALID, option->line, option->column,
                          "option 'name' takes a text: a part of the device's name");
  }
  return tide_vulkan_open(request->context, &params, out_device, diag);
}

static size_t describe_vulkan(void *self, const struct tide_device *device, char *buffer,
                              size_t size) {
  struct tide_vulkan_info info;
  (void)self;
  tide_vulkan_info(device, &info);
  return (size_t)snprintf(buffer, size, "%s", info.name);
}

static const struct tide_memory_source *memory_of_vulkan(void *self, struct tide_device *device) {
  (void)self;
  return tide_vulkan_memory(device);
}

static const struct tide_device_kind kinds[] = {
    {"cpu", "worker threads; `workers N`", true, make_cpu, describe_cpu, NULL, NULL, NULL},
    {"file", "reads and writes through io_uring; `depth N`, `threads 1`", false, make_file,
     describe_file, NULL, NULL, NULL},
    {"vulkan", "a GPU through Vulkan; `name TEXT`, `ahead N`, `queues N`", false, make_vulkan,
     describe_vulkan, memory_of_vulkan, NULL, NULL},
};

const struct tide_device_kind *tide_tool_devices(size_t *out_count) {
  *out_count = sizeof kinds / sizeof kinds[0];
  return kinds;
}
