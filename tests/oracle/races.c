/* Check mode against the truth: in programs whose every operation signals its queue's own timeline,
 * what is ordered by what was declared is known exactly; so are the races, when some of the needed
 * waits are left out. */
#include "oracle.h"

/* Whom a wait names: the n-th epoch of a progress timeline is the n-th operation. Of a queue's own
 * timeline it names who signals that very value; who signals more only where no host may come
 * first. */
const struct op *named_by(const struct program *program, const struct line *line, uint64_t value) {
  const struct queue *queue = line->queue ? line->queue : program->queues[line->owner];
  if (line->queue) return value && value <= queue->accepted ? queue->by_sequence[value] : NULL;
  for (uint64_t n = 1; n <= queue->accepted && value > line->initial; n++) {
    const struct op *op = queue->by_sequence[n];
    if (op->queue_value < value) continue;
    return op->queue_value == value || line->operations_only ? op : NULL;
  }
  return NULL;
}

static void declare(struct op *op) {
  struct queue *queue = op->queue;
  op->declared = queue->declared;
  for (uint32_t i = 0; i < op->wait_count; i++) {
    const struct op *by = named_by(op->program, op->waits[i].line, op->waits[i].value);
    if (!by) continue;
    vec_max(&op->declared, &by->declared);
    op->declared.at[by->queue->axis] = (uint32_t)(by->sequence > op->declared.at[by->queue->axis]
                                                      ? by->sequence
                                                      : op->declared.at[by->queue->axis]);
  }
  queue->declared = op->declared;
  if (queue->device->in_order) queue->declared.at[queue->axis] = (uint32_t)op->sequence;
}

static bool races(const struct op *op, uint32_t use) {
  const struct buffer *buffer = op->uses[use];
  for (uint32_t i = 0; i < buffer->user_count; i++) {
    const struct op *other = buffer->users[i];
    enum tide_access access = TIDE_READ;
    if (other == op) continue;
    for (uint32_t u = 0; u < other->use_count; u++)
      if (other->uses[u] == buffer) access = other->access[u];
    if (!((access | op->access[use]) & TIDE_WRITE)) continue;
    if (op->declared.at[other->queue->axis] < other->sequence) return true;
  }
  return false;
}

/* The operation has just been accepted, and has entered. */
void check_races(struct op *op) {
  struct world *world = op->program->world;
  uint32_t expected = 0;
  declare(op);
  if (!world->checking) return;
  for (uint32_t i = 0; i < op->use_count; i++) expected += races(op, i);
  uint32_t found = world->findings - world->findings_seen;
  world->findings_seen = world->findings;
  ENSURE(world, found >= expected, "check mode finds %u races of %s, not %u", found, op->label,
         expected);
  ENSURE(world, found <= expected, "check mode finds %u races of %s, not %u: %s", found, op->label,
         expected, world->finding);
}

void heard_finding(void *user, const struct tide_diag *diag) {
  struct world *world = user;
  if (diag->status != TIDE_RACE) return; /* it also tells of refused submits */
  world->findings++;
  world->last_finding = *diag;
  world->finding = world->last_finding.text;
  LOG(world, "finding: %s", diag->text);
}
