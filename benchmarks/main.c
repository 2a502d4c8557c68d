/* tidemark-bench [NAME…] [--json] [--smoke] [--plot DIR]: see bench.h. */
#include "bench.h"
#include "bench-table.h"
#include "plot.h"
#include "result.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { ROUNDS = 15, APART_MS = 60000, RESULTS = 1024 };
static const uint64_t round_time = 10000000; /* ns a round should take */

static bool smoke, json, first_json = true;
static struct result *results[RESULTS];
static size_t result_count;

uint64_t bench_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint64_t bench_spent(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

bool bench_smoke(void) { return smoke; }

static const char *skipped; /* why, when setup said so */
void *bench_skip(const char *why) {
  skipped = why;
  return NULL;
}

void bench_note(const char *format, ...) {
  FILE *to = json ? stderr : stdout;
  va_list arguments;
  va_start(arguments, format);
  fputs("# ", to);
  vfprintf(to, format, arguments);
  fputc('\n', to);
  va_end(arguments);
}

void bench_wrong(const char *what) {
  fflush(stdout);
  fprintf(stderr, "tidemark-bench: not true: %s\n", what);
  exit(1);
}

const char *bench_folder(void) {
  static char path[PATH_MAX];
  ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
  if (length < 0) bench_wrong("/proc/self/exe");
  path[length] = 0;
  *strrchr(path, '/') = 0;
  return path;
}

/* ---- other processes ---- */

pid_t bench_fork(void) {
  pid_t parent = getpid();
  fflush(NULL); /* or both would print what has not been printed yet */
  pid_t child = fork();
  if (child != 0) return child;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1); /* it was dead before we said so */
  return 0;
}

struct answer {
  double values[BENCH_VALUES];
  bool done;
  char why[160];
};

static _Noreturn void work_apart(const char *(*work)(const void *what, double *out_values),
                                 const void *what, int to) {
  struct answer answer = {.done = true};
  const char *why = work(what, answer.values);
  if (why) snprintf(answer.why, sizeof answer.why, "%s", why);
  _exit(write(to, &answer, sizeof answer) == sizeof answer ? 0 : 1);
}

static bool crashed; /* a child was killed by a signal */

/* A child that found an error has printed it, and exited with 1: so does this process. */
static const char *reap(pid_t child, bool late) {
  int status = 0;
  if (late) kill(child, SIGKILL);
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  if (late) return "it did not end within a minute";
  if (WIFEXITED(status) && WEXITSTATUS(status) == 1) exit(1);
  if (!WIFSIGNALED(status)) return NULL;
  crashed = true;
  return strsignal(WTERMSIG(status));
}

const char *bench_apart(const char *(*work)(const void *what, double *out_values), const void *what,
                        double *out_values) {
  int ends[2];
  if (pipe(ends) != 0) return "no pipe";
  pid_t child = bench_fork();
  if (child < 0) return "no process";
  if (child == 0) work_apart(work, what, ends[1]);
  close(ends[1]);
  struct answer answer = {0};
  struct pollfd wait = {.fd = ends[0], .events = POLLIN};
  bool late = poll(&wait, 1, APART_MS) == 0;
  bool whole = !late && read(ends[0], &answer, sizeof answer) == sizeof answer;
  close(ends[0]);
  const char *why = reap(child, late);
  memcpy(out_values, answer.values, sizeof answer.values);
  if (whole && answer.why[0]) return strdup(answer.why); /* few, and kept until the end */
  return whole ? NULL : why ? why : "it ended without an answer";
}

/* ---- measuring ---- */

/* Of a figure that is not a contest. */
struct side {
  void (*work)(void *state, uint64_t count);
  double (*measure)(void *state);
  uint64_t count; /* repetitions a round */
};

static double rounds_of[BENCH_SIDES][BENCH_VALUES][ROUNDS_MAX];

static uint64_t time_of(const struct side *side, void *state, uint64_t count) {
  uint64_t start = bench_now();
  side->work(state, count);
  return bench_now() - start;
}

/* How often to repeat, so that the clock's own cost and grain don't show. */
static void calibrate(struct side *side, void *state) {
  side->count = 1;
  if (!side->work || smoke) return;
  uint64_t took;
  while ((took = time_of(side, state, side->count)) < round_time / 4) {
    side->count *= took < round_time / 64 ? 8 : 2;
  }
  side->count = side->count * round_time / took;
  if (side->count == 0) side->count = 1;
}

static double measure(const struct side *side, void *state) {
  if (side->measure) return side->measure(state);
  return (double)time_of(side, state, side->count) / (double)side->count;
}

static const char *measure_side(struct result *result, unsigned side, double *values) {
  const struct bench_contest *contest = result->figure->contest;
  bool before = crashed;
  crashed = false;
  const char *why = contest->measure(contest->what, side, values);
  result->sides[side].has_crashed = crashed;
  crashed |= before;
  return why;
}

static void ask(struct result *result, unsigned side, uint32_t round) {
  double values[BENCH_VALUES];
  for (unsigned v = 0; v < BENCH_VALUES; v++) values[v] = NAN;
  if (!result->sides[side].why) result->sides[side].why = measure_side(result, side, values);
  for (unsigned v = 0; v < result->value_count; v++) rounds_of[side][v][round] = values[v];
}

/* Who goes first changes each round. */
static void compete(struct result *result, uint32_t rounds) {
  for (uint32_t i = 0; i < rounds; i++) {
    for (unsigned side = 0; side < result->side_count; side++)
      ask(result, i % 2 ? result->side_count - 1 - side : side, i);
  }
}

static void compare_two(struct result *result, void *state, uint32_t rounds) {
  const struct bench_figure *figure = result->figure;
  struct side sides[2] = {{.work = figure->ours, .measure = figure->measure_ours},
                          {.work = figure->theirs, .measure = figure->measure_theirs}};
  for (unsigned side = 0; side < result->side_count; side++) calibrate(&sides[side], state);
  for (uint32_t i = 0; i < rounds; i++) {
    for (unsigned n = 0; n < result->side_count; n++) {
      unsigned side = i % 2 ? result->side_count - 1 - n : n;
      rounds_of[side][0][i] = measure(&sides[side], state);
    }
  }
}

static void conclude_side(struct result *result, unsigned side, unsigned v, uint32_t rounds) {
  double ratios[ROUNDS_MAX];
  for (uint32_t i = 0; i < rounds; i++) {
    double ours = rounds_of[0][v][i], theirs = rounds_of[side][v][i];
    ratios[i] = result->values[v].better == BENCH_MORE ? ours / theirs : theirs / ours;
  }
  struct side_result *to = &result->sides[side];
  to->ratio[v] = summarize(ratios, rounds);
  to->bound[v] = lower_bound(ratios, rounds);
}

static void conclude(struct result *result, uint32_t rounds) {
  /* Ratios first: they need the rounds in order, which a summary sorts. */
  for (unsigned side = 1; side < result->side_count; side++)
    for (unsigned v = 0; v < result->value_count; v++) conclude_side(result, side, v, rounds);
  for (unsigned side = 0; side < result->side_count; side++)
    for (unsigned v = 0; v < result->value_count; v++)
      result->sides[side].value[v] = summarize(rounds_of[side][v], rounds);
}

static struct result *start(const char *group, const struct bench_figure *figure) {
  struct result *result = calloc(1, sizeof *result);
  if (!result || result_count == RESULTS) bench_wrong("room for results");
  result->group = group;
  result->figure = figure;
  if (figure->contest) {
    const struct bench_contest *contest = figure->contest;
    memcpy(result->values, contest->values, sizeof result->values);
    while (result->value_count < BENCH_VALUES && contest->values[result->value_count].unit)
      result->value_count++;
    while (result->side_count < BENCH_SIDES && contest->sides[result->side_count]) {
      result->sides[result->side_count].name = contest->sides[result->side_count];
      result->side_count++;
    }
  } else {
    result->values[0] =
        (struct bench_value){NULL, figure->unit ? figure->unit : "ns", figure->better};
    result->value_count = 1;
    result->sides[0].name = "ours";
    result->sides[1].name = figure->rival;
    result->side_count = figure->theirs || figure->measure_theirs ? 2 : 1;
  }
  return results[result_count++] = result;
}

static void print_smoke(const struct result *result) {
  const char *group = result->group, *name = result->figure->name;
  if (!result->figure->contest) {
    printf("PASS %s/%s\n", group, name);
    return;
  }
  for (unsigned i = 0; i < result->side_count; i++) {
    const struct side_result *side = &result->sides[i];
    if (side->why)
      printf("%s %s/%s, %s: %s\n", side->has_crashed ? "FAIL" : "SKIP", group, name, side->name,
             side->why);
    else printf("PASS %s/%s, %s\n", group, name, side->name);
  }
}

static uint32_t rounds_for(const struct bench_figure *figure) {
  const struct bench_contest *contest = figure->contest;
  uint32_t rounds = smoke                        ? 1
                    : contest && contest->rounds ? contest->rounds(contest->what)
                    : figure->rounds             ? figure->rounds
                                                 : ROUNDS;
  return rounds > ROUNDS_MAX ? ROUNDS_MAX : rounds;
}

static void run(const char *group, const struct bench_figure *figure) {
  skipped = "not possible here";
  void *state = figure->setup ? figure->setup() : NULL;
  if (figure->setup && !state) {
    fprintf(json ? stderr : stdout, "%s %s/%s: %s\n", smoke ? "SKIP" : "skipped", group,
            figure->name, skipped);
    return;
  }
  struct result *result = start(group, figure);
  uint32_t rounds = result->rounds = rounds_for(figure);
  if (figure->contest) compete(result, rounds);
  else compare_two(result, state, rounds);
  if (figure->teardown) figure->teardown(state);
  conclude(result, rounds);
  if (smoke) print_smoke(result);
  else if (json) print_json(result, &first_json);
  else if (figure->contest) print_table(result);
  else print_plain(result);
  fflush(stdout);
}

/* ---- the machine ---- */

static void read_cpu(char *name, size_t size) {
  snprintf(name, size, "unknown CPU");
  FILE *file = fopen("/proc/cpuinfo", "r");
  char line[256];
  while (file && fgets(line, sizeof line, file)) {
    char *colon = strchr(line, ':');
    if (strncmp(line, "model name", 10) != 0 || !colon) continue;
    colon[1 + strcspn(colon + 1, "\n")] = 0;
    snprintf(name, size, "%s", colon + 2);
    break;
  }
  if (file) fclose(file);
}

static void print_machine(void) {
  char cpu[128];
  struct utsname system;
  read_cpu(cpu, sizeof cpu);
  if (uname(&system) != 0) memset(&system, 0, sizeof system);
  long cores = sysconf(_SC_NPROCESSORS_ONLN);
  if (json) {
    printf(
        "{\"machine\": {\"cpu\": \"%s\", \"cores\": %ld, \"system\": \"%s %s\"},\n  \"figures\": [",
        cpu, cores, system.sysname, system.release);
  } else if (!smoke) {
    printf("# %s, %ld cores, %s %s; medians of %d rounds in turns\n", cpu, cores, system.sysname,
           system.release, ROUNDS);
  }
}

/* ---- choosing ---- */

static bool chosen(const char *group, const char *figure, char **names, int count) {
  char name[64];
  snprintf(name, sizeof name, "%s/%s", group, figure);
  for (int i = 0; i < count; i++) {
    if (strstr(name, names[i])) return true;
  }
  return count == 0;
}

static unsigned run_group(const struct bench_group *group, char **names, int count) {
  unsigned found = 0;
  for (const struct bench_figure *figure = group->figures; figure->name; figure++) {
    if (!chosen(group->name, figure->name, names, count)) continue;
    found++;
    run(group->name, figure);
  }
  return found;
}

static void *nothing(void *arg) { return arg; }

/* Until a process has had a second thread, the C library's locks and malloc leave out their locked
 * instructions: rivals would depend on what was measured before them. */
static void have_had_threads(void) {
  pthread_t thread;
  BENCH_CHECK(pthread_create(&thread, NULL, nothing, NULL) == 0);
  BENCH_CHECK(pthread_join(thread, NULL) == 0);
}

static int usage(FILE *to) {
  fputs("usage: bench [NAME...] [--json] [--smoke] [--plot DIR]\n"
        "  NAME        only figures whose group/name contains one of these\n"
        "  --json      for programs\n"
        "  --smoke     one short round of each, only to see that they work\n"
        "  --plot DIR  also draws DIR/GROUP.svg\n",
        to);
  return to == stdout ? 0 : 2;
}

/* A file a group, of what was measured. */
static void plot(const char *folder) {
  if (mkdir(folder, 0777) != 0 && errno != EEXIST) bench_wrong("the folder for plots can be made");
  for (size_t from = 0, to; from < result_count; from = to) {
    for (to = from; to < result_count && results[to]->group == results[from]->group;) to++;
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s.svg", folder, results[from]->group);
    if (!plot_group(path, results + from, to - from)) bench_wrong("a plot can be written");
  }
}

int main(int argc, char **argv) {
  const char *folder = NULL;
  int names = 0;
  for (int i = 1; i < argc; i++) {
    if (strcmp(argv[i], "--json") == 0) json = true;
    else if (strcmp(argv[i], "--smoke") == 0) smoke = true;
    else if (strcmp(argv[i], "--plot") == 0 && i + 1 < argc) folder = argv[++i];
    else if (strcmp(argv[i], "--help") == 0) return usage(stdout);
    else if (strncmp(argv[i], "--", 2) == 0) return usage(stderr);
    else argv[1 + names++] = argv[i];
  }
  if (smoke && json) {
    fprintf(stderr, "tidemark-bench: --smoke measures nothing, so there is nothing for --json\n");
    return 2;
  }
  print_machine();
  have_had_threads();
  unsigned found = 0;
  size_t groups = sizeof bench_groups / sizeof *bench_groups;
  for (size_t i = 0; i < groups; i++) { /* the machine's own floors come first */
    if (strcmp(bench_groups[i].name, "floors") == 0)
      found += run_group(&bench_groups[i], argv + 1, names);
  }
  for (size_t i = 0; i < groups; i++) {
    if (strcmp(bench_groups[i].name, "floors") != 0)
      found += run_group(&bench_groups[i], argv + 1, names);
  }
  if (json) puts("\n  ]\n}");
  if (folder) plot(folder);
  for (size_t i = 0; i < result_count; i++) free(results[i]);
  if (found == 0)
    fprintf(stderr, "tidemark-bench: no figure has such a name; see ./bench --list\n");
  return found == 0 ? 2 : smoke && crashed;
}
