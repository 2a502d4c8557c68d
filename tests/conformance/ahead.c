/* Devices that run ahead: operations out before they may start, their order, and the wakes. */
#include "fake_ahead.h"
#include "harness.h"

#include "base/atomic.h"
#include "tidemark/cpu.h"
#include "tidemark/tidemark.h"
#include "tidemark/trace.h"

#include <stdlib.h>
#include <string.h>

enum { STAGES = 64, EVENTS = 512 };

/* The operations that went out, in order. */
struct notes {
  struct tide_sink sink;
  uint32_t out; /* atomic */
  bool is_off;
  uint64_t sequences[EVENTS], axes[EVENTS];
};

static void on_event(void *self, const struct tide_event *event) {
  struct notes *notes = self;
  if (event->kind != TIDE_EVENT_OUT || notes->is_off) return;
  uint32_t at = tide_load_relaxed(&notes->out);
  CHECK(at < EVENTS);
  notes->sequences[at] = event->sequence;
  notes->axes[at] = event->axis;
  tide_store_release(&notes->out, at + 1);
}

static struct tide_context *open_context(struct notes *notes) {
  struct tide_context *context;
  *notes = (struct notes){.sink = {.event = on_event, .self = notes}};
  CHECK_OK(tide_context_create(TIDE_PARAMS(tide_context_params, .sink = &notes->sink), &context));
  return context;
}

static struct tide_queue *open_queue(struct tide_device *device, uint32_t hardware_queue,
                                     uint8_t priority) {
  struct tide_queue *queue;
  struct tide_queue_params params = {.struct_size = sizeof params,
                                     .operations = 128,
                                     .priority = priority,
                                     .hardware_queue = 1 + hardware_queue};
  CHECK_OK(tide_queue_create(device, &params, &queue));
  return queue;
}

static struct tide_timeline *open_timeline(struct tide_context *context) {
  struct tide_timeline *timeline;
  CHECK_OK(tide_timeline_create(context, NULL, &timeline));
  return timeline;
}

static uint64_t later(const struct tide_context *context) {
  return tide_after_ms(context, 20000u * test_slowdown());
}

static void wait_until_out(struct tide_context *context, struct notes *notes, uint32_t count) {
  const struct tide_platform *platform = tide_context_platform(context);
  uint64_t deadline = later(context);
  while (tide_load_acquire(&notes->out) < count) {
    if (platform->now(platform->self) > deadline)
      FAIL("%u are out instead of %u", tide_load_acquire(&notes->out), count);
    platform->yield(platform->self);
  }
}

/* ---- a pipeline ----------------------------------------------------------------------- */

struct stage {
  struct fake_ahead *fake;
  struct notes *notes;
  uint32_t number, out;
  uint32_t *reached; /* the newest stage */
  uint64_t *wakes;   /* as the first stage saw them */
};

/* Each stage sees the one before it, all stages out, and no thread woken meanwhile. */
static enum tide_status run_stage(void *arguments) {
  const struct stage *stage = arguments;
  CHECK_EQ_U64(*stage->reached, stage->number - 1);
  CHECK_EQ_U64(tide_load_acquire(&stage->notes->out), stage->out);
  *stage->reached = stage->number;
  if (stage->number == 1) *stage->wakes = fake_ahead_wakes(stage->fake);
  if (stage->number < stage->out) CHECK_EQ_U64(fake_ahead_wakes(stage->fake), *stage->wakes);
  return TIDE_OK;
}
static const struct tide_body_class stage_class = {.name = "stage", .host = run_stage};

/* Stage n is on queue n % 2, and waits for stage n - 1. */
static void submit_stages(struct tide_queue *const *queues, struct tide_timeline *line,
                          struct stage stage, uint32_t count) {
  stage.out = count;
  for (stage.number = 1; stage.number <= count; stage.number++) {
    struct tide_wait wait = {line, stage.number - 1};
    struct tide_signal signal = {.timeline = line, .value = stage.number};
    struct tide_operation operation = {.waits = &wait,
                                       .wait_count = stage.number > 1,
                                       .signals = &signal,
                                       .signal_count = 1,
                                       .body = &stage_class,
                                       .arguments = &stage,
                                       .arguments_size = sizeof stage};
    CHECK_OK(tide_queue_submit(queues[stage.number % 2], &operation, NULL, NULL));
  }
}

static void run_pipeline(const struct fake_ahead_params *params, uint32_t second_queue,
                         struct tide_context_stats *out_stats) {
  struct notes notes;
  struct tide_context *context = open_context(&notes);
  struct tide_device *device;
  struct fake_ahead *fake = fake_ahead_open(context, params, &device);
  struct tide_queue *queues[2] = {open_queue(device, 0, 8), open_queue(device, second_queue, 8)};
  struct tide_timeline *line = open_timeline(context);
  uint32_t reached = 0;
  uint64_t wakes = 0;
  fake_ahead_hold(fake, true);
  submit_stages(queues, line,
                (struct stage){.fake = fake, .notes = &notes, .reached = &reached, .wakes = &wakes},
                STAGES);
  wait_until_out(context, &notes, STAGES);
  fake_ahead_rest(fake);
  CHECK_EQ_U64(reached, 0);
  fake_ahead_hold(fake, false);
  CHECK_OK(tide_timeline_wait(line, STAGES, later(context)));
  CHECK_EQ_U64(reached, STAGES);
  tide_context_stats(context, out_stats);
  tide_context_destroy(context);
}

/* 64 operations are out before the first one starts, and no thread wakes between the stages. Each
 * wait is a native one: no stage is known to another queue before. */
TEST(a_pipeline_is_out_before_it_starts) {
  struct tide_context_stats stats;
  for (uint64_t seed = 1; seed <= 20; seed++) {
    run_pipeline(&(struct fake_ahead_params){.ahead = STAGES, .seed = seed}, 1, &stats);
    CHECK_EQ_U64(stats.waits_by_device, STAGES - 1);
    CHECK_EQ_U64(stats.native_waits, STAGES - 1);
    CHECK_EQ_U64(stats.barriers, 0);
  }
}

/* On one hardware queue the waits are barriers. */
TEST(a_shared_hardware_queue_needs_barriers) {
  struct tide_context_stats stats;
  for (uint64_t seed = 1; seed <= 20; seed++) {
    run_pipeline(&(struct fake_ahead_params){.ahead = STAGES, .seed = seed}, 0, &stats);
    CHECK_EQ_U64(stats.native_waits, 0);
    CHECK_EQ_U64(stats.barriers, STAGES - 1);
  }
}

/* Two devices of one group wait for each other, without the host. */
TEST(devices_of_a_group_wait_for_each_other) {
  for (uint64_t seed = 1; seed <= 20; seed++) {
    struct fake_group group = FAKE_GROUP;
    struct fake_ahead_params params = {.ahead = STAGES, .seed = seed, .group = &group};
    struct notes notes;
    struct tide_context *context = open_context(&notes);
    struct tide_device *devices[2];
    struct fake_ahead *first = fake_ahead_open(context, &params, &devices[0]);
    struct fake_ahead *second = fake_ahead_open(context, &params, &devices[1]);
    struct tide_queue *queues[2] = {open_queue(devices[0], 0, 8), open_queue(devices[1], 1, 8)};
    struct tide_timeline *line = open_timeline(context);
    uint32_t reached = 0;
    uint64_t wakes = 0;
    fake_ahead_hold(first, true), fake_ahead_hold(second, true);
    struct stage stage = {.fake = first, .notes = &notes, .reached = &reached, .wakes = &wakes};
    submit_stages(queues, line, stage, STAGES);
    wait_until_out(context, &notes, STAGES);
    fake_ahead_rest(first), fake_ahead_rest(second);
    fake_ahead_hold(first, false), fake_ahead_hold(second, false);
    CHECK_OK(tide_timeline_wait(line, STAGES, later(context)));
    struct tide_context_stats stats;
    tide_context_stats(context, &stats);
    CHECK_EQ_U64(stats.native_waits, STAGES - 1);
    tide_context_destroy(context);
  }
}

/* ---- order, bounds --------------------------------------------------------------------------- */

struct place {
  uint32_t *count; /* atomic: operations that have started */
  uint32_t *own;   /* how many had started before this one */
};

static enum tide_status note_place(void *arguments) {
  const struct place *place = arguments;
  uint32_t before = tide_fetch_add(place->count, 1u);
  if (place->own) *place->own = before;
  return TIDE_OK;
}
static const struct tide_body_class place_class = {.name = "place", .host = note_place};

static uint64_t submit_place(struct tide_queue *queue, struct place place,
                             const struct tide_wait *wait, struct tide_timeline *line,
                             uint64_t value) {
  uint64_t sequence;
  struct tide_signal signal = {.timeline = line, .value = value};
  struct tide_operation operation = {.waits = wait,
                                     .wait_count = wait != NULL,
                                     .signals = &signal,
                                     .signal_count = line != NULL,
                                     .body = &place_class,
                                     .arguments = &place,
                                     .arguments_size = sizeof place};
  CHECK_OK(tide_queue_submit(queue, &operation, &sequence, NULL));
  return sequence;
}

/* A higher priority waits for the operations that are out, and for no more: at most `ahead` on a
 * hardware queue, of all queues together. */
TEST(a_priority_waits_for_what_is_out_alone) {
  enum { AHEAD = 8, LOW = 40 };
  struct notes notes;
  struct tide_context *context = open_context(&notes);
  struct tide_device *device;
  struct fake_ahead *fake =
      fake_ahead_open(context, &(struct fake_ahead_params){.ahead = AHEAD, .seed = 1}, &device);
  struct tide_queue *low[2] = {open_queue(device, 0, 2), open_queue(device, 0, 2)};
  struct tide_queue *high = open_queue(device, 0, 12);
  uint32_t count = 0, own = 0;
  fake_ahead_hold(fake, true);
  for (int i = 0; i < LOW; i++)
    submit_place(low[i % 2], (struct place){&count, NULL}, NULL, NULL, 0);
  wait_until_out(context, &notes, AHEAD);
  struct tide_timeline *line = open_timeline(context);
  submit_place(high, (struct place){&count, &own}, NULL, line, 1);
  CHECK_EQ_U64(tide_load_acquire(&notes.out), AHEAD);
  fake_ahead_hold(fake, false);
  CHECK_OK(tide_timeline_wait(line, 1, later(context)));
  CHECK(own <= AHEAD);
  CHECK_OK(tide_queue_drain(low[0], later(context)));
  CHECK_OK(tide_queue_drain(low[1], later(context)));
  CHECK_EQ_U64(tide_load_acquire(&count), LOW + 1);
  tide_context_destroy(context);
}

/* An operation whose native wait would hold back another queue goes behind it. */
TEST(a_native_wait_goes_behind_ready_operations) {
  struct notes notes;
  struct tide_context *context = open_context(&notes);
  struct tide_device *device;
  struct fake_ahead *fake =
      fake_ahead_open(context, &(struct fake_ahead_params){.seed = 1}, &device);
  struct tide_queue *other = open_queue(device, 1, 8);
  struct tide_queue *waiting = open_queue(device, 0, 12), *ready = open_queue(device, 0, 2);
  struct tide_timeline *line = open_timeline(context);
  uint32_t count = 0;
  fake_ahead_hold(fake, true);
  submit_place(other, (struct place){&count, NULL}, NULL, line, 1);
  wait_until_out(context, &notes, 1);
  tide_context_pause(context);
  submit_place(waiting, (struct place){&count, NULL}, &(struct tide_wait){line, 1}, NULL, 0);
  submit_place(ready, (struct place){&count, NULL}, NULL, NULL, 0);
  tide_context_resume(context);
  wait_until_out(context, &notes, 3);
  CHECK(notes.axes[1] == tide_queue_axis(ready) && notes.axes[2] == tide_queue_axis(waiting));
  fake_ahead_hold(fake, false);
  CHECK_OK(tide_queue_drain(waiting, later(context)));
  tide_context_destroy(context);
}

TEST(a_paused_context_gives_nothing_out) {
  struct notes notes;
  struct tide_context *context = open_context(&notes);
  struct tide_device *device;
  (void)fake_ahead_open(context, &(struct fake_ahead_params){.seed = 1}, &device);
  struct tide_queue *queue = open_queue(device, 0, 8);
  uint32_t count = 0;
  tide_context_pause(context);
  for (int i = 0; i < 4; i++) submit_place(queue, (struct place){&count, NULL}, NULL, NULL, 0);
  CHECK_STATUS(tide_queue_drain(queue, tide_after_ms(context, 20)), TIDE_TIMEOUT);
  CHECK_EQ_U64(tide_load_acquire(&notes.out), 0);
  tide_context_resume(context);
  CHECK_OK(tide_queue_drain(queue, later(context)));
  CHECK_EQ_U64(tide_load_acquire(&count), 4);
  tide_context_destroy(context);
}

TEST(what_is_out_cannot_be_cancelled) {
  struct notes notes;
  char text[1024];
  struct tide_context *context = open_context(&notes);
  struct tide_device *device;
  struct fake_ahead *fake =
      fake_ahead_open(context, &(struct fake_ahead_params){.ahead = 1, .seed = 1}, &device);
  struct tide_queue *queue = open_queue(device, 0, 8);
  uint32_t count = 0;
  fake_ahead_hold(fake, true);
  uint64_t first = submit_place(queue, (struct place){&count, NULL}, NULL, NULL, 0);
  uint64_t second = submit_place(queue, (struct place){&count, NULL}, NULL, NULL, 0);
  wait_until_out(context, &notes, 1);
  CHECK_STATUS(tide_queue_cancel(queue, first), TIDE_BUSY);
  (void)tide_context_diagnose(context, text, sizeof text);
  if (!strstr(text, "'place #1' is out on device 'ahead'"))
    FAIL("no word of what is out: %s", text);
  CHECK_OK(tide_queue_cancel(queue, second));
  fake_ahead_hold(fake, false);
  CHECK_OK(tide_queue_drain(queue, later(context)));
  CHECK_EQ_U64(tide_load_acquire(&count), 1);
  tide_context_destroy(context);
}

/* ---- waiters ------------------------------------------------------------------------------------
 */

/* A thread that begins to wait for an early value gets it when it is reached: the backend listens
 * for a later end until then, which does not come. */
TEST(a_late_waiter_is_heard) {
  struct notes notes;
  struct tide_context *context = open_context(&notes);
  struct fake_group group = FAKE_GROUP;
  struct fake_ahead_params params = {.seed = 1, .group = &group};
  struct tide_device *device, *other_device;
  struct fake_ahead *fake = fake_ahead_open(context, &params, &device);
  struct fake_ahead *other = fake_ahead_open(context, &params, &other_device);
  struct tide_queue *queue = open_queue(device, 0, 8), *held = open_queue(other_device, 0, 8);
  struct tide_timeline *early = open_timeline(context), *line = open_timeline(context);
  struct tide_timeline *ends[3] = {open_timeline(context), open_timeline(context),
                                   open_timeline(context)};
  uint32_t count = 0;
  fake_ahead_hold(other, true), fake_ahead_hold(fake, true);
  submit_place(held, (struct place){&count, NULL}, NULL, line, 1);
  for (uint64_t i = 1; i <= 3; i++)
    submit_place(queue, (struct place){&count, NULL}, NULL, ends[i - 1], 1);
  submit_place(queue, (struct place){&count, NULL}, NULL, early, 1);
  submit_place(queue, (struct place){&count, NULL}, &(struct tide_wait){line, 1}, early, 2);
  wait_until_out(context, &notes, 6);
  fake_ahead_hold(fake, false);
  CHECK_OK(tide_timeline_wait(ends[0], 1, later(context)));
  struct tide_wait_point points[2] = {{.timeline = ends[1], .value = 1},
                                      {.timeline = early, .value = 1}};
  CHECK_OK(tide_wait_all(points, 2, later(context)));
  CHECK_EQ_U64(tide_timeline_query(early), 1);
  fake_ahead_hold(other, false);
  CHECK_OK(tide_timeline_wait(early, 2, later(context)));
  tide_context_destroy(context);
}

/* A thread that submits to a full queue goes on, though the host is told of half a window at once.
 */
TEST(a_submit_waits_for_capacity) {
  enum { COUNT = 2000, AHEAD = 64 };
  struct notes notes;
  struct tide_context *context = open_context(&notes);
  struct tide_device *device;
  (void)fake_ahead_open(context, &(struct fake_ahead_params){.ahead = AHEAD, .seed = 1}, &device);
  struct tide_queue_params params = {.struct_size = sizeof params, .operations = AHEAD};
  struct tide_queue *queue;
  struct place place = {NULL, NULL};
  uint32_t count = 0;
  notes.is_off = true;
  CHECK_OK(tide_queue_create(device, &params, &queue));
  place.count = &count;
  struct tide_operation operation = {.body = &place_class, TIDE_ARGUMENTS(place)};
  for (int i = 0; i < COUNT; i++)
    CHECK_OK(tide_queue_submit_wait(queue, &operation, later(context), NULL, NULL));
  CHECK_OK(tide_queue_drain(queue, later(context)));
  CHECK_EQ_U64(tide_load_acquire(&count), COUNT);
  tide_context_destroy(context);
}

/* ---- failures
 * ------------------------------------------------------------------------------------ */

/* A value that fails while its waiter is out: the waiter runs, and fails all the same. */
TEST(an_operation_may_run_in_vain) {
  struct notes notes;
  struct tide_context *context = open_context(&notes);
  struct tide_device *device;
  struct fake_ahead *fake =
      fake_ahead_open(context, &(struct fake_ahead_params){.seed = 1}, &device);
  struct tide_queue *first = open_queue(device, 0, 8), *second = open_queue(device, 1, 8);
  struct tide_timeline *line = open_timeline(context), *end = open_timeline(context);
  struct tide_context_stats stats;
  uint32_t count = 0;
  fake_ahead_hold(fake, true);
  submit_place(first, (struct place){&count, NULL}, NULL, line, 1);
  submit_place(second, (struct place){&count, NULL}, &(struct tide_wait){line, 1}, end, 1);
  wait_until_out(context, &notes, 2);
  tide_timeline_fail(line, TIDE_FAILED);
  fake_ahead_hold(fake, false);
  CHECK_STATUS(tide_timeline_wait(end, 1, later(context)), TIDE_FAILED);
  CHECK_EQ_U64(tide_load_acquire(&count), 2);
  tide_context_stats(context, &stats);
  CHECK_EQ_U64(stats.ran_in_vain, 1);
  tide_context_destroy(context);
}

/* A device is lost: the other one's native wait ends once that is certified, and not before. */
TEST(a_lost_device_releases_its_waiters) {
  struct notes notes;
  struct tide_context *context = open_context(&notes);
  struct fake_group group = FAKE_GROUP;
  struct fake_ahead_params params = {.seed = 1, .group = &group};
  struct tide_device *devices[2];
  struct fake_ahead *lost = fake_ahead_open(context, &params, &devices[0]);
  struct fake_ahead *other = fake_ahead_open(context, &params, &devices[1]);
  struct tide_queue *first = open_queue(devices[0], 0, 8), *second = open_queue(devices[1], 0, 8);
  struct tide_timeline *line = open_timeline(context), *end = open_timeline(context);
  uint32_t count = 0;
  fake_ahead_hold(lost, true);
  submit_place(first, (struct place){&count, NULL}, NULL, line, 1);
  submit_place(second, (struct place){&count, NULL}, &(struct tide_wait){line, 1}, end, 1);
  wait_until_out(context, &notes, 2);
  fake_ahead_lose(lost);
  CHECK_STATUS(tide_timeline_wait(line, 1, later(context)), TIDE_LOST);
  CHECK_STATUS(tide_queue_drain(second, tide_after_ms(context, 20)), TIDE_TIMEOUT);
  CHECK_EQ_U64(tide_load_acquire(&count), 0);
  fake_ahead_certify(lost);
  CHECK_STATUS(tide_timeline_wait(end, 1, later(context)), TIDE_LOST);
  CHECK_EQ_U64(tide_load_acquire(&count), 1);
  (void)other;
  tide_context_destroy(context);
}

/* A device whose operations are published stays open while another one's submissions name it. */
TEST(a_device_stays_open_for_its_waiters) {
  struct notes notes;
  struct tide_context *context = open_context(&notes);
  struct fake_group group = FAKE_GROUP;
  struct fake_ahead_params params = {.seed = 1, .group = &group};
  struct tide_device *devices[2];
  struct fake_ahead *first = fake_ahead_open(context, &params, &devices[0]);
  struct fake_ahead *other = fake_ahead_open(context, &params, &devices[1]);
  struct tide_queue *queue = open_queue(devices[0], 0, 8), *second = open_queue(devices[1], 0, 8);
  struct tide_timeline *line = open_timeline(context);
  uint32_t count = 0;
  fake_ahead_hold(first, true), fake_ahead_hold(other, true);
  submit_place(queue, (struct place){&count, NULL}, NULL, line, 1);
  submit_place(second, (struct place){&count, NULL}, &(struct tide_wait){line, 1}, NULL, 0);
  wait_until_out(context, &notes, 2);
  fake_ahead_hold(first, false);
  CHECK_OK(tide_timeline_wait(line, 1, later(context)));
  tide_queue_destroy(queue);
  CHECK_STATUS(tide_device_settle(devices[0], tide_after_ms(context, 20)), TIDE_TIMEOUT);
  fake_ahead_hold(other, false);
  CHECK_OK(tide_device_settle(devices[0], later(context)));
  tide_device_close(devices[0]);
  CHECK_OK(tide_queue_drain(second, later(context)));
  tide_context_destroy(context);
}

/* ---- traces
 * -------------------------------------------------------------------------------------- */

static char written[1 << 16];
static size_t written_size;

static enum tide_status keep_text(void *self, const char *text, size_t size) {
  (void)self;
  CHECK(written_size + size < sizeof written);
  memcpy(written + written_size, text, size);
  written_size += size;
  return TIDE_OK;
}

/* A trace names the primitive of each wait, and tells submissions from operations that the host has
 * started. */
TEST(a_trace_names_the_keeper_of_each_wait) {
  struct tide_trace *trace;
  struct tide_context *context;
  struct tide_device *device;
  CHECK_OK(tide_trace_create(TIDE_PARAMS(tide_trace_params, .platform = tide_platform_linux(),
                                         .allocator = tide_allocator_system()),
                             &trace));
  CHECK_OK(tide_context_create(TIDE_PARAMS(tide_context_params, .sink = tide_trace_sink(trace)),
                               &context));
  struct fake_ahead *fake =
      fake_ahead_open(context, &(struct fake_ahead_params){.seed = 1}, &device);
  struct tide_queue *first = open_queue(device, 0, 8), *near = open_queue(device, 0, 8);
  struct tide_queue *far = open_queue(device, 1, 8);
  struct tide_timeline *line = open_timeline(context);
  uint32_t count = 0;
  fake_ahead_hold(fake, true);
  submit_place(first, (struct place){&count, NULL}, NULL, line, 1);
  submit_place(near, (struct place){&count, NULL}, &(struct tide_wait){line, 1}, NULL, 0);
  submit_place(far, (struct place){&count, NULL}, &(struct tide_wait){line, 1}, NULL, 0);
  fake_ahead_rest(fake);
  fake_ahead_hold(fake, false);
  CHECK_OK(tide_queue_drain(near, later(context)));
  CHECK_OK(tide_queue_drain(far, later(context)));
  CHECK_OK(tide_trace_write(trace, &(struct tide_trace_writer){.write = keep_text}));
  const char *const said[] = {"\"cat\":\"submission\"", "\"cat\":\"barrier\"",
                              "\"cat\":\"native wait\""};
  for (size_t i = 0; i < sizeof said / sizeof said[0]; i++)
    if (!strstr(written, said[i])) FAIL("no %s in %s", said[i], written);
  CHECK(!strstr(written, "\"cat\":\"issued\""));
  tide_context_destroy(context);
  tide_trace_destroy(trace);
}

/* ---- memory
 * --------------------------------------------------------------------------------------- */

static int64_t live_bytes, peak_bytes; /* atomic */

static void count_bytes(int64_t change) {
  int64_t live = tide_fetch_add(&live_bytes, change) + change;
  if (live > tide_load_relaxed(&peak_bytes)) tide_store_relaxed(&peak_bytes, live);
}
static void *counting_alloc(void *self, size_t size, size_t align) {
  const struct tide_allocator *system = self;
  void *memory = system->alloc(system->self, size, align);
  if (memory) count_bytes((int64_t)size);
  return memory;
}
static void counting_free(void *self, void *memory, size_t size) {
  const struct tide_allocator *system = self;
  if (memory) count_bytes(-(int64_t)size);
  system->free(system->self, memory, size);
}

/* A long pipeline takes no more memory than a short one. */
TEST(memory_is_flat_in_the_length) {
  struct tide_allocator allocator = {counting_alloc, counting_free, NULL};
  allocator.self = (void *)(uintptr_t)tide_allocator_system();
  struct tide_context *context;
  struct tide_device *device;
  CHECK_OK(
      tide_context_create(TIDE_PARAMS(tide_context_params, .allocator = &allocator), &context));
  (void)fake_ahead_open(context, &(struct fake_ahead_params){.seed = 1}, &device);
  struct tide_queue *queues[2] = {open_queue(device, 0, 8), open_queue(device, 1, 8)};
  struct tide_timeline *line = open_timeline(context);
  uint32_t count = 0;
  int64_t after_first = 0;
  uint64_t stages = 20000 / test_slowdown();
  for (uint64_t i = 1; i <= stages; i++) {
    struct tide_wait wait = {line, i - 1};
    if (i > 64) CHECK_OK(tide_timeline_wait(line, i - 64, later(context)));
    submit_place(queues[i % 2], (struct place){&count, NULL}, i > 1 ? &wait : NULL, line, i);
    if (i == 200) after_first = tide_load_relaxed(&peak_bytes);
  }
  CHECK_OK(tide_timeline_wait(line, stages, later(context)));
  CHECK_EQ_U64((uint64_t)tide_load_relaxed(&peak_bytes), (uint64_t)after_first);
  tide_context_destroy(context);
  CHECK_EQ_U64((uint64_t)tide_load_relaxed(&live_bytes), 0);
}

TEST_MAIN(CASE(a_pipeline_is_out_before_it_starts), CASE(a_shared_hardware_queue_needs_barriers),
          CASE(devices_of_a_group_wait_for_each_other),
          CASE(a_priority_waits_for_what_is_out_alone),
          CASE(a_native_wait_goes_behind_ready_operations),
          CASE(a_paused_context_gives_nothing_out), CASE(what_is_out_cannot_be_cancelled),
          CASE(a_late_waiter_is_heard), CASE(a_submit_waits_for_capacity),
          CASE(an_operation_may_run_in_vain), CASE(a_lost_device_releases_its_waiters),
          CASE(a_device_stays_open_for_its_waiters), CASE(a_trace_names_the_keeper_of_each_wait),
          CASE(memory_is_flat_in_the_length))
