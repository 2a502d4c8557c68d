/* point/priority.h: the priority of a channel while points change it. Only bookkeeping: the arbiter
 * chooses the next operation.
 *
 *      effective = max(base - decreases, inherited, increases)
 *
 * An *increase* lends min(requested, the lender's base) until a point ends, with any status. The
 * lender's base counts, not a priority that the lender borrowed, so that priority cannot climb
 * along a chain. A *decrease* is a channel's own. Decreases add up, and stop at the lowest level.
 * Each lasts until its point ends or is cancelled. A *scope* suspends the decreases that were made
 * before it, and restores exactly those at its end. Guarded by the scheduler's lock. */
#ifndef TIDE_POINT_PRIORITY_H
#define TIDE_POINT_PRIORITY_H

#include "point/point_state.h"

#define TIDE_LEVELS 16 /* 0 lowest .. 15 highest */

struct tide_priority {
  uint8_t base, inherited;
  uint32_t increases[TIDE_LEVELS]; /* the number of increases to each level */
  struct tide_link decreases;      /* struct tide_decrease, oldest first */
  struct tide_link scopes;
  uint64_t made;  /* the number of decreases so far; numbers the next one */
  uint64_t lower; /* sum of the decreases that no scope suspends */
  /* Called under the lock when the effective priority may have changed; NULL: not called. */
  void (*changed)(struct tide_priority *priority);
};

struct tide_increase {
  struct tide_listener listener;
  struct tide_priority *of; /* NULL: ended */
  uint8_t level;
};

struct tide_decrease {
  struct tide_link link;
  struct tide_listener dependency, cancel;
  struct tide_priority *of; /* NULL: ended */
  uint64_t number;
  uint32_t amount;
};

/* Suspends the decreases made before it, while it is open. */
struct tide_scope_of_decreases {
  struct tide_link link;
  uint64_t until; /* suspends decreases with lower numbers */
};

void tide_priority_init(struct tide_priority *priority, uint8_t base,
                        void (*changed)(struct tide_priority *priority));
uint8_t tide_priority_effective(const struct tide_priority *priority);
void tide_priority_set_base(struct tide_priority *priority, uint8_t base);
void tide_priority_inherit(struct tide_priority *priority, uint8_t level);

/* Lends until the node ends; NULL: it has ended, and nothing is lent. */
void tide_increase_begin(struct tide_increase *increase, struct tide_priority *of,
                         uint8_t requested, uint8_t base_of_caller,
                         struct tide_dependency_node *node);
void tide_increase_end(struct tide_increase *increase);
/* Lowers the priority until `dependency` ends (NULL: it has), or `cancel` (may be NULL) is queued
 * or ends. */
void tide_decrease_begin(struct tide_decrease *decrease, struct tide_priority *of, uint32_t amount,
                         struct tide_dependency_node *dependency,
                         struct tide_dependency_node *cancel);
void tide_decrease_end(struct tide_decrease *decrease);
void tide_scope_begin(struct tide_priority *priority, struct tide_scope_of_decreases *scope);
/* Opens a scope over decreases with numbers below `until`, made already or not. */
void tide_scope_begin_over(struct tide_priority *priority, struct tide_scope_of_decreases *scope,
                           uint64_t until);
void tide_scope_end(struct tide_priority *priority, struct tide_scope_of_decreases *scope);

#endif
