/* Timelines from the host: values, records, failures, sets and timepoints. */
#include "harness.h"
#include "timeline/timeline_state.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>

static struct tide_context *context;

static void open_context(uint8_t capacity) {
  struct tide_context_params params = {.struct_size = sizeof params, .frontier_capacity = capacity};
  CHECK_OK(tide_context_create(&params, &context));
}
static void close_context(void) { tide_context_destroy(context); }

static struct tide_timeline *make(uint64_t initial, uint32_t history) {
  struct tide_timeline *timeline;
  struct tide_timeline_params params = {
      .struct_size = sizeof params, .label = "t", .initial = initial, .history = history};
  CHECK_OK(tide_timeline_create(context, &params, &timeline));
  return timeline;
}

static uint64_t now(void) { return context->platform->now(context->platform->self); }

struct host {
  struct tide_position position;
  TIDE_FRONTIER_STORAGE(known, 64);
};

static void host_open(struct host *host) {
  tide_axis axis;
  CHECK_OK(tide_lease_take(context->lease, TIDE_DOMAIN_HOST, &axis));
  CHECK_OK(tide_tracker_register(context->tracker, axis));
  tide_frontier_init(&host->known.frontier, context->frontier_capacity);
  host->position = (struct tide_position){.axis = axis, .frontier = &host->known.frontier};
}

/* ---- values ----------------------------------------------------------------------------- */

TEST(signal_and_query) {
  open_context(16);
  struct tide_timeline *t = make(3, 0);
  CHECK_EQ_STR(tide_timeline_label(t), "t");
  CHECK(tide_timeline_scope(t) == TIDE_SCOPE_PROCESS);
  CHECK_EQ_U64(tide_timeline_query(t), 3);
  CHECK_STATUS(tide_timeline_signal_external(t, 3), TIDE_VALUE);
  CHECK_STATUS(tide_timeline_signal_external(t, 2), TIDE_VALUE);
  CHECK_STATUS(tide_timeline_signal_external(t, 0), TIDE_VALUE);
  CHECK_OK(tide_timeline_signal_external(t, 4));
  CHECK_OK(tide_timeline_signal_external(t, 1ull << 40));
  CHECK_EQ_U64(tide_timeline_query(t), 1ull << 40);
  CHECK_OK(tide_timeline_wait(t, 0, TIDE_NOW));
  CHECK_OK(tide_timeline_wait(t, 1ull << 40, TIDE_NOW));
  CHECK_STATUS(tide_timeline_wait(t, (1ull << 40) + 1, TIDE_NOW), TIDE_TIMEOUT);
  uint64_t start = now();
  CHECK_STATUS(tide_timeline_wait(t, UINT64_MAX, start + 3000000), TIDE_TIMEOUT);
  CHECK(now() >= start + 3000000);
  CHECK_STATUS(tide_timeline_wait(t, UINT64_MAX, start), TIDE_TIMEOUT); /* in the past */
  tide_timeline_destroy(t);
  close_context();
}

/* The greatest value is a value like any other. */
TEST(greatest_value) {
  open_context(16);
  struct tide_timeline *t = make(0, 0);
  CHECK_STATUS(tide_timeline_wait(t, UINT64_MAX, TIDE_NOW), TIDE_TIMEOUT);
  CHECK_OK(tide_timeline_signal_external(t, UINT64_MAX - 1));
  CHECK_STATUS(tide_timeline_wait(t, UINT64_MAX, TIDE_NOW), TIDE_TIMEOUT);
  CHECK_OK(tide_timeline_signal_external(t, UINT64_MAX));
  CHECK_EQ_U64(tide_timeline_query(t), UINT64_MAX);
  CHECK_OK(tide_timeline_wait(t, UINT64_MAX, TIDE_NOW));
  CHECK_STATUS(tide_timeline_signal_external(t, UINT64_MAX), TIDE_VALUE);
  tide_timeline_destroy(t);
  t = make(UINT64_MAX, 0);
  CHECK_EQ_U64(tide_timeline_query(t), UINT64_MAX);
  tide_timeline_destroy(t);
  close_context();
}

TEST(scopes_and_parameters) {
  open_context(16);
  struct tide_timeline *t;
  struct tide_timeline_params params = {.struct_size = sizeof params, .scope = TIDE_SCOPE_GROUP};
  CHECK_OK(tide_timeline_create(context, &params, &t));
  CHECK_STATUS(tide_timeline_signal_external(t, 1), TIDE_SCOPE);
  CHECK_STATUS(tide_timeline_wait(t, 1, TIDE_FOREVER), TIDE_SCOPE);
  struct tide_wait_point point = {.timeline = t, .value = 1};
  CHECK_STATUS(tide_wait_any(&point, 1, TIDE_FOREVER, NULL), TIDE_SCOPE);
  tide_timeline_destroy(t);
  params = (struct tide_timeline_params){.struct_size = sizeof(struct tide_timeline_params),
                                         .operations_only = true};
  CHECK_OK(tide_timeline_create(context, &params, &t));
  CHECK_STATUS(tide_timeline_signal_external(t, 1), TIDE_SCOPE);
  tide_timeline_destroy(t);
  params = (struct tide_timeline_params){.struct_size = sizeof(struct tide_timeline_params),
                                         .scope = (enum tide_scope)6};
  CHECK_STATUS(tide_timeline_create(context, &params, &t), TIDE_INVALID);
  params = (struct tide_timeline_params){.struct_size = sizeof(struct tide_timeline_params),
                                         .scope = TIDE_SCOPE_SYSTEM};
  CHECK_OK(tide_timeline_create(context, &params, &t));
  CHECK_OK(tide_timeline_signal_external(t, 1));
  tide_timeline_destroy(t);
  params = (struct tide_timeline_params){.struct_size = sizeof(struct tide_timeline_params),
                                         .history = UINT32_MAX};
  CHECK_STATUS(tide_timeline_create(context, &params, &t), TIDE_INVALID);
  CHECK(tide_scope_for(&(struct tide_scope_usage){.queues = 1, .devices = 1}) == TIDE_SCOPE_QUEUE);
  CHECK(tide_scope_for(&(struct tide_scope_usage){.queues = 2, .devices = 1}) == TIDE_SCOPE_DEVICE);
  CHECK(tide_scope_for(&(struct tide_scope_usage){.queues = 2, .devices = 2}) == TIDE_SCOPE_GROUP);
  CHECK(tide_scope_for(&(struct tide_scope_usage){.host = true}) == TIDE_SCOPE_PROCESS);
  CHECK(tide_scope_for(&(struct tide_scope_usage){.exported = true}) == TIDE_SCOPE_SYSTEM);
  tide_timeline_destroy(NULL);
  tide_timeline_release(NULL);
  close_context();
}

/* ---- failing ------------------------------------------------------------------------------ */

TEST(failing) {
  open_context(16);
  struct tide_timeline *t = make(0, 0);
  struct host host;
  host_open(&host);
  CHECK_OK(tide_timeline_signal(t, 2, &host.position));
  CHECK_OK(tide_timeline_status(t));
  tide_timeline_fail(t, TIDE_IO);
  tide_timeline_fail(t, TIDE_LOST); /* the first one stays */
  CHECK_STATUS(tide_timeline_status(t), TIDE_IO);
  CHECK_OK(tide_timeline_wait(t, 2, TIDE_NOW)); /* reached stays reached */
  CHECK_STATUS(tide_timeline_wait(t, 3, TIDE_NOW), TIDE_IO);
  CHECK_STATUS(tide_timeline_wait(t, 3, TIDE_FOREVER), TIDE_IO);
  uint64_t epoch = host.position.epoch;
  CHECK_STATUS(tide_timeline_signal(t, 3, &host.position), TIDE_IO);
  CHECK_STATUS(tide_timeline_signal_external(t, UINT64_MAX), TIDE_IO);
  CHECK_EQ_U64(host.position.epoch, epoch);
  CHECK_EQ_U64(tide_timeline_query(t), 2);
  struct tide_record_info info;
  CHECK_OK(tide_timeline_frontier_at(t, 1, NULL, &info));
  CHECK_EQ_U64(info.value, 2);
  tide_timeline_destroy(t);
  close_context();
}

/* ---- records -------------------------------------------------------------------------------- */

TEST(records) {
  open_context(16);
  struct tide_timeline *t = make(1, 16), *u = make(0, 0);
  struct host a, b;
  host_open(&a);
  host_open(&b);
  TIDE_FRONTIER_STORAGE(f, 16);
  tide_frontier_init(&f.frontier, 16);
  struct tide_record_info info;
  CHECK_OK(tide_timeline_signal(t, 2, &a.position));
  CHECK_EQ_U64(a.position.epoch, 1);
  CHECK(tide_tracker_finished(context->tracker, a.position.axis, 1));
  CHECK_OK(tide_timeline_import(t, 2, &b.position));
  CHECK_OK(tide_timeline_signal(u, 1, &b.position));
  CHECK_OK(tide_timeline_signal(t, 5, &b.position));
  CHECK_OK(tide_timeline_signal_external(t, 7));
  CHECK_STATUS(tide_timeline_frontier_at(t, 1, &f.frontier, &info), TIDE_NOT_FOUND);
  CHECK_STATUS(tide_timeline_frontier_at(t, 8, &f.frontier, &info), TIDE_TIMEOUT);
  CHECK_OK(tide_timeline_frontier_at(t, 2, &f.frontier, &info)); /* of 2, not of 5 */
  CHECK(info.value == 2 && info.axis == a.position.axis && info.epoch == 1 && !info.external &&
        !info.coarse);
  CHECK(f.frontier.count == 1 && tide_frontier_get(&f.frontier, a.position.axis) == 1);
  CHECK_OK(tide_timeline_frontier_at(t, 3, &f.frontier, &info));
  CHECK(info.value == 5 && info.axis == b.position.axis && info.epoch == 2);
  CHECK(f.frontier.count == 2 && tide_frontier_get(&f.frontier, b.position.axis) == 2);
  CHECK_OK(tide_timeline_frontier_at(t, 6, &f.frontier, &info));
  CHECK(info.value == 7 && info.external && info.axis == 0);
  CHECK(f.frontier.count == 0 && f.frontier.tainted);
  struct tide_position stranger = a.position;
  stranger.axis = tide_axis_make(9, TIDE_DOMAIN_HOST, 77);
  stranger.tracked = NULL;
  CHECK_STATUS(tide_timeline_signal(t, 9, &stranger), TIDE_NOT_FOUND);
  CHECK_EQ_U64(tide_timeline_query(t), 7);
  tide_timeline_destroy(t);
  tide_timeline_destroy(u);
  close_context();
}

/* A position with more room than records have, whose entries reach over more axes than fit there:
 * few enough they are all the same. */
TEST(records_of_wide_positions) {
  open_context(16);
  struct tide_timeline *t = make(0, 16);
  struct host a;
  host_open(&a);
  tide_frontier_init(&a.known.frontier, 64);
  for (uint64_t i = 1; i < 10; i++)
    tide_frontier_raise(&a.known.frontier, a.position.axis + 8 * i, i, NULL);
  for (uint64_t value = 1; value <= 40; value++) {
    CHECK_OK(tide_timeline_signal(t, value, &a.position));
    TIDE_FRONTIER_STORAGE(f, 16);
    tide_frontier_init(&f.frontier, 16);
    CHECK_OK(tide_timeline_frontier_at(t, value, &f.frontier, NULL));
    CHECK_OK(tide_frontier_validate(&f.frontier, NULL));
    CHECK(f.frontier.count == 10 && !f.frontier.tainted);
    CHECK_EQ_U64(tide_frontier_get(&f.frontier, a.position.axis), value);
    CHECK(tide_frontier_compare(&f.frontier, &a.known.frontier) == TIDE_EQUAL);
  }
  tide_timeline_destroy(t);
  close_context();
}

/* What was dropped is answered for by the oldest tracked record that is left. */
TEST(coarse_records) {
  open_context(16);
  struct tide_timeline *t = make(0, 4);
  struct host a;
  struct tide_record_info info;
  host_open(&a);
  for (uint64_t v = 1; v <= 10; v++) CHECK_OK(tide_timeline_signal(t, 10 * v, &a.position));
  CHECK_OK(tide_timeline_frontier_at(t, 5, NULL, &info));
  CHECK(info.value == 70 && info.coarse && info.epoch == 7);
  CHECK_OK(tide_timeline_frontier_at(t, 60, NULL, &info));
  CHECK(info.value == 70 && info.coarse);
  CHECK_OK(tide_timeline_frontier_at(t, 61, NULL, &info));
  CHECK(info.value == 70 && !info.coarse);
  CHECK_OK(tide_timeline_frontier_at(t, 100, NULL, &info));
  CHECK(info.value == 100 && !info.coarse);
  tide_timeline_destroy(t);
  close_context();
}

/* A flood of external signals never makes a timeline forget the newest that it knew. */
TEST(kept_record) {
  open_context(16);
  struct tide_timeline *t = make(0, 1);
  struct host a;
  struct tide_record_info info;
  host_open(&a);
  CHECK_OK(tide_timeline_signal(t, 1, &a.position));
  CHECK_OK(tide_timeline_signal(t, 2, &a.position));
  for (uint64_t v = 3; v <= 1000; v++) CHECK_OK(tide_timeline_signal_external(t, v));
  CHECK_OK(tide_timeline_frontier_at(t, 1, NULL, &info));
  CHECK(info.value == 2 && info.coarse && info.epoch == 2);
  CHECK_OK(tide_timeline_frontier_at(t, 3, NULL, &info));
  CHECK(info.external);
  CHECK_OK(tide_timeline_frontier_at(t, 1000, NULL, &info));
  CHECK(info.external && info.value == 1000);
  CHECK_OK(tide_timeline_signal(t, 1001, &a.position));
  CHECK_OK(tide_timeline_frontier_at(t, 500, NULL, &info));
  CHECK(info.value == 1001 && info.coarse);
  tide_timeline_destroy(t);
  close_context();
}

/* External values in a row take one place together. */
TEST(external_rows) {
  open_context(16);
  struct tide_timeline *t = make(0, 4);
  struct host a;
  struct tide_record_info info;
  host_open(&a);
  CHECK_OK(tide_timeline_signal(t, 1, &a.position));
  for (uint64_t v = 2; v <= 1000; v++) CHECK_OK(tide_timeline_signal_external(t, v));
  CHECK_OK(tide_timeline_signal(t, 1001, &a.position));
  CHECK_OK(tide_timeline_frontier_at(t, 1, NULL, &info));
  CHECK(info.value == 1 && !info.coarse && info.epoch == 1);
  CHECK_OK(tide_timeline_frontier_at(t, 2, NULL, &info));
  CHECK(info.external && info.value == 1000 && !info.coarse);
  CHECK_OK(tide_timeline_frontier_at(t, 1001, NULL, &info));
  CHECK(info.value == 1001 && info.epoch == 2);
  tide_timeline_destroy(t);
  close_context();
}

/* ---- several -----------------------------------------------------------------------------------
 */

TEST(any_and_all) {
  open_context(16);
  struct tide_timeline *t[3] = {make(0, 0), make(0, 0), make(0, 0)};
  struct tide_wait_point points[3];
  size_t index = 99;
  memset(points, 0, sizeof points);
  for (int i = 0; i < 3; i++) points[i] = (struct tide_wait_point){.timeline = t[i], .value = 5};
  CHECK_STATUS(tide_wait_any(points, 0, TIDE_FOREVER, NULL), TIDE_INVALID);
  CHECK_OK(tide_wait_all(points, 0, TIDE_NOW));
  CHECK_STATUS(tide_wait_any(points, 3, TIDE_NOW, &index), TIDE_TIMEOUT);
  CHECK_STATUS(tide_wait_any(points, 3, now() + 1000000, &index), TIDE_TIMEOUT);
  CHECK_STATUS(tide_wait_all(points, 3, now() + 1000000), TIDE_TIMEOUT);
  CHECK_OK(tide_timeline_signal_external(t[1], 9));
  CHECK_OK(tide_wait_any(points, 3, TIDE_NOW, &index));
  CHECK_EQ_U64(index, 1);
  CHECK_STATUS(tide_wait_all(points, 3, TIDE_NOW), TIDE_TIMEOUT);
  CHECK_OK(tide_timeline_signal_external(t[0], 5));
  CHECK_OK(tide_wait_any(points, 3, TIDE_FOREVER, &index));
  CHECK_EQ_U64(index, 0); /* the first that is found */
  CHECK_OK(tide_timeline_signal_external(t[2], 6));
  CHECK_OK(tide_wait_all(points, 3, TIDE_FOREVER));
  for (int i = 0; i < 3; i++) points[i].value = 20;
  tide_timeline_fail(t[2], TIDE_IO);
  CHECK_STATUS(tide_wait_any(points, 3, TIDE_FOREVER, &index), TIDE_IO);
  CHECK_EQ_U64(index, 2);
  CHECK_STATUS(tide_wait_all(points, 3, TIDE_FOREVER), TIDE_IO);
  for (int i = 0; i < 3; i++) tide_timeline_destroy(t[i]);
  close_context();
}

TEST(any_is_latched) {
  open_context(16);
  struct tide_timeline *t = make(0, 0), *u = make(0, 0);
  struct tide_wait_point points[3] = {
      {.timeline = t, .value = 7}, {.timeline = u, .value = 2}, {.timeline = t, .value = 3}};
  struct tide_wait_any_set set;
  size_t index;
  CHECK_OK(tide_wait_any_init(&set, points, 3));
  CHECK_STATUS(tide_wait_any_wait(&set, TIDE_NOW, &index), TIDE_TIMEOUT);
  CHECK_OK(tide_timeline_signal_external(t, 5)); /* the lower of the two on t */
  CHECK_OK(tide_timeline_signal_external(u, 9));
  CHECK_OK(tide_wait_any_wait(&set, TIDE_NOW, &index));
  CHECK_EQ_U64(index, 2);
  CHECK_OK(tide_wait_any_wait(&set, TIDE_FOREVER, &index));
  CHECK_EQ_U64(index, 2);
  tide_wait_any_fini(&set);
  tide_wait_any_fini(&set);
  /* Registration stops at the first that is satisfied. */
  memset(points, 0, sizeof points);
  points[0] = (struct tide_wait_point){.timeline = t, .value = 99};
  points[1] = (struct tide_wait_point){.timeline = u, .value = 1};
  points[2] = (struct tide_wait_point){.timeline = t, .value = 1};
  CHECK_OK(tide_wait_any_init(&set, points, 3));
  CHECK_EQ_U64(set.registered, 2);
  CHECK_OK(tide_wait_any_wait(&set, TIDE_NOW, &index));
  CHECK_EQ_U64(index, 1);
  tide_wait_any_fini(&set);
  tide_timeline_destroy(t);
  tide_timeline_destroy(u);
  close_context();
}

/* A platform that counts its wakes. A thread that would sleep in it signals `ender` instead. */
static const struct tide_platform *real_platform;
static uint64_t wakes;
static struct tide_timeline *ender;

static void count_wake(void *self, const uint32_t *word, uint32_t count) {
  wakes++;
  real_platform->wake(self, word, count);
}
static void signal_instead(void *self, const uint32_t *word, uint32_t expected, uint64_t deadline) {
  (void)self, (void)deadline;
  CHECK_EQ_U64(*word, expected);
  CHECK_OK(tide_timeline_signal_external(ender, tide_timeline_query(ender) + 1));
}

TEST(sets_wake_sleepers_alone) {
  struct tide_platform counting = *(real_platform = tide_platform_linux());
  counting.wake = count_wake;
  counting.wait = signal_instead;
  struct tide_context_params params = {.struct_size = sizeof params, .platform = &counting};
  CHECK_OK(tide_context_create(&params, &context));
  struct tide_timeline *t[4];
  struct tide_wait_point points[4];
  struct tide_wait_any_set set;
  size_t index;
  wakes = 0;
  memset(points, 0, sizeof points);
  for (size_t i = 0; i < 4; i++) t[i] = make(0, 1);
  for (size_t count = 1; count <= 4; count++) { /* one is signalled, then all, and last one fails */
    for (size_t i = 0; i < 4; i++)
      points[i] =
          (struct tide_wait_point){.timeline = t[i], .value = tide_timeline_query(t[i]) + 1};
    CHECK_OK(tide_wait_any_init(&set, points, count));
    CHECK_OK(tide_timeline_signal_external(t[count - 1], points[count - 1].value));
    CHECK_OK(tide_wait_any_wait(&set, TIDE_FOREVER, &index));
    CHECK_EQ_U64(index, count - 1);
    for (size_t i = 0; i + 1 < count; i++)
      CHECK_OK(tide_timeline_signal_external(t[i], points[i].value));
    tide_wait_any_fini(&set);
    CHECK_OK(tide_wait_all(points, count, TIDE_FOREVER));
    CHECK_EQ_U64(wakes, 0);
  }
  for (size_t i = 0; i < 4; i++) points[i].value = tide_timeline_query(t[i]) + 1;
  ender = t[2]; /* the thread sleeps, so the signal wakes it */
  CHECK_OK(tide_wait_any(points, 4, TIDE_FOREVER, &index));
  CHECK_EQ_U64(index, 2);
  CHECK_EQ_U64(wakes, 1);
  CHECK_OK(tide_wait_any_init(&set, points, 2));
  tide_timeline_fail(t[1], TIDE_IO);
  CHECK_STATUS(tide_wait_any_wait(&set, TIDE_FOREVER, &index), TIDE_IO);
  tide_wait_any_fini(&set);
  CHECK_EQ_U64(wakes, 1);
  for (size_t i = 0; i < 4; i++) tide_timeline_destroy(t[i]);
  close_context();
}

/* From inside: what an operation's failure does. */
static void fail_from(struct tide_timeline *timeline, uint64_t value) {
  struct tide_fired fired;
  tide_fired_init(&fired);
  struct tide_lock *guard = tide_timeline_lock(timeline);
  tide_timeline_fail_locked(timeline, value, TIDE_IO, NULL, &fired);
  tide_lock_give(guard);
  tide_fired_run(&fired);
}

/* Of several points of one timeline any-waits keep the lowest, and know nothing of the others. */
TEST(any_keeps_the_lowest) {
  open_context(16);
  struct tide_timeline *t = make(0, 0), *u = make(0, 0);
  struct tide_wait_point points[4] = {{.timeline = t, .value = 7},
                                      {.timeline = t, .value = 3},
                                      {.timeline = u, .value = 2},
                                      {.timeline = t, .value = 3}};
  struct tide_wait_any_set set;
  size_t index;
  CHECK_OK(tide_wait_any_init(&set, points, 4));
  fail_from(t, 5); /* of nobody's concern */
  CHECK_STATUS(tide_wait_any_wait(&set, TIDE_NOW, &index), TIDE_TIMEOUT);
  CHECK_OK(tide_timeline_signal_external(t, 3));
  CHECK_OK(tide_wait_any_wait(&set, TIDE_NOW, &index));
  CHECK_EQ_U64(index, 1);
  tide_wait_any_fini(&set);
  points[0].value = 2; /* reached, but not the lowest */
  points[1].value = 1;
  CHECK_OK(tide_wait_any(points, 2, TIDE_NOW, &index));
  CHECK_EQ_U64(index, 1);
  points[0].value = 8; /* failed, and the lowest is not */
  points[1].value = 4;
  CHECK_STATUS(tide_wait_any(points, 2, TIDE_NOW, &index), TIDE_TIMEOUT);
  CHECK_STATUS(tide_wait_all(points, 2, TIDE_NOW), TIDE_IO); /* all keeps the highest */
  points[0].value = 1;
  points[1].value = 3;
  CHECK_OK(tide_wait_all(points, 4 - 2, TIDE_NOW));
  CHECK_STATUS(tide_wait_all(points, 4, TIDE_NOW), TIDE_TIMEOUT);
  CHECK_OK(tide_timeline_signal_external(u, 2));
  CHECK_OK(tide_wait_all(points, 4, TIDE_NOW));
  tide_timeline_destroy(t);
  tide_timeline_destroy(u);
  close_context();
}

/* One point a timeline is registered, however many there are; each is found among 10 000. */
TEST(any_registers_each_timeline_once) {
  enum { MANY = 10000, TIMELINES = 100 };
  open_context(16);
  struct tide_timeline *t[TIMELINES];
  struct tide_wait_point *points = calloc(MANY, sizeof *points);
  struct tide_wait_any_set set;
  size_t index, lowest;
  CHECK(points != NULL);
  for (size_t i = 0; i < TIMELINES; i++) t[i] = make(0, 1);
  for (size_t i = 0; i < MANY; i++)
    points[i] =
        (struct tide_wait_point){.timeline = t[i % TIMELINES], .value = 1000 + i * 7919 % MANY};
  lowest = 42;
  for (size_t i = 42; i < MANY; i += TIMELINES)
    if (points[i].value < points[lowest].value) lowest = i;
  CHECK_OK(tide_wait_any_init(&set, points, MANY));
  for (size_t i = 0; i < TIMELINES; i++) CHECK_EQ_U64(t[i]->held, 1);
  CHECK_OK(tide_timeline_signal_external(t[42], points[lowest].value - 1));
  CHECK_STATUS(tide_wait_any_wait(&set, TIDE_NOW, &index), TIDE_TIMEOUT);
  CHECK_OK(tide_timeline_signal_external(t[42], points[lowest].value));
  CHECK_OK(tide_wait_any_wait(&set, TIDE_NOW, &index));
  CHECK_EQ_U64(index, lowest);
  tide_wait_any_fini(&set);
  for (size_t i = 0; i < TIMELINES; i++) CHECK_EQ_U64(t[i]->held, 0);
  for (size_t i = 0; i < TIMELINES; i++) CHECK_OK(tide_timeline_signal_external(t[i], 999 + MANY));
  CHECK_OK(tide_wait_all(points, MANY, TIDE_NOW));
  for (size_t i = 0; i < TIMELINES; i++) tide_timeline_destroy(t[i]);
  free(points);
  close_context();
}

TEST(wait_set) {
  enum { MANY = 10000 };
  open_context(16);
  struct tide_timeline **t = malloc(MANY * sizeof *t);
  uint64_t *members = malloc(MANY * sizeof *members);
  struct tide_wait_set *set;
  struct tide_wait_ready ready[64];
  size_t count;
  CHECK_OK(tide_wait_set_create(context, MANY, &set));
  for (uint64_t i = 0; i < MANY; i++) {
    t[i] = make(0, 1);
    CHECK_OK(tide_wait_set_add(set, t[i], i + 1, i, &members[i]));
  }
  CHECK_STATUS(tide_wait_set_add(set, t[0], 1, 0, NULL), TIDE_FULL);
  CHECK_STATUS(tide_wait_set_wait(set, ready, 64, TIDE_NOW, &count), TIDE_TIMEOUT);
  CHECK_STATUS(tide_wait_set_wait(set, ready, 64, now() + 1000000, &count), TIDE_TIMEOUT);
  CHECK_OK(tide_timeline_signal_external(t[7777], 7777));
  CHECK_STATUS(tide_wait_set_wait(set, ready, 64, TIDE_NOW, &count), TIDE_TIMEOUT);
  CHECK_OK(tide_timeline_signal_external(t[7777], 9000));
  tide_timeline_fail(t[42], TIDE_IO);
  CHECK_OK(tide_wait_set_wait(set, ready, 64, TIDE_FOREVER, &count));
  CHECK_EQ_U64(count, 2);
  CHECK(ready[0].cookie == 7777 && ready[0].value == 7778 && ready[0].status == TIDE_OK);
  CHECK(ready[1].cookie == 42 && ready[1].status == TIDE_IO);
  CHECK(!tide_wait_set_remove(set, members[7777])); /* one shot: it has left */
  CHECK(tide_wait_set_remove(set, members[5]));
  CHECK(!tide_wait_set_remove(set, members[5]));
  CHECK_OK(tide_timeline_signal_external(t[5], 100));
  CHECK_STATUS(tide_wait_set_wait(set, ready, 64, TIDE_NOW, &count), TIDE_TIMEOUT);
  /* Room again: ready at once, more than fit into one call. */
  for (uint64_t i = 0; i < 3; i++) CHECK_OK(tide_wait_set_add(set, t[7777], 1, 100 + i, NULL));
  CHECK_OK(tide_wait_set_wait(set, ready, 2, TIDE_NOW, &count));
  CHECK_EQ_U64(count, 2);
  CHECK_OK(tide_wait_set_wait(set, ready, 2, TIDE_NOW, &count));
  CHECK_EQ_U64(count, 1);
  CHECK_EQ_U64(ready[0].cookie, 102);
  tide_wait_set_destroy(set); /* with almost 10 000 still in it */
  for (uint64_t i = 0; i < MANY; i++) tide_timeline_destroy(t[i]);
  free(t);
  free(members);
  close_context();
}

/* The set's reference keeps a timeline; its destruction is reported. */
TEST(wait_set_outlives_timelines) {
  open_context(16);
  struct tide_timeline *t = make(0, 1);
  struct tide_wait_set *set;
  struct tide_wait_ready ready;
  size_t count;
  CHECK_OK(tide_wait_set_create(context, 4, &set));
  CHECK_OK(tide_wait_set_add(set, t, 1, 11, NULL));
  tide_timeline_destroy(t);
  CHECK_OK(tide_wait_set_wait(set, &ready, 1, TIDE_FOREVER, &count));
  CHECK(ready.cookie == 11 && ready.status == TIDE_CANCELLED);
  CHECK_STATUS(tide_wait_set_wait(set, &ready, 0, TIDE_NOW, &count), TIDE_INVALID);
  tide_wait_set_destroy(set);
  tide_wait_set_destroy(NULL);
  close_context();
}

/* ---- timepoints
 * ---------------------------------------------------------------------------------- */

struct call {
  struct tide_timepoint point;
  int order;
  enum tide_status status;
};
static int calls;

static void called(struct tide_timepoint *timepoint, enum tide_status status) {
  struct call *call = (struct call *)(void *)timepoint;
  call->order = ++calls;
  call->status = status;
}

static void watch_value(struct call *call, struct tide_timeline *t, uint64_t value,
                        struct tide_notifier *notifier) {
  memset(call, 0, sizeof *call);
  call->point =
      (struct tide_timepoint){.call = called, .notifier = notifier, .timeline = t, .value = value};
  CHECK_OK(tide_timepoint_add(&call->point));
}

TEST(timepoints) {
  open_context(16);
  struct tide_timeline *t = make(0, 0);
  struct call call[6];
  calls = 0;
  watch_value(&call[0], t, 5, NULL);
  watch_value(&call[1], t, 3, NULL);
  watch_value(&call[2], t, 4, NULL);
  watch_value(&call[3], t, 9, NULL);
  watch_value(&call[4], t, 4, NULL);
  CHECK(tide_timepoint_cancel(&call[4].point));
  CHECK(!tide_timepoint_cancel(&call[4].point));
  CHECK_OK(tide_timeline_signal_external(t, 7)); /* overshoots: earlier ones fire, in order */
  CHECK(call[1].order == 1 && call[2].order == 2 && call[0].order == 3 && calls == 3);
  CHECK_EQ_U64(t->held, 1); /* by call[3] */
  CHECK(!tide_timepoint_cancel(&call[0].point));
  watch_value(&call[5], t, 7, NULL); /* reached: at once */
  CHECK(call[5].order == 4 && call[5].status == TIDE_OK);
  tide_timeline_fail(t, TIDE_IO);
  CHECK(call[3].order == 5 && call[3].status == TIDE_IO);
  watch_value(&call[4], t, 10, NULL);
  CHECK(call[4].order == 6 && call[4].status == TIDE_IO);
  call[0].point.call = NULL;
  CHECK_STATUS(tide_timepoint_add(&call[0].point), TIDE_INVALID);
  tide_timeline_destroy(t);
  close_context();
}

static struct tide_timeline *signalled_by_calls;
static void called_and_signals(struct tide_timepoint *timepoint, enum tide_status status) {
  called(timepoint, status);
  (void)!tide_timeline_signal_external(signalled_by_calls, timepoint->value);
}

/* Calls that become due together run in one go; what becomes due by them runs before the signal
 * returns, and not inside of them. */
TEST(calls_due_together) {
  open_context(16);
  struct tide_timeline *t = make(0, 0), *u = signalled_by_calls = make(0, 0);
  struct call call[4];
  calls = 0;
  for (size_t i = 0; i < 4; i++) watch_value(&call[i], i < 2 ? t : u, 1 + i % 2, NULL);
  call[0].point.call = call[1].point.call = called_and_signals;
  CHECK_OK(tide_timeline_signal_external(t, 2));
  for (size_t i = 0; i < 4; i++) CHECK_EQ_U64(call[i].order, i + 1);
  CHECK_EQ_U64(t->held, 0);
  CHECK_EQ_U64(u->held, 0);
  tide_timeline_destroy(t);
  tide_timeline_destroy(u);
  close_context();
}

/* Destroying tells waiters, and may not touch what their callbacks free. */
static void called_and_freed(struct tide_timepoint *timepoint, enum tide_status status) {
  calls += status == TIDE_CANCELLED;
  free(timepoint);
}

/* The last owner's release fails the waiters, which keep the memory until they are through. Leaks
 * and late looks are found by a sanitizer. */
TEST(points_keep_their_timeline) {
  open_context(16);
  for (int notified = 0; notified < 2; notified++) {
    struct tide_timeline *t = make(0, 0), *other = make(0, 0);
    struct tide_notifier *notifier = NULL;
    if (notified) CHECK_OK(tide_notifier_create(context, &notifier));
    struct call call[2];
    struct tide_wait_point points[2] = {{.timeline = t, .value = 7},
                                        {.timeline = other, .value = 7}};
    struct tide_wait_any_set set;
    CHECK_OK(tide_wait_any_init(&set, points, 2));
    for (size_t i = 0; i < 2; i++) watch_value(&call[i], t, 5 + i, notifier);
    CHECK_OK(tide_timeline_signal_external(t, 5));
    tide_timeline_release(t);
    CHECK(!tide_timepoint_cancel(&call[1].point));
    if (notified) CHECK_EQ_U64(tide_notifier_dispatch(notifier, 9), 2);
    CHECK(call[0].order > 0 && call[1].order > call[0].order);
    CHECK_OK(call[0].status);
    CHECK_STATUS(call[1].status, TIDE_CANCELLED);
    CHECK_STATUS(tide_wait_any_wait(&set, TIDE_NOW, NULL), TIDE_CANCELLED);
    tide_wait_any_fini(&set);
    tide_timeline_destroy(other);
    tide_notifier_destroy(notifier);
  }
  close_context();
}

TEST(timepoint_is_added_again) {
  open_context(16);
  calls = 0;
  struct tide_timeline *t = make(0, 0);
  struct call call;
  watch_value(&call, t, 3, NULL);
  CHECK(tide_timepoint_cancel(&call.point));
  CHECK_OK(tide_timepoint_add(&call.point));
  CHECK_OK(tide_timeline_signal_external(t, 2));
  CHECK(call.order == 0);
  CHECK_OK(tide_timeline_signal_external(t, 3));
  CHECK(call.order == 1 && call.status == TIDE_OK);
  CHECK(!tide_timepoint_cancel(&call.point));
  call.point.value = 4;
  CHECK_OK(tide_timepoint_add(&call.point));
  tide_timeline_destroy(t);
  CHECK(call.order == 2 && call.status == TIDE_CANCELLED);
  close_context();
}

TEST(callbacks_may_free) {
  open_context(16);
  struct tide_timeline *t = make(0, 0);
  calls = 0;
  for (uint64_t i = 1; i <= 100; i++) {
    struct tide_timepoint *point = calloc(1, sizeof *point);
    *point = (struct tide_timepoint){.call = called_and_freed, .timeline = t, .value = i};
    CHECK_OK(tide_timepoint_add(point));
  }
  tide_timeline_destroy(t);
  CHECK_EQ_U64((uint64_t)calls, 100);
  close_context();
}

/* A chain in which each callback signals what triggers the next one. */
enum { CHAIN = 1000000 };
static struct tide_timeline *chain_line;
static uint64_t chain_length;
static const char *chain_lowest;

static void next_in_chain(struct tide_timepoint *timepoint, enum tide_status status) {
  /* The frame itself: a sanitizer may keep locals elsewhere. */
  const char *here = __builtin_frame_address(0);
  if (!chain_lowest || here < chain_lowest) chain_lowest = here;
  CHECK_OK(status);
  uint64_t value = timepoint->value;
  if (++chain_length == CHAIN / test_slowdown()) return;
  memset(timepoint, 0, sizeof *timepoint);
  *timepoint =
      (struct tide_timepoint){.call = next_in_chain, .timeline = chain_line, .value = value + 1};
  CHECK_OK(tide_timepoint_add(timepoint));
  CHECK_OK(tide_timeline_signal_external(chain_line, value + 1));
}

TEST(chain_of_callbacks) {
  const char *base = __builtin_frame_address(0);
  open_context(16);
  chain_line = make(0, 0);
  struct tide_timepoint point = {.call = next_in_chain, .timeline = chain_line, .value = 1};
  CHECK_OK(tide_timepoint_add(&point));
  CHECK_OK(tide_timeline_signal_external(chain_line, 1));
  CHECK_EQ_U64(chain_length, CHAIN / test_slowdown());
  CHECK(base - chain_lowest < 16384);
  tide_timeline_destroy(chain_line);
  close_context();
}

TEST(notifier) {
  open_context(16);
  struct tide_timeline *t = make(0, 0);
  struct tide_notifier *notifier;
  struct call call[3];
  calls = 0;
  CHECK_OK(tide_notifier_create(context, &notifier));
  struct pollfd fd = {.fd = tide_notifier_descriptor(notifier), .events = POLLIN};
  for (int i = 0; i < 3; i++) watch_value(&call[i], t, (uint64_t)i + 1, notifier);
  CHECK(poll(&fd, 1, 0) == 0);
  CHECK_EQ_U64(tide_notifier_dispatch(notifier, 10), 0);
  CHECK_OK(tide_timeline_signal_external(t, 2));
  CHECK(calls == 0 && poll(&fd, 1, 0) == 1);
  CHECK(!tide_timepoint_cancel(&call[0].point)); /* it will run */
  CHECK_EQ_U64(tide_notifier_dispatch(notifier, 1), 1);
  CHECK(call[0].order == 1 && poll(&fd, 1, 0) == 1);
  CHECK_EQ_U64(tide_notifier_dispatch(notifier, 10), 1);
  CHECK(call[1].order == 2 && poll(&fd, 1, 0) == 0);
  CHECK_OK(tide_timeline_signal_external(t, 3));
  CHECK(poll(&fd, 1, 0) == 1);
  CHECK_EQ_U64(tide_notifier_dispatch(notifier, 10), 1);
  /* Another context's callbacks are not its own. */
  struct tide_context *other;
  struct tide_notifier *foreign;
  CHECK_OK(tide_context_create(NULL, &other));
  CHECK_OK(tide_notifier_create(other, &foreign));
  call[0].point = (struct tide_timepoint){.timeline = t, .value = 4, .call = called};
  call[0].point.notifier = foreign;
  CHECK_STATUS(tide_timepoint_add(&call[0].point), TIDE_INVALID);
  CHECK(!tide_timepoint_cancel(&call[0].point)); /* it was never added */
  tide_notifier_destroy(foreign);
  tide_context_destroy(other);
  tide_notifier_destroy(notifier);
  tide_notifier_destroy(NULL);
  tide_timeline_destroy(t);
  close_context();
}

TEST_MAIN(CASE(signal_and_query), CASE(greatest_value), CASE(scopes_and_parameters), CASE(failing),
          CASE(records), CASE(records_of_wide_positions), CASE(coarse_records), CASE(kept_record),
          CASE(external_rows), CASE(any_and_all), CASE(any_is_latched),
          CASE(sets_wake_sleepers_alone), CASE(any_keeps_the_lowest),
          CASE(any_registers_each_timeline_once), CASE(wait_set), CASE(wait_set_outlives_timelines),
          CASE(timepoints), CASE(calls_due_together), CASE(points_keep_their_timeline),
          CASE(timepoint_is_added_again), CASE(callbacks_may_free), CASE(chain_of_callbacks),
          CASE(notifier))
