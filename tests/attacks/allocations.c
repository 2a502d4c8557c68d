/* Every allocation of every call of the service fails once, in turn: of its allocator, of shared
 * memory, of descriptors. The client whose call it is is told; the others see nothing of it, and
 * nothing is left of those that go. */
#include "attack_rig.h"
#include "attacks/failing.h"

static const char small[] =
    "clients 8\ndefault handles 64 timelines 16 promises 256 channels 4 "
    "operations 16 waits 16 parts 32 grants 8 buffers 8 cells 64 refusals 1M "
    "speaks 7\ntrust 7\n";

/* ---- a client that uses every call, whatever the last one said ---- */

struct user {
  struct tide_session *s;
  struct tide_point hosts, gates, channel, line, buffer;
  unsigned called;
};

static void count_call(void *user, enum tide_status status) {
  (void)status;
  ++*(unsigned *)user;
}

static unsigned failures; /* of calls, and refusals, in one life */
static const char *last_failure;
#define called(call) note(call, #call)
static void note(enum tide_status status, const char *call) {
  failures += status != TIDE_OK;
  if (status != TIDE_OK) last_failure = call;
}

static struct tide_session *connect_once(const struct rig *r, const char *label) {
  struct tide_session_params params = {
      .struct_size = sizeof params, .socket = r->path, .label = label, .deadline = rig_in(20000)};
  struct tide_session *s = NULL;
  enum tide_status status = tide_session_connect(&params, &s, NULL);
  CHECK(status != TIDE_TIMEOUT);
  return status == TIDE_OK ? s : NULL;
}

static void make_objects(struct user *u) {
  struct tide_session_channel_params channel = {
      .struct_size = sizeof channel, .label = "channel", .operations = 16};
  called(tide_session_create_future(u->s, NULL, &u->hosts));
  called(tide_session_create_future(u->s, NULL, &u->gates));
  called(tide_session_create_channel(u->s, &channel, &u->channel));
  called(tide_session_create_channel_future(u->s, u->channel, NULL, &u->line));
  called(tide_session_create_buffer(u->s, 4096, &u->buffer));
  called(tide_session_trust(u->s, 7));
}

static void use_points(struct user *a, struct user *b) {
  struct tide_token tokens[2] = {{{0}}};
  struct tide_point point = a->hosts, all, any, expression, near, theirs = {0}, window = {0};
  called(tide_session_promise(a->s, a->hosts, rig_in(9000), &point));
  called(tide_session_grant(a->s, a->hosts, TIDE_RIGHT_WAIT, &tokens[0]));
  called(tide_session_grant(a->s, a->buffer, TIDE_RIGHT_WRITE, &tokens[1]));
  called(tide_session_redeem(b->s, &tokens[0], &theirs));
  called(tide_session_redeem(b->s, &tokens[1], &window));
  theirs.value = point.value;
  called(tide_session_when_complete(b->s, theirs, count_call, &b->called, NULL));
  called(tide_session_when_schedulable(b->s, theirs, NULL, 0, count_call, &b->called, NULL));
  called(tide_session_promise_compound(a->s, rig_in(9000), &all));
  called(tide_session_promise_compound(a->s, rig_in(9000), &any));
  called(tide_session_promise_compound(a->s, rig_in(9000), &expression));
  called(tide_session_all(a->s, all, &point, 1));
  called(tide_session_any(a->s, any, (struct tide_point[]){point, all}, 2));
  called(tide_session_expression(a->s, expression, "(0&1)|1", 7, (struct tide_point[]){point, any},
                                 2, NULL));
  called(tide_session_stand_in(a->s, 7, rig_in(9000), &near));
  called(tide_session_report(a->s, near, TIDE_POINT_RETIRED, TIDE_OK));
  called(tide_session_sync(a->s, rig_in(20000)));
  called(tide_session_fulfil(a->s, point));
  called(tide_session_promise(a->s, a->hosts, rig_in(9000), &point));
  called(tide_session_break(a->s, point, TIDE_IO));
  called(tide_session_destroy(b->s, window));
}

static void use_channel(struct user *u) {
  struct tide_point never = u->gates, device = u->line, host = u->hosts, gate = u->gates,
                    done = u->line, buffer, cancel;
  struct tide_session_argument iota[] = {attack_range(u->buffer, 0, 2048), attack_number(5)};
  called(tide_session_promise(u->s, u->gates, rig_in(9000), &gate));
  called(tide_session_promise(u->s, u->hosts, rig_in(9000), &host));
  called(tide_session_promise(u->s, u->gates, rig_in(9000), &never));
  called(tide_session_promise(u->s, u->line, rig_in(9000), &device));
  called(tide_session_promise(u->s, u->line, rig_in(9000), &done));
  struct tide_session_operation write = {.body = TIDE_SESSION_IOTA,
                                         .arguments = iota,
                                         .argument_count = 2,
                                         .waits = &gate,
                                         .wait_count = 1,
                                         .choose = &gate,
                                         .cancel = &never,

                                         .flags = TIDE_MAY_BE_PASSED,
                                         .retires = &done,
                                         .retire_count = 1};
  enum tide_status allocated =
      tide_session_allocate(u->s, u->channel, 8192, &device, &host, &buffer);
  enum tide_status submitted = tide_session_submit(u->s, u->channel, &write);
  called(tide_session_increase_priority_until(u->s, u->channel, done, 12));
  called(tide_session_decrease_priority_until(u->s, u->channel, gate, 2, &cancel));
  called(tide_session_cancel_decrease(u->s, cancel));
  called(tide_session_decrease_priority_until(u->s, u->channel, gate, 3, &cancel));
  called(tide_session_cancel_priority_decreases(u->s, u->channel));
  called(tide_session_sync(u->s, rig_in(20000)));
  enum tide_status fulfilled = tide_session_fulfil(u->s, gate);
  /* What was taken ends before its deadline, whatever failed. */
  if (tide_session_sync(u->s, rig_in(20000)) != TIDE_OK || fulfilled != TIDE_OK) return;
  if (submitted == TIDE_OK) CHECK(tide_session_wait(u->s, done, rig_in(5000)) != TIDE_TIMEOUT);
  if (allocated == TIDE_OK) CHECK(tide_session_wait(u->s, device, rig_in(5000)) != TIDE_TIMEOUT);
}

static void look_around(struct user *u) {
  struct tide_session_client_stats client = {0};
  struct tide_session_channel_stats channel;
  struct tide_session_timeline_stats timeline;
  char text[256];
  size_t length;
  uint32_t place = 0;
  called(tide_session_client_stats(u->s, 0, &client));
  called(tide_session_channel_stats(u->s, client.client, 0, &channel));
  called(tide_session_timeline_stats(u->s, client.client, &place, &timeline));
  called(tide_session_diagnose(u->s, text, sizeof text, &length));
}

/* Two clients come, do all of it, and go. */
static void whole_life(const struct rig *r) {
  failures = 0;
  last_failure = "a refusal";
  struct user a = {.s = connect_once(r, "a")}, b = {.s = connect_once(r, "b")};
  if (a.s) make_objects(&a);
  if (b.s) make_objects(&b);
  if (a.s && b.s) use_points(&a, &b);
  if (a.s) use_channel(&a);
  if (b.s) look_around(&b);
  while (b.s && tide_session_dispatch(b.s, TIDE_NOW) == TIDE_OK) continue;
  failures += !a.s || tide_session_refusals(a.s) || !b.s || tide_session_refusals(b.s);
  tide_session_close(a.s);
  tide_session_close(b.s);
}

/* ---- the service lives ---- */

/* Nothing of those who went is held any more: by the allocator, or of descriptors and mappings. */
static void settle(const struct rig *r, struct holds before, int64_t held) {
  for (int i = 0; i < 1000 && failing_held() != held; i++) usleep(1000 * test_slowdown());
  if (failing_held() != held) FAIL("%ld allocations more are held", (long)(failing_held() - held));
  attack_settle(r, before);
}

static void check_every_call(void (*arm)(uint64_t nth)) {
  struct rig r;
  struct victim v;
  uint64_t n = 0;
  const char *failed;
  failing_share();
  rig_allocator = failing_allocator();
  rig_at_end = left_of_clients;
  rig_open(&r, small);
  struct holds nobody = attack_nobody(&r);
  victim_prepare(&v, &r, "victim");
  victim_round(&v);
  struct holds before = attack_look(&r);
  whole_life(&r); /* tables that stay have grown */
  attack_settle(&r, before);
  int64_t held = failing_held();
  failing_watch(r.server);
  do {
    arm(++n);
    whole_life(&r);
    failed = failing_disarm();
    if (waitpid(r.server, NULL, WNOHANG) != 0)
      FAIL("the service died of %s %lu", failed ? failed : "nothing", (unsigned long)n);
    victim_round(&v);
    settle(&r, before, held);
  } while (failed);
  /* Nothing failed in the last life, and every call did what it is for. */
  if (failures) FAIL("%u calls failed, the last: %s", failures, last_failure);
  CHECK(n > 100);
  failing_watch(0);
  tide_session_close(v.s);
  attack_settle(&r, nobody);
  rig_close(&r);
}

TEST(every_allocation_of_every_call_may_fail) { check_every_call(failing_arm); }
TEST(memory_may_end_at_every_call) { check_every_call(failing_arm_for_good); }

/* The same of the client's own process: its calls say so, and the service knows nothing of it. */
TEST(every_allocation_of_a_session_may_fail) {
  struct rig r;
  uint64_t n = 0;
  const char *failed;
  failing_share();
  rig_at_end = left_of_clients;
  rig_open(&r, small);
  struct holds nobody = attack_nobody(&r);
  failing_watch(getpid());
  do {
    unsigned descriptors = attack_entries(getpid(), "fd");
    failing_arm(++n);
    whole_life(&r);
    failed = failing_disarm();
    CHECK_EQ_U64(attack_entries(getpid(), "fd"), descriptors);
    attack_settle(&r, nobody);
  } while (failed);
  if (failures) FAIL("%u calls failed, the last: %s", failures, last_failure);
  CHECK(n > 10);
  failing_watch(0);
  if (rig_leaks()) FAIL("the sessions have left memory behind");
  rig_close(&r);
}

/* ---- less than its quotas ---- */

/* Takes buffers of this size while there are some; NULL: the client is not let in. */
static struct tide_session *hoard(const struct rig *r) {
  static const uint64_t sizes[] = {8u << 20, 1u << 20, 300000, 40000, 4096};
  struct tide_session *s = connect_once(r, "hoarder");
  struct tide_point buffer;
  for (unsigned i = 0; s && i < sizeof sizes / sizeof *sizes; i++)
    while (tide_session_create_buffer(s, sizes[i], &buffer) == TIDE_OK) continue;
  return s;
}

/* Clients use their quotas up, and the process may have less than these come to: it refuses. */
TEST(the_address_space_runs_out) {
  enum { CLIENTS = 60 };
  struct rig r;
  struct victim v;
  struct tide_session *hoarders[CLIENTS];
  unsigned refused = 0;
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
  SKIP("the sanitizer's own address space is larger than any limit");
#endif
  rig_address_space = 1u << 30;
  rig_at_end = left_of_clients;
  rig_open(&r, "default buffers 256");
  struct holds nobody = attack_nobody(&r);
  victim_prepare(&v, &r, "victim");
  victim_round(&v);
  struct holds before = attack_look(&r);
  for (unsigned i = 0; i < CLIENTS; i++) {
    hoarders[i] = hoard(&r);
    refused += !hoarders[i];
    CHECK(waitpid(r.server, NULL, WNOHANG) == 0);
  }
  CHECK(refused > 0);
  CHECK_OK(tide_session_sync(v.s, rig_in(9000)));
  for (unsigned i = 0; i < CLIENTS; i++) tide_session_close(hoarders[i]);
  attack_settle(&r, before);
  victim_round(&v);
  tide_session_close(rig_connect(&r, "after"));
  tide_session_close(v.s);
  attack_settle(&r, nobody);
  rig_close(&r);
}

/* ---- it does not begin to live ---- */

TEST(every_allocation_of_its_making_may_fail) {
  char folder[] = "/tmp/tidemark-test-XXXXXX", path[64];
  CHECK(mkdtemp(folder) != NULL);
  snprintf(path, sizeof path, "%s/socket", folder);
  failing_share();
  struct tide_service_params params = {.struct_size = sizeof params,
                                       .socket = path,
                                       .policy = small,
                                       .policy_length = strlen(small),
                                       .workers = 1,
                                       .allocator = failing_allocator()};
  failing_watch(getpid());
  const char *failed;
  uint64_t n = 0;
  do {
    struct tide_service *service = NULL;
    struct tide_diag diag = {.status = TIDE_OK};
    failing_arm(++n);
    enum tide_status status = tide_service_create(&params, &service, &diag);
    failed = failing_disarm();
    if (status != TIDE_OK) CHECK(failed && !service && diag.text[0]);
    tide_service_destroy(service);
    CHECK_EQ_U64((uint64_t)failing_held(), 0);
    CHECK(access(path, F_OK) != 0);
  } while (failed);
  CHECK(n > 20);
  rmdir(folder);
}

TEST_MAIN(CASE_SECONDS(every_allocation_of_every_call_may_fail, 120),
          CASE_SECONDS(memory_may_end_at_every_call, 120),
          CASE(every_allocation_of_a_session_may_fail), CASE(the_address_space_runs_out),
          CASE(every_allocation_of_its_making_may_fail))
