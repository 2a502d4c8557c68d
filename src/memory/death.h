/* memory/death.h: what must have finished before a piece of memory may be touched.
 *
 * A block has one while nobody has it: its death frontier. A buffer has one too,
 * copied from the block that it was made from: its `past`. The signaller, where
 * there is one, stands for all of it, tainted or not: one look-up. */
#ifndef TIDE_MEMORY_DEATH_H
#define TIDE_MEMORY_DEATH_H

#include "causal/frontier.h"
#include "causal/tracker.h"
#include "causal/tracker_axis.h"
#include "memory/pool.h"

struct tide_death {
  tide_axis axis; /* the signaller; 0 = none */
  uint64_t epoch;
  /* The frontier has the signaller's entry, too. So who does not know the signaller does not know
   * all of it, and as long as the signaller has not finished, all of it has not. */
  bool listed;
  uint8_t place; /* where frontiers of the same axes list the signaller: a guess */
  _Alignas(8) struct tide_frontier frontier; /* its entries follow in memory */
};

static inline size_t tide_death_size(uint8_t capacity) {
  return sizeof(struct tide_death) - sizeof(struct tide_frontier) + tide_frontier_size(capacity);
}

static inline void tide_death_init(struct tide_death *death, uint8_t capacity) {
  death->axis = death->epoch = 0;
  death->listed = false;
  death->place = 0;
  tide_frontier_init(&death->frontier, capacity);
}

static inline void tide_death_clear(struct tide_death *death) {
  death->axis = death->epoch = 0;
  death->listed = false;
  tide_frontier_empty(&death->frontier);
}

/* Nothing needs to finish any more. */
static inline bool tide_death_empty(const struct tide_death *death) {
  return death->frontier.count == 0 && !death->frontier.tainted;
}

/* Nobody can say from the entries alone when it is satisfied, and there is no signaller either. */
static inline bool tide_death_opaque(const struct tide_death *death) {
  return death->frontier.tainted && !death->axis;
}

/* Both of the same capacity. */
void tide_death_copy(struct tide_death *to, const struct tide_death *from);

/* Axes whose operations name what they touch, as the tracker said: a fixed few, so that it need not
 * be asked again. What is in here stays true: no axis comes twice. The pool's lock guards it. */
#define TIDE_NAMERS 64u
struct tide_namers {
  struct tide_tracker *tracker;
  tide_axis axes[TIDE_NAMERS];
  struct tide_tracker_axis *states[TIDE_NAMERS]; /* once its axis is closed it may be another's */
};
bool tide_namers_ask(struct tide_namers *namers, tide_axis axis);
static inline bool tide_namers_listed(const struct tide_namers *namers, tide_axis axis) {
  return namers->axes[axis % TIDE_NAMERS] == axis;
}
static inline bool tide_namers_have(struct tide_namers *namers, tide_axis axis) {
  return tide_namers_listed(namers, axis) || tide_namers_ask(namers, axis);
}
/* The axis' state if it is listed and not closed, else NULL. */
static inline const struct tide_tracker_axis *tide_namers_state(const struct tide_namers *namers,
                                                                tide_axis axis) {
  const struct tide_tracker_axis *state = namers->states[axis % TIDE_NAMERS];
  return tide_namers_listed(namers, axis) && tide_load_acquire(&state->axis) == axis ? state : NULL;
}
/* tide_tracker_finished. */
static inline bool tide_namers_finished(struct tide_namers *namers, tide_axis axis,
                                        uint64_t epoch) {
  if (!tide_namers_have(namers, axis)) return tide_tracker_finished(namers->tracker, axis, epoch);
  const struct tide_tracker_axis *state = namers->states[axis % TIDE_NAMERS];
  bool finished = tide_tracker_axis_finished(state) >= epoch;
  if (tide_load_acquire(&state->axis) == axis) return finished;
  return tide_tracker_finished(namers->tracker, axis, epoch);
}

/* What `frontier` knows of the signaller's axis. */
static inline uint64_t tide_death_look_up(const struct tide_death *death,
                                          const struct tide_frontier *frontier) {
  uint64_t epoch = tide_frontier_get_at(frontier, death->place, death->axis);
  return epoch ? epoch : tide_frontier_look_up(frontier, death->axis);
}

/* Does `frontier` know all of it? The signaller first, else dominance. */
static inline bool tide_death_known(const struct tide_death *death,
                                    const struct tide_frontier *frontier) {
  if (death->axis) {
    if (tide_death_look_up(death, frontier) >= death->epoch) return true;
    if (death->listed) return false;
  }
  return tide_death_empty(death) || tide_frontier_dominates(frontier, &death->frontier);
}

/* True when nothing is left that the tracker did not see finish. Where nothing else says so, what
 * it saw finish is dropped entry by entry. */
bool tide_death_settle_entries(struct tide_death *death, struct tide_namers *namers);
static inline bool tide_death_settle(struct tide_death *death, struct tide_namers *namers) {
  if (death->axis) {
    if (tide_namers_finished(namers, death->axis, death->epoch)) {
      tide_death_clear(death);
      return true;
    }
    if (death->listed) return false;
  }
  return tide_death_empty(death) || tide_death_settle_entries(death, namers);
}

/* How many entries must be waited for by someone who knows `frontier`, but not all of this one,
 * which is settled: one when there is a signaller. *out_closable: such waits can be made (of
 * other queues that name the buffer, too), since the tracker knows the axes and nothing is tainted.
 */
size_t tide_death_missing(const struct tide_death *death, const struct tide_frontier *frontier,
                          struct tide_tracker *tracker, bool *out_closable);

/* Of the uses before it only those that this one does not know remain: once it has finished, so
 * have the others. So `uses` is most often one entry. */
void tide_uses_add(struct tide_frontier *uses, const struct tide_naming *use,
                   struct tide_tracker *tracker);

/* What a buffer leaves behind when it is freed. */
struct tide_ending {
  const struct tide_death *past;
  const struct tide_frontier *uses;
  const struct tide_position *position; /* NULL: the host, which waited for all uses */
  struct tide_tracker *tracker;
  struct tide_namers *namers;
  bool covered; /* uses tell nothing: the position's newest operation is behind all of them */
  bool named;   /* uses tell of all operations that touched it */
};
/* position->frontier may be the frontier of `death` itself. */
void tide_death_make(struct tide_death *death, const struct tide_ending *ending);

/* tide_death_make where, as most often, the buffer has a few last uses, and whatever else the
 * position knows names what it touches. False: it may be otherwise, and `death` holds nothing yet.
 */
static inline bool tide_death_follow_uses(struct tide_death *death,
                                          const struct tide_frontier *uses,
                                          const struct tide_position *position,
                                          const struct tide_namers *namers) {
  const struct tide_frontier *known = position->frontier;
  if (uses->count > 4 || uses->tainted || known->tainted) return false;
  if (!tide_frontier_takes(&death->frontier, uses)) return false;
  struct tide_frontier_entry entry;
  bool all = tide_namers_listed(namers, position->axis);
  for (struct tide_frontier_cursor at = tide_frontier_begin(known);
       tide_frontier_next(&at, &entry);) {
    all &= tide_namers_listed(namers, entry.axis);
  }
  if (!all) return false;
  death->axis = tide_frontier_first(uses).axis;
  death->epoch = tide_frontier_first(uses).epoch;
  tide_frontier_copy_as_is(&death->frontier, uses);
  death->listed = uses->count == 1;
  death->place = known->raised;
  if (uses->count == 1) return true;
  /* Where completion is in order, the newest operation is behind all that the queue knows. */
  bool stands =
      position->epoch > 0 && tide_frontier_look_up(known, position->axis) >= position->epoch;
  struct tide_frontier_cursor at = tide_frontier_begin(uses);
  while (stands && tide_frontier_next(&at, &entry)) {
    stands = tide_frontier_look_up(known, entry.axis) >= entry.epoch;
  }
  death->axis = stands ? position->axis : 0;
  death->epoch = stands ? position->epoch : 0;
  return true;
}

/* tide_death_make where, as often, nobody is known to have used the buffer, or not by name, and the
 * position's newest operation is behind all of past and uses, as the position's own frontier says,
 * and the frontier is short. False: it may be otherwise, and `death` holds nothing yet. */
bool tide_death_follow(struct tide_death *death, const struct tide_death *past,
                       const struct tide_frontier *uses, const struct tide_position *position);

/* Does the frontier know all of it, as far as it lists what stands for it where that is guessed? */
static inline bool tide_death_estimate(const struct tide_death *death,
                                       const struct tide_frontier *frontier) {
  if (!death->axis) return tide_death_empty(death);
  return tide_frontier_get_at(frontier, death->place, death->axis) >= death->epoch;
}

/* Both in order, one beside the other. */
static inline bool tide_uses_known(const struct tide_frontier *uses,
                                   const struct tide_frontier *known) {
  return !uses->tainted && tide_frontier_covers(known, uses);
}

/* tide_death_follow in two steps, without a search, and but for the uses. First: is the position's
 * newest operation behind all of past? What this looks at is the caller's own. */
static inline bool tide_death_stands(const struct tide_death *past,
                                     const struct tide_position *position) {
  const struct tide_frontier *known = position->frontier;
  tide_axis axis = position->axis;
  uint64_t epoch = position->epoch;
  /* Two words that were just stored one by one: not to be loaded as one wide piece. */
  __asm__("" : "+r"(axis), "+r"(epoch));
  return epoch != 0 && tide_frontier_takes(&past->frontier, known) &&
         tide_frontier_get_raised(known, axis) == epoch && tide_death_estimate(past, known);
}
/* Then: it stands for all. */
static inline void tide_death_fill(struct tide_death *death, const struct tide_position *position) {
  const struct tide_frontier *known = position->frontier;
  tide_axis axis = position->axis;
  uint64_t epoch = position->epoch;
  __asm__("" : "+r"(axis), "+r"(epoch));
  death->axis = axis;
  death->epoch = epoch;
  death->listed = true;
  death->place = known->raised;
  /* Whoever calls has taken a lock since the position was written: no store is under way. */
  tide_frontier_copy_as_is(&death->frontier, known);
}

/* Can one of the two serve for both as it is? 1: the first, -1: the second, 0: neither. */
int tide_death_covers(const struct tide_death *a, const struct tide_death *b);
/* into := both. False, and nothing changes, when that would lose an entry or either is tainted.
 * `scratch` has the same capacity. */
bool tide_death_join(struct tide_death *into, const struct tide_death *other,
                     struct tide_frontier *scratch, struct tide_tracker *tracker);

#endif
