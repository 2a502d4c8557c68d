/* How programs are written, and what the parser says where they are not. */
#include "program_load.h"

TEST(the_sketch_of_the_design) {
  CHECK_STEPS(
      "# voice-chat.tide: speak, transcribe, answer\n"
      "param turns = 2\n"
      "device mic cpu\n"
      "device asr cpu\n"
      "device llm cpu workers 2\n"
      "queue capture on mic\n"
      "queue encode  on asr\n"
      "queue answer  on llm\n"
      "timeline audio whisper phi            # scopes are chosen from the use\n"
      "buffer pcm[turns] 64K\n"
      "buffer digest 8\n"
      "\n"
      "for t in 0..turns {\n"
      "  capture: fill pcm[t]            signal audio = t+1            cost 2ms\n"
      "  encode:  hash pcm[t], digest  wait audio >= t+1    signal whisper = t+1   cost 6ms\n"
      "  answer:  spin 5      wait whisper >= t+1  signal phi = t+1       cost 9ms\n"
      "}\n",
      "capture: fill pcm[0]  signal audio = 1  cost 2ms\n"
      "encode: hash pcm[0], out=digest  wait audio >= 1  signal whisper = 1  cost 6ms\n"
      "answer: spin 5  wait whisper >= 1  signal phi = 1  cost 9ms\n"
      "capture: fill pcm[1]  signal audio = 2  cost 2ms\n"
      "encode: hash pcm[1], out=digest  wait audio >= 2  signal whisper = 2  cost 6ms\n"
      "answer: spin 5  wait whisper >= 2  signal phi = 2  cost 9ms\n");
}

TEST(lines_go_on) {
  CHECK_STEPS(HEAD "q: nop\n"
                   "  # a comment between\n"
                   "\n"
                   "    signal a = 1,\n"
                   "           b = 2\n"
                   "    cost 1us\n"
                   "r: every m[0],\n"
                   "  # here too\n"
                   "  m[1], \"x\"\n"
                   "  wait a >= 1\n",
              "q: nop  signal a = 1, b = 2  cost 1us\n"
              "r: every m[0], to=m[1], name=\"x\"  wait a >= 1\n");
}

TEST(line_ends_of_other_systems) {
  CHECK_STEPS("\xef\xbb\xbf"
              "device c cpu\r\nqueue q on c\r\n\r\n# x\r\nq: nop\r\n",
              "q: nop\n");
}

TEST(blocks_on_one_line) {
  CHECK_STEPS(HEAD "for i in 0..2 { q: spin i }\nif 1 { q: spin 7 } else { q: spin 8 }\n",
              "q: spin 0\nq: spin 1\nq: spin 7\n");
}

TEST(texts) {
  CHECK_STEPS("param name = \"a\\\"b\\\\c\"\n" HEAD "let k = 3\n"
              "q: every m[0], m[1], \"{{{name}}/{k}\\t\"  label \"<{k}>\"\n"
              "q: every m[0], m[1], name\n"
              "for i in 8..10 { q: every m[0], m[1], \"{i}\" }\n",
              "q: every m[0], to=m[1], name=\"{{a\\\"b\\\\c}/3\\t\"  label \"<3>\"\n"
              "q: every m[0], to=m[1], name=\"a\\\"b\\\\c\"\n"
              "q: every m[0], to=m[1], name=\"8\"\n"
              "q: every m[0], to=m[1], name=\"9\"\n");
}

TEST(names_that_are_words_elsewhere) {
  CHECK_STEPS("device c cpu\nqueue over on c\ntimeline step\nparam in = 2\nparam priority = 1\n"
              "over: spin in-priority  signal step = in\n",
              "over: spin 1  signal step = 2\n");
}

TEST(every_statement_has_its_error) {
  CHECK_ERRORS("device c cpu\n"
               "queue q o c\n"
               "buffer b[ 4K\n"
               "for i in 0.4 {\n"
               "  q: nop wait\n"
               "}\n"
               "let x = (1 + \n"
               "let y = 3 kg\n"
               "q nop\n"
               "q: nop )\n"
               "param p = \"abc\n"
               "param z = 99999999999999999999\n"
               "let w = 12abc\n"
               "else { }\n"
               "}\n"
               "q: nop signal 5 = 3\n"
               "let for = 3\n",
               TIDE_CORRUPT,
               "2:12: expected 'on' and the queue's device, found the end of the line\n"
               "3:13: expected ']', found the end of the line\n"
               "4:11: expected '..', found '.'\n"
               "5:14: expected a timeline, found the end of the line\n"
               "7:14: expected a number or a name, found the end of the line\n"
               "8:11: expected the end of the line, found 'kg'\n"
               "9:3: expected ':' (as in 'QUEUE: BODY …') behind this name, found 'nop'\n"
               "10:8: expected a number or a name, found ')'\n"
               "11:11: this text has no closing '\"'\n"
               "12:11: this number does not fit 63 bits\n"
               "13:9: unknown unit: sizes take K, M, G or T, times ns, us, ms or s\n"
               "14:1: 'else' stands behind a '}', on the same line\n"
               "15:1: expected a declaration, 'for', 'if' or an operation, found '}'\n"
               "16:15: expected a timeline, found '5'\n"
               "17:5: expected a name, found 'for', which is a word of the language");
}

TEST(a_clause_alone) {
  CHECK_ERRORS(
      "device c cpu\nwait x\n", TIDE_CORRUPT,
      "2:1: expected a declaration, 'for', 'if' or the name of a queue, found 'wait', which "
      "is a word of the language");
}

TEST(one_error_does_not_hide_the_next) {
  /* The rest of a bad statement is skipped with its further lines, the inside of a bad loop is not.
   */
  CHECK_ERRORS(HEAD "q: fill , 3\n"
                    "    wait a >= 1\n"
                    "    signal b = 2\n"
                    "for i in 0 {\n"
                    "  q: nop $\n"
                    "}\n"
                    "q: nop ~\n",
               TIDE_CORRUPT,
               "6:9: expected a number or a name, found ','\n"
               "9:12: expected '..', found '{'\n"
               "10:10: expected a number or a name, found '$'\n"
               "12:8: expected a number or a name, found '~'");
}

TEST(texts_that_are_wrong) {
  CHECK_ERRORS("param a = \"{\"\nparam b = \"{x y}\"\nparam c = \"\\x\"\nparam d = \"{}\"\n",
               TIDE_CORRUPT,
               "1:12: '{' in a text begins the name of a parameter, '{name}'; the brace itself is "
               "'{{'\n"
               "2:12: '{' in a text begins the name of a parameter, '{name}'; the brace itself is "
               "'{{'\n"
               "3:11: a '\\' in a text is followed by '\"', '\\', 'n' or 't'\n"
               "4:12: '{' in a text begins the name of a parameter, '{name}'; the brace itself is "
               "'{{'");
}

TEST(declarations_that_are_wrong) {
  CHECK_ERRORS(
      "device c\n"
      "queue q\n"
      "timeline 3\n"
      "buffer b\n"
      "file f append \"x\"\n"
      "file g read 3\n"
      "collective k on q\n"
      "param p\n"
      "require\n"
      "for i in 0..3 { buffer z 3\n }\n"
      "q[: nop\n",
      TIDE_CORRUPT,
      "1:9: expected the device's kind, such as 'cpu' or 'file', found the end of the line\n"
      "2:8: expected 'on' and the queue's device, found the end of the line\n"
      "3:10: expected a name for the timeline, found '3'\n"
      "4:9: expected a number or a name, found the end of the line\n"
      "5:8: expected 'read', 'write' or 'temporary', found 'append'\n"
      "6:13: expected the file's path, in quotes, found '3'\n"
      "7:14: expected 'over' and the queues that take part, found 'on'\n"
      "8:8: expected '=', found the end of the line\n"
      "9:8: expected a number or a name, found the end of the line\n"
      "10:17: 'buffer' stands outside of 'for' and 'if'\n"
      "12:3: expected a number or a name, found ':'");
}

TEST(operations_that_are_wrong) {
  CHECK_ERRORS(
      "q: nop wait a = 3\n"
      "q: nop signal a >= 3\n"
      "q: nop wait a >= 1 wait b >= 1\n"
      "q: nop label 3\n"
      "q: fill m[1][2]\n"
      "q: alloc\n"
      "host: nop\n"
      "q: wait\n"
      "q: nop 1 2\n"
      "q: nop passable 3\n"
      "let x = 1 < 2 < 3\n"
      "let y = 1 * not 2\n"
      "let z = min()\n"
      "let u = (1, 2)\n",
      TIDE_CORRUPT,
      "1:15: expected '>=', found '='\n"
      "2:17: expected '=', found '>='\n"
      "3:25: an operation has one 'wait'\n"
      "4:14: expected a text, found '3'\n"
      "5:15: expected ',' and the size of the slice, found ']'\n"
      "6:9: expected a scratch buffer, found the end of the line\n"
      "7:7: expected 'signal', 'external' or 'wait', found 'nop'\n"
      "8:4: expected a body (what to do), found 'wait', which is a word of the language\n"
      "9:10: expected ',', 'wait', 'take', 'signal', 'cost', 'label', 'passable' or the end of the "
      "line, found '2'\n"
      "10:17: expected 'wait', 'take', 'signal', 'cost', 'label', 'passable' or the end of the "
      "line, found '3'\n"
      "11:15: comparisons don't chain: write 'a < b and b < c'\n"
      "12:13: put 'not …' in parentheses here\n"
      "13:13: expected a number or a name, found ')'\n"
      "14:11: expected ')', found ','");
}

TEST(nothing_to_do) {
  CHECK_ERRORS("", TIDE_CORRUPT, "1:1: this program has no operations");
  CHECK_ERRORS("# only words\n\n", TIDE_CORRUPT, "1:1: this program has no operations");
  CHECK_ERRORS("device c cpu\nqueue q on c\nparam n = 0\nfor i in 0..n { q: nop }\n", TIDE_INVALID,
               "1:1: with these parameters, this program has no operations");
}

TEST(bytes_that_are_no_text) {
  char buffer[512];
  struct loaded l;
  static const char bytes[] = "device c cpu\nqueue q on c\n\xff\xfe\n\0\nq: nop";
  load_with(&l, tide_allocator_system(), bytes, sizeof bytes - 1, NULL, 0, 0);
  CHECK_STATUS(l.status, TIDE_CORRUPT);
  CHECK_EQ_STR(errors_of(&l, buffer, sizeof buffer),
               "3:1: expected a declaration, 'for', 'if' or an operation, found byte 0xff\n"
               "4:1: expected a declaration, 'for', 'if' or an operation, found byte 0x00");
  unload(&l);
}

TEST(errors_are_counted_but_not_without_end) {
  struct loaded l;
  char *text = malloc(3001);
  CHECK(text);
  for (int i = 0; i < 1000; i++) memcpy(text + 3 * i, "3 \n", 4);
  load(&l, text);
  CHECK_EQ_U64(l.report.count, 20);
  unload(&l);
  /* A report without room, and none at all. */
  struct tide_report none = {NULL, 0, 0};
  struct tide_program_params params = {.struct_size = sizeof params,
                                       .allocator = tide_allocator_system(),
                                       .text = text,
                                       .length = 3000};
  struct tide_program *program;
  CHECK_STATUS(tide_program_parse(&params, &none, &program), TIDE_CORRUPT);
  CHECK(none.count > 0 && !program);
  CHECK_STATUS(tide_program_parse(&params, NULL, &program), TIDE_CORRUPT);
  free(text);
}

TEST(places_print) {
  char buffer[64];
  struct tide_diag diag = {.line = 12, .column = 18, .text = "no"};
  CHECK_EQ_U64(tide_program_diag_print("x.tide", &diag, buffer, sizeof buffer), 16);
  CHECK_EQ_STR(buffer, "x.tide:12:18: no");
  diag.line = 0;
  tide_program_diag_print("x.tide", &diag, buffer, sizeof buffer);
  CHECK_EQ_STR(buffer, "x.tide: no");
  CHECK_EQ_U64(tide_program_diag_print("x.tide", &diag, buffer, 5), 10);
  CHECK_EQ_STR(buffer, "x.ti");
}

TEST(no_allocator_is_malloc) {
  struct tide_program_params params = {
      .struct_size = sizeof params, .text = "device a cpu\n", .length = 13, .syntax_only = true};
  struct tide_program *program;
  CHECK_OK(tide_program_parse(&params, NULL, &program));
  tide_program_destroy(program);
}

TEST_MAIN(CASE(no_allocator_is_malloc), CASE(the_sketch_of_the_design), CASE(lines_go_on),
          CASE(line_ends_of_other_systems), CASE(blocks_on_one_line), CASE(texts),
          CASE(names_that_are_words_elsewhere), CASE(every_statement_has_its_error),
          CASE(a_clause_alone), CASE(one_error_does_not_hide_the_next), CASE(texts_that_are_wrong),
          CASE(declarations_that_are_wrong), CASE(operations_that_are_wrong), CASE(nothing_to_do),
          CASE(bytes_that_are_no_text), CASE(errors_are_counted_but_not_without_end),
          CASE(places_print))
