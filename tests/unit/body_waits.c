/* Bodies that wait inside: what a diagnosis says of them. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include "base/atomic.h"
#include "harness.h"
#include "tidemark/tidemark.h"
#include "timeline/timeline_state.h"

#include <string.h>

enum way { ONE, ANY, SET };

struct job {
  struct tide_timeline *done, *other;
  struct tide_queue *inner;
  enum way way;
  struct tide_context *context;
};

static enum tide_status nothing(void *arguments) {
  (void)arguments;
  return TIDE_OK;
}
static const struct tide_body_class nothing_class = {.name = "nothing", .host = nothing};

/* Submits work to its own device and waits for it. */
static enum tide_status waits_inside(void *arguments) {
  struct job *job = *(struct job **)arguments;
  struct tide_signal signal = {.timeline = job->done, .value = 1};
  struct tide_operation operation = {
      .label = "inner", .body = &nothing_class, .signals = &signal, .signal_count = 1};
  enum tide_status status = tide_queue_submit(job->inner, &operation, NULL, NULL);
  if (status != TIDE_OK) return status;
  if (job->way == ONE) return tide_timeline_wait(job->done, 1, TIDE_FOREVER);
  struct tide_wait_point points[2] = {{.timeline = job->done, .value = 1},
                                      {.timeline = job->other, .value = 9}};
  if (job->way == ANY) return tide_wait_any(points, 2, TIDE_FOREVER, NULL);
  struct tide_wait_set *set;
  struct tide_wait_ready ready;
  size_t count;
  CHECK_OK(tide_wait_set_create(job->context, 2, &set));
  CHECK_OK(tide_wait_set_add(set, job->done, 1, 0, NULL));
  status = tide_wait_set_wait(set, &ready, 1, TIDE_FOREVER, &count);
  tide_wait_set_destroy(set);
  return status == TIDE_OK ? ready.status : status;
}
static const struct tide_body_class waits_class = {.name = "waits", .host = waits_inside};

static void expect(const char *text, const char *part) {
  if (!strstr(text, part)) FAIL("it does not say \"%s\":\n%s", part, text);
}

/* With one worker that never ends, so the host ends it; with two the second runs the inner one. */
static void try_with(uint32_t workers, enum way way) {
  struct tide_context *context;
  struct tide_device *device;
  struct tide_queue *outer;
  struct job job = {.way = way}, *address = &job;
  char text[2000] = "";
  CHECK_OK(tide_context_create(NULL, &context));
  job.context = context;
  CHECK_OK(tide_cpu_open(context, TIDE_PARAMS(tide_cpu_params, .workers = workers), &device));
  CHECK_OK(tide_queue_create(device, TIDE_PARAMS(tide_queue_params, .label = "outer"), &outer));
  CHECK_OK(tide_queue_create(device, TIDE_PARAMS(tide_queue_params, .label = "inner"), &job.inner));
  CHECK_OK(
      tide_timeline_create(context, TIDE_PARAMS(tide_timeline_params, .label = "done"), &job.done));
  CHECK_OK(tide_timeline_create(context, TIDE_PARAMS(tide_timeline_params, .label = "other"),
                                &job.other));
  struct tide_operation operation = {.label = "outer",
                                     .body = &waits_class,
                                     .arguments = &address,
                                     .arguments_size = sizeof address};
  CHECK_OK(tide_queue_submit(outer, &operation, NULL, NULL));
  if (workers == 1) {
    while (!strstr(text, "its body waits")) {
      usleep(1000);
      tide_context_diagnose(context, text, sizeof text);
    }
    expect(text, "queue 'outer': operation 'outer' (1) runs, and its body waits for");
    expect(text, way == SET ? "a wait-set" : "'done' >= 1 (at 0; 'inner' of queue 'inner' will");
    if (way == ANY) expect(text, "'other' >= 9 (at 0; nothing has promised it)");
    expect(text, "device 'cpu': all its workers (1) run bodies that wait");
    expect(text, "operation 'inner' (1) is ready, and device 'cpu' has not taken it");
    tide_timeline_fail(job.done, TIDE_CANCELLED);
    CHECK_STATUS(tide_timeline_wait(job.done, 1, TIDE_FOREVER), TIDE_CANCELLED);
  }
  CHECK_OK(tide_queue_drain(outer, TIDE_FOREVER));
  CHECK_OK(tide_queue_drain(job.inner, TIDE_FOREVER));
  CHECK_EQ_U64(tide_context_diagnose(context, text, sizeof text), 0);
  if (workers == 2) CHECK_OK(tide_timeline_wait(job.done, 1, TIDE_NOW));
  tide_queue_destroy(outer);
  tide_queue_destroy(job.inner);
  tide_timeline_destroy(job.done);
  tide_timeline_destroy(job.other);
  tide_device_close(device);
  tide_context_destroy(context);
}

/* ---- threads that wait for the host ------------------------------------------------------------
 */

struct crew {
  struct tide_context *context;
  struct tide_device *device;
  struct tide_queue *a, *b;
  struct tide_timeline *gate; /* the host signals it */
  char text[2000];            /* the latest diagnosis */
};

static void open_crew(struct crew *c, uint32_t workers) {
  struct tide_cpu_params params = {.struct_size = sizeof params, .workers = workers};
  memset(c, 0, sizeof *c);
  CHECK_OK(tide_context_create(NULL, &c->context));
  CHECK_OK(tide_cpu_open(c->context, &params, &c->device));
  CHECK_OK(tide_queue_create(c->device, TIDE_PARAMS(tide_queue_params, .label = "a"), &c->a));
  CHECK_OK(tide_queue_create(c->device, TIDE_PARAMS(tide_queue_params, .label = "b"), &c->b));
  CHECK_OK(tide_timeline_create(c->context, TIDE_PARAMS(tide_timeline_params, .label = "gate"),
                                &c->gate));
}

static size_t diagnose(struct crew *c) {
  return tide_context_diagnose(c->context, c->text, sizeof c->text);
}

static void close_crew(struct crew *c) {
  CHECK_OK(tide_queue_drain(c->a, TIDE_FOREVER));
  CHECK_OK(tide_queue_drain(c->b, TIDE_FOREVER));
  CHECK_EQ_U64(diagnose(c), 0);
  tide_queue_destroy(c->a);
  tide_queue_destroy(c->b);
  tide_timeline_destroy(c->gate);
  tide_device_close(c->device);
  tide_context_destroy(c->context);
}

static enum tide_status waits_for_host(void *arguments) {
  return tide_timeline_wait(*(struct tide_timeline **)arguments, 1, TIDE_FOREVER);
}
static const struct tide_body_class host_class = {.name = "waits", .host = waits_for_host};

/* A device with an idle worker goes on. */
TEST(not_all_workers_wait) {
  struct crew c;
  open_crew(&c, 2);
  struct tide_operation operation = {
      .label = "first", .body = &host_class, .arguments = &c.gate, .arguments_size = sizeof c.gate};
  CHECK_OK(tide_queue_submit(c.a, &operation, NULL, NULL));
  while (!strstr(c.text, "operation 'first' (1) runs, and its body waits")) {
    usleep(1000);
    diagnose(&c);
  }
  CHECK(!strstr(c.text, "all its workers"));
  operation.label = "second";
  CHECK_OK(tide_queue_submit(c.b, &operation, NULL, NULL));
  while (!strstr(c.text, "operation 'second' (1) runs, and its body waits")) {
    usleep(1000);
    diagnose(&c);
  }
  expect(c.text, "device 'cpu': all its workers (2) run bodies that wait");
  CHECK_OK(tide_timeline_signal_external(c.gate, 1));
  close_crew(&c);
}

struct callback {
  struct tide_timepoint point;
  struct tide_timeline *gate;
  pthread_t thread;
  enum tide_status status;
};

static void wait_in_callback(struct tide_timepoint *point, enum tide_status status) {
  struct callback *callback = (struct callback *)(void *)point;
  (void)status;
  callback->thread = pthread_self();
  callback->status = tide_timeline_wait(callback->gate, 1, TIDE_FOREVER);
}

/* True once a waiter is queued. */
static bool is_awaited(struct tide_timeline *timeline) {
  struct tide_lock *guard = tide_timeline_lock(timeline);
  bool awaited = !tide_counter_empty(&timeline->reached);
  tide_lock_give(guard);
  return awaited;
}

/* A callback that blocks a worker is not taken for the body that the worker ran before. */
TEST(a_callback_is_no_body) {
  struct crew c;
  struct tide_timeline *done;
  open_crew(&c, 1);
  CHECK_OK(tide_timeline_create(c.context, NULL, &done));
  struct callback callback = {.point = {.timeline = done, .value = 1, .call = wait_in_callback},
                              .gate = c.gate};
  CHECK_OK(tide_timepoint_add(&callback.point));
  struct tide_signal signal = {.timeline = done, .value = 1};
  struct tide_operation operation = {
      .label = "signals", .body = &nothing_class, .signals = &signal, .signal_count = 1};
  CHECK_OK(tide_queue_submit(c.a, &operation, NULL, NULL));
  while (!is_awaited(c.gate)) usleep(1000);
  CHECK(!pthread_equal(callback.thread, pthread_self())); /* the worker's */
  diagnose(&c);
  CHECK_EQ_STR(c.text, "");
  CHECK_OK(tide_timeline_signal_external(c.gate, 1));
  tide_timeline_destroy(done);
  close_crew(&c); /* the worker has ended, and with it the callback */
  CHECK_OK(callback.status);
}

TEST(with_the_only_worker) {
  for (enum way way = ONE; way <= SET; way++) try_with(1, way);
}
TEST(with_a_second_worker) {
  for (enum way way = ONE; way <= SET; way++) try_with(2, way);
}

TEST_MAIN(CASE(with_the_only_worker), CASE(with_a_second_worker), CASE(not_all_workers_wait),
          CASE(a_callback_is_no_body))
