/* A report of the Vulkan layer as text. */
#include "tool/vulkan_session.h"

#include "layer/build_id.h"

#include <string.h>

static const char *reason_text(const char *reason) {
  if (strcmp(reason, "request") == 0) return "as it was when the report was asked for";
  if (strcmp(reason, "lost") == 0) return "when the device was lost";
  return "at its exit";
}

static void print_line(const struct tide_vulkan_line *line, const char *indent, FILE *to) {
  unsigned long long number = line->number;
  switch (line->kind) {
    case TIDE_VULKAN_LINE_VERDICT: fprintf(to, "%sverdict: %s\n", indent, line->text); break;
    case TIDE_VULKAN_LINE_DEVICE: fprintf(to, "%sdevice: %s\n", indent, line->text); break;
    case TIDE_VULKAN_LINE_FINDING:
      fprintf(to, "%sfinding, %s: %s\n", indent, line->word, line->text);
      break;
    case TIDE_VULKAN_LINE_LIMIT: fprintf(to, "%slimit: %s\n", indent, line->text); break;
    case TIDE_VULKAN_LINE_TEXT: fprintf(to, "%s%s\n", *line->text ? indent : "", line->text); break;
    case TIDE_VULKAN_LINE_EDGE: fprintf(to, "%sedge %llu: %s\n", indent, number, line->text); break;
    case TIDE_VULKAN_LINE_WAIT:
      fprintf(to, "%s%-8s %8llu  %s\n", indent, line->word, number, line->text);
      break;
  }
}

void tide_vulkan_print_lines(const struct tide_vulkan_report *report,
                             enum tide_vulkan_line_kind kind, const char *indent, FILE *to) {
  for (size_t i = 0; i < report->line_count; i++)
    if (report->lines[i].kind == kind) print_line(&report->lines[i], indent, to);
}

void tide_vulkan_print_layer(const char *file, const char *indent, FILE *to) {
  fprintf(to, "%slayer: %s, build %s, %s\n", indent, tide_layer_version, tide_layer_build, file);
}

/* Says what the classes mean that the report has waits of. */
static void print_classes(const struct tide_vulkan_report *report, FILE *to) {
  static const struct {
    const char *name, *meaning;
  } classes[] = {
      {"seen", "it could go: the submitting thread had seen the signaller finish"},
      {"known", "it could go: an earlier wait of the queue implies it"},
      {"sibling", "it could go: another wait of the same submission implies it"},
      {"own",
       "a barrier could take its place: the queue itself signals it, but does not finish in order"},
      {"needed", "it has to stay: nothing else implies it"},
  };
  for (size_t i = 0; i < sizeof classes / sizeof *classes; i++)
    if (tide_vulkan_report_count(report, classes[i].name))
      fprintf(to, "  %s means that %s\n", classes[i].name, classes[i].meaning);
}

void tide_vulkan_print_report(const struct tide_vulkan_report *report, FILE *to) {
  fprintf(to, "tidemark vulkan %s: %s (process %llu), %s\n", report->mode, report->name,
          (unsigned long long)report->process, reason_text(report->reason));
  tide_vulkan_print_lines(report, TIDE_VULKAN_LINE_VERDICT, "  ", to);
  tide_vulkan_print_layer(report->file, "  ", to);
  tide_vulkan_print_lines(report, TIDE_VULKAN_LINE_DEVICE, "  ", to);
  tide_vulkan_print_lines(report, TIDE_VULKAN_LINE_TEXT, "  ", to);
  tide_vulkan_print_lines(report, TIDE_VULKAN_LINE_FINDING, "  ", to);
  tide_vulkan_print_lines(report, TIDE_VULKAN_LINE_WAIT, "  ", to);
  print_classes(report, to);
  tide_vulkan_print_lines(report, TIDE_VULKAN_LINE_EDGE, "  ", to);
  tide_vulkan_print_lines(report, TIDE_VULKAN_LINE_LIMIT, "  ", to);
  if (report->count_count) fputs("  counts:", to);
  for (size_t i = 0; i < report->count_count; i++)
    fprintf(to, "%s %s %llu", i ? "," : "", report->counts[i].name,
            (unsigned long long)report->counts[i].number);
  if (report->count_count) fputc('\n', to);
}
