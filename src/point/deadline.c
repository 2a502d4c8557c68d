/* Deadlines of owed promises and undefined compounds, all in one heap. */
#include "base/check.h"
#include "point/point_state.h"

static uint64_t now_of(const struct tide_points *points) {
  const struct tide_platform *platform = points->context->platform;
  return platform->now(platform->self);
}

uint64_t tide_points_deadline_of(const struct tide_points *points, uint64_t asked) {
  uint64_t now = now_of(points);
  uint64_t latest = now > UINT64_MAX - 1 - points->longest ? UINT64_MAX - 1 : now + points->longest;
  if (!asked) asked = now > latest - points->deadline ? latest : now + points->deadline;
  return asked < latest ? asked : latest;
}

uint32_t tide_points_expire_locked(struct tide_points *points, struct tide_fired *fired) {
  if (tide_counter_empty(&points->due)) return 0;
  uint64_t now = now_of(points);
  if (tide_counter_least(&points->due) > now) return 0;
  struct tide_fired overdue;
  struct tide_node *tree_node;
  uint32_t count = 0;
  tide_fired_init(&overdue);
  tide_counter_pop(&points->due, now, &overdue, TIDE_TIMED_OUT);
  while ((tree_node = tide_fired_pop(&overdue))) {
    struct tide_unmet *unmet = TIDE_CONTAINER(tree_node, struct tide_unmet, due);
    count++;
    if (unmet->client) unmet->client->stats.missed++;
    if (unmet->node.kind == TIDE_DEPENDENCY_PROMISE)
      tide_promise_break(TIDE_CONTAINER(unmet, struct tide_promise, unmet), TIDE_TIMED_OUT, fired);
    else
      tide_compound_break(TIDE_CONTAINER(unmet, struct tide_compound, unmet), TIDE_TIMED_OUT,
                          fired);
  }
  return count;
}

uint32_t tide_points_expire(struct tide_points *points, uint64_t *out_next) {
  struct tide_fired fired;
  tide_fired_init(&fired);
  tide_points_lock(points);
  uint32_t count = tide_points_expire_locked(points, &fired);
  if (out_next) *out_next = tide_counter_least(&points->due);
  tide_points_unlock(points, &fired);
  return count;
}
