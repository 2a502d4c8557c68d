/* What this machine's own primitives cost: the floors that other figures are read against. */
#include "bench.h"

#include "base/atomic.h"
#include "base/lock.h"
#include "tidemark/base.h"

#include <linux/futex.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

struct words {
  _Alignas(64) uint64_t cell;
  _Alignas(64) struct tide_lock lock;
  pthread_mutex_t mutex;
  _Alignas(64) unsigned char from[64];
  _Alignas(64) unsigned char to[64];
};

static void *words_make(void) {
  struct words *words = aligned_alloc(64, sizeof *words);
  if (!words) bench_wrong("memory");
  memset(words, 0, sizeof *words);
  pthread_mutex_init(&words->mutex, NULL);
  return words;
}

static void words_drop(void *state) {
  struct words *words = state;
  pthread_mutex_destroy(&words->mutex);
  free(words);
}

static void compare_and_swap(void *state, uint64_t count) {
  struct words *words = state;
  for (uint64_t i = 0; i < count; i++) {
    uint64_t expected = words->cell;
    tide_compare_exchange(&words->cell, &expected, expected + 1);
  }
}

double bench_compare_and_swap(void) {
  static struct words words;
  double least = INFINITY;
  for (int round = 0; round < 5; round++) {
    uint64_t start = bench_now();
    compare_and_swap(&words, 20000);
    least = fmin(least, (double)(bench_now() - start) / 20000);
  }
  return least;
}

static void our_lock(void *state, uint64_t count) {
  struct words *words = state;
  const struct tide_platform *platform = tide_platform_linux();
  for (uint64_t i = 0; i < count; i++) {
    tide_lock_take(&words->lock, platform);
    words->cell++;
    tide_lock_give(&words->lock);
  }
}

static void mutex(void *state, uint64_t count) {
  struct words *words = state;
  for (uint64_t i = 0; i < count; i++) {
    pthread_mutex_lock(&words->mutex);
    words->cell++;
    pthread_mutex_unlock(&words->mutex);
  }
}

static void copy_64_bytes(void *state, uint64_t count) {
  struct words *words = state;
  for (uint64_t i = 0; i < count; i++) {
    memcpy(words->to, words->from, 64);
    bench_keep((uintptr_t)words->to);
  }
}

static void clock_read(void *state, uint64_t count) {
  (void)state;
  for (uint64_t i = 0; i < count; i++) bench_keep(bench_now());
}

static void system_call(void *state, uint64_t count) {
  (void)state;
  for (uint64_t i = 0; i < count; i++) bench_keep((uint64_t)syscall(SYS_getppid));
}

/* Nobody sleeps: what a careless signaller pays each time. */
static void futex_wake_nobody(void *state, uint64_t count) {
  struct words *words = state;
  for (uint64_t i = 0; i < count; i++)
    syscall(SYS_futex, (uint32_t *)&words->cell, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

/* There and back between two threads that sleep in turns: two wakes a repetition. */
struct relay {
  uint32_t turn; /* even: ours; odd: the partner's; UINT32_MAX: over */
  pthread_t partner;
};

static void sleep_while(uint32_t *word, uint32_t value) {
  syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
}

static void pass_on(uint32_t *word, uint32_t value) {
  tide_store_ordered(word, value);
  syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static void *relay_partner(void *argument) {
  struct relay *relay = argument;
  for (;;) {
    uint32_t turn = tide_load_acquire(&relay->turn);
    if (turn == UINT32_MAX) return NULL;
    if (turn % 2) pass_on(&relay->turn, 0);
    else sleep_while(&relay->turn, turn);
  }
}

static void *relay_make(void) {
  struct relay *relay = calloc(1, sizeof *relay);
  if (!relay || pthread_create(&relay->partner, NULL, relay_partner, relay) != 0)
    bench_wrong("a thread for the relay");
  return relay;
}

static void relay_drop(void *state) {
  struct relay *relay = state;
  pass_on(&relay->turn, UINT32_MAX);
  pthread_join(relay->partner, NULL);
  free(relay);
}

static void futex_there_and_back(void *state, uint64_t count) {
  struct relay *relay = state;
  for (uint64_t i = 0; i < count; i++) {
    pass_on(&relay->turn, 1);
    while (tide_load_acquire(&relay->turn) == 1) sleep_while(&relay->turn, 1);
  }
}

const struct bench_figure bench_floors[] = {
    {.name = "compare_and_swap",
     .setup = words_make,
     .teardown = words_drop,
     .ours = compare_and_swap},
    {.name = "lock_uncontended",
     .rival = "pthread mutex",
     .setup = words_make,
     .teardown = words_drop,
     .ours = our_lock,
     .theirs = mutex},
    {.name = "copy_64_bytes", .setup = words_make, .teardown = words_drop, .ours = copy_64_bytes},
    {.name = "clock_read", .ours = clock_read},
    {.name = "system_call", .ours = system_call},
    {.name = "futex_wake_nobody",
     .setup = words_make,
     .teardown = words_drop,
     .ours = futex_wake_nobody},
    {.name = "futex_there_and_back",
     .setup = relay_make,
     .teardown = relay_drop,
     .ours = futex_there_and_back},
    {0}};
