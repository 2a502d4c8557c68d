/* The cpu device with its real workers: submit against rest, completion and close. */
#include "interleave.h"

#include "harness.h"
#include "tidemark/tidemark.h"
#include "tidemark/cpu.h"
#include "tidemark/file.h"

struct state {
  struct tide_context *context;
  struct tide_device *device;
  struct tide_queue *queues[2];
  struct tide_timeline *lines[2];
  unsigned bodies[2];
};

struct arguments {
  struct state *s;
  int which;
};
static enum tide_status body(void *given) {
  struct arguments *arguments = given;
  arguments->s->bodies[arguments->which]++;
  return TIDE_OK;
}
static const struct tide_body_class count = {.name = "count", .host = body};

static void setup_workers(struct state *s, uint32_t workers) {
  static const struct tide_queue_params small = {
      .struct_size = sizeof small, .operations = 2, .waits = 2, .signals = 2, .buffers = 2};
  struct tide_context_params params = {.struct_size = sizeof params, .frontier_capacity = 4};
  struct tide_cpu_params cpu = {
      .struct_size = sizeof cpu, .workers = workers, .spin_ns = TIDE_CPU_NO_SPIN};
  EXPECT_OK(tide_context_create(&params, &s->context));
  EXPECT_OK(tide_cpu_open(s->context, &cpu, &s->device));
  for (int i = 0; i < 2; i++) {
    EXPECT_OK(tide_queue_create(s->device, &small, &s->queues[i]));
    EXPECT_OK(tide_timeline_create(s->context, NULL, &s->lines[i]));
  }
}
static void setup_one(void *self) { setup_workers(self, 1); }
static void setup_two(void *self) { setup_workers(self, 2); }

static void submit(struct state *s, int which, struct tide_timeline *wait) {
  struct arguments arguments = {s, which};
  struct tide_wait awaited = {wait, 1};
  struct tide_signal signal = {s->lines[which], 1, false};
  struct tide_operation operation = {.label = "op",
                                     .waits = &awaited,
                                     .wait_count = wait ? 1 : 0,
                                     .signals = &signal,
                                     .signal_count = 1,
                                     .body = &count,
                                     .arguments = &arguments,
                                     .arguments_size = sizeof arguments};
  EXPECT_OK(tide_queue_submit(s->queues[which], &operation, NULL, NULL));
}
static void await(struct state *s, int which) {
  EXPECT_OK(tide_timeline_wait(s->lines[which], 1, TIDE_FOREVER));
  EXPECT(s->bodies[which] == 1);
}
static void end_all(struct state *s) {
  for (int i = 0; i < 2; i++) tide_queue_destroy(s->queues[i]);
  tide_device_close(s->device);
}

/* One operation, and the end. */
static void submit_wait_close(void *self) {
  struct state *s = self;
  submit(s, 0, NULL);
  await(s, 0);
  end_all(s);
}
/* The end comes at any moment: what has not started is cancelled. */
static void submit_close(void *self) {
  struct state *s = self;
  submit(s, 0, NULL);
  end_all(s);
}
/* Two, of which the second waits for the first. */
static void submit_chain_close(void *self) {
  struct state *s = self;
  submit(s, 0, NULL);
  submit(s, 1, s->lines[0]);
  await(s, 1);
  end_all(s);
}
static void submit_two_close(void *self) {
  struct state *s = self;
  submit(s, 0, NULL);
  submit(s, 1, NULL);
  await(s, 0);
  await(s, 1);
  end_all(s);
}

#define CPU(name, most, how, ...)                                                                  \
  TEST(name) {                                                                                     \
    static const struct interleave_case one = {.size = sizeof(struct state),                       \
                                               .setup = how,                                       \
                                               .threads = {__VA_ARGS__},                           \
                                               .preemptions = most};                               \
    interleave_explore(&one);                                                                      \
  }

CPU(one_worker, 0, setup_one, submit_wait_close)
CPU(close_early, 0, setup_one, submit_close)
CPU(one_worker_chain, 0, setup_one, submit_chain_close)
CPU(two_workers, 2, setup_two, submit_two_close)

TEST_MAIN(CASE(one_worker), CASE(close_early), CASE_SECONDS(one_worker_chain, 300),
          CASE_SECONDS(two_workers, 300))
