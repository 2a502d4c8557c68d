#include "program/report.h"
#include "base/alloc.h"

/* ---- numbers -------------------------------------------------------------------- */

/* Prints 1234567 as "1 234 567", right-aligned in a column. */
static void put_number(struct tide_text *text, uint64_t number, size_t width) {
  char digits[32];
  size_t at = sizeof digits, count = 0;
  do {
    if (count && count % 3 == 0) digits[--at] = ' ';
    digits[--at] = (char)('0' + number % 10);
    count++;
  } while (number /= 10);
  size_t length = sizeof digits - at;
  for (size_t i = length; i < width; i++) tide_text_format(text, " ");
  tide_text_bytes(text, digits + at, length);
}

static void put_count(struct tide_text *text, uint64_t number, const char *one, const char *many) {
  put_number(text, number, 0);
  tide_text_format(text, " %s", number == 1 ? one : many);
}

/* Prints four digits of a time, with the largest unit that fits. */
static void put_time(struct tide_text *text, uint64_t ns) {
  static const struct {
    uint64_t unit;
    const char *name;
  } units[] = {{1000000000, "s"}, {1000000, "ms"}, {1000, "us"}};
  size_t unit = ns >= 1000000000 ? 0 : ns >= 1000000 ? 1 : 2;
  uint64_t whole = ns / units[unit].unit, part = ns % units[unit].unit / (units[unit].unit / 1000);
  if (whole >= 100)
    tide_text_format(text, "%lu.%lu", (unsigned long)whole, (unsigned long)(part / 100));
  else if (whole >= 10)
    tide_text_format(text, "%lu.%02lu", (unsigned long)whole, (unsigned long)(part / 10));
  else tide_text_format(text, "%lu.%03lu", (unsigned long)whole, (unsigned long)part);
  tide_text_format(text, " %s", units[unit].name);
}

/* Prints tenths of a percent. */
static void put_percent(struct tide_text *text, uint64_t part, uint64_t whole) {
  uint64_t tenths = whole ? part * 1000 / whole : 0;
  tide_text_format(text, "%lu.%lu %%", (unsigned long)(tenths / 10), (unsigned long)(tenths % 10));
}

const char *tide_report_size(uint64_t bytes, char *buffer, size_t size) {
  static const struct {
    unsigned shift;
    const char *unit;
  } units[] = {{30, "G"}, {20, "M"}, {10, "K"}, {0, ""}};
  size_t unit = 0;
  while (units[unit].shift && (bytes >> units[unit].shift) << units[unit].shift != bytes) unit++;
  struct tide_text text;
  tide_text_init(&text, buffer, size);
  tide_text_format(&text, "%lu%s", (unsigned long)(bytes >> units[unit].shift), units[unit].unit);
  return buffer;
}

/* ---- times ------------------------------------------------------------------------ */

uint64_t tide_times_median(struct tide_times *times) {
  uint64_t *list = times->list;
  size_t count = times->count;
  if (!count) return 0;
  for (size_t i = 1; i < count; i++)
    for (size_t j = i; j > 0 && list[j - 1] > list[j]; j--) {
      uint64_t other = list[j];
      list[j] = list[j - 1];
      list[j - 1] = other;
    }
  return count % 2 ? list[count / 2] : list[count / 2 - 1] / 2 + list[count / 2] / 2;
}

uint64_t tide_times_least(const struct tide_times *times) {
  uint64_t least = times->count ? times->list[0] : 0;
  for (size_t i = 1; i < times->count; i++)
    if (times->list[i] < least) least = times->list[i];
  return least;
}

uint64_t tide_times_most(const struct tide_times *times) {
  uint64_t most = 0;
  for (size_t i = 0; i < times->count; i++)
    if (times->list[i] > most) most = times->list[i];
  return most;
}

const char *tide_run_mode_name(enum tide_run_mode mode) {
  static const char *const names[] = {"tracked", "events", "barrier", "sequential"};
  return (unsigned)mode < 4 ? names[mode] : "unknown";
}

/* ---- operations and checks ------------------------------------------------------------- */

static void print_ran(const struct tide_run_report *report, struct tide_text *text) {
  const struct tide_plan_tables *tables = report->tables;
  const struct tide_run_result *result =
      report->online.there ? &report->online.result : &report->paused.result;
  tide_text_format(text, "  ran       ");
  put_count(text, result->operations, "operation", "operations");
  tide_text_format(text, " on ");
  put_count(text, tables->queue_count, "queue", "queues");
  tide_text_format(text, " of ");
  put_count(text, tables->device_count, "device", "devices");
  if (result->failed) {
    tide_text_format(text, "; ");
    put_number(text, result->failed, 0);
    tide_text_format(text, " failed");
  }
  tide_text_format(text, "\n");
  if (report->devices && !report->quiet)
    tide_text_format(text, "            %s\n", report->devices);
  if (report->outputs && !report->quiet)
    tide_text_format(text, "  wrote     %s\n", report->outputs);
}

static void print_checked(const struct tide_run_report *report, struct tide_text *text) {
  if (!report->checked) return;
  tide_text_format(text, "  checked   every byte equals a sequential run: ");
  put_count(text, report->files, "output file", "output files");
  tide_text_format(text, " (");
  put_count(text, report->file_bytes, "byte", "bytes");
  tide_text_format(text, "), ");
  put_count(text, report->buffers, "buffer", "buffers");
  tide_text_format(text, " (");
  put_count(text, report->buffer_bytes, "byte", "bytes");
  tide_text_format(text, ")\n            ");
  if (report->findings) put_count(text, report->findings, "ordering error", "ordering errors");
  else
    tide_text_format(text, "no ordering errors: no wait is missing, no buffer is freed too early");
  tide_text_format(text, "\n");
}

/* ---- waits --------------------------------------------------------------------------- */

enum { COLUMN = 12 };

static void put_row(struct tide_text *text, const char *name) {
  tide_text_format(text, "    %-18s", name);
}

static void print_wait_row(const struct tide_report_row *row, const char *name,
                           struct tide_text *text) {
  const struct tide_context_stats *stats = &row->result.sched;
  if (!row->there) return;
  put_row(text, name);
  put_number(text, stats->waits, COLUMN);
  put_number(text, stats->waits_resolved, COLUMN);
  put_number(text, stats->waits_elided, COLUMN);
  put_number(text, stats->waits_issued, COLUMN);
  if (row->counted) put_number(text, row->waits.issued_cross, COLUMN + 4);
  tide_text_format(text, "\n");
}

static void put_blank(struct tide_text *text, size_t columns) {
  tide_text_format(text, "%*s", (int)(columns * COLUMN), "");
}

/* Prints the waits for the last users of recycled memory: they order work that may overlap without
 * them. */
static void print_memory_waits(const struct tide_run_report *report, struct tide_text *text) {
  char size[32];
  const struct tide_report_row *row = &report->paused;
  if (!row->there && !report->quiet) row = &report->online;
  if (!row->there || !row->result.sched.gap_waits) return;
  tide_text_format(text, "    and ");
  put_count(text, row->result.sched.gap_waits, "wait", "waits");
  tide_text_format(text, " for recycled buffers");
  if (report->unlimited_memory)
    tide_text_format(text, "; with --memory %s there are none (tidemark sim tells what they cost)",
                     tide_report_size(report->unlimited_memory, size, sizeof size));
  tide_text_format(text, "\n");
}

static void print_waits(const struct tide_run_report *report, struct tide_text *text) {
  const struct tide_plan_counts *counts = &report->counts;
  tide_text_format(text, "  waits             %14s%12s%12s%12s%16s\n", "submitted", "resolved",
                   "elided", "issued", "between queues");
  print_wait_row(&report->paused, "paused", text);
  if (!report->quiet) print_wait_row(&report->online, "as it happened", text);
  if (counts->known) {
    put_row(text, "fewest, by hand");
    put_blank(text, 3);
    put_number(text, counts->fewest, COLUMN);
    put_number(text, counts->fewest_cross, COLUMN + 4);
    tide_text_format(text, "\n");
  }
  if (report->baseline == TIDE_RUN_EVENTS && !report->quiet) {
    put_row(text, "an event each");
    put_blank(text, 3);
    put_number(text, report->baseline_result.event_waits, COLUMN);
    tide_text_format(text, "\n");
  }
  print_memory_waits(report, text);
  if (report->paused.there && report->paused.counted && report->stats) {
    const struct tide_wait_counter *waits = &report->paused.waits;
    tide_text_format(text, "    elided because the queue knew it: ");
    put_number(text, waits->elided_known, 0);
    tide_text_format(text, ", it had finished: ");
    put_number(text, waits->elided_finished, 0);
    tide_text_format(text, ", another wait brings it: ");
    put_number(text, waits->elided_sibling, 0);
    tide_text_format(text, "\n");
  }
}

/* ---- buffers ---------------------------------------------------------------------------- */

static void print_buffer_row(const struct tide_report_row *row, const char *name,
                             struct tide_text *text) {
  const struct tide_pool_stats *stats = &row->result.pool;
  if (!row->there) return;
  put_row(text, name);
  put_number(text, stats->allocs, COLUMN);
  put_number(text, stats->reused_known, COLUMN);
  put_number(text, stats->reused_finished, COLUMN);
  put_number(text, stats->reused_gap, COLUMN);
  put_number(text, stats->fresh, COLUMN + 4);
  tide_text_format(text, "\n");
}

static bool uses_scratch(const struct tide_plan_tables *tables) {
  for (size_t i = 0; i < tables->buffer_count; i++)
    if (tables->buffers[i].scratch) return true;
  return false;
}

static void print_buffers(const struct tide_run_report *report, struct tide_text *text) {
  if (!uses_scratch(report->tables)) return;
  tide_text_format(text, "  buffers           %14s%12s%12s%12s%16s\n", "handed out", "known",
                   "finished", "gap waits", "fresh memory");
  print_buffer_row(&report->paused, "paused", text);
  if (!report->quiet) print_buffer_row(&report->online, "as it happened", text);
}

/* ---- statistics ---------------------------------------------------------------------------- */

static void print_stats(const struct tide_run_report *report, struct tide_text *text) {
  const struct tide_report_row *row =
      report->quiet || !report->online.there ? &report->paused : &report->online;
  if (!report->stats || !row->there) return;
  const struct tide_context_stats *stats = &row->result.sched;
  tide_text_format(text, "  stats     held at submit ");
  put_number(text, stats->held, 0);
  tide_text_format(text, ", signals ");
  put_number(text, stats->signals, 0);
  tide_text_format(text, ", waits for buffers ");
  put_number(text, stats->gap_waits, 0);
  tide_text_format(text, ", failed waits ");
  put_number(text, stats->waits_failed, 0);
  tide_text_format(text, "\n            frontier entries ");
  put_number(text, stats->frontier_entries, 0);
  tide_text_format(text, ", at most ");
  put_number(text, stats->frontier_peak, 0);
  tide_text_format(text, ", tainted ");
  put_number(text, stats->tainted, 0);
  tide_text_format(text, "\n");
  if (report->quiet) return;
  tide_text_format(text, "            picked ");
  put_number(text, stats->picks, 0);
  tide_text_format(text, ", devices woken ");
  put_number(text, stats->kicks, 0);
  tide_text_format(text, ", submitted in ");
  put_time(text, row->result.submit);
  tide_text_format(text, ", memory taken at most ");
  put_number(text, row->result.pool.source_peak, 0);
  tide_text_format(text, " bytes\n");
}

/* ---- time ------------------------------------------------------------------------------------ */

static void put_times(struct tide_text *text, const struct tide_times *times, uint64_t median) {
  put_time(text, median);
  if (times->count > 1) {
    tide_text_format(text, "  (");
    put_time(text, tide_times_least(times));
    tide_text_format(text, " to ");
    put_time(text, tide_times_most(times));
    tide_text_format(text, ", %zu runs)", times->count);
  }
}

static void print_baseline(const struct tide_run_report *report, struct tide_text *text) {
  const struct tide_run_result *result = &report->baseline_result;
  if (report->baseline == TIDE_RUN_EVENTS) {
    tide_text_format(text, "            events: the same queues, devices and bodies; ");
    put_count(text, result->events, "binary event", "binary events");
    tide_text_format(text, " for dependencies");
    if (result->use_events) {
      tide_text_format(text, ",\n            ");
      put_number(text, result->use_events, 0);
      tide_text_format(text, " for uses of recycled buffers and ");
      put_count(text, result->reuse_waits, "wait", "waits");
      tide_text_format(text, " for them; nothing is elided");
    }
    tide_text_format(text, "\n");
  } else {
    tide_text_format(
        text, "            barrier: the same queues, devices and bodies; all queues were joined ");
    put_count(text, result->barriers, "time", "times");
    tide_text_format(text, "\n");
  }
}

/* Prints the difference of the medians. Where the ranges of the runs overlap, it says little. */
static void print_verdict(uint64_t tracked, uint64_t other, const struct tide_run_report *report,
                          struct tide_text *text) {
  uint64_t difference = tracked < other ? other - tracked : tracked - other;
  const struct tide_times *a = &report->tracked_times, *b = &report->baseline_times;
  bool overlap =
      tide_times_least(a) <= tide_times_most(b) && tide_times_least(b) <= tide_times_most(a);
  tide_text_format(text, "            tracked took ");
  put_percent(text, difference, other);
  tide_text_format(text, " %s time", tracked <= other ? "less" : "more");
  if (a->count > 1 && overlap) tide_text_format(text, "; the runs overlap, so this says little");
  else if (tracked > other) tide_text_format(text, ": here it costs more than it saves");
  tide_text_format(text, "\n");
}

static void print_times(struct tide_run_report *report, struct tide_text *text) {
  if (report->quiet || !report->tracked_times.count) return;
  uint64_t tracked = tide_times_median(&report->tracked_times);
  tide_text_format(text, "  time      %-10s", "tracked");
  put_times(text, &report->tracked_times, tracked);
  tide_text_format(text, "\n");
  if (report->baseline == TIDE_RUN_TRACKED || !report->baseline_times.count) return;
  uint64_t other = tide_times_median(&report->baseline_times);
  tide_text_format(text, "            %-10s", tide_run_mode_name(report->baseline));
  put_times(text, &report->baseline_times, other);
  tide_text_format(text, "\n");
  print_baseline(report, text);
  print_verdict(tracked, other, report, text);
}

void tide_report_print(const struct tide_run_report *report, struct tide_text *text) {
  struct tide_run_report copy = *report; /* the times are sorted in place */
  print_ran(report, text);
  print_checked(report, text);
  print_waits(report, text);
  print_buffers(report, text);
  print_stats(report, text);
  print_times(&copy, text);
}
