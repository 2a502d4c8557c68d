/* Operations that take, on a clock. An operation accesses its pieces one after the other, and works
 * for an equal share of its remaining time after each. At a piece that is missing it stalls, and
 * occupies no hand until the piece has arrived. */
#include "base/check.h"
#include "base/alloc.h"
#include "sim/sim_state.h"

uint64_t tide_sim_take_begin(struct tide_simulation *s, struct tide_sim_op *op, uint64_t time) {
  (void)s;
  if (op->after > time) op->after = time;
  op->left = time - op->after;
  return op->after;
}

/* ---- stalls --------------------------------------------------------------------- */

static void trace_stall(struct tide_simulation *s, const struct tide_sim_op *op,
                        const struct tide_work *work, bool resume, uint64_t time) {
  const struct tide_sim_tag *tag = &s->tags[op->tags + op->next_tag];
  const struct tide_timeline *timeline = tide_run_timeline(s->run, tag->timeline);
  struct tide_event event = {
      .kind = resume ? TIDE_EVENT_RESUME : TIDE_EVENT_STALL,
      .time = time,
      .axis = tide_work_axis(work),
      .epoch = work->epoch,
      .value = tag->value,
      .object = timeline,
      .object_label = tide_timeline_label(timeline),
      .label = tide_work_label(work),
      .status = resume ? op->missing : TIDE_OK,
  };
  s->params.sink->event(s->params.sink->self, &event);
}

void tide_sim_take_again(struct tide_simulation *s, struct tide_sim_op *op,
                         const struct tide_work *work, uint64_t now) {
  op->price = 0; /* paid at the first start */
  s->result.stalled += now - op->stalled_at;
  if (!s->params.sink) return;
  trace_stall(s, op, work, false, op->stalled_at);
  trace_stall(s, op, work, true, now);
}

static void retry_work(struct tide_sim_made *made, struct tide_work *work, uint64_t time) {
  if (tide_sim_again(made->device, work, time) != TIDE_OK) made->simulation->no_memory = true;
}

/* Called when the value is reached, or has failed: restarts the stalled work. */
static void value_reached(struct tide_timepoint *point, enum tide_status status) {
  struct tide_sim_stall *stall = TIDE_CONTAINER(point, struct tide_sim_stall, point);
  struct tide_sim_made *made = stall->made;
  struct tide_simulation *s = made->simulation;
  const struct tide_sim_arguments *arguments = tide_work_arguments(stall->work);
  struct tide_sim_op *op = &s->ops[arguments->operation];
  const struct tide_sim_tag *tag = &s->tags[op->tags + op->next_tag];
  uint64_t now = tide_clock_now(s->clock), time = now, chain;
  uint32_t by;
  op->missing = status;
  if (status == TIDE_OK && tide_sim_arrival(s, op, tag->key, tag->value, &by, &time, &chain))
    if (time < now) time = now;
  retry_work(made, stall->work, time);
  stall->next = s->spare_stalls;
  s->spare_stalls = stall;
}

/* Stalls the work until the tag is reached. False: no memory. */
static bool stall_on(struct tide_sim_made *made, const struct tide_sim_tag *tag,
                     struct tide_work *work) {
  struct tide_simulation *s = made->simulation;
  struct tide_sim_stall *stall = s->spare_stalls;
  if (stall) s->spare_stalls = stall->next;
  else stall = tide_alloc(s->allocator, 1, sizeof *stall);
  if (!stall) return false;
  *stall = (struct tide_sim_stall){.made = made, .work = work};
  stall->point = (struct tide_timepoint){.timeline = tide_run_timeline(s->run, tag->timeline),
                                         .value = tag->value,
                                         .call = value_reached};
  return tide_timepoint_add(&stall->point) == TIDE_OK;
}

static uint64_t stall_operation(struct tide_sim_made *made, struct tide_sim_op *op,
                                struct tide_work *work, uint64_t now) {
  struct tide_simulation *s = made->simulation;
  if (!stall_on(made, &s->tags[op->tags + op->next_tag], work)) {
    s->no_memory = true;
    op->missing = TIDE_NOMEM;
    return 0;
  }
  op->stalled_at = now;
  op->stalls = true;
  s->result.stalls++;
  return TIDE_SIM_STALLS;
}

/* ---- looking ------------------------------------------------------------------------ */

/* True if the next piece has arrived. The chain then includes its arrival. After a stall, its
 * arrival decides `could`. */
static bool look_for_piece(struct tide_simulation *s, struct tide_sim_op *op, uint64_t now) {
  const struct tide_sim_tag *tag = &s->tags[op->tags + op->next_tag];
  const struct tide_timeline *timeline = tide_run_timeline(s->run, tag->timeline);
  uint64_t time = now, chain = 0;
  uint32_t by;
  if (tide_timeline_query(timeline) < tag->value) return false;
  (void)tide_sim_arrival(s, op, tag->key, tag->value, &by, &time, &chain);
  if (time > now) return false;
  if (chain > op->chain) op->chain = chain;
  if (op->stalls) { /* the piece decided the start on this hand */
    op->could = by == TIDE_SIM_NONE ? op->start : time;
    op->by = by;
  }
  return true;
}

uint64_t tide_sim_take_more(struct tide_sim_made *made, struct tide_sim_op *op,
                            struct tide_work *work, uint64_t now) {
  struct tide_simulation *s = made->simulation;
  uint64_t time = 0;
  if (op->missing != TIDE_OK) return 0;
  while (!time && op->next_tag < op->tag_count) {
    if (!look_for_piece(s, op, now)) return stall_operation(made, op, work, now);
    op->stalls = false;
    time = op->left / (op->tag_count - op->next_tag);
    op->left -= time;
    op->next_tag++;
  }
  op->chain += time;
  return time;
}

void tide_sim_take_free(struct tide_simulation *s) {
  while (s->spare_stalls) {
    struct tide_sim_stall *stall = s->spare_stalls;
    s->spare_stalls = stall->next;
    tide_free(s->allocator, stall, 1, sizeof *stall);
  }
  tide_free(s->allocator, s->tags, s->tag_capacity, sizeof *s->tags);
}
