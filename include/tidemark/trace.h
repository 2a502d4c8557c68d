/* tidemark/trace.h: a record of all events, as a file for trace viewers.
 *
 * The model. A *trace* is a sink: give it to a context, and it keeps the newest
 * events in a ring. Afterwards it writes them as Chrome's trace JSON, which
 * Perfetto (ui.perfetto.dev) and chrome://tracing show:
 *
 *   one track a queue        a slice from the start of each operation to its end
 *   one counter a timeline   its value over time
 *   arrows                   from the operation that signalled to the one that waited:
 *                            category "issued" for waits that a device had to do, "elided"
 *                            for those that causality made needless, "resolved" for what was
 *                            there already
 *   instants                 buffers handed out and freed, failures
 *
 * Threads: events may come from any thread. Writing is done by one thread, when nothing comes any
 * more.
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
  size_t events; /* kept, the newest; 0: 65536; rounded up to a power of two */
};

/* Both platform and allocator are required. TIDE_NOMEM; TIDE_INVALID: one is missing, or
 * too many events. The only call before writing that allocates. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_trace_create(const struct tide_trace_params *params,
                                                            struct tide_trace **out_trace);
/* No context may use it any more. NULL is fine. */
TIDE_API void tide_trace_destroy(struct tide_trace *trace);
/* Lives as long as the trace. Events cost one lock and a copy of about 200 bytes. */
TIDE_API const struct tide_sink *tide_trace_sink(struct tide_trace *trace);
/* Events that were dropped because newer ones needed their place. */
TIDE_API uint64_t tide_trace_lost(const struct tide_trace *trace);

/* Hands out the JSON in pieces. `write` returns TIDE_OK to go on; what else it returns ends the
 * writing and comes back from here. */
struct tide_trace_writer {
  enum tide_status (*write)(void *self, const char *bytes, size_t size);
  void *self;
};
/* Labels are copied into the text; nothing that was traced is touched. TIDE_NOMEM, or what `write`
 * said. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_trace_write(struct tide_trace *trace,
                                                           const struct tide_trace_writer *writer);

#ifdef __cplusplus
}
#endif
#endif
