/* Files of the Vulkan layer, which the program may write, too: a report or an order is refused with
 * a place inside of it, or all that it says is within its bounds.
 *
 * The first byte chooses: report or order, and whether the first line is given. */
#include "base/check.h"
#include "base/text.h"
#include "tool/vulkan_report.h"

#include <stdlib.h>
#include <string.h>

#define REPORT_HEAD "tidemark-vulkan-report 1\nprocess 1 p\nmode audit\nreason exit\n"
#define ORDER_HEAD "tidemark-vulkan-order 1\n"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_refused(enum tide_status status, const struct tide_diag *diag, const char *text,
                          size_t length) {
  uint32_t lines = 1;
  for (size_t i = 0; i < length; i++) lines += text[i] == '\n';
  TIDE_ASSERT(status == TIDE_CORRUPT || status == TIDE_FULL);
  TIDE_ASSERT(diag->status == status && diag->text[0]);
  TIDE_ASSERT(diag->line >= 1 && diag->line <= lines);
  TIDE_ASSERT(diag->column >= 1 && diag->column <= length + 1);
}

/* No byte of a text speaks to a terminal. */
static void check_text(const char *text) {
  TIDE_ASSERT(text);
  for (size_t size; *text; text += size) {
    size = tide_text_utf8(text);
    TIDE_ASSERT(size && (unsigned char)*text >= 0x20 && *text != 0x7f);
  }
}

static void check_report(const struct tide_vulkan_report *report) {
  TIDE_ASSERT(report->process && report->mode && report->reason);
  check_text(report->name);
  TIDE_ASSERT(!report->version == !report->build && !report->build == !report->file);
  if (report->build)
    check_text(report->version), check_text(report->build), check_text(report->file);
  TIDE_ASSERT(report->count_count <= TIDE_VULKAN_COUNTS_MOST);
  for (size_t i = 0; i < report->count_count; i++) {
    check_text(report->counts[i].name);
    TIDE_ASSERT(tide_vulkan_report_count(report, report->counts[i].name) ==
                report->counts[i].number);
  }
  for (size_t i = 0; i < report->line_count; i++) {
    const struct tide_vulkan_line *line = &report->lines[i];
    bool has_word = line->kind == TIDE_VULKAN_LINE_FINDING || line->kind == TIDE_VULKAN_LINE_WAIT;
    bool has_number = line->kind == TIDE_VULKAN_LINE_EDGE || line->kind == TIDE_VULKAN_LINE_WAIT;
    TIDE_ASSERT(has_word == (line->word != NULL) && has_number == (line->number != 0));
    if (line->word) check_text(line->word);
    check_text(line->text);
    TIDE_ASSERT(line->text[0] || line->kind == TIDE_VULKAN_LINE_TEXT);
  }
}

static void check_order(const struct tide_vulkan_order *order) {
  size_t candidates = 0;
  for (size_t i = 0; i < order->pick_count; i++) {
    const struct tide_vulkan_pick *pick = &order->picks[i];
    bool has_first = false, overtakes = false;
    TIDE_ASSERT(pick->candidates_at == candidates && pick->candidate_count);
    candidates += pick->candidate_count;
    TIDE_ASSERT(candidates <= order->candidate_count);
    for (size_t k = 0; k < pick->candidate_count; k++) {
      uint64_t number = order->candidates[pick->candidates_at + k];
      has_first = has_first || number == pick->first;
      overtakes = overtakes || number < pick->first;
    }
    TIDE_ASSERT(has_first && overtakes == tide_vulkan_pick_overtakes(order, i));
  }
  TIDE_ASSERT(candidates == order->candidate_count);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct tide_diag diag = {.status = TIDE_OK};
  struct tide_vulkan_report report;
  struct tide_vulkan_order order;
  if (!size) return 0;
  bool is_order = data[0] & 1;
  const char *head = data[0] & 2 ? "" : is_order ? ORDER_HEAD : REPORT_HEAD;
  size_t length = strlen(head) + size - 1;
  char *text = malloc(length ? length : 1);
  if (!text) return 0;
  memcpy(text, head, strlen(head));
  memcpy(text + strlen(head), data + 1, size - 1);
  enum tide_status status = is_order ? tide_vulkan_order_parse(&order, text, length, &diag)
                                     : tide_vulkan_report_parse(&report, text, length, &diag);
  if (status != TIDE_OK) check_refused(status, &diag, text, length);
  free(text); /* a report has a copy of its own */
  if (status == TIDE_OK && is_order) check_order(&order), tide_vulkan_order_fini(&order);
  if (status == TIDE_OK && !is_order) check_report(&report), tide_vulkan_report_fini(&report);
  return 0;
}
