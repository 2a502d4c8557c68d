/* Clients that hang up and leave their rings full: what is in them is run, in its turn and at the
 * pace of the uid. */
#include "attack_rig.h"

#include <sys/stat.h>
#include <sys/un.h>

enum { LEAVERS = 4, LEFT_BEHIND = 1000 };

/* ---- in its turn ---- */

/* A promise, and a token for its timeline. */
static struct tide_token promise_one(struct raw *c) {
  struct tide_token token;
  struct tide_wire_record record = raw_command(TIDE_WIRE_FUTURE, 1, 1, 0);
  CHECK_OK(raw_ask(c, &record));
  record = raw_command(TIDE_WIRE_PROMISE, 1, 1, 1);
  record.command.deadline = TIDE_FOREVER;
  CHECK_OK(raw_ask(c, &record));
  record = raw_command(TIDE_WIRE_GRANT, 1, 1, 0);
  record.command.answer = 1;
  raw_push(c, &record);
  struct tide_wire_message answer = raw_hear(c, TIDE_WIRE_ANSWER);
  memcpy(token.bytes, answer.token, sizeof token.bytes);
  return token;
}

static void redeem(struct raw *c, uint32_t handle, const struct tide_token *token) {
  struct tide_wire_record record = raw_command(TIDE_WIRE_REDEEM, handle, 1, 0);
  record.command.text_size = sizeof token->bytes;
  memcpy(record.bytes + sizeof record.command, token->bytes, sizeof token->bytes);
  CHECK_OK(raw_ask(c, &record));
}

static void push_many(struct raw *c, enum tide_wire_op op, uint32_t handle, unsigned count) {
  for (unsigned i = 0; i < count; i++) {
    struct tide_wire_record record = raw_command(op, handle, 1, 1);
    raw_push(c, &record);
  }
}

/* Fills its ring, keeps its promise with the last command, and goes. */
static void leave_full(struct raw *c) {
  push_many(c, TIDE_WIRE_SYNC, 0, LEFT_BEHIND);
  push_many(c, TIDE_WIRE_FULFIL, 1, 1);
  raw_close(c);
}

/* All of them have gone, and one who stays has asked, when the service looks. */
TEST(a_full_ring_is_read_in_rounds) {
  struct rig r;
  struct raw leavers[LEAVERS], client;
  struct tide_token tokens[LEAVERS];
  struct tide_point points[LEAVERS];
  rig_at_end = left_of_clients;
  rig_open(&r, NULL);
  struct holds nobody = attack_nobody(&r);
  raw_connect(&client, &r);
  struct tide_session *waiter = rig_connect(&r, "waiter");
  for (uint32_t i = 0; i < LEAVERS; i++) {
    raw_connect(&leavers[i], &r);
    tokens[i] = promise_one(&leavers[i]);
    redeem(&client, i + 1, &tokens[i]);
    CHECK_OK(tide_session_redeem(waiter, &tokens[i], &points[i]));
    points[i].value = 1;
  }
  CHECK(kill(r.server, SIGSTOP) == 0);
  for (uint32_t i = 0; i < LEAVERS; i++) leave_full(&leavers[i]);
  for (uint32_t i = 0; i < LEAVERS; i++) {
    struct tide_wire_record record = raw_command(TIDE_WIRE_STATE, i + 1, 1, 1);
    record.command.answer = i + 1;
    raw_push(&client, &record);
  }
  CHECK(kill(r.server, SIGCONT) == 0);
  for (uint32_t i = 0; i < LEAVERS; i++) {
    struct tide_wire_message answer = raw_hear(&client, TIDE_WIRE_ANSWER);
    CHECK_OK((enum tide_status)answer.status);
    /* A thousand commands are sixteen rounds. */
    if (answer.state == TIDE_POINT_RETIRED) FAIL("the asker waited for a ring that was left");
  }
  /* All that they had given is run. */
  for (uint32_t i = 0; i < LEAVERS; i++)
    CHECK_OK(tide_session_wait(waiter, points[i], rig_in(9000)));
  tide_session_close(waiter);
  raw_close(&client);
  attack_settle(&r, nobody);
  rig_close(&r);
}

/* Another process may have the ring, too: what is written after the hang-up is not waited for. */
TEST(a_ring_that_is_still_written) {
  struct rig r;
  struct raw c;
  rig_at_end = left_of_clients;
  rig_open(&r, NULL);
  struct holds nobody = attack_nobody(&r);
  raw_connect(&c, &r);
  push_many(&c, TIDE_WIRE_SYNC, 0, 10);
  close(c.socket);
  uint64_t until = rig_in(20000);
  while (attack_look(&r).descriptors > nobody.descriptors) {
    struct tide_wire_record record = raw_command(TIDE_WIRE_SYNC, 0, 0, 0);
    bool asleep;
    for (int i = 0; i < 1000; i++) (void)!tide_ring_write(&c.ring, &record, &asleep);
    if (tide_service_now() > until) FAIL("the service still reads the ring");
  }
  close(c.bell);
  tide_mapping_close(&c.ring_memory);
  tide_mapping_close(&c.values);
  rig_close(&r);
}

/* Those that leave take no place: as many come as may, and wait for the room if they must. */
TEST(those_that_leave_take_no_place) {
  enum { PLACES = 4, TIMES = 10 };
  struct rig r;
  struct raw c[PLACES];
  rig_at_end = left_of_clients;
  rig_open(&r, "default connections 4");
  struct holds nobody = attack_nobody(&r);
  for (int time = 0; time < TIMES; time++) {
    for (int i = 0; i < PLACES; i++)
      if (!raw_try(&c[i], &r)) FAIL("no place in round %d", time);
    CHECK(kill(r.server, SIGSTOP) == 0);
    for (int i = 0; i < PLACES; i++) {
      push_many(&c[i], TIDE_WIRE_SYNC, 0, LEFT_BEHIND);
      raw_close(&c[i]);
    }
    CHECK(kill(r.server, SIGCONT) == 0);
  }
  attack_settle(&r, nobody);
  rig_close(&r);
}

/* Freed memory is overwritten, so that its use shows without a sanitizer, too. */
static void *poison_alloc(void *self, size_t size, size_t align) {
  const struct tide_allocator *system = tide_allocator_system();
  (void)self;
  return system->alloc(system->self, size, align);
}
static void poison_free(void *self, void *memory, size_t size) {
  const struct tide_allocator *system = tide_allocator_system();
  (void)self;
  if (memory) memset(memory, 0xa5, size);
  system->free(system->self, memory, size);
}
static const struct tide_allocator poison = {.alloc = poison_alloc, .free = poison_free};

/* The service finds the hang-ups while it accepts a connection of the same uid: all clients of the
 * uid end at once, since their rings are broken. */
TEST(the_last_clients_end_at_an_accept) {
  enum { PLACES = 4 };
  struct rig r;
  struct raw c[PLACES];
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  rig_at_end = left_of_clients;
  rig_allocator = &poison;
  rig_open(&r, "default connections 4");
  struct holds nobody = attack_nobody(&r);
  snprintf(address.sun_path, sizeof address.sun_path, "%s", r.path);
  for (int time = 0; time < 5; time++) {
    for (int i = 0; i < PLACES; i++) raw_connect(&c[i], &r);
    CHECK(kill(r.server, SIGSTOP) == 0);
    for (int i = 0; i < PLACES; i++)
      tide_store_ordered(&c[i].ring.shared->written, (uint64_t)1 << 40);
    int last = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    CHECK(last >= 0 && connect(last, (struct sockaddr *)&address, sizeof address) == 0);
    for (int i = 0; i < PLACES; i++) raw_close(&c[i]);
    CHECK(kill(r.server, SIGCONT) == 0);
    attack_settle(&r, (struct holds){nobody.descriptors + 1, nobody.mappings, nobody.threads, 0});
    close(last);
    attack_settle(&r, nobody);
  }
  rig_close(&r);
  rig_allocator = NULL;
}

/* ---- what they leave behind ---- */

/* Defines as many compounds of the held point as the policy allows. */
static void define_all(struct tide_session *s, struct tide_point held, int count) {
  struct tide_point compound;
  for (int i = 0; i < count; i++) {
    CHECK_OK(tide_session_promise_compound(s, rig_in(60000), &compound));
    CHECK_OK(tide_session_all(s, compound, &held, 1));
  }
  CHECK_OK(tide_session_sync(s, rig_in(60000)));
  CHECK_EQ_U64(tide_session_refusals(s), 0);
}

static void leave_compounds(const char *policy, int count) {
  struct rig r;
  struct tide_token token;
  struct tide_point gate, held;
  rig_at_end = left_of_clients;
  rig_open(&r, policy);
  struct holds nobody = attack_nobody(&r);
  struct tide_session *keeper = rig_connect(&r, "keeper"), *honest = rig_connect(&r, "honest");
  CHECK_OK(tide_session_stand_in(keeper, 7, rig_in(60000), &gate));
  CHECK_OK(tide_session_report(keeper, gate, TIDE_POINT_SCHEDULED, TIDE_OK)); /* it may take long */
  CHECK_OK(tide_session_grant(keeper, gate, TIDE_RIGHT_WAIT, &token));
  for (int i = 0; i < 12; i++) {
    struct tide_session *leaver = rig_connect(&r, "leaver");
    CHECK_OK(tide_session_redeem(leaver, &token, &held));
    held.value = gate.value;
    define_all(leaver, held, count);
    tide_session_close(leaver);
  }
  CHECK_OK(tide_session_redeem(honest, &token, &held));
  held.value = gate.value;
  define_all(honest, held, count);
  CHECK_STATUS(tide_session_query(honest, held), TIDE_TIMEOUT);
  tide_session_close(honest);
  tide_session_close(keeper);
  attack_settle(&r, nobody);
  rig_close(&r);
}

/* Compounds of clients that have gone wait for a point that stays open. They take neither the parts
 * nor the timelines of those that are there, and refuse no new client. */
TEST(compounds_left_behind_take_no_quota) {
  leave_compounds("clients 3\ntrust 7\ndefault speaks 7 timelines 16 parts 8", 8);
  leave_compounds("clients 3\ntrust 7\ndefault speaks 7 timelines 8 channels 0 parts 1024", 7);
}

/* A command that a client leaves behind runs, however many compounds others have left. */
TEST(compounds_left_behind_cancel_no_command) {
  enum { EACH = 15, TIMES = 4 }; /* more than a quarter of all timelines, less than a half */
  struct rig r;
  struct tide_token token;
  struct tide_point stays, held, timeline, gate, there;
  rig_at_end = left_of_clients;
  rig_open(&r, "clients 3\ntrust 7\ndefault speaks 7 timelines 16 channels 1 parts 256");
  struct holds nobody = attack_nobody(&r);
  struct tide_session *keeper = rig_connect(&r, "keeper");
  CHECK_OK(tide_session_stand_in(keeper, 7, rig_in(60000), &stays));
  CHECK_OK(tide_session_report(keeper, stays, TIDE_POINT_SCHEDULED, TIDE_OK));
  CHECK_OK(tide_session_grant(keeper, stays, TIDE_RIGHT_WAIT, &token));
  for (int i = 0; i < TIMES; i++) {
    struct tide_session *leaver = rig_connect(&r, "leaver");
    CHECK_OK(tide_session_redeem(leaver, &token, &held));
    held.value = stays.value;
    define_all(leaver, held, EACH);
    tide_session_close(leaver);
  }
  CHECK_OK(tide_session_create_future(keeper, NULL, &timeline));
  CHECK_OK(tide_session_promise(keeper, timeline, rig_in(60000), &gate));
  struct peer keeper_peer = {.s = keeper}, gone, *left = &gone;
  peer_open(left, &r, 4);
  there = peer_pass(&keeper_peer, left, gate);
  struct tide_point kept = peer_promise(left, left->line);
  peer_submit(left, &there, &kept);
  held = peer_pass(left, &keeper_peer, kept);
  tide_session_close(left->s);
  struct tide_session_client_stats stats;
  while (tide_session_client_stats(keeper, 1, &stats) == TIDE_OK) usleep(1000);
  for (int i = 0; i < 20; i++) { /* the service looks at what is left */
    CHECK_OK(tide_session_sync(keeper, rig_in(60000)));
    usleep(1000);
  }
  CHECK_OK(tide_session_fulfil(keeper, gate));
  CHECK_OK(tide_session_wait(keeper, held, rig_in(60000)));
  tide_session_close(keeper);
  attack_settle(&r, nobody);
  rig_close(&r);
}

/* ---- beside other uids ---- */

enum { CROWD = 50, STRANGER = 65534 };

/* Pairs of commands that take long and leave nothing. */
static void fill_ring(struct raw *c) {
  for (uint32_t i = 1;; i++) {
    struct tide_wire_record make = raw_command(TIDE_WIRE_FUTURE, 1, i, 0);
    struct tide_wire_record destroy = raw_command(TIDE_WIRE_DESTROY, 1, i, 0);
    bool asleep;
    make.command.number = 65536;
    if (tide_ring_write(&c->ring, &make, &asleep) != TIDE_OK) return;
    if (tide_ring_write(&c->ring, &destroy, &asleep) != TIDE_OK) return;
  }
}

static void crowd_main(const struct rig *r, int in, int out) {
  struct raw c[CROWD];
  char order = 0;
  if (setgid(STRANGER) != 0 || setuid(STRANGER) != 0) _exit(7);
  for (int i = 0; i < CROWD; i++) raw_connect(&c[i], r);
  rig_tell(out, &order, 1);
  rig_hear(in, &order, 1); /* the service stands still */
  for (int i = 0; i < CROWD; i++) fill_ring(&c[i]);
  for (int i = 0; i < CROWD; i++) raw_close(&c[i]);
  rig_tell(out, &order, 1);
}

/* All that may leave is one uid's, none of it drained or paced: the clients of another uid get in.
 */
TEST(the_rings_of_one_uid_keep_no_other_out) {
  struct rig r;
  struct rig_child crowd;
  struct raw c;
  char order = 0;
  if (geteuid() != 0) SKIP("another uid can be taken by root alone");
  rig_at_end = NULL; /* rings may still be read */
  rig_open(&r, "clients 64\ndefault promises 65536");
  CHECK(chmod(r.folder, 0711) == 0);
  tide_session_close(rig_connect(&r, "first"));
  rig_spawn(&crowd, crowd_main, &r);
  rig_hear(crowd.from, &order, 1);
  CHECK(kill(r.server, SIGSTOP) == 0);
  rig_tell(crowd.to, &order, 1);
  rig_hear(crowd.from, &order, 1);
  CHECK(kill(r.server, SIGCONT) == 0);
  for (int i = 0; i < 4; i++) { /* none of them waits five seconds for its welcome */
    raw_connect(&c, &r);
    struct tide_wire_record record = raw_command(TIDE_WIRE_SYNC, 0, 0, 0);
    CHECK_OK(raw_ask(&c, &record));
    raw_close(&c);
  }
  rig_end(&crowd);
  rig_close(&r);
}

/* ---- at the pace of the uid ---- */

enum { COMERS = 12, REFUSED = 200 };

static uint64_t commands, paced_events, refused_events;
static void count_events(const struct tide_service_event *event) {
  bool is_raw = !event->label[0];
  if (event->kind == TIDE_SERVICE_GONE && is_raw) commands += event->sequence;
  paced_events += event->kind == TIDE_SERVICE_PACED;
  refused_events += event->kind == TIDE_SERVICE_REFUSED;
}

/* Eight a second are their pace, thirty-two at once; each connection has one before it is paced. */
static int few_commands(struct tide_service *service) {
  int left = left_of_clients(service);
  if (commands < COMERS * REFUSED / 4 && paced_events <= 3 && refused_events < 200) return left;
  fprintf(stderr, "%lu commands, told of %lu refusals and %lu times of the pace\n",
          (unsigned long)commands, (unsigned long)refused_events, (unsigned long)paced_events);
  return left + 1;
}

/* To hang up, and to come again, buys no budget; a client of the uid that is not refused is served
 * as ever. */
TEST(the_pace_outlives_the_connection) {
  struct rig r;
  struct victim v;
  rig_on_event = count_events;
  rig_at_end = few_commands;
  rig_open(&r, "default refusals 8");
  struct holds nobody = attack_nobody(&r);
  victim_start(&v, &r);
  for (int i = 0; i < COMERS; i++) {
    struct raw c;
    raw_connect(&c, &r);
    push_many(&c, TIDE_WIRE_BREAK, 900, REFUSED);
    raw_close(&c);
    victim_goes_on(&v);
  }
  victim_end(&v);
  attack_settle(&r, nobody);
  rig_close(&r);
  rig_on_event = NULL;
}

/* The times at which the raw clients have gone, and how many commands of theirs were taken. */
static uint64_t gone_at[2], taken[2];
static uint32_t gone;
static void note_gone(const struct tide_service_event *event) {
  if (event->kind != TIDE_SERVICE_GONE || event->label[0] || gone == 2) return;
  taken[gone] = event->sequence;
  gone_at[gone++] = event->time;
}

/* A new budget would be 32 commands more than the pace of eight a second allows. */
static int no_new_budget(struct tide_service *service) {
  int left = left_of_clients(service);
  uint64_t allowed = 8 * (gone_at[1] - gone_at[0]) / (1000 * MS) + 16;
  if (gone == 2 && taken[0] >= 32 && taken[1] <= allowed) return left;
  fprintf(stderr, "%lu commands, then %lu of %lu\n", (unsigned long)taken[0],
          (unsigned long)taken[1], (unsigned long)allowed);
  return left + 1;
}

/* There is a while in which the uid has no connection at all. */
TEST(the_pace_outlives_the_last_connection) {
  struct rig r;
  rig_on_event = note_gone;
  rig_at_end = no_new_budget;
  rig_open(&r, "default refusals 8");
  struct holds nobody = attack_nobody(&r);
  for (int i = 0; i < 2; i++) {
    struct raw c;
    raw_connect(&c, &r);
    push_many(&c, TIDE_WIRE_BREAK, 900, REFUSED);
    raw_close(&c);
    attack_settle(&r, nobody);
  }
  rig_close(&r);
  rig_on_event = NULL;
}

TEST_MAIN(CASE(a_full_ring_is_read_in_rounds), CASE(a_ring_that_is_still_written),
          CASE(those_that_leave_take_no_place), CASE(the_last_clients_end_at_an_accept),
          CASE(compounds_left_behind_take_no_quota), CASE(compounds_left_behind_cancel_no_command),
          CASE(the_rings_of_one_uid_keep_no_other_out), CASE(the_pace_outlives_the_connection),
          CASE(the_pace_outlives_the_last_connection))
