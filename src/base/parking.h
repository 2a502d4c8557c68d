/* base/parking.h: threads that sleep until their nodes are fired, and the way in which they are
 * woken.
 *
 * A wake is a system call, so a thread that fires a thousand parked threads should not make a
 * thousand calls, nor even touch each node. Therefore the threads that wait for one value form a
 * ring, of which a counter knows the *head* alone. Rings that are fired together become one. The
 * firing thread wakes all threads of a small ring. Of a larger ring it wakes only the head. The
 * head turns the others into a tree and wakes the two below it, these wake the two below them, and
 * so on:
 *
 *         firing thread --> 1 --+--> 2 --+--> 4
 *                               |        +--> 5
 *                               +--> 3 -----> 6
 *
 * A parked node lies in its thread's stack frame, so it is gone soon after the thread is woken.
 * Therefore exactly one thread wakes each node, and does not touch it afterwards. A woken thread
 * wakes the threads below it before it returns, even if its deadline has passed meanwhile. A thread
 * that gives up before its node is taken off leaves the ring. A woken thread that gets no core
 * delays the threads below it.
 *
 * The lock of the counter also guards the rings of its nodes. Parked threads wait only on counters
 * that raise `value` and pop in one critical section. */
#ifndef TIDE_BASE_PARKING_H
#define TIDE_BASE_PARKING_H

#include "base/check.h"
#include "base/counter.h"

struct tide_parked {
  _Alignas(64) struct tide_node node; /* after the wake, `child` and `prev` are the nodes to wake */
  struct tide_parked *after, *before; /* the ring; a single node links to itself */
  const struct tide_platform *platform;
  uint32_t word; /* 0 until the thread is woken */
  bool follows;  /* the node is not the ring's head */
};

void tide_parked_init(struct tide_parked *parked, const struct tide_platform *platform);

/* The `fire` of every parked thread's node, by which such nodes are recognised. Wakes the ring. */
void tide_parked_fire(struct tide_node *node, enum tide_status status);
/* Returns the parked thread of a node; NULL: the node is no parked thread. */
static inline struct tide_parked *tide_parked_of(struct tide_node *node) {
  return node->fire == tide_parked_fire ? TIDE_CONTAINER(node, struct tide_parked, node) : NULL;
}
/* Appends the ring of `other` to the ring of `head`. */
void tide_parked_join(struct tide_parked *head, struct tide_parked *other);
/* Takes a thread out of its ring. Returns the next thread, which becomes the head if this one was;
 * NULL: the ring has no other. */
struct tide_parked *tide_parked_leave(struct tide_parked *parked);

/* Sleeps until the node is fired, then wakes the threads below. True: the node may be freed. False:
 * the deadline has passed. The owner then either takes the node off, or waits again without a
 * deadline. */
bool tide_parked_wait(struct tide_parked *parked, uint64_t deadline);

#endif
