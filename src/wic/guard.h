/* wic/guard.h: memory that the kernel guards page by page: whoever stores to a page that is closed
 * is stopped, until it is opened. Loads are not. */
#ifndef TIDE_WIC_GUARD_H
#define TIDE_WIC_GUARD_H

#include "wic/uffd.h"

struct tide_guard {
  char *memory;
  size_t bytes, page;
  int faults; /* a descriptor, or -1: there is none */
  bool user_only;
};

/* All of it is closed, and zeros. TIDE_DENIED, TIDE_UNSUPPORTED, TIDE_FULL, TIDE_NOMEM. */
enum tide_status tide_guard_make(struct tide_guard *guard, size_t bytes);
/* Nobody stores there any more. One that was never made is fine, if `faults` is -1. */
void tide_guard_unmake(struct tide_guard *guard);
void tide_guard_close(struct tide_guard *guard, size_t offset, size_t bytes);
/* Whoever was stopped there goes on. */
void tide_guard_open(struct tide_guard *guard, size_t offset, size_t bytes);
/* Whoever was stopped there tries again. */
void tide_guard_wake(struct tide_guard *guard, size_t offset, size_t bytes);

/* Takes stores that were stopped, their offsets, without blocking; how many. */
size_t tide_guard_faults(struct tide_guard *guard, size_t out_offsets[TIDE_UFFD_BATCH]);

#endif
