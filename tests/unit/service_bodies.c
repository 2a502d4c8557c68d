/* Bodies that the owner of a service plugs in, and how they are checked. */
#include "service_rig.h"

/* out = the first byte of `from` (0: none given) + step, in every byte. */
static enum tide_status body_spread(void *arguments) {
  const struct tide_argument *a = arguments;
  int64_t byte = a[1].integer + (a[2].size ? *(const unsigned char *)a[2].data : 0);
  memset(a[0].data, (int)(byte & 255), a[0].size);
  return TIDE_OK;
}

static const struct tide_param spread[] = {{"out", TIDE_PARAM_OUT, false, 0},
                                           {"step", TIDE_PARAM_INTEGER, true, 40},
                                           {"from", TIDE_PARAM_IN, true, 0}};
static const struct tide_body spread_body = {
    {.name = "spread", .host = body_spread}, spread, 3, "spreads a byte"};
static enum tide_status body_say(void *arguments) {
  return (enum tide_status)((const struct tide_argument *)arguments)->integer;
}
static const struct tide_param say[] = {{"status", TIDE_PARAM_INTEGER, false, 0}};
static const struct tide_body say_body = {{.name = "say", .host = body_say}, say, 1, "says so"};
static const struct tide_body_set say_set = {&say_body, 1};
static const struct tide_body_set spread_set = {&spread_body, 1}, no_bodies = {NULL, 0};

struct stage {
  struct tide_session *s;
  struct tide_point channel, line, buffer;
  unsigned char *bytes;
};

static void stage_open(struct stage *t, const struct rig *r) {
  t->s = rig_connect(r, "bodies");
  CHECK_OK(tide_session_create_channel(t->s, NULL, &t->channel));
  CHECK_OK(tide_session_create_channel_future(t->s, t->channel, NULL, &t->line));
  CHECK_OK(tide_session_create_buffer(t->s, 64, &t->buffer));
  t->bytes = tide_session_buffer_data(t->s, t->buffer, NULL);
  CHECK(t->bytes != NULL);
}

/* Submits the body and returns the status of the point that the command was to retire. */
static enum tide_status outcome(struct stage *t, uint32_t body,
                                const struct tide_session_argument *arguments, size_t count) {
  struct tide_point done;
  CHECK_OK(tide_session_promise(t->s, t->line, 0, &done));
  struct tide_session_operation o = {.flags = TIDE_RECOVER | TIDE_DESPITE_BROKEN,
                                     .body = body,
                                     .arguments = arguments,
                                     .argument_count = count,
                                     .retires = &done,
                                     .retire_count = 1};
  CHECK_OK(tide_session_submit(t->s, t->channel, &o));
  return tide_session_wait(t->s, done, rig_in(5000));
}

static struct tide_session_argument range(struct stage *t, uint64_t offset, uint64_t size) {
  return (struct tide_session_argument){.buffer = t->buffer, .offset = offset, .size = size};
}

TEST(a_plugged_in_body_gets_what_its_parameters_say) {
  struct rig r;
  struct stage t;
  rig_bodies = &spread_set;
  rig_open(&r, NULL);
  stage_open(&t, &r);
  struct tide_session_argument all[] = {range(&t, 0, 8), {.offset = 2}, range(&t, 63, 1)};
  struct tide_session_argument swapped[] = {{.offset = 2}, range(&t, 0, 8)};
  t.bytes[63] = 5;
  CHECK_OK(outcome(&t, TIDE_SESSION_BODIES, all, 3));
  CHECK_EQ_U64(t.bytes[0], 7);
  CHECK_EQ_U64(t.bytes[7], 7);
  CHECK_EQ_U64(t.bytes[8], 0);
  CHECK_OK(outcome(&t, TIDE_SESSION_BODIES, all, 2));
  CHECK_EQ_U64(t.bytes[0], 2);
  CHECK_OK(outcome(&t, TIDE_SESSION_BODIES, all, 1)); /* the fallback */
  CHECK_EQ_U64(t.bytes[0], 40);
  CHECK_STATUS(outcome(&t, TIDE_SESSION_BODIES, all, 0), TIDE_INVALID);
  CHECK_STATUS(outcome(&t, TIDE_SESSION_BODIES, swapped, 2), TIDE_INVALID);
  CHECK_STATUS(outcome(&t, TIDE_SESSION_BODIES + 1, all, 1), TIDE_INVALID); /* there is one */
  struct tide_session_operation beyond = {.body = TIDE_SESSION_BODIES_MAX};
  CHECK_STATUS(tide_session_submit(t.s, t.channel, &beyond), TIDE_INVALID);
  tide_session_close(t.s);
  rig_close(&r);
}

TEST(without_a_table_a_service_has_its_own_bodies) {
  struct rig r;
  struct stage t;
  rig_bodies = &no_bodies;
  rig_open(&r, NULL);
  stage_open(&t, &r);
  struct tide_session_argument both[] = {range(&t, 0, 8), range(&t, 8, 8)};
  struct tide_session_argument uneven[] = {range(&t, 0, 8), range(&t, 8, 7)};
  t.bytes[3] = 9;
  CHECK_OK(outcome(&t, TIDE_SESSION_COPY, both, 2));
  CHECK_EQ_U64(t.bytes[11], 9);
  CHECK_STATUS(outcome(&t, TIDE_SESSION_COPY, uneven, 2), TIDE_INVALID);
  CHECK_STATUS(outcome(&t, TIDE_SESSION_COPY, both, 1), TIDE_INVALID);
  CHECK_OK(outcome(&t, TIDE_SESSION_FLUSH, both, 2));
  CHECK_OK(outcome(&t, TIDE_SESSION_NOTHING, NULL, 0));
  CHECK_STATUS(outcome(&t, TIDE_SESSION_BODIES, NULL, 0), TIDE_INVALID);
  tide_session_close(t.s);
  rig_close(&r);
}

/* Some statuses say "not yet" of a point: as the end of one they would leave its waiters asleep. */
TEST(a_body_that_failed_has_ended) {
  const struct {
    enum tide_status said, heard;
  } ends[] = {{TIDE_OK, TIDE_OK},
              {TIDE_TIMEOUT, TIDE_INVALID},
              {TIDE_BUSY, TIDE_INVALID},
              {TIDE_TIMED_OUT, TIDE_TIMED_OUT},
              {TIDE_IO, TIDE_IO}};
  struct rig r;
  struct stage t;
  rig_bodies = &say_set;
  rig_open(&r, NULL);
  stage_open(&t, &r);
  for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
    struct tide_session_argument status = {.offset = (uint64_t)ends[i].said};
    CHECK_STATUS(outcome(&t, TIDE_SESSION_BODIES, &status, 1), ends[i].heard);
  }
  tide_session_close(t.s);
  rig_close(&r);
}

/* TIDE_INVALID, and the diagnosis names `word`. */
static void refuses(const struct tide_body *body, size_t count, const char *word) {
  struct tide_body_set set = {body, count};
  struct tide_service_params params = {
      .struct_size = sizeof params, .socket = "/nowhere/socket", .bodies = &set};
  struct tide_service *service;
  struct tide_diag diag = {.status = TIDE_OK};
  CHECK_STATUS(tide_service_create(&params, &service, &diag), TIDE_INVALID);
  if (!strstr(diag.text, word)) FAIL("'%s' does not name '%s'", diag.text, word);
}

TEST(a_body_that_no_client_could_call_is_refused) {
  const struct tide_param file = {"file", TIDE_PARAM_FILE, false, 0};
  const struct tide_param text = {"text", TIDE_PARAM_TEXT, false, 0};
  const struct tide_param late[] = {{"maybe", TIDE_PARAM_INTEGER, true, 0},
                                    {"surely", TIDE_PARAM_INTEGER, false, 0}};
  const struct tide_param nine[9] = {0};
  static struct tide_body many[TIDE_SESSION_BODIES_MAX];
  struct tide_body body = spread_body;
  body.params = &file;
  body.param_count = 1;
  refuses(&body, 1, "'file'");
  body.params = &text;
  refuses(&body, 1, "'text'");
  body.params = late;
  body.param_count = 2;
  refuses(&body, 1, "'surely'");
  body.params = nine;
  body.param_count = 9;
  refuses(&body, 1, "9 came");
  body = spread_body;
  body.class_.host = NULL;
  refuses(&body, 1, "no function");
  body = spread_body;
  body.class_.name = NULL;
  refuses(&body, 1, "no name");
  for (size_t i = 0; i < TIDE_SESSION_BODIES_MAX; i++) many[i] = spread_body;
  refuses(many, TIDE_SESSION_BODIES_MAX - TIDE_SESSION_BODIES + 1, "254 came");
}

TEST_MAIN(CASE(a_plugged_in_body_gets_what_its_parameters_say),
          CASE(without_a_table_a_service_has_its_own_bodies), CASE(a_body_that_failed_has_ended),
          CASE(a_body_that_no_client_could_call_is_refused))
