/* What is known about timelines: values, records, who will signal them. */
#include "oracle.h"

#include <string.h>

struct line *line_find(struct world *world, const void *handle) {
  for (uint32_t p = 0; p < world->program_count; p++) {
    struct program *program = &world->programs[p];
    for (uint32_t i = 0; i < program->line_count; i++)
      if (program->lines[i]->handle == handle) return program->lines[i];
  }
  return NULL;
}

static bool went_well(const struct instance *instance) {
  for (uint32_t i = 0; i < instance->collective->count; i++) {
    const struct op *part = instance->parts[i];
    if (!part || part->state == OP_LEFT || part->status) return false;
  }
  return !instance->lacking;
}

/* A destroyed collective's instances go on, but its timeline cannot be read any more. */
static uint64_t value_of_destroyed(struct line *line) {
  const struct collective *collective = line->collective;
  prefix_update(line->program->world, collective->axis);
  uint64_t finished = line->program->world->axes[collective->axis].prefix;
  while (line->value < finished && !line_failed(line, line->value + 1) &&
         went_well(&collective->instances[line->value + 1]))
    line->value++;
  return line->value;
}

/* A progress timeline tells of no signal: its value is looked at, and must not run ahead. */
uint64_t line_value(struct line *line) {
  struct world *world = line->program->world;
  if (line->dead && line->kind == LINE_COLLECTIVE) return value_of_destroyed(line);
  if (line->dead) return line->value;
  uint64_t value = tide_timeline_query(line->handle);
  if (has_records(line)) {
    ENSURE(world, value == line->value, "timeline %s reads %lu, but %lu was signalled", line->label,
           (unsigned long)value, (unsigned long)line->value);
    return value;
  }
  int axis = line->queue ? line->queue->axis : line->collective->axis;
  ENSURE(world, value == 0 || finished(world, axis, value),
         "progress of %s reads %lu, which has not finished", line->label, (unsigned long)value);
  line->value = value;
  return value;
}

bool line_failed(const struct line *line, uint64_t value) { return value >= line->fail_from; }

static bool progress_record(struct line *line, uint64_t value, struct record *out) {
  struct world *world = line->program->world;
  int axis = line->queue ? line->queue->axis : line->collective->axis;
  uint64_t given = line->queue ? world->axes[axis].given : line->collective->entered;
  if (value == 0 || value > given) return false;
  *out = (struct record){.value = value, .axis = axis, .epoch = value};
  return true;
}

bool line_pending(struct line *line, uint64_t value, bool tracked, struct record *out) {
  const struct record *best = NULL;
  if (!has_records(line)) return progress_record(line, value, out);
  for (uint32_t i = 0; i < line->pending_count; i++) {
    const struct record *record = &line->pending[i];
    if (record->value < value || (tracked && record->axis < 0)) continue;
    if (line_failed(line, record->value)) continue; /* it can never be reached */
    if (!best || record->value < best->value) best = record;
  }
  if (best) *out = *best;
  return best != NULL;
}

/* A ring's progress record: the value's own, or the oldest that is left. */
static bool progress_reached(struct line *line, uint64_t value, struct record *out, bool *exact) {
  struct world *world = line->program->world;
  uint64_t given, mask = line->queue ? line->queue->mask : 255;
  *exact = true;
  if (!progress_record(line, value, out)) return false;
  given = line->queue ? world->axes[line->queue->axis].given : line->collective->entered;
  if (given - value <= mask) return true;
  out->value = out->epoch = given - mask;
  *exact = false;
  return true;
}

/* The first of the records that are kept: the newest `history`, where external ones in a row count
 * as one. */
static uint32_t first_kept(const struct line *line) {
  uint32_t first = line->reached_count, slots = 0;
  while (first > 0) {
    bool in_row = first < line->reached_count && line->reached[first].axis < 0 &&
                  line->reached[first - 1].axis < 0;
    if (!in_row && ++slots > line->history) break;
    first--;
  }
  return first;
}

/* And the newest tracked one. */
bool line_reached(struct line *line, uint64_t value, struct record *out, bool *exact) {
  if (line->kind != LINE_NORMAL) return progress_reached(line, value, out, exact);
  *exact = true;
  if (value <= line->initial) return false;
  uint32_t count = line->reached_count, first = first_kept(line);
  if (count == 0) return false;
  if (first == 0 || value > line->reached[first - 1].value) {
    for (uint32_t i = first; i < count; i++) {
      if (line->reached[i].value < value) continue;
      *out = line->reached[i];
      return out->axis >= 0;
    }
    return false;
  }
  *exact = false;
  bool any = false;
  for (uint32_t i = first; i < count && !any; i++) {
    if (line->reached[i].axis < 0) continue;
    *out = line->reached[i];
    any = true;
  }
  for (uint32_t i = first; i-- > 0 && !any;) {
    if (line->reached[i].axis < 0) continue;
    if (line->reached[i].value < value) return false;
    *out = line->reached[i];
    any = true;
  }
  return any;
}

struct record *line_newest_pending(struct line *line) {
  struct record *newest = NULL;
  for (uint32_t i = 0; i < line->pending_count; i++)
    if (!newest || line->pending[i].value > newest->value) newest = &line->pending[i];
  return newest;
}

struct record *line_reserved_from(struct line *line, uint64_t value) {
  static struct record best;
  struct program *program = line->program;
  bool any = false;
  for (uint32_t i = 0; i < program->op_count; i++) {
    struct op *op = program->ops[i];
    if (op->state != OP_HELD || op->refused) continue;
    for (uint32_t s = 0; s < op->signal_count; s++) {
      if (op->signals[s].line != line || op->signals[s].value < value) continue;
      if (any && best.value <= op->signals[s].value) continue;
      best = (struct record){.value = op->signals[s].value, .axis = -1, .op = op};
      any = true;
    }
  }
  return any ? &best : NULL;
}

uint64_t line_top(struct line *line) {
  uint64_t top = line_value(line);
  if (!has_records(line)) {
    struct record record;
    while (line_pending(line, top + 1, false, &record)) top++;
    return top;
  }
  const struct record *newest = line_newest_pending(line);
  if (newest && newest->value > top) top = newest->value;
  struct program *program = line->program;
  for (uint32_t i = 0; i < program->op_count; i++) {
    const struct op *op = program->ops[i];
    if (op->state != OP_HELD && op->state != OP_NEW) continue;
    for (uint32_t s = 0; s < op->signal_count; s++)
      if (op->signals[s].line == line && op->signals[s].value > top) top = op->signals[s].value;
  }
  return top;
}

void line_add_pending(struct line *line, struct op *op, uint64_t value, bool external) {
  ENSURE(line->program->world, line->pending_count < MAX_RECORDS, "oracle: too many records");
  line->pending[line->pending_count++] = (struct record){
      .value = value, .axis = external ? -1 : op->queue->axis, .epoch = op->epoch, .op = op};
}

void line_drop_pending(struct line *line, struct op *op) {
  for (uint32_t i = 0; i < line->pending_count; i++) {
    if (line->pending[i].op != op) continue;
    line->pending[i] = line->pending[--line->pending_count];
    return;
  }
}
