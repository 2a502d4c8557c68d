/* One session, several threads, and a full ring: what a command says is right when it is written.
 */
#include "service_rig.h"

#include <pthread.h>

enum { THREADS = 4, CELLS = 64 };

struct shared {
  struct rig r;
  struct tide_session *s;
  struct tide_point object, fill, retires[THREADS], made[THREADS];
  enum tide_status status[THREADS];
};
struct one {
  struct shared *of;
  unsigned number;
  uint32_t thread;
  void *(*run)(void *);
};

static void *begin_one(void *argument) {
  struct one *one = argument;
  test_thread_begins(&one->thread);
  return one->run(one);
}

static void open_shared(struct shared *t) {
  memset(t, 0, sizeof *t);
  rig_open(&t->r, "default cells 64");
  t->s = rig_connect(&t->r, "threads");
  struct tide_future_params many = {.struct_size = sizeof many, .capacity = 4 * CELLS};
  CHECK_OK(tide_session_create_future(t->s, &many, &t->fill));
}

/* The service stands still, and the ring is full, while the threads begin. */
static void run_at_full_ring(struct shared *t, void *(*run)(void *)) {
  pthread_t threads[THREADS];
  struct one ones[THREADS];
  CHECK_OK(tide_session_sync(t->s, rig_in(9000)));
  CHECK(kill(t->r.server, SIGSTOP) == 0);
  for (int i = 0; i < CELLS; i++) {
    struct tide_point filled;
    CHECK_OK(tide_session_promise(t->s, t->fill, TIDE_FOREVER, &filled));
  }
  for (unsigned i = 0; i < THREADS; i++) {
    ones[i] = (struct one){.of = t, .number = i, .run = run};
    CHECK(pthread_create(&threads[i], NULL, begin_one, &ones[i]) == 0);
  }
  /* A thread that comes later finds room, and proves nothing. */
  for (unsigned i = 0; i < THREADS; i++) test_await_asleep(&ones[i].thread);
  CHECK(kill(t->r.server, SIGCONT) == 0);
  for (unsigned i = 0; i < THREADS; i++) CHECK(pthread_join(threads[i], NULL) == 0);
}

static void close_shared(struct shared *t) {
  CHECK_OK(tide_session_sync(t->s, rig_in(9000)));
  CHECK_EQ_U64(tide_session_refusals(t->s), 0);
  tide_session_close(t->s);
  rig_close(&t->r);
}

static unsigned count_status(const struct shared *t, enum tide_status status) {
  unsigned count = 0;
  for (unsigned i = 0; i < THREADS; i++) count += t->status[i] == status;
  return count;
}

static void *promise_one(void *argument) {
  const struct one *one = argument;
  struct shared *t = one->of;
  t->status[one->number] =
      tide_session_promise(t->s, t->object, TIDE_FOREVER, &t->made[one->number]);
  return NULL;
}

TEST(each_thread_promises_its_own_value) {
  struct shared t;
  uint64_t values = 0;
  open_shared(&t);
  CHECK_OK(tide_session_create_future(t.s, NULL, &t.object));
  run_at_full_ring(&t, promise_one);
  CHECK_EQ_U64(count_status(&t, TIDE_OK), THREADS);
  for (unsigned i = 0; i < THREADS; i++) values |= 1ull << t.made[i].value;
  CHECK_EQ_U64(values, ((1ull << THREADS) - 1) << 1);
  struct tide_point point = t.made[0];
  for (point.value = 1; point.value <= THREADS; point.value++)
    CHECK_OK(tide_session_fulfil(t.s, point));
  for (unsigned i = 0; i < THREADS; i++) CHECK_OK(tide_session_wait(t.s, t.made[i], rig_in(9000)));
  close_shared(&t);
}

/* A channel, a promise of the host's, and one of the channel's for each thread. */
static void open_channel(struct shared *t, uint32_t operations, struct tide_point *gate) {
  struct tide_session_channel_params one = {.struct_size = sizeof one, .operations = operations};
  struct tide_point hosts, line;
  open_shared(t);
  CHECK_OK(tide_session_create_channel(t->s, &one, &t->object));
  CHECK_OK(tide_session_create_future(t->s, NULL, &hosts));
  CHECK_OK(tide_session_promise(t->s, hosts, TIDE_FOREVER, gate));
  CHECK_OK(tide_session_create_channel_future(t->s, t->object, NULL, &line));
  for (unsigned i = 0; i < THREADS; i++)
    CHECK_OK(tide_session_promise(t->s, line, TIDE_FOREVER, &t->retires[i]));
}

static struct tide_point submit_gate;
static void *submit_one(void *argument) {
  const struct one *one = argument;
  struct shared *t = one->of;
  struct tide_session_operation o = {.waits = &submit_gate,
                                     .wait_count = 1,
                                     .retires = &t->retires[one->number],
                                     .retire_count = 1};
  t->status[one->number] = tide_session_submit(t->s, t->object, &o);
  return NULL;
}

TEST(each_thread_submits_within_the_capacity) {
  struct shared t;
  open_channel(&t, 1, &submit_gate);
  run_at_full_ring(&t, submit_one);
  CHECK_EQ_U64(count_status(&t, TIDE_OK), 1);
  CHECK_EQ_U64(count_status(&t, TIDE_FULL), THREADS - 1);
  CHECK_OK(tide_session_fulfil(t.s, submit_gate));
  for (unsigned i = 0; i < THREADS; i++)
    if (t.status[i] == TIDE_OK) CHECK_OK(tide_session_wait(t.s, t.retires[i], rig_in(9000)));
  close_shared(&t);
}

static void *allocate_one(void *argument) {
  const struct one *one = argument;
  struct shared *t = one->of;
  t->status[one->number] = tide_session_allocate(t->s, t->object, 4096, &t->retires[one->number],
                                                 NULL, &t->made[one->number]);
  return NULL;
}

TEST(each_thread_allocates_within_the_capacity) {
  struct shared t;
  struct tide_point gate;
  open_channel(&t, 2, &gate);
  struct tide_session_operation first = {.waits = &gate, .wait_count = 1};
  CHECK_OK(tide_session_submit(t.s, t.object, &first));
  run_at_full_ring(&t, allocate_one);
  CHECK_EQ_U64(count_status(&t, TIDE_OK), 1);
  CHECK_EQ_U64(count_status(&t, TIDE_FULL), THREADS - 1);
  CHECK_OK(tide_session_fulfil(t.s, gate));
  for (unsigned i = 0; i < THREADS; i++)
    if (t.status[i] == TIDE_OK) CHECK_OK(tide_session_wait(t.s, t.retires[i], rig_in(9000)));
  close_shared(&t);
}

static void *destroy_it(void *argument) {
  const struct one *one = argument;
  struct shared *t = one->of;
  t->status[one->number] = tide_session_destroy(t->s, t->object);
  return NULL;
}

TEST(one_thread_destroys_an_object) {
  struct shared t;
  open_shared(&t);
  CHECK_OK(tide_session_create_buffer(t.s, 4096, &t.object));
  run_at_full_ring(&t, destroy_it);
  CHECK_EQ_U64(count_status(&t, TIDE_OK), 1);
  CHECK_EQ_U64(count_status(&t, TIDE_NOT_FOUND), THREADS - 1);
  close_shared(&t);
}

TEST_MAIN(CASE(each_thread_promises_its_own_value), CASE(each_thread_submits_within_the_capacity),
          CASE(each_thread_allocates_within_the_capacity), CASE(one_thread_destroys_an_object))
