/* Simulated devices that run ahead, and plans on them. Times are exact. */
#include "program_load.h"

#include "tidemark/device.h"
#include "tidemark/sim.h"

enum { SUBMIT = 10, BODY = 100, NATIVE = 7, TRIP = 50, MOST = 16 };

struct world {
  struct tide_clock *clock;
  struct tide_context *context;
  struct tide_device *device;
  struct tide_queue *queues[2]; /* each on a hardware queue of its own, if there are two */
  struct tide_timeline *line;
  struct tide_sim_script script;
  uint64_t starts[MOST], ends[MOST]; /* by the operation's number */
  uint64_t costs[MOST];              /* 0: BODY */
  enum tide_status refuse[MOST], fail[MOST], answer[MOST];
  uint32_t ran;
};

struct arguments {
  struct world *world;
  uint32_t number;
};

static const struct arguments *arguments_of(const struct tide_work *work) {
  return tide_work_arguments(work);
}

static uint64_t start_work(void *self, const struct tide_work *work, uint32_t hand, uint64_t now) {
  struct world *w = self;
  uint32_t number = arguments_of(work)->number;
  (void)hand;
  w->starts[number] = now;
  return w->costs[number] ? w->costs[number] : BODY;
}

static void end_work(void *self, struct tide_work *work, uint32_t hand, uint64_t now) {
  struct world *w = self;
  (void)hand;
  w->ends[arguments_of(work)->number] = now;
}

static enum tide_status submit_work(void *self, struct tide_work *work,
                                    const struct tide_submission *submission) {
  struct world *w = self;
  uint32_t number = arguments_of(work)->number;
  (void)submission;
  if (w->fail[number])
    tide_work_fail(work, &(struct tide_failure){.status = w->fail[number], .code = 5});
  return w->refuse[number];
}

static enum tide_status run_body(void *arguments) {
  const struct arguments *own = arguments;
  own->world->ran++;
  return own->world->answer[own->number];
}
static const struct tide_body_class body = {.name = "body", .host = run_body};

static void open_world(struct world *w, struct tide_sim_params params) {
  *w = (struct world){.script = {NULL, start_work, NULL, end_work, w, submit_work}};
  params.struct_size = sizeof params;
  params.script = &w->script;
  CHECK_OK(tide_clock_create(tide_allocator_system(), NULL, &w->clock));
  struct tide_context_params context_params = {.struct_size = sizeof context_params,
                                               .platform = tide_clock_platform(w->clock)};
  CHECK_OK(tide_context_create(&context_params, &w->context));
  CHECK_OK(tide_sim_open(w->context, w->clock, &params, &w->device));
  for (uint32_t i = 0; i < 2; i++) {
    struct tide_queue_params queue = {.struct_size = sizeof queue};
    if (params.ahead && params.hardware_queues == 2) queue.hardware_queue = 1 + i;
    CHECK_OK(tide_queue_create(w->device, &queue, &w->queues[i]));
  }
  CHECK_OK(tide_timeline_create(w->context, NULL, &w->line));
}
#define OPEN(w, ...)                                                                               \
  open_world(                                                                                      \
      w, (struct tide_sim_params){                                                                 \
             .submit_cost = SUBMIT, .native_wait_cost = NATIVE, .round_trip = TRIP, __VA_ARGS__})

static void close_world(struct world *w) {
  tide_context_destroy(w->context);
  tide_clock_destroy(w->clock);
}

/* Waits for, and signals, a value of the line; 0: none. */
static void submit(struct world *w, uint32_t queue, uint32_t number, uint64_t wait,
                   uint64_t signal) {
  struct tide_wait waits = {w->line, wait};
  struct tide_signal signals = {.timeline = w->line, .value = signal};
  struct arguments arguments = {w, number};
  struct tide_operation operation = {.waits = &waits,
                                     .wait_count = wait != 0,
                                     .signals = &signals,
                                     .signal_count = signal != 0,
                                     .body = &body,
                                     .arguments = &arguments,
                                     .arguments_size = sizeof arguments};
  CHECK_OK(tide_queue_submit(w->queues[queue], &operation, NULL, NULL));
}

static void submit_chain(struct world *w, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) submit(w, i % 2, i, i, i + 1);
}

/* Returns the time at which the host knows that all is over. */
static uint64_t drain(struct world *w) {
  for (int i = 0; i < 2; i++) CHECK_OK(tide_queue_drain(w->queues[i], TIDE_FOREVER));
  return tide_clock_now(w->clock);
}

static struct tide_context_stats stats_of(const struct world *w) {
  struct tide_context_stats stats;
  tide_context_stats(w->context, &stats);
  return stats;
}

/* ---- a device ------------------------------------------------------------------------ */

TEST(a_chain_costs_its_bodies_ahead_and_all_of_it_by_the_host) {
  struct world w;
  enum { COUNT = 10 };
  OPEN(&w, .ahead = 64, .hardware_queues = 2);
  submit_chain(&w, COUNT);
  CHECK_EQ_U64(drain(&w), SUBMIT + COUNT * BODY + (COUNT - 1) * NATIVE + TRIP);
  CHECK_EQ_U64(stats_of(&w).native_waits, COUNT - 1);
  CHECK_EQ_U64(w.ran, COUNT);
  close_world(&w);
  OPEN(&w, .ahead = 64);
  submit_chain(&w, COUNT);
  CHECK_EQ_U64(drain(&w), SUBMIT + COUNT * BODY + TRIP);
  CHECK_EQ_U64(stats_of(&w).barriers, COUNT - 1);
  close_world(&w);
  OPEN(&w, .hardware_queues = 2);
  submit_chain(&w, COUNT);
  CHECK_EQ_U64(drain(&w), COUNT * (SUBMIT + BODY + TRIP));
  CHECK_EQ_U64(stats_of(&w).waits_by_device, 0);
  CHECK_EQ_U64(w.ran, COUNT);
  close_world(&w);
}

TEST(hardware_queues_share_the_hands) {
  struct world w;
  for (uint32_t hands = 1; hands <= 2; hands++) {
    OPEN(&w, .ahead = 64, .hardware_queues = 2, .hands = hands);
    for (uint32_t i = 0; i < 10; i++) submit(&w, i % 2, i, 0, 0);
    CHECK_EQ_U64(drain(&w), hands == 1 ? SUBMIT + 10 * BODY + TRIP : 2 * SUBMIT + 5 * BODY + TRIP);
    for (uint32_t i = 0; hands == 1 && i < 10; i++)
      CHECK_EQ_U64(w.starts[i], SUBMIT + i * (uint64_t)BODY);
    close_world(&w);
  }
}

/* Submissions of a hardware queue overlap, as far as there are hands. */
TEST(submissions_overlap_without_a_barrier) {
  struct world w;
  OPEN(&w, .ahead = 64, .hands = 4, .out_of_order = true);
  for (uint32_t i = 0; i < 8; i++) submit(&w, 0, i, 0, 0);
  CHECK_EQ_U64(drain(&w), 4 * SUBMIT + 2 * BODY + TRIP);
  close_world(&w);
}

TEST(a_barrier_waits_for_all_before_and_holds_back_all_behind) {
  struct world w;
  OPEN(&w, .ahead = 64, .hands = 4, .out_of_order = true);
  submit(&w, 0, 0, 0, 1);
  submit(&w, 0, 1, 0, 0);
  submit(&w, 0, 2, 1, 0);
  submit(&w, 0, 3, 0, 0);
  CHECK_EQ_U64(drain(&w), 2 * SUBMIT + 2 * BODY + TRIP);
  CHECK(w.starts[0] == SUBMIT && w.starts[1] == 2 * SUBMIT);
  CHECK(w.starts[2] == w.ends[1] && w.starts[3] == w.starts[2]);
  CHECK_EQ_U64(stats_of(&w).barriers, 1);
  close_world(&w);
}

/* The native timeline reaches a number when all before it have ended, too. */
TEST(a_native_wait_is_for_all_before_the_awaited_one) {
  struct world w;
  OPEN(&w, .ahead = 64, .hardware_queues = 2, .hands = 4, .out_of_order = true);
  w.costs[0] = 500;
  submit(&w, 0, 0, 0, 0);
  submit(&w, 0, 1, 0, 1);
  submit(&w, 1, 2, 1, 0);
  CHECK_EQ_U64(drain(&w), SUBMIT + 500 + NATIVE + BODY + TRIP);
  CHECK_EQ_U64(w.ends[1], 2 * SUBMIT + BODY);
  CHECK_EQ_U64(w.starts[2], w.ends[0] + NATIVE);
  close_world(&w);
}

/* The one before it waits for a hand until the awaited end: the native wait is over by then. */
TEST(a_native_wait_costs_nothing_when_it_is_over) {
  struct world w;
  OPEN(&w, .ahead = 64, .hardware_queues = 2, .out_of_order = true);
  w.costs[1] = 1;
  submit(&w, 0, 0, 0, 1);
  submit(&w, 1, 1, 0, 0);
  submit(&w, 1, 2, 1, 0);
  drain(&w);
  CHECK_EQ_U64(stats_of(&w).native_waits, 1);
  CHECK(w.starts[1] == w.ends[0] && w.starts[2] == w.ends[1]);
  close_world(&w);
}

TEST(the_host_knows_an_end_after_the_round_trip) {
  struct world w;
  for (uint32_t ahead = 0; ahead <= 64; ahead += 64) {
    OPEN(&w, .ahead = ahead, .wake = 4);
    for (uint32_t i = 0; i < 3; i++) submit(&w, 0, i, 0, i + 1);
    CHECK_OK(tide_timeline_wait(w.line, 1, TIDE_FOREVER));
    CHECK_EQ_U64(tide_clock_now(w.clock), 4 + SUBMIT + BODY + TRIP);
    close_world(&w);
  }
}

/* Room in a window comes with the ends that the host knows. */
TEST(a_full_window_waits_for_the_host) {
  struct world w;
  for (uint32_t ahead = 2; ahead <= 64; ahead += 62) {
    OPEN(&w, .ahead = ahead);
    for (uint32_t i = 0; i < 6; i++) {
      w.costs[i] = 20;
      submit(&w, 0, i, 0, 0);
    }
    CHECK_EQ_U64(drain(&w), ahead == 2 ? 260 : SUBMIT + 6 * 20 + TRIP);
    close_world(&w);
  }
}

TEST(a_refused_work_fails_alone) {
  struct world w;
  OPEN(&w, .ahead = 64);
  w.refuse[1] = TIDE_NOMEM;
  w.fail[3] = TIDE_FAILED;
  for (uint32_t i = 0; i < 5; i++) submit(&w, 0, i, 0, 0);
  (void)!tide_queue_drain(w.queues[0], TIDE_FOREVER);
  CHECK_EQ_U64(w.ran, 3);
  CHECK_EQ_U64(stats_of(&w).failed, 2);
  CHECK_EQ_U64(stats_of(&w).finished, 5);
  CHECK(!w.starts[1] && !w.starts[3] && w.ends[4]);
  close_world(&w);
}

/* A work without a body is an empty submission: it waits, and takes no hand. */
TEST(an_empty_submission_takes_no_hand) {
  struct world w;
  OPEN(&w, .ahead = 64, .hardware_queues = 2);
  submit(&w, 0, 0, 0, 1);
  submit(&w, 0, 1, 0, 0);
  struct tide_wait wait = {w.line, 1};
  struct tide_signal signal = {.timeline = w.line, .value = 2};
  struct tide_operation empty = {
      .waits = &wait, .wait_count = 1, .signals = &signal, .signal_count = 1};
  CHECK_OK(tide_queue_submit(w.queues[1], &empty, NULL, NULL));
  CHECK_OK(tide_timeline_wait(w.line, 2, TIDE_FOREVER));
  CHECK_EQ_U64(tide_clock_now(w.clock), SUBMIT + BODY + NATIVE + TRIP);
  drain(&w);
  close_world(&w);
}

/* Ahead, a body that fails loses the device. By the host it fails. */
TEST(a_body_that_fails_ahead_loses_the_device) {
  struct world w;
  for (uint32_t ahead = 0; ahead <= 64; ahead += 64) {
    OPEN(&w, .ahead = ahead, .hands = 2);
    w.answer[0] = TIDE_FAILED;
    submit(&w, 0, 0, 0, 1);
    submit(&w, 1, 1, 0, 0);
    submit(&w, 0, 2, 0, 0);
    CHECK_STATUS(tide_timeline_wait(w.line, 1, TIDE_FOREVER), TIDE_FAILED);
    tide_clock_pass(w.clock, 100000);
    CHECK_STATUS(tide_device_status(w.device), ahead ? TIDE_FAILED : TIDE_OK);
    CHECK_EQ_U64(w.ran, ahead ? 1 : 3);
    close_world(&w);
  }
}

TEST(a_halted_device_goes_on_later) {
  struct world w;
  for (uint32_t ahead = 0; ahead <= 64; ahead += 64) {
    OPEN(&w, .ahead = ahead);
    for (uint32_t i = 0; i < 3; i++) submit(&w, 0, i, 0, 0);
    tide_clock_pass(w.clock, SUBMIT + BODY / 2);
    tide_sim_halt(w.device);
    tide_clock_pass(w.clock, 1000);
    CHECK_EQ_U64(w.ran, 0);
    tide_sim_resume(w.device);
    CHECK_EQ_U64(w.ran, 1);
    drain(&w);
    CHECK_EQ_U64(w.ran, 3);
    close_world(&w);
  }
}

TEST(a_lost_device_touches_no_work) {
  struct world w;
  for (uint32_t ahead = 0; ahead <= 64; ahead += 64) {
    OPEN(&w, .ahead = ahead, .hands = 2);
    for (uint32_t i = 0; i < 6; i++) submit(&w, i % 2, i, 0, 0);
    tide_clock_pass(w.clock, 2 * SUBMIT + 5);
    tide_device_lose(w.device, TIDE_LOST);
    tide_device_certify(w.device);
    tide_clock_pass(w.clock, 10000);
    CHECK_EQ_U64(w.ran, 0);
    close_world(&w);
  }
}

static uint64_t no_more(void *self, struct tide_work *work, uint32_t hand, uint64_t now) {
  (void)self, (void)work, (void)hand, (void)now;
  return 0;
}

TEST(parameters_have_limits) {
  struct world w;
  struct tide_device *device;
  OPEN(&w, .ahead = 64);
  struct tide_sim_script more = {.more = no_more};
  struct tide_sim_params params = {.struct_size = sizeof params, .ahead = 1, .script = &more};
  CHECK_STATUS(tide_sim_open(w.context, w.clock, &params, &device), TIDE_UNSUPPORTED);
  params = (struct tide_sim_params){.struct_size = sizeof params, .hardware_queues = 9};
  CHECK_STATUS(tide_sim_open(w.context, w.clock, &params, &device), TIDE_INVALID);
  close_world(&w);
}

/* ---- plans ----------------------------------------------------------------------------- */

static uint64_t live_bytes;
static uint32_t allocations_left = UINT32_MAX;

static void *scarce_alloc(void *self, size_t size, size_t align) {
  const struct tide_allocator *system = tide_allocator_system();
  (void)self;
  if (!allocations_left) return NULL;
  if (allocations_left != UINT32_MAX) allocations_left--;
  void *memory = system->alloc(system->self, size, align);
  if (memory) live_bytes += size;
  return memory;
}
static void scarce_free(void *self, void *memory, size_t size) {
  const struct tide_allocator *system = tide_allocator_system();
  (void)self;
  if (memory) live_bytes -= size;
  system->free(system->self, memory, size);
}
static const struct tide_allocator scarce = {scarce_alloc, scarce_free, NULL};

/* Copies the result, after a look at whether the path adds up. */
static struct tide_simulation_result simulate(const char *text,
                                              struct tide_simulation_params params) {
  struct loaded l;
  struct tide_simulation *simulation;
  struct tide_diag diag = {.status = TIDE_OK};
  load(&l, text);
  params.struct_size = sizeof params;
  params.plan = l.plan;
  params.allocator = &scarce;
  if (tide_simulate(&params, &diag, &simulation) != TIDE_OK) FAIL("%s", diag.text);
  struct tide_simulation_result r = *tide_simulation_result(simulation);
  CHECK_EQ_U64(r.path.bodies + r.path.waits + r.path.latency + r.path.hands + r.path.others,
               r.makespan);
  CHECK(r.longest_chain <= r.makespan);
  size_t count;
  const struct tide_sim_stop *stops = tide_simulation_path(simulation, &count);
  CHECK_EQ_U64(count, r.path.operations);
  for (size_t i = 1; i < count; i++) CHECK(stops[i - 1].end <= stops[i].start);
  CHECK(count && stops[count - 1].end == r.makespan);
  tide_simulation_destroy(simulation);
  unload(&l);
  CHECK_EQ_U64(live_bytes, 0);
  return r;
}
#define SIMULATE(text, ...)                                                                        \
  simulate(text, (struct tide_simulation_params){.submit_cost = SUBMIT,                            \
                                                 .native_wait_cost = NATIVE,                       \
                                                 .round_trip = TRIP,                               \
                                                 __VA_ARGS__})

static const char *const chain = "device one gpu queues 2\nqueue a, b on one\ntimeline t\n"
                                 "a: nop signal t = 1 cost 100ns\n"
                                 "b: nop wait t >= 1 signal t = 2 cost 200ns\n"
                                 "a: nop wait t >= 2 signal t = 3 cost 400ns\n";

TEST(a_plan_runs_ahead) {
  struct tide_simulation_result r = SIMULATE(chain);
  CHECK_EQ_U64(r.makespan, SUBMIT + 700 + 2 * NATIVE);
  CHECK(r.path.bodies == 700 && r.path.latency == 2 * NATIVE && r.path.others == SUBMIT);
  CHECK_EQ_U64(r.longest_chain, 700);
  r = SIMULATE(chain, .keep_on_host = true);
  CHECK_EQ_U64(r.makespan, 3 * SUBMIT + 700 + 2 * TRIP);
  CHECK(r.path.bodies == 700 && r.path.others == 3 * SUBMIT + 2 * TRIP);
  CHECK_EQ_U64(r.run.sched.waits_by_device, 0);
  /* The latency of the signal is longer than the native wait. */
  r = SIMULATE(chain, .latencies = {30, 0, 0});
  CHECK_EQ_U64(r.makespan, SUBMIT + 700 + 2 * 30);
  CHECK_EQ_U64(r.longest_chain, 760);
  CHECK_EQ_U64(r.path.latency, 60);
}

/* A barrier waits for an operation that was not declared: that is on the path. */
TEST(the_path_knows_the_barriers_of_a_hardware_queue) {
  static const char *const text = "device one gpu workers 4\nqueue a, b, c on one\ntimeline t\n"
                                  "a: nop signal t = 1 cost 500ns\n"
                                  "b: nop wait t >= 1 cost 20ns\n"
                                  "c: nop cost 600ns\n";
  struct tide_simulation_result r = SIMULATE(text);
  CHECK_EQ_U64(r.makespan, 2 * SUBMIT + 600 + 20);
  CHECK(r.path.bodies == 620 && r.path.others == 2 * SUBMIT && r.path.operations == 2);
  CHECK_EQ_U64(r.longest_chain, 620);
  r = SIMULATE(text, .keep_on_host = true);
  CHECK_EQ_U64(r.makespan, 2 * SUBMIT + 600);
}

TEST(other_devices_hear_of_an_end_after_the_round_trip) {
  struct tide_simulation_result r = SIMULATE("device one gpu\ndevice two cpu\n"
                                             "queue a on one\nqueue b on two\ntimeline t\n"
                                             "a: nop signal t = 1 cost 100ns\n"
                                             "b: nop wait t >= 1 signal t = 2 cost 30ns\n"
                                             "a: nop wait t >= 2 cost 100ns\n");
  CHECK_EQ_U64(r.makespan, SUBMIT + 100 + TRIP + 30 + SUBMIT + 100);
  CHECK_EQ_U64(r.path.others, 2 * SUBMIT + TRIP);
}

/* Collectives, recycled memory and draws, in all modes. */
TEST(plans_of_all_kinds_finish_with_a_path_that_adds_up) {
  static const char *const texts[] = {
      "param n = 20\ndevice g[2] gpu queues 2 workers 2 ahead 5\nqueue lane[6] on g\n"
      "timeline v[6]\nfor i in 0..n {\n  for j in 0..6 {\n"
      "    lane[j]: nop  wait v[(j*7+i)%6] >= i  signal v[j] = i+1  cost (1+(i*31+j*17)%100)*1us\n"
      "  }\n}\n",
      "device g[3] gpu\nqueue q[3] on g\ncollective all over q\n"
      "q[0]: nop cost 1us\nall: nop cost 1us\nq[1]: nop wait all >= 1 cost 2us\nall: nop cost "
      "1us\n",
      "device g gpu queues 2\nqueue a, b on g\nscratch x, y 1M\n"
      "a: alloc x\na: fill x  cost 5us\na: free x\nb: alloc y\nb: fill y  cost 1us\nb: free y\n"};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
    for (uint64_t seed = 0; seed < 5; seed++)
      for (int mode = TIDE_RUN_TRACKED; mode <= TIDE_RUN_BARRIER; mode++)
        for (int by_host = 0; by_host < 2; by_host++)
          (void)SIMULATE(texts[i], .seed = seed, .mode = (enum tide_run_mode)mode,
                         .keep_on_host = by_host, .memory = 1 << 20, .wait_cost = 3,
                         .latencies = {seed, 40, 0}, .wake = seed,
                         .spread = seed ? TIDE_SPREAD_EXPONENTIAL : TIDE_SPREAD_NONE);
}

TEST(a_plan_may_fail_ahead) {
  struct loaded l;
  struct tide_simulation *simulation;
  struct tide_diag diag = {.status = TIDE_OK};
  load(&l, "device one gpu\nqueue a, b on one\na: nop\na: fail cost 10ns\na: nop\n"
           "b: nop cost 500ns\n");
  struct tide_simulation_params params = {.struct_size = sizeof params, .plan = l.plan};
  CHECK_STATUS(tide_simulate(&params, &diag, &simulation), TIDE_FAILED);
  CHECK_EQ_U64(diag.line, 4);
  CHECK_EQ_U64(tide_simulation_result(simulation)->run.failed, 1); /* the device is not lost */
  tide_simulation_destroy(simulation);
  unload(&l);
  load(&l, "device one gpu\ndevice two cpu\nqueue a on one\nqueue b on two\ntimeline t\n"
           "buffer m 64K\nbuffer d 8\nb: fill m signal t = 1\na: hash m, d take m\n");
  if (l.report.count) FAIL("%s", l.diags[0].text);
  params.plan = l.plan;
  CHECK_STATUS(tide_simulate(&params, &diag, &simulation), TIDE_UNSUPPORTED);
  tide_simulation_destroy(simulation);
  unload(&l);
}

/* Each allocation that fails is an error, and leaves nothing behind. */
TEST(no_memory_is_an_error_and_leaves_nothing) {
  for (int by_host = 0; by_host < 2; by_host++) {
    enum tide_status status = TIDE_NOMEM;
    for (uint32_t left = 0; status != TIDE_OK; left++) {
      struct loaded l;
      struct tide_simulation *simulation;
      load(&l, chain);
      struct tide_simulation_params params = {.struct_size = sizeof params,
                                              .plan = l.plan,
                                              .allocator = &scarce,
                                              .keep_on_host = by_host};
      allocations_left = left;
      status = tide_simulate(&params, NULL, &simulation);
      allocations_left = UINT32_MAX;
      CHECK(left < 1000 && (status == TIDE_OK || status == TIDE_NOMEM));
      tide_simulation_destroy(simulation);
      unload(&l);
      CHECK_EQ_U64(live_bytes, 0);
    }
  }
}

TEST_MAIN(CASE(a_chain_costs_its_bodies_ahead_and_all_of_it_by_the_host),
          CASE(hardware_queues_share_the_hands), CASE(submissions_overlap_without_a_barrier),
          CASE(a_barrier_waits_for_all_before_and_holds_back_all_behind),
          CASE(a_native_wait_is_for_all_before_the_awaited_one),
          CASE(a_native_wait_costs_nothing_when_it_is_over),
          CASE(the_host_knows_an_end_after_the_round_trip), CASE(a_full_window_waits_for_the_host),
          CASE(a_refused_work_fails_alone), CASE(an_empty_submission_takes_no_hand),
          CASE(a_body_that_fails_ahead_loses_the_device), CASE(a_halted_device_goes_on_later),
          CASE(a_lost_device_touches_no_work), CASE(parameters_have_limits),
          CASE(a_plan_runs_ahead), CASE(the_path_knows_the_barriers_of_a_hardware_queue),
          CASE(other_devices_hear_of_an_end_after_the_round_trip),
          CASE(plans_of_all_kinds_finish_with_a_path_that_adds_up), CASE(a_plan_may_fail_ahead),
          CASE(no_memory_is_an_error_and_leaves_nothing))
