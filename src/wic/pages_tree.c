/* The WIC paper's segment tree in an array: node 1 is all pages, node i has the halves 2i and 2i +
 * 1, the leaves are pages. A node has the paper's maxLen, leftLen and rightLen, but not its `sum`,
 * which the search does not need. The pages are padded to a power of two with pages that are never
 * free, so that a node's position gives its size.
 *
 * The WIC paper updates a page at a time, from the root to its leaf: k pages are k log n nodes.
 * Here the pages of a run are updated together, level by level, so that a node above several of
 * them is updated once: 2 k + 2 log n. */
#include "wic/pages_kind.h"

#include "base/alloc.h"

struct node {
  uint32_t longest; /* maxLen: the longest run of free pages */
  uint32_t left;    /* leftLen: the free run that begins at the node's first page */
  uint32_t right;   /* rightLen: the free run that ends at its last */
};

struct tree {
  struct tide_pages pages;
  uint32_t leaves;
  struct node *nodes;
  uint32_t *lengths; /* indexed by the first page of an allocated run; 0 elsewhere */
};

static void tree_destroy(struct tide_pages *pages) {
  struct tree *tree = (struct tree *)pages;
  const struct tide_allocator *allocator = pages->allocator;
  tide_free(allocator, tree->nodes, 2 * (size_t)tree->leaves, sizeof *tree->nodes);
  tide_free(allocator, tree->lengths, pages->count, sizeof *tree->lengths);
  tide_free(allocator, tree, 1, sizeof *tree);
}

static inline uint32_t larger(uint32_t a, uint32_t b) { return a > b ? a : b; }

/* Computes a node from its two halves of `half` pages. */
static inline void join_halves(struct node *node, const struct node *halves, uint32_t half) {
  const struct node *l = &halves[0], *r = &halves[1];
  uint32_t across = l->right + r->left;
  node->left = l->left == half ? half + r->left : l->left;
  node->right = r->right == half ? half + l->right : r->right;
  node->longest = larger(across, larger(l->longest, r->longest));
}

/* Updates the nodes above these leaves. */
static void update_ancestors(struct tree *tree, uint32_t first, uint32_t count) {
  uint32_t from = tree->leaves + first, to = from + count - 1;
  for (uint32_t half = 1; from > 1; half *= 2) {
    from /= 2;
    to /= 2;
    for (uint32_t i = from; i <= to; i++)
      join_halves(&tree->nodes[i], &tree->nodes[2 * (size_t)i], half);
  }
}

static void set_pages(struct tree *tree, uint32_t first, uint32_t count, uint32_t free) {
  struct node *leaves = &tree->nodes[tree->leaves];
  for (uint32_t i = first; i < first + count; i++) leaves[i] = (struct node){free, free, free};
  update_ancestors(tree, first, count);
}

/* Returns the lowest run: a run in the left half begins before one across the middle. */
static uint32_t find_run(const struct tree *tree, uint32_t count) {
  const struct node *nodes = tree->nodes;
  uint32_t first = 0; /* the node's first page */
  size_t node = 1;
  if (nodes[node].longest < count) return TIDE_PAGES_NONE;
  for (uint32_t half = tree->leaves / 2; half > 0; half /= 2) {
    const struct node *l = &nodes[2 * node], *r = &nodes[2 * node + 1];
    if (l->longest >= count) {
      node = 2 * node;
      continue;
    }
    if (l->right + r->left >= count) return first + half - l->right;
    node = 2 * node + 1;
    first += half;
  }
  return first;
}

static uint32_t tree_alloc(struct tide_pages *pages, uint32_t count) {
  struct tree *tree = (struct tree *)pages;
  uint32_t first = find_run(tree, count);
  if (first == TIDE_PAGES_NONE) return first;
  tree->lengths[first] = count;
  set_pages(tree, first, count, 0);
  return first;
}

static bool tree_free(struct tide_pages *pages, uint32_t first, uint32_t count) {
  struct tree *tree = (struct tree *)pages;
  if (tree->lengths[first] != count) return false;
  tree->lengths[first] = 0;
  set_pages(tree, first, count, 1);
  return true;
}

static uint32_t tree_largest(const struct tide_pages *pages) {
  return ((const struct tree *)pages)->nodes[1].longest;
}

static struct tide_pages *tree_create(const struct tide_allocator *allocator, uint32_t count) {
  struct tree *tree = tide_alloc(allocator, 1, sizeof *tree);
  if (!tree) return NULL;
  tree->pages.allocator = allocator;
  tree->pages.count = count;
  tree->leaves = 1;
  while (tree->leaves < count) tree->leaves *= 2;
  tree->nodes = tide_alloc(allocator, 2 * (size_t)tree->leaves, sizeof *tree->nodes);
  tree->lengths = tide_alloc(allocator, count, sizeof *tree->lengths);
  if (!tree->nodes || !tree->lengths) {
    tree_destroy(&tree->pages);
    return NULL;
  }
  set_pages(tree, 0, count, 1);
  return &tree->pages;
}

const struct tide_pages_class tide_pages_tree = {.create = tree_create,
                                                 .destroy = tree_destroy,
                                                 .alloc = tree_alloc,
                                                 .free = tree_free,
                                                 .largest = tree_largest};
