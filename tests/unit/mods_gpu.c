/* A module's kernel on a GPU, over a driver that is none: how parameters are packed, what shape is
 * launched, what each failure leaves. */
#include "causal/context_state.h"
#include "harness.h"

#include "base/atomic.h"
#include "fake_driver.h"
#include "tidemark/cuda.h"
#include "tidemark/mods.h"

static const char text[] =
    "gpu.module @m attributes {cutlass.cluster_shape = array<i32: 2, 1, 1>} {\n"
    "  gpu.func @mix(%p: !llvm.ptr, %a: i8, %b: i16, %c: i32, %d: i64, %e: f32, %f: f64, "
    "%q: !llvm.ptr) kernel attributes {known_block_size = array<i32: 64, 1, 1>} {\n"
    "    gpu.return\n"
    "  }\n"
    "  gpu.func @trap() kernel { gpu.return }\n"
    "  gpu.func @other() kernel { gpu.return }\n"
    "}\n";
static const char ptx[] = ".version 8.0\n.target sm_90\n.address_size 64\n"
                          ".visible .entry mix(.param .align 8 .b8 p[56]) { ret; }\n"
                          ".visible .entry trap() { trap; ret; }\n";

struct scene {
  struct tide_context *context;
  struct tide_device *cuda;
  struct tide_cuda_stream *stream;
  struct fake_cuda *fake;
  double from, numbers[10];
  struct tide_mods_argument arguments[8];
  struct tide_mods_run_params params;
  char said[256];
};

static void hear(void *self, const struct tide_mods_diagnostic *diagnostic) {
  struct scene *scene = self;
  snprintf(scene->said, sizeof scene->said, "%s", diagnostic->text);
}

static void open_scene(struct scene *scene, struct tide_mods_sink *sink) {
  memset(scene, 0, sizeof *scene);
  scene->fake = fake_driver_load();
  *sink = (struct tide_mods_sink){hear, scene};
  struct tide_cuda_params params = {
      .struct_size = sizeof params, .driver = fake_driver_path, .depth = 1};
  CHECK_OK(tide_context_create(NULL, &scene->context));
  CHECK_OK(tide_cuda_open(scene->context, &params, &scene->cuda, NULL));
  CHECK_OK(tide_cuda_stream_create(scene->cuda, &scene->stream));
  scene->from = 1.5;
  scene->arguments[0] = (struct tide_mods_argument){.data = &scene->from, .size = 8};
  for (int i = 1; i < 7; i++)
    scene->arguments[i] = (struct tide_mods_argument){.integer = -i, .number = i + 0.25};
  scene->arguments[7] =
      (struct tide_mods_argument){.data = scene->numbers, .size = sizeof scene->numbers};
  scene->params = (struct tide_mods_run_params){.struct_size = sizeof(struct tide_mods_run_params),
                                                .text = text,
                                                .length = sizeof text - 1,
                                                .kernel = "mix",
                                                .arguments = scene->arguments,
                                                .argument_count = 8,
                                                .grid = {4, 3, 0},
                                                .sink = sink};
}

static void close_scene(struct scene *scene) {
  tide_cuda_stream_destroy(scene->stream);
  tide_device_close(scene->cuda);
  tide_context_destroy(scene->context);
  fake_driver_check(scene->fake);
}

static uint64_t later(const struct scene *scene) {
  const struct tide_platform *platform = scene->context->platform;
  return platform->now(platform->self) + (uint64_t)20000000000u * test_slowdown();
}

static enum tide_status create(struct scene *scene, struct tide_mods_gpu **out_gpu,
                               struct tide_diag *diag) {
  return tide_mods_gpu_create(scene->context, scene->cuda, &scene->params, ptx, out_gpu, diag);
}

static enum tide_status run(struct scene *scene) {
  struct tide_mods_gpu *gpu;
  enum tide_status status = create(scene, &gpu, NULL);
  if (status != TIDE_OK) return status;
  status = tide_mods_gpu_load(gpu, scene->stream);
  if (status == TIDE_OK) status = tide_mods_gpu_start(gpu, scene->stream);
  enum tide_status ended = tide_mods_gpu_store(gpu, scene->stream, later(scene));
  tide_mods_gpu_destroy(gpu);
  return status == TIDE_OK ? ended : status;
}

TEST(parameters_lie_as_in_a_struct) {
  static const double wanted[] = {1.5, -1, -2, -3, -4, 5.25, 6.25, 4, 3, 64};
  struct tide_mods_sink sink;
  struct scene scene;
  open_scene(&scene, &sink);
  CHECK_OK(run(&scene));
  for (int i = 0; i < 10; i++)
    if (scene.numbers[i] != wanted[i]) FAIL("%d is %g, not %g", i, scene.numbers[i], wanted[i]);
  CHECK_EQ_U64(scene.fake->clustered, 1); /* the module's cluster of two */
  close_scene(&scene);
}

TEST(what_does_not_fit_is_said) {
  struct tide_mods_sink sink;
  struct scene scene;
  struct tide_mods_gpu *gpu;
  struct tide_diag diag = {.text = ""};
  open_scene(&scene, &sink);
  scene.params.grid[0] = 3;
  CHECK_STATUS(create(&scene, &gpu, NULL), TIDE_INVALID);
  CHECK(strstr(scene.said, "whole clusters"));
  scene.params.grid[0] = 4;
  scene.params.argument_count = 7;
  CHECK_STATUS(create(&scene, &gpu, NULL), TIDE_MISMATCH);
  CHECK(strstr(scene.said, "another number of arguments"));
  scene.params.argument_count = 8;
  scene.arguments[7].data = NULL;
  CHECK_STATUS(create(&scene, &gpu, NULL), TIDE_MISMATCH);
  CHECK(strstr(scene.said, "doesn't fit its type"));
  scene.params.argument_count = 0;
  scene.params.kernel = "none";
  CHECK_STATUS(create(&scene, &gpu, NULL), TIDE_NOT_FOUND);
  scene.params.kernel = NULL; /* there are three */
  CHECK_STATUS(create(&scene, &gpu, NULL), TIDE_NOT_FOUND);
  scene.params.kernel = "other"; /* the module has it, the PTX does not */
  CHECK_STATUS(create(&scene, &gpu, &diag), TIDE_MISMATCH);
  CHECK_EQ_STR(diag.text, "the PTX has no kernel 'other'");
  scene.params.text = "gpu.module";
  scene.params.length = 10;
  CHECK_STATUS(create(&scene, &gpu, NULL), TIDE_CORRUPT);
  CHECK(gpu == NULL);
  tide_mods_gpu_destroy(NULL);
  close_scene(&scene);
}

TEST(a_kernel_that_fails_is_told) {
  struct tide_mods_sink sink;
  struct scene scene;
  open_scene(&scene, &sink);
  scene.params.kernel = "trap";
  scene.params.argument_count = 0;
  enum tide_status status = run(&scene);
  if (status == TIDE_OK) FAIL("it says that all is well");
  CHECK(scene.numbers[0] == 0);
  close_scene(&scene);
}

/* Whatever call of the driver fails: it is the answer, and nothing is left. */
TEST(any_call_may_fail) {
  struct tide_mods_sink sink;
  struct scene scene;
  open_scene(&scene, &sink);
  uint32_t live = tide_load_acquire(&scene.fake->live), failed = 0;
  for (uint32_t k = 1;; k++) {
    tide_store_ordered(&scene.fake->calls, 0u);
    tide_store_ordered(&scene.fake->fail_with, 2u);
    tide_store_ordered(&scene.fake->fail_at, k);
    enum tide_status status = run(&scene);
    tide_store_ordered(&scene.fake->fail_at, 0u);
    if (tide_load_acquire(&scene.fake->live) != live) FAIL("call %u: something is left", k);
    if (status != TIDE_OK) failed++;
    if (tide_load_acquire(&scene.fake->calls) < k) break;
  }
  CHECK(failed >= 12); /* each that makes something, copies or launches */
  close_scene(&scene);
}

TEST_MAIN(CASE(parameters_lie_as_in_a_struct), CASE(what_does_not_fit_is_said),
          CASE(a_kernel_that_fails_is_told), CASE(any_call_may_fail))
