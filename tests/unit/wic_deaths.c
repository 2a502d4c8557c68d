/* A producer in another process, which plain SIGKILL ends after each step of an exchange: it writes
 * pages of requests and says, after each request, that it is there. Whoever stands between the two
 * signals what was said, and when the producer is gone fails the rest. Each consumer gets its data,
 * or zeros and TIDE_OWNER_DIED; none waits for ever. */
#include "harness.h"
#include "wic_rig.h"

#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { REQUESTS = 3, PAGES = 2, STEPS = REQUESTS * (PAGES + 1) };

struct consumer {
  struct rig *rig;
  struct tide_request request;
  uint32_t number;
  uint64_t sum;
  enum tide_status status;
  pthread_t thread;
};

static uint64_t word(uint32_t request, uint32_t page) { return 1000 * (request + 1) + page + 1; }

static void *consume(void *argument) {
  struct consumer *c = argument;
  const volatile uint64_t *data = c->request.data;
  size_t words = c->request.bytes / sizeof *data;
  for (size_t i = 0; i < words; i++) c->sum += data[i];
  c->status = tide_request_finish(c->rig->medium, &c->request, NULL);
  return NULL;
}

/* Writes through the view that is shared, and says so; dies after `steps` of all steps. */
static void produce(const struct consumer *consumers, size_t page, int to, uint32_t steps) {
  uint32_t step = 0;
  for (uint32_t r = 0; r < REQUESTS; r++) {
    for (uint32_t p = 0; p < PAGES; p++) {
      if (step++ == steps) raise(SIGKILL);
      uint64_t *room = (uint64_t *)((char *)consumers[r].request.room + p * page);
      for (size_t i = 0; i < page / sizeof *room; i++) room[i] = word(r, p);
    }
    if (step++ == steps) raise(SIGKILL);
    if (write(to, "+", 1) != 1) _exit(1);
  }
  raise(SIGKILL); /* when all is done: that harms nobody */
}

static void relay(struct rig *rig, int from) {
  uint64_t value = 0;
  char said;
  while (read(from, &said, 1) == 1) CHECK_OK(tide_timeline_signal_external(rig->line, ++value));
  tide_timeline_fail(rig->line, TIDE_OWNER_DIED);
}

static void die_after(enum tide_medium_engine engine, uint32_t steps) {
  struct rig rig;
  struct consumer consumers[REQUESTS];
  int ends[2], status;
  struct tide_medium_params params = {.struct_size = sizeof params, .engine = engine, .pages = 64};
  rig_open(&rig, &params);
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  for (uint32_t i = 0; i < REQUESTS; i++) {
    consumers[i] = (struct consumer){.rig = &rig, .number = i};
    consumers[i].request = rig_wants(&rig, i + 1, PAGES * page);
    CHECK_OK(tide_medium_request(rig.medium, &consumers[i].request, 1));
  }
  CHECK(pipe(ends) == 0);
  pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    close(ends[0]);
    produce(consumers, page, ends[1], steps);
  }
  close(ends[1]);
  for (int i = 0; i < REQUESTS; i++)
    CHECK(pthread_create(&consumers[i].thread, NULL, consume, &consumers[i]) == 0);
  relay(&rig, ends[0]);
  close(ends[0]);
  CHECK(waitpid(child, &status, 0) == child);
  CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
  for (uint32_t i = 0; i < REQUESTS; i++) {
    CHECK(pthread_join(consumers[i].thread, NULL) == 0);
    bool served = steps >= (i + 1) * (PAGES + 1);
    uint64_t sum = 0;
    for (uint32_t p = 0; p < PAGES; p++) sum += word(i, p) * (page / sizeof sum);
    CHECK_STATUS(consumers[i].status, served ? TIDE_OK : TIDE_OWNER_DIED);
    CHECK_EQ_U64(consumers[i].sum, served ? sum : 0);
  }
  rig_close(&rig);
}

static void die_everywhere(enum tide_medium_engine engine) {
  for (uint32_t steps = 0; steps <= STEPS; steps++) die_after(engine, steps);
}

TEST(a_killed_producer_direct) { die_everywhere(TIDE_MEDIUM_DIRECT); }
TEST(a_killed_producer_monitor) { die_everywhere(TIDE_MEDIUM_MONITOR); }
TEST(a_killed_producer_fibers) { die_everywhere(TIDE_MEDIUM_FIBERS); }

TEST_MAIN(CASE(a_killed_producer_direct), CASE(a_killed_producer_monitor),
          CASE(a_killed_producer_fibers))
