/* Large and deep: chains, lattices, crowds. Nothing recurses, nothing is forgotten, and an
 * unrelated point is not touched. (How long it takes is a benchmark's affair.) */
#include "point_rig.h"
#include "base/alloc.h"

static struct tide_future *on(struct rig *r, struct tide_channel *channel, uint32_t capacity) {
  struct tide_future_params params = {.struct_size = sizeof params, .capacity = capacity};
  struct tide_future *f;
  CHECK_OK(tide_future_create_on(r->client, channel, &params, &f));
  return f;
}

static struct tide_point promise(struct tide_future *f) {
  struct tide_point point;
  CHECK_OK(tide_future_promise(f, 0, &point));
  return point;
}

static void open_large(struct rig *r) {
  struct tide_points_params params = {
      .struct_size = sizeof params, .manual = true, .timelines = 1 << 16, .parts = 1 << 18};
  rig_open_with(r, &params, NULL);
}

/* 10: two clients, each waiting for the other's last, 30 000 deep; the first is held up. */
#define DEPTH 30000
TEST(a_deep_chain) {
  struct rig r;
  struct tide_channel channels[2];
  struct tide_future *futures[2];
  struct command *commands = calloc(DEPTH, sizeof *commands);
  open_large(&r);
  struct tide_point last = promise(on(&r, NULL, 1)), first = last, unrelated;
  unrelated = promise(on(&r, NULL, 1));
  for (int i = 0; i < 2; i++) {
    struct tide_point late, k;
    tide_channel_open(&channels[i], r.points);
    futures[i] = on(&r, &channels[i], DEPTH / 2);
    /* Something that comes last is waited for, so that each wait asks whether it closes a cycle.
     */
    late = promise(on(&r, &channels[i], 1));
    CHECK_OK(tide_compound_promise(r.client, 0, &k));
    CHECK_OK(tide_compound_all(r.client, k, &late, 1));
  }
  for (int i = 0; i < DEPTH; i++) {
    struct tide_point next = promise(futures[i & 1]);
    CHECK_OK(QUEUE(&r, &channels[i & 1], &commands[i], &next, last));
    last = next;
  }
  CHECK_STATE(&r, last, TIDE_POINT_PROMISED);
  struct tide_future *root = tide_slot_find(r.points, first, TIDE_SLOT_FUTURE);
  CHECK_OK(tide_future_fulfil(root, 1, NULL));
  CHECK_STATE(&r, last, TIDE_POINT_SCHEDULED);
  CHECK_STATE(&r, unrelated, TIDE_POINT_PROMISED);
  for (int i = 0; i < DEPTH; i++) command_done(&r, &commands[i], TIDE_OK);
  CHECK_STATE(&r, last, TIDE_POINT_RETIRED);
  rig_close(&r);
  free(commands);
}

/* The same from the other end: each promise is waited for before it is queued, and each wait asks
 * whether it closes a cycle; the last one would. */
#define LINKS 2000
TEST(a_chain_from_its_end) {
  struct rig r;
  static struct tide_channel channels[LINKS];
  static struct tide_future *futures[LINKS];
  static struct tide_point points[LINKS];
  struct command *commands = calloc(LINKS, sizeof *commands), *closing = calloc(1, sizeof *closing);
  open_large(&r);
  for (int i = 0; i < LINKS; i++) {
    tide_channel_open(&channels[i], r.points);
    futures[i] = on(&r, &channels[i], 2);
    points[i] = promise(futures[i]);
  }
  for (int i = LINKS - 1; i > 0; i--)
    CHECK_OK(QUEUE(&r, &channels[i], &commands[i], &points[i], points[i - 1]));
  CHECK_STATUS(QUEUE(&r, &channels[0], closing, NULL, points[LINKS - 1]), TIDE_DEADLOCK);
  CHECK_OK(QUEUE_FREE(&r, &channels[0], &commands[0], &points[0]));
  CHECK_STATE(&r, points[LINKS - 1], TIDE_POINT_SCHEDULED);
  for (int i = 0; i < LINKS; i++) command_done(&r, &commands[i], i == 7 ? TIDE_LOST : TIDE_OK);
  CHECK_BROKEN(&r, points[7], TIDE_LOST);
  rig_close(&r);
  free(commands);
  free(closing);
}

/* 9: layers of two, each of which needs both below: 2^LAYERS ways down, 4 edges a layer. */
#define LAYERS 1000
TEST(a_diamond_lattice) {
  struct rig r;
  struct tide_point below[2], layer[2];
  struct tide_future *bottom[2], *mine;
  struct tide_client *me;
  struct told told;
  open_large(&r);
  CHECK_OK(tide_client_create(r.points, NULL, &me));
  CHECK_OK(tide_future_create(me, NULL, &mine));
  struct tide_point own = promise(mine);
  for (int i = 0; i < 2; i++) {
    bottom[i] = on(&r, NULL, 1);
    below[i] = promise(bottom[i]);
  }
  for (int n = 0; n < LAYERS; n++) {
    for (int i = 0; i < 2; i++) {
      CHECK_OK(tide_compound_promise(r.client, 0, &layer[i]));
      if (n % 3 == 2) CHECK_OK(tide_compound_any(r.client, layer[i], below, 2));
      else CHECK_OK(tide_compound_all(r.client, layer[i], below, 2));
    }
    memcpy(below, layer, sizeof below);
  }
  /* Somebody assumes, and so it is searched; and somebody waits before it is defined. */
  CHECK_OK(when_schedulable(&told, me, below[0], &own, 1));
  CHECK_OK(tide_future_fulfil(bottom[0], 1, NULL));
  CHECK_STATE(&r, below[0], TIDE_POINT_PROMISED);
  CHECK_OK(tide_future_fulfil(bottom[1], 1, NULL));
  CHECK_STATE(&r, below[0], TIDE_POINT_RETIRED);
  CHECK_EQ_U64(told.calls, 1);
  tide_client_destroy(me, TIDE_OK);
  rig_close(&r);
}

static uint64_t sum;
static void count(struct tide_timepoint *timepoint, enum tide_status status) {
  (void)timepoint;
  sum += 1 + ((uint64_t)status << 32);
}

/* 11: 32 000 waits for one point, and it breaks. */
#define CROWD 32000
TEST(a_crowd_on_one_point) {
  struct rig r;
  struct tide_timepoint *timepoints = calloc(CROWD, sizeof *timepoints);
  struct told *told = calloc(CROWD, sizeof *told);
  sum = 0;
  open_large(&r);
  struct tide_future *f = on(&r, NULL, 4);
  struct tide_point never = promise(f), other = promise(f);
  for (int i = 0; i < CROWD; i++) {
    timepoints[i] = (struct tide_timepoint){.call = count};
    CHECK_OK(tide_point_when_complete(r.points, never, &timepoints[i]));
    CHECK_OK(when_schedulable(&told[i], r.client, never, NULL, 0));
  }
  for (int i = 0; i < CROWD; i += 2) {
    CHECK(tide_timepoint_cancel(&timepoints[i]));
    CHECK(tide_schedulable_cancel(&told[i].wait));
  }
  CHECK_OK(tide_future_break(f, 1, TIDE_LOST));
  CHECK_EQ_U64(sum, CROWD / 2 * (1 + ((uint64_t)TIDE_LOST << 32)));
  for (int i = 0; i < CROWD; i++) CHECK_EQ_U64(told[i].calls, i & 1);
  CHECK_STATE(&r, other, TIDE_POINT_PROMISED);
  rig_close(&r);
  free(timepoints);
  free(told);
}

/* 12: 100 000 blocked commands on one channel. */
#define BLOCKED 100000
TEST(a_crowd_on_one_channel) {
  struct rig r;
  struct tide_channel channel;
  struct command *commands = calloc(BLOCKED, sizeof *commands);
  open_large(&r);
  tide_channel_open(&channel, r.points);
  struct tide_future *f = on(&r, NULL, 1), *mine = on(&r, &channel, 2);
  struct tide_point held_up = promise(f), early = promise(mine), late = promise(mine), k;
  CHECK_OK(tide_compound_promise(r.client, 0, &k));
  CHECK_OK(tide_compound_all(r.client, k, &late, 1)); /* so that each wait asks for a cycle */
  for (int i = 0; i < BLOCKED; i++)
    CHECK_OK(QUEUE(&r, &channel, &commands[i], i == 0 ? &early : NULL, held_up));
  CHECK_STATE(&r, early, TIDE_POINT_PROMISED);
  CHECK_OK(tide_future_fulfil(f, 1, NULL));
  CHECK_STATE(&r, early, TIDE_POINT_SCHEDULED);
  for (int i = 0; i < BLOCKED; i++) command_done(&r, &commands[i], TIDE_OK);
  CHECK_STATE(&r, early, TIDE_POINT_RETIRED);
  CHECK(!channel.tail);
  rig_close(&r);
  free(commands);
}

/* One wake for all of a hundred. */
TEST(one_wake_for_a_hundred) {
  struct rig r;
  struct tide_point parts[100], k;
  struct tide_future *futures[100];
  struct tide_timepoint timepoint = {.call = count};
  sum = 0;
  open_large(&r);
  for (int i = 0; i < 100; i++) {
    futures[i] = on(&r, NULL, 1);
    parts[i] = promise(futures[i]);
  }
  CHECK_OK(tide_compound_promise(r.client, 0, &k));
  CHECK_OK(tide_point_when_complete(r.points, k, &timepoint));
  CHECK_OK(tide_compound_all(r.client, k, parts, 100));
  for (int i = 99; i >= 0; i--) {
    CHECK_EQ_U64(sum, 0);
    CHECK_OK(tide_future_fulfil(futures[i], 1, NULL));
  }
  CHECK_EQ_U64(sum, 1);
  rig_close(&r);
}

/* A cycle that an ANY hides: it counts as scheduled, by a part that may yet break. */
TEST(a_circle_behind_an_any) {
  struct rig r;
  struct tide_channel a;
  struct command c;
  open_large(&r);
  tide_channel_open(&a, r.points);
  struct tide_future *f = on(&r, &a, 1);
  struct tide_point p = promise(f), k, l;
  CHECK_OK(tide_compound_promise(r.client, 0, &k));
  CHECK_OK(tide_compound_promise(r.client, 0, &l));
  CHECK_OK(QUEUE_FREE(&r, &a, &c, &p));
  CHECK_OK(tide_compound_any(r.client, k, (struct tide_point[]){p, l}, 2));
  CHECK_STATE(&r, k, TIDE_POINT_SCHEDULED);
  CHECK_STATUS(tide_compound_all(r.client, l, &k, 1), TIDE_DEADLOCK);
  command_done(&r, &c, TIDE_FAILED);
  CHECK_OK(tide_compound_destroy(r.client, l));
  CHECK_BROKEN(&r, k, TIDE_FAILED);
  rig_close(&r);
}

/* What the channel still owes has more dependents than the search up looks at first: the search
 * down from the wait has the answer, both ways. */
TEST(a_circle_below_a_crowd) {
  enum { ABOVE = 300 };
  struct rig r;
  struct tide_channel a, b;
  struct command c[2];
  struct tide_point crowd[ABOVE];
  open_large(&r);
  tide_channel_open(&a, r.points);
  tide_channel_open(&b, r.points);
  struct tide_future *f = on(&r, &a, 1), *g = on(&r, &b, 1);
  struct tide_point p = promise(f), q = promise(g);
  for (int i = 0; i < ABOVE; i++) {
    CHECK_OK(tide_compound_promise(r.client, 0, &crowd[i]));
    CHECK_OK(tide_compound_all(r.client, crowd[i], &p, 1));
  }
  for (int i = 0; i < ABOVE; i += ABOVE - 1)
    CHECK_STATUS(QUEUE(&r, &a, &c[0], &p, crowd[i]), TIDE_DEADLOCK);
  CHECK_OK(QUEUE(&r, &a, &c[0], &p, q));
  CHECK_OK(QUEUE_FREE(&r, &b, &c[1], &q));
  command_done(&r, &c[1], TIDE_OK);
  command_done(&r, &c[0], TIDE_OK);
  CHECK_STATE(&r, crowd[0], TIDE_POINT_RETIRED);
  rig_close(&r);
}

/* ---- nothing is allocated where nothing may be ---- */

struct counting {
  struct tide_allocator allocator;
  uint64_t calls, left, pieces;
};
static void *counted_alloc(void *self, size_t size, size_t align) {
  struct counting *c = self;
  if (c->calls++ >= c->left) return NULL;
  c->pieces++;
  return tide_allocator_system()->alloc(NULL, size, align);
}
static void counted_free(void *self, void *memory, size_t size) {
  struct counting *c = self;
  c->pieces--;
  tide_allocator_system()->free(NULL, memory, size);
}

TEST(nothing_is_allocated_on_the_way) {
  struct counting c = {{counted_alloc, counted_free, &c}, 0, UINT64_MAX, 0};
  struct tide_points_params params = {.struct_size = sizeof params, .manual = true};
  struct rig r;
  struct tide_channel a;
  struct command command;
  struct told told, other;
  rig_open_with(&r, &params, &c.allocator);
  tide_channel_open(&a, r.points);
  struct tide_future *f = on(&r, &a, 8), *h = on(&r, NULL, 8);
  struct tide_point k;
  CHECK_OK(tide_compound_promise(r.client, 0, &k));
  c.left = c.calls; /* no more */
  struct tide_point p = promise(f), q = promise(h), s = promise(h);
  struct tide_timepoint timepoint = {.call = count};
  sum = 0;
  CHECK_OK(tide_point_when_complete(r.points, k, &timepoint));
  CHECK_OK(when_schedulable(&told, r.client, k, NULL, 0));
  CHECK_OK(when_schedulable(&other, r.client, k, &q, 1));
  CHECK_OK(
      tide_compound_expression(r.client, k, "0&1|2", 5, (struct tide_point[]){p, q, s}, 3, NULL));
  CHECK_OK(QUEUE(&r, &a, &command, &p, q));
  CHECK_EQ_U64(other.calls, 1);
  CHECK_OK(tide_future_fulfil(h, 1, NULL));
  CHECK_OK(tide_future_break(h, 2, TIDE_LOST));
  command_done(&r, &command, TIDE_OK);
  CHECK_EQ_U64(told.calls, 1);
  CHECK_EQ_U64(sum, 1);
  tide_clock_pass(r.clock, 2000 * MS);
  tide_points_expire(r.points, NULL);
  CHECK_EQ_U64(c.calls, c.left);
  struct tide_future *none;
  CHECK_STATUS(tide_future_create(r.client, NULL, &none), TIDE_NOMEM);
  CHECK_STATUS(tide_compound_promise(r.client, 0, &k), TIDE_NOMEM);
  rig_close(&r);
  CHECK_EQ_U64(c.pieces, 0);
}

/* Whatever cannot be had, nothing is left behind. */
TEST(memory_runs_out_anywhere) {
  for (uint64_t left = 4; left < 40; left++) {
    struct counting c = {{counted_alloc, counted_free, &c}, 0, UINT64_MAX, 0};
    struct rig r = {0};
    struct tide_clock_params clock = {.struct_size = sizeof clock, .start = 1};
    CHECK_OK(tide_clock_create(tide_allocator_system(), &clock, &r.clock));
    struct tide_context_params context_params = {.struct_size = sizeof context_params,
                                                 .platform = tide_clock_platform(r.clock),
                                                 .allocator = &c.allocator};
    CHECK_OK(tide_context_create(&context_params, &r.context));
    struct tide_points_params params = {.struct_size = sizeof params, .manual = true};
    struct tide_client *client = NULL;
    struct tide_future *f = NULL;
    struct tide_point k;
    c.left = left;
    bool through = tide_points_create(r.context, &params, &r.points) == TIDE_OK &&
                   tide_client_create(r.points, NULL, &client) == TIDE_OK &&
                   tide_future_create(client, NULL, &f) == TIDE_OK &&
                   tide_compound_promise(client, 0, &k) == TIDE_OK;
    tide_client_destroy(client, TIDE_OK);
    tide_points_destroy(r.points);
    tide_context_destroy(r.context);
    tide_clock_destroy(r.clock);
    CHECK_EQ_U64(c.pieces, 0);
    CHECK(through == (left >= c.calls));
  }
}

TEST_MAIN(CASE(a_deep_chain), CASE(a_chain_from_its_end), CASE(a_diamond_lattice),
          CASE(a_crowd_on_one_point), CASE(a_crowd_on_one_channel), CASE(one_wake_for_a_hundred),
          CASE(a_circle_behind_an_any), CASE(a_circle_below_a_crowd),
          CASE(nothing_is_allocated_on_the_way), CASE(memory_runs_out_anywhere))
