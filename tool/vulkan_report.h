/* tool/vulkan_report.h: reading the reports of the Vulkan layer (layer/protocol.h).
 *
 * The files lie in a directory that the program may write, too: everything is bounded, and an error
 * names its line. Strings of a report point into its own copy of the text. */
#ifndef TIDE_TOOL_VULKAN_REPORT_H
#define TIDE_TOOL_VULKAN_REPORT_H

#include "layer/recorded_order.h"

#define TIDE_VULKAN_REPORT_LINE_MOST ((size_t)4 << 10)  /* bytes, without the line feed */
#define TIDE_VULKAN_REPORT_LINES_MOST ((size_t)1 << 18) /* devices, findings, text and so on */
#define TIDE_VULKAN_COUNTS_MOST 128

/* ---- vulkan_report.c ---- */

enum tide_vulkan_line_kind {
  TIDE_VULKAN_LINE_VERDICT,
  TIDE_VULKAN_LINE_DEVICE,
  TIDE_VULKAN_LINE_FINDING,
  TIDE_VULKAN_LINE_LIMIT,
  TIDE_VULKAN_LINE_TEXT,
  TIDE_VULKAN_LINE_EDGE,
  TIDE_VULKAN_LINE_WAIT
};

struct tide_vulkan_line {
  enum tide_vulkan_line_kind kind;
  const char *word; /* a finding's kind, a wait's class; else NULL */
  uint64_t number;  /* an edge's number; the times that a wait was met; else 0 */
  const char *text;
};

struct tide_vulkan_count {
  const char *name;
  uint64_t number;
};

struct tide_vulkan_report {
  uint64_t process;
  const char *name, *mode, *reason;
  const char *version, *build, *file; /* the layer's identity; NULL: an older layer wrote none */
  const char *schedule;               /* hexadecimal digits; NULL: none */
  struct tide_vulkan_count counts[TIDE_VULKAN_COUNTS_MOST];
  size_t count_count;
  struct tide_vulkan_line *lines; /* sorted as in the file */
  size_t line_count, line_capacity;
  char *copy;
};

/* Reads a whole report. TIDE_CORRUPT, with the line in `diag`: the text is no report, or not a
 * whole one; TIDE_FULL: it is longer than the bounds above; TIDE_NOMEM. Then the report is empty. A
 * report that was read is freed by tide_vulkan_report_fini(). */
enum tide_status tide_vulkan_report_parse(struct tide_vulkan_report *report, const char *text,
                                          size_t length, struct tide_diag *diag);
/* Frees the memory of a report. An empty one (all zero) is allowed. */
void tide_vulkan_report_fini(struct tide_vulkan_report *report);
/* Returns the count of that name; 0 if the report has none. */
uint64_t tide_vulkan_report_count(const struct tide_vulkan_report *report, const char *name);

#endif
