/* A service that is stopped (SIGSTOP): every call that waits for it ends at its deadline. */
#include "service_raw.h"

#include "service/session.h"

#include <sys/resource.h>
#include <sys/time.h>
#include <sys/un.h>

#define LIMIT 200 /* ms: the deadlines of this file */

static void stop(const struct rig *r) {
  int status;
  CHECK(kill(r->server, SIGSTOP) == 0);
  CHECK(waitpid(r->server, &status, WUNTRACED) == r->server && WIFSTOPPED(status));
}
static void go_on(const struct rig *r) { CHECK(kill(r->server, SIGCONT) == 0); }

/* Connections that the service does not accept, until there is room for none. */
static unsigned fill_backlog(const struct rig *r, int *sockets, unsigned most) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  snprintf(address.sun_path, sizeof address.sun_path, "%s", r->path);
  for (unsigned i = 0; i < most; i++) {
    sockets[i] = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    CHECK(sockets[i] >= 0);
    if (connect(sockets[i], (struct sockaddr *)&address, sizeof address) == 0) continue;
    CHECK(errno == EAGAIN);
    close(sockets[i]);
    return i;
  }
  FAIL("the backlog has more than %u places", most);
  return 0;
}

static void check_times_out(const struct rig *r) {
  struct tide_session *s = NULL;
  struct tide_diag diag;
  uint64_t deadline = tide_service_now() + LIMIT * MS;
  struct tide_session_params params = {
      .struct_size = sizeof params, .socket = r->path, .deadline = deadline};
  CHECK_STATUS(tide_session_connect(&params, &s, &diag), TIDE_TIMEOUT);
  CHECK(tide_service_now() >= deadline && s == NULL);
  CHECK(strstr(diag.text, "the service does not") != NULL);
}

static void on_alarm(int number) { (void)number; }

/* Signals all the while move no deadline. */
TEST(connecting_to_a_full_backlog) {
  static int sockets[512];
  struct rig r;
  struct sigaction action = {.sa_handler = on_alarm};
  struct itimerval often = {{0, 20000}, {0, 20000}}, never = {{0, 0}, {0, 0}};
  rig_open(&r, NULL);
  tide_session_close(rig_connect(&r, "first"));
  stop(&r);
  unsigned count = fill_backlog(&r, sockets, 512);
  check_times_out(&r);
  CHECK(sigaction(SIGALRM, &action, NULL) == 0 && setitimer(ITIMER_REAL, &often, NULL) == 0);
  check_times_out(&r);
  CHECK(setitimer(ITIMER_REAL, &never, NULL) == 0);
  for (unsigned i = 0; i < count; i++) close(sockets[i]);
  go_on(&r);
  tide_session_close(rig_connect(&r, "last"));
  rig_close(&r);
}

TEST(connecting_without_an_answer) {
  struct rig r;
  rig_open(&r, NULL);
  tide_session_close(rig_connect(&r, "first"));
  stop(&r);
  check_times_out(&r);
  go_on(&r);
  tide_session_close(rig_connect(&r, "last"));
  rig_close(&r);
}

/* Room in the backlog comes while connecting. */
TEST(connecting_when_it_goes_on) {
  static int sockets[512];
  struct rig r;
  rig_open(&r, NULL);
  tide_session_close(rig_connect(&r, "first"));
  stop(&r);
  unsigned count = fill_backlog(&r, sockets, 512);
  fflush(NULL);
  pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    usleep(LIMIT * 1000);
    for (unsigned i = 0; i < count; i++) close(sockets[i]);
    kill(r.server, SIGCONT);
    _exit(0);
  }
  for (unsigned i = 0; i < count; i++) close(sockets[i]);
  struct tide_session_params params = {
      .struct_size = sizeof params, .socket = r.path, .deadline = rig_in(20000)};
  struct tide_session *s;
  CHECK_OK(tide_session_connect(&params, &s, NULL));
  tide_session_close(s);
  rig_join(child);
  rig_close(&r);
}

static void count_call(void *user, enum tide_status status) {
  (void)status;
  ++*(int *)user;
}

/* A busy machine may be late, too: then what the call made goes first, and it is made again. */
#define PATIENTLY(s, call)                                                                         \
  do {                                                                                             \
    enum tide_status status_;                                                                      \
    while ((status_ = (call)) == TIDE_TIMEOUT)                                                     \
      for (int i_ = 0; i_ < 2; i_++) CHECK_OK(tide_session_sync(s, rig_in(20000)));                \
    CHECK_OK(status_);                                                                             \
  } while (0)

/* One future timeline is all that the client of this label has, once buffers have been reaped. */
static void check_left(struct tide_session *admin, const char *label) {
  struct tide_session_client_stats stats = {.bytes = 1};
  for (int tries = 0; stats.bytes && tries < 1000; tries++) {
    for (uint32_t i = 0; i == 0 || strcmp(stats.label, label) != 0; i++)
      CHECK_OK(tide_session_client_stats(admin, i, &stats));
    if (stats.bytes) usleep(10000);
  }
  CHECK_EQ_U64(stats.timelines, 1);
  CHECK_EQ_U64(stats.channels, 0);
  CHECK_EQ_U64(stats.bytes, 0);
}

/* All calls that block and take no deadline. */
TEST(answers_that_do_not_come) {
  struct rig r;
  rig_open(&r, "default channels 2 timelines 8 buffers 2");
  struct tide_session *s, *other = rig_connect(&r, "other");
  struct tide_session_params params = {
      .struct_size = sizeof params, .socket = r.path, .label = "hasty", .patience = LIMIT * MS / 4};
  CHECK_OK(tide_session_connect(&params, &s, NULL));
  struct tide_point timeline, point, channel, buffer, foreign;
  struct tide_token token;
  struct tide_session_client_stats stats;
  enum tide_point_state state;
  CHECK_OK(tide_session_create_future(other, NULL, &foreign));
  CHECK_OK(tide_session_grant(other, foreign, TIDE_RIGHT_WAIT, &token));
  PATIENTLY(s, tide_session_create_future(s, NULL, &timeline));
  CHECK_OK(tide_session_promise(s, timeline, rig_in(600000), &point));
  int calls = 0;
  for (int round = 0; round < 3; round++) {
    struct tide_point made;
    stop(&r);
    CHECK_STATUS(tide_session_create_future(s, NULL, &made), TIDE_TIMEOUT);
    CHECK_STATUS(tide_session_create_channel(s, NULL, &channel), TIDE_TIMEOUT);
    CHECK_STATUS(tide_session_create_buffer(s, 4096, &buffer), TIDE_TIMEOUT);
    CHECK_STATUS(tide_session_create_buffer(s, 1ull << 50, &buffer), TIDE_TIMEOUT);
    CHECK_STATUS(tide_session_redeem(s, &token, &made), TIDE_TIMEOUT);
    CHECK_STATUS(tide_session_grant(s, timeline, TIDE_RIGHT_WAIT, &(struct tide_token){0}),
                 TIDE_TIMEOUT);
    CHECK_STATUS(tide_session_state(s, point, &state, NULL), TIDE_TIMEOUT);
    CHECK_STATUS(tide_session_trust(s, 7), TIDE_TIMEOUT);
    CHECK_STATUS(tide_session_client_stats(s, 0, &stats), TIDE_TIMEOUT);
    CHECK_STATUS(tide_session_sync(s, tide_service_now() + LIMIT * MS / 4), TIDE_TIMEOUT);
    CHECK_STATUS(tide_session_wait(s, point, tide_service_now() + LIMIT * MS / 4), TIDE_TIMEOUT);
    CHECK_OK(tide_session_when_complete(s, point, count_call, &calls, NULL));
    go_on(&r);
    CHECK_OK(tide_session_sync(s, rig_in(20000))); /* all late answers have come before this one */
    CHECK_OK(tide_session_sync(s, rig_in(20000))); /* and what they made has gone */
    check_left(other, "hasty");
  }
  /* No quota and no name was lost. */
  tide_session_close(other);
  for (int i = 0; i < 2; i++) PATIENTLY(s, tide_session_create_channel(s, NULL, &channel));
  for (int i = 0; i < 2; i++) PATIENTLY(s, tide_session_create_buffer(s, 4096, &buffer));
  for (int i = 0; i < 7; i++) PATIENTLY(s, tide_session_create_future(s, NULL, &timeline));
  CHECK_EQ_U64((uint64_t)calls, 0);
  CHECK_EQ_U64(tide_session_refusals(s), 0);
  tide_session_close(s);
  CHECK_EQ_U64((uint64_t)calls, 3);
  rig_close(&r);
}

/* The ring is full, and a deadline comes before the ring's patience is over. */
TEST(a_full_ring_and_a_deadline) {
  struct rig r;
  rig_open(&r, "default cells 64");
  struct tide_session *s = rig_connect(&r, "full");
  struct tide_point timeline, point;
  CHECK_OK(tide_session_create_future(s, NULL, &timeline));
  stop(&r);
  enum tide_status status = TIDE_OK;
  for (int i = 0; i < 15; i++) CHECK_OK(tide_session_promise(s, timeline, 0, &point));
  for (int i = 0; i < 1000 && status == TIDE_OK; i++)
    status = tide_session_break(s, point, TIDE_CANCELLED);
  CHECK_STATUS(status, TIDE_FULL);
  CHECK_STATUS(tide_session_sync(s, tide_service_now() + LIMIT * MS), TIDE_TIMEOUT);
  go_on(&r);
  CHECK_OK(tide_session_sync(s, rig_in(20000)));
  tide_session_close(s);
  rig_close(&r);
}

/* How often this thread has slept. */
static uint64_t count_sleeps(void) {
  struct rusage usage;
  CHECK(getrusage(RUSAGE_THREAD, &usage) == 0);
  return (uint64_t)usage.ru_nvcsw;
}

/* A thread that waits sleeps until it is woken, or until it looks whether the service lives: every
 * 50 ms. Twice as often, and a few times for locks, is allowed. */
static void check_sleeps(uint64_t sleeps, uint64_t begin) {
  uint64_t most = 2 * ((tide_service_now() - begin) / (50 * MS) + 1) + 10;
  if (sleeps > most)
    FAIL("a thread that waits slept %d times, more than %d", (int)sleeps, (int)most);
}

TEST(waiting_threads_park) {
  struct rig r;
  rig_open(&r, "default cells 64");
  struct tide_session *s = rig_connect(&r, "parked");
  struct tide_point timeline, point;
  CHECK_OK(tide_session_create_future(s, NULL, &timeline));
  CHECK_OK(tide_session_promise(s, timeline, TIDE_FOREVER, &point));
  CHECK_OK(tide_session_sync(s, rig_in(20000)));
  /* for a value */
  uint64_t sleeps = count_sleeps(), begin = tide_service_now();
  CHECK_STATUS(tide_session_wait(s, point, begin + LIMIT * MS), TIDE_TIMEOUT);
  check_sleeps(count_sleeps() - sleeps, begin);
  /* for an answer */
  stop(&r);
  sleeps = count_sleeps(), begin = tide_service_now();
  CHECK_STATUS(tide_session_sync(s, begin + LIMIT * MS), TIDE_TIMEOUT);
  check_sleeps(count_sleeps() - sleeps, begin);
  /* for room in the ring */
  while (tide_ring_has_capacity(&s->ring, 1))
    CHECK_OK(tide_session_break(s, point, TIDE_CANCELLED));
  CHECK_EQ_U64(s->ring.shared->parked, 0);
  sleeps = count_sleeps(), begin = tide_service_now();
  CHECK_STATUS(tide_session_break(s, point, TIDE_CANCELLED), TIDE_FULL);
  check_sleeps(count_sleeps() - sleeps, begin);
  /* The service, when it has read, wakes those that parked. */
  CHECK_EQ_U64(s->ring.shared->parked, 1);
  go_on(&r);
  for (int i = 0; i < 2; i++) CHECK_OK(tide_session_sync(s, rig_in(20000)));
  CHECK_EQ_U64(s->ring.shared->parked, 0);
  tide_session_close(s);
  rig_close(&r);
}

TEST_MAIN(CASE(connecting_to_a_full_backlog), CASE(connecting_without_an_answer),
          CASE(connecting_when_it_goes_on), CASE(answers_that_do_not_come),
          CASE(a_full_ring_and_a_deadline), CASE(waiting_threads_park))
