/* The two questions that a count cannot answer, on what a dependency node needs, downwards.
 *
 * All dependency nodes that matter are visited once, each after what it needs (but where that leads
 * back); then each is judged by those. Where something leads back, which only ANY allows, this goes
 * on until nothing changes: the least that follows, so a cycle holds nothing up by itself. The way
 * back up lies in the dependency nodes. */
#include "base/check.h"
#include "point/point_state.h"

static const struct tide_promise *promise_of(const struct tide_dependency_node *node) {
  return TIDE_CONTAINER(node, const struct tide_promise, unmet.node);
}

/* What is promised and not queued will come after all that is in its channel by then. */
static struct tide_dependency_node *implied(const struct tide_look *look,
                                            const struct tide_dependency_node *node) {
  const struct tide_channel *channel = promise_of(node)->future->channel;
  if (!look->cycle || !channel || channel == look->channel) return NULL;
  return channel->tail ? &channel->tail->node : NULL;
}

static bool is_owed(const struct tide_dependency_node *node) {
  return node->kind == TIDE_DEPENDENCY_PROMISE && !node->defined && !node->ended;
}

static bool trusts(const struct tide_look *look, const struct tide_dependency_node *node) {
  uint32_t domain = TIDE_CONTAINER(node, const struct tide_stand_in, compound.unmet.node)->domain;
  if (look->narrow) return tide_client_trusts(look->narrow, domain);
  return true;
}

enum answer { NO, YES, DEPENDS };

/* By itself, without what it needs. */
static enum answer alone(const struct tide_look *look, const struct tide_dependency_node *node) {
  if (node->settled) return YES;
  if (look->cycle ? node->firm : node->scheduled && !look->narrow) return YES;
  if (look->cycle) {
    if (is_owed(node)) {
      const struct tide_channel *channel = promise_of(node)->future->channel;
      if (channel && channel == look->channel) return NO;
      return implied(look, node) ? DEPENDS : YES;
    }
    return node->defined && node->kind != TIDE_DEPENDENCY_STAND_IN ? DEPENDS : YES;
  }
  if (node->kind == TIDE_DEPENDENCY_PROMISE && look->assumed && look->assumed(look->self, node))
    return YES;
  if (node->kind == TIDE_DEPENDENCY_STAND_IN)
    return node->scheduled && trusts(look, node) ? YES : NO;
  return node->defined ? DEPENDS : NO;
}

static bool visited(const struct tide_look *look, const struct tide_dependency_node *node) {
  return node->mark == look->mark;
}

static bool holds(const struct tide_look *look, const struct tide_dependency_node *node) {
  if (visited(look, node)) return node->holds;
  return alone(look, node) == YES;
}

static bool is_broken(const struct tide_dependency_edge *edge) {
  return edge->target ? edge->target->ended && edge->target->status : edge->status != 0;
}

/* It has come true, or will when what is being defined is. */
static bool is_good(const struct tide_look *look, const struct tide_dependency_edge *edge) {
  if (!edge->target) return !edge->status;
  return edge->target->ended ? !edge->target->status
                             : visited(look, edge->target) && edge->target->good;
}

static void judge_node(const struct tide_look *look, struct tide_dependency_node *node) {
  enum answer itself = alone(look, node);
  bool all = true, any = false, all_good = true, any_good = false;
  node->holds = itself == YES;
  if (itself != DEPENDS) return;
  if (is_owed(node)) {
    node->holds = holds(look, implied(look, node));
    return;
  }
  for (const struct tide_dependency_edge *edge = node->edges; edge; edge = edge->next) {
    bool one = !edge->target || holds(look, edge->target), good = is_good(look, edge);
    all = all && one;
    any = any || (one && !is_broken(edge));
    all_good = all_good && good;
    any_good = any_good || good;
  }
  /* A cycle through an ANY is one, too, unless it has come true: when its other parts break,
   * nobody would be told. */
  node->good =
      node->kind == TIDE_DEPENDENCY_ANY ? any_good : node->kind == TIDE_DEPENDENCY_ALL && all_good;
  node->holds = all || (node->kind == TIDE_DEPENDENCY_ANY && (look->cycle ? any_good : any));
}

/* The next dependency node below this one that must be looked at; NULL: no more. */
static struct tide_dependency_node *next_dependency(struct tide_look *look,
                                                    struct tide_dependency_node *node) {
  if (is_owed(node)) {
    bool first = !node->stepped;
    node->stepped = true;
    return first ? implied(look, node) : NULL;
  }
  while (node->cursor) {
    struct tide_dependency_edge *edge = node->cursor;
    node->cursor = edge->next;
    look->steps++;
    if (edge->target && alone(look, edge->target) != YES) return edge->target;
  }
  return NULL;
}

static void enter_node(struct tide_look *look, struct tide_dependency_node *node,
                       struct tide_dependency_node *above) {
  node->mark = look->mark;
  node->above = above;
  look->steps++;
  node->holds = node->good = node->stepped = false;
  node->cursor = alone(look, node) == DEPENDS ? node->edges : NULL;
}

bool tide_look_holds(struct tide_look *look, struct tide_dependency_node *root) {
  enter_node(look, root, NULL);
  for (struct tide_dependency_node *node = root; node;) {
    struct tide_dependency_node *below =
        alone(look, node) == DEPENDS ? next_dependency(look, node) : NULL;
    if (look->most && look->steps > look->most) {
      look->gave_up = true;
      return false;
    }
    if (below && !visited(look, below)) {
      enter_node(look, below, node);
      node = below;
    } else if (!below) {
      judge_node(look, node);
      node = node->above;
    }
  }
  return root->holds;
}

/* Up from a dependency node: who depends on it, and on those, hears of a change. */
void tide_dependency_touch_above(struct tide_propagation *propagation,
                                 struct tide_dependency_node *node, uint64_t mark) {
  struct tide_dependency_node *todo = node;
  node->mark = mark;
  node->above = NULL;
  while ((node = todo)) {
    todo = node->above;
    tide_dependency_touch(propagation, node);
    for (struct tide_link *link = node->awaited.next; link != &node->awaited; link = link->next) {
      struct tide_dependency_node *owner =
          TIDE_CONTAINER(link, struct tide_dependency_edge, link)->owner;
      if (owner->mark == mark) continue;
      owner->mark = mark;
      owner->above = todo;
      todo = owner;
    }
  }
}

/* Goes where it is still held up: at ANY everywhere, else at the first place. `above` leads on: the
 * dependency nodes that are still to be looked at. */
bool tide_look_why_not(struct tide_look *look, struct tide_dependency_node *root, uint64_t mark,
                       bool (*each)(void *self, struct tide_dependency_node *leaf), void *self) {
  struct tide_dependency_node *todo = root;
  root->mark = mark;
  root->above = NULL;
  while (todo) {
    struct tide_dependency_node *node = todo;
    todo = node->above;
    if (alone(look, node) != DEPENDS) {
      if (!each(self, node)) return false;
      continue;
    }
    for (struct tide_dependency_edge *edge = node->edges; edge; edge = edge->next) {
      struct tide_dependency_node *target = edge->target;
      if (!target) continue;
      bool fine = target->mark == mark ? false : holds(look, target);
      if (fine) continue;
      if (target->mark != mark) {
        target->mark = mark;
        target->above = todo;
        todo = target;
      }
      if (node->kind != TIDE_DEPENDENCY_ANY) break;
    }
  }
  return true;
}
