/* The one layout: nothing but space changes, and a second time changes nothing. */
#include "program_load.h"

static struct tide_program *read_syntax(const char *text, size_t length) {
  struct tide_diag diag = {0};
  struct tide_report report = {&diag, 1, 0};
  struct tide_program_params params = {.struct_size = sizeof params,
                                       .allocator = tide_allocator_system(),
                                       .text = text,
                                       .length = length,
                                       .syntax_only = true};
  struct tide_program *program;
  enum tide_status status = tide_program_parse(&params, &report, &program);
  if (status != TIDE_OK) FAIL("%u:%u: %s", diag.line, diag.column, diag.text);
  return program;
}

static char *format(const char *text) {
  struct tide_program *program = read_syntax(text, strlen(text));
  size_t length = tide_program_format(program, NULL, 0);
  char *out = malloc(length + 1);
  CHECK(out);
  CHECK_EQ_U64(tide_program_format(program, out, length + 1), length);
  CHECK_EQ_U64(strlen(out), length);
  tide_program_destroy(program);
  return out;
}

static void check_format(int line, const char *text, const char *want) {
  char *once = format(text), *twice = format(once);
  test_eq_str(__FILE__, line, "formatted", once, want);
  test_eq_str(__FILE__, line, "formatted twice", twice, want);
  free(once);
  free(twice);
}
#define CHECK_FORMAT(text, want) check_format(__LINE__, text, want)

TEST(spaces) {
  CHECK_FORMAT("param  n=4\nparam t =\"a  b\"", "param n = 4\nparam t = \"a  b\"\n");
  CHECK_FORMAT("let x=( 1+2 )*min( 3 ,-4 )-  -5%n", "let x = (1+2)*min(3, -4)--5%n\n");
  CHECK_FORMAT("let x = a<b and not c or(d==e)", "let x = a < b and not c or (d == e)\n");
  CHECK_FORMAT("device a,b   cpu workers n+1 name \"x\"\nqueue q r on a priority -3 capacity 4\n",
               "device a, b cpu workers n+1 name \"x\"\nqueue q r on a priority -3 capacity 4\n");
}

TEST(operations) {
  CHECK_FORMAT(
      "q :fill m [i] , value = - 3 wait a>=1,b [ 2 ]>=i -1 signal c=2 cost 2ms label \"x\" "
      "passable",
      "q: fill m[i], value=-3  wait a >= 1, b[2] >= i-1  signal c = 2  cost 2ms  label \"x\"  "
      "passable\n");
  CHECK_FORMAT("l [ i+1 ]:spin -3\nq: every m[ * ],n [ 0 , 8 ] , label = \"x\" label \"y\"\n",
               "l[i+1]: spin -3\nq: every m[*], n[0, 8], label=\"x\"  label \"y\"\n");
  CHECK_FORMAT(
      "host :wait a>=1\nhost:signal a=2 , b=3\nhost: external a=1\nq:alloc s[1],s [ * ]\n",
      "host: wait a >= 1\nhost: signal a = 2, b = 3\nhost: external a = 1\nq: alloc s[1], s[*]\n");
}

TEST(blocks) {
  CHECK_FORMAT("for i in 0 .. n step -1{q:nop\nq:nop}",
               "for i in 0..n step -1 {\n  q: nop\n  q: nop\n}\n");
  CHECK_FORMAT(
      "if a{q:nop}else if b{}else{\n\n\n  for j in step..step-1 step step { q: nop # x\n } }\n",
      "if a {\n  q: nop\n} else if b {\n} else {\n  for j in step..step-1 step step {\n    q: nop  "
      "# x\n"
      "  }\n}\n");
}

TEST(comments_and_blank_lines) {
  CHECK_FORMAT(
      "\n\n# top   \n\n\n\nq: nop# behind\n  # own line\n\nfor i in 0..2 { # at the brace\n\n\n"
      "# inside\n\nq: nop\n\n# last\n\n} # closing\n\n\n# end\n\n",
      "# top\n\nq: nop  # behind\n# own line\n\nfor i in 0..2 {  # at the brace\n\n  # inside\n\n"
      "  q: nop\n\n  # last\n}  # closing\n\n# end\n");
}

TEST(lines_that_go_on) {
  CHECK_FORMAT("for i in 0..2 {\nq: every m[0],\nm[1], \"x\" # one\n\n# two\n\nwait a >= 1,\n b >= "
               "2\nsignal c = 1\n\n"
               "q: nop\n}\n",
               "for i in 0..2 {\n  q: every m[0],\n      m[1], \"x\"  # one\n      # two\n      "
               "wait a >= 1,\n"
               "      b >= 2\n      signal c = 1\n\n  q: nop\n}\n");
}

TEST(other_line_ends) {
  CHECK_FORMAT("\xef\xbb\xbfq: nop # x \r\n\r\n\r\nr: nop\r\n", "q: nop  # x\n\nr: nop\n");
}

TEST(nothing) {
  CHECK_FORMAT("", "");
  CHECK_FORMAT("\n\n", "");
  CHECK_FORMAT("# x", "# x\n");
}

TEST(a_buffer_that_is_too_small) {
  char small[8];
  struct tide_program *program = read_syntax("q: nop wait a >= 1", 18);
  CHECK_EQ_U64(tide_program_format(program, small, sizeof small), 20);
  CHECK_EQ_STR(small, "q: nop ");
  tide_program_destroy(program);
}

TEST(no_plan_of_syntax_alone) {
  struct tide_program *program = read_syntax("q: nop", 6);
  struct tide_plan_params params = {.struct_size = sizeof params, NULL, 0, NULL, 0, 0};
  struct tide_plan *plan;
  CHECK_STATUS(tide_plan_create(program, &params, NULL, &plan), TIDE_INVALID);
  tide_program_destroy(program);
}

/* Long runs of comments and of clauses take no more than their length. */
TEST(long_texts) {
  size_t size = 4 << 20, used = 0;
  char *text = malloc(size);
  CHECK(text);
  used += (size_t)sprintf(text, "q: nop\n");
  while (used < size - 32) used += (size_t)sprintf(text + used, "#\n\n");
  sprintf(text + used, "wait a >= 1\n");
  char *out = format(text);
  CHECK(strstr(out, "    #\n    wait a >= 1\n"));
  free(out);
  free(text);
}

TEST_MAIN(CASE(spaces), CASE(operations), CASE(blocks), CASE(comments_and_blank_lines),
          CASE(lines_that_go_on), CASE(other_line_ends), CASE(nothing),
          CASE(a_buffer_that_is_too_small), CASE(no_plan_of_syntax_alone), CASE(long_texts))
