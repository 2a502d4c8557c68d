/* program/dry_run.h: could this program ever come to its end? Runs through the steps
 * as if every operation took no time: one that waits for what is not signalled yet
 * is held, with all that stands behind it in its queue, until it is. What is held
 * at the end waits for ever; why is found by following who waits for whom.
 *
 * Memory is needed for what is held at the same time only; a program that signals
 * first and waits afterwards needs none. */
#ifndef TIDE_PROGRAM_REHEARSAL_H
#define TIDE_PROGRAM_REHEARSAL_H

#include "program/plan.h"

struct tide_held;
struct tide_held_value;
struct tide_dry_run_queue;
struct tide_dry_run_timeline;
struct tide_dry_run_collective;
struct tide_stuck;

struct tide_dry_run {
  const struct tide_plan *plan;
  const struct tide_allocator *allocator;
  struct tide_errors *errors;
  /* Held operations and their waits and signals: numbered from 1, unused ones in a list. */
  struct tide_held *held;
  size_t held_count, held_capacity;
  uint32_t held_free;
  struct tide_held_value *values;
  size_t value_count, value_capacity;
  uint32_t value_free;
  uint32_t ready; /* to look at again */
  struct tide_dry_run_queue *queues;
  struct tide_dry_run_timeline *timelines;
  struct tide_dry_run_collective *collectives;
  struct tide_stuck *stuck; /* waits of the host that nothing before them satisfies */
  size_t stuck_count;
};

bool tide_dry_run_init(struct tide_dry_run *r, const struct tide_plan *plan,
                       struct tide_errors *errors);
void tide_dry_run_fini(struct tide_dry_run *r);
/* Takes the next step. False: no memory. */
bool tide_dry_run_step(struct tide_dry_run *r, const struct tide_step *step);
/* The stream is over: reports what could never run. Uses the plan's timelines[].last. In
 * dry_run_cycles.c.
 */
bool tide_dry_run_finish(struct tide_dry_run *r);

/* ---- for dry run.c and dry_run_cycles.c ---------------------------------------------------------
 */

#define TIDE_STUCK_MAX 8

struct tide_held_value {
  uint32_t next;
  uint32_t timeline;
  uint64_t value;
};

struct tide_held {
  uint64_t number; /* of its step; UINT64_MAX: unused */
  uint32_t line, column;
  uint32_t queue;
  uint32_t next; /* in its queue, in the unused list, or among those who have arrived */
  uint32_t next_ready;
  uint32_t waits, signals;
  uint64_t awaited; /* by its first wait, while it is in that timeline's heap */
  uint32_t child, sibling;
  uint32_t collective; /* a part; else TIDE_PLAN_NONE */
  bool passable;
  bool apart;   /* passable and held: those behind it went on */
  bool arrived; /* a part that only waits for the others */
  uint32_t visited;
};

struct tide_dry_run_queue {
  uint32_t first, last;
};
struct tide_dry_run_timeline {
  uint64_t reached;
  uint32_t heap; /* held operations, the smallest awaited value on top */
};
struct tide_dry_run_collective {
  uint32_t arrived; /* a list */
  uint32_t arrived_count;
  uint64_t done; /* instances */
};
struct tide_stuck {
  uint32_t line, column;
  uint32_t by_line; /* of the held operation that would signal it; 0: none before */
  struct tide_step_value wait;
};

#endif
