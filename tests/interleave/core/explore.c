/* The explorer: runs a case again and again, each time in an order that is not
 * equivalent to one before.
 *
 * Two steps depend on each other when they touch the same word and one of them
 * changes it (or the queue of those who sleep on it). Two runs are equivalent when
 * they order dependent steps alike. From each equivalence class one run is made:
 * source sets say at which earlier places another thread must go first (race below;
 * Abdulla, Aronis, Jonsson, Sagonas, "Optimal dynamic partial order reduction",
 * POPL 2014), sleep sets break off what would only repeat. Between steps threads
 * touch plain memory alone; if that were not enough to order them, memory.c finds
 * the race in every run of the class. */
#include "core.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH 3000 /* steps of a run that ends */
#define SEEN 24
#define BIT(thread) (1u << (thread))

struct thread {
  enum { READY, SLEEPS, YIELDED, ENDED } state;
  struct step step; /* the next */
  bool timed, timed_out;
  unsigned spurious; /* sleeps that could end for no reason */
  uint64_t slept_at;
  uintptr_t seen[SEEN]; /* words touched since the last yield */
  unsigned seen_count;
  bool changed; /* one of them, since then */
  uint32_t clock[THREADS];
};

static struct {
  void (*entry)(void *argument);
  void *argument;
} spawned[THREADS];
static int declared_count; /* threads of the case; those that were spawned come behind */

/* A place where it was decided who goes on. */
struct node {
  uint8_t chosen, choice, choices;
  uint8_t enabled;
  uint8_t backtrack; /* threads that must go first here, in some run */
  uint8_t sleep;     /* threads that need not */
  uint8_t fresh;     /* `choices` is not known yet */
  uint16_t stale, preemptions;
};

static struct thread threads[THREADS];
static struct node nodes[DEPTH];
static struct taken taken[DEPTH];
static uint32_t clocks[DEPTH][THREADS]; /* what each step depends on */
static int previous[DEPTH];             /* the last step before at the same address; -1 */
static unsigned depth, known_depth;     /* of this run; of the tree's branch that it follows */
static int thread_count, last;
static uint64_t sleeps;
static bool starting;
static const struct interleave_case *running;
static void *state;
static struct interleave_result *result;
static const char *forced; /* INTERLEAVE_SCHEDULE */
static jmp_buf root;
static bool pruned;

bool interleave_exploring;
int interleave_self, interleave_choice;

/* The last step at each address, by a small hash table that is emptied at each run. */
#define SLOTS 4096
static struct slot {
  uint64_t run;
  uintptr_t address;
  int step;
} slots[SLOTS];
static uint64_t run_number;

static int *last_at(uintptr_t address) {
  size_t at = (size_t)(address * 0x9e3779b97f4a7c15u >> 40) % SLOTS;
  while (slots[at].run == run_number && slots[at].address != address) at = (at + 1) % SLOTS;
  if (slots[at].run != run_number) slots[at] = (struct slot){run_number, address, -1};
  return &slots[at].step;
}

/* ---- failing ---- */

_Noreturn void interleave_fail(const char *format, ...) {
  va_list list;
  va_start(list, format);
  vsnprintf(result->why, sizeof result->why, format, list);
  va_end(list);
  size_t length = 0;
  for (unsigned i = 0; i < depth && length + 3 < sizeof result->schedule; i++) {
    result->schedule[length++] = (char)('0' + nodes[i].chosen);
    if (nodes[i].choice) result->schedule[length++] = (char)('a' + nodes[i].choice - 1);
  }
  result->schedule[length] = 0;
  result->failed = true;
  interleave_exploring = false;
  interleave_self = 0;
  _longjmp(root, 1);
}

static _Noreturn void fail_stuck(void) {
  static const char *const states[] = {"waits for a lock", "sleeps", "yields for ever",
                                       "has ended"};
  char text[250];
  size_t length = 0;
  for (int i = 1; i <= thread_count; i++) {
    bool joins = threads[i].state == READY && threads[i].step.kind == JOIN;
    length += (size_t)snprintf(text + length, sizeof text - length, "; thread %d %s", i,
                               joins ? "joins another" : states[threads[i].state]);
  }
  interleave_fail("nobody can go on%s", text);
}

void interleave_note(const char *format, uint64_t value) {
  if (!interleave_exploring || !depth) return;
  taken[depth - 1].note = format;
  taken[depth - 1].value = value;
}

/* ---- which steps depend on each other ---- */

static int on_word(enum kind kind) {
  if (kind == READ || kind == WAIT) return 1;
  return kind == WRITE || kind == LOCK || kind == UNLOCK ? 2 : 0;
}
static bool on_sleepers(enum kind kind) {
  return kind == WAIT || kind == WAKE || kind == TIMEOUT || kind == RESUME;
}
static bool depend(const struct step *a, const struct step *b) {
  if (a->address != b->address) return false;
  int one = on_word(a->kind), other = on_word(b->kind);
  return (one && other && one + other > 2) || (on_sleepers(a->kind) && on_sleepers(b->kind));
}

static void join(uint32_t *to, const uint32_t *from) {
  for (int i = 0; i < THREADS; i++)
    if (from[i] > to[i]) to[i] = from[i];
}

/* Step `early` and the step `late`, whose clock is `full`, could have come the other way round:
 * some run must start, where `early` was taken, with a thread that leads there. */
static void race(unsigned early, unsigned late, const uint32_t *full) {
  uint32_t first[THREADS];
  unsigned initials = 0;
  int who = taken[early].thread, other = taken[late].thread;
  memset(first, 0xff, sizeof first);
  for (unsigned i = early + 1; i <= late; i++) {
    const uint32_t *clock = i == late ? full : clocks[i];
    int thread = taken[i].thread;
    bool behind = false;
    if (i < late && clock[who] >= clocks[early][who]) continue;
    for (int k = 1; k < THREADS; k++) behind |= first[k] <= clock[k];
    if (!behind) initials |= BIT(thread);
    if (first[thread] == UINT32_MAX) first[thread] = clock[thread];
  }
  struct node *node = &nodes[early];
  if (node->backtrack & initials) return;
  unsigned possible = initials & node->enabled;
  if (possible & BIT(other)) node->backtrack |= (uint8_t)BIT(other);
  else if (possible) node->backtrack |= (uint8_t)(possible & -possible);
  else node->backtrack |= node->enabled;
}

/* Who yielded looks again when something that it saw has changed. */
static void tell_yielded(int who, const struct step *step) {
  if (step->kind != WRITE && step->kind != UNLOCK) return;
  for (int i = 1; i <= thread_count; i++) {
    struct thread *thread = &threads[i];
    bool sees = thread->seen_count == SEEN;
    for (unsigned k = 0; k < thread->seen_count && !sees; k++)
      sees = thread->seen[k] == step->address;
    if (i == who || !sees) continue;
    thread->changed = true;
    if (thread->state != YIELDED) continue;
    thread->state = READY;
    join(thread->clock, threads[who].clock);
  }
}

/* The chosen thread is about to take its step: what does it depend on, what does it race with? */
static void account(int who, bool is_new) {
  struct thread *thread = &threads[who];
  const struct step *step = &thread->step;
  uint32_t before[THREADS], *full = clocks[depth];
  taken[depth] = (struct taken){*step, who, NULL, 0};
  memcpy(before, thread->clock, sizeof before);
  thread->clock[who]++;
  memcpy(full, thread->clock, sizeof before);
  int *newest = last_at(step->address);
  previous[depth] = *newest;
  for (int i = *newest; i >= 0; i = previous[i])
    if (depend(&taken[i].step, step)) join(full, clocks[i]);
  if (step->kind == JOIN) join(full, threads[step->size].clock);
  for (int i = *newest; i >= 0 && is_new && !running->preemptions; i = previous[i]) {
    int other = taken[i].thread;
    if (!depend(&taken[i].step, step) || clocks[i][other] <= before[other]) continue;
    /* While the lock is held nobody takes it: not these two, but the two who take it race. */
    if (step->kind == LOCK && taken[i].step.kind == UNLOCK) continue;
    race((unsigned)i, depth, full);
    join(before, clocks[i]);
  }
  *newest = (int)depth;
  memcpy(thread->clock, full, sizeof before);
  if (thread->seen_count < SEEN) thread->seen[thread->seen_count++] = step->address;
  tell_yielded(who, step);
}

/* ---- deciding ---- */

static bool enabled(const struct thread *thread) {
  switch (thread->state) {
    case READY:
      if (thread->step.kind == JOIN) return threads[thread->step.size].state == ENDED;
      return thread->step.kind != LOCK || memory_word(thread->step.address, 4) == 0;
    case SLEEPS: return thread->timed;
    default: return false;
  }
}

static unsigned choices_of(int who, unsigned stale) {
  const struct step *step = &threads[who].step;
  if (step->kind != READ || step->order == __ATOMIC_SEQ_CST || stale >= running->stale) return 1;
  int self = interleave_self;
  interleave_self = who;
  unsigned count = memory_choices(step);
  interleave_self = self;
  return count < 26 ? count : 26;
}

static unsigned inherited_sleep(void) {
  unsigned sleep = 0;
  if (!depth) return 0;
  const struct node *parent = &nodes[depth - 1];
  for (int i = 1; i <= thread_count; i++)
    if ((parent->sleep & BIT(i)) && i != parent->chosen &&
        !depend(&taken[depth - 1].step, &threads[i].step))
      sleep |= BIT(i);
  return sleep;
}

static unsigned costs(unsigned mask, int who) { return last && who != last && (mask & BIT(last)); }

/* A new place in the tree. False: nothing new can come from here. */
static bool add_node(unsigned mask) {
  struct node *node = &nodes[depth];
  const struct node *parent = depth ? &nodes[depth - 1] : NULL;
  *node = (struct node){.enabled = (uint8_t)mask, .fresh = true};
  if (parent) node->stale = (uint16_t)(parent->stale + (parent->choice > 0));
  if (parent) node->preemptions = parent->preemptions;
  unsigned open = mask;
  if (running->preemptions) {
    for (int i = 1; i <= thread_count; i++)
      if (node->preemptions + costs(mask, i) >= running->preemptions) open &= ~BIT(i);
    node->backtrack = (uint8_t)open;
  } else {
    node->sleep = (uint8_t)inherited_sleep();
    open &= ~(unsigned)node->sleep;
  }
  if (!open) return false;
  node->chosen = (uint8_t)(last && (open & BIT(last)) ? last : __builtin_ctz(open));
  node->backtrack |= (uint8_t)BIT(node->chosen);
  result->states++;
  known_depth = depth + 1;
  return true;
}

/* The thread that goes on; -1: the run is over. */
static int decide(void) {
  unsigned mask = 0, ended = 0;
  for (int i = 1; i <= thread_count; i++) {
    if (enabled(&threads[i])) mask |= BIT(i);
    ended += threads[i].state == ENDED;
  }
  if ((int)ended == thread_count) return -1;
  if (!mask) fail_stuck();
  if (depth == DEPTH) interleave_fail("the run does not end: %d steps", DEPTH);
  bool is_new = depth >= known_depth;
  pruned = is_new && !add_node(mask);
  if (pruned) return -1;
  struct node *node = &nodes[depth];
  if (node->enabled != mask)
    interleave_fail("the run cannot be repeated: the case is not deterministic");
  is_new |= node->fresh;
  if (forced && *forced >= '1' && *forced < '1' + thread_count && (mask & BIT(*forced - '0'))) {
    node->chosen = (uint8_t)(*forced++ - '0');
    node->choice = *forced >= 'a' && *forced <= 'z' ? (uint8_t)(*forced++ - 'a' + 1) : 0;
    node->fresh = false;
  }
  if (node->fresh) {
    node->choices = (uint8_t)choices_of(node->chosen, node->stale);
    node->fresh = false;
    if (costs(mask, node->chosen)) node->preemptions++;
  }
  account(node->chosen, is_new);
  interleave_choice = node->choice;
  threads[node->chosen].changed |= node->choice > 0; /* there is something newer to see */
  last = node->chosen;
  depth++;
  if (depth > result->longest) result->longest = depth;
  return last;
}

/* To whoever goes on, and back when it is this thread's turn. */
static void pass_on(void) {
  if (starting) {
    fiber_switch(0);
    return;
  }
  int next = decide();
  if (next != interleave_self) fiber_switch(next < 0 ? 0 : next);
}

void interleave_step(struct step step) {
  threads[interleave_self].state = READY;
  threads[interleave_self].step = step;
  pass_on();
}

void interleave_sleep(uintptr_t word, bool timed, uintptr_t pc) {
  struct thread *me = &threads[interleave_self];
  me->state = SLEEPS;
  me->timed = timed || me->spurious < running->spurious;
  me->spurious += !timed && me->timed;
  me->slept_at = ++sleeps;
  me->step = (struct step){TIMEOUT, 0, word, 4, pc};
  pass_on();
  me->timed_out = me->state == SLEEPS && timed;
  me->state = READY;
}

bool interleave_timed_out(void) { return threads[interleave_self].timed_out; }

unsigned interleave_wake(uintptr_t word, uint32_t count) {
  unsigned woken = 0;
  while (woken < count) {
    struct thread *first = NULL;
    for (int i = 1; i <= thread_count; i++) {
      struct thread *thread = &threads[i];
      if (thread->state == SLEEPS && thread->step.address == word &&
          (!first || thread->slept_at < first->slept_at))
        first = thread;
    }
    if (!first) break;
    first->state = READY;
    first->step.kind = first->timed ? RESUME : LOCAL;
    if (!first->timed) join(first->clock, threads[interleave_self].clock);
    woken++;
  }
  return woken;
}

void interleave_yield(uintptr_t pc) {
  struct thread *me = &threads[interleave_self];
  me->step = (struct step){LOCAL, 0, 0, 0, pc};
  me->state = me->changed ? READY : YIELDED;
  pass_on();
  me->seen_count = 0;
  me->changed = false;
}

int interleave_spawn(void (*entry)(void *argument), void *argument) {
  if (interleave_exploring || thread_count == INTERLEAVE_THREADS) return 0;
  thread_count++;
  spawned[thread_count].entry = entry;
  spawned[thread_count].argument = argument;
  return thread_count;
}

void interleave_join(int thread, uintptr_t pc) {
  if (!interleave_exploring) return;
  interleave_step((struct step){.kind = JOIN, .size = (unsigned)thread, .pc = pc});
  memory_learn(thread);
}

static void thread_main(int thread) {
  if (thread <= declared_count) running->threads[thread - 1](state);
  else spawned[thread].entry(spawned[thread].argument);
  threads[thread].state = ENDED;
  pass_on();
}

/* ---- one run, and the next ---- */

static void run_once(void) {
  memory_begin();
  interleave_clocks_begin();
  run_number++;
  depth = 0;
  last = 0;
  thread_count = declared_count;
  sleeps = 0;
  memset(threads, 0, sizeof threads);
  state = memory_alloc(running->size ? running->size : 1, 64);
  memset(state, 0, running->size);
  running->setup(state);
  memory_threads();
  interleave_exploring = true;
  starting = true;
  fibers_start(thread_count, thread_main);
  starting = false;
  interleave_self = 0;
  int next = decide();
  if (next > 0) fiber_switch(next);
  interleave_exploring = false;
  interleave_self = 0;
  if (pruned) {
    result->pruned++;
    return;
  }
  result->runs++;
  if (running->check) running->check(state);
}

/* The deepest place where something else can be tried. False: nowhere. */
static bool step_back(void) {
  while (known_depth > 0) {
    struct node *node = &nodes[known_depth - 1];
    if (node->choice + 1 < node->choices) {
      node->choice++;
      return true;
    }
    unsigned done = BIT(node->chosen);
    if (running->preemptions) {
      node->backtrack &= (uint8_t)~done;
      node->preemptions = known_depth > 1 ? nodes[known_depth - 2].preemptions : 0;
    }
    node->sleep |= (uint8_t)done;
    unsigned left = node->backtrack & ~(unsigned)node->sleep;
    if (running->preemptions) left = node->backtrack;
    if (left) {
      node->chosen = (uint8_t)__builtin_ctz(left);
      node->choice = 0;
      node->fresh = true;
      return true;
    }
    known_depth--;
  }
  return false;
}

void interleave_run(const struct interleave_case *which, struct interleave_result *out_result) {
  *out_result = (struct interleave_result){0};
  result = out_result;
  running = which;
  known_depth = 0;
  for (declared_count = 0; declared_count < INTERLEAVE_THREADS && which->threads[declared_count];)
    declared_count++;
  if (_setjmp(root) != 0) return;
  do run_once();
  while (!forced && step_back());
}

static void set_from(const char *variable, unsigned *number) {
  const char *text = getenv(variable);
  if (text) *number = (unsigned)atoi(text);
}

void interleave_explore(const struct interleave_case *given) {
  static struct interleave_result found;
  struct interleave_case which = *given;
  const char *schedule = getenv("INTERLEAVE_SCHEDULE");
  forced = schedule;
  set_from("INTERLEAVE_OLD", &which.stale);
  set_from("INTERLEAVE_SPURIOUS", &which.spurious);
  set_from("INTERLEAVE_PREEMPTIONS", &which.preemptions);
  interleave_run(&which, &found);
  printf("     runs %llu, broken off %llu, places %llu, steps <= %u, old values <= %u, %s\n",
         (unsigned long long)found.runs, (unsigned long long)found.pruned,
         (unsigned long long)found.states, found.longest, which.stale,
         which.preemptions ? "preemptions bounded" : "all orders");
  if (found.failed || schedule) report_run(taken, depth);
  if (found.failed) report_failure(&found);
}
