/* Submits the steps of a plan: translates them to operations of the scheduler. */
#include "base/atomic.h"
#include "base/alloc.h"
#include "base/text.h"
#include "program/baseline.h"

/* ---- names -------------------------------------------------------------------- */

static size_t append_number(char *to, size_t at, uint32_t number) {
  char digits[10];
  size_t count = 0;
  do digits[count++] = (char)('0' + number % 10);
  while (number /= 10);
  while (count) to[at++] = digits[--count];
  return at;
}

/* Writes the name of an operation in messages, with its position: "blur@31:3". */
static void write_name(struct tide_run_name *out_name, const struct tide_step *step) {
  enum { ROOM = sizeof out_name->text - 1 };
  char place[24];
  const char *name = step->label ? step->label : step->body->class_.name;
  size_t at = 0, length = append_number(place, 0, step->line);
  place[length++] = ':';
  length = append_number(place, length, step->column);
  size_t most = length + 1 < ROOM - 4 ? ROOM - 1 - length : ROOM;
  for (; name[at] && at < most; at++) out_name->text[at] = name[at];
  while (name[at] && at && ((unsigned char)name[at] & 0xc0) == 0x80)
    at--; /* do not cut inside a character */
  if (most < ROOM) {
    out_name->text[at++] = '@';
    memcpy(out_name->text + at, place, length);
    at += length;
  }
  out_name->text[at] = 0;
  out_name->body = step->label ? NULL : step->body;
  out_name->line = step->line;
  out_name->column = step->column;
}

static const char *name_step(struct tide_run *run, const struct tide_step *step) {
  struct tide_run_name *name = &run->names[(step->line ^ step->column << 3) % TIDE_RUN_NAMES];
  if (step->label || name->body != step->body || name->line != step->line ||
      name->column != step->column)
    write_name(name, step);
  return name->text;
}

static enum tide_status at_step(struct tide_diag *diag, const struct tide_step *step,
                                enum tide_status status, const struct tide_diag *own) {
  return tide_diag_at(diag, status, step->line, step->column, "%s",
                      own->status ? own->text : tide_status_text(status));
}

/* ---- operations ------------------------------------------------------------------ */

static void *data_of(const struct tide_run *run, uint32_t buffer) {
  return run->buffers[buffer].data;
}

void tide_run_arguments(const struct tide_run *run, const struct tide_step *step,
                        void *(*data)(const struct tide_run *run, uint32_t buffer),
                        struct tide_argument *out_arguments) {
  for (size_t i = 0; i < step->body->param_count; i++) {
    const struct tide_step_argument *from = &step->arguments[i];
    struct tide_argument *to = &out_arguments[i];
    bool named = from->index != TIDE_PLAN_NONE;
    *to = (struct tide_argument){.size = 0};
    switch (from->kind) {
      case TIDE_PARAM_IN:
      case TIDE_PARAM_OUT:
      case TIDE_PARAM_INOUT:
        if (named) to->data = (char *)data(run, from->index) + from->offset;
        to->size = named ? from->size : 0;
        break;
      case TIDE_PARAM_FILE:
        to->descriptor = named ? run->files[from->index].descriptor : -1;
        to->name = named ? run->files[from->index].name : NULL;
        break;
      case TIDE_PARAM_INTEGER: to->integer = from->integer; break;
      case TIDE_PARAM_TEXT:
        to->text = from->text;
        to->size = from->size;
        break;
    }
  }
}

static enum tide_access access_of(enum tide_param_kind kind) {
  if (kind == TIDE_PARAM_IN) return TIDE_READ;
  return kind == TIDE_PARAM_OUT ? TIDE_WRITE : TIDE_READ_WRITE;
}

/* Adds a use of a buffer. Arguments in the same buffer share one use. Check mode needs one use for
 * each slice, and also the uses of static buffers, which otherwise need not be named. */
static void add_use(const struct tide_run *run, uint32_t buffer, struct tide_use use,
                    struct tide_use *uses, size_t *count) {
  size_t at = 0;
  if (!run->params.check && !run->tables->buffers[buffer].scratch) return;
  use.buffer = run->buffers[buffer].buffer;
  while (at < *count &&
         (uses[at].buffer != use.buffer ||
          (run->params.check && (uses[at].offset != use.offset || uses[at].size != use.size))))
    at++;
  if (at < *count) uses[at].access = (enum tide_access)(uses[at].access | use.access);
  else uses[(*count)++] = use;
}

static bool is_taken(const struct tide_step *step, size_t argument) {
  for (size_t i = 0; i < step->take_count; i++)
    if (step->takes[i].argument == argument) return true;
  return false;
}

/* Lists the uses of a step. A take is a use of the second step: the data is read after its writers,
 * and before the second step is over. */
static size_t fill_uses(struct tide_run *run, const struct tide_step *step, struct tide_use *uses) {
  size_t count = 0;
  for (size_t i = 0; i < step->body->param_count; i++) {
    const struct tide_step_argument *a = &step->arguments[i];
    if (a->kind > TIDE_PARAM_INOUT || a->index == TIDE_PLAN_NONE || is_taken(step, i)) continue;
    struct tide_use use = {NULL, access_of(a->kind), a->offset, a->size};
    add_use(run, a->index, use, uses, &count);
  }
  for (size_t i = 0; step->took && i < step->take_count; i++) {
    const struct tide_step_take *take = &step->takes[i];
    struct tide_use use = {NULL, TIDE_READ, take->offset, take->size};
    add_use(run, take->buffer, use, uses, &count);
  }
  return count;
}

static void fill_values(struct tide_run *run, const struct tide_step *step) {
  for (size_t i = 0; i < step->wait_count; i++)
    run->waits[i] =
        (struct tide_wait){run->timelines[step->waits[i].timeline], step->waits[i].value};
  for (size_t i = 0; i < step->signal_count; i++)
    run->signals[i] = (struct tide_signal){run->timelines[step->signals[i].timeline],
                                           step->signals[i].value, false};
}

static uint64_t kind_of(const struct tide_step *step) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (const char *c = step->body->class_.name; *c; c++)
    hash = (hash ^ (unsigned char)*c) * 0x100000001b3u;
  return hash;
}

static enum tide_status try_submit(struct tide_run *run, const struct tide_step *step,
                                   const struct tide_operation *operation, struct tide_diag *diag) {
  if (step->kind == TIDE_STEP_PART)
    return tide_collective_submit(run->collectives[step->collective], step->member, kind_of(step),
                                  operation, NULL, diag);
  return tide_queue_submit(run->queues[step->queue].queue, operation, NULL, diag);
}

static enum tide_status refuse_full(const struct tide_run *run, const struct tide_step *step,
                                    struct tide_diag *own) {
  const struct tide_plan_queue *queue = &run->tables->queues[step->queue];
  return tide_diag_set(
      own, TIDE_DEADLOCK,
      "queue '%s' is full, and all that is in it waits for what comes later in the "
      "program: give it a larger capacity",
      queue->label);
}

static enum tide_status submit_operation(struct tide_run *run, const struct tide_step *step,
                                         const struct tide_operation *operation,
                                         struct tide_diag *own) {
  enum tide_status status = try_submit(run, step, operation, own);
  while (status == TIDE_FULL) {
    if (run->params.paused)
      return tide_diag_set(
          own, TIDE_FULL,
          "not everything can be submitted before it starts: queue '%s' takes at most 64 million "
          "operations",
          run->tables->queues[step->queue].label);
    /* The collective may be full as well as the queue. */
    tide_run_note_progress(run, step->queue,
                           step->kind == TIDE_STEP_PART ? step->collective : TIDE_PLAN_NONE);
    status = try_submit(run, step, operation, own); /* space may have come before the note */
    if (status != TIDE_FULL) break;
    status = tide_run_wait_progress(run);
    if (status == TIDE_DEADLOCK) return refuse_full(run, step, own);
    if (status != TIDE_OK) return status;
    own->status = TIDE_OK;
    status = try_submit(run, step, operation, own);
  }
  return status;
}

/* True for an operation without a body: it needs no worker, and ends once its waits are over. */
static bool ends_at_once(const struct tide_run *run, const struct tide_step *step) {
  const struct tide_plan_queue *queue = &run->tables->queues[step->queue];
  return step->body->class_.empty && !run->params.stand_in &&
         strcmp(run->tables->devices[queue->device].kind, "cpu") == 0;
}

/* Refuses a body in the words of tide_queue_submit. */
static enum tide_status check_body(const struct tide_run *run, const struct tide_step *step,
                                   struct tide_diag *own) {
  uint32_t device = run->tables->queues[step->queue].device;
  const struct tide_device_kind *kind = run->devices[device].kind;
  if (!kind->takes || kind->takes(kind->self, &step->body->class_)) return TIDE_OK;
  return tide_diag_set(own, TIDE_UNSUPPORTED, "device '%s' cannot do '%s'",
                       run->tables->devices[device].label, step->body->class_.name);
}

static enum tide_status do_operation(struct tide_run *run, const struct tide_step *step,
                                     struct tide_diag *diag) {
  struct tide_run_queue *queue = &run->queues[step->queue];
  _Alignas(16) struct tide_argument arguments[TIDE_PARAMS_MAX];
  struct tide_use uses[TIDE_PARAMS_MAX];
  struct tide_diag own = {.status = TIDE_OK};
  struct tide_take *take = NULL;
  struct tide_operation operation = {
      .label = name_step(run, step),
      .flags = step->flags,
      .waits = run->waits,
      .wait_count = step->wait_count,
      .signals = run->signals,
      .signal_count = step->signal_count,
      .buffers = uses,
      .body = ends_at_once(run, step) ? NULL : &step->body->class_,
      .arguments = arguments,
      .arguments_size = step->body->param_count * sizeof arguments[0],
  };
  enum tide_status status = check_body(run, step, &own);
  if (status != TIDE_OK) return at_step(diag, step, status, &own);
  if (run->baseline) {
    status = tide_baseline_order(run, step, &operation.wait_count, &operation.signal_count, &own);
  } else {
    fill_values(run, step);
    if (run->names_buffers) operation.buffer_count = fill_uses(run, step, uses);
  }
  tide_run_arguments(run, step, data_of, arguments);
  queue->places[(queue->submitted + 1) & queue->place_mask] =
      (struct tide_place){step->number, step->line, step->column};
  if (run->params.stand_in)
    run->params.stand_in->operation(run->params.stand_in->self, step, &operation);
  if (status == TIDE_OK && queue->taker) status = tide_run_take(run, step, &operation, &take);
  if (status == TIDE_OK) status = submit_operation(run, step, &operation, &own);
  if (status != TIDE_OK) tide_run_drop_take(take);
  if (status != TIDE_OK) return at_step(diag, step, status, &own);
  queue->submitted++;
  run->submitted++;
  return TIDE_OK;
}

/* ---- the host -------------------------------------------------------------------------- */

static enum tide_status do_host_signal(struct tide_run *run, const struct tide_step *step,
                                       struct tide_diag *diag) {
  bool external = step->kind == TIDE_STEP_HOST_EXTERNAL || run->baseline;
  for (size_t i = 0; i < step->signal_count; i++) {
    const struct tide_step_value *signal = &step->signals[i];
    struct tide_timeline *timeline = run->timelines[signal->timeline];
    enum tide_status status =
        tide_timeline_signal(timeline, signal->value, external ? NULL : &run->host);
    if (status == TIDE_OK) continue;
    if (tide_load_acquire(&run->failure.any)) return status; /* the timeline has failed */
    return tide_diag_at(diag, status, step->line, step->column,
                        "the host cannot signal timeline '%s' = %lu: %s",
                        run->tables->timelines[signal->timeline].label,
                        (unsigned long)signal->value, tide_status_text(status));
  }
  return TIDE_OK;
}

enum tide_status tide_run_step(struct tide_run *run, const struct tide_step *step,
                               struct tide_diag *diag) {
  switch (step->kind) {
    case TIDE_STEP_OPERATION:
    case TIDE_STEP_PART: return do_operation(run, step, diag);
    case TIDE_STEP_ALLOC: return tide_run_alloc(run, step, diag);
    case TIDE_STEP_FREE: tide_run_free(run, step); return TIDE_OK;
    case TIDE_STEP_HOST_SIGNAL:
    case TIDE_STEP_HOST_EXTERNAL: return do_host_signal(run, step, diag);
    case TIDE_STEP_HOST_WAIT: return tide_run_host_wait(run, step, diag);
    case TIDE_STEP_END: break;
  }
  return TIDE_OK;
}
