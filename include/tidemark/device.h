/* tidemark/device.h: functions that all devices have.
 *
 * The model. A device executes operations; queues are made on it. A function of its kind opens it
 * in a context. tide_device_close closes it, or the end of the context does:
 *
 *      tide_cpu_open(context, NULL, &cpu);        cpu.h: worker threads
 *      tide_file_open(context, NULL, &disk);      file.h: reads and writes through io_uring
 *      … queues, operations …
 *      tide_device_close(disk);
 *      tide_device_close(cpu);
 *
 * cuda.h has NVIDIA GPUs, sim.h devices on a simulated clock. backend.h describes how a program
 * adds an executor of its own.
 *
 * Threads: open and close from any thread; no other call with the device may overlap its close.
 *
 * Source: docs/architecture.md.
 */
#ifndef TIDEMARK_DEVICE_H
#define TIDEMARK_DEVICE_H

#include "tidemark/context.h"

#ifdef __cplusplus
extern "C" {
#endif

struct tide_device;

/* Destroys the device's remaining queues, blocks until their last work is over, and closes the
 * device. Not from a body or callback of its context. NULL is fine. */
TIDE_API void tide_device_close(struct tide_device *device);
/* Closes like tide_device_close, up to a deadline. TIDE_TIMEOUT: work is still running, for example
 * a transfer inside the kernel. The device then stays, its queues' handles are invalid, and the
 * memory of that work must stay: call this function again, or keep everything until the process
 * ends. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_device_close_until(struct tide_device *device,
                                                                  uint64_t deadline);
/* Blocks until all queues of the device have been destroyed and their last work is over. Destroys
 * nothing itself. TIDE_TIMEOUT: the deadline passed first, as happens while a queue is left. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_device_settle(struct tide_device *device,
                                                             uint64_t deadline);
/* Returns the label, or the name instead (context.h). Lives as long as the device. */
TIDE_API const char *tide_device_label(const struct tide_device *device);
/* Returns TIDE_OK, or the status with which the device was lost. */
TIDE_API enum tide_status tide_device_status(struct tide_device *device);
/* True if the device was lost; *out_failure (may be NULL) is then the cause. Any thread; never
 * blocks. */
TIDE_API bool tide_device_failure(struct tide_device *device, struct tide_failure *out_failure);

#ifdef __cplusplus
}
#endif
#endif
