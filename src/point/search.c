/* The two questions that a count cannot answer, on what a gate needs, downwards.
 *
 * All gates that matter are visited once, each after what it needs (but where that leads back);
 * then each is judged by those. Where something leads back, which only ANY allows, this goes on
 * until nothing changes: the least that follows, so a circle holds nothing up by itself. The way
 * back up lies in the gates. */
#include "base/check.h"
#include "point/point.h"

static const struct tide_promise *promise_of(const struct tide_gate *gate) {
  return TIDE_CONTAINER(gate, const struct tide_promise, debt.gate);
}

/* What is promised and not queued will come after all that is in its channel by then. */
static struct tide_gate *implied(const struct tide_look *look, const struct tide_gate *gate) {
  const struct tide_channel *channel = promise_of(gate)->future->channel;
  if (!look->circle || !channel || channel == look->channel) return NULL;
  return channel->tail ? &channel->tail->gate : NULL;
}

static bool is_owed(const struct tide_gate *gate) {
  return gate->kind == TIDE_GATE_PROMISE && !gate->defined && !gate->ended;
}

static bool trusts(const struct tide_look *look, const struct tide_gate *gate) {
  uint32_t domain = TIDE_CONTAINER(gate, const struct tide_stand_in, compound.debt.gate)->domain;
  if (look->narrow) return tide_client_trusts(look->narrow, domain);
  return true;
}

enum answer { NO, YES, DEPENDS };

/* By itself, without what it needs. */
static enum answer alone(const struct tide_look *look, const struct tide_gate *gate) {
  if (gate->settled) return YES;
  if (look->circle ? gate->firm : gate->scheduled && !look->narrow) return YES;
  if (look->circle) {
    if (is_owed(gate)) {
      const struct tide_channel *channel = promise_of(gate)->future->channel;
      if (channel && channel == look->channel) return NO;
      return implied(look, gate) ? DEPENDS : YES;
    }
    return gate->defined && gate->kind != TIDE_GATE_STAND_IN ? DEPENDS : YES;
  }
  if (gate->kind == TIDE_GATE_PROMISE && look->assumed && look->assumed(look->self, gate))
    return YES;
  if (gate->kind == TIDE_GATE_STAND_IN) return gate->scheduled && trusts(look, gate) ? YES : NO;
  return gate->defined ? DEPENDS : NO;
}

static bool visited(const struct tide_look *look, const struct tide_gate *gate) {
  return gate->mark == look->mark;
}

static bool holds(const struct tide_look *look, const struct tide_gate *gate) {
  if (visited(look, gate)) return gate->holds;
  return alone(look, gate) == YES;
}

static bool is_broken(const struct tide_need *need) {
  return need->target ? need->target->ended && need->target->status : need->status != 0;
}

/* It has come true, or will when what is being defined is. */
static bool is_good(const struct tide_look *look, const struct tide_need *need) {
  if (!need->target) return !need->status;
  return need->target->ended ? !need->target->status
                             : visited(look, need->target) && need->target->good;
}

static void judge(const struct tide_look *look, struct tide_gate *gate) {
  enum answer itself = alone(look, gate);
  bool all = true, any = false, all_good = true, any_good = false;
  gate->holds = itself == YES;
  if (itself != DEPENDS) return;
  if (is_owed(gate)) {
    gate->holds = holds(look, implied(look, gate));
    return;
  }
  for (const struct tide_need *need = gate->needs; need; need = need->next) {
    bool one = !need->target || holds(look, need->target), good = is_good(look, need);
    all = all && one;
    any = any || (one && !is_broken(need));
    all_good = all_good && good;
    any_good = any_good || good;
  }
  /* A circle through an ANY is one, too, unless it has come true: when its other parts break,
   * nobody would be told. */
  gate->good = gate->kind == TIDE_GATE_ANY ? any_good : gate->kind == TIDE_GATE_ALL && all_good;
  gate->holds = all || (gate->kind == TIDE_GATE_ANY && (look->circle ? any_good : any));
}

/* The next gate below this one that must be looked at; NULL: no more. */
static struct tide_gate *step(struct tide_look *look, struct tide_gate *gate) {
  if (is_owed(gate)) {
    bool first = !gate->stepped;
    gate->stepped = true;
    return first ? implied(look, gate) : NULL;
  }
  while (gate->cursor) {
    struct tide_need *need = gate->cursor;
    gate->cursor = need->next;
    look->steps++;
    if (need->target && alone(look, need->target) != YES) return need->target;
  }
  return NULL;
}

static void enter(struct tide_look *look, struct tide_gate *gate, struct tide_gate *above) {
  gate->mark = look->mark;
  gate->above = above;
  look->steps++;
  gate->holds = gate->good = gate->stepped = false;
  gate->cursor = alone(look, gate) == DEPENDS ? gate->needs : NULL;
}

bool tide_look_holds(struct tide_look *look, struct tide_gate *root) {
  enter(look, root, NULL);
  for (struct tide_gate *gate = root; gate;) {
    struct tide_gate *below = alone(look, gate) == DEPENDS ? step(look, gate) : NULL;
    if (look->most && look->steps > look->most) {
      look->gave_up = true;
      return false;
    }
    if (below && !visited(look, below)) {
      enter(look, below, gate);
      gate = below;
    } else if (!below) {
      judge(look, gate);
      gate = gate->above;
    }
  }
  return root->holds;
}

/* Up from a gate: who depends on it, and on those, hears of a change. */
void tide_gate_touch_above(struct tide_wave *wave, struct tide_gate *gate, uint64_t mark) {
  struct tide_gate *todo = gate;
  gate->mark = mark;
  gate->above = NULL;
  while ((gate = todo)) {
    todo = gate->above;
    tide_gate_touch(wave, gate);
    for (struct tide_link *link = gate->awaited.next; link != &gate->awaited; link = link->next) {
      struct tide_gate *owner = TIDE_CONTAINER(link, struct tide_need, link)->owner;
      if (owner->mark == mark) continue;
      owner->mark = mark;
      owner->above = todo;
      todo = owner;
    }
  }
}

/* Goes where it is still held up: at ANY everywhere, else at the first place. `above` leads on: the
 * gates that are still to be looked at. */
bool tide_look_why_not(struct tide_look *look, struct tide_gate *root, uint64_t mark,
                       bool (*each)(void *self, struct tide_gate *leaf), void *self) {
  struct tide_gate *todo = root;
  root->mark = mark;
  root->above = NULL;
  while (todo) {
    struct tide_gate *gate = todo;
    todo = gate->above;
    if (alone(look, gate) != DEPENDS) {
      if (!each(self, gate)) return false;
      continue;
    }
    for (struct tide_need *need = gate->needs; need; need = need->next) {
      struct tide_gate *target = need->target;
      if (!target) continue;
      bool fine = target->mark == mark ? false : holds(look, target);
      if (fine) continue;
      if (target->mark != mark) {
        target->mark = mark;
        target->above = todo;
        todo = target;
      }
      if (gate->kind != TIDE_GATE_ANY) break;
    }
  }
  return true;
}
