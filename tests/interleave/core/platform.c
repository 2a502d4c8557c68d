/* The platform and the allocator that interleaved code gets: its threads sleep, wake and
 * allocate as the explorer says. */
#include "core.h"
#include "tidemark/base.h"

#define CALLER ((uintptr_t)__builtin_return_address(0))

/* A clock a thread: it stands still until a wait times out. Only the thread's own deadlines are
 * compared with it. */
static uint64_t clocks[THREADS];

static uint64_t interleaved_now(void *self) {
  (void)self;
  return clocks[interleave_self] + 1;
}

static void interleaved_wait(void *self, const uint32_t *word, uint32_t expected,
                             uint64_t deadline) {
  (void)self;
  uintptr_t address = (uintptr_t)word;
  if (deadline == TIDE_NOW) return;
  if (!interleave_exploring) {
    if (*word == expected) interleave_fail("the setup or the check sleeps");
    return;
  }
  interleave_step((struct step){WAIT, __ATOMIC_SEQ_CST, address, 4, CALLER});
  if (memory_load(address, 4, __ATOMIC_SEQ_CST, CALLER) != expected) {
    interleave_note("goes on at once", 0);
    return;
  }
  interleave_note("sleeps", 0);
  interleave_sleep(address, deadline != TIDE_FOREVER, CALLER);
  if (interleave_timed_out() && clocks[interleave_self] < deadline)
    clocks[interleave_self] = deadline;
}

/* The word may be gone: its address alone is used. */
static void interleaved_wake(void *self, const uint32_t *word, uint32_t count) {
  (void)self;
  if (!interleave_exploring) return;
  interleave_step((struct step){WAKE, 0, (uintptr_t)word, 0, CALLER});
  interleave_note("wakes %llu", interleave_wake((uintptr_t)word, count));
}

/* Of several words none is slept on: it comes back early, but not before something has changed. */
static void interleaved_wait_shared(void *self, const struct tide_word *words, uint32_t count,
                                    uint64_t deadline) {
  if (count == 1) interleaved_wait(self, words->word, words->expected, deadline);
  else if (interleave_exploring) interleave_yield(CALLER);
}

static void interleaved_yield(void *self) {
  (void)self;
  if (interleave_exploring) interleave_yield(CALLER);
}

static uint64_t interleaved_random(void *self) {
  (void)self;
  return 4; /* by a fair die; the same in every run */
}

static uint64_t interleaved_thread_id(void *self) {
  (void)self;
  return (uint64_t)interleave_self + 1;
}

static uint32_t interleaved_cores(void *self) {
  (void)self;
  return THREADS;
}

static enum tide_status interleaved_spawn(void *self, const char *name, void (*entry)(void *),
                                          void *argument, struct tide_thread **out_thread) {
  (void)self, (void)name;
  int thread = interleave_spawn(entry, argument);
  *out_thread = (struct tide_thread *)(uintptr_t)thread;
  return thread ? TIDE_OK : TIDE_NOMEM;
}

static void interleaved_join(void *self, struct tide_thread *thread) {
  (void)self;
  interleave_join((int)(uintptr_t)thread, CALLER);
}

static enum tide_status interleaved_open(void *self, int *out_descriptor) {
  (void)self;
  *out_descriptor = -1;
  return TIDE_OK;
}

static void interleaved_descriptor(void *self, int descriptor) { (void)self, (void)descriptor; }

const struct tide_platform *tide_platform_linux(void) {
  static const struct tide_platform platform = {
      .now = interleaved_now,
      .wait = interleaved_wait,
      .wake = interleaved_wake,
      .yield = interleaved_yield,
      .random = interleaved_random,
      .thread_id = interleaved_thread_id,
      .cores = interleaved_cores,
      .spawn = interleaved_spawn,
      .join = interleaved_join,
      .notify_open = interleaved_open,
      .notify_raise = interleaved_descriptor,
      .notify_clear = interleaved_descriptor,
      .notify_close = interleaved_descriptor,
      .wait_shared = interleaved_wait_shared,
      .wake_shared = interleaved_wake,
  };
  return &platform;
}

static void *interleaved_alloc(void *self, size_t size, size_t align) {
  (void)self;
  return memory_alloc(size, align);
}

static void interleaved_free(void *self, void *memory, size_t size) {
  (void)self;
  memory_free(memory, size, CALLER);
}

const struct tide_allocator *tide_allocator_system(void) {
  static const struct tide_allocator allocator = {interleaved_alloc, interleaved_free, NULL};
  return &allocator;
}

void interleave_clocks_begin(void) {
  for (int i = 0; i < THREADS; i++) clocks[i] = 0;
}

_Noreturn void tide_assert_failed(const char *what, const char *file, int line);
_Noreturn void tide_assert_failed(const char *what, const char *file, int line) {
  interleave_fail("invariant broken: %s (%s:%d)", what, file, line);
}
