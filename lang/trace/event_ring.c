/* Keeps the newest events. */
#include "base/params.h"
#include "trace/event_ring.h"
#include "base/alloc.h"
#include "base/text.h"

#define EVENTS_DEFAULT 65536u
#define EVENTS_MOST (1u << 24)

static void copy_label(char *to, size_t size, const char *from) {
  size_t at = 0;
  for (; from && from[at] && at + 1 < size; at++) to[at] = from[at];
  to[at] = 0;
  tide_text_trim(to);
}

/* Keeps a failure text; consecutive failures with the same cause share one. */
static uint32_t keep_failure(struct tide_trace *trace, const char *sentence) {
  char *last = trace->failures[trace->failure_count % TIDE_TRACE_FAILURES];
  if (trace->failure_count && strcmp(last, sentence) == 0) return trace->failure_count;
  trace->failure_count++;
  copy_label(trace->failures[trace->failure_count % TIDE_TRACE_FAILURES], sizeof trace->failures[0],
             sentence);
  return trace->failure_count;
}

/* Takes only the trace's lock, a leaf: the caller may hold a lock. */
static void on_event(void *self, const struct tide_event *event) {
  struct tide_trace *trace = self;
  tide_lock_take(&trace->lock, trace->params.platform);
  struct tide_traced *kept = tide_trace_at(trace, trace->count++);
  kept->kind = (uint8_t)event->kind;
  kept->class_ = (uint8_t)event->detail;
  kept->member = event->detail >> 8;
  kept->status = (uint8_t)event->status;
  kept->failure = event->failure ? keep_failure(trace, event->failure->text) : 0;
  kept->time = event->time;
  kept->axis = event->axis;
  kept->epoch = event->epoch;
  kept->value = event->value;
  kept->cause_axis = event->cause_axis;
  kept->cause_epoch = event->cause_epoch;
  kept->cause_value = event->cause_value;
  copy_label(kept->label, sizeof kept->label, event->label);
  copy_label(kept->object, sizeof kept->object, event->object_label);
  tide_lock_give(&trace->lock);
}

enum tide_status tide_trace_create(const struct tide_trace_params *params,
                                   struct tide_trace **out_trace) {
  struct tide_trace_params own;
  enum tide_status known = tide_params_copy(&own, sizeof own, params);
  if (known != TIDE_OK) return known;
  params = &own;
  size_t events = params->events ? params->events : EVENTS_DEFAULT, capacity = 64;
  if (!params->platform || !params->allocator || events > EVENTS_MOST) return TIDE_INVALID;
  while (capacity < events) capacity *= 2;
  struct tide_trace *trace = tide_alloc(params->allocator, 1, sizeof *trace);
  if (!trace) return TIDE_NOMEM;
  trace->params = *params;
  trace->mask = capacity - 1;
  trace->sink = (struct tide_sink){.event = on_event, .wants_time = true, .self = trace};
  tide_lock_init(&trace->lock);
  trace->ring = tide_alloc(params->allocator, capacity, sizeof *trace->ring);
  if (!trace->ring) {
    tide_trace_destroy(trace);
    return TIDE_NOMEM;
  }
  *out_trace = trace;
  return TIDE_OK;
}

void tide_trace_destroy(struct tide_trace *trace) {
  if (!trace) return;
  const struct tide_allocator *a = trace->params.allocator;
  tide_free(a, trace->ring, trace->mask + 1, sizeof *trace->ring);
  tide_free(a, trace, 1, sizeof *trace);
}

const struct tide_sink *tide_trace_sink(struct tide_trace *trace) { return &trace->sink; }

uint64_t tide_trace_lost(const struct tide_trace *trace) { return tide_trace_first(trace); }
