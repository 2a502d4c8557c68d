/* device/stream.h: transfers of descriptors that may never be ready.
 *
 * A read of a pipe, a socket or a terminal ends when the other end pleases. Such a
 * transfer takes none of the depth of a file device and none of its threads: one thread,
 * which starts with the first of them, polls their descriptors, and moves without blocking
 * the bytes that are there. So any number of them hold back nothing else, and each can be
 * cancelled at any time.
 *
 *     a worker, or the ring's thread ──take──> incoming ──> channel ──poll, move──> handed back
 *
 * A channel is a descriptor with its reads and its writes, each in the order in which they came:
 * the bytes of a pipe go to the oldest read.
 *
 * Where a descriptor knows no call that does not block (RWF_NOWAIT, before Linux 6.4 of
 * pipes; terminals), a call follows on a poll that found it ready, of a page at most when
 * it writes. It blocks only if another process reads the same bytes first. */
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
  int probe;     /* atomic; epoll: knows which devices can be polled; -1 likewise */
  uint32_t live; /* atomic: transfers that are here */
  struct tide_thread *thread;
  /* The thread's own. */
  struct tide_link channels;
  struct pollfd *polls;
  size_t poll_capacity;
};

void tide_streams_init(struct tide_streams *streams, struct tide_context *context);
void tide_streams_start(struct tide_streams *streams, struct tide_device *device);
/* True if this transfer is one for tide_streams_take. `info` is the descriptor's. */
bool tide_streams_want(struct tide_streams *streams, enum tide_io_verb verb,
                       const struct tide_io *io, const struct stat *info);
/* Takes a transfer over and hands it back to the device itself, in the end. Any thread. */
void tide_streams_take(struct tide_streams *streams, struct tide_work *work, enum tide_io_verb verb,
                       const struct tide_io *io, const struct stat *info);
/* Ends those that tide_work_is_cancelled names. Any thread; returns before they have ended. */
void tide_streams_cancel(struct tide_streams *streams);
/* How many have not ended. Those of a lost device are gone once this is 0. */
uint32_t tide_streams_live(const struct tide_streams *streams);
/* Ends all that is left with TIDE_CANCELLED, and joins the thread. */
void tide_streams_stop(struct tide_streams *streams);
void tide_streams_fini(struct tide_streams *streams);

#endif
