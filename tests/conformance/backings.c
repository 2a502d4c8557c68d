/* One suite over all backings: the calls of a timeline do the same on each. The differences are in
 * the table of timeline/value_ops.h. */
#include "backing_kinds.h"

#include "base/atomic.h"

#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

static enum tide_status wait_now(struct tide_timeline *timeline, uint64_t value) {
  return tide_timeline_wait(timeline, value, TIDE_NOW);
}
static enum tide_status wait_long(struct tide_timeline *timeline, uint64_t value) {
  return tide_timeline_wait(timeline, value, TIDE_FOREVER);
}

/* ---- values ------------------------------------------------------------------------------- */

static void a_value_is_reached(void) {
  struct line line;
  line_open(&line);
  struct tide_timeline *t = line.timeline;
  CHECK(tide_timeline_scope(t) == line.kind->scope);
  CHECK_EQ_STR(tide_timeline_label(t), "line");
  CHECK_EQ_U64(tide_timeline_query(t), 0);
  CHECK_OK(wait_now(t, 0));
  CHECK_STATUS(wait_now(t, 1), line.kind->unpromised);
  if (line.kind->promise) {
    line_promise(&line, 2);
    CHECK_STATUS(wait_now(t, 1), TIDE_TIMEOUT);
  }
  line_bring(&line, 1);
  CHECK_OK(wait_now(t, 1));
  CHECK_OK(wait_long(t, 1));
  CHECK_EQ_U64(tide_timeline_query(t), 1);
  line_bring(&line, 2);
  CHECK_OK(wait_now(t, 1));
  CHECK_OK(wait_now(t, 2));
  CHECK_OK(tide_timeline_status(t));
  CHECK(!tide_timeline_failure(t, 2, NULL));
  line_close(&line);
}

/* Below the highest value, no lock is needed; at it, none is waited for. */
static void the_highest_value_is_a_value(void) {
  struct line line;
  line_open(&line);
  CHECK_STATUS(wait_now(line.timeline, UINT64_MAX), line.kind->unpromised);
  line_close(&line);
}

static void a_record_has_its_signaller(void) {
  struct tide_record_info info;
  struct line line;
  TIDE_FRONTIER_STORAGE(known, 8);
  line_open(&line);
  struct tide_timeline *t = line.timeline;
  if (line.kind->promise) line_promise(&line, 1);
  CHECK_STATUS(tide_timeline_frontier_at(t, 1, NULL, &info), TIDE_TIMEOUT);
  CHECK_STATUS(tide_timeline_frontier_at(t, 0, NULL, &info), TIDE_NOT_FOUND);
  line_bring(&line, 1);
  tide_frontier_init(&known.frontier, 8);
  CHECK_OK(tide_timeline_frontier_at(t, 1, &known.frontier, &info));
  CHECK(info.external != line.kind->is_tracked);
  CHECK_EQ_U64(info.epoch, line.kind->is_tracked ? 1 : 0);
  if (line.kind->is_tracked) CHECK_EQ_U64(tide_frontier_get(&known.frontier, info.axis), 1);
  else CHECK(known.frontier.tainted);
  line_close(&line);
}

/* ---- waits of hosts ---------------------------------------------------------------------------
 */

struct waiting {
  struct tide_timeline *timeline;
  uint64_t value;
  uint32_t thread;
  enum tide_status status;
};
static void *wait_in_thread(void *argument) {
  struct waiting *waiting = argument;
  test_thread_begins(&waiting->thread);
  waiting->status = wait_long(waiting->timeline, waiting->value);
  return NULL;
}

static void a_parked_thread_wakes(void) {
  struct line line;
  pthread_t threads[2];
  struct waiting waiting[2];
  line_open(&line);
  line_allow(&line, 2);
  for (uint32_t i = 0; i < 2; i++) {
    waiting[i] = (struct waiting){.timeline = line.timeline, .value = i + 1};
    CHECK(pthread_create(&threads[i], NULL, wait_in_thread, &waiting[i]) == 0);
    test_await_asleep(&waiting[i].thread);
  }
  for (uint32_t i = 0; i < 2; i++) {
    line_bring(&line, i + 1);
    pthread_join(threads[i], NULL);
    CHECK_OK(waiting[i].status);
  }
  line_close(&line);
}

static void one_of_several_is_enough(void) {
  struct line line;
  size_t winner = 9;
  line_open(&line);
  struct tide_timeline *other = fake_timeline(&line.f, "other", false);
  struct tide_wait_point any[] = {{.timeline = other, .value = 1},
                                  {.timeline = line.timeline, .value = 2},
                                  {.timeline = line.timeline, .value = 1}};
  line_allow(&line, 2);
  CHECK_STATUS(tide_wait_any(any, 3, TIDE_NOW, &winner), TIDE_TIMEOUT);
  line_bring(&line, 1);
  CHECK_OK(tide_wait_any(any, 3, TIDE_FOREVER, &winner));
  CHECK_EQ_U64(winner, 2);
  tide_timeline_release(other);
  line_close(&line);
}

static void all_of_several_are_needed(void) {
  struct line line;
  line_open(&line);
  struct tide_timeline *other = fake_timeline(&line.f, "other", false);
  struct tide_wait_point all[] = {{.timeline = line.timeline, .value = 1},
                                  {.timeline = other, .value = 1},
                                  {.timeline = line.timeline, .value = 2}};
  line_allow(&line, 2);
  line_bring(&line, 1);
  CHECK_OK(tide_timeline_signal_external(other, 1));
  CHECK_STATUS(tide_wait_all(all, 3, TIDE_NOW), TIDE_TIMEOUT);
  line_bring(&line, 2);
  CHECK_OK(tide_wait_all(all, 3, TIDE_FOREVER));
  tide_timeline_release(other);
  line_close(&line);
}

static void a_wait_set_hears(void) {
  struct line line;
  struct tide_wait_set *set;
  struct tide_wait_ready ready;
  uint64_t third;
  size_t count;
  line_open(&line);
  line_allow(&line, 3);
  CHECK_OK(tide_wait_set_create(line.f.context, 4, &set));
  CHECK_OK(tide_wait_set_add(set, line.timeline, 2, 22, NULL));
  CHECK_OK(tide_wait_set_add(set, line.timeline, 1, 11, NULL));
  CHECK_OK(tide_wait_set_add(set, line.timeline, 3, 33, &third));
  CHECK_STATUS(tide_wait_set_wait(set, &ready, 1, TIDE_NOW, &count), TIDE_TIMEOUT);
  for (uint64_t value = 1; value <= 2; value++) {
    line_bring(&line, value);
    CHECK_OK(tide_wait_set_wait(set, &ready, 1, TIDE_FOREVER, &count));
    CHECK_EQ_U64(ready.cookie, 11 * value);
    CHECK_OK(ready.status);
  }
  CHECK(tide_wait_set_remove(set, third));
  line_bring(&line, 3);
  CHECK_STATUS(tide_wait_set_wait(set, &ready, 1, TIDE_NOW, &count), TIDE_TIMEOUT);
  tide_wait_set_destroy(set);
  line_close(&line);
}

/* ---- timepoints --------------------------------------------------------------------------- */

struct called {
  struct tide_timepoint timepoint;
  enum tide_status status;
  uint32_t calls; /* atomic */
};
static void count_call(struct tide_timepoint *timepoint, enum tide_status status) {
  struct called *called = (struct called *)timepoint;
  called->status = status;
  tide_fetch_add(&called->calls, 1u);
}
static void add_call(struct called *called, struct tide_timeline *timeline, uint64_t value,
                     struct tide_notifier *notifier) {
  *called = (struct called){
      .timepoint = {
          .timeline = timeline, .value = value, .call = count_call, .notifier = notifier}};
  CHECK_OK(tide_timepoint_add(&called->timepoint));
}
static void expect_call(struct called *called, enum tide_status status) {
  while (!tide_load_acquire(&called->calls)) sched_yield();
  CHECK_EQ_U64(tide_load_acquire(&called->calls), 1);
  CHECK_STATUS(called->status, status);
}

static void a_timepoint_is_called_or_cancelled(void) {
  struct line line;
  struct called first, second, late;
  line_open(&line);
  line_allow(&line, 2);
  add_call(&first, line.timeline, 1, NULL);
  add_call(&second, line.timeline, 2, NULL);
  CHECK_EQ_U64(tide_load_acquire(&first.calls), 0);
  line_bring(&line, 1);
  expect_call(&first, TIDE_OK);
  CHECK(!tide_timepoint_cancel(&first.timepoint));
  CHECK(tide_timepoint_cancel(&second.timepoint));
  CHECK(!tide_timepoint_cancel(&second.timepoint));
  line_bring(&line, 2);
  CHECK_EQ_U64(tide_load_acquire(&second.calls), 0);
  add_call(&late, line.timeline, 2, NULL);
  expect_call(&late, TIDE_OK);
  line_close(&line);
}

static void a_notifier_calls(void) {
  struct line line;
  struct called called;
  struct tide_notifier *notifier;
  line_open(&line);
  line_allow(&line, 1);
  CHECK_OK(tide_notifier_create(line.f.context, &notifier));
  add_call(&called, line.timeline, 1, notifier);
  CHECK_EQ_U64(tide_notifier_dispatch(notifier, 9), 0);
  line_bring(&line, 1);
  struct pollfd readable = {.fd = tide_notifier_descriptor(notifier), .events = POLLIN};
  CHECK(poll(&readable, 1, -1) == 1);
  CHECK_EQ_U64(tide_load_acquire(&called.calls), 0);
  while (!tide_notifier_dispatch(notifier, 9)) sched_yield();
  expect_call(&called, TIDE_OK);
  tide_notifier_destroy(notifier);
  line_close(&line);
}

static void a_descriptor_becomes_readable(void) {
  struct line line;
  struct pollfd readable = {.events = POLLIN};
  line_open(&line);
  line_allow(&line, 1);
  CHECK_OK(tide_descriptor_export(line.timeline, 1, &readable.fd, NULL));
  CHECK(poll(&readable, 1, 0) == 0);
  line_bring(&line, 1);
  CHECK(poll(&readable, 1, -1) == 1);
  close(readable.fd);
  line_close(&line);
}

/* ---- failure ------------------------------------------------------------------------------- */

/* 1 is reached, 2 fails; a failure takes 3 along, or leaves it alone. */
static void a_failure_takes_what_the_table_says(void) {
  struct line line;
  struct called second, third;
  struct tide_failure failure;
  line_open(&line);
  struct tide_timeline *t = line.timeline;
  enum tide_status failed = line.kind->failed;
  if (line.kind->fails_promises) line_promise(&line, 3);
  line_bring(&line, 1);
  add_call(&second, t, 2, NULL);
  add_call(&third, t, 3, NULL);
  line.kind->fail(&line, 2);
  expect_call(&second, failed);
  CHECK_OK(wait_now(t, 1));
  CHECK(!tide_timeline_failure(t, 1, NULL));
  CHECK_STATUS(wait_now(t, 2), failed);
  CHECK_STATUS(wait_long(t, 2), failed);
  CHECK(tide_timeline_failure(t, 2, &failure));
  CHECK_STATUS(failure.status, failed);
  CHECK(failure.text[0]);
  CHECK(tide_timeline_failure(t, 3, NULL) != line.kind->fails_alone);
  if (line.kind->fails_alone) line_bring(&line, 3);
  expect_call(&third, line.kind->fails_alone ? TIDE_OK : failed);
  CHECK_STATUS(wait_now(t, 2), failed);
  CHECK_STATUS(wait_now(t, 3), line.kind->fails_alone ? TIDE_OK : failed);
  line_close(&line);
}

static void a_failure_ends_each_wait(void) {
  struct line line;
  struct tide_wait_set *set;
  struct tide_wait_ready ready;
  struct waiting waiting = {.value = 2};
  pthread_t thread;
  size_t count, winner;
  line_open(&line);
  struct tide_timeline *t = waiting.timeline = line.timeline;
  enum tide_status failed = line.kind->failed;
  if (line.kind->fails_promises) line_promise(&line, 3);
  line_bring(&line, 1);
  struct pollfd readable = {.events = POLLIN};
  struct tide_wait_point points[] = {{.timeline = t, .value = 1}, {.timeline = t, .value = 2}};
  CHECK_OK(tide_wait_set_create(line.f.context, 1, &set));
  CHECK_OK(tide_wait_set_add(set, t, 2, 7, NULL));
  CHECK_OK(tide_descriptor_export(t, 2, &readable.fd, NULL));
  CHECK(pthread_create(&thread, NULL, wait_in_thread, &waiting) == 0);
  test_await_asleep(&waiting.thread);
  line.kind->fail(&line, 2);
  pthread_join(thread, NULL);
  CHECK_STATUS(waiting.status, failed);
  CHECK_OK(tide_wait_set_wait(set, &ready, 1, TIDE_FOREVER, &count));
  CHECK_STATUS(ready.status, failed);
  CHECK(poll(&readable, 1, -1) == 1);
  CHECK_STATUS(tide_wait_all(points, 2, TIDE_FOREVER), failed);
  CHECK_STATUS(tide_wait_any(points + 1, 1, TIDE_FOREVER, &winner), failed);
  close(readable.fd);
  tide_wait_set_destroy(set);
  line_close(&line);
}

/* The last release fails the unreached values, unless the backing keeps them. */
static void the_last_release(void) {
  struct line line;
  struct called called;
  line_open(&line);
  line_allow(&line, 1);
  add_call(&called, line.timeline, 1, NULL);
  struct tide_timeline *kept = line.timeline;
  line_release(&line);
  if (line.kind->is_released) {
    expect_call(&called, TIDE_CANCELLED);
  } else {
    CHECK_EQ_U64(tide_load_acquire(&called.calls), 0);
    line.timeline = kept;
    line_bring(&line, 1);
    expect_call(&called, TIDE_OK);
    line.timeline = NULL;
  }
  line_close(&line);
}

/* ---- rights -------------------------------------------------------------------------------- */

static void only_its_signallers_signal(void) {
  struct line line;
  struct tide_diag diag = {.text = ""};
  line_open(&line);
  struct tide_timeline *t = line.timeline;
  struct tide_queue *queue = fake_queue(&line.f, "queue");
  enum tide_status by_host = line.kind->host_signal, by_operation = line.kind->operation_signal;
  int event = eventfd(0, EFD_CLOEXEC);
  CHECK_STATUS(tide_descriptor_signal(line.f.context, event, t, 7, &diag), by_host);
  if (by_host) CHECK(strstr(diag.text, "'line'"));
  diag.text[0] = 0;
  CHECK_STATUS(tide_timeline_signal_external(t, 1), by_host);
  CHECK_EQ_U64(tide_timeline_query(t), by_host ? 0 : 1);
  CHECK_STATUS(tide_queue_submit(queue, &OPERATION(.label = "s", SIGNALS({t, 2})), NULL, &diag),
               by_operation);
  if (by_operation) CHECK(strstr(diag.text, "'line'"));
  else fake_run(&line.f, "s");
  CHECK_EQ_U64(tide_timeline_query(t), by_operation ? 0 : 2);
  tide_timeline_fail(t, TIDE_FAILED);
  CHECK_STATUS(tide_timeline_status(t), line.kind->fails_by_hosts ? TIDE_FAILED : TIDE_OK);
  if (!line.kind->fails_by_hosts) line_bring(&line, 1);
  CHECK_OK(wait_now(t, 1));
  close(event);
  tide_queue_destroy(queue);
  line_close(&line);
}

/* ---- waits of operations -------------------------------------------------------------------- */

static struct tide_context_stats stats_of(const struct line *line) {
  struct tide_context_stats stats;
  tide_context_stats(line->f.context, &stats);
  return stats;
}
static void submit_wait(struct tide_queue *queue, const char *label, struct tide_timeline *timeline,
                        uint64_t value) {
  CHECK_OK(SUBMIT(queue, .label = label, WAITS({timeline, value})));
}
/* A thread that signals may not have started the operation yet. */
static void await_run(struct line *line, const char *label) {
  while (!fake_runs(&line->f, label)) sched_yield();
  fake_give(&line->f, label, TIDE_OK);
}

static bool is_refused(struct line *line, struct tide_queue *queue) {
  struct tide_diag diag = {.text = ""};
  if (line->kind->operation_wait == TIDE_OK) return false;
  const struct tide_operation operation = OPERATION(.label = "w", WAITS({line->timeline, 1}));
  CHECK_STATUS(tide_queue_submit(queue, &operation, NULL, &diag), line->kind->operation_wait);
  CHECK(strstr(diag.text, "'line'") && strstr(diag.text, "name the point"));
  return true;
}

/* Held until the value is promised; queued until it is reached. */
static void an_operation_waits(void) {
  struct line line;
  char text[512];
  line_open(&line);
  struct tide_timeline *t = line.timeline;
  struct tide_queue *queue = fake_queue(&line.f, "queue");
  if (!is_refused(&line, queue)) {
    submit_wait(queue, "held", t, 1);
    CHECK_EQ_U64(stats_of(&line).held, 1);
    CHECK(!fake_runs(&line.f, "held"));
    if (line.kind->promise) line_promise(&line, 1);
    CHECK_EQ_U64(stats_of(&line).waits_issued, line.kind->promise ? 1 : 0);
    CHECK(!fake_runs(&line.f, "held"));
    line_bring(&line, 1);
    await_run(&line, "held");
    uint64_t resolved = stats_of(&line).waits_resolved;
    submit_wait(queue, "resolved", t, 1);
    CHECK_EQ_U64(stats_of(&line).waits_resolved, resolved + 1);
    await_run(&line, "resolved");
    if (line.kind->promise) line_promise(&line, 2);
    submit_wait(queue, "next", t, 2);
    (void)tide_context_diagnose(line.f.context, text, sizeof text);
    if (!strstr(text, "'line' >= 2 (at 1")) FAIL("the value is not in: %s", text);
    if (line.kind->awaited && !strstr(text, line.kind->awaited))
      FAIL("no \"%s\" in: %s", line.kind->awaited, text);
    line_bring(&line, 2);
    await_run(&line, "next");
  }
  tide_queue_destroy(queue);
  line_close(&line);
}

/* A wait for what the queue has imported is elided, and nothing starts early by that. */
static void an_implied_wait_is_elided(void) {
  struct line line;
  line_open(&line);
  struct tide_queue *queue = fake_queue(&line.f, "queue");
  if (line.kind->promise && !is_refused(&line, queue)) {
    line_promise(&line, 2);
    submit_wait(queue, "first", line.timeline, 2);
    submit_wait(queue, "second", line.timeline, 2);
    submit_wait(queue, "third", line.timeline, 1);
    CHECK_EQ_U64(stats_of(&line).waits_issued, 1);
    CHECK_EQ_U64(stats_of(&line).waits_elided, 2);
    line_bring(&line, 1);
    CHECK(!fake_runs(&line.f, "first") && !fake_runs(&line.f, "second"));
    line_bring(&line, 2);
    await_run(&line, "first");
    await_run(&line, "second");
    await_run(&line, "third");
  }
  tide_queue_destroy(queue);
  line_close(&line);
}

static void an_operation_fails_with_its_wait(void) {
  struct line line;
  struct tide_failure failure;
  line_open(&line);
  struct tide_queue *queue = fake_queue(&line.f, "queue");
  struct tide_timeline *done = fake_timeline(&line.f, "done", false);
  if (!is_refused(&line, queue)) {
    if (line.kind->fails_promises) line_promise(&line, 2);
    line_bring(&line, 1);
    CHECK_OK(SUBMIT(queue, .label = "fails", WAITS({line.timeline, 2}), SIGNALS({done, 1})));
    CHECK_OK(SUBMIT(queue, .label = "runs", WAITS({line.timeline, 1})));
    line.kind->fail(&line, 2);
    CHECK_STATUS(wait_long(done, 1), line.kind->failed);
    CHECK(tide_timeline_failure(done, 1, &failure) && failure.text[0]);
    await_run(&line, "runs");
    CHECK(!fake_runs(&line.f, "fails"));
  }
  tide_queue_destroy(queue);
  tide_timeline_release(done);
  line_close(&line);
}

/* ---- the table: every case with every kind ------------------------------------------------ */

#define EVERY(name)                                                                                \
  { #name, name }
static const struct {
  const char *name;
  void (*run)(void);
} every[] = {
    EVERY(a_value_is_reached),
    EVERY(the_highest_value_is_a_value),
    EVERY(a_record_has_its_signaller),
    EVERY(a_parked_thread_wakes),
    EVERY(one_of_several_is_enough),
    EVERY(all_of_several_are_needed),
    EVERY(a_wait_set_hears),
    EVERY(a_timepoint_is_called_or_cancelled),
    EVERY(a_notifier_calls),
    EVERY(a_descriptor_becomes_readable),
    EVERY(a_failure_takes_what_the_table_says),
    EVERY(a_failure_ends_each_wait),
    EVERY(the_last_release),
    EVERY(only_its_signallers_signal),
    EVERY(an_operation_waits),
    EVERY(an_implied_wait_is_elided),
    EVERY(an_operation_fails_with_its_wait),
};

int main(int argc, char **argv) {
  size_t case_count = sizeof every / sizeof every[0], count = 0;
  struct test_case *cases = calloc(case_count * line_kind_count, sizeof *cases);
  if (!cases) return 1;
  for (size_t k = 0; k < line_kind_count; k++)
    for (size_t c = 0; c < case_count; c++) {
      char *name = malloc(80);
      if (!name) return 1;
      snprintf(name, 80, "%s_%s", line_kinds[k].name, every[c].name);
      cases[count++] = (struct test_case){name, every[c].run, &line_kinds[k], 0};
    }
  int answer = test_main(argc, argv, cases, count);
  for (size_t i = 0; i < count; i++) free((char *)cases[i].name);
  free(cases);
  return answer;
}
