/* C_FE: finite elements as miniFE does it: heat in a block of hexahedra, each of another material,
 * assembled from element matrices and solved by conjugate gradients. Random, alternating. */
#include "cg.h"

#include <string.h>

/* Of a cube of side 1 with one function a corner: by the number of axes along which two corners
 * differ. Its rows' sums are 0; a little is added to each diagonal, so that there is one solution.
 */
static const double element[4] = {1.0 / 3 + 0.05, 0, -1.0 / 12, -1.0 / 12};

static double material(uint64_t seed, int x, int y, int z) {
  uint64_t at = ((uint64_t)z * CG_Y + (uint64_t)y) * CG_X + (uint64_t)x;
  return 1 + (double)(mix(seed + 21, at) >> 53) / 2048;
}

/* Adds what the element with this first corner says about one of its own corners. */
static void add_element(uint64_t seed, const int first[3], const int corner[3], double row[27]) {
  double conductivity = material(seed, first[0], first[1], first[2]);
  for (int other = 0; other < 8; other++) {
    int differ = 0, place = 0;
    for (int axis = 2; axis >= 0; axis--) {
      int d = first[axis] + (other >> axis & 1) - corner[axis];
      differ += d != 0;
      place = 3 * place + d + 1;
    }
    row[place] += conductivity * element[differ];
  }
}

static void rows(uint64_t seed, uint32_t plane, uint32_t planes, double (*out)[27]) {
  const int ends[3] = {CG_X - 1, CG_Y - 1, (int)planes - 1}; /* elements along each axis */
  memset(out, 0, CG_NODES * sizeof *out);
  for (int i = 0; i < CG_NODES; i++)
    for (int e = 0; e < 8; e++) {
      int corner[3] = {i % CG_X, i / CG_X, (int)plane}, first[3];
      bool inside = true;
      for (int axis = 0; axis < 3; axis++) {
        first[axis] = corner[axis] - (e >> axis & 1);
        inside = inside && first[axis] >= 0 && first[axis] < ends[axis];
      }
      if (inside) add_element(seed, first, corner, out[i]);
    }
}

static void *create(const struct settings *settings) { return cg_create(settings, rows); }

const struct pattern pattern_c_fe = {
    .name = "C_FE",
    .summary = "finite elements, solved by conjugate gradients",
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
