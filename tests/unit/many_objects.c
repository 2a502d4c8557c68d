/* A context that is left with very many objects of one kind: what it takes to destroy each does not
 * grow with their number. */
#include "harness.h"
#include "looks.h"

#include "tidemark/channel.h"
#include "tidemark/tidemark.h"

#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

struct many {
  struct tide_context *context;
  struct tide_device *device[2];
  struct tide_timeline *never; /* nobody signals it */
  size_t count;
  const struct tide_allocator *allocator;
};

static void kick(void *self) { (void)self; }
static const struct tide_backend backend = {.name = "none", .in_order = true, .kick = kick};

static enum tide_status run_nothing(void *arguments) {
  (void)arguments;
  return TIDE_OK;
}
static const struct tide_body_class body = {.name = "nothing", .host = run_nothing};

static void on_end(struct tide_timepoint *timepoint, enum tide_status status) {
  CHECK(status == TIDE_CANCELLED);
  looks_free(NULL, timepoint, sizeof *timepoint);
}

static struct tide_timeline *timeline(struct many *m) {
  struct tide_timeline *made;
  CHECK_OK(tide_timeline_create(m->context, NULL, &made));
  return made;
}

static struct tide_queue *queue_on(struct many *m, size_t device, struct tide_client *client) {
  struct tide_queue *made;
  CHECK_OK(tide_queue_create(
      m->device[device], TIDE_PARAMS(tide_queue_params, .operations = 4, .client = client), &made));
  return made;
}

/* Makes one that a look at it is counted of. It is freed once its call has run. */
static struct tide_timepoint *timepoint_of(struct many *m) {
  struct tide_timepoint *made = m->allocator->alloc(m->allocator->self, sizeof *made, 16);
  CHECK(made != NULL);
  made->call = on_end;
  return made;
}

static void call_at_end(struct many *m, struct tide_timeline *of, struct tide_notifier *notifier) {
  struct tide_timepoint *timepoint = timepoint_of(m);
  timepoint->timeline = of;
  timepoint->value = 1;
  timepoint->notifier = notifier;
  CHECK_OK(tide_timepoint_add(timepoint));
}

/* An operation that waits for one timeline, and signals another one (NULL: none). */
static void submit(struct tide_queue *queue, struct tide_timeline *awaited,
                   struct tide_timeline *signalled) {
  struct tide_wait wait = {awaited, 1};
  struct tide_signal signal = {signalled, 1};
  struct tide_operation operation = {.body = &body,
                                     .waits = &wait,
                                     .wait_count = 1,
                                     .signals = &signal,
                                     .signal_count = signalled != NULL};
  CHECK_OK(tide_queue_submit(queue, &operation, NULL, NULL));
}

/* ---- kinds ---- */

static void make_timelines(struct many *m) {
  for (size_t i = 0; i < m->count; i++) call_at_end(m, timeline(m), NULL);
}

static void make_timepoints(struct many *m) {
  for (size_t i = 0; i < m->count; i++) call_at_end(m, m->never, NULL);
}

static void make_notifiers(struct many *m) {
  for (size_t i = 0; i < m->count; i++) {
    struct tide_notifier *notifier;
    CHECK_OK(tide_notifier_create(m->context, &notifier));
    call_at_end(m, m->never, notifier);
  }
}

static void make_wait_sets(struct many *m) {
  struct tide_wait_set *set, *all;
  CHECK_OK(tide_wait_set_create(m->context, (uint32_t)m->count, &all));
  for (size_t i = 0; i < m->count; i++) {
    CHECK_OK(tide_wait_set_create(m->context, 1, &set));
    CHECK_OK(tide_wait_set_add(set, m->never, 1, 0, NULL));
    CHECK_OK(tide_wait_set_add(all, timeline(m), 1, 0, NULL));
  }
}

static void make_pools(struct many *m) {
  struct tide_pool *pool, *all;
  struct tide_buffer *buffer;
  CHECK_OK(tide_pool_create(m->context, TIDE_PARAMS(tide_pool_params, .chunk = 4096), &all));
  for (size_t i = 0; i < m->count; i++) {
    CHECK_OK(tide_pool_create(m->context, NULL, &pool));
    CHECK_OK(tide_pool_alloc(all, 4096, NULL, NULL, &buffer));
  }
}

static void make_queues(struct many *m) {
  for (size_t i = 0; i < m->count; i++) submit(queue_on(m, 0, NULL), m->never, timeline(m));
}

/* The axes of each device are every other one. */
static void make_queues_of_two_devices(struct many *m) {
  for (size_t i = 0; i < m->count; i++) queue_on(m, i % 2, NULL);
}

/* Each queue waits for the one before. */
static void make_chain(struct many *m) {
  struct tide_timeline *last = m->never;
  for (size_t i = 0; i < m->count; i++) {
    struct tide_timeline *next = timeline(m);
    submit(queue_on(m, 0, NULL), last, next);
    last = next;
  }
}

static void make_held(struct many *m) {
  struct tide_queue *queue;
  CHECK_OK(tide_queue_create(
      m->device[0], TIDE_PARAMS(tide_queue_params, .operations = (uint32_t)m->count), &queue));
  for (size_t i = 0; i < m->count; i++) submit(queue, m->never, NULL);
}

/* Instances under way keep their collectives until the members' queues have ended. */
static void make_collectives(struct many *m) {
  struct tide_wait wait = {m->never, 1};
  struct tide_operation part = {.body = &body, .waits = &wait, .wait_count = 1};
  for (size_t i = 0; i < m->count; i++) {
    struct tide_queue *members[2] = {queue_on(m, 0, NULL), queue_on(m, 1, NULL)};
    struct tide_collective *collective;
    CHECK_OK(tide_collective_create(members, 2, NULL, &collective));
    for (size_t k = 0; k < 2; k++)
      CHECK_OK(tide_collective_submit(collective, k, 1, &part, NULL, NULL));
  }
}

static void make_devices(struct many *m) {
  struct tide_device *device;
  for (size_t i = 0; i < m->count; i++)
    CHECK_OK(tide_device_open(m->context, &backend, NULL, &device));
}

static struct tide_points *points_of(struct many *m) {
  struct tide_points *points;
  CHECK_OK(tide_points_create(m->context,
                              TIDE_PARAMS(tide_points_params, .manual = true,
                                          .timelines = 2 * (uint32_t)m->count,
                                          .parts = 2 * (uint32_t)m->count),
                              &points));
  return points;
}

static struct tide_client *client_of(struct tide_points *points) {
  struct tide_client *client;
  CHECK_OK(tide_client_create(points, NULL, &client));
  return client;
}

static struct tide_point promise_of(struct tide_client *client) {
  struct tide_future *future;
  struct tide_point point;
  CHECK_OK(tide_future_create(client, NULL, &future));
  CHECK_OK(tide_future_promise(future, 0, &point));
  return point;
}

static void make_clients(struct many *m) {
  struct tide_points *points = points_of(m);
  for (size_t i = 0; i < m->count; i++) promise_of(client_of(points));
}

/* Each compound has the one before as its part, and a call at its end. */
static void make_compounds(struct many *m) {
  struct tide_points *points = points_of(m);
  struct tide_client *client = client_of(points);
  struct tide_point part = promise_of(client), compound;
  for (size_t i = 0; i < m->count; i++) {
    CHECK_OK(tide_compound_promise(client, 0, &compound));
    CHECK_OK(tide_compound_all(client, compound, &part, 1));
    CHECK_OK(tide_point_when_complete(points, compound, timepoint_of(m)));
    part = compound;
  }
}

static void make_channels(struct many *m) {
  struct tide_points *points = points_of(m);
  struct tide_point point = promise_of(client_of(points));
  for (size_t i = 0; i < m->count; i++) {
    struct tide_queue *queue = queue_on(m, 0, client_of(points));
    CHECK_OK(tide_queue_wait_point(queue, point, 0, NULL));
  }
}

/* ---- axes ---- */

static tide_axis axis_at(size_t i) { return tide_axis_make(0, TIDE_DOMAIN_QUEUE, i + 1); }

/* Every other axis closes first, so that each is an interval of its own for a while. */
static void close_axes(const struct tide_allocator *allocator, const void *given, size_t count) {
  struct tide_tracker *tracker;
  struct tide_tracker_params params = {sizeof params, allocator, tide_platform_linux()};
  (void)given;
  CHECK_OK(tide_tracker_create(&params, &tracker));
  for (size_t i = 0; i < count; i++) CHECK_OK(tide_tracker_register(tracker, axis_at(i)));
  looks = 0;
  for (size_t i = 0; i < count; i += 2) CHECK_OK(tide_tracker_close(tracker, axis_at(i)));
  for (size_t i = 1; i < count; i += 2) CHECK_OK(tide_tracker_close(tracker, axis_at(i)));
  tide_tracker_destroy(tracker);
}

TEST(axes) { looks_check(close_axes, NULL, 2048); }

/* ---- */

static void leave_to_context(const struct tide_allocator *allocator, const void *given,
                             size_t count) {
  void (*const *make)(struct many *) = given;
  struct many m = {.count = count, .allocator = allocator};
  CHECK_OK(tide_context_create(
      TIDE_PARAMS(tide_context_params, .allocator = allocator, .frontier_capacity = 4),
      &m.context));
  for (int i = 0; i < 2; i++) CHECK_OK(tide_device_open(m.context, &backend, NULL, &m.device[i]));
  m.never = timeline(&m);
  (*make)(&m);
  looks = 0;
  tide_context_destroy(m.context);
}

static void check_kind(void (*make)(struct many *)) { looks_check(leave_to_context, &make, 32); }

TEST(timelines) { check_kind(make_timelines); }
TEST(timepoints) { check_kind(make_timepoints); }
TEST(notifiers) { check_kind(make_notifiers); }
TEST(wait_sets) { check_kind(make_wait_sets); }
TEST(pools) { check_kind(make_pools); }
TEST(queues) { check_kind(make_queues); }
TEST(queues_of_two_devices) { check_kind(make_queues_of_two_devices); }
TEST(chain) { check_kind(make_chain); }
TEST(held) { looks_check(leave_to_context, &(void (*)(struct many *)){make_held}, 256); }
TEST(collectives) { check_kind(make_collectives); }
TEST(devices) { check_kind(make_devices); }
TEST(clients) { check_kind(make_clients); }
TEST(compounds) { check_kind(make_compounds); }
TEST(channels) { check_kind(make_channels); }

TEST_MAIN(CASE(timelines), CASE(timepoints), CASE(notifiers), CASE(wait_sets), CASE(pools),
          CASE(queues), CASE(queues_of_two_devices), CASE(chain), CASE(held), CASE(collectives),
          CASE(devices), CASE(clients), CASE(compounds), CASE(channels), CASE(axes))
