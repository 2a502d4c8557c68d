/* Whole programs: the examples with causal tracking against the same programs with a binary event
 * for each dependency and each use of a recycled buffer, on the same queues, devices and bodies.
 * `tidemark run --baseline events` runs both in turns, and with --check it first compares what they
 * write with a sequential run. Beside the time stand the waits that were left: those issued,
 * against the waits for events. Short programs are run more often: as many pairs as fit into about
 * two seconds; and none less than 201 times, however long that takes. */
#include "bench.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

/* Pairs; BATCH: of one process. */
enum { FIRST = 21, LEAST = 201, MOST = 2001, BATCH = 98, TEXT = 1 << 16 };
static const double time_of_program = 2; /* s */

struct program {
  const char *name, *smaller; /* options for a short run */
  const char *why;            /* NULL, or why it cannot be had */
  unsigned pairs, taken[2];   /* of each side */
  double seconds[2][MOST], waits[2];
};

/* The number after "key": behind `from`. */
static double number_after(const char *from, const char *key) {
  const char *at = from ? strstr(from, key) : NULL;
  at = at ? strchr(at, ':') : NULL;
  if (!at) bench_wrong(key);
  return strtod(at + 1, NULL);
}

/* As many as there is room for, at most. */
static unsigned read_runs(const char *text, const char *kind, double *seconds, unsigned room) {
  const char *at = strstr(text, kind);
  at = at ? strstr(at, "\"runs\": [") : NULL;
  if (!at) bench_wrong(kind);
  at = strchr(at, '[') + 1;
  for (unsigned count = 0;; at++) {
    char *end;
    double value = strtod(at, &end);
    if (end == at || count == room) return count;
    seconds[count++] = value;
    at = end;
    if (*at != ',') return count;
  }
}

static void read_report(struct program *program, const char *text, unsigned pairs) {
  const char *online = strstr(text, "\"online\""), *baseline = strstr(text, "\"baseline\"");
  unsigned from = program->pairs, room = MOST - from;
  unsigned ours = read_runs(text, "\"tracked_seconds\"", program->seconds[0] + from, room);
  unsigned theirs = read_runs(text, "\"baseline_seconds\"", program->seconds[1] + from, room);
  BENCH_CHECK(ours == pairs && theirs == pairs);
  program->pairs += pairs;
  const char *paused = strstr(text, "\"paused\"");
  program->waits[0] = number_after(paused ? paused : online, "\"issued\"");
  program->waits[1] =
      number_after(baseline, "\"event_waits\"") + number_after(baseline, "\"reuse_waits\"");
}

/* Adds so many pairs to those that there are. */
static void run(struct program *program, unsigned pairs) {
  static char text[TEXT];
  char command[3 * PATH_MAX];
  const char *folder = bench_folder();
  snprintf(
      command, sizeof command,
      "mkdir -p '%s/programs' && '%s/tidemark' run --json --check --baseline events --repeat %u "
      "--output '%s/programs' %s 'examples/%s.tide' 2>'%s/programs/%s.log'",
      folder, folder, pairs, folder, bench_smoke() ? program->smaller : "", program->name, folder,
      program->name);
  FILE *pipe = popen(command, "r");
  if (!pipe) bench_wrong("the command can be run");
  size_t size = fread(text, 1, TEXT - 1, pipe);
  text[size] = 0;
  int status = pclose(pipe);
  if (status == 0) read_report(program, text, pairs);
  else if (WIFEXITED(status) && WEXITSTATUS(status) == 1) bench_wrong(command); /* it failed */
  else program->why = "examples/ is not here: start ./bench in the repository";
}

/* How many fit into the time, as a first try of `pairs` shows, which counts for nothing else. */
static unsigned fitting(struct program *program, unsigned pairs) {
  uint64_t begin = bench_now();
  program->pairs = 0;
  run(program, pairs);
  double took = (double)(bench_now() - begin) / 1e9;
  return (unsigned)fmin(pairs * time_of_program / took, MOST);
}

/* All of them: how many are needed, or can be had, is known before any that counts has run. Of a
 * long program the first try counts, too. */
static uint32_t run_all(const void *what) {
  struct program *program = *(struct program *const *)what;
  unsigned fit = fitting(program, FIRST);
  if (program->why) return 1;
  if (fit > BATCH) fit = fitting(program, BATCH);
  if (fit > FIRST) program->pairs = 0;
  if (fit < LEAST) fit = LEAST;
  while (!program->why && program->pairs < fit) {
    unsigned left = fit - program->pairs;
    run(program, left < BATCH ? left : BATCH);
  }
  return program->why ? 1 : program->pairs;
}

/* Each round takes one pair. */
static const char *measure(const void *what, unsigned side, double *out) {
  struct program *program = *(struct program *const *)what;
  if (bench_smoke() && !program->pairs && !program->why) run(program, 1);
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
   .contest = &(const struct bench_contest){                                                       \
       .sides = {"tracked", "an event each"},                                                      \
       .values = {{"time", "ms", BENCH_LESS}, {"waits", "in all", BENCH_LESS}},                    \
       .measure = measure,                                                                         \
       .what = &file##_at,                                                                         \
       .rounds = run_all,                                                                          \
       .bound = true}},

/* clang-format off */
const struct bench_figure bench_programs[] = {PROGRAMS(FIGURE) {0}};
