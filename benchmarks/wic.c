/* Waiting by interrupt. What its parts cost: runs of pages, as the Interrupter takes them: one is
 * given back and another taken, while 70 % of 16 Ki pages are taken; against the WIC
 * paper's segment tree. What it is worth: the ten patterns of benchmarks/patterns over their whole
 * grid on two devices, as `tidemark patterns --report` measures them, and a million threads as
 * warps. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "bench.h"

#include "../benchmarks/patterns/figures.h"
#include "base/random.h"
#include "tidemark/wic.h"
#include "wic/pages.h"

#include <sched.h>
#include <stdlib.h>

/* ---- runs of pages ----------------------------------------------------------------------------
 */

#define PAGES 16384u
#define TAKEN (PAGES / 10 * 7)
#define DRAWN (1u << 15) /* steps, until they come again */

struct taken {
  uint32_t first, count;
};

/* One structure, and the runs that are taken. */
struct side {
  struct tide_pages *pages;
  struct taken *live;
  uint64_t next, refused;
};

struct runs {
  struct tide_context *context;
  uint32_t live_count;
  struct {
    uint16_t which, count; /* which run is given back, and how long the new one is */
  } drawn[DRAWN];
  struct side ours, theirs;
};

static inline struct taken run_take(struct side *side, uint32_t count) {
  struct taken run = {tide_pages_alloc(side->pages, count), count};
  if (run.first == TIDE_PAGES_NONE) {
    run.count = 0;
    side->refused++;
  }
  return run;
}

static inline void run_give(struct side *side, struct taken run) {
  if (run.count) tide_pages_free(side->pages, run.first, run.count);
}

/* The same steps for both. The new run is taken first, so that it is not simply the old one's
 * place; what is refused leaves its slot empty until it is drawn again. */
static inline void side_step(const struct runs *r, struct side *side) {
  uint64_t at = side->next++ % DRAWN;
  struct taken *slot = &side->live[r->drawn[at].which], old = *slot;
  *slot = run_take(side, r->drawn[at].count);
  run_give(side, old);
}

/* All pages are taken, then runs here and there given back, until 70 % are left. */
static void side_make(const struct runs *r, struct side *side, enum tide_pages_kind kind) {
  uint32_t count = r->live_count / 7 * 10;
  struct tide_random random = {1};
  BENCH_CHECK(tide_pages_create(r->context, kind, PAGES, &side->pages) == TIDE_OK);
  side->live = calloc(count, sizeof *side->live);
  BENCH_CHECK(side->live);
  for (uint32_t i = 0; i < count; i++) side->live[i] = run_take(side, r->drawn[i].count);
  for (uint32_t i = count; i-- > r->live_count;) {
    uint32_t which = (uint32_t)tide_random_below(&random, i + 1);
    run_give(side, side->live[which]);
    side->live[which] = side->live[i];
  }
  for (uint32_t i = 0; i < DRAWN * (bench_smoke() ? 1 : 4); i++) side_step(r, side);
  uint32_t taken = PAGES - tide_pages_free_count(side->pages);
  BENCH_CHECK(taken > PAGES / 100 * 65 && taken < PAGES / 100 * 75);
  side->refused = side->next = 0;
}

static void side_drop(struct side *side) {
  BENCH_CHECK(side->refused <= side->next / 100);
  tide_pages_destroy(side->pages);
  free(side->live);
}

static void *runs_make(uint32_t longest) {
  struct runs *r = calloc(1, sizeof *r);
  struct tide_random random = {longest};
  BENCH_CHECK(r && tide_context_create(NULL, &r->context) == TIDE_OK);
  r->live_count = 2 * TAKEN / (longest + 1);
  for (uint32_t i = 0; i < DRAWN; i++) {
    r->drawn[i].which = (uint16_t)tide_random_below(&random, r->live_count);
    r->drawn[i].count = (uint16_t)(1 + tide_random_below(&random, longest));
  }
  side_make(r, &r->ours, TIDE_PAGES_FAST);
  side_make(r, &r->theirs, TIDE_PAGES_TREE);
  return r;
}

static void runs_drop(void *state) {
  struct runs *r = state;
  side_drop(&r->ours);
  side_drop(&r->theirs);
  tide_context_destroy(r->context);
  free(r);
}

static void *runs_1(void) { return runs_make(1); }
static void *runs_16(void) { return runs_make(16); }
static void *runs_64(void) { return runs_make(64); }

static void runs_ours(void *state, uint64_t count) {
  struct runs *r = state;
  for (uint64_t i = 0; i < count; i++) side_step(r, &r->ours);
}

static void runs_theirs(void *state, uint64_t count) {
  struct runs *r = state;
  for (uint64_t i = 0; i < count; i++) side_step(r, &r->theirs);
}

#define RUNS(what, make)                                                                           \
  {                                                                                                \
    .name = what, .rival = "the WIC paper's tree", .setup = make, .teardown = runs_drop,           \
    .ours = runs_ours, .theirs = runs_theirs                                                       \
  }

/* ---- tag pages ------------------------------------------------------------------------------
 */

enum { TAGS = 16, TAG_ROUNDS = 64 };

struct tags {
  struct tide_context *context;
  struct tide_medium *medium;
  struct tide_timeline *line;
  uint64_t value, arm_ns, store_ns;
};

static void stay_on(int cpu) {
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  CPU_SET(cpu, &cpus);
  (void)sched_setaffinity(0, sizeof cpus, &cpus);
}

/* All pages are armed, then stored to; the monitor signals each. */
static void tags_round(struct tags *t, struct tide_tag_page *pages, bool counts) {
  enum tide_status status;
  for (int i = 0; i < TAGS; i++) pages[i].tag = (struct tide_tag){t->line, ++t->value};
  uint64_t begin = bench_now();
  while ((status = tide_medium_arm(t->medium, pages, TAGS)) == TIDE_BUSY) sched_yield();
  BENCH_CHECK(status == TIDE_OK);
  uint64_t armed = bench_now();
  for (int i = 0; i < TAGS; i++) __atomic_store_n(pages[i].word, 1, __ATOMIC_RELEASE);
  uint64_t end = bench_now();
  BENCH_CHECK(tide_timeline_query(t->line) == t->value);
  if (!counts) return; /* the first arming closes nothing */
  t->arm_ns += armed - begin;
  t->store_ns += end - armed;
}

static const char *measure_stores(int cpu, double *out_arm, double *out_store) {
  struct tags t = {.value = 0};
  struct tide_tag_page pages[TAGS] = {0};
  struct tide_medium_params params = {.struct_size = sizeof params,
                                      .pages = 2,
                                      .requests = 1,
                                      .tag_pages = TAGS,
                                      .pinned = true,
                                      .cpu = (uint32_t)cpu};
  BENCH_CHECK(tide_context_create(NULL, &t.context) == TIDE_OK);
  enum tide_status status = tide_medium_create(t.context, &params, &t.medium);
  if (status != TIDE_OK) {
    tide_context_destroy(t.context);
    return status == TIDE_DENIED ? "no right to use userfaultfd" : "no write protection here";
  }
  BENCH_CHECK(tide_timeline_create(t.context, NULL, &t.line) == TIDE_OK);
  for (int i = 0; i <= (bench_smoke() ? 1 : TAG_ROUNDS); i++) tags_round(&t, pages, i > 0);
  double stores = TAGS * (bench_smoke() ? 1 : TAG_ROUNDS);
  *out_arm = (double)t.arm_ns / stores;
  *out_store = (double)t.store_ns / stores;
  tide_medium_destroy(t.medium);
  tide_timeline_destroy(t.line);
  tide_context_destroy(t.context);
  return NULL;
}

static double measure_calls(void) {
  struct tide_context *context;
  struct tide_timeline *line;
  uint64_t count = TAGS * TAG_ROUNDS;
  BENCH_CHECK(tide_context_create(NULL, &context) == TIDE_OK);
  BENCH_CHECK(tide_timeline_create(context, NULL, &line) == TIDE_OK);
  uint64_t begin = bench_now();
  for (uint64_t value = 1; value <= count; value++)
    BENCH_CHECK(tide_timeline_signal_external(line, value) == TIDE_OK);
  double ns = (double)(bench_now() - begin) / (double)count;
  tide_timeline_destroy(line);
  tide_context_destroy(context);
  return ns;
}

static const char *measure_tags(const void *what, unsigned side, double *out_values) {
  cpu_set_t before;
  (void)what;
  BENCH_CHECK(sched_getaffinity(0, sizeof before, &before) == 0);
  if (side == 1 && CPU_COUNT(&before) < 2) return "one processor";
  out_values[1] = NAN;
  if (side == 2) {
    out_values[0] = measure_calls();
    return NULL;
  }
  stay_on(0);
  const char *skipped = measure_stores((int)side, &out_values[1], &out_values[0]);
  (void)sched_setaffinity(0, sizeof before, &before);
  return skipped;
}

static const struct bench_contest tags_contest = {
    .sides = {"a store, monitor beside", "a store, monitor on another", "a call"},
    .values = {{"a signal", "ns", BENCH_LESS}, {"arming a page", "ns", BENCH_LESS}},
    .measure = measure_tags};

/* ---- patterns ---------------------------------------------------------------------------
 */

/* Once for all three engines, which take turns in it. */
static const struct study *the_study(void) {
  static struct study s;
  if (s.cells) return &s;
  s.baseline = true;
  s.quick = bench_smoke();
  s.seed = 1;
  s.pattern_count = s.quick ? 2 : pattern_count;
  for (size_t i = 0; i < s.pattern_count; i++) s.patterns[i] = patterns[s.quick ? 9 * i : i];
  BENCH_CHECK(study_plan(&s));
  study_measure(&s);
  if (s.wrong) bench_wrong(s.said);
  return &s;
}

static const struct way *const engines[] = {&way_fibers, &way_direct, &way_monitor};

static const char *measure_engine(const void *what, unsigned side, double *out_values) {
  const struct study *s = the_study();
  struct standing st;
  (void)what;
  if (!s->two_devices) return "one processor";
  for (size_t i = 0; i < way_count; i++)
    if (ways[i] == engines[side] && s->missing[i]) return s->missing[i];
  figures_standing(s, engines[side], &st);
  const double values[] = {st.over_spin,  st.worst,  st.over_futex,
                           st.over_yield, st.hidden, st.ready};
  for (size_t i = 0; i < sizeof values / sizeof *values; i++) out_values[i] = values[i];
  return NULL;
}

static uint32_t once(const void *what) {
  (void)what;
  return 1;
}

static const struct bench_contest engines_contest = {
    .sides = {"fibers", "direct", "monitor"},
    .values = {{"spin >= 1.13", "x", BENCH_MORE},
               {"worst >= 0.97", "x", BENCH_MORE},
               {"futex >= 0.97", "x", BENCH_MORE},
               {"yield", "x", BENCH_MORE},
               {"hidden >= 0.9", "share", BENCH_MORE},
               {"ready <= 2", "%", BENCH_LESS}},
    .measure = measure_engine,
    .rounds = once};

/* ---- a million threads ---------------------------------------------------------------------
 */

static const char *measure_warps(const void *what, unsigned side, double *out_values) {
  struct scale scale = {.warps = bench_smoke() ? 256 : 31250,
                        .us = 50,
                        .batched = side == 1,
                        .outstanding = side == 2 ? 256 : 0,
                        .polls = side == 3};
  struct scale_outcome out;
  (void)what;
  scale_run(&scale, &out);
  if (!out.good && !out.ns) return out.said;
  BENCH_CHECK(out.good); /* each warp has read its own message */
  out_values[0] = (double)out.ns / scale.warps / 1000;
  out_values[1] = (double)out.faults / scale.warps;
  return NULL;
}

static const struct bench_contest warps_contest = {
    .sides = {"faults", "batches of 16", "256 outstanding", "fibers that poll"},
    .values = {{"a warp (50 of work)", "us", BENCH_LESS}, {"faults", "a warp", BENCH_LESS}},
    .measure = measure_warps,
    .rounds = once};

/* clang-format off */
const struct bench_figure bench_wic[] = {
    RUNS("pages_1", runs_1),
    RUNS("pages_1_16", runs_16),
    RUNS("pages_1_64", runs_64),
    {.name = "tag_page", .contest = &tags_contest},
    {.name = "ten_patterns", .contest = &engines_contest},
    {.name = "warps_31250", .contest = &warps_contest},
    {0}};
