/* device/ring.h: the file device's own thread, over io_uring.
 *
 * One thread owns the ring. It takes operations up to the depth, submits them,
 * and sleeps in one system call for completions or a kick, which arrives as a
 * completion too: an event descriptor that the ring always reads. */
#ifndef TIDE_DEVICE_RING_H
#define TIDE_DEVICE_RING_H

#include "tidemark/backend.h"

struct tide_ring;

/* *out_error is the system's error number when there is no io_uring (TIDE_UNSUPPORTED). */
enum tide_status tide_ring_create(const struct tide_context *context, uint32_t depth,
                                  struct tide_ring **out_ring, int *out_error);
enum tide_status tide_ring_start(struct tide_ring *ring, struct tide_device *device);
void tide_ring_kick(struct tide_ring *ring);
/* Joins the thread, once nothing is under way. */
void tide_ring_stop(struct tide_ring *ring);
void tide_ring_destroy(struct tide_ring *ring);

#endif
