/* The scheduler's doors: lock and unlock, and what happens in between. */
#include "sched/sched.h"

void tide_sched_enter(struct tide_sched *sched) {
  tide_lock_take(sched->lock, tide_sched_platform(sched));
}

void tide_sched_look(struct tide_queue *queue) {
  if (queue->look) return;
  queue->look = true;
  tide_list_push_back(&queue->sched->work, &queue->in_work);
}

/* A worklist instead of recursion: a chain of a million operations, each letting the
 * next one go, is a loop here. */
void tide_sched_settle(struct tide_sched *sched) {
  for (;;) {
    struct tide_node *node = tide_fired_pop(&sched->fired);
    if (node) {
      if (node->fire == tide_wait_fire) {
        tide_wait_fired(TIDE_CONTAINER(node, struct tide_op_wait, node));
      } else if (node->fire == tide_finish_fire) {
        tide_finish_fired(TIDE_CONTAINER(node, struct tide_op, finish));
      } else {
        tide_fired_move(&sched->host, node);
      }
      continue;
    }
    struct tide_link *link = tide_list_pop_front(&sched->work);
    if (!link) return;
    struct tide_queue *queue = TIDE_CONTAINER(link, struct tide_queue, in_work);
    queue->look = false;
    if (queue->retry_held) tide_queue_retry_held(queue);
    tide_queue_advance(queue);
    tide_queue_close_if_over(queue);
  }
}

static void free_queue(struct tide_queue *queue) {
  const struct tide_platform *platform = tide_sched_platform(queue->sched);
  uint32_t *count = &queue->device->queue_count;
  tide_queue_free_storage(queue);
  tide_fetch_sub(count, 1u); /* the last touch: from here on the device may be destroyed */
  platform->wake(platform->self, count, UINT32_MAX);
}

#define KICKS_AT_ONCE 16

/* Off the list under the lock: once it is gone another thread may put a device on the list again.
 */
static size_t take_kicks(struct tide_sched *sched, struct tide_device **out_devices) {
  size_t count = 0;
  while (sched->kicks && count < KICKS_AT_ONCE) {
    struct tide_device *device = sched->kicks;
    sched->kicks = device->next_kick;
    device->kick_due = false;
    tide_fetch_add(&device->calls, 1u);
    out_devices[count++] = device;
  }
  return count;
}

static void kick(const struct tide_platform *platform, struct tide_device *device) {
  uint32_t *calls = &device->calls;
  device->backend->kick(device->backend->self);
  /* The last touch: once `calls` is 0 the device may be gone. */
  if (tide_fetch_sub(calls, 1u) & TIDE_CALLS_AWAITED)
    platform->wake(platform->self, calls, UINT32_MAX);
}

static struct tide_link *take_all(struct tide_link *list) {
  struct tide_link *taken = NULL, *link;
  while ((link = tide_list_pop_front(list)) != NULL) {
    link->next = taken;
    taken = link;
  }
  return taken;
}

/* What is left to do once the lock is gone. From then on the scheduler may be destroyed by others,
 * except where a kick under way, a queue or a collective that is not freed yet keeps it. */
static void leave_and_call(struct tide_sched *sched) {
  const struct tide_platform *platform = tide_sched_platform(sched);
  struct tide_device *devices[KICKS_AT_ONCE];
  struct tide_fired host = sched->host;
  if (host.first) tide_fired_init(&sched->host);
  size_t kicks = take_kicks(sched, devices);
  bool again = sched->kicks != NULL;
  struct tide_link *gone = take_all(&sched->gone);
  struct tide_link *collectives = take_all(&sched->gone_collectives);
  bool check = sched->checker != NULL;
  if (check) tide_fetch_add(&sched->references, 1u);
  tide_lock_give(sched->lock);
  if (check) {
    tide_check_report(sched);
    tide_sched_unref(sched);
  }
  if (again) { /* more devices than at once: the first of them keeps the scheduler alive */
    tide_sched_enter(sched);
    tide_sched_leave(sched);
  }
  /* Backends before callbacks, which may take their time. */
  for (size_t i = 0; i < kicks; i++) kick(platform, devices[i]);
  tide_fired_run(&host);
  while (collectives) {
    struct tide_link *next = collectives->next;
    tide_collective_free((struct tide_collective *)(void *)collectives);
    collectives = next;
  }
  while (gone) {
    struct tide_queue *queue = TIDE_CONTAINER(gone, struct tide_queue, in_work);
    gone = gone->next;
    free_queue(queue);
  }
}

void tide_sched_leave(struct tide_sched *sched) {
  if (sched->fired.first || !tide_list_empty(&sched->work)) tide_sched_settle(sched);
  bool calls = sched->host.first || sched->kicks || sched->checker ||
               !tide_list_empty(&sched->gone) || !tide_list_empty(&sched->gone_collectives);
  if (calls) leave_and_call(sched);
  else tide_lock_give(sched->lock);
}

void tide_sched_emit_heard(struct tide_sched *sched, enum tide_event_kind kind,
                           const struct tide_op *op, struct tide_event *more) {
  const struct tide_sink *sink = sched->context->sink;
  const struct tide_platform *platform = tide_sched_platform(sched);
  struct tide_event event = more ? *more : (struct tide_event){0};
  event.kind = kind;
  event.time = sink->wants_time ? platform->now(platform->self) : 0;
  event.thread = platform->thread_id(platform->self);
  event.axis = op->queue->position.axis;
  event.epoch = op->work.epoch;
  event.sequence = op->sequence;
  event.operation = op;
  event.label = op->label;
  if (!event.object) {
    event.object = op->queue;
    event.object_label = op->queue->label;
  }
  if (kind != TIDE_EVENT_WAIT_CLASS) event.status = op->status;
  sink->event(sink->self, &event);
}
