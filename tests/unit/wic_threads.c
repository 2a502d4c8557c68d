/* Many consumers, producers that come and go, small media: whatever a consumer reads is its own
 * message, whole, or zeros with an error; and nobody is left stalled. */
#include "wic_rig.h"

#include "base/random.h"

#define PAGE 4096u
#define MESSAGE (12 * PAGE)

enum { MOST = 8, LANES = 6 };

/* A lane: one message after the other, its consumer one thread and its producer another. */
struct lane {
  struct rig *rig;
  struct tide_timeline *line;
  uint64_t number, rounds, seed, failures;
  pthread_t consumer, producer;
  /* One hand-over at a time: the request of value `asked`. */
  pthread_mutex_t lock;
  pthread_cond_t change;
  struct tide_request request;
  uint64_t asked;
  uint64_t bad, full, timeouts, source[MESSAGE / 8];
};

static uint64_t name_of(const struct lane *lane, uint64_t value) {
  return lane->number << 40 | value;
}

static bool wanted(struct lane *lane, uint64_t value, struct tide_random *random) {
  size_t bytes = 8 * (1 + (size_t)tide_random_below(random, MESSAGE / 8 / (1 + value % 3)));
  struct tide_request request = rig_wants(lane->rig, 0, bytes);
  request.tags[0] = (struct tide_tag){lane->line, value};
  if (tide_random_below(random, 4) == 0) request.source = lane->source;
  if (tide_random_below(random, 8) == 0)
    request.deadline = rig_now(lane->rig) + tide_random_below(random, 300000);
  enum tide_status status = tide_medium_request(lane->rig->medium, &request, 1);
  if (status == TIDE_FULL) {
    lane->full++;
    return false;
  }
  CHECK_OK(status);
  pthread_mutex_lock(&lane->lock);
  lane->request = request;
  lane->asked = value;
  pthread_cond_broadcast(&lane->change);
  pthread_mutex_unlock(&lane->lock);
  return true;
}

static void *consume(void *argument) {
  struct lane *lane = argument;
  struct tide_random random = {lane->seed};
  for (uint64_t value = 1; value <= lane->rounds;) {
    if (!wanted(lane, value, &random)) {
      sched_yield();
      continue;
    }
    struct tide_request request = lane->request;
    if (tide_random_below(&random, 3) == 0)
      CHECK(tide_timeline_wait(lane->line, value, TIDE_FOREVER) == TIDE_OK);
    bool look = tide_random_below(&random, 16) != 0;
    bool whole = look && holds(request.data, request.bytes, name_of(lane, value));
    bool nothing = look && !whole && zeros(request.data, request.bytes);
    enum tide_status status = tide_request_finish(lane->rig->medium, &request, NULL);
    if (status == TIDE_TIMEOUT) lane->timeouts++;
    /* Part of it may have been read before it failed? No: then it was not there. */
    if (look && !(status == TIDE_OK ? whole : status == TIDE_TIMEOUT && nothing)) lane->bad++;
    if (!look && status != TIDE_OK && status != TIDE_TIMEOUT && status != TIDE_CANCELLED)
      lane->bad++;
    /* The next message's source is this one's. */
    CHECK(tide_timeline_wait(lane->line, value, TIDE_FOREVER) == TIDE_OK);
    value++;
  }
  return NULL;
}

static void *produce(void *argument) {
  struct lane *lane = argument;
  struct tide_random random = {lane->seed + 1};
  for (uint64_t value = 1; value <= lane->rounds; value++) {
    pthread_mutex_lock(&lane->lock);
    while (lane->asked < value) pthread_cond_wait(&lane->change, &lane->lock);
    struct tide_request request = lane->request;
    pthread_mutex_unlock(&lane->lock);
    if (tide_random_below(&random, 2)) usleep((useconds_t)tide_random_below(&random, 200));
    fill(request.source ? (void *)lane->source : request.room, request.bytes, name_of(lane, value));
    CHECK_OK(tide_timeline_signal_external(lane->line, value));
  }
  return NULL;
}

static void run(enum tide_medium_engine engine, uint32_t pages, bool paper_tree, uint64_t seed) {
  struct rig rig;
  static struct lane lanes[LANES];
  struct tide_medium_params params = {.struct_size = sizeof params,
                                      .engine = engine,
                                      .pages = pages,
                                      .requests = MOST,
                                      .paper_tree = paper_tree};
  params.linger = seed % 2 ? 100000 : 0;
  uint64_t stalled = 0, bad = 0, timeouts = 0;
  rig_open(&rig, &params);
  memset(lanes, 0, sizeof lanes);
  for (uint64_t i = 0; i < LANES; i++) {
    lanes[i].rig = &rig;
    lanes[i].number = i + 1;
    lanes[i].rounds = 600 / test_slowdown();
    lanes[i].seed = seed * 1000 + i * 2 + 1;
    pthread_mutex_init(&lanes[i].lock, NULL);
    pthread_cond_init(&lanes[i].change, NULL);
    CHECK_OK(tide_timeline_create(rig.context, NULL, &lanes[i].line));
    CHECK(pthread_create(&lanes[i].consumer, NULL, consume, &lanes[i]) == 0);
    CHECK(pthread_create(&lanes[i].producer, NULL, produce, &lanes[i]) == 0);
  }
  for (size_t i = 0; i < LANES; i++) {
    pthread_join(lanes[i].consumer, NULL);
    pthread_join(lanes[i].producer, NULL);
    bad += lanes[i].bad;
    timeouts += lanes[i].timeouts;
  }
  rig_until_idle(&rig);
  struct tide_medium_info info = rig_info(&rig);
  stalled = info.stalled;
  CHECK_EQ_U64(bad, 0);
  CHECK_EQ_U64(info.free_pages, pages / 2);
  CHECK_EQ_U64(info.strays, 0);
  CHECK_EQ_U64(info.requested, LANES * (600 / test_slowdown()));
  CHECK(stalled > 0);
  CHECK_EQ_U64(info.timed_out >= timeouts, true);
  CHECK(info.recycled + info.single > 0);
  for (size_t i = 0; i < LANES; i++) tide_timeline_destroy(lanes[i].line);
  rig_close(&rig);
}

TEST(direct) { run(TIDE_MEDIUM_DIRECT, 256, false, 1); }
TEST(direct_small) { run(TIDE_MEDIUM_DIRECT, 32, false, 2); }
TEST(direct_tree) { run(TIDE_MEDIUM_DIRECT, 64, true, 3); }
TEST(monitor) { run(TIDE_MEDIUM_MONITOR, 256, false, 4); }
TEST(monitor_small) { run(TIDE_MEDIUM_MONITOR, 32, true, 5); }
TEST(fibers) { run(TIDE_MEDIUM_FIBERS, 256, false, 6); }
TEST(fibers_small) { run(TIDE_MEDIUM_FIBERS, 32, false, 7); }

TEST_MAIN(CASE(direct), CASE(direct_small), CASE(direct_tree), CASE(monitor), CASE(monitor_small),
          CASE(fibers), CASE(fibers_small))
