/* Ours, through the shared library and the public headers: a queue each, and waits for what other
 * queues' progress timelines will say. With HELD, the gate also waits for a value that the host
 * signals when all is submitted: until then nobody has promised it, and all operations are held. */
#include "peer.h"
#include "tidemark/tidemark.h"

#include <stdlib.h>
#include <string.h>

static struct tide_context *context;
static struct tide_device *device;
static struct tide_queue **queues;
static struct tide_timeline **progress;
#ifdef HELD
static struct tide_timeline *host;
static uint64_t host_value;
#endif

struct argument {
  const struct peer_run *run;
  uint32_t operation;
};

static enum tide_status body(void *arguments) {
  const struct argument *argument = arguments;
  argument->run->body(argument->run->argument, argument->operation);
  return TIDE_OK;
}
static const struct tide_body_class empty = {.name = "empty", .host = body, .non_blocking = true};

const char *peer_open(uint32_t workers, const char *folder) {
  (void)folder;
  struct tide_cpu_params params = {.struct_size = sizeof params, .workers = workers};
  if (tide_context_create(NULL, &context) != TIDE_OK) return "no context";
  if (tide_cpu_open(context, &params, &device) != TIDE_OK) return "no device";
#ifdef HELD
  if (tide_timeline_create(context, NULL, &host) != TIDE_OK) return "no timeline";
#endif
  return NULL;
}

static uint32_t *count_by_queue(const struct peer_graph *graph, bool waits) {
  uint32_t *counts = calloc(graph->queues, sizeof *counts);
  for (uint32_t i = 0; counts && i < graph->count; i++)
    counts[graph->queue[i]] += waits ? graph->wait_first[i + 1] - graph->wait_first[i] : 1;
  return counts;
}

const char *peer_prepare(const struct peer_run *run) {
  const struct peer_graph *graph = run->graph;
#ifdef HELD
  if (!run->gated) return "it is the same as ours";
#endif
  uint32_t *operations = count_by_queue(graph, false), *waits = count_by_queue(graph, true);
  queues = calloc(graph->queues, sizeof *queues);
  progress = calloc(graph->queues, sizeof(struct tide_timeline *));
  if (!operations || !waits || !queues || !progress) return "no memory";
  const char *why = NULL;
  for (uint32_t i = 0; i < graph->queues && !why; i++) {
    struct tide_queue_params params = {.struct_size = sizeof params,
                                       .operations = operations[i],
                                       .waits = waits[i] + 1,
                                       .signals = 1,
                                       .buffers = 1};
    if (tide_queue_create(device, &params, &queues[i]) != TIDE_OK) why = "no queue";
    else progress[i] = tide_queue_progress(queues[i]);
  }
  free(operations);
  free(waits);
  return why;
}

static enum tide_status submit(const struct peer_run *run, uint32_t i) {
  const struct peer_graph *graph = run->graph;
  struct tide_wait waits[16];
  uint32_t first = graph->wait_first[i], count = graph->wait_first[i + 1] - first;
  for (uint32_t w = 0; w < count; w++) {
    const struct peer_wait *wait = &graph->waits[first + w];
    waits[w] = (struct tide_wait){progress[wait->queue], wait->place};
  }
#ifdef HELD
  if (i == 0) waits[count++] = (struct tide_wait){host, host_value + 1};
#endif
  struct argument argument = {run, i};
  struct tide_operation operation = {.waits = waits,
                                     .wait_count = count,
                                     .body = &empty,
                                     .arguments = &argument,
                                     .arguments_size = sizeof argument};
  return tide_queue_submit(queues[graph->queue[i]], &operation, NULL, NULL);
}

const char *peer_do(const struct peer_run *run) {
  for (uint32_t i = 0; i < run->graph->count; i++) {
    enum tide_status status = submit(run, i);
    if (status != TIDE_OK) return tide_status_text(status);
  }
  run->submitted(run->argument);
#ifdef HELD
  if (tide_timeline_signal(host, ++host_value, NULL) != TIDE_OK) return "the host's signal";
#endif
  for (uint32_t i = 0; i < run->graph->queues; i++)
    if (tide_queue_drain(queues[i], TIDE_FOREVER) != TIDE_OK) return "not drained";
  return NULL;
}

void peer_finish(const struct peer_run *run) {
  for (uint32_t i = 0; i < run->graph->queues; i++) tide_queue_destroy(queues[i]);
  free(queues);
  free(progress);
}
