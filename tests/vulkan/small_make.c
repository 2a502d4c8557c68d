/* Draws programs: lanes, buffers, batches, dependencies, semaphores, the calls of the host. */
#include "small.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

uint32_t pattern_word(uint32_t pattern, uint32_t index) {
  uint32_t z = pattern * 0x9e3779b1u + index * 0x85ebca77u;
  z = (z ^ (z >> 15)) * 0x2c1b3c6du;
  return z ^ (z >> 13);
}

void expect(struct program *program, const char *format, ...) {
  size_t used = strlen(program->expectation), room = sizeof program->expectation - used;
  va_list arguments;
  va_start(arguments, format);
  int length = snprintf(program->expectation + used, room, "expect: ");
  if ((size_t)length < room)
    vsnprintf(program->expectation + used + length, room - (size_t)length, format, arguments);
  va_end(arguments);
  strncat(program->expectation, "\n",
          sizeof program->expectation - 1 - strlen(program->expectation));
}

/* ---- lanes -------------------------------------------------------------------------- */

/* Lists the queues that lanes may use, so that the first one can dispatch. */
static int list_queues(const struct device *device, bool spreads_families, int out_queues[]) {
  const VkQueueFlags dispatching = VK_QUEUE_GRAPHICS_BIT | VK_QUEUE_COMPUTE_BIT;
  int count = 0, first = 0;
  while (first < device->queue_count && !(device->queues[first].flags & dispatching)) first++;
  if (first == device->queue_count) small_fail("no queue that can dispatch");
  uint32_t home = device->queues[first].family;
  bool taken[QUEUES_MOST] = {false};
  /* Round by round, one more queue of each family. */
  for (int round = 0; round < LANES_MOST; round++) {
    uint64_t families = 0;
    for (int i = 0; i < device->queue_count; i++) {
      int q = (first + i) % device->queue_count;
      uint32_t family = device->queues[q].family;
      if (taken[q] || (families & BIT(family)) || (!spreads_families && family != home)) continue;
      families |= BIT(family);
      taken[q] = true;
      out_queues[count++] = q;
    }
  }
  return count;
}

void make_lanes(struct program *program, const struct device *device, struct random_state *random,
                bool spreads_families) {
  int queues[QUEUES_MOST];
  int available = list_queues(device, spreads_families, queues);
  /* Fewer queues than lanes carry several lanes each: the program stays the same. */
  program->lane_count = 2 + (int)random_below(random, LANES_MOST - 1);
  for (int i = 0; i < program->lane_count; i++) {
    struct lane *lane = &program->lanes[i];
    lane->queue = queues[i % available];
    lane->family = device->queues[lane->queue].family;
    lane->can_dispatch = i == 0;
    lane->known = 0;
  }
}

/* ---- buffers, batches, edges -------------------------------------------------------- */

int add_buffer(struct program *program, uint32_t words, uint32_t pattern) {
  if (program->buffer_count == BUFFERS_MOST) small_fail("too many buffers in the model");
  program->buffers[program->buffer_count] =
      (struct buffer){.words = words, .pattern = pattern, .owner = -1};
  return program->buffer_count++;
}

struct batch *add_batch(struct program *program, int lane) {
  if (program->batch_count == BATCHES_MOST) small_fail("too many batches in the model");
  struct batch *batch = &program->batches[program->batch_count++];
  *batch = (struct batch){.lane = lane};
  return batch;
}

uint64_t past_of(const struct program *program, int index) {
  uint64_t past = 0;
  for (int i = 0; i <= index; i++)
    if (program->batches[i].lane == program->batches[index].lane)
      past |= BIT(i) | program->batches[i].before;
  return past;
}

static int last_on_lane(const struct program *program, int lane, int below) {
  for (int i = below - 1; i >= 0; i--)
    if (program->batches[i].lane == lane) return i;
  return -1;
}

struct edge *add_edge(struct program *program, int from, int to) {
  const struct lane *lane = &program->lanes[program->batches[to].lane];
  for (int i = 0; i < program->edge_count; i++)
    if (program->edges[i].from == from && program->edges[i].to == to) return &program->edges[i];
  if (program->edge_count == EDGES_MOST) small_fail("too many edges in the model");
  struct edge *edge = &program->edges[program->edge_count++];
  *edge = (struct edge){.from = from, .to = to, .early_batch = -1};
  edge->mask = VK_PIPELINE_STAGE_TRANSFER_BIT;
  if (lane->can_dispatch && program->uses_mix) edge->mask |= VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT;
  if (program->has_full_masks) edge->mask = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;
  edge->is_binary = program->style == STYLE_BINARY ||
                    (program->style == STYLE_MIXED && (from * 7 + to * 3) % 5 < 2);
  return edge;
}

static uint64_t buffers_read(const struct batch *batch) {
  uint64_t set = 0;
  for (int i = 0; i < batch->step_count; i++) {
    const struct step *step = &batch->steps[i];
    if (step->kind == STEP_COPY || step->kind == STEP_MIX) set |= BIT(step->in);
    if (step->kind == STEP_MIX) set |= BIT(step->in2);
  }
  return set;
}

static uint64_t buffers_written(const struct batch *batch) {
  uint64_t set = batch->handed;
  for (int i = 0; i < batch->step_count; i++) set |= BIT(batch->steps[i].out);
  return set;
}

uint64_t buffers_of(const struct batch *batch) {
  return buffers_read(batch) | buffers_written(batch);
}

static bool conflicts(const struct batch *a, const struct batch *b) {
  return (buffers_written(a) & (buffers_read(b) | buffers_written(b))) ||
         (buffers_read(a) & buffers_written(b));
}

void order_batch(struct program *program, struct random_state *random, int index) {
  struct batch *batch = &program->batches[index];
  struct lane *lane = &program->lanes[batch->lane];
  /* A narrow mask covers its own batch only: nothing is inherited from earlier waits. */
  uint64_t before = program->has_full_masks ? lane->known : 0;
  for (int m = index - 1; m >= 0; m--) {
    const struct batch *other = &program->batches[m];
    if ((before & BIT(m)) || !conflicts(other, batch)) continue;
    if (other->lane == batch->lane && !random_chance(random, program->own_semaphore_percent)) {
      batch->has_barrier = true;
      before |= past_of(program, last_on_lane(program, batch->lane, index));
    } else {
      add_edge(program, m, index);
      before |= past_of(program, m);
    }
  }
  if (index > 0 && random_chance(random, program->redundant_percent)) {
    int m = (int)random_below(random, (unsigned)index);
    add_edge(program, m, index);
    before |= past_of(program, m);
  }
  batch->before = before;
  lane->known |= before;
}

/* ---- graphs ------------------------------------------------------------------------- */

static int draw_buffer(const struct program *program, struct random_state *random, bool for_write,
                       int except) {
  for (;;) {
    int b = (int)random_below(random, (unsigned)program->buffer_count);
    if (b != except && !program->buffers[b].is_private &&
        !(for_write && program->buffers[b].is_constant))
      return b;
  }
}

/* Draws an equal number of words at three places. */
static void draw_ranges(const struct program *program, struct random_state *random,
                        struct step *step) {
  uint32_t out = program->buffers[step->out].words, in = program->buffers[step->in].words;
  uint32_t in2 = program->buffers[step->in2].words;
  uint32_t most = out < in ? out : in;
  if (in2 < most) most = in2;
  step->words = random_chance(random, 50) ? most : most / 2 + random_below(random, most / 2);
  step->out_at = random_below(random, out - step->words + 1);
  step->in_at = random_below(random, in - step->words + 1);
  step->in2_at = random_below(random, in2 - step->words + 1);
}

struct step draw_step(const struct program *program, struct random_state *random, int lane) {
  struct step step = {.kind = STEP_COPY, .value = (uint32_t)random_next(random)};
  unsigned draw = random_below(random, 100);
  if (draw < 10) step.kind = STEP_FILL;
  else if (draw < 18) step.kind = STEP_UPDATE;
  else if (draw < 60 && program->uses_mix && program->lanes[lane].can_dispatch)
    step.kind = STEP_MIX;
  step.out = draw_buffer(program, random, true, -1);
  step.in = draw_buffer(program, random, false, step.out);
  if (program->buffers[0].is_constant && random_chance(random, 25)) step.in = 0;
  step.in2 = draw_buffer(program, random, false, step.out);
  draw_ranges(program, random, &step);
  return step;
}

void draw_styles(struct program *program, const struct device *device,
                 struct random_state *random) {
  static const unsigned halves[] = {0, 50, 100};
  unsigned style = random_below(random, 4);
  if (!program->is_style_given) program->style = (enum semaphore_style)style;
  program->has_full_masks = random_chance(random, 60) && !program->is_sparse;
  program->uses_mix = random_chance(random, 40);
  program->thread_count = random_chance(random, 25) ? 2 + (int)random_below(random, 2) : 1;
  program->group_percent = halves[random_below(random, 3)] * 6 / 10;
  program->submit2_percent = halves[random_below(random, 3)];
  if (!device->has_submit2) program->submit2_percent = 0;
  program->redundant_percent = random_chance(random, 30) ? 25 : 0;
  program->own_semaphore_percent = random_chance(random, 30) ? 60 : 0;
}

static void draw_host_wait(struct program *program, struct random_state *random) {
  int after = 1 + (int)random_below(random, (unsigned)program->batch_count - 2);
  struct item item = {.action = ACT_WAIT, .target_count = 1};
  item.how = (enum how)random_below(random, 4);
  item.targets[0] = (int)random_below(random, (unsigned)after + 1);
  program->events[program->event_count] = item;
  program->events_after[program->event_count++] = after;
}

void make_graph(struct program *program, const struct device *device, struct random_state *random) {
  static const uint32_t sizes[] = {16, 16, 64, 64, 256};
  draw_styles(program, device, random);
  int buffers = 4 + (int)random_below(random, 4), batches = 5 + (int)random_below(random, 9);
  for (int i = 0; i < buffers; i++) {
    int b = add_buffer(program, sizes[random_below(random, 5)], (uint32_t)random_next(random));
    program->buffers[b].is_output = true;
  }
  int lane = (int)random_below(random, (unsigned)program->lane_count);
  for (int i = 0; i < batches; i++) {
    if (!random_chance(random, 30)) lane = (int)random_below(random, (unsigned)program->lane_count);
    struct batch *batch = add_batch(program, lane);
    int steps = program->is_sparse ? 1 : 1 + (int)random_below(random, 3);
    while (batch->step_count < steps)
      batch->steps[batch->step_count++] = draw_step(program, random, lane);
    order_batch(program, random, i);
  }
  for (int i = 0; i < 2; i++)
    if (random_chance(random, 20)) draw_host_wait(program, random);
}

/* One batch copies all outputs to one buffer. */
static void make_gather(struct program *program, struct random_state *random) {
  int lane = (int)random_below(random, (unsigned)program->lane_count);
  uint32_t words = 0;
  for (int b = 0; b < program->buffer_count; b++)
    if (program->buffers[b].is_output) words += program->buffers[b].words;
  int count = program->buffer_count, result = add_buffer(program, words, 0);
  struct batch *batch = add_batch(program, lane);
  int index = program->batch_count - 1;
  for (int b = 0, at = 0; b < count; b++) {
    if (!program->buffers[b].is_output) continue;
    batch->steps[batch->step_count++] = (struct step){.kind = STEP_COPY,
                                                      .out = result,
                                                      .in = b,
                                                      .in2 = b,
                                                      .out_at = (uint32_t)at,
                                                      .words = program->buffers[b].words};
    at += (int)program->buffers[b].words;
    program->buffers[b].is_output = false;
  }
  program->buffers[result].is_output = true;
  batch->has_barrier = batch->has_host_barrier = true;
  /* The finish waits for the last batch of every lane itself: no mistake may leak beyond it. */
  for (int l = 0; l < program->lane_count; l++) {
    int last = last_on_lane(program, l, index);
    if (last >= 0 && l != lane) add_edge(program, last, index);
  }
}

void make_finish(struct program *program, struct random_state *random) {
  program->finish_first = program->batch_count;
  static const enum how hows[] = {HOW_FENCE, HOW_TIMELINE, HOW_QUEUE_IDLE, HOW_DEVICE_IDLE};
  program->finish_how = hows[random_below(random, 4)];
  if (!program->is_exclusive && random_chance(random, 50)) {
    make_gather(program, random);
    return;
  }
  for (int l = 0; l < program->lane_count; l++) {
    struct batch *batch = add_batch(program, l);
    batch->has_barrier = batch->has_host_barrier = true;
  }
}

/* ---- semaphores --------------------------------------------------------------------- */

int add_semaphore(struct program *program, bool is_binary, uint64_t initial, const char *format,
                  ...) {
  if (program->semaphore_count == SEMAPHORES_MOST) small_fail("too many semaphores in the model");
  struct semaphore *semaphore = &program->semaphores[program->semaphore_count];
  *semaphore = (struct semaphore){.is_binary = is_binary, .initial = is_binary ? 0 : initial};
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(semaphore->name, sizeof semaphore->name, format, arguments);
  va_end(arguments);
  return program->semaphore_count++;
}

static void mark_host_awaited(struct program *program) {
  for (int i = 0; i < program->event_count; i++)
    for (int t = 0; t < program->events[i].target_count; t++)
      program->batches[program->events[i].targets[t]].is_host_awaited = true;
  for (int i = program->finish_first; i < program->batch_count; i++)
    program->batches[i].is_host_awaited = true;
}

static bool signals_timeline(const struct program *program, int index) {
  if (program->batches[index].is_host_awaited) return true;
  for (int i = 0; i < program->edge_count; i++)
    if (program->edges[i].from == index && !program->edges[i].is_binary) return true;
  return false;
}

static uint64_t add_signal(struct program *program, int index, int semaphore, uint64_t value) {
  struct batch *batch = &program->batches[index];
  if (batch->signal_count == SIGNALS_MOST) small_fail("too many signals in the model");
  batch->signals[batch->signal_count++] = (struct signal){semaphore, value};
  return value;
}

/* Gives each batch with timeline waiters a signal. lows: the largest value that is too small. */
static void assign_timelines(struct program *program, struct random_state *random,
                             uint64_t lows[BATCHES_MOST]) {
  bool is_per_lane = program->style == STYLE_LANE_TIMELINES || program->style == STYLE_MIXED;
  int semaphores[LANES_MOST];
  uint64_t values[LANES_MOST];
  for (int l = 0; l < LANES_MOST; l++) semaphores[l] = -1;
  for (int i = 0; i < program->batch_count; i++) {
    int l = program->batches[i].lane;
    uint64_t initial = random_below(random, 3) * random_below(random, 5);
    unsigned jump = 1 + random_below(random, 3);
    if (!signals_timeline(program, i)) continue;
    if (!is_per_lane || semaphores[l] < 0) {
      semaphores[l] = is_per_lane ? add_semaphore(program, false, initial, "lane%d.done", l)
                                  : add_semaphore(program, false, initial, "batch%d.done", i + 1);
      values[l] = initial;
    }
    lows[i] = values[l];
    values[l] = add_signal(program, i, semaphores[l], values[l] + jump);
  }
}

void assign_semaphores(struct program *program, uint64_t seed) {
  struct random_state random;
  random_seed(&random, "semaphores", seed, 0);
  uint64_t lows[BATCHES_MOST] = {0};
  bool has_exact_values = program->has_exact_values || !random_chance(&random, 30);
  program->semaphore_count = 0;
  for (int i = 0; i < program->batch_count; i++)
    program->batches[i].wait_count = program->batches[i].signal_count = 0;
  mark_host_awaited(program);
  assign_timelines(program, &random, lows);
  for (int i = 0; i < program->edge_count; i++) {
    const struct edge *edge = &program->edges[i];
    struct batch *to = &program->batches[edge->to];
    struct wait wait = {.mask = edge->mask};
    unsigned draw = (unsigned)random_next(&random);
    if (edge->is_binary) {
      wait.semaphore =
          add_semaphore(program, true, 0, "batch%d-to-batch%d", edge->from + 1, edge->to + 1);
      add_signal(program, edge->from, wait.semaphore, 1);
    } else {
      /* The timeline signal is a batch's first one. A value between it and the previous one does.
       */
      const struct signal *signal = &program->batches[edge->from].signals[0];
      wait.semaphore = signal->semaphore;
      wait.value = signal->value;
      if (!has_exact_values) wait.value -= draw % (signal->value - lows[edge->from]);
      if (edge->early_batch >= 0) wait.value = program->batches[edge->early_batch].signals[0].value;
    }
    if (edge->is_forgotten) continue;
    if (to->wait_count == WAITS_MOST) small_fail("too many waits in the model");
    to->waits[to->wait_count++] = wait;
  }
}

/* ---- items -------------------------------------------------------------------------- */

static struct item *add_item(struct program *program, struct item item) {
  if (program->item_count == ITEMS_MOST) small_fail("too many items in the model");
  program->items[program->item_count] = item;
  return &program->items[program->item_count++];
}

static bool add_events(struct program *program, int after, bool only_looks) {
  bool found = false;
  for (int i = 0; i < program->event_count; i++) {
    if (program->events_after[i] != after) continue;
    found = true;
    if (!only_looks) add_item(program, program->events[i]);
  }
  return found;
}

/* Gives each call whose fence the host awaits that fence. */
static void mark_fences(struct program *program) {
  for (int i = 0; i < program->item_count; i++) {
    const struct item *wait = &program->items[i];
    if (wait->action != ACT_WAIT || wait->how != HOW_FENCE) continue;
    for (int t = 0; t < wait->target_count; t++)
      for (int s = 0; s < program->item_count; s++) {
        struct item *submit = &program->items[s];
        if (submit->action == ACT_SUBMIT && submit->first <= wait->targets[t] &&
            wait->targets[t] < submit->first + submit->count)
          submit->has_fence = true;
      }
  }
}

void make_items(struct program *program, uint64_t seed) {
  struct random_state random;
  random_seed(&random, "items", seed, 0);
  program->item_count = 0;
  add_events(program, -1, false);
  for (int i = 0; i < program->batch_count;) {
    const struct batch *first = &program->batches[i];
    struct item submit = {.action = ACT_SUBMIT, .first = i, .count = 1};
    submit.thread = first->lane % program->thread_count;
    submit.uses_submit2 = random_chance(&random, program->submit2_percent);
    while (i + submit.count < program->batch_count) {
      const struct batch *next = &program->batches[i + submit.count];
      if (next->lane != first->lane || first->is_alone || next->is_alone ||
          add_events(program, i + submit.count - 1, true) ||
          !random_chance(&random, program->group_percent))
        break;
      submit.count++;
    }
    add_item(program, submit);
    i += submit.count;
    add_events(program, i - 1, false);
  }
  struct item finish = {.action = ACT_WAIT, .how = program->finish_how};
  for (int i = program->finish_first; i < program->batch_count; i++)
    finish.targets[finish.target_count++] = i;
  if (finish.target_count > 0) add_item(program, finish);
  mark_fences(program);
}
