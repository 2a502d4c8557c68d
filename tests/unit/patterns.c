/* benchmarks/patterns: each pattern computes what it computes alone, whichever way its data comes;
 * and its check finds out when data came that was old, or not written yet. */
#include "../../benchmarks/patterns/run.h"

#include "harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct trial {
  const struct pattern *pattern;
  const struct way *way;
  enum plant plant;
  struct settings settings;
};

static const struct settings small = {.consumers = 4,
                                      .cycles = 4,
                                      .bytes = 4096,
                                      .limit = 100,
                                      .seed = 5,
                                      .n0 = 3,
                                      .n1 = 2,
                                      .xi = 0.5};
static const struct pace once = {.times = {1, 1, 1}};

static void run_trial(const struct trial *t, struct outcome *out) {
  run_pattern(t->pattern, t->way, &t->settings, &once, t->plant, out);
}

static void expect_good(const struct trial *t) {
  struct outcome out;
  run_trial(t, &out);
  if (!out.good) FAIL("%s, %s: %s", t->pattern->name, t->way->name, out.said);
  CHECK(out.downs > 0 && out.messages >= out.downs && out.ns > 0);
}

static void trial(void) {
  const struct trial *t = test_given();
  struct outcome out;
  if (t->plant == PLANT_NOTHING) {
    expect_good(t);
    return;
  }
  run_trial(t, &out);
  CHECK(!out.good);
  /* Not because it hung, or gave up. */
  if (!strstr(out.said, "differs")) FAIL("it says: %s", out.said);
}

/* ---- sizes of all sorts ---- */

static void any_size(void) {
  struct trial t = *(const struct trial *)test_given();
  for (uint32_t i = 0; i < 24 / test_slowdown() + 1; i++) {
    uint64_t random = mix(31, i);
    t.way = ways[i % way_count];
    t.settings.consumers = 1 + (uint32_t)(random % 7);
    t.settings.cycles = 2 + (uint32_t)(random >> 8) % 5;
    t.settings.bytes = random >> 16 & 1 ? 4096 : 4096 * (1 + (random >> 17) % 16);
    t.settings.seed = random >> 24;
    t.settings.model = (enum model)(random >> 32 & 3);
    t.settings.access = (enum access)(random >> 34 & 3);
    t.settings.xi = (double)(random >> 36 & 7) / 7;
    expect_good(&t);
  }
}

static const struct pattern *pattern_named(const char *name) {
  for (size_t i = 0; i < pattern_count; i++)
    if (strcmp(patterns[i]->name, name) == 0) return patterns[i];
  FAIL("no pattern is named %s", name);
}

TEST(a_whole_sort_is_sorted) {
  /* 8 blocks need 6 stages; the check looks at the order itself then. Twice: the next array too. */
  struct trial t = {pattern_named("G_BS"), &way_futex, PLANT_NOTHING, small};
  t.settings.cycles = 6;
  expect_good(&t);
  t.settings.cycles = 12;
  expect_good(&t);
}

/* ---- what all consumers' parts make ---- */

static struct message dropped;

/* The producer finds zeros where one consumer's message back was. */
static const void *drop(struct exchange *x, struct message m) {
  static const unsigned char zeros[4096];
  const void *data = way_spin.take(x, m);
  bool mine = m.direction == UP && m.cycle == dropped.cycle && m.consumer == dropped.consumer;
  return mine ? zeros : data;
}

TEST(k_means_needs_each_partial_sum) {
  struct way way = way_spin;
  struct trial t = {pattern_named("G_KMN"), &way, PLANT_NOTHING, small};
  struct outcome out;
  way.take = drop;
  for (dropped.consumer = 0; dropped.consumer < small.consumers; dropped.consumer++)
    for (dropped.cycle = 0; dropped.cycle < small.cycles; dropped.cycle++) {
      run_trial(&t, &out);
      CHECK(!out.good);
      if (!strstr(out.said, "a mean for all")) FAIL("it says: %s", out.said);
    }
}

/* ---- ways that fail ---- */

static bool never_taken(struct exchange *x, struct message m) {
  return way_spin.taken(x, m) && (m.direction == UP || m.cycle != 1 || m.consumer != 2);
}

static void never_give(struct exchange *x, struct message m, size_t length) {
  if (m.cycle < 1 || m.consumer != 2) way_futex.give(x, m, length);
}

static const char *cannot_open(struct exchange *x) {
  (void)x;
  return "the kernel has no such thing";
}

static struct trial failing(struct way *way, const struct way *like) {
  *way = *like;
  return (struct trial){patterns[0], way, PLANT_NOTHING, small};
}

TEST(data_that_is_not_good_ends_the_run) {
  struct way way;
  struct outcome out;
  for (size_t i = 0; i < pattern_count; i++) {
    struct trial t = failing(&way, &way_spin);
    way.taken = never_taken;
    t.pattern = patterns[i];
    run_trial(&t, &out);
    CHECK(!out.good);
    CHECK_EQ_STR(out.said, "a consumer or the producer gave up");
  }
}

TEST(data_that_never_comes_is_a_hang) {
  struct way way;
  struct outcome out;
  struct trial t = failing(&way, &way_futex);
  way.give = never_give;
  t.settings.limit = 1;
  run_trial(&t, &out);
  CHECK(!out.good);
  CHECK_EQ_STR(out.said, "it hung");
}

TEST(a_way_that_cannot_be_opened_says_why) {
  struct way way;
  struct outcome out;
  struct trial t = failing(&way, &way_futex);
  way.open = cannot_open;
  run_trial(&t, &out);
  CHECK(!out.good);
  CHECK_EQ_STR(out.said, "the kernel has no such thing");
}

/* ---- pace ---- */

TEST(a_pace_repeats_short_work) {
  struct settings s = small;
  struct pace pace;
  struct outcome out;
  s.us[PRODUCE] = s.us[C1] = s.us[C2] = 3000; /* rows of a stencil take nowhere so long */
  const struct pattern *pattern = pattern_named("G_STN");
  CHECK(run_calibrate(pattern, &s, &pace, &out));
  for (int phase = 0; phase < PHASES; phase++) CHECK(pace.times[phase] > 1);
  run_pattern(pattern, &way_yield, &s, &pace, PLANT_NOTHING, &out);
  if (!out.good) FAIL("%s: %s", pattern->name, out.said);
}

/* ---- the table: patterns times ways times plants ---- */

struct table {
  struct test_case *cases;
  struct trial *trials;
  size_t count;
};

static void add(struct table *t, struct trial trial_of, void (*run)(void), const char *name) {
  struct trial *given = &t->trials[t->count];
  *given = trial_of;
  char *copy = malloc(strlen(name) + 1);
  if (!copy) exit(1);
  memcpy(copy, name, strlen(name) + 1);
  t->cases[t->count++] = (struct test_case){copy, run, given, 120};
}

static void add_trial(struct table *t, const char *name, struct trial trial_of) {
  static const char *const plants[] = {"", "_stale", "_early"};
  char text[128];
  snprintf(text, sizeof text, "%.90s_%s%s", name, trial_of.way->name, plants[trial_of.plant]);
  add(t, trial_of, trial, text);
}

/* Each pattern with each way and each plant. */
static void add_patterns(struct table *t) {
  char text[128];
  for (size_t i = 0; i <= pattern_count; i++) {
    const struct pattern *pattern = i < pattern_count ? patterns[i] : &pattern_generator;
    snprintf(text, sizeof text, "%s_any_size", pattern->name);
    add(t, (struct trial){pattern, &way_futex, PLANT_NOTHING, small}, any_size, text);
    for (size_t w = 0; i < pattern_count && w < way_count; w++)
      for (int plant = PLANT_NOTHING; plant <= PLANT_EARLY; plant++)
        add_trial(t, pattern->name, (struct trial){pattern, ways[w], (enum plant)plant, small});
  }
}

/* Each combination with each way, and each plant with one of them. */
static void add_generated(struct table *t) {
  char text[128];
  for (uint32_t i = 0; i < MODELS * ACCESSES; i++) {
    struct trial one = {&pattern_generator, NULL, PLANT_NOTHING, small};
    one.settings.model = (enum model)(i / ACCESSES);
    one.settings.access = (enum access)(i % ACCESSES);
    snprintf(text, sizeof text, "%s_%s", model_names[i / ACCESSES], access_names[i % ACCESSES]);
    for (size_t w = 0; w < way_count; w++) {
      one.way = ways[w];
      add_trial(t, text, one);
    }
    one.way = ways[i % way_count];
    one.plant = PLANT_STALE;
    add_trial(t, text, one);
    one.plant = PLANT_EARLY;
    add_trial(t, text, one);
  }
}

int main(int argc, char **argv) {
  static const struct test_case others[] = {
      CASE(a_whole_sort_is_sorted),
      CASE(k_means_needs_each_partial_sum),
      CASE(data_that_is_not_good_ends_the_run),
      CASE(data_that_never_comes_is_a_hang),
      CASE(a_way_that_cannot_be_opened_says_why),
      CASE_SECONDS(a_pace_repeats_short_work, 120),
  };
  enum { MOST = 1024, OTHERS = sizeof others / sizeof *others };
  struct table t = {calloc(MOST, sizeof *t.cases), calloc(MOST, sizeof *t.trials), 0};
  if (!t.cases || !t.trials) return 1;
  add_patterns(&t);
  add_generated(&t);
  memcpy(t.cases + t.count, others, sizeof others);
  return test_main(argc, argv, t.cases, t.count + OTHERS);
}
