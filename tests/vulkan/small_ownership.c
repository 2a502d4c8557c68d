/* Mistakes in transfers of queue family ownership. The model transfers between all lanes. On the
 * device, two lanes of one family have the same batches, without the barriers. */
#include "small.h"

/* The last batch that used the buffer can release it when all uses of its side are in its past. */
static int find_releaser(const struct program *program, int buffer, int lane) {
  int last = -1;
  for (int i = 0; i < program->batch_count; i++)
    if (program->batches[i].lane == lane && (buffers_of(&program->batches[i]) & BIT(buffer)))
      last = i;
  if (last < 0 || program->batches[last].release_count > 0) return -1;
  for (int i = 0; i < program->batch_count; i++) {
    const struct batch *batch = &program->batches[i];
    if (i == last || !(buffers_of(batch) & BIT(buffer)) || batch->lane != lane) continue;
    if (i > last || !(program->batches[last].before & BIT(i))) return -1;
  }
  return last;
}

static void add_release(struct program *program, int releaser, int buffer, int to_lane) {
  struct batch *batch = &program->batches[releaser];
  batch->releases[batch->release_count++] =
      (struct handover){buffer, program->buffers[buffer].owner, to_lane};
  batch->handed |= BIT(buffer);
}

/* Releases, on the lane of their owner, the buffers that the next batch of `to_lane` acquires. */
static void release_from(struct program *program, struct random_state *random, int from_lane,
                         int to_lane, uint64_t buffers) {
  int fresh = -1;
  for (int b = 0; b < program->buffer_count; b++) {
    if (!(buffers & BIT(b)) || program->buffers[b].owner != from_lane) continue;
    int releaser = random_chance(random, 60) ? find_releaser(program, b, from_lane) : -1;
    if (releaser < 0 && fresh < 0) {
      add_batch(program, from_lane);
      fresh = program->batch_count - 1;
    }
    add_release(program, releaser < 0 ? fresh : releaser, b, to_lane);
  }
  if (fresh >= 0) order_batch(program, random, fresh);
}

static void add_step_batch(struct program *program, struct random_state *random, int lane) {
  struct batch draft = {.lane = lane};
  int steps = 1 + (int)random_below(random, 2);
  while (draft.step_count < steps)
    draft.steps[draft.step_count++] = draw_step(program, random, lane);
  uint64_t used = buffers_of(&draft), acquired = 0;
  for (int b = 0; b < program->buffer_count; b++) {
    int owner = program->buffers[b].owner;
    if ((used & BIT(b)) && owner >= 0 && owner != lane) acquired |= BIT(b);
  }
  for (int from = 0; from < program->lane_count; from++)
    if (from != lane) release_from(program, random, from, lane, acquired);
  struct batch *batch = add_batch(program, lane);
  *batch = draft;
  for (int b = 0; b < program->buffer_count; b++) {
    if (acquired & BIT(b))
      batch->acquires[batch->acquire_count++] =
          (struct handover){b, program->buffers[b].owner, lane};
    if (used & BIT(b)) program->buffers[b].owner = lane;
  }
  batch->handed = acquired;
  order_batch(program, random, program->batch_count - 1);
}

static void draw_ownership(struct program *program, const struct device *device,
                           struct random_state *random) {
  static const uint32_t sizes[] = {16, 64, 256};
  program->is_exclusive = true;
  make_lanes(program, device, random, true);
  draw_styles(program, device, random);
  int buffers = 3 + (int)random_below(random, 4), batches = 5 + (int)random_below(random, 6);
  for (int i = 0; i < buffers; i++) {
    int b = add_buffer(program, sizes[random_below(random, 3)], (uint32_t)random_next(random));
    program->buffers[b].is_output = true;
  }
  for (int i = 0; i < batches; i++)
    add_step_batch(program, random, (int)random_below(random, (unsigned)program->lane_count));
  make_finish(program, random);
}

static void expect_handover(struct program *program, const char *variant, int buffer, int batch) {
  expect(program, "variant %s", variant);
  expect(program, "buffer buffer%d", buffer);
  expect(program, "batch %d", batch + 1);
}

/* The acquire is not ordered after the release: an edge into an acquiring batch is forgotten. */
static bool plant_unordered(struct program *program, int option, bool is_mistake, uint64_t seed) {
  if (option >= program->edge_count) return false;
  struct edge *edge = &program->edges[option];
  const struct batch *to = &program->batches[edge->to];
  if (edge->to >= program->finish_first || to->acquire_count == 0) return false;
  if (!(program->batches[edge->from].handed & to->handed)) return false;
  edge->is_forgotten = is_mistake;
  program->batches[edge->from].is_alone = program->batches[edge->to].is_alone = true;
  expect_handover(program, "unordered", to->acquires[0].buffer, edge->to);
  expect(program, "pair %d %d", edge->from + 1, edge->to + 1);
  assign_semaphores(program, seed);
  make_items(program, seed);
  return true;
}

/* True if the batch copies from the buffer before it writes to it: a write alone needs no contents.
 */
static bool needs_contents(const struct batch *batch, int buffer) {
  for (int i = 0; i < batch->step_count; i++) {
    const struct step *step = &batch->steps[i];
    if (step->kind == STEP_COPY && step->in == buffer) return true;
    if (step->out == buffer) return false;
  }
  return false;
}

/* One half is missing: the last release, or acquire, of batch `option`. */
static bool plant_half(struct program *program, int option, bool is_mistake, uint64_t seed,
                       bool is_release) {
  struct batch *batch = &program->batches[option];
  int *count = is_release ? &batch->release_count : &batch->acquire_count;
  const struct handover *all = is_release ? batch->releases : batch->acquires;
  if (option >= program->finish_first || *count == 0) return false;
  const struct handover *last = &all[*count - 1];
  if (!is_release && !needs_contents(batch, last->buffer)) return false;
  /* Lanes next to each other are of different families where the device has two or three. */
  if (last->from_lane - last->to_lane != 1 && last->to_lane - last->from_lane != 1) return false;
  expect_handover(program, is_release ? "no-release" : "no-acquire", last->buffer, option);
  *count -= is_mistake;
  assign_semaphores(program, seed);
  make_items(program, seed);
  return true;
}

static bool plant_no_release(struct program *program, int option, bool is_mistake, uint64_t seed) {
  return plant_half(program, option, is_mistake, seed, true);
}

static bool plant_no_acquire(struct program *program, int option, bool is_mistake, uint64_t seed) {
  return plant_half(program, option, is_mistake, seed, false);
}

void make_ownership(struct program *program, const struct device *device,
                    const struct small_options *options) {
  static const struct planting plantings[] = {
      {draw_ownership, plant_unordered, EDGES_MOST, 70, false},
      {draw_ownership, plant_no_release, BATCHES_MOST, 0, false},
      {draw_ownership, plant_no_acquire, BATCHES_MOST, 0, false},
  };
  plant_mistake(program, &plantings[options->seed % 3], device, options);
}
