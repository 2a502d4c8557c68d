/* Data of another process, by way of the service: it writes to a buffer, and keeps a promise for
 * each message; here each end is told to a timeline, whose values are tags. Who loads knows nothing
 * of that. The process is killed before its last message. */
#include "service_rig.h"
#include "tidemark/tidemark.h"

#include <pthread.h>

enum { MESSAGES = 4, WORDS = 1024, BYTES = WORDS * 4 };

struct gift {
  struct tide_token timeline, buffer;
};

static uint32_t word(uint32_t message, uint32_t i) { return (message + 1) * 65536 + i; }

/* The other process: a message each time that it is told to. */
static void producer(const struct rig *r, int in, int out) {
  struct tide_session *s = rig_connect(r, "producer");
  struct tide_point line, buffer, points[MESSAGES];
  struct gift gift;
  CHECK_OK(tide_session_create_future(s, NULL, &line));
  CHECK_OK(tide_session_create_buffer(s, MESSAGES * BYTES, &buffer));
  for (int i = 0; i < MESSAGES; i++)
    CHECK_OK(tide_session_promise(s, line, rig_in(20000), &points[i]));
  CHECK_OK(tide_session_grant(s, line, TIDE_RIGHT_WAIT, &gift.timeline));
  CHECK_OK(tide_session_grant(s, buffer, TIDE_RIGHT_READ, &gift.buffer));
  rig_tell(out, &gift, sizeof gift);
  uint32_t *words = tide_session_buffer_data(s, buffer, NULL);
  for (uint32_t m = 0;; m++) {
    char go;
    rig_hear(in, &go, 1);
    for (uint32_t i = 0; i < WORDS / (m == MESSAGES - 1 ? 2 : 1); i++)
      words[m * WORDS + i] = word(m, i);
    if (m == MESSAGES - 1) raise(SIGKILL);
    CHECK_OK(tide_session_fulfil(s, points[m]));
  }
}

struct consumer {
  struct tide_medium *medium;
  struct tide_timeline *line; /* the one that the tag is of */
  struct tide_request request;
  pthread_t thread;
  uint32_t number;
  bool whole, zeros;
  enum tide_status status;
};

static void *consume(void *argument) {
  struct consumer *c = argument;
  const volatile uint32_t *words = c->request.data;
  c->whole = c->zeros = true;
  for (uint32_t i = 0; i < WORDS; i++) {
    c->whole &= words[i] == word(c->number, i);
    c->zeros &= words[i] == 0;
  }
  c->status = tide_request_finish(c->medium, &c->request, NULL);
  return NULL;
}

/* What the service says of a point becomes of its tag. */
static uint32_t told;
static void tell(void *user, enum tide_status status) {
  struct consumer *c = user;
  if (status == TIDE_OK) CHECK_OK(tide_timeline_signal_external(c->line, 1));
  else tide_timeline_fail(c->line, status);
  told++;
}

static void exchange(enum tide_medium_engine engine) {
  struct rig r;
  struct rig_child child;
  struct gift gift;
  struct tide_context *context;
  struct tide_medium *medium;
  struct tide_medium_params params = {.struct_size = sizeof params, .engine = engine, .pages = 32};
  struct consumer consumers[MESSAGES] = {{.medium = NULL}};
  int status;
  rig_open(&r, NULL);
  rig_spawn(&child, producer, &r);
  CHECK_OK(tide_context_create(NULL, &context));
  enum tide_status made = tide_medium_create(context, &params, &medium);
  struct tide_session *s = rig_connect(&r, "consumer");
  struct tide_point line, buffer;
  rig_hear(child.from, &gift, sizeof gift);
  CHECK_OK(tide_session_redeem(s, &gift.timeline, &line));
  CHECK_OK(tide_session_redeem(s, &gift.buffer, &buffer));
  const char *data = tide_session_buffer_data(s, buffer, NULL);
  CHECK(data != NULL);
  told = 0;
  for (uint32_t m = 0; made == TIDE_OK && m < MESSAGES; m++) {
    struct consumer *c = &consumers[m];
    CHECK_OK(tide_timeline_create(context, NULL, &c->line));
    c->medium = medium;
    c->number = m;
    c->request = (struct tide_request){
        .bytes = BYTES, .tags = {{c->line, 1}}, .tag_count = 1, .source = data + m * BYTES};
    CHECK_OK(tide_medium_request(medium, &c->request, 1));
    line.value = m + 1;
    CHECK_OK(tide_session_when_complete(s, line, tell, c, NULL));
    CHECK(pthread_create(&c->thread, NULL, consume, c) == 0);
  }
  for (uint32_t m = 0; m < MESSAGES; m++) {
    rig_tell(child.to, "+", 1);
    while (made == TIDE_OK && told <= m) CHECK_OK(tide_session_dispatch(s, rig_in(10000)));
  }
  CHECK(waitpid(child.pid, &status, 0) == child.pid);
  CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
  for (uint32_t m = 0; made == TIDE_OK && m < MESSAGES; m++) {
    CHECK(pthread_join(consumers[m].thread, NULL) == 0);
    bool last = m == MESSAGES - 1;
    CHECK_STATUS(consumers[m].status, last ? TIDE_OWNER_DIED : TIDE_OK);
    CHECK(last ? consumers[m].zeros : consumers[m].whole);
    tide_timeline_destroy(consumers[m].line);
  }
  tide_session_close(s);
  if (made == TIDE_OK) tide_medium_destroy(medium);
  tide_context_destroy(context);
  close(child.to);
  close(child.from);
  rig_close(&r);
  if (made == TIDE_DENIED || made == TIDE_UNSUPPORTED) SKIP("no userfaultfd for us");
  CHECK_OK(made);
}

TEST(direct) { exchange(TIDE_MEDIUM_DIRECT); }
TEST(monitor) { exchange(TIDE_MEDIUM_MONITOR); }
TEST(fibers) { exchange(TIDE_MEDIUM_FIBERS); }

TEST_MAIN(CASE_SECONDS(direct, 60), CASE_SECONDS(monitor, 60), CASE_SECONDS(fibers, 60))
