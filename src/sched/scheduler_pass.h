/* sched/scheduler_pass.h: a pass of the scheduler (lock, settle, unlock), and the references of
 * operations to timelines. */
#ifndef TIDE_SCHED_SCHEDULER_PASS_H
#define TIDE_SCHED_SCHEDULER_PASS_H

#include "sched/scheduler_state.h"
#include "timeline/history.h"

static inline const struct tide_platform *tide_sched_platform(const struct tide_sched *sched) {
  return sched->context->platform;
}

/* A waiting operation holds its timelines, a signalling one owns them. The scheduler's lock guards
 * these counts; only the first and the last operation touch the timeline's atomic ones. */
static inline void tide_sched_count_in(struct tide_timeline *timeline, uint32_t *operations,
                                       uint32_t *references) {
  if ((*operations)++ > 0) return;
  tide_fetch_add(references, 1u);
  tide_timeline_adopt(timeline);
}
static inline void tide_sched_hold(struct tide_timeline *timeline) {
  tide_sched_count_in(timeline, &timeline->awaiting, &timeline->references);
}
static inline void tide_sched_let_go(struct tide_timeline *timeline) {
  if (--timeline->awaiting == 0 && tide_timeline_let_go_locked(timeline, false))
    tide_timeline_free(timeline);
}
/* Called by submits: also makes room for the record of the signal. */
static inline void tide_sched_own(struct tide_timeline *timeline) {
  tide_sched_count_in(timeline, &timeline->signalling, &timeline->owners);
  if (__builtin_expect(timeline->grows, 0)) tide_history_grow(timeline);
}
/* Drops the last owning reference, which may fail the timeline's waiters (TIDE_CANCELLED). */
void tide_sched_disown_last(struct tide_sched *sched, struct tide_timeline *timeline);
static inline void tide_sched_disown(struct tide_sched *sched, struct tide_timeline *timeline) {
  if (--timeline->signalling == 0 && tide_fetch_sub(&timeline->owners, 1u) == 1)
    tide_sched_disown_last(sched, timeline);
}

/* ---- settle.c ---- */
static inline void tide_sched_enter(struct tide_sched *sched) {
  tide_lock_take(sched->lock, tide_sched_platform(sched));
}
void tide_sched_leave_and_call(struct tide_sched *sched);
/* Drains the fired nodes and the dirty queues. The lock is held.
 *
 * A worklist instead of recursion: a chain of a million operations, each releasing the next, is a
 * loop. Each step sorts only the queues that it has appended: a queue is sorted once per append. */
void tide_sched_settle_more(struct tide_sched *sched);
static inline void tide_sched_settle(struct tide_sched *sched) {
  if (sched->fired.first || sched->work) tide_sched_settle_more(sched);
}
static inline void tide_sched_leave(struct tide_sched *sched) {
  tide_sched_settle(sched);
  if (__builtin_expect(sched->calls, 0)) tide_sched_leave_and_call(sched);
  else tide_lock_give(sched->lock);
}
/* Marks the queue dirty: tide_sched_settle retries its held operations and starts ready ones. */
static inline void tide_sched_look(struct tide_queue *queue) {
  struct tide_sched *sched = queue->sched;
  if (queue->look) return;
  queue->look = true;
  queue->next = NULL;
  *sched->work_end = queue;
  sched->work_end = &queue->next;
}
/* Marks all queues dirty, in the order in which their next operations entered. */
void tide_sched_look_at_all(struct tide_sched *sched);
/* Has the devices that run ahead listen for the ends that waiters need, after the unlock. */
static inline void tide_sched_listen(struct tide_sched *sched) {
  sched->listen = sched->calls = true;
}
/* A new waiter may need an earlier end than the backends listen for. */
static inline void tide_sched_announce_waiter(struct tide_sched *sched) {
  if (!tide_list_empty(&sched->groups)) tide_sched_listen(sched);
}
void tide_sched_emit_traced(struct tide_sched *sched, enum tide_event_kind kind,
                            const struct tide_op *op, struct tide_event *more);
static inline void tide_sched_emit(struct tide_sched *sched, enum tide_event_kind kind,
                                   const struct tide_op *op, struct tide_event *more) {
  if (__builtin_expect(sched->context->sink != NULL, 0))
    tide_sched_emit_traced(sched, kind, op, more);
}

/* Emits the finish of a failed operation, also to a sink for failures only. */
void tide_sched_emit_failure(struct tide_sched *sched, struct tide_op *op);
/* Emits the finish of an operation, also of one that never started. */
static inline void tide_sched_emit_finish(struct tide_sched *sched, struct tide_op *op) {
  if (__builtin_expect(op->status != TIDE_OK, 0)) tide_sched_emit_failure(sched, op);
  else tide_sched_emit(sched, TIDE_EVENT_FINISH, op, NULL);
}

/* ---- delegation.c ---- */
/* Performs the posted exchange, if any: see delegation.h. */
void tide_delegation_answer(struct tide_sched *sched);
/* Variants of tide_sched_enter and tide_sched_leave for a combiner, which also performs a posted
 * exchange. */
static inline void tide_sched_enter_to_answer(struct tide_sched *sched) {
  tide_fetch_to_write(&sched->delegated, 1); /* read before the unlock */
  tide_sched_enter(sched);
}
static inline void tide_sched_answer_and_leave(struct tide_sched *sched) {
  if (__builtin_expect(tide_load_relaxed(&sched->delegated) != NULL, 0))
    tide_delegation_answer(sched);
  tide_sched_leave(sched);
}

#endif
