/* Durations in a simulated plan. Random draws depend only on the seed and the operation's number,
 * so that every mode gets the same draws. */
#include "sim/sim_state.h"
#include "base/alloc.h"

static uint64_t draw_random(const struct tide_simulation *s, uint64_t step, uint64_t what) {
  struct tide_random random = {s->params.seed * 0x2545f4914f6cdd1du + step * 4 + what};
  tide_random_next(&random);
  return tide_random_next(&random);
}

/* Returns -ln(u / 2^64) in units of 2^-32, by squaring: there is no C library here. */
static uint64_t minus_log(uint64_t u) {
  uint64_t bits = 0;
  if (!u) u = 1;
  unsigned zeros = (unsigned)__builtin_clzll(u);
  u <<= zeros; /* now 1/2 <= u / 2^64 < 1 */
  for (int i = 31; i >= 0; i--) {
    u = (uint64_t)(((unsigned __int128)u * u) >> 64); /* log2 doubles */
    if (u >> 63) continue;
    bits |= UINT64_C(1) << i;
    u <<= 1;
  }
  uint64_t log2 = ((uint64_t)zeros << 32) + bits;
  return (uint64_t)(((unsigned __int128)log2 * 2977044472u) >> 32); /* ln 2, times 2^32 */
}

static uint64_t spread_cost(const struct tide_simulation *s, uint64_t step, uint64_t cost) {
  uint64_t random = draw_random(s, step, 0);
  switch (s->params.spread) {
    case TIDE_SPREAD_NONE: break;
    case TIDE_SPREAD_UNIFORM: return (uint64_t)(((unsigned __int128)random * cost * 2) >> 64);
    case TIDE_SPREAD_EXPONENTIAL: {
      unsigned __int128 time = ((unsigned __int128)minus_log(random) * cost) >> 32;
      return time > UINT64_MAX / 2 ? UINT64_MAX / 2 : (uint64_t)time;
    }
  }
  return cost;
}

uint64_t tide_sim_cost(const struct tide_simulation *s, const struct tide_step *step,
                       bool *out_assumed) {
  uint64_t cost = step->cost, bytes = 0;
  *out_assumed = !cost && !step->took;
  if (step->took) return 0; /* the second step has no body */
  if (!cost) {
    for (size_t i = 0; i < step->body->param_count; i++) {
      const struct tide_step_argument *argument = &step->arguments[i];
      if (argument->kind > TIDE_PARAM_INOUT || argument->index == TIDE_PLAN_NONE) continue;
      if (__builtin_add_overflow(bytes, argument->size, &bytes)) bytes = UINT64_MAX;
    }
    unsigned __int128 time =
        s->params.cost + (((unsigned __int128)bytes * s->params.cost_per_kib) >> 10);
    cost = time > UINT64_MAX / 2 ? UINT64_MAX / 2 : (uint64_t)time;
  }
  return spread_cost(s, step->number, cost);
}

bool tide_sim_fails(const struct tide_simulation *s, uint64_t step) {
  return s->params.fail && draw_random(s, step, 1) % 1000000 < s->params.fail;
}

uint64_t tide_sim_latency(const struct tide_simulation *s, uint32_t from, uint32_t to) {
  if (from == to) return s->params.latencies[TIDE_WAY_QUEUE];
  for (size_t i = 0; i < s->params.link_count; i++) {
    const struct tide_sim_link_at *link = &s->links[i];
    if ((link->from == from && link->to == to) || (link->from == to && link->to == from))
      return link->latency;
  }
  bool apart = s->devices[from].result.machine != s->devices[to].result.machine;
  return s->params.latencies[apart ? TIDE_WAY_MACHINE : TIDE_WAY_DEVICE];
}

static bool all_near(const struct tide_simulation *s) {
  for (size_t i = 0; i < TIDE_WAY_COUNT; i++)
    if (s->params.latencies[i]) return false;
  return !s->params.link_count;
}

/* Returns the longest latency of a collective's members. Computed once for each device: there may
 * be thousands of members, and of devices. */
uint64_t tide_sim_farthest(struct tide_simulation *s, uint32_t collective, uint32_t device) {
  const struct tide_plan_collective *plan = &s->tables->collectives[collective];
  size_t devices = s->tables->device_count;
  uint64_t most = 0, **row;
  if (all_near(s)) return 0;
  if (!s->farthest)
    s->farthest = tide_alloc(s->allocator, s->tables->collective_count, sizeof *s->farthest);
  row = s->farthest ? &s->farthest[collective] : NULL;
  if (row && !*row) *row = tide_alloc(s->allocator, devices, sizeof **row);
  if (!row || !*row) {
    s->no_memory = true;
    return 0;
  }
  if ((*row)[device]) return (*row)[device] - 1;
  for (size_t i = 0; i < plan->queue_count; i++) {
    uint64_t latency = tide_sim_latency(s, s->tables->queues[plan->queues[i]].device, device);
    if (latency > most) most = latency;
  }
  (*row)[device] = most + 1;
  return most;
}

void tide_sim_time_free(struct tide_simulation *s) {
  size_t collectives = s->tables->collective_count;
  for (size_t i = 0; s->farthest && i < collectives; i++)
    tide_free(s->allocator, s->farthest[i], s->tables->device_count, sizeof **s->farthest);
  tide_free(s->allocator, s->farthest, collectives, sizeof *s->farthest);
}
