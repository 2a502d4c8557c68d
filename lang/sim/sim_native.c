/* Submissions of devices that run ahead, in a simulated plan: the operations that delay one by the
 * order of its hardware queue, by a barrier, or by a native wait. */
#include "base/alloc.h"
#include "base/array.h"
#include "sim/sim_state.h"

static bool add_native_waits(struct tide_simulation *s, const struct tide_submission *submission) {
  if (!tide_array_reserve(s->allocator, &s->native_waits, &s->native_wait_capacity,
                          s->native_wait_count + submission->wait_count, sizeof *s->native_waits))
    return false;
  for (uint32_t i = 0; i < submission->wait_count; i++)
    s->native_waits[s->native_wait_count++] = (struct tide_sim_native_wait){
        submission->waits[i].hardware_queue, submission->waits[i].submission};
  return true;
}

void tide_sim_submitted(struct tide_sim_made *made, uint32_t operation,
                        const struct tide_submission *submission) {
  struct tide_simulation *s = made->simulation;
  struct tide_sim_order *order = &made->orders[submission->hardware_queue];
  uint32_t first = (uint32_t)s->native_wait_count;
  if (!add_native_waits(s, submission) ||
      !tide_array_reserve(s->allocator, &order->submissions, &order->capacity,
                          (size_t)submission->number, sizeof *order->submissions)) {
    s->no_memory = true;
    return;
  }
  while (order->count < submission->number)
    order->submissions[order->count++] = (struct tide_sim_native){.operation = TIDE_SIM_NONE};
  order->submissions[order->count - 1] =
      (struct tide_sim_native){.operation = operation,
                               .submitted = tide_clock_now(s->clock),
                               .waits = first,
                               .wait_count = submission->wait_count,
                               .barrier = submission->barrier};
  s->ops[operation].hardware_queue = (uint8_t)submission->hardware_queue;
  s->ops[operation].submission = (uint32_t)order->count;
}

/* Delays the operation until `time`. The cause is the host if it is submitted only then. */
static void delay_operation(struct tide_sim_op *op, const struct tide_sim_native *native,
                            uint32_t cause, uint64_t time, uint64_t chain) {
  if (time > op->could && time > native->submitted) {
    op->could = time;
    op->by = cause;
    op->by_memory = false;
  }
  if (chain > op->chain_start) op->chain_start = chain;
}

/* Delays the operation until all submissions up to `number` have ended, which they have. */
static void after_submissions(struct tide_simulation *s, struct tide_sim_op *op,
                              const struct tide_sim_native *own, struct tide_sim_order *order,
                              uint64_t number) {
  uint32_t last = TIDE_SIM_NONE;
  uint64_t chain = 0;
  if (number > order->count) number = order->count;
  for (size_t i = order->reached; i < number; i++) {
    struct tide_sim_native *native = &order->submissions[i];
    const struct tide_sim_native *before = i ? native - 1 : NULL;
    const struct tide_sim_op *other =
        native->operation == TIDE_SIM_NONE ? NULL : &s->ops[native->operation];
    last = before ? before->last : TIDE_SIM_NONE;
    chain = before ? before->chain : 0;
    native->last = other && (last == TIDE_SIM_NONE || other->end > s->ops[last].end)
                       ? native->operation
                       : last;
    native->chain = other && other->chain > chain ? other->chain : chain;
    order->reached = i + 1;
  }
  if (!number) return;
  last = order->submissions[number - 1].last;
  if (last != TIDE_SIM_NONE)
    delay_operation(op, own, last, s->ops[last].end, order->submissions[number - 1].chain);
}

/* Delays the operation until the one before it on the hardware queue has started. */
static void after_start(struct tide_simulation *s, struct tide_sim_op *op,
                        const struct tide_sim_native *own, const struct tide_sim_order *order) {
  size_t at = op->submission - 1;
  while (at && order->submissions[at - 1].operation == TIDE_SIM_NONE) at--;
  if (!at) return;
  uint32_t before = order->submissions[at - 1].operation;
  delay_operation(op, own, before, s->ops[before].start, s->ops[before].chain_start);
}

void tide_sim_after_native(struct tide_sim_made *made, struct tide_sim_op *op, uint64_t now) {
  struct tide_simulation *s = made->simulation;
  struct tide_sim_order *order = &made->orders[op->hardware_queue];
  if (s->no_memory) return;
  const struct tide_sim_native native = order->submissions[op->submission - 1];
  after_start(s, op, &native, order);
  if (native.barrier) after_submissions(s, op, &native, order, op->submission - 1);
  for (uint32_t i = 0; i < native.wait_count; i++) {
    const struct tide_sim_native_wait *wait = &s->native_waits[native.waits + i];
    after_submissions(s, op, &native, &made->orders[wait->hardware_queue], wait->submission);
  }
  /* All dependencies have ended. A delay of a submission that was there before is the signal's. */
  if (native.submitted <= op->could && now > op->could) op->could = now;
}

void tide_sim_native_free(struct tide_simulation *s) {
  const struct tide_allocator *a = s->allocator;
  for (size_t i = 0; s->devices && i < s->tables->device_count; i++) {
    struct tide_sim_made *made = &s->devices[i];
    for (uint32_t j = 0; made->orders && j < TIDE_HARDWARE_QUEUES_MAX; j++)
      tide_free(a, made->orders[j].submissions, made->orders[j].capacity,
                sizeof *made->orders[j].submissions);
    tide_free(a, made->orders, TIDE_HARDWARE_QUEUES_MAX, sizeof *made->orders);
  }
  tide_free(a, s->native_waits, s->native_wait_capacity, sizeof *s->native_waits);
}
