#include "device/transfer.h"

#include <errno.h>
#include <poll.h>
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
    case EOPNOTSUPP: return TIDE_UNSUPPORTED;
    case ECANCELED: return TIDE_CANCELLED;
    default: return TIDE_IO;
  }
}

/* A descriptor in non-blocking mode has nothing now: sleep until it has. */
static void wait_for_descriptor(int descriptor, bool reading) {
  struct pollfd ready = {.fd = descriptor, .events = reading ? POLLIN : POLLOUT};
  poll(&ready, 1, -1);
}

/* One system call's worth. Pipes and sockets have no places: what comes next is what is meant. */
static ssize_t move_some(bool reading, bool stream, const struct tide_io *io, uint64_t done) {
  uint64_t left = io->size - done;
  size_t most = left < TIDE_TRANSFER_MOST ? (size_t)left : TIDE_TRANSFER_MOST;
  char *at = (char *)io->data + done;
  off_t offset = (off_t)(io->offset + done);
  if (stream) return reading ? read(io->descriptor, at, most) : write(io->descriptor, at, most);
  return reading ? pread(io->descriptor, at, most, offset)
                 : pwrite(io->descriptor, at, most, offset);
}

enum tide_status tide_transfer(enum tide_io_verb verb, const struct tide_io *io) {
  if (verb == TIDE_IO_SYNC) {
    int answer;
    do answer = fsync(io->descriptor);
    while (answer < 0 && errno == EINTR);
    return answer < 0 ? tide_status_of_errno(errno) : TIDE_OK;
  }
  if (verb != TIDE_IO_READ && verb != TIDE_IO_WRITE) return TIDE_UNSUPPORTED;
  bool reading = verb == TIDE_IO_READ, stream = false;
  for (uint64_t done = 0; done < io->size;) {
    ssize_t moved = move_some(reading, stream, io, done);
    if (moved > 0) done += (uint64_t)moved;
    else if (moved == 0) return TIDE_IO; /* the file ends here, or takes nothing more */
    else if (errno == ESPIPE && !stream) stream = true;
    else if (errno == EAGAIN) wait_for_descriptor(io->descriptor, reading);
    else if (errno != EINTR) return tide_status_of_errno(errno);
  }
  return TIDE_OK;
}
