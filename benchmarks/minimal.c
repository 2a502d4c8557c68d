/* Timelines against the least that one can be (rival/fx.h: no records, no failure, no references),
 * both through a shared library; and two threads that wake each other against a bare futex pair. */
#include "bench.h"
#include "rival/fx.h"
#include "shared_library.h"

#include "base/random.h"
#include "tidemark/tidemark.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static struct api {
  enum tide_status (*context_create)(const struct tide_context_params *, struct tide_context **);
  void (*context_destroy)(struct tide_context *);
  enum tide_status (*create)(struct tide_context *, const struct tide_timeline_params *,
                             struct tide_timeline **);
  void (*destroy)(struct tide_timeline *);
  enum tide_status (*signal)(struct tide_timeline *, uint64_t, struct tide_position *);
  uint64_t (*query)(const struct tide_timeline *);
  enum tide_status (*wait)(struct tide_timeline *, uint64_t, uint64_t);
  enum tide_status (*any_init)(struct tide_wait_any_set *, struct tide_wait_point *, size_t);
  void (*any_fini)(struct tide_wait_any_set *);
  enum tide_status (*add)(struct tide_timepoint *);
  bool (*cancel)(struct tide_timepoint *);
  void (*fx_init)(struct fx *);
  bool (*fx_signal)(struct fx *, uint64_t);
  uint64_t (*fx_query)(const struct fx *);
  bool (*fx_wait)(struct fx *, uint64_t, uint64_t);
  bool (*fx_add)(struct fx *, struct fx_node *, uint64_t);
  bool (*fx_remove)(struct fx *, struct fx_node *);
} api;

static void load_api(void) {
  if (api.context_create) return;
  void *ours = library_open("libtidemark.so"), *theirs = library_open("libbench-rival.so");
  *(void **)&api.context_create = library_find(ours, "tide_context_create");
  *(void **)&api.context_destroy = library_find(ours, "tide_context_destroy");
  *(void **)&api.create = library_find(ours, "tide_timeline_create");
  *(void **)&api.destroy = library_find(ours, "tide_timeline_destroy");
  *(void **)&api.signal = library_find(ours, "tide_timeline_signal");
  *(void **)&api.query = library_find(ours, "tide_timeline_query");
  *(void **)&api.wait = library_find(ours, "tide_timeline_wait");
  *(void **)&api.any_init = library_find(ours, "tide_wait_any_init");
  *(void **)&api.any_fini = library_find(ours, "tide_wait_any_fini");
  *(void **)&api.add = library_find(ours, "tide_timepoint_add");
  *(void **)&api.cancel = library_find(ours, "tide_timepoint_cancel");
  *(void **)&api.fx_init = library_find(theirs, "fx_init");
  *(void **)&api.fx_signal = library_find(theirs, "fx_signal");
  *(void **)&api.fx_query = library_find(theirs, "fx_query");
  *(void **)&api.fx_wait = library_find(theirs, "fx_wait");
  *(void **)&api.fx_add = library_find(theirs, "fx_add");
  *(void **)&api.fx_remove = library_find(theirs, "fx_remove");
}

/* One timeline of each kind, and waiters of either for first, first + 1 …, added in any order. */
struct world {
  struct tide_context *context;
  struct tide_timeline *ours;
  struct fx fx;
  size_t count;
  struct tide_timepoint *points;
  struct fx_node *nodes;
  size_t *order;
  uint64_t value, fx_value;
  struct tide_random random;
};

static uint64_t called;
static void on_call(struct tide_timepoint *timepoint, enum tide_status status) {
  (void)timepoint;
  called += status == TIDE_OK;
}
static void on_fire(struct fx_node *node) {
  (void)node;
  called++;
}

static void add_ours(struct world *w, size_t i, uint64_t value) {
  struct tide_timepoint *point = &w->points[i];
  *point = (struct tide_timepoint){.call = on_call, .timeline = w->ours, .value = value};
  BENCH_CHECK(api.add(point) == TIDE_OK);
}
static void add_theirs(struct world *w, size_t i, uint64_t value) {
  w->nodes[i].fire = on_fire;
  BENCH_CHECK(api.fx_add(&w->fx, &w->nodes[i], value));
}

static struct world *make_world(size_t count) {
  struct world *w = calloc(1, sizeof *w);
  if (bench_smoke() && count > 100) count = 100;
  if (!w) bench_wrong("memory");
  load_api();
  BENCH_CHECK(api.context_create(NULL, &w->context) == TIDE_OK);
  BENCH_CHECK(api.create(w->context, NULL, &w->ours) == TIDE_OK);
  api.fx_init(&w->fx);
  w->random = (struct tide_random){count};
  w->count = count;
  w->points = calloc(count + 1, sizeof *w->points);
  w->nodes = calloc(count + 1, sizeof *w->nodes);
  w->order = calloc(count + 1, sizeof *w->order);
  BENCH_CHECK(w->points && w->nodes && w->order);
  for (size_t i = 0; i < count; i++) {
    size_t other = (size_t)tide_random_below(&w->random, i + 1);
    w->order[i] = w->order[other];
    w->order[other] = i;
  }
  return w;
}

static void drop(void *state) {
  struct world *w = state;
  api.destroy(w->ours);
  api.context_destroy(w->context);
  free(w->points);
  free(w->nodes);
  free(w->order);
  free(w);
}

/* ---- calls that need no waiter ---- */

static void *make_alone(void) { return make_world(0); }

static void *make_reached(void) {
  struct world *w = make_world(0);
  BENCH_CHECK(api.signal(w->ours, 5, NULL) == TIDE_OK && api.fx_signal(&w->fx, 5));
  return w;
}

static void *make_far(size_t count) {
  struct world *w = make_world(count);
  for (size_t i = 0; i < w->count; i++) {
    add_ours(w, i, UINT64_MAX / 2 + w->order[i]);
    add_theirs(w, i, UINT64_MAX / 2 + w->order[i]);
  }
  return w;
}
static void *make_far_1000(void) { return make_far(1000); }
static void *make_far_10000(void) { return make_far(10000); }
static void *make_far_100000(void) { return make_far(100000); }

static void signal_ours(void *state, uint64_t count) {
  struct world *w = state;
  while (count--) BENCH_CHECK(api.signal(w->ours, ++w->value, NULL) == TIDE_OK);
}
static void signal_theirs(void *state, uint64_t count) {
  struct world *w = state;
  while (count--) BENCH_CHECK(api.fx_signal(&w->fx, ++w->fx_value));
}
static void query_ours(void *state, uint64_t count) {
  struct world *w = state;
  while (count--) bench_keep(api.query(w->ours));
}
static void query_theirs(void *state, uint64_t count) {
  struct world *w = state;
  while (count--) bench_keep(api.fx_query(&w->fx));
}
static void satisfied_ours(void *state, uint64_t count) {
  struct world *w = state;
  while (count--) BENCH_CHECK(api.wait(w->ours, 3, TIDE_FOREVER) == TIDE_OK);
}
static void satisfied_theirs(void *state, uint64_t count) {
  struct world *w = state;
  while (count--) BENCH_CHECK(api.fx_wait(&w->fx, 3, TIDE_FOREVER));
}
static void unsatisfied_ours(void *state, uint64_t count) {
  struct world *w = state;
  while (count--) BENCH_CHECK(api.wait(w->ours, 30, TIDE_NOW) == TIDE_TIMEOUT);
}
static void unsatisfied_theirs(void *state, uint64_t count) {
  struct world *w = state;
  while (count--) BENCH_CHECK(!api.fx_wait(&w->fx, 30, TIDE_NOW));
}

/* ---- waiters ---- */

/* A random one leaves, and comes back as it is. */
static void unregister_ours(void *state, uint64_t count) {
  struct world *w = state;
  while (count--) {
    size_t one = (size_t)tide_random_below(&w->random, w->count);
    BENCH_CHECK(api.cancel(&w->points[one]));
    BENCH_CHECK(api.add(&w->points[one]) == TIDE_OK);
  }
}
static void unregister_theirs(void *state, uint64_t count) {
  struct world *w = state;
  while (count--) {
    size_t one = (size_t)tide_random_below(&w->random, w->count);
    BENCH_CHECK(api.fx_remove(&w->fx, &w->nodes[one]));
    BENCH_CHECK(api.fx_add(&w->fx, &w->nodes[one], w->nodes[one].value));
  }
}

static void *make_1000(void) { return make_world(1000); }
static void *make_10000(void) { return make_world(10000); }

/* Signals that free one each, of many that came in any order. */
static double in_order_ours(void *state) {
  struct world *w = state;
  uint64_t first = w->value + 1;
  called = 0;
  for (size_t i = 0; i < w->count; i++) add_ours(w, i, first + w->order[i]);
  uint64_t start = bench_now();
  signal_ours(w, w->count);
  double took = (double)(bench_now() - start) / (double)w->count;
  BENCH_CHECK(called == w->count);
  return took;
}
static double in_order_theirs(void *state) {
  struct world *w = state;
  uint64_t first = w->fx_value + 1;
  called = 0;
  for (size_t i = 0; i < w->count; i++) add_theirs(w, i, first + w->order[i]);
  uint64_t start = bench_now();
  signal_theirs(w, w->count);
  double took = (double)(bench_now() - start) / (double)w->count;
  BENCH_CHECK(called == w->count);
  return took;
}

/* ---- one of many ---- */

#define ANY 1024

struct many {
  struct tide_context *context;
  struct tide_wait_point points[ANY];
  struct fx fx[ANY];
  struct fx_node nodes[ANY];
};

static void *make_many(void) {
  struct many *many = calloc(1, sizeof *many);
  if (!many) bench_wrong("memory");
  load_api();
  BENCH_CHECK(api.context_create(NULL, &many->context) == TIDE_OK);
  for (size_t i = 0; i < ANY; i++) {
    many->points[i].value = 1;
    BENCH_CHECK(api.create(many->context, NULL, &many->points[i].timeline) == TIDE_OK);
    api.fx_init(&many->fx[i]);
    many->nodes[i].fire = on_fire;
  }
  return many;
}
static void drop_many(void *state) {
  struct many *many = state;
  for (size_t i = 0; i < ANY; i++) api.destroy(many->points[i].timeline);
  api.context_destroy(many->context);
  free(many);
}
static double any_ours(void *state) {
  struct many *many = state;
  struct tide_wait_any_set set;
  uint64_t times = bench_smoke() ? 1 : 50, start = bench_now();
  for (uint64_t i = 0; i < times; i++) {
    BENCH_CHECK(api.any_init(&set, many->points, ANY) == TIDE_OK);
    api.any_fini(&set);
  }
  return (double)(bench_now() - start) / (double)(times * ANY);
}
static double any_theirs(void *state) {
  struct many *many = state;
  uint64_t times = bench_smoke() ? 1 : 50, start = bench_now();
  for (uint64_t i = 0; i < times; i++) {
    for (size_t k = 0; k < ANY; k++) BENCH_CHECK(api.fx_add(&many->fx[k], &many->nodes[k], 1));
    for (size_t k = 0; k < ANY; k++) BENCH_CHECK(api.fx_remove(&many->fx[k], &many->nodes[k]));
  }
  return (double)(bench_now() - start) / (double)(times * ANY);
}

/* ---- to and fro, asleep in between ---- */

static uint64_t system_calls; /* atomic */
static const struct tide_platform *real;

static void counted(void) { __atomic_fetch_add(&system_calls, 1, __ATOMIC_RELAXED); }
static void count_wait(void *self, const uint32_t *word, uint32_t expected, uint64_t deadline) {
  counted();
  real->wait(self, word, expected, deadline);
}
static void count_wake(void *self, const uint32_t *word, uint32_t count) {
  counted();
  real->wake(self, word, count);
}
static void count_yield(void *self) {
  counted();
  real->yield(self);
}

struct relay {
  bool ours;
  int cpu; /* the partner's */
  uint64_t hops;
  struct tide_context *context;
  struct tide_timeline *lines[2];
  uint32_t words[2];
};

static void futex(uint32_t *word, int what, uint32_t value) {
  counted();
  syscall(SYS_futex, word, what, value, NULL, NULL, 0);
}

static void give(struct relay *relay, int which, uint64_t value) {
  if (relay->ours) {
    BENCH_CHECK(api.signal(relay->lines[which], value, NULL) == TIDE_OK);
    return;
  }
  __atomic_store_n(&relay->words[which], (uint32_t)value, __ATOMIC_RELEASE);
  futex(&relay->words[which], FUTEX_WAKE_PRIVATE, 1);
}
static void take(struct relay *relay, int which, uint64_t value) {
  if (relay->ours) {
    BENCH_CHECK(api.wait(relay->lines[which], value, TIDE_FOREVER) == TIDE_OK);
    return;
  }
  while (__atomic_load_n(&relay->words[which], __ATOMIC_ACQUIRE) != (uint32_t)value)
    futex(&relay->words[which], FUTEX_WAIT_PRIVATE, (uint32_t)value - 1);
}

static bool stay_on(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  return pthread_setaffinity_np(pthread_self(), sizeof set, &set) == 0;
}

static void *partner(void *argument) {
  struct relay *relay = argument;
  BENCH_CHECK(stay_on(relay->cpu));
  for (uint64_t i = 1; i <= relay->hops; i++) {
    take(relay, 0, i);
    give(relay, 1, i);
  }
  return NULL;
}

/* In a process of its own: where threads may run is changed. µs and system calls a hop, of which
 * two are there and back. */
static const char *relay_apart(const void *what, double *out) {
  const unsigned *asked = what; /* processors, side */
  struct relay relay = {
      .ours = !asked[1], .hops = bench_smoke() ? 10 : 5000, .cpu = (int)asked[0] - 1};
  struct tide_platform counting = *(real = tide_platform_linux());
  struct tide_context_params params = {.struct_size = sizeof params, .platform = &counting};
  pthread_t thread;
  counting.wait = count_wait;
  counting.wake = count_wake;
  counting.yield = count_yield;
  load_api();
  if (!stay_on((int)asked[0] - 1)) return "too few processors";
  if (!stay_on(0)) return "the first processor is not for us";
  BENCH_CHECK(api.context_create(&params, &relay.context) == TIDE_OK);
  for (int i = 0; i < 2; i++)
    BENCH_CHECK(api.create(relay.context, NULL, &relay.lines[i]) == TIDE_OK);
  BENCH_CHECK(pthread_create(&thread, NULL, partner, &relay) == 0);
  uint64_t start = bench_now();
  for (uint64_t i = 1; i <= relay.hops; i++) {
    give(&relay, 0, i);
    take(&relay, 1, i);
  }
  out[0] = (double)(bench_now() - start) / 1000 / (double)(2 * relay.hops);
  pthread_join(thread, NULL);
  out[1] = (double)system_calls / (double)(2 * relay.hops);
  return NULL;
}

static const char *relay(const void *what, unsigned side, double *out) {
  unsigned asked[] = {*(const unsigned *)what, side};
  return bench_apart(relay_apart, asked, out);
}

#define CALLS(call, prepare)                                                                       \
  .rival = "minimal", .setup = prepare, .teardown = drop, .ours = call##_ours,                     \
  .theirs = call##_theirs
#define FAR(n)                                                                                     \
  {.name = "signal_" #n "_far_off",                                                                \
   CALLS(signal, make_far_##n),                                                                    \
   .curve = "signal, waiters far off",                                                             \
   .at = n,                                                                                        \
   .along = "waiters"},
#define IN_ORDER(n)                                                                                \
  {.name = "calls_in_order_" #n,                                                                   \
   .unit = "ns",                                                                                   \
   .rival = "minimal",                                                                             \
   .setup = make_##n,                                                                              \
   .teardown = drop,                                                                               \
   .measure_ours = in_order_ours,                                                                  \
   .measure_theirs = in_order_theirs},
#define RELAY(n)                                                                                   \
  (&(const struct bench_contest){                                                                  \
      .sides = {"ours", "bare futex pair"},                                                        \
      .values = {{"a hop", "us", BENCH_LESS}, {"system calls a hop", "", BENCH_LESS}},             \
      .measure = relay,                                                                            \
      .what = &(const unsigned){n}})

/* clang-format off */
const struct bench_figure bench_minimal[] = {
    {.name = "signal", CALLS(signal, make_alone)},
    {.name = "query", CALLS(query, make_reached)},
    {.name = "wait_satisfied", CALLS(satisfied, make_reached)},
    {.name = "wait_unsatisfied_now", CALLS(unsatisfied, make_reached)},
    FAR(1000) FAR(10000) FAR(100000)
    {.name = "unregister_1_of_10000", CALLS(unregister, make_far_10000)},
    IN_ORDER(1000) IN_ORDER(10000)
    {.name = "any_of_1024_begin_and_end", .unit = "ns", .rival = "minimal", .setup = make_many,
     .teardown = drop_many, .measure_ours = any_ours, .measure_theirs = any_theirs},
    {.name = "to_and_fro_1_cpu", .contest = RELAY(1), .rounds = 25},
    {.name = "to_and_fro_2_cpus", .contest = RELAY(2), .rounds = 25},
    {0}};
