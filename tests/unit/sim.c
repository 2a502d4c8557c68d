/* Simulated devices, and whole plans on them. Times are exact. */
#include "program_load.h"

#include "tidemark/sim.h"

/* ---- a device ---------------------------------------------------------------------- */

struct world {
  struct tide_clock *clock;
  struct tide_context *context;
  struct tide_device *device;
  struct tide_queue *queues[8];
};

static uint64_t live_bytes;
static uint32_t allocations_left = UINT32_MAX;

static void *scarce_alloc(void *self, size_t size, size_t align) {
  (void)self;
  if (!allocations_left) return NULL;
  if (allocations_left != UINT32_MAX) allocations_left--;
  const struct tide_allocator *system = tide_allocator_system();
  void *memory = system->alloc(system->self, size, align);
  if (memory) live_bytes += size;
  return memory;
}

static void scarce_free(void *self, void *memory, size_t size) {
  (void)self;
  const struct tide_allocator *system = tide_allocator_system();
  if (memory) live_bytes -= size;
  system->free(system->self, memory, size);
}

static const struct tide_allocator scarce = {scarce_alloc, scarce_free, NULL};

static void world_open(struct world *w, const struct tide_sim_params *params) {
  CHECK_OK(tide_clock_create(&scarce, NULL, &w->clock));
  struct tide_context_params context_params = {.struct_size = sizeof context_params,
                                               .platform = tide_clock_platform(w->clock),
                                               .allocator = &scarce};
  CHECK_OK(tide_context_create(&context_params, &w->context));
  CHECK_OK(tide_sim_open(w->context, w->clock, params, &w->device));
  for (int i = 0; i < 8; i++) CHECK_OK(tide_queue_create(w->device, NULL, &w->queues[i]));
}

static void world_close(struct world *w) {
  for (int i = 0; i < 8; i++) tide_queue_destroy(w->queues[i]);
  tide_device_close(w->device);
  tide_context_destroy(w->context);
  tide_clock_destroy(w->clock);
  CHECK_EQ_U64(live_bytes, 0);
}

static enum tide_status count_up(void *arguments) {
  ++**(uint32_t **)arguments;
  return TIDE_OK;
}
static const struct tide_body_class counting = {.name = "count", .host = count_up};

static void submit_counting(struct tide_queue *queue, uint32_t *counter) {
  struct tide_operation operation = {
      .body = &counting, .arguments = &counter, .arguments_size = sizeof counter};
  CHECK_OK(tide_queue_submit(queue, &operation, NULL, NULL));
}

TEST(hands_work_side_by_side) {
  struct world w;
  uint32_t ran = 0;
  struct tide_sim_params params = {
      .struct_size = sizeof params, .hands = 3, .cost = 100, .wake = 7};
  world_open(&w, &params);
  tide_clock_pass(w.clock, 1000);
  for (int i = 0; i < 8; i++) submit_counting(w.queues[i], &ran);
  CHECK_EQ_U64(ran, 0); /* nothing happens while nobody lets time pass */
  for (int i = 0; i < 8; i++) CHECK_OK(tide_queue_drain(w.queues[i], TIDE_FOREVER));
  CHECK_EQ_U64(ran, 8);
  CHECK_EQ_U64(tide_clock_now(w.clock), 1000 + 7 + 3 * 100);
  world_close(&w);
}

TEST(a_queue_goes_one_by_one_unless_out_of_order) {
  for (int out_of_order = 0; out_of_order < 2; out_of_order++) {
    struct world w;
    uint32_t ran = 0;
    struct tide_sim_params params = {
        .struct_size = sizeof params, .hands = 4, .cost = 100, .out_of_order = out_of_order};
    world_open(&w, &params);
    for (int i = 0; i < 8; i++) submit_counting(w.queues[0], &ran);
    CHECK_OK(tide_queue_drain(w.queues[0], TIDE_FOREVER));
    CHECK_EQ_U64(tide_clock_now(w.clock), out_of_order ? 200 : 800);
    world_close(&w);
  }
}

TEST(a_halted_device_goes_on_later) {
  struct world w;
  uint32_t ran = 0;
  struct tide_sim_params params = {.struct_size = sizeof params, .hands = 2, .cost = 100};
  world_open(&w, &params);
  for (int i = 0; i < 4; i++) submit_counting(w.queues[i], &ran);
  tide_clock_pass(w.clock, 50);
  tide_sim_halt(w.device);
  CHECK_STATUS(tide_queue_drain(w.queues[0], 1000), TIDE_TIMEOUT);
  CHECK_EQ_U64(ran, 0);
  tide_sim_resume(w.device);
  CHECK_EQ_U64(ran, 2);
  for (int i = 0; i < 4; i++) CHECK_OK(tide_queue_drain(w.queues[i], TIDE_FOREVER));
  CHECK_EQ_U64(tide_clock_now(w.clock), 1100);
  world_close(&w);
}

/* A lost device may close while its hands are busy. */
TEST(a_lost_device_stops_its_hands) {
  struct world w;
  uint32_t ran = 0;
  struct tide_sim_params params = {.struct_size = sizeof params, .hands = 2, .cost = 100};
  world_open(&w, &params);
  for (int i = 0; i < 4; i++) submit_counting(w.queues[i], &ran);
  tide_clock_pass(w.clock, 50);
  tide_device_lose(w.device, TIDE_LOST);
  tide_device_certify(w.device);
  tide_device_close(w.device);
  tide_clock_pass(w.clock, 1000);
  CHECK_EQ_U64(ran, 0);
  tide_context_destroy(w.context);
  tide_clock_destroy(w.clock);
  CHECK_EQ_U64(live_bytes, 0);
}

/* ---- a script: what is not there yet keeps no hand busy --------------------------------- */

struct script {
  uint32_t taken, started, ended;
  enum tide_status status;
};

static uint64_t in_a_while(void *self, const struct tide_work *work, uint64_t now) {
  struct script *script = self;
  (void)work;
  return script->taken++ < 2 ? now + 500 : now;
}
static uint64_t takes(void *self, const struct tide_work *work, uint32_t hand, uint64_t now) {
  struct script *script = self;
  (void)work, (void)hand, (void)now;
  script->started++;
  return 10;
}
static void ends(void *self, struct tide_work *work, uint32_t hand, uint64_t now) {
  struct script *script = self;
  (void)hand, (void)now;
  script->ended++;
  if (script->status) work->status = script->status;
}

TEST(work_that_has_not_arrived_keeps_no_hand_busy) {
  struct world w;
  struct script script = {0};
  uint32_t ran = 0;
  struct tide_sim_script calls = {in_a_while, takes, NULL, ends, &script, NULL};
  struct tide_sim_params params = {.struct_size = sizeof params, .hands = 1, .script = &calls};
  world_open(&w, &params);
  for (int i = 0; i < 4; i++) submit_counting(w.queues[i], &ran);
  tide_clock_pass(w.clock, 30);
  CHECK_EQ_U64(ran, 2);
  for (int i = 0; i < 4; i++) CHECK_OK(tide_queue_drain(w.queues[i], TIDE_FOREVER));
  CHECK_EQ_U64(tide_clock_now(w.clock), 520);
  CHECK(script.started == 4 && script.ended == 4);
  /* Where there is no memory to remember it, it fails. */
  script.taken = 0;
  submit_counting(w.queues[0], &ran), submit_counting(w.queues[1], &ran);
  submit_counting(w.queues[2], &ran);
  tide_clock_pass(w.clock, 10);
  CHECK_EQ_U64(script.taken, 3);
  script.taken = 0, allocations_left = 0;
  submit_counting(w.queues[3], &ran), submit_counting(w.queues[4], &ran);
  submit_counting(w.queues[5], &ran);
  tide_clock_pass(w.clock, 30);
  allocations_left = UINT32_MAX;
  struct tide_context_stats stats;
  for (int i = 0; i < 8; i++) (void)!tide_queue_drain(w.queues[i], TIDE_FOREVER);
  tide_context_stats(w.context, &stats);
  CHECK_EQ_U64(stats.failed, 2);
  CHECK_EQ_U64(ran, 4 + 3 + 1);
  world_close(&w);
}

TEST(parameters_have_limits) {
  struct world w;
  struct tide_sim_params many = {.struct_size = sizeof many, .hands = 65537};
  world_open(&w, NULL);
  struct tide_device *device;
  CHECK_STATUS(tide_sim_open(w.context, w.clock, &many, &device), TIDE_INVALID);
  size_t before = live_bytes;
  for (uint32_t left = 0; left < 3; left++) {
    allocations_left = left;
    CHECK_STATUS(tide_sim_open(w.context, w.clock, NULL, &device), TIDE_NOMEM);
    CHECK_EQ_U64(live_bytes, before);
  }
  allocations_left = UINT32_MAX;
  world_close(&w);
}

/* ---- plans --------------------------------------------------------------------------- */

static const char *const head = "device one, two sim\n"
                                "device far sim machine 1\n"
                                "queue a on one\nqueue b on two\nqueue c on far\nqueue d on one\n"
                                "timeline s, t, u\n";

static void simulate(struct loaded *l, const char *text, struct tide_simulation_params *params,
                     struct tide_simulation **out) {
  static char whole[4096];
  struct tide_diag diag = {.status = TIDE_OK};
  snprintf(whole, sizeof whole, "%s%s", head, text);
  load_with(l, &scarce, whole, strlen(whole), NULL, 0, 0);
  if (l->report.count) FAIL("%s", l->diags[0].text);
  params->plan = l->plan;
  params->allocator = &scarce;
  if (tide_simulate(params, &diag, out) != TIDE_OK) FAIL("%s", diag.text);
}

/* The makespan, after a look at whether the path adds up. */
static uint64_t makespan(const char *text, struct tide_simulation_params params) {
  struct loaded l;
  struct tide_simulation *simulation;
  simulate(&l, text, &params, &simulation);
  const struct tide_simulation_result *r = tide_simulation_result(simulation);
  uint64_t time = r->makespan,
           sum = r->path.bodies + r->path.waits + r->path.latency + r->path.hands + r->path.others;
  CHECK_EQ_U64(sum, time);
  size_t count;
  const struct tide_sim_stop *stops = tide_simulation_path(simulation, &count);
  CHECK_EQ_U64(count, r->path.operations);
  for (size_t i = 0; i < count; i++) {
    CHECK(stops[i].start <= stops[i].end);
    CHECK(!i || stops[i - 1].end <= stops[i].start);
  }
  CHECK(count && stops[count - 1].end == time);
  CHECK(r->longest_chain <= time);
  tide_simulation_destroy(simulation);
  unload(&l);
  CHECK_EQ_U64(live_bytes, 0);
  return time;
}
#define MAKESPAN(text, ...)                                                                        \
  makespan(text, (struct tide_simulation_params){                                                  \
                     .struct_size = sizeof(struct tide_simulation_params), __VA_ARGS__})

static const char *const chain = "a: nop  signal s = 1  cost 100ns\n"
                                 "b: nop  wait s >= 1  signal t = 1  cost 200ns\n"
                                 "c: nop  wait t >= 1  signal u = 1  cost 400ns\n"
                                 "d: nop  wait u >= 1  cost 800ns\n";

TEST(a_chain_takes_its_costs_and_its_ways) {
  static const enum tide_run_mode modes[] = {TIDE_RUN_TRACKED, TIDE_RUN_EVENTS, TIDE_RUN_BARRIER};
  for (int i = 0; i < 3; i++) {
    CHECK_EQ_U64(MAKESPAN(chain, .mode = modes[i]), 1500);
    CHECK_EQ_U64(MAKESPAN(chain, .mode = modes[i], .wake = 10), 1540);
    CHECK_EQ_U64(MAKESPAN(chain, .mode = modes[i], .seed = 5), 1500);
  }
  /* one → two on a machine, two → far and far → one between machines */
  CHECK_EQ_U64(MAKESPAN(chain, .latencies = {7, 30, 1000}), 1500 + 30 + 2000);
  CHECK_EQ_U64(MAKESPAN(chain, .mode = TIDE_RUN_EVENTS, .latencies = {7, 30, 1000}), 3530);
  struct tide_sim_link links[] = {{"far", "two", 5}, {"one", "two", 1}};
  CHECK_EQ_U64(MAKESPAN(chain, .latencies = {7, 30, 1000}, .links = links, .link_count = 2),
               1500 + 1 + 5 + 1000);
  CHECK_EQ_U64(MAKESPAN("a: nop signal s = 1 cost 9ns\nd: nop wait s >= 1 cost 9ns\n",
                        .latencies = {7, 30, 1000}),
               25);
  CHECK_EQ_U64(MAKESPAN(chain, .wait_cost = 3), 1509);
  CHECK_EQ_U64(MAKESPAN("a: nop cost 9ns\na: nop cost 9ns\n", .step_cost = 100), 109);
}

/* From "one" to "far" takes 1000: so when c's operations could start says which signal each was
 * taken to wait for, whatever was looked for before. */
TEST(a_wait_is_for_the_first_signal_that_is_enough) {
  static const char *const signals =
      "a: nop signal s = 10 cost 100ns\na: nop signal s = 20 cost 100ns\n"
      "a: nop signal s = 30 cost 100ns\na: nop signal s = 40 cost 100ns\n"
      "d: nop wait s >= 40 cost 1ns\nc: nop cost 500ns\n";
  static const struct {
    const char *waits;
    uint64_t makespan;
  } cases[] = {{"c: nop wait s >= 10 cost 1ns\n", 1101},
               {"c: nop wait s >= 1 cost 1ns\n", 1101},
               {"c: nop wait s >= 11 cost 1ns\n", 1201},
               {"c: nop wait s >= 10 cost 1ns\nc: nop wait s >= 20 cost 1ns\n", 1201},
               {"c: nop wait s >= 10 cost 1ns\nc: nop wait s >= 31 cost 1ns\n", 1401},
               {"c: nop wait s >= 20 cost 1ns\nc: nop wait s >= 5 cost 1ns\n", 1202}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char text[512];
    snprintf(text, sizeof text, "%s%s", signals, cases[i].waits);
    CHECK_EQ_U64(MAKESPAN(text, .latencies = {0, 30, 1000}), cases[i].makespan);
  }
}

TEST(unknown_costs_are_assumed_and_counted) {
  struct loaded l;
  struct tide_simulation *simulation;
  struct tide_simulation_params params = {
      .struct_size = sizeof params, .cost = 1000, .cost_per_kib = 10};
  simulate(&l, "buffer m 64K\na: fill m\na: fill m[0, 1K]\na: nop\na: nop cost 5ns\n", &params,
           &simulation);
  CHECK_EQ_U64(tide_simulation_result(simulation)->assumed, 3);
  CHECK_EQ_U64(tide_simulation_result(simulation)->operations, 4);
  CHECK_EQ_U64(tide_simulation_result(simulation)->makespan, 1640 + 1010 + 1000 + 5);
  tide_simulation_destroy(simulation);
  unload(&l);
}

TEST(what_waits_for_a_hand_is_told_apart) {
  struct loaded l;
  struct tide_simulation *simulation;
  struct tide_simulation_params params = {.struct_size = sizeof params, .workers = 1};
  simulate(&l, "a: nop cost 300ns\nd: nop cost 50ns\nb: nop cost 10ns\n", &params, &simulation);
  const struct tide_simulation_result *r = tide_simulation_result(simulation);
  CHECK_EQ_U64(r->makespan, 350);
  CHECK_EQ_U64(r->longest_chain, 300);
  CHECK(r->path.hands == 300 && r->path.bodies == 50 && r->path.operations == 1);
  CHECK_EQ_U64(tide_simulation_device(simulation, 0).busy, 350);
  CHECK_EQ_U64(tide_simulation_device(simulation, 1).busy, 10);
  CHECK_EQ_U64(tide_simulation_device(simulation, 2).machine, 1);
  tide_simulation_destroy(simulation);
  unload(&l);
}

TEST(parts_of_a_collective_start_together) {
  static const char *const text = "collective all over a, b, c\n"
                                  "a: nop cost 100ns\nb: nop cost 300ns\n"
                                  "all: nop cost 10ns\n"
                                  "d: nop wait all >= 1 cost 1ns\n";
  CHECK_EQ_U64(MAKESPAN(text, .workers = 2), 311);
  /* b's arrival is known at c after 1000; c's end at d after 1000 more. */
  CHECK_EQ_U64(MAKESPAN(text, .workers = 2, .latencies = {0, 30, 1000}),
               300 + 1000 + 10 + 1000 + 1);
}

TEST(recycled_memory_keeps_whoever_gets_it) {
  static const char *const text = "scratch x, y 1M\n"
                                  "a: alloc x\na: fill x  cost 500ns\na: free x\n"
                                  "b: alloc y\nb: fill y  cost 100ns\nb: free y\n";
  struct tide_simulation_params params = {
      .struct_size = sizeof params, .memory = 1 << 20, .latencies = {0, 40, 0}};
  CHECK_EQ_U64(makespan(text, params), 500 + 40 + 100);
}

/* With hands for all of them, what the scheduler does takes exactly as long as the longest chain of
 * what was declared: two ways to the same number. */
TEST(the_schedule_is_as_long_as_its_longest_chain) {
  static const char *const text =
      "param n = 40\ndevice gpu[6] sim workers 8\nqueue lane[24] on gpu\ntimeline v[24]\n"
      "for i in 0..n {\n  for j in 0..24 {\n"
      "    lane[j]: nop  wait v[(j*7+i)%24] >= i  signal v[j] = i+1  cost (1+(i*31+j*17)%100)*1us\n"
      "  }\n}\n";
  for (uint64_t seed = 0; seed < 6; seed++) {
    struct loaded l;
    struct tide_simulation *simulation;
    struct tide_simulation_params params = {.struct_size = sizeof params,
                                            .seed = seed,
                                            .spread = seed % 3 == 0   ? TIDE_SPREAD_NONE
                                                      : seed % 3 == 1 ? TIDE_SPREAD_UNIFORM
                                                                      : TIDE_SPREAD_EXPONENTIAL,
                                            .latencies = {100, 20000, 0},
                                            .mode = seed < 3 ? TIDE_RUN_TRACKED : TIDE_RUN_EVENTS};
    simulate(&l, text, &params, &simulation);
    const struct tide_simulation_result *r = tide_simulation_result(simulation);
    CHECK_EQ_U64(r->makespan, r->longest_chain);
    tide_simulation_destroy(simulation);
    unload(&l);
  }
}

/* Draws do not depend on the way the plan is run, and their mean is the cost. */
TEST(draws_have_the_cost_as_their_mean) {
  static const char *const text = "for i in 0..20000 {\n  a: nop cost 1us\n}\n";
  for (int spread = 1; spread <= 2; spread++) {
    struct tide_simulation_params params = {
        .struct_size = sizeof params, .seed = 3, .spread = (enum tide_sim_spread)spread};
    uint64_t tracked = makespan(text, params);
    params.mode = TIDE_RUN_EVENTS;
    CHECK_EQ_U64(makespan(text, params), tracked);
    CHECK(tracked > 19400000 && tracked < 20600000);
    params.seed = 4;
    CHECK(makespan(text, params) != tracked);
  }
}

TEST(a_failure_comes_back_with_its_place) {
  struct loaded l;
  struct tide_simulation *simulation;
  struct tide_diag diag = {.status = TIDE_OK};
  load(&l, "device one sim\nqueue a on one\na: nop\n");
  struct tide_simulation_params params = {
      .struct_size = sizeof params, .plan = l.plan, .fail = 1000000};
  CHECK_STATUS(tide_simulate(&params, &diag, &simulation), TIDE_FAILED);
  CHECK_EQ_U64(diag.line, 3);
  tide_simulation_destroy(simulation);
  struct tide_sim_link link = {"one", "moon", 1};
  params = (struct tide_simulation_params){.struct_size = sizeof(struct tide_simulation_params),
                                           .plan = l.plan,
                                           .links = &link,
                                           .link_count = 1};
  CHECK_STATUS(tide_simulate(&params, &diag, &simulation), TIDE_NOT_FOUND);
  tide_simulation_destroy(simulation);
  params = (struct tide_simulation_params){.struct_size = sizeof(struct tide_simulation_params),
                                           .plan = l.plan,
                                           .mode = TIDE_RUN_SEQUENTIAL};
  CHECK_STATUS(tide_simulate(&params, &diag, &simulation), TIDE_INVALID);
  CHECK(!simulation);
  unload(&l);
}

/* The body that fails does so here, too, though none is run. */
TEST(what_always_fails_fails_here) {
  struct loaded l;
  struct tide_simulation *simulation;
  struct tide_diag diag = {.status = TIDE_OK};
  load(&l, "device one sim\nqueue a on one\na: nop\na: fail cost 1us\na: nop\n");
  struct tide_simulation_params params = {.struct_size = sizeof params, .plan = l.plan};
  CHECK_STATUS(tide_simulate(&params, &diag, &simulation), TIDE_FAILED);
  CHECK_EQ_U64(diag.line, 4);
  tide_simulation_destroy(simulation);
  unload(&l);
}

/* Whatever allocation fails: an error, and nothing stays behind. */
TEST(no_memory_is_an_error_and_leaves_nothing) {
  static const char *const text = "scratch x, y 1M\nbuffer m 1K\ncollective all over a, b\n"
                                  "a: alloc x\na: fill x signal s = 1\na: free x\n"
                                  "b: alloc y\nb: fill y wait s >= 1\nb: free y\nall: nop\n";
  for (int mode = TIDE_RUN_TRACKED; mode <= TIDE_RUN_BARRIER; mode++) {
    enum tide_status status = TIDE_NOMEM;
    for (uint32_t left = 0; status != TIDE_OK; left++) {
      static char whole[4096];
      struct loaded l;
      struct tide_simulation *simulation;
      snprintf(whole, sizeof whole, "%s%s", head, text);
      load_with(&l, tide_allocator_system(), whole, strlen(whole), NULL, 0, 0);
      struct tide_simulation_params params = {.struct_size = sizeof params,
                                              .plan = l.plan,
                                              .allocator = &scarce,
                                              .mode = (enum tide_run_mode)mode,
                                              .latencies = {5, 6, 7}};
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

TEST_MAIN(CASE(a_lost_device_stops_its_hands), CASE(hands_work_side_by_side),
          CASE(a_queue_goes_one_by_one_unless_out_of_order), CASE(a_halted_device_goes_on_later),
          CASE(work_that_has_not_arrived_keeps_no_hand_busy), CASE(parameters_have_limits),
          CASE(a_chain_takes_its_costs_and_its_ways),
          CASE(a_wait_is_for_the_first_signal_that_is_enough),
          CASE(unknown_costs_are_assumed_and_counted), CASE(what_waits_for_a_hand_is_told_apart),
          CASE(parts_of_a_collective_start_together), CASE(recycled_memory_keeps_whoever_gets_it),
          CASE(the_schedule_is_as_long_as_its_longest_chain),
          CASE(draws_have_the_cost_as_their_mean), CASE(a_failure_comes_back_with_its_place),
          CASE(what_always_fails_fails_here), CASE(no_memory_is_an_error_and_leaves_nothing))
