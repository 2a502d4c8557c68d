/* What the scheduler leaves of the processor where bodies take a while: two workers against two
 * plain threads that were given half of the bodies each. All is submitted behind one operation that
 * blocks; timed from there to the end of the last. */
#include "bench.h"

#include "tidemark/tidemark.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>

enum { QUEUES = 8, WORKERS = 2, ROUND = 20000 /* microseconds of work */ };

struct world {
  struct tide_context *context;
  struct tide_device *device;
  struct tide_queue *queues[QUEUES];
  uint64_t places[QUEUES];
  uint32_t microseconds;
  sem_t gate;
  pthread_barrier_t barrier;
  uint64_t start; /* of whoever was first to leave it */
};

static void spin(uint32_t microseconds) {
  for (uint64_t end = bench_now() + microseconds * 1000u; bench_now() < end;) continue;
}

static enum tide_status body(void *arguments) {
  spin((*(struct world **)arguments)->microseconds);
  return TIDE_OK;
}
static enum tide_status block(void *arguments) {
  while (sem_wait(&(*(struct world **)arguments)->gate) != 0) continue;
  return TIDE_OK;
}
static const struct tide_body_class body_class = {
    .name = "body", .host = body, .non_blocking = true};
static const struct tide_body_class gate_class = {.name = "gate", .host = block};

static uint32_t bodies(const struct world *w) {
  return ROUND / (bench_smoke() ? 10 : 1) / w->microseconds;
}

static void *make(uint32_t microseconds) {
  struct world *w = calloc(1, sizeof *w);
  struct tide_cpu_params cpu = {.struct_size = sizeof cpu, .workers = WORKERS};
  struct tide_queue_params queue = {.struct_size = sizeof queue, .operations = ROUND / 10};
  if (!w) bench_wrong("memory");
  w->microseconds = microseconds;
  BENCH_CHECK(tide_context_create(NULL, &w->context) == TIDE_OK);
  BENCH_CHECK(tide_cpu_open(w->context, &cpu, &w->device) == TIDE_OK);
  for (int i = 0; i < QUEUES; i++)
    BENCH_CHECK(tide_queue_create(w->device, &queue, &w->queues[i]) == TIDE_OK);
  BENCH_CHECK(sem_init(&w->gate, 0, 0) == 0);
  BENCH_CHECK(pthread_barrier_init(&w->barrier, NULL, WORKERS) == 0);
  return w;
}
static void *make_10(void) { return make(10); }
static void *make_100(void) { return make(100); }

static void drop(void *state) {
  struct world *w = state;
  for (int i = 0; i < QUEUES; i++) tide_queue_destroy(w->queues[i]);
  tide_device_close(w->device);
  tide_context_destroy(w->context);
  pthread_barrier_destroy(&w->barrier);
  free(w);
}

static void submit(struct world *w, uint32_t queue, const struct tide_body_class *class_,
                   const struct tide_wait *wait) {
  struct tide_operation operation = {.body = class_,
                                     .waits = wait,
                                     .wait_count = wait != NULL,
                                     .arguments = &w,
                                     .arguments_size = sizeof(struct world *)};
  BENCH_CHECK(tide_queue_submit(w->queues[queue], &operation, NULL, NULL) == TIDE_OK);
  w->places[queue]++;
}

static double ours(void *state) {
  struct world *w = state;
  uint32_t count = bodies(w);
  submit(w, 0, &gate_class, NULL);
  struct tide_wait gate = {tide_queue_progress(w->queues[0]), w->places[0]};
  for (uint32_t i = 0; i < count; i++)
    submit(w, i % QUEUES, &body_class, i % QUEUES && i < QUEUES ? &gate : NULL);
  uint64_t start = bench_now();
  sem_post(&w->gate);
  for (int i = 0; i < QUEUES; i++)
    BENCH_CHECK(tide_queue_drain(w->queues[i], TIDE_FOREVER) == TIDE_OK);
  return (double)(bench_now() - start) / count / 1000;
}

static void *half(void *argument) {
  struct world *w = argument;
  pthread_barrier_wait(&w->barrier);
  uint64_t now = bench_now(), none = 0;
  __atomic_compare_exchange_n(&w->start, &none, now, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
  for (uint32_t i = 0; i < bodies(w) / WORKERS; i++) spin(w->microseconds);
  return NULL;
}

static double theirs(void *state) {
  struct world *w = state;
  pthread_t threads[WORKERS];
  w->start = 0;
  for (int i = 0; i < WORKERS; i++)
    if (pthread_create(&threads[i], NULL, half, w) != 0) bench_wrong("a thread");
  for (int i = 0; i < WORKERS; i++) pthread_join(threads[i], NULL);
  return (double)(bench_now() - w->start) / bodies(w) / 1000;
}

#define FIGURE(label, make_it)                                                                     \
  {                                                                                                \
    .name = label, .unit = "us", .rival = "two threads, half each", .setup = make_it,              \
    .teardown = drop, .measure_ours = ours, .measure_theirs = theirs, .better = BENCH_LESS         \
  }

const struct bench_figure bench_bodies[] = {
    FIGURE("two_workers_10us", make_10), FIGURE("two_workers_100us", make_100), {0}};
