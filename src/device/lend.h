/* device/lend.h: works of a file device, lent to the workers of a cpu device.
 *
 * The model. Where workers fill the cores, a thread that wakes for a copy takes a core from one of
 * them, and brings the bytes from another core's cache. So a worker that has just returned an
 * operation, and makes transfers ready by that, takes them itself, one at a time, instead of waking
 * the device's thread:
 *
 *     kick ──> tide_lend ──a work──> worker ──copies──> tide_device_exchange, for the next one
 *                                      └──not a copy──> tide_lender_take_back: the device's thread
 *
 * A copy is a transfer that ends by itself and soon: of a file in memory; a read of what the page
 * cache has; a write into the page cache, while the system is not writing back. It is made piece by
 * piece. A cancelled one ends after the piece. A worker helps for some milliseconds, not for as
 * long as there are copies; and not where callbacks come before its help, as they may be slow.
 *
 * Ownership. A lender belongs to a device's backend. A worker uses it for a moment after it has
 * returned its last work, so tide_lender_stop waits. At most `most` works are lent or wait to be
 * taken back.
 *
 * Threads. tide_lend is called by any thread, without a lock; the rest by the device's thread. */
#ifndef TIDE_DEVICE_LEND_H
#define TIDE_DEVICE_LEND_H

#include "base/lock.h"
#include "tidemark/backend.h"
#include "tidemark/file.h"

#include <sys/stat.h>

struct tide_lender {
  struct tide_context *context;
  struct tide_device *device;
  void (*wake)(void *self); /* wakes the device's thread; any thread */
  void *self;
  uint64_t elsewhere; /* atomic: the device of the last file that is not in memory */
  uint32_t pauses[2]; /* atomic: reads and writes of the page cache still left to the thread */
  struct tide_lock lock;
  /* Guarded by the lock. */
  uint32_t most;  /* the limit of the next two together */
  uint32_t lent;  /* works that workers hold */
  uint32_t count; /* works that wait to be taken back */
  struct tide_work **returned;
};

/* TIDE_NOMEM. `wake` wakes the thread that takes works back. */
enum tide_status tide_lender_init(struct tide_lender *lender, struct tide_context *context,
                                  uint32_t most, void (*wake)(void *self), void *self);
void tide_lender_fini(struct tide_lender *lender);
/* Begins to lend the works of `device`. */
void tide_lender_start(struct tide_lender *lender, struct tide_device *device);
/* Ends that, once the device has no work left. */
void tide_lender_stop(struct tide_lender *lender);

/* Lends a work to the calling thread, if that is a worker between two operations which may help.
 * False: the device's thread must be woken. */
bool tide_lend(struct tide_lender *lender);
/* Takes back works that are no copies, the oldest first. Returns their number. */
size_t tide_lender_take_back(struct tide_lender *lender, struct tide_work **out_works, size_t most);
/* True while a worker holds a work, or still uses the lender. */
bool tide_lender_is_used(struct tide_lender *lender);

/* True for a file of a file system in memory. Any thread. */
bool tide_lender_is_in_memory(struct tide_lender *lender, int descriptor, dev_t device);
/* True for a regular file whose transfers may be made by a call that blocks. Any thread. */
bool tide_lender_is_plain(int descriptor, const struct stat *info);

#endif
