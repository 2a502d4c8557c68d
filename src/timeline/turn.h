/* timeline/turn.h: timelines whose values end one by one (future timelines and compounds of
 * point/).
 *
 * An ordinary timeline fails from a value upward. Here each value that is to come has a *turn*: who
 * waits for it hangs there, and not in the timeline's counter. When a value is reached, all turns
 * up to it are over, and went well. When one breaks, its turn becomes a *hole*, and nothing else
 * changes: whoever asks for it, now or later, gets its status. Holes with one status and without
 * anything between them are one.
 *
 *      reached.value 3        holes  2..2: owner died        turns  4 5
 *
 * A value without a turn that is neither reached nor a hole is nobody's: waiting for it answers
 * TIDE_NOT_FOUND at once, so that nobody waits for what nobody owes. "v is good" is two loads:
 * reached.value >= v and v < lowest_hole; from lowest_hole on one has to look, under the guard.
 *
 * The guard is the scheduler's lock from the start. Turns lie in the promises of point/. */
#ifndef TIDE_TIMELINE_TURN_H
#define TIDE_TIMELINE_TURN_H

#include "timeline/timeline.h"

struct tide_turn {
  struct tide_tree_node node; /* key: the value; of a hole its last one */
  struct tide_counter waiters;
  uint64_t first;  /* of a hole: its first value */
  uint32_t status; /* of a hole; TIDE_OK: a turn */
};

static inline struct tide_turn *tide_turn_of(struct tide_tree_node *node) {
  return (struct tide_turn *)(void *)node;
}

enum tide_status tide_timeline_create_turned(const struct tide_context *context,
                                             const struct tide_timeline_params *params,
                                             struct tide_timeline **out_timeline);

/* ---- under the guard ---- */

/* There will be such a value: above all those before it. Nobody waits for it yet. */
static inline void tide_turn_add_locked(struct tide_timeline *timeline, struct tide_turn *turn,
                                        uint64_t value) {
  TIDE_ASSERT(value > timeline->reached.value);
  turn->first = value;
  turn->status = TIDE_OK;
  TIDE_ASSERT(tide_counter_empty(&turn->waiters));
  bool is_new = tide_tree_insert(&timeline->turns, &turn->node, value);
  TIDE_ASSERT(is_new);
}
/* The turn of exactly this value; NULL: it is over, or nobody's. */
struct tide_turn *tide_turn_find_locked(const struct tide_timeline *timeline, uint64_t value);
/* After a value was reached: takes off one turn that is over by it, and its waiters; NULL: there is
 * none any more. */
static inline struct tide_turn *tide_turn_pass_locked(struct tide_timeline *timeline,
                                                      struct tide_fired *fired) {
  struct tide_tree_node *first = timeline->turns.first;
  if (!first || first->key > timeline->reached.value) return NULL;
  struct tide_turn *turn = tide_turn_of(first);
  tide_tree_remove(&timeline->turns, first);
  if (tide_counter_empty(&turn->waiters)) return turn;
  turn->waiters.value = first->key;
  tide_counter_pop_all(&turn->waiters, first->key, fired);
  return turn;
}
/* It breaks: its waiters are taken off. Turns that are not needed any more, since their hole is
 * another's now, come out: 0 to 2 of them. */
unsigned tide_turn_break_locked(struct tide_timeline *timeline, struct tide_turn *turn,
                                enum tide_status status, struct tide_fired *fired,
                                struct tide_turn *out_freed[2]);
/* The turns' memory goes, while others may still hold the timeline: from lowest_hole on nobody can
 * say any more which values were good, and the answer is TIDE_CANCELLED. All turns are over. */
void tide_turn_forget_all_locked(struct tide_timeline *timeline);
/* How a value stands; *out_status is why it failed. Not yet decided: *out_turn (may be NULL) is its
 * turn. */
enum tide_await tide_turn_look_locked(const struct tide_timeline *timeline, uint64_t value,
                                      enum tide_status *out_status, struct tide_turn **out_turn);
/* The same. Mostly one asks for the newest, or the next that is to end. */
static inline enum tide_await tide_turn_look(const struct tide_timeline *timeline, uint64_t value,
                                             enum tide_status *out_status,
                                             struct tide_turn **out_turn) {
  struct tide_tree_node *node = timeline->turns.last;
  if (node && node->key != value) node = timeline->turns.first;
  if (!node || node->key != value || timeline->reached.value >= value || timeline->status)
    return tide_turn_look_locked(timeline, value, out_status, out_turn);
  *out_turn = tide_turn_of(node);
  return TIDE_AWAIT_QUEUED;
}

/* ---- timepoints of such timelines: timepoint.c ---- */

/* It has a call, and its notifier, if any, is this context's. */
bool tide_timepoint_fits(const struct tide_timepoint *timepoint,
                         const struct tide_context *context);
/* The timepoint's call, timeline and value are set. Not queued: it is to be called, once the guard
 * is given back, by tide_timepoint_call. */
enum tide_await tide_timepoint_add_turned(struct tide_timepoint *timepoint);
void tide_timepoint_call(struct tide_timepoint *timepoint);
/* As tide_fired_run, for what timelines fire: the calls that turns have fired are made in one go.
 * No lock is held. */
void tide_fired_run_calls(struct tide_fired *fired, const struct tide_context *context);

#endif
