/* program/run_graph.h: who waits for whom in a plan, and which of these waits a
 * perfect hand would place.
 *
 * Operations are numbered in the program's order, parts of collectives among
 * them. For each the graph lists those that it waits for. While it is made, each
 * operation gets a clock: for every queue and collective, how far that has come
 * for certain when the operation is over. A dependency is needed when neither the
 * queue's own order nor another dependency of the same operation brings it: this
 * is the transitive reduction. */
#ifndef TIDE_PROGRAM_RUN_GRAPH_H
#define TIDE_PROGRAM_RUN_GRAPH_H

#include "tidemark/run.h"

#define TIDE_GRAPH_HOST UINT32_MAX /* instead of an operation: the host signals it */

struct tide_graph_node {
  uint32_t queue;
  uint32_t first, count; /* its edges: whom it waits for */
};

struct tide_graph {
  const struct tide_allocator *allocator;
  struct tide_graph_node *nodes; /* by number */
  size_t node_count;
  uint32_t *edges;
  size_t edge_count, edge_capacity;
  struct tide_plan_counts counts;
};

/* `edges`: whether to keep them (else only the counts are made). TIDE_FULL: too many operations for
 * edges; TIDE_NOMEM. The plan is rewound. */
enum tide_status tide_graph_create(struct tide_plan *plan, const struct tide_device_kind *kinds,
                                   size_t kind_count, const struct tide_allocator *allocator,
                                   bool edges, struct tide_graph *out_graph,
                                   struct tide_diag *diag);
void tide_graph_destroy(struct tide_graph *graph);

/* Do the queues of this device finish in order? */
bool tide_graph_in_order(const struct tide_plan_tables *tables, uint32_t queue,
                         const struct tide_device_kind *kinds, size_t kind_count);

#endif
