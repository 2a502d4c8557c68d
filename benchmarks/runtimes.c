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
#include "peers/peer.h"

#include "base/random.h"

#include <dlfcn.h>
#include <limits.h>
#include <malloc.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum shape { CHAIN, STENCIL, FAN, DAG };
enum { QUEUES = 8, WIDTH = 1000, NEAR = 1024, FEW = 50 };

/* ---- graphs ---- */

struct graph {
  struct peer_graph given;
  uint32_t room, edges, edge_capacity;
  uint32_t *first, *before, *queue, *place, *wait_first;
  struct peer_wait *waits;
  uint32_t last[QUEUES]; /* operations of each queue so far */
};

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
  uint32_t places[QUEUES] = {0}, wait = graph->wait_first[i];
  for (uint32_t e = graph->first[i]; e < graph->first[i + 1]; e++) {
    uint32_t from = graph->queue[graph->before[e]], place = graph->place[graph->before[e]];
    if (from != queue && place > places[from]) places[from] = place;
  }
  for (uint32_t q = 0; q < QUEUES; q++)
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
  uint32_t row = 0; /* the first of the row before; 0: there is none */
  while (graph->given.count < count) {
    uint32_t above = row;
    row = graph->given.count;
    for (uint32_t q = 0; q < QUEUES; q++) {
      edge(graph, above ? above + q : 0);
      if (above) edge(graph, above + (q + 1) % QUEUES);
      operation(graph, q);
    }
  }
}

static void add_fan(struct graph *graph, uint32_t count) {
  uint32_t width = bench_smoke() ? WIDTH / 10 : WIDTH, end = 0;
  while (graph->given.count < count) {
    edge(graph, end);
    uint32_t source = operation(graph, 0);
    for (uint32_t i = 0; i < width; i++) {
      edge(graph, source);
      operation(graph, i % QUEUES);
    }
    for (uint32_t i = 1; i <= width; i++) edge(graph, source + i);
    end = operation(graph, 0);
  }
}

static void add_dag(struct graph *graph, uint32_t count) {
  struct tide_random random = {7};
  while (graph->given.count < count) {
    uint32_t i = graph->given.count, reach = i < NEAR ? i : NEAR, chosen[4];
    uint64_t wanted = 1 + tide_random_below(&random, 4);
    uint32_t n = 0;
    for (uint64_t k = 0; k < wanted; k++) {
      uint32_t before = i - 1 - (uint32_t)tide_random_below(&random, reach), c = 0;
      while (c < n && chosen[c] != before) c++;
      if (c < n) continue; /* twice the same */
      chosen[n++] = before;
      edge(graph, before);
    }
    operation(graph, i % QUEUES);
  }
}

static void make_graph(struct graph *graph, enum shape shape, uint32_t count) {
  memset(graph, 0, sizeof *graph);
  edge(graph, 0); /* so that there are arrays */
  graph->edges = 0;
  operation(graph, 0); /* the gate */
  if (shape == CHAIN) add_chain(graph, count);
  else if (shape == STENCIL) add_stencil(graph, count);
  else if (shape == FAN) add_fan(graph, count);
  else add_dag(graph, count);
  graph->given.first = graph->first;
  graph->given.before = graph->before;
  graph->given.queues = shape == CHAIN ? 1 : QUEUES;
  graph->given.queue = graph->queue;
  graph->given.place = graph->place;
  graph->given.wait_first = graph->wait_first;
  graph->given.waits = graph->waits;
}

/* ---- one run ---- */

struct question {
  enum shape shape;
  uint32_t count;
  uint32_t more_workers; /* than one fewer than there are cores */
  bool gated;
  const char *const *files; /* of the sides */
};

struct measured {
  struct peer_run run;
  unsigned char *ran; /* of each operation, how often */
  bool checking;
  sem_t gate;
  uint64_t start, submitted;
  double resident; /* bytes, when all was pending */
};

/* Bytes that are in memory and not just a page of zeros. */
static double resident(void) {
  FILE *file = fopen("/proc/self/smaps_rollup", "r");
  char line[256];
  double kilobytes = 0;
  while (file && fgets(line, sizeof line, file))
    if (sscanf(line, "Rss: %lf", &kilobytes) == 1) break;
  if (file) fclose(file);
  return kilobytes * 1024;
}

static void check_operation(const struct measured *m, uint32_t i) {
  const struct peer_graph *graph = m->run.graph;
  for (uint32_t e = graph->first[i]; e < graph->first[i + 1]; e++)
    BENCH_CHECK(__atomic_load_n(&m->ran[graph->before[e]], __ATOMIC_RELAXED) == 1);
}

static void body(void *argument, uint32_t i) {
  struct measured *m = argument;
  if (i == 0 && m->run.gated)
    while (sem_wait(&m->gate) != 0) continue;
  if (m->checking) check_operation(m, i);
  __atomic_store_n(&m->ran[i], (unsigned char)(m->ran[i] + 1), __ATOMIC_RELAXED);
}

static void submitted(void *argument) {
  struct measured *m = argument;
  m->submitted = bench_now();
  if (m->checking && m->run.gated) m->resident = resident();
  if (m->run.gated) sem_post(&m->gate);
}

struct peer {
  const char *(*open)(uint32_t workers, const char *folder);
  const char *(*prepare)(const struct peer_run *run);
  const char *(*run)(const struct peer_run *run);
  void (*finish)(const struct peer_run *run);
};

static const char *peers_folder(void) {
  static char path[PATH_MAX + 8];
  snprintf(path, sizeof path, "%s/peers", bench_folder());
  return path;
}

static const char *load(const char *name, struct peer *peer) {
  static char path[PATH_MAX + 64], why[160];
  snprintf(path, sizeof path, "%s/%s.why", peers_folder(), name);
  FILE *file = fopen(path, "r");
  if (file && fgets(why, sizeof why, file)) {
    why[strcspn(why, "\n")] = 0;
    return why;
  }
  if (file) fclose(file);
  snprintf(path, sizeof path, "%s/%s.so", peers_folder(), name);
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!library) return dlerror();
  *(void **)&peer->open = dlsym(library, "peer_open");
  *(void **)&peer->prepare = dlsym(library, "peer_prepare");
  *(void **)&peer->run = dlsym(library, "peer_do");
  *(void **)&peer->finish = dlsym(library, "peer_finish");
  return peer->open && peer->prepare && peer->run && peer->finish ? NULL : "it lacks a function";
}

static const char *round_of(const struct peer *peer, struct measured *m, uint64_t *out_total) {
  memset(m->ran, 0, m->run.graph->count);
  const char *why = peer->prepare(&m->run);
  if (why) return why;
  m->start = bench_now();
  why = peer->run(&m->run);
  *out_total = bench_now() - m->start;
  if (why) return why;
  for (uint32_t i = 0; i < m->run.graph->count; i++) BENCH_CHECK(m->ran[i] == 1);
  peer->finish(&m->run);
  return NULL;
}

enum value { TOTAL, SUBMIT, MEMORY };

static const char *measure_peer(const char *name, const struct question *q, double *out) {
  struct graph graph;
  struct peer peer;
  struct measured m = {.run = {.gated = q->gated, .body = body, .submitted = submitted}};
  long cores = sysconf(_SC_NPROCESSORS_ONLN);
  uint32_t workers = (cores > 1 ? (uint32_t)cores - 1 : 1) + q->more_workers;
  make_graph(&graph, q->shape, bench_smoke() ? q->count / FEW : q->count);
  m.run.graph = &graph.given;
  m.run.argument = &m;
  m.ran = malloc(graph.given.count);
  if (!m.ran || sem_init(&m.gate, 0, 0) != 0) return "no memory";
  memset(m.ran, 0, graph.given.count);
  const char *why = load(name, &peer);
  if (!why) why = peer.open(workers, peers_folder());
  if (why) return why;
  malloc_trim(0); /* what the benchmarks before left free is not to be had again */
  double before = resident(), count = graph.given.count;
  uint64_t total;
  m.checking = true;
  why = round_of(&peer, &m, &total);
  m.checking = false;
  if (!why) why = round_of(&peer, &m, &total);
  out[TOTAL] = (double)total / count;
  out[SUBMIT] = (double)(m.submitted - m.start) / count;
  out[MEMORY] = q->gated ? (m.resident - before) / count : NAN;
  return why;
}

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

struct errand {
  const struct question *question;
  unsigned side;
};

static const char *run_errand(const void *what, double *out_values) {
  const struct errand *errand = what;
  out_values[MEMORY] = NAN;
  return measure_peer(errand->question->files[errand->side], errand->question, out_values);
}

static const char *measure(const void *what, unsigned side, double *out_values) {
  struct errand errand = {what, side};
  const char *why = bench_apart(run_errand, &errand, out_values);
  if (why && side < FOREIGN) { /* what is written here has to work */
    char text[256];
    snprintf(text, sizeof text, "%s: %s", errand.question->files[side], why);
    bench_wrong(text);
  }
  return why;
}

#define SIDE_NAME(file, name) name,
#define IS_online false
#define IS_gated true
#define CONTEST(shape, mode, size, more, peers)                                                    \
  (&(const struct bench_contest){                                                                  \
      .sides = {PEERS_##peers(SIDE_NAME)},                                                         \
      .values = {{"an operation", "ns", BENCH_LESS},                                               \
                 {"of it submitting", "ns", BENCH_LESS},                                           \
                 {"memory a pending one", "B", BENCH_LESS}},                                       \
      .measure = measure,                                                                          \
      .what = &(const struct question){shape, size, more, IS_##mode, peers##_files}})

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
