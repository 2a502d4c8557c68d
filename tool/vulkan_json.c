/* The reports of `tidemark vulkan` as JSON. */
#include "tool/vulkan_explore.h"

#include "layer/build_id.h"

#include <stdlib.h>
#include <string.h>

void tide_vulkan_json_program(struct tide_json *json, const struct tide_vulkan_job *job) {
  tide_json_open(json, "program", '[');
  for (char **word = job->program; *word; word++) tide_json_text(json, NULL, *word);
  tide_json_close(json, ']');
}

void tide_vulkan_json_ending(struct tide_json *json, const char *key,
                             const struct tide_vulkan_ending *ending) {
  static const char *const names[] = {[TIDE_VULKAN_EXITED] = "exit",
                                      [TIDE_VULKAN_KILLED] = "signal",
                                      [TIDE_VULKAN_LIMIT] = "limit",
                                      [TIDE_VULKAN_INTERRUPTED] = "interrupted",
                                      [TIDE_VULKAN_NOT_STARTED] = "not started"};
  tide_json_open(json, key, '{');
  tide_json_text(json, "how", names[ending->end]);
  if (ending->end == TIDE_VULKAN_EXITED) tide_json_integer(json, "status", ending->number);
  if (ending->end == TIDE_VULKAN_KILLED || ending->end == TIDE_VULKAN_INTERRUPTED)
    tide_json_integer(json, "signal", ending->number);
  tide_json_seconds(json, "seconds", ending->took_ns);
  tide_json_number(json, "processes_left", ending->left);
  tide_json_close(json, '}');
}

/* ---- reports --------------------------------------------------------------------- */

/* Puts all lines of a kind: as texts, or as objects if they have more than a text. */
static void put_lines(struct tide_json *json, const char *key,
                      const struct tide_vulkan_report *report, enum tide_vulkan_line_kind kind,
                      const char *word, const char *number) {
  tide_json_open(json, key, '[');
  for (size_t i = 0; i < report->line_count; i++) {
    const struct tide_vulkan_line *line = &report->lines[i];
    if (line->kind != kind) continue;
    if (word || number) tide_json_open(json, NULL, '{');
    if (word) tide_json_text(json, word, line->word);
    if (number) tide_json_number(json, number, line->number);
    tide_json_text(json, word || number ? "text" : NULL, line->text);
    if (word || number) tide_json_close(json, '}');
  }
  tide_json_close(json, ']');
}

/* Puts the identity of the layer: the tool has refused the reports of any other one. */
static void put_layer(struct tide_json *json, const char *file) {
  tide_json_open(json, "layer", '{');
  tide_json_text(json, "version", tide_layer_version);
  tide_json_text(json, "build", tide_layer_build);
  tide_json_text(json, "file", file);
  tide_json_close(json, '}');
}

static void put_report(struct tide_json *json, const struct tide_vulkan_report *report) {
  tide_json_open(json, NULL, '{');
  tide_json_number(json, "process", report->process);
  tide_json_text(json, "name", report->name);
  tide_json_text(json, "mode", report->mode);
  put_layer(json, report->file);
  tide_json_text(json, "reason", report->reason);
  put_lines(json, "verdict", report, TIDE_VULKAN_LINE_VERDICT, NULL, NULL);
  put_lines(json, "devices", report, TIDE_VULKAN_LINE_DEVICE, NULL, NULL);
  tide_json_open(json, "counts", '{');
  for (size_t i = 0; i < report->count_count; i++)
    tide_json_number(json, report->counts[i].name, report->counts[i].number);
  tide_json_close(json, '}');
  if (report->schedule) tide_json_text(json, "schedule", report->schedule);
  put_lines(json, "findings", report, TIDE_VULKAN_LINE_FINDING, "kind", NULL);
  put_lines(json, "limits", report, TIDE_VULKAN_LINE_LIMIT, NULL, NULL);
  put_lines(json, "text", report, TIDE_VULKAN_LINE_TEXT, NULL, NULL);
  put_lines(json, "edges", report, TIDE_VULKAN_LINE_EDGE, NULL, "number");
  put_lines(json, "waits", report, TIDE_VULKAN_LINE_WAIT, "class", "count");
  tide_json_close(json, '}');
}

void tide_vulkan_json_reports(struct tide_json *json, const struct tide_vulkan_reports *reports) {
  tide_json_open(json, "reports", '[');
  for (size_t i = 0; i < reports->count; i++) put_report(json, &reports->list[i]);
  tide_json_close(json, ']');
}

/* ---- explore --------------------------------------------------------------------- */

/* Puts a text of several lines as an array. */
static void put_text_lines(struct tide_json *json, const char *key, const char *text) {
  tide_json_open(json, key, '[');
  while (text && *text) {
    size_t length = strcspn(text, "\n");
    char *line = strndup(text, length);
    tide_json_text(json, NULL, line ? line : "");
    free(line);
    text += length + (text[length] == '\n');
  }
  tide_json_close(json, ']');
}

static void put_outcome(struct tide_json *json, const struct tide_vulkan_outcome *outcome) {
  static const char *const names[] = {"differs", "exit_status", "hang",
                                      "crash",   "device_lost", "finding"};
  tide_json_open(json, NULL, '{');
  tide_json_number(json, "seed", outcome->seed);
  tide_vulkan_json_ending(json, "ended", &outcome->ending);
  tide_json_open(json, "failures", '[');
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (outcome->failures >> i & 1) tide_json_text(json, NULL, names[i]);
  tide_json_close(json, ']');
  if (outcome->difference.target) {
    tide_json_text(json, "target", outcome->difference.target);
    if (outcome->difference.is_missing) tide_json_bool(json, "is_missing", true);
    else tide_json_number(json, "offset", outcome->difference.offset);
  }
  if (outcome->schedule[0]) tide_json_text(json, "schedule", outcome->schedule);
  tide_json_bool(json, "has_report", !outcome->is_silent && !outcome->is_broken);
  put_text_lines(json, "account", outcome->account);
  tide_json_close(json, '}');
}

static void put_summary(struct tide_json *json, const struct tide_vulkan_summary *summary) {
  tide_json_open(json, "counts", '{');
  for (size_t i = 0; i < summary->counts.count; i++)
    tide_json_number(json, summary->counts.list[i].text, summary->counts.list[i].number);
  tide_json_close(json, '}');
  tide_json_number(json, "schedules", summary->schedules.count);
  tide_json_open(json, "findings", '[');
  for (size_t i = 0; i < summary->finding_count; i++) {
    const struct tide_vulkan_found *found = &summary->findings[i];
    tide_json_open(json, NULL, '{');
    tide_json_text(json, "kind", found->kind);
    tide_json_text(json, "text", found->text);
    tide_json_open(json, "seeds", '[');
    for (size_t k = 0; k < found->seed_count; k++) tide_json_number(json, NULL, found->seeds[k]);
    tide_json_close(json, ']');
    tide_json_close(json, '}');
  }
  tide_json_close(json, ']');
  tide_json_open(json, "limits", '[');
  for (size_t i = 0; i < summary->limits.count; i++) {
    tide_json_open(json, NULL, '{');
    tide_json_text(json, "text", summary->limits.list[i].text);
    tide_json_number(json, "count", summary->limits.list[i].number);
    tide_json_close(json, '}');
  }
  tide_json_close(json, ']');
}

static void put_shrunk(struct tide_json *json, const struct tide_vulkan_shrunk *shrunk) {
  static const char *const names[] = {[TIDE_VULKAN_SHRINK_NONE] = "none",
                                      [TIDE_VULKAN_SHRINK_NOT_REPRODUCED] = "not reproduced",
                                      [TIDE_VULKAN_SHRINK_PAIR] = "pair",
                                      [TIDE_VULKAN_SHRINK_PREFIX] = "prefix"};
  tide_json_open(json, "cause", '{');
  tide_json_text(json, "kind", names[shrunk->end]);
  tide_json_number(json, "seed", shrunk->seed);
  if (shrunk->why) tide_json_text(json, "why", shrunk->why);
  tide_json_number(json, "runs", shrunk->runs);
  if (shrunk->end == TIDE_VULKAN_SHRINK_PAIR) {
    tide_json_number(json, "first", shrunk->first);
    tide_json_number(json, "later", shrunk->later);
    put_text_lines(json, "account", shrunk->account);
  }
  if (shrunk->prefix) {
    tide_json_number(json, "prefix", shrunk->prefix);
    tide_json_number(json, "picks", shrunk->picks);
  }
  if (shrunk->order[0]) tide_json_text(json, "order", shrunk->order);
  tide_json_bool(json, "is_cut_short", shrunk->is_cut_short);
  tide_json_close(json, '}');
}

void tide_vulkan_json_exploration(const struct tide_vulkan_exploration *e, FILE *to) {
  static const char *const verdicts[] = {[TIDE_VULKAN_CLEAN] = "nothing found",
                                         [TIDE_VULKAN_FOUND] = "found",
                                         [TIDE_VULKAN_NOT_EXPLORED] = "not explored",
                                         [TIDE_VULKAN_NOT_COMPARABLE] = "not compared",
                                         [TIDE_VULKAN_STOPPED] = "stopped"};
  struct tide_json json = tide_tool_json(to);
  tide_json_open(&json, NULL, '{');
  tide_json_text(&json, "mode", tide_vulkan_mode_name(e->job->mode));
  tide_vulkan_json_program(&json, e->job);
  tide_json_text(&json, "result", e->interrupt ? "stopped" : verdicts[e->verdict]);
  if (e->reason[0]) tide_json_text(&json, "reason", e->reason);
  tide_vulkan_json_ending(&json, "without_layer", &e->plain);
  if (e->summary.layer) put_layer(&json, e->summary.layer);
  tide_json_open(&json, "runs", '[');
  for (size_t i = 0; i < e->outcome_count; i++) put_outcome(&json, &e->outcomes[i]);
  tide_json_close(&json, ']');
  put_summary(&json, &e->summary);
  tide_json_number(&json, "pairs", e->pairs.count);
  tide_json_number(&json, "pairs_untried", tide_vulkan_pairs_untried(&e->pairs));
  if (e->has_failing && !e->job->no_shrink) put_shrunk(&json, &e->shrunk);
  tide_json_close(&json, '}');
}
