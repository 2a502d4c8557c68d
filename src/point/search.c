/* The two questions that a count cannot answer, on what a gate needs, downwards.
 *
 * All gates that matter are visited once, each after what it needs (but where that leads back);
 * then each is judged by those. Where something leads back, which only ANY allows, this goes on
 * until nothing changes: the least that follows, so a circle holds nothing up by itself. The way
 * back up lies in the gates. */
#include "base/check.h"
#include "base/plant.h"
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
  if (look->narrow && !TIDE_PLANTED(TIDE_PLANT_DISTRUST))
    return tide_client_trusts(look->narrow, domain);
  return true;
}

enum answer { NO, YES, DEPENDS };

/* By itself, without what it needs. */
static enum answer alone(const struct tide_look *look, const struct tide_gate *gate) {
  if (gate->settled) return YES;
  if (gate->scheduled && !look->narrow) return YES;
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

static bool judge(const struct tide_look *look, const struct tide_gate *gate) {
  bool all = true, any = false;
  enum answer itself = alone(look, gate);
  if (itself != DEPENDS) return itself == YES;
  if (is_owed(gate)) return holds(look, implied(look, gate));
  for (const struct tide_need *need = gate->needs; need; need = need->next) {
    bool one = !need->target || holds(look, need->target);
    all = all && one;
    bool broken = need->target ? need->target->ended && need->target->status : need->status != 0;
    any = any || (one && !broken);
  }
  return all || (gate->kind == TIDE_GATE_ANY && any);
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
    if (need->target && alone(look, need->target) != YES) return need->target;
  }
  return NULL;
}

static void enter(struct tide_look *look, struct tide_gate *gate, struct tide_gate *above) {
  gate->mark = look->mark;
  gate->above = above;
  gate->holds = gate->finished = gate->stepped = false;
  gate->cursor = alone(look, gate) == DEPENDS ? gate->needs : NULL;
}

bool tide_look_holds(struct tide_look *look, struct tide_gate *root) {
  struct tide_gate *first = NULL, **last = &first;
  bool leads_back = false, again;
  enter(look, root, NULL);
  for (struct tide_gate *gate = root; gate;) {
    struct tide_gate *below = alone(look, gate) == DEPENDS ? step(look, gate) : NULL;
    if (below && !visited(look, below)) {
      enter(look, below, gate);
      gate = below;
    } else if (below) {
      leads_back = leads_back || !below->finished;
    } else {
      gate->finished = true;
      gate->holds = judge(look, gate);
      gate->before = NULL;
      *last = gate;
      last = &gate->before;
      gate = gate->above;
    }
  }
  do {
    again = false;
    for (struct tide_gate *gate = leads_back ? first : NULL; gate; gate = gate->before) {
      if (gate->holds || !judge(look, gate)) continue;
      gate->holds = again = true;
    }
  } while (again);
  return root->holds;
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
