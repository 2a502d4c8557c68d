/* Linux: memfd with seals, SOCK_SEQPACKET, SCM_RIGHTS. */
#include "service/system.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static uint64_t read_clock(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}
uint64_t tide_service_now(void) { return read_clock(CLOCK_MONOTONIC); }
uint64_t tide_service_own_time(void) { return read_clock(CLOCK_THREAD_CPUTIME_ID); }

/* ---- memory -------------------------------------------------------------------- */

#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)
#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif

enum tide_status tide_mapping_create(struct tide_mapping *out, const char *name, size_t size,
                                     bool read_only) {
  *out = (struct tide_mapping){.descriptor = -1};
  int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (fd < 0) return errno == EMFILE || errno == ENFILE ? TIDE_FULL : TIDE_NOMEM;
  void *memory = MAP_FAILED;
  /* Mode 0600: another user with a read-only descriptor cannot open the file again for writing. */
  if (fchmod(fd, 0600) == 0 && ftruncate(fd, (off_t)size) == 0)
    memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (memory != MAP_FAILED &&
      fcntl(fd, F_ADD_SEALS, SEALS | (read_only ? F_SEAL_FUTURE_WRITE : 0)) != 0) {
    munmap(memory, size);
    memory = MAP_FAILED;
  }
  if (memory == MAP_FAILED) {
    close(fd);
    return TIDE_NOMEM;
  }
  *out = (struct tide_mapping){memory, size, fd};
  return TIDE_OK;
}

enum tide_status tide_mapping_open(struct tide_mapping *out, int descriptor, size_t size,
                                   bool read_only) {
  *out = (struct tide_mapping){.descriptor = -1};
  if (descriptor < 0) return TIDE_CORRUPT;
  struct stat stat;
  int seals = fcntl(descriptor, F_GET_SEALS);
  if (seals < 0 || !(seals & F_SEAL_SHRINK) || fstat(descriptor, &stat) != 0 ||
      (uint64_t)stat.st_size != size) {
    close(descriptor);
    return TIDE_CORRUPT;
  }
  void *memory =
      mmap(NULL, size, read_only ? PROT_READ : PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  close(descriptor);
  if (memory == MAP_FAILED) return TIDE_NOMEM;
  *out = (struct tide_mapping){memory, size, -1};
  return TIDE_OK;
}

void tide_mapping_keep(struct tide_mapping *mapping) {
  if (mapping->memory && mapping->descriptor >= 0) close(mapping->descriptor);
  mapping->descriptor = -1;
}

void tide_mapping_close(struct tide_mapping *mapping) {
  tide_mapping_keep(mapping);
  if (mapping->memory) munmap(mapping->memory, mapping->size);
  *mapping = (struct tide_mapping){.descriptor = -1};
}

int tide_mapping_another(const struct tide_mapping *mapping, bool writable) {
  char path[64];
  snprintf(path, sizeof path, "/proc/self/fd/%d", mapping->descriptor);
  return open(path, (writable ? O_RDWR : O_RDONLY) | O_CLOEXEC);
}

/* ---- messages --------------------------------------------------------------------- */

union control {
  struct cmsghdr header;
  unsigned char bytes[CMSG_SPACE(sizeof(int) * TIDE_DESCRIPTORS_MOST)];
};

enum tide_status tide_message_send(int socket, const struct tide_wire_message *message,
                                   const int *descriptors, unsigned count) {
  struct iovec part = {.iov_base = (void *)(uintptr_t)message, .iov_len = sizeof *message};
  union control control;
  struct msghdr header = {.msg_iov = &part, .msg_iovlen = 1};
  if (count) {
    memset(&control, 0, sizeof control);
    header.msg_control = &control;
    header.msg_controllen = CMSG_SPACE(sizeof(int) * count);
    struct cmsghdr *rights = CMSG_FIRSTHDR(&header);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof(int) * count);
    memcpy(CMSG_DATA(rights), descriptors, sizeof(int) * count);
  }
  for (;;) {
    ssize_t sent = sendmsg(socket, &header, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent == (ssize_t)sizeof *message) return TIDE_OK;
    if (sent < 0 && errno == EINTR) continue;
    /* ETOOMANYREFS: too many of the user's descriptors are in flight; some will arrive. */
    if (sent < 0 &&
        (errno == EAGAIN || errno == ENOBUFS || errno == ENOMEM || errno == ETOOMANYREFS))
      return TIDE_BUSY;
    return TIDE_LOST;
  }
}

/* Takes all received descriptors, and closes those beyond `most`. */
static unsigned take_descriptors(struct msghdr *header, int *descriptors, unsigned most) {
  unsigned count = 0;
  for (struct cmsghdr *at = CMSG_FIRSTHDR(header); at; at = CMSG_NXTHDR(header, at)) {
    if (at->cmsg_level != SOL_SOCKET || at->cmsg_type != SCM_RIGHTS) continue;
    size_t here = (at->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < here; i++) {
      int fd;
      memcpy(&fd, CMSG_DATA(at) + i * sizeof fd, sizeof fd);
      if (count < most) descriptors[count++] = fd;
      else close(fd);
    }
  }
  return count;
}

enum tide_status tide_message_receive(int socket, struct tide_wire_message *message,
                                      int descriptors[TIDE_DESCRIPTORS_MOST], unsigned most) {
  struct iovec part = {.iov_base = message, .iov_len = sizeof *message};
  union control control;
  struct msghdr header = {.msg_iov = &part, .msg_iovlen = 1};
  /* Without a control buffer the kernel itself drops descriptors that were sent. */
  if (most) {
    header.msg_control = &control;
    header.msg_controllen = sizeof control;
  }
  for (unsigned i = 0; i < most; i++) descriptors[i] = -1;
  ssize_t got;
  /* A reset is reported once, before the last messages that may still be there. */
  bool reset = false;
  do {
    if (reset) errno = 0;
    got = recvmsg(socket, &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  } while (got < 0 && (errno == EINTR || (errno == ECONNRESET && !reset && (reset = true))));
  if (got < 0) return errno == EAGAIN ? TIDE_BUSY : TIDE_LOST;
  unsigned count = most ? take_descriptors(&header, descriptors, most) : 0;
  if (got == (ssize_t)sizeof *message && !(header.msg_flags & (MSG_TRUNC | MSG_CTRUNC)))
    return TIDE_OK;
  for (unsigned i = 0; i < count; i++) close(descriptors[i]);
  for (unsigned i = 0; i < most; i++) descriptors[i] = -1;
  return got == 0 && !(header.msg_flags & MSG_CTRUNC) ? TIDE_LOST : TIDE_CORRUPT;
}
