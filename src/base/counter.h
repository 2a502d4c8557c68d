/* base/counter.h: a number that only goes up, and its waiters, in order of the awaited values.
 *
 * The tracker's axes and the timelines are both counters. Most waiters arrive in the order of their
 * awaited values: they form a list, and cost O(1). A waiter that arrives out of order goes into a
 * pairing heap, and costs O(log n). The smallest awaited value is kept. So one comparison tells
 * whether any waiter is due, however many wait for far-off values.
 *
 * A counter has no lock of its own: each owner says which of its locks guards the counter. A waiter
 * provides the memory of its node. A node's life: idle -> queued -> fired (taken off by the owner's
 * advance), or idle (by remove). The thread that takes a fired node calls its `fire` after
 * releasing the lock. */
#ifndef TIDE_BASE_COUNTER_H
#define TIDE_BASE_COUNTER_H

#include "base/check.h"
#include "tidemark/base.h"

enum tide_node_state { TIDE_NODE_IDLE = 0, TIDE_NODE_QUEUED = 1, TIDE_NODE_FIRED = 2 };

enum tide_node_kind {
  TIDE_NODE_PLAIN,
  TIDE_NODE_TIMEPOINT, /* `fire` is a timepoint's call: see timeline/timepoint.c */
  TIDE_NODE_SINGLE     /* a timepoint's call, for a pending value */
};

/* A waiter's node. Small, for there may be a million. The three links are in use while the node is
 * queued, and `next` in a fired list; before and after that the waiter may use them. */
struct tide_node {
  uint64_t value;          /* awaited; constant while queued */
  struct tide_node *child; /* first child; the node itself: it is in the list, not in the heap */
  struct tide_node *next;  /* next sibling; next in the list, or in a fired list */
  struct tide_node *prev;  /* previous sibling, or parent when first; NULL at the root */
  void (*fire)(struct tide_node *node, enum tide_status status);
  uint16_t status; /* the argument of `fire` */
  uint8_t state;   /* enum tide_node_state */
  uint8_t kind;    /* enum tide_node_kind */
  uint32_t own;    /* data of the waiter */
};

struct tide_counter {
  uint64_t value;                 /* read with tide_load_acquire outside of the lock */
  uint64_t not_least;             /* ~ the smallest awaited value; 0: none, or only UINT64_MAX */
  struct tide_node *first, *last; /* the list, ascending */
  struct tide_node *root;         /* the heap */
};

/* A first-in-first-out list of fired nodes, linked by `next`. All parked threads are one node of
 * it, in the position of the first: see base/parking.h. */
struct tide_fired {
  struct tide_node *first, **last;
  struct tide_parked *parked;
};

static inline void tide_fired_init(struct tide_fired *fired) {
  fired->first = NULL;
  fired->last = &fired->first;
  fired->parked = NULL;
}
/* Appends a node that was taken off another list; its status stays. */
static inline void tide_fired_move(struct tide_fired *fired, struct tide_node *node) {
  node->next = NULL;
  *fired->last = node;
  fired->last = &node->next;
}
void tide_parked_fire(struct tide_node *node, enum tide_status status);
void tide_fired_push_parked(struct tide_fired *fired, struct tide_node *node);
static inline void tide_fired_push(struct tide_fired *fired, struct tide_node *node,
                                   enum tide_status status) {
  node->state = TIDE_NODE_FIRED;
  node->status = (uint16_t)status;
  if (node->fire == tide_parked_fire) tide_fired_push_parked(fired, node);
  else tide_fired_move(fired, node);
}
/* Takes off and returns the first node; NULL: the list is empty. */
static inline struct tide_node *tide_fired_pop(struct tide_fired *fired) {
  struct tide_node *node = fired->first;
  if (!node) return NULL;
  fired->first = node->next;
  if (!fired->first) fired->last = &fired->first;
  /* A parked thread begins with its node. */
  if (__builtin_expect((void *)fired->parked == (void *)node, 0)) fired->parked = NULL;
  return node;
}
/* Calls `fire` of each node, in order. The caller holds no lock. A node may be gone once fired. */
static inline void tide_fired_run(struct tide_fired *fired) {
  for (struct tide_node *node; (node = tide_fired_pop(fired));)
    node->fire(node, (enum tide_status)node->status);
}

/* Returns the smallest awaited value; UINT64_MAX: no waiter. */
static inline uint64_t tide_counter_least(const struct tide_counter *counter) {
  return ~counter->not_least;
}
static inline void tide_counter_keep_least(struct tide_counter *counter) {
  uint64_t least = counter->first ? counter->first->value : UINT64_MAX;
  if (counter->root && counter->root->value < least) least = counter->root->value;
  counter->not_least = ~least;
}

/* Appends a node to the list. */
static inline void tide_counter_append(struct tide_counter *counter, struct tide_node *node) {
  node->child = node;
  node->next = NULL;
  node->prev = counter->last;
  *(counter->last ? &counter->last->next : &counter->first) = node;
  counter->last = node;
}
static inline void tide_counter_unlink(struct tide_counter *counter, struct tide_node *node) {
  struct tide_node *prev = node->prev, *next = node->next;
  *(prev ? &prev->next : &counter->first) = next;
  *(next ? &next->prev : &counter->last) = prev;
}
/* The parts of add and remove out of line: for nodes in the heap (late), and for parked threads. */
void tide_counter_add_late(struct tide_counter *counter, struct tide_node *node);
void tide_counter_add_parked(struct tide_counter *counter, struct tide_node *node);
void tide_counter_remove_late(struct tide_counter *counter, struct tide_node *node);
bool tide_counter_remove_parked(struct tide_counter *counter, struct tide_node *node);

/* Adds a node that is no parked thread. A node in ascending order needs no call. */
static inline void tide_counter_add_plain(struct tide_counter *counter, struct tide_node *node,
                                          uint64_t value) {
  TIDE_ASSERT(node->state != TIDE_NODE_QUEUED);
  node->value = value;
  node->state = TIDE_NODE_QUEUED;
  if (counter->last && counter->last->value > value) tide_counter_add_late(counter, node);
  else tide_counter_append(counter, node);
  if (value < tide_counter_least(counter)) counter->not_least = ~value;
}
/* Adds a node. The caller has set node->fire; this sets node->value. */
static inline void tide_counter_add(struct tide_counter *counter, struct tide_node *node,
                                    uint64_t value) {
  if (node->fire != tide_parked_fire) {
    tide_counter_add_plain(counter, node, value);
    return;
  }
  TIDE_ASSERT(node->state != TIDE_NODE_QUEUED);
  node->value = value;
  node->state = TIDE_NODE_QUEUED;
  tide_counter_add_parked(counter, node);
  if (value < tide_counter_least(counter)) counter->not_least = ~value;
}
/* Removes a node. False: the node is not queued here (idle, or fired already). */
static inline bool tide_counter_remove(struct tide_counter *counter, struct tide_node *node) {
  if (node->state != TIDE_NODE_QUEUED) return false;
  /* If the ring of a parked thread was taken off, another thread may be writing `child`: see
   * parking.h. */
  if (node->fire == tide_parked_fire) return tide_counter_remove_parked(counter, node);
  node->state = TIDE_NODE_IDLE;
  bool first = node->child == node ? !node->prev : counter->root == node;
  if (node->child == node) tide_counter_unlink(counter, node);
  else tide_counter_remove_late(counter, node);
  if (first) tide_counter_keep_least(counter);
  return true;
}
/* tide_counter_pop out of line. */
void tide_counter_pop_several(struct tide_counter *counter, uint64_t value,
                              struct tide_fired *fired, enum tide_status status);
/* Takes off all waiters of values <= value, in ascending order. Does not store value. In line if
 * there is one waiter, which is due and no parked thread. */
static inline void tide_counter_pop(struct tide_counter *counter, uint64_t value,
                                    struct tide_fired *fired, enum tide_status status) {
  struct tide_node *node = counter->first;
  if (!node || node != counter->last || counter->root || node->value > value ||
      node->fire == tide_parked_fire) {
    tide_counter_pop_several(counter, value, fired, status);
    return;
  }
  counter->first = counter->last = NULL;
  counter->not_least = 0;
  node->state = TIDE_NODE_FIRED;
  node->status = (uint16_t)status;
  tide_fired_move(fired, node);
}
/* Takes off all waiters of values >= value, in any order. */
void tide_counter_pop_from(struct tide_counter *counter, uint64_t value, struct tide_fired *fired,
                           enum tide_status status);
/* Takes off the only waiter, which is no parked thread, if it is due. NULL: the waiter is not due,
 * or the counter has several waiters, or none. */
static inline struct tide_node *tide_counter_pop_only(struct tide_counter *counter,
                                                      uint64_t value) {
  struct tide_node *node = counter->first;
  if (!node || node != counter->last || counter->root || node->value > value) return NULL;
  counter->first = counter->last = NULL;
  counter->not_least = 0;
  node->state = TIDE_NODE_FIRED;
  node->status = TIDE_OK;
  return node;
}
static inline bool tide_counter_empty(const struct tide_counter *counter) {
  return !counter->first && !counter->root;
}

#endif
