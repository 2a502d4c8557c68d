/* The tile schedulers, against counting: every k tile of every tile exactly once, for all small
 * shapes; the fix-up's order; clusters that stay together. */
#include "mods/schedule.h"
#include "harness.h"

#include <stdlib.h>
#include <string.h>

#define WORKERS_MAX 64
#define CELLS_MAX 65536

static struct tide_schedule_params shape(enum tide_ir_scheduler kind, uint32_t m, uint32_t n,
                                         uint32_t l, uint32_t k) {
  return (struct tide_schedule_params){.kind = kind,
                                       .m = m,
                                       .n = n,
                                       .l = l,
                                       .k = k,
                                       .swizzle = 1,
                                       .grid = {1, 1, 1},
                                       .cluster = {1, 1, 1}};
}

static void block_of(const struct tide_schedule_params *p, uint32_t index, uint32_t block[3]) {
  block[0] = index % p->grid[0];
  block[1] = index / p->grid[0];
  block[2] = 0;
}

/* How often each (tile, k tile) is worked on; tiles numbered m first. */
static uint8_t cells[CELLS_MAX];

static void count_work(const struct tide_schedule *s, const struct tide_tile_work *w, uint32_t k) {
  CHECK(w->m < s->tiles_m && w->n < s->tiles_n);
  uint32_t count = s->kind == TIDE_IR_STREAMK ? w->k_count : 1;
  size_t tile = ((size_t)w->l * s->tiles_n + w->n) * s->tiles_m + w->m;
  CHECK(tile < s->tiles && w->k_begin + w->k_count <= k);
  CHECK_EQ_U64(w->first, s->kind != TIDE_IR_STREAMK || w->k_begin == 0);
  CHECK_EQ_U64(w->last, s->kind != TIDE_IR_STREAMK || w->k_begin + w->k_count == k);
  for (uint32_t i = 0; i < count; i++) CHECK_EQ_U64(++cells[tile * k + w->k_begin + i], 1);
  /* Nothing smaller than a split may be, and only tiles of the stream-K part are split. */
  CHECK(!tide_schedule_split(w) || w->k_count >= TIDE_STREAMK_MIN);
  uint64_t slot = tide_schedule_workspace(s, w);
  CHECK(slot < s->tiles && (!tide_schedule_split(w) || slot < s->sk_tiles));
}

static void check_cover(const struct tide_schedule_params *p) {
  struct tide_schedule s;
  CHECK_OK(tide_schedule_init(&s, p, NULL));
  uint32_t k = p->kind == TIDE_IR_STREAMK ? p->k : 1;
  uint32_t workers = p->grid[0] * p->grid[1];
  CHECK(s.tiles * k <= CELLS_MAX && workers <= WORKERS_MAX);
  memset(cells, 0, s.tiles * k);
  CHECK(s.groups >= 1 && s.groups <= TIDE_STREAMK_GROUPS_MAX && s.sk_units <= workers);
  for (uint32_t i = 0; i < workers; i++) {
    uint32_t block[3];
    struct tide_tile_work w;
    block_of(p, i, block);
    for (tide_schedule_first(&s, block, &w); w.valid; tide_schedule_next(&s, &w))
      count_work(&s, &w, k);
    tide_schedule_next(&s, &w);
    CHECK(!w.valid);
  }
  /* data_parallel: a CTA has one tile, so a small grid leaves some. */
  uint64_t expected = s.tiles * k;
  if (p->kind == TIDE_IR_DATA_PARALLEL && expected > workers) expected = workers;
  uint64_t found = 0;
  for (uint64_t i = 0; i < s.tiles * k; i++) found += cells[i];
  CHECK_EQ_U64(found, expected);
}

/* All shapes of the problem for one grid. */
static void cover_problems(struct tide_schedule_params p, uint32_t side) {
  for (p.m = 1; p.m <= side; p.m++)
    for (p.n = 1; p.n <= side; p.n++)
      for (p.l = 1; p.l <= 2; p.l++)
        for (p.swizzle = 1; p.swizzle <= 4; p.swizzle *= 2)
          for (int along_m = 0; along_m < 2; along_m++) {
            p.along_m = along_m;
            check_cover(&p);
          }
}

static void cover_grids(enum tide_ir_scheduler kind, uint32_t side) {
  static const uint32_t clusters[][2] = {{1, 1}, {2, 1}, {1, 2}, {2, 2}, {4, 1}};
  struct tide_schedule_params p = shape(kind, 1, 1, 1, 1);
  for (size_t c = 0; c < sizeof clusters / sizeof *clusters; c++)
    for (uint32_t x = 1; x <= 3; x++)
      for (uint32_t y = 1; y <= 3; y++) {
        p.cluster[0] = clusters[c][0];
        p.cluster[1] = clusters[c][1];
        p.grid[0] = x * p.cluster[0];
        p.grid[1] = y * p.cluster[1];
        cover_problems(p, side);
      }
}

TEST(persistent_covers_every_tile_once) { cover_grids(TIDE_IR_STATIC_PERSISTENT, 6); }
TEST(data_parallel_gives_each_its_first) { cover_grids(TIDE_IR_DATA_PARALLEL, 6); }

/* Grids whose clusters are neighbours in the linear order. */
static void each_streamk(void (*check)(const struct tide_schedule_params *p), uint32_t k_last) {
  static const uint32_t clusters[][2] = {{1, 1}, {2, 1}, {1, 2}, {2, 2}};
  for (uint32_t k = 1; k <= k_last; k++)
    for (size_t c = 0; c < sizeof clusters / sizeof *clusters; c++)
      for (uint32_t units = 1; units <= 16 / (clusters[c][0] * clusters[c][1]); units++)
        for (uint32_t m = 1; m <= 5; m++)
          for (uint32_t n = 1; n <= 5; n++)
            for (int along_m = 0; along_m < 2; along_m++) {
              struct tide_schedule_params p = shape(TIDE_IR_STREAMK, m, n, 1 + (m & 1), k);
              p.along_m = along_m;
              p.swizzle = 1u << (n & 1);
              p.cluster[0] = clusters[c][0];
              p.cluster[1] = clusters[c][1];
              p.grid[0] = p.cluster[0] * (along_m ? units : 1);
              p.grid[1] = p.cluster[1] * (along_m ? 1 : units);
              check(&p);
            }
}

TEST(streamk_covers_every_k_tile_once) { each_streamk(check_cover, 40); }

/* ---- the fix-up: who must wait for whom ---- */

struct worker {
  struct tide_tile_work work;
};

/* Lets one worker go on if its fix-up's turn has come. The lock of a tile is how many of its k
 * tiles are in the store. */
static bool step(const struct tide_schedule *s, struct worker *worker, uint32_t *locks) {
  struct tide_tile_work *w = &worker->work;
  if (!w->valid) return false;
  if (tide_schedule_split(w)) {
    uint32_t *lock = &locks[tide_schedule_workspace(s, w)];
    if (*lock != w->k_begin) return false;
    *lock += w->k_count;
  }
  tide_schedule_next(s, w);
  return true;
}

static void check_fixup(const struct tide_schedule_params *p) {
  struct tide_schedule s;
  static struct worker workers[WORKERS_MAX];
  static uint32_t locks[CELLS_MAX];
  CHECK_OK(tide_schedule_init(&s, p, NULL));
  uint32_t count = p->grid[0] * p->grid[1];
  memset(locks, 0, s.tiles * sizeof *locks);
  for (uint32_t i = 0; i < count; i++) {
    uint32_t block[3];
    block_of(p, i, block);
    tide_schedule_first(&s, block, &workers[i].work);
  }
  /* The last worker first: the worst order for who waits on earlier k tiles. */
  for (bool moved = true; moved;) {
    moved = false;
    for (uint32_t i = count; i-- > 0;)
      while (step(&s, &workers[i], locks)) moved = true;
  }
  for (uint32_t i = 0; i < count; i++) CHECK(!workers[i].work.valid);
  for (uint64_t i = 0; i < s.tiles; i++) CHECK(locks[i] == 0 || locks[i] == p->k);
}

TEST(fix_up_in_order_of_k_ends) { each_streamk(check_fixup, 40); }

/* ---- clusters ---- */

static void check_together(const struct tide_schedule_params *p) {
  struct tide_schedule s;
  CHECK_OK(tide_schedule_init(&s, p, NULL));
  for (uint32_t y = 0; y < p->grid[1]; y += p->cluster[1])
    for (uint32_t x = 0; x < p->grid[0]; x += p->cluster[0]) {
      struct tide_tile_work lead, other;
      for (uint32_t in = 1; in < p->cluster[0] * p->cluster[1]; in++) {
        uint32_t dx = in % p->cluster[0], dy = in / p->cluster[0];
        tide_schedule_first(&s, (uint32_t[]){x, y, 0}, &lead);
        tide_schedule_first(&s, (uint32_t[]){x + dx, y + dy, 0}, &other);
        while (lead.valid) {
          CHECK(other.valid && other.m == lead.m + dx && other.n == lead.n + dy);
          CHECK(other.l == lead.l && other.k_begin == lead.k_begin &&
                other.k_count == lead.k_count);
          tide_schedule_next(&s, &lead);
          tide_schedule_next(&s, &other);
        }
        CHECK(!other.valid);
      }
    }
}

TEST(a_cluster_works_on_neighbours) { each_streamk(check_together, 24); }

/* ---- the decoding, by the book ---- */

TEST(the_order_of_a_raster) {
  struct tide_schedule_params p = shape(TIDE_IR_STATIC_PERSISTENT, 2, 3, 1, 0);
  struct tide_schedule s;
  struct tide_tile_work w;
  static const uint32_t along_n[][2] = {{0, 0}, {0, 1}, {0, 2}, {1, 0}, {1, 1}, {1, 2}};
  CHECK_OK(tide_schedule_init(&s, &p, NULL));
  tide_schedule_first(&s, (uint32_t[]){0, 0, 0}, &w);
  for (int i = 0; i < 6; i++, tide_schedule_next(&s, &w))
    CHECK(w.valid && w.m == along_n[i][0] && w.n == along_n[i][1]);
  /* Swizzle 2: pairs of rows are walked together. */
  static const uint32_t swizzled[][2] = {{0, 0}, {1, 0}, {0, 1}, {1, 1}, {0, 2}, {1, 2}};
  p.swizzle = 2;
  CHECK_OK(tide_schedule_init(&s, &p, NULL));
  CHECK_EQ_U64(s.tiles_n, 4);
  tide_schedule_first(&s, (uint32_t[]){0, 0, 0}, &w);
  for (int i = 0; i < 6; i++, tide_schedule_next(&s, &w))
    CHECK(w.valid && w.m == swizzled[i][0] && w.n == swizzled[i][1]);
}

/* 5 tiles of 32 k tiles on 4 CTAs: all five by stream-K, 40 k tiles each, walked backwards. */
TEST(a_stream_k_problem_by_hand) {
  struct tide_schedule_params p = shape(TIDE_IR_STREAMK, 5, 1, 1, 32);
  struct tide_schedule s;
  struct tide_tile_work w;
  p.grid[1] = 4;
  CHECK_OK(tide_schedule_init(&s, &p, NULL));
  CHECK(s.sk_tiles == 5 && s.sk_units == 4 && s.groups == 1);
  tide_schedule_first(&s, (uint32_t[]){0, 1, 0}, &w); /* k tiles 40 to 79 */
  CHECK(w.m == 2 && w.k_begin == 0 && w.k_count == 16 && w.first && !w.last);
  tide_schedule_next(&s, &w);
  CHECK(w.m == 1 && w.k_begin == 8 && w.k_count == 24 && !w.first && w.last);
  tide_schedule_next(&s, &w);
  CHECK(!w.valid);
  p.m = 4; /* a full wave: nothing is split */
  CHECK_OK(tide_schedule_init(&s, &p, NULL));
  CHECK(s.sk_tiles == 0 && s.pieces == 4);
  p.m = 7; /* the tail is more than half a wave */
  CHECK_OK(tide_schedule_init(&s, &p, NULL));
  CHECK(s.sk_tiles == 0);
  p.m = 13; /* three waves and one: two waves whole, stream-K for the first five */
  CHECK_OK(tide_schedule_init(&s, &p, NULL));
  CHECK(s.sk_tiles == 5 && s.pieces == 4 + 8);
  tide_schedule_first(&s, (uint32_t[]){0, 3, 0}, &w);
  while (w.k_count != 32 || w.linear < 4) tide_schedule_next(&s, &w);
  CHECK(w.linear == 7 && w.m == 8 && w.first && w.last);
}

TEST(what_does_not_fit_is_refused) {
  struct tide_schedule s;
  const char *why;
  struct tide_schedule_params good = shape(TIDE_IR_STREAMK, 2, 2, 1, 9), p = good;
  CHECK_OK(tide_schedule_init(&s, &p, &why));
  CHECK(!why);
  p.m = 0;
  CHECK_STATUS(tide_schedule_init(&s, &p, &why), TIDE_INVALID);
  CHECK_EQ_STR(why, "a problem without tiles");
  p = good, p.k = 0;
  CHECK_STATUS(tide_schedule_init(&s, &p, NULL), TIDE_INVALID);
  p = good, p.swizzle = 3;
  CHECK_STATUS(tide_schedule_init(&s, &p, NULL), TIDE_INVALID);
  p = good, p.cluster[0] = 3;
  CHECK_STATUS(tide_schedule_init(&s, &p, NULL), TIDE_INVALID);
  p = good, p.cluster[0] = 2;
  CHECK_STATUS(tide_schedule_init(&s, &p, NULL), TIDE_INVALID);
  p = good, p.grid[2] = 2;
  CHECK_STATUS(tide_schedule_init(&s, &p, NULL), TIDE_INVALID);
  p = good, p.grid[0] = 4, p.grid[1] = 2, p.cluster[0] = 2, p.cluster[1] = 2;
  CHECK_STATUS(tide_schedule_init(&s, &p, NULL), TIDE_INVALID);
  p = good, p.m = p.n = p.l = 0xffffffff;
  CHECK_STATUS(tide_schedule_init(&s, &p, NULL), TIDE_FULL);
  p = good, p.k = 0xffffffff;
  CHECK_STATUS(tide_schedule_init(&s, &p, NULL), TIDE_FULL);
}

TEST_MAIN(CASE(persistent_covers_every_tile_once), CASE(data_parallel_gives_each_its_first),
          CASE(streamk_covers_every_k_tile_once), CASE(fix_up_in_order_of_k_ends),
          CASE(a_cluster_works_on_neighbours), CASE(the_order_of_a_raster),
          CASE(a_stream_k_problem_by_hand), CASE(what_does_not_fit_is_refused))
