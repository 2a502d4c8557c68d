/* A context destroys all that its user left, in whatever order it was made. */
#include "harness.h"

#include "base/atomic.h"
#include "causal/context_state.h"
#include "tidemark/tidemark.h"

#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>

/* ---- an allocator that counts ---- */

static int64_t live;

static void *counted_alloc(void *self, size_t size, size_t align) {
  const struct tide_allocator *system = tide_allocator_system();
  void *memory = system->alloc(system->self, size, align);
  (void)self;
  if (memory) tide_fetch_add((uint64_t *)&live, (uint64_t)size);
  return memory;
}
static void counted_free(void *self, void *memory, size_t size) {
  const struct tide_allocator *system = tide_allocator_system();
  (void)self;
  if (memory) tide_fetch_sub((uint64_t *)&live, (uint64_t)size);
  if (memory) memset(memory, 0xdd, size); /* a later use is noticed */
  system->free(system->self, memory, size);
}
static const struct tide_allocator counted = {counted_alloc, counted_free, NULL};

static struct tide_context *open_context(void) {
  struct tide_context *context;
  CHECK_OK(tide_context_create(TIDE_PARAMS(tide_context_params, .allocator = &counted), &context));
  return context;
}
static void close_context(struct tide_context *context) {
  tide_context_destroy(context);
  CHECK_EQ_U64((uint64_t)live, 0);
}

/* ---- bodies ---- */

static uint32_t ran, started;

static enum tide_status count(void *arguments) {
  (void)arguments;
  tide_fetch_add(&ran, 1u);
  return TIDE_OK;
}
static const struct tide_body_class counting = {.name = "count", .host = count};

/* Returns once its timeline has failed or reached 1. */
static enum tide_status wait_body(void *arguments) {
  tide_store_release(&started, 1u);
  return tide_timeline_wait(*(struct tide_timeline **)arguments, 1, TIDE_FOREVER);
}
static const struct tide_body_class waiting = {.name = "wait", .host = wait_body};

/* ---- leaving objects behind ---- */

TEST(an_empty_context) { close_context(open_context()); }

TEST(objects_that_operations_use) {
  struct tide_context *context = open_context();
  struct tide_device *cpu;
  struct tide_queue *left, *right;
  struct tide_timeline *never, *done;
  struct tide_pool *pool;
  struct tide_buffer *buffer, *kept;
  CHECK_OK(tide_timeline_create(context, NULL, &never));
  CHECK_OK(tide_cpu_open(context, NULL, &cpu));
  CHECK_OK(tide_queue_create(cpu, NULL, &left));
  CHECK_OK(tide_queue_create(cpu, NULL, &right));
  CHECK_OK(tide_timeline_create(context, NULL, &done));
  tide_timeline_retain(done);
  CHECK_OK(tide_pool_create(context, NULL, &pool));
  CHECK_OK(tide_queue_alloc(left, pool, 4096, "b", &buffer));
  CHECK_OK(tide_queue_alloc(left, pool, 64, "kept", &kept));
  CHECK_OK(tide_queue_submit(
      left,
      &(struct tide_operation){.body = &counting,
                               TIDE_USES({.buffer = buffer, .access = TIDE_WRITE}),
                               TIDE_SIGNALS(TIDE_SIGNAL(done, 1))},
      NULL, NULL));
  CHECK_OK(tide_timeline_wait(done, 1, TIDE_FOREVER));
  /* One that waits for ever, and one behind it that waits for that one. */
  CHECK_OK(tide_queue_submit(left,
                             &(struct tide_operation){.body = &counting,
                                                      TIDE_WAITS({never, 1}),
                                                      TIDE_SIGNALS(TIDE_SIGNAL(done, 2))},
                             NULL, NULL));
  CHECK_OK(tide_queue_submit(
      right,
      &(struct tide_operation){.body = &counting,
                               TIDE_WAITS({done, 2}),
                               TIDE_USES({.buffer = buffer, .access = TIDE_READ})},
      NULL, NULL));
  tide_queue_free(right, buffer);
  close_context(context);
}

TEST(a_collective_and_its_parts) {
  struct tide_context *context = open_context();
  struct tide_device *cpus[2];
  struct tide_queue *members[2];
  struct tide_collective *all, *other;
  for (int i = 0; i < 2; i++) {
    CHECK_OK(tide_cpu_open(context, NULL, &cpus[i]));
    CHECK_OK(tide_queue_create(cpus[i], NULL, &members[i]));
  }
  CHECK_OK(tide_collective_create(members, 2, "all", &all));
  CHECK_OK(tide_collective_create(members, 2, "other", &other));
  struct tide_operation part = {.body = &counting};
  CHECK_OK(tide_collective_submit(all, 0, 1, &part, NULL, NULL)); /* the other part never comes */
  CHECK_OK(tide_collective_submit(other, 1, 1, &part, NULL, NULL));
  close_context(context);
}

static uint32_t called;
static void note_call(struct tide_timepoint *timepoint, enum tide_status status) {
  (void)timepoint;
  CHECK_STATUS(status, TIDE_CANCELLED);
  called++;
}

TEST(waiters_of_the_host) {
  struct tide_context *context = open_context();
  struct tide_wait_set *set;
  struct tide_notifier *notifier;
  struct tide_timeline *timelines[3];
  struct tide_timepoint here = {.value = 1, .call = note_call}, there = here;
  called = 0;
  CHECK_OK(tide_notifier_create(context, &notifier));
  for (int i = 0; i < 3; i++) CHECK_OK(tide_timeline_create(context, NULL, &timelines[i]));
  CHECK_OK(tide_wait_set_create(context, 4, &set));
  CHECK_OK(tide_wait_set_add(set, timelines[0], 1, 7, NULL));
  here.timeline = timelines[1];
  there.timeline = timelines[2];
  there.notifier = notifier;
  CHECK_OK(tide_timepoint_add(&here));
  CHECK_OK(tide_timepoint_add(&there));
  close_context(context);
  CHECK_EQ_U64(called, 2);
}

TEST(points_and_a_channel) {
  struct tide_context *context = open_context();
  struct tide_device *cpu;
  struct tide_queue *channel;
  struct tide_points *points;
  struct tide_client *client;
  struct tide_future *future, *own;
  struct tide_point promised, kept, parts;
  CHECK_OK(tide_cpu_open(context, NULL, &cpu));
  CHECK_OK(tide_points_create(context, NULL, &points));
  CHECK_OK(tide_client_create(points, NULL, &client));
  CHECK_OK(tide_queue_create(cpu, TIDE_PARAMS(tide_queue_params, .client = client), &channel));
  CHECK_OK(tide_queue_create_future(channel, NULL, &future));
  CHECK_OK(tide_future_create(client, NULL, &own));
  CHECK_OK(tide_future_promise(future, TIDE_FOREVER, &promised));
  CHECK_OK(tide_future_promise(own, TIDE_FOREVER, &kept));
  CHECK_OK(tide_compound_promise(client, TIDE_FOREVER, &parts));
  struct tide_operation_points waits = {
      .waits = &kept, .wait_count = 1, .retires = &promised, .retire_count = 1};
  CHECK_OK(tide_queue_submit(channel, &(struct tide_operation){.body = &counting, .points = &waits},
                             NULL, NULL));
  close_context(context);
}

static void job(void *argument, uint64_t index) {
  (void)argument, (void)index;
  tide_fiber_yield();
  tide_fetch_add(&ran, 1u);
}

TEST(fibers_end_first) {
  struct tide_context *context = open_context();
  struct tide_crew *crew;
  ran = 0;
  CHECK_OK(tide_crew_create(context, TIDE_PARAMS(tide_crew_params, .carriers = 2), &crew));
  CHECK_OK(tide_crew_run(crew, job, NULL, 20));
  close_context(context);
  CHECK_EQ_U64(ran, 20);
}

static struct tide_timeline *other;
static void signal_other(struct tide_timepoint *timepoint, enum tide_status status) {
  (void)timepoint;
  CHECK_STATUS(status, TIDE_CANCELLED);
  (void)!tide_timeline_signal_external(other, 1);
  called++;
}

/* All waits end while all objects still exist. */
TEST(calls_of_the_end_may_signal) {
  struct tide_context *context = open_context();
  struct tide_timeline *timeline, *seen;
  struct tide_notifier *notifier;
  struct tide_timepoint here = {.value = 1, .call = signal_other}, never = here;
  called = 0;
  CHECK_OK(tide_timeline_create(context, NULL, &timeline));
  CHECK_OK(tide_timeline_create(context, NULL, &seen));
  CHECK_OK(tide_timeline_create(context, NULL, &other));
  CHECK_OK(tide_notifier_create(context, &notifier)); /* newer than the timeline */
  here.timeline = timeline;
  never.timeline = seen;
  never.notifier = notifier;
  CHECK_OK(tide_timepoint_add(&here));
  CHECK_OK(tide_timepoint_add(&never));
  close_context(context);
  CHECK_EQ_U64(called, 2);
}

TEST(a_released_timeline_is_its_waiters) {
  struct tide_context *context = open_context();
  struct tide_wait_set *set;
  struct tide_timeline *timeline;
  CHECK_OK(tide_wait_set_create(context, 4, &set));
  CHECK_OK(tide_timeline_create(context, NULL, &timeline));
  CHECK_OK(tide_wait_set_add(set, timeline, 1, 7, NULL));
  tide_timeline_destroy(timeline);
  close_context(context);
}

/* The operation drops the last owner, not the user. */
TEST(a_released_timeline_is_its_signallers) {
  struct tide_context *context = open_context();
  struct tide_device *device;
  struct tide_queue *queue;
  struct tide_timeline *go, *first, *last;
  CHECK_OK(tide_cpu_open(context, NULL, &device));
  CHECK_OK(tide_queue_create(device, NULL, &queue));
  CHECK_OK(tide_timeline_create(context, NULL, &first));
  CHECK_OK(tide_timeline_create(context, NULL, &go));
  CHECK_OK(tide_timeline_create(context, NULL, &last));
  struct tide_operation operation = {
      .body = &counting,
      TIDE_WAITS({go, 1}),
      TIDE_SIGNALS(TIDE_SIGNAL(first, 1), TIDE_SIGNAL(last, 1)),
  };
  CHECK_OK(tide_queue_submit(queue, &operation, NULL, NULL));
  tide_timeline_release(first);
  tide_timeline_release(last);
  CHECK_OK(tide_timeline_signal(go, 1, NULL));
  CHECK_OK(tide_queue_drain(queue, TIDE_FOREVER));
  close_context(context);
}

static void wait_job(void *argument, uint64_t index) {
  (void)index;
  CHECK_STATUS(tide_timeline_wait(argument, 1, TIDE_FOREVER), TIDE_CANCELLED);
}

/* A body and a fiber that wait for a timeline of the context go on. */
TEST(waits_inside_of_the_context_end) {
  struct tide_context *context = open_context();
  struct tide_device *cpu;
  struct tide_queue *queue;
  struct tide_crew *crew;
  struct tide_timeline *never;
  CHECK_OK(tide_timeline_create(context, NULL, &never));
  CHECK_OK(tide_crew_create(context, NULL, &crew));
  CHECK_OK(tide_cpu_open(context, NULL, &cpu));
  CHECK_OK(tide_queue_create(cpu, NULL, &queue));
  CHECK_OK(tide_crew_run(crew, wait_job, never, 1));
  started = 0;
  CHECK_OK(tide_queue_submit(
      queue, &(struct tide_operation){.body = &waiting, TIDE_ARGUMENTS(never)}, NULL, NULL));
  while (!tide_load_acquire(&started)) sched_yield();
  close_context(context);
}

/* The body runs to its end, which the end of the context awaits. */
static void *end_context(void *context) {
  tide_context_destroy(context);
  return NULL;
}

TEST(a_running_body_is_awaited) {
  struct tide_context *context = open_context();
  struct tide_device *cpu;
  struct tide_queue *queue;
  struct tide_timeline *gate, *done;
  struct tide_context *outer = open_context(); /* the gate is not of the context that goes */
  CHECK_OK(tide_timeline_create(outer, NULL, &gate));
  CHECK_OK(tide_cpu_open(context, NULL, &cpu));
  CHECK_OK(tide_queue_create(cpu, NULL, &queue));
  CHECK_OK(tide_timeline_create(context, NULL, &done));
  started = 0;
  CHECK_OK(tide_queue_submit(
      queue, &(struct tide_operation){.body = &waiting, TIDE_ARGUMENTS(gate)}, NULL, NULL));
  while (!tide_load_acquire(&started)) sched_yield();
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, end_context, context) == 0);
  CHECK_OK(tide_timeline_signal_external(gate, 1));
  CHECK(pthread_join(thread, NULL) == 0);
  close_context(outer);
}

/* ---- waiting for capacity ---- */

struct filled {
  struct tide_context *context;
  struct tide_device *cpu;
  struct tide_queue *queue;
  struct tide_timeline *gate;
  struct tide_operation operation;
};

/* A queue of two operations, both taken by ones that wait for the gate. */
static void fill(struct filled *f) {
  f->context = open_context();
  ran = 0;
  CHECK_OK(tide_cpu_open(f->context, NULL, &f->cpu));
  CHECK_OK(tide_queue_create(f->cpu, TIDE_PARAMS(tide_queue_params, .operations = 2), &f->queue));
  CHECK_OK(tide_timeline_create(f->context, NULL, &f->gate));
  f->operation = (struct tide_operation){.body = &counting};
  struct tide_wait wait = {f->gate, 1};
  struct tide_operation held = {.body = &counting, .waits = &wait, .wait_count = 1};
  CHECK_OK(tide_queue_submit(f->queue, &held, NULL, NULL));
  CHECK_OK(tide_queue_submit(f->queue, &held, NULL, NULL));
}

TEST(a_submit_waits_for_capacity_up_to_its_deadline) {
  struct filled f;
  uint64_t sequence = 0;
  fill(&f);
  CHECK_STATUS(tide_queue_submit_wait(f.queue, &f.operation, TIDE_NOW, NULL, NULL), TIDE_TIMEOUT);
  CHECK_STATUS(
      tide_queue_submit_wait(f.queue, &f.operation, tide_after_ms(f.context, 5), NULL, NULL),
      TIDE_TIMEOUT);
  CHECK_OK(tide_timeline_signal_external(f.gate, 1));
  CHECK_OK(tide_queue_submit_wait(f.queue, &f.operation, TIDE_FOREVER, &sequence, NULL));
  CHECK_EQ_U64(sequence, 3);
  CHECK_OK(tide_queue_drain(f.queue, TIDE_FOREVER));
  CHECK_EQ_U64(ran, 3);
  close_context(f.context);
}

static enum tide_status answer;
static void *submit_and_wait(void *self) {
  struct filled *f = self;
  answer = tide_queue_submit_wait(f->queue, &f->operation, TIDE_FOREVER, NULL, NULL);
  return NULL;
}

static void await_blocked_thread(const struct tide_context *context) {
  while (!tide_load_acquire(&context->waiting)) sched_yield();
}

TEST(a_waiting_submit_hears_of_the_queues_end) {
  struct filled f;
  pthread_t thread;
  fill(&f);
  CHECK(pthread_create(&thread, NULL, submit_and_wait, &f) == 0);
  await_blocked_thread(f.context);
  tide_queue_destroy(f.queue);
  CHECK(pthread_join(thread, NULL) == 0);
  CHECK_STATUS(answer, TIDE_CANCELLED);
  close_context(f.context);
}

static void no_kick(void *self) { (void)self; }

TEST(a_waiting_submit_hears_of_a_lost_device) {
  static const struct tide_backend backend = {.name = "own", .in_order = true, .kick = no_kick};
  struct filled f = {.context = open_context(), .operation = {.body = &counting}};
  struct tide_work *work;
  pthread_t thread;
  CHECK_OK(tide_device_open(f.context, &backend, "own", &f.cpu));
  CHECK_OK(tide_queue_create(f.cpu, TIDE_PARAMS(tide_queue_params, .operations = 1), &f.queue));
  CHECK_OK(tide_queue_submit(f.queue, &f.operation, NULL, NULL));
  CHECK_EQ_U64(tide_device_exchange(f.cpu, NULL, 0, &work, 1, NULL), 1);
  CHECK(pthread_create(&thread, NULL, submit_and_wait, &f) == 0);
  await_blocked_thread(f.context);
  tide_device_lose(f.cpu, TIDE_LOST);
  CHECK(pthread_join(thread, NULL) == 0);
  CHECK_STATUS(answer, TIDE_LOST);
  tide_device_certify(f.cpu);
  close_context(f.context);
}

static uint32_t wakes;
static void count_wake(void *self, const uint32_t *word, uint32_t count_) {
  tide_fetch_add(&wakes, 1u);
  tide_platform_linux()->wake(self, word, count_);
}

static void *drain_queue(void *queue) {
  CHECK_OK(tide_queue_drain(queue, TIDE_FOREVER));
  return NULL;
}

/* A drain waits for one value, so the operations before it wake no thread. */
TEST(a_drain_is_woken_by_the_last_operation) {
  enum { COUNT = 100 };
  static const struct tide_backend backend = {.name = "own", .in_order = true, .kick = no_kick};
  struct tide_platform platform = *tide_platform_linux();
  struct tide_operation operation = {.body = &counting};
  struct tide_context *context;
  struct tide_device *device;
  struct tide_queue *queue;
  struct tide_work *work = NULL;
  pthread_t thread;
  platform.wake = count_wake;
  CHECK_OK(tide_context_create(TIDE_PARAMS(tide_context_params, .platform = &platform), &context));
  CHECK_OK(tide_device_open(context, &backend, "own", &device));
  CHECK_OK(tide_queue_create(device, NULL, &queue));
  for (int i = 0; i < COUNT; i++) CHECK_OK(tide_queue_submit(queue, &operation, NULL, NULL));
  CHECK(pthread_create(&thread, NULL, drain_queue, queue) == 0);
  await_blocked_thread(context);
  while (tide_device_exchange(device, &work, work != NULL, &work, 1, NULL)) {}
  CHECK(pthread_join(thread, NULL) == 0);
  CHECK(tide_load_acquire(&wakes) < COUNT / 2); /* of the lock, and of the drain */
  tide_context_destroy(context);
}

TEST(deadlines_are_absolute_and_do_not_wrap) {
  struct tide_context *context = open_context();
  const struct tide_platform *platform = tide_context_platform(context);
  uint64_t before = platform->now(platform->self), at = tide_after_ms(context, 7);
  CHECK(at >= before + 7000000 && at <= platform->now(platform->self) + 7000000);
  CHECK_EQ_U64(tide_after_ms(context, UINT64_MAX), TIDE_FOREVER);
  CHECK_EQ_U64(tide_after_ms(context, UINT64_MAX / 1000000), TIDE_FOREVER);
  close_context(context);
}

TEST_MAIN(CASE(an_empty_context), CASE(objects_that_operations_use),
          CASE(a_collective_and_its_parts), CASE(waiters_of_the_host), CASE(points_and_a_channel),
          CASE(fibers_end_first), CASE(calls_of_the_end_may_signal),
          CASE(a_released_timeline_is_its_waiters), CASE(a_released_timeline_is_its_signallers),
          CASE(waits_inside_of_the_context_end), CASE(a_running_body_is_awaited),
          CASE(a_submit_waits_for_capacity_up_to_its_deadline),
          CASE(a_waiting_submit_hears_of_the_queues_end),
          CASE(a_waiting_submit_hears_of_a_lost_device),
          CASE(a_drain_is_woken_by_the_last_operation),
          CASE(deadlines_are_absolute_and_do_not_wrap))
