/* Idle carriers, and their wake. */
#include "base/check.h"
#include "wic/fiber_crew.h"

enum carrier_state { AWAKE, IDLE };

struct tide_carrier *tide_crew_take_idle(struct tide_crew *crew, uint64_t count) {
  if (!tide_load_relaxed(&crew->idle)) return NULL;
  tide_lock_take(&crew->idle_lock, crew->context->platform);
  struct tide_carrier *first = crew->idle, *last = NULL;
  for (struct tide_carrier *at = first; at && count > 0; count--) {
    last = at;
    at = at->next_idle;
  }
  if (last) {
    tide_store_relaxed(&crew->idle, last->next_idle);
    last->next_idle = NULL;
  }
  tide_lock_give(&crew->idle_lock);
  return first;
}

void tide_carriers_call(struct tide_carrier *first, const struct tide_platform *platform) {
  for (struct tide_carrier *carrier = first, *next; carrier; carrier = next) {
    uint32_t *state = &carrier->state;
    next = carrier->next_idle;
    tide_store_release(state, (uint32_t)AWAKE);
    platform->wake(platform->self, state, 1);
  }
}

static bool looks_any_ready(const struct tide_crew *crew) {
  bool ready = false;
  for (uint32_t i = 0; i < crew->carrier_count && !ready; i++)
    ready = tide_load_relaxed(&crew->carriers[i].length) > 0;
  return ready;
}

/* The carrier is not in the idle list meanwhile, so a thread that readies a fiber need not wake it.
 * It yields to other threads on this processor. */
bool tide_carrier_linger(const struct tide_carrier *carrier) {
  enum { LOOKS = 32 };
  const struct tide_crew *crew = carrier->crew;
  const struct tide_platform *platform = crew->context->platform;
  if (!crew->linger) return false;
  uint64_t end = platform->now(platform->self) + crew->linger;
  do {
    for (int i = 0; i < LOOKS; i++) {
      if (looks_any_ready(crew)) return true;
      tide_pause();
    }
    platform->yield(platform->self);
  } while (platform->now(platform->self) < end);
  return false;
}

/* True if a fiber is ready. Takes each queue's lock: see fiber_crew.h. */
static bool is_any_fiber_ready(struct tide_crew *crew) {
  bool ready = false;
  for (uint32_t i = 0; i < crew->carrier_count && !ready; i++) {
    struct tide_carrier *carrier = &crew->carriers[i];
    tide_lock_take(&carrier->lock, crew->context->platform);
    ready = carrier->head != NULL;
    tide_lock_give(&carrier->lock);
  }
  return ready;
}

/* Leaves the idle list; does nothing if another thread took the carrier off already. */
static void leave_idle_list(struct tide_carrier *carrier) {
  struct tide_crew *crew = carrier->crew;
  tide_lock_take(&crew->idle_lock, crew->context->platform);
  struct tide_carrier *before = NULL, *at = crew->idle;
  for (; at && at != carrier; at = at->next_idle) before = at;
  if (at && before) before->next_idle = carrier->next_idle;
  else if (at) tide_store_relaxed(&crew->idle, carrier->next_idle);
  if (at) tide_store_relaxed(&carrier->state, (uint32_t)AWAKE);
  tide_lock_give(&crew->idle_lock);
}

bool tide_carrier_rest(struct tide_carrier *carrier) {
  struct tide_crew *crew = carrier->crew;
  const struct tide_platform *platform = crew->context->platform;
  tide_lock_take(&crew->idle_lock, platform);
  bool stop = crew->stop;
  if (!stop) {
    tide_store_relaxed(&carrier->state, (uint32_t)IDLE);
    carrier->next_idle = crew->idle;
    tide_store_relaxed(&crew->idle, carrier);
  }
  tide_lock_give(&crew->idle_lock);
  if (stop) return false;
  if (is_any_fiber_ready(crew)) leave_idle_list(carrier);
  /* A thread that took the carrier off the list still has to touch it, so wait for that in any
   * case. */
  while (tide_load_acquire(&carrier->state) == IDLE)
    platform->wait(platform->self, &carrier->state, IDLE, TIDE_FOREVER);
  return true;
}
