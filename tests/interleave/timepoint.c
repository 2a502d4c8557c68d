/* Timepoints: cancel says for sure whether the call will run. */
#include "causal/context_state.h"
#include "interleave.h"

#include "harness.h"
#include "tidemark/tidemark.h"

struct call {
  struct tide_timepoint timepoint;
  struct state *state;
};

struct state {
  struct tide_context *context;
  struct tide_timeline *lines[2];
  struct call *point, *other;
  struct tide_notifier *notifier;
  unsigned calls;
  bool cancelled;
};

static void count(struct tide_timepoint *point, enum tide_status status) {
  struct state *s = ((struct call *)(void *)point)->state;
  EXPECT(status == TIDE_OK || status == TIDE_CANCELLED);
  s->calls++;
}
/* The next is signalled by the callback of this one. */
static void pass_on(struct tide_timepoint *point, enum tide_status status) {
  struct state *s = ((struct call *)(void *)point)->state;
  EXPECT_OK(status);
  s->calls++;
  (void)!tide_timeline_signal(s->lines[1], 1, NULL);
}

static struct call *make(struct state *s, int line,
                         void (*call)(struct tide_timepoint *, enum tide_status)) {
  struct call *point = s->context->allocator->alloc(s->context->allocator->self, sizeof *point, 16);
  EXPECT(point);
  *point = (struct call){
      .timepoint = {.timeline = s->lines[line], .value = 1, .call = call, .notifier = s->notifier},
      .state = s};
  return point;
}
static void setup_lines(struct state *s) {
  EXPECT_OK(tide_context_create(NULL, &s->context));
  for (int i = 0; i < 2; i++) EXPECT_OK(tide_timeline_create(s->context, NULL, &s->lines[i]));
}
static void setup(void *self) {
  struct state *s = self;
  setup_lines(s);
  s->point = make(s, 0, count);
  EXPECT_OK(tide_timepoint_add(&s->point->timepoint));
}
static void setup_chain(void *self) {
  struct state *s = self;
  setup_lines(s);
  s->point = make(s, 0, pass_on);
  s->other = make(s, 1, count);
  EXPECT_OK(tide_timepoint_add(&s->point->timepoint));
  EXPECT_OK(tide_timepoint_add(&s->other->timepoint));
}
static void setup_notified(void *self) {
  struct state *s = self;
  setup_lines(s);
  EXPECT_OK(tide_notifier_create(s->context, &s->notifier));
  s->point = make(s, 0, count);
  s->other = make(s, 1, count);
  EXPECT_OK(tide_timepoint_add(&s->point->timepoint));
  EXPECT_OK(tide_timepoint_add(&s->other->timepoint));
}

static void signal_first(void *self) {
  struct state *s = self;
  EXPECT_OK(tide_timeline_signal(s->lines[0], 1, NULL));
}
static void try_to_signal_second(void *self) {
  struct state *s = self;
  (void)!tide_timeline_signal(s->lines[1], 1, NULL);
}
static void destroy_first(void *self) {
  struct state *s = self;
  tide_timeline_destroy(s->lines[0]);
}
/* When it will not run, its memory may go at once. */
static void cancel(void *self) {
  struct state *s = self;
  s->cancelled = tide_timepoint_cancel(&s->point->timepoint);
  if (!s->cancelled) return;
  s->context->allocator->free(s->context->allocator->self, s->point, sizeof *s->point);
}
static void dispatch(void *self) {
  struct state *s = self;
  tide_notifier_dispatch(s->notifier, 2);
}

/* Its timeline may be kept by the timepoint alone when the call is made. */
static void setup_notified_one(void *self) {
  struct state *s = self;
  setup_lines(s);
  EXPECT_OK(tide_notifier_create(s->context, &s->notifier));
  s->point = make(s, 0, count);
  EXPECT_OK(tide_timepoint_add(&s->point->timepoint));
}
static void signal_and_destroy(void *self) {
  signal_first(self);
  destroy_first(self);
}
/* A notifier may go once its calls have run, though somebody else still asks to cancel one. */
static void dispatch_and_destroy(void *self) {
  struct state *s = self;
  if (tide_notifier_dispatch(s->notifier, 1) == 0) return;
  tide_notifier_destroy(s->notifier);
  s->notifier = NULL;
}
static void dispatched_unless_cancelled(void *self) {
  struct state *s = self;
  if (s->notifier) tide_notifier_dispatch(s->notifier, 1);
  EXPECT(s->calls == (s->cancelled ? 0 : 1));
}

static void ran_unless_cancelled(void *self) {
  struct state *s = self;
  EXPECT(s->calls == (s->cancelled ? 0 : 1));
}
static void both_ran(void *self) {
  struct state *s = self;
  if (s->notifier) tide_notifier_dispatch(s->notifier, 2);
  EXPECT(s->calls == 2);
}

INTERLEAVE_CASE(signal_cancel, 2, setup, ran_unless_cancelled, signal_first, cancel)
INTERLEAVE_CASE(destroy_cancel, 2, setup, ran_unless_cancelled, destroy_first, cancel)
INTERLEAVE_CASE(signal_destroy_cancel, 2, setup, ran_unless_cancelled, signal_and_destroy, cancel)
INTERLEAVE_CASE(chain, 1, setup_chain, both_ran, signal_first, try_to_signal_second)
INTERLEAVE_CASE(notifier, 1, setup_notified, both_ran, signal_first, try_to_signal_second, dispatch)
INTERLEAVE_CASE(dispatch_cancel, 1, setup_notified_one, dispatched_unless_cancelled,
                signal_and_destroy, dispatch_and_destroy, cancel)

TEST_MAIN(CASE(signal_cancel), CASE(destroy_cancel), CASE(signal_destroy_cancel), CASE(chain),
          CASE(notifier), CASE(dispatch_cancel))
