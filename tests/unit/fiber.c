/* Fibers and crews: switching, waiting and being readied, faults, and what goes with a fiber. */
#include "harness.h"

#include "base/random.h"
#include "tidemark/tidemark.h"
#include "wic/fiber_park.h"
#include "wic/fiber_crew.h"

#include <errno.h>
#include <fenv.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- a crew to test ------------------------------------------------------------------ */

static struct tide_context *context;

static struct tide_crew *crew_of(uint32_t carriers, uint32_t fibers) {
  struct tide_crew_params params = {
      .struct_size = sizeof params, .carriers = carriers, .fibers = fibers};
  struct tide_crew *crew = NULL;
  CHECK_OK(tide_context_create(NULL, &context));
  CHECK_OK(tide_crew_create(context, &params, &crew));
  return crew;
}

static void crew_over(struct tide_crew *crew) {
  CHECK_OK(tide_crew_wait(crew, TIDE_FOREVER));
  CHECK_OK(tide_crew_destroy(crew));
  tide_context_destroy(context);
}

static void lock(struct tide_lock *l) { tide_lock_take(l, tide_platform_linux()); }

/* Waits for a number that others raise, without holding up their CPU. */
static void until(const uint32_t *number, uint32_t value) {
  while (tide_load_acquire(number) < value) sched_yield();
}

static uint32_t sized(uint32_t count) { return test_slowdown() > 1 ? count / 16 : count; }

static void counts(void *argument, uint64_t index) {
  (void)index;
  tide_fetch_add((uint32_t *)argument, 1u);
}

/* ---- switching ------------------------------------------------------------------------ */

struct rounds {
  uint32_t count, done;
  uint64_t sum;
  uint8_t seen[40000];
};

static void take_turns(void *argument, uint64_t index) {
  struct rounds *r = argument;
  struct tide_fiber *self = tide_fiber_self();
  uint64_t sum = 0;
  CHECK(self != NULL);
  for (uint32_t i = 0; i < r->count; i++) {
    sum += index;
    tide_fiber_yield();
    CHECK(tide_fiber_self() == self);
  }
  r->seen[index]++;
  tide_fetch_add(&r->sum, sum);
  tide_fetch_add(&r->done, 1u);
}

static void turns_with(uint32_t carriers, uint32_t fibers, uint32_t jobs, uint32_t yields) {
  struct tide_crew *crew = crew_of(carriers, fibers);
  struct rounds *r = calloc(1, sizeof *r);
  r->count = yields;
  CHECK_OK(tide_crew_run(crew, take_turns, r, jobs));
  CHECK_OK(tide_crew_wait(crew, TIDE_FOREVER));
  CHECK_EQ_U64(r->done, jobs);
  CHECK_EQ_U64(r->sum, (uint64_t)jobs * (jobs - 1) / 2 * yields);
  for (uint32_t i = 0; i < jobs; i++) CHECK_EQ_U64(r->seen[i], 1);
  crew_over(crew);
  free(r);
}

TEST(many_yields_on_one_carrier) { turns_with(1, 64, 64, sized(20000)); }
TEST(many_yields_on_two_carriers) { turns_with(2, 64, 64, sized(20000)); }
TEST(many_yields_on_five_carriers) { turns_with(5, 64, 64, sized(20000)); }
TEST(a_fiber_alone_yields) { turns_with(1, 1, 1, sized(100000)); }
TEST(jobs_of_the_paper) { turns_with(2, sized(31250), 31250, 3); }
TEST(more_jobs_than_stacks) { turns_with(2, 7, sized(31250), 2); }
TEST(one_stack_for_all) { turns_with(3, 1, sized(16000), 1); }

TEST(a_thread_is_no_fiber) {
  CHECK(tide_fiber_self() == NULL);
  tide_fiber_yield();
}

struct order {
  uint64_t next, second;
};

static void in_order(void *argument, uint64_t index) {
  struct order *o = argument;
  CHECK_EQ_U64(o->next++, index);
  tide_fiber_yield();
  CHECK_EQ_U64(o->second++, index);
}

/* First come, first served. */
TEST(one_carrier_keeps_the_order) {
  struct tide_crew *crew = crew_of(1, 1000);
  struct order o = {0, 0};
  CHECK_OK(tide_crew_run(crew, in_order, &o, 1000));
  crew_over(crew);
  CHECK_EQ_U64(o.second, 1000);
}

static void starts_in_order(void *argument, uint64_t index) {
  CHECK_EQ_U64(((struct order *)argument)->next++, index);
  tide_fiber_yield();
}

TEST(jobs_that_wait_for_stacks_start_in_order) {
  struct tide_crew *crew = crew_of(1, 10);
  struct order o = {0, 0};
  CHECK_OK(tide_crew_run(crew, starts_in_order, &o, 1000));
  crew_over(crew);
}

struct nest {
  struct tide_crew *crew;
  uint32_t done;
};

static void is_started(void *argument, uint64_t index) {
  struct nest *nest = argument;
  (void)index;
  tide_fetch_add(&nest->done, 1u);
}

static void starts_others(void *argument, uint64_t index) {
  struct nest *nest = argument;
  CHECK_STATUS(tide_crew_wait(nest->crew, TIDE_FOREVER), TIDE_DEADLOCK);
  CHECK_OK(tide_crew_run(nest->crew, is_started, nest, index));
}

TEST(fibers_start_others) {
  struct nest nest = {crew_of(2, 4), 0};
  CHECK_OK(tide_crew_run(nest.crew, starts_others, &nest, 100));
  CHECK_OK(tide_crew_wait(nest.crew, TIDE_FOREVER));
  CHECK_EQ_U64(nest.done, 100 * 99 / 2);
  crew_over(nest.crew);
}

/* ---- parking and readying ---------------------------------------------------------------- */

/* Fibers that wait at a gate, and threads that open it for some of those that wait. */
struct gate {
  struct tide_lock lock;
  struct tide_fiber *waiting;
  uint64_t passed, due;
  uint32_t rounds;
  uint32_t fibers;
  uint64_t seed, openers;
  bool together;
};

static void pass_gate(void *argument, uint64_t index) {
  struct gate *gate = argument;
  struct tide_random random = {gate->seed + index};
  for (uint32_t i = 0; i < gate->rounds; i++) {
    struct tide_fiber *self = tide_fiber_self();
    lock(&gate->lock);
    self->next = gate->waiting;
    gate->waiting = self;
    tide_fiber_park(self, &gate->lock);
    for (uint64_t n = tide_random_below(&random, 3); n > 0; n--) tide_fiber_yield();
    tide_fetch_add(&gate->passed, 1u);
  }
}

static void dawdle(struct tide_random *random) {
  for (uint64_t n = tide_random_below(random, 400); n > 0; n--) tide_pause();
  if (tide_random_below(random, 16) == 0) sched_yield();
}

static struct tide_fiber *take_some(struct gate *gate, uint64_t most, uint64_t *out_count) {
  lock(&gate->lock);
  struct tide_fiber *first = gate->waiting, *last = NULL;
  for (*out_count = 0; *out_count < most && gate->waiting; ++*out_count) {
    last = gate->waiting;
    gate->waiting = last->next;
  }
  if (last) last->next = NULL;
  if (*out_count == 0) first = NULL;
  tide_lock_give(&gate->lock);
  return first;
}

static void *open_gate(void *argument) {
  struct gate *gate = argument;
  struct tide_random random = {gate->seed * 77 + tide_fetch_add(&gate->openers, 1u)};
  while (tide_load_acquire(&gate->passed) < gate->due) {
    uint64_t count;
    struct tide_fiber *first = take_some(gate, 1 + tide_random_below(&random, 9), &count);
    if (gate->together) tide_fiber_ready_all(first);
    else
      for (struct tide_fiber *fiber = first, *next; fiber; fiber = next) {
        next = fiber->next;
        tide_fiber_ready(fiber);
      }
    if (!first) sched_yield();
    dawdle(&random);
  }
  return NULL;
}

static void gate_with(uint32_t carriers, uint32_t threads, bool together, uint64_t seed) {
  pthread_t openers[4];
  struct tide_crew *crew = crew_of(carriers, 50);
  struct gate gate = {.rounds = sized(400), .fibers = 50, .seed = seed, .together = together};
  gate.due = (uint64_t)gate.rounds * gate.fibers;
  for (uint32_t i = 0; i < threads; i++)
    CHECK(pthread_create(&openers[i], NULL, open_gate, &gate) == 0);
  CHECK_OK(tide_crew_run(crew, pass_gate, &gate, gate.fibers));
  crew_over(crew); /* at once: who readied the last one may still be about it */
  for (uint32_t i = 0; i < threads; i++) pthread_join(openers[i], NULL);
  CHECK_EQ_U64(gate.passed, gate.due);
}

TEST(none_is_lost) {
  for (uint64_t seed = 1; seed <= 12; seed++)
    gate_with(1 + seed % 3, 1 + seed % 4 / 2, seed % 2 != 0, seed * 1000);
}

/* Without a lock: each is readied once a round, before it parks or after. */
struct callers {
  struct tide_fiber *fibers[8];
  uint32_t asks[8]; /* rounds that a fiber began */
  uint32_t fibers_count, rounds;
  uint64_t seed;
};

static void asks_and_parks(void *argument, uint64_t index) {
  struct callers *c = argument;
  struct tide_random random = {c->seed + index};
  tide_store_release(&c->fibers[index], tide_fiber_self());
  for (uint32_t i = 1; i <= c->rounds; i++) {
    tide_store_release(&c->asks[index], i);
    for (uint64_t n = tide_random_below(&random, 100); n > 0; n--) tide_pause();
    if (tide_random_below(&random, 8) == 0) tide_fiber_yield();
    tide_fiber_park(tide_fiber_self(), NULL);
  }
}

static void *answers(void *argument) {
  struct callers *c = argument;
  uint32_t answered[8] = {0};
  for (uint32_t left = c->fibers_count * c->rounds; left > 0;) {
    uint32_t before = left;
    for (uint32_t i = 0; i < c->fibers_count; i++) {
      if (tide_load_acquire(&c->asks[i]) == answered[i]) continue;
      answered[i]++;
      left--;
      tide_fiber_ready(c->fibers[i]);
    }
    if (before == left) sched_yield();
  }
  return NULL;
}

TEST(ready_before_parked) {
  for (uint64_t seed = 1; seed <= 6; seed++) {
    pthread_t thread;
    struct callers c = {.fibers_count = 8, .rounds = sized(4000), .seed = seed * 100};
    struct tide_crew *crew = crew_of(1 + seed % 2, 8);
    CHECK_OK(tide_crew_run(crew, asks_and_parks, &c, 8));
    CHECK(pthread_create(&thread, NULL, answers, &c) == 0);
    crew_over(crew);
    pthread_join(thread, NULL);
  }
}

static void readies_itself(void *argument, uint64_t index) {
  struct tide_lock held = {0};
  (void)index;
  tide_fiber_ready(tide_fiber_self());
  lock(&held);
  tide_fiber_park(tide_fiber_self(), &held);
  CHECK(!tide_lock_held(&held));
  *(bool *)argument = true;
}

TEST(who_was_readied_does_not_park) {
  struct tide_crew *crew = crew_of(1, 1);
  bool done = false;
  CHECK_OK(tide_crew_run(crew, readies_itself, &done, 1));
  crew_over(crew);
  CHECK(done);
}

/* ---- idle carriers ----------------------------------------------------------------------- */

static uint32_t wakes;

static void counting_wake(void *self, const uint32_t *word, uint32_t count) {
  (void)self;
  tide_fetch_add(&wakes, 1u);
  tide_platform_linux()->wake(NULL, word, count);
}

static uint32_t idle(struct tide_crew *crew) {
  uint32_t count = 0;
  lock(&crew->idle_lock);
  for (struct tide_carrier *at = crew->idle; at; at = at->next_idle) count++;
  tide_lock_give(&crew->idle_lock);
  return count;
}

static void parks_twice(void *argument, uint64_t index) {
  struct gate *gate = argument;
  (void)index;
  for (int i = 0; i < 2; i++) {
    struct tide_fiber *self = tide_fiber_self();
    lock(&gate->lock);
    self->next = gate->waiting;
    gate->waiting = self;
    tide_fetch_add(&gate->fibers, 1u);
    tide_fiber_park(self, &gate->lock);
  }
}

/* Carriers sleep while all fibers wait, and readying a hundred of them at once wakes each once. */
TEST(one_wake_for_each_carrier_that_sleeps) {
  struct tide_platform platform = *tide_platform_linux();
  struct tide_crew_params params = {.struct_size = sizeof params, .carriers = 2, .fibers = 100};
  struct tide_context_params context_params = {.struct_size = sizeof context_params,
                                               .platform = &platform};
  struct tide_crew *crew;
  struct gate gate = {.seed = 1};
  uint64_t count;
  platform.wake = counting_wake;
  CHECK_OK(tide_context_create(&context_params, &context));
  CHECK_OK(tide_crew_create(context, &params, &crew));
  CHECK_OK(tide_crew_run(crew, parks_twice, &gate, 100));
  until(&gate.fibers, 100);
  while (idle(crew) < 2) sched_yield();
  uint32_t before = tide_load_acquire(&wakes);
  struct tide_fiber *first = take_some(&gate, 100, &count);
  CHECK_EQ_U64(count, 100);
  tide_fiber_ready_all(first);
  CHECK_EQ_U64(tide_load_acquire(&wakes) - before, 2);
  until(&gate.fibers, 200);
  tide_fiber_ready_all(take_some(&gate, 100, &count));
  crew_over(crew);
}

struct stuck {
  struct tide_fiber *behind;
  pid_t where; /* the thread that it parked on */
  uint32_t parked, computing, yielding, done;
};

static void is_behind(void *argument, uint64_t index) {
  struct stuck *s = argument;
  (void)index;
  s->where = (pid_t)syscall(SYS_gettid);
  s->behind = tide_fiber_self();
  tide_store_release(&s->parked, 1u);
  tide_fiber_park(tide_fiber_self(), NULL);
  tide_store_release(&s->done, 1u);
}

/* The first to be on that thread does not give way until the one behind has run. All others always
 * give way. */
static void is_in_the_way(void *argument, uint64_t index) {
  struct stuck *s = argument;
  (void)index;
  tide_fetch_add(&s->yielding, 1u);
  while (tide_load_acquire(&s->done) == 0) {
    if (s->where == (pid_t)syscall(SYS_gettid) && tide_exchange(&s->computing, 1u) == 0)
      until(&s->done, 1);
    tide_fiber_yield();
  }
}

/* One carrier computes for ever, unless the other one, which always has somebody ready, runs what
 * stands behind the computation. */
TEST(nobody_starves_behind_a_computation) {
  struct tide_crew *crew = crew_of(2, 16);
  struct stuck s = {0};
  CHECK_OK(tide_crew_run(crew, is_behind, &s, 1));
  until(&s.parked, 1);
  CHECK_OK(tide_crew_run(crew, is_in_the_way, &s, 6));
  until(&s.computing, 1);
  until(&s.yielding, 3);
  tide_fiber_ready(s.behind);
  crew_over(crew);
}

/* The only fiber parks, so its carrier goes to rest, and just then the fiber is readied: nobody
 * else would wake the carrier. */
TEST(a_carrier_is_called_as_it_lies_down) {
  for (uint64_t seed = 1; seed <= 4; seed++) {
    pthread_t thread;
    struct callers c = {.fibers_count = 1, .rounds = sized(10000), .seed = seed * 10};
    struct tide_crew *crew = crew_of(1, 1);
    CHECK_OK(tide_crew_run(crew, asks_and_parks, &c, 1));
    CHECK(pthread_create(&thread, NULL, answers, &c) == 0);
    crew_over(crew);
    pthread_join(thread, NULL);
  }
}

/* A job comes just as the only stack gets free. */
TEST(jobs_one_by_one) {
  struct tide_crew *crew = crew_of(1, 1);
  struct tide_random random = {3};
  uint32_t count = 0;
  for (uint32_t i = 0; i < sized(40000); i++) {
    CHECK_OK(tide_crew_run(crew, counts, &count, 1));
    if (i % 3 == 0) until(&count, i + 1); /* it is about to retire */
    dawdle(&random);
  }
  CHECK_OK(tide_crew_wait(crew, TIDE_FOREVER));
  CHECK_EQ_U64(count, sized(40000));
  crew_over(crew);
}

/* ---- what goes with a fiber ------------------------------------------------------------- */

/* In functions of their own, as tidemark/fiber.h says. */
__attribute__((noinline)) static int error_now(void) {
  int error = errno;
  __asm__ volatile("" : "+r"(error));
  return error;
}
__attribute__((noinline)) static void error_becomes(int error) {
  __asm__ volatile("" : "+r"(error));
  errno = error;
}

struct journey {
  struct gate gate;
  uint32_t moves;
  uint32_t rounds;
};

static const int roundings[4] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};

static double third(void) {
  volatile double one = 1, three = 3;
  return one / three;
}

static void travels(void *argument, uint64_t index) {
  struct journey *j = argument;
  struct gate *gate = &j->gate;
  pid_t thread = (pid_t)syscall(SYS_gettid);
  CHECK(fegetround() == FE_TONEAREST); /* whatever the job before left */
  fesetround(roundings[index % 4]);
  double expected = third();
  for (uint32_t i = 0; i < j->rounds; i++) {
    struct tide_fiber *self = tide_fiber_self();
    int error = (int)(index * 1000 + i);
    lock(&gate->lock);
    error_becomes(error);
    self->next = gate->waiting;
    gate->waiting = self;
    tide_fiber_park(self, &gate->lock);
    CHECK_EQ_U64((uint64_t)error_now(), (uint64_t)error);
    CHECK(fegetround() == roundings[index % 4]);
    CHECK(third() == expected);
    pid_t now = (pid_t)syscall(SYS_gettid);
    if (now != thread) tide_fetch_add(&j->moves, 1u);
    thread = now;
    tide_fetch_add(&gate->passed, 1u);
  }
}

TEST(errno_and_rounding_travel) {
  struct tide_crew *crew = crew_of(2, 8);
  struct journey j = {.gate = {.seed = 5}, .rounds = sized(8000)};
  pthread_t thread;
  j.gate.due = 32u * j.rounds;
  CHECK(pthread_create(&thread, NULL, open_gate, &j.gate) == 0);
  CHECK_OK(tide_crew_run(crew, travels, &j, 32));
  crew_over(crew);
  pthread_join(thread, NULL);
  CHECK_EQ_U64(j.gate.passed, j.gate.due);
  CHECK(j.moves > 0);
}

/* ---- faults ----------------------------------------------------------------------------- */

#define PAGES 64
#define PAGE 4096

/* Memory that ends before it begins: a load beyond the end of its file raises SIGBUS, until the
 * file is made longer. */
static struct {
  struct tide_lock lock;
  volatile uint64_t *memory;
  int file;
  uint32_t there; /* pages; guarded by the lock */
  struct tide_fiber *waiting[PAGES];
  uint32_t parked;
  uint32_t moved;
} pages;

static void on_fault(int number, siginfo_t *info, void *frame) {
  struct tide_fiber *self = tide_fiber_self();
  size_t page = ((uintptr_t)info->si_addr - (uintptr_t)pages.memory) / PAGE;
  (void)number;
  if (!self || page >= PAGES) abort();
  error_becomes(7); /* a handler that spoils it, but for parking */
  lock(&pages.lock);
  if (page < pages.there) {
    tide_lock_give(&pages.lock);
    return;
  }
  self->next = pages.waiting[page];
  pages.waiting[page] = self;
  tide_fetch_add(&pages.parked, 1u);
  pid_t before = (pid_t)syscall(SYS_gettid);
  tide_fiber_park_in_handler(self, &pages.lock, frame);
  if (before != (pid_t)syscall(SYS_gettid)) tide_fetch_add(&pages.moved, 1u);
}

static void pages_init(void) {
  struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_NODEFER};
  memset(&pages, 0, sizeof pages);
  pages.file = memfd_create("pages", MFD_CLOEXEC);
  CHECK(pages.file >= 0);
  pages.memory = mmap(NULL, PAGES * PAGE, PROT_READ, MAP_SHARED, pages.file, 0);
  CHECK(pages.memory != MAP_FAILED);
  sigemptyset(&action.sa_mask);
  CHECK(sigaction(SIGBUS, &action, NULL) == 0);
}

static void pages_fini(void) {
  munmap((void *)(uintptr_t)pages.memory, PAGES * PAGE);
  close(pages.file);
}

static void next_page_comes(void) {
  uint64_t number = pages.there + 1000;
  CHECK(pwrite(pages.file, &number, sizeof number, (off_t)pages.there * PAGE) == sizeof number);
  CHECK(ftruncate(pages.file, (off_t)(pages.there + 1) * PAGE) == 0);
  lock(&pages.lock);
  struct tide_fiber *first = pages.waiting[pages.there];
  pages.waiting[pages.there++] = NULL;
  tide_lock_give(&pages.lock);
  tide_fiber_ready_all(first);
}

struct reader {
  uint64_t readers, done;
};

/* Plain code that loads memory. Two numbers in registers must outlast the fault. */
static void reads(void *argument, uint64_t index) {
  struct reader *r = argument;
  double a = (double)index, b = third();
  uint64_t sum = 0;
  for (uint64_t page = 0; page < PAGES; page++) {
    sum += pages.memory[page * PAGE / 8];
    a += b;
    if ((page + index) % 7 == 0) tide_fiber_yield();
  }
  double expected = (double)index;
  for (int i = 0; i < PAGES; i++) expected += third();
  CHECK(a == expected);
  CHECK_EQ_U64(sum, PAGES * 1000 + PAGES * (PAGES - 1) / 2);
  tide_fetch_add(&r->done, 1u);
}

static void faults_with(uint32_t carriers, uint32_t readers) {
  struct reader r = {readers, 0};
  struct tide_crew *crew = crew_of(carriers, readers);
  pages_init();
  CHECK_OK(tide_crew_run(crew, reads, &r, readers));
  for (uint32_t page = 0; page < PAGES; page++) {
    if (page % 2 == 0) until(&pages.parked, 1 + page / 2); /* some wait at least */
    next_page_comes();
  }
  crew_over(crew);
  CHECK_EQ_U64(r.done, readers);
  CHECK(pages.parked >= PAGES / 2);
  pages_fini();
}

TEST(a_fault_parks) { faults_with(1, 40); }
TEST(a_fault_parks_on_two_carriers) { faults_with(2, 40); }
TEST(a_fault_parks_many) { faults_with(2, sized(4000)); }

/* A carrier takes up what faulted on another one, which is kept busy meanwhile. */
struct handover {
  uint32_t busy, done; /* atomic */
  pid_t first, second;
  stack_t before;
  void *mark;
};

/* Its thread has an alternate stack that must not follow the fiber. */
static void reads_once(void *argument, uint64_t index) {
  struct handover *h = argument;
  stack_t stack = {.ss_sp = h->mark, .ss_size = PAGES * PAGE};
  (void)index;
  h->first = (pid_t)syscall(SYS_gettid);
  CHECK(sigaltstack(&stack, &h->before) == 0);
  CHECK_EQ_U64(pages.memory[0], 1000);
  h->second = (pid_t)syscall(SYS_gettid);
  CHECK(sigaltstack(NULL, &stack) == 0);
  CHECK(stack.ss_sp != h->mark);
  tide_store_release(&h->done, 1u);
}

static void keeps_busy(void *argument, uint64_t index) {
  struct handover *h = argument;
  (void)index;
  if (h->first != (pid_t)syscall(SYS_gettid)) {
    until(&h->busy, 1);
    return;
  }
  CHECK(sigaltstack(&h->before, NULL) == 0);
  tide_store_release(&h->busy, 1u);
  until(&h->done, 1);
}

TEST(a_fault_ends_on_another_carrier) {
  struct tide_crew *crew = crew_of(2, 4);
  struct handover h = {.mark = malloc(PAGES * PAGE)};
  pages_init();
  CHECK_OK(tide_crew_run(crew, reads_once, &h, 1));
  until(&pages.parked, 1);
  CHECK_OK(tide_crew_run(crew, keeps_busy, &h, 2));
  until(&h.busy, 1);
  next_page_comes();
  crew_over(crew);
  CHECK(h.first != h.second);
  CHECK_EQ_U64(pages.moved, 1);
  pages_fini();
  free(h.mark);
}

/* ---- ends of stacks, and what may fail ------------------------------------------------------- */

/* With a sanitizer, each stack has more. */
#if defined(TIDE_FIBER_ASAN) || defined(TIDE_FIBER_TSAN)
#define DEEP (320 << 10)
#else
#define DEEP (64 << 10)
#endif

/* A little deeper than a stack: it would survive in the next one's memory. */
static void goes_too_deep(void *argument, uint64_t index) {
  volatile char frame[1024];
  uintptr_t here = (uintptr_t)__builtin_frame_address(0);
  uintptr_t top = argument ? (uintptr_t)argument : here;
  frame[0] = (char)index;
  if (index > 0 && top - here < DEEP + (8 << 10)) goes_too_deep((void *)top, index + 1);
  frame[1] = frame[0];
}

static int how_it_dies(bool locked) {
  pid_t child = fork();
  if (child == 0) {
    if (locked && mlockall(MCL_CURRENT | MCL_FUTURE) != 0) _exit(99);
    close(2);
    struct tide_crew_params params = {
        .struct_size = sizeof params, .carriers = 1, .fibers = 4, .stack_bytes = 64 << 10};
    struct tide_crew *crew;
    CHECK_OK(tide_context_create(NULL, &context));
    CHECK_OK(tide_crew_create(context, &params, &crew));
    CHECK_OK(tide_crew_run(crew, goes_too_deep, NULL, 2)); /* number 1 does */
    _exit(tide_crew_wait(crew, TIDE_FOREVER) == TIDE_OK ? 0 : 1);
  }
  int status = 0;
  CHECK(waitpid(child, &status, 0) == child);
  return status;
}

TEST(who_needs_more_stack_dies) {
  int status = how_it_dies(false);
  CHECK(status != 0);
  if (test_slowdown() == 1) CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
}

/* Memory that may not be swapped out has its guards made in the older way. */
TEST(who_needs_more_stack_dies_on_older_systems) {
  if (test_slowdown() > 1) SKIP("a sanitizer's memory is too much to lock");
  int status = how_it_dies(true);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 99) SKIP("memory may not be locked here");
  CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
}

static int allowed;

static void *scarce_alloc(void *self, size_t size, size_t align) {
  (void)self;
  if (allowed-- <= 0) return NULL;
  return tide_allocator_system()->alloc(NULL, size, align);
}

static void scarce_free(void *self, void *memory, size_t size) {
  (void)self;
  tide_allocator_system()->free(NULL, memory, size);
}

TEST(allocations_fail) {
  static const struct tide_allocator scarce = {scarce_alloc, scarce_free, NULL};
  struct tide_crew_params params = {.struct_size = sizeof params, .carriers = 2, .fibers = 4};
  struct tide_crew *crew = NULL;
  uint32_t count = 0, failures = 0;
  CHECK_OK(tide_context_create(NULL, &context));
  context->allocator = &scarce;
  enum tide_status status;
  for (int most = 0; (allowed = most, status = tide_crew_create(context, &params, &crew)); most++) {
    CHECK_STATUS(status, TIDE_NOMEM);
    failures++;
  }
  CHECK(failures >= 3);
  allowed = 0;
  CHECK_STATUS(tide_crew_run(crew, counts, &count, 100), TIDE_NOMEM);
  CHECK_OK(tide_crew_wait(crew, TIDE_NOW));
  allowed = 1; /* nothing more while they run */
  CHECK_OK(tide_crew_run(crew, counts, &count, 100));
  CHECK_OK(tide_crew_wait(crew, TIDE_FOREVER));
  CHECK_EQ_U64(count, 100);
  CHECK_OK(tide_crew_destroy(crew));
  context->allocator = tide_allocator_system();
  tide_context_destroy(context);
}

static uint32_t threads_left;

static enum tide_status scarce_spawn(void *self, const char *name, void (*entry)(void *),
                                     void *argument, struct tide_thread **out_thread) {
  if (threads_left == 0) return TIDE_NOMEM;
  threads_left--;
  return tide_platform_linux()->spawn(self, name, entry, argument, out_thread);
}

TEST(threads_fail) {
  struct tide_platform platform = *tide_platform_linux();
  struct tide_context_params context_params = {.struct_size = sizeof context_params,
                                               .platform = &platform};
  struct tide_crew_params params = {.struct_size = sizeof params, .carriers = 3, .fibers = 4};
  struct tide_crew *crew = NULL;
  platform.spawn = scarce_spawn;
  CHECK_OK(tide_context_create(&context_params, &context));
  for (uint32_t most = 0; most < 3; most++) {
    threads_left = most;
    CHECK_STATUS(tide_crew_create(context, &params, &crew), TIDE_NOMEM);
  }
  CHECK(crew == NULL);
  threads_left = 3;
  CHECK_OK(tide_crew_create(context, &params, &crew));
  CHECK_OK(tide_crew_destroy(crew));
  tide_context_destroy(context);
}

TEST(what_cannot_be) {
  struct tide_crew *crew = NULL;
  uint32_t none[1] = {100000};
  CHECK_OK(tide_context_create(NULL, &context));
  CHECK_STATUS(tide_crew_create(context, TIDE_PARAMS(tide_crew_params, .carriers = 1025), &crew),
               TIDE_INVALID);
  CHECK_STATUS(tide_crew_create(
                   context, TIDE_PARAMS(tide_crew_params, .fibers = TIDE_FIBERS_MAX + 1), &crew),
               TIDE_INVALID);
  CHECK_STATUS(
      tide_crew_create(context, TIDE_PARAMS(tide_crew_params, .carriers = 1, .cpus = none), &crew),
      TIDE_INVALID);
  struct tide_crew_params large = {.struct_size = sizeof large,
                                   .carriers = 1,
                                   .fibers = TIDE_FIBERS_MAX,
                                   .stack_bytes = 1u << 30};
  CHECK_STATUS(tide_crew_create(context, &large, &crew), TIDE_NOMEM);
  large.stack_bytes = SIZE_MAX;
  CHECK_STATUS(tide_crew_create(context, &large, &crew), TIDE_NOMEM);
  CHECK(crew == NULL);
  CHECK_OK(tide_crew_destroy(NULL));
  CHECK_OK(tide_crew_create(context, NULL, &crew));
  CHECK_STATUS(tide_crew_run(crew, NULL, NULL, 1), TIDE_INVALID);
  CHECK_OK(tide_crew_run(crew, counts, NULL, 0));
  crew_over(crew);
}

struct on_cpu {
  uint32_t cpu, wrong;
};

static void looks_where(void *argument, uint64_t index) {
  struct on_cpu *o = argument;
  (void)index;
  if ((uint32_t)sched_getcpu() != o->cpu) tide_fetch_add(&o->wrong, 1u);
  tide_fiber_yield();
}

TEST(carriers_stay_on_their_cpu) {
  struct on_cpu o = {(uint32_t)sched_getcpu(), 0};
  uint32_t cpus[2] = {o.cpu, o.cpu};
  struct tide_crew_params params = {
      .struct_size = sizeof params, .carriers = 2, .fibers = 16, .cpus = cpus, .label = "pinned"};
  struct tide_crew *crew;
  CHECK_OK(tide_context_create(NULL, &context));
  CHECK_OK(tide_crew_create(context, &params, &crew));
  CHECK_OK(tide_crew_run(crew, looks_where, &o, 1000));
  crew_over(crew);
  CHECK_EQ_U64(o.wrong, 0);
}

TEST(busy_and_late) {
  struct gate gate = {.seed = 1};
  struct tide_crew *crew = crew_of(1, 2);
  uint64_t count;
  CHECK_OK(tide_crew_run(crew, parks_twice, &gate, 1));
  CHECK_STATUS(tide_crew_wait(crew, TIDE_NOW), TIDE_TIMEOUT);
  const struct tide_platform *platform = tide_platform_linux();
  CHECK_STATUS(tide_crew_wait(crew, platform->now(NULL) + 1000000), TIDE_TIMEOUT);
  CHECK_STATUS(tide_crew_destroy(crew), TIDE_BUSY);
  for (uint32_t i = 1; i <= 2; i++) {
    until(&gate.fibers, i);
    tide_fiber_ready_all(take_some(&gate, 9, &count));
  }
  crew_over(crew);
}

TEST_MAIN(CASE(many_yields_on_one_carrier), CASE(many_yields_on_two_carriers),
          CASE(many_yields_on_five_carriers), CASE(a_fiber_alone_yields), CASE(jobs_of_the_paper),
          CASE(more_jobs_than_stacks), CASE(one_stack_for_all), CASE(a_thread_is_no_fiber),
          CASE(one_carrier_keeps_the_order), CASE(jobs_that_wait_for_stacks_start_in_order),
          CASE(fibers_start_others), CASE(none_is_lost), CASE(ready_before_parked),
          CASE(who_was_readied_does_not_park), CASE(a_carrier_is_called_as_it_lies_down),
          CASE(jobs_one_by_one), CASE(one_wake_for_each_carrier_that_sleeps),
          CASE(nobody_starves_behind_a_computation), CASE(errno_and_rounding_travel),
          CASE(a_fault_parks), CASE(a_fault_parks_on_two_carriers), CASE(a_fault_parks_many),
          CASE(a_fault_ends_on_another_carrier), CASE(who_needs_more_stack_dies),
          CASE(who_needs_more_stack_dies_on_older_systems), CASE(allocations_fail),
          CASE(threads_fail), CASE(what_cannot_be), CASE(carriers_stay_on_their_cpu),
          CASE(busy_and_late))
