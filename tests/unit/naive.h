/* naive.h: frontiers as the plainest thing that could be right, to hold ours against.
 * An unsorted list, searched from the front; eviction picks one entry at a time. */
#ifndef TESTS_UNIT_NAIVE_H
#define TESTS_UNIT_NAIVE_H

#include "harness.h"
#include "tidemark/causal.h"

struct naive {
  size_t count;
  bool tainted;
  uint64_t axis[512], epoch[512];
};

static inline void naive_clear(struct naive *f) {
  f->count = 0;
  f->tainted = false;
}

static inline uint64_t naive_get(const struct naive *f, uint64_t axis) {
  for (size_t i = 0; i < f->count; i++) {
    if (f->axis[i] == axis) return f->epoch[i];
  }
  return 0;
}

static inline void naive_raise(struct naive *f, uint64_t axis, uint64_t epoch) {
  if (epoch == 0) return;
  for (size_t i = 0; i < f->count; i++) {
    if (f->axis[i] != axis) continue;
    if (f->epoch[i] < epoch) f->epoch[i] = epoch;
    return;
  }
  f->axis[f->count] = axis;
  f->epoch[f->count++] = epoch;
}

static inline void naive_drop(struct naive *f, uint64_t axis) {
  for (size_t i = 0; i < f->count; i++) {
    if (f->axis[i] != axis) continue;
    f->count--;
    f->axis[i] = f->axis[f->count];
    f->epoch[i] = f->epoch[f->count];
    return;
  }
}

/* What the tracker would say; a list as well. NULL = no tracker. */
static inline bool naive_finished(const struct naive *tracker, uint64_t axis, uint64_t epoch) {
  return tracker && naive_get(tracker, axis) >= epoch;
}

static inline void naive_evict(struct naive *f, size_t capacity, const struct naive *tracker,
                               uint64_t keep) {
  while (f->count > capacity) {
    size_t victim = f->count;
    bool victim_finished = false;
    for (size_t i = 0; i < f->count; i++) {
      if (f->axis[i] == keep) continue;
      bool finished = naive_finished(tracker, f->axis[i], f->epoch[i]);
      bool worse = victim == f->count || (finished && !victim_finished);
      if (!worse && finished == victim_finished)
        worse = f->epoch[i] < f->epoch[victim] ||
                (f->epoch[i] == f->epoch[victim] && f->axis[i] > f->axis[victim]);
      if (!worse) continue;
      victim = i;
      victim_finished = finished;
    }
    if (!victim_finished) f->tainted = true;
    naive_drop(f, f->axis[victim]);
  }
}

static inline void naive_merge(struct naive *to, const struct naive *from) {
  for (size_t i = 0; i < from->count; i++) naive_raise(to, from->axis[i], from->epoch[i]);
  to->tainted |= from->tainted;
}

/* Of the listed entries alone. */
static inline bool naive_covers(const struct naive *f, const struct naive *g) {
  for (size_t i = 0; i < g->count; i++) {
    if (naive_get(f, g->axis[i]) < g->epoch[i]) return false;
  }
  return true;
}

static inline bool naive_dominates(const struct naive *f, const struct naive *g) {
  return !g->tainted && naive_covers(f, g);
}

static inline bool naive_satisfied(const struct naive *f, const struct naive *tracker,
                                   const struct naive *g) {
  for (size_t i = 0; i < g->count; i++) {
    if (naive_get(f, g->axis[i]) < g->epoch[i] && !naive_finished(tracker, g->axis[i], g->epoch[i]))
      return false;
  }
  return !g->tainted;
}

static inline enum tide_order naive_compare(const struct naive *f, const struct naive *g) {
  bool after = naive_dominates(f, g), before = naive_dominates(g, f);
  if (after && before) return TIDE_EQUAL;
  return after ? TIDE_AFTER : before ? TIDE_BEFORE : TIDE_CONCURRENT;
}

/* The entry that so many are in front of. */
static inline struct tide_frontier_entry entry_at(const struct tide_frontier *f, size_t number) {
  struct tide_frontier_entry entry = {0, 0};
  struct tide_frontier_cursor at = tide_frontier_begin(f);
  for (size_t i = 0; i <= number; i++) CHECK(tide_frontier_next(&at, &entry));
  return entry;
}

/* Do both list the same, in the same order? */
static inline bool same_entries(const struct tide_frontier *f, const struct tide_frontier *g) {
  struct tide_frontier_entry a = {0, 0}, b = {0, 0};
  struct tide_frontier_cursor i = tide_frontier_begin(f), j = tide_frontier_begin(g);
  for (;;) {
    bool of_f = tide_frontier_next(&i, &a), of_g = tide_frontier_next(&j, &b);
    if (!of_f || !of_g) return of_f == of_g;
    if (a.axis != b.axis || a.epoch != b.epoch) return false;
  }
}

/* Is ours well-formed, and the same? Its entries come in order, each once. */
static inline bool naive_same(const struct tide_frontier *ours, const struct naive *naive) {
  if (tide_frontier_validate(ours, NULL) != TIDE_OK) return false;
  if (ours->count != naive->count || ours->tainted != naive->tainted) return false;
  for (size_t i = 0; i < naive->count; i++) {
    if (tide_frontier_get(ours, naive->axis[i]) != naive->epoch[i]) return false;
  }
  struct tide_frontier_entry entry;
  tide_axis last = 0;
  size_t count = 0;
  for (struct tide_frontier_cursor at = tide_frontier_begin(ours); tide_frontier_next(&at, &entry);
       count++) {
    if (entry.axis <= last || entry.epoch != naive_get(naive, entry.axis)) return false;
    last = entry.axis;
  }
  return count == naive->count;
}

#endif
