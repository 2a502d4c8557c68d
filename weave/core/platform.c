/* The platform and the allocator that woven code gets: its threads sleep, wake and
 * allocate as the explorer says. */
#include "core.h"
#include "tidemark/base.h"

#define CALLER ((uintptr_t)__builtin_return_address(0))

/* A clock a thread: it stands still until a wait times out. Only the thread's own deadlines are
 * compared with it. */
static uint64_t clocks[THREADS];

static uint64_t woven_now(void *self) {
  (void)self;
  return clocks[weave_self] + 1;
}

static void woven_wait(void *self, const uint32_t *word, uint32_t expected, uint64_t deadline) {
  (void)self;
  uintptr_t address = (uintptr_t)word;
  if (deadline == TIDE_NOW) return;
  if (!weave_exploring) {
    if (*word == expected) weave_fail("the setup or the check sleeps");
    return;
  }
  weave_step((struct step){WAIT, __ATOMIC_SEQ_CST, address, 4, CALLER});
  if (memory_load(address, 4, __ATOMIC_SEQ_CST, CALLER) != expected) {
    weave_note("goes on at once", 0);
    return;
  }
  weave_note("sleeps", 0);
  weave_sleep(address, deadline != TIDE_FOREVER, CALLER);
  if (weave_timed_out() && clocks[weave_self] < deadline) clocks[weave_self] = deadline;
}

/* The word may be gone: its address alone is used. */
static void woven_wake(void *self, const uint32_t *word, uint32_t count) {
  (void)self;
  if (!weave_exploring) return;
  weave_step((struct step){WAKE, 0, (uintptr_t)word, 0, CALLER});
  weave_note("wakes %llu", weave_wake((uintptr_t)word, count));
}

/* Of several words none is slept on: it comes back early, but not before something has changed. */
static void woven_wait_shared(void *self, const struct tide_word *words, uint32_t count,
                              uint64_t deadline) {
  if (count == 1) woven_wait(self, words->word, words->expected, deadline);
  else if (weave_exploring) weave_yield(CALLER);
}

static void woven_yield(void *self) {
  (void)self;
  if (weave_exploring) weave_yield(CALLER);
}

static uint64_t woven_random(void *self) {
  (void)self;
  return 4; /* by a fair die; the same in every run */
}

static uint64_t woven_thread_id(void *self) {
  (void)self;
  return (uint64_t)weave_self + 1;
}

static uint32_t woven_cores(void *self) {
  (void)self;
  return THREADS;
}

static enum tide_status woven_spawn(void *self, const char *name, void (*entry)(void *),
                                    void *argument, struct tide_thread **out_thread) {
  (void)self, (void)name;
  int thread = weave_spawn(entry, argument);
  *out_thread = (struct tide_thread *)(uintptr_t)thread;
  return thread ? TIDE_OK : TIDE_NOMEM;
}

static void woven_join(void *self, struct tide_thread *thread) {
  (void)self;
  weave_join((int)(uintptr_t)thread, CALLER);
}

static enum tide_status woven_open(void *self, int *out_descriptor) {
  (void)self;
  *out_descriptor = -1;
  return TIDE_OK;
}

static void woven_descriptor(void *self, int descriptor) { (void)self, (void)descriptor; }

const struct tide_platform *tide_platform_linux(void) {
  static const struct tide_platform platform = {
      .now = woven_now,
      .wait = woven_wait,
      .wake = woven_wake,
      .yield = woven_yield,
      .random = woven_random,
      .thread_id = woven_thread_id,
      .cores = woven_cores,
      .spawn = woven_spawn,
      .join = woven_join,
      .notify_open = woven_open,
      .notify_raise = woven_descriptor,
      .notify_clear = woven_descriptor,
      .notify_close = woven_descriptor,
      .wait_shared = woven_wait_shared,
      .wake_shared = woven_wake,
  };
  return &platform;
}

static void *woven_alloc(void *self, size_t size, size_t align) {
  (void)self;
  return memory_alloc(size, align);
}

static void woven_free(void *self, void *memory, size_t size) {
  (void)self;
  memory_free(memory, size, CALLER);
}

const struct tide_allocator *tide_allocator_system(void) {
  static const struct tide_allocator allocator = {woven_alloc, woven_free, NULL};
  return &allocator;
}

void weave_clocks_begin(void) {
  for (int i = 0; i < THREADS; i++) clocks[i] = 0;
}

_Noreturn void tide_assert_failed(const char *what, const char *file, int line);
_Noreturn void tide_assert_failed(const char *what, const char *file, int line) {
  weave_fail("invariant broken: %s (%s:%d)", what, file, line);
}
