/* Waiting by page fault: from a fault on data that is there to the load that goes on, with all that
 * a message costs around it (asking for its page, finishing, taking pages back), against bare loops
 * of the same system calls, which ask for nothing: they touch one page after the other, and take
 * all back at the end. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "bench.h"

#include "tidemark/tidemark.h"
#include "wic/region.h"

#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

enum { PAGES = 4096, CPU = 0 }; /* pages of a half; CPU: the consumer's */

static void pin(int cpu) {
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  CPU_SET(cpu, &cpus);
  (void)sched_setaffinity(0, sizeof cpus, &cpus);
}

static uint32_t rounds(void) { return bench_smoke() ? 16 : PAGES; }

static const char *why(enum tide_status status) {
  return status == TIDE_DENIED ? "no right to use userfaultfd" : "no userfaultfd here";
}

/* ---- ours ------------------------------------------------------------------------------- */

static const char *measure_ours(enum tide_medium_engine engine, int cpu, double *out_values) {
  struct tide_context *context;
  struct tide_medium *medium;
  struct tide_timeline *line;
  struct tide_medium_params params = {.struct_size = sizeof params,
                                      .engine = engine,
                                      .pages = 2 * PAGES,
                                      .pinned = true,
                                      .cpu = (uint32_t)cpu};
  BENCH_CHECK(tide_context_create(NULL, &context) == TIDE_OK);
  enum tide_status status = tide_medium_create(context, &params, &medium);
  if (status != TIDE_OK) {
    tide_context_destroy(context);
    return why(status);
  }
  BENCH_CHECK(tide_timeline_create(context, NULL, &line) == TIDE_OK);
  BENCH_CHECK(tide_timeline_signal_external(line, 1) == TIDE_OK);
  uint64_t sum = 0, begin = 0;
  for (int warm = 1; warm >= 0; warm--) { /* once, so that the memory is there */
    begin = bench_now();
    for (uint32_t i = 0; i < rounds(); i++) {
      struct tide_request request = {.bytes = 8, .tags = {{line, 1}}, .tag_count = 1};
      BENCH_CHECK(tide_medium_request(medium, &request, 1) == TIDE_OK);
      sum += *(const volatile uint64_t *)request.data;
      BENCH_CHECK(tide_request_finish(medium, &request, NULL) == TIDE_OK);
    }
  }
  out_values[0] = (double)(bench_now() - begin) / rounds();
  bench_keep(sum);
  tide_medium_destroy(medium);
  tide_timeline_destroy(line);
  tide_context_destroy(context);
  return NULL;
}

/* ---- bare -------------------------------------------------------------------------------- */

struct bare {
  struct tide_region region;
  int cpu;
  bool stop;
};
static struct bare *signalled;

static void *serve(void *argument) {
  struct bare *bare = argument;
  pin(bare->cpu);
  while (!__atomic_load_n(&bare->stop, __ATOMIC_ACQUIRE)) {
    struct pollfd one = {.fd = bare->region.faults, .events = POLLIN};
    if (poll(&one, 1, 100) <= 0) continue;
    size_t offsets[TIDE_UFFD_BATCH], count = tide_region_faults(&bare->region, offsets);
    for (size_t i = 0; i < count; i++)
      tide_region_map(&bare->region, offsets[i], bare->region.page);
  }
  return NULL;
}

static void serve_signal(int number, siginfo_t *info, void *context) {
  (void)number, (void)context;
  size_t offset = (size_t)((char *)info->si_addr - signalled->region.reader);
  tide_region_map(&signalled->region, offset / signalled->region.page * signalled->region.page,
                  signalled->region.page);
}

static const char *measure_bare(bool signals, int cpu, double *out_values) {
  struct bare bare = {.cpu = cpu};
  pthread_t thread;
  struct sigaction ours = {.sa_sigaction = serve_signal, .sa_flags = SA_SIGINFO | SA_NODEFER}, old;
  enum tide_status status =
      tide_region_open(&bare.region, "bench", PAGES * tide_region_page(), signals);
  if (status != TIDE_OK) return why(status);
  signalled = &bare;
  if (signals) BENCH_CHECK(sigaction(SIGBUS, &ours, &old) == 0);
  else BENCH_CHECK(pthread_create(&thread, NULL, serve, &bare) == 0);
  uint64_t sum = 0, begin = 0;
  for (int warm = 1; warm >= 0; warm--) {
    begin = bench_now();
    for (uint32_t i = 0; i < rounds(); i++)
      sum += *(const volatile uint64_t *)(bare.region.reader + i * bare.region.page);
    tide_region_drop(&bare.region, 0, bare.region.bytes);
  }
  out_values[0] = (double)(bench_now() - begin) / rounds();
  bench_keep(sum);
  __atomic_store_n(&bare.stop, true, __ATOMIC_RELEASE);
  if (signals) BENCH_CHECK(sigaction(SIGBUS, &old, NULL) == 0);
  else pthread_join(thread, NULL);
  tide_region_close(&bare.region);
  return NULL;
}

/* ---- the table ------------------------------------------------------------------------------ */

static const char *measure(const void *what, unsigned side, double *out_values) {
  cpu_set_t before;
  BENCH_CHECK(sched_getaffinity(0, sizeof before, &before) == 0);
  int cpu = *(const int *)what ? 1 : CPU;
  if (cpu && CPU_COUNT(&before) < 2) return "one processor";
  pin(CPU);
  const char *skipped = NULL;
  switch (side) {
    case 0: skipped = measure_ours(TIDE_MEDIUM_MONITOR, cpu, out_values); break;
    case 1: skipped = measure_bare(false, cpu, out_values); break;
    case 2: skipped = measure_ours(TIDE_MEDIUM_DIRECT, cpu, out_values); break;
    case 3: skipped = measure_ours(TIDE_MEDIUM_FIBERS, cpu, out_values); break;
    default: skipped = measure_bare(true, cpu, out_values); break;
  }
  (void)sched_setaffinity(0, sizeof before, &before);
  return skipped;
}

#define TABLE(where)                                                                               \
  {                                                                                                \
    .sides = {"monitor", "bare loop", "direct: no fault", "fibers: no fault", "bare SIGBUS loop"}, \
    .values = {{"a message", "ns", BENCH_LESS}}, .measure = measure, .what = &(const int) {        \
      where                                                                                        \
    }                                                                                              \
  }
static const struct bench_contest beside = TABLE(0), apart = TABLE(1);

const struct bench_figure bench_faults[] = {{.name = "resume_1_cpu", .contest = &beside},
                                            {.name = "resume_2_cpus", .contest = &apart},
                                            {0}};
