#include "causal/context_state.h"
#include "fake.h"

#include "harness.h"

#include "base/atomic.h"
#include "base/random.h"

#include <stdlib.h>

#define FAKE_DEPTH 64

struct fake {
  struct tide_device *device;
  struct tide_thread *thread;
  struct tide_random random;
  uint32_t depth;
  uint32_t kicks; /* atomic, waited on */
  uint32_t stop;
};

static void fake_kick(void *self) {
  struct fake *fake = self;
  const struct tide_platform *platform = tide_platform_linux();
  tide_fetch_add(&fake->kicks, 1u);
  platform->wake(platform->self, &fake->kicks, 1);
}

static struct tide_work *take_any(struct fake *fake, struct tide_work **works, size_t *count) {
  size_t at = tide_random_below(&fake->random, *count);
  struct tide_work *work = works[at];
  works[at] = works[--*count];
  return work;
}

static void fake_main(void *argument) {
  struct fake *fake = argument;
  const struct tide_platform *platform = tide_platform_linux();
  struct tide_work *waiting[FAKE_DEPTH], *ran[FAKE_DEPTH], *done[FAKE_DEPTH];
  size_t waiting_count = 0, ran_count = 0;
  for (;;) {
    uint32_t kicks = tide_load_acquire(&fake->kicks);
    size_t done_count = 0;
    while (ran_count && (waiting_count == 0 || tide_random_below(&fake->random, 3) == 0))
      done[done_count++] = take_any(fake, ran, &ran_count);
    size_t room = fake->depth - waiting_count - ran_count;
    size_t came =
        tide_device_exchange(fake->device, done, done_count, waiting + waiting_count, room, NULL);
    waiting_count += came;
    if (waiting_count) {
      struct tide_work *work = take_any(fake, waiting, &waiting_count);
      work->status = work->body->host(tide_work_arguments(work));
      ran[ran_count++] = work;
    } else if (!ran_count) {
      if (tide_load_acquire(&fake->stop)) return;
      platform->wait(platform->self, &fake->kicks, kicks, TIDE_FOREVER);
    }
  }
}

static enum tide_status start(void *self, struct tide_device *device) {
  struct fake *fake = self;
  const struct tide_platform *platform = tide_platform_linux();
  fake->device = device;
  return platform->spawn(platform->self, "fake", fake_main, fake, &fake->thread);
}

static void stop(void *self) {
  struct fake *fake = self;
  const struct tide_platform *platform = tide_platform_linux();
  tide_store_release(&fake->stop, 1u);
  fake_kick(fake);
  platform->join(platform->self, fake->thread);
  free(fake);
}

struct tide_device *fake_device(struct tide_context *context, bool in_order, uint32_t depth) {
  struct fake *fake = calloc(1, sizeof *fake);
  struct tide_device *device;
  CHECK(fake && depth >= 1 && depth <= FAKE_DEPTH);
  *fake = (struct fake){.depth = depth, .random = {42}};
  struct tide_backend backend = {.name = in_order ? "inorder" : "shuffled",
                                 .in_order = in_order,
                                 .domain = TIDE_DOMAIN_QUEUE,
                                 .kick = fake_kick,
                                 .start = start,
                                 .stop = stop,
                                 .self = fake};
  CHECK_OK(tide_device_open(context, &backend, backend.name, &device));
  return device;
}
