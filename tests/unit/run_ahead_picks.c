/* Devices that run ahead, driven by hand: which operation goes out next, and what the backend is
 * told of that. */
#include "hand_rig.h"

#include <string.h>

static bool is_of(const struct tide_work *work, const struct tide_queue *queue) {
  CHECK(work != NULL);
  return tide_work_axis(work) == tide_queue_axis(queue);
}

/* Gives one work out, which must be of this queue. */
static void goes(struct hand_device *d, const struct tide_queue *queue) {
  struct tide_work *work = give(d);
  CHECK(is_of(work, queue));
  commit(d, work);
}

static void submit_many(struct tide_queue *queue, int count) {
  for (int i = 0; i < count; i++) submit(queue, &plain, NULL, NULL);
}

/* Returns a timeline whose value 1 an operation on this hardware queue will signal: it is out. */
static struct tide_timeline *line_of(struct hand_device *d, uint32_t hardware) {
  struct tide_queue *queue = open_queue(d, hardware, 8, 8);
  struct tide_timeline *line = open_timeline();
  submit(queue, &plain, NULL, line);
  goes(d, queue);
  return line;
}

/* Submits without a pick in between. */
#define TOGETHER(...)                                                                              \
  do {                                                                                             \
    tide_context_pause(context);                                                                   \
    __VA_ARGS__;                                                                                   \
    tide_context_resume(context);                                                                  \
  } while (0)

/* ---- hardware queues do not disturb each other ---------------------------------------- */

/* While a hardware queue is full, any number of picks of another one age none of its queues. */
TEST(picks_elsewhere_age_no_queue) {
  struct hand_device d;
  open_context();
  open_device(&d, 2, 3);
  struct tide_timeline *line = line_of(&d, 2);
  struct tide_queue *waits = open_queue(&d, 0, 1, 8), *high = open_queue(&d, 0, 15, 32);
  struct tide_queue *other = open_queue(&d, 1, 8, 512);
  submit_many(high, 20);
  goes(&d, high), goes(&d, high);
  submit(waits, &plain, line, NULL);
  for (uint64_t i = 1; i <= 200; i++) {
    submit(other, &plain, NULL, NULL);
    goes(&d, other);
    tide_device_over(d.device, 1, i);
  }
  tide_device_over(d.device, 0, 1);
  goes(&d, high);
  CLOSE(&d);
}

/* Hardware queues with room take turns. A priority counts on its own hardware queue alone. */
TEST(hardware_queues_take_turns) {
  struct hand_device d;
  open_context();
  open_device(&d, 64, 3);
  struct tide_timeline *line = line_of(&d, 2);
  struct tide_queue *waits = open_queue(&d, 0, 15, 8), *low = open_queue(&d, 1, 1, 64);
  (void)open_queue(&d, 0, 8, 8);
  TOGETHER(submit(waits, &plain, line, NULL), submit_many(low, 40));
  goes(&d, waits);
  struct tide_queue *high = open_queue(&d, 0, 15, 64);
  submit_many(high, 4);
  for (int i = 0; i < 4; i++) goes(&d, i % 2 ? high : low);
  CLOSE(&d);
}

/* ---- operations that would hold back others -------------------------------------------- */

TEST(waits_go_by_priority_behind_what_is_ready) {
  struct hand_device d;
  open_context();
  open_device(&d, 64, 3);
  struct tide_timeline *first = line_of(&d, 1), *second = line_of(&d, 2);
  struct tide_queue *low = open_queue(&d, 0, 2, 8), *high = open_queue(&d, 0, 15, 8);
  struct tide_queue *ready = open_queue(&d, 0, 1, 8);
  TOGETHER(submit(low, &plain, first, NULL), submit(high, &plain, second, NULL),
           submit_many(ready, 3));
  for (int i = 0; i < 3; i++) goes(&d, ready);
  goes(&d, high), goes(&d, low);
  CLOSE(&d);
}

/* Once one has gone out, what it waits for holds back the others there in any case. */
TEST(a_gated_hardware_queue_is_held_back_already) {
  struct hand_device d;
  open_context();
  open_device(&d, 64, 2);
  struct tide_timeline *line = line_of(&d, 1);
  struct tide_queue *first = open_queue(&d, 0, 15, 8), *second = open_queue(&d, 0, 14, 8);
  struct tide_queue *third = open_queue(&d, 0, 14, 8), *low = open_queue(&d, 0, 1, 8);
  TOGETHER(submit(first, &plain, line, NULL), submit(second, &plain, line, NULL),
           submit(third, &plain, line, NULL));
  goes(&d, first);
  submit_many(low, 3);
  goes(&d, second), goes(&d, third), goes(&d, low);
  CLOSE(&d);
}

/* A queue that was alone on its hardware queue shares it from now on. */
TEST(a_second_queue_may_be_held_back) {
  struct hand_device d;
  open_context();
  open_device(&d, 4, 2);
  struct tide_timeline *line = line_of(&d, 1);
  struct tide_queue *one = open_queue(&d, 0, 8, 8), *two;
  TOGETHER(submit(one, &plain, line, NULL), two = open_queue(&d, 0, 8, 8), submit_many(two, 1));
  goes(&d, two), goes(&d, one);
  tide_queue_destroy(two);
  submit(one, &plain, NULL, NULL);
  goes(&d, one);
  CLOSE(&d);
}

/* ... also if two others left it alone before. */
TEST(a_third_queue_may_be_held_back) {
  struct hand_device d, far;
  open_context();
  open_device(&d, 64, 1), open_device(&far, 64, 1);
  (void)line_of(&far, 0);
  struct tide_timeline *line = line_of(&far, 0);
  struct tide_queue *waits = open_queue(&d, 0, 8, 8), *gone = open_queue(&d, 0, 8, 8), *late;
  tide_context_pause(context);
  submit(waits, &plain, line, NULL), submit_many(gone, 1);
  tide_queue_destroy(gone);
  tide_device_over(far.device, 0, 1);
  late = open_queue(&d, 0, 8, 8), submit_many(late, 1);
  tide_context_resume(context);
  goes(&d, late), goes(&d, waits);
  CLOSE(&d, &far);
}

/* ---- parts that meet inside --------------------------------------------------------------- */

struct meeting {
  struct hand_device devices[2];
  struct tide_queue *queues[2][2]; /* by collective, by device */
  struct tide_collective *collectives[2];
};

static void open_meeting(struct meeting *m) {
  open_context();
  for (int i = 0; i < 2; i++) open_device(&m->devices[i], 8, 1);
  for (int c = 0; c < 2; c++) {
    for (int i = 0; i < 2; i++) m->queues[c][i] = open_queue(&m->devices[i], 0, 8, 8);
    CHECK_OK(tide_collective_create(m->queues[c], 2, "meets", &m->collectives[c]));
  }
}
static void submit_part(struct meeting *m, int collective, size_t member,
                        struct tide_timeline *awaited, struct tide_timeline *signalled) {
  struct tide_wait wait = {awaited, 1};
  struct tide_signal signal = {.timeline = signalled, .value = 1};
  struct tide_operation operation = {.body = &plain,
                                     .waits = &wait,
                                     .wait_count = awaited != NULL,
                                     .signals = &signal,
                                     .signal_count = signalled != NULL};
  CHECK_OK(tide_collective_submit(m->collectives[collective], member, 0, &operation, NULL, NULL));
}
/* Both devices get the parts in one order. */
static void check_meeting(struct meeting *m) {
  int first[2];
  for (int i = 0; i < 2; i++) {
    struct tide_work *work = give(&m->devices[i]);
    first[i] = is_of(work, m->queues[1][i]);
    commit(&m->devices[i], work);
    goes(&m->devices[i], m->queues[!first[i]][i]);
  }
  CHECK(first[0] == first[1]);
}

/* One event completes both collectives, the last parts being on different devices. */
TEST(parts_go_in_one_order_on_all_devices) {
  struct meeting m;
  struct hand_device host;
  open_meeting(&m);
  open_device(&host, 0, 0);
  struct tide_queue *queue;
  CHECK_OK(tide_queue_create(host.device, NULL, &queue));
  struct tide_timeline *line = open_timeline();
  submit(queue, &plain, NULL, line);
  struct tide_work *work = give(&host);
  submit_part(&m, 0, 0, NULL, NULL), submit_part(&m, 0, 1, line, NULL);
  submit_part(&m, 1, 1, NULL, NULL), submit_part(&m, 1, 0, line, NULL);
  commit(&host, work);
  check_meeting(&m);
  CLOSE(&m.devices[0], &m.devices[1], &host);
}

TEST(a_loan_does_not_change_the_order_of_parts) {
  struct meeting m;
  open_meeting(&m);
  struct tide_timeline *line = open_timeline();
  struct tide_queue *high = open_queue(&m.devices[1], 0, 14, 8);
  submit_part(&m, 0, 0, NULL, NULL), submit_part(&m, 0, 1, NULL, NULL);
  submit_part(&m, 1, 0, NULL, line), submit_part(&m, 1, 1, NULL, NULL);
  submit(high, &plain, line, NULL);
  check_meeting(&m);
  CLOSE(&m.devices[0], &m.devices[1]);
}

/* A part may wait inside: it goes out once all before it on its queue is published. */
TEST(a_part_is_kept_behind_what_is_out) {
  struct meeting m;
  open_meeting(&m);
  submit(m.queues[0][0], &plain, NULL, NULL);
  goes(&m.devices[0], m.queues[0][0]);
  submit_part(&m, 0, 0, NULL, NULL), submit_part(&m, 0, 1, NULL, NULL);
  CHECK(give(&m.devices[0]) == NULL && give(&m.devices[1]) == NULL);
  tide_device_over(m.devices[0].device, 0, 1);
  for (int i = 0; i < 2; i++) goes(&m.devices[i], m.queues[0][i]);
  CLOSE(&m.devices[0], &m.devices[1]);
}

/* It ages like a low priority. */
TEST(a_wait_that_would_hold_back_ages) {
  struct hand_device d;
  open_context();
  open_device(&d, 512, 2);
  struct tide_timeline *line = line_of(&d, 1);
  struct tide_queue *waits = open_queue(&d, 0, 15, 8), *busy = open_queue(&d, 0, 8, 256);
  TOGETHER(submit(waits, &plain, line, NULL), submit_many(busy, 200));
  for (int i = 0; i < 128; i++) goes(&d, busy);
  goes(&d, waits);
  CLOSE(&d);
}

/* The end of what they wait for, on any device of the group, lets all go by priority again. */
TEST(an_end_elsewhere_lets_all_go) {
  for (int kind = 0; kind < 4; kind++) {
    struct hand_device d, far;
    bool others = kind % 2, far_first = kind / 2;
    open_context();
    if (far_first) open_device(&far, 64, 1);
    open_device(&d, 64, 1);
    if (!far_first) open_device(&far, 64, 1);
    struct tide_timeline *line = line_of(&far, 0);
    struct tide_queue *high = open_queue(&d, 0, 15, 8), *higher = open_queue(&d, 0, 14, 8);
    struct tide_queue *low = open_queue(&d, 0, 1, 64);
    TOGETHER(submit(high, &plain, line, NULL); if (others) {
      submit(higher, &plain, line, NULL);
      submit_many(low, 20);
    });
    if (others) goes(&d, low);
    tide_device_over(far.device, 0, 1);
    if (!others) submit_many(low, 20);
    goes(&d, high);
    if (others) goes(&d, higher);
    goes(&d, low);
    CLOSE(&d, &far);
  }
}

/* ---- what the backend is told -------------------------------------------------------------- */

static bool more_to_take(struct hand_device *d) {
  bool more;
  CHECK(tide_device_exchange(d->device, NULL, 0, NULL, 0, &more) == 0);
  return more;
}

TEST(more_is_what_has_room) {
  struct hand_device d;
  bool more;
  open_context();
  open_device(&d, 2, 2);
  struct tide_queue *queues[3];
  for (int i = 0; i < 3; i++) queues[i] = open_queue(&d, 0, 8, 8), submit_many(queues[i], 1);
  CHECK(more_to_take(&d));
  struct tide_work *work = NULL;
  CHECK(tide_device_exchange(d.device, NULL, 0, &work, 1, &more) == 1 && more);
  commit(&d, work);
  CHECK(tide_device_exchange(d.device, NULL, 0, &work, 1, &more) == 1 && !more);
  commit(&d, work);
  CHECK(give(&d) == NULL && !more_to_take(&d));
  struct tide_queue *other = open_queue(&d, 1, 8, 8);
  submit_many(other, 1);
  CHECK(more_to_take(&d));
  goes(&d, other);
  CHECK(give(&d) == NULL);
  d.kicks = 0;
  tide_device_over(d.device, 0, 1);
  CHECK_EQ_U64(d.kicks, 1);
  CHECK(more_to_take(&d));
  goes(&d, queues[2]);
  CLOSE(&d);
}

TEST(room_that_comes_during_a_pause_is_told_at_its_end) {
  struct hand_device d;
  open_context();
  open_device(&d, 1, 1);
  struct tide_queue *one = open_queue(&d, 0, 8, 8), *two = open_queue(&d, 0, 8, 8);
  submit_many(one, 1), goes(&d, one);
  CHECK(give(&d) == NULL);
  TOGETHER(submit_many(two, 1), tide_device_over(d.device, 0, 1), d.kicks = 0);
  CHECK_EQ_U64(d.kicks, 1);
  goes(&d, two);
  CLOSE(&d);
}

/* A thread listens for an end, and another one fills the window: it must ask again. */
TEST(a_lower_end_is_told) {
  struct hand_device d;
  open_context();
  open_device(&d, 4, 1);
  struct tide_queue *one = open_queue(&d, 0, 8, 8), *two = open_queue(&d, 0, 8, 8);
  struct tide_queue *three = open_queue(&d, 0, 8, 8);
  CHECK_EQ_U64(tide_device_awaited(d.device, 0), 0);
  d.kicks = 0;
  submit_many(one, 3);
  for (int i = 0; i < 3; i++) goes(&d, one);
  CHECK(d.kicks > 0); /* from 0 */
  CHECK(give(&d) == NULL);
  submit_many(two, 1), submit_many(three, 1);
  CHECK_EQ_U64(tide_device_awaited(d.device, 0), 3);
  d.kicks = 0;
  goes(&d, two);
  CHECK(d.kicks > 0);
  CHECK_EQ_U64(tide_device_awaited(d.device, 0), 2);
  CLOSE(&d);
}

/* A body class whose `over` is called at each end needs each end. */
static void count_end(void *arguments) { (void)arguments; }
TEST(each_end_of_a_class_with_over_is_awaited) {
  static const struct tide_body_class told = {
      .name = "told", .host = never_called, .over = count_end};
  for (int kind = 0; kind < 2; kind++) {
    struct hand_device d;
    open_context();
    open_device(&d, 4, 1);
    struct tide_queue *queue = open_queue(&d, 0, 8, 8);
    for (int i = 0; i < 3; i++) {
      submit(queue, kind && i == 0 ? &told : &plain, NULL, NULL);
      goes(&d, queue);
    }
    CHECK_EQ_U64(tide_device_awaited(d.device, 0), kind ? 1 : 3);
    CLOSE(&d);
  }
}

/* A thread that reports an end runs callbacks: another one must listen for the next end before. */
static struct hand_device *listened;
static uint64_t kicks_before; /* the callback */
static void note_kicks(struct tide_timepoint *timepoint, enum tide_status status) {
  (void)timepoint, (void)status;
  kicks_before = listened->kicks;
}
TEST(another_thread_listens_while_callbacks_run) {
  struct hand_device d;
  open_context();
  open_device(&d, 4, 1);
  struct tide_timeline *first = open_timeline();
  struct tide_timepoint timepoint = {.timeline = first, .value = 1, .call = note_kicks};
  struct tide_queue *queue = open_queue(&d, 0, 8, 8);
  submit(queue, &plain, NULL, first), goes(&d, queue);
  submit(queue, &plain, NULL, NULL), goes(&d, queue);
  CHECK_OK(tide_timepoint_add(&timepoint));
  CHECK_EQ_U64(tide_device_awaited(d.device, 0), 1);
  listened = &d;
  d.kicks = kicks_before = 0;
  tide_device_over(d.device, 0, 1);
  CHECK_EQ_U64(kicks_before, 1);
  CLOSE(&d);
}

/* Submits an operation that the backend refuses. */
static void refuse_one(struct hand_device *d, struct tide_queue *queue) {
  submit(queue, &plain, NULL, NULL);
  struct tide_work *work = give(d);
  CHECK(is_of(work, queue));
  work->status = TIDE_FAILED;
  CHECK(tide_device_exchange(d->device, &work, 1, NULL, 0, NULL) == 0);
}

/* The numbers of refused works are never used: half of those that are out is lower. */
TEST(a_lower_end_is_told_behind_refused_numbers) {
  struct hand_device d;
  open_context();
  open_device(&d, 4, 1);
  struct tide_queue *one = open_queue(&d, 0, 8, 8), *two = open_queue(&d, 0, 8, 8);
  struct tide_queue *three = open_queue(&d, 0, 8, 8), *refused = open_queue(&d, 0, 8, 8);
  submit_many(one, 3);
  for (int i = 0; i < 3; i++) goes(&d, one);
  for (int i = 0; i < 20; i++) refuse_one(&d, refused);
  CHECK(give(&d) == NULL);
  submit_many(two, 1), submit_many(three, 1);
  CHECK_EQ_U64(tide_device_awaited(d.device, 0), 3);
  d.kicks = 0;
  goes(&d, two);
  CHECK(d.kicks > 0);
  CHECK_EQ_U64(tide_device_awaited(d.device, 0), 2);
  CLOSE(&d);
}

/* A new queue goes to the hardware queue with the fewest. */
TEST(a_destroyed_queue_leaves_its_place) {
  struct hand_device d;
  open_context();
  open_device(&d, 4, 2);
  (void)open_queue(&d, 0, 8, 8);
  tide_queue_destroy(open_queue(&d, 1, 8, 8));
  struct tide_queue *queue;
  CHECK_OK(tide_queue_create(d.device, NULL, &queue));
  submit_many(queue, 1);
  struct tide_work *work = give(&d);
  CHECK_EQ_U64(given(work).hardware_queue, 1);
  commit(&d, work);
  CLOSE(&d);
}

TEST(a_full_hardware_queue_is_diagnosed) {
  struct hand_device d;
  char text[1024];
  open_context();
  open_device(&d, 1, 1);
  struct tide_queue *one = open_queue(&d, 0, 8, 8), *two = open_queue(&d, 0, 8, 8);
  submit_many(one, 1), submit_many(two, 1);
  tide_context_diagnose(context, text, sizeof text);
  CHECK(strstr(text, "device 'hand' has not taken it") && !strstr(text, "is full"));
  goes(&d, one);
  tide_context_diagnose(context, text, sizeof text);
  CHECK(
      strstr(text, "is ready, but hardware queue 0 of device 'hand' is full: 1 are given or out"));
  CHECK(!strstr(text, "has not taken it"));
  CLOSE(&d);
}

TEST(what_is_ready_in_a_full_hardware_queue_can_be_cancelled) {
  struct hand_device d;
  open_context();
  open_device(&d, 1, 1);
  struct tide_queue *one = open_queue(&d, 0, 8, 8), *two = open_queue(&d, 0, 8, 8);
  struct tide_queue *gone = open_queue(&d, 0, 8, 8);
  submit_many(one, 1), goes(&d, one);
  uint64_t sequence = submit(two, &plain, NULL, NULL);
  submit_many(gone, 1);
  CHECK_OK(tide_queue_cancel(two, sequence));
  CHECK_OK(tide_queue_drain(two, TIDE_FOREVER));
  tide_queue_destroy(gone);
  submit_many(two, 1);
  CHECK(give(&d) == NULL);
  tide_device_over(d.device, 0, 1);
  goes(&d, two);
  CLOSE(&d);
}

TEST_MAIN(CASE(picks_elsewhere_age_no_queue), CASE(hardware_queues_take_turns),
          CASE(waits_go_by_priority_behind_what_is_ready),
          CASE(a_gated_hardware_queue_is_held_back_already), CASE(a_second_queue_may_be_held_back),
          CASE(a_third_queue_may_be_held_back), CASE(parts_go_in_one_order_on_all_devices),
          CASE(a_loan_does_not_change_the_order_of_parts), CASE(a_wait_that_would_hold_back_ages),
          CASE(an_end_elsewhere_lets_all_go), CASE(more_is_what_has_room),
          CASE(room_that_comes_during_a_pause_is_told_at_its_end),
          CASE(a_part_is_kept_behind_what_is_out), CASE(each_end_of_a_class_with_over_is_awaited),
          CASE(another_thread_listens_while_callbacks_run), CASE(a_lower_end_is_told),
          CASE(a_lower_end_is_told_behind_refused_numbers),
          CASE(a_destroyed_queue_leaves_its_place), CASE(a_full_hardware_queue_is_diagnosed),
          CASE(what_is_ready_in_a_full_hardware_queue_can_be_cancelled))
