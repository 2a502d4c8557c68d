/* Kernels of any bytes: they are refused, or run to an end, a deadlock, an error or their limit,
 * twice the same; never beyond the limits of memory. */
#include "tidemark/context.h"
#include "tidemark/mods.h"

#include <stdlib.h>
#include <string.h>

#define MEMORY 4096

static void expect(bool holds) {
  if (!holds) abort();
}

static uint64_t told;

static void hear(void *self, const struct tide_mods_diagnostic *diagnostic) {
  (void)self;
  for (const char *at = diagnostic->text; *at; at++) told = told * 31 + (unsigned char)*at;
}

/* How it ended, and a sum of all that was told. */
static enum tide_status run_once(struct tide_context *context, const char *text, size_t length,
                                 uint64_t seed, size_t argument_count, uint64_t *out_told,
                                 uint64_t *memory) {
  struct tide_mods_sink sink = {hear, NULL};
  struct tide_mods_argument arguments[8] = {{0}};
  for (size_t i = 0; i < argument_count; i++)
    arguments[i] = (struct tide_mods_argument){memory, MEMORY, 3, 3.0};
  struct tide_mods_run_params params = {.struct_size = sizeof params,
                                        .text = text,
                                        .length = length,
                                        .file = "fuzz.mlir",
                                        .arguments = arguments,
                                        .argument_count = argument_count,
                                        .grid = {4, 1, 1},
                                        .seed = seed,
                                        .steps_max = 20000,
                                        .memory_max = 1 << 22,
                                        .sink = &sink};
  struct tide_mods_run *run;
  told = 0;
  memset(memory, 0, MEMORY);
  enum tide_status status = tide_mods_run_create(context, &params, &run);
  expect((status == TIDE_OK) == (run != NULL));
  if (run) status = tide_mods_run_step(run, UINT64_MAX);
  expect(status != TIDE_TIMEOUT);
  tide_mods_run_destroy(run);
  *out_told = told;
  return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static uint64_t memory[MEMORY / 8];
  struct tide_context *context;
  uint64_t first, again;
  if (size < 1 || tide_context_create(NULL, &context) != TIDE_OK) return 0;
  const char *text = (const char *)data + 1;
  for (size_t count = 0; count <= 3; count++) {
    uint64_t seed = data[0];
    enum tide_status one = run_once(context, text, size - 1, seed, count, &first, memory);
    enum tide_status two = run_once(context, text, size - 1, seed, count, &again, memory);
    expect(one == two && first == again);
    if (one != TIDE_MISMATCH) break;
  }
  tide_context_destroy(context);
  return 0;
}
