/* What happens seldom, made to happen: threads stop at chosen system calls, and while they stand
 * there something else is done. */
#include "causal/context_state.h"
#include "wic_rig.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define PAGE 4096u
#define FAULT 32 /* bytes of a fault that is read; no other read is so long */

/* ---- gates --------------------------------------------------------------------------------- */

/* The next thread that comes to a closed gate stands there until it is opened. */
struct gate {
  uint32_t closed, stands, let; /* let: so many more may pass */
};
static struct gate before_read, after_read, at_drop, at_free;

#define GET(word) __atomic_load_n(&(word), __ATOMIC_ACQUIRE)
#define SET(word, value) __atomic_store_n(&(word), (value), __ATOMIC_RELEASE)

static inline void gate_close(struct gate *gate) {
  SET(gate->stands, 0);
  SET(gate->closed, 1);
}
static inline void gate_open(struct gate *gate) { SET(gate->closed, 0); }
static void gate_pass(struct gate *gate) {
  if (!GET(gate->closed)) return;
  SET(gate->stands, 1);
  while (GET(gate->closed) && !GET(gate->let)) usleep(50);
  if (!GET(gate->closed)) return;
  SET(gate->let, 0);
}
/* The one that stands there, and no other. */
static inline void gate_let_one(struct gate *gate) {
  SET(gate->stands, 0);
  SET(gate->let, 1);
}
static inline void gate_await(struct gate *gate) {
  while (!GET(gate->stands)) usleep(50);
}

/* The library's calls come here. */
static uint32_t polls;
ssize_t read(int fd, void *buffer, size_t bytes) {
  bool faults = bytes > FAULT && bytes % FAULT == 0 && bytes <= 64 * FAULT;
  if (faults) gate_pass(&before_read);
  ssize_t got = syscall(SYS_read, fd, buffer, bytes);
  if (faults && got > 0) gate_pass(&after_read);
  return got;
}
int madvise(void *at, size_t bytes, int advice) {
  if (advice == MADV_DONTNEED) gate_pass(&at_drop);
  return (int)syscall(SYS_madvise, at, bytes, advice);
}
int ppoll(struct pollfd *fds, nfds_t count, const struct timespec *time, const sigset_t *mask) {
  struct timespec left = time ? *time : (struct timespec){0, 0};
  __atomic_fetch_add(&polls, 1, __ATOMIC_ACQ_REL);
  return (int)syscall(SYS_ppoll, fds, count, time ? &left : NULL, mask, 8);
}
/* Until the monitor has nothing more to do that it knows of. */
static inline void await_monitor(void) {
  uint32_t then = GET(polls);
  while (GET(polls) == then) usleep(50);
}

/* ---- a context whose frees and yields are ours -------------------------------------- */

static const struct tide_allocator *real_allocator;
static void *take(void *self, size_t size, size_t align) {
  (void)self;
  return real_allocator->alloc(real_allocator->self, size, align);
}
static void give(void *self, void *memory, size_t size) {
  (void)self;
  gate_pass(&at_free);
  real_allocator->free(real_allocator->self, memory, size);
}
static void (*when_yielding)(void);
static void (*real_yield)(void *self);
static void yield(void *self) {
  if (when_yielding) when_yielding();
  real_yield(self);
}

struct ours {
  struct tide_allocator allocator;
  struct tide_platform platform;
};
static inline void open_ours(struct rig *rig, struct ours *ours,
                             const struct tide_medium_params *params) {
  real_allocator = tide_allocator_system();
  CHECK_OK(tide_context_create(NULL, &rig->context));
  ours->platform = *rig->context->platform;
  tide_context_destroy(rig->context);
  real_yield = ours->platform.yield;
  ours->platform.yield = yield;
  ours->allocator = (struct tide_allocator){take, give, NULL};
  struct tide_context_params with = {
      .struct_size = sizeof with, .platform = &ours->platform, .allocator = &ours->allocator};
  CHECK_OK(tide_context_create(&with, &rig->context));
  enum tide_status status = tide_medium_create(rig->context, params, &rig->medium);
  if (status == TIDE_DENIED || status == TIDE_UNSUPPORTED) SKIP("no userfaultfd for us");
  CHECK_OK(status);
  CHECK_OK(tide_timeline_create(rig->context, NULL, &rig->line));
}

static const struct tide_medium_params small[] = {
    {.struct_size = sizeof(struct tide_medium_params),
     .label = "direct",
     .engine = TIDE_MEDIUM_DIRECT,
     .pages = 64},
    {.struct_size = sizeof(struct tide_medium_params),
     .label = "monitor",
     .engine = TIDE_MEDIUM_MONITOR,
     .pages = 64},
    {.struct_size = sizeof(struct tide_medium_params),
     .label = "fibers",
     .engine = TIDE_MEDIUM_FIBERS,
     .pages = 64},
};
#define ENGINES (sizeof small / sizeof small[0])

/* One that loads a byte, and finishes when it may. */
struct loader {
  struct rig *rig;
  struct tide_request request;
  const void *address;
  pthread_t thread;
  uint32_t tid, through, may_finish, status;
};
static void *load(void *argument) {
  struct loader *loader = argument;
  test_thread_begins(&loader->tid);
  (void)*(const volatile char *)loader->address;
  SET(loader->through, 1);
  if (!loader->rig) return NULL;
  while (!GET(loader->may_finish)) usleep(50);
  loader->status = (uint32_t)tide_request_finish(loader->rig->medium, &loader->request, NULL);
  return NULL;
}
static inline void loader_start(struct loader *loader, struct rig *rig,
                                struct tide_request request) {
  *loader = (struct loader){.rig = rig, .request = request, .address = request.data};
  CHECK(pthread_create(&loader->thread, NULL, load, loader) == 0);
}
static inline void stray_start(struct loader *loader, const void *address) {
  *loader = (struct loader){.address = address};
  CHECK(pthread_create(&loader->thread, NULL, load, loader) == 0);
}

/* ---- the end of a message ----------------------------------------------------------------------
 */

/* The monitor has read a fault, but not looked at it, when the message is given back. */
TEST(an_old_fault_of_one_that_ends) {
  struct rig rig;
  struct ours ours;
  struct loader loader;
  open_ours(&rig, &ours, &small[0]);
  struct tide_request request = rig_wants(&rig, 1, PAGE);
  CHECK_OK(tide_medium_request(rig.medium, &request, 1));
  gate_close(&after_read);
  loader_start(&loader, &rig, request);
  gate_await(&after_read);
  CHECK_OK(tide_timeline_signal_external(rig.line, 1));
  tide_timeline_release(rig.line); /* now the request's alone */
  gate_close(&at_free);
  SET(loader.may_finish, 1);
  gate_await(&at_free);
  gate_open(&after_read);
  await_monitor();
  gate_open(&at_free);
  pthread_join(loader.thread, NULL);
  CHECK_STATUS((enum tide_status)loader.status, TIDE_OK);
  CHECK_EQ_U64(rig_info(&rig).requests, 0);
  CHECK_EQ_U64(rig_info(&rig).free_pages, 32);
  tide_medium_destroy(rig.medium);
  tide_context_destroy(rig.context);
}

static void open_at_free(void) { gate_open(&at_free); }
static void *signal_line(void *argument) {
  CHECK_OK(tide_timeline_signal_external(argument, 1));
  return NULL;
}

/* The last tag of a request that was given up calls, while the medium goes. */
TEST(a_tag_calls_while_the_medium_goes) {
  struct rig rig;
  struct ours ours;
  struct tide_timeline *other;
  pthread_t thread;
  open_ours(&rig, &ours, &small[0]);
  CHECK_OK(tide_timeline_create(rig.context, NULL, &other));
  struct tide_request request = rig_wants(&rig, 1, PAGE);
  request.tags[0] = (struct tide_tag){other, 1};
  request.tags[1] = (struct tide_tag){rig.line, 1};
  request.tag_count = 2;
  CHECK_OK(tide_medium_request(rig.medium, &request, 1));
  CHECK_STATUS(tide_request_finish(rig.medium, &request, NULL), TIDE_CANCELLED);
  tide_timeline_destroy(other); /* now the request's alone */
  gate_close(&at_free);
  CHECK(pthread_create(&thread, NULL, signal_line, rig.line) == 0);
  gate_await(&at_free);
  when_yielding = open_at_free;
  tide_medium_destroy(rig.medium);
  CHECK(!GET(at_free.closed)); /* it has waited for the tag */
  when_yielding = NULL;
  pthread_join(thread, NULL);
  tide_timeline_destroy(rig.line);
  tide_context_destroy(rig.context);
}

/* What is copied from is the consumer's again only when nobody reads it any more. */
static struct tide_timeline *slow_line;
static uint32_t slow_is_there;
static void end_slow(void) {
  if (__atomic_exchange_n(&slow_is_there, 1, __ATOMIC_ACQ_REL)) return;
  CHECK_OK(tide_timeline_signal_external(slow_line, 1));
}
TEST(a_source_until_it_is_copied) {
  for (size_t e = 0; e < 3; e += 2) { /* the engines that map at once */
    struct rig rig, slow;
    struct ours ours;
    pthread_t thread;
    open_ours(&rig, &ours, &small[e]);
    rig_open(&slow, &small[0]);
    struct tide_request from = rig_wants(&slow, 1, PAGE), request = rig_wants(&rig, 1, PAGE);
    CHECK_OK(tide_medium_request(slow.medium, &from, 1));
    request.source = from.data;
    CHECK_OK(tide_medium_request(rig.medium, &request, 1));
    CHECK(pthread_create(&thread, NULL, signal_line, rig.line) == 0);
    rig_until_stalled(&slow, 1);
    slow_line = slow.line;
    slow_is_there = 0;
    when_yielding = end_slow;
    CHECK_OK(tide_request_finish(rig.medium, &request, NULL));
    when_yielding = NULL;
    bool copied = slow_is_there;
    end_slow();
    pthread_join(thread, NULL);
    CHECK(copied);
    CHECK_OK(tide_request_finish(slow.medium, &from, NULL));
    rig_close(&slow);
    rig_close(&rig);
  }
}

/* ---- strays --------------------------------------------------------------------------------- */

static void count_stray(void *user, const void *address) {
  (void)address;
  __atomic_fetch_add((uint32_t *)user, 1, __ATOMIC_ACQ_REL);
}
static struct tide_medium_params with_strays(const struct tide_medium_params *params,
                                             uint32_t *told) {
  struct tide_medium_params with = *params;
  with.stray = count_stray;
  with.user = told;
  return with;
}

/* Two faults on one page, read together, of readers that have gone on and finished since. */
TEST(old_faults_are_no_strays) {
  struct rig rig;
  struct loader loaders[2];
  uint32_t told = 0;
  struct tide_medium_params params = with_strays(&small[0], &told);
  rig_open(&rig, &params);
  struct tide_request request = rig_wants(&rig, 1, PAGE);
  CHECK_OK(tide_medium_request(rig.medium, &request, 1));
  gate_close(&before_read);
  gate_close(&after_read);
  for (size_t i = 0; i < 2; i++) loader_start(&loaders[i], &rig, request);
  for (size_t i = 0; i < 2; i++) test_await_asleep(&loaders[i].tid);
  gate_await(&before_read);
  gate_open(&before_read);
  gate_await(&after_read);
  CHECK_OK(tide_timeline_signal_external(rig.line, 1));
  for (size_t i = 0; i < 2; i++)
    while (!GET(loaders[i].through)) usleep(50);
  for (size_t i = 0; i < 2; i++) {
    SET(loaders[i].may_finish, 1);
    pthread_join(loaders[i].thread, NULL);
  }
  rig_until_idle(&rig);
  gate_open(&after_read);
  await_monitor();
  CHECK_EQ_U64(GET(told), 0);
  rig_close(&rig);
}

/* Each is told, though the monitor sees them in turn. */
TEST(two_strays) {
  struct rig rig;
  struct loader loaders[2];
  uint32_t told = 0;
  struct tide_medium_params params = with_strays(&small[0], &told);
  rig_open(&rig, &params);
  struct tide_request request = rig_wants(&rig, 1, PAGE);
  CHECK_OK(tide_medium_request(rig.medium, &request, 1));
  gate_close(&before_read);
  for (size_t i = 0; i < 2; i++)
    stray_start(&loaders[i], (const char *)request.data + (3 + i) * PAGE);
  for (int round = 0; round < 2; round++) {
    gate_await(&before_read);
    /* For both to fault: were it too short, the test would only see less. */
    for (size_t i = 0; i < 2; i++) test_await_asleep(&loaders[i].tid);
    usleep(20000);
    gate_let_one(&before_read);
    await_monitor();
  }
  CHECK_EQ_U64(GET(told), 2);
  gate_open(&before_read);
  for (size_t i = 0; i < 2; i++) pthread_join(loaders[i].thread, NULL);
  CHECK_STATUS(tide_request_finish(rig.medium, &request, NULL), TIDE_CANCELLED);
  rig_close(&rig);
}

/* A request that was given up is nobody's, though its producer may still write. */
TEST(a_load_after_the_end) {
  for (size_t e = 0; e < ENGINES; e++) {
    struct rig rig;
    struct loader loader;
    uint32_t told = 0;
    struct tide_medium_params params = with_strays(&small[e], &told);
    rig_open(&rig, &params);
    struct tide_request request = rig_wants(&rig, 1, 2 * PAGE);
    CHECK_OK(tide_medium_request(rig.medium, &request, 1));
    stray_start(&loader, request.data); /* it should not be stalled still */
    rig_until_stalled(&rig, 1);
    CHECK_STATUS(tide_request_finish(rig.medium, &request, NULL), TIDE_CANCELLED);
    pthread_join(loader.thread, NULL);
    CHECK_EQ_U64(GET(told), 1);
    stray_start(&loader, (const char *)request.data + PAGE);
    pthread_join(loader.thread, NULL);
    CHECK_EQ_U64(GET(told), 2);
    /* Both pages are taken back before they are others'. */
    CHECK_OK(tide_timeline_signal_external(rig.line, 1));
    for (uint64_t value = 2; value < 4; value++) {
      struct reader reader;
      request = rig_wants(&rig, value, 32 * PAGE);
      CHECK_OK(tide_medium_request(rig.medium, &request, 1));
      reader_start(&reader, &rig, request, value);
      rig_until_stalled(&rig, value);
      fill(request.room, request.bytes, value);
      CHECK_OK(tide_timeline_signal_external(rig.line, value));
      reader_join(&reader, TIDE_OK);
      rig_until_idle(&rig);
    }
    rig_close(&rig);
  }
}

/* ---- closing ------------------------------------------------------------------ */

struct client {
  struct rig *rig;
  struct tide_request request;
  enum tide_status status;
};
static void *ask(void *argument) {
  struct client *client = argument;
  client->status = tide_medium_request(client->rig->medium, &client->request, 1);
  return NULL;
}

/* It is closed while a request is about to be given its pages. */
TEST(asked_for_while_it_closes) {
  struct rig rig;
  pthread_t thread;
  rig_open(&rig, &small[0]);
  for (uint64_t value = 1; value < 3; value++) { /* until each page must be dropped */
    struct tide_request request = rig_wants(&rig, value, 32 * PAGE);
    CHECK_OK(tide_timeline_signal_external(rig.line, value));
    CHECK_OK(tide_medium_request(rig.medium, &request, 1));
    CHECK_OK(tide_request_finish(rig.medium, &request, NULL));
    rig_until_idle(&rig);
  }
  struct client client = {.rig = &rig, .request = rig_wants(&rig, 9, 32 * PAGE)};
  gate_close(&at_drop);
  CHECK(pthread_create(&thread, NULL, ask, &client) == 0);
  gate_await(&at_drop);
  tide_medium_close(rig.medium, TIDE_LOST);
  gate_open(&at_drop);
  pthread_join(thread, NULL);
  if (client.status == TIDE_OK) {
    CHECK_STATUS(tide_request_finish(rig.medium, &client.request, NULL), TIDE_LOST);
    CHECK_OK(tide_timeline_signal_external(rig.line, 9));
  } else {
    CHECK_STATUS(client.status, TIDE_LOST);
  }
  CHECK_EQ_U64(rig_info(&rig).requests, 0);
  CHECK_EQ_U64(rig_info(&rig).free_pages, 32);
  rig_close(&rig);
}

/* ---- what else a program does ------------------------------------------------------------------
 */

/* How a child ends that does this. */
static int ended(void (*what)(void *), void *argument) {
  int status = 0;
  pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    alarm(8);
    what(argument);
    _exit(0);
  }
  CHECK(waitpid(child, &status, 0) == child);
  return status;
}
static inline void just_load(void *address) {
  struct sigaction plain = {.sa_handler = SIG_DFL};
  sigaction(SIGSEGV, &plain, NULL); /* a sanitizer's exits */
  (void)*(const volatile char *)address;
}
static inline void open_or_skip(struct rig *rig, const struct tide_medium_params *params) {
  CHECK_OK(tide_context_create(NULL, &rig->context));
  if (tide_medium_create(rig->context, params, &rig->medium) != TIDE_OK) _exit(77);
  CHECK_OK(tide_timeline_create(rig->context, NULL, &rig->line));
}
static bool killed_by(int status, int signal) {
  if (WIFEXITED(status) && WEXITSTATUS(status) == 77) SKIP("no userfaultfd for us");
  return WIFSIGNALED(status) && WTERMSIG(status) == signal;
}

/* Nobody stalls a child's loads, so it has no pages to load from. */
TEST(a_child_cannot_load) {
  for (size_t e = 0; e < ENGINES; e++) {
    struct rig rig;
    rig_open(&rig, &small[e]);
    struct tide_request request = rig_wants(&rig, 1, PAGE), other = rig_wants(&rig, 1, PAGE);
    CHECK_OK(tide_medium_request(rig.medium, &request, 1));
    CHECK_OK(tide_medium_request(rig.medium, &other, 1));
    CHECK(killed_by(ended(just_load, (void *)(uintptr_t)request.data), SIGSEGV));
    /* Nor where there were zeros once. */
    CHECK_OK(tide_request_fail(rig.medium, &other, TIDE_IO));
    CHECK_STATUS(tide_request_finish(rig.medium, &other, NULL), TIDE_IO);
    CHECK_OK(tide_timeline_signal_external(rig.line, 1));
    CHECK(killed_by(ended(just_load, (void *)(uintptr_t)other.data), SIGSEGV));
    CHECK_OK(tide_request_finish(rig.medium, &request, NULL));
    rig_close(&rig);
  }
}

/* A request that fails and one of all pages, by turns: each is stalled until its data comes. */
static void check_missing(struct rig *rig, uint64_t from) {
  for (uint64_t value = from; value < from + 3; value++) {
    struct reader reader;
    struct tide_request all = rig_wants(rig, 2 * value + 1, 32 * PAGE);
    struct tide_request bad = rig_wants(rig, 2 * value, PAGE);
    struct tide_request before = bad;
    uint64_t stalled = rig_info(rig).stalled;
    CHECK_OK(tide_medium_request(rig->medium, &before, 1));
    CHECK_OK(tide_medium_request(rig->medium, &bad, 1));
    CHECK_OK(tide_request_fail(rig->medium, &bad, TIDE_IO));
    CHECK(zeros(bad.data, PAGE));
    CHECK_OK(tide_timeline_signal_external(rig->line, 2 * value));
    CHECK_STATUS(tide_request_finish(rig->medium, &bad, NULL), TIDE_IO);
    CHECK_OK(tide_request_finish(rig->medium, &before, NULL));
    rig_until_idle(rig);
    CHECK_OK(tide_medium_request(rig->medium, &all, 1));
    reader_start(&reader, rig, all, value);
    rig_until_stalled(rig, stalled + 1);
    fill(all.room, all.bytes, value);
    CHECK_OK(tide_timeline_signal_external(rig->line, 2 * value + 1));
    reader_join(&reader, TIDE_OK);
    rig_until_idle(rig);
  }
}

/* What is mapped is filled with pages, and stays so: not consumers' views. (Sanitizers lock
 * nothing.) */
TEST(pages_are_locked) {
  for (size_t e = 0; e < ENGINES; e++) {
    struct rig rig;
    if (mlockall(MCL_FUTURE) != 0) SKIP("no right to lock pages");
    rig_open(&rig, &small[e]);
    check_missing(&rig, 1);
    munlockall();
    rig_close(&rig);
  }
}

/* Pages whose advice differs are mappings of their own to the kernel. */
TEST(advice_of_the_programs_own) {
  for (size_t e = 0; e < ENGINES; e++) {
    struct rig rig;
    rig_open(&rig, &small[e]);
    struct tide_request request = rig_wants(&rig, 1, 32 * PAGE);
    CHECK_OK(tide_timeline_signal_external(rig.line, 1));
    CHECK_OK(tide_medium_request(rig.medium, &request, 1));
    CHECK(madvise((void *)(uintptr_t)request.data, request.bytes, MADV_DONTDUMP) == 0);
    CHECK_OK(tide_request_finish(rig.medium, &request, NULL));
    rig_until_idle(&rig);
    check_missing(&rig, 1);
    rig_close(&rig);
  }
}

static void stray_with_stderr(void *argument) {
  struct rig rig;
  open_or_skip(&rig, argument);
  struct tide_request request = rig_wants(&rig, 1, PAGE);
  CHECK_OK(tide_medium_request(rig.medium, &request, 1));
  CHECK(freopen("/dev/null", "w", stderr) != NULL);
  flockfile(stderr); /* as printing what lies there would */
  (void)*((const volatile char *)request.data + 2 * PAGE);
}
TEST(a_stray_load_while_printing) {
#ifdef __SANITIZE_THREAD__
  SKIP("ThreadSanitizer's abort flushes stderr, too");
#endif
  for (size_t e = 0; e < ENGINES; e++)
    CHECK(killed_by(ended(stray_with_stderr, (void *)(uintptr_t)&small[e]), SIGABRT));
}

/* ---- SIGBUS ------------------------------------------------------------------------------------
 */

static void bus_by_name(void *argument) {
  struct rig rig;
  struct sigaction plain = {.sa_handler = SIG_DFL};
  sigaction(SIGBUS, &plain, NULL);
  open_or_skip(&rig, argument);
  kill(getpid(), SIGBUS);
  _exit(3);
}
TEST(a_signal_that_somebody_sends) {
  CHECK(killed_by(ended(bus_by_name, (void *)(uintptr_t)&small[2]), SIGBUS));
}

static uint32_t enough;
static void *come_and_go(void *argument) {
  const struct rig *rig = argument;
  while (!GET(enough)) {
    struct tide_medium *medium;
    CHECK_OK(tide_medium_create(rig->context, &small[2], &medium));
    sched_yield();
    tide_medium_destroy(medium);
  }
  return NULL;
}
/* One medium's consumers fault while others are made and unmade. */
TEST(media_come_and_go) {
  struct rig rig;
  struct tide_medium *first;
  pthread_t threads[2];
  rig_open(&rig, &small[2]);
  first = rig.medium; /* its place is looked at before the other's */
  CHECK_OK(tide_medium_create(rig.context, &small[2], &rig.medium));
  tide_medium_destroy(first);
  SET(enough, 0);
  for (size_t i = 0; i < 2; i++) CHECK(pthread_create(&threads[i], NULL, come_and_go, &rig) == 0);
  for (uint64_t value = 1; value <= 3000 / test_slowdown(); value++) {
    struct reader reader;
    struct tide_request request = rig_wants(&rig, value, PAGE);
    CHECK_OK(tide_medium_request(rig.medium, &request, 1));
    reader_start(&reader, &rig, request, value);
    fill(request.room, PAGE, value);
    rig_until_stalled(&rig, value);
    CHECK_OK(tide_timeline_signal_external(rig.line, value));
    reader_join(&reader, TIDE_OK);
    rig_until_idle(&rig);
  }
  SET(enough, 1);
  for (size_t i = 0; i < 2; i++) pthread_join(threads[i], NULL);
  rig_close(&rig);
}

TEST_MAIN(CASE_SECONDS(an_old_fault_of_one_that_ends, 20),
          CASE_SECONDS(a_tag_calls_while_the_medium_goes, 20),
          CASE_SECONDS(a_source_until_it_is_copied, 20), CASE_SECONDS(old_faults_are_no_strays, 20),
          CASE_SECONDS(two_strays, 20), CASE_SECONDS(a_load_after_the_end, 20),
          CASE_SECONDS(asked_for_while_it_closes, 20), CASE_SECONDS(a_child_cannot_load, 20),
          CASE_SECONDS(pages_are_locked, 20), CASE_SECONDS(advice_of_the_programs_own, 20),
          CASE_SECONDS(a_stray_load_while_printing, 20),
          CASE_SECONDS(a_signal_that_somebody_sends, 20), CASE(media_come_and_go))
