/* Reads a report of the Vulkan layer.
 *
 * The copy of the text is cut into terminated lines and words in place. Each key has a row in the
 * table below and a function that reads the rest of its line. */
#include "tool/vulkan_report.h"
#include "base/text.h"
#include "layer/protocol.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define WORD_MOST 64 /* bytes of a count's name, a finding's kind */

struct parser {
  struct tide_vulkan_report *report;
  struct tide_diag *diag;
  char *line_begin;
  uint32_t line;
  bool is_over; /* "end" was read */
};

/* ---- errors ---------------------------------------------------------------------- */

#define REFUSE(parser, at, ...)                                                                    \
  tide_diag_at((parser)->diag, TIDE_CORRUPT, (parser)->line,                                       \
               (uint32_t)((at) - (parser)->line_begin) + 1, __VA_ARGS__)

/* ---- words and numbers ----------------------------------------------------------- */

/* Cuts the first word off `*rest`, which then begins after the space. */
static char *cut_word(char **rest) {
  char *word = *rest, *space = strchr(word, ' ');
  *rest = space ? space + 1 : word + strlen(word);
  if (space) *space = 0;
  return word;
}

/* True for letters, digits, '-' and '_', at least one. */
static bool is_word(const char *word) {
  size_t length = strlen(word);
  for (size_t i = 0; i < length; i++) {
    char c = word[i];
    bool fits = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (!fits && c != '-' && c != '_') return false;
  }
  return length > 0 && length <= WORD_MOST;
}

static bool is_one_of(const char *word, const char *const *words) {
  while (*words && strcmp(*words, word) != 0) words++;
  return *words != NULL;
}

static bool read_number(const char *text, uint64_t *out_number) {
  char *end;
  if (text[0] < '0' || text[0] > '9') return false;
  errno = 0;
  *out_number = strtoull(text, &end, 10);
  return !errno && !*end;
}

/* ---- the rest of a line, by key -------------------------------------------------- */

static enum tide_status add_line(struct parser *parser, struct tide_vulkan_line line) {
  struct tide_vulkan_report *report = parser->report;
  if (report->line_count == TIDE_VULKAN_REPORT_LINES_MOST)
    return tide_diag_at(parser->diag, TIDE_FULL, parser->line, 1,
                        "too many lines: at most %zu are read", TIDE_VULKAN_REPORT_LINES_MOST);
  if (report->line_count == report->line_capacity) {
    size_t capacity = report->line_capacity ? 2 * report->line_capacity : 64;
    struct tide_vulkan_line *lines = realloc(report->lines, capacity * sizeof *lines);
    if (!lines) return tide_diag_set(parser->diag, TIDE_NOMEM, "out of memory");
    report->lines = lines;
    report->line_capacity = capacity;
  }
  report->lines[report->line_count++] = line;
  return TIDE_OK;
}

/* Reads "process PID NAME". */
static enum tide_status read_process(struct parser *parser, char *rest) {
  struct tide_vulkan_report *report = parser->report;
  char *word = cut_word(&rest);
  if (report->name) return REFUSE(parser, word, "a second 'process': one is expected");
  if (!read_number(word, &report->process) || !report->process)
    return REFUSE(parser, word, "a process id is expected, not '%s'", word);
  if (!*rest) return REFUSE(parser, rest, "the process's name is missing");
  report->name = rest;
  return TIDE_OK;
}

static enum tide_status read_mode(struct parser *parser, char *rest) {
  static const char *const modes[] = {"explain", "explore", "audit", NULL};
  if (parser->report->mode) return REFUSE(parser, rest, "a second 'mode': one is expected");
  if (!is_one_of(rest, modes))
    return REFUSE(parser, rest, "explain, explore or audit is expected, not '%s'", rest);
  parser->report->mode = rest;
  return TIDE_OK;
}

/* Reads "layer VERSION BUILD FILE". */
static enum tide_status read_layer(struct parser *parser, char *rest) {
  struct tide_vulkan_report *report = parser->report;
  char *version = cut_word(&rest), *build = cut_word(&rest);
  if (report->build) return REFUSE(parser, version, "a second 'layer': one is expected");
  if (!*version) return REFUSE(parser, version, "the layer's version is missing");
  if (!is_word(build)) return REFUSE(parser, build, "a build id is expected, not '%s'", build);
  if (!*rest) return REFUSE(parser, rest, "the layer's file is missing");
  report->version = version;
  report->build = build;
  report->file = rest;
  return TIDE_OK;
}

static enum tide_status read_reason(struct parser *parser, char *rest) {
  static const char *const reasons[] = {"exit", "request", "lost", NULL};
  if (parser->report->reason) return REFUSE(parser, rest, "a second 'reason': one is expected");
  if (!is_one_of(rest, reasons))
    return REFUSE(parser, rest, "exit, request or lost is expected, not '%s'", rest);
  parser->report->reason = rest;
  return TIDE_OK;
}

/* Reads "count NAME NUMBER". */
static enum tide_status read_count(struct parser *parser, char *rest) {
  struct tide_vulkan_report *report = parser->report;
  struct tide_vulkan_count count = {.name = cut_word(&rest)};
  if (!is_word(count.name))
    return REFUSE(parser, count.name, "a count's name is expected, not '%s'", count.name);
  for (size_t i = 0; i < report->count_count; i++)
    if (strcmp(report->counts[i].name, count.name) == 0)
      return REFUSE(parser, count.name, "count '%s' comes twice", count.name);
  if (!read_number(rest, &count.number))
    return REFUSE(parser, rest, "a number below 2^64 is expected, not '%s'", rest);
  if (report->count_count == TIDE_VULKAN_COUNTS_MOST)
    return tide_diag_at(parser->diag, TIDE_FULL, parser->line, 1,
                        "too many counts: at most %d are read", TIDE_VULKAN_COUNTS_MOST);
  report->counts[report->count_count++] = count;
  return TIDE_OK;
}

static enum tide_status read_schedule(struct parser *parser, char *rest) {
  size_t length = strlen(rest);
  if (parser->report->schedule) return REFUSE(parser, rest, "a second 'schedule': one is expected");
  if (!length || length > WORD_MOST || strspn(rest, "0123456789abcdefABCDEF") != length)
    return REFUSE(parser, rest, "hexadecimal digits are expected, not '%s'", rest);
  parser->report->schedule = rest;
  return TIDE_OK;
}

static enum tide_status read_device(struct parser *parser, char *rest) {
  if (!*rest) return REFUSE(parser, rest, "the device's name is missing");
  return add_line(parser, (struct tide_vulkan_line){TIDE_VULKAN_LINE_DEVICE, NULL, 0, rest});
}

/* Reads "finding KIND TEXT". */
static enum tide_status read_finding(struct parser *parser, char *rest) {
  char *kind = cut_word(&rest);
  if (!is_word(kind)) return REFUSE(parser, kind, "a finding's kind is expected, not '%s'", kind);
  if (!*rest) return REFUSE(parser, rest, "the finding's text is missing");
  return add_line(parser, (struct tide_vulkan_line){TIDE_VULKAN_LINE_FINDING, kind, 0, rest});
}

static enum tide_status read_limit(struct parser *parser, char *rest) {
  if (!*rest) return REFUSE(parser, rest, "the limit's text is missing");
  return add_line(parser, (struct tide_vulkan_line){TIDE_VULKAN_LINE_LIMIT, NULL, 0, rest});
}

static enum tide_status read_verdict(struct parser *parser, char *rest) {
  if (!*rest) return REFUSE(parser, rest, "the verdict's text is missing");
  return add_line(parser, (struct tide_vulkan_line){TIDE_VULKAN_LINE_VERDICT, NULL, 0, rest});
}

static enum tide_status read_text(struct parser *parser, char *rest) {
  return add_line(parser, (struct tide_vulkan_line){TIDE_VULKAN_LINE_TEXT, NULL, 0, rest});
}

/* Reads "edge N TEXT". */
static enum tide_status read_edge(struct parser *parser, char *rest) {
  char *word = cut_word(&rest);
  uint64_t number;
  if (!read_number(word, &number) || !number)
    return REFUSE(parser, word, "an edge's number is expected, from 1, not '%s'", word);
  if (!*rest) return REFUSE(parser, rest, "the edge's text is missing");
  return add_line(parser, (struct tide_vulkan_line){TIDE_VULKAN_LINE_EDGE, NULL, number, rest});
}

/* Reads "wait CLASS COUNT TEXT". */
static enum tide_status read_wait(struct parser *parser, char *rest) {
  static const char *const classes[] = {"own", "known", "sibling", "seen", "needed", NULL};
  char *class_ = cut_word(&rest), *word = cut_word(&rest);
  uint64_t number;
  if (!is_one_of(class_, classes))
    return REFUSE(parser, class_, "own, known, sibling, seen or needed is expected, not '%s'",
                  class_);
  if (!read_number(word, &number) || !number)
    return REFUSE(parser, word, "how often it was met is expected, from 1, not '%s'", word);
  if (!*rest) return REFUSE(parser, rest, "the wait's text is missing");
  return add_line(parser, (struct tide_vulkan_line){TIDE_VULKAN_LINE_WAIT, class_, number, rest});
}

static enum tide_status read_end(struct parser *parser, char *rest) {
  const struct tide_vulkan_report *report = parser->report;
  if (*rest) return REFUSE(parser, rest, "nothing is expected behind 'end', not '%s'", rest);
  const char *missing = !report->name     ? "process"
                        : !report->mode   ? "mode"
                        : !report->reason ? "reason"
                                          : NULL;
  if (missing) return REFUSE(parser, parser->line_begin, "there is no line '%s'", missing);
  parser->is_over = true;
  return TIDE_OK;
}

static const struct {
  const char *key;
  enum tide_status (*read)(struct parser *parser, char *rest);
} keys[] = {
    {"process", read_process},   {"mode", read_mode},       {"layer", read_layer},
    {"reason", read_reason},     {"device", read_device},   {"count", read_count},
    {"schedule", read_schedule}, {"finding", read_finding}, {"limit", read_limit},
    {"text", read_text},         {"edge", read_edge},       {"wait", read_wait},
    {"verdict", read_verdict},   {"end", read_end},
};

/* ---- lines ----------------------------------------------------------------------- */

/* Refuses invalid UTF-8, and control characters, which a terminal would obey. */
static enum tide_status check_characters(struct parser *parser, const char *end) {
  for (const char *at = parser->line_begin; at < end;) {
    unsigned char c = (unsigned char)*at;
    size_t size = tide_text_utf8(at);
    if (c < 0x20 || c == 0x7f || (c == 0xc2 && (unsigned char)at[1] < 0xa0))
      return REFUSE(parser, at, "a control character: text is expected");
    if (!size) return REFUSE(parser, at, "a byte that is no UTF-8: text is expected");
    at += size;
  }
  return TIDE_OK;
}

static enum tide_status read_line(struct parser *parser) {
  char *rest = parser->line_begin;
  if (parser->line == 1) {
    if (strcmp(rest, TIDE_VULKAN_REPORT_HEAD) == 0) return TIDE_OK;
    return REFUSE(parser, rest, "'%s' is expected, not '%s'", TIDE_VULKAN_REPORT_HEAD, rest);
  }
  if (parser->is_over) return REFUSE(parser, rest, "nothing is expected behind 'end'");
  char *key = cut_word(&rest);
  for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
    if (strcmp(keys[i].key, key) == 0) return keys[i].read(parser, rest);
  return REFUSE(parser, key, "a key such as 'text' is expected, not '%s'", key);
}

static enum tide_status read_lines(struct parser *parser, char *text, char *end) {
  enum tide_status status = TIDE_OK;
  for (char *next = text; next < end && status == TIDE_OK;) {
    parser->line++;
    parser->line_begin = next;
    char *feed = memchr(next, '\n', (size_t)(end - next));
    if (!feed) return REFUSE(parser, next, "the last line is not whole: no 'end' came");
    if ((size_t)(feed - next) > TIDE_VULKAN_REPORT_LINE_MOST)
      return tide_diag_at(parser->diag, TIDE_FULL, parser->line, 1,
                          "a line of %zu bytes: at most %zu are read", (size_t)(feed - next),
                          TIDE_VULKAN_REPORT_LINE_MOST);
    *feed = 0;
    next = feed + 1;
    status = check_characters(parser, feed);
    if (status == TIDE_OK) status = read_line(parser);
  }
  if (status != TIDE_OK || parser->is_over) return status;
  parser->line++;
  parser->line_begin = end;
  return REFUSE(parser, end, "the report is not complete: no 'end' came");
}

enum tide_status tide_vulkan_report_parse(struct tide_vulkan_report *report, const char *text,
                                          size_t length, struct tide_diag *diag) {
  struct parser parser = {.report = report, .diag = diag};
  *report = (struct tide_vulkan_report){.process = 0};
  if (length > TIDE_VULKAN_FILE_MOST)
    return tide_diag_at(diag, TIDE_FULL, 1, 1, "%zu bytes: at most %zu are read", length,
                        TIDE_VULKAN_FILE_MOST);
  report->copy = malloc(length + 1);
  if (!report->copy) return tide_diag_set(diag, TIDE_NOMEM, "out of memory");
  if (length) memcpy(report->copy, text, length);
  report->copy[length] = 0;
  enum tide_status status = read_lines(&parser, report->copy, report->copy + length);
  if (status != TIDE_OK) tide_vulkan_report_fini(report);
  return status;
}

void tide_vulkan_report_fini(struct tide_vulkan_report *report) {
  free(report->lines);
  free(report->copy);
  *report = (struct tide_vulkan_report){.process = 0};
}

uint64_t tide_vulkan_report_count(const struct tide_vulkan_report *report, const char *name) {
  for (size_t i = 0; i < report->count_count; i++)
    if (strcmp(report->counts[i].name, name) == 0) return report->counts[i].number;
  return 0;
}
