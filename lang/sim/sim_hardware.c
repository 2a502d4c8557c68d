/* The hardware queues of a simulated device: starts in order, native waits, barriers, hands. */
#include "base/check.h"
#include "sim/sim_hardware.h"
#include "tidemark/device.h"

static struct tide_sim_submission *entry(struct tide_link *link) {
  return TIDE_CONTAINER(link, struct tide_sim_submission, link);
}

static struct tide_sim_submission *following(struct tide_sim_hardware_queue *queue,
                                             struct tide_sim_submission *submission) {
  return submission->link.next == &queue->out ? NULL : entry(submission->link.next);
}

static struct tide_sim_hardware_queue *queue_of(struct tide_sim_submission *submission) {
  return &submission->sim->queues[submission->native.hardware_queue];
}

static void delay_start(struct tide_sim_hardware_queue *queue, uint64_t time) {
  if (time > queue->not_before) queue->not_before = time;
}

/* ---- waits ----------------------------------------------------------------------------- */

static bool is_reached(const struct tide_sim_hardware *sim, const struct tide_native_wait *wait) {
  TIDE_ASSERT(wait->device == sim->device); /* each device is a group of its own */
  return wait->submission <= sim->queues[wait->hardware_queue].reached;
}

/* Notes the waits of `next` that are over by now. `cost`: of those that are over only now. */
static void end_waits(struct tide_sim_hardware_queue *queue, uint64_t cost) {
  struct tide_sim_submission *next = queue->next;
  for (uint32_t i = 0; next && i < next->native.wait_count; i++) {
    if (next->wait_is_over[i] || !is_reached(queue->sim, &next->native.waits[i])) continue;
    next->wait_is_over[i] = true;
    if (cost) delay_start(queue, tide_sim_hardware_later(queue->sim, cost));
  }
}

static void set_next(struct tide_sim_hardware_queue *queue, struct tide_sim_submission *next) {
  queue->next = next;
  queue->not_before = 0;
  queue->is_asked = false;
  end_waits(queue, 0);
}

static bool is_held_back(const struct tide_sim_hardware_queue *queue) {
  const struct tide_sim_submission *next = queue->next;
  if (!next || (next->native.barrier && queue->unreached != next)) return true;
  for (uint32_t i = 0; i < next->native.wait_count; i++)
    if (!next->wait_is_over[i]) return true;
  return false;
}

/* Asks the script for the earliest start, once all that the submission waits for has ended. */
static void ask_script(struct tide_sim_hardware_queue *queue, uint64_t now) {
  const struct tide_sim_params *params = &queue->sim->params;
  const struct tide_sim_script *script = params->script;
  delay_start(queue, now);
  queue->is_asked = true;
  if (params->ahead && queue->next->body && script && script->ready)
    delay_start(queue, script->ready(script->self, queue->next->work, queue->not_before));
}

/* True if `next` could start now, with a hand. Else an event follows. */
static bool may_start(struct tide_sim_hardware_queue *queue) {
  uint64_t now = tide_clock_now(queue->sim->clock);
  if (is_held_back(queue)) return false;
  if (!queue->is_asked) ask_script(queue, now);
  if (queue->not_before <= now) return true;
  if (!queue->start.expected) tide_clock_at(queue->sim->clock, &queue->start, queue->not_before);
  return false;
}

static void start_is_due(struct tide_timer_event *event) {
  tide_sim_hardware_advance(TIDE_CONTAINER(event, struct tide_sim_hardware_queue, start)->sim);
}

/* ---- starts ------------------------------------------------------------------------------ */

/* Returns the queue with the submission that has waited for a hand longest; NULL: none can start.
 */
static struct tide_sim_hardware_queue *choose_queue(struct tide_sim_hardware *sim) {
  struct tide_sim_hardware_queue *chosen = NULL;
  for (uint32_t i = 0; i < sim->params.hardware_queues; i++) {
    struct tide_sim_hardware_queue *queue = &sim->queues[i];
    if (!may_start(queue) || (queue->next->body && !sim->free_hand_count)) continue;
    if (!chosen || queue->not_before < chosen->not_before) chosen = queue;
  }
  return chosen;
}

static void end_is_due(struct tide_timer_event *event) {
  struct tide_sim_submission *submission = TIDE_CONTAINER(event, struct tide_sim_submission, event);
  submission->is_due = submission->sim->is_halted;
  if (submission->is_due || tide_sim_hardware_is_lost(submission->sim)) return;
  tide_sim_hardware_end(submission);
  tide_sim_hardware_advance(submission->sim);
}

static void start_next(struct tide_sim_hardware_queue *queue) {
  struct tide_sim_hardware *sim = queue->sim;
  struct tide_sim_submission *submission = queue->next;
  const struct tide_sim_script *script = sim->params.script;
  uint64_t now = tide_clock_now(sim->clock), cost = sim->params.cost;
  set_next(queue, following(queue, submission));
  if (!submission->body) {
    tide_sim_hardware_end(submission);
    return;
  }
  submission->hand = sim->free_hands[--sim->free_hand_count];
  if (script && script->start)
    cost = script->start(script->self, submission->work, submission->hand, now);
  submission->event.fire = end_is_due;
  tide_clock_at(sim->clock, &submission->event, tide_sim_hardware_later(sim, cost));
}

void tide_sim_hardware_advance(struct tide_sim_hardware *sim) {
  struct tide_sim_hardware_queue *queue;
  if (sim->is_halted || tide_sim_hardware_is_lost(sim)) return;
  while ((queue = choose_queue(sim))) start_next(queue);
}

void tide_sim_hardware_put(struct tide_sim_hardware *sim, struct tide_sim_submission *submission) {
  struct tide_sim_hardware_queue *queue = queue_of(submission);
  tide_list_push_back(&queue->out, &submission->link);
  if (!queue->unreached) queue->unreached = submission;
  if (!queue->next) set_next(queue, submission);
  tide_sim_hardware_advance(sim);
}

/* ---- ends --------------------------------------------------------------------------------- */

/* Advances the native timeline, and ends the waits for it. */
static void advance_timeline(struct tide_sim_hardware_queue *queue) {
  struct tide_sim_hardware *sim = queue->sim;
  uint64_t before = queue->reached, now = tide_clock_now(sim->clock);
  while (queue->unreached && queue->unreached->has_ended) {
    queue->reached = queue->unreached->native.number;
    queue->unreached->ended = now;
    queue->unreached = following(queue, queue->unreached);
  }
  if (queue->reached == before) return;
  for (uint32_t i = 0; i < sim->params.hardware_queues; i++)
    end_waits(&sim->queues[i], sim->params.native_wait_cost);
  if (queue->listening && queue->reached >= queue->listening)
    tide_sim_hardware_wake(sim, tide_sim_hardware_later(sim, sim->params.round_trip));
}

/* Runs the body, and frees the hand. */
static void end_body(struct tide_sim_submission *submission) {
  struct tide_sim_hardware *sim = submission->sim;
  const struct tide_sim_script *script = sim->params.script;
  struct tide_work *work = submission->work;
  if (submission->body->host && !sim->params.skip_bodies)
    work->status = submission->body->host(tide_work_arguments(work));
  if (script && script->end)
    script->end(script->self, work, submission->hand, tide_clock_now(sim->clock));
  sim->free_hands[sim->free_hand_count++] = submission->hand;
}

void tide_sim_hardware_end(struct tide_sim_submission *submission) {
  struct tide_sim_hardware *sim = submission->sim;
  struct tide_sim_hardware_queue *queue = queue_of(submission);
  submission->has_ended = true;
  if (submission->body) end_body(submission);
  if (!sim->params.ahead) {
    if (queue->unreached == submission) queue->unreached = following(queue, submission);
    submission->ended = tide_clock_now(sim->clock);
    tide_list_remove(&submission->link);
    tide_list_push_back(&sim->ended, &submission->link);
    tide_sim_hardware_wake(sim, tide_sim_hardware_later(sim, sim->params.round_trip));
    return;
  }
  enum tide_status status = submission->work->status;
  submission->work->status = TIDE_OK;
  if (status == TIDE_OK) {
    advance_timeline(queue);
    return;
  }
  tide_device_lose(sim->device, status);
  tide_device_certify(sim->device);
}

void tide_sim_hardware_init_queues(struct tide_sim_hardware *sim) {
  for (uint32_t i = 0; i < sim->params.hardware_queues; i++) {
    sim->queues[i] = (struct tide_sim_hardware_queue){.start = {.fire = start_is_due}, .sim = sim};
    tide_list_init(&sim->queues[i].out);
  }
}
