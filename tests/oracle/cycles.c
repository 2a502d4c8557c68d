/* Cycles by brute force: from an operation to all that it cannot start without. */
#include "oracle.h"

/* What is being searched. The target has been submitted, or is about to be; `enters`: it goes in at
 * once, and held ones of its queue that it passes come behind it. An operation *arrives* when it
 * could start but for the other parts of its instance. */
struct hunt {
  struct op *target;
  bool enters, fails;
  struct op *stack[MAX_OPS];
  bool arrives[MAX_OPS];
  uint32_t count;
  bool closed;
  const struct op *at, *from[MAX_OPS]; /* whose dependencies are looked at, and who led to whom */
};

static bool is_waiting(const struct op *op) {
  return op->state == OP_HELD || op->state == OP_ENTERED;
}

/* Has a part failed? Then no part waits for the others. */
static bool has_failed(const struct hunt *hunt, const struct instance *instance) {
  if (hunt->fails && hunt->target->instance == instance) return true;
  for (uint32_t i = 0; i < instance->collective->count; i++) {
    struct op *part = instance->parts[i];
    if (part && part->state != OP_NEW && (part->state == OP_LEFT || op_failing(part))) return true;
  }
  return instance->lacking;
}

static bool is_failing(const struct hunt *hunt, struct op *op) {
  return op_failing(op) || (op->instance && has_failed(hunt, op->instance));
}

static void must_arrive(struct hunt *hunt, struct op *op) {
  if (!op || op == hunt->target || !is_waiting(op) || hunt->arrives[op->id]) return;
  hunt->arrives[op->id] = true;
  hunt->from[op->id] = hunt->at;
  hunt->stack[hunt->count++] = op;
}

static void others_must_arrive(struct hunt *hunt, struct op *op) {
  const struct instance *instance = op->instance;
  if (has_failed(hunt, instance)) return;
  for (uint32_t i = 0; i < instance->collective->count; i++) must_arrive(hunt, instance->parts[i]);
  if (op != hunt->target && instance == hunt->target->instance) hunt->closed = true;
}

static void reach(struct hunt *hunt, struct op *op) {
  if (!op) return;
  if (op == hunt->target) hunt->closed = true;
  else if (is_waiting(op)) {
    must_arrive(hunt, op);
    if (op->instance && !is_failing(hunt, op)) others_must_arrive(hunt, op);
  }
}

/* ---- operations that come before it in its queue ---- */

static struct op *held_before(const struct op *op) {
  uint64_t s = op->state == OP_HELD ? op->sequence : op->queue->accepted + 1;
  while (s-- > 1) {
    struct op *before = op->queue->by_sequence[s];
    if (before && before != op && before->state == OP_HELD && !(before->flags & TIDE_MAY_BE_PASSED))
      return before;
  }
  return NULL;
}

static struct op *op_at(struct queue *queue, uint64_t epoch) {
  const struct axis *axis = &queue->program->world->axes[queue->axis];
  return epoch && epoch <= axis->given ? axis->ops[epoch] : NULL;
}

static void reach_before(struct hunt *hunt, struct op *op) {
  struct queue *queue = op->queue;
  if (op->state == OP_ENTERED) {
    reach(hunt, op_at(queue, op->epoch - 1));
    return;
  }
  struct op *held = held_before(op);
  if (held) reach(hunt, held);
  else if (hunt->enters && op != hunt->target && hunt->target->queue == queue)
    reach(hunt, hunt->target);
  else reach(hunt, op_at(queue, queue->program->world->axes[queue->axis].given));
}

/* ---- operations that must make its waits true ---- */

/* The end of an instance comes after all its parts, and after the instances before it. */
static void reach_parts(struct hunt *hunt, const struct instance *instance) {
  struct world *world = hunt->target->program->world;
  struct collective *collective = instance->collective;
  prefix_update(world, collective->axis);
  for (uint32_t n = instance->number; n > world->axes[collective->axis].prefix; n--) {
    const struct instance *at = &collective->instances[n];
    if (at == hunt->target->instance) hunt->closed = true;
    for (uint32_t i = 0; i < collective->count; i++) must_arrive(hunt, at->parts[i]);
  }
}

static void reach_instance(struct hunt *hunt, const struct collective *collective,
                           uint64_t number) {
  uint64_t newest = 0;
  for (uint32_t n = 1; n < MAX_INSTANCES && n <= number; n++)
    if (collective->instances[n].submitted) newest = n;
  if (newest) reach_parts(hunt, &collective->instances[newest]);
}

/* An operation that may not be passed enters before its queue reaches `epoch`, unless so many
 * operations are held before it that they alone account for the distance. */
static void reach_progress(struct hunt *hunt, struct queue *queue, uint64_t epoch) {
  uint64_t given = queue->program->world->axes[queue->axis].given, before = 0;
  if (epoch <= given) {
    reach(hunt, op_at(queue, epoch));
    return;
  }
  const struct op *target = hunt->target;
  if (hunt->enters && target->queue == queue) {
    hunt->closed = true; /* it has the next epoch */
    return;
  }
  for (uint64_t s = 1; s <= queue->accepted; s++) {
    struct op *op = queue->by_sequence[s];
    if (!op || op->state != OP_HELD) continue;
    if (!(op->flags & TIDE_MAY_BE_PASSED) && epoch - given > before) reach(hunt, op);
    before++;
  }
  bool is_last = target->queue == queue && target->state == OP_NEW;
  if (is_last && !(target->flags & TIDE_MAY_BE_PASSED) && epoch - given > before)
    hunt->closed = true;
}

/* Nothing may signal a value before the held operations that are to signal lower ones have entered.
 * The one with the largest comes behind those with lower ones. */
static void reach_lower(struct hunt *hunt, const struct op *by, struct line *line, uint64_t value) {
  const struct program *program = line->program;
  struct op *best = NULL;
  uint64_t most = 0;
  for (uint32_t i = 0; i < program->op_count; i++) {
    struct op *op = program->ops[i];
    bool is_target = op == hunt->target && !hunt->enters && !hunt->fails;
    if (op == by || op->refused || (!is_target && op->state != OP_HELD)) continue;
    if (op == hunt->target && !is_target) continue;
    for (uint32_t s = 0; s < op->signal_count; s++) {
      const struct emission *signal = &op->signals[s];
      if (signal->line != line || signal->value >= value || signal->value < most) continue;
      most = signal->value;
      best = op;
    }
  }
  if (best) reach(hunt, best);
}

static void reach_lower_signals(struct hunt *hunt, struct op *op) {
  for (uint32_t i = 0; i < op->signal_count; i++)
    reach_lower(hunt, op, op->signals[i].line, op->signals[i].value);
}

/* Without whom can the wait never be true? When the very value is promised or reserved, without
 * that one; when a higher one is, a host or another operation may come first, except where they
 * cannot. */
static void reach_signaller(struct hunt *hunt, struct op *by, const struct wait *wait,
                            bool failing) {
  struct line *line = wait->line;
  struct record pending;
  bool closed = line->operations_only || (!failing && line->scope < TIDE_SCOPE_PROCESS);
  if (line_pending(line, wait->value, false, &pending)) {
    if (failing && pending.axis < 0) return; /* external: nothing was imported */
    if (closed || pending.value == wait->value) reach(hunt, pending.op);
    return;
  }
  const struct record *reserved = line_reserved_from(line, wait->value);
  struct op *best = reserved ? reserved->op : NULL;
  uint64_t least = reserved ? reserved->value : UINT64_MAX;
  bool external = false;
  for (uint32_t i = 0; i < hunt->target->signal_count && !hunt->fails; i++) {
    const struct emission *signal = &hunt->target->signals[i];
    if (signal->line != line || signal->value < wait->value || signal->value > least) continue;
    least = signal->value;
    best = hunt->target;
    external = signal->external;
  }
  if (best == hunt->target && hunt->fails) return;
  if (!best || best == by || line_failed(line, least)) return;
  bool own = line->scope == TIDE_SCOPE_QUEUE && !(by->flags & TIDE_MAY_BE_PASSED);
  if (best == hunt->target && hunt->enters) {
    own = closed; /* it is promised then */
    if (failing && external) return;
  } else if (failing) return;
  if (least == wait->value || own) reach(hunt, best);
}

/* Does it have a record that one which fails imports? The target's too, once it has entered. */
static bool has_record(const struct hunt *hunt, struct line *line, uint64_t value) {
  struct record promised;
  const struct op *target = hunt->target;
  if (line_pending(line, value, false, &promised)) return true;
  if (!hunt->enters || hunt->at == target) return false; /* its own is not there yet */
  struct world *world = line->program->world;
  if (line->kind == LINE_PROGRESS)
    return target->queue == line->queue && value == world->axes[line->queue->axis].given + 1u;
  const struct collective *collective = line->collective;
  const struct instance *instance = target->instance;
  if (!instance || instance->collective != collective || instance->number != value) return false;
  if (collective->entered + 1 != value || instance->submitted < collective->count) return false;
  for (uint32_t i = 0; i < collective->count; i++)
    if (instance->parts[i] != target && instance->parts[i]->state < OP_ENTERED) return false;
  return true;
}

static void reach_waits(struct hunt *hunt, struct op *op, bool failing) {
  struct world *world = op->program->world;
  for (uint32_t i = 0; i < op->wait_count; i++) {
    const struct wait *wait = &op->waits[i];
    if (op->state == OP_ENTERED && failing && wait->cause >= 0 &&
        wait->class_ == TIDE_WAIT_ISSUED) {
      const struct axis *axis = &world->axes[wait->cause];
      if (axis->queue) reach(hunt, op_at(axis->queue, wait->cause_epoch));
      else if (axis->collective) reach_parts(hunt, &axis->collective->instances[wait->cause_epoch]);
    }
    if (op->state == OP_ENTERED && failing) continue;
    if (wait->line->kind == LINE_FOREIGN) continue; /* its value may come from elsewhere */
    if (line_value(wait->line) >= wait->value || line_failed(wait->line, wait->value)) continue;
    bool own = wait->line->kind == LINE_NORMAL;
    if (failing && !own && !has_record(hunt, wait->line, wait->value)) continue;
    if (wait->line->kind == LINE_PROGRESS) reach_progress(hunt, wait->line->queue, wait->value);
    else if (wait->line->kind == LINE_COLLECTIVE)
      reach_instance(hunt, wait->line->collective, wait->value);
    else {
      struct record pending;
      reach_signaller(hunt, op, wait, failing);
      if (!failing && !line_pending(wait->line, wait->value, false, &pending))
        reach_lower(hunt, op, wait->line, wait->value);
    }
  }
}

/* ---- whose memory it takes ---- */

static void reach_users(struct hunt *hunt, struct op *op) {
  struct world *world = op->program->world;
  for (uint32_t u = 0; u < op->use_count; u++) {
    const struct vec *listed = &op->uses[u]->listed;
    for (uint32_t i = 0; i < world->axis_count; i++) {
      const struct axis *axis = &world->axes[i];
      if (!listed->at[i] || finished(world, (int)i, listed->at[i])) continue;
      if (axis->queue) reach(hunt, op_at(axis->queue, listed->at[i]));
      else if (axis->collective) reach_parts(hunt, &axis->collective->instances[listed->at[i]]);
    }
  }
}

bool closes_cycle(struct op *op, bool enters, bool fails) {
  struct hunt hunt = {.target = op, .enters = enters, .fails = fails};
  struct op *at = op;
  if (op->instance && !fails) others_must_arrive(&hunt, op);
  while (at && !hunt.closed) {
    hunt.at = at;
    bool failing = at == op ? fails : is_failing(&hunt, at);
    reach_before(&hunt, at);
    reach_waits(&hunt, at, failing);
    reach_users(&hunt, at);
    bool enters = at->state == OP_ENTERED || (at == op && hunt.enters);
    if (!enters && !failing) reach_lower_signals(&hunt, at);
    at = hunt.count ? hunt.stack[--hunt.count] : NULL;
  }
  for (const struct op *on = hunt.closed ? hunt.at : NULL; on && on != op; on = hunt.from[on->id])
    LOG(op->program->world, "  cycle of %s%s%s: %s", op->label, enters ? ", entering" : "",
        fails ? ", failing" : "", on->label);
  return hunt.closed;
}

/* ---- after a cancellation ---- */

static bool awaits_moved_epoch(const struct op *op) {
  for (uint32_t i = 0; i < op->wait_count; i++) {
    const struct wait *wait = &op->waits[i];
    if (wait->line->kind != LINE_PROGRESS) continue;
    const struct axis *axis = &op->program->world->axes[wait->line->queue->axis];
    if (wait->value > axis->given ||
        (is_waiting(axis->ops[wait->value]) && axis->ops[wait->value]->cyclic))
      return true;
  }
  return false;
}

static void expel_cyclic_of(struct queue *queue) {
  for (uint64_t s = 1; s <= queue->accepted; s++) {
    struct op *op = queue->by_sequence[s];
    if (!op || op->state != OP_HELD || !awaits_moved_epoch(op)) continue;
    if (op_failing(op) || instance_fails(op)) continue;
    op->expelled = closes_cycle(op, false, false);
    if (op->expelled) LOG(op->program->world, "  %s waits for itself now", op->label);
  }
}

void expel_cyclic(struct program *program) {
  if (!program->epochs_moved) return;
  program->epochs_moved = false;
  for (uint32_t d = 0; d < program->device_count; d++)
    for (uint32_t q = 0; q < program->queue_count; q++)
      if (program->queues[q]->device == &program->devices[d]) expel_cyclic_of(program->queues[q]);
}
