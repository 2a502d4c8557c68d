/* tidemark/cpu.h: worker threads as a device.
 *
 * The model. A cpu device runs bodies on worker threads. The operations of one queue run one after
 * the other; different queues run in parallel. A worker without work spins for at most `spin_ns`,
 * and for less when recent spins found no work. It then parks, so an idle device uses no CPU time.
 * Waking another core costs more than most bodies, so the device wakes no more workers than it has
 * work for.
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
  uint32_t spin_ns; /* the longest spin before parking; 0: 20 µs if the machine has a core for each
                       worker and one more, else none; TIDE_CPU_NO_SPIN: never. The wait for more
                       short operations of a stream is separate: queue.h */
};

/* Opens a cpu device: in-order, with bodies that have a host function. NULL params select the
 * defaults. TIDE_INVALID: struct_size is missing, or too many workers; TIDE_NOMEM, also if no
 * thread can be started. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_cpu_open(struct tide_context *context,
                                                        const struct tide_cpu_params *params,
                                                        struct tide_device **out_device);
/* Returns the number of a cpu device's worker threads; 0 for other devices. */
TIDE_API uint32_t tide_cpu_workers(const struct tide_device *device);

#ifdef __cplusplus
}
#endif
#endif
