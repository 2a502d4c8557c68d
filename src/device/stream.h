/* device/stream.h: transfers of descriptors that may never be ready.
 *
 * A read of a pipe, a socket or a terminal ends when the other end pleases. Such a transfer takes
 * no slot of a file device's depth and none of its threads. One thread, started by the first of
 * these transfers, polls their descriptors, and moves the available bytes without blocking. So any
 * number of them delay no other transfer, and each can be cancelled at any time.
 *
 *     a worker, or the ring's thread ──take──> incoming ──> channel ──poll, move──> handed back
 *
 * A channel is a descriptor with its reads and its writes, each in the order of their arrival: the
 * bytes of a pipe go to the oldest read.
 *
 * Some descriptors have no call that does not block (RWF_NOWAIT: pipes before Linux 6.4;
 * terminals). Then a poll that finds the descriptor ready is followed by an ordinary call, which
 * writes at most a page. This call blocks only if another process reads the same bytes first. */
#ifndef TIDE_DEVICE_STREAM_H
#define TIDE_DEVICE_STREAM_H

#include "base/list.h"
#include "base/lock.h"
#include "causal/context_state.h"
#include "tidemark/backend.h"
#include "tidemark/file.h"

#include <poll.h>
#include <sys/stat.h>

struct tide_streams {
  struct tide_context *context;
  struct tide_device *device;
  struct tide_lock lock; /* guards the next four */
  struct tide_link incoming;
  bool is_started, stop, cancel_due;
  int event;     /* atomic; eventfd: wakes the thread; -1 before it is needed */
  int probe;     /* atomic; epoll: tells which devices can be polled; -1 likewise */
  uint32_t live; /* atomic: transfers that have not ended */
  struct tide_thread *thread;
  /* Private to the thread. */
  struct tide_link channels;
  struct pollfd *polls;
  size_t poll_capacity;
};

void tide_streams_init(struct tide_streams *streams, struct tide_context *context);
void tide_streams_start(struct tide_streams *streams, struct tide_device *device);
/* True if the streams must take this transfer. `info` is the descriptor's. */
bool tide_streams_want(struct tide_streams *streams, enum tide_io_verb verb,
                       const struct tide_io *io, const struct stat *info);
/* Takes a transfer over, and hands the work back to the device when it ends. Any thread. */
void tide_streams_take(struct tide_streams *streams, struct tide_work *work, enum tide_io_verb verb,
                       const struct tide_io *io, const struct stat *info);
/* Ends the transfers for which tide_work_is_cancelled is true. Any thread; returns before they have
 * ended. */
void tide_streams_cancel(struct tide_streams *streams);
/* Returns the number of transfers that have not ended. 0 on a lost device: no memory is in use. */
uint32_t tide_streams_live(const struct tide_streams *streams);
/* Ends the remaining transfers with TIDE_CANCELLED, and joins the thread. */
void tide_streams_stop(struct tide_streams *streams);
void tide_streams_fini(struct tide_streams *streams);

#endif
