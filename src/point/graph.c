/* What follows when a gate is scheduled or ends. No recursion: lists of work. */
#include "point/graph.h"
#include "base/check.h"

void tide_gate_init(struct tide_gate *gate, enum tide_gate_kind kind,
                    void (*changed)(struct tide_gate *gate, struct tide_fired *fired)) {
  /* Not the links of lists that it is in none of, and what a search leaves behind. */
  gate->needs = NULL;
  gate->changed = changed;
  gate->unscheduled = gate->unfirm = gate->unsettled = gate->undecided = 0;
  gate->status = gate->error = 0;
  gate->mark = 0;
  gate->kind = (uint8_t)kind;
  gate->defined = gate->scheduled = gate->firm = gate->ended = gate->settled = false;
  gate->one_good = gate->one_scheduled = gate->on_ended = gate->on_changed = false;
  gate->wanted = false;
  tide_list_init(&gate->awaited);
  tide_list_init(&gate->listeners);
}

void tide_gate_touch(struct tide_wave *wave, struct tide_gate *gate) {
  if (gate->on_changed) return;
  gate->on_changed = true;
  gate->next_changed = NULL;
  *wave->last_changed = gate;
  wave->last_changed = &gate->next_changed;
}

static void push_ended(struct tide_wave *wave, struct tide_gate *gate) {
  tide_gate_touch(wave, gate);
  if (gate->on_ended) return;
  gate->on_ended = true;
  gate->next_ended = NULL;
  *wave->last_ended = gate;
  wave->last_ended = &gate->next_ended;
}

void tide_gate_schedule(struct tide_wave *wave, struct tide_gate *gate) {
  if (gate->scheduled) return;
  gate->scheduled = true;
  tide_gate_touch(wave, gate);
  gate->next_scheduled = NULL;
  *wave->last_scheduled = gate;
  wave->last_scheduled = &gate->next_scheduled;
}

static void make_firm(struct tide_wave *wave, struct tide_gate *gate) {
  if (gate->firm) return;
  gate->firm = true;
  gate->next_firm = NULL;
  *wave->last_firm = gate;
  wave->last_firm = &gate->next_firm;
}

/* There is nobody to tell of it. */
static bool is_alone(const struct tide_gate *gate) {
  return tide_list_empty(&gate->awaited) && tide_list_empty(&gate->listeners);
}

static bool is_group(const struct tide_gate *gate) {
  return gate->kind == TIDE_GATE_ALL || gate->kind == TIDE_GATE_ANY;
}

static void end(struct tide_wave *wave, struct tide_gate *gate, enum tide_status status) {
  if (gate->ended) return;
  gate->ended = true;
  gate->status = (uint32_t)status;
  push_ended(wave, gate);
}

static void settle(struct tide_wave *wave, struct tide_gate *gate) {
  if (gate->settled) return;
  gate->settled = true;
  push_ended(wave, gate);
  tide_gate_schedule(wave, gate);
  make_firm(wave, gate);
}

void tide_gate_end(struct tide_wave *wave, struct tide_gate *gate, enum tide_status status) {
  end(wave, gate, status);
  settle(wave, gate);
}

/* Has it come to an end by what its parts have? */
static void conclude(struct tide_wave *wave, struct tide_gate *gate) {
  if (!is_group(gate) || !gate->defined) return;
  if (gate->kind == TIDE_GATE_ALL) {
    if (gate->error) end(wave, gate, (enum tide_status)gate->error);
    else if (gate->undecided == 0) end(wave, gate, TIDE_OK);
  } else if (gate->one_good) {
    end(wave, gate, TIDE_OK);
  } else if (gate->undecided == 0) {
    end(wave, gate, (enum tide_status)gate->error);
  }
  if (!gate->ended) return;
  if (gate->unsettled == 0 || (gate->kind == TIDE_GATE_ANY && !gate->status)) settle(wave, gate);
}

void tide_gate_fail(struct tide_wave *wave, struct tide_gate *gate, enum tide_status status) {
  end(wave, gate, status);
  conclude(wave, gate);
}

/* Is it known to end by what its parts are? */
static void expect(struct tide_wave *wave, struct tide_gate *gate) {
  if (!gate->defined) return;
  bool one = gate->kind == TIDE_GATE_ANY && gate->one_scheduled;
  if (gate->unscheduled == 0 || one) tide_gate_schedule(wave, gate);
  if (gate->unfirm == 0) make_firm(wave, gate);
}

static void hear_end(struct tide_need *need, enum tide_status status) {
  struct tide_gate *gate = need->owner;
  need->heard_ended = true;
  need->status = (uint32_t)status;
  if (status != TIDE_OK && !gate->error) gate->error = (uint32_t)status;
  if (status == TIDE_OK) gate->one_good = true;
  /* ANY looks for the last that breaks, ALL for the last that is good. */
  if ((status != TIDE_OK) == (gate->kind == TIDE_GATE_ANY)) gate->undecided--;
}

static void hear_settled(struct tide_need *need) {
  need->heard_settled = true;
  need->owner->unsettled--;
  if (need->target) tide_list_remove(&need->link);
  need->target = NULL;
}

/* What is broken will not make an ANY come true. */
static void hear_scheduled(struct tide_need *need) {
  need->heard_scheduled = true;
  need->owner->unscheduled--;
  if (!need->status) need->owner->one_scheduled = true;
}

static void hear_firm(struct tide_need *need) {
  need->heard_firm = true;
  need->owner->unfirm--;
}

void tide_gate_add_need(struct tide_gate *gate, struct tide_need *need, struct tide_gate *target,
                        enum tide_status status) {
  if (target && target->settled) {
    status = (enum tide_status)target->status;
    target = NULL;
  }
  *need = (struct tide_need){.owner = gate, .target = target, .next = gate->needs};
  tide_list_init(&need->link);
  if (!target) need->status = (uint32_t)status;
  gate->needs = need;
}

static void count_need(struct tide_need *need) {
  struct tide_gate *gate = need->owner, *target = need->target;
  gate->unscheduled++;
  gate->unfirm++;
  gate->unsettled++;
  gate->undecided++;
  if (!target) {
    hear_end(need, (enum tide_status)need->status);
    hear_scheduled(need);
    hear_firm(need);
    hear_settled(need);
    return;
  }
  tide_list_push_back(&target->awaited, &need->link);
  if (target->ended) hear_end(need, (enum tide_status)target->status);
  if (target->scheduled) hear_scheduled(need);
  if (target->firm) hear_firm(need);
}

void tide_gate_define(struct tide_wave *wave, struct tide_gate *gate) {
  for (struct tide_need *need = gate->needs; need; need = need->next) count_need(need);
  gate->defined = true;
  if (!is_group(gate) && !(gate->unscheduled | gate->unfirm) && !gate->on_changed &&
      is_alone(gate)) {
    gate->scheduled = gate->firm = true;
    return;
  }
  tide_gate_touch(wave, gate);
  conclude(wave, gate);
}

static void tell_ended(struct tide_wave *wave, struct tide_gate *gate) {
  struct tide_link *link = gate->awaited.next, *next;
  for (; link != &gate->awaited; link = next) {
    struct tide_need *need = TIDE_CONTAINER(link, struct tide_need, link);
    next = link->next;
    if (!need->heard_ended) hear_end(need, (enum tide_status)gate->status);
    if (gate->settled) {
      /* It leaves the list here, so that it is scheduled is heard at once; what follows from
       * that, only when all ends are known. */
      if (!need->heard_scheduled) hear_scheduled(need);
      if (!need->heard_firm) hear_firm(need);
      hear_settled(need);
      tide_gate_touch(wave, need->owner);
    }
    conclude(wave, need->owner);
  }
}

static void tell_scheduled(struct tide_wave *wave, struct tide_gate *gate) {
  struct tide_link *link = gate->awaited.next;
  for (; link != &gate->awaited; link = link->next) {
    struct tide_need *need = TIDE_CONTAINER(link, struct tide_need, link);
    if (need->heard_scheduled) continue;
    hear_scheduled(need);
    expect(wave, need->owner);
  }
}

static void tell_firm(struct tide_wave *wave, struct tide_gate *gate) {
  struct tide_link *link = gate->awaited.next;
  for (; link != &gate->awaited; link = link->next) {
    struct tide_need *need = TIDE_CONTAINER(link, struct tide_need, link);
    if (need->heard_firm) continue;
    hear_firm(need);
    expect(wave, need->owner);
  }
}

/* Some may be taken off meanwhile, any of them: each is moved to another list before it hears. */
void tide_gate_tell_some(struct tide_gate *gate, struct tide_fired *fired) {
  struct tide_link told, *link;
  tide_list_init(&told);
  while ((link = tide_list_pop_front(&gate->listeners))) {
    if (!gate->settled) tide_list_push_back(&told, link);
    struct tide_listener *listener = TIDE_CONTAINER(link, struct tide_listener, link);
    listener->hear(listener, gate, fired);
  }
  while ((link = tide_list_pop_front(&told))) tide_list_push_back(&gate->listeners, link);
}

/* What it needs ends, and nothing follows but that it has one need less. */
static inline bool only_counts(const struct tide_gate *gate) {
  return gate->kind == TIDE_GATE_COMMAND && gate->scheduled && gate->firm && !gate->on_changed &&
         tide_list_empty(&gate->listeners);
}

bool tide_gate_end_alone(struct tide_gate *gate, struct tide_fired *fired) {
  struct tide_link *link = gate->awaited.next;
  if (gate->on_changed) return false;
  for (; link != &gate->awaited; link = link->next)
    if (!only_counts(TIDE_CONTAINER(link, struct tide_need, link)->owner)) return false;
  gate->ended = gate->settled = gate->scheduled = gate->firm = true;
  while ((link = gate->awaited.next) != &gate->awaited) {
    struct tide_need *need = TIDE_CONTAINER(link, struct tide_need, link);
    if (!need->heard_ended) hear_end(need, TIDE_OK);
    hear_settled(need);
  }
  tide_gate_tell(gate, fired);
  return true;
}

#define CLIMB_MOST 256 /* edges that one wave looks at for those above that only listen */

/* What a compound is made of has changed, perhaps far below: whoever asks who keeps its parts asks
 * again. */
static unsigned touch_groups_above(struct tide_wave *wave, const struct tide_gate *gate,
                                   unsigned left) {
  struct tide_link *link = gate->awaited.next;
  for (; left && link != &gate->awaited; link = link->next, left--) {
    struct tide_gate *owner = TIDE_CONTAINER(link, struct tide_need, link)->owner;
    if (is_group(owner)) tide_gate_touch(wave, owner);
  }
  return left;
}

void tide_wave_tell(struct tide_wave *wave) {
  struct tide_gate *gate, *next, *last = NULL;
  unsigned left = CLIMB_MOST;
  while ((gate = wave->ended)) {
    wave->ended = gate->next_ended;
    if (!wave->ended) wave->last_ended = &wave->ended;
    gate->on_ended = false;
    tell_ended(wave, gate);
  }
  for (gate = wave->changed; gate; gate = gate->next_changed) {
    expect(wave, gate);
    if (is_group(gate)) left = touch_groups_above(wave, gate, left);
  }
  while ((gate = wave->scheduled)) {
    wave->scheduled = gate->next_scheduled;
    if (!wave->scheduled) wave->last_scheduled = &wave->scheduled;
    tell_scheduled(wave, gate);
  }
  while ((gate = wave->firm)) {
    wave->firm = gate->next_firm;
    if (!wave->firm) wave->last_firm = &wave->firm;
    tell_firm(wave, gate);
  }
  /* Groups inside of a compound go with it: they are off the list before anything goes. */
  for (gate = wave->changed, wave->changed = NULL; gate; gate = next) {
    next = gate->next_changed;
    gate->on_changed = false;
    tide_gate_tell(gate, wave->fired);
    if (!gate->changed) continue;
    gate->next_changed = NULL;
    if (last) last->next_changed = gate;
    else wave->changed = gate;
    last = gate;
  }
  for (gate = wave->changed; gate; gate = next) {
    next = gate->next_changed;
    gate->changed(gate, wave->fired);
  }
}

void tide_gate_move_need(struct tide_wave *wave, struct tide_need *need, struct tide_gate *target) {
  tide_list_remove(&need->link);
  need->target = target;
  tide_list_push_back(&target->awaited, &need->link);
  if (target->scheduled && !need->heard_scheduled) hear_scheduled(need);
  if (target->firm && !need->heard_firm) hear_firm(need);
  expect(wave, need->owner);
}

void tide_gate_drop_needs(struct tide_gate *gate) {
  for (struct tide_need *need = gate->needs; need; need = need->next) {
    if (need->target) tide_list_remove(&need->link);
    need->target = NULL;
  }
  gate->needs = NULL;
}
