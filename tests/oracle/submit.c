/* Submitting, and what a refusal may not do. */
#include "oracle.h"

#include <stdio.h>

struct described {
  struct tide_operation operation;
  struct tide_wait waits[MAX_WAITS];
  struct tide_signal signals[MAX_SIGNALS];
  struct tide_use uses[MAX_USES];
};

static enum tide_status never_called(void *arguments) {
  (void)arguments;
  return TIDE_FAILED;
}
static const struct tide_body_class body = {.name = "oracle", .host = never_called},
                                    brief = {.name = "brief",
                                             .host = never_called,
                                             .non_blocking = true};

static void describe(const struct op *op, struct described *out) {
  for (uint32_t i = 0; i < op->wait_count; i++)
    out->waits[i] = (struct tide_wait){op->waits[i].line->handle, op->waits[i].value};
  for (uint32_t i = 0; i < op->signal_count; i++)
    out->signals[i] = (struct tide_signal){op->signals[i].line->handle, op->signals[i].value,
                                           op->signals[i].external};
  for (uint32_t i = 0; i < op->use_count; i++)
    out->uses[i] = (struct tide_use){.buffer = op->uses[i]->handle, .access = op->access[i]};
  out->operation = (struct tide_operation){.label = op->label,
                                           .flags = op->flags,
                                           .waits = out->waits,
                                           .wait_count = op->wait_count,
                                           .signals = out->signals,
                                           .signal_count = op->signal_count,
                                           .buffers = out->uses,
                                           .buffer_count = op->use_count,
                                           .body = !op->has_body ? NULL
                                                   : op->brief   ? &brief
                                                                 : &body,
                                           .arguments = &op->id,
                                           .arguments_size = sizeof op->id};
}

static void log_op(const struct op *op, enum tide_status status, const struct tide_diag *diag) {
  struct world *world = op->program->world;
  char text[200];
  size_t at = 0;
  if (!world->verbose) return;
  for (uint32_t i = 0; i < op->wait_count; i++)
    at += (size_t)snprintf(text + at, sizeof text - at, " %s>=%lu", op->waits[i].line->label,
                           (unsigned long)op->waits[i].value);
  for (uint32_t i = 0; i < op->signal_count; i++)
    at +=
        (size_t)snprintf(text + at, sizeof text - at, " %s:=%lu%s", op->signals[i].line->label,
                         (unsigned long)op->signals[i].value, op->signals[i].external ? "ext" : "");
  for (uint32_t i = 0; i < op->use_count; i++) {
    uint32_t index = 0;
    while (op->program->buffers[index] != op->uses[i]) index++;
    at += (size_t)snprintf(text + at, sizeof text - at, " b%u%s", index,
                           (op->access[i] & TIDE_WRITE) ? "w" : "r");
  }
  if (op->instance)
    at += (size_t)snprintf(text + at, sizeof text - at, " part of %s@%u",
                           op->instance->collective->progress->label, op->instance->number);
  note_line(world, "submit %s to %s%s%s%s:%s %s %s", op->label, op->queue->label,
            op->queue->device->in_order ? "" : " (any order)",
            op->flags & TIDE_MAY_BE_PASSED ? " passable" : "", op->has_body ? "" : " bodyless",
            at ? text : "", tide_status_name(status), status ? diag->text : "");
}

/* ---- before and after --------------------------------------------------------------------- */

static void prepare(struct op *op, uint64_t sequence) {
  op->sequence = sequence;
  op->queue->by_sequence[sequence] = op;
  for (uint32_t i = 0; i < op->use_count; i++) op->uses[i]->users[op->uses[i]->user_count++] = op;
}

static void bind(struct line *line, const struct queue *queue) {
  if (line->scope == TIDE_SCOPE_QUEUE) line->home = queue;
  if (line->scope == TIDE_SCOPE_DEVICE) line->home = queue->device;
}

static void accepted(struct op *op) {
  struct world *world = op->program->world;
  ENSURE(world, op->state != OP_NEW, "%s was accepted, but neither entered nor is it held",
         op->label);
  op->queue->accepted++;
  check_position(op->queue);
  for (uint32_t i = 0; i < op->wait_count; i++) bind(op->waits[i].line, op->queue);
  for (uint32_t i = 0; i < op->signal_count; i++) bind(op->signals[i].line, op->queue);
  if (!op->program->config.racefree) return;
  op->queue->signal_index = op->queue_value;
  twin_run(op);
  check_races(op);
  for (uint32_t i = 0; i < op->use_count; i++) {
    struct buffer *buffer = op->uses[i];
    if (op->access[i] & TIDE_WRITE) {
      buffer->writer = op;
      buffer->reader_count = 0;
      continue;
    }
    uint32_t r = 0;
    while (r < buffer->reader_count && buffer->readers[r]->queue != op->queue) r++;
    /* In a queue that completes in any order, the later of two readers does not stand for both. */
    if (r < buffer->reader_count && op->queue->device->in_order) buffer->readers[r] = op;
    else buffer->readers[buffer->reader_count++] = op;
  }
}

static void refused(struct op *op, uint64_t sequence) {
  struct world *world = op->program->world;
  ENSURE(world, op->state == OP_NEW, "%s was refused, but is in state %u", op->label, op->state);
  op->state = OP_REFUSED;
  op->queue->by_sequence[sequence] = NULL;
  for (uint32_t i = 0; i < op->use_count; i++) op->uses[i]->user_count--;
}

/* ---- is a refusal right? ----------------------------------------------------------------------
 */

static bool no_room(const struct op *op) {
  const struct queue *queue = op->queue;
  uint32_t ops = 1, waits = op->wait_count, signals = op->signal_count, uses = op->use_count;
  for (uint64_t s = 1; s <= queue->accepted; s++) {
    const struct op *other = queue->by_sequence[s];
    if (other->state == OP_PUBLISHED || other->state == OP_LEFT) continue;
    ops++;
    waits += other->wait_count;
    signals += other->signal_count;
    uses += other->use_count;
  }
  return ops > queue->operations || waits > queue->waits || signals > queue->signals ||
         uses > queue->buffers;
}

static bool value_taken(const struct op *op) {
  for (uint32_t i = 0; i < op->signal_count; i++) {
    struct line *line = op->signals[i].line;
    const struct record *newest = line_newest_pending(line);
    if (op->signals[i].value <= line_value(line)) return true;
    if (newest && op->signals[i].value <= newest->value) return true;
    if (line_reserved_from(line, op->signals[i].value)) return true;
  }
  return false;
}

static bool may_be_unordered(const struct op *op) {
  for (uint32_t i = 0; i < op->signal_count; i++) {
    struct line *line = op->signals[i].line;
    const struct record *newest = line_newest_pending(line);
    const struct record *reserved = line_reserved_from(line, 0);
    if (newest && newest->op->queue != op->queue) return true;
    if (reserved && reserved->value <= op->signals[i].value) return true;
  }
  return false;
}

static bool any_held(const struct program *program) {
  for (uint32_t i = 0; i < program->op_count; i++)
    if (program->ops[i]->state == OP_HELD) return true;
  return false;
}

/* A wait has failed: it would enter as failed, whatever else it is. */
bool fails_at_entry(const struct op *op) {
  if (op->expelled) return true;
  for (uint32_t i = 0; i < op->wait_count; i++) {
    const struct wait *wait = &op->waits[i];
    if (line_value(wait->line) < wait->value && line_failed(wait->line, wait->value)) return true;
  }
  return false;
}

static void check_refusal(struct op *op, enum tide_status status, bool cycle,
                          const struct tide_diag *diag) {
  struct world *world = op->program->world;
  bool right = false;
  if (!world->contracts) return;
  switch (status) {
    case TIDE_FULL: right = no_room(op); break;
    case TIDE_VALUE: right = value_taken(op); break;
    case TIDE_UNORDERED: right = may_be_unordered(op); break;
    case TIDE_DEADLOCK: right = cycle || (no_room(op) && any_held(op->program)); break;
    case TIDE_CANCELLED:
    case TIDE_LOST: right = op->instance && op->instance->collective->lost; break;
    default: break;
  }
  ENSURE(world, right, "%s is refused with %s: %s", op->label, tide_status_name(status),
         diag->text);
}

enum tide_status submit(struct op *op) {
  struct world *world = op->program->world;
  struct queue *queue = op->queue;
  struct described described;
  struct tide_diag diag = {0};
  uint64_t sequence = queue->accepted + 1, told = 0, events = world->events;
  describe(op, &described);
  prepare(op, sequence);
  enum tide_status status;
  expel_cyclic(op->program);
  bool fails = instance_fails(op);
  bool held_cycle = closes_cycle(op, false, fails),
       entering_cycle = closes_cycle(op, true, fails_at_entry(op) || fails);
  bool out_of_order = value_taken(op) || may_be_unordered(op);
  bool refused_cycles[] = {closes_cycle(op, true, true), closes_cycle(op, false, true)};
  if (op->instance) {
    struct instance *instance = op->instance;
    size_t member = 0;
    uint64_t number;
    while (instance->parts[member] != op) member++;
    status = tide_collective_submit(instance->collective->handle, member, instance->kind,
                                    &described.operation, &number, &diag);
    if (status == TIDE_OK)
      ENSURE(world, number == instance->number, "instance %lu, not %u", (unsigned long)number,
             instance->number);
    told = sequence;
  } else {
    status = tide_queue_submit(queue->handle, &described.operation, &told, &diag);
  }
  log_op(op, status, &diag);
  if (status == TIDE_OK) {
    ENSURE(world, told == sequence, "%s is number %lu, not %lu", op->label, (unsigned long)told,
           (unsigned long)sequence);
    ENSURE(world, !op->instance || !op->instance->collective->lost, "%s comes after a loss",
           op->label);
    bool cycle = op->was_held ? held_cycle : entering_cycle;
    if (op->excused) cycle = refused_cycles[op->was_held];
    ENSURE(world, !op->excused || out_of_order, "%s fails, though nothing is out of order",
           op->label);
    if (cycle && world->contracts && world->verbose) log_searches(op);
    ENSURE(world, !cycle || !world->contracts, "%s closes a cycle, which was not refused",
           op->label);
    accepted(op);
    return status;
  }
  refused(op, sequence);
  ENSURE(world, world->events == events, "something happened when %s was refused", op->label);
  check_refusal(op, status, held_cycle || entering_cycle, &diag);
  return status;
}

void submit_batch(struct program *program, struct queue *queue, uint32_t count) {
  struct world *world = program->world;
  struct described described[4];
  struct tide_operation operations[4];
  struct op *ops[4];
  struct tide_diag diag = {0};
  size_t taken = 99;
  if (count > 4) count = 4;
  uint64_t sequence = queue->accepted;
  for (uint32_t i = 0; i < count; i++) {
    ops[i] = compose(program, queue);
    if (!ops[i]) {
      count = i;
      break;
    }
    describe(ops[i], &described[i]);
    operations[i] = described[i].operation;
    if (sequence + 1 + i < MAX_EPOCHS) prepare(ops[i], sequence + 1 + i);
  }
  enum tide_status status = tide_queue_submit_all(queue->handle, operations, count, &taken, &diag);
  LOG(world, "submit_all of %u to %s: %zu taken, %s %s", count, queue->label, taken,
      tide_status_name(status), status ? diag.text : "");
  ENSURE(world, taken <= count && (status == TIDE_OK) == (taken == count), "%zu of %u taken: %s",
         taken, count, tide_status_name(status));
  for (uint32_t i = 0; i < count; i++) {
    log_op(ops[i], i < taken ? TIDE_OK : status, &diag);
    if (i < taken) accepted(ops[i]);
    else refused(ops[i], sequence + 1 + i);
  }
  /* A frontier that the batch itself has filled may have forgotten a failure. */
  if (status == TIDE_VALUE && world->contracts && !(taken && ops[taken - 1]->tainted))
    ENSURE(world, taken == 0, "a value error came after %zu were taken: %s", taken, diag.text);
}

/* ---- collectives
 * ---------------------------------------------------------------------------------- */

static struct instance *open_instance(struct program *program, struct collective *collective,
                                      uint32_t number) {
  struct instance *instance = &collective->instances[number];
  if (!instance->number) {
    instance->collective = collective;
    instance->number = number;
    instance->kind = pick(program, 3);
  }
  return instance;
}

/* Does this operation come after a part of the instance? Then no other part may wait for it. */
static bool after_part(const struct op *op, const struct instance *instance) {
  if (op->instance == instance) return true;
  for (uint32_t i = 0; i < instance->collective->count; i++) {
    const struct op *part = instance->parts[i];
    if (part && part->epoch && op->finish.at[part->queue->axis] >= part->epoch) return true;
  }
  return false;
}

static void drop_cycles(struct op *op) {
  uint32_t kept = 0;
  for (uint32_t i = 0; i < op->wait_count; i++) {
    struct line *line = op->waits[i].line;
    struct record record;
    bool bad = false;
    if (line_value(line) < op->waits[i].value &&
        line_pending(line, op->waits[i].value, false, &record)) {
      const struct op *by = record.op;
      if (line->kind == LINE_PROGRESS) by = op->program->world->axes[record.axis].ops[record.epoch];
      bad = !by || after_part(by, op->instance);
    }
    if (!bad) op->waits[kept++] = op->waits[i];
  }
  op->wait_count = kept;
}

static bool part(struct program *program, struct collective *collective, uint32_t member,
                 bool empty) {
  struct queue *queue = collective->members[member];
  uint32_t number = collective->next[member];
  if (number >= MAX_INSTANCES || queue->destroyed || queue->device->lost) return false;
  struct op *op = op_new(program, queue);
  if (!op) return false;
  struct instance *instance = open_instance(program, collective, number);
  op->instance = instance;
  if (!empty) compose_part(program, op);
  if (!program->config.crossed) drop_cycles(op);
  instance->parts[member] = op;
  instance->submitted++;
  if (submit(op) == TIDE_OK) {
    collective->next[member]++;
    return true;
  }
  instance->parts[member] = NULL;
  instance->submitted--;
  return false;
}

void submit_part(struct program *program, struct collective *collective) {
  (void)part(program, collective, (uint32_t)pick(program, collective->count), false);
}

/* All parts of one instance, with nothing in between. */
void submit_instance(struct program *program, struct collective *collective) {
  struct world *world = program->world;
  if (collective->lost) {
    (void)part(program, collective, (uint32_t)pick(program, collective->count), false);
    return;
  }
  for (uint32_t i = 0; i < collective->count; i++) {
    if (part(program, collective, i, false)) continue;
    if (i == 0) return;
    world->paused = false;
    tide_context_resume(world->context);
    program_run_out(program);
    if (!part(program, collective, i, true)) return;
  }
}
