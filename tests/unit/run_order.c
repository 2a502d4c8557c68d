/* The sequential order of a plan's operations: in random programs the same as that of the
 * definition, which looks at every kept step again and again; and found by looking at few of them.
 */
#include "harness.h"
#include "base/random.h"
#include "looks.h"
#include "meter.h"
#include "program/run_order.h"

#include <string.h>

enum { QUEUES = 4, COLLECTIVES = 3, TIMELINES = 5, STEPS = 4096, VALUES = 4, LOG = 2 * STEPS };
#define CALL_END UINT64_MAX /* in a log: a call is over */

static const struct tide_body body;

struct program {
  struct tide_plan_tables tables;
  struct tide_plan_queue queues[QUEUES];
  struct tide_plan_timeline timelines[TIMELINES + COLLECTIVES];
  struct tide_plan_collective collectives[COLLECTIVES];
  uint32_t members[COLLECTIVES][QUEUES];
  uint64_t instances[COLLECTIVES];
  struct tide_step steps[STEPS];
  struct tide_step_value waits[STEPS][VALUES], tags[STEPS][VALUES], signals[STEPS][VALUES];
  size_t count;
};

/* The numbers of the steps in the order of their entry. */
struct log {
  uint64_t entries[LOG];
  size_t count;
  uint64_t stuck; /* the first step that is never entered; CALL_END: none */
};

static struct program program;
static struct log got, wanted;

static void begin_program(size_t queues, size_t timelines) {
  memset(&program, 0, sizeof program);
  program.tables = (struct tide_plan_tables){.queues = program.queues,
                                             .queue_count = queues,
                                             .timelines = program.timelines,
                                             .timeline_count = timelines,
                                             .collectives = program.collectives};
}

static struct tide_step *add_step(enum tide_step_kind kind, uint32_t queue, uint32_t flags) {
  size_t number = program.count++;
  CHECK(number < STEPS);
  program.steps[number] = (struct tide_step){.kind = kind,
                                             .queue = queue,
                                             .body = &body,
                                             .waits = program.waits[number],
                                             .tags = program.tags[number],
                                             .signals = program.signals[number],
                                             .flags = flags,
                                             .number = number,
                                             .line = (uint32_t)number + 1};
  return &program.steps[number];
}

static struct tide_step *add_wait(struct tide_step *step, uint32_t timeline, uint64_t value) {
  program.waits[step->number][step->wait_count++] = (struct tide_step_value){timeline, value};
  return step;
}
static struct tide_step *add_signal(struct tide_step *step, uint32_t timeline, uint64_t value) {
  program.signals[step->number][step->signal_count++] = (struct tide_step_value){timeline, value};
  return step;
}

/* ---- the definition -------------------------------------------------------------- */

struct definition {
  uint64_t promised[TIMELINES + COLLECTIVES], instances[COLLECTIVES];
  bool kept[STEPS];
};

static bool has_values(const struct definition *d, const struct tide_step_value *values,
                       size_t count) {
  for (size_t i = 0; i < count; i++)
    if (values[i].value > d->promised[values[i].timeline]) return false;
  return true;
}
static bool is_satisfied(const struct definition *d, const struct tide_step *step) {
  return has_values(d, step->waits, step->wait_count) && has_values(d, step->tags, step->tag_count);
}
static bool stops_others(const struct tide_step *step) {
  return step->kind == TIDE_STEP_PART || !(step->flags & TIDE_MAY_BE_PASSED);
}

static void signal_values(struct definition *d, const struct tide_step *step) {
  for (size_t i = 0; i < step->signal_count; i++) {
    uint64_t *value = &d->promised[step->signals[i].timeline];
    if (step->signals[i].value > *value) *value = step->signals[i].value;
  }
}
static void enter_by_definition(struct definition *d, const struct tide_step *step) {
  d->kept[step->number] = false;
  wanted.entries[wanted.count++] = step->number;
  signal_values(d, step);
}

/* Returns the first kept step of a queue that stops those behind it; NULL: none. */
static const struct tide_step *first_stop(const struct definition *d, uint32_t queue) {
  for (size_t i = 0; i < program.count; i++)
    if (d->kept[i] && program.steps[i].queue == queue && stops_others(&program.steps[i]))
      return &program.steps[i];
  return NULL;
}

static bool try_queue(struct definition *d, uint32_t queue) {
  bool any = false;
  for (size_t i = 0; i < program.count; i++) {
    const struct tide_step *step = &program.steps[i];
    if (!d->kept[i] || step->queue != queue) continue;
    if (step->kind == TIDE_STEP_PART) return any;
    if (is_satisfied(d, step)) {
      enter_by_definition(d, step);
      any = true;
    } else if (stops_others(step)) {
      return any;
    }
  }
  return any;
}

static bool try_collective(struct definition *d, uint32_t collective) {
  const struct tide_plan_collective *table = &program.collectives[collective];
  const struct tide_step *parts[QUEUES];
  for (size_t i = 0; i < table->queue_count; i++) {
    parts[i] = first_stop(d, table->queues[i]);
    if (!parts[i] || parts[i]->kind != TIDE_STEP_PART || parts[i]->collective != collective ||
        !is_satisfied(d, parts[i]))
      return false;
    CHECK_EQ_U64(parts[i]->instance, d->instances[collective] + 1);
  }
  for (size_t i = 0; i < table->queue_count; i++) enter_by_definition(d, parts[i]);
  d->promised[table->timeline] = ++d->instances[collective];
  return true;
}

static void order_by_definition(void) {
  static struct definition d;
  memset(&d, 0, sizeof d);
  wanted.count = 0;
  wanted.stuck = CALL_END;
  for (size_t i = 0; i < program.tables.timeline_count; i++)
    d.promised[i] = program.timelines[i].initial;
  for (size_t n = 0; n < program.count; n++) {
    const struct tide_step *step = &program.steps[n];
    if (step->kind == TIDE_STEP_HOST_SIGNAL) signal_values(&d, step);
    else if (step->kind == TIDE_STEP_OPERATION && is_satisfied(&d, step) &&
             !first_stop(&d, step->queue))
      enter_by_definition(&d, step);
    else d.kept[n] = true;
    for (bool any = true; any;) {
      any = false;
      for (uint32_t q = 0; q < program.tables.queue_count; q++) any |= try_queue(&d, q);
      for (uint32_t c = 0; c < program.tables.collective_count; c++) any |= try_collective(&d, c);
    }
    wanted.entries[wanted.count++] = CALL_END;
  }
  for (size_t n = 0; n < program.count && wanted.stuck == CALL_END; n++) {
    const struct tide_step *stuck = NULL;
    for (uint32_t q = 0; q < program.tables.queue_count && !stuck; q++)
      for (size_t i = 0; i < program.count && !stuck; i++)
        if (d.kept[i] && program.steps[i].queue == q) stuck = &program.steps[i];
    if (stuck) wanted.stuck = stuck->number;
  }
}

/* ---- what comes of it ------------------------------------------------------------ */

static uint64_t tokens[STEPS]; /* 1: of a kept step */
static uint64_t refused;       /* step whose entry fails */

static enum tide_status enter(void *self, const struct tide_step *step, void *token,
                              struct tide_diag *diag) {
  (void)self, (void)diag;
  CHECK(token == (tokens[step->number] ? &tokens[step->number] : NULL));
  tokens[step->number] = 0;
  CHECK(got.count < LOG);
  got.entries[got.count++] = step->number;
  return step->number == refused ? TIDE_FAILED : TIDE_OK;
}
static void *keep(void *self, const struct tide_step *step) {
  (void)self;
  CHECK_EQ_U64(tokens[step->number], 0);
  tokens[step->number] = 1;
  return &tokens[step->number];
}
static void forget(void *self, const struct tide_step *step, void *token) {
  (void)self;
  CHECK(token == &tokens[step->number]);
  CHECK_EQ_U64(tokens[step->number], 1);
  tokens[step->number] = 0;
}

static enum tide_status order_steps(const struct tide_allocator *allocator) {
  struct tide_run_order_client client = {NULL, enter, keep, forget};
  struct tide_run_order *order;
  struct tide_diag diag = {.status = TIDE_OK};
  got.count = 0;
  got.stuck = CALL_END;
  enum tide_status status = tide_run_order_create(&program.tables, allocator, &client, &order);
  if (status != TIDE_OK) return status;
  for (size_t i = 0; i < program.count && status == TIDE_OK; i++) {
    status = tide_run_order_step(order, &program.steps[i], &diag);
    got.entries[got.count++] = CALL_END;
  }
  if (status == TIDE_OK && tide_run_order_finish(order, &diag) == TIDE_DEADLOCK)
    got.stuck = diag.line - 1;
  tide_run_order_destroy(order);
  for (size_t i = 0; i < program.count; i++) CHECK_EQ_U64(tokens[i], 0);
  return status;
}

static void compare_orders(uint64_t seed) {
  for (size_t i = 0; i < wanted.count && i < got.count; i++)
    if (got.entries[i] != wanted.entries[i])
      FAIL("seed %llu: entry %zu is step %lld, not %lld", (unsigned long long)seed, i,
           (long long)got.entries[i], (long long)wanted.entries[i]);
  CHECK_EQ_U64(got.count, wanted.count);
  CHECK_EQ_U64(got.stuck, wanted.stuck);
}

/* ---- random programs --------------------------------------------------------------- */

static size_t draw_values(struct tide_random *random, struct tide_step_value *values, size_t most,
                          uint64_t most_value) {
  size_t count = tide_random_below(random, most + 1);
  for (size_t i = 0; i < count; i++)
    values[i] =
        (struct tide_step_value){(uint32_t)tide_random_below(random, program.tables.timeline_count),
                                 1 + tide_random_below(random, most_value)};
  return count;
}

static void draw_collective(struct tide_random *random, uint32_t index) {
  struct tide_plan_collective *table = &program.collectives[index];
  uint32_t first = (uint32_t)tide_random_below(random, program.tables.queue_count);
  table->queues = program.members[index];
  table->queue_count = 1 + tide_random_below(random, program.tables.queue_count);
  table->timeline = (uint32_t)program.tables.timeline_count++;
  for (uint32_t i = 0; i < table->queue_count; i++)
    program.members[index][i] = (first + i) % (uint32_t)program.tables.queue_count;
}

static struct tide_step *draw_step(struct tide_random *random, enum tide_step_kind kind,
                                   uint32_t queue, uint32_t flags) {
  size_t own = program.tables.timeline_count - program.tables.collective_count;
  struct tide_step *step = add_step(kind, queue, flags);
  uint64_t n = step->number, values = 2 + n / 4;
  if (kind != TIDE_STEP_HOST_SIGNAL) {
    step->wait_count = draw_values(random, program.waits[n], VALUES - 1, values);
    if (!tide_random_below(random, 8))
      step->tag_count = draw_values(random, program.tags[n], VALUES - 1, values);
  }
  size_t signals = tide_random_below(random, VALUES);
  for (size_t i = 0; i < signals; i++)
    add_signal(step, (uint32_t)tide_random_below(random, own),
               1 + tide_random_below(random, values + 2));
  return step;
}

static void draw_program(uint64_t seed, size_t most) {
  struct tide_random random = {seed};
  begin_program(1 + tide_random_below(&random, QUEUES), 1 + tide_random_below(&random, TIMELINES));
  size_t steps = 4 + tide_random_below(&random, most);
  size_t collectives = tide_random_below(&random, COLLECTIVES + 1);
  uint64_t firm = tide_random_below(&random, 8);
  for (size_t i = 0; i < program.tables.timeline_count; i++)
    program.timelines[i].initial = tide_random_below(&random, 2);
  for (uint32_t i = 0; i < collectives; i++) draw_collective(&random, i);
  program.tables.collective_count = collectives;
  while (program.count < steps) {
    uint32_t flags = tide_random_below(&random, 8) < firm ? 0 : TIDE_MAY_BE_PASSED;
    uint32_t queue = (uint32_t)tide_random_below(&random, program.tables.queue_count);
    uint64_t kind = tide_random_below(&random, 16);
    if (kind >= 3 || (kind > 0 && !collectives)) {
      draw_step(&random, TIDE_STEP_OPERATION, queue, flags);
    } else if (kind == 0) {
      draw_step(&random, TIDE_STEP_HOST_SIGNAL, 0, 0);
    } else {
      uint32_t index = (uint32_t)tide_random_below(&random, collectives);
      program.instances[index]++;
      for (uint32_t i = 0; i < program.collectives[index].queue_count; i++) {
        struct tide_step *part =
            draw_step(&random, TIDE_STEP_PART, program.members[index][i], flags);
        part->collective = index;
        part->member = i;
        part->instance = program.instances[index];
      }
    }
  }
}

TEST(random_programs_enter_as_defined) {
  unsigned rounds = 20000 / test_slowdown();
  uint64_t stuck = 0, later = 0;
  refused = CALL_END;
  for (uint64_t seed = 1; seed <= rounds; seed++) {
    draw_program(seed, seed % 50 ? 40 : 200);
    order_by_definition();
    CHECK_OK(order_steps(tide_allocator_system()));
    compare_orders(seed);
    stuck += wanted.stuck != CALL_END;
    for (size_t i = 1; i < wanted.count; i++)
      later += wanted.entries[i] != CALL_END && wanted.entries[i] < wanted.entries[i - 1] &&
               wanted.entries[i - 1] != CALL_END;
  }
  CHECK(stuck > rounds / 20 && stuck < rounds); /* the programs are of many kinds */
  CHECK(later > rounds / 4);
}

TEST(an_entry_that_fails_is_the_last) {
  for (uint64_t seed = 1; seed <= 200; seed++) {
    draw_program(seed, 40);
    order_by_definition();
    size_t at = wanted.count / 2;
    while (at && wanted.entries[at] == CALL_END) at--;
    if (wanted.entries[at] == CALL_END) continue;
    refused = wanted.entries[at];
    CHECK_STATUS(order_steps(tide_allocator_system()), TIDE_FAILED);
    CHECK_EQ_U64(got.entries[got.count - 2], refused);
    CHECK_EQ_U64(got.count, at + 2);
    CHECK(memcmp(got.entries, wanted.entries, (at + 1) * sizeof *got.entries) == 0);
  }
}

TEST(no_memory_at_any_place) {
  static struct meter meter;
  const struct tide_allocator allocator = {meter_alloc, meter_free, &meter};
  refused = CALL_END;
  for (uint64_t seed = 1; seed <= 50; seed++) {
    draw_program(seed, 40);
    enum tide_status status = TIDE_NOMEM;
    for (uint64_t at = 0; status == TIDE_NOMEM; at++) {
      meter_refuse(&meter, at);
      status = order_steps(&allocator);
      CHECK(status == TIDE_OK || (status == TIDE_NOMEM && meter.asked >= meter.fail_at));
      CHECK_EQ_U64((uint64_t)meter.out, 0);
    }
    meter.fail_at = 0;
  }
}

/* ---- work: how often memory is looked at ----------------------------------------------- */

/* Queue 0 has `count` operations that wait, queue 1 signals. */
typedef void (*write_steps)(size_t count);

static void write_one_for_all(size_t count) {
  for (size_t i = 0; i < count; i++)
    add_wait(add_step(TIDE_STEP_OPERATION, 0, TIDE_MAY_BE_PASSED), 0, 1);
  add_signal(add_step(TIDE_STEP_OPERATION, 1, 0), 0, 1);
}
static void write_one_for_each(size_t count) {
  for (size_t i = 0; i < count; i++)
    add_wait(add_step(TIDE_STEP_OPERATION, 0, TIDE_MAY_BE_PASSED), 0, i + 1);
  for (size_t i = 0; i < count; i++) add_signal(add_step(TIDE_STEP_OPERATION, 1, 0), 0, i + 1);
}
static void write_from_the_last(size_t count) {
  for (size_t i = 0; i < count; i++)
    add_wait(add_step(TIDE_STEP_OPERATION, 0, TIDE_MAY_BE_PASSED), 0, count - i);
  for (size_t i = 0; i < count; i++) add_signal(add_step(TIDE_STEP_OPERATION, 1, 0), 0, i + 1);
}
/* Each operation frees the one before it: one a round. */
static void write_backwards(size_t count) {
  for (size_t i = 0; i < count; i++)
    add_signal(add_wait(add_step(TIDE_STEP_OPERATION, 0, TIDE_MAY_BE_PASSED), 0, count - i), 0,
               count - i + 1);
  add_signal(add_step(TIDE_STEP_OPERATION, 1, 0), 0, 1);
}
static void write_firm_between(size_t count) {
  for (size_t i = 0; i < count; i++)
    add_wait(add_step(TIDE_STEP_OPERATION, 0, i % 8 ? TIDE_MAY_BE_PASSED : 0), 0, i + 1);
  for (size_t i = 0; i < count; i++) add_signal(add_step(TIDE_STEP_OPERATION, 1, 0), 0, i + 1);
}
static void write_others_go_by(size_t count) {
  for (size_t i = 0; i < count; i++)
    add_wait(add_step(TIDE_STEP_OPERATION, 0, TIDE_MAY_BE_PASSED), 0, 1);
  for (size_t i = 0; i < count; i++) add_step(TIDE_STEP_OPERATION, (uint32_t)i % 2, 0);
  add_signal(add_step(TIDE_STEP_OPERATION, 1, 0), 0, 1);
}

static void order_many(const struct tide_allocator *allocator, const void *write, size_t count) {
  begin_program(2, 1);
  (*(const write_steps *)write)(count);
  refused = CALL_END;
  CHECK_OK(order_steps(allocator));
  CHECK_EQ_U64(got.stuck, CALL_END);
}

static void check_looks(write_steps write) { looks_check(order_many, &write, 256); }

TEST(one_signal_frees_all) { check_looks(write_one_for_all); }
TEST(a_signal_frees_each) { check_looks(write_one_for_each); }
TEST(signals_free_the_last_first) { check_looks(write_from_the_last); }
TEST(each_frees_the_one_before) { check_looks(write_backwards); }
TEST(firm_ones_between) { check_looks(write_firm_between); }
TEST(others_go_by) { check_looks(write_others_go_by); }

TEST_MAIN(CASE(random_programs_enter_as_defined), CASE(an_entry_that_fails_is_the_last),
          CASE(no_memory_at_any_place), CASE(one_signal_frees_all), CASE(a_signal_frees_each),
          CASE(signals_free_the_last_first), CASE(each_frees_the_one_before),
          CASE(firm_ones_between), CASE(others_go_by))
