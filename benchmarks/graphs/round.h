/* benchmarks/graphs/round.h: one graph, run by one runtime in a process of its own. */
#ifndef BENCHMARKS_GRAPHS_ROUND_H
#define BENCHMARKS_GRAPHS_ROUND_H

#include "graphs/graph.h"

struct round_question {
  enum graph_shape shape;
  uint32_t queues, count;
  uint32_t more_workers; /* than one fewer than there are cores */
  bool gated;
  const char *const *files; /* of the sides */
  unsigned own;             /* the first sides: they are written here, and have to work */
};

enum round_value { ROUND_TOTAL, ROUND_SUBMIT, ROUND_MEMORY }; /* an operation */

/* Measures a side, as bench_contest has it. */
const char *round_measure(const void *question, unsigned side, double *out_values);

#endif
