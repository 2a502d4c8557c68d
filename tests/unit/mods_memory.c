/* Memory of modules: any allocation may fail, which is said, and nothing is left; and how much a
 * module needs while it is read. */
#include "harness.h"

#include "base/random.h"
#include "mods/lower.h"
#include "tidemark/mods.h"
#include "tidemark/timeline.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- an allocator that counts, and fails once, or from then on ---- */

struct meter {
  uint64_t asked, fail_at; /* 0: none */
  bool for_good;
  int64_t out, bytes, most;
};

static void *meter_alloc(void *self, size_t size, size_t align) {
  struct meter *meter = self;
  meter->asked++;
  if (meter->fail_at &&
      (meter->for_good ? meter->asked >= meter->fail_at : meter->asked == meter->fail_at))
    return NULL;
  void *memory = NULL;
  if (posix_memalign(&memory, align < 16 ? 16 : align, size)) return NULL;
  meter->out++;
  meter->bytes += (int64_t)size;
  if (meter->bytes > meter->most) meter->most = meter->bytes;
  return memory;
}

static void meter_free(void *self, void *memory, size_t size) {
  struct meter *meter = self;
  if (memory) meter->out--, meter->bytes -= (int64_t)size;
  free(memory);
}

/* ---- what a module goes through ---- */

static char text[1 << 16];
static size_t length;

static void read_example(const char *path) {
  FILE *file = fopen(path, "rb");
  if (!file) SKIP("%s is not here: start it in the repository", path);
  length = fread(text, 1, sizeof text, file);
  fclose(file);
}

static enum tide_status read_print(const struct tide_allocator *allocator) {
  static char printed[1 << 17];
  struct tide_mods_params params = {
      .struct_size = sizeof params, .allocator = allocator, .text = text, .length = length};
  struct tide_mods_module *module;
  enum tide_status status = tide_mods_parse(&params, &module);
  if (status != TIDE_OK) return status;
  status = tide_mods_verify(module);
  if (status == TIDE_OK) {
    tide_mods_fold(module);
    if (!tide_mods_print(module, true, printed, sizeof printed)) status = TIDE_NOMEM;
  }
  tide_mods_destroy(module);
  return status;
}

static enum tide_status lower(const struct tide_allocator *allocator) {
  struct tide_ir *ir;
  struct tide_ir_parse_params parse = {.text = text, .length = length, .file = "-"};
  struct tide_lower_params params = {.form = TIDE_LOWER_NVVM, .end = TIDE_LOWER_END_FULL};
  enum tide_status status = tide_ir_create(allocator, &ir);
  if (status != TIDE_OK) return status;
  status = tide_ir_parse(ir, &parse);
  if (status == TIDE_OK) status = tide_ir_verify(ir, NULL);
  if (status == TIDE_OK) status = tide_lower(ir, &params);
  tide_ir_destroy(ir);
  return status;
}

static enum tide_status run(const struct tide_allocator *allocator) {
  static uint64_t memory[6][2048];
  struct tide_mods_argument arguments[8] = {{0}};
  struct tide_context *context;
  struct tide_context_params params = {.struct_size = sizeof params, .allocator = allocator};
  for (int i = 0; i < 5; i++) arguments[i] = (struct tide_mods_argument){memory[i], 8192, 0, 0};
  memset(memory, 0, sizeof memory);
  arguments[5].integer = 2, arguments[6].integer = 5, arguments[7].integer = 16;
  struct tide_mods_run_params launch = {.struct_size = sizeof launch,
                                        .text = text,
                                        .length = length,
                                        .arguments = arguments,
                                        .argument_count = 8,
                                        .grid = {2, 2, 1}};
  struct tide_mods_run *kernel = NULL;
  enum tide_status status = tide_context_create(&params, &context);
  if (status != TIDE_OK) return status;
  status = tide_mods_run_create(context, &launch, &kernel);
  if (status == TIDE_OK) status = tide_mods_run_step(kernel, UINT64_MAX);
  tide_mods_run_destroy(kernel);
  tide_context_destroy(context);
  return status;
}

static enum tide_status probe(const struct tide_allocator *allocator) {
  struct tide_mods_params params = {
      .struct_size = sizeof params, .allocator = allocator, .text = text, .length = length};
  struct tide_mods_module *module;
  struct tide_mods_cursor cursor;
  struct tide_mods_window window;
  tide_mods_value sched = 0;
  enum tide_status status = tide_mods_parse(&params, &module);
  if (status != TIDE_OK) return status;
  status = tide_mods_region(module, "gemm", 0, &cursor);
  if (status == TIDE_OK) status = tide_mods_find(&cursor, "sched", &sched);
  if (status == TIDE_OK)
    status = tide_mods_mainloop_begin(&cursor, sched, TIDE_MODS_MMA_1SM, &window);
  if (status == TIDE_OK) status = tide_mods_throttle(&cursor, 2);
  if (status == TIDE_OK) status = tide_mods_report_smid(&cursor, &sched);
  if (status == TIDE_OK) status = tide_mods_mainloop_end(&cursor, &window, &sched);
  tide_mods_destroy(module);
  return status;
}

/* ---- each allocation fails once, and from it on for good ---- */

static void fail_each(const char *path, enum tide_status (*life)(const struct tide_allocator *)) {
  uint64_t failed = 0;
  if (path) read_example(path);
  else path = "many names";
  for (uint64_t at = 1;; at++) {
    struct meter meter = {.fail_at = at, .for_good = at % 2};
    struct tide_allocator allocator = {meter_alloc, meter_free, &meter};
    enum tide_status status = life(&allocator);
    if (meter.out)
      FAIL("allocation %u of %s fails: %d are left", (unsigned)at, path, (int)meter.out);
    if (status != TIDE_OK && status != TIDE_NOMEM)
      FAIL("allocation %u of %s fails: the answer is not that", (unsigned)at, path);
    if (meter.asked < at) {
      CHECK_OK(status);
      break;
    }
    failed += status == TIDE_NOMEM;
  }
  CHECK(failed >= 10);
}

TEST(reading_and_printing) { fail_each("examples/mods/gemm.mlir", read_print); }
TEST(lowering) { fail_each("examples/mods/gemm.mlir", lower); }
TEST(running) { fail_each("examples/mods/streamk.mlir", run); }
TEST(probes) { fail_each("tests/mods/exec-no-probes.mlir", probe); }

/* So many that the table of names grows, in a region that ends when it has failed to. */
TEST(names) {
  length = (size_t)sprintf(text, "func.func @f(%%a0: i32) {\n");
  for (int i = 1; i < 900; i++)
    length += (size_t)sprintf(text + length, "  %%a%d = arith.addi %%a%d, %%a0 : i32\n", i, i - 1);
  length += (size_t)sprintf(text + length, "  return\n}\n");
  fail_each(NULL, read_print);
}

/* ---- bytes an operation, at the worst moment ---- */

static char *put_line(char *to, const char *format, uint32_t i, uint32_t a, uint32_t b) {
  char name[3][24];
  uint32_t numbers[] = {i, a, b};
  for (int k = 0; k < 3; k++) snprintf(name[k], sizeof name[k], format, numbers[k]);
  return to + sprintf(to, "  %%%s = arith.addi %%%s, %%%s : i32\n", name[0], name[1], name[2]);
}

/* Sums of earlier values, all in one function: no name goes before the end. */
static int64_t most_bytes(const char *format, uint32_t operations) {
  char *module = malloc((size_t)operations * 96 + 256);
  CHECK(module);
  char first[24];
  snprintf(first, sizeof first, format, 0u);
  char *to = module + sprintf(module, "func.func @f(%%%s: i32) {\n", first);
  struct tide_random random = {7};
  for (uint32_t i = 1; i < operations; i++) {
    uint32_t far = (uint32_t)(tide_random_next(&random) % 50) + 1;
    to = put_line(to, format, i, i - 1, far < i ? i - far : 0);
  }
  to += sprintf(to, "  return\n}\n");
  struct meter meter = {0};
  struct tide_allocator allocator = {meter_alloc, meter_free, &meter};
  struct tide_mods_params params = {.struct_size = sizeof params,
                                    .allocator = &allocator,
                                    .text = module,
                                    .length = (size_t)(to - module)};
  struct tide_mods_module *read;
  CHECK_OK(tide_mods_parse(&params, &read));
  CHECK_OK(tide_mods_verify(read));
  tide_mods_destroy(read);
  CHECK_EQ_U64(meter.out, 0);
  free(module);
  return meter.most;
}

TEST(at_most_100_bytes_an_operation) {
  static const char *const formats[] = {"%u", "v%u", "a_longer_name_%u"};
  for (int i = 0; i < 3; i++)
    for (uint32_t count = 100000; count <= 400000; count += 100000) {
      double each = (double)most_bytes(formats[i], count) / count;
      printf("     %u operations named %s: %.1f bytes each\n", count, formats[i], each);
      if (each > 100) FAIL("%.1f bytes an operation", each);
    }
}

TEST_MAIN(CASE_SECONDS(reading_and_printing, 300), CASE_SECONDS(lowering, 300),
          CASE_SECONDS(running, 300), CASE(probes), CASE_SECONDS(names, 300),
          CASE_SECONDS(at_most_100_bytes_an_operation, 120))
