/* What a simulation itself costs: no figure of a device, but of this machine's processor. */
#include "bench.h"

#include "tidemark/kernel.h"
#include "tidemark/sim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define QUEUES 8
#define OPERATIONS 200000

struct world {
  struct tide_clock *clock;
  struct tide_context *context;
  struct tide_device *device;
  struct tide_queue *queues[QUEUES];
  struct tide_timeline *timelines[QUEUES];
  uint64_t turn;
};

static enum tide_status nothing(void *arguments) {
  (void)arguments;
  return TIDE_OK;
}
static const struct tide_body_class empty = {.name = "empty", .host = nothing};

static void *make(void) {
  struct world *w = calloc(1, sizeof *w);
  struct tide_sim_params params = {.struct_size = sizeof params, .hands = 4, .cost = 1000};
  struct tide_queue_params queue = {.struct_size = sizeof queue, .operations = 1024};
  if (!w) bench_wrong("memory");
  BENCH_CHECK(tide_clock_create(tide_allocator_system(), NULL, &w->clock) == TIDE_OK);
  struct tide_context_params context_params = {.struct_size = sizeof context_params,
                                               .platform = tide_clock_platform(w->clock)};
  BENCH_CHECK(tide_context_create(&context_params, &w->context) == TIDE_OK);
  BENCH_CHECK(tide_sim_open(w->context, w->clock, &params, &w->device) == TIDE_OK);
  for (int i = 0; i < QUEUES; i++) {
    BENCH_CHECK(tide_queue_create(w->device, &queue, &w->queues[i]) == TIDE_OK);
    BENCH_CHECK(tide_timeline_create(w->context, NULL, &w->timelines[i]) == TIDE_OK);
  }
  return w;
}

static void drop(void *state) {
  struct world *w = state;
  for (int i = 0; i < QUEUES; i++) tide_queue_destroy(w->queues[i]);
  tide_device_close(w->device);
  for (int i = 0; i < QUEUES; i++) tide_timeline_destroy(w->timelines[i]);
  tide_context_destroy(w->context);
  tide_clock_destroy(w->clock);
  free(w);
}

/* Each operation also waits for its neighbour's of the turn before. */
static void neighbours(void *state, uint64_t count) {
  struct world *w = state;
  for (uint64_t i = 0; i < count; i++) {
    uint64_t queue = i % QUEUES;
    if (queue == 0) w->turn++;
    struct tide_wait wait = {w->timelines[(queue + 1) % QUEUES], w->turn - 1};
    struct tide_signal signal = {w->timelines[queue], w->turn, false};
    struct tide_operation operation = {.body = &empty,
                                       .waits = &wait,
                                       .wait_count = w->turn > 1,
                                       .signals = &signal,
                                       .signal_count = 1};
    BENCH_CHECK(tide_queue_submit(w->queues[queue], &operation, NULL, NULL) == TIDE_OK);
    if (w->turn % 512 == 0 && queue == QUEUES - 1)
      for (int q = 0; q < QUEUES; q++)
        BENCH_CHECK(tide_queue_drain(w->queues[q], TIDE_FOREVER) == TIDE_OK);
  }
  uint64_t left = count % QUEUES; /* whole turns only, so that the next round can go on */
  for (uint64_t queue = left; left && queue < QUEUES; queue++) {
    struct tide_signal signal = {w->timelines[queue], w->turn, false};
    struct tide_operation operation = {.signals = &signal, .signal_count = 1};
    BENCH_CHECK(tide_queue_submit(w->queues[queue], &operation, NULL, NULL) == TIDE_OK);
  }
  for (int q = 0; q < QUEUES; q++)
    BENCH_CHECK(tide_queue_drain(w->queues[q], TIDE_FOREVER) == TIDE_OK);
}

/* ---- a whole plan, language and all ----------------------------------------------------- */

struct planned {
  struct tide_program *program;
  struct tide_plan *plan;
};

static void *make_plan(void) {
  char text[512];
  struct planned *planned = calloc(1, sizeof *planned);
  if (!planned) bench_wrong("memory");
  snprintf(text, sizeof text,
           "device d[%d] sim\nqueue q[%d] on d\ntimeline t[%d]\n"
           "for i in 0..%d {\n  for j in 0..%d {\n"
           "    q[j]: nop  wait t[(j+1)%%%d] >= i  signal t[j] = i+1  cost 1us\n  }\n}\n",
           QUEUES, QUEUES, QUEUES, (bench_smoke() ? 800 : OPERATIONS) / QUEUES, QUEUES, QUEUES);
  struct tide_program_params program = {.struct_size = sizeof program,
                                        .allocator = tide_allocator_system(),
                                        .text = text,
                                        .length = strlen(text)};
  struct tide_body_set set;
  set.bodies = tide_kernel_bodies(&set.count);
  struct tide_plan_params plan = {.struct_size = sizeof plan, .bodies = &set, .body_set_count = 1};
  BENCH_CHECK(tide_program_parse(&program, NULL, &planned->program) == TIDE_OK);
  BENCH_CHECK(tide_plan_create(planned->program, &plan, NULL, &planned->plan) == TIDE_OK);
  return planned;
}

static void drop_plan(void *state) {
  struct planned *planned = state;
  tide_plan_destroy(planned->plan);
  tide_program_destroy(planned->program);
  free(planned);
}

static double simulate(void *state) {
  struct planned *planned = state;
  struct tide_simulation_params params = {.struct_size = sizeof params, .plan = planned->plan};
  struct tide_simulation *simulation;
  uint64_t start = bench_now();
  BENCH_CHECK(tide_simulate(&params, NULL, &simulation) == TIDE_OK);
  double time = (double)(bench_now() - start);
  double operations = (double)tide_simulation_result(simulation)->operations;
  tide_simulation_destroy(simulation);
  return time / operations;
}

const struct bench_figure bench_sim[] = {
    {.name = "operation_and_wait", .setup = make, .ours = neighbours, .teardown = drop},
    {.name = "operation_of_a_plan",
     .setup = make_plan,
     .measure_ours = simulate,
     .teardown = drop_plan},
    {0},
};
