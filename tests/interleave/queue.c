/* Queues: submit against completion, signal, cancel, drain and the end of everything. */
#include "queue_setup.h"

#include "sched/delegation.h"

/* ---- submit and completion ---- */

static void submit_one(void *self) {
  struct state *s = self;
  submit(s, s->queue, NULL, s->lines[0]);
}
static void wait_for_it(void *self) {
  struct state *s = self;
  EXPECT_OK(tide_timeline_wait(s->lines[0], 1, TIDE_FOREVER));
  EXPECT(s->bodies == 1);
}
/* Once the value is there, the tracker knows. */
static void look_for_it(void *self) {
  struct state *s = self;
  if (!tide_timeline_query(s->lines[0])) return;
  EXPECT(tide_tracker_finished(s->context->tracker, tide_queue_axis(s->queue), 1));
}
static void submit_after_host(void *self) {
  struct state *s = self;
  submit(s, s->queue, s->host, s->lines[0]);
}
static void signal_host(void *self) {
  struct state *s = self;
  EXPECT_OK(tide_timeline_signal(s->host, 1, NULL));
}
static void submit_second(void *self) {
  struct state *s = self;
  submit(s, s->other, s->lines[0], s->lines[1]);
}
static void one_ran(void *self) {
  struct state *s = self;
  EXPECT(s->bodies == 1 && tide_timeline_query(s->lines[0]) == 1);
}
static void two_ran(void *self) {
  struct state *s = self;
  EXPECT(s->bodies == 2 && tide_timeline_query(s->lines[1]) == 1);
}

/* A backend that takes several non-blocking operations at once, and is called only when it found
 * none. */
static const struct tide_body_class quick = {.name = "quick", .host = body, .non_blocking = true};

static void setup_sequential(void *self) {
  struct state *s = self;
  setup(self);
  ((struct tide_backend *)(uintptr_t)tide_device_backend(s->device))->sequential = true;
  s->to_do = 2;
}
static void submit_quick(struct state *s, int line) {
  struct tide_signal signal = {s->lines[line], 1, false};
  struct tide_operation operation = {.signals = &signal,
                                     .signal_count = 1,
                                     .body = &quick,
                                     .arguments = &s,
                                     .arguments_size = sizeof s};
  EXPECT_OK(tide_queue_submit(s->queue, &operation, NULL, NULL));
}
static void submit_first_quick(void *self) { submit_quick(self, 0); }
static void submit_second_quick(void *self) { submit_quick(self, 1); }
static void work_in_turn(void *self) {
  struct state *s = self;
  const struct tide_platform *platform = s->context->platform;
  struct tide_work *work[2];
  size_t got = 0;
  for (unsigned left = s->to_do; left > 0 || got > 0;) {
    uint32_t kicks = tide_load_acquire(&s->kicks);
    got = tide_device_exchange(s->device, work, got, work, left, NULL);
    for (size_t i = 0; i < got; i++, left--)
      work[i]->status = work[i]->body->host(tide_work_arguments(work[i]));
    if (!got && left) platform->wait(platform->self, &s->kicks, kicks, TIDE_FOREVER);
  }
}
static void both_ran(void *self) {
  struct state *s = self;
  EXPECT(s->bodies == 2 &&
         tide_timeline_query(s->lines[0]) + tide_timeline_query(s->lines[1]) == 2);
}

/* A worker that asks whoever submits to do its exchange: it looks once, and takes it back. */
static size_t exchange_or_ask(struct state *s, struct tide_delegation *request) {
  const struct tide_platform *platform = s->context->platform;
  uint32_t heard = tide_load_relaxed(&request->answered);
  bool more;
  EXPECT(tide_delegation_post(s->context->sched, request));
  if (tide_load_acquire(&request->answered) == heard &&
      tide_delegation_take_back(s->context->sched, request)) {
    size_t got = tide_device_exchange(s->device, request->works, request->count, request->works,
                                      request->most, &more);
    return request->count = (uint32_t)got;
  }
  while (tide_load_acquire(&request->answered) == heard) platform->yield(platform->self);
  EXPECT(!request->calls.first);
  for (size_t i = 0; i < request->task_count; i++) EXPECT(request->tasks[i].body == &quick);
  return request->task_count;
}
static void ask_in_turn(void *self) {
  struct state *s = self;
  const struct tide_platform *platform = s->context->platform;
  struct tide_delegation request = {.device = s->device, .most = 2};
  size_t got = 0;
  for (unsigned left = s->to_do; left > 0 || got > 0; left -= (unsigned)got) {
    uint32_t kicks = tide_load_acquire(&s->kicks);
    got = exchange_or_ask(s, &request);
    for (size_t i = 0; i < got; i++) quick.host(tide_work_arguments(request.works[i]));
    if (!got && left) platform->wait(platform->self, &s->kicks, kicks, TIDE_FOREVER);
  }
}

/* Two of one batch: once the queue's progress counts the second, the first one's signal is there.
 */
static void setup_batch(void *self) {
  setup_sequential(self);
  submit_first_quick(self);
  submit_second_quick(self);
}
static void look_at_progress(void *self) {
  struct state *s = self;
  uint64_t ended = tide_timeline_query(tide_queue_progress(s->queue));
  if (ended == 2) EXPECT(tide_timeline_query(s->lines[0]) == 1);
}

INTERLEAVE_CASE(submit_complete, 1, setup, one_ran, submit_one, work, wait_for_it)
INTERLEAVE_CASE(submit_publish, 2, setup, one_ran, submit_one, work, look_for_it)
INTERLEAVE_CASE(submit_signal, 1, setup, one_ran, submit_after_host, work, signal_host)
INTERLEAVE_CASE(submit_submit, 1, setup_two, two_ran, submit_one, submit_second, work)
INTERLEAVE_CASE(batch_batch, 1, setup_sequential, both_ran, submit_first_quick, submit_second_quick,
                work_in_turn)
INTERLEAVE_CASE(batch_asked, 0, setup_sequential, both_ran, submit_first_quick, submit_second_quick,
                ask_in_turn)
INTERLEAVE_CASE(batch_published, 2, setup_batch, both_ran, work_in_turn, look_at_progress)

/* ---- cancel, drain ---- */

static void setup_submitted(void *self) {
  struct state *s = self;
  setup(self);
  submit_one(self);
  s->to_do = 1;
}
static void cancel_it(void *self) {
  struct state *s = self;
  enum tide_status status = tide_queue_cancel(s->queue, s->sequence);
  EXPECT(status == TIDE_OK || status == TIDE_BUSY || status == TIDE_NOT_FOUND);
  s->cancelled = status == TIDE_OK;
}
/* One look, and the work that it gave. */
static void work_once(void *self) {
  struct state *s = self;
  struct tide_work *work;
  if (!tide_device_exchange(s->device, NULL, 0, &work, 1, NULL)) return;
  work->status = work->body->host(tide_work_arguments(work));
  tide_device_exchange(s->device, &work, 1, &work, 0, NULL);
}
static void ran_unless_cancelled(void *self) {
  struct state *s = self;
  EXPECT(s->bodies == (s->cancelled ? 0 : 1));
  EXPECT(tide_timeline_query(s->lines[0]) == (s->cancelled ? 0 : 1));
}
static void drain(void *self) {
  struct state *s = self;
  EXPECT_OK(tide_queue_drain(s->queue, TIDE_FOREVER));
  EXPECT(s->bodies == 1);
}
static void setup_held(void *self) {
  struct state *s = self;
  setup(self);
  submit_after_host(self);
  s->to_do = 1;
}

/* A third operation waits until one of two, of which the queue is full, has finished. */
static void setup_full(void *self) {
  struct state *s = self;
  setup(self);
  submit(s, s->queue, NULL, NULL);
  submit(s, s->queue, NULL, NULL);
  s->to_do = 3;
}
static void submit_third(void *self) {
  struct state *s = self;
  struct tide_operation operation = {.body = &count, .arguments = &s, .arguments_size = sizeof s};
  EXPECT_OK(tide_queue_submit_wait(s->queue, &operation, TIDE_FOREVER, NULL, NULL));
}
static void three_ran(void *self) {
  struct state *s = self;
  EXPECT(s->bodies == 3);
}

INTERLEAVE_CASE(submit_full, 1, setup_full, three_ran, submit_third, work)
INTERLEAVE_CASE(cancel_start, 1, setup_submitted, ran_unless_cancelled, cancel_it, work_once)
INTERLEAVE_CASE(drain_complete, 1, setup_submitted, one_ran, drain, work)
INTERLEAVE_CASE(drain_held, 1, setup_held, one_ran, drain, signal_host, work)

/* ---- the end ---- */

/* All of it goes while the backend hands back the last work. */
static void end_all(void *self) {
  struct state *s = self;
  tide_queue_destroy(s->queue);
  EXPECT_OK(tide_device_settle(s->device, TIDE_FOREVER));
  tide_device_close(s->device);
}
static void setup_running(void *self) {
  struct state *s = self;
  struct tide_work *work;
  setup_submitted(self);
  EXPECT(tide_device_exchange(s->device, NULL, 0, &work, 1, NULL) == 1);
  s->to_do = 0;
  s->other = (void *)work;
}
static void hand_back(void *self) {
  struct state *s = self;
  struct tide_work *work = (void *)s->other;
  tide_device_exchange(s->device, &work, 1, NULL, 0, NULL);
}
static void wait_for_line(void *self) {
  struct state *s = self;
  EXPECT_OK(tide_timeline_wait(s->lines[0], 1, TIDE_FOREVER));
  tide_timeline_destroy(s->lines[0]);
}
/* Its signal lets an operation go: the kick that follows is outside of all locks. */
static void signal_and_end(void *self) {
  struct state *s = self;
  signal_host(self);
  tide_timeline_destroy(s->host);
}
static void cancel_and_end(void *self) {
  struct state *s = self;
  tide_timeline_destroy(s->lines[0]);
  end_all(self);
}

INTERLEAVE_CASE(end_hand_back, 1, setup_running, NULL, end_all, hand_back, wait_for_line)
INTERLEAVE_CASE(end_kick, 1, setup_held, NULL, cancel_and_end, signal_and_end)

TEST_MAIN(CASE(submit_complete), CASE(submit_publish), CASE(submit_signal), CASE(submit_submit),
          CASE(submit_full), CASE(batch_batch), CASE(batch_asked), CASE(batch_published),
          CASE(cancel_start), CASE(drain_complete), CASE(drain_held), CASE(end_hand_back),
          CASE(end_kick))
