/* Frontiers whose axes lie close together, against naive.h; and the loops over windows for each
 * kind of processor that this one can be. Each frontier lies in memory of just its size: in a block
 * of its own, so that a sanitizer sees what reaches beyond, or against a page that may not be
 * touched, since a sanitizer does not look at what is loaded or stored lane by lane. */
#include "naive.h"

#include "base/random.h"
#include "causal/frontier.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* A page between two that may not be touched. */
struct page {
  unsigned char *at;
  bool taken;
};
static struct page pages[4];
static size_t page_size;

static void make_pages(void) {
  page_size = (size_t)sysconf(_SC_PAGESIZE);
  for (size_t i = 0; i < sizeof pages / sizeof *pages; i++) {
    unsigned char *all = mmap(NULL, 3 * page_size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(all != MAP_FAILED);
    pages[i].at = all + page_size;
    CHECK(mprotect(pages[i].at, page_size, PROT_READ | PROT_WRITE) == 0);
  }
}

/* Where the next frontiers lie. */
static enum where { in_block, at_start, at_end } where;

static void *take(size_t size) {
  for (size_t i = 0; where != in_block && i < sizeof pages / sizeof *pages; i++) {
    if (pages[i].taken || size > page_size) continue;
    pages[i].taken = true;
    return pages[i].at + (where == at_end ? page_size - size : 0);
  }
  void *block = malloc(size);
  CHECK(block);
  return block;
}

static void give_back(void *memory) {
  for (size_t i = 0; i < sizeof pages / sizeof *pages; i++) {
    size_t from = (size_t)((uintptr_t)memory - (uintptr_t)pages[i].at);
    if (from >= page_size) continue;
    pages[i].taken = false;
    return;
  }
  free(memory);
}

struct pair {
  struct tide_frontier *ours;
  struct naive naive;
};

static struct tide_frontier *new_frontier(size_t capacity) {
  size_t size = tide_frontier_size(capacity);
  struct tide_frontier *f = take(size);
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
  tide_axis first = entry_at(f->ours, 0).axis;
  pair->ours = new_frontier((size_t)f->ours->count < 255 ? f->ours->count + 1u : 255);
  naive_clear(&pair->naive);
  struct tide_frontier_entry entry;
  for (struct tide_frontier_cursor at = tide_frontier_begin(f->ours);
       tide_frontier_next(&at, &entry);) {
    uint64_t epoch = entry.epoch;
    if (tide_random_below(random, of) < part)
      raise(pair, entry.axis, tide_random_below(random, 2) ? epoch : (epoch + 1) / 2);
  }
  size_t count = pair->ours->count;
  uint64_t kind = tide_random_below(random, 4);
  if (kind == 0 && count > 0) {
    tide_axis axis = entry_at(pair->ours, tide_random_below(random, count)).axis;
    raise(pair, axis, tide_frontier_get(f->ours, axis) + 1);
  } else if (kind == 1 && count < pair->ours->capacity) {
    raise(pair, first + tide_random_below(random, span), some_epoch(random));
  }
}

static void maybe_taint(struct tide_random *random, struct pair *pair) {
  pair->naive.tainted = tide_random_below(random, 8) == 0;
  pair->ours->tainted = pair->naive.tainted;
}

static void check_questions(const struct pair *f, const struct pair *g) {
  CHECK(tide_frontier_dominates(f->ours, g->ours) == naive_dominates(&f->naive, &g->naive));
  CHECK(tide_frontier_dominates(g->ours, f->ours) == naive_dominates(&g->naive, &f->naive));
  CHECK(tide_frontier_compare(f->ours, g->ours) == naive_compare(&f->naive, &g->naive));
  CHECK(tide_frontier_compare(g->ours, f->ours) == naive_compare(&g->naive, &f->naive));
  for (size_t i = 0; i < g->naive.count; i++) {
    for (tide_axis near = 0; near < 3; near++) {
      tide_axis axis = g->naive.axis[i] - 1 + near;
      CHECK_EQ_U64(tide_frontier_get(f->ours, axis), naive_get(&f->naive, axis));
    }
  }
}

/* Joins both in a third of this capacity, if they fit. */
static void check_join(const struct pair *f, const struct pair *g, const struct naive *both,
                       size_t room) {
  struct tide_frontier *to = new_frontier(room);
  to->tainted = 0x5a; /* it says nothing of taint */
  to->capacity = 0;
  if (!f->ours->window) f->ours->raised = (uint8_t)(room ^ 1);
  if (!g->ours->window) g->ours->raised = (uint8_t)(room ^ 2);
  bool joined = tide_frontier_join(to, (uint8_t)room, f->ours, g->ours);
  CHECK(joined == (both->count <= room));
  CHECK_EQ_U64(to->tainted, 0x5a);
  if (joined) {
    to->tainted = both->tainted;
    CHECK_OK(tide_frontier_validate(to, NULL));
    CHECK_EQ_U64(to->capacity, room);
    CHECK_EQ_U64(to->raised, to->window ? TIDE_RAISED_NONE : f->ours->raised);
    CHECK(naive_same(to, both));
  }
  CHECK(naive_same(f->ours, &f->naive));
  CHECK(naive_same(g->ours, &g->naive));
  give_back(to);
}

/* Merges both in a frontier of this capacity. */
static void check_merge_into(const struct pair *f, const struct pair *g, size_t room) {
  struct naive both = f->naive;
  naive_merge(&both, &g->naive);
  struct tide_frontier *to = new_frontier(room);
  tide_frontier_copy(to, f->ours, NULL);
  tide_frontier_merge(to, g->ours, NULL);
  check_join(f, g, &both, room);
  naive_evict(&both, room, NULL, 0);
  CHECK_OK(tide_frontier_validate(to, NULL));
  CHECK(naive_same(to, &both));
  CHECK(naive_same(g->ours, &g->naive));
  tide_frontier_merge(to, to, NULL);
  CHECK(naive_same(to, &both));
  give_back(to);
}

/* Merges into just enough capacity, into more, and into less. */
static void check_merge(struct tide_random *random, const struct pair *f, const struct pair *g) {
  struct naive both = f->naive;
  naive_merge(&both, &g->naive);
  size_t least = f->ours->count, room = both.count;
  if (tide_random_below(random, 4) == 0) room = least + tide_random_below(random, 2 * least);
  else if (tide_random_below(random, 2)) room += tide_random_below(random, 8);
  if (room > 255) room = 255;
  check_merge_into(f, g, room ? room : 1);
}

static void check_raise(struct tide_random *random, struct pair *f, size_t span) {
  tide_axis first = entry_at(f->ours, 0).axis;
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

/* Each way to copy, into just enough room or a little more. */
static void check_copies(struct tide_random *random, const struct pair *f) {
  size_t count = f->ours->count, room = count + tide_random_below(random, 4);
  if (room > 255) room = 255;
  for (int way = 0; way < 2; way++) {
    struct tide_frontier *to = new_frontier(room);
    if (way == 0 || !tide_frontier_takes(to, f->ours)) tide_frontier_copy(to, f->ours, NULL);
    else tide_frontier_copy_as_is(to, f->ours);
    CHECK(naive_same(to, &f->naive));
    give_back(to);
  }
}

/* Returns also axes around which a half, or the sign, of a word changes. */
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

static void free_both(struct pair *f, struct pair *g) {
  give_back(f->ours);
  give_back(g->ours);
}

static void random_round(struct tide_random *random) {
  static struct pair f, g;
  static const size_t sizes[] = {8, 24, 200};
  size_t most = sizes[tide_random_below(random, 3)];
  size_t n = 1 + tide_random_below(random, most), m = 1 + tide_random_below(random, most);
  if (tide_random_below(random, 4) == 0) m = n;
  size_t larger = n < m ? m : n;
  size_t span = larger + tide_random_below(random, 2 * larger);
  tide_axis base = some_base(random);
  where = (enum where)tide_random_below(random, 3);
  make_any(random, &f, n, base, span);
  if (tide_random_below(random, 2)) make_any(random, &g, m, base, span);
  else make_part(random, &g, &f, span);
  maybe_taint(random, &f);
  maybe_taint(random, &g);
  check_questions(&f, &g);
  check_merge(random, &f, &g);
  if (g.ours->count > 0) check_merge(random, &g, &f);
  check_copies(random, &f);
  check_raise(random, &f, span);
  free_both(&f, &g);
}

TEST(many_rounds) {
  struct tide_random random = {20261121};
  make_pages();
  for (unsigned round = 0; round < 9000 / test_slowdown(); round++) random_round(&random);
}

/* `count` axes from base to base + span: both of these, too, unless it is the other side that has
 * the end. */
static void make_spanning(struct tide_random *random, struct pair *pair, size_t count,
                          tide_axis base, size_t span, bool end) {
  pair->ours = new_frontier(count);
  naive_clear(&pair->naive);
  raise(pair, end ? base + span : base, some_epoch(random));
  while (pair->ours->count < count)
    raise(pair, base + tide_random_below(random, span + 1), some_epoch(random));
}

/* Where one word, two or four just hold all axes or just do not, and any room from what the left
 * side has on: too little, just enough, and more. */
TEST(all_edges) {
  static const size_t spans[] = {62, 63, 64, 65, 126, 127, 128, 129, 254, 255, 256, 257};
  static const size_t counts[] = {1, 3, 4, 7, 8, 9, 16, 17, 40, 60};
  static struct pair f, g;
  struct tide_random random = {63};
  make_pages();
  for (size_t s = 0; s < sizeof spans / sizeof *spans; s++) {
    for (size_t c = 0; c < 100; c++) {
      size_t n = counts[c / 10], m = counts[c % 10];
      where = c % 2 ? at_end : at_start;
      make_spanning(&random, &f, n, some_base(&random), spans[s], c % 3 == 0);
      tide_axis first = entry_at(f.ours, 0).axis;
      make_spanning(&random, &g, m, c % 3 == 0 ? first - (first > spans[s] ? spans[s] : 0) : first,
                    spans[s], c % 3 != 0);
      check_questions(&f, &g);
      struct naive both = f.naive;
      naive_merge(&both, &g.naive);
      for (size_t room = n; room <= both.count + 2; room += 1 + tide_random_below(&random, 3))
        check_merge_into(&f, &g, room);
      check_merge_into(&f, &g, both.count);
      for (size_t more = 1; more < 72 && both.count + more < 256; more += 7)
        check_merge_into(&f, &g, both.count + more);
      free_both(&f, &g);
    }
  }
}

/* g's needs are met; and no longer when one of them becomes higher, or another axis. */
static void check_each_need(const struct tide_frontier *f, struct tide_frontier *g) {
  struct tide_frontier *other = new_frontier(g->count);
  CHECK(tide_frontier_dominates(f, g));
  for (size_t i = 0; i < g->count; i++) {
    struct tide_frontier_entry entry = entry_at(g, i);
    tide_frontier_copy(other, g, NULL);
    tide_frontier_raise(other, entry.axis, entry.epoch + 1, NULL);
    CHECK(!tide_frontier_dominates(f, other));
    CHECK(tide_frontier_compare(other, f) == (f->count > g->count ? TIDE_CONCURRENT : TIDE_AFTER));
    tide_frontier_copy(other, g, NULL);
    tide_frontier_drop(other, entry.axis);
    if (tide_frontier_get(f, entry.axis + 1)) continue;
    tide_frontier_raise(other, entry.axis + 1, 1, NULL);
    CHECK(!tide_frontier_dominates(f, other));
  }
  give_back(other);
}

/* From one need to as many as are known: each of them counts, wherever it is. */
TEST(each_need) {
  static const size_t spans[] = {63, 127, 255}, counts[] = {8, 9, 24, 33, 64, 82, 127, 128};
  static struct pair f;
  struct tide_random random = {65};
  make_pages();
  for (size_t s = 0; s < 24; s++) {
    size_t n = counts[s / 3], span = spans[s % 3];
    if (n > span + 1) continue;
    where = s % 2 ? at_end : at_start;
    make_spanning(&random, &f, n, 1 + tide_random_below(&random, 100), span, false);
    for (size_t m = 1; m <= n; m += test_slowdown() > 1 ? 7 : 1) {
      struct tide_frontier *g = new_frontier(m);
      for (size_t i = 0, left = n; i < n; i++, left--)
        if (tide_random_below(&random, left) < m - g->count)
          tide_frontier_raise(g, entry_at(f.ours, i).axis, entry_at(f.ours, i).epoch, NULL);
      check_each_need(f.ours, g);
      give_back(g);
    }
    give_back(f.ours);
  }
}

/* Up to the highest axis that there is, or almost: behind it come the lowest. */
TEST(highest) {
  static struct pair f, g;
  struct tide_random random = {64};
  make_pages();
  for (unsigned round = 0; round < 3000 / test_slowdown(); round++) {
    size_t span = 40 + tide_random_below(&random, 220), n = 8 + tide_random_below(&random, 33);
    where = (enum where)tide_random_below(&random, 3);
    tide_axis base = UINT64_MAX - span - tide_random_below(&random, 3);
    make_spanning(&random, &f, n, base, span, false);
    if (tide_random_below(&random, 4) == 0) make_spanning(&random, &g, n, base, span, true);
    else make_part(&random, &g, &f, span);
    check_questions(&f, &g);
    check_merge(&random, &f, &g);
    if (g.ours->count > 0) check_merge(&random, &g, &f);
    free_both(&f, &g);
  }
}

/* Nothing on either side, or on both. */
TEST(nothing) {
  static struct pair f, g;
  struct tide_random random = {0};
  make_pages();
  for (size_t n = 0; n <= 40; n++) {
    where = n % 2 ? at_end : at_start;
    f.ours = new_frontier(n ? n : 1);
    naive_clear(&f.naive);
    while (f.ours->count < n) raise(&f, 1 + tide_random_below(&random, 64), some_epoch(&random));
    g.ours = new_frontier(n % 3 ? 1 : 255); /* what lies in front of the axes is not one */
    naive_clear(&g.naive);
    check_questions(&f, &g);
    CHECK(tide_frontier_get(g.ours, 1) == 0);
    check_merge_into(&f, &g, n ? n : 1);
    check_merge_into(&g, &f, n ? n : 1);
    free_both(&f, &g);
  }
}

/* Where words are compared as if they had signs. */
#define HIGH (UINT64_C(1) << 63)

/* The same axes, or all but the one at `other`, joined in a third of this capacity and packed. */
static void check_alike(const struct pair *f, size_t other, size_t capacity) {
  size_t n = f->naive.count;
  struct naive both = f->naive;
  struct tide_frontier *g = new_frontier(n), *to = new_frontier(capacity);
  for (size_t i = 0; i < n; i++) {
    uint64_t epoch = i % 3 + 1 + (i % 4 ? 0 : HIGH);
    tide_frontier_raise(g, f->naive.axis[i] + (i == other), epoch, NULL);
    naive_raise(&both, f->naive.axis[i] + (i == other), epoch);
  }
  CHECK_EQ_U64(tide_frontier_count_new(f->ours, g), both.count - n);
  bool joined = tide_frontier_join(to, (uint8_t)capacity, f->ours, g);
  CHECK(joined == (both.count <= capacity));
  if (joined) {
    to->tainted = false;
    tide_frontier_pack(to);
    CHECK(to->capacity >= to->count && to->capacity <= capacity);
    CHECK(naive_same(to, &both));
  }
  give_back(to);
  give_back(g);
}

TEST(alike) {
  static struct pair f;
  make_pages();
  /* One behind the other, eight of them fill a window. */
  for (size_t c = 0; c < 66; c++) {
    size_t n = c / 2 + 1, apart = c % 2 + 1;
    where = n % 2 ? at_end : at_start;
    f.ours = new_frontier(n + n % 2);
    naive_clear(&f.naive);
    for (size_t i = 1; i <= n; i++) raise(&f, apart * i, 4 - i % 4 + (i % 5 ? 0 : HIGH));
    for (size_t other = 0; other <= n; other++)
      for (size_t capacity = n > 1 ? n - 1 : 1; capacity < n + 3; capacity++)
        check_alike(&f, other, capacity);
    give_back(f.ours);
  }
}

/* A frontier with room for `capacity` that lists these axes at epoch `epoch`. */
static struct tide_frontier *listing(size_t capacity, tide_axis first, size_t count,
                                     uint64_t epoch) {
  struct tide_frontier *f = new_frontier(capacity);
  for (size_t i = 0; i < count; i++) tide_frontier_raise(f, first + i, epoch, NULL);
  return f;
}

/* Windows that start apart: what lies between them is nothing, and what lies in front counts. */
TEST(apart) {
  make_pages();
  where = in_block;
  struct tide_frontier *f = listing(64, 9, 10, 5), *g = listing(64, 81, 10, 4);
  struct tide_frontier *to = new_frontier(64);
  CHECK(f->window && g->window);
  CHECK(tide_frontier_join(to, 64, f, g));
  to->tainted = 0;
  CHECK_OK(tide_frontier_validate(to, NULL));
  CHECK_EQ_U64(to->count, 20);
  CHECK(tide_frontier_get(to, 50) == 0 && tide_frontier_get(to, 85) == 4);
  CHECK(tide_frontier_dominates(to, f) && tide_frontier_dominates(to, g));
  CHECK(!tide_frontier_dominates(f, g) && !tide_frontier_dominates(g, f));
  CHECK(tide_frontier_compare(f, g) == TIDE_CONCURRENT);
  tide_frontier_merge(f, g, NULL);
  CHECK(tide_frontier_compare(f, to) == TIDE_EQUAL);
  tide_frontier_drop(g, 81);
  tide_frontier_raise(g, 3, 1, NULL);
  CHECK(!tide_frontier_dominates(f, g));
  tide_frontier_raise(g, UINT64_MAX, 1, NULL); /* almost in front of the first one */
  tide_frontier_merge(f, g, NULL);
  CHECK_OK(tide_frontier_validate(f, NULL));
  CHECK(f->count == 22 && tide_frontier_get(f, UINT64_MAX) == 1);
  give_back(f), give_back(g), give_back(to);
}

static bool even(void *self, tide_axis axis, uint64_t epoch) {
  (void)self, (void)epoch;
  return axis % 2 == 0;
}

TEST(full_windows_evict) {
  make_pages();
  struct tide_frontier *f = listing(16, 1, 16, 5);
  CHECK(f->window && f->count == f->capacity);
  tide_frontier_drop(f, 7);
  tide_frontier_raise(f, 17, 4, NULL);
  tide_frontier_raise(f, 7, 9, NULL); /* it lies in the window, but is one too many */
  CHECK_OK(tide_frontier_validate(f, NULL));
  CHECK(f->count == 16 && f->tainted && tide_frontier_get(f, 17) == 0);
  CHECK_EQ_U64(tide_frontier_get(f, 7), 9);
  give_back(f);
}

/* In a page, where what is behind a packed one shows. */
TEST(filtered_and_packed) {
  make_pages();
  for (size_t count = 1; count <= 100; count++) {
    struct tide_frontier *f = listing(255, 1, 2 * count, 3);
    tide_frontier_filter(f, even, NULL);
    CHECK_OK(tide_frontier_validate(f, NULL));
    CHECK(f->count == count && (count >= TIDE_WINDOW_LEAST) == (f->window != 0));
    tide_frontier_pack(f);
    CHECK_OK(tide_frontier_validate(f, NULL));
    where = at_end;
    struct tide_frontier *packed = take(tide_frontier_size(f->capacity));
    memcpy(packed, f, tide_frontier_size(f->capacity));
    CHECK_OK(tide_frontier_validate(packed, NULL));
    for (size_t i = 1; i <= count; i++) CHECK_EQ_U64(tide_frontier_get(packed, 2 * i), 3);
    give_back(packed);
    where = in_block;
    if (count % 2) tide_frontier_list_one(f, 500, 1);
    else tide_frontier_empty(f);
    CHECK_OK(tide_frontier_validate(f, NULL));
    CHECK_EQ_U64(f->count, count % 2);
    give_back(f);
  }
}

TEST(validate_looks_at_windows) {
  struct tide_frontier *f = listing(32, UINT64_MAX - 16, 12, 1);
  uint16_t window = f->window;
  CHECK(window);
  CHECK_OK(tide_frontier_validate(f, NULL));
  f->window = 72;
  CHECK_STATUS(tide_frontier_validate(f, NULL), TIDE_CORRUPT);
  f->window = (uint16_t)(window + 4);
  CHECK_STATUS(tide_frontier_validate(f, NULL), TIDE_CORRUPT);
  f->window = window;
  f->count--;
  CHECK_STATUS(tide_frontier_validate(f, NULL), TIDE_CORRUPT);
  f->count++;
  f->raised = 0;
  CHECK_STATUS(tide_frontier_validate(f, NULL), TIDE_CORRUPT);
  give_back(f);
  f = listing(32, UINT64_MAX - 8, 9, 1); /* behind the highest axis comes 0 */
  CHECK_OK(tide_frontier_validate(f, NULL));
  *tide_frontier_at(f, (size_t)(0 - tide_window_first(f))) = 1;
  f->count++;
  CHECK_STATUS(tide_frontier_validate(f, NULL), TIDE_CORRUPT);
  give_back(f);
}

/* ---- the loops for each kind of processor ---- */

/* Returns 0, the other word, one that differs in the sign alone, or any. */
static uint64_t some_word(struct tide_random *random, uint64_t other) {
  switch (tide_random_below(random, 4)) {
    case 0: return 0;
    case 1: return other;
    case 2: return other ^ HIGH;
    default: return some_epoch(random);
  }
}

/* Compares with the plainest loops, between pages that may not be touched. */
static void check_lanes(const struct tide_lanes *lanes, struct tide_random *random, size_t words) {
  size_t size = words * sizeof(uint64_t), listed = 0;
  uint64_t *f = take(size), *g = take(size), *to = take(size);
  bool apart = tide_random_below(random, 2), higher = false, lower = false;
  for (size_t i = 0; i < words; i++) {
    f[i] = some_word(random, 7);
    g[i] = apart ? some_word(random, f[i]) : f[i];
  }
  if (!apart && words)
    g[tide_random_below(random, words)] ^= tide_random_below(random, 2) ? HIGH : 1;
  for (size_t i = 0; i < words; i++) {
    listed += (f[i] | g[i]) != 0;
    higher |= f[i] > g[i];
    lower |= f[i] < g[i];
  }
  CHECK_EQ_U64(lanes->order(f, g, words), (unsigned)higher << 1 | lower);
  CHECK_EQ_U64(lanes->max(to, f, g, words), listed);
  for (size_t i = 0; i < words; i++) CHECK_EQ_U64(to[i], f[i] < g[i] ? g[i] : f[i]);
  CHECK_EQ_U64(lanes->max(f, f, g, words), listed);
  CHECK(memcmp(f, to, size) == 0);
  give_back(f), give_back(g), give_back(to);
}

static void each_lane(enum tide_tier tier) {
  struct tide_random random = {tier + 1};
  if (tier > tide_tier_of_processor()) SKIP("this processor is not of tier %d", (int)tier);
  make_pages();
  for (unsigned round = 0; round < 6000 / test_slowdown(); round++) {
    where = (enum where)(1 + tide_random_below(&random, 2));
    check_lanes(&tide_lanes_of_tier[tier], &random, 8 * (1 + tide_random_below(&random, 8)));
  }
}
TEST(lanes_portable) { each_lane(TIDE_TIER_PORTABLE); }
TEST(lanes_avx2) { each_lane(TIDE_TIER_AVX2); }
TEST(lanes_avx512) { each_lane(TIDE_TIER_AVX512); }

/* ---- stack: a fiber has 32 KiB, of which the library is to leave something ---- */

#define STACK ((size_t)256 << 10)
#define UNTOUCHED 0xA5
#define UNION_BYTES (2 * TIDE_FRONTIER_CAPACITY_MAX * 2 * sizeof(uint64_t))

struct merge_of {
  struct tide_frontier *to, *from, *third;
};
static void *merge_pair(void *self) {
  struct merge_of *pair = self;
  tide_frontier_join(pair->third, pair->to->capacity, pair->to, pair->from);
  tide_frontier_merge(pair->to, pair->from, NULL);
  return NULL;
}

/* Returns the stack that a thread takes to join and to merge two frontiers of `count` entries each,
 * without a common axis, whose axes are `apart` from each other. */
static size_t stack_of_merge(size_t count, uint8_t capacity, size_t apart) {
  unsigned char *stack =
      mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  struct merge_of pair = {malloc(tide_frontier_size(capacity)),
                          malloc(tide_frontier_size(capacity)),
                          malloc(tide_frontier_size(capacity))};
  pthread_attr_t attributes;
  pthread_t thread;
  size_t untouched = 0;
  CHECK(stack != MAP_FAILED && pair.to && pair.from && pair.third);
  memset(stack, UNTOUCHED, STACK);
  tide_frontier_init(pair.to, capacity);
  tide_frontier_init(pair.from, capacity);
  for (size_t i = 1; i <= count; i++) {
    tide_frontier_raise(pair.to, 2 * i * apart, i, NULL);
    tide_frontier_raise(pair.from, (2 * i + 1) * apart, i, NULL);
  }
  CHECK(pthread_attr_init(&attributes) == 0);
  CHECK(pthread_attr_setstack(&attributes, stack, STACK) == 0);
  CHECK(pthread_create(&thread, &attributes, merge_pair, &pair) == 0);
  CHECK(pthread_join(thread, NULL) == 0);
  CHECK(pair.to->count == (2 * count > capacity ? capacity : 2 * count));
  while (untouched < STACK && stack[untouched] == UNTOUCHED) untouched++;
  pthread_attr_destroy(&attributes);
  munmap(stack, STACK);
  free(pair.to), free(pair.from), free(pair.third);
  return STACK - untouched;
}

/* A merge has one buffer on its stack, also if entries are evicted. */
TEST(little_stack) {
  if (test_slowdown() > 1) SKIP("a sanitizer has frames of its own size");
  size_t least = stack_of_merge(1, 2, 1);
  for (size_t count = 200; count <= TIDE_FRONTIER_CAPACITY_MAX; count += 55) {
    size_t most = stack_of_merge(count, TIDE_FRONTIER_CAPACITY_MAX, 1);
    CHECK(most < least + 2 * UNION_BYTES);
  }
  CHECK(stack_of_merge(12, 24, 1) < least + 4096);
  for (size_t apart = 1; apart <= 2; apart++) /* two words of axes, and four */
    CHECK(stack_of_merge(40, 120, apart) < least + 4096);
}

TEST_MAIN(CASE(lanes_portable), CASE(lanes_avx2), CASE(lanes_avx512), CASE(alike),
          CASE(many_rounds), CASE(all_edges), CASE(each_need), CASE(highest), CASE(nothing),
          CASE(apart), CASE(full_windows_evict), CASE(filtered_and_packed),
          CASE(validate_looks_at_windows), CASE(little_stack))
