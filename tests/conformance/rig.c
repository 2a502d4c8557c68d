#include "rig.h"

#include "fake.h"
#include "fake_ahead.h"
#include "vulkan_cells.h"
#include "tidemark/cuda.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* ---- the kinds ---------------------------------------------------------------------- */

static void cpu_open(struct rig *rig) {
  struct tide_cpu_params params = {
      .struct_size = sizeof params, .label = rig->kind->name, .workers = rig->kind->number};
  CHECK_OK(tide_cpu_open(rig->context, &params, &rig->device));
}

static void file_open(struct rig *rig, bool threads) {
  struct tide_file_params params = {.struct_size = sizeof params,
                                    .label = rig->kind->name,
                                    .depth = rig->kind->number,
                                    .force_threads = threads};
  CHECK_OK(tide_file_open(rig->context, &params, &rig->device));
}
static void ring_open(struct rig *rig) {
  file_open(rig, false);
  const char *kind = tide_file_kind(rig->device);
  if (strcmp(kind, "io_uring") != 0) SKIP("this system gives %s", kind);
}
static void threads_open(struct rig *rig) {
  file_open(rig, true);
  CHECK(strncmp(tide_file_kind(rig->device), "threads", 7) == 0);
}

static void fake_open(struct rig *rig) {
  rig->device = fake_device(rig->context, rig->kind->in_order, rig->kind->number);
}

static enum tide_status cell_host(void *arguments);

/* A cell that will fail, fails to be recorded. */
static enum tide_status record_cell(const struct tide_work *work) {
  if (!work->body || work->body->host != cell_host) return TIDE_OK;
  return ((const struct cell *)tide_work_arguments(work))->answer;
}

static void ahead_open(struct rig *rig) {
  struct fake_ahead_params params = {.ahead = rig->kind->number,
                                     .out_of_order = !rig->kind->in_order,
                                     .keep_on_host = !strcmp(rig->kind->name, "aheadhost"),
                                     .seed = 7,
                                     .record = record_cell};
  (void)fake_ahead_open(rig->context, &params, &rig->device);
}

static void sim_open(struct rig *rig) {
  struct tide_sim_params params = {.struct_size = sizeof params,
                                   .label = rig->kind->name,
                                   .hands = rig->kind->number,
                                   .out_of_order = !rig->kind->in_order,
                                   .wake = 700,
                                   .cost = 1000};
  CHECK_OK(tide_sim_open(rig->context, rig->clock, &params, &rig->device));
}

/* A cell that will fail is refused, or fails after some of it was recorded. */
static enum tide_status sim_submit(void *self, struct tide_work *work,
                                   const struct tide_submission *submission) {
  enum tide_status status = record_cell(work);
  (void)self;
  if (status == TIDE_OK || submission->number % 2) return status;
  tide_work_fail(work, &(struct tide_failure){.status = status});
  return TIDE_OK;
}
static const struct tide_sim_script sim_ahead_script = {.submit = sim_submit};

static void sim_ahead_open(struct rig *rig) {
  struct tide_sim_params params = {.struct_size = sizeof params,
                                   .label = rig->kind->name,
                                   .hands = 2,
                                   .out_of_order = !rig->kind->in_order,
                                   .wake = 700,
                                   .cost = 1000,
                                   .script = &sim_ahead_script,
                                   .ahead = rig->kind->number,
                                   .hardware_queues = 2,
                                   .submit_cost = 300,
                                   .native_wait_cost = 200,
                                   .round_trip = 900};
  CHECK_OK(tide_sim_open(rig->context, rig->clock, &params, &rig->device));
}

/* ---- a GPU, or a driver that only looks like one --------------------------------------- */

/* Words lie on the device; cells are pinned, page by page, when they are first named. */
#define PAGE 4096u
#define PAGES 2048
struct gpu {
  struct tide_device *device;
  uint64_t words;
  uint32_t page_count;
  void *pages[PAGES];
};

static void gpu_put_words(struct rig *rig, struct gpu *gpu) {
  struct tide_cuda_stream *stream;
  void *words;
  CHECK_OK(tide_cuda_alloc(gpu->device, RIG_WORDS * 8, &gpu->words));
  CHECK_OK(tide_cuda_alloc_host(gpu->device, RIG_WORDS * 8, &words));
  CHECK(pread(rig->words, words, RIG_WORDS * 8, 0) == RIG_WORDS * 8);
  CHECK_OK(tide_cuda_stream_create(gpu->device, &stream));
  CHECK_OK(tide_cuda_copy(stream, gpu->words, (uint64_t)(uintptr_t)words, RIG_WORDS * 8));
  CHECK_OK(tide_cuda_stream_wait(stream, rig_later(20000)));
  tide_cuda_stream_destroy(stream);
  tide_cuda_free_host(gpu->device, words);
}

static void gpu_open(struct rig *rig, const char *driver) {
  struct tide_cuda_params params = {.struct_size = sizeof params,
                                    .label = rig->kind->name,
                                    .driver = driver,
                                    .depth = rig->kind->number};
  struct tide_diag diag = {0};
  struct gpu *gpu = calloc(1, sizeof *gpu);
  CHECK(gpu != NULL);
  enum tide_status status = tide_cuda_open(rig->context, &params, &rig->device, &diag);
  if (status == TIDE_UNSUPPORTED && !driver) SKIP("%s", diag.text);
  CHECK_OK(status);
  gpu->device = rig->device;
  gpu_put_words(rig, gpu);
  rig->gpu = gpu;
}

static void mock_open(struct rig *rig) {
  static char path[PATH_MAX + 64];
  char folder[PATH_MAX];
  ssize_t length = readlink("/proc/self/exe", folder, sizeof folder - 1);
  CHECK(length > 0);
  folder[length] = 0;
  *strrchr(folder, '/') = 0;
  snprintf(path, sizeof path, "%s/plugin-cuda.so", folder);
  gpu_open(rig, path);
}
static void gpu_give_back(struct gpu *gpu) {
  for (uint32_t i = 0; i < gpu->page_count; i++) tide_cuda_unpin(gpu->device, gpu->pages[i]);
  tide_cuda_free(gpu->device, gpu->words);
  free(gpu);
}

/* The driver stays loaded, and keeps descriptors and threads. */
static void cuda_open(struct rig *rig) {
  gpu_open(rig, NULL);
  gpu_give_back(rig->gpu);
  tide_device_close(rig->device);
  test_begin_again();
  gpu_open(rig, NULL);
}

/* The last page that was named is the likeliest. */
static void gpu_pin(struct gpu *gpu, const void *cell) {
  void *page = (void *)((uintptr_t)cell / PAGE * PAGE);
  for (uint32_t i = gpu->page_count; i-- > 0;)
    if (gpu->pages[i] == page) return;
  CHECK(gpu->page_count < PAGES);
  CHECK_OK(tide_cuda_pin(gpu->device, page, PAGE));
  gpu->pages[gpu->page_count++] = page;
}

/* Drivers make machine code, and keep threads and memory: a sanitizer sees half of that. */
static void vulkan_open(struct rig *rig) {
  const char *why;
  if (test_slowdown() > 1) SKIP("a Vulkan driver under a sanitizer");
  rig->vulkan = vulkan_cells_open(rig->context, rig->kind->number, &rig->device, &why);
  if (!rig->vulkan) SKIP("%s", why);
}

#define CPU cpu_open, false, false
#define RING ring_open, false, false
#define THREADS threads_open, false, false
#define SIM sim_open, true, false
#define CUDA cuda_open, false, false
#define MOCK mock_open, false, false
#define FAKE fake_open, false, false
#define VULKAN vulkan_open, false, true
#define AHEAD ahead_open, false, true
#define SIMAHEAD sim_ahead_open, true, true

const struct rig_kind rig_kinds[] = {
    {"cpu1", true, true, 1, CPU},           {"cpu2", true, true, 2, CPU},
    {"cpu4", true, true, 4, CPU},           {"ring", false, false, 64, RING},
    {"ring1", false, false, 1, RING},       {"threads", false, false, 64, THREADS},
    {"threads1", false, false, 1, THREADS}, {"inorder", true, true, 1, FAKE},
    {"shuffled", false, true, 32, FAKE},    {"sim1", true, true, 1, SIM},
    {"sim4", true, true, 4, SIM},           {"simmed", false, true, 32, SIM},
    {"mockcuda", true, false, 16, MOCK},    {"mockcuda1", true, false, 1, MOCK},
    {"cuda", true, false, 16, CUDA},        {"ahead1", true, true, 1, AHEAD},
    {"ahead", true, true, 8, AHEAD},        {"aheadmix", false, true, 8, AHEAD},
    {"aheadhost", true, true, 8, AHEAD},    {"vulkan1", false, false, 1, VULKAN},
    {"vulkan", false, false, 16, VULKAN},   {"simahead1", true, true, 1, SIMAHEAD},
    {"simahead", true, true, 8, SIMAHEAD},  {"simaheadmix", false, true, 8, SIMAHEAD},
};
const size_t rig_kind_count = sizeof rig_kinds / sizeof rig_kinds[0];

/* ---- opening and closing -------------------------------------------------------------- */

int rig_synchronous(int file) {
  char path[64];
  snprintf(path, sizeof path, "/proc/self/fd/%d", file);
  int again = open(path, O_RDWR | O_DSYNC | O_CLOEXEC);
  CHECK(file >= 0 && again >= 0 && close(file) == 0);
  return again;
}

static int open_words(void) {
  int file = rig_synchronous(memfd_create("words", MFD_CLOEXEC));
  CHECK(file >= 0 && ftruncate(file, RIG_WORDS * 8) == 0);
  uint64_t *words = mmap(NULL, RIG_WORDS * 8, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  CHECK(words != MAP_FAILED);
  for (uint64_t i = 0; i < RIG_WORDS; i++) words[i] = i;
  CHECK(munmap(words, RIG_WORDS * 8) == 0);
  return file;
}

int rig_main(int argc, char **argv, struct test_case *cases, size_t count) {
  for (size_t i = 0; i < count; i++)
    for (size_t k = 0; k < rig_kind_count; k++) {
      size_t length = strlen(rig_kinds[k].name);
      if (strncmp(cases[i].name, rig_kinds[k].name, length) == 0 && cases[i].name[length] == '_')
        cases[i].given = &rig_kinds[k];
    }
  return test_main(argc, argv, cases, count);
}

void rig_open(struct rig *rig, const struct rig_kind *kind) {
  *rig = (struct rig){.kind = kind, .words = open_words()};
  struct tide_context_params context_params = {.struct_size = sizeof context_params,
                                               .platform = tide_platform_linux()};
  struct tide_clock_params clock = {.struct_size = sizeof clock, .seed = 5, .shuffle = true};
  if (kind->alone) {
    CHECK_OK(tide_clock_create(tide_allocator_system(), &clock, &rig->clock));
    context_params.platform = tide_clock_platform(rig->clock);
  }
  CHECK_OK(tide_context_create(&context_params, &rig->context));
  kind->open(rig);
  CHECK(tide_device_backend(rig->device)->in_order == kind->in_order);
}

void rig_close(struct rig *rig) {
  CHECK_OK(tide_device_settle(rig->device, rig_later(20000)));
  if (rig->gpu) gpu_give_back(rig->gpu);
  if (rig->vulkan) vulkan_cells_close(rig->vulkan);
  tide_device_close(rig->device);
  tide_context_destroy(rig->context);
  tide_clock_destroy(rig->clock);
  close(rig->words);
}

uint64_t rig_later(unsigned milliseconds) {
  const struct tide_platform *platform = tide_platform_linux();
  return platform->now(platform->self) + (uint64_t)milliseconds * 1000000u * test_slowdown();
}

struct tide_queue *rig_queue(struct rig *rig, const char *label, uint32_t capacity) {
  struct tide_queue_params params = {
      .struct_size = sizeof params, .label = label, .operations = capacity};
  struct tide_queue *queue;
  CHECK_OK(tide_queue_create(rig->device, &params, &queue));
  return queue;
}

struct tide_timeline *rig_timeline(struct rig *rig, const char *label) {
  struct tide_timeline_params params = {.struct_size = sizeof params, .label = label};
  struct tide_timeline *timeline;
  CHECK_OK(tide_timeline_create(rig->context, &params, &timeline));
  return timeline;
}

/* ---- cells ------------------------------------------------------------------------------ */

static void check_start(const struct cell *cell) {
  for (size_t i = 0; i < sizeof cell->checks / sizeof cell->checks[0]; i++) {
    const struct cell_check *check = &cell->checks[i];
    bool is_looked_at = check->timeline && !cell->rig->kind->ahead;
    if (is_looked_at && tide_timeline_query(check->timeline) < check->value)
      FAIL("operation %llu started before '%s' was at %llu", (unsigned long long)cell->number,
           tide_timeline_label(check->timeline), (unsigned long long)check->value);
    if (check->cell && *check->cell < check->number)
      FAIL("operation %llu does not see what operation %llu wrote",
           (unsigned long long)cell->number, (unsigned long long)check->number);
  }
  if (cell->started) tide_fetch_add(cell->started, 1u);
}

static enum tide_status cell_host(void *arguments) {
  const struct cell *cell = arguments;
  struct lane *lane = cell->lane;
  if (lane && tide_exchange(&lane->running, 1u)) FAIL("two operations of one queue run at once");
  check_start(cell);
  if (lane) {
    CHECK_EQ_U64(lane->last + 1, cell->lane_place);
    lane->last = cell->lane_place;
  }
  if (cell->cell && cell->answer == TIDE_OK) *cell->cell = cell->number;
  if (lane) tide_store_release(&lane->running, 0u);
  return cell->answer;
}

static enum tide_status cell_io(const void *arguments, struct tide_io *out_io) {
  const struct cell *cell = arguments;
  check_start(cell);
  *out_io = (struct tide_io){.descriptor = cell->rig->words,
                             .data = cell->cell,
                             .size = cell->cell ? 8 : 0,
                             .offset = cell->number * 8};
  return cell->answer;
}

/* The word of its number is copied from the device to the cell. */
static enum tide_status cell_enqueue(const void *arguments, struct tide_cuda_stream *stream) {
  const struct cell *cell = arguments;
  struct gpu *gpu = cell->rig->gpu;
  check_start(cell);
  if (cell->lane) {
    CHECK_EQ_U64(cell->lane->last + 1, cell->lane_place);
    cell->lane->last = cell->lane_place;
  }
  if (!cell->cell || cell->answer != TIDE_OK) return cell->answer;
  gpu_pin(gpu, cell->cell);
  return tide_cuda_copy(stream, (uint64_t)(uintptr_t)cell->cell, gpu->words + cell->number * 8, 8);
}

/* Recorded before the operations that it waits for have ended. */
static enum tide_status cell_record(const void *arguments, struct tide_device *gpu,
                                    VkCommandBuffer commands) {
  (void)gpu;
  const struct cell *cell = arguments;
  if (cell->started) tide_fetch_add(cell->started, 1u);
  if (cell->cell && cell->answer == TIDE_OK)
    vulkan_cells_put(cell->rig->vulkan, commands, cell->cell, cell->number);
  return cell->answer;
}

static const struct tide_file_ops file_ops = {{TIDE_OPS_FILE}, TIDE_IO_READ, cell_io};
static const struct tide_cuda_ops cuda_ops = {{TIDE_OPS_CUDA}, cell_enqueue};
static const struct tide_vulkan_ops vulkan_ops = {{TIDE_OPS_VULKAN}, cell_record};
static const struct tide_body_class classes[] = {
    {.name = "cell", .host = cell_host, .ops = &file_ops.ops},
    {.name = "cell", .host = cell_host, .ops = &cuda_ops.ops},
    {.name = "cell", .host = cell_host, .ops = &vulkan_ops.ops}};

const struct tide_body_class *cell_class(const struct cell *cell) {
  if (cell->rig->vulkan) return &classes[2];
  return &classes[cell->rig->gpu != NULL];
}

void cell_submit(struct tide_queue *queue, const struct cell *cell, const struct tide_wait *waits,
                 size_t wait_count, struct tide_timeline *timeline, uint64_t value) {
  struct tide_signal signal = {.timeline = timeline, .value = value};
  struct tide_operation operation = {.waits = waits,
                                     .wait_count = wait_count,
                                     .signals = &signal,
                                     .signal_count = timeline != NULL,
                                     .body = cell_class(cell),
                                     .arguments = cell,
                                     .arguments_size = sizeof *cell};
  for (;;) {
    struct tide_timeline *progress = tide_queue_progress(queue);
    uint64_t before = tide_timeline_query(progress);
    struct tide_diag diag = {0};
    enum tide_status status = tide_queue_submit(queue, &operation, NULL, &diag);
    if (status == TIDE_OK) return;
    if (status != TIDE_FULL) FAIL("%s: %s", tide_status_name(status), diag.text);
    CHECK_OK(tide_timeline_wait(progress, before + 1, rig_later(20000)));
  }
}
