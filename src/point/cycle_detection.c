/* Would a command's waits close a circle? They do when they can only end after something that comes
 * later: what this command retires, and what its channel still owes, unless that may pass it.
 *
 * Two searches can tell: down from the waits, and up from what comes later. Either may be long
 * where the other is short (a chain of thousands below, or a crowd above), and whoever made it long
 * is perhaps not the one who asks. So both get a few steps in turn, then more, and the first one
 * that comes to its end has the answer. */
#include "base/check.h"
#include "point/point.h"

#define FIRST_STEPS 64

enum answer { NO, YES, UNKNOWN };

struct upwards {
  struct tide_gate *todo;
  uint64_t mark, steps, most;
};

static bool owed_by(const struct tide_gate *gate, const struct tide_channel *channel) {
  if (gate->kind != TIDE_GATE_PROMISE || gate->defined) return false;
  return TIDE_CONTAINER(gate, const struct tide_promise, debt.gate)->future->channel == channel;
}

/* Nobody can wait for what comes later unless somebody depends on what the channel owes. */
static bool may_close(const struct tide_channel *channel, const struct tide_command *command) {
  for (const struct tide_need *need = command->gate.needs; need; need = need->next)
    if (need->target && !need->target->firm && (channel->awaited || owed_by(need->target, channel)))
      return true;
  return false;
}

/* ---- down ---- */

/* Tentatively: nobody is told. */
static void give_promises(struct tide_command *command, const struct tide_command_plan *plan) {
  for (size_t i = 0; i < plan->promise_count; i++) {
    struct tide_promise *promise = plan->promises[i];
    tide_gate_add_need(&promise->debt.gate, &promise->need, &command->gate, TIDE_OK);
    promise->debt.gate.defined = true;
  }
}

static void take_promises(const struct tide_command_plan *plan) {
  for (size_t i = 0; i < plan->promise_count; i++) {
    plan->promises[i]->debt.gate.needs = NULL;
    plan->promises[i]->debt.gate.defined = false;
  }
}

static enum answer look_down(const struct tide_channel *channel, struct tide_command *command,
                             const struct tide_command_plan *plan, uint64_t most) {
  struct tide_look look = {.mark = ++channel->points->searches,
                           .channel = plan->passable ? NULL : channel,
                           .circle = true,
                           .most = most};
  give_promises(command, plan);
  bool holds = tide_look_holds(&look, &command->gate);
  take_promises(plan);
  return look.gave_up ? UNKNOWN : holds ? NO : YES;
}

/* ---- up ---- */

static void push(struct upwards *up, struct tide_gate *gate) {
  if (gate->mark == up->mark || gate->settled) return;
  gate->mark = up->mark;
  gate->above = up->todo;
  up->todo = gate;
}

/* All that a channel owes comes after all that is in it. */
static void push_owed(struct upwards *up, struct tide_channel *channel) {
  if (channel->mark == up->mark) return;
  channel->mark = up->mark;
  for (struct tide_link *link = channel->futures.next; link != &channel->futures;
       link = link->next) {
    struct tide_future *future = TIDE_CONTAINER(link, struct tide_future, in_channel);
    const struct tide_tree *turns = &future->timeline->turns;
    bool after = !future->skipped && future->newest_queued < UINT64_MAX;
    struct tide_tree_node *node =
        after ? tide_tree_at_least(turns, future->newest_queued + 1) : turns->first;
    for (up->steps++; node && up->steps <= up->most; node = tide_tree_next(node), up->steps++) {
      struct tide_promise *promise =
          TIDE_CONTAINER(tide_turn_of(node), struct tide_promise, debt.turn);
      if (!promise->debt.gate.defined) push(up, &promise->debt.gate);
    }
  }
}

static enum answer climb(struct upwards *up) {
  while (up->todo && up->steps <= up->most) {
    struct tide_gate *gate = up->todo;
    up->todo = gate->above;
    if (gate->wanted) return YES; /* one of the waits */
    struct tide_command *command = TIDE_CONTAINER(gate, struct tide_command, gate);
    if (gate->kind == TIDE_GATE_COMMAND && !command->passable) push_owed(up, command->channel);
    struct tide_link *link = gate->awaited.next;
    for (; link != &gate->awaited && up->steps <= up->most; link = link->next, up->steps++)
      push(up, TIDE_CONTAINER(link, struct tide_need, link)->owner);
  }
  return up->steps > up->most ? UNKNOWN : NO;
}

static void mark_waits(const struct tide_command *command, bool mark) {
  for (const struct tide_need *need = command->gate.needs; need; need = need->next)
    if (need->target) need->target->wanted = mark;
}

static enum answer look_up(struct tide_channel *channel, const struct tide_command *command,
                           const struct tide_command_plan *plan, uint64_t most) {
  struct upwards up = {.mark = ++channel->points->searches, .most = most};
  for (size_t i = 0; i < plan->promise_count; i++) push(&up, &plan->promises[i]->debt.gate);
  if (!plan->passable) push_owed(&up, channel);
  mark_waits(command, true);
  enum answer answer = climb(&up);
  mark_waits(command, false);
  return answer;
}

bool tide_command_closes_circle(struct tide_channel *channel, struct tide_command *command,
                                const struct tide_command_plan *plan) {
  if (!may_close(channel, command)) return false;
  for (uint64_t most = FIRST_STEPS;; most *= 2) {
    enum answer answer = look_up(channel, command, plan, most);
    if (answer == UNKNOWN) answer = look_down(channel, command, plan, most);
    if (answer != UNKNOWN) return answer == YES;
  }
}
