/* What came of it, for people and for programs. */
#include "compositor.h"

#include <inttypes.h>
#include <string.h>
#include <sys/wait.h>

/* "" when it ended as it should. */
static void describe_end(const struct outcome *outcome, unsigned who, char *out, size_t size) {
  int end = outcome->ends[who];
  const char *problem = outcome->reports[who].problem;
  if (end == -1) snprintf(out, size, "%s", "");
  else if (WIFSIGNALED(end)) snprintf(out, size, "killed by signal %d", WTERMSIG(end));
  else if (problem[0]) snprintf(out, size, "%.158s", problem);
  else if (WEXITSTATUS(end)) snprintf(out, size, "exit status %d", WEXITSTATUS(end));
  else snprintf(out, size, "%s", "");
}

static void print_row(const struct outcome *outcome, unsigned who) {
  const struct report *r = &outcome->reports[who];
  char end[160];
  if (outcome->ends[who] == -1 || who == SERVICE) return;
  printf("  %-8s", who_names[who]);
  printf(" %6" PRIu64 " %6" PRIu64 " %7" PRIu64, r->frames, who == BROWSER ? r->frames : r->shown,
         r->missing);
  printf(" %6" PRIu64 " %6" PRIu64 " %6" PRIu64 " %7" PRIu64 " %7" PRIu64 " %8" PRIu64, r->waits,
         r->wakes, r->early, r->boosts, r->lowered, r->refused);
  describe_end(outcome, who, end, sizeof end);
  if (r->refused && who != HOSTILE) printf("  (%.63s)", r->refusal);
  printf("%s%s\n", end[0] ? "  " : "", end);
}

/* TIDE_TIMED_OUT: timed out */
static void print_status(enum tide_status status) {
  if (status == TIDE_OK) {
    fputs(" kept", stdout);
    return;
  }
  putchar(' ');
  for (const char *at = tide_status_name(status) + strlen("TIDE_"); *at; at++)
    putchar(*at == '_' ? ' ' : *at | 0x20);
}

static void print_promises(const struct report *r) {
  const char *between = "";
  printf("  its promises:%s", r->frames ? " " : " none");
  for (int i = 0; i < TIDE_STATUS_COUNT; i++) {
    if (!r->ended[i]) continue;
    printf("%s%" PRIu64, between, r->ended[i]);
    print_status((enum tide_status)i);
    between = ", ";
  }
  printf("; %" PRIu64 " guessed tokens opened nothing\n", r->guesses);
}

void print_outcome(const struct options *options, const struct outcome *outcome,
                   const char *check) {
  const struct scene *scene = &options->scene;
  printf("%s/frame-0001.png ..., %" PRIu64 " of %u frames, %ux%u\n", outcome->folder,
         outcome->reports[BROWSER].frames, scene->frames, scene->width, scene->height);
  puts("            drawn  shown missing  waits  woken  early  boosts lowered  refused");
  for (unsigned who = 0; who < PROCESSES; who++) {
    print_row(outcome, who);
    if (who == HOSTILE && outcome->ends[who] != -1) print_promises(&outcome->reports[who]);
  }
  char end[160];
  describe_end(outcome, SERVICE, end, sizeof end);
  if (end[0]) printf("  service   %s\n", end);
  printf("what the honest drew: %016" PRIx64 "\n", outcome->reports[BROWSER].hash);
  if (check[0]) puts(check);
  if (outcome->hung)
    printf("it hung: after %u s whoever was left was killed\n", (unsigned)options->limit);
}

/* ---- JSON: names and numbers only, so there is nothing to escape --------------------------- */

static void json_row(const struct outcome *outcome, unsigned who) {
  const struct report *r = &outcome->reports[who];
  int end = outcome->ends[who];
  printf("\"%s\":{\"frames\":%" PRIu64 ",\"shown\":%" PRIu64 ",\"missing\":%" PRIu64
         ",\"waits\":%" PRIu64 ",\"wakes\":%" PRIu64 ",\"early\":%" PRIu64 ",\"boosts\":%" PRIu64
         ",\"lowered\":%" PRIu64 ",\"refused\":%" PRIu64 ",\"guesses\":%" PRIu64,
         who_names[who], r->frames, r->shown, r->missing, r->waits, r->wakes, r->early, r->boosts,
         r->lowered, r->refused, r->guesses);
  printf(",\"signal\":%d,\"exit\":%d,\"promises\":{", WIFSIGNALED(end) ? WTERMSIG(end) : 0,
         WIFEXITED(end) ? WEXITSTATUS(end) : 0);
  const char *between = "";
  for (int i = 0; i < TIDE_STATUS_COUNT; i++) {
    if (!r->ended[i]) continue;
    printf("%s\"%s\":%" PRIu64, between, tide_status_name((enum tide_status)i), r->ended[i]);
    between = ",";
  }
  fputs("}}", stdout);
}

void print_json(const struct options *options, const struct outcome *outcome, const char *check) {
  const struct scene *scene = &options->scene;
  printf("{\"frames\":%u,\"width\":%u,\"height\":%u,\"band\":%u,\"good\":%s,\"hung\":%s,"
         "\"hash\":\"%016" PRIx64 "\",\"check\":\"%s\",\"processes\":{",
         scene->frames, scene->width, scene->height, scene->band, outcome->good ? "true" : "false",
         outcome->hung ? "true" : "false", outcome->reports[BROWSER].hash, check);
  const char *between = "";
  for (unsigned who = 0; who < PROCESSES; who++) {
    if (outcome->ends[who] == -1) continue;
    fputs(between, stdout);
    json_row(outcome, who);
    between = ",";
  }
  puts("}}");
}
