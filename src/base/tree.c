#include "base/tree.h"
#include "base/check.h"

/* Returns the priority of a node in heap order: a hash of its address and key. The hash is as good
 * as random, and needs no storage. */
static uint64_t priority_of(const struct tide_tree_node *node) {
  uint64_t z = (uint64_t)(uintptr_t)node ^ (node->key * 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 31)) * 0xbf58476d1ce4e5b9u;
  return z ^ (z >> 29);
}

static void replace_child(struct tide_tree *tree, struct tide_tree_node *parent,
                          struct tide_tree_node *old, struct tide_tree_node *new) {
  if (!parent) tree->root = new;
  else if (parent->left == old) parent->left = new;
  else parent->right = new;
  if (new) new->parent = parent;
}

static void rotate_up(struct tide_tree *tree, struct tide_tree_node *node) {
  struct tide_tree_node *parent = node->parent;
  replace_child(tree, parent->parent, parent, node);
  if (parent->left == node) {
    parent->left = node->right;
    if (node->right) node->right->parent = parent;
    node->right = parent;
  } else {
    parent->right = node->left;
    if (node->left) node->left->parent = parent;
    node->left = parent;
  }
  parent->parent = node;
}

/* Returns the node below which a new key belongs, and the side; NULL: the key is listed already.
 * Most keys belong at the end, so that is tried first. */
static struct tide_tree_node *find_parent(struct tide_tree *tree, uint64_t key, bool *out_right) {
  *out_right = true;
  if (tree->last && key > tree->last->key) return tree->last;
  struct tide_tree_node *parent = NULL;
  for (struct tide_tree_node *at = tree->root; at;) {
    parent = at;
    if (key == at->key) return NULL;
    *out_right = key > at->key;
    at = *out_right ? at->right : at->left;
  }
  return parent;
}

bool tide_tree_insert_more(struct tide_tree *tree, struct tide_tree_node *node, uint64_t key) {
  bool right;
  struct tide_tree_node *parent = find_parent(tree, key, &right);
  if (!parent) return false;
  node->parent = parent;
  if (right) parent->right = node;
  else parent->left = node;
  if (key < tree->first->key) tree->first = node;
  if (key > tree->last->key) tree->last = node;
  tree->count++;
  uint64_t own = priority_of(node);
  while (node->parent && priority_of(node->parent) < own) rotate_up(tree, node);
  return true;
}

struct tide_tree_node *tide_tree_previous(const struct tide_tree_node *node) {
  if (node->left) {
    struct tide_tree_node *at = node->left;
    while (at->right) at = at->right;
    return at;
  }
  while (node->parent && node->parent->left == node) node = node->parent;
  return node->parent;
}

struct tide_tree_node *tide_tree_next(const struct tide_tree_node *node) {
  if (node->right) {
    struct tide_tree_node *at = node->right;
    while (at->left) at = at->left;
    return at;
  }
  while (node->parent && node->parent->right == node) node = node->parent;
  return node->parent;
}

void tide_tree_remove_one(struct tide_tree *tree, struct tide_tree_node *node) {
  if (tree->first == node) tree->first = tide_tree_next(node);
  if (tree->last == node) tree->last = tide_tree_previous(node);
  while (node->left && node->right)
    rotate_up(tree, priority_of(node->left) > priority_of(node->right) ? node->left : node->right);
  replace_child(tree, node->parent, node, node->left ? node->left : node->right);
  tree->count--;
}

struct tide_tree_node *tide_tree_at_least(const struct tide_tree *tree, uint64_t key) {
  struct tide_tree_node *best = NULL;
  /* Most look-ups are for one of the ends. */
  if (!tree->last || key > tree->last->key) return NULL;
  if (key == tree->last->key) return tree->last;
  if (key <= tree->first->key) return tree->first;
  for (struct tide_tree_node *at = tree->root; at;) {
    if (at->key >= key) {
      best = at;
      at = at->left;
    } else {
      at = at->right;
    }
  }
  return best;
}

struct tide_tree_node *tide_tree_below(const struct tide_tree *tree, uint64_t key) {
  const struct tide_tree_node *above = tide_tree_at_least(tree, key);
  return above ? tide_tree_previous(above) : tree->last;
}
