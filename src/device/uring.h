/* device/uring.h: the file device's own thread, over io_uring.
 *
 * One thread owns the ring. It takes operations up to the depth, submits them,
 * and sleeps in one system call for completions or a kick, which arrives as a
 * completion too: an event descriptor that the ring always reads. Transfers of
 * descriptors that may never be ready go to the streams (stream.h), so that what has a
 * slot is a file's, which the kernel ends by itself.
 *
 * Cancellation. A cancelled transfer is cancelled in the kernel (IORING_OP_ASYNC_CANCEL), again and
 * again until its completion comes: its memory is the kernel's until then.
 *
 * A ring that breaks. io_uring_enter that is refused (EAGAIN, EBUSY) is repeated with pauses, and
 * given up as transfer.h says; after other errors, at once. Then
 *
 * - the transfers that the kernel has not taken fail with the errno's status, at once: their memory
 *   is nobody's;
 * - the device is lost with that status, so the waiters of all others hear of it;
 * - the thread looks for completions, which come without the call, until the kernel has ended all
 *   that it took. Then the device is certified. If it never does, the device never settles, and all
 *   memory is kept. */
#ifndef TIDE_DEVICE_RING_H
#define TIDE_DEVICE_RING_H

#include "device/stream.h"

struct tide_ring;

/* *out_error is the system's error number when there is no io_uring (TIDE_UNSUPPORTED). */
enum tide_status tide_ring_create(struct tide_context *context, uint32_t depth,
                                  struct tide_streams *streams, struct tide_ring **out_ring,
                                  int *out_error);
/* TIDE_LOST: it broke before. TIDE_NOMEM. */
enum tide_status tide_ring_start(struct tide_ring *ring, struct tide_device *device);
void tide_ring_kick(struct tide_ring *ring);
/* Ends those that tide_work_is_cancelled names. Returns before they have ended. */
void tide_ring_cancel(struct tide_ring *ring);
/* The error number with which the ring broke; 0: it did not. Any thread. */
int tide_ring_error(const struct tide_ring *ring);
/* Joins the thread, once nothing is under way. */
void tide_ring_stop(struct tide_ring *ring);
void tide_ring_destroy(struct tide_ring *ring);

#endif
