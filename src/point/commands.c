/* Commands: sched reports when an operation is queued, has entered, fails, or is done. */
#include "base/check.h"
#include "point/point_state.h"

enum tide_status tide_channel_insert(struct tide_channel *channel, struct tide_command *command,
                                     const struct tide_command_plan *plan,
                                     struct tide_fired *fired) {
  struct tide_propagation propagation;
  struct tide_command *tail = channel->tail;
  command->channel = channel;
  command->passable = plan->passable;
  tide_list_init(&command->promises);
  tide_dependency_init(&command->node, TIDE_DEPENDENCY_COMMAND, NULL);
  for (size_t i = 0; i < plan->wait_count; i++)
    tide_dependency_add_edge(&command->node, plan->edges[i], plan->waits[i].node,
                             plan->waits[i].status);
  command->before = (struct tide_dependency_edge){.target = NULL};
  command->node.defined = true;
  /* The check leaves out the channel's tail: its waits were checked when it was inserted, and it
   * has no new ones. */
  if (tide_command_closes_cycle(channel, command, plan)) return TIDE_DEADLOCK;
  if (tail) tide_dependency_add_edge(&command->node, &command->before, &tail->node, TIDE_OK);
  tide_propagation_begin(&propagation, fired);
  tide_dependency_define(&propagation, &command->node);
  tide_needs_counted(&command->node);
  for (size_t i = 0; i < plan->promise_count; i++)
    tide_promise_queue(&propagation, plan->promises[i], command);
  if (!plan->passable) channel->tail = command;
  tide_propagation_finish(&propagation);
  return TIDE_OK;
}

static void retire_promise(struct tide_propagation *propagation, struct tide_promise *promise) {
  struct tide_future *future = promise->future;
  uint64_t value = promise->unmet.pending.node.key;
  if (future->timeline->reached.value < value)
    tide_timeline_raise_locked(future->timeline, value, NULL, propagation->fired);
  tide_future_pass(propagation, future);
}

/* Moves the edges of the command's successors to its predecessor. The predecessor is still pending
 * only if the command is cancelled early. */
static void hand_on(struct tide_propagation *propagation, struct tide_command *command) {
  struct tide_link *link = command->node.awaited.next, *next;
  struct tide_dependency_node *before = command->before.target;
  bool early = false;
  for (struct tide_dependency_edge *edge = command->node.edges; edge; edge = edge->next)
    early = early || edge->target;
  /* Only listeners placed by a search need this: its result may change although no node's state
   * does. */
  struct tide_points *points = command->channel->points;
  if (early && points->looks)
    tide_dependency_touch_above(propagation, &command->node, ++points->searches);
  for (; before && link != &command->node.awaited; link = next) {
    struct tide_dependency_edge *edge = TIDE_CONTAINER(link, struct tide_dependency_edge, link);
    next = link->next;
    if (edge->owner->kind == TIDE_DEPENDENCY_COMMAND)
      tide_dependency_move_edge(propagation, edge, before);
  }
}

void tide_command_done(struct tide_command *command, enum tide_status status,
                       struct tide_fired *fired) {
  struct tide_propagation propagation;
  struct tide_link *link;
  struct tide_channel *channel = command->channel;
  struct tide_dependency_node *before = command->before.target;
  tide_propagation_begin(&propagation, fired);
  while ((link = tide_list_pop_front(&command->promises))) {
    struct tide_promise *promise = TIDE_CONTAINER(link, struct tide_promise, in_command);
    if (promise->unmet.node.ended) continue; /* covered by a later promise */
    if (status == TIDE_OK) retire_promise(&propagation, promise);
    else tide_promise_fail(&propagation, promise, status);
  }
  hand_on(&propagation, command);
  if (channel->tail == command)
    channel->tail = before ? TIDE_CONTAINER(before, struct tide_command, node) : NULL;
  tide_dependency_drop_edges(&command->node);
  if (!tide_dependency_end_alone(&command->node, fired))
    tide_dependency_end(&propagation, &command->node, TIDE_OK);
  tide_propagation_finish(&propagation);
}

void tide_command_entered(struct tide_command *command, struct tide_fired *fired) {
  struct tide_link *link = command->promises.next;
  for (; link != &command->promises; link = link->next)
    tide_dependency_notify(&TIDE_CONTAINER(link, struct tide_promise, in_command)->unmet.node,
                           fired);
}

void tide_command_fail(struct tide_command *command, enum tide_status status,
                       struct tide_fired *fired) {
  struct tide_propagation propagation;
  struct tide_link *link = command->promises.next;
  tide_propagation_begin(&propagation, fired);
  for (; link != &command->promises; link = link->next) {
    struct tide_promise *promise = TIDE_CONTAINER(link, struct tide_promise, in_command);
    if (!promise->unmet.node.ended) tide_promise_fail(&propagation, promise, status);
  }
  tide_propagation_finish(&propagation);
}

void tide_dependency_listen(struct tide_dependency_node *node, struct tide_listener *listener) {
  tide_list_push_back(&node->listeners, &listener->link);
}

void tide_dependency_unlisten(struct tide_listener *listener) { tide_list_remove(&listener->link); }
