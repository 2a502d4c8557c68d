/* Runs a kernel on a GPU, and compares the memory with the CPU's. */
#include "tool/mods_gpu.h"
#include "tidemark/cuda.h"
#include "tool/mods_back.h"

#include <stdlib.h>
#include <string.h>

#define LIMIT 10000000000u /* ns: a kernel that takes longer hangs */

struct gpu {
  struct tide_context *context;
  struct tide_device *cuda;
  struct tide_cuda_stream *stream;
  struct tide_mods_gpu *kernel;
  struct tide_cuda_info info;
};

static bool report_failure(enum tide_status status, const char *what,
                           const struct tide_diag *diag) {
  if (status == TIDE_OK) return false;
  tide_tool_error("%s: %s", what, diag && diag->text[0] ? diag->text : tide_status_text(status));
  return true;
}

static uint64_t gpu_now(const struct gpu *gpu) {
  const struct tide_platform *platform = tide_context_platform(gpu->context);
  return platform->now(platform->self);
}

/* ---- the PTX ---- */

static bool lower_kernel(const struct tide_mods_launch *launch, struct tide_mods_text *ptx) {
  struct tide_mods_input input = {.name = launch->params.file};
  struct tide_mods_part part = {launch->params.text, launch->params.length, 1};
  struct tide_mods_reading reading = {.sink = &tide_mods_stderr};
  struct tide_ir *ir = NULL;
  bool good = tide_mods_load(&input, &part, &reading, &ir) &&
              tide_mods_emit_ptx(ir, launch->params.file, ptx);
  tide_ir_destroy(ir);
  return good;
}

static bool read_ptx(const char *path, struct tide_mods_text *ptx) {
  struct tide_mods_input input;
  if (!tide_mods_read(&input, path)) return false;
  char *bytes = realloc(input.text, input.length + 1);
  if (!bytes) {
    tide_mods_free(&input);
    return false;
  }
  bytes[input.length] = 0;
  *ptx = (struct tide_mods_text){bytes, input.length};
  return true;
}

/* ---- the same memory ---- */

struct kept {
  void *bytes[TIDE_MODS_ARGUMENTS_MAX];
};

static void drop_kept(struct kept *kept) {
  for (size_t i = 0; i < TIDE_MODS_ARGUMENTS_MAX; i++) free(kept->bytes[i]);
}

static bool keep_matrices(const struct tide_mods_launch *launch, struct kept *kept) {
  for (size_t i = 0; i < launch->count; i++) {
    const struct tide_mods_matrix *matrix = &launch->matrices[i];
    if (!matrix->data) continue;
    kept->bytes[i] = malloc(matrix->size);
    if (!kept->bytes[i]) return !report_failure(TIDE_NOMEM, launch->params.file, NULL);
    memcpy(kept->bytes[i], matrix->data, matrix->size);
  }
  return true;
}

static bool compare_memory(const struct tide_mods_launch *launch, const struct kept *kept) {
  for (size_t i = 0; i < launch->count; i++) {
    const struct tide_mods_matrix *matrix = &launch->matrices[i];
    const unsigned char *ours = matrix->data, *cpu = kept->bytes[i];
    for (uint64_t k = 0; ours && k < matrix->size; k++)
      if (ours[k] != cpu[k]) {
        tide_tool_error("%s: byte %llu is %u on the GPU and %u on the CPU", matrix->name,
                        (unsigned long long)k, ours[k], cpu[k]);
        return false;
      }
  }
  return true;
}

/* ---- launches ---- */

static bool launch_once(struct gpu *gpu) {
  enum tide_status status = tide_mods_gpu_load(gpu->kernel, gpu->stream);
  if (status == TIDE_OK) status = tide_mods_gpu_start(gpu->kernel, gpu->stream);
  enum tide_status ended = tide_mods_gpu_store(gpu->kernel, gpu->stream, gpu_now(gpu) + LIMIT);
  return !report_failure(status != TIDE_OK ? status : ended, "the launch", NULL);
}

/* Runs several launches, one after another. *out_us: the time of one. */
static bool launch_several(struct gpu *gpu, uint64_t repeat, double *out_us) {
  enum tide_status status = TIDE_OK;
  uint64_t begin = gpu_now(gpu);
  for (uint64_t i = 0; i < repeat && status == TIDE_OK; i++)
    status = tide_mods_gpu_start(gpu->kernel, gpu->stream);
  enum tide_status ended =
      tide_cuda_stream_wait(gpu->stream, gpu_now(gpu) + LIMIT * (repeat < 100 ? repeat + 1 : 100));
  *out_us = (double)(gpu_now(gpu) - begin) / 1e3 / (double)(repeat ? repeat : 1);
  return !report_failure(status != TIDE_OK ? status : ended, "the launches", NULL);
}

static bool launch_all(struct gpu *gpu, struct tide_mods_launch *launch, uint64_t repeat,
                       bool quiet) {
  struct kept kept = {{NULL}};
  double us = 0;
  bool good = keep_matrices(launch, &kept);
  tide_mods_launch_fill(launch);
  good = good && launch_once(gpu) && compare_memory(launch, &kept) &&
         tide_mods_launch_check(launch) && (!repeat || launch_several(gpu, repeat, &us));
  drop_kept(&kept);
  if (!good || quiet) return good;
  printf("on %s, compute capability %d.%d: the same bytes as on the CPU\n", gpu->info.name,
         gpu->info.major, gpu->info.minor);
  if (launch->check) printf("%s: right\n", launch->check);
  if (repeat) printf("%.2f us a launch\n", us);
  return true;
}

static bool with_ptx(struct gpu *gpu, struct tide_mods_launch *launch,
                     const struct tide_mods_gpu_choice *choice, bool quiet) {
  struct tide_mods_text ptx = {NULL, 0};
  struct tide_diag diag = {.text = ""};
  bool good = choice->ptx ? read_ptx(choice->ptx, &ptx) : lower_kernel(launch, &ptx);
  if (good) {
    enum tide_status status = tide_mods_gpu_create(gpu->context, gpu->cuda, &launch->params,
                                                   ptx.bytes, &gpu->kernel, &diag);
    good = !report_failure(status, launch->params.file, &diag);
  }
  good = good && launch_all(gpu, launch, choice->repeat, quiet);
  tide_mods_gpu_destroy(gpu->kernel);
  free(ptx.bytes);
  return good;
}

int tide_mods_launch_on_gpu(struct tide_mods_launch *launch, struct tide_context *context,
                            const struct tide_mods_gpu_choice *choice, bool quiet) {
  struct gpu gpu = {.context = context};
  struct tide_cuda_params params = {
      .struct_size = sizeof params, .driver = choice->driver, .depth = 1};
  struct tide_diag diag = {.text = ""};
  enum tide_status status = tide_cuda_open(context, &params, &gpu.cuda, &diag);
  if (status == TIDE_UNSUPPORTED) {
    printf("SKIP: %s\n", diag.text);
    return TIDE_EXIT_OK;
  }
  if (report_failure(status, "the GPU", &diag)) return TIDE_EXIT_FAILED;
  tide_cuda_info(gpu.cuda, &gpu.info);
  status = tide_cuda_stream_create(gpu.cuda, &gpu.stream);
  bool good = !report_failure(status, "a stream", NULL) && with_ptx(&gpu, launch, choice, quiet);
  tide_cuda_stream_destroy(gpu.stream);
  tide_device_close(gpu.cuda);
  return good ? TIDE_EXIT_OK : TIDE_EXIT_FAILED;
}
