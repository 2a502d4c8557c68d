/* Order by events, and by barriers: see baseline.h. */
#include "program/baseline.h"
#include "base/alloc.h"
#include "base/text.h"
#include "program/run_graph.h"

#define EVENTS_MOST 500000u

struct tide_baseline {
  struct tide_graph graph;
  bool by_events;
  bool *host;                    /* by timeline: the host waits for it or signals it */
  uint32_t *outs, *out_first;    /* edges, grouped by producer */
  struct tide_timeline **events; /* by edge; NULL: ordered by the queue */
  struct tide_timeline **uses;   /* by operation: signalled at its end; NULL: no recycled buffer */
  bool *recycles;                /* by operation */
  uint32_t *joined;              /* by operation: barriers before it, plus 1; 0: not submitted */
  uint32_t *most_waits, *most_signals; /* by queue */
  struct tide_baseline_block **blocks; /* by buffer */
  struct tide_baseline_pool pool;
  uint32_t next; /* number of the next operation to submit */
};

static bool ordered_by_queue(const struct tide_run *run, uint32_t from, uint32_t to) {
  const struct tide_graph_node *nodes = run->baseline->graph.nodes;
  return nodes[from].queue == nodes[to].queue &&
         tide_graph_in_order(run->tables, nodes[to].queue, run->params.kinds,
                             run->params.kind_count);
}

/* ---- reading the plan ------------------------------------------------------------ */

static bool names_scratch(const struct tide_run *run, const struct tide_step *step) {
  for (size_t i = 0; i < step->body->param_count; i++) {
    const struct tide_step_argument *argument = &step->arguments[i];
    if (argument->kind <= TIDE_PARAM_INOUT && argument->index != TIDE_PLAN_NONE &&
        run->tables->buffers[argument->index].scratch)
      return true;
  }
  return false;
}

static bool is_operation(const struct tide_step *step) {
  return step->kind == TIDE_STEP_OPERATION || step->kind == TIDE_STEP_PART;
}

/* Fills `host` and `recycles`, which the graph does not contain. */
static enum tide_status look_at_steps(struct tide_run *run, struct tide_diag *diag) {
  struct tide_baseline *b = run->baseline;
  struct tide_step step;
  uint32_t operation = 0;
  tide_plan_rewind(run->params.plan);
  for (;;) {
    enum tide_status status = tide_plan_next(run->params.plan, &step, diag);
    if (status != TIDE_OK || step.kind == TIDE_STEP_END) return status;
    if (is_operation(&step)) {
      b->recycles[operation++] = names_scratch(run, &step);
    } else if (step.kind >= TIDE_STEP_HOST_SIGNAL) {
      for (size_t i = 0; i < step.wait_count; i++) b->host[step.waits[i].timeline] = true;
      for (size_t i = 0; i < step.signal_count; i++) b->host[step.signals[i].timeline] = true;
    }
  }
}

/* Groups the edges by producer. */
static void group_edges(struct tide_run *run) {
  struct tide_baseline *b = run->baseline;
  const struct tide_graph *graph = &b->graph;
  for (size_t i = 0; i < graph->edge_count; i++) b->out_first[graph->edges[i] + 1]++;
  for (size_t i = 0; i < graph->node_count; i++) b->out_first[i + 1] += b->out_first[i];
  for (size_t i = 0; i < graph->edge_count; i++)
    b->outs[b->out_first[graph->edges[i]]++] = (uint32_t)i;
  for (size_t i = graph->node_count; i > 0; i--) b->out_first[i] = b->out_first[i - 1];
  b->out_first[0] = 0;
}

static void count_needs(struct tide_run *run) {
  struct tide_baseline *b = run->baseline;
  for (uint32_t i = 0; i < b->graph.node_count; i++) {
    const struct tide_graph_node *node = &b->graph.nodes[i];
    uint32_t signals = b->out_first[i + 1] - b->out_first[i] + 1;
    if (node->count > b->most_waits[node->queue]) b->most_waits[node->queue] = node->count;
    if (signals > b->most_signals[node->queue]) b->most_signals[node->queue] = signals;
  }
}

#define REUSE_WAITS                                                                                \
  64 /* slots for waits for earlier users of memory; beyond them the host waits                    \
      */

void tide_baseline_needs(const struct tide_run *run, uint32_t queue, uint32_t *out_waits,
                         uint32_t *out_signals) {
  const struct tide_baseline *b = run->baseline;
  const struct tide_plan_queue *plan = &run->tables->queues[queue];
  *out_waits = plan->most_waits + (b->by_events ? b->most_waits[queue] + REUSE_WAITS : 0);
  *out_signals = plan->most_signals + (b->by_events ? b->most_signals[queue] : 0);
}

static bool make_baseline(struct tide_run *run, struct tide_baseline *b) {
  const struct tide_allocator *a = run->allocator;
  const struct tide_plan_tables *tables = run->tables;
  size_t operations = b->graph.node_count;
  b->host = tide_alloc(a, tables->timeline_count, sizeof *b->host);
  b->outs = tide_alloc(a, b->graph.edge_count, sizeof *b->outs);
  b->out_first = tide_alloc(a, operations + 1, sizeof *b->out_first);
  b->events = tide_alloc(a, b->graph.edge_count, sizeof *b->events);
  b->uses = tide_alloc(a, operations, sizeof *b->uses);
  b->recycles = tide_alloc(a, operations, sizeof *b->recycles);
  b->joined = tide_alloc(a, operations, sizeof *b->joined);
  b->most_waits = tide_alloc(a, tables->queue_count, sizeof *b->most_waits);
  b->most_signals = tide_alloc(a, tables->queue_count, sizeof *b->most_signals);
  b->blocks = tide_alloc(a, tables->buffer_count, sizeof *b->blocks);
  return b->host && b->outs && b->out_first && b->events && b->uses && b->recycles && b->joined &&
         b->most_waits && b->most_signals && b->blocks;
}

/* Returns the part of the limit that static buffers leave; 0: no limit. */
static size_t left_for_scratch(const struct tide_run *run) {
  size_t left = run->params.memory;
  for (size_t i = 0; left && i < run->tables->buffer_count; i++) {
    const struct tide_plan_buffer *buffer = &run->tables->buffers[i];
    if (!buffer->scratch) left -= buffer->size < left ? (size_t)buffer->size : left - 1;
  }
  return left;
}

enum tide_status tide_baseline_create(struct tide_run *run, struct tide_diag *diag) {
  const struct tide_allocator *a = run->allocator;
  struct tide_baseline *b = run->baseline = tide_alloc(a, 1, sizeof *b);
  if (!b) return tide_diag_set(diag, TIDE_NOMEM, "out of memory");
  b->by_events = run->params.mode == TIDE_RUN_EVENTS;
  b->pool.allocator = a;
  b->pool.align = run->params.align ? run->params.align : 64;
  b->pool.queues = run->tables->queue_count;
  b->pool.limit = left_for_scratch(run);
  enum tide_status status = tide_graph_create(run->params.plan, run->params.kinds,
                                              run->params.kind_count, a, true, &b->graph, diag);
  if (status != TIDE_OK) return status;
  if (b->by_events && b->graph.edge_count > EVENTS_MOST)
    return tide_diag_set(diag, TIDE_FULL, "%zu dependencies are too many events; at most %u",
                         b->graph.edge_count, EVENTS_MOST);
  if (!make_baseline(run, b)) return tide_diag_set(diag, TIDE_NOMEM, "out of memory");
  status = look_at_steps(run, diag);
  group_edges(run);
  count_needs(run);
  return status;
}

void tide_baseline_use_source(struct tide_run *run, const struct tide_memory_source *source) {
  run->baseline->pool.source = source;
}

static enum tide_status make_event(struct tide_run *run, struct tide_timeline **out_event) {
  struct tide_timeline_params params = {
      .struct_size = sizeof params, .label = "event", .scope = TIDE_SCOPE_PROCESS, .history = 1};
  return tide_timeline_create(run->context, &params, out_event);
}

enum tide_status tide_baseline_make_events(struct tide_run *run, struct tide_diag *diag) {
  struct tide_baseline *b = run->baseline;
  enum tide_status status = TIDE_OK;
  for (uint32_t i = 0; b->by_events && i < b->graph.node_count && status == TIDE_OK; i++) {
    const struct tide_graph_node *node = &b->graph.nodes[i];
    for (uint32_t e = node->first; e < node->first + node->count && status == TIDE_OK; e++) {
      if (ordered_by_queue(run, b->graph.edges[e], i)) continue;
      status = make_event(run, &b->events[e]);
      run->result.events++;
    }
    if (status != TIDE_OK || !b->recycles[i]) continue;
    status = make_event(run, &b->uses[i]);
    run->result.use_events++;
  }
  return status == TIDE_OK ? TIDE_OK : tide_diag_set(diag, status, "out of memory");
}

void tide_baseline_destroy(struct tide_run *run) {
  struct tide_baseline *b = run->baseline;
  const struct tide_allocator *a = run->allocator;
  const struct tide_plan_tables *tables = run->tables;
  if (!b) return;
  size_t operations = b->graph.node_count, edges = b->graph.edge_count;
  for (size_t i = 0; b->events && i < edges; i++) tide_timeline_release(b->events[i]);
  for (size_t i = 0; b->uses && i < operations; i++) tide_timeline_release(b->uses[i]);
  tide_baseline_pool_fini(&b->pool);
  tide_free(a, b->host, tables->timeline_count, sizeof *b->host);
  tide_free(a, b->outs, edges, sizeof *b->outs);
  tide_free(a, b->out_first, operations + 1, sizeof *b->out_first);
  tide_free(a, b->events, edges, sizeof *b->events);
  tide_free(a, b->uses, operations, sizeof *b->uses);
  tide_free(a, b->recycles, operations, sizeof *b->recycles);
  tide_free(a, b->joined, operations, sizeof *b->joined);
  tide_free(a, b->most_waits, tables->queue_count, sizeof *b->most_waits);
  tide_free(a, b->most_signals, tables->queue_count, sizeof *b->most_signals);
  tide_free(a, b->blocks, tables->buffer_count, sizeof *b->blocks);
  tide_graph_destroy(&b->graph);
  tide_free(a, b, 1, sizeof *b);
  run->baseline = NULL;
}

/* ---- events ------------------------------------------------------------------------- */

static void add_wait(struct tide_run *run, uint32_t *count, struct tide_timeline *timeline,
                     uint64_t value) {
  TIDE_ASSERT(*count < run->wait_room);
  run->waits[(*count)++] = (struct tide_wait){timeline, value};
}

static void add_signal(struct tide_run *run, uint32_t *count, struct tide_timeline *timeline,
                       uint64_t value) {
  TIDE_ASSERT(*count < run->signal_room);
  run->signals[(*count)++] = (struct tide_signal){timeline, value, true};
}

static void order_by_events(struct tide_run *run, uint32_t operation, uint32_t *waits,
                            uint32_t *signals) {
  struct tide_baseline *b = run->baseline;
  const struct tide_graph_node *node = &b->graph.nodes[operation];
  for (uint32_t e = node->first; e < node->first + node->count; e++)
    if (b->events[e]) add_wait(run, waits, b->events[e], 1);
  run->result.event_waits += *waits;
  for (uint32_t o = b->out_first[operation]; o < b->out_first[operation + 1]; o++)
    if (b->events[b->outs[o]]) add_signal(run, signals, b->events[b->outs[o]], 1);
  if (b->uses[operation]) add_signal(run, signals, b->uses[operation], 1);
}

/* Adds the waits for timelines that the host signals, and the signals of timelines that the host
 * waits for. */
static void order_with_host(struct tide_run *run, const struct tide_step *step, uint32_t *waits,
                            uint32_t *signals) {
  struct tide_baseline *b = run->baseline;
  for (size_t i = 0; i < step->wait_count; i++)
    if (b->host[step->waits[i].timeline])
      add_wait(run, waits, run->timelines[step->waits[i].timeline], step->waits[i].value);
  for (size_t i = 0; i < step->signal_count; i++)
    if (b->host[step->signals[i].timeline])
      add_signal(run, signals, run->timelines[step->signals[i].timeline], step->signals[i].value);
}

/* ---- barriers ------------------------------------------------------------------------- */

static enum tide_status join_all(struct tide_run *run, struct tide_diag *diag) {
  run->result.barriers++;
  return tide_run_drain(run, diag);
}

static enum tide_status order_by_barrier(struct tide_run *run, uint32_t operation,
                                         struct tide_diag *diag) {
  struct tide_baseline *b = run->baseline;
  const struct tide_graph_node *node = &b->graph.nodes[operation];
  bool needed = false;
  for (uint32_t e = node->first; e < node->first + node->count; e++) {
    uint32_t producer = b->graph.edges[e];
    if (!b->joined[producer])
      return tide_diag_set(
          diag, TIDE_UNSUPPORTED,
          "it waits for what a later line signals; a program of barriers cannot say "
          "that");
    if (ordered_by_queue(run, producer, operation)) continue;
    needed |= b->joined[producer] == run->result.barriers + 1;
  }
  return needed ? join_all(run, diag) : TIDE_OK;
}

/* ---- recycled memory -------------------------------------------------------------------- */

/* True if the operation waits for an earlier user of the same buffer, which already comes after the
 * block's past. */
static bool follows_user(const struct tide_baseline *b, const struct tide_baseline_block *block,
                         uint32_t operation) {
  const struct tide_graph_node *node = &b->graph.nodes[operation];
  for (size_t i = block->past; i < block->use_count; i++)
    for (uint32_t e = node->first; e < node->first + node->count; e++)
      if (b->graph.edges[e] == block->uses[i].operation) return true;
  return false;
}

/* True if the use has to be waited for: of a queue that works in order, only the last use does. */
static bool is_last(const struct tide_run *run, const struct tide_baseline_block *block,
                    size_t which) {
  uint32_t queue = block->uses[which].queue;
  if (!run->devices[run->tables->queues[queue].device].kind->in_order) return true;
  for (size_t i = which + 1; i < block->past; i++)
    if (block->uses[i].queue == queue) return false;
  return true;
}

/* Orders an operation after the block's past uses. The host waits for uses that exceed the wait
 * slots. */
static enum tide_status order_block(struct tide_run *run, struct tide_baseline_block *block,
                                    uint32_t operation, uint32_t queue, uint32_t *waits,
                                    struct tide_diag *diag) {
  struct tide_baseline *b = run->baseline;
  if (block->behind[queue]) return TIDE_OK;
  block->behind[queue] = true;
  if (follows_user(b, block, operation)) return TIDE_OK;
  for (size_t i = 0; i < block->past; i++) {
    const struct tide_baseline_use *use = &block->uses[i];
    if (!tide_baseline_use_open(run, use, queue) || !is_last(run, block, i)) continue;
    if (!b->by_events) return join_all(run, diag);
    run->result.reuse_waits++;
    if (*waits < run->wait_room && *waits < b->most_waits[queue] + REUSE_WAITS) {
      add_wait(run, waits, use->event, 1);
      continue;
    }
    enum tide_status status = tide_timeline_wait(use->event, 1, TIDE_FOREVER);
    if (status != TIDE_OK) return status;
  }
  return TIDE_OK;
}

static enum tide_status order_memory(struct tide_run *run, const struct tide_step *step,
                                     uint32_t operation, uint32_t *waits, struct tide_diag *diag) {
  struct tide_baseline *b = run->baseline;
  enum tide_status status = TIDE_OK;
  for (size_t i = 0; i < step->body->param_count && status == TIDE_OK; i++) {
    const struct tide_step_argument *argument = &step->arguments[i];
    if (argument->kind > TIDE_PARAM_INOUT || argument->index == TIDE_PLAN_NONE) continue;
    struct tide_baseline_block *block = b->blocks[argument->index];
    if (!block) continue;
    status = order_block(run, block, operation, step->queue, waits, diag);
    struct tide_baseline_use use = {operation, step->queue, (uint32_t)run->result.barriers,
                                    b->uses[operation]};
    if (status == TIDE_OK) status = tide_baseline_note_use(&b->pool, block, &use);
  }
  return status;
}

enum tide_status tide_baseline_order(struct tide_run *run, const struct tide_step *step,
                                     uint32_t *out_waits, uint32_t *out_signals,
                                     struct tide_diag *diag) {
  struct tide_baseline *b = run->baseline;
  uint32_t operation = b->next++;
  enum tide_status status = TIDE_OK;
  *out_waits = *out_signals = 0;
  if (b->by_events) order_by_events(run, operation, out_waits, out_signals);
  else status = order_by_barrier(run, operation, diag);
  order_with_host(run, step, out_waits, out_signals);
  if (status == TIDE_OK) status = order_memory(run, step, operation, out_waits, diag);
  b->joined[operation] = (uint32_t)run->result.barriers + 1;
  return status;
}

enum tide_status tide_baseline_step_alloc(struct tide_run *run, const struct tide_step *step) {
  struct tide_baseline *b = run->baseline;
  const struct tide_plan_buffer *buffer = &run->tables->buffers[step->buffer];
  enum tide_status status =
      tide_baseline_alloc(run, &b->pool, buffer->size, step->queue, &b->blocks[step->buffer]);
  if (status != TIDE_OK) return status;
  run->buffers[step->buffer].data = b->blocks[step->buffer]->memory;
  run->result.reused = b->pool.reused;
  run->result.fresh = b->pool.fresh;
  return TIDE_OK;
}

void tide_baseline_step_free(struct tide_run *run, const struct tide_step *step) {
  struct tide_baseline *b = run->baseline;
  tide_baseline_free(&b->pool, b->blocks[step->buffer]);
  b->blocks[step->buffer] = NULL;
}
