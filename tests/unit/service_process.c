/* A client's end is that of its process, whoever else holds its socket. */
#include "service_raw.h"

#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

static const char helper = 1, no_helper = 0;

/* Makes a promise and hands out a token for it. On request, forks a helper first, which holds a
 * copy of every descriptor, and lives until the test tells it to end. */
static void promise(const struct rig *r, int in, int out) {
  struct tide_token token = rig_promise(r, "owner");
  char order;
  rig_hear(in, &order, 1);
  if (order == helper && fork() == 0) {
    (void)!read(in, &order, 1);
    _exit(0);
  }
  rig_tell(out, &token, sizeof token);
  for (;;) pause();
}

/* Starts an owner, and lets `waiter` have its promise. */
static struct tide_point promise_of(struct rig_child *owner, const struct rig *r, char with,
                                    struct tide_session *waiter) {
  rig_spawn(owner, promise, r);
  rig_tell(owner->to, &with, 1);
  return rig_hear_promise(owner, waiter);
}

/* Kills the owner; its helper lives on. */
static void kill_owner(const struct rig_child *owner) {
  CHECK(kill(owner->pid, SIGKILL) == 0);
  CHECK(waitpid(owner->pid, NULL, 0) == owner->pid);
}

/* True if the owner or its helper still holds its descriptors. */
static bool is_held(const struct rig_child *owner) {
  struct pollfd one = {.fd = owner->from, .events = POLLIN};
  return poll(&one, 1, 0) == 0;
}

static void let_helper_end(const struct rig_child *owner) {
  char end = 0;
  rig_tell(owner->to, &end, 1);
  close(owner->to);
  CHECK(read(owner->from, &end, 1) == 0);
  close(owner->from);
}

TEST(a_helper_does_not_keep_its_parent_alive) {
  struct rig r;
  struct rig_child owner;
  rig_open(&r, NULL);
  struct tide_session *s = rig_connect(&r, "waiter");
  struct tide_point point = promise_of(&owner, &r, helper, s);
  kill_owner(&owner);
  CHECK_STATUS(tide_session_wait(s, point, rig_in(5000)), TIDE_OWNER_DIED);
  CHECK(is_held(&owner));
  let_helper_end(&owner);
  check_victim(s);
  tide_session_close(s);
  rig_close(&r);
}

/* It exits with copies of all descriptors, which says nothing of its parent. */
TEST(a_helper_ends_and_its_parent_goes_on) {
  struct rig r;
  int status;
  rig_open(&r, NULL);
  struct tide_session *s = rig_connect(&r, "parent");
  fflush(NULL);
  pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) _exit(0);
  CHECK(waitpid(child, &status, 0) == child);
  for (int i = 0; i < 20; i++) check_victim(s);
  tide_session_close(s);
  rig_close(&r);
}

/* The place of a client whose process has ended is free, although its socket is not closed. */
TEST(a_place_for_the_next_one) {
  struct rig r;
  struct rig_child owner[8];
  rig_open(&r, "default connections 2");
  struct tide_session *s = rig_connect(&r, "waiter");
  for (int i = 0; i < 8; i++) {
    struct tide_point point = promise_of(&owner[i], &r, helper, s);
    kill_owner(&owner[i]);
    CHECK_OK(tide_session_destroy(s, point));
  }
  for (int i = 0; i < 8; i++) {
    CHECK(is_held(&owner[i]));
    let_helper_end(&owner[i]);
  }
  tide_session_close(s);
  rig_close(&r);
}

/* Without a look at processes, the end of the connection decides. */
static void check_end_of_file(const struct rig *r) {
  struct rig_child owner;
  struct tide_session *s = rig_connect(r, "waiter");
  struct tide_point point = promise_of(&owner, r, no_helper, s);
  kill_owner(&owner);
  CHECK_STATUS(tide_session_wait(s, point, rig_in(5000)), TIDE_OWNER_DIED);
  close(owner.to);
  close(owner.from);
  point = promise_of(&owner, r, helper, s);
  kill_owner(&owner);
  CHECK_STATUS(tide_session_query(s, point), TIDE_TIMEOUT);
  let_helper_end(&owner);
  CHECK_STATUS(tide_session_wait(s, point, rig_in(5000)), TIDE_OWNER_DIED);
  check_victim(s);
  tide_session_close(s);
}

TEST(clients_of_another_pid_namespace) {
  struct rig r;
  int own = open("/proc/self/ns/pid", O_RDONLY | O_CLOEXEC);
  if (own < 0) SKIP("/proc/self/ns/pid: %s", strerror(errno));
  if (unshare(CLONE_NEWPID) != 0) SKIP("no pid namespace: %s", strerror(errno));
  rig_open(&r, NULL);
  CHECK(setns(own, CLONE_NEWPID) == 0);
  close(own);
  check_end_of_file(&r);
  rig_close(&r);
}

/* Lets pidfd_open fail in this process and its children. */
static bool forbid_pidfd(void) {
  struct sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_pidfd_open, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_fprog filter = {.len = sizeof code / sizeof *code, .filter = code};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

TEST(a_kernel_without_pidfd) {
  struct rig r;
  if (!forbid_pidfd()) SKIP("no seccomp filter: %s", strerror(errno));
  rig_open(&r, NULL);
  check_end_of_file(&r);
  rig_close(&r);
}

/* Connects and says nothing. A copy of the socket says hello when it is told to, and reports
 * whether it was welcome. */
static void connect_late(const struct rig *r, int in, int out) {
  struct tide_wire_message message;
  int fds[TIDE_DESCRIPTORS_MOST];
  char order;
  int socket = tide_socket_connect(r->path, TIDE_FOREVER);
  CHECK(socket >= 0);
  if (fork() > 0)
    for (;;) pause();
  rig_tell(out, "c", 1); /* the copy is there: the process that connected may be killed */
  rig_hear(in, &order, 1);
  tide_wire_begin(&message, TIDE_WIRE_HELLO);
  (void)!tide_message_send(socket, &message, NULL, 0);
  struct pollfd one = {.fd = socket, .events = POLLIN};
  enum tide_status status = TIDE_TIMEOUT;
  if (poll(&one, 1, 5000 * (int)test_slowdown()) == 1)
    status = tide_message_receive(socket, &message, fds, TIDE_DESCRIPTORS_MOST);
  bool welcome = status == TIDE_OK && message.kind == TIDE_WIRE_WELCOME;
  rig_tell(out, welcome ? "w" : status == TIDE_TIMEOUT ? "t" : "e", 1);
}

/* Returns a new process with this number, which only waits for its end; -1. */
static pid_t spawn_with_number(pid_t number) {
  struct clone_args args = {
      .exit_signal = SIGCHLD, .set_tid = (uint64_t)(uintptr_t)&number, .set_tid_size = 1};
  fflush(NULL);
  pid_t child = (pid_t)syscall(SYS_clone3, &args, sizeof args);
  if (child != 0) return child;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  for (;;) pause();
}

/* The kernel goes on to name the peer by its number, which is another process's by now. */
TEST(a_number_that_is_used_again) {
  struct rig r;
  struct rig_child child;
  char heard;
  rig_open(&r, NULL);
  tide_session_close(rig_connect(&r, "first")); /* the service listens */
  rig_spawn(&child, connect_late, &r);
  rig_hear(child.from, &heard, 1);
  struct tide_session *s = rig_connect(&r, "next"); /* so the one before it was accepted */
  kill_owner(&child);
  usleep(50000); /* a few ticks of the clock of starts */
  pid_t other = spawn_with_number(child.pid);
  if (other < 0) SKIP("no process with a chosen number: %s", strerror(errno));
  rig_tell(child.to, "h", 1);
  rig_hear(child.from, &heard, 1);
  if (heard != 'e') FAIL("another process counts as the client: '%c'", heard);
  CHECK(kill(other, SIGKILL) == 0);
  CHECK(waitpid(other, NULL, 0) == other);
  close(child.to);
  close(child.from);
  check_victim(s);
  tide_session_close(s);
  rig_close(&r);
}

TEST_MAIN(CASE(a_helper_does_not_keep_its_parent_alive), CASE(a_helper_ends_and_its_parent_goes_on),
          CASE(a_place_for_the_next_one), CASE(clients_of_another_pid_namespace),
          CASE(a_kernel_without_pidfd), CASE(a_number_that_is_used_again))
