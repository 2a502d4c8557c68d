#include "program/run_graph.h"
#include "base/alloc.h"
#include "base/text.h"
#include "program/run_order.h"

#define OPERATIONS_MOST 1000000u     /* limit for every graph */
#define CLOCK_WORDS_MOST (32u << 20) /* 128 MiB of clocks */

/* A value of a timeline and its signaller. */
struct signalled {
  uint64_t value;
  uint32_t operation; /* or TIDE_GRAPH_HOST */
};

struct signallers {
  struct signalled *list; /* ascending by value */
  size_t count, capacity;
};

/* A dependency of an operation: an axis (queues first, then collectives), up to an epoch. */
struct need {
  uint32_t axis, epoch;
  const uint32_t *clock; /* clock of that epoch; NULL: clocks are not kept */
};

struct building {
  const struct tide_plan_tables *tables;
  struct tide_graph *graph;
  struct tide_run_order *order;
  bool edges;
  bool *in_order;                /* by queue */
  struct signallers *signallers; /* by timeline */
  uint32_t *epochs;              /* by queue: operations entered so far */
  uint32_t *epoch_of;            /* by number */
  uint32_t **members;            /* by collective: the parts' operations, instance after instance */
  uint32_t *parts;               /* by collective: parts that have entered */
  size_t axes;                   /* queues and collectives */
  uint32_t *clocks;              /* by number × axes: epochs complete when the operation is over */
  uint32_t *gates; /* by queue × axes: epochs complete before the next operation of the queue */
  uint32_t **instances; /* by collective: clocks, instance after instance */
  struct need *needs;   /* dependencies of the current operation */
  size_t need_capacity;
  uint32_t next; /* number of the next operation to arrive */
};

bool tide_graph_in_order(const struct tide_plan_tables *tables, uint32_t queue,
                         const struct tide_device_kind *kinds, size_t kind_count) {
  const char *kind = tables->devices[tables->queues[queue].device].kind;
  for (size_t i = 0; i < kind_count; i++)
    if (strcmp(kinds[i].name, kind) == 0) return kinds[i].in_order;
  return true;
}

/* ---- clocks ----------------------------------------------------------------------- */

static uint32_t *clock_of(const struct building *b, uint32_t operation) {
  return b->clocks ? b->clocks + (size_t)operation * b->axes : NULL;
}
static uint32_t *gate_of(const struct building *b, uint32_t queue) {
  return b->gates + (size_t)queue * b->axes;
}

static void join_clocks(uint32_t *to, const uint32_t *from, size_t axes) {
  for (size_t i = 0; i < axes; i++)
    if (from[i] > to[i]) to[i] = from[i];
}

static bool is_covered(const struct building *b, size_t count, size_t which) {
  const struct need *need = &b->needs[which];
  for (size_t i = 0; i < count; i++) {
    const struct need *other = &b->needs[i];
    if (i == which) continue;
    if (other->axis == need->axis && other->epoch == need->epoch) {
      if (i < which) return true; /* a duplicate */
      continue;
    }
    if (other->clock[need->axis] >= need->epoch) return true;
  }
  return false;
}

/* Counts the dependencies that neither the queue's gate nor another dependency implies. Advances
 * the gate. */
static void reduce_needs(struct building *b, uint32_t operation, uint32_t queue, size_t count) {
  struct tide_plan_counts *counts = &b->graph->counts;
  uint32_t *gate = gate_of(b, queue), *clock = clock_of(b, operation);
  for (size_t i = 0; i < count; i++) {
    if (gate[b->needs[i].axis] >= b->needs[i].epoch || is_covered(b, count, i)) continue;
    counts->fewest++;
    counts->fewest_cross += b->needs[i].axis != queue;
  }
  for (size_t i = 0; i < count; i++) join_clocks(gate, b->needs[i].clock, b->axes);
  memcpy(clock, gate, b->axes * sizeof *clock);
  clock[queue] = b->epoch_of[operation];
  if (b->in_order[queue]) gate[queue] = clock[queue];
}

/* ---- collectives --------------------------------------------------------------------- */

/* Joins the clocks of an instance's parts. All parts start when all have arrived, so each comes
 * after every predecessor of any part. The parts themselves run side by side. */
static void join_parts(struct building *b, uint32_t collective, const uint32_t *parts,
                       uint32_t instance) {
  const struct tide_plan_collective *table = &b->tables->collectives[collective];
  uint32_t *all = b->instances[collective] + (size_t)(instance - 1) * b->axes;
  size_t count = table->queue_count;
  for (size_t i = 0; i < count; i++) join_clocks(all, clock_of(b, parts[i]), b->axes);
  for (size_t i = 0; i < count; i++) {
    uint32_t queue = table->queues[i];
    uint32_t *clock = clock_of(b, parts[i]), *gate = gate_of(b, queue);
    for (size_t j = 0; j < count; j++)
      all[table->queues[j]] = b->in_order[table->queues[j]] ? b->epoch_of[parts[j]] - 1 : 0;
    uint32_t own = b->in_order[queue] ? b->epoch_of[parts[i]] : gate[queue];
    join_clocks(clock, all, b->axes);
    join_clocks(gate, clock, b->axes);
    gate[queue] = own;
  }
  for (size_t j = 0; j < count; j++) all[table->queues[j]] = b->epoch_of[parts[j]];
  all[b->tables->queue_count + collective] = instance;
}

static enum tide_status enter_part(struct building *b, const struct tide_step *step,
                                   uint32_t operation) {
  const struct tide_plan_collective *table = &b->tables->collectives[step->collective];
  uint32_t *parts = b->members[step->collective] +
                    b->parts[step->collective] / table->queue_count * table->queue_count;
  parts[step->member] = operation;
  if (++b->parts[step->collective] % table->queue_count == 0 && b->clocks)
    join_parts(b, step->collective, parts, (uint32_t)step->instance);
  return TIDE_OK;
}

/* ---- edges ------------------------------------------------------------------------------ */

static enum tide_status add_edge(struct building *b, struct tide_graph_node *node,
                                 uint32_t producer) {
  struct tide_graph *graph = b->graph;
  if (!b->edges) return TIDE_OK;
  for (uint32_t i = node->first; i < node->first + node->count; i++)
    if (graph->edges[i] == producer) return TIDE_OK;
  if (graph->edge_count == graph->edge_capacity) {
    size_t capacity = graph->edge_capacity ? graph->edge_capacity * 2 : 1024;
    if (capacity > UINT32_MAX) return TIDE_NOMEM;
    uint32_t *edges = tide_alloc(graph->allocator, capacity, sizeof *edges);
    if (!edges) return TIDE_NOMEM;
    if (graph->edge_count) memcpy(edges, graph->edges, graph->edge_count * sizeof *edges);
    tide_free(graph->allocator, graph->edges, graph->edge_capacity, sizeof *edges);
    graph->edges = edges;
    graph->edge_capacity = capacity;
  }
  graph->edges[graph->edge_count++] = producer;
  node->count++;
  return TIDE_OK;
}

/* Returns the signal of the smallest value >= the awaited one; NULL: none. */
static const struct signalled *find_signaller(const struct building *b,
                                              const struct tide_step_value *wait) {
  const struct signallers *from = &b->signallers[wait->timeline];
  size_t low = 0, high = from->count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (from->list[middle].value < wait->value) low = middle + 1;
    else high = middle;
  }
  return low < from->count ? &from->list[low] : NULL;
}

static enum tide_status note_signal(struct building *b, const struct tide_step_value *signal,
                                    uint32_t operation) {
  struct signallers *to = &b->signallers[signal->timeline];
  if (to->count == to->capacity) {
    size_t capacity = to->capacity ? to->capacity * 2 : 8;
    struct signalled *list = tide_alloc(b->graph->allocator, capacity, sizeof *list);
    if (!list) return TIDE_NOMEM;
    if (to->count) memcpy(list, to->list, to->count * sizeof *list);
    tide_free(b->graph->allocator, to->list, to->capacity, sizeof *list);
    to->list = list;
    to->capacity = capacity;
  }
  to->list[to->count++] = (struct signalled){signal->value, operation};
  return TIDE_OK;
}

static void add_need(struct building *b, size_t *count, uint32_t axis, uint32_t epoch,
                     const uint32_t *clock) {
  if (b->clocks) b->needs[*count] = (struct need){axis, epoch, clock};
  ++*count;
}

static enum tide_status wait_for_instance(struct building *b, struct tide_graph_node *node,
                                          const struct tide_step_value *wait, size_t *needs) {
  uint32_t collective = b->tables->timelines[wait->timeline].collective;
  const struct tide_plan_collective *table = &b->tables->collectives[collective];
  const uint32_t *parts = b->members[collective] + (wait->value - 1) * table->queue_count;
  enum tide_status status = TIDE_OK;
  for (size_t i = 0; i < table->queue_count && status == TIDE_OK; i++)
    status = add_edge(b, node, parts[i]);
  b->graph->counts.cross++;
  const uint32_t *clock =
      b->clocks ? b->instances[collective] + (size_t)(wait->value - 1) * b->axes : NULL;
  add_need(b, needs, (uint32_t)b->tables->queue_count + collective, (uint32_t)wait->value, clock);
  return status;
}

static enum tide_status wait_for(struct building *b, struct tide_graph_node *node,
                                 const struct tide_step_value *wait, size_t *needs) {
  const struct tide_plan_timeline *timeline = &b->tables->timelines[wait->timeline];
  struct tide_plan_counts *counts = &b->graph->counts;
  counts->waits++;
  if (timeline->collective != TIDE_PLAN_NONE && wait->value)
    return wait_for_instance(b, node, wait, needs);
  const struct signalled *signalled =
      wait->value > timeline->initial ? find_signaller(b, wait) : NULL;
  if (!signalled || signalled->operation == TIDE_GRAPH_HOST) {
    counts->host++;
    return TIDE_OK;
  }
  uint32_t producer = signalled->operation, queue = b->graph->nodes[producer].queue;
  counts->cross += queue != node->queue;
  add_need(b, needs, queue, b->epoch_of[producer], clock_of(b, producer));
  return add_edge(b, node, producer);
}

static enum tide_status enter_node(void *self, const struct tide_step *step, void *token,
                                   struct tide_diag *diag) {
  struct building *b = self;
  uint32_t operation = token ? (uint32_t)(uintptr_t)token - 1 : b->next;
  struct tide_graph_node *node = &b->graph->nodes[operation];
  enum tide_status status = TIDE_OK;
  size_t needs = 0;
  node->queue = step->queue;
  node->first = (uint32_t)b->graph->edge_count;
  b->epoch_of[operation] = ++b->epochs[step->queue];
  for (size_t i = 0; i < step->wait_count && status == TIDE_OK; i++)
    status = wait_for(b, node, &step->waits[i], &needs);
  /* With events, an operation waits for tags before its start: it cannot take. */
  for (size_t i = 0; b->edges && i < step->tag_count && status == TIDE_OK; i++)
    status = wait_for(b, node, &step->tags[i], &needs);
  if (status == TIDE_OK && b->clocks) reduce_needs(b, operation, step->queue, needs);
  for (size_t i = 0; i < step->signal_count && status == TIDE_OK; i++)
    status = note_signal(b, &step->signals[i], operation);
  if (status == TIDE_OK && step->kind == TIDE_STEP_PART) status = enter_part(b, step, operation);
  return status == TIDE_OK ? TIDE_OK : tide_diag_set(diag, status, "out of memory");
}

static void *keep_step(void *self, const struct tide_step *step) {
  (void)step;
  return (void *)(uintptr_t)(((struct building *)self)->next + 1);
}

/* ---- making --------------------------------------------------------------------------------- */

static bool make_collectives(struct building *b) {
  const struct tide_allocator *a = b->graph->allocator;
  for (size_t i = 0; i < b->tables->collective_count; i++) {
    const struct tide_plan_collective *table = &b->tables->collectives[i];
    b->members[i] = tide_alloc(a, table->queue_count * table->instances, sizeof(uint32_t));
    if (!b->members[i]) return false;
    if (!b->clocks) continue;
    b->instances[i] = tide_alloc(a, b->axes * table->instances, sizeof(uint32_t));
    if (!b->instances[i]) return false;
  }
  return true;
}

static bool make_tables(struct building *b) {
  const struct tide_plan_tables *tables = b->tables;
  const struct tide_allocator *a = b->graph->allocator;
  size_t operations = b->graph->node_count;
  b->axes = tables->queue_count + tables->collective_count;
  b->need_capacity = 1;
  for (size_t i = 0; i < tables->queue_count; i++)
    if (tables->queues[i].most_waits > b->need_capacity)
      b->need_capacity = tables->queues[i].most_waits;
  b->graph->nodes = tide_alloc(a, operations, sizeof *b->graph->nodes);
  b->in_order = tide_alloc(a, tables->queue_count, sizeof *b->in_order);
  b->signallers = tide_alloc(a, tables->timeline_count, sizeof *b->signallers);
  b->epochs = tide_alloc(a, tables->queue_count, sizeof *b->epochs);
  b->epoch_of = tide_alloc(a, operations, sizeof *b->epoch_of);
  b->members = tide_alloc(a, tables->collective_count, sizeof *b->members);
  b->parts = tide_alloc(a, tables->collective_count, sizeof *b->parts);
  b->instances = tide_alloc(a, tables->collective_count, sizeof *b->instances);
  b->needs = tide_alloc(a, b->need_capacity, sizeof *b->needs);
  size_t clocks = operations + tables->queue_count; /* and gates: queues may outnumber operations */
  if (b->axes && clocks <= CLOCK_WORDS_MOST / b->axes) {
    b->clocks = tide_alloc(a, operations * b->axes, sizeof *b->clocks);
    b->gates = tide_alloc(a, tables->queue_count * b->axes, sizeof *b->gates);
    if (!b->clocks || !b->gates) return false;
  }
  return b->graph->nodes && b->in_order && b->signallers && b->epochs && b->epoch_of &&
         b->members && b->parts && b->instances && b->needs && make_collectives(b);
}

static void free_building(struct building *b) {
  const struct tide_plan_tables *tables = b->tables;
  const struct tide_allocator *a = b->graph->allocator;
  size_t operations = b->graph->node_count;
  tide_run_order_destroy(b->order);
  for (size_t i = 0; b->signallers && i < tables->timeline_count; i++)
    tide_free(a, b->signallers[i].list, b->signallers[i].capacity, sizeof *b->signallers[i].list);
  for (size_t i = 0; b->members && i < tables->collective_count; i++) {
    const struct tide_plan_collective *table = &tables->collectives[i];
    tide_free(a, b->members[i], table->queue_count * table->instances, sizeof(uint32_t));
    if (b->instances) tide_free(a, b->instances[i], b->axes * table->instances, sizeof(uint32_t));
  }
  tide_free(a, b->in_order, tables->queue_count, sizeof *b->in_order);
  tide_free(a, b->signallers, tables->timeline_count, sizeof *b->signallers);
  tide_free(a, b->epochs, tables->queue_count, sizeof *b->epochs);
  tide_free(a, b->epoch_of, operations, sizeof *b->epoch_of);
  tide_free(a, b->members, tables->collective_count, sizeof *b->members);
  tide_free(a, b->parts, tables->collective_count, sizeof *b->parts);
  tide_free(a, b->instances, tables->collective_count, sizeof *b->instances);
  tide_free(a, b->needs, b->need_capacity, sizeof *b->needs);
  tide_free(a, b->clocks, operations * b->axes, sizeof *b->clocks);
  tide_free(a, b->gates, tables->queue_count * b->axes, sizeof *b->gates);
}

static enum tide_status walk_plan(struct building *b, struct tide_plan *plan,
                                  struct tide_diag *diag) {
  struct tide_step step;
  tide_plan_rewind(plan);
  for (;;) {
    enum tide_status status = tide_plan_next(plan, &step, diag);
    if (status != TIDE_OK) return status;
    if (step.kind == TIDE_STEP_END) return tide_run_order_finish(b->order, diag);
    bool host = step.kind == TIDE_STEP_HOST_SIGNAL || step.kind == TIDE_STEP_HOST_EXTERNAL;
    for (size_t i = 0; host && i < step.signal_count; i++)
      if (note_signal(b, &step.signals[i], TIDE_GRAPH_HOST) != TIDE_OK)
        return tide_diag_set(diag, TIDE_NOMEM, "out of memory");
    status = tide_run_order_step(b->order, &step, diag);
    if (status != TIDE_OK) return status;
    if (step.kind == TIDE_STEP_OPERATION || step.kind == TIDE_STEP_PART) b->next++;
  }
}

enum tide_status tide_graph_create(struct tide_plan *plan, const struct tide_device_kind *kinds,
                                   size_t kind_count, const struct tide_allocator *allocator,
                                   bool edges, struct tide_graph *out_graph,
                                   struct tide_diag *diag) {
  const struct tide_plan_tables *tables = tide_plan_tables(plan);
  *out_graph = (struct tide_graph){.allocator = allocator};
  out_graph->counts.waits = tables->waits;
  if (tables->operations > OPERATIONS_MOST)
    return tide_diag_set(diag, TIDE_FULL, "%lu operations are too many to compare; at most %u",
                         (unsigned long)tables->operations, OPERATIONS_MOST);
  out_graph->counts.waits = 0;
  out_graph->node_count = (size_t)tables->operations;
  struct building b = {.tables = tables, .graph = out_graph, .edges = edges};
  struct tide_run_order_client client = {&b, enter_node, keep_step, NULL};
  enum tide_status status = make_tables(&b) ? TIDE_OK : TIDE_NOMEM;
  if (status == TIDE_OK) status = tide_run_order_create(tables, allocator, &client, &b.order);
  if (status != TIDE_OK) tide_diag_set(diag, status, "out of memory");
  for (size_t i = 0; status == TIDE_OK && i < tables->queue_count; i++)
    b.in_order[i] = tide_graph_in_order(tables, (uint32_t)i, kinds, kind_count);
  if (status == TIDE_OK) status = walk_plan(&b, plan, diag);
  out_graph->counts.known = status == TIDE_OK && b.clocks;
  free_building(&b);
  tide_plan_rewind(plan);
  if (status != TIDE_OK) tide_graph_destroy(out_graph);
  return status;
}

void tide_graph_destroy(struct tide_graph *graph) {
  if (!graph->allocator) return;
  tide_free(graph->allocator, graph->nodes, graph->node_count, sizeof *graph->nodes);
  tide_free(graph->allocator, graph->edges, graph->edge_capacity, sizeof *graph->edges);
  graph->nodes = NULL;
  graph->edges = NULL;
}

/* ---- counts ------------------------------------------------------------------------------------
 */

enum tide_status tide_plan_count(struct tide_plan *plan, const struct tide_device_kind *kinds,
                                 size_t kind_count, const struct tide_allocator *allocator,
                                 struct tide_plan_counts *out_counts, struct tide_diag *diag) {
  struct tide_graph graph;
  enum tide_status status =
      tide_graph_create(plan, kinds, kind_count, allocator, false, &graph, diag);
  *out_counts = graph.counts;
  tide_graph_destroy(&graph);
  return status == TIDE_FULL ? TIDE_OK : status;
}

static void on_event(void *self, const struct tide_event *event) {
  struct tide_wait_counter *counter = self;
  if (event->kind == TIDE_EVENT_WAIT_CLASS) {
    unsigned class_ = event->detail & 255, reason = event->detail >> 8 & 255;
    counter->issued_cross += class_ == TIDE_WAIT_ISSUED && event->cause_axis != event->axis;
    counter->elided_known += class_ == TIDE_WAIT_ELIDED && reason == TIDE_REASON_KNOWN;
    counter->elided_finished += class_ == TIDE_WAIT_ELIDED && reason == TIDE_REASON_FINISHED;
    counter->elided_sibling += class_ == TIDE_WAIT_ELIDED && reason == TIDE_REASON_SIBLING;
  }
  if (counter->next) counter->next->event(counter->next->self, event);
}

void tide_wait_counter_init(struct tide_wait_counter *counter, const struct tide_sink *next) {
  *counter = (struct tide_wait_counter){
      .sink = {.event = on_event, .wants_time = next && next->wants_time, .self = counter},
      .next = next,
  };
}
