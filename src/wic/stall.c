/* SIGBUS: a load from a missing page raises it in the loading thread, so the handler runs on the
 * consumer's own stack. If the data is not there, the handler gives the processor away, a fiber to
 * the next fiber. After the wake the handler returns, and the load is retried.
 *
 * The handler may take the medium's lock, since the library never loads from consumers' views. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "wic/stall.h"
#include "base/check.h"
#include "wic/fiber_park.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>

#define MEDIA 64

/* An entry on the stack of a stalled fiber. A plain thread may be cancelled while it is stalled, so
 * nothing refers to its stack: it sleeps on its message's `turn`. */
struct tide_stalled {
  struct tide_stalled *next;
  struct tide_fiber *fiber;
};

/* The regions of the open media, process-wide like the signal handler. A reader never waits, and
 * skips an entry that changes meanwhile. Such an entry is another medium's: the consumer's own
 * stays open. `turn` is a sequence count, odd while the entry is written. */
static struct place {
  uint32_t turn;
  const char *from, *to;
  struct tide_medium *medium;
} places[MEDIA];
static struct sigaction before;
static void (*above)(int number, siginfo_t *info,
                     void *context); /* a handler installed over ours; see uninstall_handler */
static pthread_mutex_t opening = PTHREAD_MUTEX_INITIALIZER;
static uint32_t opened;

static struct tide_medium *medium_of(const char *address) {
  for (struct place *place = places; place < places + MEDIA; place++) {
    uint32_t turn = tide_load_acquire(&place->turn);
    const char *from = tide_load_acquire(&place->from), *to = tide_load_acquire(&place->to);
    struct tide_medium *medium = tide_load_acquire(&place->medium);
    /* The load's own medium stays open, so its entry does not change. */
    bool same = turn % 2 == 0 && turn == tide_load_relaxed(&place->turn);
    if (same && address >= from && address < to) return medium;
  }
  return NULL;
}

static void set_place(struct place *place, struct tide_medium *medium) {
  const struct tide_region *region = medium ? &medium->region : NULL;
  uint32_t turn = place->turn;
  tide_store_relaxed(&place->turn, turn + 1);
  tide_store_release(&place->from, region ? region->reader : NULL);
  tide_store_release(&place->to, region ? region->reader + region->bytes : NULL);
  tide_store_release(&place->medium, medium);
  tide_store_release(&place->turn, turn + 2);
}

/* Passes a signal on that no medium caused, as if this handler did not exist. */
static void pass_on(int number, siginfo_t *info, void *context) {
  if (before.sa_flags & SA_SIGINFO) {
    before.sa_sigaction(number, info, context);
  } else if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) {
    before.sa_handler(number);
  } else {
    if (info->si_code <= 0 && before.sa_handler == SIG_IGN) return;
    struct sigaction plain = {.sa_handler = SIG_DFL};
    sigaction(number, &plain, NULL);       /* the load is retried, and ends the process */
    if (info->si_code <= 0) raise(number); /* a sent signal: there is no load to retry */
  }
}

/* Sleeps while *word is `expected`. Only here in the library may a thread with asynchronous
 * cancellation be cancelled, as plain code that loads may be. */
static void sleep_while(const struct tide_medium *medium, const uint32_t *word, uint32_t expected,
                        int cancelling) {
  const struct tide_platform *platform = medium->platform;
  pthread_setcancelstate(cancelling, NULL);
  while (tide_load_acquire(word) == expected)
    platform->wait(platform->self, word, expected, TIDE_FOREVER);
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
}

/* Stalls the calling thread or fiber on the message. Releases the medium's lock, which the caller
 * holds. */
static void stall_on(struct tide_message *message, struct tide_lock *lock, int cancelling,
                     void *context) {
  struct tide_stalled own = {.next = message->stalled, .fiber = tide_fiber_self()};
  if (own.fiber) {
    message->stalled = &own;
    tide_fiber_park_in_handler(own.fiber, lock, context);
    return;
  }
  uint32_t turn = tide_load_relaxed(&message->turn);
  message->threads = true;
  tide_lock_give(lock);
  sleep_while(message->medium, &message->turn, turn, cancelling);
}

static void handle_fault(struct tide_medium *medium, size_t page, int cancelling, void *context) {
  struct tide_message *message = NULL;
  struct tide_lock *lock = tide_medium_enter(medium);
  enum tide_fault_answer answer = tide_medium_judge(medium, page, &message);
  if (answer == TIDE_FAULT_WAITS) {
    stall_on(message, lock, cancelling, context);
    return;
  }
  tide_lock_give(lock);
  tide_medium_answer(medium, page, message, answer);
}

void tide_stall_here(struct tide_medium *medium, size_t page, void *context) {
  int cancelling = PTHREAD_CANCEL_ENABLE;
  /* Carriers are never cancelled, and a fiber may resume on another one. */
  bool plain = !tide_fiber_self();
  if (plain) pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancelling);
  handle_fault(medium, page, cancelling, context);
  if (plain) pthread_setcancelstate(cancelling, NULL);
}

/* A fiber may resume on another thread, where errno has another address. So each of these calls
 * computes the address anew. */
static __attribute__((noinline)) int error_of_thread(void) { return errno; }
static __attribute__((noinline)) void set_error_of_thread(int error) { errno = error; }

static void handle_sigbus(int number, siginfo_t *info, void *context) {
  int error = error_of_thread();
  const char *address = info->si_addr;
  /* Other codes mean broken memory, which no mapping mends. */
  struct tide_medium *medium = info->si_code == BUS_ADRERR ? medium_of(address) : NULL;
  if (medium)
    tide_stall_here(medium, (size_t)(address - medium->region.reader) / medium->region.page,
                    context);
  else pass_on(number, info, context);
  set_error_of_thread(error);
}

static void install_handler(void) {
  struct sigaction ours = {.sa_sigaction = handle_sigbus, .sa_flags = SA_SIGINFO | SA_NODEFER}, now;
  sigaction(SIGBUS, NULL, &now);
  if (now.sa_sigaction == handle_sigbus || (above && now.sa_sigaction == above)) return;
  above = NULL;
  before = now;
  sigaction(SIGBUS, &ours, NULL);
}

/* A handler installed over ours forwards foreign signals, and stays. Ours then stays below it, and
 * is still there for the next medium. */
static void uninstall_handler(void) {
  struct sigaction now;
  sigaction(SIGBUS, NULL, &now);
  above = NULL;
  if (now.sa_sigaction == handle_sigbus) sigaction(SIGBUS, &before, NULL);
  else if (now.sa_handler != SIG_DFL && now.sa_handler != SIG_IGN) above = now.sa_sigaction;
}

enum tide_status tide_stall_open(struct tide_medium *medium) {
  enum tide_status status = TIDE_FULL;
  pthread_mutex_lock(&opening);
  for (int i = 0; i < MEDIA && status == TIDE_FULL; i++)
    if (!places[i].medium) {
      set_place(&places[i], medium);
      status = TIDE_OK;
    }
  if (status == TIDE_OK && opened++ == 0) install_handler();
  pthread_mutex_unlock(&opening);
  return status;
}

void tide_stall_close(struct tide_medium *medium) {
  pthread_mutex_lock(&opening);
  for (int i = 0; i < MEDIA; i++)
    if (places[i].medium == medium) {
      set_place(&places[i], NULL);
      if (--opened == 0) uninstall_handler();
    }
  pthread_mutex_unlock(&opening);
}

struct tide_stalls tide_stall_take(struct tide_message *message) {
  struct tide_stalls stalls = {message->stalled, message->threads};
  message->stalled = NULL;
  message->threads = false;
  if (stalls.threads) tide_store_release(&message->turn, tide_load_relaxed(&message->turn) + 1);
  return stalls;
}

void tide_stall_end(struct tide_message *message, struct tide_stalls stalls) {
  const struct tide_platform *platform = message->medium->platform;
  struct tide_stalled *next;
  for (struct tide_stalled *stalled = stalls.fibers; stalled; stalled = next) {
    next = stalled->next; /* the entry is gone once its fiber is ready */
    tide_fiber_ready(stalled->fiber);
  }
  if (stalls.threads) platform->wake(platform->self, &message->turn, UINT32_MAX);
}
