/* Linearizability: threads call one timeline, or one pool; what each call answered, and which calls
 * were over before which began, is recorded. There must be one order of all calls, in which a call
 * that was over comes before one that began later, and in which a sequential model gives every
 * answer. The order is searched for (Wing and Gong), each set of calls and state once. */
#include "harness.h"

#include "base/random.h"
#include "tidemark/tidemark.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 3, CALLS = 6, MOST = 2 * CALLS, SEEN = 8192, BLOCKS = 3 };

enum kind { SIGNAL, QUERY, WAIT, FAIL_IT, TAKE, GIVE };

struct call {
  enum kind kind;
  uint64_t value;  /* asked for; of GIVE: the block */
  uint64_t answer; /* a status, a value, or the block that was taken */
  unsigned begin, end;
};

struct history {
  struct call calls[THREADS][MOST];
  unsigned count[THREADS];
};

/* ---- the sequential models ---- */

struct timeline_model {
  uint32_t value, failed;
};

static bool timeline_step(void *state, const struct call *call) {
  struct timeline_model *model = state;
  switch (call->kind) {
    case SIGNAL:
      if (model->failed && call->value > model->value) return call->answer == TIDE_LOST;
      if (call->value <= model->value) return call->answer == TIDE_VALUE;
      model->value = (uint32_t)call->value;
      return call->answer == TIDE_OK;
    case QUERY: return call->answer == model->value;
    case WAIT:
      if (call->value <= model->value) return call->answer == TIDE_OK;
      return call->answer == (model->failed ? TIDE_LOST : TIDE_TIMEOUT);
    default: model->failed = 1; return true;
  }
}

/* Which blocks are taken; a thread names them by what it was given. */
struct pool_model {
  uint64_t taken[BLOCKS];
};

static bool pool_step(void *state, const struct call *call) {
  struct pool_model *model = state;
  int room = -1;
  for (int i = 0; i < BLOCKS; i++) {
    if (call->kind == GIVE && model->taken[i] == call->value) {
      model->taken[i] = 0;
      return true;
    }
    if (call->kind == TAKE && call->answer && model->taken[i] == call->answer) return false;
    if (!model->taken[i]) room = i;
  }
  if (call->kind == GIVE) return false;
  if (!call->answer) return room < 0; /* none was left */
  if (room < 0) return false;
  model->taken[room] = call->answer;
  return true;
}

union model {
  struct timeline_model timeline;
  struct pool_model pool;
};

/* ---- the search ---- */

struct search {
  const struct history *history;
  bool (*step)(void *state, const struct call *call);
  struct {
    unsigned set[THREADS]; /* how many of each thread's calls are placed */
    union model model;
  } seen[SEEN];
  size_t seen_count;
};

static bool was_here(struct search *search, const unsigned *set, const union model *model) {
  for (size_t i = 0; i < search->seen_count; i++)
    if (!memcmp(search->seen[i].set, set, sizeof search->seen[i].set) &&
        !memcmp(&search->seen[i].model, model, sizeof *model))
      return true;
  CHECK(search->seen_count < SEEN);
  memcpy(search->seen[search->seen_count].set, set, sizeof search->seen[0].set);
  search->seen[search->seen_count++].model = *model;
  return false;
}

/* A call may come next if none that is not placed was over before it began. */
static bool may_come(const struct history *history, const unsigned *set, int thread) {
  const struct call *call = &history->calls[thread][set[thread]];
  for (int t = 0; t < THREADS; t++)
    if (set[t] < history->count[t] && history->calls[t][set[t]].end < call->begin) return false;
  return true;
}

static bool place(struct search *search, unsigned *set, const union model *model) {
  const struct history *history = search->history;
  bool all = true;
  if (was_here(search, set, model)) return false;
  for (int t = 0; t < THREADS; t++) {
    if (set[t] == history->count[t]) continue;
    all = false;
    union model next = *model;
    if (!may_come(history, set, t) || !search->step(&next, &history->calls[t][set[t]])) continue;
    set[t]++;
    if (place(search, set, &next)) return true;
    set[t]--;
  }
  return all;
}

static bool explained(const struct history *history,
                      bool (*step)(void *state, const struct call *call)) {
  struct search *search = calloc(1, sizeof *search);
  unsigned set[THREADS] = {0};
  union model model;
  memset(&model, 0, sizeof model);
  CHECK(search);
  search->history = history;
  search->step = step;
  bool found = place(search, set, &model);
  free(search);
  return found;
}

static void show(const struct history *history) {
  static const char *const kinds[] = {"signal", "query", "wait", "fail", "take", "give"};
  for (int t = 0; t < THREADS; t++)
    for (unsigned i = 0; i < history->count[t]; i++) {
      const struct call *call = &history->calls[t][i];
      fprintf(stderr, "thread %d: %s %llx -> %llx, from %u to %u\n", t, kinds[call->kind],
              (unsigned long long)call->value, (unsigned long long)call->answer, call->begin,
              call->end);
    }
}

/* ---- recording ---- */

struct world {
  struct tide_context *context;
  struct tide_timeline *timeline;
  struct tide_pool *pool;
  struct history history;
  uint64_t seed;
  atomic_uint clock, ready;
};

struct thread {
  struct world *world;
  int number;
};

static struct call *begin(struct thread *thread, enum kind kind, uint64_t value) {
  struct history *history = &thread->world->history;
  struct call *call = &history->calls[thread->number][history->count[thread->number]++];
  *call = (struct call){.kind = kind, .value = value};
  call->begin = atomic_fetch_add(&thread->world->clock, 1);
  return call;
}
static void end(struct thread *thread, struct call *call, uint64_t answer) {
  call->answer = answer;
  call->end = atomic_fetch_add(&thread->world->clock, 1);
}

/* So that calls of several threads fall together even where there are few cores. */
static void dawdle(struct tide_random *random) {
  if (tide_random_below(random, 3) == 0) sched_yield();
}

static struct tide_random line_up(struct thread *thread) {
  struct world *world = thread->world;
  atomic_fetch_add(&world->ready, 1);
  while (atomic_load(&world->ready) < THREADS) sched_yield();
  return (struct tide_random){world->seed * THREADS + (uint64_t)thread->number};
}

static void *call_timeline(void *argument) {
  struct thread *thread = argument;
  struct tide_timeline *timeline = thread->world->timeline;
  struct tide_random random = line_up(thread);
  for (int i = 0; i < CALLS; i++) {
    dawdle(&random);
    uint64_t value = 1 + tide_random_below(&random, 6), kind = tide_random_below(&random, 16);
    struct call *call = begin(thread,
                              kind < 6    ? SIGNAL
                              : kind < 10 ? QUERY
                              : kind < 15 ? WAIT
                                          : FAIL_IT,
                              value);
    if (call->kind == SIGNAL) end(thread, call, tide_timeline_signal(timeline, value, NULL));
    else if (call->kind == QUERY) end(thread, call, tide_timeline_query(timeline));
    else if (call->kind == WAIT) end(thread, call, tide_timeline_wait(timeline, value, 0));
    else tide_timeline_fail(timeline, TIDE_LOST), end(thread, call, 0);
  }
  return NULL;
}

static void give(struct thread *thread, struct tide_buffer *buffer) {
  struct call *call = begin(thread, GIVE, (uintptr_t)tide_buffer_data(buffer));
  tide_pool_free(buffer, NULL);
  end(thread, call, 0);
}

static void *call_pool(void *argument) {
  struct thread *thread = argument;
  struct tide_random random = line_up(thread);
  struct tide_buffer *held[CALLS];
  int count = 0;
  for (int i = 0; i < CALLS; i++) {
    dawdle(&random);
    if (count && tide_random_below(&random, 2)) {
      give(thread, held[--count]);
    } else {
      struct call *call = begin(thread, TAKE, 0);
      enum tide_status status =
          tide_pool_alloc(thread->world->pool, 1000, NULL, NULL, &held[count]);
      end(thread, call, status ? 0 : (uintptr_t)tide_buffer_data(held[count]));
      CHECK(status == TIDE_OK || status == TIDE_FULL);
      count += status == TIDE_OK;
    }
  }
  while (count) give(thread, held[--count]);
  return NULL;
}

static void run(struct world *world, void *(*work)(void *)) {
  pthread_t threads[THREADS];
  struct thread given[THREADS];
  for (int t = 0; t < THREADS; t++) {
    given[t] = (struct thread){world, t};
    CHECK(!pthread_create(&threads[t], NULL, work, &given[t]));
  }
  for (int t = 0; t < THREADS; t++) pthread_join(threads[t], NULL);
}

static void check_seed(uint64_t seed, bool pool) {
  struct world world = {.seed = seed};
  struct tide_pool_params params = {
      .struct_size = sizeof params, .buffers = BLOCKS, .chunk = 65536};
  CHECK_OK(tide_context_create(NULL, &world.context));
  CHECK_OK(tide_timeline_create(world.context, NULL, &world.timeline));
  CHECK_OK(tide_pool_create(world.context, &params, &world.pool));
  run(&world, pool ? call_pool : call_timeline);
  if (!explained(&world.history, pool ? pool_step : timeline_step)) {
    show(&world.history);
    FAIL("seed %d: no order explains what the calls answered", (int)seed);
  }
  CHECK_OK(tide_pool_destroy(world.pool));
  tide_timeline_destroy(world.timeline);
  tide_context_destroy(world.context);
}

TEST(timelines) {
  for (uint64_t seed = 1; seed <= 500 / test_slowdown(); seed++) check_seed(seed, false);
}

TEST(pools) {
  for (uint64_t seed = 1; seed <= 500 / test_slowdown(); seed++) check_seed(seed, true);
}

/* What no order explains is found: a query that goes back, a block that two have. */
TEST(what_is_wrong_is_found) {
  struct history back = {
      .calls = {{{SIGNAL, 2, TIDE_OK, 0, 1}, {QUERY, 0, 2, 2, 3}}, {{QUERY, 0, 0, 4, 5}}},
      .count = {2, 1}};
  CHECK(!explained(&back, timeline_step));
  back.calls[1][0].begin = 2; /* together with the first query, but not with the signal */
  CHECK(!explained(&back, timeline_step));
  back.calls[1][0].begin = 0; /* together with the signal */
  CHECK(explained(&back, timeline_step));
  struct history twice = {
      .calls = {{{TAKE, 0, 0x40, 0, 3}, {GIVE, 0x40, 0, 6, 7}}, {{TAKE, 0, 0x40, 2, 5}}},
      .count = {2, 1}};
  CHECK(!explained(&twice, pool_step));
  twice.calls[1][0].end = 8; /* it came after the other one was given back */
  CHECK(explained(&twice, pool_step));
}

TEST_MAIN(CASE(timelines), CASE(pools), CASE(what_is_wrong_is_found))
