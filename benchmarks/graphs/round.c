/* Runs a graph twice: checked, and timed. */
#include "graphs/round.h"

#include "bench.h"

#include <dlfcn.h>
#include <limits.h>
#include <malloc.h>
#include <math.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FEW = 50 };

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

static const char *measure_peer(const char *name, const struct round_question *q, double *out) {
  static struct graph graph;
  struct peer peer;
  struct measured m = {.run = {.gated = q->gated, .body = body, .submitted = submitted}};
  long cores = sysconf(_SC_NPROCESSORS_ONLN);
  uint32_t workers = (cores > 1 ? (uint32_t)cores - 1 : 1) + q->more_workers;
  graph_make(&graph, q->shape, q->queues, bench_smoke() ? q->count / FEW : q->count);
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
  out[ROUND_TOTAL] = (double)total / count;
  out[ROUND_SUBMIT] = (double)(m.submitted - m.start) / count;
  out[ROUND_MEMORY] = q->gated ? (m.resident - before) / count : NAN;
  return why;
}

struct errand {
  const struct round_question *question;
  unsigned side;
};

static const char *run_errand(const void *what, double *out_values) {
  const struct errand *errand = what;
  out_values[ROUND_MEMORY] = NAN;
  return measure_peer(errand->question->files[errand->side], errand->question, out_values);
}

const char *round_measure(const void *what, unsigned side, double *out_values) {
  struct errand errand = {what, side};
  const char *why = bench_apart(run_errand, &errand, out_values);
  if (why && side < errand.question->own) { /* what is written here has to work */
    char text[256];
    snprintf(text, sizeof text, "%s: %s", errand.question->files[side], why);
    bench_wrong(text);
  }
  return why;
}
