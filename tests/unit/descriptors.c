/* Descriptors of the system that signal timelines, and eventfds that wait for them. */
#include "harness.h"
#include "meter.h"

#include "tidemark/tidemark.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static struct tide_context *context;
static struct tide_timeline *line;
static struct tide_diag diag;

static void open_context(void) {
  CHECK_OK(tide_context_create(NULL, &context));
  CHECK_OK(
      tide_timeline_create(context, TIDE_PARAMS(tide_timeline_params, .label = "line"), &line));
}

static int make_event(void) {
  int event = eventfd(0, EFD_CLOEXEC);
  CHECK(event >= 0);
  return event;
}

static enum tide_status signal_from(int descriptor, uint64_t value) {
  diag.text[0] = 0;
  return tide_descriptor_signal(context, descriptor, line, value, &diag);
}

static enum tide_status reach(uint64_t value) {
  return tide_timeline_wait(line, value, TIDE_FOREVER);
}

static void pause_briefly(void) { nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL); }

/* Open descriptors of this process. */
static int count_descriptors(void) {
  int count = 0;
  for (int i = 0; i < 4096; i++) count += fcntl(i, F_GETFD) >= 0;
  return count;
}

static bool is_readable(int descriptor, int timeout) {
  struct pollfd entry = {.fd = descriptor, .events = POLLIN};
  return poll(&entry, 1, timeout) == 1 && entry.revents & POLLIN;
}

/* ---- signals --------------------------------------------------------------------------------- */

TEST(an_eventfd_signals) {
  struct tide_record_info info;
  open_context();
  int event = make_event();
  CHECK_OK(signal_from(event, 7));
  CHECK_STATUS(tide_timeline_wait(line, 7, tide_after_ms(context, 5)), TIDE_TIMEOUT);
  CHECK(eventfd_write(event, 3) == 0);
  CHECK_OK(reach(7));
  CHECK_EQ_U64(tide_timeline_query(line), 7);
  CHECK_OK(tide_timeline_frontier_at(line, 7, NULL, &info));
  CHECK(info.external);
  eventfd_t count;
  CHECK(eventfd_read(event, &count) == 0 && count == 3); /* nothing was read */
  CHECK(eventfd_write(event, 1) == 0);
  CHECK_OK(signal_from(event, 8)); /* readable already */
  CHECK_OK(reach(8));
  close(event);
  tide_context_destroy(context);
}

static enum tide_status do_nothing(void *arguments) {
  (void)arguments;
  return TIDE_OK;
}

TEST(an_operation_waits_for_a_child) {
  static const struct tide_body_class body = {.name = "body", .host = do_nothing};
  struct tide_device *cpu;
  struct tide_queue *queue;
  open_context();
  pid_t child = fork();
  if (child == 0) {
    for (;;) pause();
  }
  int descriptor = (int)syscall(SYS_pidfd_open, child, 0);
  if (descriptor < 0) SKIP("pidfd_open: %s", strerror(errno));
  CHECK_OK(tide_cpu_open(context, NULL, &cpu));
  CHECK_OK(tide_queue_create(cpu, NULL, &queue));
  const struct tide_operation operation = {
      .body = &body, TIDE_WAITS({line, 1}), TIDE_SIGNALS(TIDE_SIGNAL(line, 2))};
  CHECK_OK(signal_from(descriptor, 1));
  close(descriptor);
  CHECK_OK(tide_queue_submit(queue, &operation, NULL, NULL));
  pause_briefly();
  CHECK_EQ_U64(tide_timeline_query(line), 0);
  CHECK(kill(child, SIGKILL) == 0);
  CHECK_OK(reach(2));
  CHECK(waitpid(child, NULL, 0) == child);
  tide_context_destroy(context);
}

TEST(a_timer_a_pipe_and_a_socket_signal) {
  int ends[2], pair[2], timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
  open_context();
  const struct itimerspec soon = {.it_value = {.tv_nsec = 2000000}};
  CHECK(timer >= 0 && pipe(ends) == 0 && socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
  CHECK(timerfd_settime(timer, 0, &soon, NULL) == 0);
  CHECK_OK(signal_from(timer, 1));
  CHECK_OK(reach(1));
  CHECK_OK(signal_from(ends[0], 2));
  CHECK(write(ends[1], "x", 1) == 1 && close(ends[1]) == 0); /* readable, and hung up */
  CHECK_OK(reach(2));
  CHECK_OK(signal_from(pair[0], 3));
  close(pair[1]); /* the end of the stream is readable */
  CHECK_OK(reach(3));
  close(timer), close(ends[0]), close(pair[0]);
  tide_context_destroy(context);
}

TEST(what_cannot_signal) {
  struct tide_timeline *narrow, *only, *other_line;
  struct tide_context *other;
  open_context();
  FILE *file = tmpfile();
  CHECK(file != NULL);
  CHECK_STATUS(signal_from(fileno(file), 1), TIDE_UNSUPPORTED);
  CHECK(strstr(diag.text, "cannot be polled") && strstr(diag.text, "regular file"));
  CHECK_STATUS(signal_from(-1, 1), TIDE_INVALID);
  CHECK_STATUS(signal_from(4000, 1), TIDE_INVALID);
  CHECK_STATUS(tide_descriptor_signal(context, 0, NULL, 1, &diag), TIDE_INVALID);
  CHECK_OK(tide_context_create(NULL, &other));
  CHECK_OK(tide_timeline_create(other, NULL, &other_line));
  CHECK_STATUS(tide_descriptor_signal(context, 0, other_line, 1, &diag), TIDE_INVALID);
  tide_context_destroy(other);
  CHECK_OK(tide_timeline_create(
      context, TIDE_PARAMS(tide_timeline_params, .scope = TIDE_SCOPE_DEVICE), &narrow));
  CHECK_OK(tide_timeline_create(context, TIDE_PARAMS(tide_timeline_params, .operations_only = true),
                                &only));
  CHECK_STATUS(tide_descriptor_signal(context, 0, narrow, 1, &diag), TIDE_SCOPE);
  CHECK_STATUS(tide_descriptor_signal(context, 0, only, 1, &diag), TIDE_SCOPE);
  fclose(file);
  tide_context_destroy(context);
}

/* ---- failures -------------------------------------------------------------------------------- */

/* A pipe that hangs up empty fails its value, and with it waiters that relied on it; not a lower
 * value that another descriptor will signal. */
TEST(a_hangup_fails_the_value) {
  struct tide_failure failure;
  int ends[2], event = make_event();
  open_context();
  CHECK(pipe(ends) == 0);
  CHECK_OK(signal_from(event, 3));
  CHECK_OK(signal_from(ends[0], 6));
  close(ends[1]);
  CHECK_STATUS(reach(6), TIDE_IO);
  CHECK_STATUS(reach(4), TIDE_IO);
  CHECK(tide_timeline_failure(line, 6, &failure));
  CHECK_EQ_STR(failure.text, "the descriptor for timeline 'line' >= 6 has hung up");
  CHECK_STATUS(tide_timeline_wait(line, 3, tide_after_ms(context, 5)), TIDE_TIMEOUT);
  CHECK(eventfd_write(event, 1) == 0);
  CHECK_OK(reach(3));
  close(ends[0]), close(event);
  tide_context_destroy(context);
}

/* The write end polls with an error once no reader is left, and is never readable. */
TEST(an_error_fails_the_value) {
  struct tide_failure failure;
  int ends[2];
  open_context();
  CHECK(pipe(ends) == 0);
  CHECK_OK(signal_from(ends[1], 1));
  close(ends[0]);
  CHECK_STATUS(reach(1), TIDE_IO);
  CHECK(tide_timeline_failure(line, 1, &failure));
  CHECK_EQ_STR(failure.text, "the descriptor for timeline 'line' >= 1 has an error");
  close(ends[1]);
  tide_context_destroy(context);
}

/* Values that come in the wrong order: the higher one counts for both. */
/* The peer resets the connection: there is nothing to read but an error. */
TEST(a_reset_socket_fails_the_value) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  const struct linger reset = {.l_onoff = 1};
  socklen_t size = sizeof address;
  int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  int client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (bind(listener, (struct sockaddr *)&address, size) != 0) SKIP("bind: %s", strerror(errno));
  CHECK(listen(listener, 1) == 0);
  CHECK(getsockname(listener, (struct sockaddr *)&address, &size) == 0);
  CHECK(connect(client, (struct sockaddr *)&address, size) == 0);
  int peer = accept(listener, NULL, NULL);
  CHECK(setsockopt(peer, SOL_SOCKET, SO_LINGER, &reset, sizeof reset) == 0);
  open_context();
  CHECK_OK(signal_from(client, 1));
  close(peer);
  CHECK_STATUS(reach(1), TIDE_IO);
  close(client), close(listener);
  tide_context_destroy(context);
}

/* A failed value takes waiters for less with it, but not those of another timeline's descriptor. */
TEST(another_timeline_is_another_matter) {
  struct tide_timeline *other;
  int ends[2], lower = make_event();
  CHECK(pipe2(ends, O_CLOEXEC) == 0);
  open_context();
  CHECK_OK(tide_timeline_create(context, NULL, &other));
  CHECK_OK(tide_descriptor_signal(context, lower, other, 3, &diag));
  CHECK_OK(signal_from(ends[0], 5));
  close(ends[1]);
  CHECK_STATUS(reach(5), TIDE_IO);
  CHECK_STATUS(reach(2), TIDE_IO);
  CHECK(eventfd_write(lower, 1) == 0);
  CHECK_OK(tide_timeline_wait(other, 3, TIDE_FOREVER));
  close(ends[0]), close(lower);
  tide_context_destroy(context);
}

/* No program that the process starts inherits a descriptor of the library. */
TEST(descriptors_stay_here) {
  bool was_open[1024];
  for (int i = 0; i < 1024; i++) was_open[i] = fcntl(i, F_GETFD) >= 0;
  int exported, event = make_event();
  open_context();
  CHECK_OK(signal_from(event, 1));
  CHECK_OK(tide_descriptor_export(line, 9, &exported, &diag));
  for (int i = 0; i < 1024; i++) {
    int flags = fcntl(i, F_GETFD);
    if (flags >= 0 && !was_open[i] && !(flags & FD_CLOEXEC)) FAIL("descriptor %d is inherited", i);
  }
  close(event), close(exported);
  tide_context_destroy(context);
}

/* Simulated time raises no descriptor of its own. */
TEST(an_export_on_a_clock_becomes_readable) {
  struct tide_clock *clock;
  int exported;
  CHECK_OK(tide_clock_create(tide_allocator_system(), NULL, &clock));
  CHECK_OK(tide_context_create(
      TIDE_PARAMS(tide_context_params, .platform = tide_clock_platform(clock)), &context));
  CHECK_OK(tide_timeline_create(context, NULL, &line));
  CHECK_OK(tide_descriptor_export(line, 1, &exported, &diag));
  CHECK(!is_readable(exported, 0));
  CHECK_OK(tide_timeline_signal_external(line, 1));
  CHECK(is_readable(exported, 0));
  close(exported);
  tide_context_destroy(context);
  tide_clock_destroy(clock);
}

TEST(a_higher_value_counts_for_both) {
  int first = make_event(), second = make_event();
  open_context();
  CHECK_OK(signal_from(first, 1));
  CHECK_OK(signal_from(second, 2));
  CHECK(eventfd_write(second, 1) == 0);
  CHECK_OK(reach(2));
  CHECK(eventfd_write(first, 1) == 0);
  CHECK_OK(signal_from(first, 3));
  CHECK_OK(reach(3));
  CHECK_OK(tide_timeline_status(line));
  close(first), close(second);
  tide_context_destroy(context);
}

/* A value that an operation is to signal cannot be passed. */
TEST(an_operation_comes_first) {
  struct tide_device *cpu;
  struct tide_queue *queue;
  struct tide_timeline *never;
  int event = make_event();
  open_context();
  CHECK_OK(tide_timeline_create(context, NULL, &never));
  CHECK_OK(tide_cpu_open(context, NULL, &cpu));
  CHECK_OK(tide_queue_create(cpu, NULL, &queue));
  CHECK_OK(tide_queue_submit(
      queue, &(struct tide_operation){TIDE_WAITS({never, 1}), TIDE_SIGNALS(TIDE_SIGNAL(line, 1))},
      NULL, NULL));
  CHECK(eventfd_write(event, 1) == 0);
  CHECK_OK(signal_from(event, 2));
  CHECK_STATUS(reach(2), TIDE_VALUE);
  CHECK_OK(tide_timeline_signal_external(never, 1));
  CHECK_OK(reach(1));
  close(event);
  tide_context_destroy(context);
}

/* ---- owners and ends ----------------------------------------------------------------------- */

/* The caller closes its descriptor and releases its timeline at once; no descriptor is left. */
TEST(the_library_has_its_own) {
  open_context();
  int before = count_descriptors(), event = make_event(), other = dup(event);
  CHECK_OK(signal_from(event, 1));
  close(event);
  struct tide_wait_set *set;
  struct tide_wait_ready ready;
  size_t count;
  CHECK_OK(tide_wait_set_create(context, 1, &set));
  CHECK_OK(tide_wait_set_add(set, line, 1, 0, NULL));
  tide_timeline_release(line);
  CHECK(eventfd_write(other, 1) == 0);
  CHECK_OK(tide_wait_set_wait(set, &ready, 1, TIDE_FOREVER, &count));
  CHECK_OK(ready.status);
  close(other);
  while (count_descriptors() != before + 2) pause_briefly(); /* the thread's two stay */
  tide_context_destroy(context);
  CHECK(count_descriptors() == before);
}

TEST(a_destroyed_timeline_is_left_alone) {
  int event = make_event();
  open_context();
  CHECK_OK(signal_from(event, 1));
  CHECK_OK(signal_from(event, 2));
  tide_timeline_destroy(line);
  CHECK(eventfd_write(event, 1) == 0);
  pause_briefly();
  close(event);
  tide_context_destroy(context);
}

static enum tide_status told;
static void on_end(struct tide_timepoint *timepoint, enum tide_status status) {
  (void)timepoint;
  told = status;
}
TEST(the_context_ends_with_descriptors) {
  int event = make_event();
  open_context();
  int before = count_descriptors();
  struct tide_timepoint end = {.timeline = line, .value = 1, .call = on_end};
  CHECK_OK(tide_timepoint_add(&end));
  for (uint64_t i = 1; i <= 10; i++) CHECK_OK(signal_from(event, i));
  tide_context_destroy(context);
  CHECK_STATUS(told, TIDE_CANCELLED);
  CHECK(count_descriptors() == before);
  close(event);
}

/* ---- many ------------------------------------------------------------------------------------ */

enum { MANY = 1000 };
static void allow_descriptors(rlim_t count) {
  struct rlimit limit;
  CHECK(getrlimit(RLIMIT_NOFILE, &limit) == 0);
  if (limit.rlim_max < count) SKIP("at most %llu descriptors", (unsigned long long)limit.rlim_max);
  limit.rlim_cur = count;
  CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
}

TEST(a_thousand_descriptors) {
  static int events[MANY];
  allow_descriptors(2 * MANY + 100);
  open_context();
  for (uint64_t i = 0; i < MANY; i++) {
    events[i] = make_event();
    CHECK_OK(signal_from(events[i], i + 1));
  }
  for (uint64_t i = 0; i < MANY; i++) {
    CHECK(eventfd_write(events[i], 1) == 0);
    if (i % 100 == 0) CHECK_OK(reach(i + 1));
  }
  CHECK_OK(reach(MANY));
  for (uint64_t i = 0; i < MANY; i++) close(events[i]);
  tide_context_destroy(context);
}

/* Leaves room for so many descriptors. */
static void allow_more(int count) {
  int number = 0;
  while (fcntl(number, F_GETFD) >= 0 || count-- > 0) number++;
  allow_descriptors((rlim_t)number);
}

/* Without descriptors left every call says so, and leaves nothing; what goes on still ends. */
TEST(no_descriptors_left) {
  int event = make_event(), out, before = count_descriptors();
  open_context();
  for (int more = 0; more < 3; more++) { /* the thread needs two of its own */
    allow_more(more);
    CHECK_STATUS(signal_from(event, 1), TIDE_FULL);
    CHECK(diag.text[0]);
    CHECK(count_descriptors() == before + (more == 2 ? 2 : 0));
  }
  for (int more = 0; more < 2; more++) { /* an export needs two */
    allow_more(more);
    CHECK_STATUS(tide_descriptor_export(line, 1, &out, &diag), TIDE_FULL);
    CHECK(count_descriptors() == before + 2);
  }
  CHECK_OK(signal_from(event, 1));
  CHECK_STATUS(signal_from(event, 2), TIDE_FULL);
  CHECK(eventfd_write(event, 1) == 0);
  CHECK_OK(reach(1));
  close(event);
  tide_context_destroy(context);
}

enum { THREADS = 4, ROUNDS = 100 };
static void *signal_many(void *unused) {
  for (int i = 0; i < ROUNDS; i++) {
    struct tide_timeline *mine;
    int event = make_event(), out;
    CHECK_OK(tide_timeline_create(context, NULL, &mine));
    CHECK_OK(tide_descriptor_signal(context, event, mine, 1, NULL));
    CHECK_OK(tide_descriptor_export(mine, 1, &out, NULL));
    CHECK(eventfd_write(event, 1) == 0);
    close(event);
    if (i % 3 == 0) tide_timeline_destroy(mine);
    CHECK(is_readable(out, -1));
    close(out);
    if (i % 3) tide_timeline_destroy(mine);
  }
  return unused;
}
TEST(threads_use_descriptors) {
  pthread_t threads[THREADS];
  open_context();
  for (int i = 0; i < THREADS; i++)
    CHECK(pthread_create(&threads[i], NULL, signal_many, NULL) == 0);
  for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  tide_context_destroy(context);
}

/* ---- exports --------------------------------------------------------------------------------- */

static int export_value(struct tide_timeline *timeline, uint64_t value) {
  int descriptor = -1;
  CHECK_OK(tide_descriptor_export(timeline, value, &descriptor, &diag));
  CHECK(descriptor >= 0);
  return descriptor;
}

TEST(an_export_becomes_readable) {
  struct tide_timeline *failing;
  open_context();
  CHECK_OK(tide_timeline_create(context, NULL, &failing));
  int before = count_descriptors();
  int two = export_value(line, 2), failed = export_value(failing, 1), gone = export_value(line, 9);
  close(gone); /* before its value */
  CHECK(!is_readable(two, 0) && !is_readable(failed, 0));
  CHECK_OK(tide_timeline_signal_external(line, 1));
  CHECK(!is_readable(two, 0));
  CHECK_OK(tide_timeline_signal_external(line, 2));
  CHECK(is_readable(two, -1) && is_readable(two, -1)); /* and stays so */
  tide_timeline_fail(failing, TIDE_IO);
  CHECK(is_readable(failed, -1));
  int reached = export_value(line, 1), late = export_value(failing, 1);
  CHECK(is_readable(reached, -1) && is_readable(late, -1));
  CHECK_OK(tide_timeline_signal_external(line, 9));
  close(two), close(failed), close(reached), close(late);
  CHECK(count_descriptors() == before);
  tide_context_destroy(context);
}

TEST(an_export_outlives_all) {
  struct tide_timeline *other, *narrow;
  int none;
  open_context();
  CHECK_OK(tide_timeline_create(context, NULL, &other));
  CHECK_OK(tide_timeline_create(
      context, TIDE_PARAMS(tide_timeline_params, .scope = TIDE_SCOPE_DEVICE), &narrow));
  CHECK_STATUS(tide_descriptor_export(narrow, 1, &none, &diag), TIDE_SCOPE);
  CHECK_STATUS(tide_descriptor_export(NULL, 1, &none, &diag), TIDE_INVALID);
  int of_timeline = export_value(line, 1), of_context = export_value(other, 1);
  tide_timeline_destroy(line);
  CHECK(is_readable(of_timeline, -1) && !is_readable(of_context, 0));
  tide_context_destroy(context);
  CHECK(is_readable(of_context, -1));
  close(of_timeline), close(of_context);
}

/* An export signals another timeline. */
TEST(a_descriptor_connects_two_timelines) {
  struct tide_timeline *first;
  open_context();
  CHECK_OK(tide_timeline_create(context, NULL, &first));
  int between = export_value(first, 5);
  CHECK_OK(signal_from(between, 1));
  close(between);
  CHECK_OK(tide_timeline_signal_external(first, 5));
  CHECK_OK(reach(1));
  tide_context_destroy(context);
}

/* ---- memory ---------------------------------------------------------------------------------- */

TEST(every_allocation_may_fail) {
  struct meter meter = {0};
  const struct tide_allocator allocator = {meter_alloc, meter_free, &meter};
  uint64_t signals = 0, exports = 0;
  int event = make_event(), out;
  CHECK_OK(
      tide_context_create(TIDE_PARAMS(tide_context_params, .allocator = &allocator), &context));
  CHECK_OK(tide_timeline_create(context, NULL, &line));
  for (;; signals++) { /* the thread's part, then the signaller's */
    meter_refuse(&meter, 0);
    if (signals == 1) meter_refuse(&meter, 1);
    if (signals == 2) tide_store_release(&meter.fail_at, (uint64_t)0);
    int before = count_descriptors();
    enum tide_status status = signal_from(event, 1);
    if (status == TIDE_OK) break;
    CHECK_STATUS(status, TIDE_NOMEM);
    CHECK_STATUS(diag.status, TIDE_NOMEM);
    CHECK(count_descriptors() == before + (signals == 1 ? 2 : 0));
  }
  CHECK_EQ_U64(signals, 2);
  for (;; exports++) {
    int before = count_descriptors();
    uint64_t left = meter_refuse(&meter, exports);
    if (tide_descriptor_export(line, 1, &out, &diag) == TIDE_OK) break;
    CHECK_STATUS(diag.status, TIDE_NOMEM);
    CHECK_EQ_U64((uint64_t)tide_load_acquire(&meter.out), left);
    CHECK(count_descriptors() == before);
  }
  CHECK_EQ_U64(exports, 1);
  tide_store_release(&meter.fail_at, (uint64_t)0);
  CHECK(eventfd_write(event, 1) == 0);
  CHECK(is_readable(out, -1));
  close(out), close(event);
  tide_context_destroy(context);
  CHECK_EQ_U64((uint64_t)meter.out, 0);
}

TEST_MAIN(CASE(an_eventfd_signals), CASE(an_operation_waits_for_a_child),
          CASE(a_timer_a_pipe_and_a_socket_signal), CASE(what_cannot_signal),
          CASE(a_hangup_fails_the_value), CASE(an_error_fails_the_value),
          CASE(a_reset_socket_fails_the_value), CASE(another_timeline_is_another_matter),
          CASE(descriptors_stay_here), CASE(an_export_on_a_clock_becomes_readable),
          CASE(a_higher_value_counts_for_both), CASE(an_operation_comes_first),
          CASE(the_library_has_its_own), CASE(a_destroyed_timeline_is_left_alone),
          CASE(the_context_ends_with_descriptors), CASE(a_thousand_descriptors),
          CASE(no_descriptors_left), CASE(threads_use_descriptors),
          CASE(an_export_becomes_readable), CASE(an_export_outlives_all),
          CASE(a_descriptor_connects_two_timelines), CASE(every_allocation_may_fail))
