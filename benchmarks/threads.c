/* The same calls from several threads at once, each on objects of its own or all on one: what
 * sharing costs, against the textbook under a mutex each. ns a call of one thread, so what scales
 * stays flat as long as there are processors. */
#include "causal/context_state.h"
#include "bench.h"
#include "rival_pool.h"

#include "memory/pool.h"
#include "tidemark/tidemark.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 4 };
enum side { OURS, TEXTBOOK };
enum work { SIGNAL_OWN, QUERY_SHARED, ADVANCE_OWN, ALLOC_SHARED };

struct plain { /* a value under a mutex: a timeline, or an axis */
  _Alignas(64) pthread_mutex_t mutex;
  uint64_t value;
};

struct world {
  enum work work;
  enum side side;
  uint64_t calls;
  pthread_barrier_t start;
  struct tide_context *context;
  struct tide_pool *pool;
  struct tide_timeline *timelines[THREADS];
  struct tide_position positions[THREADS];
  TIDE_FRONTIER_STORAGE(frontiers[THREADS], 16);
  struct plain plain[THREADS];
  struct rival_pool *rival;
};

struct hand {
  struct world *world;
  unsigned index;
  uint64_t took;
};

static tide_axis axis_of(unsigned i) { return tide_axis_make(0, TIDE_DOMAIN_QUEUE, i + 1); }

static void world_init(struct world *w) {
  BENCH_CHECK(tide_context_create(NULL, &w->context) == TIDE_OK);
  BENCH_CHECK(tide_pool_create(w->context, NULL, &w->pool) == TIDE_OK);
  w->rival = rival_make(4096);
  for (unsigned i = 0; i < THREADS; i++) {
    BENCH_CHECK(tide_timeline_create(w->context, NULL, &w->timelines[i]) == TIDE_OK);
    BENCH_CHECK(tide_tracker_register(w->context->tracker, axis_of(i)) == TIDE_OK);
    tide_frontier_init(&w->frontiers[i].frontier, 16);
    w->positions[i] = (struct tide_position){
        .axis = axis_of(i), .epoch = 0, .frontier = &w->frontiers[i].frontier};
    pthread_mutex_init(&w->plain[i].mutex, NULL);
  }
}

static void world_fini(struct world *w) {
  for (unsigned i = 0; i < THREADS; i++) {
    tide_timeline_destroy(w->timelines[i]);
    BENCH_CHECK(tide_tracker_close(w->context->tracker, axis_of(i)) == TIDE_OK);
  }
  BENCH_CHECK(tide_pool_destroy(w->pool) == TIDE_OK);
  tide_context_destroy(w->context);
  free(w->rival);
}

static void plain_raise(struct plain *plain, uint64_t value) {
  pthread_mutex_lock(&plain->mutex);
  plain->value = value;
  pthread_mutex_unlock(&plain->mutex);
}

static uint64_t plain_query(struct plain *plain) {
  pthread_mutex_lock(&plain->mutex);
  uint64_t value = plain->value;
  pthread_mutex_unlock(&plain->mutex);
  return value;
}

static void do_ours(struct world *w, unsigned me) {
  struct tide_buffer *buffer;
  for (uint64_t i = 1; i <= w->calls; i++) {
    switch (w->work) {
      case SIGNAL_OWN:
        BENCH_CHECK(tide_timeline_signal(w->timelines[me], i, NULL) == TIDE_OK);
        break;
      case QUERY_SHARED: /* the first signals, the others ask */
        if (me == 0) BENCH_CHECK(tide_timeline_signal(w->timelines[0], i, NULL) == TIDE_OK);
        else bench_keep(tide_timeline_query(w->timelines[0]));
        break;
      case ADVANCE_OWN:
        BENCH_CHECK(tide_tracker_advance(w->context->tracker, axis_of(me), i) == TIDE_OK);
        break;
      case ALLOC_SHARED:
        w->positions[me].epoch = i; /* as a queue does, which knows what it did before */
        tide_frontier_raise(w->positions[me].frontier, axis_of(me), i, NULL);
        BENCH_CHECK(tide_pool_alloc(w->pool, 4096, &w->positions[me], NULL, &buffer) == TIDE_OK);
        tide_pool_free(buffer, &w->positions[me]);
        if (i % 16 == 0) /* and its work ends */
          BENCH_CHECK(tide_tracker_advance(w->context->tracker, axis_of(me), i) == TIDE_OK);
        break;
    }
  }
}

static void do_theirs(struct world *w, unsigned me) {
  unsigned from;
  uint64_t epoch;
  for (uint64_t i = 1; i <= w->calls; i++) {
    switch (w->work) {
      case SIGNAL_OWN:
      case ADVANCE_OWN: plain_raise(&w->plain[me], i); break;
      case QUERY_SHARED:
        if (me == 0) plain_raise(&w->plain[0], i);
        else bench_keep(plain_query(&w->plain[0]));
        break;
      case ALLOC_SHARED:
        free_free(w->rival, free_alloc(w->rival, me, 0, &from, &epoch), me, i);
        break;
    }
  }
}

static void *hand_main(void *argument) {
  struct hand *hand = argument;
  struct world *w = hand->world;
  pthread_barrier_wait(&w->start);
  uint64_t start = bench_now();
  if (w->side == OURS) do_ours(w, hand->index);
  else do_theirs(w, hand->index);
  hand->took = bench_now() - start;
  return NULL;
}

/* The result: every signal and every advance has arrived. */
static void check(const struct world *w, unsigned threads) {
  for (unsigned i = 0; i < threads && w->side == OURS; i++) {
    if (w->work == SIGNAL_OWN) BENCH_CHECK(tide_timeline_query(w->timelines[i]) == w->calls);
    if (w->work == ADVANCE_OWN)
      BENCH_CHECK(tide_tracker_finished(w->context->tracker, axis_of(i), w->calls));
  }
}

struct question {
  enum work work;
  unsigned threads;
};

static const char *measure(const void *what, unsigned side, double *out) {
  const struct question *q = what;
  struct hand hands[THREADS];
  pthread_t threads[THREADS];
  struct world *w = aligned_alloc(64, (sizeof *w + 63) / 64 * 64);
  BENCH_CHECK(w != NULL);
  memset(w, 0, sizeof *w);
  w->work = q->work;
  w->side = (enum side)side;
  w->calls = bench_smoke() ? 100 : 500000;
  world_init(w);
  pthread_barrier_init(&w->start, NULL, q->threads);
  for (unsigned i = 0; i < q->threads; i++) {
    hands[i] = (struct hand){w, i, 0};
    BENCH_CHECK(pthread_create(&threads[i], NULL, hand_main, &hands[i]) == 0);
  }
  out[0] = 0;
  for (unsigned i = 0; i < q->threads; i++) {
    pthread_join(threads[i], NULL);
    double ns = (double)hands[i].took / (double)w->calls;
    if (ns > out[0]) out[0] = ns;
  }
  check(w, q->threads);
  if (w->work == ALLOC_SHARED) /* so that the pool may go */
    for (unsigned i = 0; i < THREADS; i++)
      BENCH_CHECK(tide_tracker_advance(w->context->tracker, axis_of(i), w->calls + 1) == TIDE_OK);
  world_fini(w);
  free(w);
  return NULL;
}

#define POINT(label, work, n, rival)                                                               \
  {.name = label "_" #n,                                                                           \
   .contest = &(const struct bench_contest){.sides = {"ours", rival},                              \
                                            .values = {{NULL, "ns", BENCH_LESS}},                  \
                                            .measure = measure,                                    \
                                            .what = &(const struct question){work, n}},            \
   .curve = label,                                                                                 \
   .at = n,                                                                                        \
   .along = "threads",                                                                             \
   .rounds = 9},
#define CURVE(label, work, rival)                                                                  \
  POINT(label, work, 1, rival) POINT(label, work, 2, rival) POINT(label, work, 4, rival)

/* clang-format off */
const struct bench_figure bench_threads[] = {
    CURVE("signal_own_timeline", SIGNAL_OWN, "mutex each")
    CURVE("signal_and_query_one", QUERY_SHARED, "mutex")
    CURVE("advance_own_axis", ADVANCE_OWN, "mutex each")
    CURVE("alloc_and_free_one_pool", ALLOC_SHARED, "event a free")
    {0}};
