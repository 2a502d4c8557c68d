/* Frontiers whose axes lie close together, which vectors take, and the same ones without vectors:
 * both against naive.h. Each lies in memory of just its size, so that a sanitizer sees what reaches
 * beyond. */
#include "naive.h"

#include "base/random.h"
#include "causal/frontier_wide.h"

#include <stdlib.h>
#include <string.h>

static void be_narrow(bool narrow) {
#if TIDE_HAS_WIDE
  tide_frontier_narrow = narrow;
#else
  (void)narrow;
#endif
}

struct pair {
  struct tide_frontier *ours;
  struct naive naive;
};

static struct tide_frontier *new_frontier(size_t capacity) {
  size_t size = tide_frontier_size(capacity);
  struct tide_frontier *f = malloc(size);
  CHECK(f);
  memset(f, 0xa5, size); /* what was there before must not matter */
  tide_frontier_init(f, (uint8_t)capacity);
  return f;
}

/* Most are small; some have the highest bit. */
static uint64_t some_epoch(struct tide_random *random) {
  uint64_t epoch = 1 + tide_random_below(random, 100);
  uint64_t kind = tide_random_below(random, 8);
  return kind == 0 ? UINT64_MAX - epoch : kind == 1 ? (1ull << 63) + epoch - 50 : epoch;
}

static void raise(struct pair *pair, tide_axis axis, uint64_t epoch) {
  tide_frontier_raise(pair->ours, axis, epoch, NULL);
  naive_raise(&pair->naive, axis, epoch);
}

/* `count` of the `span` axes from `base` on. */
static void make_any(struct tide_random *random, struct pair *pair, size_t count, tide_axis base,
                     size_t span) {
  pair->ours = new_frontier(count);
  naive_clear(&pair->naive);
  while (pair->ours->count < count)
    raise(pair, base + tide_random_below(random, span), some_epoch(random));
  CHECK(naive_same(pair->ours, &pair->naive));
}

/* Some of f's entries, no higher; now and then one that is higher, or one that f lacks. */
static void make_part(struct tide_random *random, struct pair *pair, const struct pair *f,
                      size_t span) {
  uint64_t of = 1 + tide_random_below(random, 4), part = 1 + tide_random_below(random, of);
  const tide_axis *axes = tide_frontier_axes(f->ours);
  pair->ours = new_frontier((size_t)f->ours->count < 255 ? f->ours->count + 1u : 255);
  naive_clear(&pair->naive);
  for (size_t i = 0; i < f->ours->count; i++) {
    uint64_t epoch = tide_frontier_epochs(f->ours)[i];
    if (tide_random_below(random, of) < part)
      raise(pair, axes[i], tide_random_below(random, 2) ? epoch : (epoch + 1) / 2);
  }
  size_t count = pair->ours->count;
  uint64_t kind = tide_random_below(random, 4);
  if (kind == 0 && count > 0) {
    tide_axis axis = tide_frontier_axes(pair->ours)[tide_random_below(random, count)];
    raise(pair, axis, tide_frontier_get(f->ours, axis) + 1);
  } else if (kind == 1 && count < pair->ours->capacity) {
    raise(pair, axes[0] + tide_random_below(random, span), some_epoch(random));
  }
}

static void check_questions(const struct pair *f, const struct pair *g) {
  CHECK(tide_frontier_dominates(f->ours, g->ours) == naive_dominates(&f->naive, &g->naive));
  CHECK(tide_frontier_dominates(g->ours, f->ours) == naive_dominates(&g->naive, &f->naive));
  CHECK(tide_frontier_compare(f->ours, g->ours) == naive_compare(&f->naive, &g->naive));
  CHECK(tide_frontier_compare(g->ours, f->ours) == naive_compare(&g->naive, &f->naive));
  for (size_t i = 0; i < g->naive.count; i++) {
    for (tide_axis axis = g->naive.axis[i] - 1; axis <= g->naive.axis[i] + 1; axis++)
      CHECK_EQ_U64(tide_frontier_get(f->ours, axis), naive_get(&f->naive, axis));
  }
}

/* Into just enough room, into more, and into less. */
static void check_merge(struct tide_random *random, const struct pair *f, const struct pair *g) {
  struct naive both = f->naive;
  naive_merge(&both, &g->naive);
  size_t least = f->ours->count, room = both.count;
  if (tide_random_below(random, 4) == 0) room = least + tide_random_below(random, 2 * least);
  else if (tide_random_below(random, 2)) room += tide_random_below(random, 8);
  if (room > 255) room = 255;
  struct tide_frontier *to = new_frontier(room);
  tide_frontier_copy(to, f->ours, NULL);
  tide_frontier_merge(to, g->ours, NULL);
  naive_evict(&both, room, NULL, 0);
  CHECK_OK(tide_frontier_validate(to, NULL));
  CHECK(naive_same(to, &both));
  tide_frontier_merge(to, to, NULL);
  CHECK(naive_same(to, &both));
  free(to);
}

static void check_raise(struct tide_random *random, struct pair *f, size_t span) {
  tide_axis first = tide_frontier_axes(f->ours)[0];
  for (int i = 0; i < 8; i++) {
    tide_axis axis = first + tide_random_below(random, span);
    if (naive_get(&f->naive, axis) == 0 && f->ours->count == f->ours->capacity) continue;
    for (int twice = 0; twice < 2; twice++) raise(f, axis, some_epoch(random));
    CHECK(naive_same(f->ours, &f->naive));
    if (tide_random_below(random, 2)) continue;
    tide_frontier_drop(f->ours, axis);
    naive_drop(&f->naive, axis);
    raise(f, first, some_epoch(random));
    CHECK(naive_same(f->ours, &f->naive));
  }
}

/* Also such that the axes lie on both sides of where a half, or the sign, of a word changes. */
static tide_axis some_base(struct tide_random *random) {
  tide_axis queue = tide_axis_make(0, TIDE_DOMAIN_QUEUE, 1 + tide_random_below(random, 100));
  uint64_t below = 1 + tide_random_below(random, 16);
  switch (tide_random_below(random, 16)) {
    case 0: return 1; /* no domain; small numbers are axes, too */
    case 1: return (1ull << 31) - below;
    case 2: return (1ull << 32) - below;
    case 3: return (1ull << 63) - below;
    case 4: return queue | 1ull << 31;
    default: return queue;
  }
}

static void random_round(struct tide_random *random) {
  static struct pair f, g;
  static const size_t sizes[] = {8, 24, 200};
  size_t most = sizes[tide_random_below(random, 3)];
  size_t n = 1 + tide_random_below(random, most), m = 1 + tide_random_below(random, most);
  size_t larger = n < m ? m : n;
  size_t span = larger + tide_random_below(random, 2 * larger);
  tide_axis base = some_base(random);
  make_any(random, &f, n, base, span);
  if (tide_random_below(random, 2)) make_any(random, &g, m, base, span);
  else make_part(random, &g, &f, span);
  check_questions(&f, &g);
  check_merge(random, &f, &g);
  if (g.ours->count > 0) check_merge(random, &g, &f);
  check_raise(random, &f, span);
  free(f.ours);
  free(g.ours);
}

static void many_rounds(void) {
  struct tide_random random = {20261121};
  for (unsigned round = 0; round < 9000 / test_slowdown(); round++) random_round(&random);
}

TEST(close_axes_as_the_processor_likes) {
  be_narrow(false);
  many_rounds();
}

TEST(close_axes_without_vectors) {
  be_narrow(true);
  many_rounds();
  be_narrow(false);
}

TEST_MAIN(CASE(close_axes_as_the_processor_likes), CASE(close_axes_without_vectors))
