#include "device/transfer.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum tide_status tide_status_of_errno(int number) {
  switch (number) {
    case 0: return TIDE_OK;
    case EACCES:
    case EPERM:
    case EROFS: return TIDE_DENIED;
    case EBADF:
    case EINVAL:
    case ESPIPE: return TIDE_INVALID;
    case ENOMEM: return TIDE_NOMEM;
    case EMFILE:
    case ENFILE: return TIDE_FULL;
    case EAGAIN:
    case EBUSY: return TIDE_BUSY;
    case ENOSYS:
    case EOPNOTSUPP: return TIDE_UNSUPPORTED;
    case ECANCELED: return TIDE_CANCELLED;
    default: return TIDE_IO;
  }
}

void tide_transfer_block_signals(void) {
  sigset_t of_writes;
  sigemptyset(&of_writes);
  sigaddset(&of_writes, SIGPIPE);
  sigaddset(&of_writes, SIGXFSZ);
  pthread_sigmask(SIG_BLOCK, &of_writes, NULL);
}

bool tide_transfer_repeats(uint32_t *repeats, int error) {
  struct timespec pause = {.tv_nsec = TIDE_REPEAT_PAUSE};
  if (++*repeats > TIDE_REPEATS_MOST && error != EINTR) return false;
  if (*repeats > TIDE_REPEATS_AT_ONCE) nanosleep(&pause, NULL);
  return true;
}

/* Blocks until a non-blocking descriptor is ready. A regular file is always ready, so its refusals
 * are counted. False: it refuses for good. */
static bool wait_for_descriptor(int descriptor, bool reading, uint32_t *repeats) {
  struct pollfd ready = {.fd = descriptor, .events = reading ? POLLIN : POLLOUT};
  struct stat info;
  if (fstat(descriptor, &info) == 0 && (S_ISREG(info.st_mode) || S_ISBLK(info.st_mode)))
    return tide_transfer_repeats(repeats, EAGAIN);
  if (*repeats > TIDE_REPEATS_AT_ONCE) *repeats = TIDE_REPEATS_AT_ONCE;
  if (poll(&ready, 1, 0) > 0)
    return tide_transfer_repeats(repeats, EINTR); /* another reader took the bytes */
  poll(&ready, 1, -1);
  return true;
}

/* Makes one system call. Pipes and sockets have no offsets. */
static ssize_t move_some(bool reading, bool stream, const struct tide_io *io, uint64_t done) {
  uint64_t left = io->size - done;
  size_t most = left < TIDE_TRANSFER_MOST ? (size_t)left : TIDE_TRANSFER_MOST;
  char *at = (char *)io->data + done;
  off_t offset = (off_t)(io->offset + done);
  if (stream) return reading ? read(io->descriptor, at, most) : write(io->descriptor, at, most);
  return reading ? pread(io->descriptor, at, most, offset)
                 : pwrite(io->descriptor, at, most, offset);
}

/* Moves all bytes. Returns 0; or the error number; or -1 if the file ends, or takes nothing
 * more. */
static int move_all(bool reading, const struct tide_io *io) {
  bool stream = false;
  uint32_t repeats = 0;
  for (uint64_t done = 0; done < io->size;) {
    ssize_t moved = move_some(reading, stream, io, done);
    if (moved == 0) return -1;
    if (moved > 0) {
      done += (uint64_t)moved;
      repeats = 0;
    } else if (errno == ESPIPE && !stream) {
      stream = true;
    } else if (errno == EAGAIN) {
      if (!wait_for_descriptor(io->descriptor, reading, &repeats)) return EAGAIN;
    } else if (errno != EINTR || !tide_transfer_repeats(&repeats, EINTR)) {
      return errno;
    }
  }
  return 0;
}

static int sync_all(int descriptor) {
  for (uint32_t repeats = 0;;) {
    if (fsync(descriptor) == 0) return 0;
    if (errno != EINTR && errno != EAGAIN) return errno;
    if (!tide_transfer_repeats(&repeats, errno)) return EAGAIN;
  }
}

enum tide_status tide_transfer(enum tide_io_verb verb, const struct tide_io *io, int *out_error) {
  int error = 0;
  if (out_error) *out_error = 0;
  if (verb == TIDE_IO_SYNC) error = sync_all(io->descriptor);
  else if (verb == TIDE_IO_READ || verb == TIDE_IO_WRITE)
    error = move_all(verb == TIDE_IO_READ, io);
  else return TIDE_UNSUPPORTED;
  if (error < 0) return TIDE_IO;
  if (out_error) *out_error = error;
  return tide_status_of_errno(error);
}
