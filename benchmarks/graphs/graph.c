/* The graphs that runtimes are measured with. */
#include "graphs/graph.h"

#include "base/random.h"
#include "bench.h"

#include <stdlib.h>
#include <string.h>

static void *grow(void *memory, size_t count, size_t size) {
  memory = realloc(memory, count * size);
  if (!memory) bench_wrong("memory");
  return memory;
}

static void edge(struct graph *graph, uint32_t before) {
  if (graph->edges == graph->edge_capacity) {
    graph->edge_capacity = graph->edge_capacity ? 2 * graph->edge_capacity : 1024;
    graph->before = grow(graph->before, graph->edge_capacity, sizeof *graph->before);
    graph->waits = grow(graph->waits, graph->edge_capacity, sizeof *graph->waits);
  }
  graph->before[graph->edges++] = before;
}

/* The edges of the operation are complete: it enters the queue. */
static uint32_t operation(struct graph *graph, uint32_t queue) {
  uint32_t i = graph->given.count++;
  if (graph->given.count >= graph->room) {
    graph->room = graph->room ? 2 * graph->room : 1024;
    uint32_t **arrays[] = {&graph->first, &graph->queue, &graph->place, &graph->wait_first};
    for (size_t a = 0; a < 4; a++) *arrays[a] = grow(*arrays[a], graph->room + 1, sizeof(uint32_t));
  }
  if (i == 0) graph->first[0] = graph->wait_first[0] = 0;
  graph->queue[i] = queue;
  graph->place[i] = ++graph->last[queue];
  graph->first[i + 1] = graph->edges;
  uint32_t *places = graph->places, queues = graph->given.queues, wait = graph->wait_first[i];
  memset(places, 0, queues * sizeof *places);
  for (uint32_t e = graph->first[i]; e < graph->first[i + 1]; e++) {
    uint32_t from = graph->queue[graph->before[e]], place = graph->place[graph->before[e]];
    if (from != queue && place > places[from]) places[from] = place;
  }
  for (uint32_t q = 0; q < queues; q++)
    if (places[q]) graph->waits[wait++] = (struct peer_wait){q, places[q]};
  graph->wait_first[i + 1] = wait;
  return i;
}

static void add_chain(struct graph *graph, uint32_t count) {
  while (graph->given.count < count) {
    edge(graph, graph->given.count - 1);
    operation(graph, 0);
  }
}

static void add_stencil(struct graph *graph, uint32_t count) {
  uint32_t row = 0, queues = graph->given.queues; /* the first of the row before; 0: none */
  while (graph->given.count < count) {
    uint32_t above = row;
    row = graph->given.count;
    for (uint32_t q = 0; q < queues; q++) {
      edge(graph, above ? above + q : 0);
      if (above) edge(graph, above + (q + 1) % queues);
      operation(graph, q);
    }
  }
}

static void add_fan(struct graph *graph, uint32_t count) {
  uint32_t width = bench_smoke() ? GRAPH_WIDTH / 10 : GRAPH_WIDTH, end = 0;
  while (graph->given.count < count) {
    edge(graph, end);
    uint32_t source = operation(graph, 0);
    for (uint32_t i = 0; i < width; i++) {
      edge(graph, source);
      operation(graph, i % graph->given.queues);
    }
    for (uint32_t i = 1; i <= width; i++) edge(graph, source + i);
    end = operation(graph, 0);
  }
}

static void add_dag(struct graph *graph, uint32_t count) {
  struct tide_random random = {7};
  while (graph->given.count < count) {
    uint32_t i = graph->given.count, reach = i < GRAPH_NEAR ? i : GRAPH_NEAR, chosen[4];
    uint64_t wanted = 1 + tide_random_below(&random, 4);
    uint32_t n = 0;
    for (uint64_t k = 0; k < wanted; k++) {
      uint32_t before = i - 1 - (uint32_t)tide_random_below(&random, reach), c = 0;
      while (c < n && chosen[c] != before) c++;
      if (c < n) continue; /* twice the same */
      chosen[n++] = before;
      edge(graph, before);
    }
    operation(graph, i % graph->given.queues);
  }
}

/* The producers in turns; behind each eight of them, a sink that waits for all eight. A producer's
 * next operation is after the sink of its last one. */
static void add_few(struct graph *graph, uint32_t count) {
  enum { EACH = 8 };
  uint32_t producers = graph->given.queues - GRAPH_SINKS, next = 0, sink = 0;
  uint32_t sunk[GRAPH_QUEUES_MOST] = {0}, made[EACH], turns[EACH];
  while (graph->given.count < count) {
    for (uint32_t k = 0; k < EACH; k++, next++) {
      turns[k] = next % producers;
      edge(graph, sunk[turns[k]]);
      made[k] = operation(graph, GRAPH_SINKS + turns[k]);
    }
    for (uint32_t k = 0; k < EACH; k++) edge(graph, made[k]);
    uint32_t end = operation(graph, sink++ % GRAPH_SINKS);
    for (uint32_t k = 0; k < EACH; k++) sunk[turns[k]] = end;
  }
}

void graph_make(struct graph *graph, enum graph_shape shape, uint32_t queues, uint32_t count) {
  static void (*const add[])(struct graph *, uint32_t) = {[GRAPH_CHAIN] = add_chain,
                                                          [GRAPH_STENCIL] = add_stencil,
                                                          [GRAPH_FAN] = add_fan,
                                                          [GRAPH_DAG] = add_dag,
                                                          [GRAPH_FEW] = add_few};
  memset(graph, 0, sizeof *graph);
  graph->given.queues = queues;
  edge(graph, 0); /* so that there are arrays */
  graph->edges = 0;
  operation(graph, 0); /* the gate */
  add[shape](graph, count);
  graph->given.first = graph->first;
  graph->given.before = graph->before;
  graph->given.queue = graph->queue;
  graph->given.place = graph->place;
  graph->given.wait_first = graph->wait_first;
  graph->given.waits = graph->waits;
}
