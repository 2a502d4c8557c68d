/* What the tests of the service share: a service in a process of its own, and clients in others. */
#ifndef TESTS_SERVICE_RIG_H
#define TESTS_SERVICE_RIG_H

#include "harness.h"
#include "service/socket.h"
#include "service/system.h"
#include "tidemark/kernel.h"
#include "tidemark/service.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define MS 1000000ull

struct rig {
  char folder[64], path[96];
  pid_t server;
};

static struct tide_service *rig_service;
__attribute__((unused)) static uint32_t rig_workers = 2; /* of the next one */
__attribute__((unused)) static uint32_t rig_descriptors; /* that it may have; 0: as many as we */

__attribute__((unused)) static uint64_t rig_address_space; /* bytes; 0: as much as we */
__attribute__((unused)) static const struct tide_allocator *rig_allocator; /* of the next one */
__attribute__((unused)) static const struct tide_body_set *rig_bodies; /* NULL: the built-in ones */

static void rig_on_term(int number) {
  (void)number;
  tide_service_stop(rig_service);
}

/* What the service's process does with each event. */
__attribute__((unused)) static void (*rig_on_event)(const struct tide_service_event *event);

__attribute__((unused)) static void rig_events(void *user, const struct tide_service_event *event) {
  (void)user;
  if (rig_on_event) rig_on_event(event);
  if (getenv("SERVICE_EVENTS"))
    fprintf(stderr, "%d %s client %d %s %s\n", event->kind, tide_status_name(event->status),
            (int)event->client, event->label, event->what ? event->what : "");
}

/* Under AddressSanitizer, whether anything is left that nobody knows: _exit looks for nothing. */
#ifdef __SANITIZE_ADDRESS__
int __lsan_do_recoverable_leak_check(void);
static bool rig_leaks(void) { return __lsan_do_recoverable_leak_check() != 0; }
#else
static bool rig_leaks(void) { return false; }
#endif

/* What is looked at when the service has stopped serving; 0: all is well. */
__attribute__((unused)) static int (*rig_at_end)(struct tide_service *service);

static void rig_serve(struct rig *r, const char *policy) {
  struct tide_diag diag = {.status = TIDE_OK};
  struct rlimit few = {rig_descriptors, rig_descriptors};
  struct rlimit narrow = {rig_address_space, rig_address_space};
  if (rig_descriptors && setrlimit(RLIMIT_NOFILE, &few) != 0) _exit(3);
  if (rig_address_space && setrlimit(RLIMIT_AS, &narrow) != 0) _exit(3);
  struct tide_service_params params = {.struct_size = sizeof params,
                                       .socket = r->path,
                                       .policy = policy,
                                       .policy_length = policy ? strlen(policy) : 0,
                                       .workers = rig_workers,
                                       .bodies =
                                           rig_bodies ? rig_bodies : tide_kernel_session_bodies(),
                                       .allocator = rig_allocator,
                                       .event = rig_events};
  if (tide_service_create(&params, &rig_service, &diag) != TIDE_OK) {
    fprintf(stderr, "service: %s\n", diag.text);
    _exit(3);
  }
  signal(SIGTERM, rig_on_term);
  enum tide_status status = tide_service_run(rig_service);
  int left = rig_at_end ? rig_at_end(rig_service) : 0;
  tide_service_destroy(rig_service);
  rig_service = NULL;
  if (left) _exit(6);
  _exit(status != TIDE_OK ? 4 : rig_leaks() ? 5 : 0);
}

__attribute__((unused)) static uint64_t rig_in(uint64_t milliseconds) {
  return tide_service_now() + milliseconds * MS * test_slowdown();
}

/* True once a service listens at the path, which is there a little earlier. */
__attribute__((unused)) static bool rig_is_listening(const char *path) {
  char line[512], where[256];
  unsigned flags;
  bool listens = false;
  FILE *file = fopen("/proc/net/unix", "re");
  CHECK(file != NULL);
  while (!listens && fgets(line, sizeof line, file))
    listens = sscanf(line, "%*s %*s %*s %x %*s %*s %*s %255s", &flags, where) == 2 &&
              strcmp(where, path) == 0 && flags & 0x10000; /* SO_ACCEPTCON */
  fclose(file);
  return listens;
}
__attribute__((unused)) static void rig_await_service(const struct rig *r) {
  siginfo_t end = {.si_pid = 0};
  while (!rig_is_listening(r->path)) {
    if (waitid(P_PID, (id_t)r->server, &end, WEXITED | WNOHANG | WNOWAIT) == 0 && end.si_pid)
      FAIL("the service has ended before it listened");
    usleep(2000);
  }
}

/* The service runs, and can be connected to. */
__attribute__((unused)) static void rig_open(struct rig *r, const char *policy) {
  snprintf(r->folder, sizeof r->folder, "/tmp/tidemark-test-XXXXXX");
  CHECK(mkdtemp(r->folder) != NULL);
  snprintf(r->path, sizeof r->path, "%s/socket", r->folder);
  fflush(NULL);
  r->server = fork();
  CHECK(r->server >= 0);
  if (r->server == 0) rig_serve(r, policy);
  rig_await_service(r);
}

/* As the client of another process would. */
__attribute__((unused)) static struct tide_session *rig_connect(const struct rig *r,
                                                                const char *label) {
  struct tide_session_params params = {
      .struct_size = sizeof params, .socket = r->path, .label = label};
  struct tide_session *session = NULL;
  struct tide_diag diag = {.status = TIDE_OK};
  uint64_t until = rig_in(20000);
  while (tide_session_connect(&params, &session, &diag) != TIDE_OK) { /* others may be leaving */
    if (tide_service_now() > until) FAIL("no connection: %s", diag.text);
    usleep(10000);
  }
  return session;
}

__attribute__((unused)) static void rig_join(pid_t child) {
  int status;
  CHECK(waitpid(child, &status, 0) == child);
  if (WIFSIGNALED(status)) FAIL("a process was killed by signal %d", WTERMSIG(status));
  CHECK_EQ_U64((uint64_t)WEXITSTATUS(status), 0);
}

/* The service ends, clean: under a sanitizer, without a finding. */
__attribute__((unused)) static void rig_close(struct rig *r) {
  CHECK(kill(r->server, SIGTERM) == 0);
  rig_join(r->server);
  CHECK(rmdir(r->folder) == 0); /* it has removed its socket and its lock */
}

/* Removes what a service leaves that was killed. */
__attribute__((unused)) static void rig_sweep(const struct rig *r) {
  char lock[sizeof r->path + 8];
  snprintf(lock, sizeof lock, "%s.lock", r->path);
  unlink(r->path);
  unlink(lock);
  CHECK(rmdir(r->folder) == 0);
}

/* The calls of a callback. */
struct heard {
  int calls;
  enum tide_status status;
};
__attribute__((unused)) static void hear(void *user, enum tide_status status) {
  struct heard *heard = user;
  heard->calls++;
  heard->status = status;
}

/* Another process, with a pipe each way. */
struct rig_child {
  pid_t pid;
  int to, from;
};
__attribute__((unused)) static void rig_spawn(struct rig_child *child,
                                              void (*run)(const struct rig *r, int in, int out),
                                              const struct rig *r) {
  int to[2], from[2];
  CHECK(pipe(to) == 0 && pipe(from) == 0);
  fflush(NULL);
  child->pid = fork();
  CHECK(child->pid >= 0);
  if (child->pid == 0) {
    close(to[1]);
    close(from[0]);
    run(r, to[0], from[1]);
    _exit(0);
  }
  close(to[0]);
  close(from[1]);
  child->to = to[1];
  child->from = from[0];
}
__attribute__((unused)) static void rig_tell(int fd, const void *data, size_t size) {
  CHECK(write(fd, data, size) == (ssize_t)size);
}
__attribute__((unused)) static void rig_hear(int fd, void *data, size_t size) {
  for (size_t got = 0; got < size;) {
    ssize_t now = read(fd, (char *)data + got, size - got);
    if (now <= 0) FAIL("the other process has gone");
    got += (size_t)now;
  }
}
/* The owner of a promise, in a process of its own, connects and makes it. Returns a token for it,
 * for rig_hear_promise of the test. */
__attribute__((unused)) static struct tide_token rig_promise(const struct rig *r,
                                                             const char *label) {
  struct tide_session *s = rig_connect(r, label);
  struct tide_point timeline, point;
  struct tide_token token;
  CHECK_OK(tide_session_create_future(s, NULL, &timeline));
  CHECK_OK(tide_session_promise(s, timeline, rig_in(60000), &point));
  CHECK_OK(tide_session_grant(s, timeline, TIDE_RIGHT_WAIT, &token));
  return token;
}
__attribute__((unused)) static struct tide_point rig_hear_promise(const struct rig_child *owner,
                                                                  struct tide_session *waiter) {
  struct tide_token token;
  struct tide_point point;
  rig_hear(owner->from, &token, sizeof token);
  CHECK_OK(tide_session_redeem(waiter, &token, &point));
  point.value = 1;
  return point;
}
__attribute__((unused)) static void rig_end(struct rig_child *child) {
  close(child->to);
  close(child->from);
  rig_join(child->pid);
}
__attribute__((unused)) static void rig_kill(struct rig_child *child) {
  CHECK(kill(child->pid, SIGKILL) == 0);
  CHECK(waitpid(child->pid, NULL, 0) == child->pid);
  close(child->to);
  close(child->from);
}

#endif
