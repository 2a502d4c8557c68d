/* What a plan refuses before anything runs. */
#include "program_load.h"

/* ---- names ----------------------------------------------------------------------- */

TEST(names_that_nobody_knows) {
  CHECK_ERRORS("device cpu0 cpu\nqueue left, right on cpu0\ntimeline tiles\nbuffer tile[4] "
               "1K\nbuffer one 8\n"
               "lef: nop signal tiles = 1\n"
               "right: fill tlie[0] wait tile >= 1\n"
               "right: hash tile, tile[1]\n"
               "right[0]: nop\n"
               "tile[1]: nop\n"
               "left: spin cout+1\n"
               "left: fill one[*]\n"
               "left: free tiles\n"
               "left: nop signal one = 3 label \"{nobody}\"\n"
               "left: spin member\n"
               "left: spin one\n"
               "host: wait left >= 3\n",
               TIDE_NOT_FOUND,
               "6:1: unknown queue 'lef'; did you mean 'left'?\n"
               "7:13: unknown buffer 'tlie'; did you mean 'tile'?\n"
               "7:26: 'tile' is a buffer; a timeline is expected here\n"
               "8:13: 'tile' is an array: say which one, tile[INDEX] or tile[*]\n"
               "9:1: 'right' is not an array: leave the '[…]' out\n"
               "10:1: 'tile' is a buffer; a queue is expected here\n"
               "11:12: unknown number 'cout'\n"
               "12:12: 'one' is not an array: leave the '[…]' out\n"
               "13:12: 'tiles' is a timeline; a buffer is expected here\n"
               "14:18: 'one' is a buffer; a timeline is expected here\n"
               "14:34: unknown parameter 'nobody'\n"
               "15:12: 'member' has a value only in the operations of a collective\n"
               "17:12: 'left' is a queue; a timeline is expected here");
}

TEST(names_that_come_too_late_or_twice) {
  CHECK_ERRORS(
      "buffer b k*4\nlet k = 3\nqueue q on c\ndevice c cpu\ntimeline q\nfor k in 0..3 { q: nop }\n"
      "for i in 0..2 { for i in 0..2 { q: nop } }\nlet member = 3\nqueue host on c\n"
      "for z in 0..2 { q: spin z }\nfor z in 0..2 { q: spin z }\nq: spin z\n",
      TIDE_NOT_FOUND,
      "1:10: 'k' is declared further down, on line 2; move that line up\n"
      "3:12: 'c' is declared further down, on line 4; move that line up\n"
      "5:10: the name 'q' is taken: it is a queue of line 3\n"
      "8:5: the name 'member' has a meaning already; choose another\n"
      "9:7: the name 'host' has a meaning already; choose another\n"
      "6:5: the name 'k' is taken: it is a number of line 2\n"
      "7:21: the name 'i' is taken: it is a number of line 7\n"
      "12:9: unknown name 'z'");
}

TEST(operations_may_come_before_what_they_use) {
  CHECK_STEPS("q: fill b, 3\ndevice c cpu\nqueue q on c\nbuffer b 8\n", "q: fill b, value=3\n");
}

/* ---- bodies ------------------------------------------------------------------------ */

TEST(bodies_and_their_arguments) {
  CHECK_ERRORS(HEAD "file f read \"x\"\nfile g write \"y\"\n"
                    "q: fil m[0]\n"
                    "q: blur 5, m[0], width=4, radius=1\n"
                    "q: blur m[1], m[0], width=4, radiu=1\n"
                    "q: blur m[1], m[0], width=4\n"
                    "q: blur m[1], m[0], 1, 2, 3, 4\n"
                    "q: blur m[1], from=m[2], to=m[0], width=4, radius=2\n"
                    "q: blur to=m[1], m[2], width=4, radius=2\n"
                    "q: fill f\n"
                    "q: spin m[0]\n"
                    "q: every m[0], m[1], 3\n"
                    "q: every m[0], m[1], n\n"
                    "q: spin \"x\"\n"
                    "q: write f, 0, m[0]\n"
                    "q: read g, 0, m[0]\n"
                    "q: spin microseconds=m[*]\n"
                    "q: nop 3\n",
               TIDE_NOT_FOUND,
               "8:4: unknown body 'fil'; did you mean 'fill'?\n"
               "9:9: blur: argument 'from' must be a buffer, not a number\n"
               "10:30: blur has no argument 'radiu'; did you mean 'radius'?\n"
               "11:4: blur: argument 'radius' (a number) is missing\n"
               "12:30: blur takes at most 5 arguments\n"
               "13:20: blur: argument 'from' is given twice\n"
               "14:18: arguments without a name stand before those with one\n"
               "15:9: fill: argument 'out' must be a buffer, not a file\n"
               "16:9: spin: argument 'microseconds' must be a number, not a buffer\n"
               "17:22: every: argument 'name' must be a text, not a number\n"
               "18:22: every: argument 'name' must be a text, not a buffer\n"
               "19:9: spin: argument 'microseconds' must be a number, not a text\n"
               "20:10: file 'f' is declared 'read'; it cannot be written\n"
               "21:9: file 'g' is declared 'write'; it cannot be read\n"
               "22:22: '[*]' is several arguments; give it without a name\n"
               "23:8: nop takes at most 0 arguments");
}

/* ---- numbers -------------------------------------------------------------------------- */

TEST(indices_and_slices) {
  CHECK_ERRORS(
      "let k = 0\n" HEAD "queue l[2] on c\ntimeline t[2]\n"
      "q: fill m[k+4]\n"
      "q: fill m[k-1]\n"
      "q: fill m[0][1000, 25]\n"
      "q: fill n[0, 0]\n"
      "q: fill n[-1, 4]\n"
      "q: fill n[9223372036854775807, 9223372036854775807]\n"
      "l[2]: nop\n"
      "q: nop wait t[2] >= 1\n"
      "q: nop signal t[0] = -1\n"
      "q: nop cost -3\n"
      "for i in 0..3 { q: fill m[i+2] }\n"
      "for i in 0..3 step k { q: nop }\n",
      TIDE_VALUE,
      "9:9: 'm[4]' does not exist: there are 4, 0 to 3\n"
      "10:9: 'm[-1]' does not exist: there are 4, 0 to 3\n"
      "11:9: the slice [1000, 25] is not within 'm[0]', which has 1024 bytes\n"
      "12:9: the slice [0, 0] is not within 'n', which has 64 bytes\n"
      "13:9: the slice [-1, 4] is not within 'n', which has 64 bytes\n"
      "14:9: the slice [9223372036854775807, 9223372036854775807] is not within 'n', which "
      "has 64 bytes\n"
      "15:1: 'l[2]' does not exist: there are 2, 0 to 1\n"
      "16:13: 't[2]' does not exist: there are 2, 0 to 1\n"
      "17:22: a timeline's value is at least 0, not -1\n"
      "18:13: a cost is at least 0, not -3\n"
      "19:25: 'm[4]' does not exist: there are 4, 0 to 3\n"
      "20:20: a loop's step is at least 1 or at most -1, not 0");
}

TEST(declarations_out_of_bounds) {
  static const char *const cases[][2] = {
      {"buffer b 0\n", "3:10: a buffer's size is 1 to 9223372036854775807, not 0"},
      {"buffer b[0] 1\n", "3:10: the number of entries is 1 to 1048576, not 0"},
      {"buffer b[2000000] 1\n", "3:10: the number of entries is 1 to 1048576, not 2000000"},
      {"buffer a[900000], b[900000] 1\n",
       "3:19: too many entries: with 'b' it would be 1800000, at most 1048576 are possible"},
      {"buffer b[3] 4611686018427387904\n",
       "3:8: with 'b[1]' the buffers need more than 2^63 bytes"},
      {"timeline t initial 0-1\n",
       "3:20: a timeline's first value is 0 to 9223372036854775807, not -1"},
      {"queue z on c priority 16\n", "3:23: a priority is 1 to 15, not 16"},
      {"queue z on c capacity 0\n", "3:23: a capacity is 1 to 16777216, not 0"},
      {"file f read \"\"\n", "3:13: the path of file 'f' is empty"},
      {"file f write \"x\"\nfile g write \"{p}\"\n", "4:14: files 'f' and 'g' both write \"x\""},
      {"collective k over q, q\n", "3:22: queue 'q' is a member already"},
      {"let z = 1/0\n", "3:10: division by zero: 1 / 0"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char text[512], buffer[1024];
    struct loaded l;
    snprintf(text, sizeof text, "param p = \"x\"\ndevice c cpu queue q on c\n%sq: nop\n",
             cases[i][0]);
    char *split = strstr(text, "cpu queue");
    memcpy(split, "cpu\nqueue", 9);
    /* The two heads are one line more: count from there. */
    load(&l, text);
    char want[512];
    unsigned line = 0;
    const char *rest = strchr(cases[i][1], ':');
    sscanf(cases[i][1], "%u", &line);
    snprintf(want, sizeof want, "%u%s", line + 1, rest);
    CHECK_EQ_STR(errors_of(&l, buffer, sizeof buffer), want);
    unload(&l);
  }
}

TEST(a_text_that_grows_without_end) {
  /* Each doubles the one before: 2^40 bytes. */
  char text[4096] = "param t0 = \"xx\"\n", buffer[512];
  for (int i = 1; i < 40; i++)
    sprintf(text + strlen(text), "param t%d = \"{t%d}{t%d}\"\n", i, i - 1, i - 1);
  strcat(text, "device c cpu\nqueue q on c\nq: nop\n");
  struct loaded l;
  load(&l, text);
  CHECK_STATUS(l.status, TIDE_FULL);
  CHECK_EQ_STR(errors_of(&l, buffer, sizeof buffer),
               "17:13: with its names filled in, this text is longer than 65536 bytes");
  unload(&l);
}

/* ---- values ------------------------------------------------------------------------------- */

TEST(values_that_do_not_go_up) {
  CHECK_ERRORS(HEAD "timeline u initial 5\n"
                    "q: nop signal a = 7\n"
                    "q: nop signal a = 4\n"
                    "r: nop signal a = 7\n"
                    "r: nop signal u = 3\n"
                    "q: nop signal b = 0\n"
                    "host: signal a = 6\n"
                    "for i in 0..9 { q: nop signal b = 9-i }\n",
               TIDE_VALUE,
               "8:1: timeline 'a' goes down: 4 after 7 of line 7\n"
               "9:1: timeline 'a' does not go up: 7 was signalled on line 7 already\n"
               "10:1: timeline 'u' does not go up: 3, where it starts at 5\n"
               "11:1: timeline 'b' does not go up: 0, where it starts at 0\n"
               "12:1: timeline 'a' goes down: 6 after 7 of line 7\n"
               "13:17: timeline 'b' goes down: 8 after 9 of line 13");
}

TEST(values_that_never_come) {
  CHECK_ERRORS(HEAD "q: nop signal a = 8\n"
                    "for i in 0..3 { q: nop wait a >= 9, b >= 1 }\n"
                    "r: nop wait b >= 1\n",
               TIDE_NOT_FOUND,
               "7:17: timeline 'a' never reaches 9: the highest signalled value is 8\n"
               "8:1: timeline 'b' never reaches 1: nobody signals it");
  CHECK_ERRORS(
      "device c[2] cpu\nqueue l[2] on c\ncollective k over l\nl[0]: nop wait k >= 2\nk: nop\n",
      TIDE_NOT_FOUND, "4:1: collective 'k' never reaches 2: the highest signalled value is 1");
  CHECK_ERRORS(HEAD "host: wait a >= 1\nq: nop\n", TIDE_NOT_FOUND,
               "6:1: timeline 'a' never reaches 1: nobody signals it");
}

/* ---- order ------------------------------------------------------------------------------------
 */

TEST(waits_for_what_comes_later_are_fine) {
  CHECK_STEPS(HEAD "q: nop wait a >= 1 signal b = 1\nr: nop signal a = 1\n",
              "q: nop  wait a >= 1  signal b = 1\nr: nop  signal a = 1\n");
  CHECK_STEPS(HEAD "q: nop wait a >= 1 passable\nq: nop signal a = 1\n",
              "q: nop  wait a >= 1  passable\nq: nop  signal a = 1\n");
  /* Thousands are held at the same time, and let go in another order. */
  struct loaded l;
  load(&l, HEAD "timeline t[100], u\n"
                "for k in 0..20 { for i in 0..100 { q: nop wait t[i] >= 20-k passable } }\n"
                "for i in 0..1000 { q: nop wait u >= 1000-i passable }\n"
                "for k in 0..20 { for i in 0..100 { q: nop signal t[99-i] = k+1 } }\n"
                "for i in 0..1000 { q: nop signal u = i+1 }\n");
  CHECK_OK(l.status);
  unload(&l);
}

TEST(cycles) {
  CHECK_ERRORS(
      HEAD "q: nop wait b >= 1 signal a = 1\nr: nop wait a >= 1 signal b = 1\n", TIDE_DEADLOCK,
      "6:1: the program is cyclic: line 6 waits for 'b' >= 1 of line 7, line 7 waits for 'a' "
      ">= 1 of line 6");
  CHECK_ERRORS(
      HEAD "q: nop wait a >= 1\nq: nop\nq: nop signal a = 1\n", TIDE_DEADLOCK,
      "6:1: the program is cyclic: line 6 waits for 'a' >= 1 of line 8, line 8 stands behind "
      "line 6 in queue 'q'");
  CHECK_ERRORS(HEAD "q: nop wait a >= 2 signal a = 2\n", TIDE_DEADLOCK,
               "6:1: this operation waits for 'a' >= 2, which only it signals itself");
  CHECK_ERRORS(
      HEAD "q: nop wait a >= 1 passable signal b = 1\nr: nop wait b >= 1\nr: nop signal a = 1\n",
      TIDE_DEADLOCK,
      "6:1: the program is cyclic: line 6 waits for 'a' >= 1 of line 8, line 8 stands behind "
      "line 7 in queue 'r', line 7 waits for 'b' >= 1 of line 6");
  /* What hangs on a cycle, but is not in it, is not what is shown. */
  CHECK_ERRORS(
      HEAD "timeline t\nq: nop wait t >= 1\nr: nop wait a >= 1 signal t = 1\n"
           "queue x, y on d\nx: nop wait b >= 1 signal a = 1\ny: nop wait a >= 1 signal b = 1\n",
      TIDE_DEADLOCK,
      "10:1: the program is cyclic: line 10 waits for 'b' >= 1 of line 11, line 11 waits for "
      "'a' >= 1 of line 10");
}

TEST(long_circles) {
  CHECK_ERRORS(
      HEAD "timeline t[9]\nqueue l[9] on c\n"
           "for i in 0..9 { l[i]: nop wait t[(i+1)%9] >= 1 signal t[i] = 1 }\n",
      TIDE_DEADLOCK,
      "8:17: the program is cyclic: line 8 waits for 't[1]' >= 1 of line 8, line 8 waits for "
      "'t[2]' >= 1 of line 8, line 8 waits for 't[3]' >= 1 of line 8, line 8 waits for "
      "'t[4]' >= 1 of line 8, line 8 waits for 't[5]' >= 1 of line 8, and so on back to line 8");
}

TEST(circles_through_collectives) {
  CHECK_ERRORS(
      "device c[2] cpu\nqueue l[2] on c\ntimeline a\ncollective k over l\n"
      "l[0]: nop wait a >= 1\nk: nop\nl[1]: nop signal a = 1\n",
      TIDE_DEADLOCK,
      "5:1: the program is cyclic: line 5 waits for 'a' >= 1 of line 7, line 7 stands behind "
      "line 6 in queue 'l[1]', line 6 cannot start without line 5");
  CHECK_ERRORS(
      "device c[2] cpu\nqueue l[2] on c\ncollective k over l\nl[0]: nop wait k >= 1\nk: nop\n",
      TIDE_DEADLOCK,
      "4:1: this operation waits for 'k' >= 1, of which a part stands behind it in queue 'l[0]'");
  CHECK_ERRORS("device c[2] cpu\nqueue l[2] on c\ncollective k over l\nk: nop passable\n",
               TIDE_CORRUPT, "4:1: a collective is never 'passable'");
}

#define TAKES "device c cpu\nqueue q, r on c\ntimeline a, b\nbuffer x, y 64\n"

TEST(takes_that_cannot_be) {
  CHECK_ERRORS(TAKES "q: iota x signal a = 1\nr: hash x, y[0, 8] wait a >= 1 take x\n",
               TIDE_INVALID,
               "6:37: there is nothing to take: the operation waits for line 5, which writes 'x'");
  CHECK_ERRORS(TAKES "q: iota x\nr: hash x, y[0, 8] take x\n", TIDE_INVALID,
               "6:25: 'x' cannot be taken: line 5, which writes it, signals nothing");
  CHECK_ERRORS(TAKES "r: hash x, y[0, 8] take x\nq: iota x signal a = 1\n", TIDE_INVALID,
               "5:25: 'x' cannot be taken: nothing above writes it");
  CHECK_ERRORS(TAKES "q: iota x signal a = 1\nq: hash x, y[0, 8] take x\n", TIDE_INVALID,
               "6:25: there is nothing to take: line 5, which writes 'x', is of the same queue");
  CHECK_ERRORS(TAKES "q: iota x signal a = 1\nr: sort x take x\n", TIDE_INVALID,
               "6:16: 'x' cannot be taken: the operation writes it, too");
  CHECK_ERRORS(TAKES "q: iota x signal a = 1\nr: iota y take x\n", TIDE_INVALID,
               "6:16: 'x' cannot be taken: it is no argument of this operation");
  CHECK_ERRORS(TAKES "q: iota x signal a = 1\nr: hash x, y[0, 8] take x, x\n", TIDE_INVALID,
               "6:28: 'x' is taken twice");
  CHECK_ERRORS(TAKES "collective k over q, r\nk: hash x, y[8*member, 8] take x\n", TIDE_CORRUPT,
               "6:1: a collective takes nothing: its parts start together");
  CHECK_ERRORS(TAKES "q: iota x signal a = 1\nr: hash x, y[0, 8] take x passable\n", TIDE_CORRUPT,
               "6:1: what takes is never 'passable': it starts at its turn");
  CHECK_ERRORS(TAKES "q: iota x signal a = 1\nr: hash x, y[0, 8] take x after -1us\n", TIDE_VALUE,
               "6:33: a time is at least 0, not -1000");
  CHECK_ERRORS(TAKES "q: iota x signal a = 1\nr: hash x, y[0, 8] take x take x\n", TIDE_CORRUPT,
               "6:32: an operation has one 'take'");
  CHECK_ERRORS(TAKES "q: iota x signal a = 1\nr: hash x, y[0, 8] take z\n", TIDE_NOT_FOUND,
               "6:25: unknown buffer 'z'");
}

/* The writer waits for what comes behind its taker. */
TEST(circles_through_takes) {
  CHECK_ERRORS(TAKES "q: iota x signal a = 1 wait b >= 1\nr: hash x, y[0, 8] take x\n"
                     "r: nop signal b = 1\n",
               TIDE_DEADLOCK,
               "5:1: the program is cyclic: line 5 waits for 'b' >= 1 of line 7, line 7 stands "
               "behind line 6 in queue 'r', line 6 waits for 'a' >= 1 of line 5");
}

TEST(takes_are_two_steps) {
  CHECK_STEPS(TAKES "q: iota x[0, 32] signal a = 1\nq: iota x[32, 32] signal a = 2\n"
                    "r: hash x, y[0, 8] take x after 2us signal b = 1 cost 5us\n",
              "q: iota x[0, 32]  signal a = 1\nq: iota x[32, 32]  signal a = 2\n"
              "r: hash x, out=y[0, 8]  take x after 2us  cost 5us\n"
              "r: took x  wait a >= 1, a >= 2, r.taken >= 1  signal b = 1\n");
  /* Of what is written again only the last writer counts, and what this queue wrote is there. */
  CHECK_STEPS(TAKES "q: iota x signal a = 1\nr: iota x[0, 8]\nq: iota x[8, 8] signal a = 2\n"
                    "q: iota x[16, 48] signal a = 3\nr: hash x, y[0, 8] take x\n",
              "q: iota x  signal a = 1\nr: iota x[0, 8]\nq: iota x[8, 8]  signal a = 2\n"
              "q: iota x[16, 48]  signal a = 3\nr: hash x, out=y[0, 8]  take x\n"
              "r: took x  wait a >= 2, a >= 3, r.taken >= 1\n");
}

TEST(hosts_that_wait_in_vain) {
  CHECK_ERRORS(
      HEAD "host: wait a >= 1\nq: nop signal a = 1\n", TIDE_DEADLOCK,
      "6:1: the host waits here for 'a' >= 1, which is signalled only by what is submitted "
      "after this line");
  CHECK_ERRORS(
      HEAD "q: nop signal a = 1 wait b >= 1\nhost: wait a >= 1\nr: nop signal b = 1\n",
      TIDE_DEADLOCK,
      "7:1: the host waits here for 'a' >= 1, but line 6, which signals it, waits for what is "
      "submitted only after this line");
  CHECK_STEPS(HEAD "q: nop wait b >= 1 signal a = 1\nhost: signal b = 1\nhost: wait a >= 1\n",
              "q: nop  wait b >= 1  signal a = 1\nhost: signal b = 1\nhost: wait a >= 1\n");
}

/* A wait of the host that only follows from another mistake hides nothing and adds nothing. */
TEST(hosts_that_wait_for_a_mistake) {
  static const char cycle[] = "6:1: the program is cyclic: line 6 waits for 'b' >= 1 of line 7, "
                              "line 7 waits for 'a' >= 1 of line 6";
  static const char *const lines[] = {"", "host: wait b >= 1\n", "host: wait a >= 1, b >= 1\n",
                                      "host: wait b >= 1\nhost: wait a >= 1\n",
                                      "host: wait a >= 1\nhost: signal t = 1\nhost: wait t >= 1\n"};
  char text[512];
  for (size_t i = 0; i < 5; i++) {
    snprintf(text, sizeof text,
             HEAD
             "q: nop wait b >= 1 signal a = 1\nr: nop wait a >= 1 signal b = 1\ntimeline t\n%s",
             lines[i]);
    CHECK_ERRORS(text, TIDE_DEADLOCK, cycle);
  }
  CHECK_ERRORS(HEAD "q: nop wait b >= 1 signal a = 1\nhost: wait a >= 1\n"
                    "r: nop wait a >= 1 signal b = 1\n",
               TIDE_DEADLOCK,
               "6:1: the program is cyclic: line 6 waits for 'b' >= 1 of line 8, line 8 waits for "
               "'a' >= 1 of line 6");
  CHECK_ERRORS("device c[2] cpu\nqueue l[2] on c\ntimeline a\ncollective k over l\n"
               "l[0]: nop wait a >= 1\nk: nop\nl[1]: nop signal a = 1\nhost: wait k >= 1\n",
               TIDE_DEADLOCK,
               "5:1: the program is cyclic: line 5 waits for 'a' >= 1 of line 7, line 7 stands "
               "behind line 6 in queue 'l[1]', line 6 cannot start without line 5");
  CHECK_ERRORS(TAKES "q: iota x signal a = 1 wait b >= 1\nr: hash x, y[0, 8] take x\n"
                     "r: nop signal b = 1\nhost: wait b >= 1\n",
               TIDE_DEADLOCK,
               "5:1: the program is cyclic: line 5 waits for 'b' >= 1 of line 7, line 7 stands "
               "behind line 6 in queue 'r', line 6 waits for 'a' >= 1 of line 5");
  CHECK_ERRORS(HEAD "for i in 0..4 { q: nop signal a = i+1 }\n"
                    "for i in 0..4 { r: nop wait a >= i+2 signal b = i+1 }\nhost: wait b >= 4\n",
               TIDE_NOT_FOUND,
               "7:17: timeline 'a' never reaches 5: the highest signalled value is 4");
}

/* A mistake gives one error, however many lines meet it; other mistakes give their own. */
TEST(hosts_with_mistakes_of_their_own) {
  CHECK_ERRORS(HEAD "q: nop wait a >= 1\nhost: wait a >= 1\nr: nop wait a >= 2\n", TIDE_NOT_FOUND,
               "6:1: timeline 'a' never reaches 1: nobody signals it");
  CHECK_ERRORS(HEAD "host: wait a >= 3\nq: nop wait a >= 2 signal b = 1\nhost: wait b >= 1\n",
               TIDE_NOT_FOUND, "6:1: timeline 'a' never reaches 3: nobody signals it");
  CHECK_ERRORS(HEAD "for i in 0..4 {\nhost: wait a >= i+1\nq: nop signal a = i+1\n}\n",
               TIDE_DEADLOCK,
               "7:1: the host waits here for 'a' >= 1, which is signalled only by what is "
               "submitted after this line");
  CHECK_ERRORS(HEAD "timeline t\nhost: wait t >= 1\nq: nop wait b >= 1 signal a = 1\n"
                    "r: nop wait a >= 1 signal b = 1\nhost: signal t = 1\nhost: wait b >= 2\n",
               TIDE_DEADLOCK,
               "7:1: the host waits here for 't' >= 1, which is signalled only by what is "
               "submitted after this line\n"
               "11:1: timeline 'b' never reaches 2: the highest signalled value is 1\n"
               "8:1: the program is cyclic: line 8 waits for 'b' >= 1 of line 9, line 9 waits for "
               "'a' >= 1 of line 8");
}

/* A queue takes no more than its declared capacity: the host would wait for a place for ever. */
TEST(queues_that_are_too_small) {
  static const char full[] =
      "queue 's' is full, and all that is in it waits for what comes later in "
      "the program: give it a larger capacity";
  char want[256];
  snprintf(want, sizeof want, "8:1: %s", full);
  CHECK_ERRORS(HEAD "queue s on c capacity 1\ns: nop wait a >= 1\ns: nop\nq: nop signal a = 1\n",
               TIDE_DEADLOCK, want);
  CHECK_ERRORS(HEAD "queue s on c capacity 1\ns: nop wait a >= 1 passable\ns: nop\n"
                    "q: nop signal a = 1\n",
               TIDE_DEADLOCK, want);
  snprintf(want, sizeof want, "8:17: %s", full);
  CHECK_ERRORS(HEAD "queue s on c capacity 1\ns: nop wait a >= 1\nfor i in 0..9 { s: nop }\n"
                    "q: nop signal a = 1\n",
               TIDE_DEADLOCK, want);
  CHECK_STEPS(HEAD "queue s on c capacity 2\ns: nop wait a >= 1\ns: nop\nq: nop signal a = 1\n",
              "s: nop  wait a >= 1\ns: nop\nq: nop  signal a = 1\n");
  CHECK_STEPS(HEAD "queue s on c capacity 1\nfor i in 0..2 { s: nop }\n", "s: nop\ns: nop\n");
  /* The cycle is the reason, and the capacity is not. */
  CHECK_ERRORS(HEAD "queue s on c capacity 1\ns: nop wait b >= 1 signal a = 1\ns: nop\n"
                    "r: nop wait a >= 1 signal b = 1\n",
               TIDE_DEADLOCK,
               "7:1: the program is cyclic: line 7 waits for 'b' >= 1 of line 9, line 9 waits for "
               "'a' >= 1 of line 7");
}

/* ---- scratch
 * -------------------------------------------------------------------------------------- */

TEST(lives_of_scratch_buffers) {
  CHECK_ERRORS(HEAD "scratch s[3] 4K\n"
                    "q: fill s[0]\n"
                    "q: alloc s[0]\n"
                    "r: alloc s[0]\n"
                    "q: free s[0]\n"
                    "r: free s[0]\n"
                    "q: hash s[0], n[0, 8]\n"
                    "q: free s[1]\n"
                    "for i in 0..3 { q: alloc s[i] }\n"
                    "for i in 0..2 { q: alloc s[2] }\n",
               TIDE_INVALID,
               "7:9: 's[0]' is used before it is allocated\n"
               "9:10: 's[0]' is allocated already, on line 8\n"
               "11:9: 's[0]' was freed already, on line 10\n"
               "12:9: 's[0]' is used after it was freed on line 10\n"
               "13:9: 's[1]' is freed before it is allocated\n"
               "15:26: 's[2]' is allocated already, on line 14");
  CHECK_ERRORS(HEAD "scratch s[3] 4K\nq: alloc s[*]\nr: free s[1]\n", TIDE_INVALID,
               "7:1: 's[0]' is allocated here and never freed");
  CHECK_ERRORS(
      HEAD "q: alloc n\n", TIDE_INVALID,
      "6:10: 'n' is declared 'buffer' and is there all the time; 'alloc' and 'free' are for "
      "'scratch'");
}

/* ---- limits
 * ------------------------------------------------------------------------------------------ */

static void check_limit(int line, const char *text, uint64_t operations, enum tide_status status,
                        const char *want) {
  char buffer[1024];
  struct loaded l;
  load_with(&l, tide_allocator_system(), text, strlen(text), NULL, 0, operations);
  test_eq_str(__FILE__, line, "the errors", errors_of(&l, buffer, sizeof buffer), want);
  test_status(__FILE__, line, "the status", l.status, status);
  unload(&l);
}

TEST(too_many_operations) {
  const char *text = HEAD "for i in 0..10 { q: nop }\n";
  check_limit(__LINE__, text, 10, TIDE_OK, "");
  check_limit(__LINE__, text, 9, TIDE_FULL, "6:18: this program has more than 9 operations");
  check_limit(__LINE__, HEAD "q: nop\nfor i in 0..9223372036854775807 { }\n", 1000, TIDE_FULL,
              "7:1: the loops of this program turn more than 1004000 times");
  check_limit(__LINE__,
              HEAD
              "q: nop\nfor i in 0..2000000000 { for j in 0..2000000000 { if 0 { q: nop } } }\n",
              1000, TIDE_FULL, "7:51: the loops of this program turn more than 1004000 times");
}

/* Loops that submit nothing end after a fixed number of turns, whatever the limit of operations. */
TEST(loops_that_submit_nothing) {
  static const char refused[] =
      "6:1: the loops of this program turn more than 4000000 times and submit nothing";
  check_limit(__LINE__, HEAD "for i in 0..1000000000000 { }\n", 0, TIDE_FULL, refused);
  check_limit(
      __LINE__,
      HEAD "for i in 0..1000000000000 { if i == -1 { q: nop } else if i%3 == 7 { q: nop } }\n", 0,
      TIDE_FULL, "6:29: the loops of this program turn more than 4000000 times and submit nothing");
  check_limit(__LINE__, HEAD "q: nop\nfor i in 0..3999998 { }\n", 0, TIDE_OK, "");
  check_limit(__LINE__, HEAD "q: nop\nfor i in 0..4000001 { }\n", 0, TIDE_FULL,
              "7:1: the loops of this program turn more than 4000000 times and submit nothing");
  /* An operation now and then is enough. */
  check_limit(__LINE__, HEAD "for i in 0..4 { q: nop  \nfor j in 0..1500000 { } }\n", 0, TIDE_OK,
              "");
}

static void count_call(void *user, uint64_t operations) {
  uint64_t *calls = user;
  calls[0]++;
  calls[1] = operations;
}

TEST(progress_of_long_programs) {
  static const char text[] =
      HEAD "for i in 0..5 { for j in 0..1000000 { if j == 0 { q: nop } } }\n";
  struct tide_program *program = NULL;
  struct tide_program_params parse = {.struct_size = sizeof parse,
                                      .allocator = tide_allocator_system(),
                                      .text = text,
                                      .length = strlen(text)};
  uint64_t calls[2] = {0, 0};
  struct tide_body_set bodies;
  bodies.bodies = tide_kernel_bodies(&bodies.count);
  struct tide_plan_params params = {.struct_size = sizeof params,
                                    .bodies = &bodies,
                                    .body_set_count = 1,
                                    .progress = count_call,
                                    .progress_user = calls};
  struct tide_plan *plan = NULL;
  CHECK_OK(tide_program_parse(&parse, NULL, &program));
  CHECK_OK(tide_plan_create(program, &params, NULL, &plan));
  CHECK_EQ_U64(calls[0], 4); /* at the second operation and each later one */
  CHECK_EQ_U64(calls[1], 5);
  tide_plan_destroy(plan);
  tide_program_destroy(program);
}

TEST(too_deep) {
  char text[4096] = "", buffer[512];
  struct loaded l;
  for (int i = 0; i < 65; i++) sprintf(text + strlen(text), "for i%d in 0..1 {\n", i);
  strcat(text, "q: nop\n");
  for (int i = 0; i < 65; i++) strcat(text, "}\n");
  load(&l, text);
  CHECK_STATUS(l.status, TIDE_FULL);
  CHECK_EQ_STR(errors_of(&l, buffer, sizeof buffer), "65:17: blocks are nested deeper than 64");
  unload(&l);
  strcpy(text, "let x = ");
  for (int i = 0; i < 65; i++) strcat(text, "(");
  load(&l, text);
  CHECK_EQ_STR(errors_of(&l, buffer, sizeof buffer), "1:73: parentheses are nested deeper than 64");
  unload(&l);
  strcpy(text, "let x = ");
  for (int i = 0; i < 1000; i++) strcat(text, "-");
  strcat(text, "1\n");
  load(&l, text);
  CHECK_EQ_STR(errors_of(&l, buffer, sizeof buffer), "1:137: this expression is nested too deep");
  unload(&l);
}

/* 64 levels and long flat chains are fine. */
TEST(as_deep_as_it_goes) {
  size_t size = 1 << 20;
  char *text = malloc(size), *at = text;
  CHECK(text);
  at += sprintf(at, HEAD);
  for (int i = 0; i < 64; i++) at += sprintf(at, "for i%d in 0..1 {\n", i);
  at += sprintf(at, "q: spin 0");
  for (int i = 0; i < 20000; i++) at += sprintf(at, "+1");
  at += sprintf(at, "\n");
  for (int i = 0; i < 64; i++) at += sprintf(at, "}\n");
  at += sprintf(at, "if 0 {\n}");
  for (int i = 0; i < 20000; i++) at += sprintf(at, " else if 0 {\n}");
  at += sprintf(at, " else {\nq: spin 5\n}\n");
  check_steps(__FILE__, __LINE__, text, "q: spin 20000\nq: spin 5\n");
  free(text);
}

TEST(too_long) {
  struct loaded l;
  char buffer[512];
  /* Refused before a byte is read: there is only one. */
  load_with(&l, tide_allocator_system(), "x", 1u << 30, NULL, 0, 0);
  CHECK_STATUS(l.status, TIDE_FULL);
  CHECK_EQ_STR(errors_of(&l, buffer, sizeof buffer),
               "0:0: a program has at most 16777216 bytes; this text has 1073741824");
  unload(&l);
  CHECK_ERRORS("let a234567890123456789012345678901234567890123456789012345678901234 = 1\n",
               TIDE_CORRUPT, "1:5: this name is longer than 63 bytes");
}

/* ---- memory
 * -------------------------------------------------------------------------------------------- */

struct meter {
  uint64_t asked, fail_at;
  int64_t out;
};
static void *meter_alloc(void *self, size_t size, size_t align) {
  struct meter *meter = self;
  if (++meter->asked == meter->fail_at) return NULL;
  void *memory = NULL;
  if (posix_memalign(&memory, align, size)) return NULL;
  meter->out++;
  return memory;
}
static void meter_free(void *self, void *memory, size_t size) {
  ((struct meter *)self)->out--;
  memset(memory, 0xdd, size);
  free(memory);
}

/* A program with some of everything; the n-th allocation fails, for every n. */
TEST(every_allocation_may_fail) {
  static const char text[] =
      "param p = 3\nparam s = \"x\"\n" HEAD "queue l[2] on c\ncollective k over l\nfile f read s\n"
      "device z cpu opt \"a{p}\" other 3\nscratch big[200] 4K\ntimeline t[30]\n"
      "q: alloc big[*]\n"
      "for i in 0..40 { q: nop wait a >= i+1 signal b = i+1 }\n"
      "for i in 0..40 { r: every m[0], m[1], \"{s}{i}\" signal a = i+1 label \"{i}\" }\n"
      "k: allreduce member, members, m[*] signal t[member] = 1\n"
      "if p == 3 { let u = p*2\n q: nop wait b >= u, t[*] >= 0 signal t[*] = 4 }\n"
      "q: free big[*]\n";
  struct tide_setting setting = {"p", "2+1"};
  bool succeeded = false;
  for (uint64_t n = 1; n < 10000 && !succeeded; n++) {
    struct meter meter = {.fail_at = n};
    struct tide_allocator allocator = {meter_alloc, meter_free, &meter};
    struct loaded l;
    load_with(&l, &allocator, text, sizeof text - 1, &setting, 1, 0);
    succeeded = l.status == TIDE_OK;
    if (succeeded) {
      CHECK(meter.asked > 50);
      CHECK(meter.asked < n);
    } else {
      CHECK_STATUS(l.status, TIDE_NOMEM);
      CHECK(l.report.count >= 1);
    }
    unload(&l);
    CHECK(meter.out == 0);
  }
  CHECK(succeeded);
}

TEST_MAIN(CASE(names_that_nobody_knows), CASE(names_that_come_too_late_or_twice),
          CASE(operations_may_come_before_what_they_use), CASE(bodies_and_their_arguments),
          CASE(indices_and_slices), CASE(declarations_out_of_bounds),
          CASE(a_text_that_grows_without_end), CASE(values_that_do_not_go_up),
          CASE(values_that_never_come), CASE(waits_for_what_comes_later_are_fine), CASE(cycles),
          CASE(long_circles), CASE(circles_through_collectives), CASE(takes_that_cannot_be),
          CASE(circles_through_takes), CASE(takes_are_two_steps), CASE(hosts_that_wait_in_vain),
          CASE(hosts_that_wait_for_a_mistake), CASE(hosts_with_mistakes_of_their_own),
          CASE(queues_that_are_too_small), CASE(lives_of_scratch_buffers),
          CASE(too_many_operations), CASE(loops_that_submit_nothing),
          CASE(progress_of_long_programs), CASE(too_deep), CASE(as_deep_as_it_goes), CASE(too_long),
          CASE(every_allocation_may_fail))
