/* What has finished, worked out without the library. */
#include "oracle.h"

#include <stdio.h>

void vec_max(struct vec *to, const struct vec *from) {
  for (int i = 0; i < MAX_AXES; i++)
    if (to->at[i] < from->at[i]) to->at[i] = from->at[i];
}

bool vec_has(const struct vec *vec, int axis, uint64_t epoch) { return vec->at[axis] >= epoch; }

int axis_find(struct world *world, tide_axis id) {
  for (uint32_t i = 0; i < world->axis_count; i++)
    if (world->axes[i].id == id) return (int)i;
  return -1;
}

int axis_add(struct program *program, tide_axis id) {
  struct world *world = program->world;
  ENSURE(world, world->axis_count < MAX_AXES, "oracle: too many axes");
  ENSURE(world, axis_find(world, id) < 0, "an axis was handed out twice");
  struct axis *axis = &world->axes[world->axis_count];
  *axis = (struct axis){.id = id, .program = program, .local = program->axis_count++};
  return (int)world->axis_count++;
}

const char *axis_text(struct world *world, int axis) {
  static char texts[8][40];
  static unsigned next;
  char *text = texts[next++ % 8];
  if (axis < 0) return "external";
  tide_axis_print(world->axes[axis].id, text, sizeof texts[0]);
  return text;
}

/* A part has finished when all before it in its queue, too. */
static bool part_finished(struct world *world, const struct op *part) {
  if (part->state == OP_LEFT) return true;
  return part->epoch && finished(world, part->queue->axis, part->epoch);
}

static void collective_prefix(struct world *world, struct axis *axis) {
  struct collective *collective = axis->collective;
  while (axis->prefix + 1 < MAX_INSTANCES) {
    const struct instance *next = &collective->instances[axis->prefix + 1];
    if (next->submitted < collective->count && !(collective->lost && next->submitted)) return;
    for (uint32_t i = 0; i < collective->count; i++)
      if (next->parts[i] && !part_finished(world, next->parts[i])) return;
    axis->prefix++;
  }
}

/* An epoch of a queue has finished when its body has ended or was skipped, and all before it. */
void prefix_update(struct world *world, int index) {
  struct axis *axis = &world->axes[index];
  if (axis->collective) {
    collective_prefix(world, axis);
  } else if (axis->queue) {
    while (axis->prefix < axis->given && axis->ops[axis->prefix + 1]->state >= OP_ENDED)
      axis->prefix++;
  } else if (!axis->home) {
    axis->prefix = axis->given;
  }
}

bool finished(struct world *world, int index, uint64_t epoch) {
  struct axis *axis = &world->axes[index];
  if (axis->over || axis->prefix >= epoch) return true;
  prefix_update(world, index);
  return axis->prefix >= epoch;
}

void finished_now(struct world *world, struct vec *out) {
  *out = (struct vec){{0}};
  for (uint32_t i = 0; i < world->axis_count; i++) {
    prefix_update(world, (int)i);
    out->at[i] = world->axes[i].over ? UINT32_MAX : world->axes[i].prefix;
  }
}

const struct vec *finish_of(struct world *world, int index, uint64_t epoch) {
  struct axis *axis = &world->axes[index];
  if (axis->collective) {
    ENSURE(world, epoch < MAX_INSTANCES, "%s@%lu was never given", axis_text(world, index),
           (unsigned long)epoch);
    return &axis->collective->finishes[epoch];
  }
  ENSURE(world, epoch <= axis->given, "%s@%lu was never given, only %u", axis_text(world, index),
         (unsigned long)epoch, axis->given);
  return axis->queue ? &axis->ops[epoch]->finish : &axis->records[epoch];
}

void frontier_vec(struct world *world, const struct tide_frontier *frontier, struct vec *out) {
  *out = (struct vec){{0}};
  ENSURE(world, tide_frontier_validate(frontier, NULL) == TIDE_OK, "a frontier is malformed");
  struct tide_frontier_entry entry;
  for (struct tide_frontier_cursor at = tide_frontier_begin(frontier);
       tide_frontier_next(&at, &entry);) {
    int axis = axis_find(world, entry.axis);
    uint64_t epoch = entry.epoch;
    ENSURE(world, axis >= 0, "a frontier lists an axis that nobody has");
    ENSURE(world, epoch < UINT32_MAX, "a frontier lists an epoch that nobody gave");
    out->at[axis] = (uint32_t)epoch;
  }
}

uint64_t frontier_hash(struct world *world, const struct tide_frontier *frontier) {
  uint64_t hash = frontier->tainted;
  struct tide_frontier_entry entry;
  for (struct tide_frontier_cursor at = tide_frontier_begin(frontier);
       tide_frontier_next(&at, &entry);) {
    uint64_t axis = (uint64_t)axis_find(world, entry.axis);
    hash = (hash ^ (axis << 32 | entry.epoch)) * 0x9e3779b97f4a7c15u;
    hash ^= hash >> 29;
  }
  return hash;
}

/* ---- notes: what a program did and knew, by its own names of axes ------------------------- */

static uint64_t mix(uint64_t hash, uint64_t with) {
  hash = (hash ^ with) * 0x9e3779b97f4a7c15u;
  return hash ^ hash >> 31;
}

static uint64_t mix_axis(struct op *op, uint64_t hash, tide_axis id, uint64_t epoch) {
  struct world *world = op->program->world;
  int axis = axis_find(world, id);
  ENSURE(world, axis >= 0 && world->axes[axis].program == op->program,
         "%s knows an axis of another program", op->label);
  return mix(mix(hash, world->axes[axis].local + 1), epoch);
}

void note_event(struct op *op, const struct tide_event *event) {
  struct program *program = op->program;
  uint64_t hash = mix(event->kind, op->id);
  if (event->frontier) {
    hash = mix(hash, event->frontier->tainted);
    struct tide_frontier_entry entry;
    for (struct tide_frontier_cursor at = tide_frontier_begin(event->frontier);
         tide_frontier_next(&at, &entry);)
      hash = mix_axis(op, hash, entry.axis, entry.epoch);
  }
  if (event->cause_axis) hash = mix_axis(op, hash, event->cause_axis, event->cause_epoch);
  hash = mix(mix(mix(hash, event->detail), event->value), event->status);
  program->noted = mix(program->noted, hash);
  if (!program->notes || program->note_count == MAX_NOTES) return;
  program->notes[program->note_count++] = hash;
}
