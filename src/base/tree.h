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
  uint64_t count;
};

/* As long as there are no more, what comes at the end is hung there without being weighed, so that
 * few are a list. Never are there more that were not weighed, and the tree is that much deeper. */
#define TIDE_TREE_FEW 16u

/* Into a tree that has others, and out of one. */
bool tide_tree_insert_more(struct tide_tree *tree, struct tide_tree_node *node, uint64_t key);
void tide_tree_remove_one(struct tide_tree *tree, struct tide_tree_node *node);

/* False (and nothing changes) when the key is there already. */
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
  /* The first one, and the next is below it. */
  tree->root = tree->first = next;
  if (next) next->parent = NULL;
  else tree->last = NULL;
  tree->count--;
}
/* The smallest key >= key; NULL when there is none. */
struct tide_tree_node *tide_tree_at_least(const struct tide_tree *tree, uint64_t key);
/* The largest key < key; NULL when there is none. */
struct tide_tree_node *tide_tree_below(const struct tide_tree *tree, uint64_t key);
struct tide_tree_node *tide_tree_next(const struct tide_tree_node *node);
struct tide_tree_node *tide_tree_previous(const struct tide_tree_node *node);

#endif
