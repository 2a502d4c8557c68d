/* Small things are small, and what grows does so at submits and promises, never elsewhere. */
#include "causal/context_state.h"
#include "harness.h"
#include "meter.h"
#include "tidemark/tidemark.h"

#include <stdio.h>

static struct meter meter;
static const struct tide_allocator allocator = {meter_alloc, meter_free, &meter};

static void kick(void *self) { (void)self; }
static enum tide_status nothing(void *arguments) {
  (void)arguments;
  return TIDE_OK;
}
static const struct tide_body_class body = {.name = "nothing", .host = nothing};
static const struct tide_backend backend = {.name = "inline", .in_order = true, .kick = kick};

static struct tide_context *context;
static struct tide_device *device, *second;

static void open_room(void) {
  meter = (struct meter){.asked = 0};
  CHECK_OK(
      tide_context_create(TIDE_PARAMS(tide_context_params, .allocator = &allocator), &context));
  CHECK_OK(tide_device_open(context, &backend, "first", &device));
  CHECK_OK(tide_device_open(context, &backend, "second", &second));
}

static void close_room(void) {
  tide_context_destroy(context);
  CHECK_EQ_U64((uint64_t)meter.bytes, 0);
}

/* Runs what is ready, to the end. */
static void run_on(struct tide_device *one) {
  struct tide_work *work, *done = NULL;
  while (tide_device_exchange(one, &done, done != NULL, &work, 1, NULL)) done = work;
}
static void run_ready(void) { run_on(device); }

/* Submits an operation with a label and arguments; `timeline` may be NULL. */
static enum tide_status submit(struct tide_queue *queue, const struct tide_wait *waits,
                               size_t wait_count, struct tide_timeline *timeline, uint64_t value) {
  static const char arguments[TIDE_ARGUMENTS_MAX];
  char label[24];
  struct tide_signal signal = {timeline, value, false};
  snprintf(label, sizeof label, "op %u", (unsigned)value);
  struct tide_operation operation = {.label = label,
                                     .waits = waits,
                                     .wait_count = wait_count,
                                     .signals = &signal,
                                     .signal_count = timeline != NULL,
                                     .body = &body,
                                     .arguments = arguments,
                                     .arguments_size = sizeof arguments};
  return tide_queue_submit(queue, &operation, NULL, NULL);
}

/* ---- sizes --------------------------------------------------------------------------------- */

/* Returns the bytes of each of `count` objects. */
static uint64_t bytes_each(void (*make)(void *self), void *self) {
  enum { COUNT = 100 };
  int64_t before = meter.bytes;
  for (int i = 0; i < COUNT; i++) make(self);
  return (uint64_t)(meter.bytes - before + COUNT - 1) / COUNT;
}

static void make_timeline(void *self) {
  struct tide_timeline *timeline;
  (void)self;
  CHECK_OK(tide_timeline_create(context, TIDE_PARAMS(tide_timeline_params, .label = "a timeline"),
                                &timeline));
}

static void make_promise(void *self) {
  struct tide_client *client = self;
  struct tide_future *future;
  struct tide_point point;
  CHECK_OK(tide_future_create(client, NULL, &future));
  CHECK_OK(tide_future_promise(future, 0, &point));
}

static void make_queue(void *self) {
  struct tide_queue *queue;
  (void)self;
  CHECK_OK(tide_queue_create(device, NULL, &queue));
}

TEST(small_things) {
  open_room();
  struct tide_points *points;
  struct tide_client *client;
  CHECK_OK(tide_points_create(context, TIDE_PARAMS(tide_points_params, .manual = true), &points));
  CHECK_OK(tide_client_create(points, NULL, &client));
  uint64_t timeline = bytes_each(make_timeline, NULL);
  uint64_t promise = bytes_each(make_promise, client);
  uint64_t queue = bytes_each(make_queue, NULL);
  if (timeline > 512 || promise > 1024 || queue > 32768)
    FAIL("a timeline of %u bytes, a promise of %u, a queue of %u", (unsigned)timeline,
         (unsigned)promise, (unsigned)queue);
  close_room();
}

/* ---- queues -------------------------------------------------------------------------------- */

enum { FEW = 15, ALL = 256 };

static struct tide_timeline *timeline_of(uint32_t history) {
  struct tide_timeline *timeline;
  CHECK_OK(tide_timeline_create(context, TIDE_PARAMS(tide_timeline_params, .history = history),
                                &timeline));
  return timeline;
}

/* A queue, and one of another device that it learns of: operation n waits for the n-th there. */
struct learner {
  struct tide_queue *queue, *other;
  struct tide_timeline *timeline;
};

static void open_learner(struct learner *l) {
  l->timeline = timeline_of(16);
  CHECK_OK(tide_queue_create(device, NULL, &l->queue));
  CHECK_OK(
      tide_queue_create(second, TIDE_PARAMS(tide_queue_params, .operations = 1000), &l->other));
}

static enum tide_status learn(struct learner *l, uint64_t number) {
  struct tide_wait wait = {tide_queue_progress(l->other), number};
  if (tide_timeline_query(wait.timeline) < number) {
    CHECK_OK(submit(l->other, NULL, 0, NULL, 0));
    run_on(second);
  }
  return submit(l->queue, &wait, 1, l->timeline, number);
}

/* Each record of the progress timeline knows what its own operation does, and no more. `entered`:
 * the newest epoch. */
static void check_records(struct learner *l, uint64_t newest, uint64_t entered) {
  TIDE_FRONTIER_STORAGE(f, 16);
  tide_frontier_init(&f.frontier, 16);
  struct tide_record_info info;
  for (uint64_t value = 1; value <= newest; value++) {
    CHECK_OK(tide_timeline_frontier_at(tide_queue_progress(l->queue), value, &f.frontier, &info));
    CHECK(info.value >= value && info.coarse == (info.value != value));
    CHECK(info.value == value || entered - value >= FEW);
    CHECK_EQ_U64(tide_frontier_get(&f.frontier, tide_queue_axis(l->queue)), info.value);
    CHECK_EQ_U64(tide_frontier_get(&f.frontier, tide_queue_axis(l->other)), info.value);
  }
}

/* `done`: operations before the queue grows, so that its rings have wrapped around. */
static void grow_after(uint64_t done) {
  open_room();
  struct learner l;
  open_learner(&l);
  for (uint64_t i = 1; i <= done; i++) {
    CHECK_OK(learn(&l, i));
    run_ready();
  }
  uint64_t asked = meter.asked;
  for (uint64_t i = 1; i <= FEW; i++) CHECK_OK(learn(&l, done + i));
  CHECK_EQ_U64(meter.asked, asked);
  for (uint64_t last = 1;; last++) { /* each allocation of the growth may fail */
    meter.fail_at = meter.asked + last;
    enum tide_status status = learn(&l, done + FEW + 1);
    if (status == TIDE_OK) {
      CHECK(last > 5);
      break;
    }
    CHECK_STATUS(status, TIDE_NOMEM);
  }
  meter.fail_at = 0;
  asked = meter.asked;
  check_records(&l, done, done + FEW + 1);
  for (uint64_t i = FEW + 2; i <= ALL; i++) CHECK_OK(learn(&l, done + i));
  CHECK_STATUS(learn(&l, done + ALL + 1), TIDE_FULL);
  run_ready();
  CHECK_EQ_U64(tide_timeline_query(l.timeline), done + ALL);
  check_records(&l, done + ALL, done + ALL);
  for (uint64_t i = 1; i <= 2 * ALL; i++) { /* the whole capacity is free again */
    CHECK_OK(learn(&l, done + ALL + i));
    if (i % ALL == 0) run_ready();
  }
  CHECK_EQ_U64(tide_timeline_query(l.timeline), done + 3 * ALL);
  check_records(&l, done + 3 * ALL, done + 3 * ALL);
  CHECK_EQ_U64(meter.asked, asked);
  close_room();
}

TEST(a_queue_grows_once) {
  for (uint64_t done = 0; done < 200; done += done < 40 ? 3 : 11) grow_after(done);
}

/* Operations that were submitted before the queue grew may fail, be cancelled, or be held. */
TEST(early_operations_end_in_all_ways) {
  open_room();
  struct tide_timeline *gate = timeline_of(1), *timeline = timeline_of(16);
  struct tide_queue *queue;
  CHECK_OK(tide_queue_create(device, NULL, &queue));
  uint64_t sequence[2 * FEW];
  for (uint64_t i = 0; i < 2 * FEW; i++) {
    struct tide_wait waits[10]; /* more than the scheduler stores results of */
    for (int j = 0; j < 10; j++) waits[j] = (struct tide_wait){gate, 1};
    struct tide_operation operation = {
        .label = "early", .waits = waits, .wait_count = i % 4 == 1 ? 10 : 2, .body = &body};
    CHECK_OK(tide_queue_submit(queue, &operation, &sequence[i], NULL));
  }
  CHECK_OK(tide_queue_cancel(queue, sequence[1]));
  CHECK_OK(tide_queue_cancel(queue, sequence[FEW + 1]));
  struct tide_wait at_gate = {gate, 1};
  CHECK_OK(submit(queue, &at_gate, 1, timeline, 1));
  CHECK_OK(tide_timeline_signal(gate, 1, NULL));
  run_ready();
  CHECK_EQ_U64(tide_timeline_query(timeline), 1);
  for (uint64_t i = 0; i < ALL; i++) CHECK_OK(submit(queue, NULL, 0, timeline, i + 2));
  tide_queue_destroy(queue); /* with operations in it */
  run_ready();
  close_room();
}

TEST(parts_of_collectives_make_a_queue_grow) {
  open_room();
  struct tide_queue *queues[2];
  struct tide_collective *all;
  struct tide_timeline *gate = timeline_of(1), *timeline = timeline_of(16);
  for (int i = 0; i < 2; i++) CHECK_OK(tide_queue_create(device, NULL, &queues[i]));
  CHECK_OK(tide_collective_create(queues, 2, "all", &all));
  for (uint64_t i = 1; i <= 3 * FEW; i++) {
    struct tide_wait wait = {gate, 1};
    struct tide_signal signal = {timeline, i, false};
    struct tide_operation part = {.waits = &wait, .wait_count = 1, .body = &body};
    CHECK_OK(tide_collective_submit(all, 0, 1, &part, NULL, NULL));
    part.signals = &signal;
    part.signal_count = 1;
    CHECK_OK(tide_collective_submit(all, 1, 1, &part, NULL, NULL));
  }
  CHECK_OK(tide_timeline_signal(gate, 1, NULL));
  run_ready();
  CHECK_EQ_U64(tide_timeline_query(timeline), 3 * FEW);
  tide_collective_destroy(all);
  close_room();
}

/* One allocation fails, and the next one of the same submit would not. */
TEST(a_part_when_memory_comes_back_at_once) {
  for (uint64_t last = 1; last <= 9; last++) {
    open_room();
    struct tide_queue *queues[2];
    struct tide_collective *all;
    struct tide_timeline *timeline = timeline_of(16);
    for (int i = 0; i < 2; i++) CHECK_OK(tide_queue_create(device, NULL, &queues[i]));
    CHECK_OK(tide_collective_create(queues, 2, "all", &all));
    for (uint64_t i = 1; i <= FEW + 1; i++) {
      struct tide_signal signal = {timeline, i, false};
      struct tide_operation part = {.body = &body, .signals = &signal, .signal_count = 1};
      if (i == FEW + 1) meter.fail_at = meter.asked + last;
      enum tide_status status = tide_collective_submit(all, 0, 1, &part, NULL, NULL);
      if (status == TIDE_NOMEM) status = tide_collective_submit(all, 0, 1, &part, NULL, NULL);
      CHECK_OK(status);
    }
    meter.fail_at = 0;
    struct tide_operation part = {.body = &body};
    for (uint64_t i = 1; i <= FEW + 1; i++)
      CHECK_OK(tide_collective_submit(all, 1, 1, &part, NULL, NULL));
    run_ready();
    CHECK_EQ_U64(tide_timeline_query(timeline), FEW + 1);
    tide_collective_destroy(all);
    close_room();
  }
}

TEST(a_given_capacity_is_allocated_at_creation) {
  open_room();
  struct tide_timeline *timeline = timeline_of(4);
  struct tide_queue *queue;
  CHECK_OK(tide_queue_create(device, TIDE_PARAMS(tide_queue_params, .operations = 100), &queue));
  uint64_t asked = meter.asked;
  for (uint64_t i = 1; i <= 100; i++) CHECK_OK(submit(queue, NULL, 0, timeline, i));
  CHECK_STATUS(submit(queue, NULL, 0, timeline, 101), TIDE_FULL);
  run_ready();
  for (uint64_t i = 101; i <= 200; i++) CHECK_OK(tide_timeline_signal(timeline, i, NULL));
  CHECK_EQ_U64(meter.asked, asked);
  close_room();
}

/* ---- histories ----------------------------------------------------------------------------- */

static void look_up(struct tide_timeline *timeline, uint64_t value, struct tide_frontier *frontier,
                    struct tide_record_info *info) {
  tide_frontier_init(frontier, 16);
  CHECK_OK(tide_timeline_frontier_at(timeline, value, frontier, info));
}

/* What a small history answers: the full history's record, or a later one, called coarse. Where the
 * full one knows nothing, a small one knows nothing or has a later record. */
static void compare_histories(struct tide_timeline *small, struct tide_timeline *full,
                              uint64_t newest) {
  TIDE_FRONTIER_STORAGE(a, 16);
  TIDE_FRONTIER_STORAGE(b, 16);
  struct tide_record_info mine, all;
  for (uint64_t value = 1; value <= newest; value++) {
    look_up(small, value, &a.frontier, &mine);
    look_up(full, value, &b.frontier, &all);
    CHECK_OK(tide_frontier_validate(&a.frontier, NULL));
    if (mine.external) continue;
    CHECK(mine.value >= value && tide_frontier_get(&a.frontier, mine.axis) >= mine.epoch);
    if (mine.value == all.value) {
      CHECK(!all.external && mine.axis == all.axis && mine.epoch == all.epoch);
      CHECK(mine.value != value || !mine.coarse);
      CHECK(tide_frontier_dominates(&b.frontier, &a.frontier) || a.frontier.tainted);
    } else {
      CHECK(mine.coarse && mine.value > all.value);
    }
  }
}

static uint64_t random_state;
static uint64_t pick(uint64_t below) {
  random_state = random_state * 6364136223846793005u + 1442695040888963407u;
  return (random_state >> 33) % below;
}

struct pair {
  struct tide_timeline *small, *full;
  struct tide_queue *queue;
  struct tide_position host;
  uint64_t value;
};

/* One signal, tracked or not, of the host or of an operation; both timelines get the same. */
static void signal_both(struct pair *pair, bool by_operations) {
  uint64_t value = pair->value += 1 + pick(3);
  bool external = pick(2);
  if (by_operations && pick(2)) {
    struct tide_signal signals[2] = {{pair->small, value, external}, {pair->full, value, external}};
    struct tide_operation operation = {.body = &body, .signals = signals, .signal_count = 2};
    CHECK_OK(tide_queue_submit(pair->queue, &operation, NULL, NULL));
    run_ready();
  } else if (external) {
    CHECK_OK(tide_timeline_signal(pair->small, value, NULL));
    CHECK_OK(tide_timeline_signal(pair->full, value, NULL));
  } else {
    struct tide_position second = pair->host;
    CHECK_OK(tide_timeline_signal(pair->small, value, &pair->host));
    second.epoch = pair->host.epoch - 1; /* the same epoch for the other one */
    CHECK_OK(tide_timeline_signal(pair->full, value, &second));
  }
}

static void compare_random_histories(uint64_t seed, bool by_operations) {
  open_room();
  TIDE_FRONTIER_STORAGE(known, 16);
  tide_frontier_init(&known.frontier, 16);
  struct pair pair = {.small = timeline_of(0), .full = timeline_of(256)};
  pair.host.frontier = &known.frontier;
  random_state = seed;
  CHECK_OK(tide_queue_create(device, NULL, &pair.queue));
  CHECK_OK(tide_lease_take(context->lease, TIDE_DOMAIN_HOST, &pair.host.axis));
  CHECK_OK(tide_tracker_register(context->tracker, pair.host.axis));
  for (int i = 0; i < 60; i++) {
    signal_both(&pair, by_operations && i > 10);
    compare_histories(pair.small, pair.full, pair.value);
  }
  close_room();
}

TEST(a_small_history_is_coarser_and_true) {
  for (uint64_t seed = 1; seed <= 20; seed++) {
    compare_random_histories(seed, false);
    compare_random_histories(seed, true);
  }
}

/* Signals never allocate. A submit without memory for history is no failure. */
TEST(history_without_memory) {
  open_room();
  struct tide_timeline *timeline = timeline_of(0);
  struct tide_queue *queue;
  CHECK_OK(tide_queue_create(device, NULL, &queue));
  uint64_t asked = meter.asked;
  for (uint64_t i = 1; i <= 10; i++) CHECK_OK(tide_timeline_signal(timeline, i, NULL));
  CHECK_EQ_U64(meter.asked, asked);
  for (uint64_t i = 11; i <= 20; i++) {
    meter.fail_at = meter.asked + 1;
    CHECK_OK(submit(queue, NULL, 0, timeline, i));
    CHECK_EQ_U64(meter.asked, meter.fail_at);
    run_ready();
  }
  struct tide_record_info info;
  CHECK_OK(tide_timeline_frontier_at(timeline, 20, NULL, &info));
  CHECK(info.value == 20 && !info.external && !info.coarse);
  CHECK_OK(tide_timeline_frontier_at(timeline, 12, NULL, &info));
  CHECK(info.value == 20 && !info.external && info.coarse);
  for (uint64_t i = 21; i <= 40; i++) {
    CHECK_OK(submit(queue, NULL, 0, timeline, i));
    run_ready();
  }
  for (uint64_t i = 25; i <= 40; i++) {
    CHECK_OK(tide_timeline_frontier_at(timeline, i, NULL, &info));
    CHECK(info.value == i && !info.coarse);
  }
  close_room();
}

/* A ring of one slot lists the signaller alone. What else the past lists has not finished here. */
TEST(a_small_record_is_tainted) {
  open_room();
  TIDE_FRONTIER_STORAGE(f, 16);
  TIDE_FRONTIER_STORAGE(known, 16);
  struct tide_record_info info;
  struct tide_queue *queue, *other;
  struct tide_timeline *wide = timeline_of(16), *by_host = timeline_of(0), *small = timeline_of(0);
  struct tide_position host = {.frontier = &known.frontier};
  tide_frontier_init(&known.frontier, 16);
  CHECK_OK(tide_queue_create(device, NULL, &queue));
  CHECK_OK(tide_queue_create(second, NULL, &other));
  CHECK_OK(tide_lease_take(context->lease, TIDE_DOMAIN_HOST, &host.axis));
  CHECK_OK(tide_tracker_register(context->tracker, host.axis));
  CHECK_OK(submit(other, NULL, 0, NULL, 0)); /* does not run */
  tide_queue_position(other, &known.frontier, NULL);
  CHECK_OK(tide_timeline_signal(wide, 1, &host));
  CHECK_OK(tide_timeline_signal(by_host, 1, &host));
  look_up(wide, 1, &f.frontier, &info);
  CHECK(tide_frontier_get(&f.frontier, tide_queue_axis(other)) == 1 && !f.frontier.tainted);
  look_up(by_host, 1, &f.frontier, &info);
  CHECK(f.frontier.count == 1 && f.frontier.tainted && !info.coarse);
  CHECK_EQ_U64(tide_frontier_get(&f.frontier, host.axis), 2);
  meter.fail_at = meter.asked + 1;
  CHECK_OK(submit(queue, &(struct tide_wait){wide, 1}, 1, small, 1));
  CHECK_EQ_U64(meter.asked, meter.fail_at);
  run_ready();
  look_up(small, 1, &f.frontier, &info);
  CHECK(f.frontier.count == 1 && f.frontier.tainted && !info.coarse);
  CHECK_EQ_U64(tide_frontier_get(&f.frontier, tide_queue_axis(queue)), 1);
  run_on(second);
  close_room();
}

/* ---- promises ------------------------------------------------------------------------------ */

TEST(a_future_timeline_grows_once) {
  open_room();
  struct tide_points *points;
  struct tide_client *client;
  struct tide_future *future, *given;
  struct tide_point point;
  CHECK_OK(tide_points_create(context, TIDE_PARAMS(tide_points_params, .manual = true), &points));
  CHECK_OK(tide_client_create(points, NULL, &client));
  CHECK_OK(tide_future_create(client, NULL, &future));
  CHECK_OK(tide_future_create(client, TIDE_PARAMS(tide_future_params, .capacity = 3), &given));
  uint64_t asked = meter.asked;
  for (int i = 0; i < 3; i++) CHECK_OK(tide_future_promise(given, 0, &point));
  CHECK_STATUS(tide_future_promise(given, 0, &point), TIDE_FULL);
  for (uint64_t i = 1; i <= 5; i++) { /* one at a time */
    CHECK_OK(tide_future_promise(future, 0, &point));
    CHECK_OK(tide_future_fulfil(future, i, NULL));
  }
  CHECK_OK(tide_future_promise(future, 0, &point));
  CHECK_EQ_U64(meter.asked, asked);
  meter.fail_at = asked + 1;
  CHECK_STATUS(tide_future_promise(future, 0, &point), TIDE_NOMEM);
  for (int i = 1; i < 16; i++) CHECK_OK(tide_future_promise(future, 0, &point));
  CHECK_EQ_U64(meter.asked, asked + 2);
  CHECK_STATUS(tide_future_promise(future, 0, &point), TIDE_FULL);
  CHECK_EQ_U64(point.value, 5 + 16);
  CHECK_OK(tide_future_fulfil(future, point.value, NULL));
  tide_client_destroy(client, TIDE_CANCELLED);
  close_room();
}

TEST_MAIN(CASE(small_things), CASE(a_queue_grows_once), CASE(early_operations_end_in_all_ways),
          CASE(parts_of_collectives_make_a_queue_grow), CASE(a_part_when_memory_comes_back_at_once),
          CASE(a_given_capacity_is_allocated_at_creation),
          CASE(a_small_history_is_coarser_and_true), CASE(history_without_memory),
          CASE(a_small_record_is_tainted), CASE(a_future_timeline_grows_once))
