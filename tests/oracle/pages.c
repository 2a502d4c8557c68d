/* Runs of pages against a byte a page. Random worlds of some pages take and give back runs; after
 * each step what is taken, how much is free and how long the longest free run is are worked out
 * from the bytes alone. None may be refused that could be had, and each kind keeps to its rule of
 * which it gives. */
#include "harness.h"

#include "base/random.h"
#include "tidemark/causal.h"
#include "wic/pages.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST 20000u

struct run {
  uint32_t first, count;
};

struct tally {
  uint64_t worlds, allocs, frees, refused, scattered, full, empty;
};

struct world {
  enum tide_pages_kind kind;
  uint32_t count;   /* of pages */
  uint32_t longest; /* of the runs that are asked for, mostly */
  struct tide_context *context;
  struct tide_pages *pages;
  struct tide_random random;
  struct run *runs; /* that are taken */
  uint32_t run_count;
  uint8_t *taken;     /* the oracle: a byte a page */
  uint32_t free, top; /* and what it says: free pages, the longest free run */
  bool filling;
  struct tally *tally;
  char why[160];
};

static uint32_t below(struct world *w, uint32_t limit) {
  return (uint32_t)tide_random_below(&w->random, limit);
}

#define WRONG(...) return snprintf(w->why, sizeof w->why, __VA_ARGS__), false

/* ---- the oracle --------------------------------------------------------------------------------
 */

/* What a request finds: the lowest place for it, and the smallest free run that is long enough. */
struct places {
  uint32_t lowest, smallest;
};

/* Reads all bytes; out_places only where there is something to ask for. */
static void look(struct world *w, uint32_t count, struct places *out_places) {
  struct places places = {TIDE_PAGES_NONE, TIDE_PAGES_NONE};
  w->free = w->top = 0;
  for (uint32_t i = 0; i < w->count;) {
    uint32_t from = i;
    while (i < w->count && !w->taken[i]) i++;
    uint32_t size = i - from;
    w->free += size;
    if (size > w->top) w->top = size;
    if (size >= count && places.lowest == TIDE_PAGES_NONE) places.lowest = from;
    if (size >= count && size < places.smallest) places.smallest = size;
    if (!size) i++;
  }
  if (out_places) *out_places = places;
}

/* The free run that a page lies in. */
static struct run around(const struct world *w, uint32_t page) {
  uint32_t from = page, to = page;
  while (from > 0 && !w->taken[from - 1]) from--;
  while (to < w->count && !w->taken[to]) to++;
  return (struct run){from, to - from};
}

static bool agrees(struct world *w) {
  look(w, UINT32_MAX, NULL);
  uint32_t free = tide_pages_free_count(w->pages), top = tide_pages_largest(w->pages);
  if (free != w->free) WRONG("%u pages are free, not %u", w->free, free);
  if (top != w->top) WRONG("the longest free run has %u pages, not %u", w->top, top);
  w->tally->full += free == 0;
  w->tally->empty += free == w->count;
  return true;
}

/* ---- a step ------------------------------------------------------------------------------------
 */

static bool given(struct world *w, uint32_t first, uint32_t count, const struct places *places) {
  if (first >= w->count || count > w->count - first)
    WRONG("%u + %u lies beyond %u pages", first, count, w->count);
  for (uint32_t i = 0; i < count; i++)
    if (w->taken[first + i]) WRONG("page %u was given twice", first + i);
  struct run in = around(w, first);
  if (w->kind == TIDE_PAGES_TREE && first != places->lowest)
    WRONG("%u at %u, but the lowest place is %u", count, first, places->lowest);
  if (w->kind == TIDE_PAGES_FAST && (in.count != places->smallest || in.first != first))
    WRONG("%u at %u, out of %u + %u, but a run of %u would do", count, first, in.first, in.count,
          places->smallest);
  memset(w->taken + first, 1, count);
  w->runs[w->run_count++] = (struct run){first, count};
  w->tally->allocs++;
  return true;
}

static bool take(struct world *w, uint32_t count) {
  struct places places;
  look(w, count, &places);
  uint32_t first = tide_pages_alloc(w->pages, count);
  if (first != TIDE_PAGES_NONE) return given(w, first, count, &places);
  if (places.lowest != TIDE_PAGES_NONE)
    WRONG("%u were refused, though they are free at %u", count, places.lowest);
  w->tally->refused++;
  w->tally->scattered += count <= w->free;
  return true;
}

static void give(struct world *w, uint32_t which) {
  struct run run = w->runs[which];
  w->runs[which] = w->runs[--w->run_count];
  tide_pages_free(w->pages, run.first, run.count);
  memset(w->taken + run.first, 0, run.count);
  w->tally->frees++;
}

/* Mostly short; now and then any length, what is just there, or just more than that. */
static uint32_t draw(struct world *w) {
  uint32_t dice = below(w, 100);
  if (dice < 4) return 1 + below(w, w->count + 1);
  if (dice < 7) return w->top ? w->top : 1;
  if (dice < 9) return w->top + 1;
  return 1 + below(w, w->longest);
}

/* It fills up until something is refused, then empties for a while, sometimes wholly. */
static bool step(struct world *w) {
  bool taking = below(w, 100) < (w->filling ? 75u : 25u);
  if (taking || !w->run_count) {
    uint64_t refused = w->tally->refused;
    if (!take(w, draw(w))) return false;
    if (w->tally->refused != refused && below(w, 4) == 0) w->filling = false;
  } else {
    /* The newest, the oldest that still has its place, or any. */
    uint32_t dice = below(w, 4);
    give(w, dice == 0 ? w->run_count - 1 : dice == 1 ? 0 : below(w, w->run_count));
    if (!w->run_count || below(w, 40) == 0) w->filling = true;
  }
  bool filled = below(w, 200) == 0, drained = below(w, 200) == 0;
  /* Single pages fill the last gaps. */
  for (unsigned i = 0; filled && w->free && i < 200; i++) {
    if (!take(w, 1) || !agrees(w)) return false;
  }
  for (unsigned i = 0; drained && w->run_count && i < 200; i++) {
    give(w, below(w, w->run_count));
    if (!agrees(w)) return false;
  }
  return agrees(w);
}

/* ---- a world -----------------------------------------------------------------------------------
 */

static const uint32_t counts[] = {1, 2, 3, 4, 7, 16, 63, 64, 65, 100, 127, 129, 500, 1000, 1024};
static const uint32_t longests[] = {1, 2, 8, 16, 64, 64};
#define ANY(w, of) of[below(w, sizeof of / sizeof *of)]

/* NULL, or what went wrong; valid until the next. `count`: 0, or how many pages. */
static const char *run(enum tide_pages_kind kind, uint64_t seed, uint32_t count,
                       struct tally *tally) {
  static char why[200];
  struct world w = {.kind = kind, .random = {seed}, .tally = tally, .filling = true};
  w.count = count ? count : below(&w, 3) ? ANY(&w, counts) : 1 + below(&w, 600);
  w.longest = ANY(&w, longests);
  w.runs = calloc(w.count, sizeof *w.runs);
  w.taken = calloc(w.count, 1);
  CHECK(w.runs && w.taken);
  CHECK_OK(tide_context_create(NULL, &w.context));
  CHECK_OK(tide_pages_create(w.context, kind, w.count, &w.pages));
  bool right = agrees(&w);
  uint32_t steps = 0;
  while (right && steps < 300) right = ++steps && step(&w);
  while (right && w.run_count) {
    give(&w, below(&w, w.run_count));
    right = agrees(&w);
  }
  tide_pages_destroy(w.pages);
  tide_context_destroy(w.context);
  free(w.runs);
  free(w.taken);
  tally->worlds++;
  if (right) return NULL;
  snprintf(why, sizeof why, "%u pages, step %u: %s", w.count, steps, w.why);
  return why;
}

/* TEST_SEEDS says how many worlds; a failure says which to run again. */
static uint64_t seeds(uint64_t otherwise) {
  const char *text = getenv("TEST_SEEDS");
  return (text ? strtoull(text, NULL, 10) : otherwise) / test_slowdown();
}

static void holds(enum tide_pages_kind kind) {
  struct tally t = {0};
  uint64_t most = seeds(3000);
  for (uint64_t seed = 1; seed <= most; seed++) {
    /* Now and then one of more levels. */
    const char *why = run(kind, seed, seed % 500 ? 0 : MOST - (uint32_t)seed % 7777, &t);
    if (why) FAIL("seed %llu: %s", (unsigned long long)seed, why);
  }
  printf(
      "# %llu worlds: %llu runs taken, %llu given back, %llu refused, %llu of them though enough "
      "pages were free; %llu times full, %llu empty\n",
      (unsigned long long)t.worlds, (unsigned long long)t.allocs, (unsigned long long)t.frees,
      (unsigned long long)t.refused, (unsigned long long)t.scattered, (unsigned long long)t.full,
      (unsigned long long)t.empty);
  /* Worlds in which nothing happens prove nothing. */
  CHECK(t.scattered > t.worlds && t.full > t.worlds && t.empty > t.worlds);
}

TEST(fast_holds) { holds(TIDE_PAGES_FAST); }
TEST(tree_holds) { holds(TIDE_PAGES_TREE); }

TEST_MAIN(CASE_SECONDS(fast_holds, 120), CASE_SECONDS(tree_holds, 120))
