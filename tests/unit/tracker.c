/* The tracker: what has finished, and who waits for it. Threads are in tracker_threads.c. */
#include "tracker_rig.h"

/* ---- epochs ---- */

TEST(an_unknown_axis_has_finished_nothing) {
  struct tide_tracker *tracker = make(0);
  CHECK(!tide_tracker_finished(tracker, queue(1), 1));
  CHECK(!tide_tracker_finished(tracker, queue(1), 0));
  CHECK(!tide_tracker_finished(tracker, 0, 0));
  CHECK_EQ_U64(tide_tracker_epoch(tracker, queue(1)), 0);
  CHECK_STATUS(tide_tracker_advance(tracker, queue(1), 1), TIDE_NOT_FOUND);
  CHECK_STATUS(tide_tracker_fail(tracker, queue(1), TIDE_LOST), TIDE_NOT_FOUND);
  CHECK_STATUS(tide_tracker_certify(tracker, queue(1)), TIDE_NOT_FOUND);
  CHECK_STATUS(tide_tracker_close(tracker, queue(1)), TIDE_NOT_FOUND);
  CHECK_EQ_U64(tide_tracker_live(tracker), 0);
  CHECK(!tide_tracker_find(tracker, queue(1)) && !tide_tracker_find(tracker, 0));
  drop(tracker);
  tide_tracker_destroy(NULL);
}

TEST(epochs_only_go_up) {
  struct tide_tracker *tracker = make(2);
  CHECK_EQ_U64(tide_tracker_epoch(tracker, queue(1)), 0);
  CHECK_OK(tide_tracker_advance(tracker, queue(1), 5));
  CHECK_OK(tide_tracker_advance(tracker, queue(1), 5));
  CHECK_OK(tide_tracker_advance(tracker, queue(1), 3));
  CHECK_OK(tide_tracker_advance(tracker, queue(1), 0));
  CHECK_EQ_U64(tide_tracker_epoch(tracker, queue(1)), 5);
  CHECK(tide_tracker_finished(tracker, queue(1), 5) && tide_tracker_finished(tracker, queue(1), 1));
  CHECK(!tide_tracker_finished(tracker, queue(1), 6));
  CHECK_EQ_U64(tide_tracker_epoch(tracker, queue(2)), 0);
  CHECK_OK(tide_tracker_advance(tracker, queue(1), (1ull << 63) + 1));
  CHECK(tide_tracker_finished(tracker, queue(1), 1ull << 63));
  CHECK(!tide_tracker_finished(tracker, queue(1), UINT64_MAX));
  CHECK_OK(tide_tracker_advance(tracker, queue(1), UINT64_MAX));
  CHECK(tide_tracker_finished(tracker, queue(1), UINT64_MAX));
  drop(tracker);
}

TEST(an_axis_is_registered_once) {
  struct tide_tracker *tracker = make(1);
  CHECK_STATUS(tide_tracker_register(tracker, 0), TIDE_INVALID);
  CHECK_STATUS(tide_tracker_register(tracker, queue(1)), TIDE_BUSY);
  CHECK_EQ_U64(tide_tracker_live(tracker), 1);
  CHECK_OK(tide_tracker_close(tracker, queue(1)));
  CHECK_EQ_U64(tide_tracker_live(tracker), 0);
  CHECK_STATUS(tide_tracker_register(tracker, queue(1)), TIDE_BUSY); /* never again */
  drop(tracker);
}

TEST(thousands_of_axes) {
  enum { N = 5000 };
  struct tide_tracker *tracker = make(N); /* the table grows many times */
  for (uint64_t i = 1; i <= N; i++) CHECK_OK(tide_tracker_advance(tracker, queue(i), i));
  for (uint64_t i = 1; i <= N; i++) {
    CHECK_EQ_U64(tide_tracker_epoch(tracker, queue(i)), i);
    CHECK_STATUS(tide_tracker_register(tracker, queue(i)), TIDE_BUSY);
  }
  for (uint64_t i = 2; i <= N; i += 2) CHECK_OK(tide_tracker_close(tracker, queue(i)));
  CHECK_EQ_U64(tide_tracker_live(tracker), N / 2);
  for (uint64_t i = 1; i <= N; i++)
    CHECK_EQ_U64(tide_tracker_epoch(tracker, queue(i)), i % 2 ? i : UINT64_MAX);
  drop(tracker);
}

/* An axis that reached 10 and closed answers a wait for 5, and for 50, with OK. */
TEST(a_closed_axis_has_finished_for_ever) {
  struct tide_tracker *tracker = make(3);
  CHECK_OK(tide_tracker_advance(tracker, queue(2), 10));
  CHECK_OK(tide_tracker_close(tracker, queue(2)));
  CHECK(!tide_tracker_find(tracker, queue(2)));
  CHECK_EQ_U64(tide_tracker_epoch(tracker, queue(2)), UINT64_MAX);
  CHECK(tide_tracker_finished(tracker, queue(2), UINT64_MAX));
  struct probe probe;
  for (uint64_t epoch = 5; epoch <= 50; epoch += 45) {
    probe_one(&probe, tracker, queue(2), epoch);
    check_done(&probe, TIDE_OK);
  }
  /* Nothing can happen to it any more. */
  CHECK_OK(tide_tracker_advance(tracker, queue(2), 11));
  CHECK_OK(tide_tracker_fail(tracker, queue(2), TIDE_LOST));
  CHECK_OK(tide_tracker_certify(tracker, queue(2)));
  CHECK_OK(tide_tracker_close(tracker, queue(2)));
  CHECK(tide_tracker_finished(tracker, queue(2), 12));
  CHECK(!tide_tracker_finished(tracker, queue(1), 1) &&
        !tide_tracker_finished(tracker, queue(3), 1));
  drop(tracker);
}

/* Axes that come and go must not pile up: neither states, nor tables, nor intervals. */
TEST(axes_that_come_and_go_leave_no_memory_behind) {
  struct tide_tracker *tracker = make(5);
  for (uint64_t i = 6; i <= 200; i++) { /* up to the steady state: every third stays a while */
    CHECK_OK(tide_tracker_register(tracker, queue(i)));
    CHECK_OK(tide_tracker_close(tracker, queue(i - 3)));
  }
  int calls = heap.calls;
  for (uint64_t i = 201; i <= 50000; i++) {
    CHECK_OK(tide_tracker_register(tracker, queue(i)));
    CHECK_OK(tide_tracker_close(tracker, queue(i - 3)));
  }
  CHECK_EQ_U64(heap.calls, calls);
  CHECK_EQ_U64(tide_tracker_live(tracker), 5);
  CHECK(tide_tracker_finished(tracker, queue(777), 1));
  CHECK(!tide_tracker_finished(tracker, queue(1), 1) &&
        !tide_tracker_finished(tracker, queue(50000), 1));
  CHECK_EQ_U64(tide_tracker_epoch(tracker, queue(50000)), 0); /* a used state starts anew */
  drop(tracker);
}

TEST(registering_without_memory_changes_nothing) {
  for (int left = 0; left < 60; left++) {
    struct tide_tracker_params params = {
        .struct_size = sizeof params, &allocator, tide_platform_linux()};
    struct tide_tracker *tracker;
    heap.left = left;
    enum tide_status status = tide_tracker_create(&params, &tracker);
    if (status == TIDE_OK) {
      uint64_t known = 0;
      while (known < 40 && (status = tide_tracker_register(tracker, queue(known + 1))) == TIDE_OK)
        known++;
      CHECK(known == 40 || status == TIDE_NOMEM);
      CHECK_EQ_U64(tide_tracker_live(tracker), known);
      heap.left = 0; /* nothing below allocates */
      for (uint64_t i = 1; i <= known; i++) CHECK_OK(tide_tracker_advance(tracker, queue(i), i));
      CHECK_STATUS(tide_tracker_advance(tracker, queue(known + 1), 1), TIDE_NOT_FOUND);
      for (uint64_t i = 1; i <= known; i += 2) CHECK_OK(tide_tracker_close(tracker, queue(i)));
      tide_tracker_destroy(tracker);
    } else {
      CHECK_STATUS(status, TIDE_NOMEM);
    }
    CHECK_EQ_U64(heap.out, 0);
  }
}

/* ---- frontier waits ---- */

TEST(a_wait_for_nothing_is_done_at_once) {
  struct tide_tracker *tracker = make(1);
  struct probe probe;
  probe_init(&probe, tracker);
  CHECK_OK(probe_start(&probe));
  check_done(&probe, TIDE_OK);
  CHECK(!tide_tracker_cancel(&probe.wait));
  CHECK_OK(tide_tracker_advance(tracker, queue(1), 5));
  probe_one(&probe, tracker, queue(1), 5);
  check_done(&probe, TIDE_OK);
  drop(tracker);
}

TEST(a_wait_ends_with_its_last_epoch) {
  struct tide_tracker *tracker = make(8);
  struct probe probe;
  probe_init(&probe, tracker);
  for (uint64_t i = 1; i <= 8; i++) probe_need(&probe, queue(i), 10 * i);
  CHECK_OK(tide_tracker_advance(tracker, queue(3), 30)); /* one has finished before */
  CHECK_OK(tide_tracker_close(tracker, queue(6)));       /* and one is closed */
  CHECK_OK(probe_start(&probe));
  for (uint64_t i = 8; i >= 1; i--) {
    CHECK_EQ_U64(probe.done, 0);
    CHECK_OK(tide_tracker_advance(tracker, queue(i), 10 * i - 1));
    CHECK_EQ_U64(probe.done, 0);
    CHECK_OK(tide_tracker_advance(tracker, queue(i), 10 * i + (i & 1))); /* equal and beyond */
  }
  check_done(&probe, TIDE_OK);
  CHECK(!tide_tracker_cancel(&probe.wait));
  drop(tracker);
}

TEST(refused_waits_register_nothing) {
  struct tide_tracker *tracker = make(2);
  struct probe probe;
  probe_init(&probe, tracker);
  probe_need(&probe, queue(1), 1);
  probe_need(&probe, queue(9), 1); /* behind a known one */
  CHECK_STATUS(probe_start(&probe), TIDE_NOT_FOUND);
  CHECK_OK(tide_tracker_advance(tracker, queue(1), 1));
  CHECK(tide_tracker_cancel(&probe.wait));
  CHECK_EQ_U64(probe.done, 0);

  probe_init(&probe, tracker);
  probe_need(&probe, queue(2), 1);
  probe.needs.frontier.tainted = 1;
  CHECK_STATUS(probe_start(&probe), TIDE_INVALID);
  CHECK(tide_tracker_cancel(&probe.wait));

  probe_init(&probe, tracker);
  probe_need(&probe, queue(1), 5);
  probe_need(&probe, queue(2), 5);
  CHECK_STATUS(tide_tracker_wait(tracker, &probe.needs.frontier, &probe.wait, 1), TIDE_FULL);
  CHECK(tide_tracker_cancel(&probe.wait));
  CHECK_OK(tide_tracker_advance(tracker, queue(1), 5));
  CHECK_OK(tide_tracker_advance(tracker, queue(2), 5));
  CHECK_EQ_U64(probe.done, 0);
  drop(tracker);
}

TEST(overshoot_fires_all_below_and_none_above) {
  enum { N = 100 };
  struct tide_tracker *tracker = make(2);
  static struct probe probes[N];
  for (unsigned i = 0; i < N; i++) probe_one(&probes[i], tracker, queue(1), 1 + i * 37 % N);
  CHECK_OK(tide_tracker_advance(tracker, queue(2), UINT64_MAX));
  CHECK_OK(tide_tracker_advance(tracker, queue(1), 60));
  for (unsigned i = 0; i < N; i++) CHECK_EQ_U64(probes[i].done, 1 + i * 37 % N <= 60);
  CHECK_OK(tide_tracker_advance(tracker, queue(1), N));
  for (unsigned i = 0; i < N; i++) check_done(&probes[i], TIDE_OK);
  drop(tracker);
}

TEST(waiting_for_the_last_possible_epoch) {
  struct tide_tracker *tracker = make(1);
  struct probe a, b;
  probe_one(&a, tracker, queue(1), UINT64_MAX);
  probe_one(&b, tracker, queue(1), 1ull << 63);
  CHECK_OK(tide_tracker_advance(tracker, queue(1), (1ull << 63) - 1));
  CHECK_EQ_U64(b.done, 0);
  CHECK_OK(tide_tracker_advance(tracker, queue(1), UINT64_MAX - 1));
  check_done(&b, TIDE_OK);
  CHECK_EQ_U64(a.done, 0);
  struct tide_fired fired;
  tide_fired_init(&fired);
  tide_tracker_advance_collect(tracker, tide_tracker_find(tracker, queue(1)), UINT64_MAX, &fired);
  tide_fired_run(&fired);
  check_done(&a, TIDE_OK);
  drop(tracker);
}

TEST(cancelled_waits_never_run) {
  struct tide_tracker *tracker = make(2);
  struct probe probe, other;
  probe_init(&probe, tracker);
  probe_need(&probe, queue(1), 3);
  probe_need(&probe, queue(2), 3);
  CHECK_OK(probe_start(&probe));
  probe_one(&other, tracker, queue(1), 3);
  CHECK_OK(tide_tracker_advance(tracker, queue(2), 3)); /* half of it has finished */
  CHECK(tide_tracker_cancel(&probe.wait));
  CHECK(tide_tracker_cancel(&probe.wait));       /* still never */
  memset(probe.nodes, 0xa5, sizeof probe.nodes); /* ours again */
  CHECK_OK(tide_tracker_advance(tracker, queue(1), 3));
  CHECK_EQ_U64(probe.done, 0);
  check_done(&other, TIDE_OK);
  CHECK(!tide_tracker_cancel(&other.wait));
  probe_one(&probe, tracker, queue(1), 4); /* and may be used again */
  CHECK_OK(tide_tracker_advance(tracker, queue(1), 4));
  check_done(&probe, TIDE_OK);
  drop(tracker);
}

/* ---- failure ---- */

TEST(a_failed_axis_fails_its_waiters_once) {
  struct tide_tracker *tracker = make(4);
  struct probe all, first, third;
  probe_init(&all, tracker);
  for (uint64_t i = 1; i <= 4; i++) probe_need(&all, queue(i), 2);
  CHECK_OK(probe_start(&all));
  probe_one(&first, tracker, queue(1), 2);
  probe_one(&third, tracker, queue(3), 2);
  CHECK_STATUS(tide_tracker_fail(tracker, queue(3), TIDE_OK), TIDE_INVALID);
  CHECK_OK(tide_tracker_advance(tracker, queue(1), 1));
  CHECK_OK(tide_tracker_fail(tracker, queue(3), TIDE_LOST));
  check_done(&all, TIDE_LOST);
  check_done(&third, TIDE_LOST);
  CHECK_EQ_U64(first.done, 0);
  CHECK(!tide_tracker_cancel(&all.wait));
  memset(&all, 0xa5, sizeof all);                              /* its other nodes are unlinked */
  CHECK_OK(tide_tracker_fail(tracker, queue(3), TIDE_FAILED)); /* the first failure wins */
  probe_one(&third, tracker, queue(3), 2);
  check_done(&third, TIDE_LOST);
  for (uint64_t i = 1; i <= 4; i++) CHECK_OK(tide_tracker_advance(tracker, queue(i), 9));
  check_done(&first, TIDE_OK);
  drop(tracker);
}

TEST(what_finished_before_the_failure_stays_finished) {
  struct tide_tracker *tracker = make(2);
  struct probe probe;
  CHECK_OK(tide_tracker_advance(tracker, queue(1), 5));
  CHECK_OK(tide_tracker_fail(tracker, queue(1), TIDE_FAILED));
  CHECK(tide_tracker_finished(tracker, queue(1), 5) &&
        !tide_tracker_finished(tracker, queue(1), 6));
  CHECK_EQ_U64(tide_tracker_epoch(tracker, queue(1)), 5);
  probe_one(&probe, tracker, queue(1), 5);
  check_done(&probe, TIDE_OK);
  probe_init(&probe,
             tracker); /* it cannot end well, so it ends now, and leaves nothing on queue 2 */
  probe_need(&probe, queue(1), 6);
  probe_need(&probe, queue(2), 1);
  CHECK_OK(probe_start(&probe));
  check_done(&probe, TIDE_FAILED);
  memset(&probe, 0xa5, sizeof probe);
  CHECK_OK(tide_tracker_advance(tracker, queue(2), 1));
  drop(tracker);
}

TEST(a_certified_axis_counts_as_finished) {
  struct tide_tracker *tracker = make(1);
  struct probe probe;
  CHECK_STATUS(tide_tracker_certify(tracker, queue(1)), TIDE_INVALID); /* it is fine */
  CHECK_OK(tide_tracker_fail(tracker, queue(1), TIDE_LOST));
  CHECK(!tide_tracker_finished(tracker, queue(1), 1)); /* it may still write */
  CHECK_OK(tide_tracker_certify(tracker, queue(1)));
  CHECK_OK(tide_tracker_certify(tracker, queue(1)));
  CHECK(tide_tracker_finished(tracker, queue(1), 1000));
  CHECK_EQ_U64(tide_tracker_epoch(tracker, queue(1)), UINT64_MAX);
  probe_one(&probe, tracker, queue(1), 7);
  check_done(&probe, TIDE_OK);
  CHECK_EQ_U64(tide_tracker_live(tracker), 1);
  CHECK_OK(tide_tracker_close(tracker, queue(1)));
  drop(tracker);
}

TEST(closing_opens_its_waits) {
  struct tide_tracker *tracker = make(2);
  struct probe a, b;
  probe_one(&a, tracker, queue(1), 1000);
  probe_init(&b, tracker);
  probe_need(&b, queue(1), 7);
  probe_need(&b, queue(2), 1);
  CHECK_OK(probe_start(&b));
  CHECK_OK(tide_tracker_close(tracker, queue(1)));
  check_done(&a, TIDE_OK);
  CHECK_EQ_U64(b.done, 0);
  CHECK_OK(tide_tracker_register(tracker, queue(3))); /* takes over the closed one's state */
  CHECK_OK(tide_tracker_fail(tracker, queue(3), TIDE_LOST));
  CHECK_EQ_U64(b.done, 0);
  CHECK_OK(tide_tracker_advance(tracker, queue(2), 1));
  check_done(&b, TIDE_OK);
  drop(tracker);
}

/* A wait is queued at one axis at a time; the others come and go meanwhile. */
TEST(axes_that_a_wait_is_not_queued_at_yet) {
  struct tide_tracker *tracker = make(3);
  struct probe probe, other;
  probe_init(&probe, tracker);
  probe_need(&probe, queue(1), 1);
  probe_need(&probe, queue(2), 1);
  probe_need(&probe, queue(3), 9); /* furthest away */
  CHECK_OK(probe_start(&probe));
  CHECK_OK(tide_tracker_close(tracker, queue(1)));
  CHECK_OK(tide_tracker_register(tracker, queue(4))); /* takes over its state */
  CHECK_OK(tide_tracker_advance(tracker, queue(2), 1));
  CHECK_OK(tide_tracker_fail(tracker, queue(2), TIDE_LOST)); /* after what was needed of it */
  CHECK_OK(tide_tracker_fail(tracker, queue(4), TIDE_LOST));
  CHECK_EQ_U64(probe.done, 0);
  CHECK_OK(tide_tracker_advance(tracker, queue(3), 9));
  check_done(&probe, TIDE_OK);

  probe_init(&probe, tracker);
  CHECK_OK(tide_tracker_register(tracker, queue(5)));
  probe_need(&probe, queue(3), 20);
  probe_need(&probe, queue(5), 1);
  CHECK_OK(probe_start(&probe));
  probe_one(&other, tracker, queue(3), 20);
  CHECK_OK(tide_tracker_fail(tracker, queue(5), TIDE_FAILED));
  check_done(&probe, TIDE_FAILED);
  memset(&probe, 0xa5, sizeof probe);
  CHECK_OK(tide_tracker_advance(tracker, queue(3), 20));
  check_done(&other, TIDE_OK);
  drop(tracker);
}

/* In any order of finishing, a wait ends with the last of its axes, neither before nor never. */
TEST(waits_end_in_any_order_of_finishing) {
  enum { N = 8 };
  struct tide_random random = {7};
  for (unsigned round = 0; round < 500; round++) {
    struct tide_tracker *tracker = make(N);
    struct probe probe;
    probe_init(&probe, tracker);
    uint64_t order[N];
    for (uint64_t i = 0; i < N; i++) {
      uint64_t place = tide_random_below(&random, i + 1);
      order[i] = order[place];
      order[place] = i + 1;
      probe_need(&probe, queue(i + 1), 1 + tide_random_below(&random, 3));
    }
    CHECK_OK(probe_start(&probe));
    for (unsigned i = 0; i < N; i++) {
      CHECK_EQ_U64(probe.done, 0);
      CHECK_OK(tide_tracker_advance(tracker, queue(order[i]), 3));
    }
    check_done(&probe, TIDE_OK);
    drop(tracker);
  }
}

/* ---- callbacks ---- */

static void restart(struct probe *probe) { /* waits again, registers, advances, from inside */
  if (probe->done >= 3) return;
  struct tide_tracker *tracker = probe->tracker;
  CHECK_OK(tide_tracker_register(tracker, queue(10 + probe->done)));
  probe_need(probe, queue(2), probe->done);
  CHECK_OK(probe_start(probe));
  CHECK_OK(tide_tracker_advance(tracker, queue(2), probe->done)); /* runs itself, nested */
}

TEST(callbacks_may_do_everything) {
  struct tide_tracker *tracker = make(2);
  struct probe probe;
  probe_init(&probe, tracker);
  probe.then = restart;
  probe_need(&probe, queue(1), 1);
  CHECK_OK(probe_start(&probe));
  CHECK_OK(tide_tracker_advance(tracker, queue(1), 1));
  CHECK_EQ_U64(probe.done, 3);
  CHECK_OK(tide_tracker_close(tracker, queue(10 + 1)));
  CHECK_OK(tide_tracker_close(tracker, queue(10 + 2)));
  drop(tracker);
}

static void cancel_other(struct probe *probe) {
  CHECK(tide_tracker_cancel(&probe->other->wait));
  memset(probe->other->nodes, 0xa5, sizeof probe->other->nodes);
}

/* When a failure's callbacks run, the failed waits' nodes are already off the other axes. */
TEST(nodes_are_unlinked_before_failure_callbacks) {
  struct tide_tracker *tracker = make(2);
  struct probe probe, other;
  probe_one(&other, tracker, queue(2), 5);
  probe_init(&probe, tracker);
  probe_need(&probe, queue(1), 5);
  probe_need(&probe, queue(2), 4);
  probe.then = cancel_other;
  probe.other = &other;
  CHECK_OK(probe_start(&probe));
  CHECK_OK(tide_tracker_fail(tracker, queue(1), TIDE_LOST));
  check_done(&probe, TIDE_LOST);
  memset(probe.nodes, 0xa5, sizeof probe.nodes);
  CHECK_OK(tide_tracker_advance(tracker, queue(2), 9));
  CHECK_EQ_U64(other.done, 0);
  drop(tracker);
}

/* ---- what the scheduler uses ---- */

TEST(finish_waiters_outlive_failure) {
  struct tide_tracker *tracker = make(2);
  struct raw raw[4] = {{.wait.node.fire = raw_fire},
                       {.wait.node.fire = raw_fire},
                       {.wait.node.fire = raw_fire},
                       {.wait.node.fire = raw_fire}};
  CHECK(tide_tracker_wait_finish(tracker, queue(9), 1, &raw[0].wait)); /* not known yet */
  CHECK(tide_tracker_cancel_finish(tracker, &raw[0].wait));
  CHECK(tide_tracker_wait_finish(tracker, queue(1), 5, &raw[0].wait));
  CHECK(tide_tracker_wait_finish(tracker, queue(1), 6, &raw[1].wait));
  CHECK(tide_tracker_wait_finish(tracker, queue(1), 6, &raw[2].wait));
  CHECK_OK(tide_tracker_advance(tracker, queue(1), 5));
  CHECK(raw[0].fired == 1 && raw[1].fired == 0);
  CHECK(!tide_tracker_cancel_finish(tracker, &raw[0].wait));
  CHECK(!tide_tracker_wait_finish(tracker, queue(1), 5, &raw[0].wait));
  CHECK_OK(tide_tracker_fail(tracker, queue(1), TIDE_LOST));
  CHECK_EQ_U64(raw[1].fired, 0);
  CHECK(tide_tracker_wait_finish(tracker, queue(1), 9, &raw[3].wait));
  CHECK(tide_tracker_cancel_finish(tracker, &raw[2].wait));
  CHECK_OK(tide_tracker_certify(tracker, queue(1)));
  CHECK(raw[1].fired == 1 && raw[2].fired == 0 && raw[3].fired == 1);
  CHECK(tide_tracker_wait_finish(tracker, queue(2), 1, &raw[2].wait));
  CHECK_OK(tide_tracker_close(tracker, queue(2)));
  CHECK_EQ_U64(raw[2].fired, 1);
  CHECK(!tide_tracker_cancel_finish(tracker, &raw[2].wait));
  CHECK(!tide_tracker_wait_finish(tracker, queue(2), 1, &raw[2].wait));
  drop(tracker);
}

TEST(finish_waiters_come_before_their_axis) {
  struct tide_tracker *tracker = make(2);
  struct raw raw[4] = {{.wait.node.fire = raw_fire},
                       {.wait.node.fire = raw_fire},
                       {.wait.node.fire = raw_fire},
                       {.wait.node.fire = raw_fire}};
  CHECK(tide_tracker_wait_finish(tracker, queue(8), 2, &raw[0].wait));
  CHECK(tide_tracker_wait_finish(tracker, queue(9), 5, &raw[1].wait));
  CHECK(tide_tracker_wait_finish(tracker, queue(8), 1, &raw[2].wait));
  CHECK(tide_tracker_wait_finish(tracker, queue(9), 1, &raw[3].wait));
  CHECK_OK(tide_tracker_register(tracker, queue(8)));
  CHECK(raw[0].fired == 0 && raw[2].fired == 0);
  CHECK_OK(tide_tracker_advance(tracker, queue(8), 1));
  CHECK(raw[0].fired == 0 && raw[2].fired == 1);
  CHECK_OK(tide_tracker_advance(tracker, queue(8), 2));
  CHECK_EQ_U64(raw[0].fired, 1);
  CHECK(tide_tracker_cancel_finish(tracker, &raw[3].wait));
  CHECK_OK(tide_tracker_register(tracker, queue(9)));
  CHECK_OK(tide_tracker_close(tracker, queue(9)));
  CHECK(raw[1].fired == 1 && raw[3].fired == 0);
  drop(tracker);
}

TEST(severed_axes_are_over) {
  struct tide_tracker *tracker = make(1); /* axes of machine 0 */
  tide_axis far = tide_axis_make(2, TIDE_DOMAIN_QUEUE, 1), farther = far + 1, farthest = far + 2;
  struct raw raw[4] = {{.wait.node.fire = raw_fire},
                       {.wait.node.fire = raw_fire},
                       {.wait.node.fire = raw_fire},
                       {.wait.node.fire = raw_fire}};
  struct probe probe;
  CHECK_OK(tide_tracker_register(tracker, far));
  probe_one(&probe, tracker, far, 2);
  CHECK(tide_tracker_wait_finish(tracker, far, 1, &raw[0].wait));
  CHECK(tide_tracker_wait_finish(tracker, farther, 1, &raw[1].wait));
  CHECK(tide_tracker_wait_finish(tracker, queue(1), 1, &raw[2].wait));
  CHECK(tide_tracker_wait_finish(tracker, queue(9), 1, &raw[3].wait));
  tide_tracker_sever(tracker, 0, TIDE_LOST);
  check_done(&probe, TIDE_LOST);
  CHECK(raw[0].fired == 1 && raw[1].fired == 1 && raw[2].fired == 0 && raw[3].fired == 1);
  CHECK(tide_tracker_finished(tracker, far, 9) && tide_tracker_finished(tracker, farthest, 9));
  CHECK(!tide_tracker_wait_finish(tracker, farthest, 1, &raw[0].wait));
  CHECK_OK(tide_tracker_register(tracker, farthest));
  CHECK(tide_tracker_finished(tracker, farthest, 9) &&
        !tide_tracker_finished(tracker, queue(1), 1));
  CHECK_OK(tide_tracker_advance(tracker, queue(1), 1));
  CHECK_EQ_U64(raw[2].fired, 1);
  CHECK_OK(tide_tracker_register(tracker, queue(2)));
  CHECK(!tide_tracker_finished(tracker, queue(2), 1));
  CHECK_OK(tide_tracker_close(tracker, far));
  CHECK_OK(tide_tracker_close(tracker, farthest));
  drop(tracker);
}

TEST(collectors_hand_out_and_append) {
  struct tide_tracker *tracker = make(3);
  struct raw raw = {.wait.node.fire = raw_fire};
  struct probe probe, lost;
  probe_one(&probe, tracker, queue(1), 2);
  probe_one(&lost, tracker, queue(2), 2);
  CHECK(tide_tracker_wait_finish(tracker, queue(1), 1, &raw.wait));
  struct tide_tracker_axis *one = tide_tracker_find(tracker, queue(1));
  struct tide_tracker_axis *two = tide_tracker_find(tracker, queue(2));
  CHECK(one && two && one != two);
  struct tide_fired fired;
  tide_fired_init(&fired);
  tide_tracker_advance_collect(tracker, one, 2, &fired);
  CHECK_EQ_U64(tide_tracker_axis_epoch(one), 2);
  tide_tracker_fail_collect(tracker, two, TIDE_LOST, &fired);
  tide_tracker_certify_collect(tracker, two, &fired);
  CHECK_EQ_U64(tide_tracker_axis_epoch(two), UINT64_MAX);
  tide_tracker_close_collect(tracker, one, &fired);
  CHECK(!tide_tracker_find(tracker, queue(1)));
  CHECK(raw.fired == 0 && probe.done == 0 && lost.done == 0);
  CHECK(!tide_tracker_cancel(&probe.wait)); /* decided, though not run yet */
  tide_fired_run(&fired);
  CHECK_EQ_U64(raw.fired, 1);
  check_done(&probe, TIDE_OK);
  check_done(&lost, TIDE_LOST);
  drop(tracker);
}

TEST(a_snapshot_lists_the_live_axes) {
  struct tide_tracker *tracker = make(10);
  tide_axis axes[20];
  uint64_t epochs[20];
  for (uint64_t i = 1; i <= 10; i++) CHECK_OK(tide_tracker_advance(tracker, queue(i), i * i));
  CHECK_OK(tide_tracker_close(tracker, queue(4)));
  CHECK_EQ_U64(tide_tracker_snapshot(tracker, axes, epochs, 20), 9);
  unsigned seen = 0;
  for (unsigned i = 0; i < 9; i++) {
    uint64_t ordinal = tide_axis_ordinal(axes[i]);
    CHECK_EQ_U64(epochs[i], ordinal * ordinal);
    seen |= 1u << ordinal;
  }
  CHECK_EQ_U64(seen, 0x7feu & ~(1u << 4));
  axes[3] = 42;
  CHECK_EQ_U64(tide_tracker_snapshot(tracker, axes, epochs, 3), 9);
  CHECK_EQ_U64(axes[3], 42);
  CHECK_EQ_U64(tide_tracker_snapshot(tracker, NULL, NULL, 0), 9);
  tide_tracker_give(tide_tracker_find(tracker, queue(2)), 7); /* 4 have finished, 7 are under way */
  tide_tracker_give(tide_tracker_find(tracker, queue(3)),
                    5); /* all of them have finished, and more */
  CHECK_EQ_U64(tide_tracker_snapshot(tracker, axes, epochs, 20), 9);
  for (unsigned i = 0; i < 9; i++) {
    if (axes[i] == queue(2)) CHECK_EQ_U64(epochs[i], 7);
    if (axes[i] == queue(3)) CHECK_EQ_U64(epochs[i], 9);
  }
  CHECK_OK(tide_tracker_close(tracker, queue(2)));
  CHECK_OK(tide_tracker_register(tracker, queue(11))); /* a used state has given nothing */
  CHECK_EQ_U64(tide_tracker_snapshot(tracker, axes, epochs, 20), 9);
  for (unsigned i = 0; i < 9; i++) {
    if (axes[i] == queue(11)) CHECK_EQ_U64(epochs[i], 0);
  }
  drop(tracker);
}

TEST(only_register_allocates) {
  struct tide_tracker *tracker = make(40);
  heap.left = 0;
  int calls = heap.calls;
  static struct probe probes[40];
  for (uint64_t i = 1; i <= 40; i++) {
    probe_init(&probes[i - 1], tracker);
    for (uint64_t k = 0; k < 8; k++) probe_need(&probes[i - 1], queue(1 + (i + 5 * k) % 40), 1 + k);
    CHECK_OK(probe_start(&probes[i - 1]));
  }
  CHECK(tide_tracker_cancel(&probes[0].wait));
  CHECK_OK(tide_tracker_fail(tracker, queue(1), TIDE_LOST));
  CHECK_OK(tide_tracker_certify(tracker, queue(1)));
  for (uint64_t i = 1; i <= 40; i += 2) CHECK_OK(tide_tracker_close(tracker, queue(i)));
  for (uint64_t i = 2; i <= 40; i += 2) CHECK_OK(tide_tracker_advance(tracker, queue(i), 9));
  for (uint64_t i = 2; i <= 40; i += 2) CHECK_OK(tide_tracker_close(tracker, queue(i)));
  CHECK_EQ_U64(heap.calls, calls);
  for (int i = 1; i < 40; i++) CHECK_EQ_U64(probes[i].done, 1);
  drop(tracker);
}

TEST_MAIN(CASE(an_unknown_axis_has_finished_nothing), CASE(epochs_only_go_up),
          CASE(an_axis_is_registered_once), CASE(thousands_of_axes),
          CASE(a_closed_axis_has_finished_for_ever),
          CASE(axes_that_come_and_go_leave_no_memory_behind),
          CASE(registering_without_memory_changes_nothing),
          CASE(a_wait_for_nothing_is_done_at_once), CASE(a_wait_ends_with_its_last_epoch),
          CASE(refused_waits_register_nothing), CASE(overshoot_fires_all_below_and_none_above),
          CASE(waiting_for_the_last_possible_epoch), CASE(cancelled_waits_never_run),
          CASE(a_failed_axis_fails_its_waiters_once),
          CASE(what_finished_before_the_failure_stays_finished),
          CASE(a_certified_axis_counts_as_finished), CASE(closing_opens_its_waits),
          CASE(axes_that_a_wait_is_not_queued_at_yet), CASE(waits_end_in_any_order_of_finishing),
          CASE(callbacks_may_do_everything), CASE(nodes_are_unlinked_before_failure_callbacks),
          CASE(finish_waiters_outlive_failure), CASE(finish_waiters_come_before_their_axis),
          CASE(severed_axes_are_over), CASE(collectors_hand_out_and_append),
          CASE(a_snapshot_lists_the_live_axes), CASE(only_register_allocates))
