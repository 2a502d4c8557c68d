/* Priorities while points say so: the formulas, and how long each part lasts. */
#include "point_rig.h"
#include "point/priority.h"

static unsigned changes;
static void on_change(struct tide_priority *priority) {
  (void)priority;
  changes++;
}

static struct tide_future *future(struct rig *r) {
  struct tide_future *f;
  CHECK_OK(tide_future_create(r->client, NULL, &f));
  return f;
}

static struct tide_point promise(struct tide_future *f) {
  struct tide_point point;
  CHECK_OK(tide_future_promise(f, 0, &point));
  return point;
}

/* In a test of one thread: no lock is needed. NULL: it has ended. */
static struct tide_dependency_node *gate(struct rig *r, struct tide_point point) {
  struct tide_resolved found;
  CHECK_OK(tide_point_resolve(r->points, point, &found));
  return found.node;
}

#define CHECK_LEVEL(p, want) CHECK_EQ_U64(tide_priority_effective(p), (want))

/* 24, 25: who lends, lends at most its base, until the point ends, however it ends. */
TEST(increase_until) {
  struct rig r;
  struct tide_priority low, high;
  struct tide_increase a, b, c;
  rig_open(&r);
  struct tide_future *f = future(&r);
  struct tide_point one = promise(f), two = promise(f), three = promise(f);
  tide_priority_init(&low, 3, on_change);
  tide_priority_init(&high, 12, NULL);
  tide_increase_begin(&a, &low, 15, high.base, gate(&r, one));
  CHECK_LEVEL(&low, 12);
  tide_increase_begin(&b, &low, 7, high.base, gate(&r, two));
  CHECK_LEVEL(&low, 12);
  /* What was lent cannot be lent on: low's base counts, not what it has now. */
  struct tide_priority lower;
  tide_priority_init(&lower, 1, NULL);
  tide_increase_begin(&c, &lower, 15, low.base, gate(&r, three));
  CHECK_LEVEL(&lower, 3);
  CHECK_OK(tide_future_fulfil(f, 1, NULL));
  CHECK_LEVEL(&low, 7);
  CHECK_OK(tide_future_break(f, 2, TIDE_LOST));
  CHECK_LEVEL(&low, 3);
  tide_clock_pass(r.clock, 1000 * MS);
  tide_points_expire(r.points, NULL);
  CHECK_LEVEL(&lower, 1);
  tide_increase_begin(&a, &low, 15, 15, gate(&r, one)); /* it has ended */
  CHECK_LEVEL(&low, 3);
  tide_increase_end(&a);
  CHECK(changes >= 4);
  rig_close(&r);
}

TEST(decreases_add_up_and_saturate) {
  struct rig r;
  struct tide_priority p;
  struct tide_decrease d[4];
  rig_open(&r);
  struct tide_future *f = future(&r), *g = future(&r), *mine = future(&r);
  struct tide_point one = promise(f), two = promise(g), cancel = promise(mine);
  tide_priority_init(&p, 8, NULL);
  tide_decrease_begin(&d[0], &p, 3, gate(&r, one), NULL);
  CHECK_LEVEL(&p, 5);
  tide_decrease_begin(&d[1], &p, 4, gate(&r, two), gate(&r, cancel));
  CHECK_LEVEL(&p, 1);
  tide_decrease_begin(&d[2], &p, UINT32_MAX, gate(&r, one), NULL);
  CHECK_LEVEL(&p, 0);
  tide_priority_inherit(&p, 6); /* somebody higher waits for it */
  CHECK_LEVEL(&p, 6);
  tide_priority_inherit(&p, 0);
  CHECK_OK(tide_future_break(f, 1, TIDE_OWNER_DIED)); /* lifted when its dependency errs */
  CHECK_LEVEL(&p, 4);
  CHECK_OK(tide_future_fulfil(mine, 1, NULL)); /* the point that cancels it */
  CHECK_LEVEL(&p, 8);
  tide_decrease_begin(&d[3], &p, 5, gate(&r, one), NULL); /* on a dead dependency */
  CHECK_LEVEL(&p, 8);
  tide_decrease_end(&d[3]);
  tide_priority_set_base(&p, 99);
  CHECK_LEVEL(&p, 15);
  rig_close(&r);
}

/* The cancelling point counts when it is *queued*. */
TEST(cancelled_when_queued) {
  struct rig r;
  struct tide_channel a;
  struct tide_priority p;
  struct tide_decrease d;
  struct command c;
  struct tide_future *mine;
  rig_open(&r);
  tide_channel_open(&a, r.points);
  struct tide_future *f = future(&r);
  CHECK_OK(tide_future_create_on(r.client, &a, NULL, &mine));
  struct tide_point one = promise(f), cancel = promise(mine);
  tide_priority_init(&p, 8, NULL);
  tide_decrease_begin(&d, &p, 3, gate(&r, one), gate(&r, cancel));
  CHECK_LEVEL(&p, 5);
  CHECK_OK(QUEUE(&r, &a, &c, &cancel, one));
  CHECK_LEVEL(&p, 8);
  CHECK_OK(tide_future_fulfil(f, 1, NULL));
  command_done(&r, &c, TIDE_OK);
  rig_close(&r);
}

/* 26: a synchronous call suspends what was made before it, and gives exactly that back. */
TEST(scopes) {
  struct rig r;
  struct tide_priority p;
  struct tide_decrease d[4];
  struct tide_scope_of_decreases outer, inner;
  rig_open(&r);
  struct tide_future *f = future(&r), *g = future(&r);
  struct tide_point one = promise(f), two = promise(g);
  tide_priority_init(&p, 10, NULL);
  tide_decrease_begin(&d[0], &p, 1, gate(&r, one), NULL);
  tide_decrease_begin(&d[1], &p, 2, gate(&r, two), NULL);
  CHECK_LEVEL(&p, 7);
  tide_scope_begin(&p, &outer);
  CHECK_LEVEL(&p, 10);
  tide_decrease_begin(&d[2], &p, 4, gate(&r, two), NULL); /* made inside: it counts */
  CHECK_LEVEL(&p, 6);
  tide_scope_begin(&p, &inner);
  CHECK_LEVEL(&p, 10);
  CHECK_OK(tide_future_fulfil(f, 1, NULL)); /* one ends while it is suspended */
  CHECK_LEVEL(&p, 10);
  tide_scope_end(&p, &outer); /* in any order */
  CHECK_LEVEL(&p, 10);
  tide_scope_end(&p, &inner);
  CHECK_LEVEL(&p, 4);
  CHECK_OK(tide_future_fulfil(g, 1, NULL));
  CHECK_LEVEL(&p, 10);
  rig_close(&r);
}

TEST_MAIN(CASE(increase_until), CASE(decreases_add_up_and_saturate), CASE(cancelled_when_queued),
          CASE(scopes))
