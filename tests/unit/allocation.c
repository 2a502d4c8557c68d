/* Memory: every allocation of a whole life may fail, and the paths that must not allocate don't. */
#include "harness.h"
#include "tidemark/tidemark.h"

#include <stdlib.h>
#include <string.h>

struct meter {
  uint64_t asked, fail_at; /* the allocation that fails; 0: none */
  int64_t out;
};

static void *meter_alloc(void *self, size_t size, size_t align) {
  struct meter *meter = self;
  if (++meter->asked == meter->fail_at) return NULL;
  void *memory = NULL;
  if (posix_memalign(&memory, align < 16 ? 16 : align, size)) return NULL;
  meter->out++;
  return memory;
}

static void meter_free(void *self, void *memory, size_t size) {
  struct meter *meter = self;
  memset(memory, 0xdd, size);
  meter->out--;
  free(memory);
}

static enum tide_status write_nowhere(void *self, const char *bytes, size_t size) {
  (void)self, (void)bytes, (void)size;
  return TIDE_OK;
}

static void kick(void *self) { (void)self; }
static enum tide_status count(void *arguments) {
  ++**(uint64_t **)arguments;
  return TIDE_OK;
}
static const struct tide_body_class counting = {.name = "count", .host = count};
static const struct tide_backend backend = {.name = "inline", .in_order = true, .kick = kick};

struct life {
  struct meter meter;
  struct tide_allocator allocator;
  struct tide_context *context;
  struct tide_device *device;
  struct tide_queue *queues[2];
  struct tide_timeline *timelines[2], *gate;
  struct tide_pool *pool;
  struct tide_wait_set *set;
  struct tide_notifier *notifier;
  struct tide_collective *collective;
  uint64_t value, ran, findings;
  struct tide_diag last;
};

static void found(void *user, const struct tide_diag *diag) {
  struct life *life = user;
  life->findings++;
  life->last = *diag;
}

/* Makes one of each; stops at the first refusal, which must be for memory. */
static enum tide_status open_checked_life(struct life *life, uint64_t fail_at, bool check) {
  memset(life, 0, sizeof *life);
  life->meter.fail_at = fail_at;
  life->allocator = (struct tide_allocator){meter_alloc, meter_free, &life->meter};
  struct tide_context_params context_params = {.struct_size = sizeof context_params,
                                               .allocator = &life->allocator,
                                               .check = check,
                                               .finding = found,
                                               .finding_user = life};
  struct tide_queue_params queue = {.struct_size = sizeof queue, .operations = 64};
  struct tide_pool_params pool = {.struct_size = sizeof pool, .chunk = 1 << 16, .buffers = 8};
  enum tide_status status = tide_context_create(&context_params, &life->context);
  if (status == TIDE_OK)
    status = tide_device_open(life->context, &backend, "inline", &life->device);
  for (int i = 0; i < 2 && status == TIDE_OK; i++) {
    status = tide_queue_create(life->device, &queue, &life->queues[i]);
    if (status == TIDE_OK)
      status = tide_timeline_create(life->context, TIDE_PARAMS(tide_timeline_params, .history = 16),
                                    &life->timelines[i]);
  }
  if (status == TIDE_OK) status = tide_timeline_create(life->context, NULL, &life->gate);
  if (status == TIDE_OK) status = tide_pool_create(life->context, &pool, &life->pool);
  if (status == TIDE_OK) status = tide_wait_set_create(life->context, 8, &life->set);
  if (status == TIDE_OK) status = tide_notifier_create(life->context, &life->notifier);
  if (status == TIDE_OK) status = tide_collective_create(life->queues, 2, "all", &life->collective);
  return status;
}

static enum tide_status open_life(struct life *life, uint64_t fail_at) {
  return open_checked_life(life, fail_at, false);
}

static void run_ready(struct life *life) {
  struct tide_work *work, *done = NULL;
  while (tide_device_exchange(life->device, &done, done != NULL, &work, 1, NULL)) {
    work->status = work->body->host(tide_work_arguments(work));
    done = work;
  }
}

static void close_life(struct life *life) {
  if (life->device) run_ready(life);
  tide_collective_destroy(life->collective);
  tide_notifier_destroy(life->notifier);
  tide_wait_set_destroy(life->set);
  for (int i = 0; i < 2; i++) tide_queue_destroy(life->queues[i]);
  if (life->device) {
    CHECK_OK(tide_device_settle(life->device, TIDE_FOREVER));
    tide_device_close(life->device);
  }
  if (life->pool) CHECK_OK(tide_pool_destroy(life->pool));
  for (int i = 0; i < 2; i++) tide_timeline_destroy(life->timelines[i]);
  tide_timeline_destroy(life->gate);
  tide_context_destroy(life->context);
  CHECK_EQ_U64((uint64_t)life->meter.out, 0);
}

/* One round: a buffer, two operations on two queues, a redundant wait, a held one, host waits. */
static void one_round(struct life *life) {
  uint64_t v = ++life->value, *ran = &life->ran;
  struct tide_buffer *buffer;
  CHECK_OK(tide_queue_alloc(life->queues[0], life->pool, 4096, "b", &buffer));
  struct tide_use use = {.buffer = buffer, .access = TIDE_WRITE};
  struct tide_wait gate = {life->gate, v}, both[2] = {{life->timelines[0], v}, {life->gate, v}};
  struct tide_signal first = {life->timelines[0], v, false},
                     second = {life->timelines[1], v, false};
  struct tide_operation a = {.label = "a",
                             .waits = &gate,
                             .wait_count = 1,
                             .signals = &first,
                             .signal_count = 1,
                             .buffers = &use,
                             .buffer_count = 1,
                             .body = &counting,
                             .arguments = &ran,
                             .arguments_size = sizeof ran};
  struct tide_operation b = {.label = "b",
                             .waits = both,
                             .wait_count = 2,
                             .signals = &second,
                             .signal_count = 1,
                             .buffers = &use,
                             .buffer_count = 1,
                             .body = &counting,
                             .arguments = &ran,
                             .arguments_size = sizeof ran};
  CHECK_OK(tide_queue_submit(life->queues[0], &a, NULL, NULL));
  CHECK_OK(tide_queue_submit(life->queues[1], &b, NULL, NULL));
  tide_queue_free(life->queues[1], buffer);
  CHECK_OK(tide_wait_set_add(life->set, life->timelines[1], v, v, NULL));
  CHECK_OK(tide_timeline_signal(life->gate, v, NULL));
  run_ready(life);
  struct tide_wait_ready ready;
  size_t ready_count;
  CHECK_OK(tide_wait_set_wait(life->set, &ready, 1, TIDE_FOREVER, &ready_count));
  CHECK_OK(tide_timeline_wait(life->timelines[1], v, TIDE_FOREVER));
  struct tide_wait_point points[2] = {{.timeline = life->timelines[0], .value = v},
                                      {.timeline = life->timelines[1], .value = v + 9}};
  CHECK_OK(tide_wait_any(points, 2, TIDE_FOREVER, NULL));
}

TEST(every_allocation_may_fail) {
  struct life life;
  for (uint64_t n = 1;; n++) {
    enum tide_status status = open_life(&life, n);
    if (status == TIDE_OK) {
      CHECK(life.meter.asked < n); /* all of them have had their turn */
      close_life(&life);
      CHECK(n > 20);
      return;
    }
    CHECK_STATUS(status, TIDE_NOMEM);
    close_life(&life);
  }
}

TEST(a_fresh_chunk_may_be_refused) {
  struct life life;
  CHECK_OK(open_life(&life, 0));
  struct tide_buffer *buffer;
  life.meter.fail_at = life.meter.asked + 1;
  CHECK_STATUS(tide_queue_alloc(life.queues[0], life.pool, 4096, "b", &buffer), TIDE_NOMEM);
  one_round(&life); /* nothing is broken by it */
  CHECK_EQ_U64(life.ran, 2);
  close_life(&life);
}

/* Check mode allocates as it goes. Where it gets nothing it says that it misses errors from there
 * on; the operations know nothing of it. */
TEST(check_mode_without_memory) {
  struct life life;
  for (uint64_t n = 1, said = 0;; n++) {
    CHECK_OK(open_checked_life(&life, 0, true));
    uint64_t opened = life.meter.asked;
    struct tide_buffer *buffer; /* the pool's first chunk is not check mode's */
    CHECK_OK(tide_queue_alloc(life.queues[0], life.pool, 4096, "b", &buffer));
    tide_queue_free(life.queues[0], buffer);
    life.meter.fail_at = life.meter.asked + n;
    for (int i = 0; i < 20; i++) one_round(&life);
    CHECK_EQ_U64(life.ran, 40);
    bool failed = life.meter.asked >= life.meter.fail_at;
    CHECK(life.findings <= 1);
    if (life.findings) CHECK_STATUS(life.last.status, TIDE_NOMEM);
    if (life.findings) said++;
    uint64_t asked = life.meter.asked - opened;
    close_life(&life);
    if (failed) continue;
    CHECK(n > 10 && said == n - 1 && asked >= n);
    return;
  }
}

TEST(a_trace_without_memory) {
  for (uint64_t n = 1;; n++) {
    struct meter meter = {.fail_at = n};
    struct tide_allocator allocator = {meter_alloc, meter_free, &meter};
    struct tide_trace_params params = {.struct_size = sizeof params,
                                       .platform = tide_platform_linux(),
                                       .allocator = &allocator,
                                       .events = 8};
    struct tide_trace *trace = NULL;
    enum tide_status status = tide_trace_create(&params, &trace);
    if (status == TIDE_OK) {
      const struct tide_sink *sink = tide_trace_sink(trace);
      struct tide_event event = {.kind = TIDE_EVENT_SUBMIT, .label = "x"};
      for (int i = 0; i < 20; i++) sink->event(sink->self, &event);
      struct tide_trace_writer writer = {write_nowhere, NULL};
      status = tide_trace_write(trace, &writer);
    }
    tide_trace_destroy(trace);
    CHECK_EQ_U64((uint64_t)meter.out, 0);
    if (status == TIDE_OK) {
      CHECK(meter.asked < n && n > 2);
      return;
    }
    CHECK_STATUS(status, TIDE_NOMEM);
  }
}

/* What every header promises of destroy and release. */
TEST(nothing_may_be_destroyed) {
  tide_timeline_release(NULL);
  tide_timeline_destroy(NULL);
  tide_wait_set_destroy(NULL);
  tide_notifier_destroy(NULL);
  tide_tracker_destroy(NULL);
  tide_queue_destroy(NULL);
  tide_collective_destroy(NULL);
  tide_device_close(NULL);
  CHECK_OK(tide_pool_destroy(NULL));
  tide_trace_destroy(NULL);
  tide_context_destroy(NULL);
  tide_program_destroy(NULL);
  tide_plan_destroy(NULL);
  tide_run_destroy(NULL);
  tide_plugin_unload(NULL);
}

TEST(nothing_allocates_after_warm_up) {
  struct life life;
  CHECK_OK(open_life(&life, 0));
  for (int i = 0; i < 10; i++) one_round(&life);
  uint64_t asked = life.meter.asked;
  for (int i = 0; i < 10000; i++) one_round(&life);
  CHECK_EQ_U64(life.meter.asked, asked);
  CHECK_EQ_U64(life.ran, 20020);
  close_life(&life);
}

TEST_MAIN(CASE(every_allocation_may_fail), CASE(a_fresh_chunk_may_be_refused),
          CASE(check_mode_without_memory), CASE(a_trace_without_memory),
          CASE(nothing_may_be_destroyed), CASE(nothing_allocates_after_warm_up))
