/* G_GEM: matrix products C += a * A B, a product a cycle, tile by tile. The rows of A and of C are
 * split between the consumers, and all are given the same B. The producer unpacks B's tiles from
 * 8-bit weights and streams them in; a consumer multiplies them with its panel of A and streams its
 * tile of C out, where the producer adds it up. Streaming, multiple: two tiles in, one out. */
#include "gpu.h"

#include <stdlib.h>
#include <string.h>

#define ROWS 8   /* of a consumer's panel of A, and of its tile of C */
#define DEPTH 32 /* columns of A that meet one tile of B; a product takes two */
#define TABLE 65536

struct gem {
  int8_t *weights;
  uint32_t consumers, cycles, columns; /* columns of a tile of B, and of C */
  struct panel {
    float a[2][ROWS * DEPTH];
    float scaled[ROWS * DEPTH]; /* a half, for this cycle */
    float *sums[2];             /* after each of the two tiles */
    float *total;               /* the producer's: all tiles of C that came out */
  } * panels;
};

static float factor(uint32_t cycle) { return 1.0f / (float)(cycle + 1); }

static float weight(const struct gem *g, uint32_t k, uint32_t half, uint32_t row, uint32_t column) {
  uint32_t at = k * 104729 + (half * DEPTH + row) * g->columns + column;
  return (float)g->weights[at % TABLE] * (1.0f / 128);
}

/* ---- the producer ---- */

struct tile {
  const struct gem *g;
  float *out;
  uint32_t k, half;
};

static void unpack_tile(void *argument) {
  struct tile *t = argument;
  for (uint32_t row = 0; row < DEPTH; row++)
    for (uint32_t column = 0; column < t->g->columns; column++)
      t->out[row * t->g->columns + column] = weight(t->g, t->k, t->half, row, column);
}

static bool take_back(struct run *r, struct gem *g, uint32_t c, uint32_t k) {
  const float *in = take(r, up(c, k, 0));
  if (!in) return false;
  for (uint32_t i = 0; i < ROWS * g->columns; i++) g->panels[c].total[i] += in[i];
  return taken(r, up(c, k, 0));
}

static bool produce(struct run *r) {
  struct gem *g = r->state;
  for (uint32_t k = 0; k < g->cycles + 2; k++)
    for (uint32_t c = 0; c < g->consumers; c++) {
      if (k > 1 && !take_back(r, g, c, k - 2)) return false;
      for (uint32_t half = 0; half < 2 && k < g->cycles; half++) {
        struct tile t = {g, room(r, down(c, k, half)), k, half};
        if (!t.out) return false;
        work(r, PRODUCE, unpack_tile, &t);
        give(r, down(c, k, half), DEPTH * g->columns * sizeof(float));
      }
    }
  return true;
}

/* ---- a consumer ---- */

struct product {
  const float *a, *b, *before; /* before: NULL for the first half */
  float *out;
  float factor;
  uint32_t columns;
};

static void scale(void *argument) {
  struct product *p = argument;
  for (uint32_t i = 0; i < ROWS * DEPTH; i++) p->out[i] = p->a[i] * p->factor;
}

static void multiply(void *argument) {
  struct product *p = argument;
  for (uint32_t row = 0; row < ROWS; row++) {
    float *out = p->out + (size_t)row * p->columns;
    for (uint32_t x = 0; x < p->columns; x++)
      out[x] = p->before ? p->before[(size_t)row * p->columns + x] : 0;
    for (uint32_t i = 0; i < DEPTH; i++) {
      const float *b = p->b + (size_t)i * p->columns, a = p->a[row * DEPTH + i];
      for (uint32_t x = 0; x < p->columns; x++) out[x] += a * b[x];
    }
  }
}

static bool consume(struct run *r, uint32_t c) {
  struct gem *g = r->state;
  struct panel *me = &g->panels[c];
  size_t size = ROWS * g->columns * sizeof(float);
  for (uint32_t k = 0; k < g->cycles; k++) {
    for (uint32_t half = 0; half < 2; half++) {
      struct product p = {.a = me->a[half], .out = me->scaled, .factor = factor(k)};
      work(r, C1, scale, &p);
      p = (struct product){.a = me->scaled,
                           .b = take(r, down(c, k, half)),
                           .before = half ? me->sums[0] : NULL,
                           .out = me->sums[half],
                           .columns = g->columns};
      if (!p.b) return false;
      work(r, C2, multiply, &p);
      if (!taken(r, down(c, k, half))) return false;
    }
    float *out = room(r, up(c, k, 0));
    if (!out) return false;
    memcpy(out, me->sums[1], size);
    give(r, up(c, k, 0), size);
  }
  return true;
}

/* ---- alone ---- */

static bool check(const struct settings *settings, void *state, char *said, size_t size) {
  const struct gem *g = state;
  bool good = true, failed = false;
  float *total = make((size_t)ROWS * g->columns, sizeof *total, &failed);
  for (uint32_t c = 0; c < settings->consumers && good && !failed; c++) {
    for (uint32_t i = 0; i < ROWS * g->columns; i++) {
      uint32_t row = i / g->columns, column = i % g->columns;
      total[i] = 0;
      for (uint32_t k = 0; k < g->cycles; k++) {
        float sum = 0;
        for (uint32_t j = 0; j < 2 * DEPTH; j++) {
          float a = g->panels[c].a[j / DEPTH][row * DEPTH + j % DEPTH] * factor(k);
          sum += a * weight(g, k, j / DEPTH, j % DEPTH, column);
        }
        total[i] += sum;
      }
    }
    good = same(g->panels[c].total, total, ROWS * g->columns * sizeof *total, "the product", c,
                said, size);
  }
  free(total);
  return good && !failed;
}

static void destroy(void *state) {
  struct gem *g = state;
  for (uint32_t c = 0; g->panels && c < g->consumers; c++) {
    free(g->panels[c].sums[0]);
    free(g->panels[c].sums[1]);
    free(g->panels[c].total);
  }
  free(g->panels);
  free(g->weights);
  free(g);
}

static void *create(const struct settings *settings) {
  bool failed = false;
  struct gem *g = make(1, sizeof *g, &failed);
  if (failed) return NULL;
  g->consumers = settings->consumers;
  g->cycles = settings->cycles;
  g->columns = (uint32_t)(settings->bytes / sizeof(float) / DEPTH);
  g->weights = make(TABLE, 1, &failed);
  g->panels = make(g->consumers, sizeof *g->panels, &failed);
  for (uint32_t c = 0; c < g->consumers && !failed; c++) {
    struct panel *p = &g->panels[c];
    p->sums[0] = make((size_t)ROWS * g->columns, sizeof(float), &failed);
    p->sums[1] = make((size_t)ROWS * g->columns, sizeof(float), &failed);
    p->total = make((size_t)ROWS * g->columns, sizeof(float), &failed);
    for (uint32_t i = 0; i < 2 * ROWS * DEPTH; i++)
      p->a[i / (ROWS * DEPTH)][i % (ROWS * DEPTH)] =
          (float)(int8_t)mix(settings->seed + 1, c * 2 * ROWS * DEPTH + i) * (1.0f / 128);
  }
  if (failed) return destroy(g), NULL;
  for (uint32_t i = 0; i < TABLE; i++) g->weights[i] = (int8_t)mix(settings->seed, i);
  return g;
}

/* ---- on a GPU: its tiles come out as messages, so there is nothing to store ---- */

static size_t gpu_size(const struct settings *settings) {
  return sizeof(struct gpu_gem) + 2 * ROWS * (settings->bytes / DEPTH);
}

static void gpu_load(const void *state, uint32_t c, void *block) {
  const struct gem *s = state;
  struct gpu_gem *g = block;
  memcpy(g->a, s->panels[c].a, sizeof g->a);
  g->columns = s->columns;
}

static void gpu_store(void *state, uint32_t c, const void *block) {
  (void)state;
  (void)c;
  (void)block;
}

static const struct gpu_part gpu = {GPU_GEM, gpu_size, gpu_load, gpu_store};

const struct pattern pattern_g_gem = {
    .name = "G_GEM",
    .summary = "matrix product, tiles in and out",
    .model = MULTIPLE,
    .access = STREAMING,
    .down = 2,
    .up = 1,
    .cycles = 8,
    .create = create,
    .destroy = destroy,
    .produce = produce,
    .consume = consume,
    .check = check,
    .gpu = &gpu,
};
