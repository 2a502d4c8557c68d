/* The scheduler against other task runtimes, on four shapes of graph with empty operations:
 *
 *   chain    100 k operations, each after the one before; one queue
 *   stencil  8 queues of 10 k, each operation also after its neighbour's one before
 *   fan      1 → 1000 → 1, a hundred times in a row; 8 queues
 *   dag      100 k, each after 1 to 4 random ones of the 1024 before it; 8 queues
 *
 * *online*: operations are submitted while others run. *gated*: all are submitted while the first
 * one blocks, then drained. Both are the time from the first submit to the end of the last
 * operation, without that of making and freeing queues and tasks. A round is a process of its own
 * (peers/peer.h), which runs the graph twice: the first time every operation looks whether all
 * that it depends on have run, and memory is measured; the second time is timed.
 *
 * Memory is the growth of the process's resident set from before the runtime saw the graph until
 * all of it is pending, an operation. So it has what any allocator takes, in pages that were
 * touched. */
#include "bench.h"
#include "graphs/round.h"

/* ---- figures ---- */

/* Online, being held by the host makes no difference. Gated, libgomp is out: it stops taking tasks
 * when 64 a thread are waiting. The first FOREIGN of each are written here, and have to work. */
/* clang-format off */
#define MADE_HERE(X) X(prototype, "bare prototype") X(pthread_pool, "pthread pool")
#define PEERS_online(X)                                                              \
  X(tidemark, "ours") MADE_HERE(X) X(onetbb, "oneTBB flow graph")                    \
  X(libgomp, "libgomp tasks") X(libomp, "libomp tasks") X(starpu, "StarPU")
#define PEERS_gated(X)                                                               \
  X(tidemark, "ours") X(tidemark_held, "ours, held by the host") MADE_HERE(X)        \
  X(onetbb, "oneTBB flow graph") X(libomp, "libomp tasks") X(starpu, "StarPU")
/* What each promise costs that the bare prototype does not keep (peers/promises.c). */
#define PEERS_promises(X)                                                            \
  X(tidemark, "ours") X(prototype, "bare prototype")                                 \
  X(promises_1, "and a lock, storage reused") X(promises_2, "and whoever waits is woken") \
  X(promises_3, "and failures are told") X(promises_4, "and causal knowledge")
/* clang-format on */

enum { FOREIGN = 3 };
#define FILE_NAME(file, name) #file,
static const char *const online_files[BENCH_SIDES] = {PEERS_online(FILE_NAME)};
static const char *const gated_files[BENCH_SIDES] = {PEERS_gated(FILE_NAME)};
static const char *const promises_files[BENCH_SIDES] = {PEERS_promises(FILE_NAME)};

#define SIDE_NAME(file, name) name,
#define QUEUES_CHAIN 1
#define QUEUES_STENCIL 8
#define QUEUES_FAN 8
#define QUEUES_DAG 8
#define IS_online false
#define IS_gated true
#define CONTEST(shape, mode, size, more, peers)                                                    \
  (&(const struct bench_contest){                                                                  \
      .sides = {PEERS_##peers(SIDE_NAME)},                                                         \
      .values = {{"an operation", "ns", BENCH_LESS},                                               \
                 {"of it submitting", "ns", BENCH_LESS},                                           \
                 {"memory a pending one", "B", BENCH_LESS}},                                       \
      .measure = round_measure,                                                                    \
      .what = &(const struct round_question){GRAPH_##shape, QUEUES_##shape, size, more, IS_##mode, \
                                             peers##_files, FOREIGN}})

#define FIGURES(label, shape, mode, size)                                                          \
  {.name = label "_" #mode, .contest = CONTEST(shape, mode, size, 0, mode), .rounds = 9},          \
      {.name = label "_" #mode "_1_more",                                                          \
       .contest = CONTEST(shape, mode, size, 1, mode),                                             \
       .rounds = 9},
#define SHAPE(label, shape, size)                                                                  \
  FIGURES(label, shape, online, size) FIGURES(label, shape, gated, size)

#define PROMISES_IN(label, shape, mode, size)                                                      \
  {.name = "promises_" label "_" #mode,                                                            \
   .contest = CONTEST(shape, mode, size, 0, promises),                                             \
   .rounds = 9},
#define PROMISES(label, shape, size)                                                               \
  PROMISES_IN(label, shape, online, size) PROMISES_IN(label, shape, gated, size)

/* Where the number of operations counts. */
#define POINT(label, size)                                                                         \
  {.name = "pending_" label,                                                                       \
   .contest = CONTEST(STENCIL, gated, size, 0, gated),                                             \
   .curve = "pending",                                                                             \
   .at = size,                                                                                     \
   .along = "operations",                                                                          \
   .rounds = 5},

/* clang-format off */
const struct bench_figure bench_runtimes[] = {
    SHAPE("chain", CHAIN, 100000) SHAPE("stencil", STENCIL, 80000)
    SHAPE("fan", FAN, 100200) SHAPE("dag", DAG, 100000)
    PROMISES("chain", CHAIN, 100000) PROMISES("stencil", STENCIL, 80000)
    PROMISES("fan", FAN, 100200) PROMISES("dag", DAG, 100000)
    POINT("1k", 1000) POINT("10k", 10000) POINT("100k", 100000) POINT("1m", 1000000)
    {0}};
