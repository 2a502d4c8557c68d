/* A run, for people: each step with its place in the source. */
#include "core.h"
#include "harness.h"

#include <link.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int first_object(struct dl_phdr_info *info, size_t size, void *out_base) {
  (void)size;
  *(uintptr_t *)out_base = info->dlpi_addr;
  return 1; /* the program itself comes first */
}

static uintptr_t load_base(void) {
  uintptr_t base = 0;
  dl_iterate_phdr(first_object, &base);
  return base;
}

/* Headers whose inline functions say little by themselves. */
static bool dull(const char *file) {
  return strstr(file, "lock.h") || strstr(file, "atomic.h") || strstr(file, "tracker_axis.h") ||
         strstr(file, "timeline_state.h");
}

#define LONGEST 600 /* steps that are shown */
static char places[LONGEST][160];

/* What addr2line says of one address after another: a line with the address, then two lines for
 * each function that was inlined there, the innermost first. Kept is the innermost that says
 * something.
 */
static void read_places(FILE *answer) {
  char line[300], function[100] = "";
  int at = -1;
  bool is_file = false, settled = false;
  while (fgets(line, sizeof line, answer)) {
    line[strcspn(line, "\n")] = 0;
    if (strncmp(line, "0x", 2) == 0) {
      at++;
      is_file = settled = false;
    } else if (!is_file) {
      snprintf(function, sizeof function, "%.90s", line);
      is_file = true;
    } else {
      const char *slash = strrchr(line, '/');
      line[strcspn(line, " ")] = 0;
      if (at >= 0 && at < LONGEST && !settled)
        snprintf(places[at], sizeof places[at], "%s (%.50s)", function, slash ? slash + 1 : line);
      settled |= !dull(line);
      is_file = false;
    }
  }
}

static void find_places(const uintptr_t *pcs, unsigned count) {
  static char command[24000];
  char self[300];
  ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
  self[length > 0 ? length : 0] = 0;
  size_t at = (size_t)snprintf(command, sizeof command, "addr2line -afie '%s'", self);
  uintptr_t base = load_base();
  for (unsigned i = 0; i < count; i++) {
    unsigned long offset = pcs[i] ? pcs[i] - 1 - base : 0;
    snprintf(places[i], sizeof places[i], "%lx", offset);
    at += (size_t)snprintf(command + at, sizeof command - at, " %lx", offset);
  }
  snprintf(command + at, sizeof command - at, " 2>/dev/null");
  fflush(NULL);
  FILE *answer = popen(command, "r");
  if (!answer) return;
  read_places(answer);
  pclose(answer);
}

const char *report_place(uintptr_t pc) {
  find_places(&pc, 1);
  return places[0];
}

static void print_step(unsigned number, const struct taken *taken, const char *place) {
  static const char *const kinds[] = {"load", "write",     "lock",  "unlock",  "wait",
                                      "wake", "times out", "woken", "goes on", "join"};
  char note[80] = "";
  if (taken->note) snprintf(note, sizeof note, taken->note, (unsigned long long)taken->value);
  printf("     %4u  thread %d  %-9s %-18s %-28s %s\n", number, taken->thread,
         kinds[taken->step.kind], taken->step.address ? memory_name(taken->step.address) : "", note,
         place);
}

void report_run(const struct taken *steps, unsigned count) {
  static uintptr_t pcs[LONGEST];
  unsigned first = count > LONGEST ? count - LONGEST : 0, shown = count - first;
  for (unsigned i = 0; i < shown; i++) pcs[i] = steps[first + i].step.pc;
  find_places(pcs, shown);
  for (unsigned i = 0; i < shown; i++) print_step(first + i, &steps[first + i], places[i]);
}

void report_failure(const struct interleave_result *found) {
  printf("     INTERLEAVE_SCHEDULE=%s\n", found->schedule);
  FAIL("run %llu: %s", (unsigned long long)found->runs + 1, found->why);
}
