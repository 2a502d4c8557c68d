/* tests/interleave/queue_setup.h: a scheduler, a device whose backend is a thread of the case, and
 * queues. */
#ifndef INTERLEAVE_QUEUE_SETUP_H
#define INTERLEAVE_QUEUE_SETUP_H

#include "causal/context_state.h"
#include "interleave.h"

#include "base/atomic.h"
#include "harness.h"
#include "tidemark/tidemark.h"

struct state {
  struct tide_context *context;
  struct tide_device *device;
  struct tide_backend backend;
  struct tide_queue *queue, *other;
  struct tide_timeline *host, *lines[2];
  uint32_t kicks; /* atomic, slept on */
  unsigned to_do;
  unsigned bodies; /* plain: operations that follow each other write it without a lock */
  uint64_t sequence;
  bool cancelled;
};

static inline void kick(void *self) {
  struct state *s = self;
  const struct tide_platform *platform = s->context->platform;
  tide_fetch_add(&s->kicks, 1u);
  platform->wake(platform->self, &s->kicks, 1);
}
static inline enum tide_status body(void *arguments) {
  struct state *s = *(struct state **)arguments;
  s->bodies++;
  return TIDE_OK;
}
static const struct tide_body_class count = {.name = "count", .host = body};

static const struct tide_queue_params small = {
    .struct_size = sizeof small, .operations = 2, .waits = 4, .signals = 4, .buffers = 2};

static inline void setup_sched(struct state *s, bool check) {
  struct tide_context_params params = {
      .struct_size = sizeof params, .frontier_capacity = 4, .check = check};
  EXPECT_OK(tide_context_create(&params, &s->context));
}
static inline void setup(void *self) {
  struct state *s = self;
  setup_sched(s, false);
  s->backend = (struct tide_backend){.name = "case", .in_order = true, .kick = kick, .self = s};
  EXPECT_OK(tide_device_open(s->context, &s->backend, "device", &s->device));
  EXPECT_OK(tide_queue_create(s->device, &small, &s->queue));
  EXPECT_OK(tide_timeline_create(s->context, NULL, &s->host));
  for (int i = 0; i < 2; i++) EXPECT_OK(tide_timeline_create(s->context, NULL, &s->lines[i]));
  s->to_do = 1;
}
static inline void setup_two(void *self) {
  struct state *s = self;
  setup(self);
  EXPECT_OK(tide_queue_create(s->device, &small, &s->other));
  s->to_do = 2;
}

static inline void submit(struct state *s, struct tide_queue *queue, struct tide_timeline *wait,
                          struct tide_timeline *signal) {
  struct tide_wait awaited = {wait, 1};
  struct tide_signal signalled = {signal, 1, false};
  struct tide_operation operation = {.label = "op",
                                     .waits = &awaited,
                                     .wait_count = wait ? 1 : 0,
                                     .signals = &signalled,
                                     .signal_count = signal ? 1 : 0,
                                     .body = &count,
                                     .arguments = &s,
                                     .arguments_size = sizeof s};
  EXPECT_OK(tide_queue_submit(queue, &operation, &s->sequence, NULL));
}

/* The backend: until `to_do` bodies have run. */
static inline void work(void *self) {
  struct state *s = self;
  const struct tide_platform *platform = s->context->platform;
  struct tide_work *work = NULL;
  for (unsigned left = s->to_do; left > 0 || work;) {
    uint32_t kicks = tide_load_acquire(&s->kicks);
    size_t got = tide_device_exchange(s->device, &work, work ? 1 : 0, &work, left ? 1 : 0, NULL);
    if (!got) work = NULL;
    if (work) {
      work->status = work->body->host(tide_work_arguments(work));
      left--;
    } else if (left) {
      platform->wait(platform->self, &s->kicks, kicks, TIDE_FOREVER);
    }
  }
}

#endif
