/* benchmarks/graphs/graph.h: graphs of operations, as runtimes take them (peers/peer.h). */
#ifndef BENCHMARKS_GRAPHS_GRAPH_H
#define BENCHMARKS_GRAPHS_GRAPH_H

#include "peers/peer.h"

#include <stddef.h>

/* CHAIN    each operation after the one before
 * STENCIL  rows of one operation a queue; each also after its neighbour's of the row before
 * FAN      1, then GRAPH_WIDTH after it, then 1 after these, and again
 * DAG      each after 1 to 4 random ones of the GRAPH_NEAR before it
 * FEW      all queues to the first GRAPH_SINKS: each operation there waits for eight of others */
enum graph_shape { GRAPH_CHAIN, GRAPH_STENCIL, GRAPH_FAN, GRAPH_DAG, GRAPH_FEW };
enum { GRAPH_WIDTH = 1000, GRAPH_NEAR = 1024, GRAPH_SINKS = 4, GRAPH_QUEUES_MOST = 1000 };

struct graph {
  struct peer_graph given;
  uint32_t room, edges, edge_capacity;
  uint32_t *first, *before, *queue, *place, *wait_first;
  struct peer_wait *waits;
  uint32_t last[GRAPH_QUEUES_MOST]; /* operations of each queue so far */
  uint32_t places[GRAPH_QUEUES_MOST];
};

/* Makes a graph of at least so many operations on so many queues. Operation 0 is the gate. */
void graph_make(struct graph *graph, enum graph_shape shape, uint32_t queues, uint32_t count);

#endif
