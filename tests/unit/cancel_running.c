/* Operations that run are cancelled: their waiters hear of it at once, their memory waits. The
 * backend is the test's own hand. */
#include "channel_rig.h"

static void count_cancel(void *self) { ++*(uint32_t *)self; }

/* `other` can cancel, `device` cannot. */
static void open_with_cancel(struct fake *f) {
  fake_open(f, true, 16);
  fake_backend_of(f->other)->cancel = count_cancel;
  fake_backend_of(f->other)->kick = NULL;
}

TEST(a_destroyed_queue_tells_the_waiters_of_what_runs) {
  struct fake f;
  open_with_cancel(&f);
  struct tide_timeline *t = fake_timeline(&f, "t", false), *u = fake_timeline(&f, "u", false);
  struct tide_queue *cut = fake_queue_on(f.other, "cut", 0), *next = fake_queue(&f, "next");
  CHECK_OK(SUBMIT(cut, .label = "a", SIGNALS({t, 1})));
  CHECK_OK(SUBMIT(cut, .label = "b", SIGNALS({t, 2})));
  CHECK_OK(SUBMIT(next, .label = "after", WAITS({t, 1}), SIGNALS({u, 1})));
  fake_take(&f, "a"), fake_take(&f, "b");
  CHECK(!tide_work_is_cancelled(fake_out(&f, "a")));
  f.kicks = 0;
  tide_queue_destroy(cut);
  CHECK_EQ_U64(f.kicks, 1); /* one call, however many are cancelled */
  CHECK(tide_work_is_cancelled(fake_out(&f, "a")) && tide_work_is_cancelled(fake_out(&f, "b")));
  CHECK_STATUS(tide_timeline_wait(t, 1, TIDE_FOREVER), TIDE_CANCELLED);
  CHECK_STATUS(tide_timeline_wait(t, 2, TIDE_FOREVER), TIDE_CANCELLED);
  CHECK_STATUS(tide_device_settle(f.other, TIDE_NOW), TIDE_TIMEOUT); /* both are still out */
  CHECK(!fake_runs(&f, "after")); /* it has failed, and keeps its place behind what it waited for */
  CHECK(!fake_find(&f, TIDE_EVENT_FINISH, "after", 0));
  fake_give(&f, "b", TIDE_CANCELLED);
  fake_give(&f, "a", TIDE_OK); /* it was over before it could be cut short: too late */
  CHECK_STATUS(fake_status(&f, "a"), TIDE_CANCELLED);
  CHECK_STATUS(fake_status(&f, "after"), TIDE_CANCELLED);
  CHECK_OK(tide_device_settle(f.other, TIDE_NOW));
  tide_queue_destroy(next);
  tide_timeline_destroy(t), tide_timeline_destroy(u);
  fake_close(&f);
}

TEST(one_that_runs_is_cancelled_alone) {
  struct fake f;
  open_with_cancel(&f);
  struct tide_timeline *t = fake_timeline(&f, "t", false);
  struct tide_queue *queue = fake_queue_on(f.other, "queue", 0);
  uint64_t sequence;
  CHECK_OK(SUBMIT(queue, .label = "a", SIGNALS({t, 1})));
  CHECK_OK(tide_queue_submit(queue, &OPERATION(.label = "b", SIGNALS({t, 2})), &sequence, NULL));
  fake_take(&f, "a"), fake_take(&f, "b");
  f.kicks = 0;
  CHECK_OK(tide_queue_cancel(queue, sequence));
  CHECK_EQ_U64(f.kicks, 1);
  CHECK(!tide_work_is_cancelled(fake_out(&f, "a")) && tide_work_is_cancelled(fake_out(&f, "b")));
  CHECK_STATUS(tide_timeline_wait(t, 2, TIDE_FOREVER), TIDE_CANCELLED);
  CHECK_STATUS(tide_timeline_wait(t, 1, TIDE_NOW), TIDE_TIMEOUT); /* it is below the failure */
  fake_give(&f, "a", TIDE_OK);
  CHECK_OK(tide_timeline_wait(t, 1, TIDE_NOW));
  fake_give(&f, "b", TIDE_IO); /* the first cause stands */
  CHECK_STATUS(fake_status(&f, "b"), TIDE_CANCELLED);
  CHECK_STATUS(tide_queue_cancel(queue, sequence), TIDE_NOT_FOUND);
  tide_queue_destroy(queue);
  tide_timeline_destroy(t);
  fake_close(&f);
}

/* No kick is due for what an exchange has taken: the cancellation makes a call of its own. */
TEST(the_backend_is_called_though_no_hand_is_idle) {
  struct fake f;
  uint64_t sequence;
  open_with_cancel(&f);
  fake_backend_of(f.other)->kick = fake_kick;
  struct tide_queue *queue = fake_queue_on(f.other, "queue", 0);
  CHECK_OK(tide_queue_submit(queue, &OPERATION(.label = "a"), &sequence, NULL));
  /* It gets all that it wants, so it is not idle. */
  f.count = (uint32_t)tide_device_exchange(f.other, NULL, 0, f.out, 1, NULL);
  CHECK(fake_out(&f, "a"));
  fake_backend_of(f.other)->kick = NULL;
  f.kicks = 0;
  CHECK_OK(tide_queue_cancel(queue, sequence));
  CHECK_EQ_U64(f.kicks, 1);
  CHECK(tide_work_is_cancelled(fake_out(&f, "a")));
  fake_give(&f, "a", TIDE_CANCELLED);
  tide_queue_destroy(queue);
  fake_close(&f);
}

/* Its client has taken the command out of the channel: the channel does not fail with it. */
TEST(a_channel_goes_on_behind_it) {
  struct world w;
  struct tide_failure why = {.status = TIDE_IO, .code = 5, .text = "its own"};
  uint64_t sequence;
  open_world(&w);
  fake_backend_of(w.f.other)->cancel = count_cancel;
  fake_backend_of(w.f.other)->kick = NULL;
  struct tide_queue *away = CHANNEL(w.f.other, .label = "away", .client = w.client);
  struct tide_future *future = future_of(away, 8);
  struct tide_point cut = promise(future), next = promise(future), behind;
  CHECK_OK(
      tide_queue_submit(away, &OPERATION(.label = "cut", POINTS(RETIRE(cut))), &sequence, NULL));
  CHECK_OK(SUBMIT(away, .label = "next", POINTS(RETIRE(next))));
  CHECK_OK(tide_queue_insert_point(away, &behind, NULL));
  fake_take(&w.f, "cut"), fake_take(&w.f, "next");
  CHECK_OK(tide_queue_cancel(away, sequence));
  CHECK_STATUS(tide_point_wait(w.points, cut, TIDE_NOW), TIDE_CANCELLED);
  CHECK_OK(tide_queue_cancel(away, sequence)); /* again, which changes nothing */
  fake_give(&w.f, "next", TIDE_OK);
  fake_give(&w.f, "cut", TIDE_IO);
  fake_run_out(&w.f);
  CHECK_OK(tide_queue_failure(away));
  CHECK_OK(tide_point_wait(w.points, next, TIDE_NOW));
  CHECK_OK(tide_point_wait(w.points, behind, TIDE_NOW));
  CHECK_OK(SUBMIT(away, .label = "later"));
  fake_run(&w.f, "later");
  CHECK_OK(fake_status(&w.f, "later"));
  /* A command that has failed before it is cancelled is a failure like others. */
  CHECK_OK(tide_queue_submit(away, &OPERATION(.label = "bad"), &sequence, NULL));
  fake_take(&w.f, "bad");
  tide_work_fail(fake_out(&w.f, "bad"), &why);
  CHECK_OK(tide_queue_cancel(away, sequence));
  fake_give(&w.f, "bad", TIDE_CANCELLED);
  CHECK_STATUS(tide_queue_failure(away), TIDE_IO);
  tide_queue_destroy(away);
  tide_future_destroy(future);
  close_world(&w);
}

TEST(without_cancel_what_runs_runs_on) {
  struct fake f;
  fake_open(&f, true, 16);
  struct tide_timeline *t = fake_timeline(&f, "t", false);
  struct tide_queue *queue = fake_queue(&f, "queue");
  CHECK_OK(SUBMIT(queue, .label = "a", SIGNALS({t, 1})));
  fake_take(&f, "a");
  CHECK_STATUS(tide_queue_cancel(queue, 1), TIDE_BUSY);
  tide_queue_destroy(queue);
  CHECK(!tide_work_is_cancelled(fake_out(&f, "a")));
  fake_give(&f, "a", TIDE_OK);
  CHECK_OK(tide_timeline_wait(t, 1, TIDE_NOW));
  tide_timeline_destroy(t);
  fake_close(&f);
}

/* What a cancelled transfer still writes to is nobody else's. */
TEST(memory_waits_for_the_end) {
  struct fake f;
  open_with_cancel(&f);
  struct tide_pool_params params = {.struct_size = sizeof params, .buffers = 4};
  struct tide_pool *pool;
  struct tide_buffer *buffer, *other, *again;
  CHECK_OK(tide_pool_create(f.context, &params, &pool));
  CHECK_OK(tide_pool_alloc(pool, 4096, NULL, "buffer", &buffer));
  struct tide_queue *queue = fake_queue_on(f.other, "queue", 0);
  struct tide_use use = {.buffer = buffer, .access = TIDE_WRITE};
  CHECK_OK(SUBMIT(queue, .label = "a", .buffers = &use, .buffer_count = 1));
  fake_take(&f, "a");
  tide_queue_destroy(queue);
  const void *memory = tide_buffer_data(buffer);
  tide_pool_free(buffer, NULL);
  CHECK_OK(tide_pool_alloc(pool, 4096, NULL, "other", &other));
  CHECK(tide_buffer_data(other) != memory);
  fake_give(&f, "a", TIDE_CANCELLED);
  CHECK_OK(tide_pool_alloc(pool, 4096, NULL, "again", &again));
  CHECK(tide_buffer_data(again) == memory);
  tide_pool_free(other, NULL), tide_pool_free(again, NULL);
  CHECK_OK(tide_pool_destroy(pool));
  fake_close(&f);
}

TEST_MAIN(CASE(a_destroyed_queue_tells_the_waiters_of_what_runs),
          CASE(one_that_runs_is_cancelled_alone),
          CASE(the_backend_is_called_though_no_hand_is_idle), CASE(a_channel_goes_on_behind_it),
          CASE(without_cancel_what_runs_runs_on), CASE(memory_waits_for_the_end))
