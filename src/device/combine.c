#include "device/combine.h"

#define PATIENCE_FIRST 2000 /* ns */
#define PATIENCE_MOST 8000  /* ns */
#define SILENT_MOST 6       /* then every 64th exchange is posted */

void tide_asker_init(struct tide_asker *asker, const struct tide_context *context,
                     struct tide_device *device, size_t most) {
  *asker =
      (struct tide_asker){.context = context, .sched = device->sched, .patience = PATIENCE_FIRST};
  asker->request.device = device;
  asker->request.most = (uint32_t)most;
}

/* Waits for the combiner. False if none came in time; the request is withdrawn then. */
static bool await_combiner(struct tide_asker *asker, uint64_t *out_waited) {
  const struct tide_platform *platform = asker->context->platform;
  struct tide_delegation *request = &asker->request;
  uint64_t start = platform->now(platform->self);
  for (;;) {
    for (int i = 0; i < 4; i++) {
      if (tide_load_acquire(&request->answered) != asker->heard) return true;
      tide_pause();
    }
    *out_waited = platform->now(platform->self) - start;
    bool over = *out_waited >= asker->patience || tide_load_relaxed(&asker->context->waiting);
    if (over && tide_delegation_take_back(asker->sched, request)) return false;
    if (over) platform->yield(platform->self); /* to the combiner, which has the request */
  }
}

/* Adapts the patience. Submits differ in length: an answer may take four times the average. */
static void adapt_patience(struct tide_asker *asker, bool answered, uint64_t waited) {
  if (!answered) {
    if (asker->silent < SILENT_MOST) asker->silent++;
    asker->skip = 1u << asker->silent;
    return;
  }
  uint64_t enough = 4 * waited + 400;
  if (enough > PATIENCE_MOST) enough = PATIENCE_MOST;
  asker->patience -= asker->patience / 8;
  asker->patience += enough / 8;
  asker->silent /= 2;
}

bool tide_ask(struct tide_asker *asker) {
  uint64_t waited = 0;
  if (asker->skip > 0) {
    asker->skip--;
    return false;
  }
  if (tide_load_relaxed(&asker->context->waiting) ||
      !tide_delegation_post(asker->sched, &asker->request))
    return false;
  bool answered = await_combiner(asker, &waited);
  asker->heard += answered;
  adapt_patience(asker, answered, waited);
  return answered;
}
