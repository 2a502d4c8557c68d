/* OpenMP tasks with depend clauses, the same source for libgomp (gcc) and libomp (clang). The
 * submitting thread is one of the team, and helps when all is submitted. */
#include "peer.h"

#include <omp.h>
#include <stdlib.h>

static int threads;
static char *place; /* an address for each operation */

const char *peer_open(uint32_t workers, const char *folder) {
  (void)folder;
  threads = (int)workers + 1;
  /* libomp runs a task at once when 256 are ready; then a gate would block the submitter. */
  setenv("KMP_ENABLE_TASK_THROTTLING", "0", 1);
#pragma omp parallel num_threads(threads)
  { __asm__ volatile("" : : : "memory"); }
  return NULL;
}

const char *peer_prepare(const struct peer_run *run) {
#ifndef __clang__
  if (run->gated) return "libgomp stops taking tasks when 64 a thread are waiting";
#endif
  place = calloc(run->graph->count, 1);
  return place ? NULL : "no memory";
}

static void submit(const struct peer_run *run, uint32_t i) {
  const uint32_t *before = run->graph->before + run->graph->first[i];
  uint32_t count = run->graph->first[i + 1] - run->graph->first[i];
  char *at = place;
  (void)before, (void)count, (void)at; /* gcc does not see that the clauses use them */
#pragma omp task firstprivate(run, i) depend(iterator(uint32_t k = 0                               \
                                                      : count),                                    \
                                             in                                                    \
                                             : at[before[k]]) depend(out                           \
                                                                     : at[i])
  run->body(run->argument, i);
}

const char *peer_do(const struct peer_run *run) {
#pragma omp parallel num_threads(threads)
#pragma omp single
  {
    for (uint32_t i = 0; i < run->graph->count; i++) submit(run, i);
    run->submitted(run->argument);
#pragma omp taskwait
  }
  return NULL;
}

void peer_finish(const struct peer_run *run) {
  (void)run;
  free(place);
}
