/* trace/event_ring.h: the ring that keeps traced events. */
#ifndef TIDE_TRACE_EVENT_RING_H
#define TIDE_TRACE_EVENT_RING_H

#include "base/lock.h"
#include "tidemark/trace.h"

#define TIDE_TRACE_FAILURES 64u /* failure texts kept */

struct tide_traced {
  uint8_t kind;     /* enum tide_event_kind */
  uint8_t class_;   /* WAIT_CLASS: enum tide_wait_class; RECEIVE: enum tide_received */
  uint8_t status;   /* enum tide_status */
  uint32_t failure; /* number of the cause's text; 0: none */
  uint32_t member;  /* SEND, RECEIVE, LOST: the rank */
  uint64_t time;
  uint64_t axis, epoch, value;
  uint64_t cause_axis, cause_epoch, cause_value;
  char label[24];
  char object[32]; /* the object's label */
};

struct tide_trace {
  struct tide_trace_params params;
  struct tide_sink sink;
  struct tide_lock lock; /* guards the fields below */
  uint64_t count;        /* all events so far */
  size_t mask;
  struct tide_traced *ring;
  uint32_t failure_count; /* texts so far; neighbours differ */
  char failures[TIDE_TRACE_FAILURES][sizeof((struct tide_failure *)0)->text];
};

/* Returns the failure text of an event; NULL: the event has none, or the text has been
 * overwritten. */
static inline const char *tide_trace_failure(const struct tide_trace *trace,
                                             const struct tide_traced *event) {
  if (!event->failure || trace->failure_count - event->failure >= TIDE_TRACE_FAILURES) return NULL;
  return trace->failures[event->failure % TIDE_TRACE_FAILURES];
}

static inline uint64_t tide_trace_first(const struct tide_trace *trace) {
  return trace->count > trace->mask + 1 ? trace->count - trace->mask - 1 : 0;
}
static inline struct tide_traced *tide_trace_at(const struct tide_trace *trace, uint64_t number) {
  return &trace->ring[number & trace->mask];
}

#endif
