/* What a medium needs of the system besides its region: the monitor's thread and bell, and a lock
 * that sleeps. Tests of interleavings have their own (tests/simulation/wic_world.c). */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "base/check.h"
#include "wic/medium.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

void tide_giving_take(struct tide_medium *medium) { pthread_mutex_lock(&medium->giving); }
void tide_giving_give(struct tide_medium *medium) { pthread_mutex_unlock(&medium->giving); }

/* ---- the bell ------------------------------------------------------------------------ */

void tide_monitor_ring(struct tide_medium *medium) {
  uint64_t one = 1;
  ssize_t written = write(medium->bell, &one, sizeof one);
  TIDE_ASSERT(written == (ssize_t)sizeof one);
}

static void hear_bell(struct tide_medium *medium) {
  uint64_t count;
  (void)!read(medium->bell, &count, sizeof count);
}

/* ---- the thread ------------------------------------------------------------------------------ */

/* The kernel's struct sched_attr, as it was first. */
struct scheduling {
  uint32_t size, policy;
  uint64_t flags;
  int32_t nice;
  uint32_t priority;
  uint64_t runtime, deadline, period;
};

/* Who works only briefly has its turn the sooner: before consumers that have not even asked yet.
 * Since Linux 6.12; before, the number is forgotten. */
static void ask_for_short_turns(void) {
  struct scheduling s;
  if (syscall(SYS_sched_getattr, 0, &s, sizeof s, 0) != 0) return;
  if (s.policy != SCHED_OTHER) return; /* somebody has chosen */
  s.size = sizeof s;
  s.runtime = 100000; /* ns: the least there is */
  (void)syscall(SYS_sched_setattr, 0, &s, 0);
}

/* Looks for a while, so that the processor stays awake: to wake an idle one takes longer than a
 * fault. True: there is something to do. */
static bool linger_for_events(struct tide_medium *medium, struct pollfd *what, nfds_t count,
                              uint64_t until) {
  const struct tide_platform *platform = medium->platform;
  uint64_t now = platform->now(platform->self), end = now + medium->linger;
  if (!medium->lingers) return false;
  for (; now < end && now < until; now = platform->now(platform->self)) {
    if (poll(what, count, 0) > 0) return true;
    platform->yield(platform->self);
  }
  return false;
}

static void sleep_until(struct tide_medium *medium, uint64_t until) {
  uint64_t now = medium->platform->now(medium->platform->self);
  bool naps = now < medium->looks_from;
  /* Without a descriptor nothing is looked at. */
  struct pollfd what[3] = {
      {.fd = medium->bell, .events = POLLIN},
      {.fd = medium->tags.guard.faults, .events = POLLIN},
      {.fd = medium->region.signals || naps ? -1 : medium->region.faults, .events = POLLIN}};
  if (naps && medium->looks_from < until) until = medium->looks_from;
  bool found = linger_for_events(medium, what, 3, until);
  now = medium->platform->now(medium->platform->self);
  uint64_t left = until > now ? until - now : 0;
  struct timespec time = {(time_t)(left / 1000000000u), (long)(left % 1000000000u)};
  int ready = found ? 1 : ppoll(what, 3, until == TIDE_FOREVER ? NULL : &time, NULL);
  if (ready < 0) TIDE_ASSERT(errno == EINTR);
  if (ready > 0 && what[0].revents) hear_bell(medium);
}

static void *watch(void *argument) {
  struct tide_medium *medium = argument;
  uint64_t until;
  pthread_setname_np(pthread_self(), "tide-monitor");
  ask_for_short_turns();
  while (tide_monitor_plan(medium, &until)) {
    sleep_until(medium, until);
    tide_monitor_work(medium);
  }
  return NULL;
}

/* Signals that somebody sends are for the program's own threads: it may wait for them in a place of
 * its choice (sigwait, signalfd), and its handlers are not to hold up everybody's faults. What a
 * thread does to itself stays: a call of the program's that it makes may have a handler for that.
 */
static int start_thread(struct tide_medium *medium) {
  static const int own[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS};
  sigset_t sent, mask;
  pthread_attr_t attributes;
  cpu_set_t cpus;
  int failed = pthread_attr_init(&attributes);
  if (failed) return failed;
  CPU_ZERO(&cpus);
  if (medium->cpu < CPU_SETSIZE) CPU_SET(medium->cpu, &cpus);
  if (medium->pinned) failed = pthread_attr_setaffinity_np(&attributes, sizeof cpus, &cpus);
  sigfillset(&sent);
  for (size_t i = 0; i < sizeof own / sizeof own[0]; i++) sigdelset(&sent, own[i]);
  pthread_sigmask(SIG_BLOCK, &sent, &mask);
  if (!failed) failed = pthread_create(&medium->monitor, &attributes, watch, medium);
  pthread_sigmask(SIG_SETMASK, &mask, NULL);
  pthread_attr_destroy(&attributes);
  return failed;
}

enum tide_status tide_monitor_start(struct tide_medium *medium) {
  medium->bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (medium->bell < 0) return errno == EMFILE || errno == ENFILE ? TIDE_FULL : TIDE_NOMEM;
  int failed = start_thread(medium);
  if (!failed) return TIDE_OK;
  close(medium->bell);
  medium->bell = -1;
  return failed == EINVAL ? TIDE_INVALID : TIDE_NOMEM;
}

void tide_monitor_stop(struct tide_medium *medium) {
  if (medium->bell < 0) return;
  struct tide_lock *lock = tide_medium_enter(medium);
  medium->stopping = true;
  tide_lock_give(lock);
  tide_monitor_ring(medium);
  pthread_join(medium->monitor, NULL);
  close(medium->bell);
}
