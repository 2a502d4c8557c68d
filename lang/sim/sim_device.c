/* A device that takes time: hands (its workers) on a simulated clock. */
#include "base/check.h"
#include "base/list.h"
#include "base/alloc.h"
#include "base/params.h"
#include "sim/sim_hardware.h"

#define HANDS_MOST 65536u

struct hand {
  struct tide_timer_event end;
  struct tide_sim *sim;
  struct tide_work *work; /* NULL: free */
  struct hand *next;      /* list of free hands */
  uint32_t number;
  bool due; /* the time ended while the device was halted */
};

/* Work that was taken from a queue, and may not start yet. */
struct parked {
  struct tide_timer_event arrive;
  struct tide_sim *sim;
  struct tide_work *work;
  struct parked *next;   /* list of unused ones, or of those that may start now */
  struct tide_link link; /* member of sim->arriving */
};

struct tide_sim {
  struct tide_sim_params params;
  const struct tide_allocator *allocator;
  struct tide_clock *clock;
  struct tide_device *device;
  struct tide_timer_event look;
  struct hand *hands, *rest;
  struct parked *spare;
  struct tide_link arriving; /* parked work */
  struct parked *ready, **ready_end;
  bool halted;
};

/* ---- work --------------------------------------------------------------------------- */

static void start_work(struct tide_sim *sim, struct tide_work *work) {
  const struct tide_sim_script *script = sim->params.script;
  struct hand *hand = sim->rest;
  uint64_t now = tide_clock_now(sim->clock), cost = sim->params.cost;
  sim->rest = hand->next;
  hand->work = work;
  if (script && script->start) cost = script->start(script->self, work, hand->number, now);
  tide_clock_at(sim->clock, &hand->end, cost > UINT64_MAX - now ? UINT64_MAX : now + cost);
}

static void append_ready(struct tide_sim *sim, struct parked *parked) {
  parked->next = NULL;
  *sim->ready_end = parked;
  sim->ready_end = &parked->next;
}

static struct tide_work *pop_ready(struct tide_sim *sim) {
  struct parked *parked = sim->ready;
  sim->ready = parked->next;
  if (!sim->ready) sim->ready_end = &sim->ready;
  parked->next = sim->spare;
  sim->spare = parked;
  return parked->work;
}

static void look_for_work(struct tide_sim *sim);

static void on_arrival(struct tide_timer_event *event) {
  struct parked *parked = TIDE_CONTAINER(event, struct parked, arrive);
  struct tide_sim *sim = parked->sim;
  tide_list_remove(&parked->link);
  append_ready(sim, parked);
  look_for_work(sim);
}

/* Parks work until `time`. False: no memory. */
static bool park_work(struct tide_sim *sim, struct tide_work *work, uint64_t time) {
  struct parked *parked = sim->spare;
  if (parked) sim->spare = parked->next;
  else parked = tide_alloc(sim->allocator, 1, sizeof *parked);
  if (!parked) return false;
  parked->sim = sim;
  parked->work = work;
  parked->arrive.fire = on_arrival;
  tide_list_push_back(&sim->arriving, &parked->link);
  tide_clock_at(sim->clock, &parked->arrive, time);
  return true;
}

static void hand_back(struct tide_sim *sim, struct tide_work *work) {
  (void)tide_device_exchange(sim->device, &work, 1, NULL, 0, NULL);
}

static void take_work(struct tide_sim *sim, struct tide_work *work) {
  const struct tide_sim_script *script = sim->params.script;
  uint64_t now = tide_clock_now(sim->clock), ready = now;
  if (script && script->ready) ready = script->ready(script->self, work, now);
  if (ready <= now) {
    start_work(sim, work);
  } else if (!park_work(sim, work, ready)) {
    work->status = TIDE_NOMEM;
    hand_back(sim, work);
  }
}

/* Gives work to free hands until no hand is free, or the exchange returns no work. After that, a
 * kick announces new work. */
static void look_for_work(struct tide_sim *sim) {
  while (sim->rest && !sim->halted && sim->device) {
    struct tide_work *work;
    if (sim->ready) start_work(sim, pop_ready(sim));
    else if (tide_device_exchange(sim->device, NULL, 0, &work, 1, NULL)) take_work(sim, work);
    else return;
  }
}

static void free_hand(struct hand *hand) {
  struct tide_sim *sim = hand->sim;
  hand->work = NULL;
  hand->due = false;
  hand->next = sim->rest;
  sim->rest = hand;
}

/* Runs the body, frees the hand and returns its work. */
static struct tide_work *end_work(struct hand *hand) {
  struct tide_sim *sim = hand->sim;
  const struct tide_sim_script *script = sim->params.script;
  struct tide_work *work = hand->work;
  if (work->body && work->body->host && !sim->params.skip_bodies)
    work->status = work->body->host(tide_work_arguments(work));
  if (script && script->end)
    script->end(script->self, work, hand->number, tide_clock_now(sim->clock));
  free_hand(hand);
  return work;
}

/* True if the work continues, on this hand or later on another: it is not handed back. */
static bool goes_on(struct hand *hand) {
  const struct tide_sim_script *script = hand->sim->params.script;
  uint64_t now = tide_clock_now(hand->sim->clock), more = 0;
  if (script && script->more) more = script->more(script->self, hand->work, hand->number, now);
  if (!more) return false;
  hand->due = false;
  if (more == TIDE_SIM_STALLS) free_hand(hand);
  else
    tide_clock_at(hand->sim->clock, &hand->end, more > UINT64_MAX - now ? UINT64_MAX : now + more);
  return true;
}

static void work_ended(struct tide_timer_event *event) {
  struct hand *hand = TIDE_CONTAINER(event, struct hand, end);
  struct tide_sim *sim = hand->sim;
  if (sim->halted) {
    hand->due = true;
    return;
  }
  if (goes_on(hand)) {
    look_for_work(sim);
    return;
  }
  struct tide_work *work = end_work(hand), *next;
  if (sim->ready) hand_back(sim, work);
  else if (tide_device_exchange(sim->device, &work, 1, &next, 1, NULL)) take_work(sim, next);
  else return; /* no work left: a kick announces more */
  look_for_work(sim);
}

static void look_is_due(struct tide_timer_event *event) {
  look_for_work(TIDE_CONTAINER(event, struct tide_sim, look));
}

static void kick_device(void *self) {
  struct tide_sim *sim = self;
  if (!sim->look.expected)
    tide_clock_at(sim->clock, &sim->look, tide_clock_now(sim->clock) + sim->params.wake);
}

/* ---- opening and closing ---------------------------------------------------------------- */

static enum tide_status start_executor(void *self, struct tide_device *device) {
  struct tide_sim *sim = self;
  sim->device = device;
  kick_device(sim);
  return TIDE_OK;
}

static void free_sim(struct tide_sim *sim) {
  while (sim->spare) {
    struct parked *parked = sim->spare;
    sim->spare = parked->next;
    tide_free(sim->allocator, parked, 1, sizeof *parked);
  }
  tide_free(sim->allocator, sim->hands, sim->params.hands, sizeof *sim->hands);
  tide_free(sim->allocator, sim, 1, sizeof *sim);
}

static void stop_executor(void *self) {
  struct tide_sim *sim = self;
  tide_clock_forget(sim->clock, &sim->look);
  /* A lost device may close while its hands are busy. */
  for (uint32_t i = 0; i < sim->params.hands; i++)
    tide_clock_forget(sim->clock, &sim->hands[i].end);
  struct tide_link *link;
  while ((link = tide_list_pop_front(&sim->arriving))) {
    struct parked *parked = TIDE_CONTAINER(link, struct parked, link);
    tide_clock_forget(sim->clock, &parked->arrive);
    append_ready(sim, parked);
  }
  while (sim->ready) (void)pop_ready(sim);
  free_sim(sim);
}

static void add_hands(struct tide_sim *sim) {
  for (uint32_t i = sim->params.hands; i-- > 0;) {
    sim->hands[i] = (struct hand){.sim = sim, .number = i, .next = sim->rest};
    sim->hands[i].end.fire = work_ended;
    sim->rest = &sim->hands[i];
  }
}

static struct tide_sim *make_sim(const struct tide_allocator *a,
                                 const struct tide_sim_params *params) {
  struct tide_sim *sim = tide_alloc(a, 1, sizeof *sim);
  if (!sim) return NULL;
  sim->hands = tide_alloc(a, params->hands, sizeof *sim->hands);
  if (!sim->hands) {
    tide_free(a, sim, 1, sizeof *sim);
    return NULL;
  }
  sim->params = *params;
  sim->allocator = a;
  sim->ready_end = &sim->ready;
  tide_list_init(&sim->arriving);
  sim->look.fire = look_is_due;
  add_hands(sim);
  return sim;
}

enum tide_status tide_sim_open(struct tide_context *context, struct tide_clock *clock,
                               const struct tide_sim_params *params,
                               struct tide_device **out_device) {
  struct tide_sim_params own;
  enum tide_status status = tide_params_copy(&own, sizeof own, params);
  if (status != TIDE_OK) return status;
  if (own.hands > HANDS_MOST) return TIDE_INVALID;
  if (!own.hands) own.hands = 1;
  if (tide_sim_is_hardware(&own)) return tide_sim_hardware_open(context, clock, &own, out_device);
  struct tide_sim *sim = make_sim(tide_context_allocator(context), &own);
  if (!sim) return TIDE_NOMEM;
  sim->clock = clock;
  struct tide_backend backend = {.name = "sim",
                                 .in_order = !own.out_of_order,
                                 .hands = 1, /* a single exchange finds work for all of them */
                                 .domain = own.domain ? own.domain : TIDE_DOMAIN_QUEUE,
                                 .kick = kick_device,
                                 .start = start_executor,
                                 .stop = stop_executor,
                                 .self = sim};
  status = tide_device_open(context, &backend, own.label ? own.label : "sim", out_device);
  if (status != TIDE_OK) free_sim(sim);
  return status;
}

static struct tide_sim *sim_of(const struct tide_device *device) {
  TIDE_ASSERT(tide_device_backend(device)->start == start_executor);
  return tide_device_backend(device)->self;
}

void tide_sim_halt(struct tide_device *device) {
  struct tide_sim_hardware *hardware = tide_sim_hardware_of(device);
  if (hardware) hardware->is_halted = true;
  else sim_of(device)->halted = true;
}

void tide_sim_resume(struct tide_device *device) {
  struct tide_sim_hardware *hardware = tide_sim_hardware_of(device);
  if (hardware) {
    tide_sim_hardware_resume(hardware);
    return;
  }
  struct tide_sim *sim = sim_of(device);
  sim->halted = false;
  for (uint32_t i = 0; i < sim->params.hands; i++)
    if (sim->hands[i].due && !goes_on(&sim->hands[i])) hand_back(sim, end_work(&sim->hands[i]));
  look_for_work(sim);
}

enum tide_status tide_sim_again(struct tide_device *device, struct tide_work *work, uint64_t time) {
  return park_work(sim_of(device), work, time) ? TIDE_OK : TIDE_NOMEM;
}
