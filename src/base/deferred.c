#include "base/deferred.h"

void tide_deferred_init(struct tide_deferred *queue, const struct tide_platform *platform) {
  *queue = (struct tide_deferred){.platform = platform};
  queue->last = &queue->first;
}

static struct tide_deferred_call *take_call(struct tide_deferred *queue) {
  tide_lock_take(&queue->lock, queue->platform);
  struct tide_deferred_call *call = queue->first;
  if (call) {
    queue->first = call->next;
    if (!queue->first) queue->last = &queue->first;
  } else {
    queue->running = false;
  }
  tide_lock_give(&queue->lock);
  return call;
}

void tide_deferred_drain(struct tide_deferred *queue) {
  for (struct tide_deferred_call *call; (call = take_call(queue));) call->run(call);
}

void tide_deferred_add(struct tide_deferred *queue, struct tide_deferred_call *call) {
  tide_lock_take(&queue->lock, queue->platform);
  bool now = tide_deferred_enter(queue, call);
  tide_lock_give(&queue->lock);
  if (!now) return;
  call->run(call);
  tide_deferred_drain(queue);
}
