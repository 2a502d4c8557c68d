/* wic/fiber_stack.h: many stacks in one mapping. Below each lies a page without access, so an
 * overflow ends the process. */
#ifndef TIDE_WIC_FIBER_STACK_H
#define TIDE_WIC_FIBER_STACK_H

#include "tidemark/base.h"

struct tide_stacks {
  char *memory;
  size_t page, bytes; /* the size of the guard page, and of a stack */
  uint32_t count;
};

/* Maps `count` stacks. `bytes`, of each, is rounded up to the least usable size; 0: a size that
 * suffices for most jobs. TIDE_NOMEM. */
enum tide_status tide_stacks_init(struct tide_stacks *stacks, uint32_t count, size_t bytes);
void tide_stacks_fini(struct tide_stacks *stacks);

static inline char *tide_stack_at(const struct tide_stacks *stacks, uint32_t index) {
  return stacks->memory + index * (stacks->page + stacks->bytes) + stacks->page;
}

#endif
