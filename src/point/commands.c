/* Commands: what sched tells of what is queued and what was executed. */
#include "base/check.h"
#include "point/point.h"

enum tide_status tide_channel_insert(struct tide_channel *channel, struct tide_command *command,
                                     const struct tide_command_plan *plan,
                                     struct tide_fired *fired) {
  struct tide_wave wave;
  struct tide_command *tail = channel->tail;
  command->channel = channel;
  command->passable = plan->passable;
  tide_list_init(&command->promises);
  tide_gate_init(&command->gate, TIDE_GATE_COMMAND, NULL);
  for (size_t i = 0; i < plan->wait_count; i++)
    tide_gate_add_need(&command->gate, plan->needs[i], plan->waits[i].gate, plan->waits[i].status);
  command->before = (struct tide_need){.target = NULL};
  command->gate.defined = true;
  /* What is queued before it was looked at when it came, and waits for nothing new. */
  if (tide_command_closes_circle(channel, command, plan)) return TIDE_DEADLOCK;
  if (tail) tide_gate_add_need(&command->gate, &command->before, &tail->gate, TIDE_OK);
  tide_wave_begin(&wave, fired);
  tide_gate_define(&wave, &command->gate);
  tide_needs_counted(&command->gate);
  for (size_t i = 0; i < plan->promise_count; i++)
    tide_promise_queue(&wave, plan->promises[i], command);
  if (!plan->passable) channel->tail = command;
  tide_wave_finish(&wave);
  return TIDE_OK;
}

static void retire(struct tide_wave *wave, struct tide_promise *promise) {
  struct tide_future *future = promise->future;
  uint64_t value = promise->debt.turn.node.key;
  if (future->timeline->reached.value < value)
    tide_timeline_raise_locked(future->timeline, value, NULL, wave->fired);
  tide_future_pass(wave, future);
}

/* It leaves before those that it comes after: who came after it comes after those now. */
static void hand_on(struct tide_wave *wave, struct tide_command *command) {
  struct tide_link *link = command->gate.awaited.next, *next;
  struct tide_gate *before = command->before.target;
  bool early = false;
  for (struct tide_need *need = command->gate.needs; need; need = need->next)
    early = early || need->target;
  /* Only those that look where they are held up, and not at what is scheduled, have to hear. */
  struct tide_points *points = command->channel->points;
  if (early && points->looks) tide_gate_touch_above(wave, &command->gate, ++points->searches);
  for (; before && link != &command->gate.awaited; link = next) {
    struct tide_need *need = TIDE_CONTAINER(link, struct tide_need, link);
    next = link->next;
    if (need->owner->kind == TIDE_GATE_COMMAND) tide_gate_move_need(wave, need, before);
  }
}

void tide_command_done(struct tide_command *command, enum tide_status status,
                       struct tide_fired *fired) {
  struct tide_wave wave;
  struct tide_link *link;
  struct tide_channel *channel = command->channel;
  struct tide_gate *before = command->before.target;
  tide_wave_begin(&wave, fired);
  while ((link = tide_list_pop_front(&command->promises))) {
    struct tide_promise *promise = TIDE_CONTAINER(link, struct tide_promise, in_command);
    if (promise->debt.gate.ended) continue; /* a later one covered it */
    if (status == TIDE_OK) retire(&wave, promise);
    else tide_promise_fail(&wave, promise, status);
  }
  hand_on(&wave, command);
  if (channel->tail == command)
    channel->tail = before ? TIDE_CONTAINER(before, struct tide_command, gate) : NULL;
  tide_gate_drop_needs(&command->gate);
  if (!tide_gate_end_alone(&command->gate, fired)) tide_gate_end(&wave, &command->gate, TIDE_OK);
  tide_wave_finish(&wave);
}

void tide_command_entered(struct tide_command *command, struct tide_fired *fired) {
  struct tide_link *link = command->promises.next;
  for (; link != &command->promises; link = link->next)
    tide_gate_tell(&TIDE_CONTAINER(link, struct tide_promise, in_command)->debt.gate, fired);
}

void tide_command_fail(struct tide_command *command, enum tide_status status,
                       struct tide_fired *fired) {
  struct tide_wave wave;
  struct tide_link *link = command->promises.next;
  tide_wave_begin(&wave, fired);
  for (; link != &command->promises; link = link->next) {
    struct tide_promise *promise = TIDE_CONTAINER(link, struct tide_promise, in_command);
    if (!promise->debt.gate.ended) tide_promise_fail(&wave, promise, status);
  }
  tide_wave_finish(&wave);
}

void tide_gate_listen(struct tide_gate *gate, struct tide_listener *listener) {
  tide_list_push_back(&gate->listeners, &listener->link);
}

void tide_gate_unlisten(struct tide_listener *listener) { tide_list_remove(&listener->link); }
