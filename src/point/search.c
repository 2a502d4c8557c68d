/* Searches down the edges of a dependency node, for the two questions that a count cannot answer.
 *
 * A search visits each relevant node once, and judges it after its targets. A target that is still
 * being visited closes a cycle; it counts as not holding, so that a cycle never supports itself.
 * The path back up is stored in the nodes (`above`): there is no recursion. */
#include "base/check.h"
#include "point/point_state.h"

static const struct tide_promise *promise_of(const struct tide_dependency_node *node) {
  return TIDE_CONTAINER(node, const struct tide_promise, unmet.node);
}

/* Returns the node that an unqueued promise comes after: the last command in its channel. NULL:
 * none. */
static struct tide_dependency_node *implied_target(const struct tide_look *look,
                                                   const struct tide_dependency_node *node) {
  const struct tide_channel *channel = promise_of(node)->future->channel;
  if (!look->cycle || !channel || channel == look->channel) return NULL;
  return channel->tail ? &channel->tail->node : NULL;
}

static bool is_owed(const struct tide_dependency_node *node) {
  return node->kind == TIDE_DEPENDENCY_PROMISE && !node->defined && !node->ended;
}

static bool trusts_stand_in(const struct tide_look *look, const struct tide_dependency_node *node) {
  uint32_t domain = TIDE_CONTAINER(node, const struct tide_stand_in, compound.unmet.node)->domain;
  if (look->narrow) return tide_client_trusts(look->narrow, domain);
  return true;
}

enum answer { NO, YES, DEPENDS };

/* Judges a node by its own state. DEPENDS: its targets decide. */
static enum answer judge_alone(const struct tide_look *look,
                               const struct tide_dependency_node *node) {
  if (node->settled) return YES;
  if (look->cycle ? node->firm : node->scheduled && !look->narrow) return YES;
  if (look->cycle) {
    if (is_owed(node)) {
      const struct tide_channel *channel = promise_of(node)->future->channel;
      if (channel && channel == look->channel) return NO;
      return implied_target(look, node) ? DEPENDS : YES;
    }
    return node->defined && node->kind != TIDE_DEPENDENCY_STAND_IN ? DEPENDS : YES;
  }
  if (node->kind == TIDE_DEPENDENCY_PROMISE && look->assumed && look->assumed(look->self, node))
    return YES;
  if (node->kind == TIDE_DEPENDENCY_STAND_IN)
    return node->scheduled && trusts_stand_in(look, node) ? YES : NO;
  return node->defined ? DEPENDS : NO;
}

static bool is_visited(const struct tide_look *look, const struct tide_dependency_node *node) {
  return node->mark == look->mark;
}

static bool node_holds(const struct tide_look *look, const struct tide_dependency_node *node) {
  if (is_visited(look, node)) return node->holds;
  return judge_alone(look, node) == YES;
}

static bool is_broken(const struct tide_dependency_edge *edge) {
  return edge->target ? edge->target->ended && edge->target->status : edge->status != 0;
}

/* True if the target is good, or will be once the definition under way is complete. */
static bool is_good(const struct tide_look *look, const struct tide_dependency_edge *edge) {
  if (!edge->target) return !edge->status;
  return edge->target->ended ? !edge->target->status
                             : is_visited(look, edge->target) && edge->target->good;
}

static void judge_node(const struct tide_look *look, struct tide_dependency_node *node) {
  enum answer itself = judge_alone(look, node);
  bool all = true, any = false, all_good = true, any_good = false;
  node->holds = itself == YES;
  if (itself != DEPENDS) return;
  if (is_owed(node)) {
    node->holds = node_holds(look, implied_target(look, node));
    return;
  }
  for (const struct tide_dependency_edge *edge = node->edges; edge; edge = edge->next) {
    bool one = !edge->target || node_holds(look, edge->target), good = is_good(look, edge);
    all = all && one;
    any = any || (one && !is_broken(edge));
    all_good = all_good && good;
    any_good = any_good || good;
  }
  /* A cycle through an ANY counts as a cycle unless one of its parts is good: if its other parts
   * broke, the ANY would never end. */
  node->good =
      node->kind == TIDE_DEPENDENCY_ANY ? any_good : node->kind == TIDE_DEPENDENCY_ALL && all_good;
  node->holds = all || (node->kind == TIDE_DEPENDENCY_ANY && (look->cycle ? any_good : any));
}

/* Returns the next target below the node that must be visited; NULL: none is left. */
static struct tide_dependency_node *next_dependency(struct tide_look *look,
                                                    struct tide_dependency_node *node) {
  if (is_owed(node)) {
    bool first = !node->stepped;
    node->stepped = true;
    return first ? implied_target(look, node) : NULL;
  }
  while (node->cursor) {
    struct tide_dependency_edge *edge = node->cursor;
    node->cursor = edge->next;
    look->steps++;
    if (edge->target && judge_alone(look, edge->target) != YES) return edge->target;
  }
  return NULL;
}

static void enter_node(struct tide_look *look, struct tide_dependency_node *node,
                       struct tide_dependency_node *above) {
  node->mark = look->mark;
  node->above = above;
  look->steps++;
  node->holds = node->good = node->stepped = false;
  node->cursor = judge_alone(look, node) == DEPENDS ? node->edges : NULL;
}

bool tide_look_holds(struct tide_look *look, struct tide_dependency_node *root) {
  enter_node(look, root, NULL);
  for (struct tide_dependency_node *node = root; node;) {
    struct tide_dependency_node *below =
        judge_alone(look, node) == DEPENDS ? next_dependency(look, node) : NULL;
    if (look->most && look->steps > look->most) {
      look->gave_up = true;
      return false;
    }
    if (below && !is_visited(look, below)) {
      enter_node(look, below, node);
      node = below;
    } else if (!below) {
      judge_node(look, node);
      node = node->above;
    }
  }
  return root->holds;
}

/* Follows the edges upwards, from target to owner. */
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

/* Descends to the nodes that hold up the root: at an ANY into all its targets, else into the first.
 * `above` links the nodes still to be visited. */
bool tide_look_why_not(struct tide_look *look, struct tide_dependency_node *root, uint64_t mark,
                       bool (*each)(void *self, struct tide_dependency_node *leaf), void *self) {
  struct tide_dependency_node *todo = root;
  root->mark = mark;
  root->above = NULL;
  while (todo) {
    struct tide_dependency_node *node = todo;
    todo = node->above;
    if (judge_alone(look, node) != DEPENDS) {
      if (!each(self, node)) return false;
      continue;
    }
    for (struct tide_dependency_edge *edge = node->edges; edge; edge = edge->next) {
      struct tide_dependency_node *target = edge->target;
      if (!target) continue;
      bool fine = target->mark == mark ? false : node_holds(look, target);
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
