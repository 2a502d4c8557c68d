/* Linux: a memfd mapped twice, and userfaultfd's minor faults for the readers' view. The pages are
 * always in the page cache: mapping one fills a page table entry and copies nothing. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "wic/region.h"
#include "base/check.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

/* ---- the kernel's part -------------------------------------------------------------- */

static enum tide_status open_faults(struct tide_region *region) {
  uint64_t features = UFFD_FEATURE_MINOR_SHMEM | (region->signals ? UFFD_FEATURE_SIGBUS : 0);
  return tide_uffd_open(features, &region->faults, &region->user_only);
}

/* Registers the pages with userfaultfd and makes all of them missing. Some may have been filled
 * before: by a program that locks its future pages (mlockall), or by a stray load. */
static enum tide_status register_faults(struct tide_region *region, size_t offset, size_t bytes) {
  struct uffdio_register what = {
      .range = {(uintptr_t)(region->reader + offset), bytes},
      .mode = UFFDIO_REGISTER_MODE_MINOR,
  };
  if (ioctl(region->faults, UFFDIO_REGISTER, &what) != 0)
    return errno == ENOMEM ? TIDE_NOMEM : TIDE_UNSUPPORTED;
  if (!(what.ioctls & (1ull << _UFFDIO_CONTINUE))) return TIDE_UNSUPPORTED;
  tide_region_drop(region, offset, bytes);
  return TIDE_OK;
}

size_t tide_region_page(void) { return (size_t)sysconf(_SC_PAGESIZE); }

/* Advises the kernel about the readers' view. A fault must map its own page only, so that each
 * page's first load is seen. A child's loads would not stall, but would read other producers' data:
 * so a child has no such view. False: no memory. */
static bool advise_reader_view(const struct tide_region *region, size_t offset, size_t bytes) {
  char *at = region->reader + offset;
  (void)madvise(at, bytes, MADV_NOHUGEPAGE);
  (void)madvise(at, bytes, MADV_RANDOM);
  return madvise(at, bytes, MADV_DONTFORK) == 0;
}

/* ---- opening -------------------------------------------------------------------------- */

/* Sets the file's size. Beyond RLIMIT_FSIZE the kernel also raises SIGXFSZ, which would end the
 * process: the signal is blocked and consumed, and the status reports the error. */
static bool set_file_size(int fd, size_t bytes) {
  const struct timespec none = {0, 0};
  sigset_t too_long, mask, waiting;
  sigemptyset(&too_long);
  sigaddset(&too_long, SIGXFSZ);
  pthread_sigmask(SIG_BLOCK, &too_long, &mask);
  sigpending(&waiting);
  bool made = ftruncate(fd, (off_t)bytes) == 0;
  if (!made && errno == EFBIG && !sigismember(&waiting, SIGXFSZ))
    (void)sigtimedwait(&too_long, NULL, &none);
  pthread_sigmask(SIG_SETMASK, &mask, NULL);
  return made;
}

static enum tide_status open_memory(struct tide_region *region, const char *label) {
  region->memory = memfd_create(label, MFD_CLOEXEC);
  if (region->memory < 0) return errno == EMFILE || errno == ENFILE ? TIDE_FULL : TIDE_NOMEM;
  if (!set_file_size(region->memory, region->bytes)) return TIDE_NOMEM;
  void *writer = mmap(NULL, region->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, region->memory, 0);
  if (writer == MAP_FAILED) return TIDE_NOMEM;
  region->writer = writer;
  void *reader = mmap(NULL, region->bytes, PROT_READ, MAP_SHARED, region->memory, 0);
  if (reader == MAP_FAILED) return TIDE_NOMEM;
  region->reader = reader;
  (void)madvise(writer, region->bytes, MADV_NOHUGEPAGE);
  if (!advise_reader_view(region, 0, region->bytes)) return TIDE_NOMEM;
  /* A page outside the page cache would raise a fault of another kind, which the region does not
   * serve. */
  if (fallocate(region->memory, 0, 0, (off_t)region->bytes) != 0) return TIDE_NOMEM;
  /* Otherwise the first message in each page costs its producer a fault. Older kernels do not know
   * the advice. */
  (void)madvise(writer, region->bytes, MADV_POPULATE_WRITE);
  return TIDE_OK;
}

enum tide_status tide_region_open(struct tide_region *region, const char *label, size_t bytes,
                                  bool signals) {
  *region =
      (struct tide_region){.bytes = bytes, .page = tide_region_page(), .memory = -1, .faults = -1};
  region->signals = signals;
  enum tide_status status = open_faults(region);
  if (status == TIDE_OK) status = open_memory(region, label);
  if (status == TIDE_OK) status = register_faults(region, 0, bytes);
  if (status != TIDE_OK) tide_region_close(region);
  return status;
}

void tide_region_close(struct tide_region *region) {
  if (region->faults >= 0) close(region->faults);
  if (region->reader) munmap(region->reader, region->bytes);
  if (region->writer) munmap(region->writer, region->bytes);
  if (region->memory >= 0) close(region->memory);
  *region = (struct tide_region){.memory = -1, .faults = -1};
}

/* ---- pages ------------------------------------------------------------------------------ */

void tide_region_wake(struct tide_region *region, size_t offset, size_t bytes) {
  struct uffdio_range range = {(uintptr_t)(region->reader + offset), bytes};
  int failed = ioctl(region->faults, UFFDIO_WAKE, &range);
  TIDE_ASSERT(!failed);
}

void tide_region_map(struct tide_region *region, size_t offset, size_t bytes) {
  size_t end = offset + bytes, most = bytes;
  while (offset < end) {
    size_t left = end - offset < most ? end - offset : most;
    struct uffdio_continue what = {.range = {(uintptr_t)(region->reader + offset), left}};
    if (ioctl(region->faults, UFFDIO_CONTINUE, &what) == 0) {
      if (left == bytes) return;
      offset += left;
    } else if (what.mapped > 0) offset += (size_t)what.mapped;
    else if (errno == EEXIST) offset += region->page; /* already mapped */
    /* The range spans several mappings if the program advised a part of it. One page lies in
     * one. */
    else if (errno == ENOENT && left > region->page) most = region->page;
    else TIDE_ASSERT(errno == EAGAIN || errno == EINTR); /* the address space is changing: retry */
  }
  tide_region_wake(region, end - bytes, bytes);
}

void tide_region_drop(struct tide_region *region, size_t offset, size_t bytes) {
  char *at = region->reader + offset;
  int failed = madvise(at, bytes, MADV_DONTNEED);
  if (failed && errno == EINVAL) { /* the pages are locked */
    munlock(region->reader, region->bytes);
    failed = madvise(at, bytes, MADV_DONTNEED);
  }
  TIDE_ASSERT(!failed);
}

/* Maps over existing pages. ThreadSanitizer treats mmap as a write, and cannot know that readers of
 * the pages are stalled meanwhile: a direct system call hides the write. */
static bool map_over(struct tide_region *region, size_t offset, size_t bytes, int flags, int fd) {
  char *at = region->reader + offset;
  off_t place = fd < 0 ? 0 : (off_t)offset;
#ifdef __SANITIZE_THREAD__
  return syscall(SYS_mmap, at, bytes, PROT_READ, flags | MAP_FIXED, fd, place) == (long)at;
#else
  return mmap(at, bytes, PROT_READ, flags | MAP_FIXED, fd, place) == at;
#endif
}

enum tide_status tide_region_blank(struct tide_region *region, size_t offset, size_t bytes) {
  if (!map_over(region, offset, bytes, MAP_PRIVATE | MAP_ANONYMOUS, -1)) return TIDE_NOMEM;
  tide_region_wake(region, offset, bytes);
  return TIDE_OK;
}

enum tide_status tide_region_restore(struct tide_region *region, size_t offset, size_t bytes) {
  if (!map_over(region, offset, bytes, MAP_SHARED, region->memory)) return TIDE_NOMEM;
  return advise_reader_view(region, offset, bytes) ? register_faults(region, offset, bytes)
                                                   : TIDE_NOMEM;
}

size_t tide_region_faults(struct tide_region *region, size_t out_offsets[TIDE_UFFD_BATCH]) {
  return tide_uffd_faults(region->faults, region->reader, out_offsets);
}
