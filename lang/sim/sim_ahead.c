/* A simulated device with a submitting thread, which runs ahead or is driven by the host. */
#include "base/alloc.h"
#include "base/check.h"
#include "sim/sim_hardware.h"
#include "tidemark/device.h"

bool tide_sim_hardware_is_lost(const struct tide_sim_hardware *sim) {
  return tide_device_status(sim->device) != TIDE_OK;
}

uint64_t tide_sim_hardware_later(const struct tide_sim_hardware *sim, uint64_t ns) {
  uint64_t now = tide_clock_now(sim->clock);
  return ns > UINT64_MAX - now ? UINT64_MAX : now + ns;
}

static struct tide_sim_submission *entry(struct tide_link *link) {
  return TIDE_CONTAINER(link, struct tide_sim_submission, link);
}

/* ---- submissions ----------------------------------------------------------------------- */

static struct tide_sim_submission *make_submission(struct tide_sim_hardware *sim,
                                                   struct tide_work *work) {
  struct tide_link *spare = tide_list_pop_front(&sim->spare);
  struct tide_sim_submission *submission = spare ? entry(spare) : NULL;
  if (!submission) {
    submission = tide_alloc(sim->allocator, 1, sizeof *submission);
    if (!submission) return NULL;
    submission->made_before = sim->made;
    sim->made = submission;
  }
  *submission = (struct tide_sim_submission){
      .sim = sim, .made_before = submission->made_before, .work = work, .body = work->body};
  return submission;
}

static void give_back(struct tide_sim_hardware *sim, struct tide_work *work) {
  (void)tide_device_exchange(sim->device, &work, 1, NULL, 0, NULL);
}

static void spare_submission(struct tide_sim_submission *submission) {
  tide_list_push_back(&submission->sim->spare, &submission->link);
}

/* ---- ends ------------------------------------------------------------------------------- */

static uint64_t known_at(const struct tide_sim_submission *submission) {
  uint64_t round_trip = submission->sim->params.round_trip;
  return round_trip > UINT64_MAX - submission->ended ? UINT64_MAX : submission->ended + round_trip;
}

/* True if the host knows the end of this submission. */
static bool is_known(const struct tide_sim_submission *submission) {
  return known_at(submission) <= tide_clock_now(submission->sim->clock);
}

/* Reports the ends of a hardware queue that the host knows. */
static void report_queue(struct tide_sim_hardware_queue *queue, uint32_t index) {
  uint64_t number = 0;
  while (!tide_list_empty(&queue->out)) {
    struct tide_sim_submission *first = entry(queue->out.next);
    if (first->native.number > queue->reached || !is_known(first)) break;
    number = first->native.number;
    tide_list_remove(&first->link);
    spare_submission(first);
  }
  if (number) tide_device_over(queue->sim->device, index, number);
}

static void return_ended(struct tide_sim_hardware *sim) {
  while (!tide_list_empty(&sim->ended) && is_known(entry(sim->ended.next))) {
    struct tide_sim_submission *first = entry(tide_list_pop_front(&sim->ended));
    struct tide_work *work = first->work;
    spare_submission(first);
    give_back(sim, work);
  }
}

static void report_ends(struct tide_sim_hardware *sim) {
  if (!sim->params.ahead) return_ended(sim);
  for (uint32_t i = 0; sim->params.ahead && i < sim->params.hardware_queues; i++)
    report_queue(&sim->queues[i], i);
}

/* ---- the submitting thread ------------------------------------------------------------------ */

void tide_sim_hardware_wake(struct tide_sim_hardware *sim, uint64_t time) {
  if (!sim->is_asleep || (sim->wake.expected && sim->wake.time <= time)) return;
  tide_clock_forget(sim->clock, &sim->wake);
  tide_clock_at(sim->clock, &sim->wake, time);
}

static void on_arrival(struct tide_timer_event *event) {
  struct tide_sim_submission *submission = TIDE_CONTAINER(event, struct tide_sim_submission, event);
  tide_list_push_back(&submission->sim->arrived, &submission->link);
  tide_sim_hardware_wake(submission->sim, tide_clock_now(submission->sim->clock));
}

/* Handles a new work of a device that the host drives: it arrives now, or later. */
static void await_arrival(struct tide_sim_submission *submission) {
  struct tide_sim_hardware *sim = submission->sim;
  const struct tide_sim_script *script = sim->params.script;
  uint64_t now = tide_clock_now(sim->clock), ready = now;
  if (script && script->ready) ready = script->ready(script->self, submission->work, now);
  if (ready <= now) {
    tide_list_push_back(&sim->arrived, &submission->link);
    return;
  }
  submission->event.fire = on_arrival;
  tide_clock_at(sim->clock, &submission->event, ready);
}

/* Chooses the work to submit next. False: there is none. */
static bool take_next(struct tide_sim_hardware *sim) {
  struct tide_work *work;
  while (tide_list_empty(&sim->arrived) &&
         tide_device_exchange(sim->device, NULL, 0, &work, 1, NULL)) {
    sim->recording = make_submission(sim, work);
    if (!sim->recording) {
      work->status = TIDE_NOMEM;
      give_back(sim, work);
      continue;
    }
    if (sim->params.ahead) return true;
    await_arrival(sim->recording);
    sim->recording = NULL;
  }
  struct tide_link *first = tide_list_pop_front(&sim->arrived);
  if (first) sim->recording = entry(first);
  return first != NULL;
}

/* Submits a work ahead, or refuses it. */
static void submit_ahead(struct tide_sim_hardware *sim, struct tide_sim_submission *submission) {
  const struct tide_sim_script *script = sim->params.script;
  struct tide_work *work = submission->work;
  enum tide_status status = TIDE_OK;
  tide_work_submission(work, &submission->native);
  if (work->body && script && script->submit)
    status = script->submit(script->self, work, &submission->native);
  if (status == TIDE_OK && work->status != TIDE_OK) submission->body = NULL;
  work->status = status;
  if (status == TIDE_OK) tide_sim_hardware_put(sim, submission);
  else spare_submission(submission);
  give_back(sim, work);
}

static void submit_recorded(struct tide_sim_hardware *sim) {
  struct tide_sim_submission *submission = sim->recording;
  sim->recording = NULL;
  if (sim->params.ahead) submit_ahead(sim, submission);
  else tide_sim_hardware_put(sim, submission);
}

/* Sleeps until the first end that the host needs, or a kick. */
static void fall_asleep(struct tide_sim_hardware *sim) {
  sim->is_asleep = true;
  if (!tide_list_empty(&sim->ended)) tide_sim_hardware_wake(sim, known_at(entry(sim->ended.next)));
  for (uint32_t i = 0; sim->params.ahead && i < sim->params.hardware_queues; i++) {
    struct tide_sim_hardware_queue *queue = &sim->queues[i];
    queue->listening = tide_device_awaited(sim->device, i);
    struct tide_link *at = queue->out.next;
    if (!queue->listening || queue->listening > queue->reached) continue;
    while (at != &queue->out && entry(at)->native.number < queue->listening) at = at->next;
    if (at != &queue->out) tide_sim_hardware_wake(sim, known_at(entry(at)));
  }
}

static void run_thread(struct tide_sim_hardware *sim) {
  for (;;) {
    report_ends(sim);
    if (!take_next(sim)) break;
    if (sim->params.submit_cost) {
      tide_clock_at(sim->clock, &sim->wake, tide_sim_hardware_later(sim, sim->params.submit_cost));
      return;
    }
    submit_recorded(sim);
  }
  fall_asleep(sim);
}

static void wake_is_due(struct tide_timer_event *event) {
  struct tide_sim_hardware *sim = TIDE_CONTAINER(event, struct tide_sim_hardware, wake);
  sim->is_due = sim->is_halted;
  if (sim->is_due || tide_sim_hardware_is_lost(sim)) return;
  tide_clock_forget(sim->clock, &sim->wake);
  sim->is_asleep = false;
  if (sim->recording) submit_recorded(sim);
  run_thread(sim);
}

static void kick(void *self) {
  struct tide_sim_hardware *sim = self;
  tide_sim_hardware_wake(sim, tide_sim_hardware_later(sim, sim->params.wake));
}

/* ---- opening and closing ---------------------------------------------------------------- */

static enum tide_status start_executor(void *self, struct tide_device *device) {
  struct tide_sim_hardware *sim = self;
  sim->device = device;
  kick(sim);
  return TIDE_OK;
}

static void stop_executor(void *self) {
  struct tide_sim_hardware *sim = self;
  tide_clock_forget(sim->clock, &sim->wake);
  for (uint32_t i = 0; i < sim->params.hardware_queues; i++)
    tide_clock_forget(sim->clock, &sim->queues[i].start);
  while (sim->made) {
    struct tide_sim_submission *submission = sim->made;
    sim->made = submission->made_before;
    tide_clock_forget(sim->clock, &submission->event);
    tide_free(sim->allocator, submission, 1, sizeof *submission);
  }
  tide_free(sim->allocator, sim->free_hands, sim->params.hands, sizeof *sim->free_hands);
  tide_free(sim->allocator, sim, 1, sizeof *sim);
}

static struct tide_sim_hardware *make_sim(const struct tide_allocator *a,
                                          const struct tide_sim_params *params) {
  struct tide_sim_hardware *sim = tide_alloc(a, 1, sizeof *sim);
  if (!sim) return NULL;
  sim->free_hands = tide_alloc(a, params->hands, sizeof *sim->free_hands);
  if (!sim->free_hands) {
    tide_free(a, sim, 1, sizeof *sim);
    return NULL;
  }
  sim->params = *params;
  if (!sim->params.hardware_queues) sim->params.hardware_queues = 1;
  sim->allocator = a;
  sim->is_asleep = true;
  sim->wake.fire = wake_is_due;
  for (uint32_t i = params->hands; i-- > 0;) sim->free_hands[sim->free_hand_count++] = i;
  tide_list_init(&sim->arrived);
  tide_list_init(&sim->ended);
  tide_list_init(&sim->spare);
  tide_sim_hardware_init_queues(sim);
  return sim;
}

bool tide_sim_is_hardware(const struct tide_sim_params *params) {
  return params->ahead || params->hardware_queues || params->submit_cost ||
         params->native_wait_cost || params->round_trip;
}

enum tide_status tide_sim_hardware_open(struct tide_context *context, struct tide_clock *clock,
                                        const struct tide_sim_params *params,
                                        struct tide_device **out_device) {
  if (params->hardware_queues > TIDE_HARDWARE_QUEUES_MAX) return TIDE_INVALID;
  if (params->script && params->script->more) return TIDE_UNSUPPORTED;
  struct tide_sim_hardware *sim = make_sim(tide_context_allocator(context), params);
  if (!sim) return TIDE_NOMEM;
  sim->clock = clock;
  struct tide_backend backend = {.name = "sim",
                                 .in_order = !params->out_of_order,
                                 .hands = 1, /* the submitting thread */
                                 .domain = params->domain ? params->domain : TIDE_DOMAIN_QUEUE,
                                 .kick = kick,
                                 .start = start_executor,
                                 .stop = stop_executor,
                                 .self = sim,
                                 .ahead = params->ahead,
                                 .hardware_queues = sim->params.hardware_queues};
  enum tide_status status =
      tide_device_open(context, &backend, params->label ? params->label : "sim", out_device);
  if (status != TIDE_OK) stop_executor(sim);
  return status;
}

struct tide_sim_hardware *tide_sim_hardware_of(const struct tide_device *device) {
  const struct tide_backend *backend = tide_device_backend(device);
  return backend->start == start_executor ? backend->self : NULL;
}

void tide_sim_hardware_resume(struct tide_sim_hardware *sim) {
  sim->is_halted = false;
  for (struct tide_sim_submission *at = sim->made; at; at = at->made_before) {
    if (!at->is_due || tide_sim_hardware_is_lost(sim)) continue;
    at->is_due = false;
    tide_sim_hardware_end(at);
  }
  tide_sim_hardware_advance(sim);
  if (sim->is_due) wake_is_due(&sim->wake);
}
