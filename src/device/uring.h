/* device/uring.h: the file device's own thread, over io_uring.
 *
 * One thread owns the ring. It takes operations up to the depth, submits them, and sleeps in one
 * system call for completions or a kick. A kick is a completion, too: the ring always reads an
 * event descriptor. Transfers of descriptors that may never be ready go to the streams (stream.h),
 * so every slot holds the transfer of a file, which the kernel ends by itself.
 *
 * Copies. Some transfers are copies that the kernel would hand to a thread of its own: small
 * writes, and all transfers of files in memory. The ring's thread does small ones itself, and of
 * the others one at a time, while nothing else is to be done. Where workers of a cpu device fill
 * the cores, they make copies without it (lend.h).
 *
 * Cancellation. A cancelled transfer is cancelled in the kernel (IORING_OP_ASYNC_CANCEL),
 * repeatedly until its completion comes: until then the kernel uses its memory.
 *
 * A ring that breaks. An io_uring_enter that is refused (EAGAIN, EBUSY) is repeated with pauses, up
 * to the limits of transfer.h; any other error breaks the ring at once. Then
 *
 * - the transfers that the kernel has not taken fail with the errno's status, at once: the kernel
 *   does not use their memory;
 * - the device is lost with that status, so the waiters of all others are notified;
 * - the thread polls for completions, which come without the call, until the kernel has ended all
 *   that it took. Then the device is certified. If that never happens, the device never settles
 *   and keeps all memory. */
#ifndef TIDE_DEVICE_URING_H
#define TIDE_DEVICE_URING_H

#include "device/stream.h"

struct tide_ring;

/* Creates a ring. TIDE_UNSUPPORTED: there is no io_uring, and *out_error is the system's error
 * number. */
enum tide_status tide_ring_create(struct tide_context *context, uint32_t depth,
                                  struct tide_streams *streams, struct tide_ring **out_ring,
                                  int *out_error);
/* Starts the thread. TIDE_LOST: the ring broke before. TIDE_NOMEM. */
enum tide_status tide_ring_start(struct tide_ring *ring, struct tide_device *device);
/* Lends work to the calling thread, or wakes the ring's. */
void tide_ring_kick(struct tide_ring *ring);
/* Cancels the transfers for which tide_work_is_cancelled is true. Returns before they have
 * ended. */
void tide_ring_cancel(struct tide_ring *ring);
/* Returns the error number with which the ring broke; 0: it did not. Any thread. */
int tide_ring_error(const struct tide_ring *ring);
/* Joins the thread, once nothing is under way. */
void tide_ring_stop(struct tide_ring *ring);
void tide_ring_destroy(struct tide_ring *ring);

#endif
