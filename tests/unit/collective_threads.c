/* Members of a collective submit, each from its thread, while one of them is destroyed. */
#include "harness.h"
#include "tidemark/tidemark.h"

#include <pthread.h>
#include <sched.h>
#include <string.h>

#define MEMBERS 3
#define ROUNDS 60

static uint64_t ran[MEMBERS];

static enum tide_status count_body(void *arguments) {
  uint64_t *counter;
  memcpy(&counter, arguments, sizeof counter);
  __atomic_fetch_add(counter, 1, __ATOMIC_RELAXED);
  return TIDE_OK;
}
static const struct tide_body_class counting = {.name = "count", .host = count_body};

struct member {
  struct tide_collective *collective;
  size_t number;
  uint64_t most, submitted;
  enum tide_status end;
};

/* Until it is refused, or has submitted enough. */
static void *submit_parts(void *user) {
  struct member *member = user;
  uint64_t *counter = &ran[member->number];
  struct tide_operation part = {
      .label = "part", .body = &counting, .arguments = &counter, .arguments_size = sizeof counter};
  while (member->submitted < member->most) {
    enum tide_status status =
        tide_collective_submit(member->collective, member->number, 0, &part, NULL, NULL);
    member->end = status;
    if (status == TIDE_OK) __atomic_fetch_add(&member->submitted, 1, __ATOMIC_RELAXED);
    else if (status == TIDE_FULL) sched_yield();
    else break;
  }
  return NULL;
}

static void start(struct member *members, pthread_t *threads, size_t count,
                  struct tide_collective *collective, uint64_t most) {
  for (size_t i = 0; i < count; i++) {
    members[i] = (struct member){.collective = collective, .number = i, .most = most};
    CHECK(pthread_create(&threads[i], NULL, submit_parts, &members[i]) == 0);
  }
}

static void round_of(struct tide_device *device, uint64_t first) {
  struct tide_queue *q[MEMBERS];
  struct tide_collective *all, *rest;
  struct member members[MEMBERS], survivors[MEMBERS];
  pthread_t threads[MEMBERS];
  struct tide_queue_params params = {.struct_size = sizeof params, .label = "q", .operations = 16};
  for (size_t i = 0; i < MEMBERS; i++) CHECK_OK(tide_queue_create(device, &params, &q[i]));
  CHECK_OK(tide_collective_create(q, MEMBERS, "all", &all));
  struct tide_timeline *progress = tide_collective_progress(all);
  start(members, threads, MEMBERS, all, UINT64_MAX);
  CHECK_OK(tide_timeline_wait(progress, first, TIDE_FOREVER));
  tide_queue_destroy(q[2]);
  for (size_t i = 0; i < MEMBERS; i++) {
    pthread_join(threads[i], NULL);
    CHECK_STATUS(members[i].end, TIDE_CANCELLED);
  }
  /* The others go on while the old one comes to its end. */
  CHECK_OK(tide_collective_create(q, 2, "rest", &rest));
  start(survivors, threads, 2, rest, 20);
  CHECK_STATUS(tide_timeline_wait(progress, UINT64_MAX, TIDE_FOREVER), TIDE_CANCELLED);
  for (size_t i = 0; i < 2; i++) {
    pthread_join(threads[i], NULL);
    CHECK_OK(survivors[i].end);
  }
  CHECK_OK(tide_timeline_wait(tide_collective_progress(rest), 20, TIDE_FOREVER));
  CHECK(tide_timeline_query(progress) >= first);
  tide_collective_destroy(first % 2 ? all : rest);
  tide_queue_destroy(q[0]);
  tide_queue_destroy(q[1]);
  tide_collective_destroy(first % 2 ? rest : all);
}

TEST(member_destroyed_while_all_submit) {
  struct tide_context *context;
  struct tide_device *device;
  struct tide_cpu_params params = {
      .struct_size = sizeof params, .workers = 2, .spin_ns = TIDE_CPU_NO_SPIN};
  CHECK_OK(tide_context_create(NULL, &context));
  CHECK_OK(tide_cpu_open(context, &params, &device));
  for (uint64_t i = 0; i < ROUNDS; i++) round_of(device, i % 7);
  tide_device_close(device);
  tide_context_destroy(context);
}

TEST_MAIN(CASE(member_destroyed_while_all_submit))
