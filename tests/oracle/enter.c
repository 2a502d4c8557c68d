/* An operation enters: what it may take for granted, and which waits remain. */
#include "oracle.h"

#include <stdio.h>
#include <string.h>

static const char *const classes[] = {"failed", "resolved", "elided", "issued", "held"};

void watch_enter(struct op *op, const struct tide_event *event) {
  struct world *world = op->program->world;
  struct axis *axis = &world->axes[op->queue->axis];
  if (op->state == OP_HELD) expel_cyclic(op->program);
  ENSURE(world, op->state == OP_NEW || op->state == OP_HELD, "%s enters twice", op->label);
  ENSURE(world, event->epoch == axis->given + 1u, "%s enters as epoch %lu after %u", op->label,
         (unsigned long)event->epoch, axis->given);
  ENSURE(world, event->frontier != NULL, "%s enters without a frontier", op->label);
  op->epoch = event->epoch;
  bool failed =
      fails_at_entry(op) || (event->status && event->status != TIDE_DEADLOCK) || instance_fails(op);
  op->cyclic = op->state == OP_HELD && closes_cycle(op, true, failed);
  ENSURE(world, !op->cyclic || event->status || !world->contracts,
         "%s enters and closes a cycle, but has not failed", op->label);
  bool is_out_of_order = event->status == TIDE_VALUE || event->status == TIDE_UNORDERED;
  op->excused |= is_out_of_order && op->state == OP_NEW && !instance_fails(op);
  op->refused = is_out_of_order || op->cyclic;
  op->failed_before = event->status != TIDE_OK;
  if (op->cyclic) buffers_forget(op);
  op->tainted = event->frontier->tainted;
  op->classes_seen = 0;
  frontier_vec(world, event->frontier, &op->known);
  if (world->verbose) {
    char text[160];
    tide_frontier_print(event->frontier, text, sizeof text);
    LOG(world, "enter %s = %s@%lu knows %s%s", op->label, axis_text(world, op->queue->axis),
        (unsigned long)op->epoch, text, op->refused ? " REFUSED" : "");
  }
  world->counted.entered++;
}

/* ---- one wait --------------------------------------------------------------------- */

/* Records may have been missed: any that stands for the value will do. */
static void check_told(struct op *op, struct wait *wait, const struct tide_event *event) {
  struct world *world = op->program->world;
  if (!event->cause_axis) return;
  int cause = axis_find(world, event->cause_axis);
  ENSURE(world,
         event->cause_value >= wait->value && event->cause_value <= wait->line->value &&
             home_record(world, wait->line, cause, event->cause_epoch, event->cause_value),
         "%s imports %s@%lu (value %lu) for %s >= %lu, which does not stand for it", op->label,
         axis_text(world, cause), (unsigned long)event->cause_epoch,
         (unsigned long)event->cause_value, wait->line->label, (unsigned long)wait->value);
  wait->brings = *finish_of(world, cause, event->cause_epoch);
}

static void check_resolved(struct op *op, struct wait *wait, const struct tide_event *event) {
  struct world *world = op->program->world;
  if (wait->line->kind == LINE_FOREIGN) {
    check_told(op, wait, event);
    return;
  }
  struct record record;
  bool exact, known = line_reached(wait->line, wait->value, &record, &exact);
  /* Of a queue that is gone nothing is known: all of it has finished. */
  if (known && !event->cause_axis && wait->line->queue && wait->line->queue->destroyed) return;
  int cause = event->cause_axis ? axis_find(world, event->cause_axis) : -1;
  if (!known) {
    ENSURE(world, cause < 0, "%s imports %s@%lu for %s >= %lu, of which nothing is known",
           op->label, axis_text(world, cause), (unsigned long)event->cause_epoch, wait->line->label,
           (unsigned long)wait->value);
    return;
  }
  ENSURE(world,
         cause == record.axis && event->cause_epoch == record.epoch &&
             event->cause_value == record.value,
         "%s imports %s@%lu (value %lu) for %s >= %lu, not %s@%lu (value %lu)", op->label,
         axis_text(world, cause), (unsigned long)event->cause_epoch,
         (unsigned long)event->cause_value, wait->line->label, (unsigned long)wait->value,
         axis_text(world, record.axis), (unsigned long)record.epoch, (unsigned long)record.value);
  wait->brings = *finish_of(world, record.axis, record.epoch);
}

static void check_elided(struct op *op, struct wait *wait, const struct tide_event *event) {
  struct world *world = op->program->world;
  int cause = event->cause_axis ? axis_find(world, event->cause_axis) : -1;
  ENSURE(world,
         wait->record_axis >= 0 && cause == wait->record_axis &&
             event->cause_epoch == wait->record_epoch,
         "%s elides %s >= %lu by %s@%lu, but the record is of %s@%lu", op->label, wait->line->label,
         (unsigned long)wait->value, axis_text(world, cause), (unsigned long)event->cause_epoch,
         axis_text(world, wait->record_axis), (unsigned long)wait->record_epoch);
}

/* What does it teach that this wait is over? */
static void issued_brings(struct op *op, struct wait *wait, const struct tide_event *event) {
  struct world *world = op->program->world;
  struct record record;
  ENSURE(world, line_pending(wait->line, wait->value, false, &record),
         "%s issues %s >= %lu, which nobody has promised", op->label, wait->line->label,
         (unsigned long)wait->value);
  bool teaches = record.axis >= 0 && (record.value == wait->value || wait->line->operations_only);
  if (teaches) wait->brings = *finish_of(world, record.axis, record.epoch);
  if (event->cause_axis)
    ENSURE(world,
           teaches && axis_find(world, event->cause_axis) == record.axis &&
               event->cause_epoch == record.epoch,
           "%s waits for %s >= %lu, but imports the record of %lu", op->label, wait->line->label,
           (unsigned long)wait->value, (unsigned long)event->cause_value);
}

static enum tide_wait_class expected_class(struct wait *wait) {
  struct record record;
  if (line_value(wait->line) >= wait->value) return TIDE_WAIT_RESOLVED;
  if (line_failed(wait->line, wait->value)) return TIDE_WAIT_FAILED;
  if (!line_pending(wait->line, wait->value, false, &record)) return TIDE_WAIT_HELD;
  return TIDE_WAIT_ISSUED;
}

static void finish_enter(struct op *op);

void watch_class(struct op *op, const struct tide_event *event) {
  struct world *world = op->program->world;
  ENSURE(world, op->classes_seen < op->wait_count, "%s has too many waits", op->label);
  struct wait *wait = &op->waits[op->classes_seen++];
  ENSURE(world, wait->line->handle == event->object && wait->value == event->value,
         "%s: a wait has changed", op->label);
  wait->class_ = (uint8_t)event->detail;
  wait->reason = (uint8_t)(event->detail >> 8);
  wait->brings = (struct vec){{0}};
  wait->cause = event->cause_axis ? axis_find(world, event->cause_axis) : -1;
  wait->cause_epoch = event->cause_epoch;
  wait->record_axis = -1;
  wait->record_value = wait->value;
  wait->seen = true;
  struct record record;
  if (line_pending(wait->line, wait->value, true, &record)) {
    wait->record_axis = record.axis;
    wait->record_epoch = record.epoch;
    wait->record_value = record.value;
  }
  LOG(world, "  %s waits %s >= %lu: %s (%u) %s@%lu value %lu", op->label, wait->line->label,
      (unsigned long)wait->value, classes[wait->class_ > 4 ? 4 : wait->class_], wait->reason,
      event->cause_axis ? axis_text(world, axis_find(world, event->cause_axis)) : "-",
      (unsigned long)event->cause_epoch, (unsigned long)event->cause_value);
  unsigned expected = op->cyclic ? TIDE_WAIT_FAILED : expected_class(wait), seen = wait->class_;
  ENSURE(world, seen == expected || (seen == TIDE_WAIT_ELIDED && expected == TIDE_WAIT_ISSUED),
         "%s: %s >= %lu is classed as %s, not %s", op->label, wait->line->label,
         (unsigned long)wait->value, classes[seen > 4 ? 4 : seen], classes[expected]);
  wait->gone = seen == TIDE_WAIT_FAILED;
  if (seen == TIDE_WAIT_RESOLVED) check_resolved(op, wait, event);
  if (seen == TIDE_WAIT_ELIDED) check_elided(op, wait, event);
  if (seen == TIDE_WAIT_ISSUED) issued_brings(op, wait, event);
  struct tide_context_stats *counted = &world->counted;
  counted->waits++;
  counted->waits_resolved += seen == TIDE_WAIT_RESOLVED;
  counted->waits_elided += seen == TIDE_WAIT_ELIDED;
  counted->waits_issued += seen == TIDE_WAIT_ISSUED;
  counted->waits_failed += seen == TIDE_WAIT_FAILED || seen == TIDE_WAIT_HELD;
  if (op->classes_seen == op->wait_count) finish_enter(op);
}

/* ---- all of them --------------------------------------------------------------------- */

/* Is every elided wait implied by what is left without it? And is no wait issued for nothing? */
static void check_elisions(struct op *op, const struct vec *base) {
  struct world *world = op->program->world;
  struct vec all = *base;
  bool failed = op->failed_before;
  for (uint32_t i = 0; i < op->wait_count; i++) {
    vec_max(&all, &op->waits[i].brings);
    failed |= op->waits[i].class_ == TIDE_WAIT_FAILED;
  }
  for (uint32_t i = 0; i < op->wait_count; i++) {
    const struct wait *wait = &op->waits[i];
    ENSURE(world, wait->class_ != TIDE_WAIT_HELD || failed,
           "%s enters though %s >= %lu is not promised", op->label, wait->line->label,
           (unsigned long)wait->value);
    if (wait->class_ == TIDE_WAIT_ELIDED) {
      world->elided_checked++;
      ENSURE(world, vec_has(&all, wait->record_axis, wait->record_epoch),
             "%s elides %s >= %lu, but nothing else implies %s@%lu", op->label, wait->line->label,
             (unsigned long)wait->value, axis_text(world, wait->record_axis),
             (unsigned long)wait->record_epoch);
    }
    if (wait->class_ != TIDE_WAIT_ISSUED || wait->record_axis < 0) continue;
    if (world->axes[wait->record_axis].home) continue; /* that it has finished may not be told */
    struct vec others = *base;
    for (uint32_t j = 0; j < op->wait_count; j++)
      if (j != i) vec_max(&others, &op->waits[j].brings);
    if (!vec_has(&others, wait->record_axis, wait->record_epoch)) continue;
    /* Only a taint may excuse it: that is known at the end. */
    if (world->blurred || world->needless[0]) continue;
    snprintf(world->needless, sizeof world->needless,
             "%s issues %s >= %lu, though %s@%lu is known already", op->label, wait->line->label,
             (unsigned long)wait->value, axis_text(world, wait->record_axis),
             (unsigned long)wait->record_epoch);
    LOG(world, "  NEEDLESS: %s", world->needless);
  }
}

static void check_known(struct op *op) {
  struct world *world = op->program->world;
  for (uint32_t i = 0; i < world->axis_count; i++)
    ENSURE(world, vec_has(&op->start, (int)i, op->known.at[i]),
           "%s enters and believes in %s@%u, but its past reaches only %u", op->label,
           axis_text(world, (int)i), op->known.at[i], op->start.at[i]);
}

/* Each imported operation is listed, perhaps by way of a collective, unless it has finished or
 * entries were lost. */
static void check_imports(struct op *op) {
  struct world *world = op->program->world;
  struct vec listed = op->known;
  for (uint32_t i = 0; i < world->axis_count; i++)
    if (world->axes[i].collective && op->known.at[i])
      vec_max(&listed, finish_of(world, (int)i, op->known.at[i]));
  for (uint32_t i = 0; i < op->wait_count; i++) {
    const struct wait *wait = &op->waits[i];
    ENSURE(op->program->world,
           op->tainted || wait->cause < 0 || listed.at[wait->cause] >= wait->cause_epoch ||
               finished(op->program->world, wait->cause, wait->cause_epoch),
           "%s imports the record of %s@%lu, but does not know it then", op->label,
           axis_text(op->program->world, wait->cause), (unsigned long)wait->cause_epoch);
  }
}

/* Nobody enters before one that was held first and may not be passed. */
static void check_place(struct op *op) {
  for (uint64_t s = 1; s < op->sequence; s++) {
    const struct op *before = op->queue->by_sequence[s];
    ENSURE(op->program->world, before->state != OP_HELD || (before->flags & TIDE_MAY_BE_PASSED),
           "%s enters before %s, which is held", op->label, before->label);
  }
}

/* Values go up, and signallers are ordered. */
static void check_signals(struct op *op) {
  struct world *world = op->program->world;
  for (uint32_t i = 0; i < op->signal_count && world->contracts; i++) {
    const struct emission *signal = &op->signals[i];
    const struct record *newest = line_newest_pending(signal->line);
    ENSURE(world, signal->value > line_value(signal->line),
           "%s is to signal %s = %lu, which is reached", op->label, signal->line->label,
           (unsigned long)signal->value);
    const struct record *reserved = line_reserved_from(signal->line, 0);
    ENSURE(world, !reserved || reserved->op == op || reserved->value > signal->value,
           "%s is to signal %s = %lu, above %lu, which held %s has reserved", op->label,
           signal->line->label, (unsigned long)signal->value, (unsigned long)reserved->value,
           reserved->op->label);
    if (!newest) continue;
    ENSURE(world, signal->value > newest->value, "%s is to signal %s = %lu behind %lu", op->label,
           signal->line->label, (unsigned long)signal->value, (unsigned long)newest->value);
    if (signal->external || newest->op->queue == op->queue) continue;
    ENSURE(world, vec_has(&op->start, newest->op->queue->axis, newest->op->epoch),
           "%s signals %s = %lu unordered with %s", op->label, signal->line->label,
           (unsigned long)signal->value, newest->op->label);
  }
}

/* What has finished once the instance has, which comes after the one before it. */
static void note_finish(struct collective *collective, const struct instance *instance) {
  struct vec *all = &collective->finishes[instance->number];
  *all = collective->finishes[instance->number - 1];
  for (uint32_t i = 0; i < collective->count; i++)
    if (instance->parts[i]->state != OP_LEFT) vec_max(all, &instance->parts[i]->finish);
  all->at[collective->axis] = instance->number;
}

/* Instances are promised in order, also where a part of an earlier one is still held. */
static void collective_entered(struct op *op) {
  struct instance *instance = op->instance;
  struct collective *collective = instance->collective;
  if (instance->submitted < collective->count) return;
  for (uint32_t i = 0; i < collective->count; i++)
    if (instance->parts[i]->state < OP_ENTERED) return;
  instance->whole = true;
  for (uint32_t n; (n = collective->entered + 1) < MAX_INSTANCES && collective->instances[n].whole;
       collective->entered = n)
    note_finish(collective, &collective->instances[n]);
  op->program->world->axes[collective->axis].given = collective->entered;
}

/* One that enters as failed promises nothing, and is not checked for order. */
static bool has_failed_wait(const struct op *op) {
  for (uint32_t i = 0; i < op->wait_count; i++)
    if (op->waits[i].class_ == TIDE_WAIT_FAILED) return true;
  return false;
}

/* An instance that has failed stands for nothing, though its parts have finished when it has. */
static bool any_instance_failed(const struct program *program) {
  for (uint32_t c = 0; c < program->collective_count; c++) {
    const struct collective *collective = program->collectives[c];
    if (collective->lost) return true;
    for (uint32_t n = 1; n < MAX_INSTANCES && collective->instances[n].submitted; n++)
      for (uint32_t i = 0; i < collective->count; i++) {
        struct op *part = collective->instances[n].parts[i];
        if (part && part->state != OP_NEW && (part->state == OP_LEFT || op_failing(part)))
          return true;
      }
  }
  return false;
}

/* All classes are known: the operation's past is. */
static void finish_enter(struct op *op) {
  struct world *world = op->program->world;
  struct queue *queue = op->queue;
  struct axis *axis = &world->axes[queue->axis];
  struct vec now;
  finished_now(world, &now);
  op->start = queue->start;
  if (queue->device->in_order) vec_max(&op->start, &queue->end);
  vec_max(&op->start, &now);
  if (!world->blurred) world->blurred = any_instance_failed(op->program);
  check_elisions(op, &op->start);
  for (uint32_t i = 0; i < op->wait_count; i++) vec_max(&op->start, &op->waits[i].brings);
  buffers_pasts(op, &op->start);
  check_known(op);
  check_imports(op);
  op->state = OP_ENTERED;
  check_place(op);
  bool promises = !op->refused && !op->failed_before && !has_failed_wait(op) && !instance_fails(op);
  if (promises) check_signals(op);
  op->finish = op->start;
  vec_max(&op->finish, &queue->end);
  op->finish.at[queue->axis] = (uint32_t)op->epoch;
  queue->start = op->start;
  queue->end = op->finish;
  axis->ops[op->epoch] = op;
  axis->given = (uint32_t)op->epoch;
  for (uint32_t i = 0; i < op->signal_count && promises; i++)
    line_add_pending(op->signals[i].line, op, op->signals[i].value, op->signals[i].external);
  if (op->instance) collective_entered(op);
  op->program->epochs_moved |= op->cyclic;
}

void watch_entered_alone(struct op *op) { finish_enter(op); }
