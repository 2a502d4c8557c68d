/* What windows and throttles cost on a GPU: the persistent GEMM of examples/mods without probes,
 * with its windows, and with throttles of profile 1 and 2 besides (benchmarks/mods_gpu, made by
 * scripts/mods-ptx). The time of a kernel, that of a tile on one CTA, and that of a kernel when
 * three of them share the GPU. Each round's product is checked. */
#include "bench.h"

#include "tidemark/cuda.h"
#include "tidemark/mods.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STREAMS 3
#define TILES_M 64
#define TILES_N 32
#define SLICES 16
#define ROWS (TILES_M * 8)
#define COLUMNS (TILES_N * 16)
#define DEPTH (SLICES * 8)
#define LIMIT 10000000000u /* ns: a kernel that takes longer hangs */

static const char *const files[] = {"window", "bare", "sleep", "barrier"};
static float a[ROWS * DEPTH], b[DEPTH * COLUMNS], c[STREAMS][ROWS * COLUMNS];
static char why[256];

struct gpu {
  struct tide_context *context;
  struct tide_device *cuda;
  struct tide_cuda_info info;
  struct tide_cuda_stream *streams[STREAMS];
  struct tide_mods_gpu *kernels[STREAMS];
};

/* ---- files ---- */

static char *read_file(const char *name, const char *kind) {
  char path[128];
  snprintf(path, sizeof path, "benchmarks/mods_gpu/%s.%s", name, kind);
  FILE *file = fopen(path, "rb");
  char *text = calloc(1, 1 << 16);
  size_t size = file && text ? fread(text, 1, (1 << 16) - 1, file) : 0;
  if (file) fclose(file);
  if (size) return text;
  free(text);
  snprintf(why, sizeof why, "%s is not here: start ./bench in the repository", path);
  return NULL;
}

/* ---- one kernel of a kind on each stream ---- */

static void fill(float *matrix, size_t count, unsigned salt) {
  for (size_t i = 0; i < count; i++) matrix[i] = (float)((i * 7 + salt) % 9) - 4;
}

static bool open_kernel(struct gpu *gpu, const char *module, const char *ptx, int i) {
  const struct tide_mods_argument arguments[] = {{.data = a, .size = sizeof a},
                                                 {.data = b, .size = sizeof b},
                                                 {.data = c[i], .size = sizeof c[i]},
                                                 {.integer = TILES_M},
                                                 {.integer = TILES_N},
                                                 {.integer = SLICES}};
  struct tide_mods_run_params params = {.struct_size = sizeof params,
                                        .text = module,
                                        .length = strlen(module),
                                        .arguments = arguments,
                                        .argument_count = 6,
                                        .grid = {(uint32_t)gpu->info.multiprocessors & ~1u}};
  struct tide_diag diag = {.text = ""};
  enum tide_status status = tide_cuda_stream_create(gpu->cuda, &gpu->streams[i]);
  if (status == TIDE_OK)
    status = tide_mods_gpu_create(gpu->context, gpu->cuda, &params, ptx, &gpu->kernels[i], &diag);
  if (status == TIDE_OK) return true;
  snprintf(why, sizeof why, "%s", diag.text[0] ? diag.text : tide_status_text(status));
  return false;
}

static bool open_all(struct gpu *gpu, const char *file) {
  struct tide_cuda_params params = {.struct_size = sizeof params, .depth = 1};
  struct tide_diag diag = {.text = ""};
  if (tide_cuda_open(gpu->context, &params, &gpu->cuda, &diag) != TIDE_OK) {
    snprintf(why, sizeof why, "%s", diag.text);
    return false;
  }
  tide_cuda_info(gpu->cuda, &gpu->info);
  char *module = read_file(file, "mlir"), *ptx = module ? read_file(file, "ptx") : NULL;
  bool good = ptx != NULL;
  for (int i = 0; i < STREAMS && good; i++) good = open_kernel(gpu, module, ptx, i);
  free(module);
  free(ptx);
  return good;
}

static void close_all(struct gpu *gpu) {
  for (int i = 0; i < STREAMS; i++) {
    tide_mods_gpu_destroy(gpu->kernels[i]);
    tide_cuda_stream_destroy(gpu->streams[i]);
  }
  tide_device_close(gpu->cuda);
}

/* ---- measuring ---- */

/* Whole numbers: exact in any order. */
static void check(const float *product) {
  for (int i = 0; i < ROWS; i += 37)
    for (int j = 0; j < COLUMNS; j++) {
      float sum = 0;
      for (int k = 0; k < DEPTH; k++) sum += a[i * DEPTH + k] * b[k * COLUMNS + j];
      BENCH_CHECK(product[i * COLUMNS + j] == sum);
    }
}

/* Microseconds a kernel: so many on each of the first streams. */
static double time_of(struct gpu *gpu, int streams, uint32_t launches) {
  uint64_t begin = bench_now();
  for (uint32_t k = 0; k < launches; k++)
    for (int i = 0; i < streams; i++)
      BENCH_CHECK(tide_mods_gpu_start(gpu->kernels[i], gpu->streams[i]) == TIDE_OK);
  for (int i = 0; i < streams; i++)
    BENCH_CHECK(tide_cuda_stream_wait(gpu->streams[i], bench_now() + LIMIT) == TIDE_OK);
  return (double)(bench_now() - begin) / 1e3 / (launches * (uint32_t)streams);
}

static void measure_all(struct gpu *gpu, double *out_values) {
  uint32_t launches = bench_smoke() ? 2 : 200;
  for (int i = 0; i < STREAMS; i++)
    BENCH_CHECK(tide_mods_gpu_load(gpu->kernels[i], gpu->streams[i]) == TIDE_OK);
  (void)time_of(gpu, STREAMS, 2);
  out_values[0] = time_of(gpu, 1, launches);
  double ctas = (double)((uint32_t)gpu->info.multiprocessors & ~1u);
  out_values[1] = out_values[0] * 1e3 * ctas / (TILES_M * TILES_N);
  out_values[2] = time_of(gpu, STREAMS, launches);
  for (int i = 0; i < STREAMS; i++) {
    BENCH_CHECK(tide_mods_gpu_store(gpu->kernels[i], gpu->streams[i], bench_now() + LIMIT) ==
                TIDE_OK);
    check(c[i]);
  }
}

static const char *measure(const void *what, unsigned side, double *out_values) {
  (void)what;
  struct gpu gpu = {.cuda = NULL};
  fill(a, ROWS * DEPTH, 1);
  fill(b, DEPTH * COLUMNS, 2);
  memset(c, 0, sizeof c);
  BENCH_CHECK(tide_context_create(NULL, &gpu.context) == TIDE_OK);
  bool good = open_all(&gpu, files[side]);
  if (good) measure_all(&gpu, out_values);
  close_all(&gpu);
  tide_context_destroy(gpu.context);
  return good ? NULL : why;
}

static const struct bench_contest probes = {
    .sides = {"window", "no probes", "sleeping throttles", "cooperative throttles"},
    .values = {{"a kernel", "us", BENCH_LESS},
               {"a tile", "ns", BENCH_LESS},
               {"a kernel, three at once", "us", BENCH_LESS}},
    .measure = measure};

const struct bench_figure bench_mods_gpu[] = {{.name = "probes", .contest = &probes, .rounds = 7},
                                              {0}};
