/* Attacks that are on nobody's list. */
#include "attack_rig.h"
#include "timeline/shared_layout.h"

#include <linux/futex.h>
#include <sys/syscall.h>

/* Names of compounds come back when they are given up, however often. */
TEST(names_of_compounds_come_back) {
  struct rig r;
  struct victim v;
  rig_open(&r, NULL);
  victim_prepare(&v, &r, "long");
  for (int i = 0; i < 1500; i++) victim_round(&v);
  tide_session_close(v.s);
  rig_close(&r);
}

/* ---- the memory of others ---- */

/* Who was granted a timeline has the values of its owner, to read. It may move whoever sleeps on
 * them to sleep elsewhere, where nobody wakes them; they look again by themselves. */
static void mover(const struct rig *r, int in, int out) {
  struct raw c;
  struct tide_token tokens[2];
  uint32_t *elsewhere = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  CHECK(elsewhere != MAP_FAILED);
  raw_connect(&c, r);
  rig_hear(in, tokens, sizeof tokens);
  struct tide_wire_record record = raw_command(TIDE_WIRE_REDEEM, 1, 1, 0);
  record.command.text_size = 16;
  record.command.answer = 1;
  memcpy(record.bytes + sizeof record.command, &tokens[0], 16);
  raw_push(&c, &record);
  struct tide_wire_message answer;
  int fds[TIDE_DESCRIPTORS_MOST] = {-1, -1, -1, -1};
  struct pollfd back = {.fd = c.socket, .events = POLLIN};
  CHECK(poll(&back, 1, 20000) == 1);
  CHECK_OK(tide_message_receive(c.socket, &answer, fds, TIDE_DESCRIPTORS_MOST));
  CHECK_OK((enum tide_status)answer.status);
  size_t size = tide_values_bytes((uint32_t)answer.value);
  CHECK(mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fds[0], 0) == MAP_FAILED);
  void *memory = mmap(NULL, size, PROT_READ, MAP_SHARED, fds[0], 0);
  struct tide_values values;
  CHECK(memory != MAP_FAILED);
  CHECK_OK(tide_values_attach(&values, memory, (uint32_t)answer.value, false));
  CHECK(mprotect(memory, size, PROT_READ | PROT_WRITE) != 0);
  CHECK(fallocate(fds[0], FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4096) != 0);
  CHECK(madvise(memory, size, MADV_REMOVE) != 0);
  close(fds[0]);
  rig_tell(out, "r", 1);
  struct pollfd one = {.fd = in, .events = POLLIN};
  while (poll(&one, 1, 0) == 0)
    for (uint32_t i = 0; i < answer.value; i++)
      syscall(SYS_futex, &tide_shared_slot_of(&values.shared, i)->word, FUTEX_REQUEUE, 0,
              (void *)(uintptr_t)64, elsewhere, 0);
  munmap(memory, size);
  raw_close(&c);
}

static void move_sleepers(struct scene *s) {
  struct tide_token tokens[2];
  struct rig_child child;
  char ready;
  rig_spawn(&child, mover, &s->r);
  rig_tell(s->v.child.to, "t", 1);
  rig_hear(s->v.child.from, tokens, sizeof tokens);
  rig_tell(child.to, tokens, sizeof tokens);
  rig_hear(child.from, &ready, 1);
  for (int i = 0; i < 5; i++) victim_goes_on(&s->v);
  rig_tell(child.to, "q", 1);
  rig_end(&child);
}
TEST(sleepers_are_moved) { survive("default grants 1024", 3, move_sleepers); }

/* ---- one's own memory, after the end ---- */

/* Buffers whose names are gone are charged as long as queued commands hold them, and cost no
 * descriptors; when their maker is gone, too, they end with its commands. */
static void hide_buffers(struct scene *s) {
  struct peer p, holder;
  struct tide_token token;
  struct tide_point there, buffer;
  unsigned made = 0;
  peer_open(&holder, &s->r, 16);
  struct tide_point gate = peer_promise(&holder, holder.hosts);
  CHECK_OK(tide_session_grant(holder.s, holder.hosts, TIDE_RIGHT_WAIT, &token));
  peer_sync(&holder);
  struct holds before = attack_look(&s->r);
  peer_open(&p, &s->r, 256);
  CHECK_OK(tide_session_redeem(p.s, &token, &there));
  there.value = gate.value;
  for (; made < 200; made++) {
    if (tide_session_create_buffer(p.s, 1 << 20, &buffer) != TIDE_OK) break;
    struct tide_session_argument fill[] = {attack_range(buffer, 0, 1 << 20), attack_number(1)};
    struct tide_session_operation o = {.body = TIDE_SESSION_FILL,
                                       .arguments = fill,
                                       .argument_count = 2,
                                       .waits = &there,
                                       .wait_count = 1};
    CHECK_OK(tide_session_submit(p.s, p.channel, &o));
    CHECK_OK(tide_session_destroy(p.s, buffer));
    peer_sync(&p);
  }
  CHECK_EQ_U64(made, 64); /* the quota, of buffers and of bytes */
  CHECK(attack_look(&s->r).descriptors <= before.descriptors + 4);
  victim_goes_on(&s->v);
  if (s->times % 2) { /* what it had queued ends; then it may have new ones */
    CHECK_OK(tide_session_fulfil(holder.s, gate));
    while (tide_session_channel_over(p.s, p.channel) < made) usleep(1000);
    peer_sync(&p);
    CHECK_OK(tide_session_create_buffer(p.s, 1 << 20, &buffer));
  }
  tide_session_close(p.s);
  tide_session_close(holder.s);
}
TEST(buffers_without_a_name) { survive(NULL, 4, hide_buffers); }

/* Comes, queues what cannot run yet, and goes, again and again: what it leaves behind is bounded,
 * and so are the descriptors for it. */
static void leave_behind(struct scene *s) {
  struct peer holder;
  struct tide_token token;
  struct holds before = attack_look(&s->r);
  peer_open(&holder, &s->r, 16);
  struct tide_point gate = peer_promise(&holder, holder.hosts);
  CHECK_OK(tide_session_grant(holder.s, holder.hosts, TIDE_RIGHT_WAIT, &token));
  peer_sync(&holder);
  for (unsigned i = 0; i < 200 / test_slowdown(); i++) {
    struct tide_session *session = rig_connect(&s->r, "leaver");
    struct tide_point there, channel, line, promise, buffer;
    CHECK_OK(tide_session_redeem(session, &token, &there));
    there.value = gate.value;
    CHECK_OK(tide_session_create_buffer(session, 1 << 20, &buffer));
    for (int k = 0; k < 12; k++) {
      CHECK_OK(tide_session_create_channel(session, NULL, &channel));
      CHECK_OK(tide_session_create_channel_future(session, channel, NULL, &line));
      CHECK_OK(tide_session_promise(session, line, 0, &promise));
      struct tide_session_argument fill[] = {attack_range(buffer, 0, 1 << 20), attack_number(1)};
      struct tide_session_operation o = {.body = TIDE_SESSION_FILL,
                                         .arguments = fill,
                                         .argument_count = 2,
                                         .waits = &there,
                                         .wait_count = 1,
                                         .retires = &promise,
                                         .retire_count = 1};
      CHECK_OK(tide_session_submit(session, channel, &o));
    }
    CHECK_OK(tide_session_sync(session, rig_in(9000)));
    tide_session_close(session);
    if (i % 50 == 0) victim_goes_on(&s->v);
  }
  CHECK(attack_look(&s->r).descriptors <= before.descriptors + 10); /* two clients, a buffer each */
  victim_goes_on(&s->v);
  tide_session_close(holder.s);
}
TEST(much_is_left_behind) { survive(NULL, 3, leave_behind); }

/* The same with many timelines: who comes new finds room all the same. */
static void leave_timelines(struct scene *s) {
  struct peer holder;
  struct tide_token token;
  peer_open(&holder, &s->r, 16);
  struct tide_point gate = peer_promise(&holder, holder.hosts);
  CHECK_OK(tide_session_grant(holder.s, holder.hosts, TIDE_RIGHT_WAIT, &token));
  peer_sync(&holder);
  for (unsigned i = 0; i < 40; i++) {
    struct tide_session *session = rig_connect(&s->r, "leaver");
    struct tide_point there, channel, line, promises[60];
    CHECK_OK(tide_session_redeem(session, &token, &there));
    there.value = gate.value;
    CHECK_OK(tide_session_create_channel(session, NULL, &channel));
    for (int k = 0; k < 60; k++) {
      CHECK_OK(tide_session_create_channel_future(session, channel, NULL, &line));
      CHECK_OK(tide_session_promise(session, line, 0, &promises[k]));
    }
    for (int k = 0; k < 60; k += 30) {
      struct tide_session_operation o = {
          .waits = &there, .wait_count = 1, .retires = promises + k, .retire_count = 30};
      CHECK_OK(tide_session_submit(session, channel, &o));
    }
    CHECK_OK(tide_session_sync(session, rig_in(9000)));
    CHECK_EQ_U64(tide_session_refusals(session), 0);
    tide_session_close(session);
  }
  struct tide_session *honest = rig_connect(&s->r, "honest");
  struct tide_point timeline;
  for (int i = 0; i < 60; i++) CHECK_OK(tide_session_create_future(honest, NULL, &timeline));
  tide_session_close(honest);
  tide_session_close(holder.s);
}
TEST(many_timelines_are_left_behind) {
  survive("clients 8\ndefault timelines 64 channels 2", 3, leave_timelines);
}

/* ---- what goes together is destroyed in every order ---- */

static void orders(struct scene *s) {
  for (unsigned order = 0; order < 24; order++) {
    struct raw c;
    raw_connect(&c, &s->r);
    struct tide_wire_record record = raw_command(TIDE_WIRE_CHANNEL, 1, 1, 16);
    raw_push(&c, &record);
    record = raw_command(TIDE_WIRE_FUTURE, 2, 1, 0);
    record.command.other = (struct tide_wire_name){1, 1};
    raw_push(&c, &record);
    record = raw_command(TIDE_WIRE_BUFFER, 3, 1, 4096);
    raw_push(&c, &record);
    record = raw_command(TIDE_WIRE_COMPOUND, 4, 1, 0);
    raw_push(&c, &record);
    record = raw_command(TIDE_WIRE_PROMISE, 2, 1, 1);
    raw_push(&c, &record);
    record = raw_command(TIDE_WIRE_ALL, 4, 1, 0);
    raw_add_point(&record, 2, 1, 1);
    raw_push(&c, &record);
    record = raw_command(TIDE_WIRE_COMPLETE, 4, 1, 1);
    record.command.answer = 1000;
    raw_push(&c, &record);
    record = raw_command(TIDE_WIRE_SUBMIT, 1, 1, 0);
    raw_add_point(&record, 2, 1, 1);
    record.command.wait_count = 0;
    record.command.retire_count = 1;
    if (order % 2) raw_push(&c, &record);
    unsigned left = order;
    uint32_t handles[4] = {1, 2, 3, 4};
    for (unsigned n = 4; n > 0; n--) {
      unsigned at = left % n;
      left /= n;
      record = raw_command(TIDE_WIRE_DESTROY, handles[at], 1, 0);
      raw_push(&c, &record);
      handles[at] = handles[n - 1];
      /* All of them are spoken of after that, also those that are gone. */
      for (uint32_t handle = 1; handle < 5; handle++) {
        record = raw_command(TIDE_WIRE_PROMISE, handle, 1, 2);
        raw_push(&c, &record);
        record = raw_command(TIDE_WIRE_SUBMIT, handle, 1, 0);
        raw_add_point(&record, 4, 1, 1);
        raw_push(&c, &record);
        record = raw_command(TIDE_WIRE_STATE, handle, 1, 1);
        record.command.answer = 5;
        raw_push(&c, &record);
        record = raw_command(TIDE_WIRE_INCREASE, handle, 1, 0);
        raw_add_point(&record, 2, 1, 1);
        raw_push(&c, &record);
      }
    }
    record = raw_command(TIDE_WIRE_SYNC, 0, 0, 0);
    record.command.answer = 6;
    raw_push(&c, &record);
    while (raw_hear(&c, TIDE_WIRE_ANSWER).answer != 6) {}
    raw_close(&c);
  }
}
TEST(destroyed_in_every_order) { survive("default refusals 1M", 4, orders); }

/* ---- forks of a client ---- */

/* A client forks, and both halves use the session: they ruin each other's ring, and nothing else.
 */
static void half(const struct rig *r, int in, int out) {
  struct tide_session *session = rig_connect(r, "halves");
  struct tide_point timeline, point;
  CHECK_OK(tide_session_create_future(session, NULL, &timeline));
  fflush(NULL);
  pid_t other = fork();
  CHECK(other >= 0);
  for (int i = 0; i < 200; i++) {
    if (tide_session_promise(session, timeline, 0, &point) != TIDE_OK) break;
    if (tide_session_fulfil(session, point) != TIDE_OK) break;
  }
  if (other == 0) _exit(0);
  waitpid(other, NULL, 0);
  rig_tell(out, "r", 1);
  (void)in;
  _exit(0);
}
static void forks(struct scene *s) {
  struct rig_child child;
  char ready;
  rig_spawn(&child, half, &s->r);
  rig_hear(child.from, &ready, 1);
  victim_goes_on(&s->v);
  rig_end(&child);
}
TEST(a_client_forks) { survive(NULL, 4, forks); }

/* ---- speaking for another domain ---- */

/* A stand-in is reported again and again, otherwise, with nonsense; a compound of one's own is
 * reported, which is none. */
static void reports(struct scene *s) {
  struct raw c;
  uint32_t states[] = {
      0, TIDE_POINT_PROMISED, TIDE_POINT_SCHEDULED, TIDE_POINT_BROKEN, TIDE_POINT_RETIRED,
      5, UINT32_MAX};
  uint64_t causes[] = {TIDE_OK,           TIDE_TIMEOUT, TIDE_BUSY, TIDE_FAILED,
                       TIDE_STATUS_COUNT, UINT64_MAX,   1ull << 32};
  raw_connect(&c, &s->r);
  for (uint32_t round = 0; round < 7; round++) {
    struct tide_wire_record record = raw_command(TIDE_WIRE_STAND_IN, 1 + round, 1, 0);
    record.command.number = 7;
    CHECK_OK(raw_ask(&c, &record));
    record.command.object.handle = 100 + round; /* the name of a broken point from here on */
    record.command.number = 8;
    CHECK_STATUS(raw_ask(&c, &record), TIDE_DENIED);
    record = raw_command(TIDE_WIRE_COMPOUND, 50 + round, 1, 0);
    CHECK_OK(raw_ask(&c, &record));
    for (uint32_t i = 0; i < 49; i++) {
      uint32_t at = (i + round * 8) % 49;
      record = raw_command(TIDE_WIRE_REPORT, 1 + round, 1, causes[at % 7]);
      record.command.number = states[at / 7];
      enum tide_status status = raw_ask(&c, &record);
      CHECK(causes[at % 7] == TIDE_OK || causes[at % 7] == TIDE_FAILED || status == TIDE_INVALID);
      record.command.object.handle = 50 + round;
      (void)!raw_ask(&c, &record);
    }
    record = raw_command(TIDE_WIRE_STATE, 50 + round, 1, 1);
    record.command.answer = 1;
    raw_push(&c, &record);
    CHECK(raw_hear(&c, TIDE_WIRE_ANSWER).state != TIDE_POINT_RETIRED);
  }
  raw_close(&c);
}
TEST(reports_of_nonsense) { survive("default speaks 7 refusals 1M\ntrust 7", 3, reports); }

TEST_MAIN(CASE(names_of_compounds_come_back), CASE(sleepers_are_moved),
          CASE(buffers_without_a_name), CASE(much_is_left_behind),
          CASE(many_timelines_are_left_behind), CASE(destroyed_in_every_order),
          CASE(a_client_forks), CASE(reports_of_nonsense))
