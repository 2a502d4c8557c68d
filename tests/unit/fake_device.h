/* tests/unit/fake_device.h: a scheduler whose backend is the test: nothing starts or ends but by
 * its hand, and what the scheduler says about it is remembered.
 *
 *   struct fake f;
 *   fake_open(&f, true, 16);
 *   CHECK_OK(SUBMIT(q, .label = "a", WAITS({t, 1}), SIGNALS({u, 3}, {v, 1})));
 *   fake_take(&f, "a");            it starts
 *   fake_give(&f, "a", TIDE_OK);   it is over */
#ifndef TESTS_UNIT_FAKE_DEVICE_H
#define TESTS_UNIT_FAKE_DEVICE_H

#include "harness.h"
#include "tidemark/tidemark.h"

#include <string.h>

/* {timeline, value} leaves out what is rarely said. */
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

struct fake_event {
  enum tide_event_kind kind;
  uint32_t detail;
  enum tide_status status;
  uint64_t axis, epoch, value, cause_axis, cause_epoch;
  bool tainted; /* its frontier */
  char label[24];
};

struct fake {
  struct tide_context *context;
  struct tide_sink sink;
  struct tide_device *device, *other; /* `other` completes in any order */
  struct tide_backend backend, other_backend;
  struct tide_work *out[64];
  uint32_t count, kicks, event_count;
  struct fake_event events[1024];
};

static inline void fake_event(void *self, const struct tide_event *event) {
  struct fake *f = self;
  if (f->event_count == 1024) return;
  struct fake_event *to = &f->events[f->event_count++];
  *to = (struct fake_event){event->kind,
                            event->detail,
                            event->status,
                            event->axis,
                            event->epoch,
                            event->value,
                            event->cause_axis,
                            event->cause_epoch,
                            event->frontier && event->frontier->tainted,
                            ""};
  if (event->label) strncpy(to->label, event->label, sizeof to->label - 1);
}

static inline enum tide_status fake_never(void *arguments) {
  (void)arguments;
  return TIDE_OK;
}
static const struct tide_body_class fake_body = {.name = "fake", .host = fake_never};

static inline void fake_kick(void *self) { ++*(uint32_t *)self; }

/* platform NULL: the system's. */
/* The context's parameters but for its sink. */
static inline void fake_open_with(struct fake *f, struct tide_context_params params,
                                  bool in_order) {
  memset(f, 0, sizeof *f);
  f->sink = (struct tide_sink){.event = fake_event, .self = f};
  params.sink = &f->sink;
  CHECK_OK(tide_context_create(&params, &f->context));
  f->backend = (struct tide_backend){
      .name = "fake", .in_order = in_order, .kick = fake_kick, .self = &f->kicks};
  f->other_backend = f->backend;
  f->other_backend.in_order = false;
  f->other_backend.domain = TIDE_DOMAIN_STORAGE;
  CHECK_OK(tide_device_open(f->context, &f->backend, "fake", &f->device));
  CHECK_OK(tide_device_open(f->context, &f->other_backend, "other", &f->other));
}

/* A device's backend, to change it under way. */
static inline struct tide_backend *fake_backend_of(struct tide_device *device) {
  return (struct tide_backend *)(uintptr_t)tide_device_backend(device);
}

static inline void fake_open_on(struct fake *f, const struct tide_platform *platform, bool in_order,
                                uint8_t capacity) {
  fake_open_with(f,
                 (struct tide_context_params){.struct_size = sizeof(struct tide_context_params),
                                              .platform = platform,
                                              .frontier_capacity = capacity},
                 in_order);
}

static inline void fake_open(struct fake *f, bool in_order, uint8_t capacity) {
  fake_open_on(f, NULL, in_order, capacity);
}

static inline struct tide_queue *fake_queue_on(struct tide_device *device, const char *label,
                                               uint32_t operations) {
  struct tide_queue *queue;
  struct tide_queue_params params = {
      .struct_size = sizeof params, .label = label, .operations = operations};
  CHECK_OK(tide_queue_create(device, &params, &queue));
  return queue;
}
static inline struct tide_queue *fake_queue(struct fake *f, const char *label) {
  return fake_queue_on(f->device, label, 0);
}

static inline struct tide_timeline *fake_timeline(struct fake *f, const char *label,
                                                  bool operations_only) {
  struct tide_timeline *timeline;
  struct tide_timeline_params params = {
      .struct_size = sizeof params, .label = label, .operations_only = operations_only};
  CHECK_OK(tide_timeline_create(f->context, &params, &timeline));
  return timeline;
}

#define WAITS(...)                                                                                 \
  .waits = (struct tide_wait[]){__VA_ARGS__},                                                      \
  .wait_count = sizeof((struct tide_wait[]){__VA_ARGS__}) / sizeof(struct tide_wait)
#define SIGNALS(...)                                                                               \
  .signals = (struct tide_signal[]){__VA_ARGS__},                                                  \
  .signal_count = sizeof((struct tide_signal[]){__VA_ARGS__}) / sizeof(struct tide_signal)
#define OPERATION(...)                                                                             \
  (struct tide_operation) { .body = &fake_body, __VA_ARGS__ }
#define SUBMIT(queue, ...) tide_queue_submit((queue), &OPERATION(__VA_ARGS__), NULL, NULL)

/* Takes all that may start. */
static inline void fake_take_all(struct fake *f) {
  f->count +=
      (uint32_t)tide_device_exchange(f->device, NULL, 0, f->out + f->count, 64 - f->count, NULL);
  f->count +=
      (uint32_t)tide_device_exchange(f->other, NULL, 0, f->out + f->count, 64 - f->count, NULL);
}

static inline struct tide_work *fake_out(struct fake *f, const char *label) {
  for (uint32_t i = 0; i < f->count; i++)
    if (strcmp(tide_work_label(f->out[i]), label) == 0) return f->out[i];
  return NULL;
}

/* Has it started? */
static inline bool fake_runs(struct fake *f, const char *label) {
  fake_take_all(f);
  return fake_out(f, label) != NULL;
}

static inline void fake_take(struct fake *f, const char *label) {
  if (!fake_runs(f, label)) FAIL("'%s' does not start", label);
}

static inline void fake_give(struct fake *f, const char *label, enum tide_status status) {
  struct tide_work *work = fake_out(f, label);
  if (!work) FAIL("'%s' is not running", label);
  for (uint32_t i = 0; i < f->count; i++)
    if (f->out[i] == work) f->out[i--] = f->out[--f->count];
  work->status = status;
  /* The device of its queue is the one whose work this is: ask both, the wrong one would assert. */
  bool other = tide_axis_domain(tide_work_axis(work)) == TIDE_DOMAIN_STORAGE;
  tide_device_exchange(other ? f->other : f->device, &work, 1, NULL, 0, NULL);
}

static inline void fake_run(struct fake *f, const char *label) {
  fake_take(f, label);
  fake_give(f, label, TIDE_OK);
}

/* Runs all there is to its end. */
static inline void fake_run_out(struct fake *f) {
  for (fake_take_all(f); f->count; fake_take_all(f))
    fake_give(f, tide_work_label(f->out[0]), TIDE_OK);
}

/* ---- what was said ------------------------------------------------------------------- */

static inline const struct fake_event *fake_find(struct fake *f, enum tide_event_kind kind,
                                                 const char *label, uint32_t skip) {
  for (uint32_t i = 0; i < f->event_count; i++)
    if (f->events[i].kind == kind && strcmp(f->events[i].label, label) == 0 && skip-- == 0)
      return &f->events[i];
  return NULL;
}

/* The class of an operation's wait number `index`. */
static inline enum tide_wait_class fake_class(struct fake *f, const char *label, uint32_t index) {
  const struct fake_event *event = fake_find(f, TIDE_EVENT_WAIT_CLASS, label, index);
  if (!event) FAIL("wait %u of '%s' was not classified", index, label);
  return (enum tide_wait_class)(event->detail & 0xff);
}
static inline enum tide_wait_reason fake_reason(struct fake *f, const char *label, uint32_t index) {
  const struct fake_event *event = fake_find(f, TIDE_EVENT_WAIT_CLASS, label, index);
  if (!event) FAIL("wait %u of '%s' was not classified", index, label);
  return (enum tide_wait_reason)(event->detail >> 8 & 0xff);
}
static inline bool fake_held(struct fake *f, const char *label) {
  return fake_find(f, TIDE_EVENT_HOLD, label, 0) && !fake_find(f, TIDE_EVENT_ENTER, label, 0);
}
static inline bool fake_ran(struct fake *f, const char *label) {
  return fake_find(f, TIDE_EVENT_START, label, 0) != NULL;
}
/* The status with which it was published, or left. */
static inline enum tide_status fake_status(struct fake *f, const char *label) {
  const struct fake_event *event = fake_find(f, TIDE_EVENT_PUBLISH, label, 0);
  if (!event) event = fake_find(f, TIDE_EVENT_FINISH, label, 0);
  if (!event) FAIL("'%s' is not over", label);
  return event->status;
}

/* All queues must have been destroyed, all timelines too. */
static inline void fake_close(struct fake *f) {
  CHECK_OK(tide_device_settle(f->device, TIDE_NOW));
  CHECK_OK(tide_device_settle(f->other, TIDE_NOW));
  tide_device_close(f->device);
  tide_device_close(f->other);
  tide_context_destroy(f->context);
}

#endif
