/* base/tree.h: an intrusive ordered set of 64-bit keys (a treap with parent links).
 *
 * For what must be found by "the smallest key not below k" among very many, with
 * most insertions at the end. All operations are loops. Keys are unique. */
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
};

/* Into a tree that has others, and out of one. */
bool tide_tree_insert_more(struct tide_tree *tree, struct tide_tree_node *node, uint64_t key);
void tide_tree_remove_one(struct tide_tree *tree, struct tide_tree_node *node);

/* False (and nothing changes) when the key is there already. */
static inline bool tide_tree_insert(struct tide_tree *tree, struct tide_tree_node *node,
                                    uint64_t key) {
  node->key = key;
  node->left = node->right = node->parent = NULL;
  if (tree->root) return tide_tree_insert_more(tree, node, key);
  tree->root = tree->first = tree->last = node;
  return true;
}
static inline void tide_tree_remove(struct tide_tree *tree, struct tide_tree_node *node) {
  if (tree->first == node && tree->last == node) tree->root = tree->first = tree->last = NULL;
  else tide_tree_remove_one(tree, node);
}
/* The smallest key >= key; NULL when there is none. */
struct tide_tree_node *tide_tree_at_least(const struct tide_tree *tree, uint64_t key);
struct tide_tree_node *tide_tree_next(const struct tide_tree_node *node);
struct tide_tree_node *tide_tree_previous(const struct tide_tree_node *node);

#endif
