/* sched/check_state.h: the inside of check mode. The scheduler's lock is held, unless a function
 * says otherwise.
 *
 *   check.c           the order of operations: queues, waits, signals, instances
 *   check_hosts.c     the order that threads make: their waits, signals, frees
 *   check_uses.c      buffers: conflicts, reads of bytes that nothing wrote, premature frees
 *   check_findings.c  the findings, until they are reported */
#ifndef TIDE_SCHED_CHECK_STATE_H
#define TIDE_SCHED_CHECK_STATE_H

#include "causal/shadow.h"
#include "sched/sched.h"

/* An event of a host thread. */
struct tide_check_event {
  const void *object; /* a timeline or a buffer */
  uint64_t value;     /* the timeline's value; the buffer's serial number */
  uint64_t thread;
  enum tide_event_kind kind;
  bool pinned; /* a free: held operations name the buffer */
};

struct tide_checker {
  struct tide_shadow_table table;
  struct tide_sink sink; /* receives the events of hosts */
  struct tide_lock lock; /* guards `events`, which are added under other locks */
  struct tide_sched *sched;
  struct tide_check_event *events;
  size_t event_count, event_capacity;
  bool events_lost;                        /* no memory; guarded by `lock`, too */
  struct tide_shadow_clock record, before; /* scratch of one call, kept to reuse the memory */
  const struct tide_shadow_access **last;  /* scratch of one call, by queue */
  size_t last_capacity;
  struct tide_finding *findings;
  size_t finding_count, finding_capacity;
  bool said_full;
};

/* ---- check.c ---- */
/* Returns the queue's shadow; NULL: no memory. */
struct tide_shadow_queue *tide_check_queue(struct tide_checker *checker, struct tide_queue *queue);
/* Orders a clock behind a value of a timeline: behind a record of exactly this value, and behind
 * all lower ones. `skips`: a higher record orders, too. */
void tide_check_import(struct tide_checker *checker, struct tide_shadow_clock *clock,
                       const void *timeline, uint64_t value, bool skips);
/* Records the clock of a signal. `below`: nothing else can signal a value between. */
void tide_check_record(struct tide_checker *checker, const void *timeline, uint64_t value,
                       bool below, const struct tide_shadow_clock *clock);

/* ---- check_hosts.c ---- */
/* Receives an event. Other locks may be held. */
void tide_check_store_event(void *self, const struct tide_event *event);
/* Applies the stored events, in their order. */
void tide_check_take_events(struct tide_checker *checker);

/* ---- check_uses.c ---- */
/* Checks the uses of an operation that starts behind `clock`, which learns the waits that are
 * missing. Then tide_check_add_uses adds them. */
void tide_check_uses(struct tide_checker *checker, struct tide_shadow_clock *clock,
                     const struct tide_op *op);
void tide_check_add_uses(struct tide_checker *checker, const struct tide_op *op);
/* Counts the uses of a part while it waits for the other parts of its instance. */
void tide_check_await_uses(struct tide_checker *checker, const struct tide_op *part, bool begin);
/* Adds the bytes that a part writes, before the reads of its instance are checked. */
void tide_check_add_writes(struct tide_checker *checker, const struct tide_op *op);
/* Forgets buffers that are freed, and that no held operation names. */
void tide_check_forget_uses(struct tide_checker *checker, const struct tide_op *op);
/* Judges a free. `clock`: what the freeing position knows; `queue`: TIDE_SHADOW_HOST for a host's;
 * `pinned`: held operations name the buffer. */
void tide_check_free(struct tide_checker *checker, struct tide_shadow *buffer,
                     const struct tide_shadow_clock *clock, uint32_t queue, bool pinned);
/* Returns the key of one life of a handle: held operations may name an earlier buffer with the same
 * handle. */
static inline uint64_t tide_check_buffer_key(const void *buffer, uint64_t serial) {
  return (uint64_t)(uintptr_t)buffer * 0x9e3779b97f4a7c15u + serial;
}

/* ---- check_findings.c ---- */
void tide_check_add_finding(struct tide_checker *checker, const struct tide_finding *finding);
/* Reports once that memory ran out. */
void tide_check_note_limits(struct tide_checker *checker);

#endif
