/* The Linux platform: futex, CLOCK_MONOTONIC, pthreads, eventfd. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "base/check.h"
#include "tidemark/base.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

struct tide_thread {
  pthread_t handle;
  void (*entry)(void *);
  void *argument;
  char name[16];
};

static uint64_t read_clock(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint64_t linux_now(void *self) {
  (void)self;
  return read_clock(CLOCK_MONOTONIC);
}

/* Returns the time that the kernel noted at its last tick. */
static uint64_t linux_now_about(void *self) {
  (void)self;
  return read_clock(CLOCK_MONOTONIC_COARSE);
}

/* FUTEX_WAIT_BITSET takes an absolute CLOCK_MONOTONIC time, so that a signal or a
 * spurious wake cannot stretch the deadline. */
static void linux_wait(void *self, const uint32_t *word, uint32_t expected, uint64_t deadline) {
  (void)self;
  if (deadline == TIDE_NOW) return;
  struct timespec t = {(time_t)(deadline / 1000000000u), (long)(deadline % 1000000000u)};
  syscall(SYS_futex, word, FUTEX_WAIT_BITSET_PRIVATE, expected,
          deadline == TIDE_FOREVER ? NULL : &t, NULL, FUTEX_BITSET_MATCH_ANY);
}

static void linux_wake(void *self, const uint32_t *word, uint32_t count) {
  (void)self;
  int most = count > 0x7fffffff ? 0x7fffffff : (int)count;
  syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, most, NULL, NULL, 0);
}

/* ---- words that other processes map too ---- */

#ifndef SYS_futex_waitv
#define SYS_futex_waitv 449
#endif
#define NAP 1000000u

/* The kernel's struct futex_waitv, which older headers lack. */
struct waited {
  uint64_t expected, word;
  uint32_t flags, reserved;
};
#define WAITED_32_BITS 2u

static struct timespec time_of(uint64_t ns) {
  return (struct timespec){(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};
}

static uint64_t nap_end(uint64_t deadline) {
  uint64_t end = linux_now(NULL) + NAP;
  return deadline < end ? deadline : end;
}

/* The kernel only reads the word, so a read-only mapping will do. */
static void wait_for_one(const struct tide_word *word, uint64_t deadline) {
  struct timespec t = time_of(deadline);
  if (syscall(SYS_futex, word->word, FUTEX_WAIT_BITSET, word->expected,
              deadline == TIDE_FOREVER ? NULL : &t, NULL, FUTEX_BITSET_MATCH_ANY) == 0)
    return;
  if (errno == EAGAIN || errno == EINTR || errno == ETIMEDOUT) return;
  t = time_of(nap_end(deadline)); /* the kernel cannot sleep on this word: nap, do not spin */
  clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
}

static void linux_wait_shared(void *self, const struct tide_word *words, uint32_t count,
                              uint64_t deadline) {
  (void)self;
  struct waited waited[128];
  if (deadline == TIDE_NOW || count == 0) return;
  if (count == 1) {
    wait_for_one(words, deadline);
    return;
  }
  if (count > 128) count = 128;
  for (uint32_t i = 0; i < count; i++)
    waited[i] =
        (struct waited){words[i].expected, (uint64_t)(uintptr_t)words[i].word, WAITED_32_BITS, 0};
  struct timespec t = time_of(deadline);
  if (syscall(SYS_futex_waitv, waited, count, 0, deadline == TIDE_FOREVER ? NULL : &t,
              CLOCK_MONOTONIC) >= 0)
    return;
  if (errno == EAGAIN || errno == EINTR || errno == ETIMEDOUT) return;
  wait_for_one(words, nap_end(deadline)); /* Linux before 5.16, or the call is not permitted */
}

static void linux_wake_shared(void *self, const uint32_t *word, uint32_t count) {
  (void)self;
  int most = count > 0x7fffffff ? 0x7fffffff : (int)count;
  syscall(SYS_futex, word, FUTEX_WAKE, most, NULL, NULL, 0);
}

static void linux_yield(void *self) {
  (void)self;
  sched_yield();
}

static uint64_t linux_random(void *self) {
  (void)self;
  uint64_t value;
  if (getrandom(&value, sizeof value, 0) != sizeof value) value = linux_now(NULL);
  return value;
}

static uint64_t linux_thread_id(void *self) {
  (void)self;
  static _Thread_local uint64_t cached; /* a cache of the kernel's answer, not state */
  if (!cached) cached = (uint64_t)syscall(SYS_gettid);
  return cached;
}

static uint32_t linux_cores(void *self) {
  (void)self;
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  int count = CPU_COUNT(&set);
  return count < 1 ? 1 : (uint32_t)count;
}

static void *thread_main(void *argument) {
  struct tide_thread *thread = argument;
  pthread_setname_np(pthread_self(), thread->name);
  thread->entry(thread->argument);
  return NULL;
}

static enum tide_status linux_spawn(void *self, const char *name, void (*entry)(void *),
                                    void *argument, struct tide_thread **out_thread) {
  (void)self;
  struct tide_thread *thread = calloc(1, sizeof *thread);
  if (!thread) return TIDE_NOMEM;
  thread->entry = entry;
  thread->argument = argument;
  snprintf(thread->name, sizeof thread->name, "%s", name ? name : "tidemark");
  if (pthread_create(&thread->handle, NULL, thread_main, thread) != 0) {
    free(thread);
    return TIDE_NOMEM;
  }
  *out_thread = thread;
  return TIDE_OK;
}

static void linux_join(void *self, struct tide_thread *thread) {
  (void)self;
  pthread_join(thread->handle, NULL);
  free(thread);
}

static enum tide_status linux_notify_open(void *self, int *out_descriptor) {
  (void)self;
  int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (fd < 0) return errno == EMFILE || errno == ENFILE ? TIDE_FULL : TIDE_IO;
  *out_descriptor = fd;
  return TIDE_OK;
}

static void linux_notify_raise(void *self, int descriptor) {
  (void)self;
  uint64_t one = 1;
  ssize_t wrote;
  do wrote = write(descriptor, &one, sizeof one);
  while (wrote < 0 && errno == EINTR);
}

static void linux_notify_clear(void *self, int descriptor) {
  (void)self;
  uint64_t count;
  ssize_t got;
  do got = read(descriptor, &count, sizeof count);
  while (got < 0 && errno == EINTR);
}

static void linux_notify_close(void *self, int descriptor) {
  (void)self;
  close(descriptor);
}

const struct tide_platform *tide_platform_linux(void) {
  static const struct tide_platform platform = {
      .now = linux_now,
      .wait = linux_wait,
      .wake = linux_wake,
      .yield = linux_yield,
      .random = linux_random,
      .thread_id = linux_thread_id,
      .cores = linux_cores,
      .spawn = linux_spawn,
      .join = linux_join,
      .notify_open = linux_notify_open,
      .notify_raise = linux_notify_raise,
      .notify_clear = linux_notify_clear,
      .notify_close = linux_notify_close,
      .wait_shared = linux_wait_shared,
      .wake_shared = linux_wake_shared,
      .now_about = linux_now_about,
  };
  return &platform;
}

static void *system_alloc(void *self, size_t size, size_t align) {
  (void)self;
  if (align <= 16) return malloc(size);
  if (size > SIZE_MAX - align) return NULL;
  return aligned_alloc(align, (size + align - 1) / align * align);
}

static void system_free(void *self, void *memory, size_t size) {
  (void)self, (void)size;
  free(memory);
}

const struct tide_allocator *tide_allocator_system(void) {
  static const struct tide_allocator allocator = {system_alloc, system_free, NULL};
  return &allocator;
}

_Noreturn void tide_assert_failed(const char *what, const char *file, int line) {
  fprintf(stderr, "tidemark: %s:%d: invariant broken: %s\n", file, line, what);
  abort();
}
