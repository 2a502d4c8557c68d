/* A client without the library, that writes what it likes; and a look at how others fare. */
#ifndef TESTS_SERVICE_RAW_H
#define TESTS_SERVICE_RAW_H

#include "service_rig.h"

#include "service/command_ring.h"
#include "service/values.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>

struct raw {
  int socket, bell;
  struct tide_wire_message welcome;
  struct tide_mapping ring_memory, values;
  struct tide_ring ring;
};

/* False: the service is full. */
__attribute__((unused)) static bool raw_try(struct raw *c, const struct rig *r) {
  struct tide_wire_message hello;
  int fds[TIDE_DESCRIPTORS_MOST];
  c->socket = tide_socket_connect(r->path, TIDE_FOREVER);
  for (int i = 0; c->socket < 0 && i < 500; i++) {
    usleep(10000);
    c->socket = tide_socket_connect(r->path, TIDE_FOREVER);
  }
  CHECK(c->socket >= 0);
  tide_wire_begin(&hello, TIDE_WIRE_HELLO);
  (void)!tide_message_send(c->socket, &hello, NULL, 0);
  struct pollfd one = {.fd = c->socket, .events = POLLIN};
  CHECK(poll(&one, 1, 5000 * (int)test_slowdown()) == 1);
  CHECK_OK(tide_message_receive(c->socket, &c->welcome, fds, TIDE_DESCRIPTORS_MOST));
  if (c->welcome.kind == TIDE_WIRE_GOODBYE && c->welcome.status == TIDE_FULL) {
    close(c->socket);
    return false;
  }
  CHECK(c->welcome.kind == TIDE_WIRE_WELCOME);
  uint32_t cells = c->welcome.limits.cells;
  CHECK_OK(tide_mapping_open(&c->ring_memory, fds[0], tide_ring_bytes(cells), false));
  size_t places = tide_values_bytes(c->welcome.limits.handles);
  /* The values can be mapped for reading, and never for writing. */
  CHECK(mmap(NULL, places, PROT_READ | PROT_WRITE, MAP_SHARED, fds[1], 0) == MAP_FAILED);
  char again[64];
  snprintf(again, sizeof again, "/proc/self/fd/%d", fds[1]);
  int writer = open(again, O_RDWR | O_CLOEXEC);
  if (writer >= 0) {
    CHECK(mmap(NULL, places, PROT_READ | PROT_WRITE, MAP_SHARED, writer, 0) == MAP_FAILED);
    CHECK(write(writer, "x", 1) < 0);
    CHECK(ftruncate(writer, 0) != 0);
    close(writer);
  }
  CHECK_OK(tide_mapping_open(&c->values, fds[1], places, true));
  c->bell = fds[2];
  c->ring = (struct tide_ring){c->ring_memory.memory, cells, 0};
  return true;
}

__attribute__((unused)) static void raw_connect(struct raw *c, const struct rig *r) {
  while (!raw_try(c, r)) usleep(1000);
}

__attribute__((unused)) static void raw_close(struct raw *c) {
  close(c->socket);
  close(c->bell);
  tide_mapping_close(&c->ring_memory);
  tide_mapping_close(&c->values);
}

__attribute__((unused)) static void raw_push(struct raw *c, struct tide_wire_record *record) {
  bool asleep;
  uint64_t one = 1;
  while (tide_ring_write(&c->ring, record, &asleep) == TIDE_FULL) usleep(100);
  if (asleep) CHECK(write(c->bell, &one, sizeof one) == sizeof one);
}

/* The next message of this kind; others are skipped. */
__attribute__((unused)) static struct tide_wire_message raw_hear(struct raw *c,
                                                                 enum tide_wire_kind kind) {
  struct tide_wire_message message;
  for (;;) {
    int fds[TIDE_DESCRIPTORS_MOST];
    struct pollfd one = {.fd = c->socket, .events = POLLIN};
    if (poll(&one, 1, 5000 * (int)test_slowdown()) != 1) FAIL("nothing came");
    enum tide_status status = tide_message_receive(c->socket, &message, fds, TIDE_DESCRIPTORS_MOST);
    if (status != TIDE_OK) FAIL("the connection ended: %s", tide_status_name(status));
    for (unsigned i = 0; i < TIDE_DESCRIPTORS_MOST; i++)
      if (fds[i] >= 0) close(fds[i]);
    if (message.kind == (uint32_t)kind) return message;
  }
}

__attribute__((unused)) static enum tide_status raw_ask(struct raw *c,
                                                        struct tide_wire_record *record) {
  record->command.answer = 1;
  raw_push(c, record);
  return (enum tide_status)raw_hear(c, TIDE_WIRE_ANSWER).status;
}

/* The service has let it go. */
__attribute__((unused)) static void raw_expect_end(struct raw *c) {
  struct tide_wire_message message;
  for (;;) {
    struct pollfd one = {.fd = c->socket, .events = POLLIN};
    if (poll(&one, 1, 5000 * (int)test_slowdown()) != 1) FAIL("it is still served");
    enum tide_status status = tide_message_receive(c->socket, &message, NULL, 0);
    if (status == TIDE_LOST) return;
  }
}

/* Somebody else is served as ever. */
__attribute__((unused)) static void check_victim(struct tide_session *s) {
  struct tide_point timeline, point;
  CHECK_OK(tide_session_create_future(s, NULL, &timeline));
  CHECK_OK(tide_session_promise(s, timeline, 0, &point));
  CHECK_OK(tide_session_fulfil(s, point));
  CHECK_OK(tide_session_wait(s, point, rig_in(5000)));
  CHECK_OK(tide_session_destroy(s, timeline));
  CHECK_OK(tide_session_sync(s, rig_in(5000)));
}

__attribute__((unused)) static struct tide_wire_record
command(enum tide_wire_op op, uint32_t handle, uint32_t generation, uint64_t value) {
  return (struct tide_wire_record){
      .command = {.op = (uint16_t)op, .object = {handle, generation}, .value = value}};
}

#endif
