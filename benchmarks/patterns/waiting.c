/* The ways that wait in take: the loop of the WIC paper's Algorithm 1, the same with sched_yield,
 * and a futex. They differ only in what a waiter does between two looks. */
#include "exchange.h"
#include "polling.h"

#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- polling: what the policies use, too ---- */

/* Is the word at least so much? It never gets smaller. */
static bool reached(_Atomic uint32_t *word, uint32_t value) {
  return atomic_load_explicit(word, memory_order_acquire) >= value;
}

/* NULL: nobody counts. */
static void note(struct waiting *waiting, uint64_t checks, uint64_t from) {
  if (!waiting) return;
  waiting->waits++;
  waiting->checks += checks;
  waiting->ns += exchange_now() - from;
}

static inline bool look(struct exchange *x, _Atomic uint32_t *word, uint32_t value,
                        struct waiting *waiting, bool yields) {
  uint64_t checks = 0;
  if (reached(word, value)) return true;
  uint64_t from = exchange_now();
  bool there;
  while (!(there = reached(word, value)) && !atomic_load_explicit(&x->over, memory_order_relaxed)) {
    checks++;
    if (yields) sched_yield();
    else PAUSE();
  }
  note(waiting, checks, from);
  return there;
}

bool polling_wait(struct exchange *x, _Atomic uint32_t *word, uint32_t value,
                  struct waiting *waiting) {
  return look(x, word, value, waiting, false);
}

/* ---- one loop each ---- */

static bool yield_wait(struct exchange *x, _Atomic uint32_t *word, uint32_t value,
                       struct waiting *waiting) {
  return look(x, word, value, waiting, true);
}

static void futex(_Atomic uint32_t *word, int operation, uint32_t value) {
  syscall(SYS_futex, word, operation | FUTEX_PRIVATE_FLAG, value, NULL, NULL, 0);
}

/* A parked thread says so before it looks a last time; who changes the word looks for parked
 * threads after. */
static bool futex_wait(struct exchange *x, _Atomic uint32_t *word, uint32_t value,
                       _Atomic uint32_t *parked_list, struct waiting *waiting) {
  uint64_t checks = 0;
  if (reached(word, value)) return true;
  uint64_t from = exchange_now();
  atomic_fetch_add(parked_list, 1);
  uint32_t seen;
  while ((seen = atomic_load(word)) < value && !atomic_load(&x->over)) {
    checks++;
    futex(word, FUTEX_WAIT, seen);
  }
  atomic_fetch_sub(parked_list, 1);
  note(waiting, checks, from);
  return seen >= value;
}

static void futex_set(_Atomic uint32_t *word, uint32_t value, _Atomic uint32_t *parked_list) {
  atomic_store(word, value);
  if (atomic_load(parked_list)) futex(word, FUTEX_WAKE, INT_MAX);
}

/* ---- rooms: the reader of the message two cycles before has taken it, if it was given ---- */

/* The writer is the only one who sets `given`, so it may look at it as it likes. */
static uint32_t last_given(struct slot *slot) {
  return atomic_load_explicit(&slot->given, memory_order_relaxed);
}

void *polling_room(struct exchange *x, struct message m) {
  struct slot *slot = exchange_slot(x, m);
  if (!reached(&slot->taken, last_given(slot))) {
    if (m.direction == DOWN) exchange_flush(x);
    if (!polling_wait(x, &slot->taken, last_given(slot), NULL)) return NULL;
  }
  return exchange_place(x, m);
}

static void *yield_room(struct exchange *x, struct message m) {
  struct slot *slot = exchange_slot(x, m);
  return yield_wait(x, &slot->taken, last_given(slot), NULL) ? exchange_place(x, m) : NULL;
}

static void *futex_room(struct exchange *x, struct message m) {
  struct slot *slot = exchange_slot(x, m);
  return futex_wait(x, &slot->taken, last_given(slot), &slot->parked_list, NULL)
             ? exchange_place(x, m)
             : NULL;
}

/* ---- give, take, taken ---- */

void polling_give(struct exchange *x, struct message m, size_t length) {
  struct slot *slot = exchange_slot(x, m);
  slot->length = (uint32_t)length;
  atomic_store_explicit(&slot->given, m.cycle + 1, memory_order_release);
}

const void *polling_take(struct exchange *x, struct message m) {
  struct slot *slot = exchange_slot(x, m);
  bool there = polling_wait(x, &slot->given, m.cycle + 1, exchange_reader(x, m));
  return there ? exchange_place(x, m) : NULL;
}

bool polling_taken(struct exchange *x, struct message m) {
  atomic_store_explicit(&exchange_slot(x, m)->taken, m.cycle + 1, memory_order_release);
  return true;
}

static const void *yield_take(struct exchange *x, struct message m) {
  struct slot *slot = exchange_slot(x, m);
  bool there = yield_wait(x, &slot->given, m.cycle + 1, exchange_reader(x, m));
  return there ? exchange_place(x, m) : NULL;
}

static void futex_give(struct exchange *x, struct message m, size_t length) {
  struct slot *slot = exchange_slot(x, m);
  slot->length = (uint32_t)length;
  futex_set(&slot->given, m.cycle + 1, &slot->parked_list);
}

static const void *futex_take(struct exchange *x, struct message m) {
  struct slot *slot = exchange_slot(x, m);
  bool there = futex_wait(x, &slot->given, m.cycle + 1, &slot->parked_list, exchange_reader(x, m));
  return there ? exchange_place(x, m) : NULL;
}

static bool futex_taken(struct exchange *x, struct message m) {
  struct slot *slot = exchange_slot(x, m);
  futex_set(&slot->taken, m.cycle + 1, &slot->parked_list);
  return true;
}

/* Who looked at `over` just before it was set sleeps after this: so it is called again. */
static void futex_stop(struct exchange *x) {
  size_t slots = 2 * (size_t)x->shape.consumers * (x->shape.down + x->shape.up);
  for (size_t i = 0; i < slots; i++) {
    futex(&x->slots[i].given, FUTEX_WAKE, INT_MAX);
    futex(&x->slots[i].taken, FUTEX_WAKE, INT_MAX);
  }
}

const struct way way_spin = {
    .name = "spin",
    .summary = "looks at a flag in a loop (the WIC paper's Algorithm 1)",
    .room = polling_room,
    .give = polling_give,
    .take = polling_take,
    .taken = polling_taken,
};

const struct way way_yield = {
    .name = "yield",
    .summary = "the same, with sched_yield between two looks",
    .room = yield_room,
    .give = polling_give,
    .take = yield_take,
    .taken = polling_taken,
};

const struct way way_futex = {
    .name = "futex",
    .summary = "sleeps on a futex, and is woken",
    .room = futex_room,
    .give = futex_give,
    .take = futex_take,
    .taken = futex_taken,
    .stop = futex_stop,
};
