/* What a wait costs where the device keeps it, and where the host does: chains over each scope.
 *
 * Each device has a *submitting* thread, which exchanges, and sleeps until a kick or an awaited
 * end, as over a real driver. One more thread is the *hardware* of all: it polls the queues,
 * executes one command at a time for BODY ns, and wakes a submitting thread for an awaited end (an
 * interrupt). All operations are submitted before the first one goes out. What exceeds BODY is the
 * cost of the order: a wake of the host for each operation, or none. */
#include "bench.h"

#include "base/atomic.h"
#include "tidemark/tidemark.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { RING = 256, WINDOW = 64, HARDWARE = 2, AT_ONCE = 16, BODY = 20000 };

struct command {
  struct tide_work *work; /* kept by the host: handed back at the end */
  uint32_t wait_count;
  struct tide_native_wait waits[TIDE_HARDWARE_QUEUES_MAX];
};

struct ring {
  _Alignas(64) uint64_t out;  /* atomic: the newest command */
  _Alignas(64) uint64_t over; /* atomic: all up to this one have ended */
  uint64_t awaited;           /* atomic: wakes the submitting thread; UINT64_MAX: none */
  uint64_t reported;
  struct command commands[RING];
};

struct gpu {
  struct tide_device *device;
  bool ahead;
  pthread_t submitting;
  uint32_t news, stopping; /* atomic; `news` is waited on */
  uint64_t wakes;
  struct ring rings[HARDWARE];
};

static void wake(struct gpu *gpu) {
  const struct tide_platform *platform = tide_platform_linux();
  tide_fetch_add(&gpu->news, 1u);
  platform->wake(platform->self, &gpu->news, 1);
}
static void kick(void *self) { wake(self); }

/* Without run-ahead the order of the exchanges is the hardware queue's. */
static void submit(struct gpu *gpu, struct tide_work *work) {
  struct tide_submission what = {.wait_count = 0};
  if (gpu->ahead) tide_work_submission(work, &what);
  struct ring *ring = &gpu->rings[what.hardware_queue];
  struct command *command = &ring->commands[(ring->out + 1) % RING];
  command->work = work;
  command->wait_count = what.wait_count;
  for (uint32_t i = 0; i < what.wait_count; i++) command->waits[i] = what.waits[i];
  if (!gpu->ahead) tide_store_release(&ring->awaited, ring->over + 1);
  tide_store_release(&ring->out, ring->out + 1);
}

/* Returns the number of works that were given. */
static size_t exchange(struct gpu *gpu) {
  struct tide_work *works[AT_ONCE];
  size_t done = 0, count, total = 0;
  if (!gpu->ahead) {
    struct ring *ring = &gpu->rings[0];
    for (uint64_t over = tide_load_acquire(&ring->over); ring->reported < over && done < AT_ONCE;)
      works[done++] = ring->commands[++ring->reported % RING].work;
  }
  while ((count = tide_device_exchange(gpu->device, works, done, works, AT_ONCE, NULL))) {
    for (size_t i = 0; i < count; i++) submit(gpu, works[i]);
    done = gpu->ahead ? count : 0;
    total += count;
  }
  return total;
}

static void report(struct gpu *gpu) {
  for (uint32_t h = 0; h < HARDWARE; h++) {
    struct ring *ring = &gpu->rings[h];
    uint64_t over = tide_load_acquire(&ring->over);
    if (over > ring->reported) tide_device_over(gpu->device, h, over);
    ring->reported = over;
  }
}

/* True if an awaited end has come meanwhile. */
static bool listen_for_ends(struct gpu *gpu) {
  bool has_come = false;
  for (uint32_t h = 0; h < HARDWARE; h++) {
    struct ring *ring = &gpu->rings[h];
    uint64_t awaited = gpu->ahead ? tide_device_awaited(gpu->device, h) : ring->reported + 1;
    (void)tide_exchange(&ring->awaited, awaited ? awaited : UINT64_MAX);
    uint64_t over = tide_fetch_add(&ring->over, 0u);
    has_come |= over > ring->reported && awaited && over >= awaited;
  }
  return has_come;
}

static void *submitting_main(void *argument) {
  struct gpu *gpu = argument;
  const struct tide_platform *platform = tide_platform_linux();
  while (!tide_load_acquire(&gpu->stopping)) {
    uint32_t news = tide_load_acquire(&gpu->news);
    if (gpu->ahead) report(gpu);
    if (exchange(gpu) || listen_for_ends(gpu)) continue;
    platform->wait(platform->self, &gpu->news, news, TIDE_FOREVER);
    gpu->wakes++;
  }
  return NULL;
}

static bool may_run(const struct command *command) {
  for (uint32_t i = 0; i < command->wait_count; i++) {
    struct gpu *other = tide_device_backend(command->waits[i].device)->self;
    uint64_t *over = &other->rings[command->waits[i].hardware_queue].over;
    if (tide_load_acquire(over) < command->waits[i].submission) return false;
  }
  return true;
}

static struct gpu gpus[2];
static uint32_t hardware_stops; /* atomic */

static void run_next(struct gpu *gpu, struct ring *ring) {
  uint64_t next = ring->over + 1;
  if (tide_load_acquire(&ring->out) < next || !may_run(&ring->commands[next % RING])) return;
  for (uint64_t end = bench_now() + BODY; bench_now() < end;) tide_pause();
  (void)tide_exchange(&ring->over, next);
  if (tide_fetch_add(&ring->awaited, 0u) <= next) wake(gpu);
}

static void *hardware_main(void *unused) {
  while (!tide_load_acquire(&hardware_stops)) {
    for (uint32_t i = 0; i < 2 * HARDWARE; i++)
      run_next(&gpus[i / HARDWARE], &gpus[i / HARDWARE].rings[i % HARDWARE]);
    tide_pause();
  }
  return unused;
}

static enum tide_status start(void *self, struct tide_device *device) {
  struct gpu *gpu = self;
  gpu->device = device;
  for (uint32_t h = 0; h < HARDWARE; h++) gpu->rings[h].awaited = UINT64_MAX;
  BENCH_CHECK(pthread_create(&gpu->submitting, NULL, submitting_main, gpu) == 0);
  return TIDE_OK;
}

static void stop(void *self) {
  struct gpu *gpu = self;
  tide_store_release(&gpu->stopping, 1u);
  wake(gpu);
  pthread_join(gpu->submitting, NULL);
}

/* ---- chains ----------------------------------------------------------------------- */

enum shape { ONE_QUEUE, ONE_HARDWARE_QUEUE, TWO_HARDWARE_QUEUES, TWO_DEVICES };
struct chain {
  enum shape shape;
  enum tide_scope scope;
};

static enum tide_status nothing(void *arguments) {
  (void)arguments;
  return TIDE_OK;
}
static const struct tide_body_class empty = {.name = "empty", .host = nothing};

static void open_gpu(struct tide_context *context, struct gpu *gpu, bool ahead) {
  static const char group;
  *gpu = (struct gpu){.ahead = ahead};
  struct tide_backend backend = {.name = "gpu",
                                 .in_order = true,
                                 .kick = kick,
                                 .start = start,
                                 .stop = stop,
                                 .self = gpu,
                                 .ahead = ahead ? WINDOW : 0,
                                 .hardware_queues = ahead ? HARDWARE : 0,
                                 .group = &group};
  BENCH_CHECK(tide_device_open(context, &backend, "gpu", &gpu->device) == TIDE_OK);
}

static void open_queues(const struct chain *chain, bool ahead, uint32_t count,
                        struct tide_queue **queues) {
  for (uint32_t i = 0; i < 2; i++) {
    bool second = i == 1 && ahead && chain->shape >= TWO_HARDWARE_QUEUES;
    struct tide_queue_params params = {.struct_size = sizeof params,
                                       .operations = count,
                                       .waits = count,
                                       .signals = 2 * count,
                                       .hardware_queue = ahead ? 1 + second : 0};
    struct gpu *gpu = &gpus[i == 1 && chain->shape == TWO_DEVICES];
    BENCH_CHECK(tide_queue_create(gpu->device, &params, &queues[i]) == TIDE_OK);
  }
  if (chain->shape == ONE_QUEUE) queues[1] = queues[0];
}

/* Each operation waits for the one before it. The last value is the host's to wait for. */
static double run_chain(struct tide_context *context, const struct chain *chain,
                        struct tide_queue **queues, uint64_t count) {
  struct tide_timeline *line, *end;
  BENCH_CHECK(tide_timeline_create(context,
                                   TIDE_PARAMS(tide_timeline_params, .scope = chain->scope),
                                   &line) == TIDE_OK);
  BENCH_CHECK(tide_timeline_create(context, NULL, &end) == TIDE_OK);
  tide_context_pause(context);
  for (uint64_t i = 1; i <= count; i++) {
    struct tide_wait wait = {line, i - 1};
    struct tide_signal signals[2] = {{.timeline = line, .value = i}, {.timeline = end, .value = 1}};
    struct tide_operation operation = {.body = &empty,
                                       .waits = &wait,
                                       .wait_count = i > 1,
                                       .signals = signals,
                                       .signal_count = i == count ? 2 : 1};
    BENCH_CHECK(tide_queue_submit(queues[i % 2], &operation, NULL, NULL) == TIDE_OK);
  }
  uint64_t before = bench_now();
  tide_context_resume(context);
  BENCH_CHECK(tide_timeline_wait(end, 1, TIDE_FOREVER) == TIDE_OK);
  return (double)(bench_now() - before) / (double)count;
}

static const char *measure(const void *what, unsigned side, double *out_values) {
  const struct chain *chain = what;
  uint32_t count = bench_smoke() ? 200 : 2000;
  struct tide_context *context;
  struct tide_queue *queues[2];
  struct tide_context_stats stats;
  pthread_t hardware;
  memset(gpus, 0, sizeof gpus);
  BENCH_CHECK(tide_context_create(NULL, &context) == TIDE_OK);
  for (int i = 0; i < 2; i++)
    if (i == 0 || chain->shape == TWO_DEVICES) open_gpu(context, &gpus[i], side == 0);
  open_queues(chain, side == 0, count, queues);
  tide_store_release(&hardware_stops, 0u);
  BENCH_CHECK(pthread_create(&hardware, NULL, hardware_main, NULL) == 0);
  out_values[0] = run_chain(context, chain, queues, count);
  tide_context_stats(context, &stats);
  tide_context_destroy(context);
  tide_store_release(&hardware_stops, 1u);
  BENCH_CHECK(pthread_join(hardware, NULL) == 0);
  uint64_t wakes = gpus[0].wakes + (chain->shape == TWO_DEVICES ? gpus[1].wakes : 0);
  out_values[1] = (double)wakes / (double)count;
  out_values[2] = (double)stats.native_waits / (double)count;
  out_values[3] = (double)stats.barriers / (double)count;
  return NULL;
}

static const struct chain chains[] = {{ONE_QUEUE, TIDE_SCOPE_QUEUE},
                                      {ONE_HARDWARE_QUEUE, TIDE_SCOPE_DEVICE},
                                      {TWO_HARDWARE_QUEUES, TIDE_SCOPE_DEVICE},
                                      {TWO_DEVICES, TIDE_SCOPE_GROUP}};
#define CONTEST(i)                                                                                 \
  {                                                                                                \
    .sides = {"kept by the device", "kept by the host"},                                           \
    .values = {{"an operation", "ns", BENCH_LESS},                                                 \
               {"wakes of the host", "an operation", BENCH_LESS},                                  \
               {"native waits", "an operation", BENCH_LESS},                                       \
               {"barriers", "an operation", BENCH_LESS}},                                          \
    .measure = measure, .what = &chains[i]                                                         \
  }
static const struct bench_contest contests[] = {CONTEST(0), CONTEST(1), CONTEST(2), CONTEST(3)};

const struct bench_figure bench_ahead[] = {{.name = "queue", .contest = &contests[0]},
                                           {.name = "device_shared", .contest = &contests[1]},
                                           {.name = "device", .contest = &contests[2]},
                                           {.name = "group", .contest = &contests[3]},
                                           {0}};
