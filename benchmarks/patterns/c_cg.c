/* C_CG: conjugate gradients as HPCCG does it: the matrix has 27 on its diagonal, and -1 for each of
 * a node's neighbours in three dimensions. Random, alternating: one message down and one back an
 * iteration. */
#include "cg.h"

#include <string.h>

static void rows(uint64_t seed, uint32_t plane, uint32_t planes, double (*out)[27]) {
  (void)seed;
  memset(out, 0, CG_NODES * sizeof *out);
  for (int i = 0; i < CG_NODES; i++)
    for (int e = 0; e < 27; e++) {
      int x = i % CG_X + e % 3 - 1, y = i / CG_X + e / 3 % 3 - 1, z = (int)plane + e / 9 - 1;
      if (x < 0 || x >= CG_X || y < 0 || y >= CG_Y || z < 0 || z >= (int)planes) continue;
      out[i][e] = e == 13 ? 27 : -1;
    }
}

static void *create(const struct settings *settings) { return cg_create(settings, rows); }

const struct pattern pattern_c_cg = {
    .name = "C_CG",
    .summary = "conjugate gradients, 27-point matrix",
    .model = ALTERNATING,
    .access = RANDOM,
    .down = 1,
    .up = 1,
    .cycles = 8,
    .create = create,
    .destroy = cg_destroy,
    .produce = cg_produce,
    .consume = cg_consume,
    .check = cg_check,
};
