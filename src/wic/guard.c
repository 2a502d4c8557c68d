/* Linux: private memory, write-protected by userfaultfd. Each page is filled from the beginning,
 * since only a page that is present can be protected, and no huge pages are used. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "wic/guard.h"
#include "base/check.h"

#include <errno.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

/* Maps the memory. A child of fork does not get it: no thread would handle its store faults. */
static enum tide_status map_memory(struct tide_guard *guard) {
  void *memory =
      mmap(NULL, guard->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return TIDE_NOMEM;
  guard->memory = memory;
  (void)madvise(memory, guard->bytes, MADV_NOHUGEPAGE);
  if (madvise(memory, guard->bytes, MADV_DONTFORK) != 0) return TIDE_NOMEM;
  for (size_t at = 0; at < guard->bytes; at += guard->page)
    *(volatile char *)(guard->memory + at) = 0;
  return TIDE_OK;
}

static enum tide_status register_faults(struct tide_guard *guard) {
  struct uffdio_register what = {
      .range = {(uintptr_t)guard->memory, guard->bytes},
      .mode = UFFDIO_REGISTER_MODE_WP,
  };
  if (ioctl(guard->faults, UFFDIO_REGISTER, &what) != 0)
    return errno == ENOMEM ? TIDE_NOMEM : TIDE_UNSUPPORTED;
  if (!(what.ioctls & (1ull << _UFFDIO_WRITEPROTECT))) return TIDE_UNSUPPORTED;
  tide_guard_close(guard, 0, guard->bytes);
  return TIDE_OK;
}

enum tide_status tide_guard_make(struct tide_guard *guard, size_t bytes) {
  *guard = (struct tide_guard){.bytes = bytes, .page = (size_t)sysconf(_SC_PAGESIZE), .faults = -1};
  enum tide_status status =
      tide_uffd_open(UFFD_FEATURE_PAGEFAULT_FLAG_WP, &guard->faults, &guard->user_only);
  if (status == TIDE_OK) status = map_memory(guard);
  if (status == TIDE_OK) status = register_faults(guard);
  if (status != TIDE_OK) tide_guard_unmake(guard);
  return status;
}

void tide_guard_unmake(struct tide_guard *guard) {
  if (guard->faults >= 0) close(guard->faults);
  if (guard->memory) munmap(guard->memory, guard->bytes);
  *guard = (struct tide_guard){.faults = -1};
}

static void set_protection(struct tide_guard *guard, size_t offset, size_t bytes, bool closed) {
  struct uffdio_writeprotect what = {
      .range = {(uintptr_t)(guard->memory + offset), bytes},
      .mode = closed ? UFFDIO_WRITEPROTECT_MODE_WP : 0,
  };
  int failed;
  do failed = ioctl(guard->faults, UFFDIO_WRITEPROTECT, &what);
  while (failed && (errno == EAGAIN || errno == EINTR));
  TIDE_ASSERT(!failed);
}

void tide_guard_close(struct tide_guard *guard, size_t offset, size_t bytes) {
  set_protection(guard, offset, bytes, true);
}
void tide_guard_open(struct tide_guard *guard, size_t offset, size_t bytes) {
  set_protection(guard, offset, bytes, false);
}

void tide_guard_wake(struct tide_guard *guard, size_t offset, size_t bytes) {
  struct uffdio_range range = {(uintptr_t)(guard->memory + offset), bytes};
  int failed = ioctl(guard->faults, UFFDIO_WAKE, &range);
  TIDE_ASSERT(!failed);
}

size_t tide_guard_faults(struct tide_guard *guard, size_t out_offsets[TIDE_UFFD_BATCH]) {
  return tide_uffd_faults(guard->faults, guard->memory, out_offsets);
}
