/* Bodies that wait inside: what a diagnosis says of them. */
#include <stdio.h>
#include <unistd.h>

#include "base/atomic.h"
#include "harness.h"
#include "tidemark/tidemark.h"

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
  struct tide_context context;
  struct tide_sched *sched;
  struct tide_cpu *cpu;
  struct tide_device *device;
  struct tide_queue *outer;
  struct job job = {.way = way, .context = &context}, *address = &job;
  char text[2000] = "";
  CHECK_OK(tide_context_init(&context, NULL));
  CHECK_OK(tide_sched_create(&context, NULL, &sched));
  CHECK_OK(tide_cpu_open(&context, sched, &(struct tide_cpu_params){.workers = workers}, "cpu",
                         &cpu, &device));
  CHECK_OK(tide_queue_create(device, &(struct tide_queue_params){.label = "outer"}, &outer));
  CHECK_OK(tide_queue_create(device, &(struct tide_queue_params){.label = "inner"}, &job.inner));
  CHECK_OK(
      tide_timeline_create(&context, &(struct tide_timeline_params){.label = "done"}, &job.done));
  CHECK_OK(
      tide_timeline_create(&context, &(struct tide_timeline_params){.label = "other"}, &job.other));
  struct tide_operation operation = {.label = "outer",
                                     .body = &waits_class,
                                     .arguments = &address,
                                     .arguments_size = sizeof address};
  CHECK_OK(tide_queue_submit(outer, &operation, NULL, NULL));
  if (workers == 1) {
    while (!strstr(text, "its body waits")) {
      usleep(1000);
      tide_sched_diagnose(sched, text, sizeof text);
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
  CHECK_EQ_U64(tide_sched_diagnose(sched, text, sizeof text), 0);
  if (workers == 2) CHECK_OK(tide_timeline_wait(job.done, 1, TIDE_NOW));
  tide_queue_destroy(outer);
  tide_queue_destroy(job.inner);
  tide_timeline_destroy(job.done);
  tide_timeline_destroy(job.other);
  tide_cpu_close(cpu);
  tide_sched_destroy(sched);
  tide_context_fini(&context);
}

TEST(with_the_only_worker) {
  for (enum way way = ONE; way <= SET; way++) try_with(1, way);
}
TEST(with_a_second_worker) {
  for (enum way way = ONE; way <= SET; way++) try_with(2, way);
}

TEST_MAIN(CASE(with_the_only_worker), CASE(with_a_second_worker))
