/* Workers that ask whoever submits to do their exchanges, and all that may happen meanwhile: each
 * operation runs once, with its own arguments, and each call is made once, or is cancelled. */
#include "causal/context_state.h"
#include "device/workers.h"
#include "harness.h"
#include "sched/delegation.h"
#include "tidemark/tidemark.h"
#include "timeline/pending_value.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

enum { QUEUES = 4, EACH = 3000, SUBMITTERS = 2, MOST = 3 * SUBMITTERS * EACH };
enum ending { DRAIN, DESTROY, LOSE };

struct world;
struct call {
  struct tide_timepoint point;
  uint32_t made, cancelled, submits;
};
struct submitter {
  struct tide_timeline *line;
  struct call calls[EACH + 1];
  uint64_t seed, value;
  pthread_t thread;
  uint32_t number;
};
struct world {
  struct tide_context *context;
  struct tide_device *device;
  struct tide_queue *queues[QUEUES];
  struct submitter submitters[SUBMITTERS];
  pthread_mutex_t mutex;
  uint32_t ids, runs[MOST], overs[MOST], taken[MOST], wrong;
  bool cancels, ended;
  uint64_t sum;
};
static struct world *w;
static __thread bool submits; /* this thread */

static uint64_t next(uint64_t *seed) {
  *seed = *seed * 6364136223846793005u + 1442695040888963407u;
  return *seed >> 33;
}

static const size_t sizes[] = {0, 4, 8, 16, 17, 64, 192};

static enum tide_status run(void *arguments, size_t size) {
  unsigned char *bytes = arguments;
  uint32_t id;
  if (((uintptr_t)arguments & 15) != 0) __atomic_fetch_add(&w->wrong, 1, __ATOMIC_RELAXED);
  if (size < 4) return TIDE_OK;
  memcpy(&id, bytes, 4);
  if (id >= MOST) return __atomic_fetch_add(&w->wrong, 1, __ATOMIC_RELAXED), TIDE_OK;
  for (size_t i = 4; i < size; i++)
    if (bytes[i] != (unsigned char)(id + i)) __atomic_fetch_add(&w->wrong, 1, __ATOMIC_RELAXED);
  __atomic_fetch_add(&w->runs[id], 1, __ATOMIC_RELAXED);
  for (size_t i = 4; i < size; i++) bytes[i] = (unsigned char)(id + i + 1);
  return id % 997 == 0 ? TIDE_IO : TIDE_OK;
}
static enum tide_status run0(void *a) { return run(a, 0); }
static enum tide_status run1(void *a) { return run(a, 4); }
static enum tide_status run2(void *a) { return run(a, 8); }
static enum tide_status run3(void *a) { return run(a, 16); }
static enum tide_status run4(void *a) { return run(a, 17); }
static enum tide_status run5(void *a) { return run(a, 64); }
static enum tide_status run6(void *a) { return run(a, 192); }
static void over(void *arguments) {
  const unsigned char *bytes = arguments;
  uint32_t id;
  memcpy(&id, bytes, 4);
  w->overs[id]++;
  /* What the body left there, if it ran. */
  unsigned char want = (unsigned char)(id + 4 + (w->runs[id] != 0));
  if (bytes[4] != want) w->wrong++;
}
static const struct tide_body_class classes[] = {
    {.name = "0", .host = run0, .non_blocking = true},
    {.name = "4", .host = run1, .non_blocking = true},
    {.name = "8", .host = run2, .non_blocking = true},
    {.name = "16", .host = run3, .non_blocking = true},
    {.name = "17", .host = run4, .non_blocking = true},
    {.name = "64", .host = run5, .non_blocking = true},
    {.name = "192", .host = run6, .non_blocking = true}};
static const struct tide_body_class told[] = {
    {.name = "0", .host = run0, .non_blocking = true},
    {.name = "4", .host = run1, .non_blocking = true},
    {.name = "8", .host = run2, .non_blocking = true, .over = over},
    {.name = "16", .host = run3, .non_blocking = true, .over = over},
    {.name = "17", .host = run4, .non_blocking = true, .over = over},
    {.name = "64", .host = run5, .non_blocking = true, .over = over},
    {.name = "192", .host = run6, .non_blocking = true, .over = over}};
static const struct tide_body_class slow = {.name = "slow", .host = run3};

static uint32_t new_id(void) {
  uint32_t id = __atomic_fetch_add(&w->ids, 1, __ATOMIC_RELAXED);
  CHECK(id < MOST);
  return id;
}

static enum tide_status submit(uint32_t id, struct tide_signal *signal, bool batch) {
  uint64_t seed = id;
  size_t kind = next(&seed) % 7;
  unsigned char bytes[192];
  memcpy(bytes, &id, 4);
  for (size_t i = 4; i < sizeof bytes; i++) bytes[i] = (unsigned char)(id + i);
  bool is_told = next(&seed) % 2;
  const struct tide_body_class *body = is_told ? &told[kind] : &classes[kind];
  if (next(&seed) % 400 == 0) body = &slow, kind = 3;
  struct tide_operation operation = {.body = body,
                                     .signals = signal,
                                     .signal_count = signal != NULL,
                                     .arguments = bytes,
                                     .arguments_size = sizes[kind]};
  struct tide_queue *queue = w->queues[signal ? 0 : next(&seed) % QUEUES];
  enum tide_status status = batch ? tide_queue_submit_all(queue, &operation, 1, NULL, NULL)
                                  : tide_queue_submit(queue, &operation, NULL, NULL);
  if (status == TIDE_OK) w->taken[id] = (uint32_t)kind + 1 + (body->over ? 100 : 0);
  return status;
}

static void called(struct tide_timepoint *point, enum tide_status status) {
  struct call *call = (struct call *)(void *)point;
  (void)status;
  pthread_mutex_lock(&w->mutex); /* which whoever submits holds, too */
  w->sum++;
  if (call->submits && !w->ended) (void)submit(new_id(), NULL, false);
  pthread_mutex_unlock(&w->mutex);
  __atomic_fetch_add(&call->made, 1, __ATOMIC_RELEASE);
}

static void *submitting(void *argument) {
  struct submitter *s = argument;
  submits = true;
  for (uint32_t i = 1; i <= EACH; i++) {
    uint64_t kind = next(&s->seed) % 64;
    if (kind == 0)
      tide_queue_set_priority(w->queues[next(&s->seed) % QUEUES],
                              (uint8_t)(next(&s->seed) % 4 + 7));
    if (kind == 1 && s->number == 0) {
      tide_context_pause(w->context);
      (void)submit(new_id(), NULL, false);
      tide_context_resume(w->context);
    }
    if (kind == 2 && i > 8) {
      struct call *call = &s->calls[i - 1 - next(&s->seed) % 7];
      if (call->point.call && tide_timepoint_cancel(&call->point)) {
        call->cancelled = 1;
        if (call->made) __atomic_fetch_add(&w->wrong, 1, __ATOMIC_RELAXED);
      }
    }
    if (kind == 3) {
      for (volatile int k = 0; k < 3000; k++) continue;
    }
    if (kind == 4 && tide_queue_cancel(w->queues[1], i) == TIDE_OK)
      __atomic_store_n(&w->cancels, true, __ATOMIC_RELAXED);
    struct call *call = &s->calls[i];
    uint32_t id = new_id();
    if (s->number == 0 && kind % 2) {
      struct tide_signal signal = {s->line, ++s->value, false};
      call->submits = kind % 4 == 1;
      call->point = (struct tide_timepoint){.timeline = s->line, .value = s->value, .call = called};
      CHECK_OK(tide_timepoint_add(&call->point));
      for (enum tide_status status = TIDE_FULL; status == TIDE_FULL; sched_yield()) {
        pthread_mutex_lock(&w->mutex);
        status = submit(id, &signal, kind % 3 == 0);
        pthread_mutex_unlock(&w->mutex);
      }
    } else {
      while (submit(id, NULL, kind % 3 == 0) == TIDE_FULL) sched_yield();
    }
  }
  return NULL;
}

/* Waits until no worker has work: of a lost device each returns what it runs, and gets no more.
 * Then the device may be certified. */
static void await_idle_workers(struct tide_device *device) {
  struct tide_workers *pool = tide_device_backend(device)->self;
  const struct tide_platform *platform = w->context->platform;
  for (uint32_t parked = 0; parked < pool->count; sched_yield()) {
    tide_lock_take(&pool->lock, platform);
    parked = 0;
    for (struct tide_worker *at = pool->parked; at; at = at->next_parked) parked++;
    tide_lock_give(&pool->lock);
  }
}

static void go(uint64_t seed, uint32_t workers, uint32_t spin, bool check, enum ending ending) {
  struct tide_cpu_params cpu = {.struct_size = sizeof cpu, .workers = workers, .spin_ns = spin};
  struct tide_context_params context = {.struct_size = sizeof context, .check = check};
  struct tide_queue_params queue = {.struct_size = sizeof queue,
                                    .operations = 40 + (uint32_t)(seed % 7) * 50};
  w = calloc(1, sizeof *w);
  CHECK(w && !pthread_mutex_init(&w->mutex, NULL));
  CHECK_OK(tide_context_create(&context, &w->context));
  CHECK_OK(tide_cpu_open(w->context, &cpu, &w->device));
  for (int q = 0; q < QUEUES; q++) CHECK_OK(tide_queue_create(w->device, &queue, &w->queues[q]));
  for (uint32_t i = 0; i < SUBMITTERS; i++) {
    struct submitter *s = &w->submitters[i];
    s->seed = seed + i, s->number = i;
    CHECK_OK(tide_timeline_create(w->context, NULL, &s->line));
    CHECK(!pthread_create(&s->thread, NULL, submitting, s));
  }
  for (int i = 0; i < SUBMITTERS; i++) pthread_join(w->submitters[i].thread, NULL);
  pthread_mutex_lock(&w->mutex);
  w->ended = true;
  pthread_mutex_unlock(&w->mutex);
  if (ending == DRAIN)
    for (int q = 0; q < QUEUES; q++) CHECK_OK(tide_queue_drain(w->queues[q], TIDE_FOREVER));
  if (ending == LOSE) {
    tide_device_lose(w->device, TIDE_LOST);
    await_idle_workers(w->device);
    tide_device_certify(w->device);
  }
  for (int q = 0; q < QUEUES; q++) tide_queue_destroy(w->queues[q]);
  CHECK_OK(tide_device_settle(w->device, TIDE_FOREVER));
  tide_device_close(w->device);
  for (int i = 0; i < SUBMITTERS; i++) tide_timeline_destroy(w->submitters[i].line);
  tide_context_destroy(w->context);
  CHECK_EQ_U64(w->wrong, 0);
  for (uint32_t i = 0; i < MOST; i++) {
    size_t kind = w->taken[i] % 100;
    bool runs = kind > 1, must = runs && ending == DRAIN && !w->cancels;
    if (w->runs[i] > runs || (must && !w->runs[i]))
      FAIL("%u: %u runs, kind %u", i, w->runs[i], (unsigned)kind);
    if (w->overs[i] != (w->taken[i] > 100)) FAIL("%u: %u overs", i, w->overs[i]);
  }
  for (uint32_t i = 1; i <= EACH; i++) {
    const struct call *call = &w->submitters[0].calls[i];
    if (!call->point.call) continue;
    if (call->made + call->cancelled != 1) FAIL("%u: called %u", i, call->made);
  }
  free(w);
}

static void several(uint32_t workers, uint32_t spin, bool check) {
  for (uint64_t seed = 1; seed <= 12 / test_slowdown() + 3; seed++)
    go(seed * 13, workers, spin, check, (enum ending)(seed % 3));
}
TEST(one) { several(1, 0, false); }
TEST(two) { several(2, 0, false); }
TEST(four) { several(4, 0, false); }
TEST(no_spin) { several(1, TIDE_CPU_NO_SPIN, false); }
TEST(checked) { several(1, 0, true); }

/* Check mode and a sink see the exchanges that users have: some are done by a submit, which calls
 * `over`. */
static uint32_t over_here;
static void over_whom(void *arguments) {
  (void)arguments;
  over_here += submits;
}
static void hear(void *self, const struct tide_event *event) { *(uint64_t *)self += event->kind; }
TEST(in_check_mode_and_heard) {
  static const struct tide_body_class body = {
      .name = "0", .host = run0, .non_blocking = true, .over = over_whom};
  struct tide_cpu_params cpu = {.struct_size = sizeof cpu, .workers = 1};
  struct tide_operation operation = {.body = &body};
  w = calloc(1, sizeof *w);
  CHECK(w);
  uint64_t heard = 0;
  struct tide_sink sink = {.event = hear, .self = &heard};
  struct tide_context_params context_params = {
      .struct_size = sizeof context_params, .sink = &sink, .check = true};
  CHECK_OK(tide_context_create(&context_params, &w->context));
  CHECK_OK(tide_cpu_open(w->context, &cpu, &w->device));
  CHECK_OK(tide_queue_create(w->device, NULL, &w->queues[0]));
  submits = true;
  for (uint32_t taken = 0; taken < 200000 / test_slowdown();)
    taken += tide_queue_submit(w->queues[0], &operation, NULL, NULL) == TIDE_OK;
  submits = false;
  CHECK_OK(tide_queue_drain(w->queues[0], TIDE_FOREVER));
  CHECK(heard > 0);
  tide_queue_destroy(w->queues[0]);
  tide_device_close(w->device);
  tide_context_destroy(w->context);
  free(w);
  if (over_here == 0) SKIP("no submit met a worker that asked"); /* which is a matter of chance */
}

static void note_call(struct tide_timepoint *point, enum tide_status status) {
  struct call *call = (struct call *)(void *)point;
  (void)status;
  call->made++;
}
static void no_kick(void *self) { (void)self; }

/* What a submit ends by itself is called back in it, and what a worker ended by the worker: also
 * where the submit does the worker's exchange. */
TEST(own_calls_in_the_submit) {
  static const struct tide_body_class body = {.name = "0", .host = run0, .non_blocking = true};
  static const struct tide_backend backend = {
      .name = "inline", .in_order = true, .sequential = true, .kick = no_kick};
  struct tide_context *context;
  struct tide_device *device;
  struct tide_queue *queues[2];
  struct call calls[2] = {0};
  CHECK_OK(tide_context_create(NULL, &context));
  CHECK_OK(tide_device_open(context, &backend, "inline", &device));
  for (int i = 0; i < 2; i++) {
    CHECK_OK(tide_queue_create(device, NULL, &queues[i]));
    calls[i].point = (struct tide_timepoint){
        .timeline = tide_queue_progress(queues[i]), .value = 1, .call = note_call};
    CHECK_OK(tide_timepoint_add(&calls[i].point));
  }
  struct tide_delegation request = {.device = device, .most = 1, .count = 1};
  struct tide_operation work = {.body = &body}, empty = {.body = NULL};
  CHECK_OK(tide_queue_submit(queues[0], &work, NULL, NULL));
  CHECK_EQ_U64(tide_device_exchange(device, NULL, 0, request.works, 1, NULL), 1);
  CHECK(tide_delegation_post(context->sched, &request));
  CHECK_OK(tide_queue_submit(queues[1], &empty, NULL, NULL));
  CHECK_EQ_U64(request.answered, 1);
  CHECK_EQ_U64(calls[1].made, 1);
  CHECK_EQ_U64(calls[0].made, 0);
  struct tide_fired fired = request.calls;
  tide_fired_run_calls(&fired, context);
  CHECK_EQ_U64(calls[0].made, 1);
  for (int i = 0; i < 2; i++) tide_queue_destroy(queues[i]);
  CHECK_OK(tide_device_settle(device, TIDE_FOREVER));
  tide_device_close(device);
  tide_context_destroy(context);
}

TEST_MAIN(CASE(one), CASE(two), CASE(four), CASE(no_spin), CASE(checked),
          CASE(in_check_mode_and_heard), CASE(own_calls_in_the_submit))
