/* Input files. Opening one never blocks silently, as a FIFO without a writer would. Reading one has
 * a limit, since /dev/zero has no end. */
#include "tool/tool.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define WRITER_WAIT 2000 /* ms for a FIFO's writer to come */
#define WRITER_LOOK 20   /* ms between two checks */

/* True once a process has the FIFO open for writing, or the FIFO has bytes. The bytes stay
 * there. */
static bool has_writer(int descriptor, int aside) {
  ssize_t there = tee(descriptor, aside, 1, SPLICE_F_NONBLOCK);
  return there > 0 || (there < 0 && errno != EINTR);
}

static bool wait_for_writer(int descriptor) {
  int aside[2];
  struct pollfd bytes = {.fd = descriptor, .events = POLLIN};
  if (pipe2(aside, O_CLOEXEC) != 0) return false;
  bool came = has_writer(descriptor, aside[1]);
  for (int waited = 0; !came && waited < WRITER_WAIT; waited += WRITER_LOOK) {
    poll(&bytes, 1, WRITER_LOOK);
    came = has_writer(descriptor, aside[1]);
    if (!came && (bytes.revents & POLLHUP)) usleep(WRITER_LOOK * 1000); /* poll returns at once */
  }
  close(aside[0]), close(aside[1]);
  return came;
}

int tide_tool_open_input(const char *path, const char **out_why) {
  struct stat info;
  int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  *out_why = NULL;
  if (descriptor < 0 || fstat(descriptor, &info) != 0) {
    int error = errno;
    if (descriptor >= 0) close(descriptor);
    errno = error;
    *out_why = strerror(error);
    return -1;
  }
  if (S_ISFIFO(info.st_mode)) {
    if (wait_for_writer(descriptor)) return descriptor; /* still non-blocking */
    *out_why = "it is a FIFO that no process writes";
  } else if (S_ISDIR(info.st_mode)) {
    *out_why = "it is a folder; a file is expected";
  } else {
    int flags = fcntl(descriptor, F_GETFL);
    if (flags >= 0) (void)fcntl(descriptor, F_SETFL, flags & ~O_NONBLOCK);
    return descriptor;
  }
  close(descriptor);
  errno = EINVAL;
  return -1;
}

/* Reads once; waits if no bytes have come yet. */
static ssize_t read_some(int descriptor, char *to, size_t size) {
  for (;;) {
    struct pollfd bytes = {.fd = descriptor, .events = POLLIN};
    ssize_t got = read(descriptor, to, size);
    if (got >= 0 || (errno != EINTR && errno != EAGAIN)) return got;
    if (errno == EAGAIN) poll(&bytes, 1, -1);
  }
}

char *tide_tool_read_input(int descriptor, size_t limit, size_t *out_length) {
  size_t capacity = 1 << 16, length = 0;
  char *text = malloc(capacity);
  ssize_t got = 1;
  while (text && got > 0) {
    if (length == capacity) {
      capacity = capacity < limit / 2 ? capacity * 2 : limit + 1;
      char *larger = realloc(text, capacity);
      if (!larger) break;
      text = larger;
    }
    got = read_some(descriptor, text + length, capacity - length);
    if (got > 0) length += (size_t)got;
    if (length > limit) {
      got = -1;
      errno = EFBIG;
    }
  }
  *out_length = length;
  if (text && got == 0) return text;
  if (!text || got > 0) errno = ENOMEM;
  int error = errno;
  free(text);
  errno = error;
  return NULL;
}
