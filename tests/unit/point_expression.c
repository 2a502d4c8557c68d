/* What the reader of expressions refuses, and where it says that it is. */
#include "harness.h"
#include "tidemark/point.h"

#include <stdlib.h>
#include <string.h>

static enum tide_status check(const char *text, size_t count, struct tide_diag *diag) {
  return tide_expression_check(text, strlen(text), count, diag);
}

TEST(good_ones) {
  static const char *const good[] = {
      "0",         " 1 ",       "0&1",   "0|1",     "(0&1&2)|(3&4&5)",
      "((((0))))", "0&(1|2)&3", "5|5|5", "0000001", "( 0 | 1 )&( 2 )"};
  for (size_t i = 0; i < sizeof good / sizeof *good; i++) CHECK_OK(check(good[i], 6, NULL));
}

TEST(bad_ones_and_where) {
  static const struct {
    const char *text;
    uint32_t column;
  } bad[] = {
      {"", 1},       {"   ", 4},
      {"(", 2},      {")", 1},
      {"()", 2},     {"0&", 3},
      {"&0", 1},     {"0 1", 3},
      {"0&&1", 3},   {"0||1", 3},
      {"(0", 3},     {"0)", 2},
      {"0&6", 3},    {"6", 1},
      {"-1", 1},     {"0&x", 3},
      {"0+1", 2},    {"0&\t1", 3},
      {"0&\xc3", 3}, {"(0&1)2", 6},
      {"0&(1|2", 7}, {"99999999999999999999999", 1},
      {"!0", 1},     {"0|(1&)", 6},
  };
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    struct tide_diag diag = {.status = TIDE_OK};
    enum tide_status status = check(bad[i].text, 6, &diag);
    if (status != TIDE_CORRUPT || diag.column != bad[i].column)
      FAIL("'%s': %s at %u, not %u: %s", bad[i].text, tide_status_name(status), diag.column,
           bad[i].column, diag.text);
    CHECK_EQ_U64(diag.line, 1);
  }
  CHECK_STATUS(check("0", 0, NULL), TIDE_CORRUPT);
  struct tide_diag diag;
  CHECK_STATUS(tide_expression_check("0\0&1", 4, 2, &diag), TIDE_CORRUPT);
  CHECK_EQ_U64(diag.column, 2);
}

TEST(bounds) {
  static char text[1 << 20];
  struct tide_diag diag;
  memset(text, '(', TIDE_EXPRESSION_DEPTH);
  text[TIDE_EXPRESSION_DEPTH] = '0';
  memset(text + TIDE_EXPRESSION_DEPTH + 1, ')', TIDE_EXPRESSION_DEPTH);
  CHECK_OK(tide_expression_check(text, 2 * TIDE_EXPRESSION_DEPTH + 1, 1, &diag));
  memset(text, '(', sizeof text);
  CHECK_STATUS(tide_expression_check(text, 2000, 1, &diag), TIDE_CORRUPT);
  CHECK_EQ_U64(diag.column, TIDE_EXPRESSION_DEPTH + 1);
  CHECK_STATUS(tide_expression_check(text, sizeof text, 1, &diag), TIDE_CORRUPT); /* 1 MiB */
  CHECK(strstr(diag.text, "longer") != NULL);
  for (size_t i = 0; i < TIDE_EXPRESSION_LENGTH; i++) text[i] = i & 1 ? '|' : '0';
  CHECK_OK(tide_expression_check(text, TIDE_EXPRESSION_LENGTH - 1, 1, NULL));
  CHECK_STATUS(tide_expression_check(text, TIDE_EXPRESSION_LENGTH + 1, 1, NULL), TIDE_CORRUPT);
  /* The last place that may be read is the last of the text. */
  char *exact = malloc(3);
  memcpy(exact, "0&1", 3);
  CHECK_OK(tide_expression_check(exact, 3, 2, NULL));
  CHECK_STATUS(tide_expression_check(exact, 2, 2, NULL), TIDE_CORRUPT);
  free(exact);
}

TEST_MAIN(CASE(good_ones), CASE(bad_ones_and_where), CASE(bounds))
