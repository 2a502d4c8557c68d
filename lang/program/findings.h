/* program/findings.h: the findings of check mode, told in the terms of the program's text.
 *
 * Check mode names operations by their numbers. After the run the plan is walked again: each named
 * operation becomes a *site*, with its statement, its iteration, and the next signal of its queue.
 * Findings about the same two statements become one. For a missing wait, a second walk finds a
 * clause that suffices in all iterations, in the names that the statement can use. */
#ifndef TIDE_PROGRAM_FINDINGS_H
#define TIDE_PROGRAM_FINDINGS_H

#include "program/plan.h"
#include "program/run_state.h"

#define TIDE_SITE_NAMES 12

/* An operation of the plan that a finding names. */
struct tide_site {
  uint32_t queue;
  uint64_t sequence; /* its number in the queue */
  bool found;        /* the walk has met it: the other fields are valid */
  bool waits;        /* its statement has a wait already */
  bool passable;
  uint64_t step;
  uint32_t statement, line, column;
  /* The numbers that its expressions can name, the innermost first, and their values. */
  struct tide_plan_name names[TIDE_SITE_NAMES];
  int64_t values[TIDE_SITE_NAMES];
  size_t name_count;
  char label[TIDE_PLAN_LABEL_MAX];
  /* The first signal, of this operation or of a later one of its queue. TIDE_PLAN_NONE: none. */
  struct tide_step_value signal;
  uint64_t signal_step;
  struct tide_site *next; /* sites of the queue that have no signal yet */
};

/* ---- missing_wait.c ---- */

/* (`name` * times / over + `second` * second_times + plus) % modulo. */
struct tide_wait_form {
  uint32_t name, second; /* symbols; TIDE_PLAN_NONE: none */
  int64_t times, over, second_times, plus;
  int64_t modulo; /* 0: none */
};

/* A possible clause: `timeline[index] >= value`. */
struct tide_wait_guess {
  struct tide_wait_form index, value;
  uint64_t excess; /* how much more it waits for than is needed, in all */
  bool refuted;
  bool negative; /* the value is below 0 in some iterations: there the clause waits for 0 */
};

#define TIDE_WAIT_GUESSES 64
struct tide_missing_wait {
  uint32_t symbol; /* the timeline's, or the collective's */
  struct tide_span span;
  bool array;
  size_t count;
  struct tide_wait_guess guesses[TIDE_WAIT_GUESSES]; /* the least excess first */
};

/* A wait that one operation lacks. */
struct tide_wait_sample {
  const struct tide_site *site;
  struct tide_step_value needed;
};

/* Finds the clauses that cover all samples. `values`: scratch, by symbol. False: none. */
bool tide_missing_wait_guess(const struct tide_plan *plan, const struct tide_wait_sample *samples,
                             size_t count, int64_t *values, struct tide_missing_wait *out_wait);
/* Refutes the clauses that would not do in the plan's current iteration: each waits only for what
 * comes further up. `reached`: the values that the steps before this one signal, by timeline. */
void tide_missing_wait_try(const struct tide_plan *plan, const uint64_t *reached,
                           struct tide_missing_wait *wait);
/* Appends the best clause that is left. False: none is. */
bool tide_missing_wait_print(const struct tide_plan *plan, const struct tide_missing_wait *wait,
                             struct tide_text *text);

#endif
