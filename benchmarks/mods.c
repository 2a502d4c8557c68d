/* Modules: parse and verify 100 000 operations against mlir-opt-19 on the same file in its generic
 * form, a whole process each, in turns; and how time and memory grow to ten million operations. */
#include "bench.h"

#include "base/random.h"
#include "tidemark/mods.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define OPERATIONS 100000

struct text {
  char *data;
  size_t length, capacity;
  uint32_t operations;
};

static void add(struct text *text, const char *bytes, size_t size) {
  while (text->length + size > text->capacity) {
    text->capacity = text->capacity ? 2 * text->capacity : 1 << 20;
    text->data = realloc(text->data, text->capacity);
    if (!text->data) abort();
  }
  memcpy(text->data + text->length, bytes, size);
  text->length += size;
}

/* Nine sums and products of earlier values to one constant. */
static struct text make(uint32_t operations) {
  static const char head[] =
      "\"builtin.module\"() ({\n"
      "  \"func.func\"() <{function_type = (i32) -> (), sym_name = \"f\"}> ({\n"
      "  ^bb0(%arg0: i32):\n"
      "    %0 = \"arith.constant\"() <{value = 1 : i32}> : () -> i32\n";
  static const char tail[] = "    \"func.return\"() : () -> ()\n  }) : () -> ()\n}) : () -> ()\n";
  static const char *const names[] = {"addi", "muli", "andi"};
  struct text text = {NULL, 0, 0, operations};
  struct tide_random random = {7};
  char line[160];
  add(&text, head, sizeof head - 1);
  for (uint32_t i = 1; i < operations; i++) {
    uint32_t far = (uint32_t)(tide_random_next(&random) % 50) + 1, name = i % 3;
    int size = i % 10 == 0
                   ? snprintf(line, sizeof line,
                              "    %%%u = \"arith.constant\"() <{value = %u : i32}> : () -> i32\n",
                              i, i % 1000)
                   : snprintf(line, sizeof line,
                              "    %%%u = \"arith.%s\"(%%%u, %%%u)%s : (i32, i32) -> i32\n", i,
                              names[name], i - 1, far < i ? i - far : 0,
                              name < 2 ? " <{overflowFlags = #arith.overflow<none>}>" : "");
    add(&text, line, (size_t)size);
  }
  add(&text, tail, sizeof tail - 1);
  return text;
}

/* Parses and verifies; the bytes that the module held. */
static size_t read_it(const struct text *text) {
  struct tide_mods_module *module;
  struct tide_mods_params params = {.struct_size = sizeof params,
                                    .allocator = tide_allocator_system(),
                                    .text = text->data,
                                    .length = text->length};
  if (tide_mods_parse(&params, &module) != TIDE_OK || tide_mods_verify(module) != TIDE_OK) abort();
  size_t memory = tide_mods_memory(module);
  tide_mods_destroy(module);
  return memory;
}

/* ---- against mlir-opt ---- */

/* What both read; it goes when the benchmark ends. */
static char file_name[] = "/tmp/tidemark-bench-XXXXXX";
static void remove_file(void) { unlink(file_name); }

/* Milliseconds until the process has ended; NAN: it could not be run, or failed. */
static double run(const char *program) {
  uint64_t start = bench_now();
  int status;
  pid_t child = fork();
  if (child == 0) {
    execlp(program, program, file_name, "-o", "/dev/null", (char *)NULL);
    _exit(127);
  }
  if (child < 0 || waitpid(child, &status, 0) != child || status != 0) return NAN;
  return (double)(bench_now() - start) / 1e6;
}

/* The same for us: a process that reads the file, parses, verifies. */
static double run_ours(void) {
  uint64_t start = bench_now();
  int status;
  pid_t child = fork();
  if (child == 0) {
    struct text text = {NULL, 0, 0, 0};
    char buffer[1 << 16];
    FILE *file = fopen(file_name, "rb");
    for (size_t got; file && (got = fread(buffer, 1, sizeof buffer, file)) > 0;)
      add(&text, buffer, got);
    read_it(&text);
    _exit(0);
  }
  if (child < 0 || waitpid(child, &status, 0) != child || status != 0) return NAN;
  return (double)(bench_now() - start) / 1e6;
}

static bool write_file(void) {
  static bool written;
  if (written) return true;
  struct text text = make(bench_smoke() ? 1000 : OPERATIONS);
  int made = mkstemp(file_name);
  if (made >= 0) atexit(remove_file);
  FILE *file = made >= 0 ? fdopen(made, "wb") : NULL;
  written = file && fwrite(text.data, 1, text.length, file) == text.length;
  if (file) written = fclose(file) == 0 && written;
  free(text.data);
  return written;
}

static const char *check(const void *what, unsigned side, double *out_values) {
  (void)what;
  if (!write_file()) return "the file cannot be written";
  out_values[0] = side == 0 ? run_ours() : run("mlir-opt-19");
  return isnan(out_values[0]) ? "mlir-19-tools is not installed" : NULL;
}

static const struct bench_contest against_mlir = {
    .sides = {"tidemark", "mlir-opt-19"},
    .values = {{"parse and verify", "ms", BENCH_LESS}},
    .measure = check,
    .bound = true};

/* ---- growth ---- */

static struct text *made(uint32_t operations) {
  struct text *text = malloc(sizeof *text);
  if (!text) return NULL;
  *text = make(bench_smoke() ? 1000 : operations);
  return text;
}
static void *make_100k(void) { return made(100000); }
static void *make_1m(void) { return made(1000000); }
static void *make_10m(void) { return made(10000000); }

static void drop(void *state) {
  free(((struct text *)state)->data);
  free(state);
}

static double nanoseconds(void *state) {
  const struct text *text = state;
  uint64_t start = bench_spent();
  read_it(text);
  return (double)(bench_spent() - start) / text->operations;
}

static double bytes(void *state) {
  const struct text *text = state;
  return (double)read_it(text) / text->operations;
}

#define GROWTH(count, make_it)                                                                     \
  {.name = "nanoseconds_an_op_" count,                                                             \
   .unit = "ns",                                                                                   \
   .setup = make_it,                                                                               \
   .teardown = drop,                                                                               \
   .measure_ours = nanoseconds,                                                                    \
   .rounds = 3},                                                                                   \
  {                                                                                                \
    .name = "bytes_an_op_" count, .unit = "B", .setup = make_it, .teardown = drop,                 \
    .measure_ours = bytes, .rounds = 1                                                             \
  }

const struct bench_figure bench_mods[] = {{.name = "check_100k", .contest = &against_mlir},
                                          GROWTH("100k", make_100k),
                                          GROWTH("1m", make_1m),
                                          GROWTH("10m", make_10m),
                                          {0}};
