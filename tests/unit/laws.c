/* The laws of frontiers, for every frontier on up to three axes with epochs 0 to 3, tainted or
 * not, and for large random ones: against each other, and against naive.h. */
#include "naive.h"

#include "base/random.h"

#define ALL 128 /* 4 × 4 × 4 × taint */

/* Different machines, domains and ordinals, in ascending order. */
static tide_axis axis_of(unsigned i) {
  static const tide_axis axes[3] = {1ull << 44 | 7, 3ull << 44 | 1,
                                    0xffffull << 48 | 1ull << 44 | 2};
  return axes[i];
}

typedef TIDE_FRONTIER_STORAGE(small, 3);
typedef TIDE_FRONTIER_STORAGE(big, 255);

static small every[ALL];
static struct naive naive_every[ALL];

static unsigned epoch_in(unsigned code, unsigned axis) { return code >> (2 * axis) & 3; }

static void make_every(void) {
  for (unsigned code = 0; code < ALL; code++) {
    struct tide_frontier *f = &every[code].frontier;
    tide_frontier_init(f, 3);
    naive_clear(&naive_every[code]);
    for (unsigned i = 0; i < 3; i++) {
      unsigned axis = (i + code) % 3; /* in different orders */
      tide_frontier_raise(f, axis_of(axis), epoch_in(code, axis), NULL);
      naive_raise(&naive_every[code], axis_of(axis), epoch_in(code, axis));
    }
    f->tainted = code >= ALL / 2;
    naive_every[code].tainted = code >= ALL / 2;
    CHECK(naive_same(f, &naive_every[code]));
  }
}

static bool tainted(unsigned code) { return code >= ALL / 2; }
static const struct tide_frontier *get(unsigned code) { return &every[code].frontier; }
static bool dominates(unsigned f, unsigned g) { return tide_frontier_dominates(get(f), get(g)); }

/* The code of what ours is; so equality is equality of every entry and the taint. */
static unsigned code_of(const struct tide_frontier *f) {
  CHECK_OK(tide_frontier_validate(f, NULL));
  unsigned code = f->tainted ? ALL / 2 : 0, found = 0;
  for (unsigned i = 0; i < 3; i++) {
    uint64_t epoch = tide_frontier_get(f, axis_of(i));
    CHECK(epoch < 4);
    found += epoch != 0;
    code |= (unsigned)epoch << (2 * i);
  }
  CHECK_EQ_U64(f->count, found);
  return code;
}

static unsigned merge(unsigned f, unsigned g) {
  small to;
  tide_frontier_init(&to.frontier, 3);
  tide_frontier_copy(&to.frontier, get(f), NULL);
  CHECK(code_of(&to.frontier) == f);
  tide_frontier_merge(&to.frontier, get(g), NULL);
  return code_of(&to.frontier);
}

TEST(dominance_is_a_partial_order) {
  make_every();
  for (unsigned f = 0; f < ALL; f++) {
    CHECK(dominates(f, f) == !tainted(f));
    for (unsigned g = 0; g < ALL; g++) {
      if (dominates(f, g) && dominates(g, f)) CHECK(f == g);
      for (unsigned h = 0; h < ALL; h++) {
        if (dominates(f, g) && dominates(g, h)) CHECK(dominates(f, h));
      }
    }
  }
}

TEST(dominance_and_order_are_as_the_naive_ones) {
  make_every();
  for (unsigned f = 0; f < ALL; f++) {
    for (unsigned g = 0; g < ALL; g++) {
      CHECK(dominates(f, g) == naive_dominates(&naive_every[f], &naive_every[g]));
      enum tide_order order = tide_frontier_compare(get(f), get(g));
      CHECK(order == naive_compare(&naive_every[f], &naive_every[g]));
      CHECK((order == TIDE_EQUAL) == (dominates(f, g) && dominates(g, f)));
      enum tide_order back = tide_frontier_compare(get(g), get(f));
      CHECK((order == TIDE_BEFORE) == (back == TIDE_AFTER));
      CHECK((order == TIDE_CONCURRENT) == (back == TIDE_CONCURRENT));
    }
  }
}

/* "Does f know all that g needs?": not when g's needs are not all listed, even if none is. */
TEST(taint_counts_on_the_right_side_only) {
  make_every();
  for (unsigned f = 0; f < ALL; f++) {
    for (unsigned g = 0; g < ALL / 2; g++) {
      CHECK(!dominates(f, g + ALL / 2));
      CHECK(!tide_frontier_satisfied(get(f), NULL, get(g + ALL / 2)));
      CHECK(dominates(f, g) == dominates(f % (ALL / 2), g));
    }
    CHECK(dominates(f, 0));
  }
}

TEST(merge_is_commutative_associative_idempotent) {
  make_every();
  static uint8_t merged[ALL][ALL];
  for (unsigned f = 0; f < ALL; f++) {
    for (unsigned g = 0; g < ALL; g++) merged[f][g] = (uint8_t)merge(f, g);
  }
  for (unsigned f = 0; f < ALL; f++) {
    CHECK(merged[f][f] == f);
    CHECK(merged[f][0] == f);
    for (unsigned g = 0; g < ALL; g++) {
      CHECK(merged[f][g] == merged[g][f]);
      CHECK(tainted(merged[f][g]) == (tainted(f) || tainted(g)));
      for (unsigned h = 0; h < ALL; h++) CHECK(merged[merged[f][g]][h] == merged[f][merged[g][h]]);
    }
  }
}

TEST(merge_is_the_least_upper_bound) {
  make_every();
  for (unsigned f = 0; f < ALL / 2; f++) {
    for (unsigned g = 0; g < ALL / 2; g++) {
      unsigned both = merge(f, g);
      CHECK(dominates(both, f) && dominates(both, g));
      CHECK(dominates(f, g) == (both == f));
      for (unsigned bound = 0; bound < ALL / 2; bound++) {
        if (dominates(bound, f) && dominates(bound, g)) CHECK(dominates(bound, both));
      }
    }
  }
}

/* A tracker that knows the three axes at the epochs of `code`. */
static struct tide_tracker *make_tracker(unsigned code) {
  struct tide_tracker_params params = {
      .struct_size = sizeof params, tide_allocator_system(), tide_platform_linux()};
  struct tide_tracker *tracker;
  CHECK_OK(tide_tracker_create(&params, &tracker));
  for (unsigned i = 0; i < 3; i++) {
    if (epoch_in(code, i) == 0) continue; /* unknown is as good as nothing finished */
    CHECK_OK(tide_tracker_register(tracker, axis_of(i)));
    CHECK_OK(tide_tracker_advance(tracker, axis_of(i), epoch_in(code, i)));
  }
  return tracker;
}

/* Copies f into a smaller frontier and merges g into that, all against the naive one. */
static void evict_and_compare(unsigned f, unsigned g, uint8_t capacity,
                              const struct tide_eviction *eviction, const struct naive *finished) {
  small to;
  struct naive naive;
  tide_axis keep = eviction ? eviction->keep : 0;
  tide_frontier_init(&to.frontier, capacity);
  tide_frontier_copy(&to.frontier, get(f), eviction);
  naive = naive_every[f];
  naive_evict(&naive, capacity, finished, keep);
  CHECK(naive_same(&to.frontier, &naive));

  tide_frontier_merge(&to.frontier, get(g), eviction);
  naive_merge(&naive, &naive_every[g]);
  naive_evict(&naive, capacity, finished, keep);
  CHECK(naive_same(&to.frontier, &naive));

  /* Said without the naive one: what is gone without taint has finished; keep is never gone. */
  unsigned both = merge(f, g);
  for (unsigned i = 0; i < 3; i++) {
    uint64_t was = epoch_in(both, i), is = tide_frontier_get(&to.frontier, axis_of(i));
    CHECK(is <= was);
    if (!to.frontier.tainted && is < was) CHECK(naive_finished(finished, axis_of(i), was));
    if (axis_of(i) == keep) CHECK(is == was);
  }
}

TEST(eviction_without_a_tracker) {
  make_every();
  for (unsigned f = 0; f < ALL; f++) {
    for (unsigned g = 0; g < ALL; g++) {
      for (uint8_t capacity = 1; capacity <= 3; capacity++) {
        evict_and_compare(f, g, capacity, NULL, NULL);
        for (unsigned keep = 0; keep < 3; keep++) {
          struct tide_eviction eviction = {NULL, axis_of(keep)};
          evict_and_compare(f, g, capacity, &eviction, NULL);
        }
      }
    }
  }
}

TEST(eviction_with_every_tracker) {
  make_every();
  for (unsigned code = 0; code < ALL / 2; code++) {
    struct tide_tracker *tracker = make_tracker(code);
    for (unsigned f = 0; f < ALL / 2; f++) {
      for (unsigned g = 0; g < ALL / 2; g++) {
        unsigned capacity = 1 + (f + g) % 2, keep = (f + g + code) % 4;
        struct tide_eviction eviction = {tracker, keep < 3 ? axis_of(keep) : 0};
        evict_and_compare(f, g, (uint8_t)capacity, &eviction, &naive_every[code]);
      }
    }
    tide_tracker_destroy(tracker);
  }
}

TEST(satisfied_with_every_tracker) {
  make_every();
  for (unsigned code = 0; code < ALL / 2; code++) {
    struct tide_tracker *tracker = make_tracker(code);
    for (unsigned f = 0; f < ALL; f++) {
      for (unsigned g = 0; g < ALL; g++) {
        bool got = tide_frontier_satisfied(get(f), tracker, get(g));
        CHECK(got == naive_satisfied(&naive_every[f], &naive_every[code], &naive_every[g]));
        got = tide_frontier_satisfied(get(f), NULL, get(g));
        CHECK(got == dominates(f, g));
      }
    }
    tide_tracker_destroy(tracker);
  }
}

/* ---- large ones ---- */

/* Up to `most` entries from `axes` axes; few axes make equal sets and ties. */
static void make_random(struct tide_random *random, struct tide_frontier *f, struct naive *naive,
                        size_t most, uint64_t axes, uint64_t epochs) {
  tide_frontier_clear(f);
  naive_clear(naive);
  size_t count = tide_random_below(random, most + 1);
  for (size_t i = 0; i < count && naive->count < f->capacity; i++) {
    uint64_t ordinal = 1 + tide_random_below(random, axes);
    tide_axis axis = tide_axis_make((uint16_t)(ordinal % 3), TIDE_DOMAIN_QUEUE, ordinal);
    uint64_t epoch = 1 + tide_random_below(random, epochs);
    if (tide_random_below(random, 16) == 0) epoch = UINT64_MAX - epoch;
    tide_frontier_raise(f, axis, epoch, NULL);
    naive_raise(naive, axis, epoch);
  }
  f->tainted = naive->tainted = tide_random_below(random, 8) == 0;
}

static void random_round(struct tide_random *random, uint8_t capacity, uint64_t axes,
                         uint64_t epochs) {
  static big f, g, h;
  static struct naive nf, ng, nh, finished;
  tide_frontier_init(&f.frontier, capacity);
  tide_frontier_init(&g.frontier, (uint8_t)(1 + tide_random_below(random, 255)));
  make_random(random, &f.frontier, &nf, capacity, axes, epochs);
  make_random(random, &g.frontier, &ng, g.frontier.capacity, axes, epochs);
  CHECK(naive_same(&f.frontier, &nf) && naive_same(&g.frontier, &ng));
  switch (tide_random_below(random, 4)) { /* make some that are ordered, and some equal sets */
    case 0:
      tide_frontier_copy(&g.frontier, &f.frontier, NULL);
      ng = nf;
      naive_evict(&ng, g.frontier.capacity, NULL, 0);
      break;
    case 1:
      if (g.frontier.count == 0) break;
      for (int i = 0; i < 3; i++) {
        tide_axis axis = entry_at(&g.frontier, tide_random_below(random, g.frontier.count)).axis;
        tide_frontier_raise(&g.frontier, axis, epochs + 1, NULL);
        naive_raise(&ng, axis, epochs + 1);
      }
      break;
    default: break;
  }
  CHECK(tide_frontier_dominates(&f.frontier, &g.frontier) == naive_dominates(&nf, &ng));
  CHECK(tide_frontier_compare(&f.frontier, &g.frontier) == naive_compare(&nf, &ng));

  struct tide_tracker_params params = {
      .struct_size = sizeof params, tide_allocator_system(), tide_platform_linux()};
  struct tide_tracker *tracker = NULL;
  naive_clear(&finished);
  if (tide_random_below(random, 4) == 0) {
    CHECK_OK(tide_tracker_create(&params, &tracker));
    for (size_t i = 0; i < nf.count; i += 2) {
      CHECK_OK(tide_tracker_register(tracker, nf.axis[i]));
      CHECK_OK(tide_tracker_advance(tracker, nf.axis[i], epochs / 2));
      naive_raise(&finished, nf.axis[i], epochs / 2);
    }
  }
  CHECK(tide_frontier_satisfied(&g.frontier, tracker, &f.frontier) ==
        naive_satisfied(&ng, &finished, &nf));

  tide_axis keep = nf.count ? nf.axis[tide_random_below(random, nf.count)] : 0;
  struct tide_eviction eviction = {tracker, keep};
  tide_frontier_init(&h.frontier, (uint8_t)(1 + tide_random_below(random, 255)));
  tide_frontier_copy(&h.frontier, &f.frontier, &eviction);
  nh = nf;
  naive_evict(&nh, h.frontier.capacity, &finished, keep);
  CHECK(naive_same(&h.frontier, &nh));
  tide_frontier_merge(&h.frontier, &g.frontier, &eviction);
  naive_merge(&nh, &ng);
  naive_evict(&nh, h.frontier.capacity, &finished, keep);
  CHECK(naive_same(&h.frontier, &nh));
  tide_tracker_destroy(tracker);
}

TEST(random_frontiers_of_every_size) {
  struct tide_random random = {20260801};
  for (unsigned round = 0; round < 20000 / test_slowdown(); round++) {
    uint8_t capacity = (uint8_t)(1 + (round & 1 ? tide_random_below(&random, 255)
                                                : tide_random_below(&random, 20)));
    uint64_t axes = 1 + tide_random_below(&random, round & 2 ? 400 : 2u * capacity);
    random_round(&random, capacity, axes, 1 + tide_random_below(&random, round & 4 ? 1000 : 4));
  }
}

TEST_MAIN(CASE(dominance_is_a_partial_order), CASE(dominance_and_order_are_as_the_naive_ones),
          CASE(taint_counts_on_the_right_side_only),
          CASE(merge_is_commutative_associative_idempotent), CASE(merge_is_the_least_upper_bound),
          CASE(eviction_without_a_tracker), CASE(eviction_with_every_tracker),
          CASE(satisfied_with_every_tracker), CASE(random_frontiers_of_every_size))
