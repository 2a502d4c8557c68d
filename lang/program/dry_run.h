/* program/dry_run.h: checks that a program can terminate.
 *
 * Runs through the steps as if every operation took no time. An operation with an unsatisfied wait
 * is held, with all operations behind it in its queue, until the wait is satisfied. Operations
 * still held at the end wait for ever; the dependencies between them show the reason.
 *
 * The host goes on behind an unsatisfied wait of its own. At the end such a wait is a mistake of
 * its own if later steps satisfied it: the host would never submit them. Else it only follows from
 * a missing signal or a cycle, which is reported instead. So one mistake gives one error. The same
 * holds of a queue whose declared capacity is used up: there the host waits, too.
 *
 * Memory is needed only for operations that are held at the same time: a program that signals first
 * and waits afterwards needs none. */
#ifndef TIDE_PROGRAM_DRY_RUN_H
#define TIDE_PROGRAM_DRY_RUN_H

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
  /* Held operations, and their waits and signals: indices start at 1; unused entries form a
   * list. */
  struct tide_held *held;
  size_t held_count, held_capacity;
  uint32_t held_free;
  struct tide_held_value *values;
  size_t value_count, value_capacity;
  uint32_t value_free;
  uint32_t ready; /* operations to examine again, a list by `next_ready` */
  struct tide_dry_run_queue *queues;
  struct tide_dry_run_timeline *timelines;
  struct tide_dry_run_collective *collectives;
  struct tide_stuck *stuck; /* waits of the host that earlier steps do not end */
  size_t stuck_count;
};

bool tide_dry_run_init(struct tide_dry_run *r, const struct tide_plan *plan,
                       struct tide_errors *errors);
void tide_dry_run_fini(struct tide_dry_run *r);
/* Processes the next step. False: no memory. */
bool tide_dry_run_step(struct tide_dry_run *r, const struct tide_step *step);
/* Ends the dry run and reports the operations that can never run. Reads the plan's
 * timelines[].last. Defined in dry_run_cycles.c. */
bool tide_dry_run_finish(struct tide_dry_run *r);

/* ---- shared by dry_run.c and dry_run_cycles.c ------------------------------------------------ */

#define TIDE_STUCK_MAX 8

struct tide_held_value {
  uint32_t next;
  uint32_t timeline;
  uint64_t value;
};

struct tide_held {
  uint64_t number; /* number of its step; UINT64_MAX: unused */
  uint32_t line, column;
  uint32_t queue;
  uint32_t next; /* list of its queue, or of the unused */
  uint32_t next_ready;
  uint32_t waits, signals;
  uint64_t awaited; /* value of its first wait, while it is in that timeline's heap */
  uint32_t child, sibling;
  uint32_t collective; /* the collective of a part; else TIDE_PLAN_NONE */
  bool passable;
  bool apart;   /* passable and held: later operations of its queue went on */
  bool arrived; /* a part that waits only for the other parts */
  uint32_t visited;
};

struct tide_dry_run_queue {
  uint32_t first, last;
  uint32_t held_count; /* with those apart */
  bool was_full;
  uint64_t done; /* held operations completed */
};
struct tide_dry_run_timeline {
  uint64_t reached;
  uint32_t heap; /* held operations, the smallest awaited value on top */
  bool reported; /* a wait for this timeline is the subject of an error */
};
struct tide_dry_run_collective {
  uint32_t arrived_count;
  uint64_t done; /* instances completed */
};
struct tide_stuck {
  uint64_t number; /* number of its step */
  uint32_t line, column;
  uint32_t by_line; /* line of the held operation that would signal it; 0: no held operation does */
  struct tide_step_value wait;
  uint32_t queue; /* the queue that is full; TIDE_PLAN_NONE: `wait` is the reason */
  uint64_t done;  /* the queue's count at that time */
};

#endif
