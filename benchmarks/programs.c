/* Whole programs: the examples with causal tracking against the same programs with a binary event
 * for each dependency and each use of a recycled buffer, on the same queues, devices and bodies.
 * `tidemark run --baseline events` runs both in turns, and with --check it first compares what they
 * write with a sequential run. Beside the time stand the waits that were left: those issued,
 * against the waits for events. */
#include "bench.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

enum { PAIRS = 21, TEXT = 1 << 16 };

struct program {
  const char *name, *smaller; /* options for a short run */
  const char *why;            /* NULL, or why it cannot be had */
  unsigned pairs, taken[2];   /* of each side */
  double seconds[2][PAIRS], waits[2];
};

/* The number after "key": behind `from`. */
static double number_after(const char *from, const char *key) {
  const char *at = from ? strstr(from, key) : NULL;
  at = at ? strchr(at, ':') : NULL;
  if (!at) bench_wrong(key);
  return strtod(at + 1, NULL);
}

static unsigned read_runs(const char *text, const char *kind, double *seconds) {
  const char *at = strstr(text, kind);
  at = at ? strstr(at, "\"runs\": [") : NULL;
  if (!at) bench_wrong(kind);
  at = strchr(at, '[') + 1;
  for (unsigned count = 0;; at++) {
    char *end;
    double value = strtod(at, &end);
    if (end == at || count == PAIRS) return count;
    seconds[count++] = value;
    at = end;
    if (*at != ',') return count;
  }
}

static void read_report(struct program *program, const char *text) {
  const char *online = strstr(text, "\"online\""), *baseline = strstr(text, "\"baseline\"");
  unsigned ours = read_runs(text, "\"tracked_seconds\"", program->seconds[0]);
  program->pairs = read_runs(text, "\"baseline_seconds\"", program->seconds[1]);
  BENCH_CHECK(program->pairs == ours && ours > 0);
  const char *paused = strstr(text, "\"paused\"");
  program->waits[0] = number_after(paused ? paused : online, "\"issued\"");
  program->waits[1] =
      number_after(baseline, "\"event_waits\"") + number_after(baseline, "\"reuse_waits\"");
}

static void run(struct program *program) {
  static char text[TEXT];
  char command[3 * PATH_MAX];
  const char *folder = bench_folder();
  snprintf(
      command, sizeof command,
      "mkdir -p '%s/programs' && '%s/tidemark' run --json --check --baseline events --repeat %d "
      "--output '%s/programs' %s 'examples/%s.tide' 2>'%s/programs/%s.log'",
      folder, folder, bench_smoke() ? 1 : PAIRS, folder, bench_smoke() ? program->smaller : "",
      program->name, folder, program->name);
  FILE *pipe = popen(command, "r");
  if (!pipe) bench_wrong("the command can be run");
  size_t size = fread(text, 1, TEXT - 1, pipe);
  text[size] = 0;
  int status = pclose(pipe);
  if (status == 0) read_report(program, text);
  else if (WIFEXITED(status) && WEXITSTATUS(status) == 1) bench_wrong(command); /* it failed */
  else program->why = "examples/ is not here: start ./bench in the repository";
}

/* The first who asks lets all pairs run; each round takes one. */
static const char *measure(const void *what, unsigned side, double *out) {
  struct program *program = *(struct program *const *)what;
  if (!program->pairs && !program->why) run(program);
  if (program->why) return program->why;
  BENCH_CHECK(program->taken[side] < program->pairs);
  out[0] = program->seconds[side][program->taken[side]++] * 1000;
  out[1] = program->waits[side];
  return NULL;
}

/* clang-format off */
#define PROGRAMS(X)                                                                  \
  X(satellite, "--set width=1024 --set height=1024")                                 \
  X(sequential, "") X(cross_queue, "") X(fork_join, "") X(independent, "")           \
  X(producer_consumer, "") X(late_waiter, "") X(diamond, "") X(wide_pipeline, "")    \
  X(voice_chat, "") X(retrieval, "") X(speculative, "") X(translation, "")           \
  X(paging, "") X(collectives, "")
/* clang-format on */

#define PROGRAM(file, short)                                                                       \
  static struct program file = {.name = #file, .smaller = short};                                  \
  static struct program *const file##_at = &file;
PROGRAMS(PROGRAM)

#define FIGURE(file, short)                                                                        \
  {.name = #file,                                                                                  \
   .contest = &(const struct bench_contest){.sides = {"tracked", "an event each"},                 \
                                            .values = {{"time", "ms", BENCH_LESS},                 \
                                                       {"waits", "in all", BENCH_LESS}},           \
                                            .measure = measure,                                    \
                                            .what = &file##_at,                                    \
                                            .bound = true},                                        \
   .rounds = PAIRS},

/* clang-format off */
const struct bench_figure bench_programs[] = {PROGRAMS(FIGURE) {0}};
