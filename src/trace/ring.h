/* trace/ring.h: events as they are kept. */
#ifndef TIDE_TRACE_RING_H
#define TIDE_TRACE_RING_H

#include "base/lock.h"
#include "tidemark/trace.h"

struct tide_traced {
  uint8_t kind;   /* enum tide_event_kind */
  uint8_t class_; /* WAIT_CLASS: enum tide_wait_class */
  uint8_t status; /* enum tide_status */
  uint64_t time;
  uint64_t axis, epoch, value;
  uint64_t cause_axis, cause_epoch;
  char label[24];
  char object[32]; /* the object's label */
};

struct tide_trace {
  struct tide_trace_params params;
  struct tide_sink sink;
  struct tide_lock lock; /* guards what follows */
  uint64_t count;        /* of all that came */
  size_t mask;
  struct tide_traced *ring;
};

static inline uint64_t tide_trace_first(const struct tide_trace *trace) {
  return trace->count > trace->mask + 1 ? trace->count - trace->mask - 1 : 0;
}
static inline struct tide_traced *tide_trace_at(const struct tide_trace *trace, uint64_t number) {
  return &trace->ring[number & trace->mask];
}

#endif
