/* wic/guard.h: memory that the kernel write-protects page by page: a store to a closed page stalls
 * its thread until the page is opened. Loads go through. */
#ifndef TIDE_WIC_GUARD_H
#define TIDE_WIC_GUARD_H

#include "wic/uffd.h"

struct tide_guard {
  char *memory;
  size_t bytes, page;
  int faults; /* a userfaultfd descriptor; -1: none */
  bool user_only;
};

/* Maps memory with all pages closed and zero. TIDE_DENIED, TIDE_UNSUPPORTED, TIDE_FULL,
 * TIDE_NOMEM. */
enum tide_status tide_guard_make(struct tide_guard *guard, size_t bytes);
/* Unmaps the memory. No thread may store there any more. A guard that was never made is allowed if
 * its `faults` is -1. */
void tide_guard_unmake(struct tide_guard *guard);
void tide_guard_close(struct tide_guard *guard, size_t offset, size_t bytes);
/* Opens pages and wakes the threads that are stalled on them. */
void tide_guard_open(struct tide_guard *guard, size_t offset, size_t bytes);
/* Makes the threads that are stalled there retry their stores. */
void tide_guard_wake(struct tide_guard *guard, size_t offset, size_t bytes);

/* Reads pending store faults, as offsets, without blocking. Returns their number. */
size_t tide_guard_faults(struct tide_guard *guard, size_t out_offsets[TIDE_UFFD_BATCH]);

#endif
