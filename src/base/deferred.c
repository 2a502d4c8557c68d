#include "base/deferred.h"

void tide_deferred_init(struct tide_deferred *queue, const struct tide_platform *platform) {
  *queue = (struct tide_deferred){.platform = platform};
  queue->last = &queue->first;
}

static struct tide_deferred_call *take(struct tide_deferred *queue) {
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

void tide_deferred_add(struct tide_deferred *queue, struct tide_deferred_call *call) {
  call->next = NULL;
  tide_lock_take(&queue->lock, queue->platform);
  *queue->last = call;
  queue->last = &call->next;
  bool mine = !queue->running;
  queue->running = true;
  tide_lock_give(&queue->lock);
  if (!mine) return;
  while ((call = take(queue))) call->run(call);
}
