/* The scheduler when there is much of something, or little room for it. */
#include "fake_device.h"

#include "sched/sched.h"

#include <pthread.h>
#include <stdlib.h>

static uint32_t calls;
static void count_call(struct tide_timepoint *point, enum tide_status status) {
  (void)point;
  CHECK_OK(status);
  calls++;
}

/* One signal lets very many go, and each of these lets two more go at once: what is to be looked at
 * is sorted when it is put on the list, and not again at each of them, which would take minutes. */
TEST(what_is_let_go_is_sorted_once) {
  enum { LANES = 40000 };
  struct lane {
    struct tide_queue *queue;
    struct tide_timeline *end;
    struct tide_timepoint points[2];
  } *lanes = calloc(LANES, sizeof *lanes);
  struct fake f;
  fake_open(&f, false, 4);
  struct tide_timeline *gate = fake_timeline(&f, "gate", true);
  struct tide_queue *opener = fake_queue(&f, "opener");
  CHECK_OK(SUBMIT(opener, .label = "open", SIGNALS({gate, 1})));
  for (struct lane *lane = lanes; lane < lanes + LANES; lane++) {
    struct tide_queue_params params = {
        .struct_size = sizeof params, .operations = 1, .waits = 1, .signals = 1, .buffers = 1};
    CHECK_OK(tide_queue_create(f.device, &params, &lane->queue));
    lane->end = fake_timeline(&f, "end", true);
    struct tide_operation end = {WAITS({gate, 1}), SIGNALS({lane->end, 1})};
    CHECK_OK(tide_queue_submit(lane->queue, &end, NULL, NULL));
    for (size_t i = 0; i < 2; i++) {
      lane->points[i] =
          (struct tide_timepoint){.timeline = lane->end, .value = 1, .call = count_call};
      CHECK_OK(tide_timepoint_add(&lane->points[i]));
    }
  }
  fake_run(&f, "open");
  CHECK_EQ_U64(calls, 2 * LANES);
  for (struct lane *lane = lanes; lane < lanes + LANES; lane++) {
    tide_queue_destroy(lane->queue);
    tide_timeline_release(lane->end);
  }
  tide_queue_destroy(opener);
  tide_timeline_release(gate);
  fake_close(&f);
  free(lanes);
}

/* An operation that may be passed may be passed by more than the bits of a number can count. */
TEST(passed_by_very_many) {
  struct fake f;
  fake_open(&f, true, 16);
  struct tide_queue *q = fake_queue(&f, "q");
  struct tide_timeline *t = fake_timeline(&f, "t", true);
  uint64_t held;
  CHECK_OK(tide_queue_submit(
      q, &OPERATION(.label = "held", WAITS({t, 1}), .flags = TIDE_MAY_BE_PASSED), &held, NULL));
  q->sequence += UINT64_C(1) << 33; /* as if so many had come and gone */
  CHECK_OK(SUBMIT(q, .label = "late"));
  fake_run(&f, "late");
  CHECK_EQ_U64(tide_op_sequence(tide_op_of_link(q->held.next)), held);
  CHECK_OK(tide_queue_cancel(q, held));
  CHECK_STATUS(fake_status(&f, "held"), TIDE_CANCELLED);
  tide_queue_destroy(q);
  tide_timeline_release(t);
  fake_close(&f);
}

/* Whatever a backend or a user calls a failure is one, also where it is no status of ours. */
TEST(a_failure_without_a_name) {
  struct fake f;
  fake_open(&f, true, 16);
  struct tide_queue *a = fake_queue(&f, "a"), *b = fake_queue(&f, "b");
  struct tide_timeline *t = fake_timeline(&f, "t", true), *u = fake_timeline(&f, "u", false);
  CHECK_OK(SUBMIT(a, .label = "body", SIGNALS({t, 1})));
  CHECK_OK(SUBMIT(b, .label = "behind", WAITS({t, 1})));
  fake_take(&f, "body");
  fake_give(&f, "body", (enum tide_status)256);
  CHECK_STATUS(fake_status(&f, "body"), TIDE_FAILED);
  CHECK_STATUS(fake_status(&f, "behind"), TIDE_FAILED);
  CHECK_EQ_U64(tide_timeline_query(t), 0);
  tide_timeline_fail(u, (enum tide_status)512);
  CHECK_OK(SUBMIT(a, .label = "waits", WAITS({u, 1})));
  CHECK_STATUS(fake_status(&f, "waits"), TIDE_FAILED);
  CHECK_OK(SUBMIT(a, .label = "lost"));
  tide_device_lose(f.device, (enum tide_status)1024);
  tide_device_certify(f.device);
  CHECK_STATUS(fake_status(&f, "lost"), TIDE_FAILED);
  tide_queue_destroy(a);
  tide_queue_destroy(b);
  tide_timeline_release(t);
  tide_timeline_release(u);
  fake_close(&f);
}

static uint32_t enough, looked;
static void *look_at_label(void *work) {
  while (!tide_load_acquire(&enough)) {
    CHECK(strcmp(tide_work_label(work), "named") == 0);
    tide_store_release(&looked, 1u);
  }
  return NULL;
}

/* Whoever has the work may ask for its label, whatever becomes of it meanwhile. (What can go wrong
 * is a race, and ThreadSanitizer sees it.) */
TEST(a_label_is_asked_for_while_all_is_lost) {
  struct fake f;
  pthread_t thread;
  fake_open(&f, true, 16);
  struct tide_queue *q = fake_queue(&f, "q");
  CHECK_OK(SUBMIT(q, .label = "named"));
  fake_take(&f, "named");
  CHECK(pthread_create(&thread, NULL, look_at_label, f.out[0]) == 0);
  while (!tide_load_acquire(&looked)) continue;
  for (int i = 0; i < 20; i++) CHECK_OK(SUBMIT(q, .label = "others")); /* the queue grows */
  tide_store_release(&looked, 0u);
  while (!tide_load_acquire(&looked)) continue;
  tide_device_lose(f.device, TIDE_LOST);
  tide_store_release(&looked, 0u);
  while (!tide_load_acquire(&looked)) continue;
  tide_store_release(&enough, 1u);
  CHECK(pthread_join(thread, NULL) == 0);
  tide_device_certify(f.device);
  CHECK_STATUS(fake_status(&f, "named"), TIDE_LOST);
  tide_queue_destroy(q);
  fake_close(&f);
}

/* A frontier of two entries forgets who signalled first, but the order is found. */
TEST(a_relay_is_in_order_beyond_a_frontier) {
  enum { QUEUES = 6 };
  struct tide_queue *queues[QUEUES];
  struct tide_timeline *lines[QUEUES];
  struct fake f;
  fake_open(&f, false, 2);
  struct tide_timeline *shared = fake_timeline(&f, "shared", false);
  for (int i = 0; i < QUEUES; i++) {
    queues[i] = fake_queue(&f, "stage");
    lines[i] = fake_timeline(&f, "line", true);
  }
  CHECK_OK(SUBMIT(queues[0], .label = "first", SIGNALS({lines[0], 1}, {shared, 1})));
  for (int i = 1; i < QUEUES; i++) {
    for (int k = 0; k < i; k++) CHECK_OK(SUBMIT(queues[i])); /* the smallest epoch goes first */
    CHECK_OK(SUBMIT(queues[i], WAITS({lines[i - 1], 1})));
    CHECK_OK(SUBMIT(queues[i], SIGNALS({lines[i], 1})));
  }
  struct tide_queue *stranger = fake_queue(&f, "stranger");
  CHECK_STATUS(SUBMIT(stranger, WAITS({lines[0], 1}), SIGNALS({lines[0], 2}, {lines[3], 2})),
               TIDE_UNORDERED);
  CHECK_OK(SUBMIT(queues[QUEUES - 1], .label = "last", SIGNALS({shared, 2})));
  fake_run_out(&f);
  CHECK_EQ_U64(tide_timeline_query(shared), 2);
  for (int i = 0; i < QUEUES; i++) {
    tide_queue_destroy(queues[i]);
    tide_timeline_destroy(lines[i]);
  }
  tide_queue_destroy(stranger);
  tide_timeline_destroy(shared);
  fake_close(&f);
}

/* The record of a collective does not list its members, whose order it stands for. */
TEST(a_signal_behind_a_collective_is_in_order) {
  struct fake f;
  fake_open(&f, false, 16);
  struct tide_queue *members[] = {fake_queue(&f, "left"), fake_queue(&f, "right")};
  struct tide_queue *behind = fake_queue(&f, "behind"), *stranger = fake_queue(&f, "stranger");
  struct tide_timeline *shared = fake_timeline(&f, "shared", false);
  struct tide_collective *all;
  CHECK_OK(tide_collective_create(members, 2, "all", &all));
  struct tide_timeline *progress = tide_collective_progress(all);
  struct tide_operation part = OPERATION(.label = "part");
  for (size_t i = 0; i < 2; i++) CHECK_OK(tide_collective_submit(all, i, 1, &part, NULL, NULL));
  CHECK_OK(SUBMIT(members[0], .label = "one", SIGNALS({shared, 1})));
  /* The first instance came before it, and the second one comes after it. */
  CHECK_STATUS(SUBMIT(stranger, WAITS({progress, 1}), SIGNALS({shared, 2})), TIDE_UNORDERED);
  for (size_t i = 0; i < 2; i++) CHECK_OK(tide_collective_submit(all, i, 1, &part, NULL, NULL));
  CHECK_OK(SUBMIT(behind, .label = "two", WAITS({progress, 2}), SIGNALS({shared, 2})));
  fake_run_out(&f);
  CHECK_EQ_U64(tide_timeline_query(shared), 2);
  for (size_t i = 0; i < 2; i++) tide_queue_destroy(members[i]);
  tide_queue_destroy(behind);
  tide_queue_destroy(stranger);
  tide_collective_destroy(all);
  tide_timeline_destroy(shared);
  fake_close(&f);
}

TEST_MAIN(CASE(a_signal_behind_a_collective_is_in_order),
          CASE(a_relay_is_in_order_beyond_a_frontier), CASE(what_is_let_go_is_sorted_once),
          CASE(passed_by_very_many), CASE(a_failure_without_a_name),
          CASE(a_label_is_asked_for_while_all_is_lost))
