/* The sink: what the library says it does, against the truth. */
#include "oracle.h"

#include <string.h>

static struct op *op_of(struct world *world, const struct tide_event *event) {
  int index = axis_find(world, event->axis);
  ENSURE(world, index >= 0 && world->axes[index].queue, "an event of an unknown queue");
  struct queue *queue = world->axes[index].queue;
  ENSURE(world, event->sequence > 0 && event->sequence < MAX_EPOCHS, "sequence %lu",
         (unsigned long)event->sequence);
  struct op *op = queue->by_sequence[event->sequence];
  ENSURE(world, op != NULL, "an event of operation %lu of %s, which was not submitted",
         (unsigned long)event->sequence, queue->label);
  ENSURE(world, event->label && strcmp(event->label, op->label) == 0, "operation %s is called %s",
         op->label, event->label ? event->label : "(null)");
  return op;
}

/* ---- starting ------------------------------------------------------------------------ */

/* The guarantee: all that was believed has finished. */
static void check_past(struct op *op, const char *what) {
  struct world *world = op->program->world;
  const struct device *device = op->queue->device;
  ENSURE(world, op->state == OP_ENTERED, "%s %s in state %u", op->label, what, op->state);
  for (uint32_t i = 0; i < world->axis_count; i++)
    ENSURE(world,
           op->known.at[i] == 0 || finished(world, (int)i, op->known.at[i]) ||
               (device->sequential && device->in_order && (int)i == op->queue->axis),
           "%s %s, but believes in %s@%u, which has not finished", op->label, what,
           axis_text(world, (int)i), op->known.at[i]);
  const struct axis *axis = &world->axes[op->queue->axis];
  for (uint64_t e = axis->published + 1; e < op->epoch; e++) {
    const struct op *before = axis->ops[e];
    if (device->in_order && device->sequential && before->state == OP_STARTED)
      ENSURE(world, op->brief && before->brief && !op->use_count, "%s %s with %s", op->label, what,
             before->label);
    else if (device->in_order)
      ENSURE(world, before->state >= OP_ENDED, "%s %s before %s has ended", op->label, what,
             before->label);
    else
      ENSURE(world, before->state >= OP_STARTED, "%s %s before %s, which still waits", op->label,
             what, before->label);
  }
  world->checks++;
}

static void check_start(struct op *op) {
  struct world *world = op->program->world;
  check_past(op, "starts");
  for (uint32_t i = 0; i < op->wait_count; i++) {
    const struct wait *wait = &op->waits[i];
    uint64_t value = line_value(wait->line);
    ENSURE(world, value >= wait->value, "%s starts, but %s is at %lu, not %lu%s", op->label,
           wait->line->label, (unsigned long)value, (unsigned long)wait->value,
           line_failed(wait->line, wait->value) ? ": it failed" : "");
  }
  ENSURE(world, !op->cancelled, "%s starts after it was cancelled", op->label);
  ENSURE(world, !op->refused, "%s starts, though its signals were refused", op->label);
  ENSURE(world, !op->queue->device->lost, "%s starts on a lost device", op->label);
  if (op->instance) {
    const struct instance *instance = op->instance;
    ENSURE(world, instance->submitted == instance->collective->count && !instance->lacking,
           "%s starts without the other parts", op->label);
    for (uint32_t i = 0; i < instance->submitted; i++) {
      const struct op *part = instance->parts[i];
      ENSURE(world, part->state >= OP_ENTERED && part->state != OP_LEFT,
             "%s starts, but part %s is not there", op->label, part->label);
    }
  }
  buffers_check_start(op);
  op->ran = true;
}

static void watch_start(struct op *op, const struct tide_event *event) {
  struct world *world = op->program->world;
  LOG(world, "start %s", op->label);
  ENSURE(world, op->has_body, "%s starts without a body", op->label);
  ENSURE(world, !world->paused, "%s starts while paused", op->label);
  ENSURE(world, event->status == TIDE_OK && event->epoch == op->epoch, "%s starts as epoch %lu",
         op->label, (unsigned long)event->epoch);
  check_start(op);
  op->state = OP_STARTED;
}

/* ---- ending --------------------------------------------------------------------------- */

/* The value whose failure is a wait's: its own, or the record's for which it was elided. */
static uint64_t fails_at(const struct wait *wait) {
  if (wait->seen && wait->class_ == TIDE_WAIT_ELIDED) return wait->record_value;
  return wait->value;
}

static bool wait_failed(const struct wait *wait) {
  if (wait->gone) return true;
  if (!line_failed(wait->line, fails_at(wait))) return false;
  return line_value(wait->line) < wait->value;
}

bool op_failing(struct op *op) {
  if (op->status || op->cancelled || op->expelled || op->refused || op->lost) return true;
  for (uint32_t i = 0; i < op->wait_count; i++)
    if (wait_failed(&op->waits[i])) return true;
  return false;
}

bool instance_fails(const struct op *op) {
  if (!op->instance) return false;
  if (op->instance->lacking) return true;
  for (uint32_t i = 0; i < op->instance->collective->count; i++) {
    struct op *part = op->instance->parts[i];
    if (part && part != op && op_failing(part)) return true;
  }
  return false;
}

/* Why may it be skipped with this status? */
static bool has_cause(struct op *op, enum tide_status status) {
  if (op->cancelled && status == TIDE_CANCELLED) return true;
  if (op->refused && (status == TIDE_VALUE || status == TIDE_UNORDERED || status == TIDE_DEADLOCK))
    return true;
  if (op->expelled && status == TIDE_DEADLOCK) return true;
  if (op->queue->device->lost && status == TIDE_LOST) return true;
  if (instance_fails(op)) return true;
  for (uint32_t i = 0; i < op->wait_count; i++)
    if (wait_failed(&op->waits[i]) && op->waits[i].line->status == status) return true;
  return false;
}

static void watch_finish(struct op *op, const struct tide_event *event) {
  struct world *world = op->program->world;
  LOG(world, "finish %s %s%s", op->label, tide_status_name(event->status),
      op->state == OP_STARTED ? "" : " (not run)");
  if (event->epoch == 0) {
    ENSURE(world, op->state == OP_HELD, "%s leaves in state %u", op->label, op->state);
    ENSURE(world, has_cause(op, event->status), "%s leaves with %s without a cause", op->label,
           tide_status_name(event->status));
    op->state = OP_LEFT;
    op->status = event->status;
    world->counted.failed++;
    op->program->epochs_moved |= !op->queue->destroyed && !op->queue->device->lost;
    return;
  }
  expel_cyclic(op->program);
  if (op->state == OP_ENDED) { /* marked by the test, which handed it back */
    ENSURE(world, event->status == op->status || instance_fails(op) || op->queue->device->lost,
           "%s ends with %s, not %s", op->label, tide_status_name(event->status),
           tide_status_name(op->status));
    op->status = event->status;
    return;
  }
  ENSURE(world, op->state == OP_ENTERED, "%s finishes in state %u", op->label, op->state);
  op->status = event->status;
  if (event->status == TIDE_OK) {
    ENSURE(world, !op->has_body, "%s is over without having run", op->label);
    ENSURE(world, !world->paused, "%s is over while paused", op->label);
    check_start(op);
  } else {
    /* Of an evicted entry only a signaller that is lost may have known. */
    if (!home_is_lost(op->program) || op->program->config.frontier > 6)
      check_past(op, "is skipped");
    ENSURE(world, has_cause(op, event->status), "%s fails with %s without a cause", op->label,
           tide_status_name(event->status));
  }
  op->state = OP_ENDED;
}

/* ---- publishing -------------------------------------------------------------------------- */

static void watch_publish(struct op *op, const struct tide_event *event) {
  struct world *world = op->program->world;
  struct axis *axis = &world->axes[op->queue->axis];
  LOG(world, "publish %s %s", op->label, tide_status_name(event->status));
  ENSURE(world, event->epoch == axis->published + 1u, "%s@%lu is published after %u",
         axis_text(world, op->queue->axis), (unsigned long)event->epoch, axis->published);
  ENSURE(world, finished(world, op->queue->axis, op->epoch),
         "%s is published before it has finished", op->label);
  axis->published = (uint32_t)op->epoch;
  op->status = event->status;
  for (uint32_t i = 0; i < op->signal_count; i++) {
    const struct emission *signal = &op->signals[i];
    struct line *line = signal->line;
    bool gone = line_failed(line, signal->value);
    if (event->status == TIDE_OK)
      ENSURE(world, signal->done || gone, "%s is published, but did not signal %s = %lu", op->label,
             line->label, (unsigned long)signal->value);
    else
      ENSURE(world, signal->done || gone || line->value >= signal->value,
             "%s failed, but %s has not failed at %lu", op->label, line->label,
             (unsigned long)signal->value);
    line_drop_pending(line, op);
  }
  op->state = OP_PUBLISHED;
  world->counted.finished++;
  world->counted.failed += op->status != TIDE_OK;
}

static struct emission *emission_of(struct op *op, const struct line *line) {
  for (uint32_t i = 0; i < op->signal_count; i++)
    if (op->signals[i].line == line) return &op->signals[i];
  return NULL;
}

static void check_record(struct world *world, struct line *line, const struct tide_event *event,
                         int axis) {
  struct vec record;
  frontier_vec(world, event->frontier, &record);
  ENSURE(world, record.at[axis] == event->epoch,
         "the record of %s = %lu does not list its signaller", line->label,
         (unsigned long)event->value);
  for (uint32_t i = 0; i < world->axis_count; i++)
    ENSURE(world, record.at[i] == 0 || finished(world, (int)i, record.at[i]),
           "%s reaches %lu, but its record lists %s@%u, which has not finished", line->label,
           (unsigned long)event->value, axis_text(world, (int)i), record.at[i]);
  const struct vec *truth = finish_of(world, axis, event->epoch);
  for (uint32_t i = 0; i < world->axis_count; i++)
    ENSURE(world, vec_has(truth, (int)i, record.at[i]),
           "%s reaches %lu, but its record lists %s@%u, of which the signaller did not know",
           line->label, (unsigned long)event->value, axis_text(world, (int)i), record.at[i]);
}

static void host_signalled(struct world *world, struct line *line, int axis,
                           const struct tide_event *event) {
  struct program *program = line->program;
  for (uint32_t i = 0; i < program->host_count; i++) {
    struct host *host = &program->hosts[i];
    if (host->axis != axis) continue;
    ENSURE(world, event->epoch == world->axes[axis].given + 1u, "a host's epoch is %lu after %u",
           (unsigned long)event->epoch, world->axes[axis].given);
    host->knows.at[axis] = (uint32_t)event->epoch;
    world->axes[axis].given = (uint32_t)event->epoch;
    world->axes[axis].prefix = (uint32_t)event->epoch;
    world->axes[axis].records[event->epoch] = host->knows;
    return;
  }
  violation(world, "a signal by nobody");
}

static void watch_signal(struct world *world, const struct tide_event *event) {
  struct line *line = line_find(world, event->object);
  ENSURE(world, line && has_records(line), "a signal of an unknown timeline");
  int axis = event->axis ? axis_find(world, event->axis) : -1;
  if (world->verbose && event->frontier) {
    char text[160];
    tide_frontier_print(event->frontier, text, sizeof text);
    LOG(world, "signal %s = %lu %s", line->label, (unsigned long)event->value, text);
  } else {
    LOG(world, "signal %s = %lu", line->label, (unsigned long)event->value);
  }
  ENSURE(world, event->value > line->value, "%s goes from %lu to %lu", line->label,
         (unsigned long)line->value, (unsigned long)event->value);
  ENSURE(world, !line_failed(line, event->value), "%s reaches %lu after it failed", line->label,
         (unsigned long)event->value);
  if (axis >= 0 && world->axes[axis].queue) {
    struct op *op = world->axes[axis].ops[event->epoch];
    struct emission *signal = emission_of(op, line);
    ENSURE(world, signal && signal->value == event->value && op->state == OP_ENDED && !op->status,
           "%s = %lu is signalled by %s, which is not to", line->label, (unsigned long)event->value,
           op->label);
    ENSURE(world, signal->external == !event->frontier, "%s signals as if it were %s", op->label,
           signal->external ? "tracked" : "external");
    ENSURE(world, finished(world, axis, event->epoch), "%s signals before it has finished",
           op->label);
    ENSURE(world, signal->external || op->tainted == !!event->frontier->tainted,
           "%s entered %stainted, but its record is not so", op->label, op->tainted ? "" : "un");
    signal->done = true;
  } else if (line->kind == LINE_FOREIGN) {
    ENSURE(world, home_record(world, line, axis, event->epoch, event->value),
           "%s = %lu has not been signalled there", line->label, (unsigned long)event->value);
  } else if (axis >= 0) {
    host_signalled(world, line, axis, event);
  }
  if (event->frontier) check_record(world, line, event, axis);
  ENSURE(world, line->reached_count < MAX_RECORDS, "oracle: too many records");
  struct record *record = &line->reached[line->reached_count++];
  *record = (struct record){
      .value = event->value, .axis = event->frontier ? axis : -1, .epoch = event->epoch};
  if (event->frontier) {
    record->count = event->frontier->count;
    record->tainted = event->frontier->tainted;
    record->hash = frontier_hash(world, event->frontier);
  }
  line->value = event->value;
}

/* The newest value below a failing signal of `failing` that is reached, pending or reserved: what
 * is above it relied on that signal. */
static uint64_t newest_below(const struct line *line, const struct op *failing, uint64_t value) {
  uint64_t newest = line->value;
  const struct program *program = line->program;
  for (uint32_t i = 0; i < line->pending_count; i++)
    if (line->pending[i].value < value && line->pending[i].value > newest)
      newest = line->pending[i].value;
  for (uint32_t i = 0; i < program->op_count; i++) {
    const struct op *op = program->ops[i];
    if (op == failing || op->state != OP_HELD) continue;
    for (uint32_t s = 0; s < op->signal_count; s++)
      if (op->signals[s].line == line && op->signals[s].value < value &&
          op->signals[s].value > newest)
        newest = op->signals[s].value;
  }
  return newest;
}

/* A failure has a reason, and begins where that reason says. */
static bool may_fail(struct world *world, struct line *line, uint64_t value) {
  if (line->excused) return true;
  for (uint32_t p = 0; p < world->program_count; p++) {
    struct program *program = &world->programs[p];
    for (uint32_t i = 0; i < program->op_count; i++) {
      const struct op *op = program->ops[i];
      for (uint32_t s = 0; s < op->signal_count; s++) {
        const struct emission *signal = &op->signals[s];
        if (signal->line != line) continue;
        bool failing = op->status || op->cancelled || op->refused || op->lost || instance_fails(op);
        if (failing && value == newest_below(line, op, signal->value) + 1) return true;
        if (signal->value <= line->value && !signal->done && value == line->value + 1) return true;
      }
    }
  }
  return line->kind == LINE_COLLECTIVE;
}

/* What waited for it then has failed, whatever comes later. */
static void strand(struct world *world, struct line *line) {
  for (uint32_t p = 0; p < world->program_count; p++) {
    struct program *program = &world->programs[p];
    for (uint32_t i = 0; i < program->op_count; i++) {
      struct op *op = program->ops[i];
      if (op->state != OP_ENTERED) continue;
      for (uint32_t w = 0; w < op->wait_count; w++)
        if (op->waits[w].line == line && wait_failed(&op->waits[w])) op->waits[w].gone = true;
    }
  }
}

static void watch_fail(struct world *world, const struct tide_event *event) {
  struct line *line = line_find(world, event->object);
  ENSURE(world, line != NULL, "an unknown timeline fails");
  LOG(world, "fail %s from %lu: %s", line->label, (unsigned long)event->value,
      tide_status_name(event->status));
  ENSURE(world, event->value < line->fail_from && event->value > line_value(line) && event->status,
         "%s fails from %lu, but is at %lu", line->label, (unsigned long)event->value,
         (unsigned long)line->value);
  ENSURE(world, may_fail(world, line, event->value), "%s fails from %lu without a reason",
         line->label, (unsigned long)event->value);
  ENSURE(world, !line->status || line->status == event->status, "the first failure of %s changes",
         line->label);
  line->fail_from = event->value;
  line->status = event->status;
  strand(world, line);
}

/* An operation waits for memory that it names; only where somebody had it before. */
static void watch_gap(const struct op *op, const struct tide_event *event) {
  struct world *world = op->program->world;
  bool is_named = false;
  for (uint32_t i = 0; i < op->use_count; i++) is_named |= op->uses[i]->handle == event->object;
  ENSURE(world, is_named, "%s waits for memory that it does not name", op->label);
  ENSURE(world, event->frontier->count > 0, "%s waits for memory that nobody had", op->label);
  world->counted.gap_waits++;
}

void watch(void *self, const struct tide_event *event) {
  struct world *world = self;
  if (world->trying) return;
  world->events++;
  switch (event->kind) {
    case TIDE_EVENT_SIGNAL: watch_signal(world, event); return;
    case TIDE_EVENT_FAIL: watch_fail(world, event); return;
    case TIDE_EVENT_ALLOC: watch_alloc(world, event); return;
    case TIDE_EVENT_FREE: return;
    case TIDE_EVENT_HOST_WAIT: return;
    default: break;
  }
  struct op *op = op_of(world, event);
  note_event(op, event);
  switch (event->kind) {
    case TIDE_EVENT_SUBMIT: world->counted.submitted++; break;
    case TIDE_EVENT_HOLD:
      LOG(world, "hold %s", op->label);
      ENSURE(world, op->state == OP_NEW, "%s is held in state %u", op->label, op->state);
      op->state = OP_HELD;
      op->was_held = true;
      op->excused = event->status == TIDE_VALUE && !instance_fails(op);
      op->refused = op->excused || instance_fails(op); /* then it reserves nothing */
      ENSURE(world, !event->status || op->refused, "%s is held, and has failed with %s", op->label,
             tide_status_name(event->status));
      world->counted.held++;
      break;
    case TIDE_EVENT_ENTER:
      watch_enter(op, event);
      if (op->wait_count == 0) watch_entered_alone(op);
      break;
    case TIDE_EVENT_WAIT_CLASS: watch_class(op, event); break;
    case TIDE_EVENT_GAP: watch_gap(op, event); break;
    case TIDE_EVENT_START: watch_start(op, event); break;
    case TIDE_EVENT_FINISH: watch_finish(op, event); break;
    case TIDE_EVENT_PUBLISH: watch_publish(op, event); break;
    default: violation(world, "an event of kind %d", (int)event->kind);
  }
}
