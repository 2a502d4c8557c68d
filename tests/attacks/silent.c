/* Connections that never say hello: they take no place of those that do. */
#include "attack_rig.h"

#include <sys/stat.h>
#include <sys/un.h>

enum { MANY = 80, SHARE = 16 }; /* more than a uid's connections; the silent ones of a uid */

/* Without a word; -1. */
static int connect_silently(const struct rig *r) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  snprintf(address.sun_path, sizeof address.sun_path, "%s", r->path);
  if (fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof address) == 0) return fd;
  if (fd >= 0) close(fd);
  return -1;
}

static void say_hello(int socket) {
  struct tide_wire_message hello;
  tide_wire_begin(&hello, TIDE_WIRE_HELLO);
  CHECK_OK(tide_message_send(socket, &hello, NULL, 0));
}

/* What the service says first. */
static struct tide_wire_message hear_first(int socket) {
  struct tide_wire_message message;
  int fds[TIDE_DESCRIPTORS_MOST];
  struct pollfd one = {.fd = socket, .events = POLLIN};
  CHECK(poll(&one, 1, 5000 * (int)test_slowdown()) == 1);
  CHECK_OK(tide_message_receive(socket, &message, fds, TIDE_DESCRIPTORS_MOST));
  for (unsigned i = 0; i < TIDE_DESCRIPTORS_MOST; i++)
    if (fds[i] >= 0) close(fds[i]);
  return message;
}

static void open_silent(const struct rig *r, int *sockets, unsigned count) {
  for (unsigned i = 0; i < count; i++) CHECK((sockets[i] = connect_silently(r)) >= 0);
}

static void close_all(const int *sockets, unsigned count) {
  for (unsigned i = 0; i < count; i++) close(sockets[i]);
}

/* One attempt is enough, and the silent ones are few. */
static void crowd(struct scene *s) {
  int sockets[MANY];
  struct holds before = attack_look(&s->r);
  open_silent(&s->r, sockets, MANY);
  struct tide_session_params params = {
      .struct_size = sizeof params, .socket = s->r.path, .label = "honest"};
  struct tide_session *session;
  CHECK_OK(tide_session_connect(&params, &session, NULL));
  check_victim(session);
  struct holds now = attack_look(&s->r);
  /* A client has fewer than eight. */
  if (now.descriptors > before.descriptors + SHARE + 8)
    FAIL("%u descriptors are held", now.descriptors - before.descriptors);
  tide_session_close(session);
  close_all(sockets, MANY);
}
TEST(silent_connections_take_no_place) { survive(NULL, 4, crowd); }

/* The oldest are the first to go, and are told why. */
TEST(the_oldest_silent_one_goes) {
  struct rig r;
  int sockets[SHARE + 2];
  rig_open(&r, NULL);
  tide_session_close(rig_connect(&r, "first"));
  open_silent(&r, sockets, SHARE + 2);
  for (int i = 0; i < 2; i++) {
    struct tide_wire_message goodbye = hear_first(sockets[i]);
    CHECK(goodbye.kind == TIDE_WIRE_GOODBYE);
    CHECK(goodbye.status == TIDE_FULL || goodbye.status == TIDE_TIMEOUT);
  }
  close_all(sockets, SHARE + 2);
  rig_close(&r);
}

/* The service looks when the hellos of `first` and more connections have come, in either order. */
static void check_late_hellos(bool hellos_first) {
  struct rig r;
  int first[SHARE], more[2 * SHARE];
  rig_open(&r, "default connections 200");
  tide_session_close(rig_connect(&r, "first"));
  open_silent(&r, first, SHARE);
  usleep(20000);
  CHECK(kill(r.server, SIGSTOP) == 0);
  if (!hellos_first) open_silent(&r, more, 2 * SHARE);
  for (int i = 0; i < SHARE; i++) say_hello(first[i]);
  if (hellos_first) open_silent(&r, more, 2 * SHARE);
  CHECK(kill(r.server, SIGCONT) == 0);
  for (int i = 0; i < SHARE; i++) CHECK(hear_first(first[i]).kind == TIDE_WIRE_WELCOME);
  close_all(first, SHARE);
  close_all(more, 2 * SHARE);
  rig_close(&r);
}
/* A hello that came before the connection was to go is heard, however late the service looks. */
TEST(a_hello_that_came_is_heard) {
  check_late_hellos(true);
  check_late_hellos(false);
}

/* Quotas are looked at when the hello comes, too. */
TEST(silent_connections_are_counted_at_their_hello) {
  struct rig r;
  int sockets[6];
  unsigned welcome = 0, full = 0;
  rig_open(&r, "default connections 4");
  struct tide_session *s = rig_connect(&r, "one");
  open_silent(&r, sockets, 6);
  for (int i = 0; i < 6; i++) say_hello(sockets[i]);
  for (int i = 0; i < 6; i++) {
    struct tide_wire_message message = hear_first(sockets[i]);
    welcome += message.kind == TIDE_WIRE_WELCOME;
    full += message.kind == TIDE_WIRE_GOODBYE && message.status == TIDE_FULL;
  }
  CHECK_EQ_U64(welcome, 3);
  CHECK_EQ_U64(full, 3);
  check_victim(s);
  tide_session_close(s);
  close_all(sockets, 6);
  rig_close(&r);
}

/* ---- another uid ---- */

static void other_uid(const struct rig *r, int in, int out) {
  int sockets[300];
  char order;
  if (setgid(65534) != 0 || setuid(65534) != 0) _exit(7);
  for (unsigned i = 0; i < 300; i++) sockets[i] = connect_silently(r);
  rig_tell(out, "r", 1);
  rig_hear(in, &order, 1);
  for (unsigned i = 0; i < 300; i++) close(sockets[i]);
}

TEST(another_uid_has_a_share_of_its_own) {
  struct rig r;
  struct rig_child child;
  char ready;
  if (geteuid() != 0) SKIP("another uid can be taken by root alone");
  rig_open(&r, NULL);
  CHECK(chmod(r.folder, 0711) == 0);
  tide_session_close(rig_connect(&r, "first"));
  int slow = connect_silently(&r);
  CHECK(slow >= 0);
  uint64_t opened = tide_service_now();
  rig_spawn(&child, other_uid, &r);
  rig_hear(child.from, &ready, 1);
  uint64_t late = tide_service_now() - opened;
  say_hello(slow);
  struct tide_wire_message answer = hear_first(slow);
  /* Its time may be over on a busy machine; a place it had. */
  if (answer.kind != TIDE_WIRE_WELCOME) CHECK(answer.status == TIDE_TIMEOUT && late > 500 * MS);
  tide_session_close(rig_connect(&r, "honest"));
  rig_tell(child.to, "q", 1);
  rig_end(&child);
  close(slow);
  rig_close(&r);
}

TEST_MAIN(CASE(silent_connections_take_no_place), CASE(the_oldest_silent_one_goes),
          CASE(a_hello_that_came_is_heard), CASE(silent_connections_are_counted_at_their_hello),
          CASE(another_uid_has_a_share_of_its_own))
