/* An acceptance never becomes a refusal: programs whose submits have been accepted before anything
 * ran are submitted again while operations run, fail and are cancelled, and the host signals and
 * fails. Each submit must be accepted again, and each operation must end.
 *
 *   [SEED=N] [VERBOSE=1] oracle-accepted
 *
 * A program is drawn in an order in which it could run one by one: an operation waits for earlier
 * ones, and signals a timeline only if it comes behind the timeline's last signaller, by its waits,
 * by its queue or through others. It is submitted in another order, which keeps that of each queue.
 * The few programs in which an operation fails though nothing fails are not counted. */
#include "harness.h"

#include "base/random.h"
#include "tidemark/tidemark.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OPS = 24, QUEUES = 5, LINES = 4, HOST_LINES = 2, HOST_VALUES = 3, WAITS = 3, SIGNALS = 2 };

struct pair {
  int line;
  uint64_t value;
};

struct op {
  int queue, wait_count, signal_count;
  struct pair waits[WAITS], signals[SIGNALS];
  uint64_t behind; /* the operations that it comes behind, as a mask */
  bool may_be_passed;
};

/* Lines 0 to HOST_LINES - 1 are the host's. */
struct plan {
  struct tide_random random;
  int queue_count, count;
  struct op ops[OPS];
  int order[OPS]; /* of the submits */
  uint64_t highest[HOST_LINES + LINES];
  int last[HOST_LINES + LINES]; /* the operation that signals the highest value; -1: none */
  bool operations_only[HOST_LINES + LINES], in_order;
};

/* One run of a plan. */
struct world {
  struct plan *plan;
  struct tide_random random;
  struct tide_context *context;
  struct tide_sink sink;
  struct tide_device *device;
  struct tide_queue *queues[QUEUES];
  struct tide_timeline *lines[HOST_LINES + LINES];
  uint64_t sequence[OPS];
  bool submitted[OPS], ended[OPS];
  int failed; /* operations */
  struct tide_work *works[QUEUES];
  int work_count;
  bool is_verbose;
};

static int draw(struct tide_random *random, int limit) {
  return (int)tide_random_below(random, (uint64_t)limit);
}

/* ---- the plan --------------------------------------------------------------------------- */

static void draw_waits(struct plan *p, struct op *op) {
  int wanted = draw(&p->random, WAITS + 1);
  for (int i = 0; i < wanted; i++) {
    int line = draw(&p->random, HOST_LINES + LINES);
    uint64_t value = 1 + (uint64_t)draw(&p->random, HOST_VALUES);
    bool again = false;
    if (line >= HOST_LINES) {
      if (p->last[line] < 0) continue;
      value = p->highest[line];
      op->behind |= p->ops[p->last[line]].behind | 1ull << p->last[line];
    }
    for (int k = 0; k < op->wait_count; k++) again |= op->waits[k].line == line;
    if (!again) op->waits[op->wait_count++] = (struct pair){line, value};
  }
}

/* Adds what the operation comes behind by its queue: that may be passed by later ones. */
static void follow_queue(struct plan *p, struct op *op) {
  for (int i = 0; i < p->count; i++) {
    const struct op *other = &p->ops[i];
    if (other->queue == op->queue && !other->may_be_passed) op->behind |= other->behind | 1ull << i;
  }
}

static void draw_signals(struct plan *p, struct op *op) {
  int wanted = draw(&p->random, SIGNALS + 1);
  for (int i = 0; i < wanted; i++) {
    int line = HOST_LINES + draw(&p->random, LINES);
    if (p->last[line] == p->count) continue;
    if (p->last[line] >= 0 && !(op->behind >> p->last[line] & 1)) continue;
    p->highest[line] += 1 + (uint64_t)draw(&p->random, 2);
    p->last[line] = p->count;
    op->signals[op->signal_count++] = (struct pair){line, p->highest[line]};
  }
}

/* Draws in which order the queues' operations are submitted. */
static void draw_order(struct plan *p) {
  int next[QUEUES] = {0};
  for (int at = 0; at < p->count;) {
    int q = draw(&p->random, p->queue_count);
    while (next[q] < p->count && p->ops[next[q]].queue != q) next[q]++;
    if (next[q] < p->count) p->order[at++] = next[q]++;
  }
}

static void draw_plan(struct plan *p, uint64_t seed) {
  *p = (struct plan){.random.state = seed};
  p->queue_count = 2 + draw(&p->random, QUEUES - 1);
  p->in_order = draw(&p->random, 2);
  for (int i = 0; i < HOST_LINES + LINES; i++) {
    p->last[i] = -1;
    p->operations_only[i] = i >= HOST_LINES && draw(&p->random, 2);
  }
  int wanted = 3 + draw(&p->random, OPS - 2);
  for (; p->count < wanted; p->count++) {
    struct op *op = &p->ops[p->count];
    op->queue = draw(&p->random, p->queue_count);
    op->may_be_passed = draw(&p->random, 8) == 0;
    draw_waits(p, op);
    follow_queue(p, op);
    draw_signals(p, op);
  }
  draw_order(p);
}

/* ---- a world ------------------------------------------------------------------------------ */

static void say(const struct world *w, const char *what, int number, uint64_t value) {
  if (w->is_verbose) printf("%s %d %llu\n", what, number, (unsigned long long)value);
}

static void on_event(void *self, const struct tide_event *event) {
  struct world *w = self;
  bool leaves = event->kind == TIDE_EVENT_FINISH && !event->epoch;
  if (event->kind != TIDE_EVENT_PUBLISH && !leaves) return;
  int i = atoi(event->label);
  say(w, tide_status_name(event->status), i, event->epoch);
  w->ended[i] = true;
  w->failed += event->status != TIDE_OK;
}

static bool takes(void *self, const struct tide_body_class *body) {
  (void)self, (void)body;
  return true;
}

static enum tide_status never_called(void *arguments) {
  (void)arguments;
  return TIDE_OK;
}
static const struct tide_body_class body_class = {.name = "body", .host = never_called};

static void open_world(struct world *w, struct plan *p, uint64_t seed) {
  const struct tide_backend backend = {.name = "hand", .in_order = p->in_order, .takes = takes};
  *w = (struct world){.plan = p, .random.state = seed, .is_verbose = getenv("VERBOSE") != NULL};
  w->sink = (struct tide_sink){.event = on_event, .self = w};
  CHECK_OK(tide_context_create(TIDE_PARAMS(tide_context_params, .sink = &w->sink), &w->context));
  CHECK_OK(tide_device_open(w->context, &backend, "hand", &w->device));
  for (int i = 0; i < p->queue_count; i++)
    CHECK_OK(tide_queue_create(w->device, NULL, &w->queues[i]));
  for (int i = 0; i < HOST_LINES + LINES; i++)
    CHECK_OK(tide_timeline_create(
        w->context, TIDE_PARAMS(tide_timeline_params, .operations_only = p->operations_only[i]),
        &w->lines[i]));
}

static void close_world(struct world *w) {
  tide_device_lose(w->device, TIDE_LOST);
  tide_device_certify(w->device);
  while (w->work_count)
    (void)tide_device_exchange(w->device, &w->works[--w->work_count], 1, NULL, 0, NULL);
  tide_context_destroy(w->context);
}

static enum tide_status submit(struct world *w, int i, struct tide_diag *diag) {
  const struct op *op = &w->plan->ops[i];
  struct tide_wait waits[WAITS];
  struct tide_signal signals[SIGNALS];
  char label[16];
  for (int k = 0; k < op->wait_count; k++)
    waits[k] = (struct tide_wait){w->lines[op->waits[k].line], op->waits[k].value};
  for (int k = 0; k < op->signal_count; k++)
    signals[k] = (struct tide_signal){w->lines[op->signals[k].line], op->signals[k].value, false};
  snprintf(label, sizeof label, "%d", i);
  say(w, "submit", i, (uint64_t)op->queue);
  for (int k = 0; k < op->wait_count; k++) say(w, "  waits", op->waits[k].line, op->waits[k].value);
  for (int k = 0; k < op->signal_count; k++)
    say(w, "  signals", op->signals[k].line, op->signals[k].value);
  w->submitted[i] = true;
  return tide_queue_submit(
      w->queues[op->queue],
      &(struct tide_operation){.label = label,
                               .body = &body_class,
                               .waits = waits,
                               .wait_count = (uint32_t)op->wait_count,
                               .signals = signals,
                               .signal_count = (uint32_t)op->signal_count,
                               .flags = op->may_be_passed ? TIDE_MAY_BE_PASSED : 0},
      &w->sequence[i], diag);
}

/* Ends a running operation, or starts one. False: there is none. */
static bool step_device(struct world *w, bool may_fail) {
  struct tide_work *work = NULL;
  if (w->work_count && draw(&w->random, 2)) {
    int at = draw(&w->random, w->work_count);
    work = w->works[at];
    w->works[at] = w->works[--w->work_count];
    work->status = may_fail && draw(&w->random, 8) == 0 ? TIDE_FAILED : TIDE_OK;
    (void)tide_device_exchange(w->device, &work, 1, NULL, 0, NULL);
    return true;
  }
  if (w->work_count == QUEUES || !tide_device_exchange(w->device, NULL, 0, &work, 1, NULL))
    return w->work_count > 0;
  say(w, "start", atoi(tide_work_label(work)), work->epoch);
  w->works[w->work_count++] = work;
  return true;
}

static void signal_host(struct world *w, int line) {
  uint64_t value = tide_timeline_query(w->lines[line]) + 1;
  if (value > HOST_VALUES) return;
  say(w, "host signals", line, value);
  enum tide_status status = tide_timeline_signal_external(w->lines[line], value);
  CHECK(status == TIDE_OK || status == TIDE_FAILED); /* so it has failed before */
}

/* Something goes on, or fails. */
static void disturb(struct world *w) {
  struct tide_random *random = &w->random;
  int line = draw(random, HOST_LINES);
  int i = draw(random, w->plan->count);
  switch (draw(random, 12)) {
    case 0:
      say(w, "host fails", line, 0);
      tide_timeline_fail(w->lines[line], TIDE_FAILED);
      break;
    case 1:
      if (!w->submitted[i]) break;
      if (tide_queue_cancel(w->queues[w->plan->ops[i].queue], w->sequence[i]) == TIDE_OK)
        say(w, "cancel", i, 0);
      break;
    case 2:
    case 3:
    case 4: signal_host(w, line); break;
    default: (void)step_device(w, true);
  }
}

/* Signals the values that the host has left out, and runs all operations. Each must end. */
static void finish(struct world *w, uint64_t seed) {
  for (int i = 0; i < HOST_LINES; i++)
    for (int v = 0; v < HOST_VALUES; v++) signal_host(w, i);
  while (step_device(w, false)) continue;
  for (int i = 0; i < w->plan->count; i++)
    if (w->submitted[i] && !w->ended[i])
      FAIL("seed %llu: nothing goes on: %d has not ended", (unsigned long long)seed, i);
}

/* True if all submits are accepted before anything runs, and then nothing fails. */
static bool is_accepted_at_rest(struct plan *p, uint64_t seed) {
  struct world w;
  bool accepted = true;
  open_world(&w, p, seed);
  for (int i = 0; i < p->count && accepted; i++)
    accepted = submit(&w, p->order[i], NULL) == TIDE_OK;
  if (accepted) finish(&w, seed);
  accepted &= w.failed == 0;
  close_world(&w);
  return accepted;
}

/* Returns how many operations failed. */
static int submit_amid_progress(struct plan *p, uint64_t seed) {
  struct world w;
  open_world(&w, p, seed);
  for (int i = 0; i < p->count; i++) {
    struct tide_diag diag;
    for (int k = draw(&w.random, 6); k > 0; k--) disturb(&w);
    enum tide_status status = submit(&w, p->order[i], &diag);
    if (status != TIDE_OK)
      FAIL("seed %llu: %d is refused: %s: %s", (unsigned long long)seed, p->order[i],
           tide_status_name(status), diag.text);
  }
  finish(&w, seed);
  close_world(&w);
  return w.failed;
}

TEST(accepted_at_rest_accepted_always) {
  const char *given = getenv("SEED");
  uint64_t seeds = test_slowdown() > 3 ? 1000 : 20000, first = 1;
  uint64_t accepted = 0, with_failures = 0;
  if (given) first = seeds = strtoull(given, NULL, 10);
  for (uint64_t seed = first; seed <= seeds; seed++) {
    static struct plan plan;
    draw_plan(&plan, seed);
    if (!is_accepted_at_rest(&plan, seed)) continue;
    accepted++;
    with_failures += submit_amid_progress(&plan, seed) > 0;
  }
  if (getenv("VERBOSE"))
    printf("%llu programs, %llu with failures\n", (unsigned long long)accepted,
           (unsigned long long)with_failures);
  if (!given && (accepted < seeds / 2 || with_failures < seeds / 4))
    FAIL("only %llu of %llu programs were accepted, %llu with failures: no test of that",
         (unsigned long long)accepted, (unsigned long long)seeds,
         (unsigned long long)with_failures);
}

TEST_MAIN(CASE_SECONDS(accepted_at_rest_accepted_always, 600))
