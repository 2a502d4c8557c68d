/* C_SRS: satellite remote sensing. The host cuts tiles out of a scene of raw counts and calibrates
 * them; a consumer finds the edges in its tile, and counts the strengths in the tile before.
 * Streaming, unidirectional: one tile a consumer and cycle. */
#include "gpu.h"

#include <stdlib.h>
#include <string.h>

#define WIDTH 64   /* of a tile */
#define SCENE 1024 /* width of the scene; it is that much higher than a tile */

struct srs {
  uint16_t *scene; /* 12 bits a pixel */
  uint8_t *gain;   /* of each column's sensor */
  uint32_t consumers, cycles, height;
  struct consumer {
    uint8_t *edges; /* of the last tile */
    uint64_t counts[256];
  } * all;
};

static uint32_t left_of(uint32_t consumer, uint32_t cycle) {
  return (uint32_t)mix(consumer, 2 * cycle) % (SCENE - WIDTH);
}

static uint32_t top_of(uint32_t consumer, uint32_t cycle) {
  return (uint32_t)mix(consumer, 2 * cycle + 1) % SCENE;
}

/* Each column has its sensor. */
static uint8_t calibrated(uint16_t count, uint8_t gain) {
  return (uint8_t)(count * (192u + gain / 4u) >> 12);
}

/* ---- the producer ---- */

struct cut {
  const struct srs *srs;
  uint8_t *out;
  uint32_t left, top;
};

static void cut_tile(void *argument) {
  struct cut *t = argument;
  const uint8_t *gain = t->srs->gain + t->left;
  for (uint32_t y = 0; y < t->srs->height; y++) {
    const uint16_t *row = t->srs->scene + (size_t)(t->top + y) * SCENE + t->left;
    uint8_t *out = t->out + (size_t)y * WIDTH;
    for (uint32_t x = 0; x < WIDTH; x++) out[x] = calibrated(row[x], gain[x]);
  }
}

static bool produce(struct run *r) {
  struct srs *s = r->state;
  for (uint32_t k = 0; k < s->cycles; k++)
    for (uint32_t c = 0; c < s->consumers; c++) {
      struct cut cut = {s, room(r, down(c, k, 0)), left_of(c, k), top_of(c, k)};
      if (!cut.out) return false;
      work(r, PRODUCE, cut_tile, &cut);
      give(r, down(c, k, 0), (size_t)WIDTH * s->height);
    }
  return true;
}

/* ---- a consumer ---- */

/* |4 p - its four neighbours|; the rim has none. */
static uint8_t edge(uint8_t own, uint8_t left, uint8_t right, uint8_t above, uint8_t below) {
  int d = 4 * own - left - right - above - below;
  d = d < 0 ? -d : d;
  return d > 255 ? 255 : (uint8_t)d;
}

struct pass {
  const uint8_t *in;
  uint8_t *out;
  uint32_t height;
  uint32_t counts[4][256]; /* of every fourth pixel: the same one twice in a row is slow */
};

static void find_edges(void *argument) {
  struct pass *p = argument;
  for (uint32_t y = 0; y < p->height; y++) {
    const uint8_t *restrict row = p->in + (size_t)y * WIDTH;
    uint8_t *restrict out = p->out + (size_t)y * WIDTH;
    if (y == 0 || y + 1 == p->height) {
      memset(out, 0, WIDTH);
      continue;
    }
    out[0] = out[WIDTH - 1] = 0;
    for (uint32_t x = 1; x + 1 < WIDTH; x++)
      out[x] = edge(row[x], row[x - 1], row[x + 1], row[(int)x - WIDTH], row[x + WIDTH]);
  }
}

static void count(void *argument) {
  struct pass *p = argument;
  memset(p->counts, 0, sizeof p->counts);
  for (uint32_t i = 0; i < WIDTH * p->height; i++) p->counts[i % 4][p->in[i]]++;
}

static void count_last(struct run *r, struct consumer *me, struct pass *p) {
  p->in = me->edges;
  work(r, C1, count, p);
  for (int i = 0; i < 1024; i++) me->counts[i % 256] += p->counts[i / 256][i % 256];
}

static bool consume(struct run *r, uint32_t c) {
  struct srs *s = r->state;
  struct consumer *me = &s->all[c];
  struct pass p = {.out = me->edges, .height = s->height};
  for (uint32_t k = 0; k < s->cycles; k++) {
    if (k) count_last(r, me, &p);
    if (!(p.in = take(r, down(c, k, 0)))) return false;
    work(r, C2, find_edges, &p);
    if (!taken(r, down(c, k, 0))) return false;
  }
  count_last(r, me, &p);
  return true;
}

/* ---- alone ---- */

static bool check(const struct settings *settings, void *state, char *said, size_t size) {
  struct srs *s = state;
  bool good = true, failed = false;
  uint8_t *tile = make(s->height, WIDTH, &failed);
  (void)settings;
  for (uint32_t c = 0; c < s->consumers && good && !failed; c++) {
    uint64_t counts[256] = {0};
    for (uint32_t k = 0; k < s->cycles; k++) {
      for (uint32_t i = 0; i < WIDTH * s->height; i++) {
        uint32_t x = left_of(c, k) + i % WIDTH, y = top_of(c, k) + i / WIDTH;
        tile[i] = calibrated(s->scene[(size_t)y * SCENE + x], s->gain[x]);
      }
      for (uint32_t i = 0; i < WIDTH * s->height; i++) {
        uint32_t x = i % WIDTH, y = i / WIDTH;
        bool rim = x == 0 || y == 0 || x == WIDTH - 1 || y == s->height - 1;
        const uint8_t *at = &tile[i];
        counts[rim ? 0 : edge(at[0], at[-1], at[1], at[-WIDTH], at[WIDTH])]++;
      }
    }
    good = same(s->all[c].counts, counts, sizeof counts, "the count of edges", c, said, size);
  }
  free(tile);
  return good && !failed;
}

static void destroy(void *state) {
  struct srs *s = state;
  for (uint32_t c = 0; s->all && c < s->consumers; c++) free(s->all[c].edges);
  free(s->all);
  free(s->scene);
  free(s->gain);
  free(s);
}

static void *create(const struct settings *settings) {
  bool failed = false;
  struct srs *s = make(1, sizeof *s, &failed);
  if (failed) return NULL;
  s->consumers = settings->consumers;
  s->cycles = settings->cycles;
  s->height = (uint32_t)(settings->bytes / WIDTH);
  size_t pixels = (size_t)SCENE * (SCENE + s->height);
  s->scene = make(pixels, sizeof *s->scene, &failed);
  s->gain = make(SCENE, 1, &failed);
  s->all = make(s->consumers, sizeof *s->all, &failed);
  for (uint32_t c = 0; c < s->consumers && !failed; c++)
    s->all[c].edges = make(s->height, WIDTH, &failed);
  if (failed) return destroy(s), NULL;
  for (uint32_t i = 0; i < SCENE; i++) s->gain[i] = (uint8_t)mix(settings->seed, i);
  /* Fields of one height each, and noise on them. */
  for (size_t i = 0; i < pixels; i++) {
    uint64_t field = mix(settings->seed, (i / SCENE / 16) * 1000 + i % SCENE / 16);
    s->scene[i] = (uint16_t)((field & 0xBFF) + (mix(settings->seed + 1, i) & 0x3FF));
  }
  return s;
}

/* ---- on a GPU ---- */

static size_t gpu_size(const struct settings *settings) {
  return sizeof(struct gpu_srs) + settings->bytes;
}

static void gpu_load(const void *state, uint32_t c, void *block) {
  struct gpu_srs *g = block;
  (void)c;
  g->height = ((const struct srs *)state)->height;
}

/* The last tile is counted here. */
static void gpu_store(void *state, uint32_t c, const void *block) {
  const struct gpu_srs *g = block;
  struct consumer *me = &((struct srs *)state)->all[c];
  memcpy(me->counts, g->counts, sizeof me->counts);
  for (uint32_t i = 0; i < WIDTH * g->height; i++) me->counts[g->edges[i]]++;
}

static const struct gpu_part gpu = {GPU_SRS, gpu_size, gpu_load, gpu_store};

const struct pattern pattern_c_srs = {
    .name = "C_SRS",
    .summary = "satellite images: tiles to filter",
    .model = UNIDIRECTIONAL,
    .access = STREAMING,
    .down = 1,
    .cycles = 8,
    .create = create,
    .destroy = destroy,
    .produce = produce,
    .consume = consume,
    .check = check,
    .gpu = &gpu,
};
