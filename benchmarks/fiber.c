/* Fibers: what a switch, a wait and a job cost. The rivals are what a program has without them:
 * ucontext for switching, and threads that sleep on a futex for waiting. One carrier, unless a
 * figure says otherwise. Processor time of the thread that works, so that what others had of it
 * does not count; with two carriers, all that the process had. */
#include "bench.h"

#include "tidemark/tidemark.h"
#include "wic/fiber_park.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#define MANY 4096
#define STACK ((size_t)36 << 10)

struct stage {
  struct tide_context *context;
  struct tide_crew *crew;
  uint32_t carriers, fibers;
  uint64_t total; /* switches, waits or jobs a round */
  uint64_t share; /* of each fiber */
  uint64_t left;  /* one carrier's: nobody else touches it */
  uint64_t began, ended;
  struct tide_fiber *other;
  ucontext_t back, *contexts;
  char *stacks;
  uint32_t at;
};

static struct stage *stage_of(uint32_t carriers, uint32_t fibers) {
  struct stage *s = calloc(1, sizeof *s);
  struct tide_crew_params params = {
      .struct_size = sizeof params, .carriers = carriers, .fibers = fibers};
  BENCH_CHECK(s != NULL && tide_context_create(NULL, &s->context) == TIDE_OK);
  BENCH_CHECK(tide_crew_create(s->context, &params, &s->crew) == TIDE_OK);
  s->carriers = carriers;
  s->fibers = fibers;
  s->share = (bench_smoke() ? 20000 : 1000000) / fibers + 1;
  s->total = s->share * fibers;
  return s;
}

static void stage_over(void *state) {
  struct stage *s = state;
  BENCH_CHECK(tide_crew_destroy(s->crew) == TIDE_OK);
  tide_context_destroy(s->context);
  free(s->contexts);
  free(s->stacks);
  free(s);
}

static uint64_t spent_by_all(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* The first fiber to come begins, the last one to end ends: on the same carrier, where there is one
 * only. */
static void begins(struct stage *s) {
  if (s->carriers == 1 && s->began == 0) s->began = bench_spent();
}

static void ends(struct stage *s) {
  if (s->carriers == 1) s->ended = bench_spent();
}

/* ns of processor time each. */
static double act(struct stage *s, void (*entry)(void *, uint64_t), uint64_t fibers) {
  s->began = 0;
  uint64_t before = spent_by_all();
  BENCH_CHECK(tide_crew_run(s->crew, entry, s, fibers) == TIDE_OK);
  BENCH_CHECK(tide_crew_wait(s->crew, TIDE_FOREVER) == TIDE_OK);
  uint64_t spent = s->carriers == 1 ? s->ended - s->began : spent_by_all() - before;
  return (double)spent / (double)s->total;
}

/* ---- switching ------------------------------------------------------------------------- */

static void *setup_two(void) { return stage_of(1, 2); }
static void *setup_many(void) { return stage_of(1, MANY); }
static void *setup_two_carriers(void) { return stage_of(2, MANY); }

static void yields(void *argument, uint64_t index) {
  struct stage *s = argument;
  begins(s);
  for (uint64_t i = 0; i < s->share; i++) tide_fiber_yield();
  if (index + 1 == s->fibers) ends(s);
}

static double switches(void *state) {
  struct stage *s = state;
  return act(s, yields, s->fibers);
}

static void context_main(uint32_t low, uint32_t high) {
  struct stage *s = (void *)(uintptr_t)((uint64_t)high << 32 | low);
  for (;;) {
    uint32_t self = s->at;
    if (s->left == 0) swapcontext(&s->contexts[self], &s->back);
    s->left--;
    s->at = self + 1 < s->fibers ? self + 1 : 0;
    swapcontext(&s->contexts[self], &s->contexts[s->at]);
  }
}

static void make_contexts(struct stage *s) {
  uint64_t address = (uintptr_t)s;
  s->contexts = calloc(s->fibers, sizeof *s->contexts);
  s->stacks = malloc(s->fibers * STACK);
  BENCH_CHECK(s->contexts && s->stacks);
  for (uint32_t i = 0; i < s->fibers; i++) {
    getcontext(&s->contexts[i]);
    s->contexts[i].uc_stack = (stack_t){.ss_sp = s->stacks + i * STACK, .ss_size = STACK};
    makecontext(&s->contexts[i], (void (*)(void))context_main, 2, (uint32_t)address,
                (uint32_t)(address >> 32));
  }
}

/* The same rounds of as many stacks. */
static double swaps(void *state) {
  struct stage *s = state;
  if (!s->contexts) make_contexts(s);
  s->left = s->total;
  uint64_t began = bench_spent();
  swapcontext(&s->back, &s->contexts[s->at]);
  return (double)(bench_spent() - began) / (double)s->total;
}

/* ---- waiting ---------------------------------------------------------------------------- */

/* Two fibers: each readies the other one, and parks. */
static void wakes_the_other(void *argument, uint64_t index) {
  struct stage *s = argument;
  struct tide_fiber *self = tide_fiber_self(), *other;
  if (index == 0) {
    s->other = self;
    tide_fiber_park(self, NULL);
  } else begins(s);
  while (s->left > 0) {
    s->left--;
    other = s->other;
    s->other = self;
    tide_fiber_ready(other);
    tide_fiber_park(self, NULL);
  }
  other = s->other;
  s->other = NULL;
  if (other) tide_fiber_ready(other);
  else ends(s);
}

static double parks(void *state) {
  struct stage *s = state;
  s->left = s->total;
  return act(s, wakes_the_other, 2);
}

/* All but one park, and that one readies them in one call. */
static void parks_in_line(void *argument, uint64_t index) {
  struct stage *s = argument;
  struct tide_fiber *self = tide_fiber_self(), *all;
  begins(s);
  for (uint64_t i = 0; i < s->share; i++) {
    if (index + 1 < s->fibers) {
      self->next = s->other;
      s->other = self;
      tide_fiber_park(self, NULL);
    } else {
      all = s->other;
      s->other = NULL;
      tide_fiber_ready_all(all);
      tide_fiber_yield();
    }
  }
  ends(s);
}

static double parks_many(void *state) {
  struct stage *s = state;
  return act(s, parks_in_line, s->fibers);
}

struct pair {
  _Alignas(64) uint32_t word;
  uint64_t count, spent;
};

static void futex_turns(struct pair *pair, uint32_t own) {
  uint64_t began = bench_spent();
  for (uint64_t i = 0; i < pair->count; i++) {
    while (__atomic_load_n(&pair->word, __ATOMIC_ACQUIRE) != own)
      syscall(SYS_futex, &pair->word, FUTEX_WAIT_PRIVATE, !own, NULL, NULL, 0);
    __atomic_store_n(&pair->word, !own, __ATOMIC_RELEASE);
    syscall(SYS_futex, &pair->word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
  }
  __atomic_fetch_add(&pair->spent, bench_spent() - began, __ATOMIC_RELAXED);
}

static void *futex_first(void *pair) { return futex_turns(pair, 0), NULL; }
static void *futex_second(void *pair) { return futex_turns(pair, 1), NULL; }

/* Two threads of one processor, as the two fibers are. */
static double sleeps(void *state) {
  struct stage *s = state;
  struct pair pair = {.count = s->total / 40 + 1};
  pthread_t threads[2];
  pthread_attr_t attributes;
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(sched_getcpu(), &set);
  pthread_attr_init(&attributes);
  pthread_attr_setaffinity_np(&attributes, sizeof set, &set);
  BENCH_CHECK(pthread_create(&threads[0], &attributes, futex_first, &pair) == 0);
  BENCH_CHECK(pthread_create(&threads[1], &attributes, futex_second, &pair) == 0);
  for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
  pthread_attr_destroy(&attributes);
  return (double)pair.spent / (double)(2 * pair.count);
}

/* ---- jobs -------------------------------------------------------------------------------- */

static void *setup_jobs(void) { return stage_of(1, 1024); }

static void does_little(void *argument, uint64_t index) {
  struct stage *s = argument;
  begins(s);
  if (index + 1 == s->total) ends(s);
}

static double jobs(void *state) {
  struct stage *s = state;
  return act(s, does_little, s->total);
}

static void nothing(void) {}

static double makes_context(void *state) {
  struct stage *s = state;
  if (!s->contexts) make_contexts(s);
  uint64_t began = bench_spent();
  for (uint64_t i = 0; i < s->total; i++) {
    ucontext_t *job = &s->contexts[i % s->fibers];
    getcontext(job);
    job->uc_stack = (stack_t){.ss_sp = s->stacks + i % s->fibers * STACK, .ss_size = STACK};
    job->uc_link = &s->back;
    makecontext(job, nothing, 0);
    swapcontext(&s->back, job);
  }
  return (double)(bench_spent() - began) / (double)s->total;
}

/* clang-format off */
const struct bench_figure bench_fiber[] = {
    {.name = "switch_2", .unit = "ns", .rival = "swapcontext",
     .setup = setup_two, .measure_ours = switches, .measure_theirs = swaps, .teardown = stage_over},
    {.name = "switch_4096", .unit = "ns", .rival = "swapcontext",
     .setup = setup_many, .measure_ours = switches, .measure_theirs = swaps, .teardown = stage_over},
    {.name = "switch_4096_two_carriers", .unit = "ns", .rival = "swapcontext, one thread",
     .setup = setup_two_carriers, .measure_ours = switches, .measure_theirs = swaps, .teardown = stage_over},
    {.name = "park_and_ready", .unit = "ns", .rival = "two threads, futex",
     .setup = setup_two, .measure_ours = parks, .measure_theirs = sleeps, .teardown = stage_over},
    {.name = "park_and_ready_4095_at_once", .unit = "ns",
     .setup = setup_many, .measure_ours = parks_many, .teardown = stage_over},
    {.name = "start_and_finish", .unit = "ns", .rival = "makecontext",
     .setup = setup_jobs, .measure_ours = jobs, .measure_theirs = makes_context, .teardown = stage_over},
    {0}};
/* clang-format on */
