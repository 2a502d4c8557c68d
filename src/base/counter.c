#include "base/counter.h"
#include "base/check.h"

/* Pairing heap: meld makes the larger root the first child of the smaller.
 * Removing a root melds its children in pairs, left to right, then all of the
 * pairs together, right to left; both passes are loops, so a heap of a million
 * children cannot overflow the stack. Equal values: the one melded from the left stays above, which
 * keeps waiters of one value nearly in order of arrival (no promise). */
static struct tide_node *meld(struct tide_node *a, struct tide_node *b) {
  if (!a) return b;
  if (!b) return a;
  if (b->value < a->value) {
    struct tide_node *t = a;
    a = b;
    b = t;
  }
  b->next = a->child;
  if (a->child) a->child->prev = b;
  b->prev = a;
  a->child = b;
  a->next = NULL;
  a->prev = NULL;
  return a;
}

static struct tide_node *meld_children(struct tide_node *first) {
  struct tide_node *pairs = NULL;
  while (first) {
    struct tide_node *a = first, *b = a->next;
    first = b ? b->next : NULL;
    a->next = a->prev = NULL;
    if (b) b->next = b->prev = NULL;
    struct tide_node *pair = meld(a, b);
    pair->next = pairs;
    pairs = pair;
  }
  struct tide_node *root = NULL;
  while (pairs) {
    struct tide_node *rest = pairs->next;
    pairs->next = NULL;
    root = meld(pairs, root);
    pairs = rest;
  }
  return root;
}

void tide_counter_add(struct tide_counter *counter, struct tide_node *node, uint64_t value) {
  TIDE_ASSERT(node->state != TIDE_NODE_QUEUED);
  node->value = value;
  node->child = node->next = node->prev = NULL;
  node->state = TIDE_NODE_QUEUED;
  counter->root = meld(counter->root, node);
}

static void detach(struct tide_counter *counter, struct tide_node *node) {
  struct tide_node *children = meld_children(node->child);
  if (counter->root == node) {
    counter->root = children;
  } else {
    if (node->prev->child == node) node->prev->child = node->next;
    else node->prev->next = node->next;
    if (node->next) node->next->prev = node->prev;
    counter->root = meld(counter->root, children);
  }
  node->child = node->next = node->prev = NULL;
}

bool tide_counter_remove(struct tide_counter *counter, struct tide_node *node) {
  if (node->state != TIDE_NODE_QUEUED) return false;
  detach(counter, node);
  node->state = TIDE_NODE_IDLE;
  return true;
}

void tide_counter_pop(struct tide_counter *counter, uint64_t value, struct tide_fired *fired,
                      enum tide_status status) {
  while (counter->root && counter->root->value <= value) {
    struct tide_node *node = counter->root;
    detach(counter, node);
    tide_fired_push(fired, node, status);
  }
}

void tide_counter_pop_from(struct tide_counter *counter, uint64_t value, struct tide_fired *fired,
                           enum tide_status status) {
  struct tide_node *kept = NULL;
  while (counter->root) {
    struct tide_node *node = counter->root;
    detach(counter, node);
    if (node->value >= value || node->counts_on >= value) {
      tide_fired_push(fired, node, status);
    } else {
      node->next = kept;
      kept = node;
    }
  }
  while (kept) {
    struct tide_node *node = kept;
    kept = node->next;
    node->next = NULL;
    counter->root = meld(counter->root, node);
  }
}

void tide_fired_push(struct tide_fired *fired, struct tide_node *node, enum tide_status status) {
  node->state = TIDE_NODE_FIRED;
  node->status = status;
  node->next = NULL;
  *fired->last = node;
  fired->last = &node->next;
}

void tide_fired_move(struct tide_fired *fired, struct tide_node *node) {
  node->next = NULL;
  *fired->last = node;
  fired->last = &node->next;
}

struct tide_node *tide_fired_pop(struct tide_fired *fired) {
  struct tide_node *node = fired->first;
  if (!node) return NULL;
  fired->first = node->next;
  if (!fired->first) fired->last = &fired->first;
  return node;
}

void tide_fired_run(struct tide_fired *fired) {
  struct tide_node *node;
  while ((node = tide_fired_pop(fired))) node->fire(node, (enum tide_status)node->status);
}
