/* tests/unit/channel_rig.h: what the tests of channels share: three channels of one client on the
 * fake device, two futures to keep, and time that passes only when a test says so.
 *
 *   struct world w;
 *   open_world(&w);
 *   struct tide_point p = promise(w.fa);
 *   CHECK_OK(SUBMIT(w.b, .label = "reader", POINTS(WAIT_FOR(p))));
 *   CHECK_OK(SUBMIT(w.a, .label = "writer", POINTS(RETIRE(p))));
 *   close_world(&w); */
#ifndef TESTS_UNIT_CHANNEL_RIG_H
#define TESTS_UNIT_CHANNEL_RIG_H

#include "fake_device.h"
#include "tidemark/clock.h"

#define MS 1000000ull

struct world {
  struct tide_clock *clock;
  struct fake f;
  struct tide_points *points;
  struct tide_client *client;
  struct tide_queue *a, *b, *c; /* channels of the one client; NULL: the test destroyed it */
  struct tide_future *fa, *fb;  /* of a and b */
};

static inline struct tide_queue *channel(struct tide_device *device,
                                         const struct tide_queue_params *params) {
  struct tide_queue *queue;
  CHECK_OK(tide_queue_create(device, params, &queue));
  return queue;
}
#define CHANNEL(device, ...)                                                                       \
  channel((device), &(const struct tide_queue_params){                                             \
                        .struct_size = sizeof(struct tide_queue_params), __VA_ARGS__})

static inline struct tide_future *future_of(struct tide_queue *queue, uint32_t capacity) {
  struct tide_future_params params = {
      .struct_size = sizeof params, .label = "future", .capacity = capacity};
  struct tide_future *future;
  CHECK_OK(tide_queue_create_future(queue, &params, &future));
  return future;
}

/* The context's parameters but for platform and sink. */
static inline void open_world_with(struct world *w, struct tide_context_params context) {
  struct tide_points_params params = {.struct_size = sizeof params, .manual = true, .parts = 8192};
  struct tide_clock_params clock = {.struct_size = sizeof clock, .start = 1000 * MS};
  CHECK_OK(tide_clock_create(tide_allocator_system(), &clock, &w->clock));
  context.platform = tide_clock_platform(w->clock);
  fake_open_with(&w->f, context, true);
  CHECK_OK(tide_points_create(w->f.context, &params, &w->points));
  CHECK_OK(tide_client_create(w->points, NULL, &w->client));
  w->a = CHANNEL(w->f.device, .label = "a", .client = w->client, .operations = 64);
  w->b = CHANNEL(w->f.device, .label = "b", .client = w->client, .operations = 64);
  w->c = CHANNEL(w->f.device, .label = "c", .client = w->client, .operations = 64);
  w->fa = future_of(w->a, 64);
  w->fb = future_of(w->b, 64);
}

static inline void open_world(struct world *w) {
  open_world_with(w, (struct tide_context_params){.struct_size = sizeof(struct tide_context_params),
                                                  .frontier_capacity = 16});
}

static inline void close_world(struct world *w) {
  tide_queue_destroy(w->a);
  tide_queue_destroy(w->b);
  tide_queue_destroy(w->c);
  fake_run_out(&w->f);
  tide_client_destroy(w->client, TIDE_OK);
  fake_run_out(&w->f);
  tide_points_destroy(w->points);
  fake_close(&w->f);
  tide_clock_destroy(w->clock);
}

static inline struct tide_point promise(struct tide_future *future) {
  struct tide_point point;
  CHECK_OK(tide_future_promise(future, 0, &point));
  return point;
}

#define POINTS(...)                                                                                \
  .points = &(const struct tide_operation_points) { __VA_ARGS__ }
#define WAIT_FOR(...)                                                                              \
  .waits = (const struct tide_point[]){__VA_ARGS__},                                               \
  .wait_count = sizeof((const struct tide_point[]){__VA_ARGS__}) / sizeof(struct tide_point)
#define RETIRE(...)                                                                                \
  .retires = (const struct tide_point[]){__VA_ARGS__},                                             \
  .retire_count = sizeof((const struct tide_point[]){__VA_ARGS__}) / sizeof(struct tide_point)

#endif
