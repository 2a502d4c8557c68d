/* Semaphores of the application: imports, which arrive as external signals, and exports. Mostly on
 * a driver without a GPU; the last cases use the one that is installed. */
#include "fake_vulkan.h"
#include "meter.h"

#include "base/atomic.h"
#include "tidemark/tidemark.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

static struct tide_context *context;
static struct tide_device *gpu, *cpu;
static struct tide_queue *gpu_queue, *cpu_queue;
static struct tide_diag diag;

static enum tide_status record_nothing(const void *arguments, struct tide_device *device,
                                       VkCommandBuffer commands) {
  (void)arguments, (void)device, (void)commands;
  return TIDE_OK;
}
static const struct tide_vulkan_ops gpu_ops = {{TIDE_OPS_VULKAN}, record_nothing};
static const struct tide_body_class on_gpu = {.name = "gpu", .ops = &gpu_ops.ops};
static enum tide_status do_nothing(void *arguments) {
  (void)arguments;
  return TIDE_OK;
}
static const struct tide_body_class on_cpu = {.name = "cpu", .host = do_nothing};

static void open_fake(void) {
  struct tide_vulkan_params params = fake_vulkan_params();
  CHECK_OK(tide_context_create(NULL, &context));
  CHECK_OK(tide_vulkan_open(context, &params, &gpu, &diag));
  CHECK_OK(tide_cpu_open(context, NULL, &cpu));
  CHECK_OK(tide_queue_create(gpu, TIDE_PARAMS(tide_queue_params, .operations = 1024), &gpu_queue));
  CHECK_OK(tide_queue_create(cpu, TIDE_PARAMS(tide_queue_params, .operations = 1024), &cpu_queue));
}

static struct tide_timeline *import(VkSemaphore semaphore) {
  struct tide_timeline *timeline;
  CHECK_OK(tide_vulkan_import(gpu, semaphore, "drawn", &timeline, &diag));
  return timeline;
}

static struct tide_timeline *make_line(void) {
  struct tide_timeline *timeline;
  CHECK_OK(tide_timeline_create(context, NULL, &timeline));
  return timeline;
}

static void submit(struct tide_queue *queue, const struct tide_body_class *body,
                   struct tide_timeline *on, uint64_t value, struct tide_timeline *to,
                   uint64_t reached) {
  const struct tide_wait wait = {on, value};
  const struct tide_signal signal = {.timeline = to, .value = reached};
  const struct tide_operation operation = {.body = body,
                                           .waits = &wait,
                                           .wait_count = on != NULL,
                                           .signals = &signal,
                                           .signal_count = to != NULL};
  CHECK_OK(tide_queue_submit(queue, &operation, NULL, NULL));
}

static void pause_briefly(void) { nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL); }

static enum tide_status reach(struct tide_timeline *timeline, uint64_t value) {
  return tide_timeline_wait(timeline, value, TIDE_FOREVER);
}

/* ---- imports --------------------------------------------------------------------------------- */

TEST(an_import_follows_its_semaphore) {
  struct tide_record_info info;
  open_fake();
  VkSemaphore semaphore = fake_semaphore_make(7);
  struct tide_timeline *drawn = import(semaphore);
  CHECK_EQ_STR(tide_timeline_label(drawn), "drawn");
  CHECK_EQ_U64(tide_timeline_query(drawn), 7);
  CHECK_OK(reach(drawn, 7));
  fake_signal(semaphore, 1000);
  CHECK_OK(reach(drawn, 8)); /* beyond what is awaited */
  CHECK_EQ_U64(tide_timeline_query(drawn), 1000);
  CHECK_OK(tide_timeline_frontier_at(drawn, 8, NULL, &info));
  CHECK(info.external && info.axis == 0);
  fake_signal(semaphore, 1001);
  CHECK_EQ_U64(tide_timeline_query(drawn), 1000); /* no waiter, so no thread listens */
  CHECK_EQ_U64(tide_vulkan_poll(gpu, drawn), 1001);
  CHECK_EQ_U64(tide_timeline_query(drawn), 1001);
  tide_vulkan_release(gpu, drawn);
  tide_vulkan_release(gpu, NULL);
  CHECK_STATUS(tide_vulkan_import(gpu, VK_NULL_HANDLE, NULL, &drawn, &diag), TIDE_INVALID);
  tide_context_destroy(context);
}

static void *signal_later(void *semaphore) {
  pause_briefly();
  fake_signal((VkSemaphore)semaphore, 1);
  return NULL;
}

/* Each kind of waiter has the thread listen: a parked one, one of several, a timepoint, a wait set,
 * and operations. */
static void on_value(struct tide_timepoint *timepoint, enum tide_status status) {
  CHECK_OK(status);
  CHECK_OK(tide_timeline_signal_external((struct tide_timeline *)timepoint[1].timeline, 1));
}
TEST(every_waiter_is_heard) {
  struct tide_wait_set *set;
  struct tide_wait_ready ready;
  size_t count;
  open_fake();
  CHECK_OK(tide_wait_set_create(context, 1, &set));
  for (int kind = 0; kind < 7; kind++) {
    VkSemaphore semaphore = fake_semaphore_make(0);
    struct tide_timeline *drawn = import(semaphore), *then = make_line();
    struct tide_wait_point points[2] = {{.timeline = drawn, .value = 1},
                                        {.timeline = then, .value = 1}};
    struct tide_timepoint timepoint[2] = {{.timeline = drawn, .value = 1, .call = on_value},
                                          {.timeline = then}};
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, signal_later, (void *)(uintptr_t)semaphore) == 0);
    if (kind == 0) CHECK_OK(reach(drawn, 1));
    if (kind == 1) CHECK_OK(tide_wait_any(points, 2, TIDE_FOREVER, NULL));
    if (kind == 2) CHECK_OK(tide_wait_all(points, 1, TIDE_FOREVER));
    if (kind == 3) CHECK_OK(tide_wait_set_add(set, drawn, 1, 0, NULL));
    if (kind == 3) CHECK_OK(tide_wait_set_wait(set, &ready, 1, TIDE_FOREVER, &count));
    if (kind == 4) CHECK_OK(tide_timepoint_add(timepoint));
    if (kind == 5) submit(cpu_queue, &on_cpu, drawn, 1, then, 1);
    if (kind == 6) submit(gpu_queue, &on_gpu, drawn, 1, then, 1);
    if (kind > 3) CHECK_OK(reach(then, 1));
    pthread_join(thread, NULL);
    tide_vulkan_release(gpu, drawn);
    tide_timeline_destroy(then);
  }
  tide_context_destroy(context);
}

/* No call of the driver while no value is awaited; after a wait that has timed out neither. */
TEST(an_idle_import_is_idle) {
  open_fake();
  VkSemaphore semaphore = fake_semaphore_make(3);
  struct tide_timeline *drawn = import(semaphore);
  const uint32_t *waits = &fake_of(semaphore)->waits;
  fake_signal(semaphore, 4);
  CHECK_STATUS(tide_timeline_wait(drawn, 4, TIDE_NOW), TIDE_TIMEOUT);
  for (int i = 0; i < 3; i++) pause_briefly();
  CHECK_EQ_U64(fake_count(waits), 0);
  do CHECK_STATUS(tide_timeline_wait(drawn, 5, tide_after_ms(context, 10)), TIDE_TIMEOUT);
  while (!fake_count(waits)); /* the thread has been late */
  uint32_t before;
  do { /* never ends if the thread goes on */
    before = fake_count(waits);
    pause_briefly();
  } while (fake_count(waits) != before);
  CHECK_EQ_U64(tide_timeline_query(drawn), 4);
  tide_context_destroy(context);
}

/* A waiter for less is heard while the thread listens for more. */
TEST(an_earlier_waiter_is_heard) {
  open_fake();
  VkSemaphore semaphore = fake_semaphore_make(0);
  struct tide_timeline *drawn = import(semaphore), *late = make_line(), *early = make_line();
  submit(cpu_queue, &on_cpu, drawn, 100, late, 1);
  while (!fake_count(&fake_of(semaphore)->waits)) pause_briefly();
  struct tide_queue *other;
  CHECK_OK(tide_queue_create(cpu, NULL, &other));
  submit(other, &on_cpu, drawn, 5, early, 1);
  fake_signal(semaphore, 6);
  CHECK_OK(reach(early, 1));
  CHECK_EQ_U64(tide_timeline_query(late), 0);
  fake_signal(semaphore, 100);
  CHECK_OK(reach(late, 1));
  tide_context_destroy(context);
}

/* The first submission behind a value has a barrier, since only the host has seen the value; those
 * behind it need none. The scheduler knows no earlier submission that would need one. */
/* Also the value that the semaphore has at first, and one that a poll has found. */
TEST(each_value_orders_memory) {
  open_fake();
  VkSemaphore semaphore = fake_semaphore_make(5);
  struct tide_timeline *drawn = import(semaphore), *done = make_line();
  submit(gpu_queue, &on_gpu, drawn, 5, done, 1);
  CHECK_OK(reach(done, 1));
  CHECK_EQ_U64(fake_count(&fake_vulkan.barriers), 1);
  fake_signal(semaphore, 6);
  CHECK_EQ_U64(tide_vulkan_poll(gpu, drawn), 6);
  submit(gpu_queue, &on_gpu, drawn, 6, done, 2);
  CHECK_OK(reach(done, 2));
  CHECK_EQ_U64(fake_count(&fake_vulkan.barriers), 2);
  tide_context_destroy(context);
}

TEST(an_import_orders_memory) {
  open_fake();
  VkSemaphore semaphore = fake_semaphore_make(0);
  struct tide_timeline *drawn = import(semaphore), *done = make_line();
  for (uint64_t i = 1; i <= 3; i++) {
    submit(gpu_queue, &on_gpu, drawn, i, done, 2 * i);
    fake_signal(semaphore, i);
    CHECK_OK(reach(done, 2 * i));
    CHECK_EQ_U64(fake_count(&fake_vulkan.barriers), i);
    submit(gpu_queue, &on_gpu, NULL, 0, done, 2 * i + 1);
    CHECK_OK(reach(done, 2 * i + 1));
    CHECK_EQ_U64(fake_count(&fake_vulkan.barriers), i);
  }
  tide_context_destroy(context);
}
TEST(an_empty_submission_orders_memory) {
  open_fake();
  VkSemaphore semaphore = fake_semaphore_make(0);
  struct tide_timeline *done = make_line();
  submit(gpu_queue, NULL, import(semaphore), 4, done, 1);
  fake_signal(semaphore, 4);
  CHECK_OK(reach(done, 1));
  CHECK_EQ_U64(fake_count(&fake_vulkan.barriers), 1);
  tide_context_destroy(context);
}

/* The barrier is not lost with a recording or a submission that the driver refuses. */
static void refuse_once(uint32_t *what) {
  open_fake();
  VkSemaphore semaphore = fake_semaphore_make(0);
  struct tide_timeline *drawn = import(semaphore), *refused = make_line(), *done = make_line();
  *what = 1;
  submit(gpu_queue, &on_gpu, drawn, 1, refused, 1);
  fake_signal(semaphore, 1);
  CHECK_STATUS(reach(refused, 1), TIDE_NOMEM);
  submit(gpu_queue, &on_gpu, NULL, 0, done, 1);
  CHECK_OK(reach(done, 1));
  CHECK_EQ_U64(fake_count(&fake_vulkan.submissions), 1);
  CHECK_EQ_U64(fake_count(&fake_vulkan.barriers), 1);
  tide_context_destroy(context);
}
TEST(a_refused_recording_leaves_its_barrier) { refuse_once(&fake_vulkan.refuse_begins); }
TEST(a_refused_submission_leaves_its_barrier) { refuse_once(&fake_vulkan.refuse_submits); }

TEST(only_the_semaphore_signals_an_import) {
  open_fake();
  VkSemaphore semaphore = fake_semaphore_make(0);
  struct tide_timeline *drawn = import(semaphore);
  const struct tide_signal signal = {.timeline = drawn, .value = 5};
  const struct tide_operation operation = {.signals = &signal, .signal_count = 1};
  CHECK_STATUS(tide_queue_submit(cpu_queue, &operation, NULL, &diag), TIDE_DENIED);
  CHECK_EQ_STR(diag.text, "timeline 'drawn' is signalled by its semaphore alone");
  CHECK_STATUS(tide_timeline_signal_external(drawn, 5), TIDE_DENIED);
  tide_timeline_fail(drawn, TIDE_FAILED);
  CHECK_OK(tide_timeline_status(drawn));
  fake_signal(semaphore, 6);
  CHECK_OK(reach(drawn, 1));
  tide_context_destroy(context);
}

struct waiting {
  struct tide_timeline *timeline;
  uint32_t began;
  enum tide_status status;
};
static void *wait_long(void *argument) {
  struct waiting *waiting = argument;
  tide_store_release(&waiting->began, 1u);
  waiting->status = reach(waiting->timeline, 9);
  return NULL;
}

/* How an import ends: by release, with its device, and with its VkDevice. The waiter is told. */
static void end_import(int way) {
  struct waiting waiting = {.status = TIDE_OK};
  pthread_t thread;
  open_fake();
  VkSemaphore semaphore = fake_semaphore_make(0);
  struct tide_timeline *drawn = waiting.timeline = import(semaphore);
  tide_timeline_retain(drawn); /* of the waiting thread */
  CHECK(pthread_create(&thread, NULL, wait_long, &waiting) == 0);
  while (!fake_count(&fake_of(semaphore)->waits)) pause_briefly();
  if (way == 0) tide_vulkan_release(gpu, drawn);
  if (way == 1) tide_queue_destroy(gpu_queue), tide_device_close(gpu);
  if (way == 2) fake_lose();
  pthread_join(thread, NULL);
  CHECK_STATUS(waiting.status, way == 2 ? TIDE_LOST : TIDE_CANCELLED);
  CHECK_STATUS(tide_timeline_status(drawn), waiting.status);
  if (way == 2) {
    struct tide_timeline *late;
    while (tide_device_status(gpu) == TIDE_OK) pause_briefly();
    CHECK_STATUS(tide_vulkan_import(gpu, semaphore, NULL, &late, &diag), TIDE_LOST);
    CHECK_STATUS(tide_vulkan_export(gpu, drawn, 1, semaphore, 1, &diag), TIDE_LOST);
    CHECK_EQ_U64(tide_vulkan_poll(gpu, drawn), 0);
  }
  tide_timeline_release(drawn);
  tide_context_destroy(context);
}
TEST(a_release_ends_an_import) { end_import(0); }
TEST(the_device_ends_an_import) { end_import(1); }
TEST(a_loss_fails_an_import) { end_import(2); }

static enum tide_status told;
static void on_end(struct tide_timepoint *timepoint, enum tide_status status) {
  (void)timepoint;
  told = status;
}
TEST(the_context_ends_an_import) {
  open_fake();
  VkSemaphore semaphore = fake_semaphore_make(0);
  struct tide_timepoint end = {.timeline = import(semaphore), .value = 1, .call = on_end};
  CHECK_OK(tide_timepoint_add(&end));
  tide_context_destroy(context);
  CHECK_STATUS(told, TIDE_CANCELLED);
}

TEST(an_idle_import_is_told_of_a_loss) {
  open_fake();
  struct tide_timeline *idle = import(fake_semaphore_make(0)), *done = make_line();
  fake_lose();
  submit(gpu_queue, &on_gpu, NULL, 0, done, 1);
  CHECK_STATUS(reach(done, 1), TIDE_LOST);
  while (tide_timeline_status(idle) == TIDE_OK) pause_briefly();
  CHECK_STATUS(tide_timeline_status(idle), TIDE_LOST);
  tide_context_destroy(context);
}

/* Two threads that read the counter, and the one that listens. */
static void *poll_on(void *timeline) {
  while (tide_vulkan_poll(gpu, timeline) < 200) continue;
  return NULL;
}
TEST(readers_do_not_disturb_each_other) {
  pthread_t threads[2];
  open_fake();
  VkSemaphore semaphore = fake_semaphore_make(0);
  struct tide_timeline *drawn = import(semaphore);
  for (int i = 0; i < 2; i++) CHECK(pthread_create(&threads[i], NULL, poll_on, drawn) == 0);
  for (uint64_t i = 1; i <= 200; i++) {
    fake_signal(semaphore, i);
    CHECK_OK(reach(drawn, i));
  }
  for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
  CHECK_OK(tide_timeline_status(drawn));
  tide_context_destroy(context);
}

/* ---- exports --------------------------------------------------------------------------------- */

static enum tide_status export_to(struct tide_timeline *timeline, uint64_t value,
                                  VkSemaphore semaphore, uint64_t number) {
  diag.text[0] = 0;
  return tide_vulkan_export(gpu, timeline, value, semaphore, number, &diag);
}

TEST(an_export_signals_its_semaphore) {
  open_fake();
  VkSemaphore semaphore = fake_semaphore_make(3);
  struct tide_timeline *gate = make_line(), *done = make_line();
  submit(gpu_queue, &on_gpu, gate, 1, done, 1);
  CHECK_OK(export_to(done, 1, semaphore, 4));
  CHECK_OK(export_to(done, 0, semaphore, 5)); /* reached, and behind the other one */
  CHECK_EQ_U64(fake_value(semaphore), 3);
  CHECK_OK(tide_timeline_signal_external(gate, 1));
  fake_await(semaphore, 5);
  CHECK_OK(export_to(done, 1, semaphore, 9)); /* reached */
  fake_await(semaphore, 9);
  CHECK_EQ_U64(fake_count(&fake_vulkan.wrong), 0);
  tide_context_destroy(context);
}

TEST(a_failure_signals_too) {
  open_fake();
  VkSemaphore semaphore = fake_semaphore_make(0);
  struct tide_timeline *failed = make_line(), *destroyed = make_line();
  CHECK_OK(export_to(failed, 1, semaphore, 1));
  CHECK_OK(export_to(destroyed, 1, semaphore, 2));
  tide_timeline_fail(failed, TIDE_IO);
  CHECK_EQ_U64(fake_value(semaphore), 1);
  CHECK_STATUS(tide_timeline_status(failed), TIDE_IO);
  CHECK_OK(export_to(failed, 7, semaphore, 3)); /* has failed */
  tide_timeline_destroy(destroyed);
  CHECK_EQ_U64(fake_value(semaphore), 3);
  tide_context_destroy(context);
}

/* The second of two is due first: it waits for the first. */
TEST(exports_go_up) {
  open_fake();
  VkSemaphore one = fake_semaphore_make(10), two = fake_semaphore_make(0);
  struct tide_timeline *a = make_line(), *b = make_line();
  CHECK_STATUS(export_to(a, 1, one, 10), TIDE_VALUE); /* the semaphore's */
  CHECK(strstr(diag.text, "has or will have 10") && strstr(diag.text, "no export has 10"));
  CHECK_OK(export_to(a, 1, one, 11));
  CHECK_STATUS(export_to(b, 1, one, 11), TIDE_VALUE); /* an export's */
  CHECK_OK(export_to(b, 1, one, 20));
  CHECK_OK(export_to(b, 2, two, 1));
  CHECK_OK(tide_timeline_signal_external(b, 2));
  CHECK_EQ_U64(fake_value(one), 10);
  CHECK_EQ_U64(fake_value(two), 1); /* another semaphore */
  CHECK_STATUS(export_to(a, 1, one, 15), TIDE_VALUE);
  CHECK_OK(tide_timeline_signal_external(a, 1));
  CHECK_EQ_U64(fake_value(one), 20);
  CHECK_EQ_U64(fake_of(one)->signals, 1);
  CHECK_STATUS(export_to(a, 1, one, 20), TIDE_VALUE); /* nothing is pending any more */
  CHECK_OK(export_to(a, 1, one, 21));
  CHECK_EQ_U64(fake_count(&fake_vulkan.wrong), 0);
  tide_context_destroy(context);
}

TEST(wrong_exports) {
  struct tide_timeline *narrow, *line;
  open_fake();
  VkSemaphore semaphore = fake_semaphore_make(0);
  CHECK_OK(tide_timeline_create(
      context, TIDE_PARAMS(tide_timeline_params, .label = "n", .scope = TIDE_SCOPE_DEVICE),
      &narrow));
  line = make_line();
  CHECK_STATUS(export_to(NULL, 1, semaphore, 1), TIDE_INVALID);
  CHECK_STATUS(export_to(line, 1, VK_NULL_HANDLE, 1), TIDE_INVALID);
  CHECK_STATUS(export_to(narrow, 1, semaphore, 1), TIDE_SCOPE);
  CHECK_EQ_STR(diag.text, "the scope of timeline 'n' is device, not process");
  tide_context_destroy(context);
}

/* A driver without memory is asked again: an application waits for the semaphore. */
/* A semaphore that cannot be signalled would leave its waiters for ever. */
TEST(a_failed_signal_loses_the_device) {
  open_fake();
  struct tide_timeline *line = make_line();
  fake_vulkan.fails_signals = true;
  CHECK_OK(export_to(line, 0, fake_semaphore_make(0), 1));
  while (tide_device_status(gpu) == TIDE_OK) tide_pause();
  CHECK_STATUS(tide_device_status(gpu), TIDE_LOST);
  CHECK_STATUS(export_to(line, 0, fake_semaphore_make(0), 1), TIDE_LOST);
  tide_context_destroy(context);
}

TEST(a_loss_is_noticed_by_a_call) {
  struct tide_timeline *drawn;
  open_fake();
  VkSemaphore semaphore = fake_semaphore_make(0);
  FAKE_LOCK;
  fake_vulkan.lost = true;
  FAKE_UNLOCK;
  CHECK_STATUS(tide_vulkan_import(gpu, semaphore, NULL, &drawn, &diag), TIDE_LOST);
  while (tide_device_status(gpu) == TIDE_OK) tide_pause();
  tide_context_destroy(context);
}

/* The value that drivers answer for a lost VkDevice. */
TEST(the_highest_value_is_refused) {
  struct tide_timeline *drawn;
  open_fake();
  VkSemaphore semaphore = fake_semaphore_make(UINT64_MAX);
  CHECK_STATUS(tide_vulkan_import(gpu, semaphore, NULL, &drawn, &diag), TIDE_VALUE);
  CHECK_STATUS(export_to(make_line(), 0, fake_semaphore_make(0), UINT64_MAX), TIDE_VALUE);
  CHECK_OK(tide_device_status(gpu));
  tide_context_destroy(context);
}

TEST(a_refused_signal_is_repeated) {
  open_fake();
  VkSemaphore semaphore = fake_semaphore_make(0);
  fake_vulkan.refuse_signals = 3;
  CHECK_OK(export_to(make_line(), 0, semaphore, 1));
  CHECK_EQ_U64(fake_value(semaphore), 1);
  CHECK_EQ_U64(fake_of(semaphore)->signals, 4);
  tide_context_destroy(context);
}

/* What is pending is signalled by the close of the device, and of the context. */
static void close_with_exports(bool whole_context) {
  open_fake();
  VkSemaphore one = fake_semaphore_make(0), two = fake_semaphore_make(0);
  struct tide_timeline *a = make_line(), *b = make_line();
  for (uint64_t i = 1; i <= 5; i++) CHECK_OK(export_to(i % 2 ? a : b, i, one, i));
  CHECK_OK(export_to(a, 1, two, 1));
  CHECK_OK(tide_timeline_signal_external(b, 4)); /* due, and behind 1 */
  tide_queue_destroy(gpu_queue);
  if (whole_context) tide_context_destroy(context);
  else tide_device_close(gpu);
  CHECK_EQ_U64(fake_value(one), 5);
  CHECK_EQ_U64(fake_value(two), 1);
  CHECK_EQ_U64(fake_vulkan.wrong, 0);
  if (whole_context) return;
  CHECK_OK(tide_timeline_signal_external(a, 9)); /* finds no export */
  tide_context_destroy(context);
}
TEST(a_close_signals) { close_with_exports(false); }
TEST(the_end_of_a_context_signals) { close_with_exports(true); }

/* The driver may answer anything, but it is called, and no export is left. */
TEST(a_loss_signals) {
  open_fake();
  VkSemaphore semaphore = fake_semaphore_make(0), other = fake_semaphore_make(0);
  struct tide_timeline *never = make_line(), *drawn = import(other);
  CHECK_OK(export_to(never, 1, semaphore, 1));
  CHECK_OK(export_to(never, 2, semaphore, 2));
  fake_lose();
  CHECK_STATUS(reach(drawn, 1), TIDE_LOST);
  while (!fake_count(&fake_of(semaphore)->signals)) pause_briefly();
  CHECK_OK(tide_timeline_signal_external(never, 2));
  tide_context_destroy(context);
  CHECK_EQ_U64(fake_of(semaphore)->signals, 1);
}

/* Threads export to one semaphore, with numbers that may be refused; operations and a host reach
 * the values meanwhile. */
enum { EXPORTERS = 4, EXPORTS = 200 };
static VkSemaphore shared;
static struct tide_timeline *lines[EXPORTERS];
static uint64_t next_number;
static void *export_many(void *line) {
  struct tide_timeline *mine = *(struct tide_timeline **)line;
  for (uint64_t i = 1; i <= EXPORTS; i++) {
    enum tide_status status = tide_vulkan_export(
        gpu, mine, i, shared, tide_fetch_add(&next_number, (uint64_t)1) + 1, NULL);
    CHECK(status == TIDE_OK || status == TIDE_VALUE);
  }
  return NULL;
}
TEST(exports_from_many_threads) {
  pthread_t threads[EXPORTERS];
  open_fake();
  shared = fake_semaphore_make(0);
  for (int i = 0; i < EXPORTERS; i++) {
    lines[i] = make_line();
    CHECK(pthread_create(&threads[i], NULL, export_many, &lines[i]) == 0);
  }
  for (uint64_t v = 1; v <= EXPORTS; v++)
    for (int i = 0; i < EXPORTERS; i++)
      if (i == 0) CHECK_OK(tide_timeline_signal_external(lines[i], v));
      else submit(i == 1 ? gpu_queue : cpu_queue, NULL, lines[i - 1], v, lines[i], v);
  for (int i = 0; i < EXPORTERS; i++) pthread_join(threads[i], NULL);
  for (int i = 0; i < EXPORTERS; i++) CHECK_OK(reach(lines[i], EXPORTS));
  CHECK_OK(export_to(lines[0], 0, shared, EXPORTERS * EXPORTS + 1));
  fake_await(shared, EXPORTERS * EXPORTS + 1);
  CHECK_EQ_U64(fake_count(&fake_vulkan.wrong), 0);
  tide_context_destroy(context);
}

/* The device closes while values arrive. */
static void *reach_many(void *line) {
  for (uint64_t v = 1; v <= EXPORTS; v++) CHECK_OK(tide_timeline_signal_external(line, v));
  return NULL;
}
TEST(a_close_meets_signals) {
  for (int round = 0; round < 20; round++) {
    pthread_t thread;
    open_fake();
    VkSemaphore semaphore = fake_semaphore_make(0);
    struct tide_timeline *line = make_line();
    for (uint64_t v = 1; v <= EXPORTS; v++) CHECK_OK(export_to(line, v, semaphore, v));
    CHECK(pthread_create(&thread, NULL, reach_many, line) == 0);
    tide_queue_destroy(gpu_queue);
    tide_device_close(gpu);
    CHECK_EQ_U64(fake_value(semaphore), EXPORTS);
    pthread_join(thread, NULL);
    tide_context_destroy(context);
    CHECK_EQ_U64(fake_vulkan.wrong, 0);
  }
}

/* ---- memory ---------------------------------------------------------------------------------- */

TEST(every_allocation_may_fail) {
  struct meter meter = {0};
  const struct tide_allocator allocator = {meter_alloc, meter_free, &meter};
  struct tide_vulkan_params params = fake_vulkan_params();
  uint64_t imports = 0, exports = 0;
  CHECK_OK(
      tide_context_create(TIDE_PARAMS(tide_context_params, .allocator = &allocator), &context));
  CHECK_OK(tide_vulkan_open(context, &params, &gpu, NULL));
  struct tide_timeline *line = make_line(), *drawn = NULL;
  for (;; imports++) {
    uint64_t before = meter_refuse(&meter, imports);
    enum tide_status status = tide_vulkan_import(gpu, fake_semaphore_make(0), NULL, &drawn, &diag);
    if (status == TIDE_OK) break;
    CHECK_STATUS(status, TIDE_NOMEM);
    CHECK_STATUS(diag.status, TIDE_NOMEM);
    CHECK_EQ_U64((uint64_t)tide_load_acquire(&meter.out), before);
  }
  VkSemaphore semaphore = fake_semaphore_make(0);
  for (;; exports++) {
    uint64_t before = meter_refuse(&meter, exports);
    enum tide_status status = export_to(line, 1, semaphore, 1);
    if (status == TIDE_OK) break;
    CHECK_STATUS(status, TIDE_NOMEM);
    CHECK_EQ_U64((uint64_t)tide_load_acquire(&meter.out), before);
  }
  CHECK(imports >= 2 && exports == 2);
  tide_store_release(&meter.fail_at, (uint64_t)0);
  CHECK_OK(tide_timeline_signal_external(line, 1));
  CHECK_EQ_U64(fake_value(semaphore), 1);
  tide_context_destroy(context);
  CHECK_EQ_U64((uint64_t)meter.out, 0);
}

/* ---- the driver that is installed ------------------------------------------------------------ */

#define CALLS(X)                                                                                   \
  X(CreateSemaphore)                                                                               \
  X(DestroySemaphore)                                                                              \
  X(SignalSemaphore)                                                                               \
  X(GetSemaphoreCounterValue)                                                                      \
  X(WaitSemaphores)                                                                                \
  X(QueueSubmit)
static struct {
  struct tide_vulkan_info info;
#define MEMBER(name) PFN_vk##name name;
  CALLS(MEMBER)
} vk;
static pthread_mutex_t queue_lock = PTHREAD_MUTEX_INITIALIZER;
static void lock(void *self, VkQueue queue) {
  (void)self, (void)queue;
  pthread_mutex_lock(&queue_lock);
}
static void unlock(void *self, VkQueue queue) {
  (void)self, (void)queue;
  pthread_mutex_unlock(&queue_lock);
}

/* Opens a VkDevice, and adopts it as an application's, with which the test shares its VkQueue. */
static void open_real(void) {
  struct tide_device *owner;
  if (test_slowdown() > 1) SKIP("a Vulkan driver under a sanitizer");
  CHECK_OK(tide_context_create(NULL, &context));
  enum tide_status status = tide_vulkan_open(context, NULL, &owner, &diag);
  if (status == TIDE_UNSUPPORTED) SKIP("%s", diag.text);
  CHECK_OK(status);
  tide_vulkan_info(owner, &vk.info);
#define FIND(name)                                                                                 \
  vk.name = (PFN_vk##name)vk.info.get_proc(vk.info.instance, "vk" #name);                          \
  CHECK(vk.name != NULL);
  CALLS(FIND)
  CHECK_OK(tide_vulkan_open(context,
                            TIDE_PARAMS(tide_vulkan_params, .instance = vk.info.instance,
                                        .physical_device = vk.info.physical_device,
                                        .device = vk.info.device, .queues = vk.info.queues,
                                        .queue_count = 1, .get_proc = vk.info.get_proc,
                                        .lock = lock, .unlock = unlock),
                            &gpu, &diag));
  CHECK_OK(tide_cpu_open(context, NULL, &cpu));
  CHECK_OK(tide_queue_create(gpu, NULL, &gpu_queue));
  CHECK_OK(tide_queue_create(cpu, NULL, &cpu_queue));
}

static VkSemaphore make_real(void) {
  const VkSemaphoreTypeCreateInfo type = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO,
                                          .semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE};
  const VkSemaphoreCreateInfo create = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO,
                                        .pNext = &type};
  VkSemaphore semaphore;
  CHECK(vk.CreateSemaphore(vk.info.device, &create, NULL, &semaphore) == VK_SUCCESS);
  return semaphore;
}

static void real_submit(VkSemaphore on, uint64_t value, VkSemaphore to, uint64_t number) {
  const VkPipelineStageFlags all = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;
  const VkTimelineSemaphoreSubmitInfo values = {
      .sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO,
      .waitSemaphoreValueCount = on != VK_NULL_HANDLE,
      .pWaitSemaphoreValues = &value,
      .signalSemaphoreValueCount = 1,
      .pSignalSemaphoreValues = &number};
  const VkSubmitInfo info = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                             .pNext = &values,
                             .waitSemaphoreCount = on != VK_NULL_HANDLE,
                             .pWaitSemaphores = &on,
                             .pWaitDstStageMask = &all,
                             .signalSemaphoreCount = 1,
                             .pSignalSemaphores = &to};
  lock(NULL, NULL);
  CHECK(vk.QueueSubmit(vk.info.queues[0].queue, 1, &info, VK_NULL_HANDLE) == VK_SUCCESS);
  unlock(NULL, NULL);
}

/* A CPU operation, a submission of the application, a GPU operation, many times. The CPU operation
 * must not wait for a GPU operation: this one is behind the submission on the only VkQueue. */
TEST(a_real_chain) {
  open_real();
  VkSemaphore decoded = make_real(), drawn = make_real();
  struct tide_timeline *cpu_line = make_line(), *done = make_line(), *drawn_line = import(drawn);
  for (uint64_t i = 1; i <= 50; i++) {
    submit(cpu_queue, &on_cpu, NULL, 0, cpu_line, i);
    CHECK_OK(export_to(cpu_line, i, decoded, i));
    real_submit(decoded, i, drawn, 10 * i);
    submit(gpu_queue, &on_gpu, drawn_line, 10 * i, done, i);
    if (i % 5 == 0) CHECK_OK(reach(done, i));
  }
  CHECK_EQ_U64(tide_timeline_query(drawn_line), 500);
  tide_vulkan_release(gpu, drawn_line);
  tide_queue_destroy(gpu_queue), tide_device_close(gpu);
  vk.DestroySemaphore(vk.info.device, decoded, NULL);
  vk.DestroySemaphore(vk.info.device, drawn, NULL);
  tide_context_destroy(context);
}

/* The application's host signals an import, and a close signals the pending exports. */
TEST(real_semaphores_by_the_host) {
  uint64_t value;
  open_real();
  VkSemaphore in = make_real(), out = make_real();
  struct tide_timeline *line = import(in), *never = make_line();
  const VkSemaphoreSignalInfo info = {
      .sType = VK_STRUCTURE_TYPE_SEMAPHORE_SIGNAL_INFO, .semaphore = in, .value = 5};
  CHECK(vk.SignalSemaphore(vk.info.device, &info) == VK_SUCCESS);
  CHECK_OK(reach(line, 2));
  CHECK_EQ_U64(tide_timeline_query(line), 5);
  CHECK_STATUS(tide_timeline_wait(line, 6, tide_after_ms(context, 5)), TIDE_TIMEOUT);
  CHECK_OK(export_to(line, 6, out, 1));
  CHECK_OK(export_to(never, 1, out, 7));
  tide_queue_destroy(gpu_queue), tide_device_close(gpu);
  CHECK(vk.GetSemaphoreCounterValue(vk.info.device, out, &value) == VK_SUCCESS);
  CHECK_EQ_U64(value, 7);
  vk.DestroySemaphore(vk.info.device, in, NULL);
  vk.DestroySemaphore(vk.info.device, out, NULL);
  tide_context_destroy(context);
}

TEST_MAIN(CASE(an_import_follows_its_semaphore), CASE(every_waiter_is_heard),
          CASE(an_idle_import_is_idle), CASE(an_earlier_waiter_is_heard),
          CASE(each_value_orders_memory), CASE(an_import_orders_memory),
          CASE(an_empty_submission_orders_memory), CASE(a_refused_recording_leaves_its_barrier),
          CASE(a_refused_submission_leaves_its_barrier), CASE(only_the_semaphore_signals_an_import),
          CASE(a_release_ends_an_import), CASE(the_device_ends_an_import),
          CASE(a_loss_fails_an_import), CASE(an_idle_import_is_told_of_a_loss),
          CASE(the_context_ends_an_import), CASE(readers_do_not_disturb_each_other),
          CASE(an_export_signals_its_semaphore), CASE(a_failure_signals_too), CASE(exports_go_up),
          CASE(wrong_exports), CASE(a_failed_signal_loses_the_device),
          CASE(a_loss_is_noticed_by_a_call), CASE(the_highest_value_is_refused),
          CASE(a_refused_signal_is_repeated), CASE(a_close_signals),
          CASE(the_end_of_a_context_signals), CASE(a_loss_signals), CASE(exports_from_many_threads),
          CASE(a_close_meets_signals), CASE(every_allocation_may_fail), CASE(a_real_chain),
          CASE(real_semaphores_by_the_host))
