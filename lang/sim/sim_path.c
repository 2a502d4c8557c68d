/* The longest path of a simulated plan: from the operation that ended last back to the beginning,
 * each time to the operation that decided the start. */
#include "base/array.h"
#include "base/alloc.h"
#include "sim/sim_state.h"

static uint32_t last_to_end(const struct tide_simulation *s) {
  uint32_t last = TIDE_SIM_NONE;
  for (uint32_t i = 0; i < s->op_count; i++)
    if (s->ops[i].over && (last == TIDE_SIM_NONE || s->ops[i].end > s->ops[last].end)) last = i;
  return last;
}

/* Returns the time at which the path leaves `cause`. Out of order, `cause` may delay an operation
 * by its start, and end later. */
static uint64_t left_at(const struct tide_sim_op *op, const struct tide_sim_op *cause) {
  return cause->end <= op->could ? cause->end : op->could;
}

/* Returns the time for which the operation waited for a hand. The rest of its delay has causes that
 * are not traced: the host, a wake-up, a submission. */
static uint64_t hand_wait(const struct tide_simulation *s, const struct tide_sim_op *op) {
  uint64_t free = op->before_it == TIDE_SIM_NONE ? 0 : s->ops[op->before_it].end;
  if (free <= op->could) return 0;
  return (free < op->start ? free : op->start) - op->could;
}

static void count_stop(struct tide_simulation *s, const struct tide_sim_op *op, uint64_t until) {
  struct tide_sim_path *path = &s->result.path;
  uint64_t price = op->price < until - op->start ? op->price : until - op->start;
  path->operations++;
  path->waits += price;
  path->bodies += until - op->start - price;
  uint64_t hand = hand_wait(s, op);
  path->hands += hand;
  path->others += op->start - op->could - hand;
}

bool tide_sim_trace_path(struct tide_simulation *s) {
  uint32_t at = last_to_end(s);
  if (at == TIDE_SIM_NONE) return true;
  uint64_t until = s->ops[at].end;
  size_t capacity = 0;
  s->result.makespan = until;
  for (;;) {
    const struct tide_sim_op *op = &s->ops[at];
    if (!tide_array_reserve(s->allocator, &s->stops, &capacity, s->stop_count + 1,
                            sizeof *s->stops))
      return false;
    s->stop_capacity = capacity;
    s->stops[s->stop_count++] = (struct tide_sim_stop){op->step, op->queue, op->start, until};
    count_stop(s, op, until);
    if (op->by == TIDE_SIM_NONE) {
      s->result.path.others += op->could;
      break;
    }
    s->result.path.memory_waits += op->by_memory;
    const struct tide_sim_op *cause = &s->ops[op->by];
    until = left_at(op, cause);
    s->result.path.latency += op->could - until;
    if (until < cause->start) until = cause->start;
    at = op->by;
  }
  for (size_t i = 0; i < s->stop_count / 2; i++) {
    struct tide_sim_stop swap = s->stops[i];
    s->stops[i] = s->stops[s->stop_count - 1 - i];
    s->stops[s->stop_count - 1 - i] = swap;
  }
  return true;
}
