/* tidemark/trace.h: a record of all events, as a file for trace viewers.
 *
 * The model. A *trace* is a sink: give it to a context, and it keeps the newest events in a ring.
 * Afterwards it writes them as Chrome's trace JSON, for Perfetto (ui.perfetto.dev) and
 * chrome://tracing:
 *
 *   one track per queue      a slice from the start of each operation to its end
 *   one counter per timeline its value over time
 *   arrows                   from the signalling operation to the waiting one: category
 *                            "issued" for waits that a device had to do, "elided" for
 *                            waits that causality made unnecessary, "resolved" for values
 *                            that were reached already
 *   instants                 buffers allocated and freed, failures
 *   one track per member     of a session, but this process's: an instant for each state that was
 *                            sent to it, each record that has come of it, and its loss
 *
 * Threads: events may come from any thread. One thread writes, after the last event.
 *
 * Source: "Trace Event Format".
 */
#ifndef TIDEMARK_TRACE_H
#define TIDEMARK_TRACE_H

#include "tidemark/causal.h"

#ifdef __cplusplus
extern "C" {
#endif

struct tide_trace;

struct tide_trace_params {
  size_t struct_size;
  const struct tide_platform *platform;
  const struct tide_allocator *allocator;
  size_t events; /* capacity: the newest events are kept; 0: 65536; rounded up to a power of two */
};

/* Creates a trace; no later call before tide_trace_write allocates. Platform and allocator are
 * required. TIDE_NOMEM; TIDE_INVALID: struct_size or one of the two is missing, or too many events.
 */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_trace_create(const struct tide_trace_params *params,
                                                            struct tide_trace **out_trace);
/* Destroys the trace. No context may use it any more. NULL is fine. */
TIDE_API void tide_trace_destroy(struct tide_trace *trace);
/* Returns the trace's sink. Lives as long as the trace. An event costs one lock and a copy of about
 * 200 bytes. */
TIDE_API const struct tide_sink *tide_trace_sink(struct tide_trace *trace);
/* Returns the number of events that newer ones have replaced. */
TIDE_API uint64_t tide_trace_lost(const struct tide_trace *trace);

/* Receives the JSON in pieces. `write` returns TIDE_OK to continue. Any other status ends the
 * writing, and tide_trace_write returns it. */
struct tide_trace_writer {
  enum tide_status (*write)(void *self, const char *bytes, size_t size);
  void *self;
};
/* Writes the JSON. Copies labels into the text, and accesses no traced object. TIDE_NOMEM, or the
 * status of `write`. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_trace_write(struct tide_trace *trace,
                                                           const struct tide_trace_writer *writer);

#ifdef __cplusplus
}
#endif
#endif
