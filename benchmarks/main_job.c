/* The main job, examples/satellite.tide, as whole processes: `tidemark run`, and programs written
 * by hand with the same functions (main_job/). Once with all files in memory, once on the disk.
 * Each process writes new files, is compared byte by byte with a run that was checked against a
 * sequential one, and is timed with its start and its end. */
#include "bench.h"
#include "main_job/measured_process.h"

#include <limits.h>
#include <linux/magic.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>

#define SPACE_NEEDED (800ull << 20) /* bytes in memory: the input, and an output */
enum { ROUNDS = 15 };

struct place {
  const char *name;
  char folder[PATH_MAX / 2];
  bool is_ready;
};

static const char *const programs[] = {NULL, "by_pthread", "by_mmap", "by_onetbb"};
static struct place memory = {.name = "memory"}, disk = {.name = "disk"};
static const struct place *const memory_at = &memory, *const disk_at = &disk;

static const char *width(void) { return bench_smoke() ? "1024" : "16384"; }

static bool run_shell(const char *format, ...) __attribute__((format(printf, 1, 2)));
static bool run_shell(const char *format, ...) {
  char command[4 * PATH_MAX];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(command, sizeof command, format, arguments);
  va_end(arguments);
  return system(command) == 0;
}

/* Makes the input, and what the outputs have to be. */
static void prepare(struct place *place) {
  if (place->is_ready) return;
  if (!run_shell("mkdir -p '%s/main_job/right' '%s/out' && here=$PWD && cd '%s' && "
                 "'%s/tidemark' run \"$here/examples/satellite.tide\" --check --set width=%s "
                 "--set height=%s --set output='%s/main_job/right' >main_job.log 2>&1",
                 bench_folder(), place->folder, place->folder, bench_folder(), width(), width(),
                 bench_folder()))
    bench_wrong("the main job runs: see main_job.log");
  place->is_ready = true;
}

static const char *why_not(const char *program) {
  static char why[128];
  char path[PATH_MAX];
  snprintf(path, sizeof path, "%s/main_job/%s", bench_folder(), program);
  if (access(path, X_OK) == 0) return NULL;
  strncat(path, ".why", sizeof path - strlen(path) - 1);
  FILE *file = fopen(path, "r");
  if (!file || !fgets(why, sizeof why, file)) snprintf(why, sizeof why, "it was not built");
  if (file) fclose(file);
  why[strcspn(why, "\n")] = 0;
  return strdup(why); /* few, and kept until the end */
}

static const char *measure(const void *what, unsigned side, double *out) {
  struct place *place = *(struct place *const *)what;
  char program[PATH_MAX], input[PATH_MAX], output[PATH_MAX], setting[PATH_MAX + 8], size[2][32];
  if (access("examples/satellite.tide", R_OK) != 0)
    return "examples/ is not here: start ./bench in the repository";
  const char *why = side ? why_not(programs[side]) : NULL;
  if (why) return why;
  prepare(place);
  snprintf(program, sizeof program, "%s/%s%s", bench_folder(), side ? "main_job/" : "tidemark",
           side ? programs[side] : "");
  snprintf(input, sizeof input, "%s/out/terrain-%sx%s.raw", place->folder, width(), width());
  snprintf(output, sizeof output, "%s/out", place->folder);
  snprintf(setting, sizeof setting, "output=%s", output);
  snprintf(size[0], sizeof size[0], "width=%s", width());
  snprintf(size[1], sizeof size[1], "height=%s", width());
  char from[PATH_MAX + 8];
  snprintf(from, sizeof from, "input=%s", input);
  char *ours[] = {program, "run",   "examples/satellite.tide",
                  "--set", from,    "--set",
                  setting, "--set", size[0],
                  "--set", size[1], NULL};
  char *theirs[] = {program, input, output, (char *)(uintptr_t)width(), (char *)(uintptr_t)width(),
                    NULL};
  char right[PATH_MAX];
  snprintf(right, sizeof right, "%s/main_job/right", bench_folder());
  BENCH_CHECK(process_remove_outputs(output));
  if (!process_measure(side ? theirs : ours, out)) bench_wrong(program);
  if (!process_same_outputs(output, right)) bench_wrong("the outputs are the same");
  return NULL;
}

/* ---- places --------------------------------------------------------------------------- */

static void *use_memory(void) {
  struct statfs system;
  if (statfs("/dev/shm", &system) != 0 || system.f_type != TMPFS_MAGIC)
    return bench_skip("/dev/shm is no memory");
  if (!bench_smoke() && (uint64_t)system.f_bavail * (uint64_t)system.f_bsize < SPACE_NEEDED)
    return bench_skip("/dev/shm is too small");
  strcpy(memory.folder, "/dev/shm/tidemark-XXXXXX");
  return mkdtemp(memory.folder) ? &memory : bench_skip("no folder in /dev/shm");
}

static void *use_disk(void) {
  snprintf(disk.folder, sizeof disk.folder, "%s/main_job", bench_folder());
  return mkdir(disk.folder, 0777) == 0 || errno == EEXIST ? &disk : bench_skip("no folder");
}

static void leave(void *state) {
  const struct place *place = state;
  if (!run_shell("rm -rf '%s/out' '%s/main_job.log' && { rmdir '%s' 2>/dev/null || true; }",
                 place->folder, place->folder, place->folder))
    bench_note("%s is left", place->folder);
}

#define JOB(where)                                                                                 \
  {.name = #where,                                                                                 \
   .setup = use_##where,                                                                           \
   .teardown = leave,                                                                              \
   .rounds = ROUNDS,                                                                               \
   .contest = &(const struct bench_contest){                                                       \
       .sides = {"tidemark run", "pthread", "mmap", "oneTBB pipeline"},                            \
       .values = {{"time", "ms", BENCH_LESS},                                                      \
                  {"switches", "in all", BENCH_LESS},                                              \
                  {"peak memory", "MiB", BENCH_LESS}},                                             \
       .measure = measure,                                                                         \
       .what = &where##_at,                                                                        \
       .bound = true}},

/* clang-format off */
const struct bench_figure bench_main_job[] = {JOB(memory) JOB(disk) {0}};
