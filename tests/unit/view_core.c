/* The core of the page, natively: what it records is true, with frontiers of any size; what the
 * arbiter goes by. */
#include "harness.h"

#include "view.h"
#include "tidemark/base.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NEVER UINT32_MAX

static char text[1 << 16];

struct recording {
  const struct tide_view_operation *ops;
  const struct tide_view_entry *log;
  const struct tide_view_wait *waits;
  const double *frontiers;
  uint32_t count, entries;
  uint32_t *submitted, *entered, *started, *over; /* by operation: places in the log */
};

static uint32_t *moments(const struct recording *r, uint32_t kind) {
  uint32_t *of = malloc((r->count + 1) * sizeof *of);
  CHECK(of);
  for (uint32_t i = 0; i < r->count; i++) of[i] = NEVER;
  for (uint32_t i = 0; i < r->entries; i++)
    if ((r->log[i].kind & 255) == kind && r->log[i].operation != TIDE_VIEW_NONE)
      of[r->log[i].operation] = i;
  return of;
}

static void begin(double frontier, double paused) {
  tide_view_begin();
  tide_view_option(TIDE_VIEW_FRONTIER, frontier);
  tide_view_option(TIDE_VIEW_PAUSED, paused);
}

static struct recording record(const char *program) {
  struct recording r;
  uint32_t length = (uint32_t)strlen(program);
  memcpy(tide_view_room(length), program, length);
  if (tide_view_load(length) != TIDE_OK) FAIL("%s", tide_view_answer());
  if (tide_view_run() != TIDE_OK) FAIL("%s", tide_view_answer());
  r.ops = tide_view_array(TIDE_VIEW_ARRAY_OPERATIONS);
  r.log = tide_view_array(TIDE_VIEW_ARRAY_LOG);
  r.waits = tide_view_array(TIDE_VIEW_ARRAY_WAITS);
  r.frontiers = tide_view_array(TIDE_VIEW_ARRAY_FRONTIERS);
  r.count = tide_view_array_count(TIDE_VIEW_ARRAY_OPERATIONS);
  r.entries = tide_view_array_count(TIDE_VIEW_ARRAY_LOG);
  r.submitted = moments(&r, TIDE_EVENT_SUBMIT);
  r.entered = moments(&r, TIDE_EVENT_ENTER);
  r.started = moments(&r, TIDE_EVENT_START);
  r.over = moments(&r, TIDE_EVENT_PUBLISH);
  return r;
}

static void end(struct recording *r) {
  free(r->submitted);
  free(r->entered);
  free(r->started);
  free(r->over);
  tide_view_begin();
}

static const char *example(const char *name) {
  char path[128];
  snprintf(path, sizeof path, "examples/%s.tide", name);
  FILE *file = fopen(path, "rb");
  if (!file) SKIP("%s is not here: start it in the repository", path);
  text[fread(text, 1, sizeof text - 1, file)] = 0;
  fclose(file);
  return text;
}

static uint32_t by_epoch(const struct recording *r, double queue, double epoch) {
  for (uint32_t i = 0; i < r->count; i++)
    if (r->ops[i].queue == queue && r->ops[i].epoch == epoch) return i;
  return NEVER;
}

/* ---- frontiers of any size ---- */

/* Must `b` have finished before `a` starts? By their queue, or along waits: brute force. */
static void mark_past(const struct recording *r, uint32_t a, bool *past) {
  for (uint32_t i = 0; i < r->count; i++)
    if (r->ops[i].queue == r->ops[a].queue && r->ops[i].epoch < r->ops[a].epoch && !past[i]) {
      past[i] = true;
      mark_past(r, i, past);
    }
  for (uint32_t i = 0; i < r->ops[a].wait_count; i++) {
    uint32_t cause = r->waits[r->ops[a].first_wait + i].cause;
    if (cause == TIDE_VIEW_NONE || past[cause]) continue;
    past[cause] = true;
    mark_past(r, cause, past);
  }
}

/* What an operation's frontier lists is in its past, and has finished; where it is not tainted, all
 * of the past is covered. Gives whether it is tainted. */
static bool check_known(const struct recording *r, uint32_t number) {
  const double *known = r->frontiers + r->ops[number].known;
  bool *past = calloc(r->count, 1);
  CHECK(past);
  mark_past(r, number, past);
  bool tainted = r->ops[number].known && known[1] != 0;
  uint32_t count = r->ops[number].known ? (uint32_t)known[0] : 0;
  for (uint32_t i = 0; i < count; i++) {
    uint32_t other = by_epoch(r, known[2 + 2 * i], known[3 + 2 * i]);
    if (other == NEVER || !past[other]) FAIL("%u lists what is not in its past", number);
    if (r->over[other] > r->started[number]) FAIL("%u starts before what it lists", number);
    for (uint32_t k = 0; k < r->count; k++)
      if (r->ops[k].queue == r->ops[other].queue && r->ops[k].epoch <= r->ops[other].epoch)
        past[k] = false;
  }
  for (uint32_t i = 0; i < r->count && !tainted; i++)
    if (past[i] && r->ops[i].queue != r->ops[number].queue)
      FAIL("%u does not list %u, and is not tainted", number, i);
  free(past);
  return tainted;
}

/* A record that a signal leaves has no more entries than there is room for. */
static void check_records(const struct recording *r, uint32_t room) {
  for (uint32_t i = 0; i < r->entries; i++)
    if ((r->log[i].kind & 255) == TIDE_EVENT_SIGNAL && r->log[i].frontier &&
        r->frontiers[r->log[i].frontier] > room)
      FAIL("a record has %.0f entries, and there is room for %u", r->frontiers[r->log[i].frontier],
           room);
}

TEST(what_is_listed_is_true_in_any_room) {
  static const char *const programs[] = {"eviction", "diamond", "fork_join", "late_waiter"};
  for (size_t p = 0; p < 4; p++)
    for (uint32_t room = 1; room <= 8; room++) {
      uint32_t tainted = 0;
      begin(room, 1);
      struct recording r = record(example(programs[p]));
      for (uint32_t i = 0; i < r.count; i++) tainted += check_known(&r, i);
      check_records(&r, room);
      if (p == 0 && (room < 6) != (tainted > 0)) FAIL("room for %u: %u are tainted", room, tainted);
      end(&r);
    }
}

/* How far an operation's queue knows an axis behind it. */
static double after(const struct recording *r, const struct tide_view_operation *op, double axis) {
  const double *list = r->frontiers + (op->after == TIDE_VIEW_NONE ? op->known : op->after);
  if (op->after == TIDE_VIEW_NONE && axis == op->queue) return op->epoch;
  for (uint32_t i = 0; i < list[0]; i++)
    if (list[2 + 2 * i] == axis) return list[3 + 2 * i];
  return 0;
}

/* What a queue's next operation may take for granted is what it then knows, unless it has lost
 * entries for what it imports; and it fits. */
static uint32_t check_after(const struct recording *r, uint32_t room) {
  uint32_t others = 0;
  for (uint32_t i = 0; i < r->count; i++) {
    const struct tide_view_operation *op = &r->ops[i];
    uint32_t next = by_epoch(r, op->queue, op->epoch + 1), count = 0;
    others += op->after != TIDE_VIEW_NONE;
    for (double axis = 0; axis < 64; axis++) {
      double epoch = after(r, op, axis);
      count += epoch > 0;
      if (!epoch || next == NEVER) continue;
      const double *known = r->frontiers + r->ops[next].known;
      double knows = 0;
      for (uint32_t k = 0; k < known[0]; k++)
        if (known[2 + 2 * k] == axis) knows = known[3 + 2 * k];
      if (knows < epoch && known[1] == 0)
        FAIL("behind %u axis %g is said to be known to %g", i, axis, epoch);
    }
    if (count > room) FAIL("behind %u %u entries are said to be known, of %u", i, count, room);
  }
  return others;
}

TEST(what_may_be_taken_for_granted_is_known_next) {
  static const char *const programs[] = {"eviction", "paging", "diamond", "reuse"};
  for (size_t p = 0; p < 4; p++)
    for (uint32_t room = 2; room <= 16; room++) {
      begin(room, 1);
      struct recording r = record(example(programs[p]));
      uint32_t others = check_after(&r, room);
      if (p < 2 && room < 4 && !others) FAIL("%s: nothing was out of the ordinary", programs[p]);
      end(&r);
    }
}

/* The two that the record of join still lists are elided, the two that it lost are issued. */
TEST(eviction_with_room_for_three) {
  begin(3, 1);
  struct recording r = record(example("eviction"));
  const struct tide_view_operation *last = &r.ops[r.count - 1];
  uint32_t elided = 0, issued = 0;
  for (uint32_t i = 0; i < last->wait_count; i++) {
    elided += r.waits[last->first_wait + i].class_ == 2;
    issued += r.waits[last->first_wait + i].class_ == 3;
  }
  CHECK_EQ_U64(elided, 2);
  CHECK_EQ_U64(issued, 2);
  CHECK(r.frontiers[last->known + 1] == 1);
  end(&r);
}

/* ---- priorities ---- */

/* An urgent queue waits for a slow one, whose priority goes up meanwhile and down again. */
static const char lent[] = "device d cpu workers 1\n"
                           "queue slow on d priority 2\n"
                           "queue urgent on d priority 14\n"
                           "timeline t\n"
                           "buffer a 64\n"
                           "slow: fill a cost 1ms\n"
                           "slow: fill a signal t = 1 cost 1ms\n"
                           "urgent: nop wait t >= 1 cost 1ms\n"
                           "slow: fill a cost 1ms\n";

TEST(what_is_lent_is_recorded) {
  double levels[8];
  uint32_t changes = 0;
  begin(0, 1);
  struct recording r = record(lent);
  for (uint32_t i = 0; i < r.entries; i++) {
    if ((r.log[i].kind & 255) != TIDE_VIEW_PRIORITY) continue;
    CHECK(r.log[i].object == 0 && changes < 8);
    levels[changes++] = r.log[i].value;
    /* not a step of its own, and not before its cause */
    CHECK(!(r.log[i].kind >> 24) && i > r.submitted[2]);
  }
  CHECK_EQ_U64(changes, 2);
  CHECK(levels[0] == 14 && levels[1] == 2);
  end(&r);
}

TEST(wrong_calls_are_answered) {
  tide_view_begin();
  CHECK_STATUS(tide_view_run(), TIDE_INVALID);
  CHECK_STATUS(tide_view_reuse(1, 0), TIDE_NOT_FOUND);
  CHECK_STATUS(tide_view_operation(0), TIDE_NOT_FOUND);
  CHECK_STATUS(tide_view_load(0), TIDE_CORRUPT);
  CHECK(strstr(tide_view_answer(), "this program has no operations"));
  tide_view_begin();
}

TEST_MAIN(CASE(what_is_listed_is_true_in_any_room),
          CASE(what_may_be_taken_for_granted_is_known_next), CASE(eviction_with_room_for_three),
          CASE(what_is_lent_is_recorded), CASE(wrong_calls_are_answered))
