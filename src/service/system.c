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

enum tide_status tide_message_send(int socket, const struct tide_wire_message *message,
                                   const int *descriptors, unsigned count) {
  return tide_socket_send(socket, message, sizeof *message, descriptors, count);
}

enum tide_status tide_message_receive(int socket, struct tide_wire_message *message,
                                      int descriptors[TIDE_DESCRIPTORS_MOST], unsigned most) {
  size_t size;
  enum tide_status status =
      tide_socket_receive(socket, message, sizeof *message, &size, descriptors, most);
  if (status != TIDE_OK || size == sizeof *message) return status;
  for (unsigned i = 0; i < most; i++) {
    if (descriptors[i] >= 0) close(descriptors[i]);
    descriptors[i] = -1;
  }
  return TIDE_CORRUPT;
}
