#include "device/stream.h"

#include "base/atomic.h"
#include "base/check.h"
#include "base/alloc.h"
#include "device/transfer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define STEP_MOST (1u << 20)  /* bytes that one transfer moves before the next one is served */
#define BLIND_WRITE_MOST 4096 /* bytes that a ready descriptor takes without blocking */

enum { READS, WRITES };

struct stream {
  struct tide_link link; /* entry in its channel, or in `incoming` */
  struct tide_work *work;
  struct tide_io io;
  uint64_t moved;
  int direction;
  bool is_socket;
  bool has_no_offset; /* pread and pwrite returned ESPIPE */
  bool may_block;     /* the descriptor does not support RWF_NOWAIT */
  uint32_t empty;     /* polls in a row that found it ready without bytes */
};

struct channel {
  struct tide_link link;
  int descriptor;
  struct tide_link streams[2];
};

void tide_streams_init(struct tide_streams *streams, struct tide_context *context) {
  *streams = (struct tide_streams){.context = context, .event = -1, .probe = -1};
  tide_lock_init(&streams->lock);
  tide_list_init(&streams->incoming);
  tide_list_init(&streams->channels);
}

void tide_streams_start(struct tide_streams *streams, struct tide_device *device) {
  streams->device = device;
  streams->stop = false;
}

static void take_lock(struct tide_streams *streams) {
  tide_lock_take(&streams->lock, streams->context->platform);
}

/* ---- which ------------------------------------------------------------------------------ */

/* True if epoll accepts the descriptor; no other call tells that of a device file. Also true if no
 * epoll can be created. */
static bool can_be_polled(struct tide_streams *streams, int descriptor) {
  int probe = tide_load_acquire(&streams->probe);
  if (probe < 0) {
    int made = epoll_create1(EPOLL_CLOEXEC), none = -1;
    if (made < 0) return true;
    if (tide_compare_exchange(&streams->probe, &none, made)) probe = made;
    else close(made), probe = none;
  }
  struct epoll_event event = {.events = 0};
  if (epoll_ctl(probe, EPOLL_CTL_ADD, descriptor, &event) != 0)
    return errno != EPERM && errno != EBADF;
  epoll_ctl(probe, EPOLL_CTL_DEL, descriptor, &event);
  return true;
}

bool tide_streams_want(struct tide_streams *streams, enum tide_io_verb verb,
                       const struct tide_io *io, const struct stat *info) {
  mode_t type = info->st_mode & S_IFMT;
  if (verb != TIDE_IO_READ && verb != TIDE_IO_WRITE) return false;
  if (type == S_IFREG || type == S_IFBLK || type == S_IFDIR) return false;
  return type == S_IFIFO || type == S_IFSOCK || can_be_polled(streams, io->descriptor);
}

/* ---- one step ---------------------------------------------------------------------------- */

static bool is_read(const struct stream *stream) { return stream->direction == READS; }

static size_t size_left(const struct stream *stream) {
  uint64_t left = stream->io.size - stream->moved;
  return left < STEP_MOST ? (size_t)left : STEP_MOST;
}

static bool is_ready(const struct stream *stream) {
  struct pollfd now = {.fd = stream->io.descriptor, .events = is_read(stream) ? POLLIN : POLLOUT};
  return poll(&now, 1, 0) > 0;
}

/* Writes to a terminal, which may be ready without space for a line. Opens it a second time to
 * write without blocking. If that fails, writes one byte, for which there is space. */
static ssize_t write_terminal(int descriptor, const char *at, size_t size) {
  char path[40];
  snprintf(path, sizeof path, "/proc/self/fd/%d", descriptor);
  int own = open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (own < 0) return write(descriptor, at, 1);
  ssize_t moved = write(own, at, size);
  int error = errno;
  close(own);
  errno = error;
  return moved;
}

static ssize_t move_blindly(const struct stream *stream, char *at, size_t size) {
  int descriptor = stream->io.descriptor;
  off_t offset = (off_t)(stream->io.offset + stream->moved);
  if (!is_read(stream) && size > BLIND_WRITE_MOST) size = BLIND_WRITE_MOST;
  if (!is_ready(stream)) {
    errno = EAGAIN;
    return -1;
  }
  if (!is_read(stream) && isatty(descriptor)) return write_terminal(descriptor, at, size);
  if (stream->has_no_offset)
    return is_read(stream) ? read(descriptor, at, size) : write(descriptor, at, size);
  return is_read(stream) ? pread(descriptor, at, size, offset)
                         : pwrite(descriptor, at, size, offset);
}

static ssize_t move_some(const struct stream *stream) {
  int descriptor = stream->io.descriptor;
  size_t size = size_left(stream);
  char *at = (char *)stream->io.data + stream->moved;
  if (stream->is_socket)
    return is_read(stream) ? recv(descriptor, at, size, MSG_DONTWAIT)
                           : send(descriptor, at, size, MSG_DONTWAIT | MSG_NOSIGNAL);
  if (stream->may_block) return move_blindly(stream, at, size);
  struct iovec piece = {.iov_base = at, .iov_len = size};
  off_t offset = stream->has_no_offset ? -1 : (off_t)(stream->io.offset + stream->moved);
  return is_read(stream) ? preadv2(descriptor, &piece, 1, offset, RWF_NOWAIT)
                         : pwritev2(descriptor, &piece, 1, offset, RWF_NOWAIT);
}

static enum tide_io_verb verb_of(const struct stream *stream) {
  return stream->direction == READS ? TIDE_IO_READ : TIDE_IO_WRITE;
}

/* Moves the bytes that can be moved now. True once the transfer has ended; the work has its
 * status. */
static bool move_step(struct stream *stream) {
  struct tide_work *work = stream->work;
  ssize_t moved = move_some(stream);
  if (moved > 0) {
    stream->moved += (uint64_t)moved;
    stream->empty = 0;
    return stream->moved == stream->io.size;
  }
  if (moved == 0) {
    tide_transfer_fail(work, verb_of(stream), &stream->io, TIDE_IO, 0);
    return true;
  }
  int error = errno;
  if (error == EINTR) return false;
  if (error == EAGAIN) {
    stream->empty++;
    return false;
  }
  if (error == ESPIPE && !stream->has_no_offset) return stream->has_no_offset = true, false;
  bool is_flag = error == EOPNOTSUPP || error == EINVAL || error == ENOSYS;
  if (is_flag && !stream->is_socket && !stream->may_block) return stream->may_block = true, false;
  tide_transfer_fail(work, verb_of(stream), &stream->io, tide_status_of_errno(error), error);
  return true;
}

static struct stream *stream_of(struct tide_link *link) {
  return TIDE_CONTAINER(link, struct stream, link);
}

static void end_stream(struct tide_streams *streams, struct stream *stream) {
  struct tide_work *work = stream->work;
  tide_list_remove(&stream->link);
  tide_free(streams->context->allocator, stream, 1, sizeof *stream);
  (void)tide_device_exchange(streams->device, &work, 1, NULL, 0, NULL);
  tide_fetch_sub(&streams->live, 1u);
}

static void fail_stream(struct tide_streams *streams, struct stream *stream,
                        enum tide_status status) {
  stream->work->status = status;
  end_stream(streams, stream);
}

/* ---- channels ---------------------------------------------------------------------------- */

static struct channel *channel_of(struct tide_link *link) {
  return TIDE_CONTAINER(link, struct channel, link);
}

/* Returns the channel of a descriptor, made if needed; NULL: no memory. */
static struct channel *find_channel(struct tide_streams *streams, int descriptor) {
  struct tide_link *all = &streams->channels;
  for (struct tide_link *at = all->next; at != all; at = at->next)
    if (channel_of(at)->descriptor == descriptor) return channel_of(at);
  struct channel *channel = tide_alloc(streams->context->allocator, 1, sizeof *channel);
  if (!channel) return NULL;
  channel->descriptor = descriptor;
  tide_list_init(&channel->streams[READS]);
  tide_list_init(&channel->streams[WRITES]);
  tide_list_push_back(all, &channel->link);
  return channel;
}

static void free_if_empty(struct tide_streams *streams, struct channel *channel) {
  if (!tide_list_empty(&channel->streams[READS]) || !tide_list_empty(&channel->streams[WRITES]))
    return;
  tide_list_remove(&channel->link);
  tide_free(streams->context->allocator, channel, 1, sizeof *channel);
}

static void end_cancelled_of(struct tide_streams *streams, struct tide_link *list, bool all) {
  for (struct tide_link *at = list->next, *next; at != list; at = next) {
    next = at->next;
    if (all || tide_work_is_cancelled(stream_of(at)->work))
      fail_stream(streams, stream_of(at), TIDE_CANCELLED);
  }
}

/* Ends the cancelled transfers, or all. */
static void end_cancelled(struct tide_streams *streams, bool all) {
  struct tide_link *channels = &streams->channels;
  for (struct tide_link *at = channels->next, *next; at != channels; at = next) {
    struct channel *channel = channel_of(at);
    next = at->next;
    end_cancelled_of(streams, &channel->streams[READS], all);
    end_cancelled_of(streams, &channel->streams[WRITES], all);
    free_if_empty(streams, channel);
  }
}

/* ---- the thread -------------------------------------------------------------------------- */

static void move_list(struct tide_link *from, struct tide_link *out_list) {
  struct tide_link *link;
  tide_list_init(out_list);
  while ((link = tide_list_pop_front(from))) tide_list_push_back(out_list, link);
}

/* Adds a transfer to its channel. The oldest of its channel is tried at once, since some errors
 * make no descriptor ready. */
static void begin_stream(struct tide_streams *streams, struct channel *channel,
                         struct stream *stream) {
  struct tide_link *list = &channel->streams[stream->direction];
  tide_list_push_back(list, &stream->link);
  if (list->next != &stream->link) return;
  if (move_step(stream)) end_stream(streams, stream);
  else stream->empty = 0;
  free_if_empty(streams, channel);
}

/* Moves new transfers to their channels. False: the thread stops, and no transfer is left. */
static bool take_incoming(struct tide_streams *streams) {
  struct tide_link *link, incoming;
  take_lock(streams);
  bool stop = streams->stop, cancel = streams->cancel_due;
  streams->cancel_due = false;
  move_list(&streams->incoming, &incoming);
  tide_lock_give(&streams->lock);
  while ((link = tide_list_pop_front(&incoming))) {
    struct stream *stream = stream_of(link);
    bool is_late =
        tide_work_is_cancelled(stream->work); /* cancel_due may have been consumed before */
    struct channel *channel = is_late ? NULL : find_channel(streams, stream->io.descriptor);
    if (channel) begin_stream(streams, channel, stream);
    else fail_stream(streams, stream, is_late ? TIDE_CANCELLED : TIDE_NOMEM);
  }
  if (cancel || stop) end_cancelled(streams, stop);
  return !stop;
}

/* Grows the entries to `count`. False: there is no memory. */
static bool grow_polls(struct tide_streams *streams, size_t count) {
  const struct tide_allocator *a = streams->context->allocator;
  if (count <= streams->poll_capacity) return true;
  struct pollfd *larger = tide_alloc(a, 2 * count, sizeof *larger);
  if (!larger) return false;
  tide_free(a, streams->polls, streams->poll_capacity, sizeof *larger);
  streams->polls = larger;
  streams->poll_capacity = 2 * count;
  return true;
}

/* Returns the events that the oldest transfer of a list waits for. A descriptor that keeps being
 * ready without bytes is left out until the timeout. */
static short events_of(struct tide_link *list, short events, int *timeout) {
  if (tide_list_empty(list)) return 0;
  struct stream *oldest = stream_of(list->next);
  if (oldest->empty <= TIDE_REPEATS_AT_ONCE) return events;
  oldest->empty = 0;
  *timeout = (int)(TIDE_REPEAT_PAUSE / 1000000u);
  return 0;
}

/* Fills in the event's entry and one for each channel. Returns their number; 0: no memory. */
static size_t fill_polls(struct tide_streams *streams, int *out_timeout) {
  struct tide_link *channels = &streams->channels;
  size_t count = 1;
  *out_timeout = -1;
  for (struct tide_link *at = channels->next; at != channels; at = at->next) count++;
  if (!grow_polls(streams, count)) return 0;
  struct pollfd *entry = streams->polls;
  *entry++ = (struct pollfd){.fd = tide_load_acquire(&streams->event), .events = POLLIN};
  for (struct tide_link *at = channels->next; at != channels; at = at->next, entry++) {
    struct channel *channel = channel_of(at);
    short events = (short)(events_of(&channel->streams[READS], POLLIN, out_timeout) |
                           events_of(&channel->streams[WRITES], POLLOUT, out_timeout));
    *entry = (struct pollfd){.fd = events ? channel->descriptor : -1, .events = events};
  }
  return count;
}

static void move_oldest(struct tide_streams *streams, struct tide_link *list) {
  if (!tide_list_empty(list) && move_step(stream_of(list->next)))
    end_stream(streams, stream_of(list->next));
}

/* Moves the oldest transfers of ready channels. `entry`: the first channel's; NULL: try all. */
static void move_ready(struct tide_streams *streams, const struct pollfd *entry) {
  struct tide_link *channels = &streams->channels;
  for (struct tide_link *at = channels->next, *next; at != channels; at = next) {
    struct channel *channel = channel_of(at);
    int ready = entry ? entry++->revents : POLLIN | POLLOUT;
    next = at->next;
    if (ready & ~POLLOUT) move_oldest(streams, &channel->streams[READS]);
    if (ready & ~POLLIN) move_oldest(streams, &channel->streams[WRITES]);
    if (ready) free_if_empty(streams, channel);
  }
}

/* Polls, and moves the ready transfers. Without memory, or when poll fails, pauses and tries
 * all. */
static void wait_and_move(struct tide_streams *streams) {
  int timeout, ready = -1;
  size_t count = fill_polls(streams, &timeout);
  if (count) ready = poll(streams->polls, count, timeout);
  if (ready < 0 && (!count || errno != EINTR)) {
    struct timespec pause = {.tv_nsec = TIDE_REPEAT_PAUSE};
    nanosleep(&pause, NULL);
    move_ready(streams, NULL);
  }
  if (ready < 0) return;
  uint64_t calls;
  if (streams->polls[0].revents) (void)!read(streams->polls[0].fd, &calls, sizeof calls);
  move_ready(streams, streams->polls + 1);
}

static void streams_main(void *argument) {
  struct tide_streams *streams = argument;
  tide_transfer_block_signals();
  while (take_incoming(streams)) wait_and_move(streams);
}

/* ---- from outside ------------------------------------------------------------------------ */

static void wake_thread(struct tide_streams *streams) {
  int event = tide_load_acquire(&streams->event);
  uint64_t one = 1;
  ssize_t wrote;
  do wrote = write(event, &one, sizeof one);
  while (wrote < 0 && errno == EINTR);
}

/* Starts the thread, for the first transfer. On failure no thread runs. */
static enum tide_status start_thread(struct tide_streams *streams) {
  const struct tide_platform *platform = streams->context->platform;
  if (streams->event < 0)
    tide_store_release(&streams->event, eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (streams->event < 0) return tide_status_of_errno(errno);
  return platform->spawn(platform->self, "tide-streams", streams_main, streams, &streams->thread);
}

static void fail_incoming(struct tide_streams *streams, enum tide_status status) {
  struct tide_link *link, incoming;
  take_lock(streams);
  move_list(&streams->incoming, &incoming);
  streams->is_started = false;
  tide_lock_give(&streams->lock);
  while ((link = tide_list_pop_front(&incoming))) fail_stream(streams, stream_of(link), status);
}

void tide_streams_take(struct tide_streams *streams, struct tide_work *work, enum tide_io_verb verb,
                       const struct tide_io *io, const struct stat *info) {
  struct stream *stream = tide_alloc(streams->context->allocator, 1, sizeof *stream);
  if (!stream) {
    work->status = TIDE_NOMEM;
    (void)tide_device_exchange(streams->device, &work, 1, NULL, 0, NULL);
    return;
  }
  *stream = (struct stream){.work = work,
                            .io = *io,
                            .direction = verb == TIDE_IO_READ ? READS : WRITES,
                            .is_socket = S_ISSOCK(info->st_mode)};
  tide_fetch_add(&streams->live, 1u);
  take_lock(streams);
  bool is_first = !streams->is_started;
  streams->is_started = true;
  tide_list_push_back(&streams->incoming, &stream->link);
  tide_lock_give(&streams->lock);
  enum tide_status status = is_first ? start_thread(streams) : TIDE_OK;
  if (status != TIDE_OK) fail_incoming(streams, status);
  else wake_thread(streams);
}

void tide_streams_cancel(struct tide_streams *streams) {
  take_lock(streams);
  streams->cancel_due = true;
  bool is_started = streams->is_started;
  tide_lock_give(&streams->lock);
  if (is_started) wake_thread(streams);
}

uint32_t tide_streams_live(const struct tide_streams *streams) {
  return tide_load_acquire(&streams->live);
}

void tide_streams_stop(struct tide_streams *streams) {
  const struct tide_platform *platform = streams->context->platform;
  take_lock(streams);
  streams->stop = true;
  bool is_started = streams->is_started;
  tide_lock_give(&streams->lock);
  if (!is_started) return;
  wake_thread(streams);
  platform->join(platform->self, streams->thread);
  streams->is_started = false;
}

void tide_streams_fini(struct tide_streams *streams) {
  if (streams->event >= 0) close(streams->event);
  if (streams->probe >= 0) close(streams->probe);
  tide_free(streams->context->allocator, streams->polls, streams->poll_capacity,
            sizeof *streams->polls);
}
