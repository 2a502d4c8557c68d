#include "wic/fiber_stack.h"
#include "wic/fiber_watch.h"

#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef AT_MINSIGSTKSZ
#define AT_MINSIGSTKSZ 51
#endif
#ifndef MADV_GUARD_INSTALL
#define MADV_GUARD_INSTALL 102 /* Linux 6.13 */
#endif

#define KIB ((size_t)1024)
#define LEAST                                                                                      \
  (8 * KIB) /* capacity for a job, a handler and the library, without the signal's frame */
#define PLENTY (32 * KIB) /* the default size */
#define FRAME_LEAST 2048  /* a signal's frame, if the kernel does not say */

/* The sanitizers' own functions run on their callers' stacks. */
#if defined(TIDE_FIBER_ASAN) || defined(TIDE_FIBER_TSAN)
#define EXTRA (256 * KIB)
#else
#define EXTRA 0
#endif

/* A signal's frame holds all of the processor's state: 12 KiB with matrix tiles. */
static size_t signal_frame(void) {
  size_t frame = getauxval(AT_MINSIGSTKSZ);
  return frame > FRAME_LEAST ? frame : FRAME_LEAST;
}

static size_t stack_size_for(size_t bytes) {
  size_t frame = signal_frame(), least = LEAST + frame;
  if (bytes == 0) bytes = PLENTY + (frame > LEAST ? frame : 0);
  return (bytes > least ? bytes : least) + EXTRA;
}

/* The newer call leaves the mapping in one piece. The older one splits it in two for each stack,
 * and a process may have 65530 mappings only. */
static bool protect_guard_page(void *page, size_t bytes) {
  return madvise(page, bytes, MADV_GUARD_INSTALL) == 0 || mprotect(page, bytes, PROT_NONE) == 0;
}

enum tide_status tide_stacks_init(struct tide_stacks *stacks, uint32_t count, size_t bytes) {
  size_t page = (size_t)sysconf(_SC_PAGESIZE), size;
  if (bytes > SIZE_MAX / 2) return TIDE_NOMEM;
  bytes = (stack_size_for(bytes) + page - 1) / page * page;
  if (__builtin_mul_overflow(page + bytes, (size_t)count, &size)) return TIDE_NOMEM;
  char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (memory == MAP_FAILED) return TIDE_NOMEM;
  *stacks = (struct tide_stacks){memory, page, bytes, count};
  /* A huge page would hold the first pages of many stacks, and all pages that they never touch. */
  madvise(memory, size, MADV_NOHUGEPAGE);
  for (uint32_t i = 0; i < count; i++) {
    if (protect_guard_page(tide_stack_at(stacks, i) - page, page)) continue;
    tide_stacks_fini(stacks);
    return TIDE_NOMEM;
  }
  return TIDE_OK;
}

void tide_stacks_fini(struct tide_stacks *stacks) {
  if (stacks->memory) munmap(stacks->memory, stacks->count * (stacks->page + stacks->bytes));
  stacks->memory = NULL;
}
