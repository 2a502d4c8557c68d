/* Waiting on timelines with threads, many at once, and with calls: against the textbook, a mutex, a
 * condition variable, a list of whoever waits for one of several and a list of calls. The cheap
 * calls that need no waiter are in timeline.c. */
#include "causal/context_state.h"
#include "bench.h"

#include "base/random.h"
#include "tidemark/tidemark.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

/* ---- the textbook ---------------------------------------------------------------- */

struct plain_waiter { /* one of several: who waits */
  pthread_mutex_t mutex;
  pthread_cond_t woken;
  bool due;
};

struct plain_node { /* in one timeline's list: for a waiter, or a call */
  struct plain_node *next, **link;
  uint64_t value;
  struct plain_waiter *waiter;
  void (*call)(struct plain_node *node);
};

struct plain_timeline {
  pthread_mutex_t mutex;
  pthread_cond_t changed;
  uint64_t value;
  uint32_t parked_list;
  struct plain_node *nodes;
};

static void plain_init(struct plain_timeline *timeline) {
  memset(timeline, 0, sizeof *timeline);
  pthread_mutex_init(&timeline->mutex, NULL);
  pthread_cond_init(&timeline->changed, NULL);
}

static void plain_unlink(struct plain_node *node) {
  *node->link = node->next;
  if (node->next) node->next->link = node->link;
  node->link = NULL;
}

static void plain_due(struct plain_node *node) {
  if (node->call) {
    node->call(node);
    return;
  }
  pthread_mutex_lock(&node->waiter->mutex);
  node->waiter->due = true;
  pthread_cond_signal(&node->waiter->woken);
  pthread_mutex_unlock(&node->waiter->mutex);
}

static void plain_signal(struct plain_timeline *timeline, uint64_t value) {
  pthread_mutex_lock(&timeline->mutex);
  timeline->value = value;
  if (timeline->parked_list > 0) pthread_cond_broadcast(&timeline->changed);
  struct plain_node *next;
  for (struct plain_node *node = timeline->nodes; node; node = next) {
    next = node->next;
    if (node->value > value) continue;
    plain_unlink(node);
    plain_due(node);
  }
  pthread_mutex_unlock(&timeline->mutex);
}

static void plain_wait(struct plain_timeline *timeline, uint64_t value) {
  pthread_mutex_lock(&timeline->mutex);
  timeline->parked_list++;
  while (timeline->value < value) pthread_cond_wait(&timeline->changed, &timeline->mutex);
  timeline->parked_list--;
  pthread_mutex_unlock(&timeline->mutex);
}

/* False: it is due already, and in no list. */
static bool plain_add(struct plain_timeline *timeline, struct plain_node *node) {
  pthread_mutex_lock(&timeline->mutex);
  bool due = timeline->value >= node->value;
  if (!due) {
    node->next = timeline->nodes;
    node->link = &timeline->nodes;
    if (node->next) node->next->link = &node->next;
    timeline->nodes = node;
  }
  pthread_mutex_unlock(&timeline->mutex);
  return !due;
}

static void plain_remove(struct plain_timeline *timeline, struct plain_node *node) {
  pthread_mutex_lock(&timeline->mutex);
  if (node->link) plain_unlink(node);
  pthread_mutex_unlock(&timeline->mutex);
}

/* ---- both kinds behind one face ---------------------------------------------------- */

enum side { OURS, TEXTBOOK };

struct line {
  enum side side;
  struct tide_timeline *ours;
  struct plain_timeline plain;
};

static struct tide_context *context;

static void context_once(void) {
  if (!context) BENCH_CHECK(tide_context_create(NULL, &context) == TIDE_OK);
}

static void line_init(struct line *line, enum side side) {
  context_once();
  line->side = side;
  struct tide_timeline_params params = {.struct_size = sizeof params, .label = "bench"};
  if (side == OURS) BENCH_CHECK(tide_timeline_create(context, &params, &line->ours) == TIDE_OK);
  else plain_init(&line->plain);
}

static void line_fini(struct line *line) {
  if (line->side == OURS) tide_timeline_destroy(line->ours);
}

static inline void line_signal(struct line *line, uint64_t value) {
  if (line->side == TEXTBOOK) plain_signal(&line->plain, value);
  else BENCH_CHECK(tide_timeline_signal(line->ours, value, NULL) == TIDE_OK);
}

static inline void line_wait(struct line *line, uint64_t value) {
  if (line->side == TEXTBOOK) plain_wait(&line->plain, value);
  else BENCH_CHECK(tide_timeline_wait(line->ours, value, TIDE_FOREVER) == TIDE_OK);
}

/* ---- to and fro -------------------------------------------------------------------- */

struct relay {
  struct line there, back;
  uint64_t count;
  int cpu; /* the partner's */
};

static bool stay_on(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  return pthread_setaffinity_np(pthread_self(), sizeof set, &set) == 0;
}

static void *partner(void *argument) {
  struct relay *relay = argument;
  if (!stay_on(relay->cpu)) bench_wrong("a thread on its processor");
  for (uint64_t i = 1; i <= relay->count; i++) {
    line_wait(&relay->there, i);
    line_signal(&relay->back, i);
  }
  return NULL;
}

/* µs there and back. In a process of its own: where threads may run is changed. */
static const char *relay_apart(const void *what, double *out) {
  const unsigned *asked = what; /* processors, side */
  struct relay relay = {.count = bench_smoke() ? 10 : 2000, .cpu = (int)asked[0] - 1};
  pthread_t thread;
  if (!stay_on((int)asked[0] - 1)) return "too few processors";
  if (!stay_on(0)) return "the first processor is not for us";
  line_init(&relay.there, (enum side)asked[1]);
  line_init(&relay.back, (enum side)asked[1]);
  BENCH_CHECK(pthread_create(&thread, NULL, partner, &relay) == 0);
  uint64_t start = bench_now();
  for (uint64_t i = 1; i <= relay.count; i++) {
    line_signal(&relay.there, i);
    line_wait(&relay.back, i);
  }
  out[0] = (double)(bench_now() - start) / 1000 / (double)relay.count;
  pthread_join(thread, NULL);
  return NULL;
}

static const char *relay(const void *what, unsigned side, double *out) {
  unsigned asked[] = {*(const unsigned *)what, side};
  return bench_apart(relay_apart, asked, out);
}

/* ---- many threads ------------------------------------------------------------------ */

struct crowd {
  struct line line, done; /* done: 1 the first is awake, 2 all are */
  pthread_t *threads;
  size_t count;
  bool alike;             /* all wait for the same value */
  uint64_t awake, asleep; /* atomic */
};

struct member {
  struct crowd *crowd;
  uint64_t value;
};

static void *member_main(void *argument) {
  struct member member = *(struct member *)argument;
  free(argument);
  __atomic_fetch_add(&member.crowd->asleep, 1, __ATOMIC_SEQ_CST);
  line_wait(&member.crowd->line, member.value);
  if (__atomic_add_fetch(&member.crowd->awake, 1, __ATOMIC_SEQ_CST) == member.crowd->count)
    line_signal(&member.crowd->done, 2);
  else if (member.value == 1 && !member.crowd->alike) line_signal(&member.crowd->done, 1);
  return NULL;
}

/* Each waits for value, value + step … */
static void crowd_init(struct crowd *crowd, enum side side, size_t count, uint64_t value,
                       uint64_t step) {
  memset(crowd, 0, sizeof *crowd);
  line_init(&crowd->line, side);
  line_init(&crowd->done, side);
  crowd->count = count;
  crowd->alike = step == 0;
  crowd->threads = calloc(count, sizeof *crowd->threads);
  pthread_attr_t small;
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, 64 << 10);
  for (size_t i = 0; i < count; i++) {
    struct member *member = malloc(sizeof *member);
    BENCH_CHECK(member && crowd->threads);
    *member = (struct member){crowd, value + i * step};
    BENCH_CHECK(pthread_create(&crowd->threads[i], &small, member_main, member) == 0);
  }
  while (__atomic_load_n(&crowd->asleep, __ATOMIC_SEQ_CST) < count) sched_yield();
  struct timespec time = {0, 20000000}; /* the last of them are between saying so and sleeping */
  nanosleep(&time, NULL);
}

static void crowd_fini(struct crowd *crowd) {
  line_signal(&crowd->line, UINT64_MAX / 2);
  for (size_t i = 0; i < crowd->count; i++) pthread_join(crowd->threads[i], NULL);
  BENCH_CHECK(crowd->awake == crowd->count);
  line_fini(&crowd->line);
  line_fini(&crowd->done);
  free(crowd->threads);
}

static size_t crowd_size(size_t count) { return bench_smoke() ? count / 50 + 2 : count; }

/* µs from the signal until the one it frees has answered; the others wait on. */
static const char *free_one(const void *what, unsigned side, double *out) {
  struct crowd crowd;
  crowd_init(&crowd, (enum side)side, crowd_size(*(const size_t *)what), 1, 1000000);
  uint64_t start = bench_now();
  line_signal(&crowd.line, 1);
  line_wait(&crowd.done, 1);
  out[0] = (double)(bench_now() - start) / 1000;
  crowd_fini(&crowd);
  return NULL;
}

/* µs of a signal that frees nobody. */
static const char *far_threads(const void *what, unsigned side, double *out) {
  struct crowd crowd;
  uint64_t signals = bench_smoke() ? 2 : 20;
  crowd_init(&crowd, (enum side)side, crowd_size(*(const size_t *)what), 1000000, 1);
  uint64_t start = bench_now();
  for (uint64_t i = 1; i <= signals; i++) line_signal(&crowd.line, i);
  out[0] = (double)(bench_now() - start) / 1000 / (double)signals;
  crowd_fini(&crowd);
  return NULL;
}

/* µs of a signal that frees all, and until the last of them is awake. */
static const char *wake_all(const void *what, unsigned side, double *out) {
  struct crowd crowd;
  crowd_init(&crowd, (enum side)side, crowd_size(*(const size_t *)what), 1, 0);
  uint64_t start = bench_now();
  line_signal(&crowd.line, 1);
  out[0] = (double)(bench_now() - start) / 1000;
  line_wait(&crowd.done, 2);
  out[1] = (double)(bench_now() - start) / 1000;
  crowd_fini(&crowd);
  return NULL;
}

/* ---- calls ------------------------------------------------------------------------- */

struct calls {
  struct line line;
  size_t count;
  struct tide_timepoint *ours;
  struct plain_node *theirs;
};

static uint64_t called;
static void on_call(struct tide_timepoint *timepoint, enum tide_status status) {
  (void)timepoint;
  called += status == TIDE_OK;
}
static void on_plain_call(struct plain_node *node) {
  (void)node;
  called++;
}

static void call_add(struct calls *calls, size_t i) {
  if (calls->line.side == OURS) BENCH_CHECK(tide_timepoint_add(&calls->ours[i]) == TIDE_OK);
  else BENCH_CHECK(plain_add(&calls->line.plain, &calls->theirs[i]));
}

static void call_cancel(struct calls *calls, size_t i) {
  if (calls->line.side == OURS) BENCH_CHECK(tide_timepoint_cancel(&calls->ours[i]));
  else plain_remove(&calls->line.plain, &calls->theirs[i]);
}

/* One call each for first, first + 1 …, added in a random order. */
static void calls_init(struct calls *calls, enum side side, size_t count, uint64_t first) {
  struct tide_random random = {count};
  size_t *order = malloc(count * sizeof *order);
  line_init(&calls->line, side);
  calls->count = count;
  calls->ours = calloc(count, sizeof *calls->ours);
  calls->theirs = calloc(count, sizeof *calls->theirs);
  BENCH_CHECK(order && calls->ours && calls->theirs);
  for (size_t i = 0; i < count; i++) {
    size_t other = (size_t)tide_random_below(&random, i + 1);
    order[i] = order[other];
    order[other] = i;
    calls->ours[i].call = on_call;
    calls->ours[i].timeline = calls->line.ours;
    calls->ours[i].value = first + i;
    calls->theirs[i] = (struct plain_node){.value = first + i, .call = on_plain_call};
  }
  for (size_t i = 0; i < count; i++) call_add(calls, order[i]);
  free(order);
}

static void calls_fini(struct calls *calls) {
  line_fini(&calls->line);
  free(calls->ours);
  free(calls->theirs);
}

static size_t call_count(const void *what) {
  size_t count = *(const size_t *)what;
  return bench_smoke() && count > 100 ? 100 : count;
}

/* ns a signal, each of which fires one. */
static const char *fire_in_order(const void *what, unsigned side, double *out) {
  struct calls calls;
  calls_init(&calls, (enum side)side, call_count(what), 1);
  called = 0;
  uint64_t start = bench_now();
  for (size_t i = 1; i <= calls.count; i++) line_signal(&calls.line, i);
  out[0] = (double)(bench_now() - start) / (double)calls.count;
  BENCH_CHECK(called == calls.count);
  calls_fini(&calls);
  return NULL;
}

/* ns to take a random one off and put it back. */
static const char *take_off(const void *what, unsigned side, double *out) {
  struct calls calls;
  struct tide_random random = {5};
  uint64_t times = bench_smoke() ? 10 : 50000;
  calls_init(&calls, (enum side)side, call_count(what), 1);
  uint64_t start = bench_now();
  for (uint64_t i = 0; i < times; i++) {
    size_t one = (size_t)tide_random_below(&random, calls.count);
    call_cancel(&calls, one);
    call_add(&calls, one);
  }
  out[0] = (double)(bench_now() - start) / (double)times;
  for (size_t i = 0; i < calls.count; i++) call_cancel(&calls, i);
  calls_fini(&calls);
  return NULL;
}

/* ---- one of many ------------------------------------------------------------------- */

struct many {
  size_t count;
  struct line *lines;
  struct tide_wait_point *points;
  struct plain_node *nodes;
  struct plain_waiter waiter;
};

static void many_init(struct many *many, enum side side, size_t count) {
  memset(many, 0, sizeof *many);
  many->count = count;
  many->lines = calloc(count, sizeof *many->lines);
  many->points = calloc(count, sizeof *many->points);
  many->nodes = calloc(count, sizeof *many->nodes);
  BENCH_CHECK(many->lines && many->points && many->nodes);
  pthread_mutex_init(&many->waiter.mutex, NULL);
  pthread_cond_init(&many->waiter.woken, NULL);
  for (size_t i = 0; i < count; i++) {
    line_init(&many->lines[i], side);
    many->points[i] = (struct tide_wait_point){.timeline = many->lines[i].ours, .value = 1};
    many->nodes[i] = (struct plain_node){.value = 1, .waiter = &many->waiter};
  }
}

static void many_fini(struct many *many) {
  for (size_t i = 0; i < many->count; i++) line_fini(&many->lines[i]);
  free(many->lines);
  free(many->points);
  free(many->nodes);
}

/* Answers which is reached; none: count, and all are registered. */
static size_t plain_register(struct many *many) {
  size_t i = 0;
  many->waiter.due = false;
  while (i < many->count && plain_add(&many->lines[i].plain, &many->nodes[i])) i++;
  return i;
}

static void plain_unregister(struct many *many, size_t count) {
  for (size_t i = 0; i < count; i++) plain_remove(&many->lines[i].plain, &many->nodes[i]);
}

/* µs of a wait for any of many whose first is reached already. */
static const char *first_ready(const void *what, unsigned side, double *out) {
  struct many many;
  size_t index = 1;
  uint64_t times = bench_smoke() ? 2 : 200;
  many_init(&many, (enum side)side, call_count(what));
  line_signal(&many.lines[0], 1);
  uint64_t start = bench_now();
  for (uint64_t i = 0; i < times; i++) {
    if (side == TEXTBOOK) plain_unregister(&many, index = plain_register(&many));
    else BENCH_CHECK(tide_wait_any(many.points, many.count, TIDE_FOREVER, &index) == TIDE_OK);
    BENCH_CHECK(index == 0);
  }
  out[0] = (double)(bench_now() - start) / 1000 / (double)times;
  many_fini(&many);
  return NULL;
}

/* ns a timeline to begin waiting for any of them, and to end it; none is reached. */
static const char *begin_and_end(const void *what, unsigned side, double *out) {
  struct many many;
  struct tide_wait_any_set set;
  uint64_t times = bench_smoke() ? 2 : 100, began = 0, ended = 0;
  many_init(&many, (enum side)side, call_count(what));
  for (uint64_t i = 0; i < times; i++) {
    uint64_t start = bench_now(), middle;
    if (side == TEXTBOOK) {
      BENCH_CHECK(plain_register(&many) == many.count);
      middle = bench_now();
      plain_unregister(&many, many.count);
    } else {
      BENCH_CHECK(tide_wait_any_init(&set, many.points, many.count) == TIDE_OK);
      middle = bench_now();
      tide_wait_any_fini(&set);
    }
    began += middle - start;
    ended += bench_now() - middle;
  }
  out[0] = (double)began / (double)(times * many.count);
  out[1] = (double)ended / (double)(times * many.count);
  many_fini(&many);
  return NULL;
}

/* Ours with a set that keeps its members. Answers which was ready. */
static size_t set_round(struct many *many, struct tide_wait_set *set, size_t one, uint64_t value) {
  struct tide_wait_ready ready;
  size_t count;
  line_signal(&many->lines[one], value);
  BENCH_CHECK(tide_wait_set_wait(set, &ready, 1, TIDE_FOREVER, &count) == TIDE_OK && count == 1);
  BENCH_CHECK(tide_wait_set_add(set, many->lines[one].ours, value + 1, one, NULL) == TIDE_OK);
  return ready.cookie;
}

/* A waiter that registers anew each time. */
static size_t anew_round(struct many *many, size_t one, uint64_t value) {
  for (size_t i = 0; i < many->count; i++) many->nodes[i].value = value;
  line_signal(&many->lines[one], value);
  size_t index = plain_register(many);
  plain_unregister(many, index);
  return index;
}

/* µs: again and again, one of many is signalled and found. */
static const char *find_one(const void *what, unsigned side, double *out) {
  struct many many;
  struct tide_wait_set *set = NULL;
  uint64_t times = bench_smoke() ? 2 : 50;
  many_init(&many, (enum side)side, call_count(what));
  if (side == OURS) {
    BENCH_CHECK(tide_wait_set_create(context, (uint32_t)many.count, &set) == TIDE_OK);
    for (size_t i = 0; i < many.count; i++)
      BENCH_CHECK(tide_wait_set_add(set, many.lines[i].ours, 1, i, NULL) == TIDE_OK);
  }
  size_t one = many.count / 2;
  uint64_t start = bench_now();
  for (uint64_t i = 1; i <= times; i++)
    BENCH_CHECK((side == OURS ? set_round(&many, set, one, i) : anew_round(&many, one, i)) == one);
  out[0] = (double)(bench_now() - start) / 1000 / (double)times;
  if (set) tide_wait_set_destroy(set);
  many_fini(&many);
  return NULL;
}

/* ---- size --------------------------------------------------------------------------- */

static size_t counted;
static void *count_alloc(void *self, size_t size, size_t align) {
  const struct tide_allocator *system = tide_allocator_system();
  (void)self;
  counted += size;
  return system->alloc(system->self, size, align);
}
static void count_free(void *self, void *memory, size_t size) {
  const struct tide_allocator *system = tide_allocator_system();
  (void)self;
  system->free(system->self, memory, size);
}

/* Bytes of one timeline, with the history that it has unless told otherwise, and with the least. */
static const char *size_of(const void *what, unsigned side, double *out) {
  static const struct tide_allocator counting = {count_alloc, count_free, NULL};
  (void)what;
  out[0] = out[1] = sizeof(struct plain_timeline);
  if (side == TEXTBOOK) return NULL;
  for (uint32_t least = 0; least < 2; least++) {
    struct tide_context *own;
    struct tide_context_params params = {.struct_size = sizeof params, .allocator = &counting};
    struct tide_timeline_params history = {.struct_size = sizeof history, .history = least};
    struct tide_timeline *timeline;
    BENCH_CHECK(tide_context_create(&params, &own) == TIDE_OK);
    counted = 0;
    BENCH_CHECK(tide_timeline_create(own, &history, &timeline) == TIDE_OK);
    out[least] = (double)counted;
    tide_timeline_destroy(timeline);
    tide_context_destroy(own);
  }
  return NULL;
}

/* ---- figures ------------------------------------------------------------------------ */

#define TWO_VALUES(function, type, n, first, second, in)                                           \
  (&(const struct bench_contest){.sides = {"ours", "mutex and condvar"},                           \
                                 .values = {{first, in, BENCH_LESS}, {second, in, BENCH_LESS}},    \
                                 .measure = function,                                              \
                                 .what = &(const type){n}})
#define CONTEST(function, type, n, in)                                                             \
  (&(const struct bench_contest){.sides = {"ours", "mutex and condvar"},                           \
                                 .values = {{NULL, in, BENCH_LESS}},                               \
                                 .measure = function,                                              \
                                 .what = &(const type){n}})
#define CURVE(of, n, what) .curve = of, .at = n, .along = what
#define FIRE(n)                                                                                    \
  {.name = "calls_in_order_" #n,                                                                   \
   .contest = CONTEST(fire_in_order, size_t, n, "ns a signal"),                                    \
   CURVE("calls in order", n, "calls"),                                                            \
   .rounds = 5},
#define FAR(n)                                                                                     \
  {.name = "signal_" #n "_blocked_far_off",                                                        \
   .contest = CONTEST(far_threads, size_t, n, "us"),                                               \
   CURVE("signal, threads far off", n, "threads"),                                                 \
   .rounds = 5},
#define ONE(n)                                                                                     \
  {.name = "free_1_of_" #n,                                                                        \
   .contest = CONTEST(free_one, size_t, n, "us"),                                                  \
   CURVE("free one thread", n, "threads"),                                                         \
   .rounds = 7},
#define WAKE(n)                                                                                    \
  {.name = "wake_" #n,                                                                             \
   .contest = TWO_VALUES(wake_all, size_t, n, "signal returns", "all awake", "us"),                \
   CURVE("wake all threads", n, "threads"),                                                        \
   .rounds = 7},
#define FIND(n)                                                                                    \
  {.name = "set_of_" #n,                                                                           \
   .contest = CONTEST(find_one, size_t, n, "us"),                                                  \
   CURVE("find one of many", n, "timelines"),                                                      \
   .rounds = 5},

/* clang-format off */
const struct bench_figure bench_waits[] = {
    {.name = "size", .contest = TWO_VALUES(size_of, unsigned, 0, "of a timeline", "history of 1", "B"),
     .rounds = 1},
    {.name = "to_and_fro_1_cpu", .contest = CONTEST(relay, unsigned, 1, "us")},
    {.name = "to_and_fro_2_cpus", .contest = CONTEST(relay, unsigned, 2, "us")},
    ONE(10) ONE(100) ONE(1000)
    FAR(10) FAR(100) FAR(1000)
    WAKE(10) WAKE(100) WAKE(1000)
    FIRE(100) FIRE(1000) FIRE(10000)
    {.name = "cancel_1_of_10000", .contest = CONTEST(take_off, size_t, 10000, "ns"), .rounds = 9},
    {.name = "any_of_10000_first_ready", .contest = CONTEST(first_ready, size_t, 10000, "us"),
     .rounds = 9},
    {.name = "any_of_1024_none_ready",
     .contest = TWO_VALUES(begin_and_end, size_t, 1024, "begin", "end", "ns a timeline"), .rounds = 9},
    FIND(100) FIND(1000) FIND(10000)
    {0}};
