/* G_C2D: a 3 x 3 convolution, layer after layer, of an image whose rows are split between the
 * devices. Adjacent, alternating: both border rows in one message, each way, a layer. */
#include "strips.h"

/* One place of it; `l` and `r` are the columns beside, which at the ends are the end itself. */
static inline float at(const float *above, const float *row, const float *below, uint32_t l,
                       uint32_t x, uint32_t r) {
  float sum = 0.05f * above[l] + 0.10f * above[x] + 0.15f * above[r];
  sum += 0.10f * row[l] + 0.20f * row[x] + 0.10f * row[r];
  return sum + 0.15f * below[l] + 0.10f * below[x] + 0.05f * below[r];
}

static void convolve(const float *above, const float *row, const float *below, float *out,
                     uint32_t width) {
  out[0] = at(above, row, below, 0, 0, 1);
  for (uint32_t x = 1; x + 1 < width; x++) out[x] = at(above, row, below, x - 1, x, x + 1);
  out[width - 1] = at(above, row, below, width - 2, width - 1, width - 1);
}

static void *create(const struct settings *s) { return strips_create(s, convolve, false); }

static const struct gpu_part gpu = {GPU_C2D, strips_gpu_size, strips_gpu_load, strips_gpu_store};

const struct pattern pattern_g_c2d = {
    .name = "G_C2D",
    .summary = "3x3 convolution, layers of it",
    .model = ALTERNATING,
    .access = ADJACENT,
    .down = 1,
    .up = 1,
    .cycles = 8,
    .create = create,
    .destroy = strips_destroy,
    .produce = strips_produce,
    .consume = strips_consume,
    .check = strips_check,
    .gpu = &gpu,
};
