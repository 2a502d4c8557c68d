/* Propagation of scheduled and ended nodes, by work lists instead of recursion. */
#include "point/graph.h"
#include "base/check.h"

void tide_dependency_init(struct tide_dependency_node *node, enum tide_dependency_kind kind,
                          void (*changed)(struct tide_dependency_node *node,
                                          struct tide_fired *fired)) {
  /* Links of lists that hold the node later, and scratch of search.c, need no initial value. */
  node->edges = NULL;
  node->changed = changed;
  node->unscheduled = node->unfirm = node->unsettled = node->undecided = 0;
  node->status = node->error = 0;
  node->mark = 0;
  node->kind = (uint8_t)kind;
  node->defined = node->scheduled = node->firm = node->ended = node->settled = false;
  node->one_good = node->one_scheduled = node->on_ended = node->on_changed = false;
  node->wanted = false;
  tide_list_init(&node->awaited);
  tide_list_init(&node->listeners);
}

void tide_dependency_touch(struct tide_propagation *propagation,
                           struct tide_dependency_node *node) {
  if (node->on_changed) return;
  node->on_changed = true;
  node->next_changed = NULL;
  *propagation->last_changed = node;
  propagation->last_changed = &node->next_changed;
}

static void push_ended(struct tide_propagation *propagation, struct tide_dependency_node *node) {
  tide_dependency_touch(propagation, node);
  if (node->on_ended) return;
  node->on_ended = true;
  node->next_ended = NULL;
  *propagation->last_ended = node;
  propagation->last_ended = &node->next_ended;
}

void tide_dependency_schedule(struct tide_propagation *propagation,
                              struct tide_dependency_node *node) {
  if (node->scheduled) return;
  node->scheduled = true;
  tide_dependency_touch(propagation, node);
  node->next_scheduled = NULL;
  *propagation->last_scheduled = node;
  propagation->last_scheduled = &node->next_scheduled;
}

static void make_firm(struct tide_propagation *propagation, struct tide_dependency_node *node) {
  if (node->firm) return;
  node->firm = true;
  node->next_firm = NULL;
  *propagation->last_firm = node;
  propagation->last_firm = &node->next_firm;
}

/* True if no edge and no listener waits for the node. */
static bool is_alone(const struct tide_dependency_node *node) {
  return tide_list_empty(&node->awaited) && tide_list_empty(&node->listeners);
}

static bool is_group(const struct tide_dependency_node *node) {
  return node->kind == TIDE_DEPENDENCY_ALL || node->kind == TIDE_DEPENDENCY_ANY;
}

static void end_node(struct tide_propagation *propagation, struct tide_dependency_node *node,
                     enum tide_status status) {
  if (node->ended) return;
  node->ended = true;
  node->status = (uint32_t)status;
  push_ended(propagation, node);
}

static void settle_node(struct tide_propagation *propagation, struct tide_dependency_node *node) {
  if (node->settled) return;
  node->settled = true;
  push_ended(propagation, node);
  tide_dependency_schedule(propagation, node);
  make_firm(propagation, node);
}

void tide_dependency_end(struct tide_propagation *propagation, struct tide_dependency_node *node,
                         enum tide_status status) {
  end_node(propagation, node, status);
  settle_node(propagation, node);
}

/* Ends, and perhaps settles, a group if its parts decide that. */
static void conclude_group(struct tide_propagation *propagation,
                           struct tide_dependency_node *node) {
  if (!is_group(node) || !node->defined) return;
  if (node->kind == TIDE_DEPENDENCY_ALL) {
    if (node->error) end_node(propagation, node, (enum tide_status)node->error);
    else if (node->undecided == 0) end_node(propagation, node, TIDE_OK);
  } else if (node->one_good) {
    end_node(propagation, node, TIDE_OK);
  } else if (node->undecided == 0) {
    end_node(propagation, node, (enum tide_status)node->error);
  }
  if (!node->ended) return;
  if (node->unsettled == 0 || (node->kind == TIDE_DEPENDENCY_ANY && !node->status))
    settle_node(propagation, node);
}

void tide_dependency_fail(struct tide_propagation *propagation, struct tide_dependency_node *node,
                          enum tide_status status) {
  end_node(propagation, node, status);
  conclude_group(propagation, node);
}

/* Marks the node as scheduled or firm if its counts say so. */
static void schedule_if_ready(struct tide_propagation *propagation,
                              struct tide_dependency_node *node) {
  if (!node->defined) return;
  bool one = node->kind == TIDE_DEPENDENCY_ANY && node->one_scheduled;
  if (node->unscheduled == 0 || one) tide_dependency_schedule(propagation, node);
  if (node->unfirm == 0) make_firm(propagation, node);
}

static void note_end(struct tide_dependency_edge *edge, enum tide_status status) {
  struct tide_dependency_node *node = edge->owner;
  edge->notified_ended = true;
  edge->status = (uint32_t)status;
  if (status != TIDE_OK && !node->error) node->error = (uint32_t)status;
  if (status == TIDE_OK) node->one_good = true;
  /* ANY waits for its last part to break, ALL for its last part to be good. */
  if ((status != TIDE_OK) == (node->kind == TIDE_DEPENDENCY_ANY)) node->undecided--;
}

static void note_settled(struct tide_dependency_edge *edge) {
  edge->notified_settled = true;
  edge->owner->unsettled--;
  if (edge->target) tide_list_remove(&edge->link);
  edge->target = NULL;
}

/* Counts the edge as scheduled. A broken part does not schedule an ANY. */
static void note_scheduled(struct tide_dependency_edge *edge) {
  edge->notified_scheduled = true;
  edge->owner->unscheduled--;
  if (!edge->status) edge->owner->one_scheduled = true;
}

static void note_firm(struct tide_dependency_edge *edge) {
  edge->notified_firm = true;
  edge->owner->unfirm--;
}

void tide_dependency_add_edge(struct tide_dependency_node *node, struct tide_dependency_edge *edge,
                              struct tide_dependency_node *target, enum tide_status status) {
  if (target && target->settled) {
    status = (enum tide_status)target->status;
    target = NULL;
  }
  *edge = (struct tide_dependency_edge){.owner = node, .target = target, .next = node->edges};
  tide_list_init(&edge->link);
  if (!target) edge->status = (uint32_t)status;
  node->edges = edge;
}

static void count_edge(struct tide_dependency_edge *edge) {
  struct tide_dependency_node *node = edge->owner, *target = edge->target;
  node->unscheduled++;
  node->unfirm++;
  node->unsettled++;
  node->undecided++;
  if (!target) {
    note_end(edge, (enum tide_status)edge->status);
    note_scheduled(edge);
    note_firm(edge);
    note_settled(edge);
    return;
  }
  tide_list_push_back(&target->awaited, &edge->link);
  if (target->ended) note_end(edge, (enum tide_status)target->status);
  if (target->scheduled) note_scheduled(edge);
  if (target->firm) note_firm(edge);
}

void tide_dependency_define(struct tide_propagation *propagation,
                            struct tide_dependency_node *node) {
  for (struct tide_dependency_edge *edge = node->edges; edge; edge = edge->next) count_edge(edge);
  node->defined = true;
  if (!is_group(node) && !(node->unscheduled | node->unfirm) && !node->on_changed &&
      is_alone(node)) {
    node->scheduled = node->firm = true;
    return;
  }
  tide_dependency_touch(propagation, node);
  conclude_group(propagation, node);
}

static void notify_ended(struct tide_propagation *propagation, struct tide_dependency_node *node) {
  struct tide_link *link = node->awaited.next, *next;
  for (; link != &node->awaited; link = next) {
    struct tide_dependency_edge *edge = TIDE_CONTAINER(link, struct tide_dependency_edge, link);
    next = link->next;
    if (!edge->notified_ended) note_end(edge, (enum tide_status)node->status);
    if (node->settled) {
      /* The edge leaves the list here, so its scheduled and firm counts change now. The owner's own
       * state is decided only when all ends are known, by tide_propagation_run. */
      if (!edge->notified_scheduled) note_scheduled(edge);
      if (!edge->notified_firm) note_firm(edge);
      note_settled(edge);
      tide_dependency_touch(propagation, edge->owner);
    }
    conclude_group(propagation, edge->owner);
  }
}

static void notify_scheduled(struct tide_propagation *propagation,
                             struct tide_dependency_node *node) {
  struct tide_link *link = node->awaited.next;
  for (; link != &node->awaited; link = link->next) {
    struct tide_dependency_edge *edge = TIDE_CONTAINER(link, struct tide_dependency_edge, link);
    if (edge->notified_scheduled) continue;
    note_scheduled(edge);
    schedule_if_ready(propagation, edge->owner);
  }
}

static void notify_firm(struct tide_propagation *propagation, struct tide_dependency_node *node) {
  struct tide_link *link = node->awaited.next;
  for (; link != &node->awaited; link = link->next) {
    struct tide_dependency_edge *edge = TIDE_CONTAINER(link, struct tide_dependency_edge, link);
    if (edge->notified_firm) continue;
    note_firm(edge);
    schedule_if_ready(propagation, edge->owner);
  }
}

/* A callback may remove any listener, so each one is moved to another list before it is
 * notified. */
void tide_dependency_notify_all(struct tide_dependency_node *node, struct tide_fired *fired) {
  struct tide_link told, *link;
  tide_list_init(&told);
  while ((link = tide_list_pop_front(&node->listeners))) {
    if (!node->settled) tide_list_push_back(&told, link);
    struct tide_listener *listener = TIDE_CONTAINER(link, struct tide_listener, link);
    listener->notify(listener, node, fired);
  }
  while ((link = tide_list_pop_front(&told))) tide_list_push_back(&node->listeners, link);
}

/* True if the end of a target only counts down one edge of the node, with no other consequence. */
static inline bool only_counts(const struct tide_dependency_node *node) {
  return node->kind == TIDE_DEPENDENCY_COMMAND && node->scheduled && node->firm &&
         !node->on_changed && tide_list_empty(&node->listeners);
}

bool tide_dependency_end_alone(struct tide_dependency_node *node, struct tide_fired *fired) {
  struct tide_link *link = node->awaited.next;
  if (node->on_changed) return false;
  for (; link != &node->awaited; link = link->next)
    if (!only_counts(TIDE_CONTAINER(link, struct tide_dependency_edge, link)->owner)) return false;
  node->ended = node->settled = node->scheduled = node->firm = true;
  while ((link = node->awaited.next) != &node->awaited) {
    struct tide_dependency_edge *edge = TIDE_CONTAINER(link, struct tide_dependency_edge, link);
    if (!edge->notified_ended) note_end(edge, TIDE_OK);
    note_settled(edge);
  }
  tide_dependency_notify(node, fired);
  return true;
}

#define CLIMB_MOST 256 /* edges that one propagation follows upwards to notify listeners */

/* Marks the groups that depend on the changed node: their listeners may have to look again at parts
 * far below. Returns the number of edges left. */
static unsigned touch_groups_above(struct tide_propagation *propagation,
                                   const struct tide_dependency_node *node, unsigned left) {
  struct tide_link *link = node->awaited.next;
  for (; left && link != &node->awaited; link = link->next, left--) {
    struct tide_dependency_node *owner =
        TIDE_CONTAINER(link, struct tide_dependency_edge, link)->owner;
    if (is_group(owner)) tide_dependency_touch(propagation, owner);
  }
  return left;
}

void tide_propagation_run(struct tide_propagation *propagation) {
  struct tide_dependency_node *node, *next, *last = NULL;
  unsigned left = CLIMB_MOST;
  while ((node = propagation->ended)) {
    propagation->ended = node->next_ended;
    if (!propagation->ended) propagation->last_ended = &propagation->ended;
    node->on_ended = false;
    notify_ended(propagation, node);
  }
  for (node = propagation->changed; node; node = node->next_changed) {
    schedule_if_ready(propagation, node);
    if (is_group(node)) left = touch_groups_above(propagation, node, left);
  }
  while ((node = propagation->scheduled)) {
    propagation->scheduled = node->next_scheduled;
    if (!propagation->scheduled) propagation->last_scheduled = &propagation->scheduled;
    notify_scheduled(propagation, node);
  }
  while ((node = propagation->firm)) {
    propagation->firm = node->next_firm;
    if (!propagation->firm) propagation->last_firm = &propagation->firm;
    notify_firm(propagation, node);
  }
  /* The end of a compound frees its inner groups: all nodes must be off the list first. */
  for (node = propagation->changed, propagation->changed = NULL; node; node = next) {
    next = node->next_changed;
    node->on_changed = false;
    tide_dependency_notify(node, propagation->fired);
    if (!node->changed) continue;
    node->next_changed = NULL;
    if (last) last->next_changed = node;
    else propagation->changed = node;
    last = node;
  }
  for (node = propagation->changed; node; node = next) {
    next = node->next_changed;
    node->changed(node, propagation->fired);
  }
}

void tide_dependency_move_edge(struct tide_propagation *propagation,
                               struct tide_dependency_edge *edge,
                               struct tide_dependency_node *target) {
  tide_list_remove(&edge->link);
  edge->target = target;
  tide_list_push_back(&target->awaited, &edge->link);
  if (target->scheduled && !edge->notified_scheduled) note_scheduled(edge);
  if (target->firm && !edge->notified_firm) note_firm(edge);
  schedule_if_ready(propagation, edge->owner);
}

void tide_dependency_drop_edges(struct tide_dependency_node *node) {
  for (struct tide_dependency_edge *edge = node->edges; edge; edge = edge->next) {
    if (edge->target) tide_list_remove(&edge->link);
    edge->target = NULL;
  }
  node->edges = NULL;
}
