/* Programs that take, on a clock, against reachability over all that the program says. For random
 * programs of writers, of operations that wait and of others that take:
 *
 * - what a queue's frontier lists has finished when the operation starts, and what a value's record
 *   lists when it is signalled;
 * - an operation knows exactly what its queue's order and the waits say, one that takes none of the
 *   writers, whatever comes behind it all of them;
 * - the body of one that takes is over only when all of the writers are;
 * - when a body fails, what depends on it fails, and nothing else. */
#include "harness.h"

#include "base/random.h"
#include "tidemark/kernel.h"
#include "tidemark/sim.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { QUEUES = 4, BUFFERS = 3, PARTS = 4, STATEMENTS = 40, STEPS = 2 * STATEMENTS + 2 };
enum { TEXT = 16384 };

/* ---- programs ------------------------------------------------------------------------ */

struct program {
  char text[TEXT];
  size_t length;
  int value[QUEUES];          /* of its timeline: each operation signals the next one */
  int writer[BUFFERS][PARTS]; /* the queue of who wrote last, and its value */
  int written[BUFFERS][PARTS];
};

static void put(struct program *p, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void put(struct program *p, const char *format, ...) {
  va_list list;
  va_start(list, format);
  p->length += (size_t)vsnprintf(p->text + p->length, TEXT - p->length, format, list);
  va_end(list);
  CHECK(p->length < TEXT - 1);
}

/* Waits for what others have signalled so far, now and then. */
static void put_waits(struct program *p, struct tide_random *random, int queue, bool takes,
                      int buffer) {
  const char *before = "  wait ";
  for (int q = 0; q < QUEUES; q++) {
    bool writes = false;
    for (int i = 0; i < PARTS; i++) writes |= takes && p->writer[buffer][i] == q;
    if (q == queue || !p->value[q] || writes || tide_random_below(random, 4)) continue;
    put(p, "%st[%d] >= %d", before, q, 1 + (int)tide_random_below(random, (uint64_t)p->value[q]));
    before = ", ";
  }
}

static bool can_take(const struct program *p, int queue, int buffer) {
  for (int i = 0; i < PARTS; i++)
    if (p->writer[buffer][i] < 0 || p->writer[buffer][i] == queue) return false;
  return true;
}

static void put_operation(struct program *p, struct tide_random *random) {
  int queue = (int)tide_random_below(random, QUEUES);
  int buffer = (int)tide_random_below(random, BUFFERS);
  int part = (int)tide_random_below(random, PARTS);
  bool takes = tide_random_below(random, 2) && can_take(p, queue, buffer);
  if (takes) {
    put(p, "q[%d]: hash b[%d], x[%d, 8]", queue, buffer, 8 * queue);
  } else {
    put(p, "q[%d]: iota b[%d][%d, 4K]", queue, buffer, 4096 * part);
    p->writer[buffer][part] = queue;
    p->written[buffer][part] = p->value[queue] + 1;
  }
  put_waits(p, random, queue, takes, buffer);
  if (takes) put(p, "  take b[%d]", buffer);
  if (takes && tide_random_below(random, 2))
    put(p, " after %dus", (int)tide_random_below(random, 20));
  put(p, "  signal t[%d] = %d  cost %dus\n", queue, ++p->value[queue],
      (int)tide_random_below(random, 30));
}

static void generate(struct program *p, uint64_t seed) {
  struct tide_random random = {seed};
  memset(p, 0, sizeof *p);
  memset(p->writer, 0xff, sizeof p->writer);
  put(p, "device d[2] cpu\nqueue q[%d] on d\ntimeline t[%d]\nbuffer b[%d] %d*4K\nbuffer x %d\n",
      QUEUES, QUEUES, BUFFERS, PARTS, 8 * QUEUES);
  for (int i = 0; i < STATEMENTS; i++) put_operation(p, &random);
}

/* ---- what they say -------------------------------------------------------------------- */

struct step {
  int queue, epoch;
  bool reaches[STEPS]; /* it comes after them, by order and waits; itself, too */
  bool takes[STEPS];   /* writers of what it takes */
  bool took;
};

struct world {
  struct program program;
  struct step steps[STEPS];
  int count;
  int at[QUEUES][STEPS]; /* step of an epoch, from 1 */
  int epochs[QUEUES];
  /* What happened. */
  bool started[STEPS], finished[STEPS];
  enum tide_status status[STEPS];
  uint64_t stalls;
  char why[256];
};

#define WRONG(w, ...) ((w)->why[0] ? 0 : snprintf((w)->why, sizeof(w)->why, __VA_ARGS__))

struct signallers {
  int step[QUEUES * 2][STEPS]; /* by timeline and value; -1 */
};

static int signaller(const struct signallers *s, const struct tide_step_value *value) {
  CHECK(value->timeline < QUEUES * 2 && value->value < STEPS);
  return s->step[value->timeline][value->value];
}

/* The text alone decides, not what the second step says of itself: so what has been taken reaches
 * whoever comes behind, and the signals are the second step's. */
static void read_step(struct world *w, struct signallers *s, const struct tide_step *step) {
  int number = w->count++;
  struct step *own = &w->steps[number];
  int queue = (int)step->queue, epoch = ++w->epochs[queue];
  own->queue = queue;
  own->epoch = epoch;
  own->took = step->took;
  w->at[queue][epoch] = number;
  own->reaches[number] = true;
  const struct step *before = epoch > 1 ? &w->steps[w->at[queue][epoch - 1]] : NULL;
  for (int i = 0; before && i < number; i++)
    own->reaches[i] |= before->reaches[i] || (own->took && before->takes[i]);
  for (size_t i = 0; i < step->wait_count; i++) {
    int from = signaller(s, &step->waits[i]);
    for (int k = 0; k < number; k++) own->reaches[k] |= w->steps[from].reaches[k];
  }
  for (size_t i = 0; i < step->signal_count; i++) {
    bool first = step->tag_count && step->signals[i].timeline < QUEUES; /* the text's own */
    s->step[step->signals[i].timeline][step->signals[i].value] = number + first;
  }
}

/* Who wrote what an operation takes last, from the words of the program. */
static void read_take(struct world *w, const struct tide_step *step, int number,
                      int wrote[BUFFERS][PARTS]) {
  if (step->take_count && !step->took)
    for (int i = 0; i < PARTS; i++) {
      int writer = wrote[step->takes[0].buffer][i];
      for (int k = 0; k < number; k++) w->steps[number].takes[k] |= w->steps[writer].reaches[k];
    }
  for (size_t i = 0; i < step->body->param_count; i++) {
    const struct tide_step_argument *a = &step->arguments[i];
    if (a->kind == TIDE_PARAM_OUT && a->index < BUFFERS) wrote[a->index][a->offset / 4096] = number;
  }
}

static void read_plan(struct world *w, struct tide_plan *plan) {
  struct signallers s;
  int wrote[BUFFERS][PARTS];
  struct tide_step step;
  memset(&s, 0xff, sizeof s);
  tide_plan_rewind(plan);
  for (;;) {
    CHECK_OK(tide_plan_next(plan, &step, NULL));
    if (step.kind == TIDE_STEP_END) break;
    read_step(w, &s, &step);
    read_take(w, &step, w->count - 1, wrote);
  }
  tide_plan_rewind(plan);
}

/* ---- what happens ------------------------------------------------------------------------ */

static int step_of(const struct world *w, uint64_t axis, uint64_t epoch) {
  uint64_t ordinal = tide_axis_ordinal(axis);
  if (tide_axis_domain(axis) != TIDE_DOMAIN_QUEUE || !ordinal || ordinal > QUEUES) return -1;
  if (!epoch || epoch > (uint64_t)w->epochs[ordinal - 1]) return -1;
  return w->at[ordinal - 1][epoch];
}

static void on_enter(struct world *w, const struct tide_event *event) {
  int number = step_of(w, event->axis, event->epoch);
  const struct step *own = &w->steps[number];
  for (int q = 0; q < QUEUES; q++) {
    uint64_t most = 0, known = tide_frontier_get(
                           event->frontier, tide_axis_make(0, TIDE_DOMAIN_QUEUE, (uint64_t)q + 1));
    for (int i = 0; i < number; i++)
      if (own->reaches[i] && w->steps[i].queue == q && (uint64_t)w->steps[i].epoch > most)
        most = (uint64_t)w->steps[i].epoch;
    if (known != most)
      WRONG(w, "step %d knows %llu of queue %d, and may know %llu", number,
            (unsigned long long)known, q, (unsigned long long)most);
  }
}

static void all_finished(struct world *w, int number, const char *what) {
  for (int i = 0; i < number; i++)
    if (w->steps[number].reaches[i] && !w->finished[i])
      WRONG(w, "step %d %s before step %d has finished", number, what, i);
}

static void on_finish(struct world *w, const struct tide_event *event, int number) {
  if (w->status[number] == TIDE_OK) w->status[number] = event->status;
  for (int i = 0; i < number && event->status == TIDE_OK; i++)
    if (w->steps[number].takes[i] && !w->finished[i])
      WRONG(w, "step %d is over before step %d, whose memory it takes", number, i);
  w->finished[number] = true;
}

static void on_signal(struct world *w, const struct tide_event *event) {
  const struct tide_frontier *f = event->frontier;
  struct tide_frontier_entry entry;
  if (!f) return;
  for (struct tide_frontier_cursor at = tide_frontier_begin(f); tide_frontier_next(&at, &entry);) {
    int last = step_of(w, entry.axis, entry.epoch);
    if (last >= 0 && !w->finished[last])
      WRONG(w, "a record of %s lists step %d, which has not finished", event->object_label, last);
  }
}

static void on_event(void *self, const struct tide_event *event) {
  struct world *w = self;
  int number = event->epoch ? step_of(w, event->axis, event->epoch) : -1;
  if (event->kind == TIDE_EVENT_SIGNAL) on_signal(w, event);
  if (number < 0) return;
  switch (event->kind) {
    case TIDE_EVENT_ENTER: on_enter(w, event); break;
    case TIDE_EVENT_START: all_finished(w, number, "starts"); break;
    case TIDE_EVENT_FINISH: on_finish(w, event, number); break;
    case TIDE_EVENT_STALL: w->stalls++; break;
    default: break;
  }
}

/* A step fails when its body does, when what it waits for has failed, or what it takes. The first
 * of two that take fails by itself or by its writers. */
static void check_failures(struct world *w) {
  for (int i = 0; i < w->count; i++) {
    const struct step *own = &w->steps[i];
    bool second_fails = own->took && w->status[i - 1] != TIDE_OK;
    second_fails = second_fails && w->at[own->queue][own->epoch - 1] == i - 1;
    if (second_fails && w->status[i] == TIDE_OK)
      WRONG(w, "step %d has failed, and what carries its signals has not", i - 1);
  }
}

/* ---- running ------------------------------------------------------------------------------- */

static bool try_seed(struct world *w, uint64_t seed, uint64_t *stalls) {
  struct tide_random random = {seed * 31 + 7};
  struct tide_program *program;
  struct tide_plan *plan;
  struct tide_simulation *simulation;
  struct tide_diag diag = {.status = TIDE_OK};
  struct tide_report report = {&diag, 1, 0};
  struct tide_body_set set;
  memset(w, 0, sizeof *w);
  generate(&w->program, seed);
  set.bodies = tide_kernel_bodies(&set.count);
  struct tide_program_params text = {.struct_size = sizeof text,
                                     .allocator = tide_allocator_system(),
                                     .text = w->program.text,
                                     .length = w->program.length};
  struct tide_plan_params params = {
      .struct_size = sizeof params, .bodies = &set, .body_set_count = 1};
  if (tide_program_parse(&text, &report, &program) != TIDE_OK) FAIL("%s", diag.text);
  if (tide_plan_create(program, &params, &report, &plan) != TIDE_OK)
    FAIL("%u:%u: %s\n%s", diag.line, diag.column, diag.text, w->program.text);
  read_plan(w, plan);
  struct tide_sink sink = {.event = on_event, .self = w};
  struct tide_simulation_params how = {
      .struct_size = sizeof how,
      .plan = plan,
      .seed = seed,
      .spread = (enum tide_sim_spread)tide_random_below(&random, 3),
      .workers = 1 + (uint32_t)tide_random_below(&random, 3),
      .fail = tide_random_below(&random, 3) ? 0 : 30000,
      .sink = &sink,
  };
  how.latencies[TIDE_WAY_DEVICE] = tide_random_below(&random, 2) * 5000;
  enum tide_status status = tide_simulate(&how, &diag, &simulation);
  if (status != TIDE_OK && !how.fail) FAIL("%s\n%s", diag.text, w->program.text);
  check_failures(w);
  for (int i = 0; i < w->count; i++)
    if (!w->finished[i]) WRONG(w, "step %d has not finished", i);
  *stalls += w->stalls;
  tide_simulation_destroy(simulation);
  tide_plan_destroy(plan);
  tide_program_destroy(program);
  return !w->why[0];
}

static struct world world;

TEST(takes_keep_the_guarantee) {
  uint64_t stalls = 0;
  uint64_t seeds = test_slowdown() > 3 ? 300 : 3000;
  for (uint64_t seed = 1; seed <= seeds; seed++)
    if (!try_seed(&world, seed, &stalls))
      FAIL("seed %llu: %s\n%s", (unsigned long long)seed, world.why, world.program.text);
  CHECK(stalls > seeds); /* or it was no test of taking */
}

TEST_MAIN(CASE(takes_keep_the_guarantee))
