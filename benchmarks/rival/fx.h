/* The least that a timeline can be, in a shared library as ours is: a value that a compare-and-swap
 * raises, the smallest awaited value published beside it, and waiters in an intrusive pairing heap
 * under a lock that the signaller takes only when somebody is due. No records, no failure, no
 * references, no checks of who may signal; the caller owns all memory. */
#ifndef BENCHMARKS_FX_H
#define BENCHMARKS_FX_H

#include "tidemark/base.h"

struct fx_node {
  uint64_t value;
  struct fx_node *child, *next, *prev; /* prev: the sibling before, or the parent */
  void (*fire)(struct fx_node *node);
  bool queued;
};

struct fx {
  uint64_t value; /* atomic */
  uint64_t least; /* atomic: the smallest awaited value, or the highest of all */
  uint32_t lock;
  struct fx_node *root;
};

TIDE_API void fx_init(struct fx *fx);
TIDE_API bool fx_signal(struct fx *fx, uint64_t value);
TIDE_API uint64_t fx_query(const struct fx *fx);
/* Deadline as tide_timeline_wait's. False: it has passed. */
TIDE_API bool fx_wait(struct fx *fx, uint64_t value, uint64_t deadline);
/* False: it is reached already. */
TIDE_API bool fx_add(struct fx *fx, struct fx_node *node, uint64_t value);
/* False: it has fired. */
TIDE_API bool fx_remove(struct fx *fx, struct fx_node *node);

#endif
