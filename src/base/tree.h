/* base/tree.h: an intrusive ordered set of 64-bit keys (a treap with parent links).
 *
 * For large sets that are searched by "the smallest key not below k", with most insertions at the
 * end. All operations are loops. Keys are unique. */
#ifndef TIDE_BASE_TREE_H
#define TIDE_BASE_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tide_tree_node {
  struct tide_tree_node *left, *right, *parent;
  uint64_t key;
};

struct tide_tree {
  struct tide_tree_node *root, *first, *last;
  uint64_t count;
};

/* While the tree has fewer nodes, an appended node is not rotated up by its priority, so a small
 * set is a list. At most this many nodes are out of heap order, and they deepen the tree by at most
 * as many levels. */
#define TIDE_TREE_FEW 16u

/* Parts of insert and remove out of line: into a tree that is not empty, and out of any tree. */
bool tide_tree_insert_more(struct tide_tree *tree, struct tide_tree_node *node, uint64_t key);
void tide_tree_remove_one(struct tide_tree *tree, struct tide_tree_node *node);

/* Inserts a node. False, and nothing changes: the key is listed already. */
static inline bool tide_tree_insert(struct tide_tree *tree, struct tide_tree_node *node,
                                    uint64_t key) {
  struct tide_tree_node *last = tree->last;
  node->key = key;
  node->left = node->right = node->parent = NULL;
  if (!last) {
    tree->root = tree->first = node;
  } else if (key > last->key && tree->count < TIDE_TREE_FEW) {
    node->parent = last;
    last->right = node;
  } else {
    return tide_tree_insert_more(tree, node, key);
  }
  tree->last = node;
  tree->count++;
  return true;
}
static inline void tide_tree_remove(struct tide_tree *tree, struct tide_tree_node *node) {
  struct tide_tree_node *next = node->right;
  if (tree->root != node || node->left || (next && next->left)) {
    tide_tree_remove_one(tree, node);
    return;
  }
  /* The root is the first node, and the next node is its child. */
  tree->root = tree->first = next;
  if (next) next->parent = NULL;
  else tree->last = NULL;
  tree->count--;
}
/* Returns the node with the smallest key >= key; NULL: none. */
struct tide_tree_node *tide_tree_at_least(const struct tide_tree *tree, uint64_t key);
/* Returns the node with the largest key < key; NULL: none. */
struct tide_tree_node *tide_tree_below(const struct tide_tree *tree, uint64_t key);
struct tide_tree_node *tide_tree_next(const struct tide_tree_node *node);
struct tide_tree_node *tide_tree_previous(const struct tide_tree_node *node);

#endif
