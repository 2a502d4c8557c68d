/* What must be so between two calls: whoever could go on has gone on. */
#include "causal/context_state.h"
#include "oracle.h"

/* ---- held: somebody must be missing --------------------------------------------------------- */

static bool rightly_held(struct op *op) {
  bool held = false;
  for (uint32_t i = 0; i < op->wait_count; i++) {
    struct wait *wait = &op->waits[i];
    struct record record;
    if (line_value(wait->line) >= wait->value) continue;
    if (line_failed(wait->line, wait->value)) return false; /* failed beats held */
    held |= !line_pending(wait->line, wait->value, false, &record);
  }
  return held;
}

static void check_held(struct queue *queue) {
  for (uint64_t s = 1; s <= queue->accepted; s++) {
    struct op *op = queue->by_sequence[s];
    if (op->state != OP_HELD) continue;
    ENSURE(queue->program->world, rightly_held(op), "%s is still held, though nothing is missing",
           op->label);
    if (!(op->flags & TIDE_MAY_BE_PASSED)) return;
  }
}

/* ---- entered: what does the next one wait for? ------------------------------------------------
 */

/* What another machine has finished is known here once that is told. */
static bool is_told_finished(struct world *world, int axis, uint64_t epoch) {
  const struct axis *at = &world->axes[axis];
  if (at->home) return tide_tracker_finished(world->context->tracker, at->id, epoch);
  return finished(world, axis, epoch);
}

/* What an operation that will not run must still wait for: whoever signals what it imported, also
 * if there was no room for the entry. */
static bool import_unfinished(struct op *op) {
  struct world *world = op->program->world;
  for (uint32_t i = 0; i < world->axis_count; i++)
    if (op->known.at[i] && !is_told_finished(world, (int)i, op->known.at[i])) return true;
  for (uint32_t i = 0; i < op->wait_count; i++) {
    const struct wait *wait = &op->waits[i];
    if (wait->cause >= 0 && !is_told_finished(world, wait->cause, wait->cause_epoch)) return true;
  }
  return false;
}

static bool wait_unmet(struct op *op) {
  for (uint32_t i = 0; i < op->wait_count; i++)
    if (line_value(op->waits[i].line) < op->waits[i].value) return true;
  return false;
}

/* Has it failed, so that it needs no more than what it imported? That an elided wait's record
 * failed is only seen when nothing else is missing. */
static bool failed_already(struct op *op) {
  if (op->status || op->cancelled || op->refused || op->lost) return true;
  /* A value may be reached after the record above it that was counted on has failed: which of the
   * two counts depends on when it was the operation's turn. */
  for (uint32_t i = 0; i < op->wait_count; i++)
    if (op->waits[i].gone && op->waits[i].class_ != TIDE_WAIT_ELIDED &&
        line_value(op->waits[i].line) < op->waits[i].value)
      return true;
  return false;
}

/* The first of a queue that has not ended; only it can be judged without knowing what the backend
 * was offered. */
static void check_first(struct queue *queue) {
  struct world *world = queue->program->world;
  const struct axis *axis = &world->axes[queue->axis];
  uint64_t epoch = axis->published + 1;
  while (epoch <= axis->given && axis->ops[epoch]->state >= OP_STARTED) {
    if (queue->device->in_order) return;
    epoch++;
  }
  if (epoch > axis->given) return;
  struct op *op = axis->ops[epoch];
  bool lacking = op->instance && op->instance->lacking;
  bool is_behind = epoch > axis->published + 1u; /* it is published behind those before it anyway */
  if (op->state != OP_ENTERED || (op->instance && !lacking)) return;
  if (failed_already(op) || lacking)
    ENSURE(world, is_behind || import_unfinished(op), "%s has failed, but is not over", op->label);
  else if (!op->has_body && !world->paused)
    ENSURE(world, wait_unmet(op) || import_unfinished(op), "%s has nothing to do, but is not over",
           op->label);
}

void check_settled(struct program *program) {
  for (uint32_t i = 0; i < program->queue_count; i++) {
    struct queue *queue = program->queues[i];
    if (queue->device->lost && !queue->device->certified) continue;
    check_held(queue);
    check_first(queue);
  }
}

/* ---- what a queue knows ------------------------------------------------------------------------
 */

void check_position(struct queue *queue) {
  struct world *world = queue->program->world;
  TIDE_FRONTIER_STORAGE(storage, 64);
  struct tide_frontier *frontier = &storage.frontier;
  struct vec listed, implied;
  uint64_t epoch;
  tide_frontier_init(frontier, 64);
  tide_queue_position(queue->handle, frontier, &epoch);
  ENSURE(world, epoch == world->axes[queue->axis].given, "%s stands at %lu", queue->label,
         (unsigned long)epoch);
  frontier_vec(world, frontier, &listed);
  finished_now(world, &implied);
  for (uint32_t i = 0; i < world->axis_count; i++)
    if (listed.at[i]) vec_max(&implied, finish_of(world, (int)i, listed.at[i]));
  for (uint32_t i = 0; i < world->axis_count && !frontier->tainted; i++)
    ENSURE(world,
           vec_has(&implied, (int)i, queue->start.at[i] == UINT32_MAX ? 0 : queue->start.at[i]),
           "%s has an untainted frontier that does not imply %s@%u, which it waited for",
           queue->label, axis_text(world, (int)i), queue->start.at[i]);
}
