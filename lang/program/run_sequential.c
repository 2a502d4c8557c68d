/* Runs a plan on one thread: one body after the other, each allocation in memory of its own. The
 * results are the reference for every other mode. */
#include "base/atomic.h"
#include "base/body_frame.h"
#include "base/alloc.h"
#include "base/text.h"
#include "program/run_order.h"
#include "program/run_state.h"

/* A single allocation of a buffer. It lives until it is freed and no operation submitted before the
 * free needs it. */
struct life {
  void *memory;
  uint64_t size;
  uint32_t references;
};

struct timeline {
  uint64_t reached;
  enum tide_status failed; /* status of the values above `reached`, once they have failed */
};

struct tide_sequential {
  struct tide_run_order *order;
  struct life **lives; /* by buffer; NULL while a scratch buffer is not allocated */
  struct timeline *timelines;
  enum tide_status *collectives; /* by collective: the current instance's, once a part failed */
  uint32_t *parts;               /* by collective: parts of the current instance that are done */
  struct tide_body_frame frame;  /* frame of the current body */
};

/* ---- memory -------------------------------------------------------------------- */

static struct life *begin_life(struct tide_run *run, uint64_t size) {
  struct life *life = tide_alloc(run->allocator, 1, sizeof *life);
  if (!life) return NULL;
  life->memory =
      size <= SIZE_MAX - 64 ? run->allocator->alloc(run->allocator->self, (size_t)size, 64) : NULL;
  if (!life->memory) {
    tide_free(run->allocator, life, 1, sizeof *life);
    return NULL;
  }
  memset(life->memory, 0, (size_t)size);
  life->size = size;
  life->references = 1;
  return life;
}

static void release_life(struct tide_run *run, struct life *life) {
  if (!life || --life->references) return;
  run->allocator->free(run->allocator->self, life->memory, (size_t)life->size);
  tide_free(run->allocator, life, 1, sizeof *life);
}

static bool names_buffer(const struct tide_step_argument *argument) {
  return argument->kind <= TIDE_PARAM_INOUT && argument->index != TIDE_PLAN_NONE;
}

/* Keeps the current allocations of a step's buffers while the step has to wait. */
static void *keep_lives(void *self, const struct tide_step *step) {
  struct tide_run *run = self;
  size_t count = step->body->param_count;
  struct life **lives = tide_alloc(run->allocator, count, sizeof *lives);
  for (size_t i = 0; lives && i < count; i++) {
    if (!names_buffer(&step->arguments[i])) continue;
    lives[i] = run->sequential->lives[step->arguments[i].index];
    if (lives[i]) lives[i]->references++;
  }
  return lives;
}

static void forget_lives(void *self, const struct tide_step *step, void *token) {
  struct tide_run *run = self;
  struct life **lives = token;
  if (!lives) return;
  for (size_t i = 0; i < step->body->param_count; i++) release_life(run, lives[i]);
  tide_free(run->allocator, lives, step->body->param_count, sizeof *lives);
}

/* ---- operations ------------------------------------------------------------------- */

static void *data_of(const struct tide_run *run, uint32_t buffer) {
  const struct life *life = run->sequential->lives[buffer];
  return life ? life->memory : NULL;
}

static enum tide_status run_body(struct tide_run *run, const struct tide_step *step,
                                 struct life *const *lives) {
  _Alignas(16) struct tide_argument arguments[TIDE_PARAMS_MAX];
  tide_run_arguments(run, step, data_of, arguments);
  for (size_t i = 0; lives && i < step->body->param_count; i++)
    if (lives[i]) arguments[i].data = (char *)lives[i]->memory + step->arguments[i].offset;
  if (!step->body->class_.host) return TIDE_UNSUPPORTED;
  struct tide_body_frame *before = tide_body_frame_set(&run->sequential->frame);
  enum tide_status status = step->body->class_.host(arguments);
  tide_body_frame_set(before);
  return status;
}

static enum tide_status values_status(const struct tide_sequential *s,
                                      const struct tide_step_value *values, size_t count) {
  for (size_t i = 0; i < count; i++) {
    const struct timeline *timeline = &s->timelines[values[i].timeline];
    if (values[i].value > timeline->reached)
      return timeline->failed ? timeline->failed : TIDE_FAILED;
  }
  return TIDE_OK;
}

/* Returns the status of the waits and takes of a step. Each of them has been reached, or has
 * failed. */
static enum tide_status waits_status(const struct tide_sequential *s,
                                     const struct tide_step *step) {
  enum tide_status status = values_status(s, step->waits, step->wait_count);
  return status == TIDE_OK ? values_status(s, step->tags, step->tag_count) : status;
}

static void signal_all(struct tide_sequential *s, const struct tide_step *step,
                       enum tide_status status) {
  for (size_t i = 0; i < step->signal_count; i++) {
    struct timeline *timeline = &s->timelines[step->signals[i].timeline];
    if (status != TIDE_OK && !timeline->failed) timeline->failed = status;
    if (!timeline->failed) timeline->reached = step->signals[i].value;
  }
}

static void note_failure(struct tide_run *run, const struct tide_step *step,
                         enum tide_status status) {
  run->result.failed++;
  if (run->failure.any) return;
  run->failure.cause = run->sequential->frame.failure;
  run->failure.cause.status = status;
  run->failure.queue = step->queue;
  run->failure.place = (struct tide_place){step->number, step->line, step->column};
  tide_store_release(&run->failure.any, 1u);
}

static void finish_part(struct tide_run *run, const struct tide_step *step,
                        enum tide_status status) {
  struct tide_sequential *s = run->sequential;
  const struct tide_plan_collective *collective = &run->tables->collectives[step->collective];
  enum tide_status *failure = &s->collectives[step->collective];
  if (status != TIDE_OK && !*failure) *failure = status;
  if (++s->parts[step->collective] < collective->queue_count) return;
  s->parts[step->collective] = 0;
  if (collective->timeline != TIDE_PLAN_NONE) {
    struct timeline *timeline = &s->timelines[collective->timeline];
    if (*failure && !timeline->failed) timeline->failed = *failure;
    if (!timeline->failed) timeline->reached = step->instance;
  }
  *failure = TIDE_OK;
}

static enum tide_status enter_step(void *self, const struct tide_step *step, void *token,
                                   struct tide_diag *diag) {
  struct tide_run *run = self;
  struct tide_sequential *s = run->sequential;
  (void)diag;
  s->frame.failure = (struct tide_failure){.status = TIDE_OK};
  enum tide_status status = waits_status(s, step);
  if (status == TIDE_OK && step->kind == TIDE_STEP_PART) status = s->collectives[step->collective];
  if (status == TIDE_OK) status = run_body(run, step, token);
  if (status != TIDE_OK) note_failure(run, step, status);
  signal_all(s, step, status);
  if (step->kind == TIDE_STEP_PART) finish_part(run, step, status);
  forget_lives(run, step, token);
  run->result.operations++;
  return TIDE_OK;
}

/* ---- steps --------------------------------------------------------------------------- */

static enum tide_status do_alloc(struct tide_run *run, const struct tide_step *step,
                                 struct tide_diag *diag) {
  const struct tide_plan_buffer *buffer = &run->tables->buffers[step->buffer];
  struct life *life = begin_life(run, buffer->size);
  if (!life)
    return tide_diag_at(diag, TIDE_NOMEM, step->line, step->column,
                        "no memory for buffer '%s' of %lu bytes", buffer->label,
                        (unsigned long)buffer->size);
  run->sequential->lives[step->buffer] = life;
  return TIDE_OK;
}

static enum tide_status do_step(struct tide_run *run, const struct tide_step *step,
                                struct tide_diag *diag) {
  struct tide_sequential *s = run->sequential;
  if (step->kind == TIDE_STEP_ALLOC) return do_alloc(run, step, diag);
  if (step->kind == TIDE_STEP_FREE) {
    release_life(run, s->lives[step->buffer]);
    s->lives[step->buffer] = NULL;
    return TIDE_OK;
  }
  if (step->kind == TIDE_STEP_HOST_SIGNAL || step->kind == TIDE_STEP_HOST_EXTERNAL)
    signal_all(s, step, TIDE_OK);
  return tide_run_order_step(s->order, step, diag);
}

enum tide_status tide_sequential_execute(struct tide_run *run, struct tide_diag *diag) {
  const struct tide_platform *platform = run->params.platform;
  uint64_t start = platform->now(platform->self);
  struct tide_step step;
  enum tide_status status = TIDE_OK;
  tide_plan_rewind(run->params.plan);
  while (status == TIDE_OK) {
    status = tide_plan_next(run->params.plan, &step, diag);
    if (status != TIDE_OK || step.kind == TIDE_STEP_END) break;
    status = do_step(run, &step, diag);
    if (run->failure.any && run->params.stop_early) break;
    if (run->params.progress)
      run->params.progress(run->params.progress_user, run->result.operations,
                           run->result.operations);
  }
  if (status == TIDE_OK && !run->failure.any)
    status = tide_run_order_finish(run->sequential->order, diag);
  run->result.wall = platform->now(platform->self) - start;
  return status;
}

/* ---- making ------------------------------------------------------------------------------ */

enum tide_status tide_sequential_create(struct tide_run *run, struct tide_diag *diag) {
  const struct tide_plan_tables *tables = run->tables;
  const struct tide_allocator *a = run->allocator;
  struct tide_run_order_client client = {run, enter_step, keep_lives, forget_lives};
  struct tide_sequential *s = run->sequential = tide_alloc(a, 1, sizeof *s);
  if (!s) return tide_diag_set(diag, TIDE_NOMEM, "out of memory");
  s->lives = tide_alloc(a, tables->buffer_count, sizeof *s->lives);
  s->timelines = tide_alloc(a, tables->timeline_count, sizeof *s->timelines);
  s->collectives = tide_alloc(a, tables->collective_count, sizeof *s->collectives);
  s->parts = tide_alloc(a, tables->collective_count, sizeof *s->parts);
  if (!s->lives || !s->timelines || !s->collectives || !s->parts ||
      tide_run_order_create(tables, a, &client, &s->order) != TIDE_OK)
    return tide_diag_set(diag, TIDE_NOMEM, "out of memory");
  for (size_t i = 0; i < tables->timeline_count; i++)
    s->timelines[i].reached = tables->timelines[i].initial;
  for (size_t i = 0; i < tables->buffer_count; i++) {
    const struct tide_plan_buffer *buffer = &tables->buffers[i];
    if (buffer->scratch) continue;
    s->lives[i] = begin_life(run, buffer->size);
    if (!s->lives[i])
      return tide_diag_at(diag, TIDE_NOMEM, buffer->line, buffer->column,
                          "no memory for buffer '%s' of %lu bytes", buffer->label,
                          (unsigned long)buffer->size);
    run->buffers[i].data = s->lives[i]->memory;
  }
  return TIDE_OK;
}

void tide_sequential_destroy(struct tide_run *run) {
  const struct tide_plan_tables *tables = run->tables;
  const struct tide_allocator *a = run->allocator;
  struct tide_sequential *s = run->sequential;
  if (!s) return;
  tide_run_order_destroy(s->order);
  for (size_t i = 0; s->lives && i < tables->buffer_count; i++) release_life(run, s->lives[i]);
  tide_free(a, s->lives, tables->buffer_count, sizeof *s->lives);
  tide_free(a, s->timelines, tables->timeline_count, sizeof *s->timelines);
  tide_free(a, s->collectives, tables->collective_count, sizeof *s->collectives);
  tide_free(a, s->parts, tables->collective_count, sizeof *s->parts);
  tide_free(a, s, 1, sizeof *s);
}
