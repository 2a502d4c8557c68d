/* Attacks 28, 30, 31 and 32: who reads nothing, who races, who takes all there is, who comes and
 * goes; and what these do to the service's own descriptors and memory. */
#include "attack_rig.h"

/* ---- callbacks that nobody reads (28) ---- */

static void never_reads(struct scene *s) {
  struct raw c;
  raw_connect(&c, &s->r);
  uint32_t waits = c.welcome.limits.waits, number = 0;
  struct tide_wire_record record = raw_command(TIDE_WIRE_FUTURE, 1, 1, 0);
  raw_push(&c, &record);
  for (int round = 0; round < 40; round++) {
    record = raw_command(TIDE_WIRE_PROMISE, 1, 1, (uint64_t)round + 1);
    raw_push(&c, &record);
    for (uint32_t i = 0; i < 2 * waits; i++) {
      record = raw_command(i % 2 ? TIDE_WIRE_COMPLETE : TIDE_WIRE_SCHEDULABLE, 1, 1,
                           (uint64_t)round + 1);
      record.command.answer = ++number;
      raw_push(&c, &record);
    }
    record = raw_command(TIDE_WIRE_FULFIL, 1, 1, (uint64_t)round + 1);
    raw_push(&c, &record);
    for (uint32_t i = 0; i < 200; i++) { /* answers at once, and refusals */
      record = raw_command(i % 2 ? TIDE_WIRE_STATE : TIDE_WIRE_FULFIL, 99, 1, 1);
      record.command.answer = i % 3 ? ++number : 0;
      raw_push(&c, &record);
    }
    if (round % 10 == 0) victim_goes_on(&s->v);
  }
  raw_close(&c);
}
TEST(a28_callbacks_that_nobody_reads) { survive("default refusals 1M", 4, never_reads); }

/* Answers with descriptors that nobody reads: the kernel keeps them open for it. */
static void hoard_descriptors(struct scene *s) {
  enum { CLIENTS = 8 };
  struct raw c[CLIENTS];
  struct holds before = attack_look(&s->r);
  for (int k = 0; k < CLIENTS; k++) {
    raw_connect(&c[k], &s->r);
    struct tide_wire_record record = raw_command(TIDE_WIRE_BUFFER, 1, 1, 4096);
    CHECK_OK(raw_ask(&c[k], &record));
    record = raw_command(TIDE_WIRE_GRANT, 1, 1, 0);
    record.command.answer = 1;
    raw_push(&c[k], &record);
    struct tide_wire_message answer = raw_hear(&c[k], TIDE_WIRE_ANSWER);
    for (uint32_t i = 0; i < 900; i++) {
      record = raw_command(TIDE_WIRE_REDEEM, 2 + i % 900, 1, 0);
      record.command.answer = 2 + i;
      record.command.text_size = 16;
      memcpy(record.bytes + sizeof record.command, answer.token, 16);
      raw_push(&c[k], &record);
    }
  }
  victim_goes_on(&s->v);
  struct holds now = attack_look(&s->r);
  if (now.descriptors - before.descriptors > CLIENTS * 40)
    FAIL("%u clients hold %u descriptors", CLIENTS, now.descriptors - before.descriptors);
  tide_session_close(rig_connect(&s->r, "another"));
  for (int k = 0; k < CLIENTS; k++) raw_close(&c[k]);
}
TEST(descriptors_that_nobody_reads) { survive("default refusals 1M", 3, hoard_descriptors); }

/* ---- release races wait (30) ---- */

static void count(void *user, enum tide_status status) {
  unsigned *calls = user;
  if (status == TIDE_OK) ++*calls;
}

/* Promises, and keeps, as fast as it can; says how far it is. */
static void releaser(const struct rig *r, int in, int out) {
  struct peer p;
  struct tide_token token;
  uint32_t rounds;
  peer_open(&p, r, 256);
  CHECK_OK(tide_session_grant(p.s, p.hosts, TIDE_RIGHT_WAIT, &token));
  rig_tell(out, &token, sizeof token);
  rig_hear(in, &rounds, sizeof rounds);
  for (uint32_t i = 0; i < rounds; i++) {
    struct tide_point point = peer_promise(&p, p.hosts);
    peer_sync(&p);
    rig_tell(out, "p", 1);
    CHECK_OK(tide_session_fulfil(p.s, point));
  }
  char order;
  rig_hear(in, &order, 1);
  tide_session_close(p.s);
}

static void race(struct scene *s) {
  struct rig_child child;
  struct tide_token token;
  struct peer p;
  uint32_t rounds = 2000 / test_slowdown();
  unsigned calls = 0, schedulable = 0;
  char word;
  rig_spawn(&child, releaser, &s->r);
  peer_open(&p, &s->r, 64);
  struct tide_point there;
  rig_hear(child.from, &token, sizeof token);
  CHECK_OK(tide_session_redeem(p.s, &token, &there));
  rig_tell(child.to, &rounds, sizeof rounds);
  for (uint32_t i = 0; i < rounds; i++) {
    rig_hear(child.from, &word, 1);
    there.value = i + 1;
    struct tide_point done = peer_promise(&p, p.line);
    CHECK_OK(tide_session_when_complete(p.s, there, count, &calls, NULL));
    peer_submit(&p, &there, &done);
    CHECK_OK(tide_session_when_schedulable(p.s, there, NULL, 0, count, &schedulable, NULL));
    CHECK_OK(tide_session_wait(p.s, there, rig_in(9000)));
    CHECK_OK(tide_session_wait(p.s, done, rig_in(9000)));
    while (calls <= i || schedulable <= i) CHECK_OK(tide_session_dispatch(p.s, rig_in(9000)));
    CHECK_EQ_U64(calls, i + 1);
    CHECK_EQ_U64(schedulable, i + 1);
  }
  CHECK_EQ_U64(tide_session_refusals(p.s), 0);
  rig_tell(child.to, "q", 1);
  rig_end(&child);
  tide_session_close(p.s);
}
TEST(a30_release_races_wait) { survive(NULL, 2, race); }

/* ---- quotas (31) ---- */

static void nothing(void *user, enum tide_status status) { (void)user, (void)status; }

/* One client takes all that it may of everything; the next one finds as much. */
static void take_all(struct tide_session *s, unsigned taken[7]) {
  struct tide_point points[512], object, parts[96], never;
  struct tide_token token;
  memset(taken, 0, 7 * sizeof *taken);
  struct tide_future_params params = {.struct_size = sizeof params, .capacity = 64};
  CHECK_OK(tide_session_create_future(s, &params, &points[0]));
  for (int i = 0; i < 64; i++)
    CHECK_OK(tide_session_promise(s, points[0], rig_in(9000), &parts[i]));
  never = parts[0];
  while (tide_session_create_channel(s, NULL, &object) == TIDE_OK) taken[0]++;
  while (taken[1] < 8 && tide_session_create_buffer(s, 4u << 20, &object) == TIDE_OK) taken[1]++;
  while (tide_session_grant(s, points[0], 0, &token) == TIDE_OK) taken[2]++;
  for (; taken[3] < 100; taken[3]++) { /* edges */
    uint64_t before = tide_session_refusals(s);
    if (tide_session_promise_compound(s, rig_in(9000), &object) != TIDE_OK) break;
    CHECK_OK(tide_session_all(s, object, parts, 40));
    CHECK_OK(tide_session_sync(s, rig_in(9000)));
    if (tide_session_refusals(s) != before) break;
  }
  while (tide_session_when_complete(s, never, nothing, NULL, NULL) == TIDE_OK && taken[4] < 100)
    taken[4]++;
  while (tide_session_create_future(s, &params, &object) == TIDE_OK) taken[5]++;
  while (taken[6] < 300 && tide_session_create_buffer(s, 1, &object) == TIDE_OK) taken[6]++;
}

static void takes_all(struct scene *s) {
  enum { CLIENTS = 12 };
  struct tide_session *some[CLIENTS];
  unsigned first[7], taken[7];
  for (int i = 0; i < CLIENTS; i++) {
    some[i] = rig_connect(&s->r, "greedy");
    take_all(some[i], i ? taken : first);
    if (i && memcmp(first, taken, sizeof taken) != 0)
      FAIL("client %d got %u %u %u %u %u %u %u, the first %u %u %u %u %u %u %u", i, taken[0],
           taken[1], taken[2], taken[3], taken[4], taken[5], taken[6], first[0], first[1], first[2],
           first[3], first[4], first[5], first[6]);
    victim_goes_on(&s->v);
  }
  for (int i = 0; i < CLIENTS; i++) tide_session_close(some[i]);
}
TEST(a31_one_exhausts_its_quota) { survive(NULL, 6, takes_all); }

/* ---- storms (32) ---- */

static void storm(const struct rig *r, int in, int out) {
  uint64_t seed = (uint64_t)getpid() * 0x9e3779b97f4a7c15ull;
  rig_tell(out, "r", 1);
  struct pollfd one = {.fd = in, .events = POLLIN};
  while (poll(&one, 1, 0) == 0) {
    seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
    int socket = tide_socket_connect(r->path, TIDE_FOREVER);
    if (socket < 0) continue;
    struct tide_wire_message hello;
    tide_wire_begin(&hello, TIDE_WIRE_HELLO);
    if (seed % 4) (void)!tide_message_send(socket, &hello, NULL, 0);
    if (seed % 3 == 0) { /* it hears the welcome, and goes in the middle of something */
      struct pollfd back = {.fd = socket, .events = POLLIN};
      int fds[TIDE_DESCRIPTORS_MOST];
      struct tide_wire_message welcome;
      poll(&back, 1, 100);
      if (tide_message_receive(socket, &welcome, fds, TIDE_DESCRIPTORS_MOST) == TIDE_OK)
        for (int i = 0; i < TIDE_DESCRIPTORS_MOST; i++)
          if (fds[i] >= 0) close(fds[i]);
    }
    close(socket);
  }
}

static void storms(struct scene *s) {
  struct rig_child child[3];
  char ready;
  for (int i = 0; i < 3; i++) {
    rig_spawn(&child[i], storm, &s->r);
    rig_hear(child[i].from, &ready, 1);
  }
  uint64_t until = rig_in(300);
  while (tide_service_now() < until) victim_goes_on(&s->v);
  for (int i = 0; i < 3; i++) {
    rig_tell(child[i].to, "q", 1); /* the later ones hold the pipes of the earlier, too */
    rig_end(&child[i]);
  }
  tide_session_close(rig_connect(&s->r, "after the storm"));
}
TEST(a32_connect_storm) { survive(NULL, 4, storms); }

/* The service has few descriptors left: who is there is served, who comes waits or is told, and
 * nothing spins. */
TEST(descriptors_run_out) {
  struct rig r;
  struct victim v;
  int sockets[60], opened = 0;
  rig_descriptors = 40;
  rig_open(&r, NULL);
  victim_start(&v, &r);
  for (; opened < 60; opened++)
    CHECK((sockets[opened] = tide_socket_connect(r.path, TIDE_FOREVER)) >= 0);
  victim_goes_on(&v);
  uint64_t cpu = attack_cpu(&r), rounds = victim_rounds(&v);
  CHECK(kill(v.child.pid, SIGSTOP) == 0);
  usleep(500000);
  /* Out of five hundred milliseconds; the victim did nothing. */
  if (attack_cpu(&r) - cpu > 200 * MS)
    FAIL("it spins: %lu ms", (unsigned long)((attack_cpu(&r) - cpu) / MS));
  CHECK(kill(v.child.pid, SIGCONT) == 0);
  CHECK(victim_rounds(&v) >= rounds);
  for (int i = 0; i < opened; i++) close(sockets[i]);
  victim_goes_on(&v);
  tide_session_close(rig_connect(&r, "after"));
  victim_end(&v);
  rig_close(&r);
}

/* Buffers of a byte: each costs a descriptor and a page, and no client may have so many that others
 * get none. */
TEST(buffers_of_a_byte) {
  struct rig r;
  struct victim v;
  struct tide_session *s[24];
  struct tide_point buffer;
  rig_descriptors = 1024;
  rig_open(&r, NULL);
  victim_start(&v, &r);
  for (int i = 0; i < 24; i++) {
    s[i] = rig_connect(&r, "greedy");
    for (int n = 0; n < 1000 && tide_session_create_buffer(s[i], 1, &buffer) == TIDE_OK; n++) {}
    victim_goes_on(&v);
  }
  tide_session_close(rig_connect(&r, "late"));
  for (int i = 0; i < 24; i++) tide_session_close(s[i]);
  victim_end(&v);
  rig_close(&r);
}

TEST_MAIN(CASE(a28_callbacks_that_nobody_reads), CASE(descriptors_that_nobody_reads),
          CASE(a30_release_races_wait), CASE(a31_one_exhausts_its_quota), CASE(a32_connect_storm),
          CASE(descriptors_run_out), CASE(buffers_of_a_byte))
