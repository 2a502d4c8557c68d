/* The report of `tidemark run` for scripts. Times are in seconds. */
#include "tool/job.h"

static void put_row(struct tide_json *json, const char *key, const struct tide_report_row *row) {
  const struct tide_context_stats *sched = &row->result.sched;
  const struct tide_pool_stats *pool = &row->result.pool;
  if (!row->there) return;
  tide_json_open(json, key, '{');
  tide_json_number(json, "waits", sched->waits);
  tide_json_number(json, "resolved", sched->waits_resolved);
  tide_json_number(json, "elided", sched->waits_elided);
  tide_json_number(json, "issued", sched->waits_issued);
  tide_json_number(json, "failed", sched->waits_failed);
  if (row->counted) {
    tide_json_number(json, "issued_between_queues", row->waits.issued_cross);
    tide_json_number(json, "elided_known", row->waits.elided_known);
    tide_json_number(json, "elided_finished", row->waits.elided_finished);
    tide_json_number(json, "elided_by_another_wait", row->waits.elided_sibling);
  }
  tide_json_number(json, "held", sched->held);
  tide_json_number(json, "signals", sched->signals);
  tide_json_number(json, "buffer_waits", sched->gap_waits);
  tide_json_number(json, "frontier_entries", sched->frontier_entries);
  tide_json_number(json, "frontier_peak", sched->frontier_peak);
  tide_json_number(json, "tainted", sched->tainted);
  tide_json_open(json, "buffers", '{');
  tide_json_number(json, "handed_out", pool->allocs);
  tide_json_number(json, "reused_known", pool->reused_known);
  tide_json_number(json, "reused_finished", pool->reused_finished);
  tide_json_number(json, "reused_with_gap_waits", pool->reused_gap);
  tide_json_number(json, "fresh", pool->fresh);
  tide_json_number(json, "peak_bytes", pool->peak_bytes);
  tide_json_close(json, '}');
  tide_json_close(json, '}');
}

static void put_times(struct tide_json *json, const char *key, const struct tide_times *times) {
  struct tide_times copy = *times;
  if (!times->count) return;
  tide_json_open(json, key, '{');
  tide_json_seconds(json, "median", tide_times_median(&copy));
  tide_json_seconds(json, "least", tide_times_least(times));
  tide_json_seconds(json, "most", tide_times_most(times));
  tide_json_open(json, "runs", '[');
  for (size_t i = 0; i < times->count; i++) tide_json_seconds(json, NULL, times->list[i]);
  tide_json_close(json, ']');
  tide_json_close(json, '}');
}

static void put_baseline(struct tide_json *json, const struct tide_run_report *report) {
  const struct tide_run_result *result = &report->baseline_result;
  if (report->baseline == TIDE_RUN_TRACKED) return;
  tide_json_open(json, "baseline", '{');
  tide_json_text(json, "kind", tide_run_mode_name(report->baseline));
  tide_json_number(json, "events", result->events);
  tide_json_number(json, "use_events", result->use_events);
  tide_json_number(json, "event_waits", result->event_waits);
  tide_json_number(json, "reuse_waits", result->reuse_waits);
  tide_json_number(json, "barriers", result->barriers);
  tide_json_number(json, "reused", result->reused);
  tide_json_number(json, "fresh", result->fresh);
  tide_json_close(json, '}');
}

void tide_job_print_json(const struct tide_job *job, FILE *to) {
  const struct tide_run_report *report = &job->report;
  const struct tide_run_result *result =
      report->online.there ? &report->online.result : &report->paused.result;
  struct tide_json json = tide_tool_json(to);
  tide_json_open(&json, NULL, '{');
  tide_json_text(&json, "program", job->program.path);
  tide_json_number(&json, "operations", result->operations);
  tide_json_number(&json, "queues", report->tables->queue_count);
  tide_json_number(&json, "devices", report->tables->device_count);
  tide_json_bool(&json, "checked", report->checked);
  if (report->checked) {
    tide_json_number(&json, "equal_files", report->files);
    tide_json_number(&json, "equal_file_bytes", report->file_bytes);
    tide_json_number(&json, "equal_buffers", report->buffers);
    tide_json_number(&json, "ordering_errors", report->findings);
  }
  if (report->counts.known) {
    tide_json_open(&json, "fewest", '{');
    tide_json_number(&json, "waits", report->counts.fewest);
    tide_json_number(&json, "between_queues", report->counts.fewest_cross);
    tide_json_close(&json, '}');
  }
  put_row(&json, "paused", &report->paused);
  if (report->unlimited_memory)
    tide_json_number(&json, "memory_without_buffer_waits", report->unlimited_memory);
  if (!report->quiet) put_row(&json, "online", &report->online);
  put_baseline(&json, report);
  if (!report->quiet) {
    put_times(&json, "tracked_seconds", &report->tracked_times);
    put_times(&json, "baseline_seconds", &report->baseline_times);
  }
  tide_json_close(&json, '}');
}
