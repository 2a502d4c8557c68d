/* Death frontiers: made when a buffer is freed, tested when its memory is requested. */
#include "memory/death.h"

void tide_death_copy(struct tide_death *to, const struct tide_death *from) {
  to->axis = from->axis;
  to->epoch = from->epoch;
  to->listed = from->listed;
  to->place = from->place;
  tide_frontier_copy(&to->frontier, &from->frontier, NULL);
}

/* Sets the signaller; axis 0: none. */
static void set_signaller(struct tide_death *death, tide_axis axis, uint64_t epoch) {
  death->axis = axis;
  death->epoch = axis ? epoch : 0;
  death->place = axis ? (uint8_t)tide_frontier_slot(&death->frontier, axis) : 0;
  death->listed = axis && tide_frontier_get(&death->frontier, axis) >= epoch;
}

/* Makes the only entry the signaller. */
static void make_entry_signaller(struct tide_death *death) {
  struct tide_frontier_entry entry = tide_frontier_first(&death->frontier);
  death->axis = entry.axis;
  death->epoch = entry.epoch;
  death->listed = true;
}

bool tide_death_finished(const struct tide_death *death, struct tide_tracker *tracker) {
  if (death->axis && tide_tracker_finished(tracker, death->axis, death->epoch)) return true;
  return tide_uses_finished(&death->frontier, tracker);
}

static inline __attribute__((always_inline)) bool is_unfinished(void *namers, tide_axis axis,
                                                                uint64_t epoch) {
  return !tide_namers_finished(namers, axis, epoch);
}

bool tide_death_settle_entries(struct tide_death *death, struct tide_namers *namers) {
  tide_frontier_filter(&death->frontier, is_unfinished, namers);
  if (!tide_death_empty(death)) return false;
  tide_death_clear(death);
  return true;
}

size_t tide_death_missing(const struct tide_death *death, const struct tide_frontier *frontier,
                          struct tide_tracker *tracker, bool *out_closable) {
  const struct tide_frontier *f = &death->frontier;
  *out_closable = false;
  if (f->tainted) return 0;
  if (death->axis) {
    *out_closable = tide_tracker_find(tracker, death->axis) != NULL;
    return 1;
  }
  size_t missing = 0;
  struct tide_frontier_entry entry;
  for (struct tide_frontier_cursor at = tide_frontier_begin(f); tide_frontier_next(&at, &entry);) {
    if (!tide_tracker_find(tracker, entry.axis)) return 0;
    if (tide_frontier_get(frontier, entry.axis) < entry.epoch) missing++;
  }
  *out_closable = true;
  return missing;
}

static bool lists_or_implies(const struct tide_frontier *known, const struct tide_insight *insight,
                             tide_axis axis, uint64_t epoch) {
  return tide_frontier_get(known, axis) >= epoch ||
         (insight && insight->implies(insight->self, known, axis, epoch));
}

bool tide_death_known_with(const struct tide_death *death, const struct tide_frontier *frontier,
                           const struct tide_insight *insight) {
  struct tide_frontier_entry entry;
  if (tide_death_known(death, frontier)) return true;
  if (!insight) return false;
  if (death->axis && insight->implies(insight->self, frontier, death->axis, death->epoch))
    return true;
  if (death->frontier.tainted) return false;
  for (struct tide_frontier_cursor at = tide_frontier_begin(&death->frontier);
       tide_frontier_next(&at, &entry);)
    if (!lists_or_implies(frontier, insight, entry.axis, entry.epoch)) return false;
  return true;
}

bool tide_death_may_be_awaited(const struct tide_death *death, const struct tide_insight *insight) {
  struct tide_frontier_entry entry;
  if (!insight) return true;
  if (death->frontier.tainted) return insight->may_await(insight->self, death->axis, death->epoch);
  for (struct tide_frontier_cursor at = tide_frontier_begin(&death->frontier);
       tide_frontier_next(&at, &entry);)
    if (!insight->may_await(insight->self, entry.axis, entry.epoch)) return false;
  return true;
}

/* True if (axis, epoch) has finished once the position's newest operation has. */
static bool knows_epoch(const struct tide_ending *ending, tide_axis axis, uint64_t epoch) {
  const struct tide_position *position = ending->position;
  if (axis == position->axis && epoch <= position->epoch) return true;
  return lists_or_implies(position->frontier, ending->insight, axis, epoch);
}

/* `tracker`: counts what has finished, too; NULL: it does not. */
static bool knows_all(const struct tide_ending *ending, const struct tide_frontier *f,
                      struct tide_tracker *tracker) {
  if (f->tainted) return false;
  if (tide_frontier_dominates(ending->position->frontier, f)) return true;
  struct tide_frontier_entry entry;
  for (struct tide_frontier_cursor at = tide_frontier_begin(f); tide_frontier_next(&at, &entry);) {
    if (knows_epoch(ending, entry.axis, entry.epoch)) continue;
    if (!tracker || !tide_tracker_finished(tracker, entry.axis, entry.epoch)) return false;
  }
  return true;
}

static bool knows_past(const struct tide_ending *ending) {
  const struct tide_death *past = ending->past;
  struct tide_tracker *tracker = ending->tracker;
  if (tide_death_empty(past)) return true;
  if (past->axis && (knows_epoch(ending, past->axis, past->epoch) ||
                     tide_tracker_finished(tracker, past->axis, past->epoch))) {
    return true;
  }
  return knows_all(ending, &past->frontier, tracker);
}

/* ---- uses ---- */

bool tide_namers_ask(struct tide_namers *namers, tide_axis axis) {
  struct tide_tracker_axis *state = tide_tracker_namer(namers->tracker, axis);
  if (!state) return false;
  namers->axes[axis % TIDE_NAMERS] = axis;
  namers->states[axis % TIDE_NAMERS] = state;
  return true;
}

/* A use that is added; `next` is the cursor into its known frontier, as uses are in axis order. */
struct adding {
  const struct tide_naming *use;
  uint64_t newest;
  size_t next;
};

static inline __attribute__((always_inline)) bool use_known(struct adding *adding, tide_axis axis,
                                                            uint64_t epoch) {
  const struct tide_insight *insight = adding->use->insight;
  if (tide_frontier_get_upwards(adding->use->known, axis, &adding->next) >= epoch) return true;
  return insight && insight->implies(insight->self, adding->use->known, axis, epoch);
}

static inline __attribute__((always_inline)) bool use_stays(void *self, tide_axis axis,
                                                            uint64_t epoch) {
  struct adding *adding = self;
  bool own = axis == adding->use->axis;
  if (own && adding->newest < epoch) adding->newest = epoch;
  return !own && !use_known(adding, axis, epoch);
}

void tide_uses_add(struct tide_frontier *uses, const struct tide_naming *use,
                   struct tide_tracker *tracker) {
  struct tide_eviction eviction = {.tracker = tracker};
  struct adding adding = {use, use->epoch, 0};
  tide_frontier_filter(uses, use_stays, &adding);
  tide_frontier_raise(uses, use->axis, adding.newest, &eviction);
}

bool tide_uses_finished(const struct tide_frontier *uses, struct tide_tracker *tracker) {
  if (uses->tainted) return false;
  struct tide_frontier_entry entry;
  for (struct tide_frontier_cursor at = tide_frontier_begin(uses);
       tide_frontier_next(&at, &entry);) {
    if (!tide_tracker_finished(tracker, entry.axis, entry.epoch)) return false;
  }
  return true;
}

/* Makes the death of a buffer that the host frees: of the past and the uses alone. */
static void make_by_host(struct tide_death *death, const struct tide_ending *ending) {
  struct tide_eviction eviction = {.tracker = ending->tracker};
  tide_death_copy(death, ending->past);
  if (ending->uses->count == 0 && !ending->uses->tainted) return;
  set_signaller(death, 0, 0);
  tide_frontier_merge(&death->frontier, ending->uses, &eviction);
}

/* ---- freed where completion is out of order ---- */

/* True if each entry can be waited for. */
static bool is_waitable(const struct tide_frontier *f, struct tide_tracker *tracker) {
  if (f->tainted) return false;
  struct tide_frontier_entry entry;
  for (struct tide_frontier_cursor at = tide_frontier_begin(f); tide_frontier_next(&at, &entry);) {
    if (!tide_tracker_find(tracker, entry.axis) &&
        !tide_tracker_finished(tracker, entry.axis, entry.epoch)) {
      return false;
    }
  }
  return true;
}

/* True if the frontier alone implies the past. knows_past also counts the position's own axis. */
static bool implies_past(const struct tide_frontier *known, const struct tide_death *past,
                         struct tide_tracker *tracker) {
  if (tide_death_empty(past)) return true;
  if (past->axis && (tide_frontier_get(known, past->axis) >= past->epoch ||
                     tide_tracker_finished(tracker, past->axis, past->epoch))) {
    return true;
  }
  return tide_frontier_satisfied(known, tracker, &past->frontier);
}

/* Makes the death past + uses + frontier, without a signaller, for a queue on an out-of-order
 * device (files). Nothing orders that queue's epochs behind each other, so its frontier lists them
 * only as far as they were waited for. Its newest epoch would stand for all of them, though most
 * have nothing to do with this memory: the next user would wait for unrelated transfers.
 *
 * Why that is enough. Memory is touched by operations that name the buffer, and before them by
 * those that the past stands for. A free completes when the former have entered, and each has
 * raised `uses` to at least its epoch; `uses` is merged whole, so each entry of it is implied. The
 * past is merged unless the frontier, which is merged, or the tracker implies it. No entry is lost:
 * none of the three is tainted, and the capacity suffices. So a frontier that satisfies the result
 * satisfies past and uses.
 *
 * False: one of these conditions does not hold, or some entry cannot be waited for. Then nothing
 * has changed, and the newest epoch, which also implies all, has to be the signaller. */
static bool make_of_entries(struct tide_death *death, const struct tide_ending *ending) {
  const struct tide_position *position = ending->position;
  const struct tide_frontier *known = position->frontier, *past = &ending->past->frontier;
  struct tide_tracker *tracker = ending->tracker;
  if (tide_frontier_get(known, position->axis) >= position->epoch) return false;
  if (ending->covered) return false;
  if (!is_waitable(known, tracker) || !is_waitable(ending->uses, tracker)) return false;
  bool implied = implies_past(known, ending->past, tracker);
  if (!implied && !is_waitable(past, tracker)) return false;
  size_t room = known->count + tide_frontier_count_new(known, ending->uses);
  if (!implied) room += tide_frontier_count_new(known, past);
  if (room > death->frontier.capacity) return false;
  tide_frontier_copy(&death->frontier, known, NULL);
  if (!implied) tide_frontier_merge(&death->frontier, past, NULL);
  tide_frontier_merge(&death->frontier, ending->uses, NULL);
  set_signaller(death, 0, 0);
  return true;
}

/* ---- freed where all axes are namers ---- */

/* True if the entry may stand for an access that names no buffer, and has not finished. */
static bool is_foreign(const struct tide_ending *ending, tide_axis axis, uint64_t epoch) {
  return !tide_namers_have(ending->namers, axis) &&
         !tide_tracker_finished(ending->tracker, axis, epoch);
}

/* Returns the number of foreign entries that the position knows; SIZE_MAX if one of them cannot be
 * waited for. */
static size_t count_foreign(const struct tide_ending *ending) {
  const struct tide_frontier *known = ending->position->frontier;
  struct tide_frontier_entry entry;
  size_t count = 0;
  for (struct tide_frontier_cursor at = tide_frontier_begin(known);
       tide_frontier_next(&at, &entry);) {
    if (!is_foreign(ending, entry.axis, entry.epoch)) continue;
    if (!tide_tracker_find(ending->tracker, entry.axis)) return SIZE_MAX;
    count++;
  }
  return count;
}

static bool foreign_stays(void *self, tide_axis axis, uint64_t epoch) {
  return is_foreign(self, axis, epoch);
}

static void keep_foreign(struct tide_frontier *to, struct tide_ending ending) {
  const struct tide_frontier *known = ending.position->frontier;
  struct tide_frontier_entry entry;
  if (to == known) {
    tide_frontier_filter(to, foreign_stays, &ending);
    to->tainted = 0;
    return;
  }
  tide_frontier_empty(to);
  for (struct tide_frontier_cursor at = tide_frontier_begin(known);
       tide_frontier_next(&at, &entry);)
    if (is_foreign(&ending, entry.axis, entry.epoch))
      tide_frontier_raise(to, entry.axis, entry.epoch, NULL);
}

/* Makes the death of the last uses alone. The freeing queue's other operations have nothing to do
 * with this memory, so the next user need not wait for them.
 *
 * Why that is enough. Memory is touched by operations that name the buffer. Each raised `uses` when
 * it entered, and an entry left `uses` only if a later use knew it, and so starts after it. Any use
 * implies the past: an operation names a buffer only if its queue satisfies the past, or it waits
 * for it; a skipped one keeps its epoch in the queue. The host, a kernel or another machine may
 * have touched the memory up to the free: the entries that the position knows of them are kept.
 *
 * False: one of these conditions does not hold, or cannot be seen, and nothing has changed. */
static bool make_of_uses(struct tide_death *death, const struct tide_ending *ending) {
  const struct tide_position *position = ending->position;
  const struct tide_frontier *known = position->frontier, *uses = ending->uses;
  if (!ending->named || uses->count == 0 || uses->tainted || known->tainted) return false;
  if (!tide_namers_have(ending->namers, position->axis)) return false;
  size_t others = count_foreign(ending);
  if (others > death->frontier.capacity || others + uses->count > death->frontier.capacity) {
    return false;
  }
  /* If completion is in order, the newest operation is behind all that the queue knows. */
  bool stands = position->epoch > 0 &&
                tide_frontier_get(known, position->axis) >= position->epoch &&
                knows_all(ending, uses, NULL);
  keep_foreign(&death->frontier, *ending);
  if (others) tide_frontier_merge(&death->frontier, uses, NULL);
  else tide_frontier_copy(&death->frontier, uses, NULL);
  set_signaller(death, stands ? position->axis : 0, position->epoch);
  if (death->frontier.count == 1) make_entry_signaller(death);
  return true;
}

/* The position's newest operation implies all that the position knows. So past and uses are merged
 * only if they are not known; if both are known, that operation is the signaller. */
void tide_death_make(struct tide_death *death, const struct tide_ending *ending) {
  const struct tide_position *position = ending->position;
  if (!position) {
    make_by_host(death, ending);
    return;
  }
  if (make_of_uses(death, ending) || make_of_entries(death, ending)) return;
  struct tide_eviction eviction = {.tracker = ending->tracker, .keep = position->axis};
  bool past_known = knows_past(ending), uses_known = knows_all(ending, ending->uses, NULL);
  if (position->frontier != &death->frontier) {
    tide_frontier_copy(&death->frontier, position->frontier, &eviction);
  }
  if (tide_frontier_get(&death->frontier, position->axis) < position->epoch) {
    tide_frontier_raise(&death->frontier, position->axis, position->epoch, &eviction);
  }
  if (!past_known) tide_frontier_merge(&death->frontier, &ending->past->frontier, &eviction);
  if (!uses_known) {
    tide_frontier_merge(&death->frontier, ending->uses, &eviction);
  }
  bool signaller = position->epoch > 0 && past_known && uses_known;
  set_signaller(death, signaller ? position->axis : 0, position->epoch);
}

bool tide_death_follow(struct tide_death *death, const struct tide_death *past,
                       const struct tide_frontier *uses, const struct tide_position *position) {
  const struct tide_frontier *known = position->frontier;
  if (position->epoch == 0 || known->count > death->frontier.capacity) return false;
  if (tide_frontier_look_up(known, position->axis) != position->epoch) return false;
  if (past->axis ? tide_death_look_up(past, known) < past->epoch : !tide_death_empty(past)) {
    return false;
  }
  if (!tide_uses_known(uses, known)) return false;
  tide_frontier_copy(&death->frontier, known, NULL);
  set_signaller(death, position->axis, position->epoch);
  return true;
}

int tide_death_covers(const struct tide_death *a, const struct tide_death *b) {
  if (tide_death_known(b, &a->frontier)) return 1;
  if (tide_death_known(a, &b->frontier)) return -1;
  return 0;
}

bool tide_death_join(struct tide_death *into, const struct tide_death *other,
                     struct tide_frontier *scratch, struct tide_tracker *tracker) {
  if (into->frontier.tainted || other->frontier.tainted) return false;
  int covers = tide_death_covers(into, other);
  if (covers > 0) return true;
  if (covers < 0) {
    tide_death_copy(into, other);
    return true;
  }
  struct tide_eviction eviction = {.tracker = tracker};
  tide_frontier_copy(scratch, &into->frontier, NULL);
  tide_frontier_merge(scratch, &other->frontier, &eviction);
  if (scratch->tainted) return false;
  tide_frontier_copy(&into->frontier, scratch, NULL);
  bool same = into->axis == other->axis && into->epoch == other->epoch;
  set_signaller(into, same ? into->axis : 0, into->epoch);
  return true;
}
