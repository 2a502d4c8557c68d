/* kernel: bodies over bytes and words, sort, and the collectives, against the plainest loops. */
#include "kernel_call.h"

#include "base/random.h"

#include <stdlib.h>
#include <time.h>

static void scatter(struct tide_random *random, const struct tide_argument *slice) {
  for (size_t i = 0; i < slice->size; i++)
    ((unsigned char *)slice->data)[i] = (unsigned char)tide_random_next(random);
}

TEST(fill_sets_every_byte) {
  for (size_t size = 0; size < 300; size += 7) {
    struct tide_argument out = slice(size);
    CHECK_OK(CALL("fill", out, integer(0x1a5)));
    for (size_t i = 0; i < size; i++) CHECK_EQ_U64(((unsigned char *)out.data)[i], 0xa5);
    CHECK_OK(CALL("fill", out));
    for (size_t i = 0; i < size; i++) CHECK_EQ_U64(((unsigned char *)out.data)[i], 0);
    CHECK_OK(CALL("fill", out, integer(-1)));
    for (size_t i = 0; i < size; i++) CHECK_EQ_U64(((unsigned char *)out.data)[i], 255);
  }
}

TEST(iota_counts_up) {
  struct tide_argument out = slice_at(17 * 8, 3, true);
  CHECK_OK(CALL("iota", out, integer(-2)));
  for (size_t i = 0; i < 17; i++) CHECK_EQ_U64(u64_at(&out, i), (uint64_t)i - 2);
  out.size = 12;
  CHECK_STATUS(CALL("iota", out, integer(0)), TIDE_INVALID);
  out.size = 0;
  CHECK_OK(CALL("iota", out, integer(0)));
}

TEST(copy_needs_equal_sizes_and_may_overlap) {
  struct tide_random random = {1};
  struct tide_argument from = slice_at(1001, 1, true), to = slice_at(1001, 3, true);
  scatter(&random, &from);
  CHECK_OK(CALL("copy", from, to));
  CHECK(memcmp(from.data, to.data, 1001) == 0);
  struct tide_argument up = {.data = (char *)from.data + 5, .size = 900};
  from.size = 900;
  CHECK_OK(CALL("copy", from, up));
  CHECK(memcmp(up.data, to.data, 900) == 0);
  up.size = 899;
  CHECK_STATUS(CALL("copy", from, up), TIDE_INVALID);
}

TEST(add_wraps) {
  struct tide_random random = {2};
  for (size_t words = 0; words < 70; words++) {
    struct tide_argument x = slice_at(words * 4, 1, true), y = slice(words * 4),
                         z = slice(words * 4);
    scatter(&random, &x), scatter(&random, &y);
    CHECK_OK(CALL("add", x, y, z));
    for (size_t i = 0; i < words; i++) CHECK_EQ_U64(u32_at(&z, i), u32_at(&x, i) + u32_at(&y, i));
    z.size += 4;
    CHECK_STATUS(CALL("add", x, y, z), TIDE_INVALID);
  }
}

TEST(reduce_sums_words) {
  struct tide_random random = {3};
  for (size_t words = 0; words < 70; words++) {
    struct tide_argument from = slice_at(words * 8, 5, true), out = slice(8);
    scatter(&random, &from);
    uint64_t want = 0;
    for (size_t i = 0; i < words; i++) want += u64_at(&from, i);
    CHECK_OK(CALL("reduce", from, out));
    CHECK_EQ_U64(u64_at(&out, 0), want);
  }
  struct tide_argument from = slice(9), out = slice(8), small = slice(4);
  CHECK_STATUS(CALL("reduce", from, out), TIDE_INVALID);
  CHECK_STATUS(CALL("reduce", out, small), TIDE_INVALID);
}

/* Known answers of XXH3-64. */
TEST(hash_is_xxh3) {
  struct tide_argument out = slice(8), empty = {.data = NULL, .size = 0}, text = slice(3);
  CHECK_OK(CALL("hash", empty, out));
  CHECK_EQ_U64(u64_at(&out, 0), 0x2d06800538d394c2u);
  memcpy(text.data, "abc", 3);
  CHECK_OK(CALL("hash", text, out));
  CHECK_EQ_U64(u64_at(&out, 0), 0x78af5f94892f3950u);
  CHECK_OK(CALL("hash", text, out, integer(1)));
  CHECK(u64_at(&out, 0) != 0x78af5f94892f3950u);
  CHECK_STATUS(CALL("hash", text, text), TIDE_INVALID);
}

TEST(combine_depends_on_order_and_goes_on) {
  struct tide_argument from = slice(24), into = slice(8), again = slice(8);
  for (size_t i = 0; i < 3; i++) u64_set(&from, i, i + 1);
  u64_set(&into, 0, 0);
  CHECK_OK(CALL("combine", from, into));
  uint64_t in_order = u64_at(&into, 0);
  u64_set(&again, 0, 0);
  for (size_t i = 0; i < 3; i++) {
    struct tide_argument one = {.data = (char *)from.data + 8 * i, .size = 8};
    CHECK_OK(CALL("combine", one, again));
  }
  CHECK_EQ_U64(u64_at(&again, 0), in_order);
  u64_set(&from, 0, 2), u64_set(&from, 1, 1);
  u64_set(&into, 0, 0);
  CHECK_OK(CALL("combine", from, into));
  CHECK(u64_at(&into, 0) != in_order);
  from.size = 12;
  CHECK_STATUS(CALL("combine", from, into), TIDE_INVALID);
}

/* ---- sort ---- */

static int by_value(const void *a, const void *b) {
  uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
  return (x > y) - (x < y);
}

/* 0: any; 1: few values; 2: ascending; 3: descending; 4: all equal; 5: only the low byte differs */
static uint32_t shaped(struct tide_random *random, int shape, size_t i) {
  switch (shape) {
    case 0: return (uint32_t)tide_random_next(random);
    case 1: return (uint32_t)tide_random_below(random, 5) * 0x01010101u;
    case 2: return (uint32_t)i;
    case 3: return (uint32_t)(0xffffffffu - i);
    case 4: return 0x80000000u;
    default: return 0x12345600u + (uint32_t)tide_random_below(random, 256);
  }
}

TEST(sort_agrees_with_qsort) {
  static const size_t counts[] = {0, 1, 2, 47, 48, 49, 255, 1000, 65537};
  struct tide_random random = {4};
  for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++)
    for (int shape = 0; shape < 6; shape++) {
      size_t count = counts[c];
      struct tide_argument data = slice_at(count * 4, 1, true);
      uint32_t *want = malloc(count * 4 + 4);
      for (size_t i = 0; i < count; i++) u32_set(&data, i, want[i] = shaped(&random, shape, i));
      qsort(want, count, 4, by_value);
      CHECK_OK(CALL("sort", data));
      CHECK(count == 0 || memcmp(want, data.data, count * 4) == 0);
      free(want);
      slice_drop(&data, 1, true);
    }
  struct tide_argument odd = slice(6);
  CHECK_STATUS(CALL("sort", odd), TIDE_INVALID);
}

/* ---- collectives ---- */

#define MEMBERS 8

/* All parts run, in any order; then the buffers must be what `expect` says. */
static void run_collective(const char *name, size_t size, int members, int parts, int root,
                           struct tide_argument *buffers) {
  int first = parts > 3 ? 3 : 0;
  for (int turn = 0; turn < parts; turn++) {
    struct tide_argument a[TIDE_PARAMS_MAX] = {integer((turn + first) % parts), integer(parts)};
    size_t at = 2;
    if (root >= 0) a[at++] = integer(root);
    for (int m = 0; m < members; m++) a[at + (size_t)m] = buffers[m];
    CHECK_OK(call_body(name, a, at + (size_t)members));
  }
  (void)size;
}

static void fresh(struct tide_random *random, struct tide_argument *buffers,
                  struct tide_argument *copies, int members, size_t size) {
  for (int m = 0; m < members; m++) {
    buffers[m] = slice_at(size, (size_t)m % 4, true);
    copies[m] = slice(size);
    scatter(random, &buffers[m]);
    memcpy(copies[m].data, buffers[m].data, size);
  }
}

TEST(allreduce_leaves_the_sum_everywhere) {
  struct tide_random random = {5};
  struct tide_argument buffers[MEMBERS], copies[MEMBERS];
  for (int members = 1; members <= MEMBERS; members++)
    for (int parts = 1; parts <= 9; parts += 2) {
      size_t words = tide_random_below(&random, 5000);
      fresh(&random, buffers, copies, members, words * 4);
      run_collective("allreduce", words * 4, members, parts, -1, buffers);
      for (size_t i = 0; i < words; i++) {
        uint32_t want = 0;
        for (int m = 0; m < members; m++) want += u32_at(&copies[m], i);
        for (int m = 0; m < members; m++) CHECK_EQ_U64(u32_at(&buffers[m], i), want);
      }
    }
}

/* Where slice p of `parts` lies: the first `size % parts` slices have a byte more. */
static size_t slice_start(size_t size, size_t parts, size_t p) {
  size_t rest = size % parts;
  return size / parts * p + (p < rest ? p : rest);
}

TEST(allgather_takes_slice_p_from_member_p) {
  struct tide_random random = {6};
  struct tide_argument buffers[MEMBERS], copies[MEMBERS];
  for (int members = 1; members <= MEMBERS; members++) {
    size_t size = tide_random_below(&random, 3000);
    fresh(&random, buffers, copies, members, size);
    run_collective("allgather", size, members, members, -1, buffers);
    for (size_t p = 0; p < (size_t)members; p++)
      for (size_t i = slice_start(size, (size_t)members, p);
           i < slice_start(size, (size_t)members, p + 1); i++)
        for (int m = 0; m < members; m++)
          CHECK(((char *)buffers[m].data)[i] == ((char *)copies[p].data)[i]);
  }
}

TEST(broadcast_copies_the_root) {
  struct tide_random random = {7};
  struct tide_argument buffers[MEMBERS], copies[MEMBERS];
  for (int root = 0; root < 5; root++)
    for (int parts = 1; parts < 12; parts++) {
      size_t size = tide_random_below(&random, 300);
      fresh(&random, buffers, copies, 5, size);
      run_collective("broadcast", size, 5, parts, root, buffers);
      for (int m = 0; m < 5; m++) CHECK(memcmp(buffers[m].data, copies[root].data, size) == 0);
    }
}

/* Part p writes slice p only: the other bytes keep what they had. */
TEST(parts_touch_disjoint_bytes) {
  struct tide_random random = {8};
  struct tide_argument buffers[MEMBERS], copies[MEMBERS];
  static const char *const names[] = {"allreduce", "allgather", "broadcast"};
  for (int n = 0; n < 3; n++)
    for (int part = 0; part < 4; part++) {
      size_t size = 404;
      fresh(&random, buffers, copies, 4, size);
      struct tide_argument a[TIDE_PARAMS_MAX] = {integer(part), integer(4)};
      size_t at = 2;
      if (n == 2) a[at++] = integer(1);
      for (size_t m = 0; m < 4; m++) a[at + m] = buffers[m];
      CHECK_OK(call_body(names[n], a, at + 4));
      size_t unit = n == 0 ? 4 : 1;
      size_t start = slice_start(size / unit, 4, (size_t)part) * unit;
      size_t end = slice_start(size / unit, 4, (size_t)part + 1) * unit;
      for (int m = 0; m < 4; m++)
        for (size_t i = 0; i < size; i++)
          if (i < start || i >= end)
            CHECK(((char *)buffers[m].data)[i] == ((char *)copies[m].data)[i]);
    }
}

TEST(collectives_refuse_what_does_not_fit) {
  struct tide_argument x = slice(16), y = slice(20), none = {.data = NULL, .size = 0};
  CHECK_STATUS(CALL("allreduce", integer(0), integer(1), x, y), TIDE_INVALID);
  CHECK_STATUS(CALL("allreduce", integer(1), integer(1), x, x), TIDE_INVALID);
  CHECK_STATUS(CALL("allreduce", integer(-1), integer(1), x, x), TIDE_INVALID);
  CHECK_STATUS(CALL("allreduce", integer(0), integer(0), x, x), TIDE_INVALID);
  CHECK_STATUS(CALL("allgather", integer(2), integer(3), x, x), TIDE_INVALID);
  CHECK_STATUS(CALL("allgather", integer(9), integer(10), x, x), TIDE_INVALID);
  CHECK_STATUS(CALL("broadcast", integer(0), integer(1), integer(1), x, none), TIDE_INVALID);
  CHECK_STATUS(CALL("broadcast", integer(0), integer(1), integer(8), x, x), TIDE_INVALID);
  CHECK_OK(CALL("broadcast", integer(0), integer(1), integer(2), none, none, x));
}

/* ---- control ---- */

TEST(nop_fail_spin) {
  CHECK_OK(call_body("nop", NULL, 0));
  CHECK_STATUS(call_body("fail", NULL, 0), TIDE_FAILED);
  struct timespec before, after;
  clock_gettime(CLOCK_MONOTONIC, &before);
  CHECK_OK(CALL("spin", integer(2000)));
  clock_gettime(CLOCK_MONOTONIC, &after);
  int64_t ns =
      (int64_t)(after.tv_sec - before.tv_sec) * 1000000000 + after.tv_nsec - before.tv_nsec;
  CHECK(ns >= 2000000);
  CHECK_STATUS(CALL("spin", integer(-1)), TIDE_INVALID);
  CHECK_STATUS(CALL("spin", integer(INT64_MAX)), TIDE_INVALID);
}

TEST_MAIN(CASE(fill_sets_every_byte), CASE(iota_counts_up),
          CASE(copy_needs_equal_sizes_and_may_overlap), CASE(add_wraps), CASE(reduce_sums_words),
          CASE(hash_is_xxh3), CASE(combine_depends_on_order_and_goes_on),
          CASE(sort_agrees_with_qsort), CASE(allreduce_leaves_the_sum_everywhere),
          CASE(allgather_takes_slice_p_from_member_p), CASE(broadcast_copies_the_root),
          CASE(parts_touch_disjoint_bytes), CASE(collectives_refuse_what_does_not_fit),
          CASE(nop_fail_spin))
