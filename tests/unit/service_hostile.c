/* Clients that mean harm: what they do costs them, and nobody else. */
#include "service_raw.h"

/* ---- the handshake (29, 32) ---- */

TEST(bad_beginnings) {
  struct rig r;
  char big[9000] = {0};
  struct tide_wire_message hello;
  rig_open(&r, NULL);
  struct tide_session *victim = rig_connect(&r, "victim");
  for (int i = 0; i < 7; i++) {
    struct raw c = {.socket = tide_socket_connect(r.path, TIDE_FOREVER)};
    CHECK(c.socket >= 0);
    tide_wire_begin(&hello, TIDE_WIRE_HELLO);
    if (i == 0) CHECK(send(c.socket, &hello, sizeof hello / 2, 0) > 0);
    if (i == 1) CHECK(send(c.socket, big, sizeof big, 0) > 0);
    if (i == 2) CHECK(send(c.socket, "x", 1, 0) > 0);
    if (i == 3) hello.magic++;
    if (i == 4) hello.version++;
    if (i == 5) hello.kind = TIDE_WIRE_WELCOME;
    if (i >= 3 && i <= 5) CHECK_OK(tide_message_send(c.socket, &hello, NULL, 0));
    /* 6: says nothing at all; its time runs out. */
    raw_expect_end(&c);
    close(c.socket);
    check_victim(victim);
  }
  tide_session_close(victim);
  rig_close(&r);
}

TEST(descriptors_are_a_forgery) {
  struct rig r;
  struct raw c;
  struct tide_wire_message hello;
  rig_open(&r, NULL);
  struct tide_session *victim = rig_connect(&r, "victim");
  int fds[TIDE_DESCRIPTORS_MOST] = {0, 0, 0, 0};
  tide_wire_begin(&hello, TIDE_WIRE_HELLO);
  c.socket = tide_socket_connect(r.path, TIDE_FOREVER);
  CHECK(c.socket >= 0);
  CHECK_OK(tide_message_send(c.socket, &hello, fds, 4));
  raw_expect_end(&c);
  close(c.socket);
  raw_connect(&c, &r);
  CHECK_OK(tide_message_send(c.socket, &hello, fds, 4));
  raw_expect_end(&c);
  raw_close(&c);
  raw_connect(&c, &r); /* anything after the hello */
  CHECK(send(c.socket, "x", 1, 0) == 1);
  raw_expect_end(&c);
  raw_close(&c);
  check_victim(victim);
  tide_session_close(victim);
  rig_close(&r);
}

TEST(storm_of_connections) {
  struct rig r;
  rig_open(&r, "default connections 8");
  struct tide_session *victim = rig_connect(&r, "victim"), *some[8];
  for (int i = 0; i < 300; i++) {
    int socket = tide_socket_connect(r.path, TIDE_FOREVER);
    if (socket >= 0) close(socket);
  }
  check_victim(victim);
  for (int i = 0; i < 7; i++) some[i] = rig_connect(&r, "one of many");
  struct tide_session_params params = {.struct_size = sizeof params, .socket = r.path};
  CHECK_STATUS(tide_session_connect(&params, &some[7], NULL), TIDE_FULL);
  check_victim(victim);
  for (int i = 0; i < 7; i++) tide_session_close(some[i]);
  tide_session_close(victim);
  rig_close(&r);
}

TEST(policy_denies) {
  struct rig r;
  struct tide_session *s;
  rig_open(&r, "default denied");
  struct tide_session_params params = {.struct_size = sizeof params, .socket = r.path};
  CHECK_STATUS(tide_session_connect(&params, &s, NULL), TIDE_DENIED);
  rig_close(&r);
}

/* ---- the ring (19, 33) ---- */

TEST(broken_rings) {
  struct rig r;
  rig_open(&r, NULL);
  struct tide_session *victim = rig_connect(&r, "victim");
  for (int i = 0; i < 4; i++) {
    struct raw c;
    uint64_t one = 1;
    raw_connect(&c, &r);
    struct tide_ring_shared *shared = c.ring_memory.memory;
    if (i == 0) tide_store_ordered(&shared->written, UINT64_MAX);
    if (i == 1) tide_store_ordered(&shared->written, c.ring.size + 1u);
    if (i == 2) tide_store_ordered(&shared->written, 1); /* a record of no cells */
    if (i == 3) {                                        /* a record beyond what was written */
      uint16_t cells = 9;
      memcpy(shared->cells, &cells, sizeof cells);
      tide_store_ordered(&shared->written, 2);
    }
    CHECK(write(c.bell, &one, sizeof one) == sizeof one);
    raw_expect_end(&c);
    raw_close(&c);
    check_victim(victim);
  }
  tide_session_close(victim);
  rig_close(&r);
}

/* Changes its commands while they are read, for a while. */
TEST(commands_change_under_the_reader) {
  struct rig r;
  rig_open(&r, NULL);
  struct tide_session *victim = rig_connect(&r, "victim");
  uint64_t until = rig_in(300), seed = 88172645463325252ull;
  while (tide_service_now() < until) {
    struct raw c;
    raw_connect(&c, &r);
    struct tide_ring_shared *shared = c.ring_memory.memory;
    unsigned char *bytes = c.ring_memory.memory;
    uint64_t one = 1;
    for (int i = 0; i < 3000; i++) {
      seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
      bytes[seed % tide_ring_bytes(c.ring.size)] = (unsigned char)(seed >> 40);
      if (i % 3 == 0)
        tide_store_ordered(&shared->written, tide_load_relaxed(&shared->read) + seed % 8);
      if (i % 64 == 0 && write(c.bell, &one, sizeof one) < 0) break;
    }
    raw_close(&c);
  }
  check_victim(victim);
  tide_session_close(victim);
  rig_close(&r);
}

/* ---- names (13 to 18) ---- */

TEST(names_of_others) {
  struct rig r;
  struct raw c;
  rig_open(&r, "default refusals 1M");
  struct tide_session *victim = rig_connect(&r, "victim");
  struct tide_point timeline, point;
  CHECK_OK(tide_session_create_future(victim, NULL, &timeline));
  CHECK_OK(tide_session_promise(victim, timeline, rig_in(60000), &point));
  CHECK_OK(tide_session_sync(victim, rig_in(5000)));
  raw_connect(&c, &r);
  /* Guesses every name; each costs an error and nothing else. */
  for (uint32_t handle = 0; handle < 3000; handle++) {
    struct tide_wire_record record = command(handle % 3 ? TIDE_WIRE_FULFIL : TIDE_WIRE_DESTROY,
                                             handle % 1100, 1 + handle / 1100, 1);
    CHECK_STATUS(raw_ask(&c, &record), TIDE_NOT_FOUND);
  }
  CHECK_STATUS(tide_session_query(victim, point), TIDE_TIMEOUT);
  CHECK_OK(tide_session_fulfil(victim, point));
  raw_close(&c);
  tide_session_close(victim);
  rig_close(&r);
}

TEST(guessed_tokens_end_the_connection) {
  struct rig r;
  struct raw c;
  rig_open(&r, NULL);
  raw_connect(&c, &r);
  for (uint32_t i = 0; i < 20; i++) {
    struct tide_wire_record record = command(TIDE_WIRE_REDEEM, 1, i + 1, 0);
    record.command.text_size = 16;
    memset(record.bytes + sizeof record.command, (int)i, 16);
    raw_push(&c, &record);
  }
  raw_expect_end(&c);
  raw_close(&c);
  rig_close(&r);
}

TEST(wrong_values_and_generations) {
  struct rig r;
  struct raw c;
  rig_open(&r, NULL);
  raw_connect(&c, &r);
#define ASK(want, ...)                                                                             \
  do {                                                                                             \
    struct tide_wire_record record = command(__VA_ARGS__);                                         \
    CHECK_STATUS(raw_ask(&c, &record), want);                                                      \
  } while (0)
  ASK(TIDE_OK, TIDE_WIRE_FUTURE, 5, 1, UINT64_MAX - 2);
  ASK(TIDE_BUSY, TIDE_WIRE_FUTURE, 5, 2, 0); /* it is taken */
  ASK(TIDE_NOT_FOUND, TIDE_WIRE_FUTURE, 1u << 20, 2, 0);
  ASK(TIDE_VALUE, TIDE_WIRE_PROMISE, 5, 1, 1);
  ASK(TIDE_OK, TIDE_WIRE_PROMISE, 5, 1, UINT64_MAX - 1);
  ASK(TIDE_VALUE, TIDE_WIRE_PROMISE, 5, 1, UINT64_MAX - 1);
  ASK(TIDE_OK, TIDE_WIRE_PROMISE, 5, 1, UINT64_MAX);
  ASK(TIDE_EXHAUSTED, TIDE_WIRE_PROMISE, 5, 1, 0); /* it does not wrap */
  ASK(TIDE_NOT_FOUND, TIDE_WIRE_FULFIL, 5, 2, UINT64_MAX);
  ASK(TIDE_OK, TIDE_WIRE_FULFIL, 5, 1, UINT64_MAX);
  ASK(TIDE_VALUE, TIDE_WIRE_FULFIL, 5, 1, UINT64_MAX - 1);
  ASK(TIDE_OK, TIDE_WIRE_DESTROY, 5, 1, 0);
  ASK(TIDE_NOT_FOUND, TIDE_WIRE_PROMISE, 5, 1, 1);
  ASK(TIDE_BUSY, TIDE_WIRE_FUTURE, 5, 1, 0); /* a generation is used once */
  ASK(TIDE_OK, TIDE_WIRE_FUTURE, 5, 7, UINT32_MAX);
  ASK(TIDE_OK, TIDE_WIRE_PROMISE, 5, 7, 1ull << 32);
  ASK(TIDE_NOT_FOUND, TIDE_WIRE_FULFIL, 5, 7, 0x100000001ull); /* more than was promised */
  ASK(TIDE_INVALID, TIDE_WIRE_BREAK, 5, 7, 1ull << 32);        /* no cause */
  raw_close(&c);
  rig_close(&r);
}

/* ---- quotas (28, 31) ---- */

TEST(quotas_are_of_each) {
  struct rig r;
  struct tide_point points[8], more;
  rig_open(&r, "default timelines 8 parts 8 waits 8 handles 64 bytes 64K grants 2 channels 2\n"
               "\nclients 4");
  struct tide_session *greedy = rig_connect(&r, "greedy"), *victim = rig_connect(&r, "victim");
  struct tide_token token;
  for (int i = 0; i < 8; i++) CHECK_OK(tide_session_create_future(greedy, NULL, &points[i]));
  CHECK_STATUS(tide_session_create_future(greedy, NULL, &more), TIDE_FULL);
  CHECK_OK(tide_session_grant(greedy, points[0], 0, &token));
  CHECK_OK(tide_session_grant(greedy, points[0], 0, &token));
  CHECK_STATUS(tide_session_grant(greedy, points[0], 0, &token), TIDE_FULL);
  CHECK_OK(tide_session_create_buffer(greedy, 60000, &more));
  CHECK_STATUS(tide_session_create_buffer(greedy, 10000, &more), TIDE_FULL);
  CHECK_STATUS(tide_session_create_buffer(greedy, UINT64_MAX, &more), TIDE_FULL);
  for (int i = 0; i < 2; i++) CHECK_OK(tide_session_create_channel(greedy, NULL, &more));
  CHECK_STATUS(tide_session_create_channel(greedy, NULL, &more), TIDE_FULL);
  for (int i = 0; i < 8; i++) CHECK_OK(tide_session_create_future(victim, NULL, &points[i]));
  CHECK_OK(tide_session_create_buffer(victim, 60000, &more));
  CHECK_OK(tide_session_create_channel(victim, NULL, &more));
  /* Room for promises is of all timelines together. */
  struct tide_future_params large = {.struct_size = sizeof large, .capacity = 3000};
  CHECK_OK(tide_session_destroy(victim, points[0]));
  CHECK_OK(tide_session_destroy(victim, points[1]));
  CHECK_OK(tide_session_sync(victim, rig_in(5000)));
  CHECK_OK(tide_session_create_future(victim, &large, &points[0]));
  CHECK_STATUS(tide_session_create_future(victim, &large, &points[1]), TIDE_FULL);
  CHECK_OK(tide_session_destroy(victim, points[0]));
  CHECK_OK(tide_session_sync(victim, rig_in(5000)));
  CHECK_OK(tide_session_create_future(victim, &large, &points[1]));
  tide_session_close(greedy);
  tide_session_close(victim);
  rig_close(&r);
}

/* It waits for very much, and reads nothing: what it costs is bounded, and nobody waits for it. */
TEST(client_that_never_reads) {
  struct rig r;
  struct raw c;
  rig_open(&r, NULL);
  struct tide_session *victim = rig_connect(&r, "victim");
  raw_connect(&c, &r);
  struct tide_wire_record record = command(TIDE_WIRE_FUTURE, 1, 1, 0);
  CHECK_OK(raw_ask(&c, &record));
  uint64_t until = rig_in(300);
  uint32_t number = 1;
  while (tide_service_now() < until) {
    for (int i = 0; i < 100; i++) {
      bool asleep;
      uint64_t one = 1;
      record = command(i % 2 ? TIDE_WIRE_STATE : TIDE_WIRE_SYNC, 77, 1, 1);
      record.command.answer = i % 3 ? number++ : 0;
      if (tide_ring_write(&c.ring, &record, &asleep) == TIDE_OK && asleep)
        CHECK(write(c.bell, &one, sizeof one) == sizeof one);
    }
    check_victim(victim);
  }
  raw_close(&c);
  tide_session_close(victim);
  rig_close(&r);
}

/* Fills its ring without an end: others get their turn. */
static void flood(const struct rig *r, int in, int out) {
  struct raw c;
  raw_connect(&c, r);
  rig_tell(out, "r", 1);
  (void)in;
  for (;;) {
    struct tide_wire_record record = command(TIDE_WIRE_FULFIL, 900, 1, 1);
    bool asleep;
    uint64_t one = 1;
    if (tide_ring_write(&c.ring, &record, &asleep) == TIDE_OK && asleep)
      (void)!write(c.bell, &one, sizeof one);
  }
}

TEST(floods_leave_others_their_turn) {
  struct rig r;
  struct rig_child child[2];
  char ready;
  rig_open(&r, NULL);
  struct tide_session *victim = rig_connect(&r, "victim");
  for (int i = 0; i < 2; i++) {
    rig_spawn(&child[i], flood, &r);
    rig_hear(child[i].from, &ready, 1);
  }
  for (int i = 0; i < 50; i++) check_victim(victim);
  for (int i = 0; i < 2; i++) rig_kill(&child[i]);
  check_victim(victim);
  tide_session_close(victim);
  rig_close(&r);
}

/* Stopped in the middle of everything, its socket open (3). */
static void stopped(const struct rig *r, int in, int out) {
  struct tide_session *s = rig_connect(r, "stopped");
  struct tide_point timeline, point;
  struct tide_token token;
  char order;
  CHECK_OK(tide_session_create_future(s, NULL, &timeline));
  CHECK_OK(tide_session_promise(s, timeline, tide_service_now() + 200 * MS, &point));
  CHECK_OK(tide_session_grant(s, timeline, 0, &token));
  rig_tell(out, &token, sizeof token);
  rig_hear(in, &order, 1);
}

TEST(stopped_producer_misses_its_deadline) {
  struct rig r;
  struct rig_child child;
  struct tide_token token;
  struct tide_point point;
  rig_open(&r, NULL);
  rig_spawn(&child, stopped, &r);
  struct tide_session *s = rig_connect(&r, "waiter");
  rig_hear(child.from, &token, sizeof token);
  CHECK(kill(child.pid, SIGSTOP) == 0);
  CHECK_OK(tide_session_redeem(s, &token, &point));
  point.value = 1;
  CHECK_STATUS(tide_session_wait(s, point, rig_in(5000)), TIDE_TIMED_OUT);
  check_victim(s);
  rig_kill(&child);
  tide_session_close(s);
  rig_close(&r);
}

TEST_MAIN(CASE(bad_beginnings), CASE(descriptors_are_a_forgery), CASE(storm_of_connections),
          CASE(policy_denies), CASE(broken_rings), CASE(commands_change_under_the_reader),
          CASE(names_of_others), CASE(guessed_tokens_end_the_connection),
          CASE(wrong_values_and_generations), CASE(quotas_are_of_each),
          CASE(client_that_never_reads), CASE(floods_leave_others_their_turn),
          CASE(stopped_producer_misses_its_deadline))
