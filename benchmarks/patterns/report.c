#include "report.h"

#include "figures.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

struct report {
  const char *folder;
  struct study study;
  FILE *file; /* that is being written */
  bool good, first;
};

/* ---- files ---- */

static char *path_of(const struct report *r, const char *name, const char *suffix) {
  size_t size = strlen(r->folder) + strlen(name) + strlen(suffix) + 2;
  char *path = malloc(size);
  if (path) snprintf(path, size, "%s/%s%s", r->folder, name, suffix);
  return path;
}

static bool complain(const char *path) {
  fprintf(stderr, "tidemark patterns: %s: %s\n", path, strerror(errno));
  return false;
}

static bool begin_file(struct report *r, const char *name, const char *suffix) {
  char *path = path_of(r, name, suffix);
  r->file = path ? fopen(path, "w") : NULL;
  bool good = r->file || complain(path ? path : name);
  free(path);
  return good;
}

static bool end_file(struct report *r, const char *name) {
  bool good = !ferror(r->file);
  good = fclose(r->file) == 0 && good;
  r->file = NULL;
  return good || complain(name);
}

/* Said before all is measured, not after. */
static bool make_folder(struct report *r) {
  if (mkdir(r->folder, 0777) != 0 && errno != EEXIST) return complain(r->folder);
  return begin_file(r, "report", ".json") && end_file(r, "report.json");
}

/* ---- how far it is ---- */

static void print_time(FILE *to, double seconds) {
  if (seconds < 100) fprintf(to, "%.0f s", seconds);
  else fprintf(to, "%.0f min", seconds / 60);
}

static void show_progress(const struct study *s, const char *what) {
  fprintf(stderr, "\r\033[K%zu of %zu: %s; ", s->done, s->count, what);
  print_time(stderr, s->took_s);
  fputs(" of about ", stderr);
  print_time(stderr, s->expected_s);
  fflush(stderr);
}

/* ---- the machine ---- */

static void read_cpu(char *name, size_t size) {
  FILE *file = fopen("/proc/cpuinfo", "r");
  char line[256];
  snprintf(name, size, "unknown processor");
  while (file && fgets(line, sizeof line, file)) {
    char *colon = strchr(line, ':');
    if (strncmp(line, "model name", 10) != 0 || !colon || !colon[1]) continue;
    colon[strcspn(colon, "\n\"\\")] = 0;
    snprintf(name, size, "%s", colon + 2);
    break;
  }
  if (file) fclose(file);
}

static void describe_machine(char *text, size_t size) {
  char cpu[128];
  struct utsname system;
  read_cpu(cpu, sizeof cpu);
  if (uname(&system) != 0) memset(&system, 0, sizeof system);
  snprintf(text, size, "%s, %ld cores, %s %s", cpu, sysconf(_SC_NPROCESSORS_ONLN), system.sysname,
           system.release);
}

/* ---- what is not in it ---- */

static void each_missing(const struct report *r,
                         void (*say)(const struct report *r, const char *what, const char *why)) {
  const struct study *s = &r->study;
  if (!s->two_devices) say(r, "two devices", "there is one core");
  for (size_t i = 0; i < way_count; i++)
    if (s->missing[i]) say(r, ways[i]->name, s->missing[i]);
  if (s->quick) say(r, "most of the grid", "this is a quick report");
  say(r, "the monitor thread's own time",
      "it runs on the consumers' core, but is in no figure of processor time");
  say(r, "hidden synchronisation and core shares of shared runs",
      "whose core it would be is not known there");
  say(r, "spin and plain threads in figure 16", "a million of them cannot be started");
}

/* ---- JSON ---- */

static void json_missing(const struct report *r, const char *what, const char *why) {
  static const char *before = "";
  fprintf(r->file, "%s\n  {\"what\":\"%s\",\"why\":\"%s\"}", before, what, why);
  before = ",";
}

static const char *purpose_name(enum purpose purpose) {
  static const char *const names[] = {"grid", "alone", "ready", "curves"};
  return names[purpose];
}

static void json_measured(FILE *to, const struct measured *m, bool last) {
  const struct outcome *o = &m->outcome;
  fprintf(to, "\n   {\"way\":\"%s\",\"rounds\":%u,\"good\":%s,\"cut\":%s,\"ns\":%llu", m->way->name,
          (unsigned)m->rounds, o->good ? "true" : "false", o->cut ? "true" : "false",
          (unsigned long long)o->ns);
  const struct {
    const char *name;
    uint64_t value;
  } numbers[] = {{"low", m->low},
                 {"high", m->high},
                 {"messages", o->messages},
                 {"downs", o->downs},
                 {"waits", o->waits},
                 {"checks", o->checks},
                 {"faults", o->faults},
                 {"waited_ns", o->waited_ns},
                 {"inside_ns", o->inside_ns},
                 {"alive_ns", o->alive_ns},
                 {"producer_inside_ns", o->producer_inside_ns},
                 {"producer_alive_ns", o->producer_alive_ns},
                 {"consumer_cpu_ns", o->consumer_cpu_ns},
                 {"producer_cpu_ns", o->producer_cpu_ns},
                 {"produce_ns", o->work_ns[PRODUCE]},
                 {"c1_ns", o->work_ns[C1]},
                 {"c2_ns", o->work_ns[C2]},
                 {"awaited_ns", o->awaited_ns},
                 {"both_ns", o->both_ns},
                 {"hidden_ns", o->hidden_ns}};
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
    fprintf(to, ",\"%s\":%llu", numbers[i].name, (unsigned long long)numbers[i].value);
  fprintf(to, ",\"apart\":%.12g,\"deviation\":%.12g}%s", o->apart, o->deviation, last ? "" : ",");
}

static void json_cell(FILE *to, const struct study_cell *c) {
  const struct settings *s = &c->cell.settings;
  const struct pace *pace = &c->cell.pace;
  fprintf(to, "{\"purpose\":\"%s\",\"pattern\":\"%s\",\"consumers\":%u,\"produce_us\":%u",
          purpose_name(c->purpose), c->cell.pattern->name, (unsigned)s->consumers,
          (unsigned)s->us[PRODUCE]);
  fprintf(to, ",\"us\":[%.1f,%.1f,%.1f],\"bytes\":%zu,\"cycles\":%u,\"two_devices\":%s,\"runs\":[",
          pace->us[PRODUCE], pace->us[C1], pace->us[C2], s->bytes, (unsigned)s->cycles,
          s->pinned ? "true" : "false");
  for (size_t i = 0; i < c->cell.way_count; i++)
    json_measured(to, &c->cell.ways[i], i + 1 == c->cell.way_count);
  fputs("]}", to);
}

static void json_scales(const struct report *r) {
  fputs("],\n \"warps\":[", r->file);
  for (size_t i = 0; i < r->study.scale_count; i++)
    for (size_t m = 0; m < STUDY_MODES; m++) {
      const struct study_scale *one = &r->study.scales[i][m];
      fprintf(r->file,
              "%s\n  {\"warps\":%u,\"mode\":\"%s\",\"ns\":%llu,\"faults\":%llu,\"good\":%s}",
              i + m ? "," : "", (unsigned)one->scale.warps, study_modes[m],
              (unsigned long long)one->outcome.ns, (unsigned long long)one->outcome.faults,
              one->outcome.good ? "true" : "false");
    }
}

static void json_figure(const struct figure *f, void *argument) {
  struct report *r = argument;
  fputs(r->first ? "\n  " : ",\n  ", r->file);
  r->first = false;
  figure_print_json(f, r->file);
}

static bool write_json(struct report *r) {
  char machine[300];
  describe_machine(machine, sizeof machine);
  if (!begin_file(r, "report", ".json")) return false;
  fprintf(r->file, "{\"machine\":\"%s\",\"quick\":%s,\"seconds\":%.1f,\"wrong\":%u,\n \"cells\":[",
          machine, r->study.quick ? "true" : "false", r->study.took_s, (unsigned)r->study.wrong);
  for (size_t i = 0; i < r->study.count; i++) {
    fputs(i ? ",\n  " : "\n  ", r->file);
    json_cell(r->file, &r->study.cells[i]);
  }
  json_scales(r);
  fputs("],\n \"figures\":[", r->file);
  r->first = true;
  figures_each(&r->study, json_figure, r);
  fputs("],\n \"left_out\":[", r->file);
  each_missing(r, json_missing);
  fputs("]}\n", r->file);
  return end_file(r, "report.json");
}

/* ---- tables ---- */

static void table_missing(const struct report *r, const char *what, const char *why) {
  fprintf(r->file, "- %s: %s.\n", what, why);
}

static void table_figure(const struct figure *f, void *argument) {
  struct report *r = argument;
  figure_print_table(f, r->file);
}

static void figure_file(const struct figure *f, void *argument) {
  struct report *r = argument;
  char *path = path_of(r, f->name, ".svg");
  bool good = path && (figure_draw(f, path) || complain(path));
  r->good = good && r->good;
  free(path);
}

static bool write_tables(struct report *r) {
  const struct study *s = &r->study;
  char machine[300];
  describe_machine(machine, sizeof machine);
  if (!begin_file(r, "report", ".md")) return false;
  fprintf(r->file,
          "Made by `tidemark patterns --report%s` on %s, in %.0f s. C1 and C2 take 100 us each, as "
          "near as whole repetitions of real work come to that (`report.json` has what they took); "
          "8, 4, "
          "2, 2 cycles with 4, 16, 64, 256 consumers; runs in turns, of each way the one of median "
          "time of up to %d, fewer where a round takes long (`report.json` says how many). All "
          "numbers were compared with a sequential run.\n\n",
          s->quick ? " --quick" : "", machine, s->took_s,
          s->rounds  ? (int)s->rounds
          : s->quick ? 1
                     : 3);
  if (s->wrong)
    fprintf(r->file, "**%u run%s wrong; the first: %s.**\n\n", (unsigned)s->wrong,
            s->wrong == 1 ? " was" : "s were", s->said);
  figures_each(s, table_figure, r);
  fputs("**Left out.**\n\n", r->file);
  each_missing(r, table_missing);
  return end_file(r, "report.md");
}

static void table_cell(FILE *to, const struct cell *c) {
  fprintf(to, "| %s | %s | %u | %zu K | %u |", c->pattern->name,
          c->settings.pinned ? "two" : "shared", (unsigned)c->settings.consumers,
          c->settings.bytes / 1024, (unsigned)c->settings.us[PRODUCE]);
  for (size_t w = 0; w < way_count; w++) {
    const struct outcome *o = grid_outcome(c, ways[w], true);
    if (o) fprintf(to, " %s%.2f |", o->cut ? "> " : "", (double)o->ns / 1e6);
    else fputs(" – |", to);
  }
  fputc('\n', to);
}

static bool write_grid(struct report *r) {
  if (!begin_file(r, "grid", ".md")) return false;
  fputs("Milliseconds of the run of median time; > : it was ended then.\n\n"
        "| pattern | devices | consumers | message | production us |",
        r->file);
  for (size_t w = 0; w < way_count; w++) fprintf(r->file, " %s |", ways[w]->name);
  fputs("\n|---|---|--:|--:|--:|", r->file);
  for (size_t w = 0; w < way_count; w++) fputs("--:|", r->file);
  fputc('\n', r->file);
  for (size_t i = 0; i < r->study.count; i++)
    if (r->study.cells[i].purpose == GRID) table_cell(r->file, &r->study.cells[i].cell);
  return end_file(r, "grid.md");
}

/* ---- all of it ---- */

static void say_where(const struct figure *f, void *argument) {
  const struct report *r = argument;
  if (r->study.quick || strcmp(f->name, "00-limits") != 0) return;
  figure_print_table(f, stdout);
}

static bool write_all(struct report *r) {
  r->good = write_json(r) && write_tables(r) && write_grid(r);
  figures_each(&r->study, figure_file, r);
  return r->good;
}

int report_write(const struct options *o) {
  struct report r = {.folder = o->report};
  struct study *s = &r.study;
  bool seen = isatty(STDERR_FILENO);
  s->quick = o->quick;
  s->seed = o->settings.seed;
  s->rounds = o->rounds;
  for (size_t i = 0; i < o->pattern_count; i++) s->patterns[s->pattern_count++] = o->patterns[i];
  if (seen) s->progress = show_progress;
  if (!make_folder(&r)) return 1;
  if (!study_plan(s)) {
    fputs("tidemark patterns: there is no memory for the report\n", stderr);
    return 1;
  }
  printf("%zu cells and up to %d warps; it takes about ", s->count, s->quick ? 512 : 31250);
  print_time(stdout, s->expected_s);
  puts("");
  fflush(stdout);
  study_measure(s);
  if (seen) fputs("\r\033[K", stderr);
  bool good = write_all(&r);
  figures_each(s, say_where, &r);
  if (good) printf("%s/report.md, grid.md, report.json and a drawing for each figure\n", r.folder);
  if (s->wrong)
    fprintf(stderr, "tidemark patterns: %u run%s wrong; the first: %s\n", (unsigned)s->wrong,
            s->wrong == 1 ? " was" : "s were", s->said);
  good = good && !s->wrong;
  study_free(s);
  return good ? 0 : 1;
}
