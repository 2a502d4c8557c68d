#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "wic/uffd.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef UFFD_USER_MODE_ONLY
#define UFFD_USER_MODE_ONLY 1
#endif
#ifndef USERFAULTFD_IOC_NEW
#define USERFAULTFD_IOC_NEW _IO(0xAA, 0x00)
#endif

static int open_device(void) {
  int device = open("/dev/userfaultfd", O_RDWR | O_CLOEXEC);
  if (device < 0) return -1;
  int fd = ioctl(device, USERFAULTFD_IOC_NEW, O_CLOEXEC | O_NONBLOCK);
  close(device);
  return fd;
}

static enum tide_status status_of_errno(void) {
  if (errno == EPERM || errno == EACCES) return TIDE_DENIED;
  if (errno == EMFILE || errno == ENFILE) return TIDE_FULL;
  return errno == ENOMEM ? TIDE_NOMEM : TIDE_UNSUPPORTED;
}

/* Tries first for a descriptor that also handles the kernel's own faults. */
enum tide_status tide_uffd_open(uint64_t features, int *out_fd, bool *out_user_only) {
  struct uffdio_api api = {.api = UFFD_API, .features = features};
  int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);
  enum tide_status status = status_of_errno();
  *out_user_only = false;
  if (fd < 0) fd = open_device();
  if (fd < 0) {
    fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | UFFD_USER_MODE_ONLY);
    *out_user_only = fd >= 0;
  }
  if (fd < 0) return status;
  if (ioctl(fd, UFFDIO_API, &api) != 0) {
    close(fd);
    return TIDE_UNSUPPORTED;
  }
  *out_fd = fd;
  return TIDE_OK;
}

size_t tide_uffd_faults(int fd, const void *base, size_t out_offsets[TIDE_UFFD_BATCH]) {
  struct uffd_msg messages[TIDE_UFFD_BATCH];
  ssize_t got = read(fd, messages, sizeof messages);
  size_t count = 0;
  for (ssize_t i = 0; got > 0 && i < got / (ssize_t)sizeof messages[0]; i++)
    if (messages[i].event == UFFD_EVENT_PAGEFAULT)
      out_offsets[count++] = (size_t)(messages[i].arg.pagefault.address - (uintptr_t)base);
  return count;
}
