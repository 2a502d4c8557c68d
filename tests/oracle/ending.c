/* Driving a program to its end: nothing hangs, nothing is lost, everything is given back. */
#include "causal/context_state.h"
#include "oracle.h"

#include <stdio.h>
#include <string.h>

static bool is_over(const struct op *op) {
  return op->state == OP_PUBLISHED || op->state == OP_LEFT || op->state == OP_REFUSED;
}

static struct op *any_left(struct program *program) {
  for (uint32_t i = 0; i < program->op_count; i++)
    if (!is_over(program->ops[i])) return program->ops[i];
  return NULL;
}

/* A wait that no submitted operation will satisfy. `between`: or that a host can satisfy before
 * the operation that has promised more, which may itself come behind this wait. */
static struct wait *hopeless(struct op *op, bool between) {
  if (op->state != OP_HELD && op->state != OP_ENTERED) return NULL;
  for (uint32_t i = 0; i < op->wait_count; i++) {
    struct wait *wait = &op->waits[i];
    struct record record;
    if (line_value(wait->line) >= wait->value || line_failed(wait->line, wait->value)) continue;
    if (op->cancelled) continue;
    if (!line_pending(wait->line, wait->value, false, &record)) return wait;
    if (between && wait->line->kind == LINE_NORMAL && record.value > wait->value) return wait;
  }
  return NULL;
}

static void check_diagnosis(struct program *program, const struct op *op) {
  static char text[1 << 16];
  char name[20] = "'";
  size_t length = tide_context_diagnose(program->world->context, text, sizeof text);
  if (length >= sizeof text) return;
  strcat(strcat(name, op->label), "'");
  ENSURE(program->world, strstr(text, name),
         "%s can never start, but the diagnosis does not name it:\n%s", op->label, text);
}

/* ---- helping ------------------------------------------------------------------------------ */

static bool signal_for(struct program *program, const struct wait *wait) {
  struct line *line = wait->line;
  if (line->kind != LINE_NORMAL || line->dead || line->operations_only ||
      line->scope < TIDE_SCOPE_PROCESS || wait->value >= line_host_limit(line))
    return false;
  struct host *host = program->host_count && chance(program, 700) ? &program->hosts[0] : NULL;
  return host_signal(program, line, wait->value, host);
}

/* An operation that does nothing but signal what is missing. */
static bool submit_for(struct program *program, const struct wait *wait) {
  struct queue *queue = queue_any(program);
  if (!queue || wait->line->kind != LINE_NORMAL || wait->line->dead || !chance(program, 700))
    return false;
  if (wait->line->scope < TIDE_SCOPE_GROUP || queue->member) return false;
  struct op *op = op_new(program, queue);
  if (!op) return false;
  op->signals[op->signal_count++] = (struct emission){.line = wait->line, .value = wait->value};
  return submit(op) == TIDE_OK;
}

static void give_up(struct program *program, struct op *op) {
  struct world *world = program->world;
  op->cancelled = true;
  LOG(world, "cancel %s, which waits for ever", op->label);
  enum op_state before = op->state;
  enum tide_status status = tide_queue_cancel(op->queue->handle, op->sequence);
  expel_cyclic(program);
  ENSURE(world, status == TIDE_OK, "cancel of %s (state %u), which waits for ever, says %s",
         op->label, before, tide_status_name(status));
}

static bool help(struct program *program, bool between) {
  bool helped = false;
  for (uint32_t i = 0; i < program->op_count; i++) {
    struct op *op = program->ops[i];
    struct wait *wait = hopeless(op, between);
    if (!wait) continue;
    check_diagnosis(program, op);
    if (!(chance(program, 800) && signal_for(program, wait)) && !submit_for(program, wait)) {
      if (!hopeless(op, between)) continue;
      give_up(program, op);
    }
    helped = true;
    if (chance(program, 300)) break;
  }
  return helped;
}

static bool complete_collectives(struct program *program);

/* Another thread, while a collective's destruction waits for its parts. */
static bool others_go_on(struct world *world) {
  uint64_t events = world->events;
  for (uint32_t p = 0; p < world->program_count; p++) {
    struct program *program = &world->programs[p];
    program_run_out(program);
    home_run_out(program);
    if (world->events == events) (void)complete_collectives(program);
  }
  return world->events != events;
}

static void collective_destroy(struct program *program, struct collective *collective) {
  struct world *world = program->world;
  struct tide_collective *handle = collective->handle;
  LOG(world, "destroy %s", collective->progress->label);
  collective->progress->excused = collective->progress->dead = true;
  for (uint32_t n = 1; n < MAX_INSTANCES; n++) {
    struct instance *instance = &collective->instances[n];
    if (instance->number && instance->submitted < collective->count) instance->lacking = true;
  }
  collective->handle = NULL;
  bool (*before)(struct world *) = world->meanwhile;
  world->meanwhile = others_go_on;
  tide_collective_destroy(handle);
  expel_cyclic(program);
  world->meanwhile = before;
}

/* Instances that lack a part that will never come. Where a member was lost they are over by
 * themselves. */
static bool complete_collectives(struct program *program) {
  for (uint32_t i = 0; i < program->collective_count; i++) {
    struct collective *collective = program->collectives[i];
    uint32_t least = UINT32_MAX, most = 0;
    for (uint32_t m = 0; m < collective->count; m++) {
      if (collective->next[m] < least) least = collective->next[m];
      if (collective->next[m] > most) most = collective->next[m];
    }
    if (!collective->handle || collective->lost || least == most) continue;
    collective_destroy(program, collective);
    return true;
  }
  return false;
}

static void run_to_end(struct program *program) {
  struct world *world = program->world;
  for (uint32_t round = 0; round < 300; round++) {
    uint64_t events;
    do {
      events = world->events;
      program_run_out(program);
      home_run_out(program);
    } while (world->events != events);
    struct op *left = any_left(program);
    if (!left) return;
    if (help(program, false) || complete_collectives(program) || help(program, true)) continue;
    if (world->verbose) {
      static char text[1 << 16];
      (void)tide_context_diagnose(world->context, text, sizeof text);
      fputs(text, stdout);
    }
    violation(world, "%s (state %u) hangs: nobody waits for anything that will not come",
              left->label, left->state);
  }
  violation(world, "the program does not end");
}

/* ---- the sums ----------------------------------------------------------------------------------
 */

static void check_stats(struct world *world) {
  struct tide_context_stats stats, *counted = &world->counted;
  tide_context_stats(world->context, &stats);
#define SAME(field)                                                                                \
  ENSURE(world, stats.field == counted->field, "stats." #field " is %lu, not %lu",                 \
         (unsigned long)stats.field, (unsigned long)counted->field)
  SAME(submitted);
  SAME(entered);
  SAME(finished);
  SAME(failed);
  SAME(waits);
  SAME(waits_failed);
  SAME(waits_resolved);
  SAME(waits_elided);
  SAME(waits_issued);
  SAME(held);
  SAME(gap_waits);
  ENSURE(world, stats.entered == stats.finished, "%lu entered, %lu finished",
         (unsigned long)stats.entered, (unsigned long)stats.finished);
  ENSURE(world, !world->needless[0] || stats.tainted, "%s", world->needless);
}

static void check_values(struct program *program) {
  for (uint32_t i = 0; i < program->line_count; i++) {
    struct line *line = program->lines[i];
    if (line->dead || (line->queue && line->queue->destroyed)) continue;
    ENSURE(program->world, line->pending_count == 0, "%s still has %u pending values", line->label,
           line->pending_count);
    (void)line_value(line);
  }
}

/* ---- giving back
 * ---------------------------------------------------------------------------------- */

static void free_buffers(struct program *program) {
  for (uint32_t i = 0; i < program->buffer_count; i++) {
    struct buffer *buffer = program->buffers[i];
    if (!buffer->freed)
      buffer_free(program, buffer, chance(program, 500) ? queue_any(program) : NULL);
  }
}

static void destroy_queues(struct program *program) {
  struct world *world = program->world;
  for (uint32_t i = 0; i < program->collective_count; i++)
    if (program->collectives[i]->handle) collective_destroy(program, program->collectives[i]);
  for (uint32_t i = 0; i < program->queue_count; i++)
    if (!program->queues[i]->destroyed) queue_destroy(program->queues[i]);
  for (uint32_t i = 0; i < program->device_count; i++) {
    struct device *device = &program->devices[i];
    enum tide_status status = tide_device_settle(device->handle, TIDE_NOW);
    ENSURE(world, status == TIDE_OK, "%s does not settle: %s", device->label,
           tide_status_name(status));
    status = tide_device_close_until(device->handle, TIDE_NOW);
    ENSURE(world, status == TIDE_OK, "%s cannot be destroyed: %s", device->label,
           tide_status_name(status));
  }
}

void program_end(struct program *program) {
  struct world *world = program->world;
  program->random.state = ~program->seed;
  bool was_paused = world->paused;
  world->paused = false;
  if (was_paused) tide_context_resume(world->context);
  for (uint32_t i = 0; i < program->device_count; i++)
    if (program->devices[i].lost && !program->devices[i].certified)
      device_certify(&program->devices[i]);
  run_to_end(program);
  check_values(program);
  check_wakes(program);
  wakes_cancel(program);
  if (program->index + 1u == world->program_count) check_stats(world);
  if (program->pool) free_buffers(program);
  destroy_queues(program);
  for (uint32_t i = 0; i < program->line_count; i++) {
    struct line *line = program->lines[i];
    line->excused = true;
    if (line->kind == LINE_NORMAL && !line->dead) tide_timeline_destroy(line->handle);
  }
  home_end(program);
  wakes_end(program);
  for (uint32_t i = 0; i < program->host_count; i++)
    (void)tide_tracker_close(world->context->tracker, program->hosts[i].position.axis);
}

void program_close(struct program *program) {
  struct world *world = program->world;
  enum tide_status status = tide_pool_destroy(program->pool);
  ENSURE(world, status == TIDE_OK, "the pool cannot be destroyed: %s", tide_status_name(status));
}
