/* The scheduler with as many queues as make windows of its frontiers. Nobody listens, who would
 * have them copied. */
#include "fake_device.h"

#include "base/random.h"
#include "naive.h"
#include "sched/sched.h"

#define QUEUES 40
#define EPOCHS 200

/* What each operation may know at most: what its queue did and what it waited for. */
struct world {
  struct fake fake;
  struct tide_random random;
  size_t count;
  struct tide_queue *queues[QUEUES];
  uint64_t last[QUEUES];
  uint16_t known[QUEUES][EPOCHS][QUEUES];
  uint64_t windows;
};

static uint64_t below(struct world *w, uint64_t n) { return tide_random_below(&w->random, n); }

static size_t queue_of(const struct world *w, tide_axis axis) {
  size_t i = 0;
  while (i < w->count && tide_queue_axis(w->queues[i]) != axis) i++;
  if (i == w->count) FAIL("nobody has axis %llx", (unsigned long long)axis);
  return i;
}

static void check_frontier(struct world *w, size_t queue, const struct tide_frontier *frontier) {
  struct tide_frontier_entry entry;
  const uint16_t *known = w->known[queue][w->last[queue]];
  CHECK_OK(tide_frontier_validate(frontier, NULL));
  for (struct tide_frontier_cursor at = tide_frontier_begin(frontier);
       tide_frontier_next(&at, &entry);)
    CHECK(entry.epoch <= known[queue_of(w, entry.axis)]);
  w->windows += frontier->window != 0;
}

/* All records that are kept, too: a version that takes more room than it has writes into one. */
static void check_queue(struct world *w, size_t i) {
  const struct tide_queue *queue = w->queues[i];
  TIDE_FRONTIER_STORAGE(position, 255);
  uint64_t least = w->last[i] > 12 ? w->last[i] - 12 : 0;
  check_frontier(w, i, queue->position.frontier);
  tide_frontier_init(&position.frontier, 255);
  tide_queue_position(w->queues[i], &position.frontier, NULL);
  check_frontier(w, i, &position.frontier);
  if (queue->in_order && w->last[i])
    CHECK_EQ_U64(tide_frontier_get(&position.frontier, tide_queue_axis(queue)), w->last[i]);
  for (uint64_t epoch = w->last[i]; epoch > least; epoch--)
    check_frontier(w, i, tide_queue_record_of_others(queue, epoch));
}

static void give_some(struct world *w, uint32_t stop) {
  fake_take_all(&w->fake);
  while (w->fake.count > stop) {
    uint32_t at = (uint32_t)below(w, w->fake.count);
    struct tide_work *work = w->fake.out[at];
    bool other = tide_axis_domain(tide_work_axis(work)) == TIDE_DOMAIN_STORAGE;
    w->fake.out[at] = w->fake.out[--w->fake.count];
    work->status = TIDE_OK;
    tide_device_exchange(other ? w->fake.other : w->fake.device, &work, 1, NULL, 0, NULL);
    fake_take_all(&w->fake);
  }
}

static void step(struct world *w) {
  size_t i = below(w, w->count), waits = below(w, 4), count = 0;
  struct tide_wait wait[4];
  uint16_t *known = w->known[i][w->last[i] + 1];
  if (w->last[i] + 2 >= EPOCHS) return;
  memcpy(known, w->known[i][w->last[i]], sizeof w->known[i][0]);
  for (; waits > 0; waits--) {
    size_t other = below(w, w->count);
    uint64_t epoch = w->last[other];
    if (other == i || epoch == 0) continue;
    if (epoch > 3 && below(w, 3) == 0) epoch -= 1 + below(w, 3);
    wait[count++] = (struct tide_wait){tide_queue_progress(w->queues[other]), epoch};
    for (size_t k = 0; k < w->count; k++)
      if (known[k] < w->known[other][epoch][k]) known[k] = w->known[other][epoch][k];
  }
  struct tide_operation operation = {.body = &fake_body, .waits = wait, .wait_count = count};
  if (tide_queue_submit(w->queues[i], &operation, NULL, NULL) != TIDE_OK) { /* it is full */
    give_some(w, 0);
    return;
  }
  known[i] = (uint16_t)++w->last[i];
  check_queue(w, i);
  if (below(w, 12) == 0) give_some(w, (uint32_t)below(w, 8));
}

static void make_queues(struct world *w) {
  bool in_order = below(w, 4) != 0, far = below(w, 3) == 0;
  for (size_t i = 0; i < w->count; i++) {
    for (uint64_t skip = far ? below(w, 60) : below(w, 2); skip > 0; skip--) {
      tide_axis axis;
      CHECK_OK(tide_lease_take(w->fake.context->lease, TIDE_DOMAIN_QUEUE, &axis));
    }
    w->queues[i] =
        fake_queue_on(in_order && below(w, 10) ? w->fake.device : w->fake.other, "q", 16);
  }
}

static uint64_t program(uint64_t seed) {
  static struct world w;
  static const uint8_t capacities[] = {8, 9, 12, 16, 24, 40, 64, 255};
  w = (struct world){.random = {seed}};
  fake_open(&w.fake, true, capacities[below(&w, 8)]);
  w.fake.context->sink = NULL;
  w.count = 8 + below(&w, QUEUES - 8);
  make_queues(&w);
  for (int i = 0; i < 400; i++) step(&w);
  give_some(&w, 0);
  for (size_t i = 0; i < w.count; i++) tide_queue_destroy(w.queues[i]);
  w.fake.context->sink = &w.fake.sink;
  fake_close(&w.fake);
  return w.windows;
}

TEST(nobody_knows_more_than_there_is) {
  uint64_t windows = 0;
  for (uint64_t seed = 1; seed <= 160 / test_slowdown(); seed++) windows += program(seed);
  CHECK(windows > 1000 / test_slowdown());
}

/* Seven axes and one of a tainted record that lies close: lists, of which the copy without the
 * taint makes a window. */
TEST(own_place_when_a_taint_heals) {
  static struct world w;
  w = (struct world){.count = 16};
  fake_open(&w.fake, true, 16);
  w.fake.context->sink = NULL;
  for (size_t i = 0; i < w.count; i++) w.queues[i] = fake_queue_on(w.fake.device, "q", 0);
  struct tide_queue *queue = w.queues[13];
  struct tide_timeline *chain = fake_timeline(&w.fake, "chain", true),
                       *host = fake_timeline(&w.fake, "host", false);
  tide_axis axis;
  CHECK_OK(tide_lease_take(w.fake.context->lease, TIDE_DOMAIN_QUEUE, &axis));
  CHECK_OK(tide_tracker_register(w.fake.context->tracker, axis));
  for (uint64_t i = 0; i < 6; i++)
    CHECK_OK(i ? SUBMIT(w.queues[2 * i + 1], WAITS({chain, i}), SIGNALS({chain, i + 1}))
               : SUBMIT(w.queues[1], SIGNALS({chain, 1})));
  CHECK_OK(SUBMIT(queue, WAITS({chain, 6})));
  TIDE_FRONTIER_STORAGE(known, 2);
  tide_frontier_init(&known.frontier, 2);
  known.frontier.tainted = 1;
  struct tide_position position = {.axis = axis, .frontier = &known.frontier};
  CHECK_OK(tide_timeline_signal(host, 1, &position));
  CHECK_OK(SUBMIT(queue, WAITS({host, 1})));
  CHECK(queue->position.frontier->tainted && queue->position.frontier->count == 8);
  give_some(&w, 0);
  CHECK_OK(SUBMIT(w.queues[0]));
  CHECK_OK(SUBMIT(queue, WAITS({tide_queue_progress(w.queues[0]), 1})));
  CHECK(!queue->position.frontier->tainted);
  CHECK_OK(tide_frontier_validate(queue->position.frontier, NULL));
  for (size_t i = 0; i < w.count; i++)
    if (w.queues[i] != queue)
      CHECK(tide_frontier_get(queue->position.frontier, tide_queue_axis(w.queues[i])) <= 1);
  give_some(&w, 0);
  for (size_t i = 0; i < w.count; i++) tide_queue_destroy(w.queues[i]);
  tide_timeline_release(chain);
  tide_timeline_release(host);
  w.fake.context->sink = &w.fake.sink;
  fake_close(&w.fake);
}

TEST_MAIN(CASE(nobody_knows_more_than_there_is), CASE(own_place_when_a_taint_heals))
