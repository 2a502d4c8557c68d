/* gemm: c += a * b for square matrices of floats.
 *
 * Blocked for the caches: a panel of b, DEPTH rows by WIDTH columns, is copied to the stack once
 * and used by all rows of c. Four rows of c at a time keep their sums in registers. The order in
 * which products are added depends on n alone, so every run and machine computes the same bits. */
#include "kernel/builtin_bodies.h"
#include "kernel/wide.h"

#define ORDER_MOST 65536
#define DEPTH 256
#define WIDTH 16
#define ROWS 4

struct gemm {
  const tide_any_float *a, *b;
  tide_any_float *c;
  size_t n;
};

/* c[rows][WIDTH] += a[rows][depth] * panel[depth][WIDTH]; the panel's columns beyond `width` are 0.
 */
TIDE_INLINE void gemm_tile(const tide_any_float *a, const float *panel, tide_any_float *c, size_t n,
                           size_t rows, size_t depth, size_t width) {
  tide_float8 left[ROWS] = {{0}}, right[ROWS] = {{0}};
  for (size_t k = 0; k < depth; k++) {
    tide_float8 x, y;
    TIDE_LOAD(x, panel + k * WIDTH);
    TIDE_LOAD(y, panel + k * WIDTH + 8);
    for (size_t i = 0; i < rows; i++) {
      float factor = a[i * n + k];
      left[i] += x * factor;
      right[i] += y * factor;
    }
  }
  for (size_t i = 0; i < rows; i++)
    for (size_t j = 0; j < width; j++) c[i * n + j] += j < 8 ? left[i][j] : right[i][j - 8];
}

TIDE_INLINE void gemm_panel(const struct gemm *g, size_t k, size_t depth, size_t j, size_t width) {
  float panel[DEPTH * WIDTH] __attribute__((aligned(64)));
  for (size_t row = 0; row < depth; row++) {
    float *to = panel + row * WIDTH;
    const tide_any_float *from = g->b + (k + row) * g->n + j;
    for (size_t column = 0; column < WIDTH; column++)
      to[column] = column < width ? from[column] : 0;
  }
  size_t i = 0;
  for (; i + ROWS <= g->n; i += ROWS)
    gemm_tile(g->a + i * g->n + k, panel, g->c + i * g->n + j, g->n, ROWS, depth, width);
  for (; i < g->n; i++)
    gemm_tile(g->a + i * g->n + k, panel, g->c + i * g->n + j, g->n, 1, depth, width);
}

TIDE_INLINE void gemm_all(const struct gemm *g) {
  for (size_t k = 0; k < g->n; k += DEPTH)
    for (size_t j = 0; j < g->n; j += WIDTH)
      gemm_panel(g, k, g->n - k < DEPTH ? g->n - k : DEPTH, j, g->n - j < WIDTH ? g->n - j : WIDTH);
}

TIDE_WIDE static void gemm_wide(const struct gemm *g) { gemm_all(g); }
static void gemm_narrow(const struct gemm *g) { gemm_all(g); }

bool tide_gemm_is_valid(const struct tide_argument *a) {
  int64_t n = a[3].integer;
  if (n < 0 || n > ORDER_MOST) return false;
  for (int i = 0; i < 3; i++)
    if (!tide_argument_of(&a[i], 1) || a[i].size != (uint64_t)n * (uint64_t)n * sizeof(float))
      return false;
  return !tide_argument_overlap(&a[0], &a[2]) && !tide_argument_overlap(&a[1], &a[2]);
}

enum tide_status tide_body_gemm(void *arguments) {
  const struct tide_argument *a = arguments;
  if (!tide_gemm_is_valid(a)) return TIDE_INVALID;
  struct gemm g = {a[0].data, a[1].data, a[2].data, (size_t)a[3].integer};
  if (tide_wide()) gemm_wide(&g);
  else gemm_narrow(&g);
  return TIDE_OK;
}
