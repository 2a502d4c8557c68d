/* Operations that take: the source of takes calls the body, and lets it stall. */
#include "base/atomic.h"
#include "base/alloc.h"
#include "base/text.h"
#include "program/run_state.h"

/* A single operation, from its submission until it is over. Its arguments, pieces and buffers
 * follow in the same block. */
struct tide_take {
  struct tide_run *run;
  struct tide_take *next; /* list of takes that are over */
  size_t size;            /* bytes of this block */
  struct tide_run_queue *queue;
  struct tide_taken taken;
  const uint32_t *buffers; /* by taken argument */
};

/* ---- events ---------------------------------------------------------------------- */

static void trace_stall(const struct tide_take *take, size_t which,
                        const struct tide_taken_piece *piece, bool resumed) {
  struct tide_run *run = take->run;
  const struct tide_sink *sink = run->params.sink;
  struct tide_event event = {
      .kind = resumed ? TIDE_EVENT_RESUME : TIDE_EVENT_STALL,
      .time = resumed ? piece->resumed : piece->stalled,
      .axis = take->queue->axis,
      .epoch = take->queue->started,
      .value = piece->value,
      .object = piece->timeline,
      .object_label = tide_timeline_label(piece->timeline),
      .label = run->tables->buffers[take->buffers[which]].label,
      .status = resumed ? piece->status : TIDE_OK,
  };
  sink->event(sink->self, &event);
}

static void notify_all(const struct tide_take *take) {
  for (size_t i = 0; i < take->taken.taken_count; i++) {
    const struct tide_taken_argument *argument = &take->taken.taken[i];
    for (size_t k = 0; k < argument->piece_count; k++) {
      if (!argument->pieces[k].stalled) continue;
      trace_stall(take, i, &argument->pieces[k], false);
      trace_stall(take, i, &argument->pieces[k], true);
    }
  }
}

/* ---- the body ----------------------------------------------------------------------- */

static enum tide_status call_taker(void *arguments) {
  struct tide_take *take = *(struct tide_take **)arguments;
  const struct tide_take_source *source = take->run->params.takes;
  enum tide_status status = source->call(take->queue->taker, &take->taken);
  if (take->run->params.sink) notify_all(take);
  return status;
}

/* Adds a take that is over to the list. Runs under the scheduler's lock, so the take is freed
 * later: when the next one is submitted, or at the end. */
static void retire_take(void *arguments) {
  struct tide_take *take = *(struct tide_take **)arguments;
  struct tide_take *first = tide_load_relaxed(&take->run->takes_over);
  do take->next = first;
  while (!tide_compare_exchange(&take->run->takes_over, &first, take));
}

static const struct tide_body_class taking = {
    .name = "take", .host = call_taker, .over = retire_take};

void tide_run_drop_take(struct tide_take *take) {
  if (take) tide_free(take->run->allocator, take, 1, take->size);
}

static void free_over(struct tide_run *run) {
  struct tide_take *take = tide_exchange(&run->takes_over, (struct tide_take *)NULL);
  while (take) {
    struct tide_take *next = take->next;
    tide_run_drop_take(take);
    take = next;
  }
}

/* ---- submitting ------------------------------------------------------------------------ */

static void fill_take(struct tide_take *take, const struct tide_step *step,
                      const struct tide_argument *arguments) {
  const struct tide_run *run = take->run;
  size_t params = step->body->param_count;
  struct tide_argument *own = (struct tide_argument *)(take + 1);
  struct tide_taken_argument *taken = (struct tide_taken_argument *)(own + params);
  struct tide_taken_piece *pieces = (struct tide_taken_piece *)(taken + step->take_count);
  uint32_t *buffers = (uint32_t *)(pieces + step->piece_count);
  if (params) memcpy(own, arguments, params * sizeof *own);
  for (size_t i = 0; i < step->take_count; i++) {
    const struct tide_step_take *from = &step->takes[i];
    taken[i] =
        (struct tide_taken_argument){from->argument, pieces + from->first, from->piece_count};
    buffers[i] = from->buffer;
    for (uint32_t k = from->first; k < from->first + from->piece_count; k++) {
      const struct tide_step_piece *piece = &step->pieces[k];
      const struct tide_step_value *tag = &step->tags[piece->tag];
      pieces[k] = (struct tide_taken_piece){.offset = piece->offset - from->offset,
                                            .size = piece->size,
                                            .timeline = run->timelines[tag->timeline],
                                            .value = tag->value};
    }
  }
  take->taken = (struct tide_taken){step->body, own, taken, step->take_count};
  take->buffers = buffers;
}

/* Does nothing in baseline modes: there, the operation waits for all its inputs before it
 * starts. */
enum tide_status tide_run_take(struct tide_run *run, const struct tide_step *step,
                               struct tide_operation *operation, struct tide_take **out_take) {
  if (!step->tag_count || run->baseline) return TIDE_OK;
  size_t size = sizeof(struct tide_take) + step->body->param_count * sizeof(struct tide_argument) +
                step->take_count * (sizeof(struct tide_taken_argument) + sizeof(uint32_t)) +
                step->piece_count * sizeof(struct tide_taken_piece);
  free_over(run);
  struct tide_take *take = tide_alloc(run->allocator, 1, size);
  if (!take) return TIDE_NOMEM;
  take->run = run;
  take->size = size;
  take->queue = &run->queues[step->queue];
  fill_take(take, step, operation->arguments);
  *out_take = take;
  operation->body = &taking;
  operation->arguments = out_take; /* submission copies it */
  operation->arguments_size = sizeof *out_take;
  return TIDE_OK;
}

/* ---- takers ------------------------------------------------------------------------------ */

static enum tide_status refuse_take(const struct tide_plan_queue *queue, struct tide_diag *diag,
                                    enum tide_status status, const char *why) {
  return tide_diag_at(diag, status, queue->take_line, queue->take_column,
                      "queue '%s' cannot take: %s", queue->label, why);
}

enum tide_status tide_run_open_taker(struct tide_run *run, uint32_t index, struct tide_diag *diag) {
  const struct tide_plan_queue *queue = &run->tables->queues[index];
  const struct tide_take_source *source = run->params.takes;
  if (!queue->take_line) return TIDE_OK;
  if (!run->devices[queue->device].kind->in_order)
    return refuse_take(queue, diag, TIDE_UNSUPPORTED,
                       "its device works out of order, and only a thread can stall");
  if (run->baseline || run->params.stand_in || run->params.submit_only) return TIDE_OK;
  if (!source)
    return refuse_take(queue, diag, TIDE_UNSUPPORTED, "there is nothing here to take with");
  struct tide_diag own = {.status = TIDE_OK};
  void **taker = &run->queues[index].taker;
  enum tide_status status = source->open(source->self, run->context, queue->label,
                                         queue->taken_bytes, queue->taken_pieces, taker, &own);
  run->takes |= status == TIDE_OK;
  if (status == TIDE_OK) return TIDE_OK;
  return refuse_take(queue, diag, status, own.status ? own.text : tide_status_text(status));
}

void tide_run_close_takers(struct tide_run *run) {
  for (size_t i = 0; run->queues && i < run->tables->queue_count; i++)
    if (run->queues[i].taker) run->params.takes->close(run->queues[i].taker);
  free_over(run);
}
