/* What a plan holds: values, tables, steps. */
#include "program_load.h"

/* ---- expressions ------------------------------------------------------------------ */

/* `spin EXPRESSION` as a step. */
static void check_value(int line, const char *expression, const char *want) {
  char text[512], step[512];
  snprintf(text, sizeof text, "param p = 7\nlet l = 3\n" HEAD "for i in 5..6 { q: spin %s\n }\n",
           expression);
  snprintf(step, sizeof step, "q: spin %s\n", want);
  check_steps(__FILE__, line, text, step);
}
#define CHECK_VALUE(expression, want) check_value(__LINE__, expression, want)

TEST(expressions) {
  CHECK_VALUE("1+2*3", "7");
  CHECK_VALUE("(1+2)*3", "9");
  CHECK_VALUE("10-3-2", "5");
  CHECK_VALUE("100/7/2", "7");
  CHECK_VALUE("-7/2", "-3");
  CHECK_VALUE("-7%3", "-1");
  CHECK_VALUE("--3", "3");
  CHECK_VALUE("-(2-5)", "3");
  CHECK_VALUE("p*l+i", "26");
  CHECK_VALUE("64K", "65536");
  CHECK_VALUE("1T/1G", "1024");
  CHECK_VALUE("3us+2ns", "3002");
  CHECK_VALUE("0x1F", "31");
  CHECK_VALUE("min(3, 2, 8)", "2");
  CHECK_VALUE("max(min(9, p), l)+1", "8");
  CHECK_VALUE("1 < 2", "1");
  CHECK_VALUE("2 <= 1", "0");
  CHECK_VALUE("1+1 == 2", "1");
  CHECK_VALUE("3 != 3", "0");
  CHECK_VALUE("not 3", "0");
  CHECK_VALUE("not 1 == 2", "1");
  CHECK_VALUE("not (not 5)", "1");
  CHECK_VALUE("2 and 3", "1");
  CHECK_VALUE("0 or 0 or 4", "1");
  CHECK_VALUE("1 and 0 or 1 and 1", "1");
  CHECK_VALUE("0 and 1/0", "0");
  CHECK_VALUE("1 or 1/0", "1");
  CHECK_VALUE("1 and (0 or 0)", "0");
  CHECK_VALUE("9223372036854775807", "9223372036854775807");
  CHECK_VALUE("-9223372036854775807-1", "-9223372036854775808");
  CHECK_VALUE("(-9223372036854775807-1)%-1", "0");
  CHECK_VALUE("4000000000*2000000000", "8000000000000000000");
}

TEST(expressions_without_a_value) {
  CHECK_ERRORS(HEAD "q: spin 9223372036854775807+1\n"
                    "q: spin -9223372036854775807-2\n"
                    "q: spin 4000000000*4000000000\n"
                    "q: spin (-9223372036854775807-1)/-1\n"
                    "q: spin -(-9223372036854775807-1)\n"
                    "q: spin 5/(3-3)\n"
                    "q: spin 5%0\n",
               TIDE_VALUE,
               "6:28: 9223372036854775807 + 1 does not fit 64 bits\n"
               "7:29: -9223372036854775807 - 2 does not fit 64 bits\n"
               "8:19: 4000000000 * 4000000000 does not fit 64 bits\n"
               "9:33: -9223372036854775808 / -1 does not fit 64 bits\n"
               "10:9: 0 - -9223372036854775808 does not fit 64 bits\n"
               "11:10: division by zero: 5 / 0\n"
               "12:10: division by zero: 5 % 0");
}

/* ---- blocks -------------------------------------------------------------------------- */

TEST(loops) {
  CHECK_STEPS(
      HEAD "for i in 0..7 step 3 { q: spin i }\n"
           "for i in 3..0 step -2 { q: spin i }\n"
           "for i in 3..0 { q: spin 99 }\n"
           "for i in 0..2 { for j in i..2 { let k = 10*i+j\n q: spin k } }\n"
           "let e = 9223372036854775807\n"
           "for i in e-2..e { q: spin i }\n"
           "for i in -e-1..e step e { q: spin i }\n",
      "q: spin 0\nq: spin 3\nq: spin 6\nq: spin 3\nq: spin 1\nq: spin 0\nq: spin 1\nq: spin "
      "11\nq: spin 9223372036854775805\nq: spin 9223372036854775806\n"
      "q: spin -9223372036854775808\nq: spin -1\nq: spin 9223372036854775806\n");
}

TEST(choices) {
  CHECK_STEPS(HEAD "for i in 0..4 {\n"
                   "  if i == 0 { q: spin 10 } else if i == 1 { q: spin 11 } else if i == 2 {\n"
                   "  } else { let x = 13\n q: spin x\n }\n"
                   "}\n",
              "q: spin 10\nq: spin 11\nq: spin 13\n");
}

TEST(requirements) {
  CHECK_ERRORS("param k = 3\n" HEAD "require k%2 == 0, \"k is {k}, not even\"\nq: nop\n",
               TIDE_VALUE, "7:1: k is 3, not even");
  CHECK_ERRORS(HEAD "for i in 0..9 {\n  require i < 2\n  q: nop\n}\n", TIDE_VALUE,
               "7:3: this requirement is not met");
}

/* ---- settings -------------------------------------------------------------------------- */

static void check_settings(int line, const struct tide_setting *settings, size_t count,
                           const char *want_errors, const char *want_steps) {
  static const char text[] = "param size = 2K\nparam name = \"x\"\nlet twice = 2*size\n" HEAD
                             "q: every m[0], m[1], \"{name}{twice}\", size\n";
  char buffer[2048];
  struct loaded l;
  load_with(&l, tide_allocator_system(), text, sizeof text - 1, settings, count, 0);
  test_eq_str(__FILE__, line, "the errors", errors_of(&l, buffer, sizeof buffer), want_errors);
  if (l.plan) {
    char *steps = steps_of(l.plan);
    test_eq_str(__FILE__, line, "the steps", steps, want_steps);
    free(steps);
  }
  unload(&l);
}

TEST(settings) {
  struct tide_setting good[] = {{"size", "3*4K"}, {"name", "a \"b\""}, {"size", "5"}};
  check_settings(__LINE__, NULL, 0, "", "q: every m[0], to=m[1], name=\"x4096\", size=2048\n");
  check_settings(__LINE__, good, 2, "",
                 "q: every m[0], to=m[1], name=\"a \\\"b\\\"24576\", size=12288\n");
  check_settings(__LINE__, good, 3, "", "q: every m[0], to=m[1], name=\"a \\\"b\\\"10\", size=5\n");
}

TEST(settings_that_are_wrong) {
  struct tide_setting bad[] = {{"sise", "1"}, {"twice", "1"}, {"other", "2"}};
  check_settings(__LINE__, bad, 3,
                 "0:0: unknown parameter 'sise'; did you mean 'size'?\n"
                 "0:0: unknown parameter 'twice'\n0:0: unknown parameter 'other'",
                 "");
  static const char *const values[][2] = {
      {"abc", "a number has no names in it"},
      {"", "expected a number or a name, found the end of the text"},
      {"1 2", "expected the end of the number, found '2'"},
      {"1/0", "division by zero: 1 / 0"},
      {"9999999999999999999", "this number does not fit 63 bits"},
  };
  for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
    struct tide_setting one = {"size", values[i][0]};
    char want[256];
    snprintf(want, sizeof want, "0:0: parameter 'size' cannot be '%s': %s", values[i][0],
             values[i][1]);
    check_settings(__LINE__, &one, 1, want, "");
  }
}

TEST(parameters_are_listed) {
  struct loaded l;
  load(&l, "param size = 2K\nparam name = \"x\"\nlet z = 1\n" HEAD "q: nop\n");
  size_t count;
  const struct tide_program_param *params = tide_program_params_of(l.program, &count);
  CHECK_EQ_U64(count, 2);
  CHECK_EQ_STR(params[0].name, "size");
  CHECK(!params[0].text && params[1].text);
  CHECK(params[1].line == 2 && params[1].column == 7);
  unload(&l);
}

/* ---- tables ------------------------------------------------------------------------------- */

TEST(devices_and_queues) {
  struct loaded l;
  load(&l,
       "param n = 2\ndevice a, b cpu workers n depth 3 name \"x{n}\"\ndevice g[2] gpu\n"
       "queue q on a priority 3 capacity 1K\nqueue lane[3], other on g\nqueue z on g[1]\nq: nop\n");
  CHECK_OK(l.status);
  const struct tide_plan_tables *t = tide_plan_tables(l.plan);
  CHECK_EQ_U64(t->device_count, 4);
  CHECK_EQ_STR(t->devices[1].label, "b");
  CHECK_EQ_STR(t->devices[1].kind, "cpu");
  CHECK_EQ_U64(t->devices[1].option_count, 3);
  CHECK_EQ_STR(t->devices[1].options[0].key, "workers");
  CHECK_EQ_U64((uint64_t)t->devices[1].options[0].integer, 2);
  CHECK_EQ_STR(t->devices[1].options[2].text, "x2");
  CHECK(t->devices[1].options[2].line == 2 && t->devices[1].options[2].column == 35);
  CHECK(t->devices[1].kind_line == 2 && t->devices[1].kind_column == 13);
  CHECK_EQ_STR(t->devices[3].label, "g[1]");
  CHECK_EQ_U64(t->queue_count, 6);
  CHECK(t->queues[0].priority == 3 && t->queues[0].capacity == 1024);
  CHECK_EQ_STR(t->queues[2].label, "lane[1]");
  CHECK(t->queues[1].device == 2 && t->queues[2].device == 3 && t->queues[3].device == 2);
  CHECK(t->queues[4].device == 2 && t->queues[5].device == 3 && t->queues[5].priority == 0);
  unload(&l);
}

TEST(timelines_and_scopes) {
  struct loaded l;
  load(&l, "device c, d cpu\nqueue q, r on c\nqueue x on d\n"
           "timeline own, beside, across, seen, made, idle, outside initial 5\n"
           "q: nop signal own = 6\nq: nop wait own >= 6 signal beside = 7, across = 9, seen = 6\n"
           "r: nop wait beside >= 7\nx: nop wait across >= 8\nhost: wait seen >= 6\n"
           "host: signal made = 8\nhost: external outside = 10\nq: nop wait made >= 8\n");
  CHECK_OK(l.status);
  const struct tide_plan_timeline *t = tide_plan_tables(l.plan)->timelines;
  CHECK(t[0].scope == TIDE_SCOPE_QUEUE && t[0].operations_only && t[0].initial == 5);
  CHECK(t[1].scope == TIDE_SCOPE_DEVICE && t[1].operations_only && t[1].last == 7);
  CHECK(t[2].scope == TIDE_SCOPE_GROUP);
  CHECK(t[3].scope == TIDE_SCOPE_PROCESS && t[3].operations_only);
  CHECK(t[4].scope == TIDE_SCOPE_PROCESS && !t[4].operations_only);
  CHECK(!t[5].used && t[5].last == 5 && t[4].used);
  CHECK(!t[6].operations_only);
  const struct tide_plan_tables *all = tide_plan_tables(l.plan);
  CHECK_EQ_U64(all->steps, 8);
  CHECK_EQ_U64(all->operations, 5);
  CHECK_EQ_U64(all->waits, 5);
  CHECK_EQ_U64(all->signals, 6);
  CHECK_EQ_U64(all->queues[0].operations, 3);
  CHECK(all->queues[0].most_signals == 3 && all->queues[0].most_waits == 1);
  unload(&l);
}

TEST(buffers_and_files) {
  struct loaded l;
  load(&l, "param dir = \"out\"\nlet k = 4\ndevice c cpu\nqueue q on c\nbuffer a, b[2] "
           "3*k\nscratch s[2] 1K\n"
           "file src read \"{dir}/x{k}\"\nfile dst write dir\nfile t temporary\n"
           "q: alloc s[*]\nq: read src, 0, a\nq: copy a, b[1]\nq: free s[0], s[1]\nq: alloc "
           "s[1]\nq: free s[1]\n");
  CHECK_OK(l.status);
  const struct tide_plan_tables *t = tide_plan_tables(l.plan);
  CHECK_EQ_U64(t->buffer_count, 5);
  CHECK_EQ_U64(t->static_bytes, 36);
  CHECK_EQ_U64(t->scratch_bytes, 2048);
  CHECK(!t->buffers[2].scratch && t->buffers[3].scratch && t->buffers[3].size == 1024);
  CHECK(t->buffers[0].read && t->buffers[0].written && !t->buffers[2].read &&
        t->buffers[2].written);
  CHECK_EQ_STR(t->files[0].path, "out/x4");
  CHECK_EQ_STR(t->files[1].path, "out");
  CHECK(t->files[0].mode == TIDE_FILE_READ && t->files[1].mode == TIDE_FILE_WRITE);
  CHECK(t->files[2].mode == TIDE_FILE_TEMPORARY && !t->files[2].path);
  unload(&l);
}

/* ---- steps ---------------------------------------------------------------------------------- */

TEST(arguments) {
  CHECK_STEPS(HEAD "q: every m[1], m[2], \"x\"\n"
                   "q: every to=m[2], name=\"y\", from=m[0], size=3+4\n"
                   "q: every m[3][16, 8], n[8, 2], \"z\", also=n\n"
                   "q: allreduce 0, 1, m[*]\n",
              "q: every m[1], to=m[2], name=\"x\"\n"
              "q: every m[0], to=m[2], name=\"y\", size=7\n"
              "q: every m[3][16, 8], to=n[8, 2], name=\"z\", also=n\n"
              "q: allreduce 0, parts=1, b0=m[0], b1=m[1], b2=m[2], b3=m[3]\n");
}

TEST(whole_arrays) {
  CHECK_STEPS("device c cpu\nqueue l[2] on c\ntimeline t[3]\nscratch s[2] 8\n"
              "l[0]: nop signal t[*] = 4\nl[1]: alloc s[*]\nl[1]: nop wait t[*] >= 4 "
              "passable\nl[0]: free s[*]\n"
              "host: wait t[*] >= 1\n",
              "l[0]: nop  signal t[0] = 4, t[1] = 4, t[2] = 4\n"
              "l[1]: alloc s[0]\nl[1]: alloc s[1]\n"
              "l[1]: nop  wait t[0] >= 4, t[1] >= 4, t[2] >= 4  passable\n"
              "l[0]: free s[0]\nl[0]: free s[1]\n"
              "host: wait t[0] >= 1, t[1] >= 1, t[2] >= 1\n");
}

TEST(collectives) {
  CHECK_STEPS("device c[2] cpu\nqueue l[2], k on c\ntimeline t[3]\ncollective ring over l, "
              "k\nbuffer b[2] 1K\n"
              "for i in 1..3 {\n"
              "  ring: allreduce member, members, b[*] wait ring >= i-1 signal t[member] = i*2\n"
              "}\nk: nop wait ring >= 2\n",
              "ring: allreduce 0, parts=3, b0=b[0], b1=b[1]  wait ring >= 0  signal t[0] = 2  # "
              "part 0 on l[0], instance 1\n"
              "ring: allreduce 1, parts=3, b0=b[0], b1=b[1]  wait ring >= 0  signal t[1] = 2  # "
              "part 1 on l[1], instance 1\n"
              "ring: allreduce 2, parts=3, b0=b[0], b1=b[1]  wait ring >= 0  signal t[2] = 2  # "
              "part 2 on k, instance 1\n"
              "ring: allreduce 0, parts=3, b0=b[0], b1=b[1]  wait ring >= 1  signal t[0] = 4  # "
              "part 0 on l[0], instance 2\n"
              "ring: allreduce 1, parts=3, b0=b[0], b1=b[1]  wait ring >= 1  signal t[1] = 4  # "
              "part 1 on l[1], instance 2\n"
              "ring: allreduce 2, parts=3, b0=b[0], b1=b[1]  wait ring >= 1  signal t[2] = 4  # "
              "part 2 on k, instance 2\n"
              "k: nop  wait ring >= 2\n");
  struct loaded l;
  load(&l,
       "device c cpu\nqueue l[2] on c\ncollective ring over l[1], l[0]\nring: nop\nring: nop\n");
  CHECK_OK(l.status);
  const struct tide_plan_tables *t = tide_plan_tables(l.plan);
  CHECK_EQ_U64(t->collective_count, 1);
  CHECK(t->collectives[0].queues[0] == 1 && t->collectives[0].queues[1] == 0);
  CHECK_EQ_U64(t->collectives[0].instances, 2);
  CHECK(t->timelines[t->collectives[0].timeline].collective == 0);
  CHECK_EQ_U64(t->timelines[t->collectives[0].timeline].last, 2);
  CHECK_EQ_U64(t->operations, 4);
  unload(&l);
}

TEST(places_and_numbers_of_steps) {
  struct loaded l;
  struct tide_step step;
  load(&l, HEAD "for i in 0..2 {\n  q: fill m[i], i\n  r: nop label \"{i}\" cost 3\n}\n");
  CHECK_OK(l.status);
  for (uint64_t i = 0; i < 4; i++) {
    CHECK_OK(tide_plan_next(l.plan, &step, NULL));
    CHECK_EQ_U64(step.number, i);
    CHECK(step.line == 7 + i % 2 && step.column == 3);
    CHECK(step.queue == i % 2);
    if (i % 2 == 0) {
      CHECK(step.arguments[0].kind == TIDE_PARAM_OUT && step.arguments[0].index == i / 2);
      CHECK(step.arguments[0].size == 1024 && step.arguments[1].integer == (int64_t)i / 2);
      CHECK(!step.label && !step.cost);
    } else {
      CHECK_EQ_STR(step.label, i == 1 ? "0" : "1");
      CHECK_EQ_U64(step.cost, 3);
    }
  }
  CHECK_OK(tide_plan_next(l.plan, &step, NULL));
  CHECK(step.kind == TIDE_STEP_END);
  CHECK_OK(tide_plan_next(l.plan, &step, NULL));
  CHECK(step.kind == TIDE_STEP_END);
  unload(&l);
}

TEST(two_plans_of_one_program) {
  struct loaded l;
  load(&l, "param k = 2\n" HEAD "for i in 0..k { q: spin i }\n");
  CHECK_OK(l.status);
  struct tide_setting more = {"k", "3"};
  struct tide_body_set set = {NULL, 0};
  set.bodies = tide_kernel_bodies(&set.count);
  struct tide_plan_params params = {.struct_size = sizeof params, &set, 1, &more, 1, 0};
  struct tide_plan *other;
  CHECK_OK(tide_plan_create(l.program, &params, NULL, &other));
  char *two = steps_of(l.plan), *three = steps_of(other);
  CHECK_EQ_STR(two, "q: spin 0\nq: spin 1\n");
  CHECK_EQ_STR(three, "q: spin 0\nq: spin 1\nq: spin 2\n");
  free(two);
  free(three);
  tide_plan_destroy(other);
  unload(&l);
}

/* A million operations without a table of them. */
TEST(a_million_operations) {
  struct loaded l;
  load(&l, "param k = 1000000\n" HEAD "for i in 0..k/2 {\n"
           "  q: fill m[i%4], i wait b >= max(0, i-3) signal a = i+1\n"
           "  r: hash m[i%4], n[8*(i%8), 8] wait a >= i+1 signal b = i+1\n}\n");
  CHECK_OK(l.status);
  CHECK_EQ_U64(tide_plan_tables(l.plan)->operations, 1000000);
  struct tide_step step;
  uint64_t count = 0;
  do CHECK_OK(tide_plan_next(l.plan, &step, NULL));
  while (step.kind != TIDE_STEP_END && ++count);
  CHECK_EQ_U64(count, 1000000);
  unload(&l);
}

TEST_MAIN(CASE(expressions), CASE(expressions_without_a_value), CASE(loops), CASE(choices),
          CASE(requirements), CASE(settings), CASE(settings_that_are_wrong),
          CASE(parameters_are_listed), CASE(devices_and_queues), CASE(timelines_and_scopes),
          CASE(buffers_and_files), CASE(arguments), CASE(whole_arrays), CASE(collectives),
          CASE(places_and_numbers_of_steps), CASE(two_plans_of_one_program),
          CASE(a_million_operations))
