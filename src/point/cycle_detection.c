/* Checks whether a command's waits would close a cycle. They do if one of them can only end after
 * something that comes later than the command: the promises that it retires, and the promises that
 * its channel still owes, unless the command is passable.
 *
 * Two searches can tell: down from the waits, and up from the later promises. Either may be long
 * where the other is short (a chain of thousands below, or a crowd above), and another client may
 * have made it long. So both get a few steps in turn, then twice as many, and the first search that
 * completes gives the answer. */
#include "base/check.h"
#include "point/point_state.h"

#define FIRST_STEPS 64

enum answer { NO, YES, UNKNOWN };

struct upwards {
  struct tide_dependency_node *todo;
  uint64_t mark, steps, most;
};

static bool owed_by(const struct tide_dependency_node *node, const struct tide_channel *channel) {
  if (node->kind != TIDE_DEPENDENCY_PROMISE || node->defined) return false;
  return TIDE_CONTAINER(node, const struct tide_promise, unmet.node)->future->channel == channel;
}

/* True if a cycle is possible: a wait is not firm, and some node, perhaps this command, depends on
 * a promise that the channel owes. */
static bool may_close(const struct tide_channel *channel, const struct tide_command *command) {
  for (const struct tide_dependency_edge *edge = command->node.edges; edge; edge = edge->next)
    if (edge->target && !edge->target->firm && (channel->awaited || owed_by(edge->target, channel)))
      return true;
  return false;
}

/* ---- down ---- */

/* Makes the promises depend on the command for the time of the search. Notifies nothing. */
static void give_promises(struct tide_command *command, const struct tide_command_plan *plan) {
  for (size_t i = 0; i < plan->promise_count; i++) {
    struct tide_promise *promise = plan->promises[i];
    tide_dependency_add_edge(&promise->unmet.node, &promise->edge, &command->node, TIDE_OK);
    promise->unmet.node.defined = true;
  }
}

static void take_promises(const struct tide_command_plan *plan) {
  for (size_t i = 0; i < plan->promise_count; i++) {
    plan->promises[i]->unmet.node.edges = NULL;
    plan->promises[i]->unmet.node.defined = false;
  }
}

static enum answer look_down(const struct tide_channel *channel, struct tide_command *command,
                             const struct tide_command_plan *plan, uint64_t most) {
  struct tide_look look = {.mark = ++channel->points->searches,
                           .channel = plan->passable ? NULL : channel,
                           .cycle = true,
                           .most = most};
  give_promises(command, plan);
  bool holds = tide_look_holds(&look, &command->node);
  take_promises(plan);
  return look.gave_up ? UNKNOWN : holds ? NO : YES;
}

/* ---- up ---- */

static void push_node(struct upwards *up, struct tide_dependency_node *node) {
  if (node->mark == up->mark || node->settled) return;
  node->mark = up->mark;
  node->above = up->todo;
  up->todo = node;
}

/* Pushes the channel's owed promises, since they come after all its commands. */
static void push_owed(struct upwards *up, struct tide_channel *channel) {
  if (channel->mark == up->mark) return;
  channel->mark = up->mark;
  for (struct tide_link *link = channel->futures.next; link != &channel->futures;
       link = link->next) {
    struct tide_future *future = TIDE_CONTAINER(link, struct tide_future, in_channel);
    const struct tide_tree *pending_values = &future->timeline->pending_values;
    bool after = !future->skipped && future->newest_queued < UINT64_MAX;
    struct tide_tree_node *tree_node =
        after ? tide_tree_at_least(pending_values, future->newest_queued + 1)
              : pending_values->first;
    for (up->steps++; tree_node && up->steps <= up->most;
         tree_node = tide_tree_next(tree_node), up->steps++) {
      struct tide_promise *promise =
          TIDE_CONTAINER(tide_pending_value_of(tree_node), struct tide_promise, unmet.pending);
      if (!promise->unmet.node.defined) push_node(up, &promise->unmet.node);
    }
  }
}

static enum answer search_upwards(struct upwards *up) {
  while (up->todo && up->steps <= up->most) {
    struct tide_dependency_node *node = up->todo;
    up->todo = node->above;
    if (node->wanted) return YES; /* the path reaches a wait */
    struct tide_command *command = TIDE_CONTAINER(node, struct tide_command, node);
    if (node->kind == TIDE_DEPENDENCY_COMMAND && !command->passable)
      push_owed(up, command->channel);
    struct tide_link *link = node->awaited.next;
    for (; link != &node->awaited && up->steps <= up->most; link = link->next, up->steps++)
      push_node(up, TIDE_CONTAINER(link, struct tide_dependency_edge, link)->owner);
  }
  return up->steps > up->most ? UNKNOWN : NO;
}

static void mark_waits(const struct tide_command *command, bool mark) {
  for (const struct tide_dependency_edge *edge = command->node.edges; edge; edge = edge->next)
    if (edge->target) edge->target->wanted = mark;
}

static enum answer look_up(struct tide_channel *channel, const struct tide_command *command,
                           const struct tide_command_plan *plan, uint64_t most) {
  struct upwards up = {.mark = ++channel->points->searches, .most = most};
  for (size_t i = 0; i < plan->promise_count; i++) push_node(&up, &plan->promises[i]->unmet.node);
  if (!plan->passable) push_owed(&up, channel);
  mark_waits(command, true);
  enum answer answer = search_upwards(&up);
  mark_waits(command, false);
  return answer;
}

bool tide_command_closes_cycle(struct tide_channel *channel, struct tide_command *command,
                               const struct tide_command_plan *plan) {
  if (!may_close(channel, command)) return false;
  for (uint64_t most = FIRST_STEPS;; most *= 2) {
    enum answer answer = look_up(channel, command, plan, most);
    if (answer == UNKNOWN) answer = look_down(channel, command, plan, most);
    if (answer != UNKNOWN) return answer == YES;
  }
}
