/* base/parking.h: a thread that sleeps until its node is fired, and how many of them wake.
 *
 * A wake is a system call, so who fires a thousand parked threads should not make a thousand, nor
 * even look at each. Therefore those that wait for one value are a ring, of which a counter knows
 * the *head* alone, and rings that are fired together become one. A small ring is woken by whoever
 * fires it. Of a larger one only the head is woken: it makes the others a tree, wakes the two below
 * it, these wake the two below them, and so on:
 *
 *        who fires --> 1 --+--> 2 --+--> 4
 *                          |        +--> 5
 *                          +--> 3 -----> 6
 *
 * A parked thread lies in its thread's frame, so it is gone soon after it is told. Therefore: each
 * is told by exactly one other, which touches it no more; and whoever was told hands on before it
 * returns, also when its deadline has passed meanwhile. Who gives up before it was taken off leaves
 * the ring. So a thread that does not run, though it was told, holds up those below it.
 *
 * Whoever guards the counter guards the rings of its nodes. Parked threads wait only on counters
 * whose `value` is raised, and popped, in one section. */
#ifndef TIDE_BASE_PARKING_H
#define TIDE_BASE_PARKING_H

#include "base/check.h"
#include "base/counter.h"

struct tide_parked {
  _Alignas(64) struct tide_node node; /* when it is told: `child` and `prev` are whom it wakes */
  struct tide_parked *after, *before; /* in the ring; one alone is its own */
  const struct tide_platform *platform;
  uint32_t word; /* 0 until it is told */
  bool follows;  /* it is not the head */
};

void tide_parked_init(struct tide_parked *parked, const struct tide_platform *platform);

/* A parked thread is known by this: the `fire` of its node. Wakes the ring. */
void tide_parked_fire(struct tide_node *node, enum tide_status status);
/* NULL: the node is nothing of the kind. */
static inline struct tide_parked *tide_parked_of(struct tide_node *node) {
  return node->fire == tide_parked_fire ? TIDE_CONTAINER(node, struct tide_parked, node) : NULL;
}
/* Two rings become one, in order, behind the first's head. */
void tide_parked_join(struct tide_parked *head, struct tide_parked *other);
/* Out of its ring. The next one, which is the new head where this one was; NULL: it was alone. */
struct tide_parked *tide_parked_leave(struct tide_parked *parked);

/* Sleeps until the node is fired, and hands on: true, and then the parked thread may go. False: the
 * deadline has passed. Then the owner either takes the node off, or sleeps on, without a deadline.
 */
bool tide_parked_wait(struct tide_parked *parked, uint64_t deadline);

#endif
