/* wic/fiber_stack.h: many stacks in one mapping. Below each lies a page without access, on which
 * whoever needs more than there is dies. */
#ifndef TIDE_WIC_FIBER_STACK_H
#define TIDE_WIC_FIBER_STACK_H

#include "tidemark/base.h"

struct tide_stacks {
  char *memory;
  size_t page, bytes; /* of the page below, and of a stack */
  uint32_t count;
};

/* `bytes` of each are rounded up to what is needed; 0: enough for most. TIDE_NOMEM. */
enum tide_status tide_stacks_init(struct tide_stacks *stacks, uint32_t count, size_t bytes);
void tide_stacks_fini(struct tide_stacks *stacks);

static inline char *tide_stack_at(const struct tide_stacks *stacks, uint32_t index) {
  return stacks->memory + index * (stacks->page + stacks->bytes) + stacks->page;
}

#endif
