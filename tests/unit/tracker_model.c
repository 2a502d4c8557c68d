/* The tracker against a model: random steps, everything compared after each. */
#include "tracker_rig.h"

#define AXES 6
#define PROBES 10

struct model_axis {
  tide_axis axis;
  uint64_t epoch;
  bool certified;
  enum tide_status failure;
};

struct model {
  struct tide_tracker *tracker;
  struct tide_random random;
  struct model_axis axes[AXES];
  uint64_t next_ordinal;
  struct probe probes[PROBES];
  bool waiting[PROBES];
  tide_axis wanted[PROBES][AXES]; /* 0 = not in it */
  uint64_t wanted_epoch[PROBES][AXES];
  struct raw raws[PROBES];
  tide_axis raw_axis[PROBES]; /* 0 = does not wait */
  uint64_t raw_epoch[PROBES];
};

static void model_new_axis(struct model *m, unsigned i) {
  m->axes[i] = (struct model_axis){.axis = queue(m->next_ordinal++)};
  CHECK_OK(tide_tracker_register(m->tracker, m->axes[i].axis));
}

/* Axes that are no more have closed. */
static struct model_axis *model_find(struct model *m, tide_axis axis) {
  for (unsigned i = 0; i < AXES; i++) {
    if (m->axes[i].axis == axis) return &m->axes[i];
  }
  return NULL;
}

static bool model_finished(struct model *m, tide_axis axis, uint64_t epoch) {
  struct model_axis *at = model_find(m, axis);
  return !at || at->certified || epoch <= at->epoch;
}

/* What a wait should have come to; TIDE_BUSY = it still waits. Of several failed axes the smallest
 * one's failure is told. */
static enum tide_status model_expect(struct model *m, unsigned p) {
  enum tide_status expect = TIDE_OK;
  tide_axis failed = UINT64_MAX;
  for (unsigned i = 0; i < AXES; i++) {
    tide_axis axis = m->wanted[p][i];
    if (!axis || axis > failed || model_finished(m, axis, m->wanted_epoch[p][i])) continue;
    if (expect == TIDE_OK) expect = TIDE_BUSY;
    if (model_find(m, axis)->failure != TIDE_OK) failed = axis;
  }
  return failed == UINT64_MAX ? expect : model_find(m, failed)->failure;
}

static void model_check(struct model *m) {
  for (unsigned i = 0; i < AXES; i++) {
    struct model_axis *at = &m->axes[i];
    CHECK_EQ_U64(tide_tracker_epoch(m->tracker, at->axis), at->certified ? UINT64_MAX : at->epoch);
  }
  for (unsigned p = 0; p < PROBES; p++) {
    if (m->waiting[p]) {
      enum tide_status expect = model_expect(m, p);
      CHECK_EQ_U64(m->probes[p].done, expect != TIDE_BUSY);
      if (expect != TIDE_BUSY) {
        CHECK_STATUS(m->probes[p].status, expect);
        m->waiting[p] = false;
      }
    } else {
      CHECK(m->probes[p].done <= 1);
    }
    if (!m->raw_axis[p]) continue;
    bool finished = model_finished(m, m->raw_axis[p], m->raw_epoch[p]);
    CHECK_EQ_U64(m->raws[p].fired, finished);
    if (finished) m->raw_axis[p] = 0;
  }
}

static void model_wait(struct model *m, unsigned p) {
  if (m->waiting[p]) {
    CHECK(tide_tracker_cancel(&m->probes[p].wait));
    CHECK_EQ_U64(m->probes[p].done, 0);
    m->waiting[p] = false;
    return;
  }
  probe_init(&m->probes[p], m->tracker);
  for (unsigned i = 0; i < AXES; i++) {
    m->wanted[p][i] = 0;
    if (tide_random_below(&m->random, 2)) continue;
    struct model_axis *at = &m->axes[i];
    m->wanted[p][i] = tide_random_below(&m->random, 8) ? at->axis : queue(1); /* 1 has closed */
    m->wanted_epoch[p][i] = at->epoch + tide_random_below(&m->random, 6);
    if (m->wanted_epoch[p][i] == 0) m->wanted_epoch[p][i] = 1;
    probe_need(&m->probes[p], m->wanted[p][i], m->wanted_epoch[p][i]);
  }
  for (unsigned i = 1; i < AXES; i++) { /* several waits for the closed one are one, the highest */
    if (m->wanted[p][i] == queue(1)) m->wanted_epoch[p][i] = 1;
  }
  CHECK_OK(probe_start(&m->probes[p]));
  m->waiting[p] = true;
}

static void model_raw(struct model *m, unsigned p) {
  if (m->raw_axis[p]) {
    CHECK(tide_tracker_cancel_finish(m->tracker, &m->raws[p].wait));
    CHECK_EQ_U64(m->raws[p].fired, 0);
    m->raw_axis[p] = 0;
    return;
  }
  struct model_axis *at = &m->axes[tide_random_below(&m->random, AXES)];
  uint64_t epoch = at->epoch + tide_random_below(&m->random, 6);
  m->raws[p] = (struct raw){.wait.node.fire = raw_fire};
  bool queued = tide_tracker_wait_finish(m->tracker, at->axis, epoch, &m->raws[p].wait);
  bool finished = model_finished(m, at->axis, epoch);
  CHECK(queued == !finished);
  if (finished) return;
  m->raw_axis[p] = at->axis;
  m->raw_epoch[p] = epoch;
}

static void model_step(struct model *m) {
  unsigned i = (unsigned)tide_random_below(&m->random, AXES);
  unsigned p = (unsigned)tide_random_below(&m->random, PROBES);
  struct model_axis *at = &m->axes[i];
  switch (tide_random_below(&m->random, 16)) {
    case 0:
      CHECK_OK(tide_tracker_fail(m->tracker, at->axis, TIDE_FAILED + i % 2));
      if (at->failure == TIDE_OK) at->failure = TIDE_FAILED + i % 2;
      break;
    case 1:
      CHECK_STATUS(tide_tracker_certify(m->tracker, at->axis),
                   at->failure == TIDE_OK ? TIDE_INVALID : TIDE_OK);
      at->certified |= at->failure != TIDE_OK;
      break;
    case 2:
      CHECK_OK(tide_tracker_close(m->tracker, at->axis));
      model_new_axis(m, i);
      break;
    case 3:
    case 4:
    case 5: model_wait(m, p); break;
    case 6:
    case 7: model_raw(m, p); break;
    default: {
      uint64_t epoch = at->epoch + tide_random_below(&m->random, 5) - 1;
      if (at->epoch == 0 && epoch == UINT64_MAX) epoch = 0;
      CHECK_OK(tide_tracker_advance(m->tracker, at->axis, epoch));
      if (epoch > at->epoch) at->epoch = epoch;
    }
  }
}

TEST(random_steps_against_a_model) {
  for (uint64_t seed = 1; seed <= 200; seed++) {
    static struct model m;
    memset(&m, 0, sizeof m);
    m.random.state = seed;
    m.tracker = make(1);
    CHECK_OK(tide_tracker_close(m.tracker, queue(1)));
    m.next_ordinal = 2;
    for (unsigned i = 0; i < AXES; i++) model_new_axis(&m, i);
    for (unsigned step = 0; step < 3000 / test_slowdown(); step++) {
      model_step(&m);
      model_check(&m);
    }
    for (unsigned i = 0; i < AXES; i++) CHECK_OK(tide_tracker_close(m.tracker, m.axes[i].axis));
    memset(m.axes, 0, sizeof m.axes); /* all of them closed */
    model_check(&m);
    for (unsigned p = 0; p < PROBES; p++) CHECK(!m.waiting[p] && !m.raw_axis[p]);
    drop(m.tracker);
  }
}

TEST_MAIN(CASE(random_steps_against_a_model))
