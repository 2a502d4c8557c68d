/* Devices that run ahead, driven by hand: the races and the bounds that random programs seldom
 * meet. */
#include "hand_rig.h"

#include <string.h>

/* ---- opening, closing --------------------------------------------------------------- */

TEST(a_sequential_backend_cannot_run_ahead) {
  struct hand_device d = {.kicks = 0};
  struct tide_device *device;
  open_context();
  struct tide_backend backend = backend_of(&d, 2, 1);
  backend.sequential = true;
  CHECK_STATUS(tide_device_open(context, &backend, "hand", &device), TIDE_INVALID);
  backend.sequential = false;
  backend.hardware_queues = TIDE_HARDWARE_QUEUES_MAX + 1;
  CHECK_STATUS(tide_device_open(context, &backend, "hand", &device), TIDE_FULL);
  tide_context_destroy(context);
}

/* Nothing is given before all that it waits for is over. */
TEST(the_host_may_keep_all_waits) {
  struct hand_device d = {.kicks = 0};
  open_context();
  struct tide_backend backend = backend_of(&d, 4, 2);
  backend.keep_on_host = true;
  CHECK_OK(tide_device_open(context, &backend, "hand", &d.device));
  struct tide_queue *first = open_queue(&d, 0, 8, 8), *second = open_queue(&d, 1, 8, 8);
  struct tide_timeline *line = open_timeline();
  submit(first, &plain, NULL, line);
  submit(first, &plain, NULL, NULL);
  submit(second, &plain, line, NULL);
  commit(&d, give(&d));
  CHECK(give(&d) == NULL);
  tide_device_over(d.device, 0, 1);
  for (int i = 0; i < 2; i++) commit(&d, give(&d));
  CHECK(give(&d) == NULL);
  CLOSE(&d);
}

static void run_one(struct hand_device *d, struct tide_queue *queue) {
  submit(queue, &plain, NULL, NULL);
  commit(d, give(d));
  tide_device_over(d->device, 0, 1);
}

/* The slot of a closed device serves the next one. Its numbers begin at 1 again, and nothing waits
 * for a submission that was not made. */
TEST(a_slot_of_the_group_is_used_again) {
  struct hand_device first, other, again;
  open_context();
  open_device(&first, 4, 1), open_device(&other, 4, 1);
  struct tide_queue *gone = open_queue(&first, 0, 8, 8), *queue = open_queue(&other, 0, 8, 8);
  run_one(&first, gone);
  CHECK_OK(tide_queue_drain(gone, TIDE_FOREVER));
  tide_device_close(first.device);
  open_device(&again, 4, 1);
  struct tide_timeline *line = open_timeline();
  CHECK_OK(tide_timeline_signal_external(line, 1));
  submit(queue, &plain, line, NULL); /* the host has seen it: what is over must be visible */
  struct tide_work *work = give(&other);
  CHECK_EQ_U64(given(work).wait_count, 0);
  commit(&other, work);
  struct tide_queue *own = open_queue(&again, 0, 8, 8);
  submit(own, &plain, line, NULL);
  work = give(&again);
  CHECK(given(work).number == 1 && given(work).wait_count == 0 && !given(work).barrier);
  commit(&again, work);
  CLOSE(&other, &again);
}

/* No submission waits for a device that is closing, or that fails to open. */
TEST(a_closing_device_is_no_ones_to_wait_for) {
  struct hand_device closing, other, failing = {.kicks = 0};
  struct tide_device *none;
  open_context();
  open_device(&closing, 4, 1), open_device(&other, 4, 1);
  struct tide_queue *gone = open_queue(&closing, 0, 8, 8), *queue = open_queue(&other, 0, 8, 8);
  struct tide_timeline *line = open_timeline();
  run_one(&closing, gone);
  CHECK_OK(tide_queue_drain(gone, TIDE_FOREVER));
  CHECK_OK(tide_timeline_signal_external(line, 1));
  submit(queue, &plain, line, NULL);
  closing.sister = &other;
  tide_device_close(closing.device);
  submit(queue, &plain, line, NULL);
  failing.sister = &other;
  struct tide_backend backend = backend_of(&failing, 4, 1);
  CHECK_STATUS(tide_device_open(context, &backend, "failing", &none), TIDE_NOMEM);
  CLOSE(&other);
}

/* ---- ends -------------------------------------------------------------------------------- */

/* A listening thread sees the end before the submitting thread has returned the work. */
TEST(an_end_may_come_before_the_return) {
  struct hand_device d;
  open_context();
  open_device(&d, 4, 1);
  struct tide_queue *queue = open_queue(&d, 0, 8, 8);
  submit(queue, &plain, NULL, NULL);
  struct tide_work *work = give(&d);
  tide_device_over(d.device, 0, 1);
  tide_device_over(d.device, 0, UINT64_MAX); /* what a lost device's timeline may say */
  commit(&d, work);
  CHECK_OK(tide_queue_drain(queue, TIDE_FOREVER));
  CHECK_EQ_U64(tide_device_awaited(d.device, 0), 0);
  tide_context_destroy(context);
}

/* One submission that may end, behind it one that does not: the backend listens for the latter. */
struct listening {
  struct hand_device d;
  struct tide_queue *queue;
};
static void listen_for_the_newest(struct listening *l, uint32_t operations) {
  open_context();
  open_device(&l->d, 8, 2);
  l->queue = open_queue(&l->d, 0, 8, operations);
  struct tide_queue *waiting = open_queue(&l->d, 0, 8, 8), *far = open_queue(&l->d, 1, 8, 8);
  struct tide_timeline *line = open_timeline();
  submit(far, &plain, NULL, line), commit(&l->d, give(&l->d));
  submit(l->queue, &plain, NULL, NULL), commit(&l->d, give(&l->d));
  submit(waiting, &plain, line, NULL), commit(&l->d, give(&l->d));
  CHECK(give(&l->d) == NULL);
  CHECK_EQ_U64(tide_device_awaited(l->d.device, 0), 2);
  CHECK_EQ_U64(tide_device_awaited(l->d.device, 1), 1);
  l->d.kicks = 0;
}
static void hears_of_the_first(struct listening *l) {
  CHECK(l->d.kicks > 0);
  CHECK_EQ_U64(tide_device_awaited(l->d.device, 0), 1);
  CLOSE(&l->d);
}

TEST(a_blocked_submit_is_heard) {
  struct listening l;
  struct tide_operation operation = {.body = &plain};
  listen_for_the_newest(&l, 1);
  CHECK_STATUS(tide_queue_submit_wait(l.queue, &operation, tide_after_ms(context, 5), NULL, NULL),
               TIDE_TIMEOUT);
  hears_of_the_first(&l);
}

TEST(an_operation_that_is_kept_is_heard) {
  struct listening l;
  listen_for_the_newest(&l, 8);
  submit(l.queue, &inside, NULL, NULL);
  hears_of_the_first(&l);
}

TEST(a_cancel_is_heard) {
  struct listening l;
  listen_for_the_newest(&l, 8);
  tide_context_pause(context);
  uint64_t sequence = submit(l.queue, &plain, NULL, NULL);
  l.d.kicks = 0;
  CHECK_OK(tide_queue_cancel(l.queue, sequence));
  hears_of_the_first(&l);
}

static void on_done(struct tide_frontier_wait *wait, enum tide_status status) {
  (void)wait, (void)status;
}
TEST(a_wait_for_a_frontier_is_heard) {
  struct listening l;
  TIDE_FRONTIER_STORAGE(position, 8);
  struct tide_waiter nodes[8];
  struct tide_frontier_wait wait = {.done = on_done, .nodes = nodes};
  listen_for_the_newest(&l, 8);
  tide_frontier_init(&position.frontier, 8);
  tide_queue_position(l.queue, &position.frontier, NULL);
  CHECK_OK(tide_tracker_wait(tide_context_tracker(context), &position.frontier, &wait, 8));
  CHECK(l.d.kicks > 0);
  CHECK(tide_tracker_cancel(&wait));
  CLOSE(&l.d);
}

/* A host may poll for an end, and then let a body that waits inside go on: the end before such a
 * body is always listened for. */
TEST(the_end_before_a_body_that_waits_is_heard) {
  struct hand_device d;
  open_context();
  open_device(&d, 4, 1);
  struct tide_queue *queue = open_queue(&d, 0, 8, 8), *other = open_queue(&d, 0, 8, 8);
  struct tide_timeline *line = open_timeline();
  submit(queue, &plain, NULL, line), commit(&d, give(&d));
  submit(other, &inside, NULL, NULL), commit(&d, give(&d));
  CHECK_EQ_U64(tide_device_awaited(d.device, 0), 1);
  tide_device_over(d.device, 0, 1);
  CHECK_EQ_U64(tide_timeline_query(line), 1);
  CLOSE(&d);
}

/* ---- order ----------------------------------------------------------------------------------- */

/* Returns the number of picks until an operation of the queue goes out. */
static int picks_until(struct hand_device *d, const struct tide_queue *queue) {
  uint64_t over = 0, out = 0;
  for (int picks = 1;; picks++) {
    struct tide_work *work = give(d);
    while (!work && over < out) {
      tide_device_over(d->device, 0, ++over);
      work = give(d);
    }
    out = given(work).number;
    bool is_it = tide_work_axis(work) == tide_queue_axis(queue);
    commit(d, work);
    if (is_it) return picks;
  }
}

/* A full hardware queue does not reset the age of a queue for which it has no room. */
TEST(no_queue_starves_behind_a_full_window) {
  for (uint32_t ahead = 1; ahead <= 4; ahead++) {
    struct hand_device d;
    open_context();
    open_device(&d, ahead, 1);
    struct tide_queue *high = open_queue(&d, 0, 12, 1024), *low = open_queue(&d, 0, 2, 8);
    for (int i = 0; i < 1000; i++) submit(high, &plain, NULL, NULL);
    submit(low, &plain, NULL, NULL);
    CHECK(picks_until(&d, low) <= 128 + 2); /* the arbiter's bound */
    CLOSE(&d);
  }
}

/* An operation that finds no room is no pick: with many busy queues a low priority stays one. */
TEST(a_full_window_ages_no_queue) {
  struct hand_device d;
  open_context();
  open_device(&d, 4, 1);
  for (int i = 0; i < 8; i++) {
    struct tide_queue *high = open_queue(&d, 0, 12, 64);
    for (int k = 0; k < 40; k++) submit(high, &plain, NULL, NULL);
  }
  struct tide_queue *low = open_queue(&d, 0, 2, 8);
  submit(low, &plain, NULL, NULL);
  int picks = picks_until(&d, low);
  if (picks < 100 || picks > 128 + 10) FAIL("picked after %d", picks);
  CLOSE(&d);
}

/* An operation lends its priority to the queue that it waits for, like on other devices. */
TEST(a_waiting_operation_lends_its_priority) {
  for (uint32_t same_group = 0; same_group < 2; same_group++) {
    struct hand_device d, other;
    open_context();
    open_device(&d, 4, 1);
    open_device(&other, same_group ? 1 : 0, 1); /* 0: does not run ahead */
    struct tide_queue *high = open_queue(&d, 0, 15, 8), *low, *middle;
    low = open_queue(&other, 0, 1, 8), middle = open_queue(&other, 0, 8, 8);
    struct tide_timeline *line = open_timeline();
    tide_context_pause(context);
    for (int i = 0; i < 4; i++) submit(middle, &plain, NULL, NULL);
    submit(low, &plain, NULL, line);
    submit(high, &plain, line, NULL);
    tide_context_resume(context);
    struct tide_work *work = give(&other);
    CHECK(tide_work_axis(work) == tide_queue_axis(low));
    if (same_group) commit(&other, work);
    CLOSE(&d, &other);
  }
}

/* An operation that would hold back others is no longer such a one once its awaited one is over. */
TEST(a_held_back_priority_rises_again) {
  struct hand_device d;
  open_context();
  open_device(&d, 64, 2);
  struct tide_queue *far = open_queue(&d, 1, 8, 8), *high = open_queue(&d, 0, 12, 8),
                    *low = open_queue(&d, 0, 2, 64);
  struct tide_timeline *line = open_timeline();
  submit(far, &plain, NULL, line), commit(&d, give(&d));
  tide_context_pause(context);
  submit(high, &plain, line, NULL);
  for (int i = 0; i < 20; i++) submit(low, &plain, NULL, NULL);
  tide_context_resume(context);
  struct tide_work *work = give(&d);
  CHECK(tide_work_axis(work) == tide_queue_axis(low));
  commit(&d, work);
  tide_device_over(d.device, 1, 1);
  CHECK_EQ_U64((uint64_t)picks_until(&d, high), 1);
  CLOSE(&d);
}

/* A body that waits inside for an operation behind a native wait for a submission behind the body:
 * the host keeps that wait. */
TEST(nothing_waits_natively_behind_a_body_that_waits) {
  struct hand_device d;
  open_context();
  open_device(&d, 8, 2);
  struct tide_queue *waiter = open_queue(&d, 1, 8, 8), *behind = open_queue(&d, 1, 8, 8);
  struct tide_queue *reader = open_queue(&d, 0, 8, 8), *producer = open_queue(&d, 0, 8, 8);
  struct tide_timeline *line = open_timeline(), *done = open_timeline();
  submit(waiter, &inside, NULL, NULL), commit(&d, give(&d)); /* it waits for `done` */
  submit(behind, &plain, NULL, line), commit(&d, give(&d));
  submit(reader, &plain, line, NULL);
  CHECK(give(&d) == NULL);
  submit(producer, &plain, NULL, done);
  struct tide_work *work = give(&d);
  CHECK(tide_work_axis(work) == tide_queue_axis(producer));
  commit(&d, work);
  tide_device_over(d.device, 0, 1);
  CHECK_OK(tide_timeline_wait(done, 1, TIDE_FOREVER));
  tide_device_over(d.device, 1, 1);
  work = give(&d); /* the body is over: the wait for `behind` goes native */
  CHECK(tide_work_axis(work) == tide_queue_axis(reader) && given(work).wait_count == 1);
  commit(&d, work);
  CLOSE(&d);
}

/* ---- failures ----------------------------------------------------------------------------------
 */

/* A point breaks while the command that waits for it has no room: the command fails all the same.
 */
TEST(a_point_that_breaks_early_fails_its_waiter) {
  struct hand_device d, host;
  struct tide_points *points;
  struct tide_client *client;
  struct tide_queue *channel, *breaking;
  struct tide_future *future;
  struct tide_point point;
  open_context();
  open_device(&d, 1, 1), open_device(&host, 0, 0);
  struct tide_queue *queue = open_queue(&d, 0, 8, 8);
  CHECK_OK(tide_points_create(context, TIDE_PARAMS(tide_points_params, .manual = true), &points));
  CHECK_OK(tide_client_create(points, NULL, &client));
  const struct tide_queue_params *params =
      TIDE_PARAMS(tide_queue_params, .operations = 8, .client = client);
  CHECK_OK(tide_queue_create(d.device, params, &channel));
  CHECK_OK(tide_queue_create(host.device, params, &breaking));
  CHECK_OK(
      tide_queue_create_future(breaking, TIDE_PARAMS(tide_future_params, .capacity = 8), &future));
  CHECK_OK(tide_future_promise(future, 0, &point));
  struct tide_operation_points retires = {.retires = &point, .retire_count = 1};
  struct tide_operation_points waits = {.waits = &point, .wait_count = 1};
  struct tide_operation operation = {.body = &plain, .points = &retires};
  CHECK_OK(tide_queue_submit(breaking, &operation, NULL, NULL));
  struct tide_work *failing = give(&host);
  submit(queue, &plain, NULL, NULL), commit(&d, give(&d)); /* the window is full */
  operation.points = &waits;
  CHECK_OK(tide_queue_submit(channel, &operation, NULL, NULL));
  failing->status = TIDE_FAILED;
  (void)tide_device_exchange(host.device, &failing, 1, NULL, 0, NULL);
  tide_device_over(d.device, 0, 1);
  CHECK(give(&d) == NULL);
  CHECK_OK(tide_queue_drain(channel, tide_after_ms(context, 20000)));
  CLOSE(&d, &host);
}

/* A command that chooses by a point's state does so when it starts, so it is kept until all before
 * it is published. */
TEST(a_choice_is_kept_behind_what_is_out) {
  struct hand_device d;
  struct tide_points *points;
  struct tide_client *client;
  struct tide_queue *channel;
  struct tide_future *future;
  struct tide_point point;
  open_context();
  open_device(&d, 4, 1);
  CHECK_OK(tide_points_create(context, TIDE_PARAMS(tide_points_params, .manual = true), &points));
  CHECK_OK(tide_client_create(points, NULL, &client));
  const struct tide_queue_params *params =
      TIDE_PARAMS(tide_queue_params, .operations = 8, .client = client);
  CHECK_OK(tide_queue_create(d.device, params, &channel));
  CHECK_OK(
      tide_queue_create_future(channel, TIDE_PARAMS(tide_future_params, .capacity = 8), &future));
  CHECK_OK(tide_future_promise(future, 0, &point));
  CHECK_OK(tide_queue_submit(channel, &(struct tide_operation){.body = &plain}, NULL, NULL));
  commit(&d, give(&d));
  struct tide_operation_points chooses = {.choose = &point, .otherwise = &inside};
  CHECK_OK(tide_queue_submit(channel, &(struct tide_operation){.body = &plain, .points = &chooses},
                             NULL, NULL));
  CHECK(give(&d) == NULL);
  tide_device_over(d.device, 0, 1);
  struct tide_work *work = give(&d);
  CHECK(work && work->body == &inside);
  commit(&d, work);
  tide_future_destroy(future);
  CLOSE(&d);
}

/* A point breaks early: its device is lost, and its work may still run. An operation that goes on
 * despite of that waits until the device is certified. */
TEST(despite_a_broken_point_its_work_is_waited_for) {
  struct hand_device d, away;
  struct tide_points *points;
  struct tide_client *client;
  struct tide_queue *channel, *keeper;
  struct tide_future *future;
  struct tide_point point;
  open_context();
  open_device(&d, 4, 1), open_device(&away, 0, 0);
  CHECK_OK(tide_points_create(context, TIDE_PARAMS(tide_points_params, .manual = true), &points));
  CHECK_OK(tide_client_create(points, NULL, &client));
  const struct tide_queue_params *params =
      TIDE_PARAMS(tide_queue_params, .operations = 8, .client = client);
  CHECK_OK(tide_queue_create(d.device, params, &channel));
  CHECK_OK(tide_queue_create(away.device, params, &keeper));
  CHECK_OK(
      tide_queue_create_future(keeper, TIDE_PARAMS(tide_future_params, .capacity = 8), &future));
  CHECK_OK(tide_future_promise(future, 0, &point));
  struct tide_operation_points retires = {.retires = &point, .retire_count = 1};
  struct tide_operation_points waits = {.waits = &point, .wait_count = 1};
  CHECK_OK(tide_queue_submit(keeper, &(struct tide_operation){.body = &plain, .points = &retires},
                             NULL, NULL));
  CHECK(give(&away) != NULL);
  struct tide_operation operation = {
      .body = &plain, .flags = TIDE_DESPITE_BROKEN, .points = &waits};
  CHECK_OK(tide_queue_submit(channel, &operation, NULL, NULL));
  tide_device_lose(away.device, TIDE_LOST);
  CHECK(give(&d) == NULL);
  tide_device_certify(away.device);
  commit(&d, give(&d));
  tide_future_destroy(future);
  CLOSE(&d);
}

TEST_MAIN(CASE(a_sequential_backend_cannot_run_ahead), CASE(the_host_may_keep_all_waits),
          CASE(a_slot_of_the_group_is_used_again), CASE(a_closing_device_is_no_ones_to_wait_for),
          CASE(an_end_may_come_before_the_return), CASE(a_blocked_submit_is_heard),
          CASE(an_operation_that_is_kept_is_heard), CASE(a_cancel_is_heard),
          CASE(a_wait_for_a_frontier_is_heard), CASE(the_end_before_a_body_that_waits_is_heard),
          CASE(a_full_window_ages_no_queue), CASE(a_waiting_operation_lends_its_priority),
          CASE(no_queue_starves_behind_a_full_window), CASE(a_held_back_priority_rises_again),
          CASE(nothing_waits_natively_behind_a_body_that_waits),
          CASE(a_point_that_breaks_early_fails_its_waiter),
          CASE(despite_a_broken_point_its_work_is_waited_for),
          CASE(a_choice_is_kept_behind_what_is_out))
