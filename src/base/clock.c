/* A platform with simulated time: see tidemark/clock.h. The pending timer events form a pairing
 * heap through their own links, so that scheduling an event allocates nothing. */
#include "base/params.h"
#include "tidemark/clock.h"
#include "base/atomic.h"
#include "base/check.h"
#include "base/alloc.h"
#include "base/random.h"

struct tide_clock {
  struct tide_clock_params params;
  const struct tide_allocator *allocator;
  struct tide_platform platform;
  struct tide_random random, ties;
  uint64_t now, asked;
  struct tide_timer_event *first;
};

/* ---- the heap -------------------------------------------------------------------- */

static bool is_earlier(const struct tide_timer_event *a, const struct tide_timer_event *b) {
  return a->time != b->time ? a->time < b->time : a->order < b->order;
}

/* `before` is the left neighbour, or the parent of the leftmost child. */
static struct tide_timer_event *meld_events(struct tide_timer_event *a,
                                            struct tide_timer_event *b) {
  if (!a) return b;
  if (!b) return a;
  if (is_earlier(b, a)) {
    struct tide_timer_event *swap = a;
    a = b;
    b = swap;
  }
  b->sibling = a->child;
  if (b->sibling) b->sibling->before = b;
  b->before = a;
  a->child = b;
  return a;
}

/* Melds a row of siblings into one heap: in pairs from the left, then all pairs from the right. */
static struct tide_timer_event *gather_siblings(struct tide_timer_event *row) {
  struct tide_timer_event *pairs = NULL, *all = NULL;
  while (row) {
    struct tide_timer_event *a = row, *b = a->sibling;
    row = b ? b->sibling : NULL;
    a->sibling = a->before = NULL;
    if (b) b->sibling = b->before = NULL;
    a = meld_events(a, b);
    a->sibling = pairs;
    pairs = a;
  }
  while (pairs) {
    struct tide_timer_event *next = pairs->sibling;
    pairs->sibling = NULL;
    all = meld_events(all, pairs);
    pairs = next;
  }
  if (all) all->before = NULL;
  return all;
}

static void take_out(struct tide_clock *clock, struct tide_timer_event *event) {
  struct tide_timer_event *rest = gather_siblings(event->child);
  if (event == clock->first) {
    clock->first = rest;
  } else {
    struct tide_timer_event *before = event->before;
    if (before->child == event) before->child = event->sibling;
    else before->sibling = event->sibling;
    if (event->sibling) event->sibling->before = before;
    clock->first = meld_events(clock->first, rest);
  }
  event->child = event->sibling = event->before = NULL;
  event->expected = false;
}

void tide_clock_at(struct tide_clock *clock, struct tide_timer_event *event, uint64_t time) {
  TIDE_ASSERT(!event->expected);
  event->time = time > clock->now ? time : clock->now;
  event->order = clock->params.shuffle ? tide_random_next(&clock->ties) : ++clock->asked;
  event->child = event->sibling = event->before = NULL;
  event->expected = true;
  clock->first = meld_events(clock->first, event);
}

void tide_clock_forget(struct tide_clock *clock, struct tide_timer_event *event) {
  if (event->expected) take_out(clock, event);
}

bool tide_clock_step(struct tide_clock *clock) {
  struct tide_timer_event *event = clock->first;
  if (!event) return false;
  take_out(clock, event);
  clock->now = event->time;
  event->fire(event);
  return true;
}

void tide_clock_pass(struct tide_clock *clock, uint64_t ns) {
  uint64_t until = ns > UINT64_MAX - clock->now ? UINT64_MAX : clock->now + ns;
  while (clock->first && clock->first->time <= until) (void)tide_clock_step(clock);
  if (clock->now < until) clock->now = until;
}

uint64_t tide_clock_now(const struct tide_clock *clock) { return clock->now; }

uint64_t tide_clock_random(struct tide_clock *clock, uint64_t limit) {
  return tide_random_below(&clock->random, limit);
}

/* ---- the platform -------------------------------------------------------------------- */

static uint64_t clock_now(void *self) { return ((struct tide_clock *)self)->now; }

static void clock_wait(void *self, const uint32_t *word, uint32_t expected, uint64_t deadline) {
  struct tide_clock *clock = self;
  while (tide_load_acquire(word) == expected && clock->now < deadline) {
    if (clock->first && clock->first->time <= deadline) {
      (void)tide_clock_step(clock);
      continue;
    }
    if (deadline != TIDE_FOREVER) {
      clock->now = deadline;
      return;
    }
    if (clock->params.stuck) clock->params.stuck(clock->params.user);
    TIDE_ASSERT(!"a wait that nothing can end");
  }
}

/* Does nothing: a waiter checks its word after each timer event. */
static void clock_wake(void *self, const uint32_t *word, uint32_t count) {
  (void)self, (void)word, (void)count;
}

/* No other thread or process runs, so only timer events change the words. With several words this
 * fires at most one event and returns: the caller checks its words and waits again. */
static void clock_wait_shared(void *self, const struct tide_word *words, uint32_t count,
                              uint64_t deadline) {
  struct tide_clock *clock = self;
  for (uint32_t i = 0; i < count; i++)
    if (tide_load_acquire(words[i].word) != words[i].expected) return;
  if (count == 1 || !clock->first || clock->first->time > deadline)
    clock_wait(self, words[0].word, words[0].expected, deadline);
  else (void)tide_clock_step(clock);
}

static void clock_yield(void *self) { (void)tide_clock_step(self); }

static uint64_t clock_random(void *self) {
  return tide_random_next(&((struct tide_clock *)self)->random);
}

static uint64_t clock_thread_id(void *self) {
  (void)self;
  return 1;
}

static uint32_t clock_cores(void *self) {
  (void)self;
  return 1;
}

static enum tide_status clock_spawn(void *self, const char *name, void (*entry)(void *),
                                    void *argument, struct tide_thread **out_thread) {
  (void)self, (void)name, (void)entry, (void)argument, (void)out_thread;
  return TIDE_UNSUPPORTED;
}

static void clock_join(void *self, struct tide_thread *thread) { (void)self, (void)thread; }

static enum tide_status clock_notify_open(void *self, int *out_descriptor) {
  (void)self, (void)out_descriptor;
  return TIDE_UNSUPPORTED;
}

static void clock_notify(void *self, int descriptor) { (void)self, (void)descriptor; }

const struct tide_platform *tide_clock_platform(struct tide_clock *clock) {
  return &clock->platform;
}

enum tide_status tide_clock_create(const struct tide_allocator *allocator,
                                   const struct tide_clock_params *params,
                                   struct tide_clock **out_clock) {
  struct tide_clock_params own;
  enum tide_status known = tide_params_copy(&own, sizeof own, params);
  if (known != TIDE_OK) return known;
  struct tide_clock *clock = tide_alloc(allocator, 1, sizeof *clock);
  if (!clock) return TIDE_NOMEM;
  clock->params = own;
  clock->allocator = allocator;
  clock->now = clock->params.start;
  clock->random.state = clock->params.seed;
  clock->ties.state = ~clock->params.seed;
  clock->platform = (struct tide_platform){
      .now = clock_now,
      .wait = clock_wait,
      .wake = clock_wake,
      .yield = clock_yield,
      .random = clock_random,
      .thread_id = clock_thread_id,
      .cores = clock_cores,
      .spawn = clock_spawn,
      .join = clock_join,
      .notify_open = clock_notify_open,
      .notify_raise = clock_notify,
      .notify_clear = clock_notify,
      .notify_close = clock_notify,
      .wait_shared = clock_wait_shared,
      .wake_shared = clock_wake,
      .self = clock,
  };
  *out_clock = clock;
  return TIDE_OK;
}

void tide_clock_destroy(struct tide_clock *clock) {
  if (!clock) return;
  while (clock->first) take_out(clock, clock->first);
  tide_free(clock->allocator, clock, 1, sizeof *clock);
}
