/* G_STN: Jacobi's 5-point stencil on a field whose rows are split between the devices. Adjacent,
 * multiple: each border row is a message of its own, two each way a step. */
#include "strips.h"

static void jacobi(const float *above, const float *row, const float *below, float *out,
                   uint32_t width) {
  out[0] = 0.25f * (above[0] + below[0] + row[0] + row[1]);
  for (uint32_t x = 1; x + 1 < width; x++)
    out[x] = 0.25f * (above[x] + below[x] + row[x - 1] + row[x + 1]);
  out[width - 1] = 0.25f * (above[width - 1] + below[width - 1] + row[width - 2] + row[width - 1]);
}

static void *create(const struct settings *s) { return strips_create(s, jacobi, true); }

static const struct gpu_part gpu = {GPU_STN, strips_gpu_size, strips_gpu_load, strips_gpu_store};

const struct pattern pattern_g_stn = {
    .name = "G_STN",
    .summary = "Jacobi stencil, 5 points",
    .model = MULTIPLE,
    .access = ADJACENT,
    .down = 2,
    .up = 2,
    .cycles = 8,
    .create = create,
    .destroy = strips_destroy,
    .produce = strips_produce,
    .consume = strips_consume,
    .check = strips_check,
    .gpu = &gpu,
};
