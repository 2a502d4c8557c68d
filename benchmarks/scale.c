/* What an operation costs as the queues become more, with the default capacity of frontiers, which
 * is 16 entries: graphs of empty operations over 8 to 1000 queues. A frontier cannot list all of 17
 * queues and more, so waits are issued that causality implies. That may cost elisions, not time. */
#include "bench.h"
#include "graphs/round.h"

/* clang-format off */
#define SIDES(X) X(tidemark, "ours") X(pthread_pool, "pthread pool") X(prototype, "bare prototype")
/* clang-format on */
#define SIDE_NAME(file, name) name,
#define SIDE_FILE(file, name) #file,
static const char *const files[BENCH_SIDES] = {SIDES(SIDE_FILE)};

#define FIGURE(label, shape, mode, is_gated, count)                                                \
  {.name = label "_" #mode "_" #count,                                                             \
   .contest =                                                                                      \
       &(const struct bench_contest){                                                              \
           .sides = {SIDES(SIDE_NAME)},                                                            \
           .values = {{"an operation", "ns", BENCH_LESS}, {"of it submitting", "ns", BENCH_LESS}}, \
           .measure = round_measure,                                                               \
           .what = &(const struct round_question){shape, count, 100000, 0, is_gated, files, 2}},   \
   .curve = label "_" #mode,                                                                       \
   .at = count,                                                                                    \
   .along = "queues",                                                                              \
   .rounds = 5},
#define QUEUES(label, shape, mode, is_gated)                                                       \
  FIGURE(label, shape, mode, is_gated, 8)                                                          \
  FIGURE(label, shape, mode, is_gated, 16)                                                         \
  FIGURE(label, shape, mode, is_gated, 17)                                                         \
  FIGURE(label, shape, mode, is_gated, 24)                                                         \
  FIGURE(label, shape, mode, is_gated, 64)                                                         \
  FIGURE(label, shape, mode, is_gated, 256)                                                        \
  FIGURE(label, shape, mode, is_gated, 1000)
#define SHAPE(label, shape) QUEUES(label, shape, gated, true) QUEUES(label, shape, online, false)

const struct bench_figure bench_scale[] = {SHAPE("dag", GRAPH_DAG) SHAPE("ring", GRAPH_STENCIL)
                                               SHAPE("few", GRAPH_FEW){0}};
