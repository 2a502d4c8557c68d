/* Queues that end while others count on them: destroyed members of collectives, lost devices,
 * and destroyed timelines. */
#include "queue_setup.h"

struct more {
  struct state s;
  struct tide_collective *collective;
  struct tide_timeline *progress;
  struct tide_work *work;
  bool refused;
};

static void setup_collective(void *self) {
  struct more *m = self;
  setup_two(self);
  struct tide_queue *members[] = {m->s.queue, m->s.other};
  EXPECT_OK(tide_collective_create(members, 2, "both", &m->collective));
  m->progress = tide_collective_progress(m->collective);
  tide_timeline_retain(m->progress);
}
static void submit_part(struct more *m, size_t member) {
  struct state *s = &m->s;
  struct tide_operation part = {
      .label = "part", .body = &count, .arguments = &s, .arguments_size = sizeof s};
  enum tide_status status = tide_collective_submit(m->collective, member, 1, &part, NULL, NULL);
  EXPECT(status == TIDE_OK || status == TIDE_CANCELLED);
}
static void submit_first_part(void *self) { submit_part(self, 0); }
static void submit_second_part(void *self) { submit_part(self, 1); }
static void both_ran(void *self) {
  struct more *m = self;
  EXPECT(m->s.bodies == 2 && tide_timeline_query(m->progress) == 1);
}
static void destroy_second(void *self) {
  struct more *m = self;
  tide_queue_destroy(m->s.other);
}
/* The instance ends one way or the other: nobody hangs. */
static void submit_and_await(void *self) {
  struct more *m = self;
  submit_part(self, 0);
  enum tide_status status = tide_timeline_wait(m->progress, 1, TIDE_FOREVER);
  EXPECT(status == TIDE_CANCELLED);
}

/* ---- a lost device ---- */

static void setup_out(void *self) {
  struct more *m = self;
  setup(self);
  submit(&m->s, m->s.queue, NULL, m->s.lines[0]);
  EXPECT(tide_device_exchange(m->s.device, NULL, 0, &m->work, 1, NULL) == 1);
}
static void hand_back(void *self) {
  struct more *m = self;
  tide_device_exchange(m->s.device, &m->work, 1, NULL, 0, NULL);
}
static void lose(void *self) {
  struct more *m = self;
  tide_device_lose(m->s.device, TIDE_LOST);
  tide_device_certify(m->s.device);
}
static void wait_or_lost(void *self) {
  struct more *m = self;
  enum tide_status status = tide_timeline_wait(m->s.lines[0], 1, TIDE_FOREVER);
  EXPECT(status == TIDE_OK || status == TIDE_LOST);
}
static void submit_or_lost(void *self) {
  struct more *m = self;
  struct tide_signal signal = {m->s.lines[1], 1, false};
  struct tide_operation operation = {.label = "late", .signals = &signal, .signal_count = 1};
  enum tide_status status = tide_queue_submit(m->s.queue, &operation, NULL, NULL);
  EXPECT(status == TIDE_OK || status == TIDE_LOST);
  m->refused = status != TIDE_OK;
}
static void tear_down(void *self) {
  struct more *m = self;
  tide_queue_destroy(m->s.queue);
  EXPECT_OK(tide_device_settle(m->s.device, TIDE_NOW + 1));
  tide_device_close(m->s.device);
}

/* What was taken fails: it does not stay for ever. */
static void lost_or_refused(void *self) {
  struct more *m = self;
  EXPECT(m->refused || tide_timeline_status(m->s.lines[1]) == TIDE_LOST);
  tear_down(self);
}

/* ---- a destroyed timeline, and a queue that others wait for ---- */

static void destroy_line(void *self) {
  struct more *m = self;
  tide_timeline_destroy(m->s.lines[0]);
}
static void setup_progress(void *self) {
  struct more *m = self;
  setup_two(self);
  m->s.to_do = 1;
  m->progress = tide_queue_progress(m->s.other);
  tide_timeline_retain(m->progress);
  EXPECT(!m->s.cancelled);
}
/* Held, for nobody has promised it; then its queue goes. */
static void submit_behind_progress(void *self) {
  struct more *m = self;
  submit(&m->s, m->s.queue, m->progress, m->s.lines[0]);
}
static void wait_or_cancelled(void *self) {
  struct more *m = self;
  enum tide_status status = tide_timeline_wait(m->s.lines[0], 1, TIDE_FOREVER);
  EXPECT(status == TIDE_CANCELLED);
}

#define END(name, stale_most, how, at_end, ...)                                                    \
  TEST(name) {                                                                                     \
    static const struct interleave_case one = {.size = sizeof(struct more),                        \
                                               .setup = how,                                       \
                                               .threads = {__VA_ARGS__},                           \
                                               .check = at_end,                                    \
                                               .stale = stale_most};                               \
    interleave_explore(&one);                                                                      \
  }

END(collective, 0, setup_collective, both_ran, submit_first_part, submit_second_part, work)
END(collective_loses_member, 0, setup_collective, NULL, submit_and_await, destroy_second)
END(lose_hand_back, 1, setup_out, tear_down, lose, hand_back, wait_or_lost)
END(lose_submit, 1, setup_out, lost_or_refused, lose, submit_or_lost)
END(destroy_line_complete, 1, setup_out, tear_down, destroy_line, hand_back)
END(destroy_awaited_queue, 0, setup_progress, NULL, submit_behind_progress, destroy_second,
    wait_or_cancelled)
TEST_MAIN(CASE(collective), CASE(collective_loses_member), CASE(lose_hand_back), CASE(lose_submit),
          CASE(destroy_line_complete), CASE(destroy_awaited_queue))
