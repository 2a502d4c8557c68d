/* tidemark/cpu.h: worker threads as a device.
 *
 * The model. A cpu device runs bodies on worker threads. A queue's operations run one after the
 * other; different queues run side by side. A worker without work spins for
 * `spin_ns` at most, less where spinning has not paid lately, then parks: an idle machine is idle.
 * Waking another core costs more than most bodies, so no more workers are woken than there is work
 * for.
 *
 * Source: docs/architecture.md.
 */
#ifndef TIDEMARK_CPU_H
#define TIDEMARK_CPU_H

#include "tidemark/queue.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TIDE_CPU_NO_SPIN UINT32_MAX

struct tide_cpu_params {
  size_t struct_size;
  const char *label; /* copied, cut at 31 bytes; NULL: "cpu" */
  uint32_t workers;  /* threads, at most 256; 0: one fewer than cores, at least one */
  uint32_t spin_ns;  /* the longest spin before parking; 0: 20 µs where there is a core for each
                        worker and one more, else none; TIDE_CPU_NO_SPIN: never. How long a worker
                        waits for more short operations of a stream is apart: queue.h */
};

/* In order; takes bodies with a host function. NULL params are the defaults. TIDE_INVALID: too many
 * workers; TIDE_NOMEM, also where no thread can be started. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_cpu_open(struct tide_context *context,
                                                        const struct tide_cpu_params *params,
                                                        struct tide_device **out_device);
/* Returns the number of a cpu device's worker threads; 0 for other devices. */
TIDE_API uint32_t tide_cpu_workers(const struct tide_device *device);

#ifdef __cplusplus
}
#endif
#endif
