/* tidemark/device.h: the devices that come with Tidemark.
 *
 * The model. A device has two halves: the scheduler's (tide_device, where queues
 * are made) and the executor's, which is here. Most programs open both at once, and
 * close them when all queues were destroyed:
 *
 *      tide_cpu_open(context, sched, NULL, "cpu", &cpu, &device);
 *      … queues, operations …
 *      tide_cpu_close(cpu);
 *
 * In single steps the executor is made first, then the device on its backend, then
 * the two are attached and work flows:
 *
 *      tide_cpu_create(context, NULL, &cpu);
 *      tide_device_create(sched, tide_cpu_backend(cpu), "cpu", &device);
 *      tide_cpu_attach(cpu, device);
 *      … queues, operations …
 *      tide_device_settle(device, TIDE_FOREVER);   all queues were destroyed
 *      tide_cpu_detach(cpu);                       its threads are gone
 *      tide_device_destroy(device);
 *      tide_cpu_destroy(cpu);
 *
 * **cpu** runs bodies on worker threads. A queue's operations run one after the
 * other; different queues run side by side. A worker without work spins for as
 * long as that has paid lately, at most a few microseconds, then sleeps: an idle
 * machine is idle. Waking another core costs more than most bodies, so no more
 * workers are woken than there is work for.
 *
 * **file** reads, writes and syncs files through io_uring. Operations of one queue
 * overlap, and end in any order; what they signal appears in order. A transfer is
 * done when all of its bytes are; a file that ends before fails it with TIDE_IO. Small
 * writes into the page cache are done by the ring's own thread, since that is ten
 * times faster than what a ring does with them. Where the kernel has no io_uring,
 * threads do the same work, and tide_file_kind says so.
 *
 * A transfer of a pipe, a socket, a terminal or another descriptor that can be polled waits
 * without a place in the depth and without a thread, in either form, and ends when the other end
 * pleases; on one descriptor the oldest read gets the bytes. SIGPIPE is not raised: the
 * transfer fails.
 *
 * The way out. Destroying a queue, or tide_queue_cancel, cancels what it has under way: its
 * waiters get TIDE_CANCELLED at once. The memory of a transfer stays the kernel's until
 * tide_device_settle says that all is over: at once for what can be polled; through a ring as
 * soon as the kernel gives it back; through threads when the call returns, which a file system
 * that hangs may put off for ever. tide_file_close_until has a deadline for that.
 *
 * A device fails for good when the system refuses io_uring_enter: at once, or after some seconds of
 * EAGAIN or EBUSY. What the kernel has not taken then fails with the errno's status; the device
 * is lost with it, so the waiters of all else hear of it, too; and once the kernel has
 * ended what it has in its hands, the device is certified. Until then that memory is kept.
 * tide_device_failure says why.
 *
 * Threads: create, attach, detach and destroy from one thread at a time.
 *
 * Source: docs/architecture.md; io_uring(7).
 */
#ifndef TIDEMARK_DEVICE_H
#define TIDEMARK_DEVICE_H

#include "tidemark/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- cpu ------------------------------------------------------------------ */

struct tide_cpu;

#define TIDE_CPU_NO_SPIN UINT32_MAX

struct tide_cpu_params {
  uint32_t workers; /* threads, at most 256; 0: one fewer than cores, at least one */
  uint32_t spin_ns; /* the longest spin before sleeping; 0: 20 µs where there is a core for each
                       worker and one more, else none; TIDE_CPU_NO_SPIN: never. What a worker waits
                       for more short operations of a stream is apart: sched.h */
};

/* The context outlives it. NULL params: defaults. TIDE_INVALID: too many workers; TIDE_NOMEM. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_cpu_create(const struct tide_context *context,
                                                          const struct tide_cpu_params *params,
                                                          struct tide_cpu **out_cpu);
/* What tide_device_create takes; lives as long as the cpu. In-order; takes whatever has a host
 * function. */
TIDE_API const struct tide_backend *tide_cpu_backend(const struct tide_cpu *cpu);
/* Starts the workers, for a device that was made on this cpu's backend. TIDE_INVALID: one is
 * attached already; TIDE_NOMEM: no threads (then none runs). */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_cpu_attach(struct tide_cpu *cpu,
                                                          struct tide_device *device);
/* Stops and joins the workers: blocks for as long as bodies run. Call it once tide_device_settle
 * has returned TIDE_OK, before the device is destroyed. Nothing happens when none is attached. */
TIDE_API void tide_cpu_detach(struct tide_cpu *cpu);
/* Detaches, if that was not done, and frees. NULL is fine. */
TIDE_API void tide_cpu_destroy(struct tide_cpu *cpu);
/* How many there are, whether attached or not. */
TIDE_API uint32_t tide_cpu_workers(const struct tide_cpu *cpu);

/* All the steps of the beginning: create, tide_device_create, attach. On an error nothing is left.
 */
TIDE_API TIDE_MUST_CHECK enum tide_status
tide_cpu_open(const struct tide_context *context, struct tide_sched *sched,
              const struct tide_cpu_params *params, const char *label, struct tide_cpu **out_cpu,
              struct tide_device **out_device);
/* All those of the end. Every queue of the device was destroyed; blocks until their last work is
 * over. NULL is fine. */
TIDE_API void tide_cpu_close(struct tide_cpu *cpu);

/* ---- file ----------------------------------------------------------------- */

struct tide_file;

struct tide_file_params {
  uint32_t depth;     /* transfers under way at once, at most 4096; 0: 64 */
  bool force_threads; /* threads even where io_uring works: for tests and comparisons */
};

/* As above. TIDE_INVALID: too deep; TIDE_FULL: no descriptors left; TIDE_NOMEM. That there is no
 * io_uring is not an error. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_file_create(const struct tide_context *context,
                                                           const struct tide_file_params *params,
                                                           struct tide_file **out_file);
/* Out of order, domain storage; takes bodies with an I/O verb and its function, and no others. */
TIDE_API const struct tide_backend *tide_file_backend(const struct tide_file *file);
/* As tide_cpu_attach, of the ring's one thread or of the threads in its place. TIDE_LOST: it failed
 * for good before. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_file_attach(struct tide_file *file,
                                                           struct tide_device *device);
/* As tide_cpu_detach: blocks until the file transfers under way are over, and cancels others. */
TIDE_API void tide_file_detach(struct tide_file *file);
/* Detaches, if that was not done, and frees. NULL is fine. */
TIDE_API void tide_file_destroy(struct tide_file *file);
/* "io_uring", or "threads (why)". Lives as long as the file. */
TIDE_API const char *tide_file_kind(const struct tide_file *file);

/* As tide_cpu_open. */
TIDE_API TIDE_MUST_CHECK enum tide_status
tide_file_open(const struct tide_context *context, struct tide_sched *sched,
               const struct tide_file_params *params, const char *label,
               struct tide_file **out_file, struct tide_device **out_device);
/* As tide_cpu_close: blocks until the last work is over. NULL is fine. */
TIDE_API void tide_file_close(struct tide_file *file);
/* The same, up to a deadline. TIDE_TIMEOUT: the kernel still has a transfer in its hands. Then
 * nothing is freed, neither of the device nor of its queues, and the transfer's memory, the
 * scheduler and the context must stay: call this again, or keep all of it until the process
 * ends. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_file_close_until(struct tide_file *file,
                                                                uint64_t deadline);

#ifdef __cplusplus
}
#endif
#endif
