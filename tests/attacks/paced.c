/* Commands that are refused, without an end: who gives them is left alone for a while, and is
 * neither forgotten nor heard all the time. */
#include "attack_rig.h"

static struct tide_session_client_stats stats_of(struct tide_session *s, uint64_t number) {
  struct tide_session_client_stats stats;
  for (uint32_t i = 0; tide_session_client_stats(s, i, &stats) == TIDE_OK; i++)
    if (stats.client == number) return stats;
  FAIL("client %lu is gone", (unsigned long)number);
  return stats;
}

static void await_pace(struct tide_session *s, uint64_t number, uint64_t times) {
  for (int i = 0; i < 20000 && stats_of(s, number).paced < times; i++) usleep(1000);
  CHECK(stats_of(s, number).paced >= times);
}

/* Of what it has no name for. */
static void push_refused(struct raw *c, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    struct tide_wire_record record = raw_command(TIDE_WIRE_BREAK, 900, 1, 1);
    raw_push(c, &record);
  }
}

static struct tide_token grant_promise(struct raw *c) {
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

/* ---- a flood ---- */

static uint64_t paced_events, refused_events;
static void count_events(const struct tide_service_event *event) {
  paced_events += event->kind == TIDE_SERVICE_PACED;
  refused_events += event->kind == TIDE_SERVICE_REFUSED;
}
/* One line when it begins, however many commands it was. */
static int few_events(struct tide_service *service) {
  int left = left_of_clients(service);
  if (paced_events != 1 || refused_events > 8) {
    fprintf(stderr, "%lu events of pacing, %lu of refusals\n", (unsigned long)paced_events,
            (unsigned long)refused_events);
    return left + 1;
  }
  return left;
}

/* Its 500 commands are not all taken, its end is heard at once, and others get on. */
TEST(a_flood_of_refused_commands) {
  struct rig r;
  struct raw c;
  struct victim v;
  struct tide_point theirs;
  rig_on_event = count_events;
  rig_at_end = few_events;
  rig_open(&r, "default refusals 1");
  struct holds nobody = attack_nobody(&r);
  victim_start(&v, &r);
  struct tide_session *s = rig_connect(&r, "admin");
  raw_connect(&c, &r);
  struct tide_token token = grant_promise(&c);
  CHECK_OK(tide_session_redeem(s, &token, &theirs));
  theirs.value = 1;
  push_refused(&c, 500);
  await_pace(s, c.welcome.owner, 1);
  victim_goes_on(&v);
  struct tide_session_client_stats stats = stats_of(s, c.welcome.owner);
  CHECK(stats.refused >= 5 && stats.refused < 250);
  CHECK_STATUS(tide_session_query(s, theirs), TIDE_TIMEOUT);
  raw_close(&c);
  CHECK_STATUS(tide_session_wait(s, theirs, rig_in(9000)), TIDE_OWNER_DIED);
  victim_end(&v);
  tide_session_close(s);
  attack_settle(&r, nobody);
  rig_close(&r);
  rig_on_event = NULL;
  rig_at_end = NULL;
}

/* ---- its ring is read again ---- */

/* Until its ring is left alone, with so many commands left in it or fewer. */
static void push_until_paced(struct tide_session *admin, struct raw *c, uint32_t left) {
  uint64_t paced = stats_of(admin, c->welcome.owner).paced;
  for (int i = 0; i < 20000 && stats_of(admin, c->welcome.owner).paced == paced; i++)
    push_refused(c, left + 1);
  CHECK(stats_of(admin, c->welcome.owner).paced > paced);
}

static void comes_back(struct scene *s) {
  struct tide_session *admin = rig_connect(&s->r, "admin");
  struct raw c;
  raw_connect(&c, &s->r);
  /* What comes while it is paced is found behind other commands or alone, without a bell or with
   * many. */
  for (uint32_t round = 0; round < 4; round++) {
    push_until_paced(admin, &c, round & 1 ? 100 : 0);
    for (uint32_t i = 0; i < 50 * (round & 2); i++) raw_ring_bell(&c);
    struct tide_wire_record record = raw_command(TIDE_WIRE_SYNC, 0, 0, 0);
    CHECK_OK(raw_ask(&c, &record));
  }
  struct tide_session_client_stats stats = stats_of(admin, c.welcome.owner);
  CHECK_EQ_U64(stats.commands, stats.refused + 4);
  raw_close(&c);
  tide_session_close(admin);
}
TEST(who_is_paced_is_not_forgotten) { survive("default refusals 200", 3, comes_back); }

/* ---- its bell ---- */

static uint64_t sleeps_of(const struct rig *r) {
  char path[64], line[256];
  unsigned long sleeps = 0;
  snprintf(path, sizeof path, "/proc/%d/status", (int)r->server);
  FILE *file = fopen(path, "r");
  CHECK(file != NULL);
  while (fgets(line, sizeof line, file))
    (void)sscanf(line, "voluntary_ctxt_switches: %lu", &sleeps);
  fclose(file);
  return sleeps;
}

TEST(a_paced_bell_wakes_nobody) {
  struct rig r;
  struct raw c;
  rig_open(&r, "default refusals 1");
  struct tide_session *s = rig_connect(&r, "admin");
  raw_connect(&c, &r);
  push_refused(&c, 500);
  await_pace(s, c.welcome.owner, 1);
  uint64_t before = sleeps_of(&r);
  for (int i = 0; i < 2000; i++) {
    raw_ring_bell(&c);
    usleep(100);
  }
  CHECK(sleeps_of(&r) - before < 1000);
  raw_close(&c);
  tide_session_close(s);
  rig_close(&r);
}

/* ---- what nobody can help ---- */

TEST(what_nobody_can_help_counts_less) {
  struct rig r;
  struct raw c;
  rig_open(&r, "default refusals 4");
  struct tide_session *s = rig_connect(&r, "admin");
  raw_connect(&c, &r);
  struct tide_wire_record record = raw_command(TIDE_WIRE_FUTURE, 1, 1, 0);
  CHECK_OK(raw_ask(&c, &record));
  /* Sixteen of one's own fault are too many; these are four times that, less some. */
  for (uint64_t i = 0; i < 60; i++) {
    record = raw_command(i % 2 ? TIDE_WIRE_STATE : TIDE_WIRE_FUTURE, 1, 1, 5);
    CHECK_STATUS(raw_ask(&c, &record), i % 2 ? TIDE_NOT_FOUND : TIDE_BUSY);
  }
  CHECK_EQ_U64(stats_of(s, c.welcome.owner).paced, 0);
  push_refused(&c, 200);
  await_pace(s, c.welcome.owner, 1);
  /* To find the end of a list is no refusal at all. */
  for (uint32_t i = 0; i < 200; i++) (void)stats_of(s, c.welcome.owner);
  struct tide_session_client_stats none;
  for (uint32_t i = 0; i < 200; i++)
    CHECK_STATUS(tide_session_client_stats(s, 1000, &none), TIDE_NOT_FOUND);
  CHECK_OK(tide_session_client_stats(s, 0, &none));
  CHECK_EQ_U64(none.paced, 0);
  raw_close(&c);
  tide_session_close(s);
  rig_close(&r);
}

TEST_MAIN(CASE(a_flood_of_refused_commands), CASE(who_is_paced_is_not_forgotten),
          CASE(a_paced_bell_wakes_nobody), CASE(what_nobody_can_help_counts_less))
