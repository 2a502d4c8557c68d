/* The tool's readers of the Vulkan layer's files: reports and orders. */
#include "harness.h"

#include "tool/vulkan_report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HEAD "tidemark-vulkan-report 1\nprocess 42 cube\nmode explore\nreason exit\n"
#define ORDER_HEAD "tidemark-vulkan-order 1\n"

/* Parses a copy without a byte behind it, so that a sanitizer sees a byte too many. */
static enum tide_status parse(const char *text, size_t length, struct tide_vulkan_report *report,
                              struct tide_diag *diag) {
  char *exact = malloc(length ? length : 1);
  if (!exact) FAIL("out of memory");
  memcpy(exact, text, length);
  enum tide_status status = tide_vulkan_report_parse(report, exact, length, diag);
  free(exact);
  return status;
}

static enum tide_status parse_order(const char *text, size_t length,
                                    struct tide_vulkan_order *order, struct tide_diag *diag) {
  char *exact = malloc(length ? length : 1);
  if (!exact) FAIL("out of memory");
  memcpy(exact, text, length);
  enum tide_status status = tide_vulkan_order_parse(order, exact, length, diag);
  free(exact);
  return status;
}

static void check_line(const struct tide_vulkan_line *line, enum tide_vulkan_line_kind kind,
                       const char *word, uint64_t number, const char *text) {
  CHECK_EQ_U64(line->kind, kind);
  CHECK(!word == !line->word);
  if (word) CHECK_EQ_STR(line->word, word);
  CHECK_EQ_U64(line->number, number);
  CHECK_EQ_STR(line->text, text);
}

/* ---- reports ---- */

TEST(reads_every_key) {
  static const char text[] =
      "tidemark-vulkan-report 1\nprocess 42 my cube\nmode audit\n"
      "layer 0.1.0 00c0ffee1234 /opt/my layers/lib.so\nreason request\nverdict it hangs: a cycle\n"
      "device llvmpipe (LLVM 19), Mesa\ncount choices 3\ncount untried 18446744073709551615\n"
      "schedule 00c0FFee\nfinding cycle queue a waits for queue b\nlimit device groups\n"
      "text first\ntext\ntext   indented\nedge 7 a -> b\nwait sibling 12 frame.c: a wait\nend\n";
  struct tide_vulkan_report report;
  struct tide_diag diag = {.text = "no error"};
  CHECK_OK(parse(text, sizeof text - 1, &report, &diag));
  CHECK_EQ_STR(diag.text, "no error");
  CHECK_EQ_U64(report.process, 42);
  CHECK_EQ_STR(report.name, "my cube");
  CHECK_EQ_STR(report.mode, "audit");
  CHECK_EQ_STR(report.version, "0.1.0");
  CHECK_EQ_STR(report.build, "00c0ffee1234");
  CHECK_EQ_STR(report.file, "/opt/my layers/lib.so");
  CHECK_EQ_STR(report.reason, "request");
  CHECK_EQ_STR(report.schedule, "00c0FFee");
  CHECK_EQ_U64(tide_vulkan_report_count(&report, "choices"), 3);
  CHECK_EQ_U64(tide_vulkan_report_count(&report, "untried"), UINT64_MAX);
  CHECK_EQ_U64(tide_vulkan_report_count(&report, "forced"), 0);
  CHECK_EQ_U64(report.line_count, 9);
  const struct tide_vulkan_line *line = report.lines;
  check_line(line++, TIDE_VULKAN_LINE_VERDICT, NULL, 0, "it hangs: a cycle");
  check_line(line++, TIDE_VULKAN_LINE_DEVICE, NULL, 0, "llvmpipe (LLVM 19), Mesa");
  check_line(line++, TIDE_VULKAN_LINE_FINDING, "cycle", 0, "queue a waits for queue b");
  check_line(line++, TIDE_VULKAN_LINE_LIMIT, NULL, 0, "device groups");
  check_line(line++, TIDE_VULKAN_LINE_TEXT, NULL, 0, "first");
  check_line(line++, TIDE_VULKAN_LINE_TEXT, NULL, 0, "");
  check_line(line++, TIDE_VULKAN_LINE_TEXT, NULL, 0, "  indented");
  check_line(line++, TIDE_VULKAN_LINE_EDGE, NULL, 7, "a -> b");
  check_line(line++, TIDE_VULKAN_LINE_WAIT, "sibling", 12, "frame.c: a wait");
  tide_vulkan_report_fini(&report);
}

TEST(a_part_of_a_report_is_none) {
  static const char text[] = HEAD "device a\ntext b\nend\n";
  struct tide_vulkan_report report;
  for (size_t length = 0; length < sizeof text - 1; length++) {
    struct tide_diag diag = {.text = ""};
    CHECK_STATUS(parse(text, length, &report, &diag), TIDE_CORRUPT);
    CHECK(diag.line >= 1 && diag.line <= 7 && diag.column >= 1 && diag.text[0]);
    CHECK(!report.copy && !report.lines && !report.line_count);
  }
  CHECK_OK(parse(text, sizeof text - 1, &report, NULL));
  tide_vulkan_report_fini(&report);
}

static void check_refused(const char *text, uint32_t line, uint32_t column, const char *why) {
  struct tide_vulkan_report report;
  struct tide_diag diag = {.text = ""};
  enum tide_status status = parse(text, strlen(text), &report, &diag);
  if (status != TIDE_CORRUPT) FAIL("'%s' was not refused", text);
  if (diag.line != line || diag.column != column || !strstr(diag.text, why))
    FAIL("'%s' gives %u:%u: %s", text, diag.line, diag.column, diag.text);
}

TEST(errors_name_their_place) {
  check_refused("", 1, 1, "no 'end'");
  check_refused("tidemark-vulkan-report 2\n", 1, 1, "'tidemark-vulkan-report 1' is expected");
  check_refused("tidemark-vulkan-report 1 \n", 1, 1, "is expected");
  check_refused("\n", 1, 1, "is expected");
  check_refused("tidemark-vulkan-report 1\nend\n", 2, 1, "no line 'process'");
  check_refused("tidemark-vulkan-report 1\nprocess 1 a\nend\n", 3, 1, "no line 'mode'");
  check_refused("tidemark-vulkan-report 1\nprocess 1 a\nmode audit\nend\n", 4, 1, "'reason'");
  check_refused("tidemark-vulkan-report 1\nprocess 0 a\n", 2, 9, "process id");
  check_refused("tidemark-vulkan-report 1\nprocess +1 a\n", 2, 9, "process id");
  check_refused("tidemark-vulkan-report 1\nprocess 12\n", 2, 11, "name is missing");
  check_refused(HEAD "process 43 b\n", 5, 9, "second 'process'");
  check_refused(HEAD "mode audit\n", 5, 6, "second 'mode'");
  check_refused(HEAD "reason lost\n", 5, 8, "second 'reason'");
  check_refused("tidemark-vulkan-report 1\nmode race\n", 2, 6, "not 'race'");
  check_refused("tidemark-vulkan-report 1\nreason exits\n", 2, 8, "not 'exits'");
  check_refused(HEAD "device\n", 5, 7, "name is missing");
  check_refused(HEAD "verdict\n", 5, 8, "verdict's text is missing");
  check_refused(HEAD "count a\n", 5, 8, "a number");
  check_refused(HEAD "layer\n", 5, 6, "version is missing");
  check_refused(HEAD "layer 0.1.0\n", 5, 12, "build id");
  check_refused(HEAD "layer 0.1.0 a/b c\n", 5, 13, "not 'a/b'");
  check_refused(HEAD "layer 0.1.0 00c0\n", 5, 17, "file is missing");
  check_refused(HEAD "layer 1 2 3\nlayer 1 2 3\n", 6, 7, "second 'layer'");
  check_refused(HEAD "count a 1 2\n", 5, 9, "a number");
  check_refused(HEAD "count a -1\n", 5, 9, "a number");
  check_refused(HEAD "count a 18446744073709551616\n", 5, 9, "a number");
  check_refused(HEAD "count a/b 1\n", 5, 7, "a count's name");
  check_refused(HEAD "count  1\n", 5, 7, "a count's name");
  check_refused(HEAD "count a 1\ncount a 1\n", 6, 7, "twice");
  check_refused(HEAD "schedule \n", 5, 10, "hexadecimal");
  check_refused(HEAD "schedule 0x12\n", 5, 10, "hexadecimal");
  check_refused(HEAD "schedule 1\nschedule 1\n", 6, 10, "second 'schedule'");
  check_refused(HEAD "finding kind\n", 5, 13, "text is missing");
  check_refused(HEAD "finding  text\n", 5, 9, "finding's kind");
  check_refused(HEAD "limit\n", 5, 6, "text is missing");
  check_refused(HEAD "edge 0 a\n", 5, 6, "edge's number");
  check_refused(HEAD "edge 1\n", 5, 7, "text is missing");
  check_refused(HEAD "wait unknown 1 a\n", 5, 6, "not 'unknown'");
  check_refused(HEAD "wait own 0 a\n", 5, 10, "how often");
  check_refused(HEAD "wait own 1\n", 5, 11, "text is missing");
  check_refused(HEAD "words\n", 5, 1, "not 'words'");
  check_refused(HEAD "\n", 5, 1, "a key");
  check_refused(HEAD "end of it\n", 5, 5, "behind 'end'");
  check_refused(HEAD "end\nend\n", 6, 1, "behind 'end'");
  check_refused(HEAD "end\ntext a", 6, 1, "not whole");
}

TEST(characters_are_text) {
  static const char zero[] = HEAD "text a\0b\nend\n";
  struct tide_vulkan_report report;
  struct tide_diag diag;
  check_refused(HEAD "text a\033[2J\n", 5, 7, "control");
  check_refused(HEAD "text a\r\n", 5, 7, "control");
  check_refused(HEAD "text\ta\n", 5, 5, "control");
  check_refused(HEAD "text \x7f\n", 5, 6, "control");
  check_refused(HEAD "text \xc2\x9b\n", 5, 6, "control"); /* CSI as one character */
  check_refused(HEAD "text \xff\n", 5, 6, "UTF-8");
  check_refused(HEAD "text \xc3\n", 5, 6, "UTF-8");
  check_refused(HEAD "text \xed\xa0\x80\n", 5, 6, "UTF-8");
  CHECK_STATUS(parse(zero, sizeof zero - 1, &report, &diag), TIDE_CORRUPT);
  CHECK_EQ_U64(diag.line, 5);
  static const char umlaut[] = HEAD "text K\xc3\xb6ln \xc2\xa0\xe2\x80\xa6\nend\n";
  CHECK_OK(parse(umlaut, sizeof umlaut - 1, &report, NULL));
  CHECK_EQ_STR(report.lines[0].text, "K\xc3\xb6ln \xc2\xa0\xe2\x80\xa6");
  tide_vulkan_report_fini(&report);
}

/* A report of `count` lines, each `unit`, and its length. */
static char *repeat(const char *head, const char *unit, size_t count, const char *tail,
                    size_t *out_length) {
  size_t size = strlen(head) + strlen(unit) * count + strlen(tail);
  char *text = malloc(size + 1), *at = text;
  if (!text) FAIL("out of memory");
  at = stpcpy(at, head);
  for (size_t i = 0; i < count; i++) at = stpcpy(at, unit);
  strcpy(at, tail);
  *out_length = size;
  return text;
}

static void check_bound(const char *head, const char *unit, size_t most, const char *tail) {
  struct tide_vulkan_report report;
  struct tide_diag diag = {.text = ""};
  size_t length;
  char *text = repeat(head, unit, most, tail, &length);
  CHECK_OK(tide_vulkan_report_parse(&report, text, length, &diag));
  tide_vulkan_report_fini(&report);
  free(text);
  text = repeat(head, unit, most + 1, tail, &length);
  CHECK_STATUS(tide_vulkan_report_parse(&report, text, length, &diag), TIDE_FULL);
  CHECK(diag.line >= 1 && strstr(diag.text, "at most"));
  free(text);
}

TEST(sizes_are_bounded) {
  check_bound(HEAD "text ", "x", TIDE_VULKAN_REPORT_LINE_MOST - strlen("text "), "\nend\n");
  check_bound(HEAD, "text\n", TIDE_VULKAN_REPORT_LINES_MOST, "end\n");
  struct tide_vulkan_report report;
  struct tide_diag diag = {.text = ""};
  size_t length;
  char *text = repeat(HEAD, "x", TIDE_VULKAN_FILE_MOST, "", &length);
  CHECK_STATUS(tide_vulkan_report_parse(&report, text, length, &diag), TIDE_FULL);
  free(text);
}

TEST(counts_are_bounded) {
  char text[8192] = HEAD;
  struct tide_vulkan_report report;
  for (int i = 0; i <= TIDE_VULKAN_COUNTS_MOST; i++) {
    char with_end[sizeof text + 8];
    snprintf(with_end, sizeof with_end, "%send\n", text);
    CHECK_OK(parse(with_end, strlen(with_end), &report, NULL));
    CHECK_EQ_U64(report.count_count, (uint64_t)i);
    tide_vulkan_report_fini(&report);
    snprintf(text + strlen(text), sizeof text - strlen(text), "count c%d 1\n", i);
  }
  strcat(text, "end\n");
  CHECK_STATUS(parse(text, strlen(text), &report, NULL), TIDE_FULL);
}

/* ---- orders ---- */

TEST(reads_an_order) {
  static const char text[] = ORDER_HEAD "pick 1 of 1\npick 3 of 3 2 4\npick 2 of 4 2\n";
  struct tide_vulkan_order order;
  CHECK_OK(parse_order(text, sizeof text - 1, &order, NULL));
  CHECK_EQ_U64(order.pick_count, 3);
  CHECK_EQ_U64(order.candidate_count, 6);
  CHECK_EQ_U64(order.picks[1].first, 3);
  CHECK_EQ_U64(order.picks[1].candidates_at, 1);
  CHECK_EQ_U64(order.picks[1].candidate_count, 3);
  CHECK_EQ_U64(order.candidates[2], 2);
  CHECK(!tide_vulkan_pick_overtakes(&order, 0));
  CHECK(tide_vulkan_pick_overtakes(&order, 1));
  CHECK(!tide_vulkan_pick_overtakes(&order, 2));
  tide_vulkan_order_fini(&order);
  CHECK_OK(parse_order(ORDER_HEAD, strlen(ORDER_HEAD), &order, NULL));
  CHECK_EQ_U64(order.pick_count, 0);
  tide_vulkan_order_fini(&order);
}

static void check_order_refused(const char *text, uint32_t line, uint32_t column, const char *why) {
  struct tide_vulkan_order order;
  struct tide_diag diag = {.text = ""};
  enum tide_status status = parse_order(text, strlen(text), &order, &diag);
  if (status != TIDE_CORRUPT) FAIL("'%s' was not refused", text);
  if (diag.line != line || diag.column != column || !strstr(diag.text, why))
    FAIL("'%s' gives %u:%u: %s", text, diag.line, diag.column, diag.text);
  CHECK(!order.picks && !order.candidates);
}

TEST(wrong_orders_are_refused) {
  check_order_refused("", 1, 1, "whole line");
  check_order_refused("tidemark-vulkan-order 1", 1, 1, "whole line");
  check_order_refused("tidemark-vulkan-order 2\n", 1, 1, "is expected");
  check_order_refused(ORDER_HEAD "pick 1 of 1", 2, 1, "whole line");
  check_order_refused(ORDER_HEAD "\n", 2, 1, "'pick");
  check_order_refused(ORDER_HEAD "pick 1\n", 2, 7, "'of'");
  check_order_refused(ORDER_HEAD "pick 0 of 0\n", 2, 6, "number");
  check_order_refused(ORDER_HEAD "pick x of x\n", 2, 6, "number");
  check_order_refused(ORDER_HEAD "pick 1 of 1 \x01\n", 2, 13, "number");
  check_order_refused(ORDER_HEAD "pick 1 of 1  2\n", 2, 13, "number");
  check_order_refused(ORDER_HEAD "pick 1 of 2 3\n", 2, 1, "none of its candidates");
  check_order_refused(ORDER_HEAD "pick 1 of \n", 2, 1, "none of its candidates");
  check_order_refused(ORDER_HEAD "pick 99999999999999999999 of 1\n", 2, 6, "number");
}

TEST(orders_are_bounded) {
  struct tide_vulkan_order order;
  struct tide_diag diag = {.text = ""};
  size_t length;
  char *text = repeat(ORDER_HEAD "pick 1 of 1", " 2", TIDE_VULKAN_ORDER_LINE_MOST, "\n", &length);
  CHECK_STATUS(tide_vulkan_order_parse(&order, text, length, &diag), TIDE_FULL);
  CHECK_EQ_U64(diag.line, 2);
  free(text);
  text = repeat(ORDER_HEAD, "pick 1 of 1\n", TIDE_VULKAN_PICKS_MOST + 1, "", &length);
  CHECK_STATUS(tide_vulkan_order_parse(&order, text, length, &diag), TIDE_FULL);
  CHECK_EQ_U64(diag.line, TIDE_VULKAN_PICKS_MOST + 2);
  free(text);
}

TEST_MAIN(CASE(reads_every_key), CASE(a_part_of_a_report_is_none), CASE(errors_name_their_place),
          CASE(characters_are_text), CASE(sizes_are_bounded), CASE(counts_are_bounded),
          CASE(reads_an_order), CASE(wrong_orders_are_refused), CASE(orders_are_bounded))
