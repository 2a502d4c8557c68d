/* The test as backend and as host: one random thing after the other. */
#include "oracle.h"

#include <stdlib.h>

/* ---- the backend ------------------------------------------------------------------------- */

/* An external signal is ordered by means that the library cannot see: here, the test holds its
 * operation back until all lower values have been signalled or have failed. */
static bool may_give(const struct op *op) {
  for (uint32_t i = 0; i < op->signal_count; i++) {
    const struct emission *signal = &op->signals[i];
    if (!signal->external) continue;
    for (uint32_t p = 0; p < signal->line->pending_count; p++)
      if (signal->line->pending[p].value < signal->value) return false;
  }
  return true;
}

/* In the hand that has it, is it the first that is not over? */
static bool is_first(const struct op *op) {
  return !op->device_before || op->device_before->state >= OP_ENDED;
}

static struct tide_work *give(struct device *device, uint32_t index) {
  struct program *program = device->program;
  struct op *op = device->out[index];
  device->out[index] = device->out[--device->out_count];
  if (device->sequential) body_begin(op);
  enum tide_status status = TIDE_OK;
  if (chance(program, program->config.fail)) status = chance(program, 500) ? TIDE_FAILED : TIDE_IO;
  if (status == TIDE_OK) body_end(op);
  LOG(program->world, "%s hands back %s %s", device->label, op->label, tide_status_name(status));
  op->work->status = status;
  op->status = status;
  op->state = OP_ENDED;
  return op->work;
}

static struct op *take(struct device *device, struct tide_work *work, struct op *before) {
  struct world *world = device->program->world;
  int axis = axis_find(world, tide_work_axis(work));
  ENSURE(world, axis >= 0 && world->axes[axis].queue && work->epoch <= world->axes[axis].given,
         "work of nobody");
  struct op *op = world->axes[axis].ops[work->epoch];
  ENSURE(world, op->state == OP_STARTED, "%s is handed out in state %u", op->label, op->state);
  ENSURE(world, op->queue->device == device, "%s is handed to another device", op->label);
  ENSURE(world, *(const uint32_t *)tide_work_arguments(work) == op->id && work->status == TIDE_OK,
         "%s has got other arguments", op->label);
  op->work = work;
  op->device_before = device->sequential ? before : NULL;
  if (!device->sequential) body_begin(op);
  device->out[device->out_count++] = op;
  return op;
}

void device_exchange(struct device *device, uint32_t gives, uint32_t takes) {
  struct program *program = device->program;
  struct tide_work *done[8], *work[8];
  size_t count = 0;
  bool more = false;
  while (count < gives && device->out_count) {
    uint32_t start = (uint32_t)pick(program, device->out_count), i = 0;
    for (; i < device->out_count; i++) {
      const struct op *op = device->out[(start + i) % device->out_count];
      if (may_give(op) && is_first(op)) break;
    }
    if (i == device->out_count) break;
    done[count++] = give(device, (start + i) % device->out_count);
  }
  if (!count && !takes) return;
  if (takes) device->awake = false;
  size_t taken = tide_device_exchange(device->handle, done, count, work, takes, &more);
  ENSURE(program->world, taken <= takes, "%zu works, where %u were asked for", taken, takes);
  if (takes && (device->sequential ? taken > 0 : taken == takes)) device->awake = true;
  struct op *before = NULL;
  for (size_t i = 0; i < taken; i++) before = take(device, work[i], before);
}

static void random_exchange(struct program *program) {
  const struct config *config = &program->config;
  struct device *device = &program->devices[pick(program, program->device_count)];
  if (device->lost || device->stopped_until > program->step) return;
  uint32_t gives = chance(program, config->give) ? 1 + (uint32_t)pick(program, 3) : 0;
  uint32_t takes = chance(program, config->take) ? 1 + (uint32_t)pick(program, 4) : 0;
  if (config->kicked && !device->awake && !(gives && device->out_count)) takes = 0;
  device_exchange(device, gives, takes);
}

/* Where nothing is out and nobody was woken, nothing may be left to start. */
static void check_dry(struct device *device) {
  struct world *world = device->program->world;
  struct tide_work *work;
  if (world->paused) return;
  size_t taken = tide_device_exchange(device->handle, NULL, 0, &work, 1, NULL);
  ENSURE(world, taken == 0, "%s could start %s, but was not woken", device->label,
         tide_work_label(work));
}

/* Its workers stop in the middle of things, with what they have in their hands. */
static void stop_workers(struct program *program) {
  struct device *device = &program->devices[pick(program, program->device_count)];
  device->stopped_until = program->step + 5 + (uint32_t)pick(program, 60);
  LOG(program->world, "%s stands still", device->label);
}

void program_run_out(struct program *program) {
  bool moved = true;
  while (moved) {
    moved = false;
    for (uint32_t i = 0; i < program->device_count; i++) {
      struct device *device = &program->devices[i];
      if (device->lost) continue;
      uint32_t had = device->out_count;
      bool awake = device->awake;
      uint64_t events = program->world->events;
      device_exchange(device, 1 + (uint32_t)pick(program, 3), awake || had ? 4 : 0);
      moved |= program->world->events != events;
    }
    if (program->world->paused) return;
  }
  for (uint32_t i = 0; i < program->device_count; i++)
    if (!program->devices[i].lost) check_dry(&program->devices[i]);
}

/* ---- the host ---------------------------------------------------------------------------------
 */

static struct line *normal_line(struct program *program) {
  for (int tries = 0; tries < 4; tries++) {
    struct line *line = program->lines[pick(program, program->line_count)];
    if (line->kind == LINE_NORMAL && !line->dead) return line;
  }
  return NULL;
}

uint64_t line_host_limit(struct line *line) {
  uint64_t limit = UINT64_MAX;
  struct record record;
  const struct record *reserved = line_reserved_from(line, 0);
  if (line_pending(line, 0, false, &record)) limit = record.value;
  if (reserved && reserved->value < limit) limit = reserved->value;
  return limit;
}

/* Signals from the host; true when it was done. */
bool host_signal(struct program *program, struct line *line, uint64_t value, struct host *host) {
  struct world *world = program->world;
  uint64_t limit = line_host_limit(line), before = line_value(line);
  enum tide_status expected = TIDE_OK;
  if (line->scope < TIDE_SCOPE_PROCESS || line->operations_only) expected = TIDE_SCOPE;
  else if (line_failed(line, value)) expected = line->status;
  else if (value <= before || value >= limit) expected = TIDE_VALUE;
  LOG(world, "host signals %s = %lu %s", line->label, (unsigned long)value,
      host ? "tracked" : "external");
  enum tide_status status =
      tide_timeline_signal(line->handle, value, host ? &host->position : NULL);
  if (world->contracts)
    ENSURE(world, status == expected, "host signal of %s = %lu says %s, not %s", line->label,
           (unsigned long)value, tide_status_name(status), tide_status_name(expected));
  uint64_t now = line_value(line); /* what was waiting may have raised it further */
  ENSURE(world, status == TIDE_OK ? now >= value : now == before, "%s is at another value",
         line->label);
  return status == TIDE_OK;
}

static void random_host_signal(struct program *program) {
  const struct config *config = &program->config;
  struct line *line = normal_line(program);
  struct host *host = NULL;
  if (!line || line->reached_count + 40 > MAX_RECORDS) return;
  if (program->host_count && !chance(program, config->external_host))
    host = &program->hosts[pick(program, program->host_count)];
  if (host && host->position.epoch + 40 > MAX_EPOCHS) return;
  bool bad = chance(program, config->bad);
  if (!bad && (line->operations_only || line->scope < TIDE_SCOPE_PROCESS)) return;
  if (!bad && line->owner >= 0 && !chance(program, 300)) return;
  uint64_t value = line_value(line) + 1 + (chance(program, 300) ? pick(program, 3) : 0);
  if (!bad && value >= line_host_limit(line)) return;
  host_signal(program, line, value, host);
}

static void host_import(struct program *program) {
  struct line *line = program->lines[pick(program, program->line_count)];
  if (!program->host_count || line->dead || line->kind == LINE_FOREIGN ||
      (line->queue && line->queue->destroyed))
    return;
  struct host *host = &program->hosts[pick(program, program->host_count)];
  struct record record;
  bool exact;
  uint64_t reached = line_value(line), value;
  if (!reached) return;
  value = 1 + pick(program, reached);
  enum tide_status status = tide_timeline_import(line->handle, value, &host->position);
  ENSURE(program->world, status == (value <= line->initial ? TIDE_NOT_FOUND : TIDE_OK),
         "import of %s >= %lu says %s", line->label, (unsigned long)value,
         tide_status_name(status));
  if (line_reached(line, value, &record, &exact))
    vec_max(&host->knows, finish_of(program->world, record.axis, record.epoch));
}

/* Whoever reads a value and then asks for its record never gets an older one. */
static void query(struct program *program) {
  struct world *world = program->world;
  struct line *line = program->lines[pick(program, program->line_count)];
  TIDE_FRONTIER_STORAGE(frontier, 64);
  struct tide_record_info info;
  struct record record;
  bool exact;
  if (line->dead || line->kind == LINE_FOREIGN || (line->queue && line->queue->destroyed)) return;
  uint64_t reached = line_value(line), value = pick(program, reached + 3);
  tide_frontier_init(&frontier.frontier, 64);
  enum tide_status status =
      tide_timeline_frontier_at(line->handle, value, &frontier.frontier, &info);
  enum tide_status expected = value > reached          ? TIDE_TIMEOUT
                              : value <= line->initial ? TIDE_NOT_FOUND
                                                       : TIDE_OK;
  ENSURE(world, status == expected, "frontier_at %s %lu says %s, not %s", line->label,
         (unsigned long)value, tide_status_name(status), tide_status_name(expected));
  if (status != TIDE_OK) return;
  bool known = line_reached(line, value, &record, &exact);
  ENSURE(world, info.external == !known && info.value >= value, "frontier_at %s %lu is wrong",
         line->label, (unsigned long)value);
  if (!known) return;
  int axis = axis_find(world, info.axis);
  ENSURE(world,
         axis == record.axis && info.epoch == record.epoch && info.value == record.value &&
             info.coarse == !exact,
         "frontier_at %s %lu answers with %lu, not %lu", line->label, (unsigned long)value,
         (unsigned long)info.value, (unsigned long)record.value);
  ENSURE(world, tide_frontier_get(&frontier.frontier, info.axis) == info.epoch,
         "the record of %s %lu does not list its signaller", line->label, (unsigned long)value);
  if (line->kind == LINE_NORMAL)
    ENSURE(world, frontier_hash(world, &frontier.frontier) == record.hash,
           "the record of %s %lu has changed", line->label, (unsigned long)value);
}

/* ---- what goes wrong
 * ----------------------------------------------------------------------------- */

static void cancel(struct program *program) {
  struct world *world = program->world;
  if (!program->op_count) return;
  uint32_t back = (uint32_t)pick(program, program->op_count < 12 ? program->op_count : 12);
  struct op *op = program->ops[program->op_count - 1 - back];
  if (op->state == OP_REFUSED || op->state == OP_NEW || op->queue->destroyed ||
      op->queue->device->lost)
    return;
  enum op_state before = op->state;
  bool was = op->cancelled;
  if (before == OP_HELD || before == OP_ENTERED) op->cancelled = true;
  LOG(world, "cancel %s", op->label);
  enum tide_status status = tide_queue_cancel(op->queue->handle, op->sequence);
  expel_cyclic(program);
  enum tide_status expected = TIDE_NOT_FOUND;
  if (before == OP_HELD || before == OP_ENTERED) expected = TIDE_OK;
  if (before == OP_STARTED) expected = TIDE_BUSY;
  ENSURE(world, status == expected, "cancel of %s (state %u) says %s, not %s", op->label, before,
         tide_status_name(status), tide_status_name(expected));
  if (status != TIDE_OK) op->cancelled = was;
}

static void host_fail(struct program *program) {
  struct line *line = normal_line(program);
  if (!line) return;
  line->excused = true;
  LOG(program->world, "host fails %s", line->label);
  tide_timeline_fail(line->handle, chance(program, 500) ? TIDE_FAILED : TIDE_IO);
}

static void destroy_line(struct program *program) {
  struct line *line = normal_line(program);
  if (!line) return;
  line->excused = true;
  LOG(program->world, "destroy %s", line->label);
  tide_timeline_destroy(line->handle);
  line->dead = true;
}

void queue_destroy(struct queue *queue) {
  struct program *program = queue->program;
  LOG(program->world, "destroy %s", queue->label);
  for (uint64_t s = 1; s <= queue->accepted; s++) {
    struct op *op = queue->by_sequence[s];
    if (op->state == OP_HELD || op->state == OP_ENTERED) op->cancelled = true;
  }
  queue->destroyed = true;
  queue->progress->excused = true;
  members_go(program, queue, NULL);
  tide_queue_destroy(queue->handle);
  expel_cyclic(program);
  members_gone(program);
}

static void destroy(struct program *program) {
  struct queue *queue = queue_any(program);
  if (!queue || (queue->member && !chance(program, 300))) return;
  queue_destroy(queue);
  if (chance(program, 600)) (void)queue_make(program);
}

static void lose(struct program *program) {
  struct device *device = &program->devices[pick(program, program->device_count)];
  if (device->lost) {
    if (!device->certified) device_certify(device);
    return;
  }
  LOG(program->world, "lose %s", device->label);
  device->lost = true;
  for (uint32_t i = 0; i < program->op_count; i++)
    if (program->ops[i]->queue->device == device) program->ops[i]->lost = true;
  members_go(program, NULL, device);
  tide_device_lose(device->handle, TIDE_LOST);
  expel_cyclic(program);
  members_gone(program);
}

void device_certify(struct device *device) {
  struct program *program = device->program;
  struct world *world = program->world;
  LOG(world, "certify %s", device->label);
  device->certified = true;
  for (uint32_t i = 0; i < device->out_count; i++) {
    device->out[i]->status = TIDE_LOST;
    device->out[i]->state = OP_ENDED;
  }
  device->out_count = 0;
  tide_device_certify(device->handle);
}

static void pause(struct program *program) {
  struct world *world = program->world;
  world->paused = !world->paused;
  LOG(world, "%s", world->paused ? "pause" : "resume");
  if (world->paused) tide_context_pause(world->context);
  else tide_context_resume(world->context);
}

/* ---- one step
 * ---------------------------------------------------------------------------------------- */

static void random_submit(struct program *program) {
  struct queue *queue = queue_any(program);
  if (!queue) return;
  /* Of a race-free program each operation is composed when the one before it is in. */
  if (!program->config.racefree && chance(program, program->config.batch)) {
    submit_batch(program, queue, 1 + (uint32_t)pick(program, 4));
    return;
  }
  struct op *op = compose(program, queue);
  if (op) (void)submit(op);
}

/* Each step has random numbers of its own, so that one can be left out without changing the others.
 */
static void begin_step(struct program *program) {
  program->step++;
  program->random.state = program->seed + program->step * 0xd1342543de82ef95u;
}

void program_step(struct program *program) {
  const struct config *c = &program->config;
  begin_step(program);
  if (c->skip && program->step < MAX_STEPS && c->skip[program->step]) return;
  bool scarce = c->scarce && chance(program, c->scarce);
  if (scarce && chance(program, 500)) scarce_random(program);
  if (scarce) LOG(program->world, "no memory");
  if (scarce) memory_allow(0);
  if (c->stop && chance(program, c->stop)) stop_workers(program);
  if (c->wakes && chance(program, c->wakes)) wake_random(program);
  if (c->host_fail && chance(program, c->host_fail)) host_fail(program);
  if (c->destroy_line && chance(program, c->destroy_line)) destroy_line(program);
  if (c->destroy && chance(program, c->destroy)) destroy(program);
  if (c->lose && chance(program, c->lose)) lose(program);
  if (c->pause && chance(program, program->world->paused ? 200 : c->pause)) pause(program);
  if (c->cancel && chance(program, c->cancel)) cancel(program);
  if (c->query && chance(program, c->query)) query(program);
  if (c->host_signal && chance(program, c->host_signal)) random_host_signal(program);
  if (c->host_signal && chance(program, 50)) host_import(program);
  if (c->buffers && chance(program, c->buffers)) buffer_random(program);
  if (c->crossed && program->collective_count && chance(program, c->crossed))
    submit_part(program, program->collectives[pick(program, program->collective_count)]);
  if (program->collective_count && chance(program, 80)) /* a lost one refuses */
    submit_instance(program, program->collectives[pick(program, program->collective_count)]);
  if (chance(program, 450)) random_submit(program);
  else random_exchange(program);
  memory_allow(UINT32_MAX);
  if (c->homes && chance(program, c->homes)) home_step(program);
  check_settled(program);
  check_wakes(program);
}
