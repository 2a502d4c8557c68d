/* The cpu device: worker threads that run bodies' host functions. */
#include "base/check.h"
#include "base/memory.h"
#include "device/workers.h"
#include "tidemark/device.h"

#define WORKERS_MOST 256
#define SPIN_DEFAULT 20000 /* ns: about what waking a parked thread costs */

struct tide_cpu {
  struct tide_workers workers;
  struct tide_backend backend;
};

static enum tide_status run_body(const struct tide_body_class *body, void *arguments) {
  return body->host(arguments);
}

static void kick(void *self) { tide_workers_call(&((struct tide_cpu *)self)->workers); }

enum tide_status tide_cpu_create(const struct tide_context *context,
                                 const struct tide_cpu_params *params, struct tide_cpu **out_cpu) {
  struct tide_cpu_params asked = params ? *params : (struct tide_cpu_params){0};
  uint32_t cores = context->platform->cores(context->platform->self);
  if (asked.workers > WORKERS_MOST) return TIDE_INVALID;
  if (!asked.workers) asked.workers = cores > 1 ? cores - 1 : 1;
  if (asked.workers > WORKERS_MOST) asked.workers = WORKERS_MOST;
  if (!asked.spin_ns) asked.spin_ns = asked.workers < cores ? SPIN_DEFAULT : TIDE_CPU_NO_SPIN;
  if (asked.spin_ns == TIDE_CPU_NO_SPIN) asked.spin_ns = 0;
  struct tide_cpu *cpu = tide_alloc(context->allocator, 1, sizeof *cpu);
  if (!cpu) return TIDE_NOMEM;
  enum tide_status status = tide_workers_init(&cpu->workers, context, asked.workers,
                                              TIDE_AT_ONCE_MAX, asked.spin_ns, run_body);
  if (status != TIDE_OK) {
    tide_free(context->allocator, cpu, 1, sizeof *cpu);
    return status;
  }
  cpu->backend = (struct tide_backend){.name = "cpu",
                                       .in_order = true,
                                       .sequential = true,
                                       .hands = asked.workers,
                                       .domain = TIDE_DOMAIN_QUEUE,
                                       .kick = kick,
                                       .self = cpu};
  *out_cpu = cpu;
  return TIDE_OK;
}

const struct tide_backend *tide_cpu_backend(const struct tide_cpu *cpu) { return &cpu->backend; }
uint32_t tide_cpu_workers(const struct tide_cpu *cpu) { return cpu->workers.capacity; }

enum tide_status tide_cpu_attach(struct tide_cpu *cpu, struct tide_device *device) {
  if (!device || cpu->workers.device) return TIDE_INVALID;
  enum tide_status status = tide_workers_start(&cpu->workers, device, "tide-cpu");
  if (status != TIDE_OK) cpu->workers.device = NULL;
  return status;
}

void tide_cpu_detach(struct tide_cpu *cpu) {
  if (!cpu->workers.device) return;
  tide_workers_stop(&cpu->workers);
  cpu->workers.device = NULL;
}

void tide_cpu_destroy(struct tide_cpu *cpu) {
  if (!cpu) return;
  tide_cpu_detach(cpu);
  const struct tide_allocator *allocator = cpu->workers.context->allocator;
  tide_workers_fini(&cpu->workers);
  tide_free(allocator, cpu, 1, sizeof *cpu);
}

/* ---- both halves at once --------------------------------------------------------------- */

enum tide_status tide_cpu_open(const struct tide_context *context, struct tide_sched *sched,
                               const struct tide_cpu_params *params, const char *label,
                               struct tide_cpu **out_cpu, struct tide_device **out_device) {
  struct tide_cpu *cpu;
  struct tide_device *device = NULL;
  enum tide_status status = tide_cpu_create(context, params, &cpu);
  if (status != TIDE_OK) return status;
  status = tide_device_create(sched, &cpu->backend, label, &device);
  if (status == TIDE_OK) status = tide_cpu_attach(cpu, device);
  if (status != TIDE_OK) {
    if (device) TIDE_ASSERT(tide_device_destroy(device) == TIDE_OK); /* nobody has seen it */
    tide_cpu_destroy(cpu);
    return status;
  }
  *out_cpu = cpu;
  *out_device = device;
  return TIDE_OK;
}

void tide_cpu_close(struct tide_cpu *cpu) {
  if (!cpu) return;
  struct tide_device *device = cpu->workers.device;
  if (device) TIDE_ASSERT(tide_device_settle(device, TIDE_FOREVER) == TIDE_OK);
  tide_cpu_detach(cpu);
  if (device) TIDE_ASSERT(tide_device_destroy(device) == TIDE_OK);
  tide_cpu_destroy(cpu);
}
