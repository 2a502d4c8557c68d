/* device/transfer.h: one whole read, write or sync on the calling thread. What
 * the kernel does in parts (short transfers, interrupted calls) is put together
 * here, so that neither bodies nor devices think of it. */
#ifndef TIDE_DEVICE_TRANSFER_H
#define TIDE_DEVICE_TRANSFER_H

#include "tidemark/sched.h"

/* A single system call moves at most this much; larger transfers take several. */
#define TIDE_TRANSFER_MOST 0x7ffff000u

/* What a system error number (positive) means to us. */
enum tide_status tide_status_of_errno(int number);

/* Blocks until all of it is done. TIDE_IO: also when a file ends before the last byte. On a pipe or
 * socket the offset means nothing. */
enum tide_status tide_transfer(enum tide_io_verb verb, const struct tide_io *io);

#endif
