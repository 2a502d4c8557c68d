/* tests/unit/looks.h: counts how often a program looks at memory. Each block has pages of its own,
 * of which only the last few that were accessed can be. An access to another one faults, and is
 * counted. */
#ifndef TESTS_UNIT_LOOKS_H
#define TESTS_UNIT_LOOKS_H

#include "harness.h"
#include "tidemark/base.h"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

enum { LOOKS_OPEN = 16 };
static void *looks_pages[LOOKS_OPEN];
static size_t looks_page_size;
static uint64_t looks;

static inline void looks_on_fault(int number, siginfo_t *info, void *context) {
  (void)context;
  char *page = (char *)info->si_addr - (uintptr_t)info->si_addr % looks_page_size;
  void **open = &looks_pages[looks++ % LOOKS_OPEN];
  if (*open) mprotect(*open, looks_page_size, PROT_NONE); /* it may be unmapped by now */
  *open = page;
  if (mprotect(page, looks_page_size, PROT_READ | PROT_WRITE) != 0) signal(number, SIG_DFL);
}

static inline void *looks_alloc(void *self, size_t size, size_t align) {
  (void)self, (void)align;
  void *at = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return at == MAP_FAILED ? NULL : at;
}
static inline void looks_free(void *self, void *memory, size_t size) {
  (void)self;
  if (memory) munmap(memory, size);
}

/* `use` does `count` things with memory of the allocator. Four times as many may take eight times
 * as many looks: sorting makes the work for each grow, but not with their number. */
typedef void (*looks_use)(const struct tide_allocator *allocator, const void *given, size_t count);

static inline void looks_check(looks_use use, const void *given, size_t count) {
  const struct tide_allocator allocator = {looks_alloc, looks_free, NULL};
  struct sigaction action = {.sa_sigaction = looks_on_fault, .sa_flags = SA_SIGINFO}, before;
  uint64_t few;
  looks_page_size = (size_t)sysconf(_SC_PAGESIZE);
  CHECK(sigaction(SIGSEGV, &action, &before) == 0);
  looks = 0;
  use(&allocator, given, count);
  few = looks;
  looks = 0;
  use(&allocator, given, 4 * count);
  CHECK(sigaction(SIGSEGV, &before, NULL) == 0);
  CHECK(few > 0);
  if (looks > 8 * few)
    FAIL("%zu take %llu looks at memory, after %llu for %zu", 4 * count, (unsigned long long)looks,
         (unsigned long long)few, count);
}

#endif
