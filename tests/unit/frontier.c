/* Frontiers: the sharp edges one by one. The laws are in laws.c. */
#include "naive.h"

#include "base/random.h"
#include "tidemark/causal.h"

#include <string.h>

typedef TIDE_FRONTIER_STORAGE(storage, 255);

static tide_axis queue(uint64_t ordinal) { return tide_axis_make(0, TIDE_DOMAIN_QUEUE, ordinal); }

static struct tide_frontier *make(storage *room, uint8_t capacity) {
  memset(room, 0xa5, sizeof *room); /* what was there before must not matter */
  tide_frontier_init(&room->frontier, capacity);
  return &room->frontier;
}

/* `count` entries: queue first, first + step, … at `epoch`, epoch + 1, … */
static void fill(struct tide_frontier *f, uint64_t first, uint64_t step, size_t count,
                 uint64_t epoch) {
  for (size_t i = 0; i < count; i++)
    tide_frontier_raise(f, queue(first + i * step), epoch + i, NULL);
}

static void check_text(const struct tide_frontier *f, const char *want) {
  char text[512];
  CHECK_OK(tide_frontier_validate(f, NULL));
  tide_frontier_print(f, text, sizeof text);
  CHECK_EQ_STR(text, want);
}

TEST(a_new_frontier_is_empty) {
  storage room;
  struct tide_frontier *f = make(&room, 0);
  CHECK_EQ_U64(f->capacity, 1);
  f = make(&room, 255);
  CHECK(f->capacity == 255 && f->count == 0 && !f->tainted);
  CHECK_OK(tide_frontier_validate(f, NULL));
  CHECK_EQ_U64(tide_frontier_get(f, queue(1)), 0);
  CHECK_EQ_U64(sizeof(storage), tide_frontier_size(255));
}

TEST(raise_inserts_raises_and_never_lowers) {
  storage room;
  struct tide_frontier *f = make(&room, 4);
  tide_frontier_raise(f, queue(5), 7, NULL);
  tide_frontier_raise(f, queue(2), 3, NULL); /* before */
  tide_frontier_raise(f, queue(9), 1, NULL); /* behind */
  tide_frontier_raise(f, queue(4), 4, NULL); /* between */
  check_text(f, "{queue:0.2@3, queue:0.4@4, queue:0.5@7, queue:0.9@1}");
  tide_frontier_raise(f, queue(4), 3, NULL);
  tide_frontier_raise(f, queue(5), 7, NULL);
  tide_frontier_raise(f, queue(9), 2, NULL);
  tide_frontier_raise(f, queue(2), 0, NULL);
  tide_frontier_raise(f, queue(3), 0, NULL); /* nothing, also when full */
  check_text(f, "{queue:0.2@3, queue:0.4@4, queue:0.5@7, queue:0.9@2}");
}

TEST(raise_when_full_evicts_the_smallest_epoch) {
  storage room;
  struct tide_frontier *f = make(&room, 3);
  fill(f, 1, 1, 3, 5); /* 1@5 2@6 3@7 */
  tide_frontier_raise(f, queue(4), 9, NULL);
  check_text(f, "{queue:0.2@6, queue:0.3@7, queue:0.4@9}~");
  tide_frontier_clear(f);
  check_text(f, "{}");
  fill(f, 1, 1, 3, 5);
  tide_frontier_raise(f, queue(4), 2, NULL); /* the new one itself is the smallest */
  check_text(f, "{queue:0.1@5, queue:0.2@6, queue:0.3@7}~");
  struct tide_eviction keep = {NULL, queue(4)};
  tide_frontier_raise(f, queue(4), 2, &keep); /* but the own axis never goes */
  check_text(f, "{queue:0.2@6, queue:0.3@7, queue:0.4@2}~");
  tide_frontier_raise(f, queue(5), 8, &keep);
  check_text(f, "{queue:0.3@7, queue:0.4@2, queue:0.5@8}~");
}

TEST(ties_send_the_larger_axis_away) {
  storage room;
  struct tide_frontier *f = make(&room, 3);
  tide_frontier_raise(f, queue(2), 5, NULL);
  tide_frontier_raise(f, queue(6), 5, NULL);
  tide_frontier_raise(f, queue(4), 5, NULL);
  tide_frontier_raise(f, queue(5), 5, NULL);
  check_text(f, "{queue:0.2@5, queue:0.4@5, queue:0.5@5}~");
}

TEST(capacity_one) {
  storage a, b;
  struct tide_frontier *f = make(&a, 1), *g = make(&b, 1);
  tide_frontier_raise(f, queue(1), 1, NULL);
  tide_frontier_raise(g, queue(2), 2, NULL);
  struct tide_eviction keep = {NULL, queue(1)};
  tide_frontier_merge(f, g, &keep);
  check_text(f, "{queue:0.1@1}~");
  tide_frontier_merge(f, g, NULL);
  check_text(f, "{queue:0.2@2}~");
}

TEST(drop_takes_one_out_without_taint) {
  storage room;
  struct tide_frontier *f = make(&room, 3);
  fill(f, 1, 1, 3, 5);
  tide_frontier_drop(f, queue(9));
  tide_frontier_drop(f, queue(2));
  check_text(f, "{queue:0.1@5, queue:0.3@7}");
  tide_frontier_drop(f, queue(3));
  tide_frontier_drop(f, queue(1));
  tide_frontier_drop(f, queue(1));
  check_text(f, "{}");
}

TEST(merge_with_an_empty_one) {
  storage a, b;
  struct tide_frontier *f = make(&a, 8), *empty = make(&b, 8);
  tide_frontier_merge(f, empty, NULL);
  check_text(f, "{}");
  fill(f, 1, 1, 2, 5);
  tide_frontier_merge(f, empty, NULL);
  check_text(f, "{queue:0.1@5, queue:0.2@6}");
  tide_frontier_merge(empty, f, NULL);
  check_text(empty, "{queue:0.1@5, queue:0.2@6}");
  tide_frontier_clear(empty);
  empty->tainted = 1; /* an empty one may carry taint */
  tide_frontier_merge(f, empty, NULL);
  check_text(f, "{queue:0.1@5, queue:0.2@6}~");
}

TEST(merge_before_after_between) {
  storage a, b;
  struct tide_frontier *f = make(&a, 8), *g = make(&b, 8);
  fill(f, 4, 1, 2, 1);
  fill(g, 1, 1, 2, 1); /* wholly before */
  tide_frontier_merge(f, g, NULL);
  check_text(f, "{queue:0.1@1, queue:0.2@2, queue:0.4@1, queue:0.5@2}");
  g = make(&b, 8);
  fill(g, 8, 1, 2, 3); /* wholly after */
  tide_frontier_merge(f, g, NULL);
  g = make(&b, 8);
  fill(g, 6, 1, 2, 3); /* between */
  tide_frontier_merge(f, g, NULL);
  check_text(f, "{queue:0.1@1, queue:0.2@2, queue:0.4@1, queue:0.5@2, queue:0.6@3, queue:0.7@4, "
                "queue:0.8@3, queue:0.9@4}");
}

TEST(merge_fills_the_capacity_exactly) {
  storage a, b;
  struct tide_frontier *f = make(&a, 6), *g = make(&b, 6);
  fill(f, 1, 2, 3, 1);
  fill(g, 2, 2, 3, 1);
  tide_frontier_merge(f, g, NULL);
  check_text(f, "{queue:0.1@1, queue:0.2@1, queue:0.3@2, queue:0.4@2, queue:0.5@3, queue:0.6@3}");
  tide_frontier_merge(f, g, NULL); /* a part of it: nothing moves */
  CHECK(f->count == 6 && !f->tainted);
}

/* The count is a byte: 300 entries must become 255, not 44. */
TEST(two_hundred_and_one_hundred_apart) {
  storage a, b;
  struct tide_frontier *f = make(&a, 255), *g = make(&b, 255);
  fill(f, 1, 3, 200, 1000);
  fill(g, 2, 3, 100, 500);
  tide_frontier_merge(f, g, NULL);
  CHECK_OK(tide_frontier_validate(f, NULL));
  CHECK(f->count == 255 && f->tainted);
  for (size_t i = 0; i < 200; i++) CHECK_EQ_U64(tide_frontier_get(f, queue(1 + 3 * i)), 1000 + i);
  for (size_t i = 0; i < 100; i++)
    CHECK_EQ_U64(tide_frontier_get(f, queue(2 + 3 * i)), i < 45 ? 0 : 500 + i);
}

TEST(two_full_ones_apart) {
  storage a, b;
  struct tide_frontier *f = make(&a, 255), *g = make(&b, 255);
  fill(f, 1, 2, 255, 1);
  fill(g, 2, 2, 255, 1);
  CHECK(!tide_frontier_dominates(f, g));
  CHECK(tide_frontier_compare(f, g) == TIDE_CONCURRENT);
  tide_frontier_merge(f, g, NULL);
  CHECK_OK(tide_frontier_validate(f, NULL));
  CHECK(f->count == 255 && f->tainted);
  CHECK_EQ_U64(tide_frontier_get(f, queue(510)), 255);
  CHECK_EQ_U64(tide_frontier_get(f, queue(1 + 2 * 127)), 128); /* the tie: the smaller axis stays */
  CHECK_EQ_U64(tide_frontier_get(f, queue(2 + 2 * 127)), 0);
}

TEST(a_frontier_merged_with_itself) {
  storage a;
  struct tide_frontier *f = make(&a, 8);
  fill(f, 1, 1, 8, 5);
  tide_frontier_merge(f, f, NULL);
  tide_frontier_copy(f, f, NULL);
  CHECK(f->count == 8 && !f->tainted && tide_frontier_get(f, queue(8)) == 12);
  CHECK(tide_frontier_compare(f, f) == TIDE_EQUAL);
}

/* The result depends on the entries, not on capacities or the order in which they came. */
TEST(layout_does_not_matter) {
  struct tide_random random = {77};
  for (int round = 0; round < 2000; round++) {
    storage a, b, c, d;
    struct tide_frontier *f = make(&a, 5), *f2 = make(&b, 5), *g = make(&c, 9), *g2 = make(&d, 200);
    for (int i = 0; i < 5; i++) {
      uint64_t axis = 1 + tide_random_below(&random, 12), epoch = 1 + tide_random_below(&random, 4);
      tide_frontier_raise(f, queue(axis), epoch, NULL);
      axis = 1 + tide_random_below(&random, 12);
      tide_frontier_raise(g, queue(axis), epoch, NULL);
    }
    for (size_t i = f->count; i-- > 0;)
      tide_frontier_raise(f2, entry_at(f, i).axis, entry_at(f, i).epoch, NULL);
    for (size_t i = g->count; i-- > 0;)
      tide_frontier_raise(g2, entry_at(g, i).axis, entry_at(g, i).epoch, NULL);
    tide_frontier_merge(f, g, NULL);
    tide_frontier_merge(f2, g2, NULL);
    CHECK(f->count == f2->count && f->tainted == f2->tainted);
    CHECK(same_entries(f, f2));
  }
}

TEST(copy_into_a_smaller_one) {
  storage a, b;
  struct tide_frontier *f = make(&a, 6), *small = make(&b, 3);
  fill(f, 1, 1, 6, 1);
  struct tide_eviction keep = {NULL, queue(1)};
  tide_frontier_copy(small, f, &keep);
  check_text(small, "{queue:0.1@1, queue:0.5@5, queue:0.6@6}~");
  f->count = 2;
  tide_frontier_copy(small, f, NULL); /* the old taint goes with the old entries */
  check_text(small, "{queue:0.1@1, queue:0.2@2}");
  f->tainted = 1;
  tide_frontier_copy(small, f, NULL);
  check_text(small, "{queue:0.1@1, queue:0.2@2}~");
}

TEST(finished_entries_go_first_and_without_taint) {
  struct tide_tracker_params params = {
      .struct_size = sizeof params, tide_allocator_system(), tide_platform_linux()};
  struct tide_tracker *tracker;
  CHECK_OK(tide_tracker_create(&params, &tracker));
  for (uint64_t i = 1; i <= 6; i++) CHECK_OK(tide_tracker_register(tracker, queue(i)));
  CHECK_OK(tide_tracker_advance(tracker, queue(3), 100));
  CHECK_OK(tide_tracker_advance(tracker, queue(4), 50));
  CHECK_OK(tide_tracker_advance(tracker, queue(5), 49)); /* one short */
  storage a, b;
  struct tide_frontier *f = make(&a, 4), *g = make(&b, 4);
  tide_frontier_raise(f, queue(1), 1, NULL);
  tide_frontier_raise(f, queue(3), 100, NULL);
  tide_frontier_raise(f, queue(4), 50, NULL);
  tide_frontier_raise(f, queue(5), 50, NULL);
  struct tide_eviction eviction = {tracker, 0};
  tide_frontier_raise(f, queue(6), 1, &eviction); /* 4@50 goes: finished, smaller than 3@100 */
  check_text(f, "{queue:0.1@1, queue:0.3@100, queue:0.5@50, queue:0.6@1}");
  fill(g, 7, 1, 2, 9);
  tide_frontier_merge(f, g, &eviction); /* needs two: 3@100 without, then 6@1 with taint */
  check_text(f, "{queue:0.1@1, queue:0.5@50, queue:0.7@9, queue:0.8@10}~");

  f = make(&a, 2);
  tide_frontier_raise(f, queue(3), 100, NULL);
  tide_frontier_raise(f, queue(1), 5, NULL);
  eviction.keep = queue(3); /* finished, but kept */
  tide_frontier_raise(f, queue(6), 7, &eviction);
  check_text(f, "{queue:0.3@100, queue:0.6@7}~");

  CHECK_OK(tide_tracker_close(tracker, queue(6))); /* a closed axis has finished for ever */
  eviction.keep = 0;
  f->tainted = 0;
  tide_frontier_drop(f, queue(3));
  tide_frontier_raise(f, queue(1), 5, NULL);
  tide_frontier_raise(f, queue(2), 6, &eviction);
  check_text(f, "{queue:0.1@5, queue:0.2@6}");
  tide_tracker_destroy(tracker);
}

/* Disjoint frontiers do not dominate each other. */
TEST(disjoint_frontiers_do_not_dominate) {
  storage a, b, c;
  struct tide_frontier *f = make(&a, 4), *g = make(&b, 4), *empty = make(&c, 1);
  tide_frontier_raise(f, queue(1), 5, NULL);
  tide_frontier_raise(g, queue(2), 5, NULL);
  CHECK(!tide_frontier_dominates(f, g) && !tide_frontier_dominates(g, f));
  CHECK(tide_frontier_compare(f, g) == TIDE_CONCURRENT); /* same count, different axes */
  CHECK(tide_frontier_dominates(f, empty) && !tide_frontier_dominates(empty, f));
  CHECK(tide_frontier_compare(f, empty) == TIDE_AFTER);
  CHECK(tide_frontier_compare(empty, f) == TIDE_BEFORE);
  CHECK(tide_frontier_compare(empty, empty) == TIDE_EQUAL);
  empty->tainted = 1; /* nothing listed, and yet it may need anything */
  CHECK(!tide_frontier_dominates(f, empty));
  CHECK(tide_frontier_compare(f, empty) == TIDE_CONCURRENT);
}

TEST(order_with_taint) {
  storage a, b;
  struct tide_frontier *f = make(&a, 4), *g = make(&b, 4);
  tide_frontier_raise(f, queue(1), 5, NULL);
  tide_frontier_raise(g, queue(1), 5, NULL);
  CHECK(tide_frontier_compare(f, g) == TIDE_EQUAL);
  g->tainted = 1;
  CHECK(tide_frontier_compare(f, g) == TIDE_BEFORE);
  CHECK(tide_frontier_compare(g, f) == TIDE_AFTER);
  f->tainted = 1;
  CHECK(tide_frontier_compare(f, g) == TIDE_CONCURRENT);
  CHECK(tide_frontier_compare(f, f) == TIDE_CONCURRENT); /* reflexive only without taint */
}

TEST(dominance_asks_each_entry) {
  storage a, b;
  for (size_t n = 1; n <= 40; n++) {
    for (size_t m = 1; m <= n; m++) {
      struct tide_frontier *f = make(&a, 40), *g = make(&b, 40);
      fill(f, 10, 10, n, 100);
      for (size_t i = 0; i < m; i++) {
        size_t at = n - 1 - i * n / m; /* m of f's axes, spread */
        tide_frontier_raise(g, queue(10 + 10 * at), 100 + at, NULL);
      }
      CHECK(tide_frontier_dominates(f, g));
      CHECK(tide_frontier_compare(f, g) == (g->count == n ? TIDE_EQUAL : TIDE_AFTER));
      for (size_t i = 0; i < g->count; i++) { /* one epoch higher, anywhere */
        tide_axis axis = entry_at(g, i).axis;
        uint64_t epoch = entry_at(g, i).epoch;
        tide_frontier_raise(g, axis, epoch + 1, NULL);
        CHECK(!tide_frontier_dominates(f, g));
        tide_frontier_drop(g, axis);
        CHECK(tide_frontier_dominates(f, g));
        tide_frontier_raise(g, axis + 1, 1, NULL); /* an axis that f lacks, anywhere */
        CHECK(!tide_frontier_dominates(f, g));
        CHECK(tide_frontier_compare(g, f) == TIDE_CONCURRENT ||
              tide_frontier_compare(g, f) == TIDE_AFTER);
        tide_frontier_drop(g, axis + 1);
        tide_frontier_raise(g, axis, epoch, NULL);
      }
    }
  }
}

TEST(numbers_beyond_two_to_the_63) {
  storage a, b;
  struct tide_frontier *f = make(&a, 4), *g = make(&b, 4);
  tide_axis high = tide_axis_make(0xffff, TIDE_DOMAIN_EXTERNAL, TIDE_ORDINAL_MAX), low = queue(1);
  tide_frontier_raise(f, high, UINT64_MAX, NULL);
  tide_frontier_raise(f, low, 1ull << 63, NULL);
  tide_frontier_raise(g, low, (1ull << 63) - 1, NULL);
  tide_frontier_raise(g, high, 1, NULL);
  CHECK(entry_at(f, 0).axis == low);
  CHECK(tide_frontier_dominates(f, g) && !tide_frontier_dominates(g, f));
  CHECK(tide_frontier_compare(f, g) == TIDE_AFTER);
  tide_frontier_merge(g, f, NULL);
  CHECK(tide_frontier_compare(f, g) == TIDE_EQUAL);
  CHECK_EQ_U64(tide_frontier_get(g, high), UINT64_MAX);
  CHECK_EQ_U64(tide_frontier_get(g, low), 1ull << 63);
}

TEST(get_finds_each_and_nothing_else) {
  storage a;
  for (size_t n = 0; n <= 255; n++) {
    struct tide_frontier *f = make(&a, 255);
    fill(f, 10, 10, n, 1);
    for (size_t i = 0; i < n; i++) CHECK_EQ_U64(tide_frontier_get(f, queue(10 + 10 * i)), 1 + i);
    for (size_t i = 0; i <= n; i++) CHECK_EQ_U64(tide_frontier_get(f, queue(5 + 10 * i)), 0);
    CHECK_EQ_U64(tide_frontier_get(f, 0), 0);
    CHECK_EQ_U64(tide_frontier_get(f, UINT64_MAX), 0);
  }
  /* The word behind the last axis of a full one is an epoch, and no axis. */
  struct tide_frontier *f = make(&a, 20);
  fill(f, 10, 10, 20, queue(1000));
  CHECK_EQ_U64(tide_frontier_get(f, queue(1000)), 0);
}

static void check_broken(const struct tide_frontier *f, const char *why) {
  struct tide_diag diag = {0};
  CHECK_STATUS(tide_frontier_validate(f, NULL), TIDE_CORRUPT);
  CHECK_STATUS(tide_frontier_validate(f, &diag), TIDE_CORRUPT);
  CHECK_EQ_STR(diag.text, why);
  CHECK_STATUS(diag.status, TIDE_CORRUPT);
}

TEST(validate_finds_what_is_broken) {
  storage a;
  struct tide_frontier *f = make(&a, 4);
  uint64_t *axes = a.storage + 1, *epochs = a.storage + 1 + 4;
  fill(f, 1, 1, 4, 1);
  struct tide_diag untouched = {.text = "as it was"};
  CHECK_OK(tide_frontier_validate(f, &untouched));
  CHECK_EQ_STR(untouched.text, "as it was");
  epochs[2] = 0;
  check_broken(f, "frontier: entry 2 has epoch 0");
  epochs[2] = 1;
  axes[2] = axes[1];
  check_broken(f, "frontier: entry 2 repeats the axis before it");
  axes[2] = axes[0];
  check_broken(f, "frontier: entry 2 is not in axis order");
  axes[2] = queue(3);
  axes[0] = 0;
  check_broken(f, "frontier: entry 0 has axis 0");
  axes[0] = queue(1);
  f->count = 5;
  check_broken(f, "frontier: 5 entries in a capacity of 4");
  f->count = 4;
  f->tainted = 2;
  check_broken(f, "frontier: taint is 2, expected 0 or 1");
  f->tainted = 1;
  CHECK_OK(tide_frontier_validate(f, NULL));
  f->count = f->capacity = 0;
  check_broken(f, "frontier: the capacity is 0");
}

TEST_MAIN(CASE(a_new_frontier_is_empty), CASE(raise_inserts_raises_and_never_lowers),
          CASE(raise_when_full_evicts_the_smallest_epoch), CASE(ties_send_the_larger_axis_away),
          CASE(capacity_one), CASE(drop_takes_one_out_without_taint), CASE(merge_with_an_empty_one),
          CASE(merge_before_after_between), CASE(merge_fills_the_capacity_exactly),
          CASE(two_hundred_and_one_hundred_apart), CASE(two_full_ones_apart),
          CASE(a_frontier_merged_with_itself), CASE(layout_does_not_matter),
          CASE(copy_into_a_smaller_one), CASE(finished_entries_go_first_and_without_taint),
          CASE(disjoint_frontiers_do_not_dominate), CASE(order_with_taint),
          CASE(dominance_asks_each_entry), CASE(numbers_beyond_two_to_the_63),
          CASE(get_finds_each_and_nothing_else), CASE(validate_finds_what_is_broken))
