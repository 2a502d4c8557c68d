/* benchmarks/patterns: what a report says of waiting, from moments that are known. */
#include "../../benchmarks/patterns/figure.h"
#include "../../benchmarks/patterns/grid.h"
#include "../../benchmarks/patterns/moments.h"

#include "harness.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Two consumers on one core, one message each; all times in ns. */
struct scene {
  struct run run;
  struct span spans[3];
  struct stretch stretches[4];
  uint64_t others[4];
  struct outcome out;
};

static void open_scene(struct scene *s) {
  struct shape shape = {
      .consumers = 2, .cycles = 1, .down = 1, .bytes = 4096, .watched = true, .cores = {0, 0}};
  *s = (struct scene){.run = {.pattern = patterns[0], .pieces = 2, .most_stretches = 4}};
  s->run.settings = (struct settings){.consumers = 2, .cycles = 1, .watched = true, .others = 2};
  s->run.spans = s->spans;
  s->run.stretches = s->stretches;
  s->run.others = s->others;
  CHECK(!exchange_open(&s->run.exchange, &way_spin, &shape, PLANT_NOTHING));
  for (uint32_t c = 0; c < 2; c++) s->spans[c] = (struct span){1000, 2000, 500};
  s->spans[2] = (struct span){1000, 1900, 800};
  s->out.downs = 2;
  s->out.alive_ns = 2000;
}

static void message(struct scene *s, uint32_t consumer, uint64_t asked, uint64_t given,
                    uint64_t got) {
  *exchange_moment(&s->run.exchange, down(consumer, 0, 0)) = (struct moment){asked, given, got};
}

static void summarise(struct scene *s) {
  moments_summarise(&s->run, &s->out);
  exchange_close(&s->run.exchange);
}

TEST(waiting_and_work_are_told_apart) {
  struct scene s;
  open_scene(&s);
  message(&s, 0, 1100, 1500, 1510);                   /* waits 400, while the other could run */
  message(&s, 1, 1400, 1300, 1410);                   /* is there */
  s.stretches[0] = (struct stretch){1100, 1300, 150}; /* all of it in that time: 150 */
  s.stretches[1] = (struct stretch){1400, 1600, 100}; /* half of it: 50 */
  s.stretches[2] = (struct stretch){1600, 1900, 300}; /* none */
  atomic_store(&s.run.stretch_count, 3);
  summarise(&s);
  CHECK_EQ_U64(s.out.awaited_ns, 400);
  CHECK_EQ_U64(s.out.both_ns, 400);
  CHECK_EQ_U64(s.out.hidden_ns, 200);
  /* Each has 1000 for a message: +40 % and -10 %. */
  CHECK(fabs(s.out.apart - 0.15) < 1e-9);
  CHECK(fabs(s.out.deviation - 0.25) < 1e-9);
}

TEST(nothing_can_be_hidden_when_all_wait) {
  struct scene s;
  open_scene(&s);
  message(&s, 0, 1100, 1500, 1510);
  message(&s, 1, 1300, 1700, 1710); /* both wait from 1300 to 1500 */
  s.stretches[0] = (struct stretch){1300, 1500, 200};
  s.stretches[1] = (struct stretch){1510, 1710, 200}; /* 190 while the second waits */
  atomic_store(&s.run.stretch_count, 2);
  summarise(&s);
  CHECK_EQ_U64(s.out.awaited_ns, 600);
  CHECK_EQ_U64(s.out.both_ns, 400);
  CHECK_EQ_U64(s.out.hidden_ns, 190);
}

TEST(shared_cores_hide_nothing_that_is_known) {
  struct scene s;
  open_scene(&s);
  s.run.exchange.shape.cores[0] = -1;
  message(&s, 0, 1100, 1500, 1510);
  s.stretches[0] = (struct stretch){1100, 1300, 150};
  atomic_store(&s.run.stretch_count, 1);
  summarise(&s);
  CHECK_EQ_U64(s.out.both_ns, 400);
  CHECK_EQ_U64(s.out.hidden_ns, 0);
}

TEST(curves_begin_with_the_first_wait) {
  struct scene s;
  open_scene(&s);
  message(&s, 0, 1100, 1500, 1510);
  message(&s, 1, 1300, 1250, 1310); /* comes to Tc in the middle of it */
  s.others[0] = 1050;               /* before */
  s.others[1] = 1180, s.others[2] = 1380, s.others[3] = 1600;
  summarise(&s);
  for (int i = 0; i < CURVE; i++) {
    uint64_t at = 1100 + 400 * (uint64_t)i / (CURVE - 1);
    CHECK(fabs(s.out.early[i] - (at < 1300 ? 0.5 : 0)) < 1e-9);
    double left = at < 1180 ? 0.75 : at < 1380 ? 0.5 : 0.25;
    CHECK(fabs(s.out.others_left[i] - left) < 1e-9);
  }
}

TEST(without_waiting_there_are_no_curves) {
  struct scene s;
  open_scene(&s);
  message(&s, 0, 1100, 1050, 1110);
  message(&s, 1, 1300, 1250, 1310);
  summarise(&s);
  CHECK_EQ_U64(s.out.awaited_ns, 0);
  CHECK(isnan(s.out.early[0]) && isnan(s.out.others_left[0]));
}

/* ---- watched runs ---- */

TEST(a_watched_run_knows_when_data_was_had) {
  const struct pace once = {.times = {50, 50, 50}};
  for (size_t w = 0; w < way_count; w++) {
    struct settings s = grid_settings(4, 0, 4096, false);
    struct outcome out;
    s.cycles = 4;
    run_pattern(patterns[0], ways[w], &s, &once, PLANT_NOTHING, &out);
    if (!out.good) FAIL("%s: %s", ways[w]->name, out.said);
    CHECK(out.inside_ns > 0 && out.inside_ns <= out.alive_ns);
    CHECK(out.waited_ns <= out.inside_ns && out.producer_inside_ns <= out.producer_alive_ns);
    CHECK(out.both_ns <= out.awaited_ns && out.work_ns[C1] > 0 && out.work_ns[C2] > 0);
    CHECK(out.faults == 0 || ways[w]->faults);
    CHECK_EQ_U64(out.downs, 16);
  }
}

TEST(ready_data_is_not_waited_for) {
  const struct pace once = {.times = {1, 1, 1}};
  for (size_t w = 0; w < way_count; w++) {
    struct settings s = grid_settings(8, 0, 4096, false);
    struct outcome out;
    s.cycles = 2;
    s.beforehand = true;
    run_pattern(patterns[0], ways[w], &s, &once, PLANT_NOTHING, &out);
    if (!out.good) FAIL("%s: %s", ways[w]->name, out.said);
    if (ways[w] != &way_effshare) CHECK_EQ_U64(out.waits, 0);
  }
}

TEST(others_do_all_their_work) {
  const struct pace once = {.times = {1, 1, 1}};
  const struct way *both[] = {&way_futex, &way_fibers};
  for (size_t w = 0; w < 2; w++) {
    struct settings s = grid_settings(4, 0, 4096, false);
    struct outcome out;
    s.others = 3;
    run_pattern(patterns[0], both[w], &s, &once, PLANT_NOTHING, &out);
    if (!out.good) FAIL("%s: %s", both[w]->name, out.said);
  }
}

static bool has_looked;

/* The first message comes when a look of the carrier, for which no fiber can run, has been counted,
 * or after ten times as long as the carrier looks: on a busy machine none may have been short
 * enough. */
static void give_after_looks(struct exchange *x, struct message m, size_t length) {
  uint64_t end = exchange_now() + UINT64_C(10) * EXCHANGE_LINGER;
  bool first = m.cycle == 0 && m.consumer == 0;
  while (first && !atomic_load(&x->looked) && exchange_now() < end) exchange_pin(-1);
  if (first) has_looked = atomic_load(&x->looked) > 0;
  way_fibers.give(x, m, length);
}

TEST(a_carrier_that_looks_is_idle) {
  const struct pace once = {.times = {1, 1, 1}};
  struct way way = way_fibers;
  struct settings s = grid_settings(4, 0, 4096, true);
  struct outcome out;
  int cores[2];
  if (!run_cores(cores)) SKIP("one core");
  way.give = give_after_looks;
  has_looked = false;
  for (int runs = 0; runs < 100 && !has_looked; runs++) {
    run_pattern(patterns[0], &way, &s, &once, PLANT_NOTHING, &out);
    if (!out.good) FAIL("%s", out.said);
    CHECK(out.consumer_cpu_ns >= out.work_ns[C1] + out.work_ns[C2]);
  }
  if (!has_looked) SKIP("in a hundred runs no look of the carrier was short enough to count");
}

/* ---- cells ---- */

static void (*slow_give)(struct exchange *x, struct message m, size_t length);

/* The first message comes when all that poll have been ended. */
static void late(struct exchange *x, struct message m, size_t length) {
  while (m.cycle == 0 && m.consumer == 0 && !atomic_load(&x->over)) exchange_pin(-1);
  slow_give(x, m, length);
}

TEST(who_polls_too_long_is_cut_and_said_to_be) {
  struct way way = way_spin;
  struct cell cell = {.pattern = patterns[0], .settings = grid_settings(2, 0, 4096, false)};
  struct outcome out;
  struct settings s = cell.settings;
  const struct pace once = {.times = {1, 1, 1}};
  slow_give = way_spin.give;
  way.give = late;
  s.cut = 50;
  run_pattern(cell.pattern, &way, &s, &once, PLANT_NOTHING, &out);
  CHECK(out.cut && !out.good);
  CHECK_EQ_STR(out.said, "it was cut");
}

TEST(a_ratio_needs_two_good_runs) {
  struct cell cell = {.way_count = 3};
  cell.ways[0] = (struct measured){.way = &way_spin, .rounds = 1, .outcome = {.ns = 300}};
  cell.ways[1] = (struct measured){.way = &way_futex, .rounds = 1, .outcome = {.ns = 100}};
  cell.ways[2] = (struct measured){.way = &way_fibers, .rounds = 1, .outcome = {.ns = 50}};
  cell.ways[0].outcome.cut = cell.ways[1].outcome.good = true;
  CHECK(fabs(grid_ratio(&cell, &way_futex, &way_spin) - 3) < 1e-9); /* at least that */
  CHECK(isnan(grid_ratio(&cell, &way_spin, &way_futex)));  /* one that was cut wins nothing */
  CHECK(isnan(grid_ratio(&cell, &way_fibers, &way_spin))); /* it was wrong */
  CHECK(isnan(grid_ratio(&cell, &way_direct, &way_spin))); /* it has not run */
}

TEST(means_leave_out_what_is_not_there) {
  struct mean m = {0, 0};
  CHECK(isnan(mean_of(&m)) && isnan(mean_geometric(&m)));
  mean_add(&m, log(2));
  mean_add(&m, NAN);
  mean_add(&m, log(8));
  CHECK(fabs(mean_geometric(&m) - 4) < 1e-9);
}

TEST_MAIN(CASE(waiting_and_work_are_told_apart), CASE(nothing_can_be_hidden_when_all_wait),
          CASE(shared_cores_hide_nothing_that_is_known), CASE(curves_begin_with_the_first_wait),
          CASE(without_waiting_there_are_no_curves), CASE(a_watched_run_knows_when_data_was_had),
          CASE(ready_data_is_not_waited_for), CASE(others_do_all_their_work),
          CASE(a_carrier_that_looks_is_idle), CASE(who_polls_too_long_is_cut_and_said_to_be),
          CASE(a_ratio_needs_two_good_runs), CASE(means_leave_out_what_is_not_there))
