/* Operations of a channel: a point that breaks or is kept against a submit, a cancel against a
 * start, and both on their way while the queue goes. */
#include "queue_setup.h"

struct more {
  struct state s;
  struct tide_points *points;
  struct tide_client *client;
  struct tide_queue *channel;
  struct tide_future *host, *own;
  struct tide_point p, q, r;
};

static void setup_channel(void *self) {
  struct more *m = self;
  struct tide_points_params room = {
      .struct_size = sizeof room, .manual = true, .timelines = 3, .parts = 1};
  struct tide_future_params params = {.struct_size = sizeof params, .capacity = 2};
  setup_sched(&m->s, false);
  m->s.backend =
      (struct tide_backend){.name = "case", .in_order = true, .kick = kick, .self = self};
  EXPECT_OK(tide_device_open(m->s.context, &m->s.backend, "device", &m->s.device));
  EXPECT_OK(tide_points_create(m->s.context, &room, &m->points));
  EXPECT_OK(tide_client_create(m->points, NULL, &m->client));
  struct tide_queue_params queue = small;
  queue.client = m->client;
  EXPECT_OK(tide_queue_create(m->s.device, &queue, &m->channel));
  EXPECT_OK(tide_future_create(m->client, &params, &m->host));
  EXPECT_OK(tide_queue_create_future(m->channel, &params, &m->own));
  EXPECT_OK(tide_future_promise(m->host, 0, &m->p));
  EXPECT_OK(tide_future_promise(m->own, 0, &m->q));
  EXPECT_OK(tide_future_promise(m->own, 0, &m->r));
}

/* Keeps q: with a body, or none; waits for p, or is cancelled by it. */
static void submit_first(struct more *m, bool has_body, bool waits, bool cancels) {
  struct state *s = &m->s;
  struct tide_operation_points points = {.waits = &m->p,
                                         .wait_count = waits,
                                         .retires = &m->q,
                                         .retire_count = 1,
                                         .cancel = cancels ? &m->p : NULL};
  struct tide_operation operation = {.label = "first",
                                     .body = has_body ? &count : NULL,
                                     .arguments = &s,
                                     .arguments_size = sizeof s,
                                     .points = &points};
  EXPECT_OK(tide_queue_submit(m->channel, &operation, NULL, NULL));
}
static void setup_waiting(void *self) {
  setup_channel(self);
  submit_first(self, false, true, false);
}
static void setup_ready(void *self) {
  setup_channel(self);
  submit_first(self, true, false, true);
}
/* Held for r, of its own channel, which its end will break. */
static void setup_held(void *self) {
  struct more *m = self;
  setup_channel(self);
  struct tide_operation_points points = {
      .waits = &m->r, .wait_count = 1, .retires = &m->q, .retire_count = 1, .cancel = &m->p};
  struct tide_operation operation = {
      .label = "held", .flags = TIDE_MAY_BE_PASSED, .points = &points};
  EXPECT_OK(tide_queue_submit(m->channel, &operation, NULL, NULL));
}

static void give_up(void *self) {
  struct more *m = self;
  EXPECT_OK(tide_future_break(m->host, m->p.value, TIDE_FAILED));
}
static void keep(void *self) {
  struct more *m = self;
  EXPECT_OK(tide_future_fulfil(m->host, m->p.value, NULL));
}
static void submit_second(void *self) {
  struct more *m = self;
  EXPECT_OK(tide_queue_retire_point(m->channel, m->r, NULL));
}
static void run_one(void *self) {
  struct more *m = self;
  struct tide_work *work;
  if (tide_device_exchange(m->s.device, NULL, 0, &work, 1, NULL) == 0) return;
  work->status = work->body->host(tide_work_arguments(work));
  tide_device_exchange(m->s.device, &work, 1, NULL, 0, NULL);
}
static void destroy_channel(void *self) {
  struct more *m = self;
  tide_queue_destroy(m->channel);
  m->channel = NULL;
}

static enum tide_status status_of(struct more *m, struct tide_point point) {
  return tide_point_wait(m->points, point, TIDE_NOW);
}
static void tear_down(struct more *m) {
  tide_queue_destroy(m->channel);
  EXPECT_OK(tide_device_settle(m->s.device, TIDE_NOW));
  tide_device_close(m->s.device);
  tide_client_destroy(m->client, TIDE_OK);
  tide_points_destroy(m->points);
}

/* The second is behind the first in its channel, whichever comes first. */
static void both_failed(void *self) {
  struct more *m = self;
  EXPECT(status_of(m, m->q) == TIDE_FAILED && status_of(m, m->r) == TIDE_FAILED);
  tear_down(m);
}
static void ran_or_cancelled(void *self) {
  struct more *m = self;
  EXPECT(status_of(m, m->q) == (m->s.bodies ? TIDE_OK : TIDE_CANCELLED));
  tear_down(m);
}
static void kept_or_cancelled(void *self) {
  struct more *m = self;
  enum tide_status status = status_of(m, m->q);
  EXPECT(status == TIDE_OK || status == TIDE_CANCELLED);
  tear_down(m);
}

#define CHANNEL(name, stale_most, how, at_end, ...)                                                \
  TEST(name) {                                                                                     \
    static const struct interleave_case one = {.size = sizeof(struct more),                        \
                                               .setup = how,                                       \
                                               .threads = {__VA_ARGS__},                           \
                                               .check = at_end,                                    \
                                               .stale = stale_most};                               \
    interleave_explore(&one);                                                                      \
  }

CHANNEL(break_submit, 1, setup_waiting, both_failed, give_up, submit_second)
CHANNEL(cancel_start, 1, setup_ready, ran_or_cancelled, keep, run_one)
CHANNEL(fire_destroy, 1, setup_waiting, kept_or_cancelled, keep, destroy_channel)
CHANNEL(cancel_destroy, 1, setup_held, kept_or_cancelled, keep, destroy_channel)
TEST_MAIN(CASE(break_submit), CASE(cancel_start), CASE(fire_destroy), CASE(cancel_destroy))
