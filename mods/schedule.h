/* mods/schedule.h: the next tile of a CTA: the arithmetic of the three tile schedulers.
 *
 * The model. A problem has m × n × l *tiles* (blocks); m and n are rounded up to whole clusters of
 * whole swizzles, so some tiles may lie outside of the problem, and kernels must check. A tile is
 * the sum over k *k tiles*. All workers are CTAs of one launch of gx × gy CTAs, in clusters of cx ×
 * cy. Each CTA has a *linear index*: bx + by·gx when rastered along n, bx·gy + by along m. After
 * the piece of work with one linear index, a CTA takes the piece `gx·gy·gz` further.
 *
 * - static_persistent: piece i is tile i.
 * - data_parallel: the same, but each CTA has only its first tile.
 * - streamk: if the last wave would be nearly empty, the k tiles of the first `sk_tiles` tiles are
 *   dealt out evenly to `sk_units` units (at most one a CTA); the other tiles are whole. Units and
 *   tiles are in groups, by index modulo the number of groups. A unit's edges snap to the ends of
 *   a tile if fewer than 8 k tiles would be cut off. A unit walks its tiles from the last to the
 *   first. A tile shared by several units is *fixed up* in the order of its k tiles. The first
 *   unit stores its sum. A middle unit waits for all before it and adds to the stored sum. The
 *   last unit waits, adds, and writes the result. The tile's lock is the number of k tiles stored
 *   so far.
 *
 * Pure: no state, no memory. `k_begin` and `k_count` are 0 if the scheduler has no k.
 *
 * Two differences from the source. Its heuristic turns some stream-K problems into split-K; ours
 * never does. After a unit that lost all k tiles to its neighbours, ours goes on to the next piece
 * of work.
 *
 * Source: "CUTLASS" (tile_scheduler_params.h, sm90_tile_scheduler_stream_k.hpp). */
#ifndef TIDE_MODS_SCHEDULE_H
#define TIDE_MODS_SCHEDULE_H

#include "mods/ir.h"

#define TIDE_SCHEDULE_TILES_MAX 0x7fffffffu /* limit on m·n·l rounded up, and on that times k */
#define TIDE_STREAMK_MIN 8u                 /* the smallest split, in k tiles */
#define TIDE_STREAMK_GROUPS_MAX 8u

struct tide_schedule_params {
  enum tide_ir_scheduler kind;
  uint32_t m, n, l; /* tiles in each direction */
  uint32_t k;       /* k tiles of one tile; streamk only */
  bool along_m;     /* raster along m; the default is along n */
  uint32_t swizzle; /* 1, 2, 4 or 8; 0 means 1 */
  uint32_t grid[3]; /* CTAs */
  uint32_t cluster[3];
};

/* Inputs of the decoding, computed once. */
struct tide_schedule {
  enum tide_ir_scheduler kind;
  bool along_m;
  uint32_t k;
  uint32_t log_swizzle;
  uint32_t tiles_m, tiles_n;             /* rounded up */
  uint32_t cluster_minor, cluster_major; /* minor is m when rastered along n */
  uint32_t clusters_major;               /* clusters in the major direction */
  uint32_t cluster_size;
  uint32_t grid_x, grid_y;
  uint32_t cluster_x, cluster_y;
  uint64_t advance;
  uint64_t tiles;  /* all tiles */
  uint64_t pieces; /* number of linear indices that have work */
  uint64_t sk_tiles, sk_units;
  uint32_t groups, big_groups; /* big groups have one more tile of the cluster */
};

/* TIDE_INVALID: a size is 0; the swizzle or the cluster is no power of two; the grid isn't made of
 * whole clusters; the grid has a z (its CTAs would do the same work); or the CTAs of streamk's
 * clusters don't have consecutive linear indices. TIDE_FULL: too many tiles. */
enum tide_status tide_schedule_init(struct tide_schedule *schedule,
                                    const struct tide_schedule_params *params,
                                    const char **out_why); /* may be NULL */

struct tide_tile_work {
  uint32_t m, n, l;
  uint32_t k_begin, k_count;
  bool valid;
  bool first, last;                  /* has the tile's first, last k tile; both without a split */
  uint32_t offset_m, offset_n;       /* the CTA's position in its cluster */
  uint64_t linear;                   /* linear index of the piece of work */
  uint32_t unit_begin, unit_remains; /* stream-K units: k tiles, counted in the unit's group */
};

/* Return the first work of CTA (x, y, z), and the work after `work`. Invalid work stays invalid. */
void tide_schedule_first(const struct tide_schedule *schedule, const uint32_t block[3],
                         struct tide_tile_work *out_work);
void tide_schedule_next(const struct tide_schedule *schedule, struct tide_tile_work *work);

/* Kernels that split: return the index of the work's tile in the workspace (below sk_tiles); true
 * if the work must be fixed up. */
uint64_t tide_schedule_workspace(const struct tide_schedule *schedule,
                                 const struct tide_tile_work *work);
static inline bool tide_schedule_split(const struct tide_tile_work *work) {
  return work->valid && !(work->first && work->last);
}

#endif
