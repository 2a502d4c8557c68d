/* point/priority.h: what a channel's priority is, while points say so. Bookkeeping alone: who goes
 * next is the arbiter's affair.
 *
 *      effective = max(base - decreases, inherited, increases)
 *
 * An *increase* lends min(requested, the lender's base) until a point ends, however it ends: the
 * lender's base and not what it was lent itself, so that priority cannot climb from hand to hand.
 * A *decrease* is a channel's own; they add up, and stop at the lowest level; each lasts until
 * its point ends or is cancelled. A *scope* suspends the decreases that were made before it, and
 * gives exactly them back. All under the scheduler's lock. */
#ifndef TIDE_POINT_PRIORITY_H
#define TIDE_POINT_PRIORITY_H

#include "point/point_state.h"

#define TIDE_LEVELS 16 /* 0 lowest .. 15 highest */

struct tide_priority {
  uint8_t base, inherited;
  uint32_t increases[TIDE_LEVELS]; /* how many lend each level */
  struct tide_link decreases;      /* in the order in which they were made */
  struct tide_link scopes;
  uint64_t made;  /* decreases so far: each has a number */
  uint64_t lower; /* the sum of those that count */
  /* It may be another one now. Called under the lock; NULL: nobody asks. */
  void (*changed)(struct tide_priority *priority);
};

struct tide_increase {
  struct tide_listener listener;
  struct tide_priority *of; /* NULL: over */
  uint8_t level;
};

struct tide_decrease {
  struct tide_link link;
  struct tide_listener dependency, cancel;
  struct tide_priority *of; /* NULL: over */
  uint64_t number;
  uint32_t amount;
};

/* Decreases made before it don't count while it is open. */
struct tide_scope_of_decreases {
  struct tide_link link;
  uint64_t until; /* it covers numbers below */
};

void tide_priority_init(struct tide_priority *priority, uint8_t base,
                        void (*changed)(struct tide_priority *priority));
uint8_t tide_priority_effective(const struct tide_priority *priority);
void tide_priority_set_base(struct tide_priority *priority, uint8_t base);
void tide_priority_inherit(struct tide_priority *priority, uint8_t level);

/* Until `dependency node` ends; NULL: it has, and nothing is lent. */
void tide_increase_begin(struct tide_increase *increase, struct tide_priority *of,
                         uint8_t requested, uint8_t base_of_caller,
                         struct tide_dependency_node *node);
void tide_increase_end(struct tide_increase *increase);
/* Until `dependency` ends (NULL: it has), or `cancel` (may be NULL) is queued or ends. */
void tide_decrease_begin(struct tide_decrease *decrease, struct tide_priority *of, uint32_t amount,
                         struct tide_dependency_node *dependency,
                         struct tide_dependency_node *cancel);
void tide_decrease_end(struct tide_decrease *decrease);
void tide_scope_begin(struct tide_priority *priority, struct tide_scope_of_decreases *scope);
/* Of decreases with numbers below `until`, made or not. */
void tide_scope_begin_over(struct tide_priority *priority, struct tide_scope_of_decreases *scope,
                           uint64_t until);
void tide_scope_end(struct tide_priority *priority, struct tide_scope_of_decreases *scope);

#endif
