/* memory/death.h: the operations that must have finished before a piece of memory may be touched.
 *
 * A free block has a death frontier. A buffer takes over its block's as its `past`. A signaller,
 * if there is one, stands for the whole frontier, tainted or not: one look-up. */
#ifndef TIDE_MEMORY_DEATH_H
#define TIDE_MEMORY_DEATH_H

#include "causal/frontier.h"
#include "causal/tracker.h"
#include "causal/tracker_axis.h"
#include "memory/pool.h"

struct tide_death {
  tide_axis axis; /* the signaller; 0 = none */
  uint64_t epoch;
  /* The frontier lists the signaller, too. So a frontier that does not know the signaller does not
   * dominate, and nothing is settled before the signaller has finished. */
  bool listed;
  uint8_t place; /* the likely slot of the signaller in frontiers of the same axes */
  _Alignas(8) struct tide_frontier frontier; /* the entries follow in memory */
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

/* True if the death stands for no unfinished operation. */
static inline bool tide_death_empty(const struct tide_death *death) {
  return death->frontier.count == 0 && !death->frontier.tainted;
}

/* True if neither the entries nor a signaller tell when it is satisfied. */
static inline bool tide_death_opaque(const struct tide_death *death) {
  return death->frontier.tainted && !death->axis;
}

/* Copies a death. Both have the same capacity. */
void tide_death_copy(struct tide_death *to, const struct tide_death *from);

/* A cache of namers: axes with operations that name the buffers they touch (tide_tracker_namer).
 * Entries stay true, since no axis number is used twice. Guarded by the pool's lock. */
#define TIDE_NAMERS 64u
struct tide_namers {
  struct tide_tracker *tracker;
  tide_axis axes[TIDE_NAMERS];
  struct tide_tracker_axis *states[TIDE_NAMERS]; /* another axis' once that one is closed */
};
bool tide_namers_ask(struct tide_namers *namers, tide_axis axis);
static inline bool tide_namers_listed(const struct tide_namers *namers, tide_axis axis) {
  return namers->axes[axis % TIDE_NAMERS] == axis;
}
static inline bool tide_namers_have(struct tide_namers *namers, tide_axis axis) {
  return tide_namers_listed(namers, axis) || tide_namers_ask(namers, axis);
}
/* Returns the axis' state; NULL if it is not listed, or closed. */
static inline const struct tide_tracker_axis *tide_namers_state(const struct tide_namers *namers,
                                                                tide_axis axis) {
  const struct tide_tracker_axis *state = namers->states[axis % TIDE_NAMERS];
  return tide_namers_listed(namers, axis) && tide_load_acquire(&state->axis) == axis ? state : NULL;
}
/* tide_tracker_finished, without a search for listed axes. */
static inline bool tide_namers_finished(struct tide_namers *namers, tide_axis axis,
                                        uint64_t epoch) {
  if (!tide_namers_have(namers, axis)) return tide_tracker_finished(namers->tracker, axis, epoch);
  const struct tide_tracker_axis *state = namers->states[axis % TIDE_NAMERS];
  bool finished = tide_tracker_axis_finished(state) >= epoch;
  if (tide_load_acquire(&state->axis) == axis) return finished;
  return tide_tracker_finished(namers->tracker, axis, epoch);
}

/* Returns the epoch that `frontier` lists of the signaller's axis. */
static inline uint64_t tide_death_look_up(const struct tide_death *death,
                                          const struct tide_frontier *frontier) {
  uint64_t epoch = tide_frontier_get_at(frontier, death->place, death->axis);
  return epoch ? epoch : tide_frontier_look_up(frontier, death->axis);
}

/* True if `frontier` implies all of it: by the signaller, else by dominance. */
static inline bool tide_death_known(const struct tide_death *death,
                                    const struct tide_frontier *frontier) {
  if (death->axis) {
    if (tide_death_look_up(death, frontier) >= death->epoch) return true;
    if (death->listed) return false;
  }
  return tide_death_empty(death) || tide_frontier_dominates(frontier, &death->frontier);
}

/* True if `frontier` implies all of it, with the requester's insight. */
bool tide_death_known_with(const struct tide_death *death, const struct tide_frontier *frontier,
                           const struct tide_insight *insight);
/* True if the requester may wait for all of it. */
bool tide_death_may_be_awaited(const struct tide_death *death, const struct tide_insight *insight);

/* True if all of it has finished. The death stays as it is. */
bool tide_death_finished(const struct tide_death *death, struct tide_tracker *tracker);

/* True if all of it has finished. Without a signaller that tells, drops the entries that have
 * finished. */
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

/* Returns the number of entries that a queue with `frontier` has to wait for: one if there is a
 * signaller. The death is settled. *out_closable: the waits are possible, of other queues that name
 * the buffer, too: the tracker knows the axes, and nothing is tainted. */
size_t tide_death_missing(const struct tide_death *death, const struct tide_frontier *frontier,
                          struct tide_tracker *tracker, bool *out_closable);

/* Adds a use and removes the uses that it knows, which have finished once it has. So `uses` is most
 * often one entry. */
void tide_uses_add(struct tide_frontier *uses, const struct tide_naming *use,
                   struct tide_tracker *tracker);
/* True if all uses have finished. */
bool tide_uses_finished(const struct tide_frontier *uses, struct tide_tracker *tracker);

/* The state of a buffer that is freed. */
struct tide_ending {
  const struct tide_death *past;
  const struct tide_frontier *uses;
  const struct tide_position *position; /* NULL: the host, after all uses have finished */
  struct tide_tracker *tracker;
  struct tide_namers *namers;
  const struct tide_insight *insight; /* the position's; NULL: none */
  bool covered; /* uses are not recorded: the position's newest operation is behind all of them */
  bool named;   /* uses have all operations that touched the buffer */
};
/* position->frontier may be the frontier of `death` itself. */
void tide_death_make(struct tide_death *death, const struct tide_ending *ending);

/* tide_death_make for the most frequent case: the buffer has a few last uses, and all other axes
 * that the position knows are namers. False: another case, and `death` is not made. */
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
  /* If completion is in order, the newest operation is behind all that the queue knows. */
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

/* tide_death_make for another frequent case: the position's newest operation is behind past and
 * uses, as the position's own frontier tells. False: another case, and `death` is not made. */
bool tide_death_follow(struct tide_death *death, const struct tide_death *past,
                       const struct tide_frontier *uses, const struct tide_position *position);

/* True if the frontier lists the signaller in the likely slot, or nothing has to be known. False
 * proves nothing. */
static inline bool tide_death_estimate(const struct tide_death *death,
                                       const struct tide_frontier *frontier) {
  if (!death->axis) return tide_death_empty(death);
  return tide_frontier_get_at(frontier, death->place, death->axis) >= death->epoch;
}

/* True if `known` implies all uses. */
static inline bool tide_uses_known(const struct tide_frontier *uses,
                                   const struct tide_frontier *known) {
  return !uses->tainted && tide_frontier_covers(known, uses);
}

/* tide_death_follow in two steps, without a search and without the uses. First step: true if the
 * position's newest operation is behind the past. Reads the caller's own objects only. */
static inline bool tide_death_stands(const struct tide_death *past,
                                     const struct tide_position *position) {
  const struct tide_frontier *known = position->frontier;
  tide_axis axis = position->axis;
  uint64_t epoch = position->epoch;
  /* Keeps two words that were just stored one by one from a single wide load, which would stall. */
  __asm__("" : "+r"(axis), "+r"(epoch));
  return epoch != 0 && tide_frontier_takes(&past->frontier, known) &&
         tide_frontier_get_raised(known, axis) == epoch && tide_death_estimate(past, known);
}
/* Second step: makes that operation the signaller. */
static inline void tide_death_fill(struct tide_death *death, const struct tide_position *position) {
  const struct tide_frontier *known = position->frontier;
  tide_axis axis = position->axis;
  uint64_t epoch = position->epoch;
  __asm__("" : "+r"(axis), "+r"(epoch));
  death->axis = axis;
  death->epoch = epoch;
  death->listed = true;
  death->place = known->raised;
  tide_frontier_copy_as_is(&death->frontier, known);
}

/* Returns 1 if the first implies the second, -1 for the reverse, 0 for neither. */
int tide_death_covers(const struct tide_death *a, const struct tide_death *b);
/* Joins `other` into `into`. False: an entry would be lost or either is tainted, and nothing has
 * changed. `scratch` has the same capacity. */
bool tide_death_join(struct tide_death *into, const struct tide_death *other,
                     struct tide_frontier *scratch, struct tide_tracker *tracker);

#endif
