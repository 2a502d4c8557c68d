/* Check mode's view of host threads. A thread knows what it has waited for; its signals and frees
 * carry that. Events arrive under the locks of timelines and pools, so they are stored, and applied
 * before the scheduler's next change. */
#include "base/array.h"
#include "sched/check_state.h"

static bool is_wanted(const struct tide_event *event) {
  bool by_host = !event->axis || tide_axis_domain(event->axis) == TIDE_DOMAIN_HOST;
  if (event->kind == TIDE_EVENT_SIGNAL) return by_host;
  return event->kind == TIDE_EVENT_HOST_WAIT || event->kind >= TIDE_EVENT_MADE;
}

void tide_check_store_event(void *self, const struct tide_event *event) {
  struct tide_checker *checker = self;
  if (!is_wanted(event)) return;
  tide_lock_take(&checker->lock, tide_sched_platform(checker->sched));
  if (tide_array_reserve(checker->sched->context->allocator, &checker->events,
                         &checker->event_capacity, checker->event_count + 1,
                         sizeof *checker->events))
    checker->events[checker->event_count++] = (struct tide_check_event){
        event->object, event->value, event->thread, event->kind, event->detail != 0};
  else checker->events_lost = true;
  tide_lock_give(&checker->lock);
}

/* The thread has seen that the queue has finished this epoch. The past of an operation finishes
 * before it does. */
static void learn_end(struct tide_checker *checker, struct tide_shadow_clock *clock, size_t queue,
                      uint64_t epoch) {
  tide_check_import(checker, clock, checker->table.queues[queue].progress, epoch, false);
  if (tide_shadow_epoch(clock, queue) < epoch)
    tide_shadow_set(&checker->table, clock, queue, epoch);
}

/* The thread has seen that all uses are over. */
static void learn_uses(struct tide_checker *checker, struct tide_shadow_clock *clock,
                       const struct tide_shadow *buffer) {
  for (size_t i = 0; i < buffer->count; i++)
    learn_end(checker, clock, buffer->accesses[i].queue, buffer->accesses[i].epoch);
}

static void apply_to_buffer(struct tide_checker *checker, const struct tide_check_event *event,
                            struct tide_shadow_clock *clock) {
  struct tide_shadow *buffer = tide_shadow_find(&checker->table, TIDE_SHADOW_BUFFER,
                                                tide_check_buffer_key(event->object, event->value));
  if (!buffer) return;
  if (event->kind == TIDE_EVENT_BUFFER_READY) buffer->traced = false;
  else if (event->kind == TIDE_EVENT_BUFFER_IDLE) learn_uses(checker, clock, buffer);
  else tide_check_free(checker, buffer, clock, TIDE_SHADOW_HOST, event->pinned);
}

static void apply_event(struct tide_checker *checker, const struct tide_check_event *event,
                        struct tide_shadow_clock *clock) {
  struct tide_shadow_table *table = &checker->table;
  uint64_t key = (uint64_t)(uintptr_t)event->object;
  const struct tide_shadow *timeline;
  switch ((int)event->kind) {
    case TIDE_EVENT_SIGNAL:
      tide_check_record(checker, event->object, event->value, true, clock);
      break;
    case TIDE_EVENT_HOST_WAIT:
      timeline = tide_shadow_find(table, TIDE_SHADOW_TIMELINE, key);
      tide_check_import(checker, clock, event->object, event->value, timeline && timeline->singly);
      break;
    case TIDE_EVENT_MADE: /* perhaps at the address of an earlier timeline */
      tide_shadow_forget(table, TIDE_SHADOW_TIMELINE, key);
      break;
    default: apply_to_buffer(checker, event, clock);
  }
}

void tide_check_take_events(struct tide_checker *checker) {
  tide_lock_take(&checker->lock, tide_sched_platform(checker->sched));
  if (checker->events_lost) checker->table.out_of_memory = true;
  for (size_t i = 0; i < checker->event_count; i++) {
    const struct tide_check_event *event = &checker->events[i];
    struct tide_shadow *thread =
        tide_shadow_get(&checker->table, TIDE_SHADOW_THREAD, event->thread);
    if (!thread) break;
    apply_event(checker, event, &thread->clock);
  }
  checker->event_count = 0;
  tide_lock_give(&checker->lock);
}

void tide_check_flush(struct tide_sched *sched) {
  tide_check_take_events(sched->checker);
  tide_check_note_limits(sched->checker);
}

/* The queues of the device are gone, with all their operations. */
void tide_check_settled(struct tide_sched *sched, const struct tide_device *device) {
  struct tide_checker *checker = sched->checker;
  const struct tide_platform *platform = tide_sched_platform(sched);
  tide_check_take_events(checker);
  struct tide_shadow *thread =
      tide_shadow_get(&checker->table, TIDE_SHADOW_THREAD, platform->thread_id(platform->self));
  for (size_t i = 0; thread && i < checker->table.queue_count; i++) {
    const struct tide_shadow_queue *queue = &checker->table.queues[i];
    if (queue->device == device) learn_end(checker, &thread->clock, i, queue->newest);
  }
}
