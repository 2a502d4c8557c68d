/* tests/unit/hand_rig.h: devices that run ahead, driven by hand. */
#ifndef TESTS_UNIT_HAND_RIG_H
#define TESTS_UNIT_HAND_RIG_H

#include "harness.h"

#include "tidemark/tidemark.h"

/* A backend without threads. `kicks` counts the calls. */
struct hand_device {
  struct tide_device *device;
  uint64_t kicks;
  struct hand_device *sister; /* gives one work out while this device closes, or starts */
};

static struct tide_context *context;

static inline struct tide_work *give(struct hand_device *d) {
  struct tide_work *work = NULL;
  return tide_device_exchange(d->device, NULL, 0, &work, 1, NULL) ? work : NULL;
}
static inline void commit(struct hand_device *d, struct tide_work *work) {
  CHECK(work != NULL);
  work->status = TIDE_OK;
  (void)tide_device_exchange(d->device, &work, 1, NULL, 0, NULL);
}
static inline struct tide_submission given(const struct tide_work *work) {
  struct tide_submission submission;
  CHECK(work != NULL);
  tide_work_submission(work, &submission);
  return submission;
}

static inline void kick(void *self) { ((struct hand_device *)self)->kicks++; }

static inline void give_meanwhile(struct hand_device *d) {
  struct tide_work *work = give(d);
  struct tide_submission submission = given(work);
  for (uint32_t i = 0; i < submission.wait_count; i++)
    CHECK(submission.waits[i].device == d->device && submission.waits[i].submission > 0);
  commit(d, work);
  tide_device_over(d->device, 0, tide_device_awaited(d->device, 0));
}
static inline void stop(void *self) {
  struct hand_device *d = self;
  if (d->sister) give_meanwhile(d->sister);
}
static inline enum tide_status start(void *self, struct tide_device *device) {
  struct hand_device *d = self;
  d->device = device;
  if (!d->sister) return TIDE_OK;
  give_meanwhile(d->sister);
  return TIDE_NOMEM;
}

static inline struct tide_backend backend_of(struct hand_device *d, uint32_t ahead,
                                             uint32_t hardware) {
  static const char group;
  return (struct tide_backend){.name = "hand",
                               .in_order = true,
                               .kick = kick,
                               .start = start,
                               .stop = stop,
                               .self = d,
                               .ahead = ahead,
                               .hardware_queues = hardware,
                               .group = &group};
}

static inline void open_device(struct hand_device *d, uint32_t ahead, uint32_t hardware) {
  *d = (struct hand_device){.kicks = 0};
  struct tide_backend backend = backend_of(d, ahead, hardware);
  CHECK_OK(tide_device_open(context, &backend, "hand", &d->device));
}
static inline struct tide_queue *open_queue(struct hand_device *d, uint32_t hardware,
                                            uint8_t priority, uint32_t operations) {
  struct tide_queue *queue;
  struct tide_queue_params params = {.struct_size = sizeof params,
                                     .operations = operations,
                                     .priority = priority,
                                     .hardware_queue = 1 + hardware};
  CHECK_OK(tide_queue_create(d->device, &params, &queue));
  return queue;
}
static inline struct tide_timeline *open_timeline(void) {
  struct tide_timeline *timeline;
  CHECK_OK(tide_timeline_create(context, NULL, &timeline));
  return timeline;
}

static inline enum tide_status never_called(void *arguments) {
  return arguments ? TIDE_OK : TIDE_FAILED;
}
__attribute__((unused)) static const struct tide_body_class plain = {.name = "plain",
                                                                     .host = never_called};
__attribute__((unused)) static const struct tide_body_class inside = {
    .name = "inside", .host = never_called, .waits_inside = true};

static inline uint64_t submit(struct tide_queue *queue, const struct tide_body_class *body,
                              struct tide_timeline *awaited, struct tide_timeline *signalled) {
  uint64_t sequence;
  struct tide_wait wait = {awaited, 1};
  struct tide_signal signal = {.timeline = signalled, .value = 1};
  struct tide_operation operation = {.body = body,
                                     .waits = &wait,
                                     .wait_count = awaited != NULL,
                                     .signals = &signal,
                                     .signal_count = signalled != NULL};
  CHECK_OK(tide_queue_submit(queue, &operation, &sequence, NULL));
  return sequence;
}

static inline void open_context(void) { CHECK_OK(tide_context_create(NULL, &context)); }

/* Devices whose works stay out are lost at the end. */
static inline void close_context(struct hand_device *const *devices, size_t count) {
  for (size_t i = 0; i < count; i++) {
    tide_device_lose(devices[i]->device, TIDE_LOST);
    tide_device_certify(devices[i]->device);
  }
  tide_context_destroy(context);
}
#define CLOSE(...)                                                                                 \
  close_context((struct hand_device *const[]){__VA_ARGS__},                                        \
                sizeof((struct hand_device *const[]){__VA_ARGS__}) / sizeof(void *))

#endif
