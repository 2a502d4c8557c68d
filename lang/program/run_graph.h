/* program/run_graph.h: the dependency graph of a plan, and the number of waits in its transitive
 * reduction.
 *
 * Operations are numbered in the program's order, parts of collectives among them. The graph lists
 * the predecessors of each operation. While the graph is built, each operation gets a clock: for
 * every queue and collective, the epoch that is certainly complete when the operation is over. A
 * dependency is needed when neither the queue's own order nor another dependency of the same
 * operation implies it. */
#ifndef TIDE_PROGRAM_RUN_GRAPH_H
#define TIDE_PROGRAM_RUN_GRAPH_H

#include "tidemark/run.h"

#define TIDE_GRAPH_HOST UINT32_MAX /* instead of an operation: the host signals */

struct tide_graph_node {
  uint32_t queue;
  uint32_t first, count; /* edges: the operations that it waits for */
};

struct tide_graph {
  const struct tide_allocator *allocator;
  struct tide_graph_node *nodes; /* by number */
  size_t node_count;
  uint32_t *edges;
  size_t edge_count, edge_capacity;
  struct tide_plan_counts counts;
};

/* Builds the graph. `edges`: keep the edges; else only the counts are made. TIDE_FULL: too many
 * operations; TIDE_NOMEM. Rewinds the plan. */
enum tide_status tide_graph_create(struct tide_plan *plan, const struct tide_device_kind *kinds,
                                   size_t kind_count, const struct tide_allocator *allocator,
                                   bool edges, struct tide_graph *out_graph,
                                   struct tide_diag *diag);
void tide_graph_destroy(struct tide_graph *graph);

/* True if the device of the queue finishes operations in order. */
bool tide_graph_in_order(const struct tide_plan_tables *tables, uint32_t queue,
                         const struct tide_device_kind *kinds, size_t kind_count);

#endif
