/* The patterns' consumers for a GPU: a warp each, the same sums in the same order as on the host.
 * Needs wic/gpu_wait.h and what that stands on. */
#ifndef PATTERNS_GPU_CONSUMERS_H
#define PATTERNS_GPU_CONSUMERS_H

#include "kernels.h"

/* One consumer, at one of its messages. */
struct consumer {
  const struct gpu_arguments *arguments;
  struct gpu_warp *warp;
  void *block;
  uint32_t number;         /* of all consumers */
  uint32_t cycle, message; /* in the cycle */
  const void *data;
};

/* ---- messages ------------------------------------------------------------------------------ */

GPU_FUNCTION uint32_t slot_of(const struct gpu_arguments *a, uint32_t up, uint32_t consumer,
                              uint32_t cycle, uint32_t message) {
  uint32_t half = a->consumers * (a->down + a->up);
  uint32_t in_half =
      up ? a->consumers * a->down + consumer * a->up + message : consumer * a->down + message;
  return (cycle & 1) * half + in_half;
}

GPU_FUNCTION struct gpu_slot *slot_at(const struct gpu_arguments *a, uint32_t index) {
  return (struct gpu_slot *)(uintptr_t)a->slots + index;
}

GPU_FUNCTION void *place_at(const struct gpu_arguments *a, uint32_t index) {
  return (unsigned char *)(uintptr_t)a->memory + (uint64_t)index * a->place;
}

/* Where a consumer's data is put in shared memory. */
GPU_FUNCTION void *shared_place(const struct gpu_arguments *a, const struct gpu_warp *w,
                                uint32_t index) {
  return (unsigned char *)w->shared + GPU_SHARED_DATA + (uint64_t)index * a->bytes;
}

/* gpu_tag_function: the n-th message of this launch to the block's consumer `index`. */
GPU_FUNCTION void name_tag(const void *what, const struct gpu_warp *w, uint32_t index, uint32_t n,
                           struct gpu_tag *out_tag) {
  const struct gpu_arguments *a = what;
  uint32_t step = a->from + n - 1, cycle = step / a->down;
  uint32_t slot = slot_of(a, 0, w->block * a->warps + index, cycle, step % a->down);
  out_tag->word = &slot_at(a, slot)->given;
  out_tag->value = cycle + 1;
  out_tag->bytes = a->bulk ? a->bytes : 0;
  out_tag->from = place_at(a, slot);
  out_tag->to = shared_place(a, w, index);
}

/* All lanes have written to its place. */
GPU_FUNCTION void give_up_message(struct consumer *c, uint32_t message, uint32_t length) {
  struct gpu_slot *slot =
      slot_at(c->arguments, slot_of(c->arguments, 1, c->number, c->cycle, message));
  gpu_sync_warp();
  if (GPU_ONE()) {
    slot->length = length;
    gpu_store_system(&slot->given, c->cycle + 1);
  }
}

GPU_FUNCTION float *room_up(struct consumer *c, uint32_t message) {
  return place_at(c->arguments, slot_of(c->arguments, 1, c->number, c->cycle, message));
}

/* ---- C_SRS: edges of a tile; the strengths of the tile before
 * -------------------------------------- */

GPU_FUNCTION void srs_count(struct gpu_srs *s) {
  GPU_EACH(i, 256) s->pass[i] = 0;
  gpu_sync_warp();
  GPU_EACH(i, 64 * s->height) gpu_add(&s->pass[s->edges[i]], 1);
  gpu_sync_warp();
}

GPU_FUNCTION void srs_settle(struct gpu_srs *s) {
  GPU_EACH(i, 256) s->counts[i] += s->pass[i];
  gpu_sync_warp();
}

GPU_FUNCTION void srs_edges(struct gpu_srs *s, const uint8_t *in) {
  GPU_EACH(i, 64 * s->height) {
    uint32_t x = i % 64, y = i / 64;
    bool rim = x == 0 || x == 63 || y == 0 || y + 1 == s->height;
    int d = 0;
    if (!rim) d = 4 * in[i] - in[i - 1] - in[i + 1] - in[i - 64] - in[i + 64];
    d = d < 0 ? -d : d;
    s->edges[i] = d > 255 ? 255 : (uint8_t)d;
  }
  gpu_sync_warp();
}

/* ---- G_KMN: which points have moved; the nearest centre of each point, and the sums of those
 * ------------------------------------- */

GPU_FUNCTION void kmn_count(struct gpu_kmn *s) {
  if (GPU_ONE()) s->pass = 0;
  gpu_sync_warp();
  GPU_EACH(i, s->points) if (s->members[i] != s->members[s->points + i]) gpu_add(&s->pass, 1);
  gpu_sync_warp();
}

GPU_FUNCTION uint32_t kmn_nearest(const float *point, const float *centres) {
  uint32_t best = 0;
  float least = 0;
  for (uint32_t i = 0; i < GPU_CENTRES; i++) {
    float distance = 0;
    for (uint32_t axis = 0; axis < GPU_AXES; axis++) {
      float d = point[axis] - centres[i * GPU_AXES + axis];
      distance += d * d;
    }
    if (i && !(distance < least)) continue;
    least = distance;
    best = i;
  }
  return best;
}

/* The centres, then the points. Each sum is one lane's. */
GPU_FUNCTION void kmn_assign(struct consumer *c, struct gpu_kmn *s) {
  const float *centres = c->data, *points = centres + GPU_CENTRES * GPU_AXES;
  uint8_t *members = s->members + (uint64_t)(c->cycle & 1) * s->points;
  GPU_EACH(i, GPU_CENTRES * GPU_AXES) s->centres[i] = centres[i];
  gpu_sync_warp();
  GPU_EACH(i, s->points)
  members[i] = (uint8_t)kmn_nearest(points + (uint64_t)i * GPU_AXES, s->centres);
  gpu_sync_warp();
  GPU_EACH(j, GPU_CENTRES * GPU_AXES) {
    double sum = 0;
    uint32_t count = 0;
    for (uint32_t i = 0; i < s->points; i++) {
      if (members[i] != j / GPU_AXES) continue;
      sum += (double)points[i * GPU_AXES + j % GPU_AXES];
      count++;
    }
    s->sums.sums[j] = sum;
    if (j % GPU_AXES == 0) s->sums.counts[j / GPU_AXES] = count;
  }
  gpu_sync_warp();
}

GPU_FUNCTION void kmn_settle(struct consumer *c, struct gpu_kmn *s) {
  struct gpu_sums *out = (void *)room_up(c, 0);
  GPU_EACH(i, GPU_CENTRES * GPU_AXES) out->sums[i] = s->sums.sums[i];
  GPU_EACH(i, GPU_CENTRES) out->counts[i] = s->sums.counts[i];
  give_up_message(c, 0, (uint32_t)sizeof *out);
}

/* ---- G_GEM: two tiles of B in, one of C out
 * ------------------------------------------------------------------ */

GPU_FUNCTION void gem_scale(struct gpu_gem *s, uint32_t cycle, uint32_t half) {
  float factor = 1.0f / (float)(cycle + 1);
  GPU_EACH(i, GPU_ROWS * GPU_DEPTH) s->scaled[i] = s->a[half][i] * factor;
  gpu_sync_warp();
}

GPU_FUNCTION void gem_multiply(struct gpu_gem *s, uint32_t half, const float *b) {
  uint32_t size = GPU_ROWS * s->columns;
  GPU_EACH(i, size) {
    uint32_t row = i / s->columns, x = i % s->columns;
    float sum = half ? s->sums[i] : 0;
    for (uint32_t k = 0; k < GPU_DEPTH; k++)
      sum += s->scaled[row * GPU_DEPTH + k] * b[k * s->columns + x];
    s->sums[half * size + i] = sum;
  }
  gpu_sync_warp();
}

GPU_FUNCTION void gem_settle(struct consumer *c, struct gpu_gem *s) {
  uint32_t size = GPU_ROWS * s->columns;
  if (c->message == 0) return;
  float *out = room_up(c, 0);
  GPU_EACH(i, size) out[i] = s->sums[size + i];
  give_up_message(c, 0, size * (uint32_t)sizeof(float));
}

/* ---- G_C2D and G_STN: a step of a strip's rows
 * ------------------------------------------------------------------ */

GPU_FUNCTION float c2d_at(const float *above, const float *row, const float *below, uint32_t l,
                          uint32_t x, uint32_t r) {
  float sum = 0.05f * above[l] + 0.10f * above[x] + 0.15f * above[r];
  sum += 0.10f * row[l] + 0.20f * row[x] + 0.10f * row[r];
  return sum + 0.15f * below[l] + 0.10f * below[x] + 0.05f * below[r];
}

GPU_FUNCTION float stn_at(const float *above, const float *row, const float *below, uint32_t l,
                          uint32_t x, uint32_t r) {
  return 0.25f * (above[x] + below[x] + row[l] + row[r]);
}

/* Those rows of the strip that have a bit in `chosen`. */
GPU_FUNCTION void strip_rows(struct consumer *c, uint32_t chosen) {
  struct gpu_strip *s = c->block;
  const struct gpu_arguments *a = c->arguments;
  uint32_t width = s->width, odd = c->cycle & 1;
  const float *in = s->rows + (uint64_t)odd * GPU_STRIP * width, *data = c->data;
  float *out = s->rows + (uint64_t)(odd ^ 1) * GPU_STRIP * width;
  for (uint32_t y = 0; y < GPU_STRIP; y++) {
    if (!(chosen & 1u << y)) continue;
    const float *row = in + (uint64_t)y * width;
    const float *above = y ? row - width : data;
    const float *below = y + 1 < GPU_STRIP ? row + width : a->down == 1 ? data + width : data;
    GPU_EACH(x, width) {
      uint32_t l = x ? x - 1 : 0, r = x + 1 < width ? x + 1 : width - 1;
      float value = a->pattern == GPU_C2D ? c2d_at(above, row, below, l, x, r)
                                          : stn_at(above, row, below, l, x, r);
      out[(uint64_t)y * width + x] = value;
    }
  }
  gpu_sync_warp();
}

GPU_FUNCTION void strip_settle(struct consumer *c) {
  struct gpu_strip *s = c->block;
  uint32_t width = s->width, odd = ~c->cycle & 1;
  const float *rows = s->rows + (uint64_t)odd * GPU_STRIP * width;
  const float *last = rows + (uint64_t)(GPU_STRIP - 1) * width;
  float *out = room_up(c, c->message);
  if (c->arguments->down == 1) {
    GPU_EACH(x, width) {
      out[x] = rows[x];
      out[width + x] = last[x];
    }
    give_up_message(c, 0, 2 * width * (uint32_t)sizeof(float));
  } else {
    GPU_EACH(x, width) out[x] = c->message ? last[x] : rows[x];
    give_up_message(c, c->message, width * (uint32_t)sizeof(float));
  }
}

/* ---- any of them: work before, once before, work after, once after, once at the end
 * -------------------------------- */

GPU_FUNCTION void work_before(struct consumer *c) {
  switch (c->arguments->pattern) {
    case GPU_SRS: srs_count(c->block); break;
    case GPU_KMN: kmn_count(c->block); break;
    case GPU_GEM: gem_scale(c->block, c->cycle, c->message); break;
    case GPU_C2D: strip_rows(c, 2 | 4); break;
    default: strip_rows(c, c->message ? 4 : 2); break;
  }
}

GPU_FUNCTION void work_after(struct consumer *c) {
  switch (c->arguments->pattern) {
    case GPU_SRS: srs_edges(c->block, c->data); break;
    case GPU_KMN: kmn_assign(c, c->block); break;
    case GPU_GEM: gem_multiply(c->block, c->message, c->data); break;
    case GPU_C2D: strip_rows(c, 1 | 8); break;
    default: strip_rows(c, c->message ? 8 : 1); break;
  }
}

GPU_FUNCTION void settle_before(struct consumer *c) {
  struct gpu_kmn *kmn = c->block;
  if (c->arguments->pattern == GPU_SRS && c->cycle) srs_settle(c->block);
  if (c->arguments->pattern == GPU_KMN && GPU_ONE()) kmn->moved += kmn->pass;
}

GPU_FUNCTION void settle_after(struct consumer *c) {
  switch (c->arguments->pattern) {
    case GPU_SRS: break;
    case GPU_KMN: kmn_settle(c, c->block); break;
    case GPU_GEM: gem_settle(c, c->block); break;
    default: strip_settle(c); break;
  }
}

/* A unit of work, again and again until so much time has passed; all lanes agree on when. */
GPU_FUNCTION void stretch(struct consumer *c, void (*unit)(struct consumer *), uint32_t ns) {
  uint64_t from = gpu_now();
  do unit(c);
  while (ns && !gpu_any(gpu_now() - from >= ns));
}

/* ---- one launch
 * ----------------------------------------------------------------------------------------------------
 */

GPU_FUNCTION bool take_message(struct consumer *c, uint32_t n) {
  const struct gpu_arguments *a = c->arguments;
  struct gpu_tally *tally = c->block;
  uint64_t from = gpu_now();
  if (!gpu_wait(c->warp, n, name_tag, a)) return false;
  if (GPU_ONE()) {
    tally->waits++;
    tally->waited += gpu_now() - from;
  }
  uint32_t slot = slot_of(a, 0, c->number, c->cycle, c->message);
  c->data = a->bulk ? shared_place(a, c->warp, c->warp->index) : place_at(a, slot);
  return true;
}

GPU_FUNCTION void end_message(struct consumer *c) {
  const struct gpu_arguments *a = c->arguments;
  struct gpu_tally *tally = c->block;
  struct gpu_slot *slot = slot_at(a, slot_of(a, 0, c->number, c->cycle, c->message));
  gpu_sync_warp();
  if (GPU_ONE()) {
    gpu_store_system(&slot->taken, c->cycle + 1);
    tally->done++;
  }
  settle_after(c);
}

GPU_FUNCTION bool consume_one(struct consumer *c, uint32_t n) {
  const struct gpu_arguments *a = c->arguments;
  if (a->phases & GPU_BEFORE) {
    gpu_ask(c->warp, n);
    stretch(c, work_before, a->c1_ns);
    settle_before(c);
  }
  if (!(a->phases & GPU_AFTER)) return true;
  if (!take_message(c, n)) return false;
  stretch(c, work_after, a->c2_ns);
  end_message(c);
  return true;
}

GPU_FUNCTION void run_consumer(const struct gpu_arguments *a, struct gpu_warp *w) {
  struct consumer c = {.arguments = a, .warp = w, .number = w->block * a->warps + w->index};
  c.block = (unsigned char *)(uintptr_t)a->blocks + (uint64_t)c.number * a->block_size;
  struct gpu_tally *tally = c.block;
  bool good = true;
  for (uint32_t step = a->from; step < a->to && good; step++) {
    c.cycle = step / a->down;
    c.message = step % a->down;
    good = consume_one(&c, step - a->from + 1);
  }
  if (GPU_ONE() && !good) tally->failed = 1;
  if (w->way != GPU_PARKED) gpu_tell(w, &tally->checks);
  gpu_leave(w); /* from here on its block is the monitor's */
}

/* One warp of a launch. `shared` is its block's; the last warp of a parked block is the monitor. */
GPU_FUNCTION void pattern_warp(const struct gpu_arguments *a, void *shared, uint32_t block,
                               uint32_t index, uint32_t warps) {
  uint32_t first = block * a->warps, left = a->consumers - first;
  struct gpu_warp w = {.shared = shared,
                       .block = block,
                       .index = index,
                       .consumers = left < a->warps ? left : a->warps,
                       .way = (enum gpu_way)a->way,
                       .deadline = gpu_now() + a->limit,
                       .over = (const uint32_t *)(uintptr_t)a->over};
  gpu_begin(&w, warps * 32);
  if (index < w.consumers) {
    run_consumer(a, &w);
  } else if (w.way == GPU_PARKED && index == a->warps) {
    gpu_monitor(&w, name_tag, a);
    struct gpu_tally *tally =
        (void *)((unsigned char *)(uintptr_t)a->blocks + (uint64_t)first * a->block_size);
    gpu_tell(&w, &tally->checks);
  }
}

/* ---- interference: warps that work, beside warps that wait for these
 * ----------------------------- */

/* gpu_tag_function: the block's word. */
GPU_FUNCTION void name_block_tag(const void *what, const struct gpu_warp *w, uint32_t index,
                                 uint32_t n, struct gpu_tag *out_tag) {
  const struct gpu_interference *a = what;
  (void)index;
  *out_tag = (struct gpu_tag){(const uint32_t *)(uintptr_t)a->tag + 32 * w->block, n, 0, 0, 0};
}

/* Sums of its own, in registers; what they come to is never 0. */
GPU_FUNCTION void work_alone(const struct gpu_interference *a, const struct gpu_warp *w,
                             uint32_t index) {
  uint64_t *results = (uint64_t *)(uintptr_t)a->results + 2 * w->block;
  uint32_t *tag = (uint32_t *)(uintptr_t)a->tag + 32 * w->block;
  float x = 1.0f + (float)index, y = 2.0f + (float)gpu_lane(), z = 3, u = 4;
  uint64_t from = gpu_clock();
  for (uint32_t i = 0; i < a->rounds; i++) {
    x = x * 0.9f + 1.0f;
    y = y * 0.8f + 1.0f;
    z = z * 0.7f + 1.0f;
    u = u * 0.6f + 1.0f;
  }
  uint64_t clocks = gpu_clock() - from;
  if (!GPU_ONE() || x + y + z + u == 0) return;
  gpu_add_wide(results, clocks);
  if (gpu_add(tag + 1, 1) + 1 == a->workers) gpu_store_system(tag, 1);
}

GPU_FUNCTION void interference_warp(const struct gpu_interference *a, void *shared, uint32_t block,
                                    uint32_t index, uint32_t warps) {
  uint64_t *results = (uint64_t *)(uintptr_t)a->results + 2 * block;
  struct gpu_warp w = {.shared = shared,
                       .block = block,
                       .index = index,
                       .consumers = a->waiters,
                       .way = (enum gpu_way)a->way,
                       .deadline = gpu_now() + a->limit,
                       .over = (const uint32_t *)(uintptr_t)a->over};
  gpu_begin(&w, warps * 32);
  if (index < a->waiters) {
    gpu_ask(&w, 1);
    (void)gpu_wait(&w, 1, name_block_tag, a);
    gpu_leave(&w);
    if (w.way != GPU_PARKED) gpu_tell(&w, &results[1]);
  } else if (index < a->waiters + a->workers) {
    work_alone(a, &w, index);
  } else if (w.way == GPU_PARKED) {
    gpu_monitor(&w, name_block_tag, a);
    gpu_tell(&w, &results[1]);
  }
}

#endif
