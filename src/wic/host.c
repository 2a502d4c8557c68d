/* The system services that a medium needs besides its region: the monitor's thread and bell, and a
 * mutex. Tests of interleavings replace this file (tests/simulation/wic_world.c). */
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

static void drain_bell(struct tide_medium *medium) {
  uint64_t count;
  (void)!read(medium->bell, &count, sizeof count);
}

/* ---- the thread ------------------------------------------------------------------------------ */

/* The kernel's struct sched_attr, in its first version. */
struct scheduling {
  uint32_t size, policy;
  uint64_t flags;
  int32_t nice;
  uint32_t priority;
  uint64_t runtime, deadline, period;
};

/* Requests a short time slice, so that the monitor is scheduled before consumers that have not
 * requested anything yet. Effective since Linux 6.12; older kernels ignore the value. */
static void request_short_slices(void) {
  struct scheduling s;
  if (syscall(SYS_sched_getattr, 0, &s, sizeof s, 0) != 0) return;
  if (s.policy != SCHED_OTHER) return; /* the program has chosen a policy */
  s.size = sizeof s;
  s.runtime = 100000; /* ns; the minimum */
  (void)syscall(SYS_sched_setattr, 0, &s, 0);
}

/* Polls for a while, so that the processor stays awake: waking an idle one takes longer than a
 * fault. True: an event is pending. */
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
  /* poll ignores an entry with a negative descriptor. */
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
  if (ready > 0 && what[0].revents) drain_bell(medium);
}

static void *monitor_main(void *argument) {
  struct tide_medium *medium = argument;
  uint64_t until;
  pthread_setname_np(pthread_self(), "tide-monitor");
  request_short_slices();
  while (tide_monitor_plan(medium, &until)) {
    sleep_until(medium, until);
    tide_monitor_work(medium);
  }
  return NULL;
}

/* Starts the monitor with externally sent signals blocked. Those are for the program's own threads:
 * the program may wait for them elsewhere (sigwait, signalfd), and its handlers must not delay all
 * faults. Signals that a thread raises itself stay unblocked: a callback of the program's that runs
 * on the monitor may have a handler for them. */
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
  if (!failed) failed = pthread_create(&medium->monitor, &attributes, monitor_main, medium);
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
