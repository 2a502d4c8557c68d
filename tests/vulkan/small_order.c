/* Mistakes of order: a forgotten wait, a wrong value, unordered signals, a queue's own order, a
 * stage mask. */
#include "small.h"

static void draw_ordinary(struct program *program, const struct device *device,
                          struct random_state *random) {
  make_lanes(program, device, random, random_chance(random, 50));
  make_graph(program, device, random);
  make_finish(program, random);
}

static void finish_program(struct program *program, uint64_t seed) {
  assign_semaphores(program, seed);
  make_items(program, seed);
}

/* Between lanes, and not into the finish, which keeps every mistake inside the program. */
static bool is_crossing(const struct program *program, int edge) {
  if (edge >= program->edge_count) return false;
  const struct edge *it = &program->edges[edge];
  return it->to < program->finish_first &&
         program->batches[it->from].lane != program->batches[it->to].lane;
}

static void expect_edge(struct program *program, const struct edge *edge) {
  expect(program, "pair %d %d", edge->from + 1, edge->to + 1);
  program->batches[edge->from].is_alone = program->batches[edge->to].is_alone = true;
}

/* ---- forgotten-wait, wrong-stage ---------------------------------------------------- */

static bool plant_forgotten_wait(struct program *program, int option, bool is_mistake,
                                 uint64_t seed) {
  if (!is_crossing(program, option)) return false;
  program->edges[option].is_forgotten = is_mistake;
  expect_edge(program, &program->edges[option]);
  finish_program(program, seed);
  return true;
}

void make_forgotten_wait(struct program *program, const struct device *device,
                         const struct small_options *options) {
  const struct planting planting = {draw_ordinary, plant_forgotten_wait, EDGES_MOST, 70, false};
  plant_mistake(program, &planting, device, options);
}

static bool plant_wrong_stage(struct program *program, int option, bool is_mistake, uint64_t seed) {
  if (!is_crossing(program, option)) return false;
  struct edge *edge = &program->edges[option];
  const struct batch *batch = &program->batches[edge->to];
  bool only_copies = program->lanes[batch->lane].can_dispatch;
  for (int i = 0; i < batch->step_count; i++) only_copies &= batch->steps[i].kind != STEP_MIX;
  if (is_mistake)
    edge->mask =
        only_copies ? VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT : VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT;
  expect_edge(program, edge);
  finish_program(program, seed);
  return true;
}

void make_wrong_stage(struct program *program, const struct device *device,
                      const struct small_options *options) {
  const struct planting planting = {draw_ordinary, plant_wrong_stage, EDGES_MOST, 0, false};
  plant_mistake(program, &planting, device, options);
}

/* ---- wrong-value -------------------------------------------------------------------- */

static void draw_lane_timelines(struct program *program, const struct device *device,
                                struct random_state *random) {
  program->is_style_given = true;
  program->style = STYLE_LANE_TIMELINES;
  draw_ordinary(program, device, random);
}

static bool plant_wrong_value(struct program *program, int option, bool is_mistake, uint64_t seed) {
  if (!is_crossing(program, option) || program->edges[option].is_binary) return false;
  assign_semaphores(program, seed); /* The edge's mistake is planted when this is called again. */
  struct edge *edge = &program->edges[option];
  int early = -1;
  for (int i = 0; i < edge->from; i++)
    if (program->batches[i].lane == program->batches[edge->from].lane &&
        program->batches[i].signal_count > 0)
      early = i;
  if (early < 0) return false;
  edge->early_batch = is_mistake ? early : -1;
  expect(program, "semaphore lane%d.done", program->batches[edge->from].lane);
  expect_edge(program, edge);
  finish_program(program, seed);
  return true;
}

void make_wrong_value(struct program *program, const struct device *device,
                      const struct small_options *options) {
  const struct planting planting = {draw_lane_timelines, plant_wrong_value, EDGES_MOST, 70, false};
  plant_mistake(program, &planting, device, options);
}

/* ---- value-backwards ---------------------------------------------------------------- */

/* Option: the pair of batches, first * BATCHES_MOST + second. */
static bool plant_value_backwards(struct program *program, int option, bool is_mistake,
                                  uint64_t seed) {
  int first = option / BATCHES_MOST, second = option % BATCHES_MOST;
  if (second >= program->finish_first || first >= second) return false;
  if (program->batches[first].lane == program->batches[second].lane) return false;
  struct edge *edge = add_edge(program, first, second);
  if (edge != &program->edges[program->edge_count - 1]) return false;
  edge->is_forgotten = is_mistake;
  expect(program, "semaphore shared.progress");
  expect_edge(program, edge);
  assign_semaphores(program, seed);
  int shared = add_semaphore(program, false, seed % 3, "shared.progress");
  const int signallers[2] = {first, second};
  for (int i = 0; i < 2; i++) {
    struct batch *batch = &program->batches[signallers[i]];
    if (batch->signal_count == SIGNALS_MOST) small_fail("too many signals in the model");
    batch->signals[batch->signal_count++] =
        (struct signal){shared, seed % 3 + 1 + (uint64_t)i * (1 + seed % 4)};
  }
  make_items(program, seed);
  return true;
}

void make_value_backwards(struct program *program, const struct device *device,
                          const struct small_options *options) {
  const struct planting planting = {draw_ordinary, plant_value_backwards,
                                    BATCHES_MOST * BATCHES_MOST, 70, false};
  plant_mistake(program, &planting, device, options);
}

/* ---- own-queue ---------------------------------------------------------------------- */

static void draw_sparse(struct program *program, const struct device *device,
                        struct random_state *random) {
  program->is_sparse = true;
  draw_ordinary(program, device, random);
}

/* Option: a batch whose barrier is left out, then an edge within a lane. */
static bool plant_own_queue(struct program *program, int option, bool is_mistake, uint64_t seed) {
  if (option < BATCHES_MOST) {
    if (option >= program->finish_first || !program->batches[option].has_barrier) return false;
    program->batches[option].has_barrier = !is_mistake;
    expect(program, "batch %d", option + 1);
  } else {
    int index = option - BATCHES_MOST;
    if (index >= program->edge_count || program->edges[index].to >= program->finish_first ||
        is_crossing(program, index))
      return false;
    program->edges[index].is_forgotten = is_mistake;
    expect_edge(program, &program->edges[index]);
  }
  finish_program(program, seed);
  return true;
}

void make_own_queue(struct program *program, const struct device *device,
                    const struct small_options *options) {
  const struct planting planting = {draw_sparse, plant_own_queue, BATCHES_MOST + EDGES_MOST, 50,
                                    true};
  plant_mistake(program, &planting, device, options);
}
