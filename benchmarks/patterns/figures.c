#include "figures.h"

#include <math.h>
#include <string.h>

static const struct way *const engines[] = {&way_monitor, &way_direct, &way_fibers};
#define ENGINES (sizeof engines / sizeof *engines)

/* ---- what one run says ---- */

double value_over_spin(const struct cell *c, const struct way *w) {
  return log(grid_ratio(c, w, &way_spin));
}
double value_over_yield(const struct cell *c, const struct way *w) {
  return log(grid_ratio(c, w, &way_yield));
}
double value_over_futex(const struct cell *c, const struct way *w) {
  return log(grid_ratio(c, w, &way_futex));
}

static double percent(uint64_t part, uint64_t whole) {
  return whole ? 100 * (double)part / (double)whole : NAN;
}

#define OUTCOME(cell, way)                                                                         \
  const struct outcome *o = grid_outcome(cell, way, true);                                         \
  if (!o) return NAN

double value_consumer_share(const struct cell *c, const struct way *w) {
  OUTCOME(c, w);
  return percent(o->inside_ns, o->alive_ns);
}
double value_producer_share(const struct cell *c, const struct way *w) {
  OUTCOME(c, w);
  return percent(o->producer_inside_ns, o->producer_alive_ns);
}
double value_idle(const struct cell *c, const struct way *w) {
  OUTCOME(c, w);
  return c->settings.pinned ? 100 - percent(o->work_ns[C1] + o->work_ns[C2], o->ns) : NAN;
}
double value_producer_idle(const struct cell *c, const struct way *w) {
  OUTCOME(c, w);
  return 100 - percent(o->work_ns[PRODUCE], o->producer_alive_ns);
}
double value_apart(const struct cell *c, const struct way *w) {
  OUTCOME(c, w);
  return 100 * o->apart;
}
double value_deviation(const struct cell *c, const struct way *w) {
  OUTCOME(c, w);
  return 100 * o->deviation;
}
double value_polling(const struct cell *c, const struct way *w) {
  OUTCOME(c, w);
  return percent(o->waited_ns, o->inside_ns);
}
double value_checks(const struct cell *c, const struct way *w) {
  OUTCOME(c, w);
  return o->downs && !w->faults ? (double)o->checks / (double)o->downs : NAN;
}
/* Where at least half of the messages were waited for. */
double value_hidden(const struct cell *c, const struct way *w) {
  OUTCOME(c, w);
  if (!c->settings.pinned || 2 * o->waits < o->downs) return NAN;
  return percent(o->hidden_ns, o->both_ns);
}
double value_consumer_overhead(const struct cell *c, const struct way *w) {
  OUTCOME(c, w);
  uint64_t done = o->work_ns[C1] + o->work_ns[C2];
  return c->settings.pinned ? percent(o->consumer_cpu_ns, done) - 100 : NAN;
}
double value_host_overhead(const struct cell *c, const struct way *w) {
  OUTCOME(c, w);
  return percent(o->producer_cpu_ns, o->work_ns[PRODUCE]) - 100;
}
double value_ready(const struct cell *c, const struct way *w) {
  return 100 / grid_ratio(c, w, &way_spin) - 100;
}
double value_faults(const struct cell *c, const struct way *w) {
  OUTCOME(c, w);
  return o->messages ? (double)o->faults / (double)o->messages : NAN;
}

/* ---- means ---- */

static bool is_chosen(const struct study_cell *c, const struct choice *choice) {
  const struct settings *s = &c->cell.settings;
  return c->purpose == choice->purpose && s->pinned == choice->pinned &&
         (!choice->pattern || c->cell.pattern == choice->pattern) &&
         (!choice->consumers || s->consumers == choice->consumers);
}

double figures_mean(const struct study *s, struct choice choice, const struct way *way,
                    figure_value *value, bool geometric) {
  struct mean mean = {0, 0};
  for (size_t i = 0; i < s->count; i++)
    if (is_chosen(&s->cells[i], &choice)) mean_add(&mean, value(&s->cells[i].cell, way));
  return geometric ? mean_geometric(&mean) : mean_of(&mean);
}

/* Each pattern counts as much as another, whatever its cells came to. */
static double mean_of_patterns(const struct study *s, struct choice choice, const struct way *way,
                               figure_value *value, bool geometric) {
  struct mean mean = {0, 0};
  for (size_t i = 0; i < s->pattern_count; i++) {
    choice.pattern = s->patterns[i];
    double one = figures_mean(s, choice, way, value, geometric);
    mean_add(&mean, geometric ? log(one) : one);
  }
  return geometric ? mean_geometric(&mean) : mean_of(&mean);
}

void figures_standing(const struct study *s, const struct way *way, struct standing *out) {
  struct choice grid = {GRID, NULL, 0, true}, ready = {READY, NULL, 0, true};
  *out = (struct standing){.worst = NAN, .worst_name = "none"};
  out->over_spin = mean_of_patterns(s, grid, way, value_over_spin, true);
  out->over_yield = mean_of_patterns(s, grid, way, value_over_yield, true);
  out->over_futex = mean_of_patterns(s, grid, way, value_over_futex, true);
  out->hidden = mean_of_patterns(s, grid, way, value_hidden, false) / 100;
  out->ready = mean_of_patterns(s, ready, way, value_ready, false);
  for (size_t i = 0; i < s->pattern_count; i++) {
    grid.pattern = s->patterns[i];
    double one = figures_mean(s, grid, way, value_over_spin, true);
    if (!isfinite(one) || out->worst <= one) continue;
    out->worst = one;
    out->worst_name = s->patterns[i]->name;
  }
}

const struct way *figures_best(const struct study *s) {
  const struct way *best = NULL;
  double most = 0;
  for (size_t i = 0; i < ENGINES; i++) {
    double over = mean_of_patterns(s, (struct choice){GRID, NULL, 0, s->two_devices}, engines[i],
                                   value_over_spin, true);
    if (!isfinite(over) || over <= most) continue;
    most = over;
    best = engines[i];
  }
  return best;
}

/* ---- figures with a row a pattern ---- */

struct column {
  const char *name;
  const struct way *way;
  figure_value *value, *deviation;
};

static void fill_patterns(const struct study *s, struct figure *f, struct choice choice,
                          const struct column *columns, size_t count, bool geometric) {
  for (size_t k = 0; k < count; k++) figure_series(f, columns[k].name);
  for (size_t i = 0; i < s->pattern_count; i++) {
    size_t row = figure_row(f, s->patterns[i]->name);
    choice.pattern = s->patterns[i];
    for (size_t k = 0; k < count; k++) {
      const struct column *c = &columns[k];
      f->values[row][k] = figures_mean(s, choice, c->way, c->value, geometric);
      if (c->deviation)
        f->deviations[row][k] = figures_mean(s, choice, c->way, c->deviation, false);
    }
  }
  size_t last = figure_row(f, geometric ? "geometric mean" : "mean");
  for (size_t k = 0; k < count; k++)
    f->values[last][k] = mean_of_patterns(s, choice, columns[k].way, columns[k].value, geometric);
}

#define TWO_DEVICES                                                                                \
  (struct choice) { GRID, NULL, 0, true }
#define SHARED                                                                                     \
  (struct choice) { GRID, NULL, 0, false }
#define FILL(choice, geometric)                                                                    \
  fill_patterns(s, f, choice, columns, sizeof columns / sizeof *columns, geometric)
#define OF(way, value)                                                                             \
  { #way, &way_##way, value, NULL }

static void make_2(const struct study *s, struct figure *f) {
  static const struct column columns[] = {{"producer", &way_spin, value_producer_share, NULL},
                                          {"consumer", &way_spin, value_consumer_share, NULL}};
  figure_begin(
      f, "02-communication", "Communication's share of each side's time, spin", "%",
      "Time in calls of the exchange, waiting included, of the producer side's life and of "
      "the consumers' lives; two devices, mean over the grid. Of runs that were ended: until "
      "then.");
  FILL(TWO_DEVICES, false);
}

static void make_4(const struct study *s, struct figure *f) {
  static const struct column columns[] = {{"spin", &way_spin, value_apart, value_deviation},
                                          {"futex", &way_futex, value_apart, value_deviation},
                                          {"fibers", &way_fibers, value_apart, value_deviation}};
  figure_begin(
      f, "04-apart", "Tp - Tc, normalised, and its deviation", "%",
      "From the moment at which a consumer asks to that at which the producer gives, in "
      "parts of the time that a consumer has for a message; above 0 the producer is later. "
      "Deviation over the messages of a run; means over the grid.");
  FILL(TWO_DEVICES, false);
}

static void make_5a(const struct study *s, struct figure *f) {
  static const struct column columns[] = {OF(spin, value_polling), OF(yield, value_polling)};
  figure_begin(f, "05a-polling", "Polling's share of the consumers' communication", "%",
               "Time from asking to having, where the data was not there, of all time in calls of "
               "the exchange.");
  FILL(TWO_DEVICES, false);
}

static void make_5b(const struct study *s, struct figure *f) {
  static const struct column columns[] = {OF(spin, value_checks), OF(yield, value_checks),
                                          OF(futex, value_checks)};
  figure_begin(f, "05b-checks", "Checks a message", "checks",
               "Looks at whether the data is there.");
  f->logarithmic = true;
  FILL(TWO_DEVICES, false);
}

static const char over_spin_note[] = "Spin's time over this way's; geometric mean over the grid. "
                                     "Spin is ended after three times the "
                                     "best possible time: where it was, the ratio is understated.";

static void make_12a(const struct study *s, struct figure *f) {
  static const struct column columns[] = {OF(yield, value_over_spin), OF(futex, value_over_spin),
                                          OF(monitor, value_over_spin), OF(direct, value_over_spin),
                                          OF(fibers, value_over_spin)};
  figure_begin(f, "12a-speed-up", "Speed-up over spin, two devices", "x", over_spin_note);
  f->logarithmic = true;
  f->level = 1;
  FILL(TWO_DEVICES, true);
}

static void make_12b(const struct study *s, struct figure *f) {
  static const struct column columns[] = {OF(yield, value_over_spin), OF(futex, value_over_spin),
                                          OF(monitor, value_over_spin), OF(direct, value_over_spin),
                                          OF(fibers, value_over_spin)};
  figure_begin(f, "12b-speed-up-shared", "Speed-up over spin, nobody pinned", "x", over_spin_note);
  f->logarithmic = true;
  f->level = 1;
  FILL(SHARED, true);
}

static void make_12c(const struct study *s, struct figure *f) {
  static const struct column columns[] = {
      OF(monitor, value_over_futex), OF(direct, value_over_futex), OF(fibers, value_over_futex)};
  figure_begin(
      f, "12c-over-futex", "Speed-up over a futex, two devices", "x",
      "The futex's time over this engine's; geometric mean over the grid. Below 1 the futex "
      "is ahead.");
  f->logarithmic = true;
  f->level = 1;
  FILL(TWO_DEVICES, true);
}

static void make_12d(const struct study *s, struct figure *f) {
  static const struct column columns[] = {OF(spin, value_idle),   OF(yield, value_idle),
                                          OF(futex, value_idle),  OF(monitor, value_idle),
                                          OF(direct, value_idle), OF(fibers, value_idle)};
  figure_begin(f, "12d-overhead-share", "The consumers' core: time that is not work", "%",
               "Of the run's time, what the core did not spend on C1 and C2: looking, switching, "
               "faults, and having nothing to do since the producer is slower.");
  FILL(TWO_DEVICES, false);
}

static void make_12e(const struct study *s, struct figure *f) {
  static const struct column columns[] = {
      OF(spin, value_producer_idle),   OF(yield, value_producer_idle),
      OF(futex, value_producer_idle),  OF(monitor, value_producer_idle),
      OF(direct, value_producer_idle), OF(fibers, value_producer_idle)};
  figure_begin(
      f, "12e-producer-share", "The producer: time that is not work", "%",
      "Of the producer side's life, what it did not spend on producing: giving, activating, "
      "and waiting for what consumers give back.");
  FILL(TWO_DEVICES, false);
}

static void make_14(const struct study *s, struct figure *f) {
  static const struct column columns[] = {OF(spin, value_hidden),   OF(yield, value_hidden),
                                          OF(futex, value_hidden),  OF(monitor, value_hidden),
                                          OF(direct, value_hidden), OF(fibers, value_hidden)};
  figure_begin(
      f, "14-hidden", "Synchronisation hidden behind work", "%",
      "While some consumer waits and another one could run: how much of that time the core "
      "did C1 or C2. Cells in which half of the messages or more were waited for.");
  f->level = 90;
  FILL(TWO_DEVICES, false);
}

static void make_15a(const struct study *s, struct figure *f) {
  static const struct column columns[] = {
      OF(futex, value_consumer_overhead), OF(monitor, value_consumer_overhead),
      OF(direct, value_consumer_overhead), OF(fibers, value_consumer_overhead)};
  figure_begin(
      f, "15a-consumer-overhead", "Overhead on the consumers' side", "%",
      "Processor time of the consumers beyond C1 and C2, in parts of C1 and C2: asking, "
      "faults, switches, and what a pattern does outside of its timed work. A carrier that "
      "looks for work because no fiber can run is idle, as a thread that sleeps is: that "
      "time is not in it. Nor is the monitor thread.");
  FILL(TWO_DEVICES, false);
}

static void make_15b(const struct study *s, struct figure *f) {
  static const struct column columns[] = {
      OF(futex, value_host_overhead), OF(monitor, value_host_overhead),
      OF(direct, value_host_overhead), OF(fibers, value_host_overhead)};
  figure_begin(
      f, "15b-host-overhead", "Overhead on the producer's side", "%",
      "Processor time of the producer beyond its production, in parts of that: signalling, "
      "mapping pages, taking what comes back.");
  FILL(TWO_DEVICES, false);
}

static void make_17(const struct study *s, struct figure *f, struct choice choice) {
  static const struct column columns[] = {
      OF(nblocking, value_over_spin), OF(demandcpy, value_over_spin), OF(effshare, value_over_spin),
      OF(gps, value_over_spin),       OF(finepack, value_over_spin),  OF(futex, value_over_spin),
      OF(monitor, value_over_spin),   OF(direct, value_over_spin),    OF(fibers, value_over_spin)};
  f->logarithmic = true;
  f->level = 1;
  FILL(choice, true);
}

static void make_17a(const struct study *s, struct figure *f) {
  figure_begin(f, "17-policies", "Against the five policies, 16 consumers on two devices", "x",
               "Speed-up over spin. All five poll; one that was ended by the limit has no ratio.");
  make_17(s, f, (struct choice){GRID, NULL, 16, true});
}

static void make_17b(const struct study *s, struct figure *f) {
  figure_begin(
      f, "17b-policies-alone", "Against the five policies, one consumer alone", "x",
      "Speed-up over spin, with a core each for the consumer and the producer; a production "
      "takes 20 us, C1 and C2 10 us, or once the work where that is more; messages of 4 KiB.");
  make_17(s, f, (struct choice){ALONE, NULL, 1, true});
}

static void make_faults(const struct study *s, struct figure *f) {
  static const struct column columns[] = {OF(monitor, value_faults), OF(direct, value_faults),
                                          OF(fibers, value_faults)};
  figure_begin(f, "18-faults", "Faults a message", "faults",
               "First loads from a message that was not there yet; of direct those that were still "
               "pending when the monitor saw them. The WIC paper: 3 for polling, 1 for its own.");
  FILL(TWO_DEVICES, false);
}

/* ---- figures with numbers along ---- */

static void make_15c(const struct study *s, struct figure *f) {
  static const struct column columns[] = {OF(futex, value_ready), OF(monitor, value_ready),
                                          OF(direct, value_ready), OF(fibers, value_ready)};
  figure_begin(
      f, "15c-ready", "Overhead when the data is ready beforehand", "%",
      "The producer is done before the consumers start (scenario 1): time over spin's, which "
      "looks once. Patterns in which nothing goes back.");
  f->along = "consumers";
  f->logarithmic_rows = true;
  f->level = 2;
  for (size_t k = 0; k < sizeof columns / sizeof *columns; k++) figure_series(f, columns[k].name);
  for (size_t i = 0; i < GRID_CONSUMERS; i++) {
    size_t row = figure_row_at(f, grid_consumers[i]);
    for (size_t k = 0; k < sizeof columns / sizeof *columns; k++)
      f->values[row][k] = figures_mean(s, (struct choice){READY, NULL, grid_consumers[i], true},
                                       columns[k].way, value_ready, false);
  }
}

static void make_curves(const struct study *s, struct figure *f, const struct way *way,
                        bool others) {
  f->along = "% of the time from the first wait to the last message";
  for (int i = 0; i < CURVE; i++) figure_row_at(f, 100.0 * i / (CURVE - 1));
  for (size_t i = 0; i < s->count; i++) {
    if (s->cells[i].purpose != CURVES) continue;
    size_t series = figure_series(f, s->cells[i].cell.pattern->name);
    const struct outcome *o = grid_outcome(&s->cells[i].cell, way, false);
    for (int k = 0; k < CURVE && o; k++)
      f->values[k][series] = 100 * (others ? o->others_left[k] : o->early[k]);
  }
}

static const char early_note[] =
    "Consumers that have not asked for a message yet, from the first that waits for it to the last "
    "that is given one; mean over all messages of a consumer. 64 consumers (a quick report: 16), "
    "production 200 us.";
static const char others_note[] =
    "Work beside the consumers, on their core, which needs no message and is as much as 16 of them "
    "have: what is not done, from the first wait to the last message of the run.";

static void make_6(const struct study *s, struct figure *f) {
  figure_begin(f, "06-not-at-tc-spin", "Threads not yet at Tc, spin", "%", early_note);
  make_curves(s, f, &way_spin, false);
}
static void make_7(const struct study *s, struct figure *f) {
  figure_begin(f, "07-others-spin", "Independent work not done, spin", "%", others_note);
  make_curves(s, f, &way_spin, true);
}
static void make_13a(const struct study *s, struct figure *f) {
  figure_begin(f, "13a-not-at-tc-fibers", "Fibers not yet at Tc", "%", early_note);
  make_curves(s, f, &way_fibers, false);
}
static void make_13b(const struct study *s, struct figure *f) {
  figure_begin(f, "13b-others-fibers", "Independent work not done, fibers", "%", others_note);
  make_curves(s, f, &way_fibers, true);
}
static void make_13c(const struct study *s, struct figure *f) {
  figure_begin(f, "13c-not-at-tc-futex", "Threads not yet at Tc, futex", "%", early_note);
  make_curves(s, f, &way_futex, false);
}

static void make_16(const struct study *s, struct figure *f, bool times) {
  f->along = "threads, in warps of 32";
  f->logarithmic_rows = true;
  f->logarithmic = true;
  for (size_t m = times ? 0 : 1; m < STUDY_MODES; m++) figure_series(f, study_modes[m]);
  for (size_t i = 0; i < s->scale_count; i++) {
    const struct study_scale *row = s->scales[i];
    size_t at = figure_row_at(f, (double)row[0].scale.warps * SCALE_WARP);
    for (size_t m = times ? 0 : 1; m < STUDY_MODES; m++) {
      double ns = (double)row[m].outcome.ns, base = (double)row[0].outcome.ns;
      if (!row[m].outcome.good || !row[0].outcome.good) continue;
      f->values[at][times ? m : m - 1] = times ? ns / row[0].scale.warps / 1000 : base / ns;
    }
  }
}

static void make_16a(const struct study *s, struct figure *f) {
  figure_begin(
      f, "16a-scaling", "Speed-up over warps that poll, 64 to 1 M threads", "x",
      "All are fibers on one core; those that poll look and yield, as a GPU's warps would. "
      "C1 and C2 together and a production take 50 us each; one run each above 4096 warps.");
  f->level = 1;
  make_16(s, f, false);
}
static void make_16b(const struct study *s, struct figure *f) {
  figure_begin(f, "16b-scaling-time", "Time a warp", "us",
               "The same runs; 50 us is the least that there can be.");
  make_16(s, f, true);
}

/* ---- limits ---- */

static void make_limits(const struct study *s, struct figure *f) {
  static const struct {
    const char *name;
    double limit;
  } rows[] = {{"over spin", 1.13}, {"worst over spin", 0.97}, {"over futex", 0.97},
              {"over yield", NAN}, {"hidden", 0.9},           {"ready overhead %", 2}};
  figure_begin(f, "00-limits", "What was to be reached, two devices", "x, or as named",
               "Geometric means over patterns of those over the grid; the overhead is to be below "
               "its limit, all others above.");
  figure_series(f, "limit");
  for (size_t i = 0; i < ENGINES; i++) figure_series(f, engines[i]->name);
  for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
    f->values[figure_row(f, rows[r].name)][0] = s->two_devices ? rows[r].limit : NAN;
  for (size_t i = 0; i < ENGINES; i++) {
    struct standing st;
    figures_standing(s, engines[i], &st);
    const double values[] = {st.over_spin,  st.worst,  st.over_futex,
                             st.over_yield, st.hidden, st.ready};
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) f->values[r][i + 1] = values[r];
  }
}

void figures_each(const struct study *s, void (*use)(const struct figure *f, void *argument),
                  void *argument) {
  static void (*const makers[])(const struct study *s, struct figure *f) = {
      make_limits, make_2,   make_4,   make_5a,  make_5b,  make_6,   make_7,   make_12a,
      make_12b,    make_12c, make_12d, make_12e, make_13a, make_13b, make_13c, make_14,
      make_15a,    make_15b, make_15c, make_16a, make_16b, make_17a, make_17b, make_faults};
  static struct figure f; /* large */
  for (size_t i = 0; i < sizeof makers / sizeof *makers; i++) {
    makers[i](s, &f);
    if (!figure_is_empty(&f)) use(&f, argument);
  }
}
