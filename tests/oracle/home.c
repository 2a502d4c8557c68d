/* Another machine, of which the library hears late: its operations promise, reach and fail values
 * of its timelines, wait for values here, and tell states that come twice, out of order, or never.
 *
 * The truth about it is exact and at once: an axis has what has finished there, whether or not that
 * has been told. A line of it is what has been told: its mirror must stand where the line does. */
#include "oracle.h"

#include "causal/tracker.h"
#include "timeline/mirror.h"
#include "timeline/pending_value.h"

#include <stdio.h>
#include <stdlib.h>

#define HOME_MACHINE 7
#define HOME_QUEUES 2
#define HOME_LINES 3
#define HOME_OPS 60 /* a mirror keeps all of their promises */
#define HOME_MESSAGES 8

struct home_op {
  uint32_t queue;
  uint64_t epoch, value;
  uint32_t line;
  struct vec known;     /* what its record lists */
  struct line *awaited; /* here; NULL: nothing, or a value of its own machine */
  uint64_t awaited_value;
  const struct home_op *after;
  bool over, failed;
};

struct message {
  uint32_t line;
  uint64_t reached, fail_from;
  const struct home_op *newest;
  const struct home_op *pending[HOME_OPS];
  uint32_t pending_count;
};

struct home {
  int axes[HOME_QUEUES];
  struct vec ends[HOME_QUEUES];
  struct line *lines[HOME_LINES];
  uint64_t reached[HOME_LINES], fail_from[HOME_LINES], promised[HOME_LINES]; /* there */
  struct home_op ops[HOME_OPS];
  uint32_t op_count, message_count;
  struct message messages[HOME_MESSAGES];
  bool lost;
};

void home_make(struct program *program) {
  struct home *home = program->home = keep(sizeof *home);
  struct world *world = program->world;
  for (uint32_t i = 0; i < HOME_QUEUES; i++) {
    uint64_t ordinal = (uint64_t)program->index * HOME_QUEUES + i + 1;
    home->axes[i] = axis_add(program, tide_axis_make(HOME_MACHINE, TIDE_DOMAIN_QUEUE, ordinal));
    world->axes[home->axes[i]].home = true;
    world->axes[home->axes[i]].records = keep((HOME_OPS + 1) * sizeof(struct vec));
  }
  for (uint32_t i = 0; i < HOME_LINES; i++) {
    struct line *line = home->lines[i] = line_make(program, LINE_FOREIGN);
    snprintf(line->label, sizeof line->label, "F%u", i);
    line->excused = true;
    home->fail_from[i] = UINT64_MAX;
    if (tide_mirror_create(world->context, line->label, &line->handle) != TIDE_OK) abort();
  }
}

/* ---- there ---------------------------------------------------------------------------------- */

/* Something that is promised, here or there; false: it waits for nothing. */
static bool await_something(struct program *program, struct home_op *op, struct vec *finish) {
  struct world *world = program->world;
  struct home *home = program->home;
  if (home->op_count && chance(program, 300)) {
    const struct home_op *after = &home->ops[pick(program, home->op_count)];
    op->after = after;
    op->known = after->known;
    op->known.at[home->axes[after->queue]] = (uint32_t)after->epoch;
    vec_max(finish, finish_of(world, home->axes[after->queue], after->epoch));
    return true;
  }
  struct line *line = program->lines[pick(program, program->line_count)];
  struct record record;
  if (line->kind != LINE_NORMAL || line->dead) return false;
  if (program->collective_count) return false; /* a part may wait for another one, behind this */
  if (!line_pending(line, line_value(line) + 1, true, &record)) return false;
  op->awaited = line;
  op->awaited_value = record.value;
  op->known = record.op->known;
  op->known.at[record.axis] = (uint32_t)record.epoch;
  vec_max(finish, finish_of(world, record.axis, record.epoch));
  return true;
}

static void promise(struct program *program) {
  struct world *world = program->world;
  struct home *home = program->home;
  if (home->op_count == HOME_OPS) return;
  struct home_op *op = &home->ops[home->op_count];
  *op = (struct home_op){.line = (uint32_t)pick(program, HOME_LINES)};
  op->queue = op->line % HOME_QUEUES; /* one queue signals a line: values are ordered */
  struct vec finish = home->ends[op->queue];
  bool waits = chance(program, 700) && await_something(program, op, &finish);
  struct axis *axis = &world->axes[home->axes[op->queue]];
  for (uint32_t i = home->op_count; i-- > 0;) {
    if (home->ops[i].queue != op->queue) continue;
    vec_max(&op->known, &home->ops[i].known);
    break;
  }
  op->epoch = ++axis->given;
  op->known.at[home->axes[op->queue]] = (uint32_t)op->epoch;
  finish.at[home->axes[op->queue]] = (uint32_t)op->epoch;
  op->value = home->promised[op->line] += 1 + (chance(program, 300) ? pick(program, 2) : 0);
  axis->records[op->epoch] = home->ends[op->queue] = finish;
  home->op_count++;
  LOG(world, "there %s@%lu promises F%u = %lu, waits for %s >= %lu",
      axis_text(world, home->axes[op->queue]), (unsigned long)op->epoch, op->line,
      (unsigned long)op->value, waits ? op->awaited ? op->awaited->label : "its own" : "nothing",
      (unsigned long)op->awaited_value);
}

static bool all_finished(struct world *world, const struct home_op *op, int own) {
  for (uint32_t i = 0; i < world->axis_count; i++)
    if ((int)i != own && op->known.at[i] && !finished(world, (int)i, op->known.at[i])) return false;
  return true;
}

static void end(struct program *program, struct home_op *op, bool failed) {
  struct home *home = program->home;
  op->over = true;
  program->world->axes[home->axes[op->queue]].prefix++;
  if (op->value >= home->fail_from[op->line]) failed = true;
  op->failed = failed;
  if (!failed) home->reached[op->line] = op->value;
  else if (home->fail_from[op->line] == UINT64_MAX)
    home->fail_from[op->line] = home->reached[op->line] + 1;
  LOG(program->world, "there F%u = %lu %s", op->line, (unsigned long)op->value,
      failed ? "fails" : "is reached");
}

/* The first operation of a queue goes on, if it may. */
static bool go_on(struct program *program, uint32_t queue) {
  struct world *world = program->world;
  struct home *home = program->home;
  for (uint32_t i = 0; i < home->op_count; i++) {
    struct home_op *op = &home->ops[i];
    if (op->queue != queue || op->over) continue;
    if (op->after && !op->after->over) return false;
    bool failed = op->after && op->after->failed;
    if (op->awaited && !op->awaited->dead && line_value(op->awaited) < op->awaited_value) {
      if (!line_failed(op->awaited, op->awaited_value)) return false;
      failed = true;
    }
    if (!all_finished(world, op, home->axes[queue])) return false;
    end(program, op, failed || chance(program, program->config.fail));
    return true;
  }
  return false;
}

/* ---- what is told ------------------------------------------------------------------------------
 */

static void write_message(struct home *home, uint32_t line, struct message *out) {
  *out = (struct message){
      .line = line, .reached = home->reached[line], .fail_from = home->fail_from[line]};
  for (uint32_t i = 0; i < home->op_count; i++) {
    const struct home_op *op = &home->ops[i];
    if (op->line != line) continue;
    if (op->over && !op->failed) out->newest = op;
    if (!op->over && op->value < home->fail_from[line]) out->pending[out->pending_count++] = op;
  }
}

struct told {
  TIDE_FRONTIER_STORAGE(frontier, 64);
};

static struct tide_mirror_record record_of(struct program *program, const struct home_op *op,
                                           struct told *told) {
  struct world *world = program->world;
  struct tide_frontier *frontier = &told->frontier.frontier;
  tide_frontier_init(frontier, 64);
  for (uint32_t i = 0; i < world->axis_count; i++)
    if (op->known.at[i])
      tide_frontier_insert_or_raise(frontier, world->axes[i].id, op->known.at[i], NULL);
  return (struct tide_mirror_record){op->value, world->axes[program->home->axes[op->queue]].id,
                                     op->epoch, frontier};
}

static void drop_pending(struct line *line, uint64_t from, uint64_t to) {
  for (uint32_t i = 0; i < line->pending_count;) {
    if (line->pending[i].value >= from && line->pending[i].value <= to)
      line->pending[i] = line->pending[--line->pending_count];
    else i++;
  }
}

/* Where the mirror must stand afterwards: a join. The events tell the value and the failure. */
static void join(struct program *program, const struct message *message) {
  struct home *home = program->home;
  struct line *line = home->lines[message->line];
  uint64_t value = line->value > message->reached ? line->value : message->reached;
  for (uint32_t i = 0; i < message->pending_count; i++) {
    const struct home_op *op = message->pending[i];
    bool known = op->value <= value || line_failed(line, op->value);
    for (uint32_t p = 0; p < line->pending_count; p++) known |= line->pending[p].value == op->value;
    if (known) continue;
    line->pending[line->pending_count++] =
        (struct record){.value = op->value, .axis = home->axes[op->queue], .epoch = op->epoch};
  }
  drop_pending(line, 0, value);
  drop_pending(line, message->fail_from, UINT64_MAX);
}

static void deliver(struct program *program, const struct message *message) {
  static struct told told[HOME_OPS + 1];
  struct tide_mirror_record pending[HOME_OPS];
  struct world *world = program->world;
  struct line *line = program->home->lines[message->line];
  struct tide_mirror_state state = {.reached = message->reached,
                                    .fail_from = message->fail_from,
                                    .status = message->fail_from == UINT64_MAX ? TIDE_OK : TIDE_IO,
                                    .pending = pending,
                                    .pending_count = message->pending_count};
  struct tide_fired fired;
  struct tide_diag diag;
  if (message->newest) state.newest = record_of(program, message->newest, &told[HOME_OPS]);
  for (uint32_t i = 0; i < message->pending_count; i++)
    pending[i] = record_of(program, message->pending[i], &told[i]);
  LOG(world, "told: %s is at %lu, fails from %lu, %u pending", line->label,
      (unsigned long)message->reached, (unsigned long)message->fail_from, message->pending_count);
  join(program, message);
  tide_fired_init(&fired);
  enum tide_status status = tide_mirror_take(line->handle, &state, &fired, &diag);
  ENSURE(world, status == TIDE_OK, "a state is refused: %s", diag.text);
  tide_fired_run_calls(&fired, world->context);
}

static void tell_progress(struct program *program, uint32_t queue) {
  struct world *world = program->world;
  const struct axis *axis = &world->axes[program->home->axes[queue]];
  if (!axis->prefix) return;
  LOG(world, "told: %s has finished %u", axis_text(world, program->home->axes[queue]),
      axis->prefix);
  (void)tide_tracker_advance(world->context->tracker, axis->id, axis->prefix);
}

/* The axes are severed, and nothing is told any more. */
static void lose_home(struct program *program) {
  struct world *world = program->world;
  struct home *home = program->home;
  struct tide_failure why = {.status = TIDE_LOST};
  LOG(world, "the other machine is lost");
  struct tide_fired fired;
  home->lost = true;
  tide_fired_init(&fired);
  for (uint32_t i = 0; i < HOME_LINES; i++) {
    home->lines[i]->pending_count = 0;
    tide_mirror_lose(home->lines[i]->handle, &why, &fired);
  }
  for (uint32_t i = 0; i < HOME_QUEUES; i++) world->axes[home->axes[i]].over = true;
  tide_tracker_sever(world->context->tracker, 0, TIDE_LOST);
  tide_fired_run_calls(&fired, world->context);
}

/* ---- steps -------------------------------------------------------------------------------------
 */

void home_step(struct program *program) {
  struct home *home = program->home;
  if (home->lost) return;
  if (chance(program, 350)) promise(program);
  if (chance(program, 350)) (void)go_on(program, (uint32_t)pick(program, HOME_QUEUES));
  if (chance(program, 500) && home->message_count < HOME_MESSAGES)
    write_message(home, (uint32_t)pick(program, HOME_LINES),
                  &home->messages[home->message_count++]);
  if (chance(program, 150)) tell_progress(program, (uint32_t)pick(program, HOME_QUEUES));
  if (home->message_count && chance(program, 500)) {
    uint32_t at = (uint32_t)pick(program, home->message_count);
    struct message message = home->messages[at];
    if (!chance(program, 200)) home->messages[at] = home->messages[--home->message_count];
    deliver(program, &message);
  }
  if (program->config.lose && chance(program, program->config.lose)) lose_home(program);
}

/* All of it comes to its end, as far as what is here lets it, and is told. */
void home_run_out(struct program *program) {
  struct home *home = program->home;
  bool moved = true;
  if (!home || home->lost) return;
  while (moved) {
    moved = false;
    for (uint32_t i = 0; i < HOME_QUEUES; i++) moved |= go_on(program, i);
  }
  for (uint32_t i = 0; i < HOME_LINES; i++) {
    struct message message;
    write_message(home, i, &message);
    deliver(program, &message);
  }
  for (uint32_t i = 0; i < HOME_QUEUES; i++) tell_progress(program, i);
}

bool home_is_lost(const struct program *program) { return program->home && program->home->lost; }

void home_end(struct program *program) {
  struct home *home = program->home;
  if (!home) return;
  for (uint32_t i = 0; i < HOME_LINES; i++) tide_timeline_destroy(home->lines[i]->handle);
  for (uint32_t i = 0; i < HOME_QUEUES; i++)
    (void)tide_tracker_close(program->world->context->tracker,
                             program->world->axes[home->axes[i]].id);
}

/* ---- what the library says ----------------------------------------------------------------------
 */

bool home_record(struct world *world, const struct line *line, int axis, uint64_t epoch,
                 uint64_t value) {
  const struct home *home = line->program->home;
  for (uint32_t i = 0; i < home->op_count; i++) {
    const struct home_op *op = &home->ops[i];
    if (home->lines[op->line] != line || op->value != value) continue;
    return axis < 0 || (home->axes[op->queue] == axis && op->epoch == epoch && op->over &&
                        !op->failed && finished(world, axis, epoch));
  }
  return false;
}
