/* Fibers that load from a medium: each is parked by its own fault while its carrier runs others,
 * and reads its own message. */
#include "wic_rig.h"

#include "base/random.h"
#include "tidemark/fiber.h"

#include <stdatomic.h>

#define PAGE 4096u

struct crowd {
  struct rig rig;
  struct tide_request *requests;
  struct tide_timeline **lines;
  uint64_t *values;
  _Atomic uint64_t good, bad, begun;
};

static void consume(void *argument, uint64_t index) {
  struct crowd *crowd = argument;
  crowd->begun++;
  bool whole = holds(crowd->requests[index].data, crowd->requests[index].bytes, index + 1);
  enum tide_status status = tide_request_finish(crowd->rig.medium, &crowd->requests[index], NULL);
  if (whole && status == TIDE_OK) crowd->good++;
  else crowd->bad++;
}

/* All stalled at once on few carriers; then all the data comes, in a random order. */
static void run(uint32_t carriers, uint64_t count, uint64_t signals) {
  static struct crowd crowd;
  struct tide_medium_params params = {.struct_size = sizeof params,
                                      .engine = TIDE_MEDIUM_FIBERS,
                                      .pages = (uint32_t)(2 * count),
                                      .requests = (uint32_t)count};
  struct tide_crew_params team = {
      .struct_size = sizeof team, .carriers = carriers, .fibers = (uint32_t)count};
  struct tide_crew *crew;
  memset(&crowd, 0, sizeof crowd);
  rig_open(&crowd.rig, &params);
  CHECK_OK(tide_crew_create(crowd.rig.context, &team, &crew));
  crowd.requests = calloc(count, sizeof *crowd.requests);
  crowd.lines = calloc(signals, sizeof *crowd.lines);
  for (uint64_t i = 0; i < signals; i++)
    CHECK_OK(tide_timeline_create(crowd.rig.context, NULL, &crowd.lines[i]));
  for (uint64_t i = 0; i < count; i++) {
    crowd.requests[i] = rig_wants(&crowd.rig, i / signals + 1, 64);
    crowd.requests[i].tags[0].timeline = crowd.lines[i % signals];
    CHECK_OK(tide_medium_request(crowd.rig.medium, &crowd.requests[i], 1));
  }
  CHECK_OK(tide_crew_run(crew, consume, &crowd, count));
  rig_until_stalled(&crowd.rig, count); /* though there are fewer threads */
  CHECK_EQ_U64(crowd.begun, count);
  struct tide_random random = {count};
  for (uint64_t i = 0; i < count; i++) fill(crowd.requests[i].room, 64, i + 1);
  for (uint64_t left = count; left > 0;) {
    uint64_t line = tide_random_below(&random, signals);
    uint64_t value = tide_timeline_query(crowd.lines[line]) + 1;
    if ((value - 1) * signals + line >= count) continue;
    CHECK_OK(tide_timeline_signal_external(crowd.lines[line], value));
    left--;
  }
  CHECK_OK(tide_crew_wait(crew, TIDE_FOREVER));
  CHECK_EQ_U64(crowd.good, count);
  rig_until_idle(&crowd.rig);
  CHECK_OK(tide_crew_destroy(crew));
  for (uint64_t i = 0; i < signals; i++) tide_timeline_destroy(crowd.lines[i]);
  free(crowd.requests);
  free(crowd.lines);
  rig_close(&crowd.rig);
}

TEST(one_carrier) { run(1, 64, 3); }
TEST(two_carriers) { run(2, 512, 16); }
TEST(many) { run(2, 8192 / test_slowdown(), 64); }

/* Many read one message. */
static void share(void *argument, uint64_t index) {
  struct crowd *crowd = argument;
  (void)index;
  if (holds(crowd->requests[0].data, PAGE, 5)) crowd->good++;
  else crowd->bad++;
}
TEST(one_message_for_all) {
  static struct crowd crowd;
  struct tide_medium_params params = {
      .struct_size = sizeof params, .engine = TIDE_MEDIUM_FIBERS, .pages = 4};
  struct tide_crew_params team = {.struct_size = sizeof team, .carriers = 2};
  struct tide_crew *crew;
  struct tide_request request;
  rig_open(&crowd.rig, &params);
  CHECK_OK(tide_crew_create(crowd.rig.context, &team, &crew));
  request = rig_wants(&crowd.rig, 1, PAGE);
  crowd.requests = &request;
  CHECK_OK(tide_medium_request(crowd.rig.medium, &request, 1));
  CHECK_OK(tide_crew_run(crew, share, &crowd, 200));
  while (rig_info(&crowd.rig).duplicates < 199) usleep(100);
  fill(request.room, PAGE, 5);
  CHECK_OK(tide_timeline_signal_external(crowd.rig.line, 1));
  CHECK_OK(tide_crew_wait(crew, TIDE_FOREVER));
  CHECK_EQ_U64(crowd.good, 200);
  CHECK_OK(tide_request_finish(crowd.rig.medium, &request, NULL));
  CHECK_OK(tide_crew_destroy(crew));
  rig_close(&crowd.rig);
}

/* ---- cycles: fibers ask for their next message themselves ---- */

enum { LANES = 24 };

struct cycles {
  struct rig rig;
  uint64_t rounds;
  struct {
    struct tide_timeline *line;
    _Alignas(64) _Atomic uint64_t asked;
    struct tide_request request;
    uint64_t good;
  } lanes[LANES];
};

static void cycle(void *argument, uint64_t index) {
  struct cycles *cycles = argument;
  for (uint64_t round = 1; round <= cycles->rounds; round++) {
    struct tide_request request = rig_wants(&cycles->rig, round, 8 * (1 + round * 37 % 1500));
    request.tags[0].timeline = cycles->lanes[index].line;
    while (tide_medium_request(cycles->rig.medium, &request, 1) == TIDE_FULL) tide_fiber_yield();
    cycles->lanes[index].request = request;
    atomic_store(&cycles->lanes[index].asked, round);
    bool whole = holds(request.data, request.bytes, index << 32 | round);
    if (tide_request_finish(cycles->rig.medium, &request, NULL) == TIDE_OK && whole)
      cycles->lanes[index].good++;
  }
}

static void *produce(void *argument) {
  struct cycles *cycles = argument;
  uint64_t done[LANES] = {0};
  for (uint64_t left = LANES; left > 0;)
    for (uint64_t i = 0; i < LANES; i++) {
      if (done[i] == cycles->rounds || atomic_load(&cycles->lanes[i].asked) == done[i]) continue;
      struct tide_request request = cycles->lanes[i].request;
      fill(request.room, request.bytes, i << 32 | ++done[i]);
      CHECK_OK(tide_timeline_signal_external(cycles->lanes[i].line, done[i]));
      left -= done[i] == cycles->rounds;
    }
  return NULL;
}

TEST(cycles) {
  static struct cycles cycles;
  struct tide_medium_params params = {
      .struct_size = sizeof params, .engine = TIDE_MEDIUM_FIBERS, .pages = 100, .requests = 40};
  struct tide_crew_params team = {.struct_size = sizeof team, .carriers = 2, .linger = 20000};
  struct tide_crew *crew;
  pthread_t producer;
  cycles.rounds = 300 / test_slowdown();
  rig_open(&cycles.rig, &params);
  CHECK_OK(tide_crew_create(cycles.rig.context, &team, &crew));
  for (size_t i = 0; i < LANES; i++)
    CHECK_OK(tide_timeline_create(cycles.rig.context, NULL, &cycles.lanes[i].line));
  CHECK(pthread_create(&producer, NULL, produce, &cycles) == 0);
  CHECK_OK(tide_crew_run(crew, cycle, &cycles, LANES));
  CHECK_OK(tide_crew_wait(crew, TIDE_FOREVER));
  pthread_join(producer, NULL);
  for (size_t i = 0; i < LANES; i++) {
    CHECK_EQ_U64(cycles.lanes[i].good, cycles.rounds);
    tide_timeline_destroy(cycles.lanes[i].line);
  }
  CHECK_OK(tide_crew_destroy(crew));
  rig_close(&cycles.rig);
}

/* ---- deaths: of fibers that are stalled on the same carriers, each has its own end ---- */

enum end { COMES, DIES, BY_NAME, CLOSED, LATE };
enum { EACH_END = 64, DOOMED = LATE * EACH_END, ALL = DOOMED + EACH_END };

struct doomed {
  struct rig rig;
  struct tide_request requests[ALL];
  struct tide_timeline *lines[ALL];
  _Atomic uint64_t good;
};

static enum end end_of(uint64_t index) { return index < DOOMED ? (enum end)(index % LATE) : LATE; }

static void meet_its_end(void *argument, uint64_t index) {
  static const enum tide_status ends[] = {TIDE_OK, TIDE_OWNER_DIED, TIDE_IO, TIDE_LOST,
                                          TIDE_TIMEOUT};
  struct doomed *d = argument;
  struct tide_request *request = &d->requests[index];
  enum end end = end_of(index);
  bool right = end == COMES ? holds(request->data, request->bytes, index + 1)
                            : zeros(request->data, request->bytes);
  right &= tide_request_finish(d->rig.medium, request, NULL) == ends[end];
  /* Whether it was stalled before its deadline is for the machine to say. */
  right &= (request->stalled || end == LATE) && request->resumed >= request->stalled;
  d->good += right;
}
static void be_late(void *argument, uint64_t index) { meet_its_end(argument, DOOMED + index); }

static void ask(struct doomed *d, uint64_t i) {
  CHECK_OK(tide_timeline_create(d->rig.context, NULL, &d->lines[i]));
  d->requests[i] = rig_wants(&d->rig, 1, 2 * PAGE);
  d->requests[i].tags[0].timeline = d->lines[i];
  if (end_of(i) == LATE) d->requests[i].deadline = rig_now(&d->rig) + SECOND / 50;
  CHECK_OK(tide_medium_request(d->rig.medium, &d->requests[i], 1));
}

/* Whatever has been written by then. */
static void end_one(struct doomed *d, uint64_t i) {
  fill(d->requests[i].room, 2 * PAGE, i + 1);
  if (end_of(i) == COMES) CHECK_OK(tide_timeline_signal_external(d->lines[i], 1));
  if (end_of(i) == DIES) tide_timeline_fail(d->lines[i], TIDE_OWNER_DIED);
  if (end_of(i) == BY_NAME) CHECK_OK(tide_request_fail(d->rig.medium, &d->requests[i], TIDE_IO));
}

static void die(uint32_t carriers) {
  static struct doomed d;
  struct tide_medium_params params = {
      .struct_size = sizeof params, .engine = TIDE_MEDIUM_FIBERS, .pages = 4 * ALL};
  struct tide_crew_params team = {.struct_size = sizeof team, .carriers = carriers};
  struct tide_crew *crew;
  memset(&d, 0, sizeof d);
  rig_open(&d.rig, &params);
  CHECK_OK(tide_crew_create(d.rig.context, &team, &crew));
  for (uint64_t i = 0; i < DOOMED; i++) ask(&d, i);
  CHECK_OK(tide_crew_run(crew, meet_its_end, &d, DOOMED));
  rig_until_stalled(&d.rig, DOOMED);
  for (uint64_t i = DOOMED; i < ALL; i++) ask(&d, i);
  CHECK_OK(tide_crew_run(crew, be_late, &d, EACH_END));
  for (uint64_t i = 0; i < DOOMED; i++) end_one(&d, (i * 7 + 3) % DOOMED);
  while (rig_info(&d.rig).timed_out < EACH_END) usleep(100);
  tide_medium_close(d.rig.medium, TIDE_LOST);
  CHECK_OK(tide_crew_wait(crew, TIDE_FOREVER));
  CHECK_EQ_U64(d.good, ALL);
  CHECK_EQ_U64(rig_info(&d.rig).failed, ALL - EACH_END);
  CHECK_OK(tide_crew_destroy(crew));
  for (uint64_t i = 0; i < ALL; i++) tide_timeline_destroy(d.lines[i]);
  rig_until_idle(&d.rig);
  rig_close(&d.rig);
}

TEST(deaths_on_one_carrier) { die(1); }
TEST(deaths_on_two_carriers) { die(2); }

TEST_MAIN(CASE(one_carrier), CASE(two_carriers), CASE(many), CASE(one_message_for_all),
          CASE(cycles), CASE(deaths_on_one_carrier), CASE(deaths_on_two_carriers))
