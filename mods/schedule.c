#include "mods/schedule.h"

static bool power_of_two(uint32_t value) { return value && !(value & (value - 1)); }

static uint64_t round_up(uint64_t value, uint64_t to) { return (value + to - 1) / to * to; }

/* ---- checks of the parameters ---- */

static const char *problem_with(const struct tide_schedule_params *p) {
  uint32_t swizzle = p->swizzle ? p->swizzle : 1;
  if (!p->m || !p->n || !p->l) return "a problem without tiles";
  if (p->kind == TIDE_IR_STREAMK && !p->k) return "a problem without k tiles";
  if (!power_of_two(swizzle) || swizzle > 8) return "a swizzle that isn't 1, 2, 4 or 8";
  if (!power_of_two(p->cluster[0]) || !power_of_two(p->cluster[1]) || p->cluster[2] != 1)
    return "a cluster whose sides aren't powers of two, or that has a z";
  if (!p->grid[0] || !p->grid[1] || !p->grid[2]) return "an empty grid";
  if (p->grid[0] % p->cluster[0] || p->grid[1] % p->cluster[1])
    return "a grid that isn't made of whole clusters";
  if (p->grid[2] != 1) return "a grid with a z: its CTAs would do the same work";
  /* Units are dealt to clusters: a cluster's CTAs must be neighbours in the linear order. */
  if (p->kind == TIDE_IR_STREAMK &&
      (p->along_m ? p->cluster[0] != 1 && p->grid[1] != p->cluster[1]
                  : p->cluster[1] != 1 && p->grid[0] != p->cluster[0]))
    return "a grid wider than the cluster, across the raster";
  return NULL;
}

/* Returns the number of tiles that are dealt out by k tiles. `wave` is the number of CTAs. */
static uint64_t streamk_tiles(const struct tide_schedule *s, uint64_t wave) {
  uint64_t full = s->tiles / wave, tail = s->tiles % wave;
  uint64_t whole_waves = full > 1 ? full - 1 : 0;
  if (!tail || s->k <= TIDE_STREAMK_MIN || 2 * tail >= wave) return 0;
  return (s->tiles - whole_waves * wave) / s->cluster_size * s->cluster_size;
}

static uint64_t streamk_units(const struct tide_schedule *s, uint64_t wave) {
  uint64_t units = s->sk_tiles * s->k / TIDE_STREAMK_MIN;
  if (units > wave) units = wave;
  return units / s->cluster_size * s->cluster_size;
}

/* True if a unit of the smaller groups would get fewer k tiles than the smallest split. */
static bool too_small(const struct tide_schedule *s, uint32_t groups) {
  uint64_t tiles = s->sk_tiles / s->cluster_size / groups * s->cluster_size;
  return tiles * s->k / (s->sk_units / groups) < TIDE_STREAMK_MIN;
}

/* Returns the largest number of groups that divides units and tiles, else the largest that divides
 * the units, else one. */
static uint32_t streamk_groups(const struct tide_schedule *s) {
  uint64_t units = s->sk_units / s->cluster_size, tiles = s->sk_tiles / s->cluster_size;
  uint32_t fallback = 1;
  uint32_t groups = s->along_m ? s->tiles_m / s->cluster_x : s->tiles_n / s->cluster_y;
  if (groups > TIDE_STREAMK_GROUPS_MAX) groups = TIDE_STREAMK_GROUPS_MAX;
  for (; groups > 1; groups--) {
    if (units % groups || too_small(s, groups)) continue;
    if (tiles % groups == 0) return groups;
    if (fallback == 1) fallback = groups;
  }
  return fallback;
}

static void init_streamk(struct tide_schedule *s) {
  uint64_t wave = (uint64_t)s->grid_x * s->grid_y;
  s->sk_tiles = streamk_tiles(s, wave);
  s->sk_units = s->sk_tiles ? streamk_units(s, wave) : 0;
  if (!s->sk_units) {
    s->sk_tiles = 0;
    return;
  }
  s->groups = streamk_groups(s);
  s->big_groups = (uint32_t)(s->sk_tiles / s->cluster_size % s->groups);
  s->pieces = s->sk_units + s->tiles - s->sk_tiles;
}

enum tide_status tide_schedule_init(struct tide_schedule *s,
                                    const struct tide_schedule_params *params,
                                    const char **out_why) {
  const char *why = problem_with(params);
  uint32_t swizzle = params->swizzle ? params->swizzle : 1;
  if (out_why) *out_why = why;
  if (why) return TIDE_INVALID;
  *s = (struct tide_schedule){.kind = params->kind,
                              .along_m = params->along_m,
                              .k = params->kind == TIDE_IR_STREAMK ? params->k : 0,
                              .groups = 1,
                              .grid_x = params->grid[0],
                              .grid_y = params->grid[1],
                              .cluster_x = params->cluster[0],
                              .cluster_y = params->cluster[1]};
  while (1u << s->log_swizzle < swizzle) s->log_swizzle++;
  uint64_t m = round_up(params->m, (uint64_t)swizzle * params->cluster[0]);
  uint64_t n = round_up(params->n, (uint64_t)swizzle * params->cluster[1]);
  unsigned __int128 tiles = (unsigned __int128)m * n * params->l;
  if (out_why) *out_why = "too many tiles";
  if (tiles > TIDE_SCHEDULE_TILES_MAX || tiles * (s->k ? s->k : 1) > TIDE_SCHEDULE_TILES_MAX)
    return TIDE_FULL;
  if ((uint64_t)s->grid_x * s->grid_y > TIDE_SCHEDULE_TILES_MAX) return TIDE_FULL;
  if (out_why) *out_why = NULL;
  s->tiles_m = (uint32_t)m;
  s->tiles_n = (uint32_t)n;
  s->tiles = s->pieces = (uint64_t)tiles;
  s->cluster_size = s->cluster_x * s->cluster_y;
  s->cluster_minor = s->along_m ? s->cluster_y : s->cluster_x;
  s->cluster_major = s->along_m ? s->cluster_x : s->cluster_y;
  s->clusters_major = s->along_m ? s->tiles_m / s->cluster_x : s->tiles_n / s->cluster_y;
  s->advance = (uint64_t)s->grid_x * s->grid_y;
  if (s->kind == TIDE_IR_STREAMK) init_streamk(s);
  return TIDE_OK;
}

/* ---- a tile's position ---- */

static void place_tile(const struct tide_schedule *s, uint64_t tile, struct tide_tile_work *work) {
  uint64_t plane = (uint64_t)s->tiles_m * s->tiles_n;
  uint32_t in_plane = (uint32_t)(tile % plane);
  uint32_t block = in_plane / s->cluster_minor;
  uint32_t cluster = block / s->cluster_major;
  uint32_t swizzled = cluster & ((1u << s->log_swizzle) - 1);
  uint32_t row = cluster >> s->log_swizzle;
  uint32_t minor_cluster = (row / s->clusters_major << s->log_swizzle) + swizzled;
  uint32_t minor =
      minor_cluster * s->cluster_minor + (s->along_m ? work->offset_n : work->offset_m);
  uint32_t major = row % s->clusters_major * s->cluster_major + block % s->cluster_major;
  work->l = (uint32_t)(tile / plane);
  work->m = s->along_m ? major : minor;
  work->n = s->along_m ? minor : major;
}

/* ---- stream-K ---- */

/* Snaps an edge between units, at k tile `at` of a group, to a tile's end if it is near. */
static uint64_t snap_edge(const struct tide_schedule *s, uint64_t at) {
  uint64_t in_tile = at % s->k;
  if (in_tile < TIDE_STREAMK_MIN) return at - in_tile;
  if (in_tile > s->k - TIDE_STREAMK_MIN) return at - in_tile + s->k;
  return at;
}

/* Computes the k tiles of a unit, counted in its group. The first `big` units get one more. */
static void deal_unit(const struct tide_schedule *s, uint64_t linear, struct tide_tile_work *work) {
  uint64_t cluster = linear / s->cluster_size;
  uint32_t group = (uint32_t)(cluster % s->groups);
  uint64_t index = cluster / s->groups;
  uint64_t tiles = s->sk_tiles / s->cluster_size / s->groups + (group < s->big_groups ? 1 : 0);
  uint64_t units = s->sk_units / s->cluster_size / s->groups;
  uint64_t share = tiles * s->k / units, big = tiles * s->k % units;
  uint64_t begin = snap_edge(s, share * index + (index < big ? index : big));
  index++;
  uint64_t end = snap_edge(s, share * index + (index < big ? index : big));
  work->unit_begin = (uint32_t)begin;
  work->unit_remains = (uint32_t)(end - begin);
}

/* Cuts the last tile off the unit's remaining k tiles. */
static void cut_tile(const struct tide_schedule *s, struct tide_tile_work *work) {
  uint64_t end = (uint64_t)work->unit_begin + work->unit_remains;
  uint64_t in_group = (end - 1) / s->k;
  uint64_t begin = in_group * s->k;
  uint32_t group = (uint32_t)(work->linear / s->cluster_size % s->groups);
  if (begin < work->unit_begin) begin = work->unit_begin;
  work->k_begin = (uint32_t)(begin - in_group * s->k);
  work->k_count = (uint32_t)(end - begin);
  work->first = work->k_begin == 0;
  work->last = work->k_begin + work->k_count == s->k;
  uint64_t tile = (in_group * s->groups + group) * s->cluster_size;
  tile += (uint64_t)(s->along_m ? work->offset_m : work->offset_n) * s->cluster_minor;
  place_tile(s, tile, work);
}

/* ---- pieces of work ---- */

/* Takes the piece at work->linear, or the first non-empty one after it. */
static void take_piece(const struct tide_schedule *s, struct tide_tile_work *work) {
  work->valid = false;
  work->unit_remains = 0;
  for (; work->linear < s->pieces; work->linear += s->advance) {
    if (work->linear < s->sk_units) {
      deal_unit(s, work->linear, work);
      if (!work->unit_remains) continue;
      cut_tile(s, work);
    } else {
      work->k_begin = 0;
      work->k_count = s->k;
      work->first = work->last = true;
      place_tile(s, work->linear - s->sk_units + s->sk_tiles, work);
    }
    work->valid = true;
    return;
  }
  work->first = work->last = false;
  work->m = work->n = work->l = work->k_begin = work->k_count = 0;
}

void tide_schedule_first(const struct tide_schedule *s, const uint32_t block[3],
                         struct tide_tile_work *work) {
  *work = (struct tide_tile_work){.offset_m = block[0] % s->cluster_x,
                                  .offset_n = block[1] % s->cluster_y};
  work->linear = s->along_m ? (uint64_t)block[0] * s->grid_y + block[1]
                            : block[0] + (uint64_t)block[1] * s->grid_x;
  take_piece(s, work);
}

void tide_schedule_next(const struct tide_schedule *s, struct tide_tile_work *work) {
  if (!work->valid) return;
  if (work->unit_remains > work->k_count) {
    work->unit_remains -= work->k_count;
    cut_tile(s, work);
    return;
  }
  if (s->kind == TIDE_IR_DATA_PARALLEL) work->linear = s->pieces;
  else work->linear += s->advance;
  take_piece(s, work);
}

uint64_t tide_schedule_workspace(const struct tide_schedule *s, const struct tide_tile_work *work) {
  /* Number of the tile in the raster's order: the inverse of place_tile(). */
  uint32_t minor = s->along_m ? work->n : work->m, major = s->along_m ? work->m : work->n;
  uint32_t minor_cluster = minor / s->cluster_minor;
  uint64_t row =
      (uint64_t)(minor_cluster >> s->log_swizzle) * s->clusters_major + major / s->cluster_major;
  uint64_t cluster = (row << s->log_swizzle) + (minor_cluster & ((1u << s->log_swizzle) - 1));
  uint64_t block = cluster * s->cluster_major + major % s->cluster_major;
  return (uint64_t)work->l * s->tiles_m * s->tiles_n + block * s->cluster_minor +
         minor % s->cluster_minor;
}
