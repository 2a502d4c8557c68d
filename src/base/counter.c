#include "base/counter.h"
#include "base/check.h"
#include "base/parking.h"

/* Pairing heap. A meld makes the larger root the first child of the smaller. Removing a root melds
 * its children in pairs, left to right, then all pairs together, right to left. Both passes are
 * loops, so a heap of a million children cannot overflow the stack. Of equal values, the left root
 * stays above: waiters of one value stay nearly in order of arrival (no promise). */
static inline struct tide_node *link_below(struct tide_node *above, struct tide_node *below) {
  below->next = above->child;
  if (above->child) above->child->prev = below;
  below->prev = above;
  above->child = below;
  return above;
}

/* Links one root below the other; `swap` puts b above. The outcome cannot be predicted, so the
 * roots are selected by masks: compilers turn a conditional expression into a branch. The upper
 * root's next and prev do not change. */
static inline struct tide_node *link_by(bool swap, struct tide_node *a, struct tide_node *b) {
  uintptr_t differ = ((uintptr_t)a ^ (uintptr_t)b) & -(uintptr_t)swap;
  return link_below((struct tide_node *)((uintptr_t)a ^ differ),
                    (struct tide_node *)((uintptr_t)b ^ differ));
}
static inline struct tide_node *meld_two(struct tide_node *a, struct tide_node *b) {
  return link_by(b->value < a->value, a, b);
}

static struct tide_node *meld_nodes(struct tide_node *a, struct tide_node *b) {
  if (!a) return b;
  if (!b) return a;
  struct tide_node *root = meld_two(a, b);
  root->next = root->prev = NULL;
  return root;
}

/* Melds a row of siblings into one heap. The pairs are scattered in memory. So the first pass
 * stores in each pair's `prev` the pair that the second pass reaches four steps later, for a
 * prefetch. A meld overwrites `prev` again. */
static struct tide_node *meld_children(struct tide_node *first) {
  struct tide_node *pairs = NULL, *second = NULL, *third = NULL, *fourth = NULL;
  for (struct tide_node *a = first, *b; a && (b = a->next); a = first) {
    first = b->next;
    struct tide_node *pair = meld_two(a, b);
    pair->next = pairs;
    pair->prev = fourth;
    fourth = third;
    third = second;
    second = pairs;
    pairs = pair;
  }
  struct tide_node *root = first; /* the last of an odd number of siblings, or NULL */
  if (!root && pairs) {
    root = pairs;
    pairs = pairs->next;
  }
  /* `least` is the value of `root`, kept apart so that a comparison does not load it. */
  uint64_t least = root ? root->value : 0;
  while (pairs) {
    struct tide_node *rest = pairs->next;
    uint64_t value = pairs->value;
    bool stays = least < value;
    __builtin_prefetch(pairs->prev, 1);
    root = link_by(stays, pairs, root);
    least = stays ? least : value;
    pairs = rest;
  }
  if (root) root->next = root->prev = NULL;
  return root;
}

static bool follow_parked(struct tide_node *other, struct tide_parked *parked, uint64_t value) {
  if (!other || other->value != value || !tide_parked_of(other)) return false;
  tide_parked_join(tide_parked_of(other), parked);
  return true;
}

/* Joins the ring of a thread parked for the same value, if that is the list's last node or the
 * heap's root. A crowd of waiters is then one node to take off. */
static bool join_parked(struct tide_counter *counter, struct tide_parked *parked, uint64_t value) {
  return follow_parked(counter->last, parked, value) || follow_parked(counter->root, parked, value);
}

void tide_counter_add_late(struct tide_counter *counter, struct tide_node *node) {
  node->child = node->next = node->prev = NULL;
  counter->root = meld_nodes(counter->root, node);
}

void tide_counter_add_parked(struct tide_counter *counter, struct tide_node *node) {
  node->next = NULL;
  if (join_parked(counter, tide_parked_of(node), node->value)) return;
  if (!counter->last || counter->last->value <= node->value) tide_counter_append(counter, node);
  else tide_counter_add_late(counter, node);
}

/* Removes a node from the heap. Its position among siblings cannot be predicted, so the link is
 * selected without a branch. No value below the node is less than the root's, so the node's
 * children, melded, become one more child of the root. */
void tide_counter_remove_late(struct tide_counter *counter, struct tide_node *node) {
  struct tide_node *children = node->child, *prev = node->prev, *next = node->next, nobody;
  if (children && children->next) children = meld_children(children);
  if (counter->root == node) {
    counter->root = children;
    if (children) children->prev = NULL;
    return;
  }
  size_t link =
      prev->child == node ? offsetof(struct tide_node, child) : offsetof(struct tide_node, next);
  *(struct tide_node **)(void *)((char *)prev + link) = next;
  (next ? next : &nobody)->prev = prev;
  if (children) link_below(counter->root, children);
}

static void detach_node(struct tide_counter *counter, struct tide_node *node) {
  if (node->child == node) tide_counter_unlink(counter, node);
  else tide_counter_remove_late(counter, node);
  node->child = node->next = node->prev = NULL;
}

/* Puts the next thread of a ring in the position of the ring's head. */
static void replace_head(struct tide_counter *counter, struct tide_node *old,
                         struct tide_node *node) {
  bool listed = old->child == old;
  struct tide_node **from = listed ? &counter->first : &counter->root;
  if (old->prev) from = !listed && old->prev->child == old ? &old->prev->child : &old->prev->next;
  *from = node;
  if (old->next) old->next->prev = node;
  else if (listed) counter->last = node;
  if (!listed && old->child) old->child->prev = node;
  node->child = listed ? node : old->child;
  node->next = old->next;
  node->prev = old->prev;
  old->child = old->next = old->prev = NULL;
}

/* Takes a thread out of its ring. False: the ring has no other thread, so the counter refers to
 * this node, and no other node replaces it. */
static bool leave_ring(struct tide_counter *counter, struct tide_parked *parked) {
  struct tide_parked *next = tide_parked_leave(parked);
  if (next && !parked->follows) replace_head(counter, &parked->node, &next->node);
  return next;
}

bool tide_counter_remove_parked(struct tide_counter *counter, struct tide_node *node) {
  /* A pop takes off the head of a ring only: the states of its followers are stale, so the value
   * decides. */
  if (node->value <= counter->value) return false;
  if (!leave_ring(counter, tide_parked_of(node))) detach_node(counter, node);
  node->state = TIDE_NODE_IDLE;
  if (node->value == tide_counter_least(counter)) tide_counter_keep_least(counter);
  return true;
}

static inline bool is_due(const struct tide_node *node, uint64_t value) {
  return node && node->value <= value;
}

/* Takes off the list's nodes of values <= value; there is at least one. Only nodes of parked
 * threads lose their links. */
static void pop_listed(struct tide_counter *counter, uint64_t value, struct tide_fired *fired,
                       enum tide_status status) {
  struct tide_node *node = counter->first, *next;
  for (; node && node->value <= value; node = next) {
    next = node->next;
    if (tide_parked_of(node)) {
      node->child = node->prev = NULL;
      tide_fired_push(fired, node, status);
      continue;
    }
    node->state = TIDE_NODE_FIRED;
    node->status = (uint16_t)status;
    *fired->last = node;
    fired->last = &node->next;
  }
  *fired->last = NULL;
  counter->first = node;
  if (node) node->prev = NULL;
  else counter->last = NULL;
}

/* Takes off nodes in ascending order; of equal values, those of the list come first. */
void tide_counter_pop_several(struct tide_counter *counter, uint64_t value,
                              struct tide_fired *fired, enum tide_status status) {
  struct tide_node *root;
  while (is_due(root = counter->root, value)) {
    if (is_due(counter->first, root->value)) pop_listed(counter, root->value, fired, status);
    counter->root = meld_children(root->child);
    root->child = root->prev = NULL;
    tide_fired_push(fired, root, status);
  }
  if (is_due(counter->first, value)) pop_listed(counter, value, fired, status);
  tide_counter_keep_least(counter);
}

static void push_ring(struct tide_fired *fired, struct tide_node *node, enum tide_status status) {
  struct tide_parked *head = tide_parked_of(node);
  for (struct tide_parked *at = head; at && (at = at->after) != head;) {
    at->node.state = TIDE_NODE_FIRED;
    at->node.status = (uint16_t)status;
  }
  tide_fired_push(fired, node, status);
}

void tide_counter_pop_from(struct tide_counter *counter, uint64_t value, struct tide_fired *fired,
                           enum tide_status status) {
  struct tide_node *kept = NULL, *node;
  for (struct tide_node *next = counter->first; (node = next);) {
    next = node->next;
    if (node->value < value) continue;
    detach_node(counter, node);
    push_ring(fired, node, status);
  }
  while ((node = counter->root)) {
    tide_counter_remove_late(counter, node);
    node->child = node->next = node->prev = NULL;
    if (node->value >= value) {
      push_ring(fired, node, status);
    } else {
      node->next = kept;
      kept = node;
    }
  }
  while ((node = kept)) {
    kept = node->next;
    node->next = NULL;
    counter->root = meld_nodes(counter->root, node);
  }
  tide_counter_keep_least(counter);
}

void tide_fired_push_parked(struct tide_fired *fired, struct tide_node *node) {
  struct tide_parked *parked = tide_parked_of(node);
  if (fired->parked) {
    tide_parked_join(fired->parked, parked);
    return;
  }
  fired->parked = parked;
  tide_fired_move(fired, node);
}
