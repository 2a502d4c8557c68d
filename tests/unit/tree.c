/* Ordered sets against a sorted list; and how deep they get. */
#include "base/tree.h"
#include "base/random.h"
#include "harness.h"
#include <stdlib.h>
#include <string.h>

#define MOST 4096

struct set {
  struct tide_tree tree;
  struct tide_tree_node nodes[MOST];
  struct tide_tree_node *free[MOST];
  uint64_t sorted[MOST];
  size_t count;
};

static struct set *set_open(void) {
  struct set *set = calloc(1, sizeof *set);
  CHECK(set);
  for (size_t i = 0; i < MOST; i++) set->free[i] = &set->nodes[i];
  return set;
}

static size_t place_of(const struct set *set, uint64_t key) {
  size_t i = 0;
  while (i < set->count && set->sorted[i] < key) i++;
  return i;
}

static void add(struct set *set, uint64_t key) {
  size_t i = place_of(set, key);
  bool is_new = i == set->count || set->sorted[i] != key;
  CHECK(tide_tree_insert(&set->tree, set->free[set->count], key) == is_new);
  if (!is_new) return;
  memmove(&set->sorted[i + 1], &set->sorted[i], (set->count - i) * sizeof *set->sorted);
  set->sorted[i] = key;
  set->count++;
}

static void take(struct set *set, size_t i) {
  struct tide_tree_node *node = tide_tree_at_least(&set->tree, set->sorted[i]);
  CHECK(node && node->key == set->sorted[i]);
  tide_tree_remove(&set->tree, node);
  set->count--;
  memmove(&set->sorted[i], &set->sorted[i + 1], (set->count - i) * sizeof *set->sorted);
  set->free[set->count] = node;
}

/* How deep the deepest is; every link is looked at, both ways. */
static size_t check_below(const struct tide_tree_node *node) {
  size_t left = 0, right = 0;
  if (!node) return 0;
  if (node->left) CHECK(node->left->parent == node && node->left->key < node->key);
  if (node->right) CHECK(node->right->parent == node && node->right->key > node->key);
  left = check_below(node->left), right = check_below(node->right);
  return 1 + (left > right ? left : right);
}

static size_t check(const struct set *set) {
  const struct tide_tree *tree = &set->tree;
  const struct tide_tree_node *at = tree->first, *before = NULL;
  CHECK_EQ_U64(tree->count, set->count);
  CHECK(!tree->root || !tree->root->parent);
  for (size_t i = 0; i < set->count; i++) {
    CHECK(at && at->key == set->sorted[i]);
    CHECK(tide_tree_previous(at) == before);
    before = at, at = tide_tree_next(at);
  }
  CHECK(!at && tree->last == before);
  return check_below(tree->root);
}

static void ask(const struct set *set, uint64_t key) {
  size_t i = place_of(set, key);
  const struct tide_tree_node *node = tide_tree_at_least(&set->tree, key);
  if (i == set->count) CHECK(!node);
  else CHECK(node && node->key == set->sorted[i]);
}

/* Of few and of many; at the end, at the beginning and between. */
TEST(random_steps) {
  for (uint64_t seed = 1; seed <= 60; seed++) {
    struct set *set = set_open();
    struct tide_random random = {seed};
    uint64_t most = 1 + tide_random_below(&random, seed % 3 ? 24 : 200), end = 1000;
    uint64_t at_end = tide_random_below(&random, 5), in_order = tide_random_below(&random, 5);
    for (int step = 0; step < 3000; step++) {
      bool more = set->count == 0 || (set->count < most && tide_random_below(&random, 2));
      if (more && tide_random_below(&random, 4) < at_end)
        add(set, end += 1 + tide_random_below(&random, 3));
      else if (more) add(set, tide_random_below(&random, end + 10));
      else if (tide_random_below(&random, 4) < in_order) take(set, 0);
      else take(set, tide_random_below(&random, set->count));
      if (set->count && set->sorted[set->count - 1] > end) end = set->sorted[set->count - 1];
      ask(set, tide_random_below(&random, end + 10));
      (void)check(set);
    }
    while (set->count) take(set, 0);
    CHECK(!set->tree.root && !set->tree.first && !set->tree.last);
    free(set);
  }
}

/* However it was filled, thousands are not a list: few, and five times the logarithm. */
TEST(depth) {
  for (int way = 0; way < 4; way++) {
    struct set *set = set_open();
    struct tide_random random = {(uint64_t)way};
    uint64_t key = 1u << 20;
    for (int round = 0; round < 4; round++) {
      while (set->count < MOST) {
        if (way == 0) add(set, key++);
        else if (way == 1) add(set, --key);
        else if (way == 2) add(set, tide_random_below(&random, 1u << 20));
        else add(set, set->count % 32 < 16 ? key++ : tide_random_below(&random, 1u << 20));
      }
      CHECK(check(set) <= TIDE_TREE_FEW + 5 * 12);
      /* Down to so few that more are hung at the end. */
      while (set->count > (way == 0 ? 0u : 5u)) take(set, way == 3 ? set->count / 2 : 0);
      (void)check(set);
    }
    free(set);
  }
}

TEST_MAIN(CASE(random_steps), CASE(depth))
