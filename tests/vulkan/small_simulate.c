/* Executes a program's batches in one legal order, on bytes of the host's. */
#include "small.h"
#include <stdlib.h>
#include <string.h>

enum { ORDERS = 32, ORDERS_FIRST = 8 }; /* sampled to judge a mistake */

enum batch_state { UNSUBMITTED, HELD, EXECUTED };

struct world {
  const struct program *program;
  struct random_state random;
  bool is_in_order, is_in_queue;
  enum batch_state states[BATCHES_MOST];
  uint64_t values[SEMAPHORES_MOST];
  uint32_t *bytes[BUFFERS_MOST];
  struct outcome outcome;
};

static void run_step(struct world *world, const struct step *step) {
  uint32_t *out = world->bytes[step->out] + step->out_at;
  const uint32_t *in = world->bytes[step->in] + step->in_at;
  const uint32_t *in2 = world->bytes[step->in2] + step->in2_at;
  for (uint32_t i = 0; i < step->words; i++) switch (step->kind) {
      case STEP_FILL: out[i] = step->value; break;
      case STEP_UPDATE: out[i] = pattern_word(step->value, i); break;
      case STEP_COPY: out[i] = in[i]; break;
      case STEP_MIX: out[i] = in[i] * 2654435761u + (in2[i] ^ step->value); break;
    }
}

static void run_batch(struct world *world, int index) {
  const struct batch *batch = &world->program->batches[index];
  for (int i = 0; i < batch->wait_count; i++)
    if (world->program->semaphores[batch->waits[i].semaphore].is_binary)
      world->values[batch->waits[i].semaphore] = 0;
  for (int i = 0; i < batch->step_count; i++) run_step(world, &batch->steps[i]);
  for (int i = 0; i < batch->signal_count; i++) {
    const struct signal *signal = &batch->signals[i];
    bool is_binary = world->program->semaphores[signal->semaphore].is_binary;
    if (!is_binary && signal->value <= world->values[signal->semaphore])
      world->outcome.is_violation = true;
    world->values[signal->semaphore] = is_binary ? 1 : signal->value;
  }
  world->states[index] = EXECUTED;
}

/* The real queues do not matter: a layer may show any number. */
static bool share_queue(const struct world *world, int a, int b) {
  int queues = world->program->virtual_queues ? world->program->virtual_queues : LANES_MOST;
  return world->program->batches[a].lane % queues == world->program->batches[b].lane % queues;
}

static bool waits_are_satisfied(const struct world *world, const struct batch *batch) {
  for (int i = 0; i < batch->wait_count; i++) {
    const struct wait *wait = &batch->waits[i];
    bool is_binary = world->program->semaphores[wait->semaphore].is_binary;
    if (world->values[wait->semaphore] < (is_binary ? 1 : wait->value)) return false;
  }
  return true;
}

static bool can_run(const struct world *world, int index) {
  const struct batch *batch = &world->program->batches[index];
  if (world->states[index] != HELD || !waits_are_satisfied(world, batch)) return false;
  for (int i = 0; i < index; i++) {
    if (world->states[i] != HELD || !share_queue(world, i, index)) continue;
    /* A signal covers everything earlier on its queue, a barrier and a wait everything later. */
    if (!world->is_in_queue || batch->has_barrier || batch->signal_count > 0 ||
        world->program->batches[i].has_barrier ||
        !waits_are_satisfied(world, &world->program->batches[i]))
      return false;
  }
  return true;
}

static bool run_some(struct world *world) {
  int ready[BATCHES_MOST];
  unsigned count = 0;
  for (int i = 0; i < world->program->batch_count; i++)
    if (can_run(world, i)) ready[count++] = i;
  if (count == 0) return false;
  run_batch(world, ready[world->is_in_order ? 0 : random_below(&world->random, count)]);
  return true;
}

/* True when the batch has completed as far as a host wait can tell. */
static bool is_complete(const struct world *world, const struct item *item, int target) {
  for (int i = 0; i < world->program->batch_count; i++) {
    if (world->states[i] != HELD) continue;
    if (item->how == HOW_DEVICE_IDLE) return false;
    if (item->how == HOW_QUEUE_IDLE && share_queue(world, i, target)) return false;
    /* A fence and a timeline cover everything earlier on the queue. */
    if (i <= target && share_queue(world, i, target)) return false;
  }
  return true;
}

static bool is_satisfied(const struct world *world, const struct item *item) {
  if (item->action == ACT_AWAIT) return world->values[item->semaphore] >= item->value;
  for (int t = 0; t < item->target_count; t++)
    if (!is_complete(world, item, item->targets[t])) return false;
  return true;
}

static bool batch_uses_semaphore(const struct batch *batch, int semaphore) {
  for (int i = 0; i < batch->wait_count; i++)
    if (batch->waits[i].semaphore == semaphore) return true;
  for (int i = 0; i < batch->signal_count; i++)
    if (batch->signals[i].semaphore == semaphore) return true;
  return false;
}

/* A held batch still uses the object that the item destroys. */
static bool is_in_use(const struct world *world, const struct item *item) {
  for (int i = 0; i < world->program->batch_count; i++) {
    const struct batch *batch = &world->program->batches[i];
    if (world->states[i] != HELD) continue;
    switch (item->action) {
      case ACT_DESTROY_SEMAPHORE:
        if (batch_uses_semaphore(batch, item->semaphore)) return true;
        break;
      case ACT_DESTROY_POOL:
      case ACT_RESET_POOL:
      case ACT_FREE_COMMANDS:
        if (item->first == i) return true;
        break;
      default: break;
    }
  }
  return false;
}

static void run_item(struct world *world, const struct item *item) {
  switch (item->action) {
    case ACT_SUBMIT:
      for (int i = 0; i < item->count; i++) world->states[item->first + i] = HELD;
      break;
    case ACT_WAIT:
    case ACT_AWAIT:
      while (!is_satisfied(world, item) && !world->outcome.is_stuck)
        world->outcome.is_stuck = !run_some(world);
      break;
    case ACT_SIGNAL: world->values[item->semaphore] = item->value; break;
    case ACT_WRITE:
      /* No violation by itself: the bytes show whether a reader came too late. */
      for (uint32_t i = 0; i < world->program->buffers[item->buffer].words; i++)
        world->bytes[item->buffer][i] = pattern_word((uint32_t)item->value, i);
      break;
    case ACT_SLEEP: break;
    case ACT_DESTROY_BUFFER:
      /* A later reader gets other bytes. */
      for (uint32_t i = 0; i < world->program->buffers[item->buffer].words; i++)
        world->bytes[item->buffer][i] = ~world->bytes[item->buffer][i];
      break;
    default: world->outcome.is_violation |= is_in_use(world, item);
  }
}

static uint64_t hash_output(const struct world *world, uint32_t *words) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (int b = 0; b < world->program->buffer_count; b++) {
    const struct buffer *buffer = &world->program->buffers[b];
    if (!buffer->is_output) continue;
    for (uint32_t i = 0; i < buffer->words; i++)
      hash = (hash ^ world->bytes[b][i]) * 0x100000001b3u;
    if (!words) continue;
    memcpy(words, world->bytes[b], buffer->words * sizeof *words);
    words += buffer->words;
  }
  return hash;
}

struct outcome simulate(const struct program *program, uint64_t order, bool is_in_queue,
                        uint32_t *words) {
  struct world world = {.program = program, .is_in_order = order == 0, .is_in_queue = is_in_queue};
  random_seed(&world.random, "order", order, 0);
  for (int s = 0; s < program->semaphore_count; s++)
    world.values[s] = program->semaphores[s].initial;
  uint32_t total = 0;
  for (int b = 0; b < program->buffer_count; b++) total += program->buffers[b].words;
  uint32_t *bytes = malloc(total * sizeof *bytes);
  if (!bytes) small_fail("no memory");
  for (int b = 0, at = 0; b < program->buffer_count; b++) {
    world.bytes[b] = bytes + at;
    at += (int)program->buffers[b].words;
    for (uint32_t i = 0; i < program->buffers[b].words; i++)
      world.bytes[b][i] = pattern_word(program->buffers[b].pattern, i);
  }
  for (int i = 0; i < program->item_count; i++) run_item(&world, &program->items[i]);
  world.outcome.hash = hash_output(&world, words);
  free(bytes);
  return world.outcome;
}

static unsigned percent_wrong_on(struct program *program, int queues, struct outcome right,
                                 bool is_in_queue, unsigned wanted) {
  unsigned wrong = 0;
  program->virtual_queues = queues;
  for (unsigned order = 1; order <= ORDERS; order++) {
    struct outcome outcome = simulate(program, order, is_in_queue, NULL);
    wrong += outcome.hash != right.hash || outcome.is_violation;
    /* Gives up early on a mistake that shows too seldom. */
    if (order == ORDERS_FIRST && wrong * 100 / order + 10 < wanted) return wrong * 100 / order;
  }
  return wrong * 100 / ORDERS;
}

unsigned percent_wrong(struct program *program, struct outcome right, bool is_in_queue,
                       unsigned wanted) {
  unsigned percent = percent_wrong_on(program, LANES_MOST, right, is_in_queue, wanted);
  if (percent < wanted || program->lane_count < LANES_MOST) return percent;
  unsigned fewer = percent_wrong_on(program, LANES_MOST - 1, right, is_in_queue, wanted);
  program->virtual_queues = 0;
  return fewer < percent ? fewer : percent;
}

void check_is_correct(const struct program *program, bool is_in_queue) {
  struct outcome right = simulate(program, 0, false, NULL);
  for (uint64_t order = 0; order < 40; order++) {
    struct outcome outcome = simulate(program, order, is_in_queue, NULL);
    if (outcome.hash != right.hash || outcome.is_violation || outcome.is_stuck != right.is_stuck)
      small_fail("the correct twin depends on the order (order %d)", (int)order);
  }
}
