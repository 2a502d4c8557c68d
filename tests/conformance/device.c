/* What every device must do: one list of cases, run over every kind of device. */
#include "causal/context_state.h"
#include "rig.h"

#include "base/random.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void open_given(struct rig *rig) { rig_open(rig, test_given()); }

/* Sizes shrink under sanitizers. */
static uint64_t scaled(uint64_t count) { return count / test_slowdown(); }

static void reached(struct tide_timeline *timeline, uint64_t value) {
  CHECK_OK(tide_timeline_wait(timeline, value, rig_later(20000)));
}

/* ---- finishing, order ------------------------------------------------------------------ */

#define QUEUES 4
#define EACH 500

static void all_that_is_submitted_finishes(void) {
  struct rig rig;
  struct tide_queue *queues[QUEUES];
  struct tide_timeline *timelines[QUEUES];
  static uint64_t cells[QUEUES * EACH];
  open_given(&rig);
  for (uint64_t q = 0; q < QUEUES; q++) {
    queues[q] = rig_queue(&rig, "queue", 64);
    timelines[q] = rig_timeline(&rig, "timeline");
  }
  for (uint64_t i = 0; i < EACH; i++)
    for (uint64_t q = 0; q < QUEUES; q++) {
      struct cell cell = {.rig = &rig, .cell = &cells[q * EACH + i], .number = q * EACH + i + 1};
      cell_submit(queues[q], &cell, NULL, 0, timelines[q], i + 1);
    }
  for (uint64_t q = 0; q < QUEUES; q++) {
    reached(timelines[q], EACH);
    CHECK_EQ_U64(tide_timeline_query(tide_queue_progress(queues[q])), EACH);
    tide_queue_destroy(queues[q]);
    tide_timeline_destroy(timelines[q]);
  }
  for (uint64_t i = 0; i < QUEUES * EACH; i++) CHECK_EQ_U64(cells[i], i + 1);
  rig_close(&rig);
}

/* On an in-order device no two operations of a queue run at once, and each runs at its place. */
static void a_queue_keeps_its_order(void) {
  struct rig rig;
  struct tide_queue *queues[QUEUES];
  struct lane lanes[QUEUES] = {{0, 0}};
  open_given(&rig);
  for (int q = 0; q < QUEUES; q++) queues[q] = rig_queue(&rig, "queue", 128);
  for (uint64_t i = 1; i <= EACH; i++)
    for (int q = 0; q < QUEUES; q++) {
      struct cell cell = {
          .rig = &rig, .number = i, .lane = rig.kind->in_order ? &lanes[q] : NULL, .lane_place = i};
      cell_submit(queues[q], &cell, NULL, 0, NULL, 0);
    }
  for (int q = 0; q < QUEUES; q++) {
    CHECK_OK(tide_queue_drain(queues[q], rig_later(20000)));
    if (rig.kind->in_order) CHECK_EQ_U64(lanes[q].last, EACH);
    CHECK_EQ_U64(tide_timeline_query(tide_queue_progress(queues[q])), EACH);
    tide_queue_destroy(queues[q]);
  }
  rig_close(&rig);
}

/* Whatever order a device works in: whoever sees a value sees all that lies before it. */
static void values_appear_in_order(void) {
  struct rig rig;
  enum { COUNT = 2000 };
  static uint64_t cells[COUNT + 1];
  open_given(&rig);
  struct tide_queue *queue = rig_queue(&rig, "queue", 256);
  struct tide_timeline *timeline = rig_timeline(&rig, "timeline");
  uint64_t submitted = 0, seen = 0, checked = 0;
  while (seen < COUNT) {
    for (int burst = 0; burst < 40 && submitted < COUNT; burst++) {
      submitted++;
      struct cell cell = {.rig = &rig, .cell = &cells[submitted], .number = submitted};
      cell_submit(queue, &cell, NULL, 0, timeline, submitted);
    }
    uint64_t value = tide_timeline_query(timeline), progress;
    progress = tide_timeline_query(tide_queue_progress(queue));
    CHECK(value >= seen && progress >= value);
    seen = value;
    for (; checked < seen; checked++) CHECK_EQ_U64(cells[checked + 1], checked + 1);
    if (seen > 0) CHECK(tide_tracker_finished(rig.context->tracker, tide_queue_axis(queue), seen));
    if (submitted == COUNT && seen < COUNT) reached(timeline, seen + 1);
  }
  tide_queue_destroy(queue);
  tide_timeline_destroy(timeline);
  rig_close(&rig);
}

/* ---- waits ------------------------------------------------------------------------------- */

/* Every operation waits for its neighbour queue's one before; bodies check that it is over and that
 * they see what it wrote. */
static void waits_across_queues_hold(void) {
  struct rig rig;
  struct tide_queue *queues[QUEUES];
  struct tide_timeline *timelines[QUEUES];
  static uint64_t cells[QUEUES][EACH + 1];
  open_given(&rig);
  for (int q = 0; q < QUEUES; q++) {
    queues[q] = rig_queue(&rig, "queue", 64);
    timelines[q] = rig_timeline(&rig, "timeline");
  }
  for (uint64_t i = 1; i <= EACH; i++)
    for (int q = 0; q < QUEUES; q++) {
      int from = (q + 1) % QUEUES;
      uint64_t value =
          q == QUEUES - 1 ? i : i - 1; /* the last queue closes the ring in this round */
      struct cell cell = {.rig = &rig, .cell = &cells[q][i], .number = i};
      struct tide_wait wait = {timelines[from], value};
      if (value)
        cell.checks[0] = (struct cell_check){timelines[from], value, &cells[from][value], value};
      cell_submit(queues[q], &cell, &wait, value != 0, timelines[q], i);
    }
  for (int q = 0; q < QUEUES; q++) reached(timelines[q], EACH);
  for (int q = 0; q < QUEUES; q++) {
    tide_queue_destroy(queues[q]);
    tide_timeline_destroy(timelines[q]);
  }
  rig_close(&rig);
}

/* From this device to a cpu device (a simulated one to another) and back, in memory that nothing
 * else synchronises. */
static void writes_are_visible_across_devices(void) {
  struct rig rig, other = {.kind = &rig_kinds[0]};
  enum { ROUNDS = 1000 };
  static uint64_t here[ROUNDS + 1], there[ROUNDS + 1];
  open_given(&rig);
  other.context = rig.context; /* the same scheduler drives both */
  other.words = rig.words;
  other.clock = rig.clock;
  if (rig.kind->alone) other.kind = rig.kind;
  other.kind->open(&other);
  struct tide_queue *a = rig_queue(&rig, "a", 64), *b = rig_queue(&other, "b", 64);
  struct tide_timeline *ping = rig_timeline(&rig, "ping"), *pong = rig_timeline(&rig, "pong");
  for (uint64_t i = 1; i <= ROUNDS; i++) {
    struct tide_wait for_pong = {pong, i - 1}, for_ping = {ping, i};
    struct cell first = {.rig = &rig, .cell = &here[i], .number = i};
    if (i > 1) first.checks[0] = (struct cell_check){pong, i - 1, &there[i - 1], i - 1};
    cell_submit(a, &first, &for_pong, i > 1, ping, i);
    struct cell second = {
        .rig = &other, .cell = &there[i], .number = i, .checks = {{ping, i, &here[i], i}}};
    cell_submit(b, &second, &for_ping, 1, pong, i);
  }
  reached(pong, ROUNDS);
  CHECK_EQ_U64(there[ROUNDS], ROUNDS);
  tide_queue_destroy(a), tide_queue_destroy(b);
  tide_timeline_destroy(ping), tide_timeline_destroy(pong);
  CHECK_OK(tide_device_settle(other.device, rig_later(20000)));
  tide_device_close(other.device);
  rig_close(&rig);
}

/* ---- failing, cancelling, ending ------------------------------------------------------------ */

static void a_failing_body_fails_what_depends_on_it(void) {
  struct rig rig;
  static uint64_t cells[4];
  uint32_t started = 0;
  open_given(&rig);
  struct tide_queue *a = rig_queue(&rig, "a", 16), *b = rig_queue(&rig, "b", 16),
                    *c = rig_queue(&rig, "c", 16);
  struct tide_timeline *bad = rig_timeline(&rig, "bad"), *next = rig_timeline(&rig, "next"),
                       *fine = rig_timeline(&rig, "fine"), *same = rig_timeline(&rig, "same");
  struct cell failing = {.rig = &rig, .cell = &cells[0], .number = 1, .answer = TIDE_FAILED};
  struct cell depends = {.rig = &rig, .cell = &cells[1], .number = 2, .started = &started};
  struct cell behind = {.rig = &rig, .cell = &cells[2], .number = 3};
  struct cell apart = {.rig = &rig, .cell = &cells[3], .number = 4};
  struct tide_wait wait = {bad, 1};
  cell_submit(a, &failing, NULL, 0, bad, 1);
  cell_submit(b, &depends, &wait, 1, next, 1);
  cell_submit(a, &behind, NULL, 0, same, 1);
  cell_submit(c, &apart, NULL, 0, fine, 1);
  CHECK_STATUS(tide_timeline_wait(bad, 1, rig_later(20000)), TIDE_FAILED);
  CHECK_STATUS(tide_timeline_wait(next, 1, rig_later(20000)), TIDE_FAILED);
  reached(fine, 1);
  reached(same, 1);
  CHECK_EQ_U64(tide_timeline_query(bad), 0);
  CHECK(started == 0 && cells[0] == 0 && cells[1] == 0 && cells[2] == 3 && cells[3] == 4);
  CHECK_OK(tide_queue_drain(a, rig_later(20000)));
  CHECK_OK(tide_queue_drain(b, rig_later(20000)));
  tide_queue_destroy(a), tide_queue_destroy(b), tide_queue_destroy(c);
  tide_timeline_destroy(bad), tide_timeline_destroy(next);
  tide_timeline_destroy(fine), tide_timeline_destroy(same);
  rig_close(&rig);
}

/* A device that the test drives by hand: what its operations signal is promised, and not yet done.
 */
struct manual {
  struct tide_backend backend;
  struct tide_device *device;
  struct tide_queue *queue;
};

static void manual_kick(void *self) { (void)self; }

static void manual_open(struct manual *manual, struct rig *rig) {
  manual->backend = (struct tide_backend){
      .name = "manual", .in_order = true, .domain = TIDE_DOMAIN_QUEUE, .kick = manual_kick};
  CHECK_OK(tide_device_open(rig->context, &manual->backend, "manual", &manual->device));
  CHECK_OK(tide_queue_create(manual->device, NULL, &manual->queue));
}

static void manual_step(struct manual *manual) {
  struct tide_work *work;
  CHECK_EQ_U64(tide_device_exchange(manual->device, NULL, 0, &work, 1, NULL), 1);
  work->status = work->body->host(tide_work_arguments(work));
  CHECK_EQ_U64(tide_device_exchange(manual->device, &work, 1, NULL, 0, NULL), 0);
}

static void manual_close(struct manual *manual) {
  tide_queue_destroy(manual->queue);
  CHECK_OK(tide_device_settle(manual->device, rig_later(20000)));
  tide_device_close(manual->device);
}

static void submit_counted(struct tide_queue *queue, struct rig *rig, uint32_t *started,
                           const struct tide_wait *wait, uint64_t *out_sequence) {
  struct cell cell = {.rig = rig, .number = 1, .started = started};
  struct tide_operation operation = {.waits = wait,
                                     .wait_count = wait != NULL,
                                     .body = cell_class(&cell),
                                     .arguments = &cell,
                                     .arguments_size = sizeof cell};
  CHECK_OK(tide_queue_submit(queue, &operation, out_sequence, NULL));
}

static void what_has_not_started_can_be_cancelled(void) {
  struct rig rig;
  struct manual manual;
  uint32_t started = 0;
  uint64_t first, second, third;
  open_given(&rig);
  manual_open(&manual, &rig);
  struct tide_queue *queue = rig_queue(&rig, "queue", 16);
  struct tide_timeline *gate = rig_timeline(&rig, "gate");
  struct tide_wait wait = {gate, 1};
  cell_submit(manual.queue, &(struct cell){.rig = &rig}, NULL, 0, gate, 1);
  submit_counted(queue, &rig, &started, &wait, &first);
  submit_counted(queue, &rig, &started, NULL, &second);
  submit_counted(queue, &rig, &started, NULL, &third);
  CHECK_OK(tide_queue_cancel(queue, second));
  CHECK_STATUS(tide_queue_drain(queue, rig_later(5)), TIDE_TIMEOUT);
  CHECK_EQ_U64(tide_load_acquire(&started), 0);
  manual_step(&manual);
  CHECK_OK(tide_queue_drain(queue, rig_later(20000)));
  CHECK_EQ_U64(tide_load_acquire(&started), 2);
  CHECK_STATUS(tide_queue_cancel(queue, third), TIDE_NOT_FOUND);
  tide_queue_destroy(queue);
  tide_timeline_destroy(gate);
  manual_close(&manual);
  rig_close(&rig);
}

static void drain_waits_for_what_was_before(void) {
  struct rig rig;
  uint32_t started = 0;
  open_given(&rig);
  struct tide_queue *queue = rig_queue(&rig, "queue", 64);
  for (uint32_t round = 1; round <= 200; round++) {
    for (int i = 0; i < 5; i++) submit_counted(queue, &rig, &started, NULL, NULL);
    CHECK_OK(tide_queue_drain(queue, rig_later(20000)));
    CHECK_EQ_U64(tide_load_acquire(&started), round * 5);
  }
  tide_queue_destroy(queue);
  rig_close(&rig);
}

/* Some have run, one may be running, the others never start; their signals fail. */
static void a_queue_can_be_destroyed_with_work_in_it(void) {
  struct rig rig;
  open_given(&rig);
  for (int round = 0; round < 60; round++) {
    enum { COUNT = 50 };
    uint32_t started = 0;
    struct tide_queue *queue = rig_queue(&rig, "queue", COUNT);
    struct tide_timeline *timeline = rig_timeline(&rig, "timeline");
    for (uint64_t i = 1; i <= COUNT; i++) {
      struct cell cell = {.rig = &rig, .number = i, .started = &started};
      cell_submit(queue, &cell, NULL, 0, timeline, i);
    }
    if (round % 3) reached(timeline, (uint64_t)round % 3 * 10);
    tide_queue_destroy(queue);
    enum tide_status status = tide_timeline_wait(timeline, COUNT, rig_later(20000));
    CHECK(status == TIDE_OK || status == TIDE_CANCELLED);
    CHECK_OK(tide_device_settle(rig.device, rig_later(20000)));
    uint64_t value = tide_timeline_query(timeline);
    CHECK(tide_load_acquire(&started) >= value && (status != TIDE_OK || value == COUNT));
    tide_timeline_destroy(timeline);
  }
  rig_close(&rig);
}

/* ---- many, full, kicked ------------------------------------------------------------------------
 */

static void a_hundred_thousand_operations(void) {
  struct rig rig;
  uint64_t count = scaled(100000);
  static uint64_t cells[2][100001];
  open_given(&rig);
  struct tide_queue *a = rig_queue(&rig, "a", 4096), *b = rig_queue(&rig, "b", 4096);
  struct tide_timeline *first = rig_timeline(&rig, "first"), *second = rig_timeline(&rig, "second");
  for (uint64_t i = 1; i <= count / 2; i++) {
    struct tide_wait wait = {first, i};
    struct cell one = {.rig = &rig, .cell = &cells[0][i], .number = i};
    struct cell two = {.rig = &rig, .cell = &cells[1][i], .number = i};
    if (i % 8 == 0) two.checks[0] = (struct cell_check){first, i, &cells[0][i], i};
    cell_submit(a, &one, NULL, 0, first, i);
    cell_submit(b, &two, &wait, i % 8 == 0, second, i);
  }
  reached(first, count / 2);
  reached(second, count / 2);
  for (uint64_t i = 1; i <= count / 2; i++) CHECK(cells[0][i] == i && cells[1][i] == i);
  tide_queue_destroy(a), tide_queue_destroy(b);
  tide_timeline_destroy(first), tide_timeline_destroy(second);
  rig_close(&rig);
}

static void a_full_queue_has_room_again(void) {
  struct rig rig;
  struct manual manual;
  uint32_t started = 0;
  open_given(&rig);
  manual_open(&manual, &rig);
  struct tide_queue *queue = rig_queue(&rig, "queue", 8);
  struct tide_timeline *gate = rig_timeline(&rig, "gate");
  for (uint64_t round = 1; round <= 20; round++) {
    struct tide_wait wait = {gate, round};
    cell_submit(manual.queue, &(struct cell){.rig = &rig}, NULL, 0, gate, round);
    for (int i = 0; i < 8; i++) submit_counted(queue, &rig, &started, i ? NULL : &wait, NULL);
    struct tide_operation one_more = {.body = NULL};
    uint64_t value = tide_timeline_query(tide_queue_progress(queue));
    CHECK_STATUS(tide_queue_submit(queue, &one_more, NULL, NULL), TIDE_FULL);
    manual_step(&manual);
    CHECK_OK(tide_timeline_wait(tide_queue_progress(queue), value + 1, rig_later(20000)));
    CHECK_OK(tide_queue_drain(queue, rig_later(20000)));
  }
  CHECK_EQ_U64(tide_load_acquire(&started), 160);
  tide_queue_destroy(queue);
  tide_timeline_destroy(gate);
  manual_close(&manual);
  rig_close(&rig);
}

/* One at a time, with pauses of all lengths: the executor is found spinning, falling asleep, and
 * asleep. A kick that gets lost hangs the case. */
static void no_kick_is_lost(void) {
  struct rig rig;
  struct tide_random random = {9};
  uint64_t count = scaled(10000);
  open_given(&rig);
  struct tide_queue *queue = rig_queue(&rig, "queue", 16);
  struct tide_timeline *timeline = rig_timeline(&rig, "timeline");
  for (uint64_t i = 1; i <= count; i++) {
    struct cell cell = {.rig = &rig, .number = i};
    cell_submit(queue, &cell, NULL, 0, timeline, i);
    CHECK_OK(tide_timeline_wait(timeline, i, rig_later(10000)));
    uint64_t pauses = tide_random_below(&random, 8) ? tide_random_below(&random, 2000) : 20000;
    for (uint64_t p = 0; p < pauses; p++) tide_pause();
  }
  tide_queue_destroy(queue);
  tide_timeline_destroy(timeline);
  rig_close(&rig);
}

/* Several threads submit at once, each to a queue of its own. */
struct submitter {
  struct rig *rig;
  struct tide_queue *queue;
  struct tide_timeline *timeline;
  uint64_t count;
  struct tide_thread *thread;
};

static void submitter_main(void *argument) {
  struct submitter *s = argument;
  for (uint64_t i = 1; i <= s->count; i++) {
    struct cell cell = {.rig = s->rig, .number = i};
    cell_submit(s->queue, &cell, NULL, 0, s->timeline, i);
    if (i % 64 == 0) reached(s->timeline, i);
  }
}

static void many_threads_submit(void) {
  struct rig rig;
  struct submitter submitters[QUEUES];
  open_given(&rig);
  const struct tide_platform *platform = rig.context->platform;
  for (int i = 0; i < QUEUES; i++) {
    submitters[i] = (struct submitter){&rig, rig_queue(&rig, "queue", 32),
                                       rig_timeline(&rig, "timeline"), scaled(4000) + 1, NULL};
    CHECK_OK(platform->spawn(platform->self, "submitter", submitter_main, &submitters[i],
                             &submitters[i].thread));
  }
  for (int i = 0; i < QUEUES; i++) {
    platform->join(platform->self, submitters[i].thread);
    reached(submitters[i].timeline, submitters[i].count);
    tide_queue_destroy(submitters[i].queue);
    tide_timeline_destroy(submitters[i].timeline);
  }
  rig_close(&rig);
}

/* ---- hands, and what they can do ---------------------------------------------------------------
 */

/* Two bodies that each wait for the other to run: with two free hands both must, also when the
 * second comes long after the first. (A real program must not do this.) */
struct meeting {
  uint32_t *here;
};

static enum tide_status meet(void *arguments) {
  struct meeting *meeting = arguments;
  const struct tide_platform *platform = tide_platform_linux();
  uint64_t end = rig_later(5000);
  tide_fetch_add(meeting->here, 1u);
  while (tide_load_acquire(meeting->here) < 2)
    if (platform->now(platform->self) > end) return TIDE_TIMEOUT;
    else platform->yield(platform->self);
  return TIDE_OK;
}

static void free_hands_take_work(void) {
  static const struct tide_body_class class_ = {.name = "meet", .host = meet};
  struct rig rig;
  open_given(&rig);
  bool has_hands = rig.kind->host && !rig.kind->alone && !rig.kind->ahead;
  if (has_hands && rig.kind->in_order && rig.kind->number >= 2) {
    for (int round = 0; round < 50; round++) {
      uint32_t here = 0;
      struct tide_queue *a = rig_queue(&rig, "a", 4), *b = rig_queue(&rig, "b", 4);
      struct meeting meeting = {&here};
      struct tide_operation operation = {
          .body = &class_, .arguments = &meeting, .arguments_size = sizeof meeting};
      struct tide_timeline *timeline = rig_timeline(&rig, "timeline");
      struct tide_signal signal = {.timeline = timeline, .value = 1};
      operation.signals = &signal, operation.signal_count = 1;
      CHECK_OK(tide_queue_submit(a, &operation, NULL, NULL));
      if (round % 2)
        while (tide_load_acquire(&here) == 0) tide_pause();
      operation.signal_count = 0;
      CHECK_OK(tide_queue_submit(b, &operation, NULL, NULL));
      reached(timeline, 1);
      CHECK_OK(tide_queue_drain(b, rig_later(20000)));
      tide_queue_destroy(a), tide_queue_destroy(b);
      tide_timeline_destroy(timeline);
    }
  }
  rig_close(&rig);
}

static void what_it_cannot_do_is_refused(void) {
  static const struct tide_body_class none = {.name = "none", .host = NULL};
  static const struct tide_file_ops half_ops = {{TIDE_OPS_FILE}, TIDE_IO_READ, NULL};
  static const struct tide_body_class half = {.name = "half", .ops = &half_ops.ops};
  static const struct tide_body_class host_only = {.name = "host", .host = meet};
  struct rig rig;
  open_given(&rig);
  struct tide_queue *queue = rig_queue(&rig, "queue", 4);
  struct tide_operation operation = {.body = &none};
  struct tide_diag diag = {0};
  CHECK_STATUS(tide_queue_submit(queue, &operation, NULL, &diag), TIDE_UNSUPPORTED);
  CHECK(strstr(diag.text, "none"));
  operation.body = &half;
  CHECK_STATUS(tide_queue_submit(queue, &operation, NULL, NULL), TIDE_UNSUPPORTED);
  operation.body = &host_only;
  if (!rig.kind->host)
    CHECK_STATUS(tide_queue_submit(queue, &operation, NULL, NULL), TIDE_UNSUPPORTED);
  CHECK_EQ_U64(tide_timeline_query(tide_queue_progress(queue)), 0);
  operation.body = NULL;
  CHECK_OK(tide_queue_submit(queue, &operation, NULL, NULL));
  CHECK_OK(tide_queue_drain(queue, rig_later(20000)));
  tide_queue_destroy(queue);
  rig_close(&rig);
}

/* An executor comes and goes without ever having had work. */
static void an_idle_device_comes_and_goes(void) {
  for (int round = 0; round < 20; round++) {
    struct rig rig;
    open_given(&rig);
    if (round % 2) {
      struct timespec nap = {0, 1000000};
      nanosleep(&nap, NULL);
    }
    rig_close(&rig);
  }
}

/* ---- the table: every case with every kind
 * ------------------------------------------------------- */

#define EVERY(name)                                                                                \
  { #name, name }
static const struct {
  const char *name;
  void (*run)(void);
} every[] = {
    EVERY(all_that_is_submitted_finishes),
    EVERY(a_queue_keeps_its_order),
    EVERY(values_appear_in_order),
    EVERY(waits_across_queues_hold),
    EVERY(writes_are_visible_across_devices),
    EVERY(a_failing_body_fails_what_depends_on_it),
    EVERY(what_has_not_started_can_be_cancelled),
    EVERY(drain_waits_for_what_was_before),
    EVERY(a_queue_can_be_destroyed_with_work_in_it),
    EVERY(a_hundred_thousand_operations),
    EVERY(a_full_queue_has_room_again),
    EVERY(no_kick_is_lost),
    EVERY(many_threads_submit),
    EVERY(free_hands_take_work),
    EVERY(what_it_cannot_do_is_refused),
    EVERY(an_idle_device_comes_and_goes),
};

int main(int argc, char **argv) {
  size_t case_count = sizeof every / sizeof every[0], count = 0;
  struct test_case *cases = calloc(case_count * rig_kind_count, sizeof *cases);
  bool cuda = dlopen("libcuda.so.1", RTLD_NOW) != NULL;
  if (!cases) return 1;
  for (size_t k = 0; k < rig_kind_count; k++)
    for (size_t c = 0; c < case_count; c++) {
      /* There is one thread in a simulation. */
      if (rig_kinds[k].alone && every[c].run == many_threads_submit) continue;
      /* Without a GPU one line says so. */
      if (c && !cuda && strcmp(rig_kinds[k].name, "cuda") == 0) continue;
      char *name = malloc(80);
      if (!name) return 1;
      snprintf(name, 80, "%s_%s", rig_kinds[k].name, every[c].name);
      cases[count++] = (struct test_case){name, every[c].run, &rig_kinds[k], 0};
    }
  int answer = test_main(argc, argv, cases, count);
  for (size_t i = 0; i < count; i++) free((char *)cases[i].name);
  free(cases);
  return answer;
}
