/* A GPU for the patterns: its ways, and one run. */
#include "gpu.h"

#include "polling.h"
#include "tidemark/cuda.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WARPS 8          /* consumers of a block, where there is room for their data */
#define REGISTERS 72     /* of a thread, as the kernel takes them, rounded up */
#define PAST 0x7fffffffu /* a tag that is past all values */

extern const char gpu_ptx[];

struct gpu {
  struct tide_context *context;
  struct tide_device *cuda;
  struct tide_cuda_info info;
  struct tide_cuda_module *module;
  struct tide_cuda_kernel *pattern, *interference;
};

/* ---- opening -------------------------------------------------------------------------- */

static enum tide_status open_all(struct gpu *gpu, const char *driver, struct tide_diag *diag) {
  struct tide_cuda_params params = {.struct_size = sizeof params, .driver = driver, .depth = 1};
  enum tide_status status = tide_cuda_open(gpu->context, &params, &gpu->cuda, diag);
  if (status == TIDE_OK) status = tide_cuda_load(gpu->cuda, gpu_ptx, &gpu->module, diag);
  if (status == TIDE_OK) status = tide_cuda_find(gpu->module, "pattern", &gpu->pattern, diag);
  if (status == TIDE_OK)
    status = tide_cuda_find(gpu->module, "interference", &gpu->interference, diag);
  return status;
}

struct gpu *gpu_open(const char *driver, char *said, size_t size, bool *out_none) {
  struct tide_context_params params = {.struct_size = sizeof params,
                                       .platform = tide_platform_linux()};
  struct tide_diag diag = {.text = ""};
  struct gpu *gpu = calloc(1, sizeof *gpu);
  enum tide_status status = gpu ? tide_context_create(&params, &gpu->context) : TIDE_NOMEM;
  if (status == TIDE_OK) {
    status = open_all(gpu, driver, &diag);
    if (status != TIDE_OK) gpu_close(gpu);
  } else {
    free(gpu);
  }
  if (out_none) *out_none = status == TIDE_UNSUPPORTED;
  if (status != TIDE_OK) {
    snprintf(said, size, "%s", diag.text[0] ? diag.text : tide_status_text(status));
    return NULL;
  }
  tide_cuda_info(gpu->cuda, &gpu->info);
  return gpu;
}

void gpu_close(struct gpu *gpu) {
  if (!gpu) return;
  tide_cuda_unload(gpu->module);
  tide_device_close(gpu->cuda);
  tide_context_destroy(gpu->context);
  free(gpu);
}

const char *gpu_name(const struct gpu *gpu) { return gpu->info.name; }

/* ---- the ways: on the host's side all of them look in a loop --------------------------------- */

/* A way that knows its GPU, for one run. */
struct instance {
  struct way way;
  struct gpu *gpu;
  uint32_t *over; /* pinned: the GPU's word, and a line of its own */
  bool opened;
};

static struct instance *instance_of(struct exchange *x) {
  return (struct instance *)(uintptr_t)x->way;
}

static size_t slot_count(const struct exchange *x) {
  return 2 * (size_t)x->shape.consumers * (x->shape.down + x->shape.up);
}

_Static_assert(sizeof(struct slot) == sizeof(struct gpu_slot), "one memory, two texts");
_Static_assert(offsetof(struct slot, taken) == offsetof(struct gpu_slot, taken) &&
                   offsetof(struct slot, length) == offsetof(struct gpu_slot, length),
               "one memory, two texts");

/* Slots and places are where both can see them: in the host's memory, pinned. */
static const char *open_pinned(struct exchange *x) {
  struct instance *i = instance_of(x);
  void *slots = NULL, *memory = NULL, *over = NULL;
  enum tide_status status =
      tide_cuda_alloc_host(i->gpu->cuda, slot_count(x) * sizeof *x->slots, &slots);
  if (status == TIDE_OK)
    status = tide_cuda_alloc_host(i->gpu->cuda, slot_count(x) * x->place, &memory);
  if (status == TIDE_OK) status = tide_cuda_alloc_host(i->gpu->cuda, 64, &over);
  free(x->slots); /* the exchange's own */
  x->slots = slots;
  x->memory = memory;
  i->over = over;
  i->opened = true;
  if (status != TIDE_OK) return "there is no pinned memory for the messages";
  memset(x->slots, 0, slot_count(x) * sizeof *x->slots);
  memset(x->memory, 0, slot_count(x) * x->place);
  memset(i->over, 0, 64);
  return NULL;
}

/* After an open that failed in the exchange's own part the slots are the exchange's. */
static void close_pinned(struct exchange *x) {
  struct instance *i = instance_of(x);
  if (!i->opened) return;
  tide_cuda_free_host(i->gpu->cuda, x->slots);
  tide_cuda_free_host(i->gpu->cuda, x->memory);
  tide_cuda_free_host(i->gpu->cuda, i->over);
  x->slots = NULL;
  x->memory = NULL;
}

static void stop_gpu(struct exchange *x) {
  struct instance *i = instance_of(x);
  __atomic_store_n(i->over, 1, __ATOMIC_RELEASE);
}

/* A stream's own wait has no deadline: it is let through. */
static void stop_stream(struct exchange *x) {
  stop_gpu(x);
  for (size_t i = 0; i < slot_count(x); i++) atomic_store(&x->slots[i].given, PAST);
}

#define WAITS                                                                                      \
  .open = open_pinned, .close = close_pinned, .room = polling_room, .give = polling_give,          \
  .take = polling_take, .taken = polling_taken

const struct way gpu_ways[GPU_WAY_COUNT] = {
    {.name = "algorithm1",
     .summary = "GPU: a block's first thread looks at flags, the others wait at its barrier",
     .stop = stop_gpu,
     WAITS},
    {.name = "polled", .summary = "GPU: each warp looks at its flag", .stop = stop_gpu, WAITS},
    {.name = "split",
     .summary = "GPU: the stream waits, between two kernels",
     .stop = stop_stream,
     WAITS},
    {.name = "parked",
     .summary = "GPU: warps sleep at barriers, one more a block looks at their flags",
     .stop = stop_gpu,
     WAITS},
};

static enum gpu_way number_of(const struct way *way) {
  static const enum gpu_way numbers[GPU_WAY_COUNT] = {GPU_FIRST, GPU_POLLED, GPU_SPLIT, GPU_PARKED};
  return numbers[way - gpu_ways];
}

/* ---- one run ------------------------------------------------------------------------------------
 */

struct job {
  struct run run;
  struct gpu *gpu;
  struct instance instance;
  const struct gpu_part *part;
  enum gpu_way way;
  struct tide_cuda_stream *stream;
  uint64_t device;     /* the consumers' blocks there */
  unsigned char *host; /* and here, pinned */
  size_t block_size;
  struct gpu_arguments arguments;
};

static struct gpu_tally *tally_of(struct job *j, uint32_t consumer) {
  return (struct gpu_tally *)(void *)(j->host + consumer * j->block_size);
}

static size_t blocks_size(const struct job *j) { return j->run.settings.consumers * j->block_size; }

static enum tide_status take_memory(struct job *j) {
  void *host = NULL;
  enum tide_status status = tide_cuda_alloc(j->gpu->cuda, blocks_size(j), &j->device);
  if (status == TIDE_OK) status = tide_cuda_alloc_host(j->gpu->cuda, blocks_size(j), &host);
  if (status == TIDE_OK) status = tide_cuda_stream_create(j->gpu->cuda, &j->stream);
  j->host = host;
  if (status != TIDE_OK) return status;
  memset(j->host, 0, blocks_size(j));
  for (uint32_t c = 0; c < j->run.settings.consumers; c++)
    j->part->load(j->run.state, c, tally_of(j, c));
  return TIDE_OK;
}

static void give_memory_back(struct job *j) {
  tide_cuda_stream_destroy(j->stream);
  tide_cuda_free(j->gpu->cuda, j->device);
  tide_cuda_free_host(j->gpu->cuda, j->host);
}

/* Consumers of a block: all their data is in its shared memory at once. */
static uint32_t warps_of(const struct job *j) {
  size_t room = ((size_t)j->gpu->info.shared_bytes - 1024) / j->run.settings.bytes;
  uint32_t most = j->run.settings.consumers < WARPS ? j->run.settings.consumers : WARPS;
  return room < most ? (uint32_t)room : most;
}

static uint32_t shared_of(const struct job *j, uint32_t warps) {
  return 1024 + (j->arguments.bulk ? warps * (uint32_t)j->run.settings.bytes : 0);
}

/* Consumers wait for what others give: all of them must run at once. */
static bool fits(const struct job *j) {
  uint32_t warps = j->arguments.warps;
  if (!warps) return false;
  uint32_t blocks = (j->run.settings.consumers + warps - 1) / warps;
  uint32_t by_registers = 65536 / 32 / REGISTERS / (warps + 1);
  uint32_t by_shared = (uint32_t)j->gpu->info.shared_bytes / (shared_of(j, warps) + 1024);
  uint32_t each = by_registers < by_shared ? by_registers : by_shared;
  return blocks <= (each ? each : 1) * (uint32_t)j->gpu->info.multiprocessors;
}

static void fill_arguments(struct job *j) {
  const struct settings *s = &j->run.settings;
  const struct exchange *x = &j->run.exchange;
  j->arguments = (struct gpu_arguments){.slots = (uint64_t)(uintptr_t)x->slots,
                                        .memory = (uint64_t)(uintptr_t)x->memory,
                                        .blocks = j->device,
                                        .over = (uint64_t)(uintptr_t)j->instance.over,
                                        .limit = s->limit * UINT64_C(1000000000),
                                        .pattern = j->part->number,
                                        .way = j->way,
                                        .consumers = s->consumers,
                                        .warps = warps_of(j),
                                        .down = x->shape.down,
                                        .up = x->shape.up,
                                        .place = (uint32_t)x->place,
                                        .bytes = (uint32_t)s->bytes,
                                        .block_size = (uint32_t)j->block_size,
                                        .c1_ns = s->us[C1] * 1000,
                                        .c2_ns = s->us[C2] * 1000,
                                        .bulk = j->way == GPU_PARKED};
}

static enum tide_status launch(struct job *j, uint32_t from, uint32_t to, uint32_t phases) {
  struct gpu_arguments *a = &j->arguments;
  a->from = from;
  a->to = to;
  a->phases = phases;
  struct tide_cuda_launch l = {.kernel = j->gpu->pattern,
                               .grid = {(a->consumers + a->warps - 1) / a->warps},
                               .block = {32 * (a->warps + (j->way == GPU_PARKED))},
                               .shared_bytes = shared_of(j, a->warps),
                               .arguments = a,
                               .size = sizeof *a};
  return tide_cuda_launch(j->stream, &l);
}

/* The stream waits for all consumers' messages of one step. */
static enum tide_status wait_for_step(struct job *j, uint32_t step) {
  enum tide_status status = TIDE_OK;
  uint32_t cycle = step / j->arguments.down, number = step % j->arguments.down;
  for (uint32_t c = 0; c < j->arguments.consumers && status == TIDE_OK; c++) {
    struct slot *slot = exchange_slot(&j->run.exchange, down(c, cycle, number));
    status = tide_cuda_wait_value(j->stream, (uint64_t)(uintptr_t)&slot->given, cycle + 1);
  }
  return status;
}

static enum tide_status launch_split(struct job *j, uint32_t steps) {
  enum tide_status status = TIDE_OK;
  for (uint32_t step = 0; step < steps && status == TIDE_OK; step++) {
    status = launch(j, step, step + 1, GPU_BEFORE);
    if (status == TIDE_OK) status = wait_for_step(j, step);
    if (status == TIDE_OK) status = launch(j, step, step + 1, GPU_AFTER);
  }
  return status;
}

static enum tide_status put_all(struct job *j) {
  uint32_t steps = j->run.settings.cycles * j->arguments.down;
  uint64_t host = (uint64_t)(uintptr_t)j->host;
  enum tide_status status = tide_cuda_copy(j->stream, j->device, host, blocks_size(j));
  if (status == TIDE_OK)
    status =
        j->way == GPU_SPLIT ? launch_split(j, steps) : launch(j, 0, steps, GPU_BEFORE | GPU_AFTER);
  if (status == TIDE_OK) status = tide_cuda_copy(j->stream, host, j->device, blocks_size(j));
  return status;
}

static void *produce_main(void *argument) {
  struct run *r = &((struct job *)argument)->run;
  bool through = r->pattern->produce(r);
  exchange_flush(&r->exchange);
  if (!through) {
    atomic_fetch_add(&r->unfinished, 1);
    exchange_stop(&r->exchange);
  }
  return NULL;
}

static void fail(struct outcome *out, const char *why) {
  out->good = false;
  snprintf(out->said, sizeof out->said, "%s", why);
}

/* Until the GPU is done or has failed. What a stop leaves on the stream ends by itself. */
static enum tide_status run_stream(struct job *j) {
  enum tide_status status = put_all(j);
  if (status == TIDE_OK)
    status = tide_cuda_stream_wait(j->stream, exchange_now() + (j->run.settings.limit + 5) *
                                                                   UINT64_C(1000000000));
  if (status != TIDE_OK) {
    exchange_stop(&j->run.exchange);
    enum tide_status end = tide_cuda_stream_wait(j->stream, TIDE_FOREVER);
    (void)end;
  }
  return status;
}

/* Has each consumer had all its data? */
static bool all_done(struct job *j) {
  uint32_t steps = j->run.settings.cycles * j->arguments.down;
  bool done = true;
  for (uint32_t c = 0; c < j->run.settings.consumers; c++)
    done = done && !tally_of(j, c)->failed && tally_of(j, c)->done == steps;
  return done;
}

static void summarise(struct job *j, struct outcome *out) {
  uint32_t consumers = j->run.settings.consumers;
  for (uint32_t c = 0; c < consumers; c++) {
    const struct gpu_tally *tally = tally_of(j, c);
    out->waits += tally->waits;
    out->checks += tally->checks;
    out->waited_ns += tally->waited;
    out->messages += tally->done;
  }
  out->downs = out->messages;
  out->alive_ns = out->ns * consumers;
}

static void run_job(struct job *j, struct outcome *out) {
  pthread_t producer;
  if (pthread_create(&producer, NULL, produce_main, j) != 0) {
    fail(out, "there is no memory for the threads");
    return;
  }
  uint64_t from = exchange_now();
  enum tide_status status = run_stream(j);
  out->ns = exchange_now() - from;
  /* The producer takes what was given last, or is told that it is over: a consumer that has missed
   * its data gives nothing back. */
  bool done = status == TIDE_OK && all_done(j);
  if (!done) exchange_stop(&j->run.exchange);
  pthread_join(producer, NULL);
  if (status != TIDE_OK) {
    char why[128];
    snprintf(why, sizeof why, "the GPU: %s", tide_status_text(status));
    fail(out, why);
    return;
  }
  summarise(j, out);
  out->good = done && !atomic_load(&j->run.unfinished);
  if (!out->good) {
    fail(out, "a consumer or the producer gave up");
    return;
  }
  for (uint32_t c = 0; c < j->run.settings.consumers; c++)
    j->part->store(j->run.state, c, tally_of(j, c));
  out->good = j->run.pattern->check(&j->run.settings, j->run.state, out->said, sizeof out->said);
}

static void run_opened(struct job *j, struct outcome *out) {
  j->block_size = (j->part->size(&j->run.settings) + 255) / 256 * 256;
  enum tide_status status = take_memory(j);
  if (status == TIDE_OK) {
    fill_arguments(j);
    if (fits(j)) run_job(j, out);
    else fail(out, "so many consumers, or so long messages, do not fit this GPU at once");
  } else {
    fail(out, "there is no memory for the consumers");
  }
  give_memory_back(j);
}

void gpu_run(struct gpu *gpu, const struct pattern *pattern, const struct way *way,
             const struct settings *s, const struct pace *pace, enum plant plant,
             struct outcome *out) {
  struct job j = {.gpu = gpu, .part = pattern->gpu, .way = number_of(way)};
  struct run *r = &j.run;
  *out = (struct outcome){.good = false};
  if (!pattern->gpu) {
    fail(out, "it has no consumers for a GPU");
    return;
  }
  *r = (struct run){.pattern = pattern, .settings = *s, .pace = *pace};
  if (!r->settings.cycles) r->settings.cycles = pattern->cycles;
  struct shape shape = {.consumers = s->consumers,
                        .cycles = r->settings.cycles,
                        .down = pattern->down,
                        .up = pattern->up,
                        .bytes = s->bytes,
                        .cores = {-1, -1}};
  j.instance = (struct instance){.way = *way, .gpu = gpu};
  r->spans = calloc(s->consumers + 1, sizeof *r->spans);
  r->state = pattern->create(&r->settings);
  const char *problem = r->state && r->spans ? NULL : "there is no memory for the pattern's data";
  if (!problem) problem = exchange_open(&r->exchange, &j.instance.way, &shape, plant);
  if (problem) fail(out, problem);
  else {
    run_opened(&j, out);
    exchange_close(&r->exchange);
  }
  if (r->state) pattern->destroy(r->state);
  free(r->spans);
}

/* ---- interference
 * ---------------------------------------------------------------------------------- */

static enum tide_status interfere(struct gpu *gpu, struct gpu_interference *a, uint32_t blocks,
                                  uint32_t *host, struct tide_cuda_stream *stream) {
  struct tide_cuda_launch l = {
      .kernel = gpu->interference,
      .grid = {blocks},
      .block = {32 * (a->workers + a->waiters + (a->way == GPU_PARKED && a->waiters > 0))},
      .shared_bytes = 1024,
      .arguments = a,
      .size = sizeof *a};
  uint64_t results = (uint64_t)(uintptr_t)(host + 16);
  size_t tags = blocks * (size_t)128, sums = blocks * (size_t)16;
  enum tide_status status = tide_cuda_fill(stream, a->tag, 0, tags + sums);
  if (status == TIDE_OK) status = tide_cuda_launch(stream, &l);
  if (status == TIDE_OK) status = tide_cuda_copy(stream, results, a->results, sums);
  if (status == TIDE_OK)
    status = tide_cuda_stream_wait(stream, exchange_now() + UINT64_C(10000000000));
  return status;
}

bool gpu_interfere(struct gpu *gpu, const struct way *way, uint32_t workers, uint32_t waiters,
                   uint32_t rounds, struct gpu_slowing *out, char *said, size_t size) {
  uint32_t blocks = 2 * (uint32_t)gpu->info.multiprocessors;
  uint64_t memory = 0;
  void *host = NULL;
  struct tide_cuda_stream *stream = NULL;
  enum tide_status status = tide_cuda_alloc(gpu->cuda, blocks * (size_t)144, &memory);
  if (status == TIDE_OK) status = tide_cuda_alloc_host(gpu->cuda, 64 + blocks * (size_t)16, &host);
  if (status == TIDE_OK) status = tide_cuda_stream_create(gpu->cuda, &stream);
  if (status == TIDE_OK) {
    memset(host, 0, 64);
    struct gpu_interference a = {.tag = memory,
                                 .over = (uint64_t)(uintptr_t)host,
                                 .limit = UINT64_C(5000000000),
                                 .results = memory + blocks * (uint64_t)128,
                                 .way = number_of(way),
                                 .workers = workers,
                                 .waiters = waiters,
                                 .rounds = rounds};
    status = interfere(gpu, &a, blocks, host, stream);
  }
  double clocks = 0, looks = 0;
  const uint64_t *results = (const uint64_t *)(const void *)((const char *)host + 64);
  for (uint32_t i = 0; i < blocks && status == TIDE_OK; i++) {
    clocks += (double)results[2 * i];
    looks += (double)results[2 * i + 1];
  }
  *out = (struct gpu_slowing){clocks / workers / blocks, looks / blocks};
  if (status != TIDE_OK) snprintf(said, size, "the GPU: %s", tide_status_text(status));
  tide_cuda_stream_destroy(stream);
  tide_cuda_free(gpu->cuda, memory);
  tide_cuda_free_host(gpu->cuda, host);
  return status == TIDE_OK;
}
