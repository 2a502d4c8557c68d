/* Check mode against the truth: in programs whose every operation signals its queue's own timeline,
 * what is ordered by what was declared is known exactly; so are the races, when some of the needed
 * waits are left out. A wait that check mode advises counts as made. */
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

/* The newest operation of a queue's own timeline that signals less than the awaited value: it comes
 * before the operation that signals that value. */
static const struct op *below(const struct program *program, const struct line *line,
                              uint64_t value) {
  const struct op *newest = NULL;
  if (line->queue) return NULL;
  const struct queue *queue = program->queues[line->owner];
  for (uint64_t n = 1; n <= queue->accepted && value > line->initial; n++) {
    const struct op *op = queue->by_sequence[n];
    if (op->queue_value && op->queue_value < value) newest = op;
  }
  return newest;
}

static void learn_of(struct vec *declared, const struct op *by) {
  if (!by) return;
  uint32_t *own = &declared->at[by->queue->axis];
  vec_max(declared, &by->declared);
  if (by->sequence > *own) *own = (uint32_t)by->sequence;
}

static void learn(struct op *op, const struct op *by) { learn_of(&op->declared, by); }

/* The host has seen that these operations are over, and those before them in their queues. */
void host_saw_ends(struct program *program, struct op *const *ops, uint32_t count) {
  for (uint32_t i = 0; i < count; i++)
    for (uint64_t n = 1; n <= ops[i]->sequence; n++)
      learn_of(&program->declared, ops[i]->queue->by_sequence[n]);
}

static void declare(struct op *op) {
  op->declared = op->queue->declared;
  vec_max(&op->declared, &op->program->declared);
  for (uint32_t i = 0; i < op->wait_count; i++) {
    learn(op, named_by(op->program, op->waits[i].line, op->waits[i].value));
    learn(op, below(op->program, op->waits[i].line, op->waits[i].value));
  }
}

/* What comes behind the operation in its queue knows what it knew. */
static void hand_on(const struct op *op) {
  struct queue *queue = op->queue;
  queue->declared = op->declared;
  if (queue->device->in_order) queue->declared.at[queue->axis] = (uint32_t)op->sequence;
}

static bool conflicts(const struct op *op, uint32_t use, const struct op *other) {
  const struct buffer *buffer = op->uses[use];
  enum tide_access access = TIDE_READ;
  if (other == op) return false;
  for (uint32_t u = 0; u < other->use_count; u++)
    if (other->uses[u] == buffer) access = other->access[u];
  return (access | op->access[use]) & TIDE_WRITE &&
         op->declared.at[other->queue->axis] < other->sequence;
}

static bool is_behind(const struct op *op, const struct op *other) {
  return op != other &&
         (op->queue == other->queue ? op->sequence > other->sequence
                                    : op->declared.at[other->queue->axis] >= other->sequence);
}

/* The races of a use that remain when the others are waited for. */
static uint32_t races(struct op *op, uint32_t use) {
  const struct buffer *buffer = op->uses[use];
  const struct op *last[MAX_OPS];
  uint32_t count = 0;
  for (uint32_t i = 0; i < buffer->user_count; i++) {
    bool implied = !conflicts(op, use, buffer->users[i]);
    for (uint32_t j = 0; j < buffer->user_count && !implied; j++)
      implied =
          conflicts(op, use, buffer->users[j]) && is_behind(buffer->users[j], buffer->users[i]);
    if (!implied) last[count++] = buffer->users[i];
  }
  for (uint32_t i = 0; i < count; i++) learn(op, last[i]);
  return count;
}

/* The operation has just been accepted, and has entered. */
void check_races(struct op *op) {
  struct world *world = op->program->world;
  uint32_t expected = 0;
  declare(op);
  for (uint32_t i = 0; i < op->use_count && world->checking; i++) expected += races(op, i);
  hand_on(op);
  if (!world->checking) return;
  uint32_t found = world->findings - world->findings_seen;
  world->findings_seen = world->findings;
  ENSURE(world, found >= expected, "check mode finds %u races of %s, not %u", found, op->label,
         expected);
  ENSURE(world, found <= expected, "check mode finds %u races of %s, not %u: %s", found, op->label,
         expected, world->finding);
}

void heard_finding(void *user, const struct tide_diag *diag) {
  struct world *world = user;
  /* It also tells of refused submits; and these programs begin with whatever was in memory. */
  if (((const struct tide_finding *)diag)->kind != TIDE_FINDING_CONFLICT) return;
  world->findings++;
  world->last_finding = *diag;
  world->finding = world->last_finding.text;
  LOG(world, "finding: %s", diag->text);
}
