/* What an operation of the stencil (8 queues of 10 k, each also after its neighbour's one before)
 * cannot do without, in one thread and with nothing around it: no lock, no check, no failure.
 * *Knowing* joins the two frontiers of eight entries that it learns from and keeps the result for
 * whoever waits for it; without, it only runs. All is submitted, then all is run. */
#include "bench.h"

#include <stdlib.h>
#include <string.h>

enum { QUEUES = 8, ROWS = 10000 };

/* A word an axis from the first one on, as frontiers have. */
struct kept {
  uint64_t first, epochs[QUEUES];
};

struct operation {
  void (*body)(uint64_t *argument);
  uint64_t *argument;
  uint32_t waits_for, value;
};

struct world {
  struct operation *operations[QUEUES];
  struct kept *kept[QUEUES];
  uint32_t finished[QUEUES];
  uint64_t ran;
};

static void body(uint64_t *argument) { ++*argument; }

static void *make(void) {
  struct world *w = calloc(1, sizeof *w);
  if (!w) bench_wrong("memory");
  for (int q = 0; q < QUEUES; q++) {
    w->operations[q] = calloc(ROWS + 1, sizeof *w->operations[q]);
    w->kept[q] = calloc(ROWS + 1, sizeof *w->kept[q]);
    if (!w->operations[q] || !w->kept[q]) bench_wrong("memory");
    /* Touched, and knowing all axes, as after a while. */
    memset(w->operations[q], 0, (ROWS + 1) * sizeof *w->operations[q]);
    memset(w->kept[q], 0, (ROWS + 1) * sizeof *w->kept[q]);
    w->kept[q][0].first = 1;
  }
  return w;
}

static void drop(void *state) {
  struct world *w = state;
  for (int q = 0; q < QUEUES; q++) {
    free(w->operations[q]);
    free(w->kept[q]);
  }
  free(w);
}

static inline void join(struct kept *to, const struct kept *a, const struct kept *b) {
  if (a->first != b->first) bench_wrong("axes");
  to->first = a->first;
  for (int i = 0; i < QUEUES; i++)
    to->epochs[i] = a->epochs[i] < b->epochs[i] ? b->epochs[i] : a->epochs[i];
}

static void submit(struct world *w, uint32_t row, uint32_t q, bool knowing) {
  uint32_t neighbour = (q + 1) % QUEUES;
  w->operations[q][row] = (struct operation){body, &w->ran, neighbour, row - 1};
  if (!knowing) return;
  join(&w->kept[q][row], &w->kept[q][row - 1], &w->kept[neighbour][row - 1]);
  w->kept[q][row].epochs[q] = row;
}

static void run(struct world *w, uint32_t row, uint32_t q) {
  struct operation *operation = &w->operations[q][row];
  BENCH_CHECK(w->finished[operation->waits_for] >= operation->value);
  operation->body(operation->argument);
  w->finished[q] = row;
}

static double measure(struct world *w, bool knowing) {
  memset(w->finished, 0, sizeof w->finished);
  uint64_t start = bench_now();
  for (uint32_t row = 1; row <= ROWS; row++)
    for (uint32_t q = 0; q < QUEUES; q++) submit(w, row, q, knowing);
  for (uint32_t row = 1; row <= ROWS; row++)
    for (uint32_t q = 0; q < QUEUES; q++) run(w, row, q);
  return (double)(bench_now() - start) / (ROWS * QUEUES);
}

static double with_frontiers(void *state) { return measure(state, true); }
static double without(void *state) { return measure(state, false); }

const struct bench_figure bench_stencil_floor[] = {{.name = "an_operation",
                                                    .unit = "ns",
                                                    .rival = "without frontiers",
                                                    .setup = make,
                                                    .teardown = drop,
                                                    .measure_ours = with_frontiers,
                                                    .measure_theirs = without,
                                                    .better = BENCH_LESS},
                                                   {0}};
