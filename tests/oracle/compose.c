/* Random operations. */
#include "oracle.h"

#include <stdio.h>
#include <string.h>

struct op *op_new(struct program *program, struct queue *queue) {
  if (program->op_count == MAX_OPS || queue->accepted + 2 >= MAX_EPOCHS) return NULL;
  struct op *op = keep(sizeof *op);
  op->program = program;
  op->queue = queue;
  op->id = program->op_count;
  snprintf(op->label, sizeof op->label, "%co%u", program->index ? 'B' : 'A', op->id);
  op->has_body = true;
  program->ops[program->op_count++] = op;
  return op;
}

static bool waits_full(const struct op *op) {
  return op->wait_count == MAX_WAITS || op->wait_count == op->queue->waits;
}

void op_add_wait(struct op *op, struct line *line, uint64_t value) {
  if (waits_full(op) || value == 0) return;
  op->waits[op->wait_count++] = (struct wait){.line = line, .value = value, .record_axis = -1};
}

static bool usable(const struct line *line, const struct queue *queue) {
  if (line->dead) return false;
  if (line->kind == LINE_PROGRESS && line->queue->destroyed) return false;
  if (line->scope == TIDE_SCOPE_QUEUE)
    return line->home ? line->home == queue : line->owner == queue->index;
  if (line->scope == TIDE_SCOPE_DEVICE) {
    struct program *program = queue->program;
    const void *home = line->home ? line->home : program->queues[line->owner]->device;
    return home == queue->device;
  }
  return true;
}

/* ---- waits ------------------------------------------------------------------------------- */

static struct line *line_for_wait(struct program *program, struct queue *queue) {
  bool progress = chance(program, program->config.progress_wait);
  bool foreign = program->home && chance(program, 400);
  for (int tries = 0; tries < 6; tries++) {
    struct line *line = program->lines[pick(program, program->line_count)];
    if (foreign ? line->kind != LINE_FOREIGN
                : line->kind == LINE_FOREIGN || (line->kind != LINE_NORMAL) != progress)
      continue;
    if (usable(line, queue)) return line;
  }
  return NULL;
}

/* Nobody but an operation behind this one could make it true: that is an error of the program's. */
static uint64_t future_allowed(struct program *program, const struct op *op,
                               const struct line *line) {
  bool crossed = program->config.crossed != 0;
  if ((op->instance || line->kind == LINE_COLLECTIVE) && !crossed) return 0;
  if (!chance(program, program->config.hold)) return 0;
  return 1 + pick(program, 2);
}

static void add_random_wait(struct program *program, struct op *op) {
  struct line *line = line_for_wait(program, op->queue);
  if (!line) return;
  uint64_t reached = line_value(line), top = line_top(line), value;
  const struct record *newest = line_newest_pending(line);
  if (op->instance && !program->config.crossed) {
    top = reached;
    if (line->kind == LINE_NORMAL && newest && newest->value > top) top = newest->value;
  }
  uint64_t future = future_allowed(program, op, line);
  if (future) value = top + future;
  else if (chance(program, 250)) value = top;
  else if (chance(program, 200)) value = reached ? 1 + pick(program, reached) : 0;
  else if (top > reached) value = reached + 1 + pick(program, top - reached);
  else value = top ? 1 + pick(program, top) : 0;
  for (uint32_t i = 0; i < op->signal_count; i++)
    if (op->signals[i].line == line && op->signals[i].value <= value) return;
  struct record record;
  if (program->collective_count && !program->config.crossed && value > reached &&
      !line_pending(line, value, false, &record))
    return;
  op_add_wait(op, line, value);
}

/* ---- signals -------------------------------------------------------------------------------- */

static void add_random_signal(struct program *program, struct op *op) {
  const struct config *config = &program->config;
  struct line *line = program->lines[pick(program, program->line_count)];
  if (line->kind != LINE_NORMAL || !usable(line, op->queue) || op->signal_count == MAX_SIGNALS)
    return;
  bool own = line->owner == op->queue->index;
  if (!own && !line->multi && !(line->owner < 0 && chance(program, 100))) return;
  for (uint32_t i = 0; i < op->signal_count; i++)
    if (op->signals[i].line == line) return;
  uint64_t top = line_top(line), value = top + 1 + (chance(program, 400) ? pick(program, 3) : 0);
  if (chance(program, config->bad)) value = top ? 1 + pick(program, top) : 1;
  for (uint32_t i = 0; i < op->wait_count; i++)
    if (op->waits[i].line == line && op->waits[i].value >= value) return;
  /* External: ordered by means of the test's own, see may_give in drive.c. */
  bool external = chance(program, config->external_signal) && !line->operations_only;
  op->signals[op->signal_count++] =
      (struct emission){.line = line, .value = value, .external = external};
  if (own || external || !chance(program, 800)) return;
  const struct record *newest = line_newest_pending(line);
  if (newest && newest->value < value) op_add_wait(op, line, newest->value);
}

/* ---- buffers ----------------------------------------------------------------------------------
 */

static struct buffer *live_buffer(struct program *program) {
  for (int tries = 0; tries < 8 && program->buffer_count; tries++) {
    struct buffer *buffer = program->buffers[pick(program, program->buffer_count)];
    if (!buffer->freed && buffer->user_count + 2 < MAX_OPS) return buffer;
  }
  return NULL;
}

static bool ordered_already(const struct op *op, const struct op *need) {
  if (need->queue == op->queue && op->queue->device->in_order) return true;
  for (uint32_t i = 0; i < op->wait_count; i++) {
    const struct op *by = named_by(op->program, op->waits[i].line, op->waits[i].value);
    if (by && by->queue == need->queue && by->sequence >= need->sequence) return true;
  }
  return false;
}

/* A wait that is missing, or for less than is needed. */
static void add_too_little(struct op *op, const struct op *need) {
  struct line *line = op->program->own_lines[need->queue->index];
  if (chance(op->program, 500) && need->queue_value > 1)
    op_add_wait(op, line, need->queue_value - 1);
}

/* A race-free program waits for whoever it would race with. False: too many. */
static bool add_needs(struct op *op, const struct buffer *buffer, enum tide_access access) {
  const struct op *needs[MAX_READERS + 1];
  uint32_t count = 0, before = op->wait_count;
  if (buffer->writer) needs[count++] = buffer->writer;
  for (uint32_t i = 0; i < buffer->reader_count && (access & TIDE_WRITE); i++)
    needs[count++] = buffer->readers[i];
  for (uint32_t i = 0; i < count; i++) {
    if (ordered_already(op, needs[i])) continue;
    if (chance(op->program, op->program->config.racy)) {
      add_too_little(op, needs[i]);
      continue;
    }
    if (waits_full(op)) {
      op->wait_count = before;
      return false;
    }
    op_add_wait(op, op->program->own_lines[needs[i]->queue->index], needs[i]->queue_value);
  }
  return true;
}

static void add_random_use(struct program *program, struct op *op) {
  struct buffer *buffer = live_buffer(program);
  if (!buffer || op->use_count == MAX_USES) return;
  for (uint32_t i = 0; i < op->use_count; i++)
    if (op->uses[i] == buffer) return;
  enum tide_access access = (enum tide_access)(1 + pick(program, 3));
  if (program->config.racefree) {
    if (!buffer->writer || buffer->reader_count == MAX_READERS) access = TIDE_WRITE;
    if (!add_needs(op, buffer, access)) return;
  }
  op->access[op->use_count] = access;
  op->uses[op->use_count++] = buffer;
}

/* ---- all together
 * -------------------------------------------------------------------------------- */

static void compose_racefree(struct program *program, struct op *op) {
  struct queue *queue = op->queue;
  struct line *own = program->own_lines[queue->index];
  uint32_t uses = (uint32_t)pick(program, 3) + 1;
  for (uint32_t i = 0; i < uses; i++) add_random_use(program, op);
  if (!waits_full(op) && chance(program, 200)) add_random_wait(program, op);
  for (uint32_t i = 0; i < op->wait_count; i++)
    if (op->waits[i].line == own && op->waits[i].value > queue->signal_index)
      op->waits[i].value = queue->signal_index;
  uint64_t top = line_value(own) > queue->signal_index ? line_value(own) : queue->signal_index;
  op->queue_value = top + 1 + (chance(program, 400) ? pick(program, 3) : 0);
  op->signals[op->signal_count++] = (struct emission){.line = own, .value = op->queue_value};
}

static void fill(struct program *program, struct op *op) {
  static const uint8_t counts[] = {0, 0, 0, 1, 1, 1, 1, 2, 2, 3, 4};
  const struct config *config = &program->config;
  op->has_body = !chance(program, config->bodyless);
  op->brief = op->id % 3 != 0;
  if (chance(program, config->passable)) op->flags = TIDE_MAY_BE_PASSED;
  if (chance(program, config->signal_chance)) add_random_signal(program, op);
  if (chance(program, config->signal_chance / 3)) add_random_signal(program, op);
  for (uint32_t i = 0; i < op->signal_count; i++)
    if (op->signals[i].external) op->has_body = true, op->brief = false;
  uint32_t waits = counts[pick(program, sizeof counts)];
  if (config->many && chance(program, config->many)) waits += (uint32_t)pick(program, MAX_WAITS);
  for (uint32_t i = 0; i < waits; i++) add_random_wait(program, op);
  if (!config->buffers || !op->has_body) return;
  uint32_t uses = (uint32_t)pick(program, 3);
  for (uint32_t i = 0; i < uses; i++) add_random_use(program, op);
}

struct op *compose(struct program *program, struct queue *queue) {
  struct op *op = op_new(program, queue);
  if (!op) return NULL;
  if (program->config.racefree) compose_racefree(program, op);
  else fill(program, op);
  return op;
}

struct op *compose_part(struct program *program, struct op *op) {
  fill(program, op);
  op->flags = 0;
  return op;
}
