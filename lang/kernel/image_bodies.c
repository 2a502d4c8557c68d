/* downsample (8-bit rows of interleaved channels) and stencil (a grid of 32-bit words). */
#include "kernel/image_bodies.h"
#include "kernel/wide.h"

#include <stdlib.h>

#define FACTOR_MOST 256 /* 255 × f fits 16 bits */

/* ---- downsample ---------------------------------------------------------------- */

TIDE_INLINE void add_row(uint16_t *sums, const unsigned char *row, size_t size) {
  size_t i = 0;
  for (; i + 16 <= size; i += 16) {
    tide_8x16 bytes;
    tide_16x16 words;
    TIDE_LOAD(bytes, row + i);
    TIDE_LOAD(words, sums + i);
    words += __builtin_convertvector(bytes, tide_16x16);
    TIDE_STORE(words, sums + i);
  }
  for (; i < size; i++) sums[i] = (uint16_t)(sums[i] + row[i]);
}

TIDE_WIDE static void add_row_wide(uint16_t *sums, const unsigned char *row, size_t size) {
  add_row(sums, row, size);
}
static void add_row_narrow(uint16_t *sums, const unsigned char *row, size_t size) {
  add_row(sums, row, size);
}

/* Computes one row of the result from the column sums of `factor` rows. */
static void average_along(const uint16_t *sums, unsigned char *to, size_t pixels, size_t factor,
                          size_t channels) {
  uint32_t area = (uint32_t)(factor * factor);
  for (size_t pixel = 0; pixel < pixels; pixel++) {
    for (size_t c = 0; c < channels; c++) {
      const uint16_t *group = sums + pixel * factor * channels + c;
      uint32_t sum = area / 2;
      for (size_t k = 0; k < factor; k++) sum += group[k * channels];
      to[pixel * channels + c] = (unsigned char)(sum / area);
    }
  }
}

/* Ignores pixels at the right and lower edges that do not fill a whole square. */
enum tide_status tide_body_downsample(void *arguments) {
  const struct tide_argument *a = arguments;
  int64_t width = a[2].integer, factor = a[3].integer, channels = a[4].integer;
  if (channels < 1 || channels > TIDE_CHANNELS_MOST || factor < 1 || factor > FACTOR_MOST)
    return TIDE_INVALID;
  size_t f = (size_t)factor, pixel = (size_t)channels;
  struct tide_image from;
  if (!tide_image_of(&a[0], width, pixel, &from) || !tide_argument_of(&a[1], 1))
    return TIDE_INVALID;
  size_t pixels = (size_t)width / f, lines = from.height / f, used = pixels * f * pixel;
  if (a[1].size != pixels * pixel * lines || tide_argument_overlap(&a[0], &a[1]))
    return TIDE_INVALID;
  if (a[1].size == 0) return TIDE_OK;
  uint16_t *sums = malloc(used * sizeof sums[0]);
  if (!sums) return TIDE_NOMEM;
  for (size_t y = 0; y < lines; y++) {
    memset(sums, 0, used * sizeof sums[0]);
    for (size_t k = 0; k < f; k++) {
      const unsigned char *row = from.rows + (y * f + k) * from.row;
      if (tide_wide()) add_row_wide(sums, row, used);
      else add_row_narrow(sums, row, used);
    }
    average_along(sums, (unsigned char *)a[1].data + y * pixels * pixel, pixels, f, pixel);
  }
  free(sums);
  return TIDE_OK;
}

/* ---- stencil -------------------------------------------------------------------- */

static uint32_t weigh_neighbours(uint64_t centre, uint64_t north, uint64_t south, uint64_t west,
                                 uint64_t east) {
  return (uint32_t)((4 * centre + north + south + west + east) >> 3);
}

TIDE_INLINE void stencil_row(const tide_any_u32 *north, const tide_any_u32 *row,
                             const tide_any_u32 *south, tide_any_u32 *to, size_t width) {
  size_t last = width - 1;
  to[0] = weigh_neighbours(row[0], north[0], south[0], row[0], row[last ? 1 : 0]);
  for (size_t x = 1; x < last; x++)
    to[x] = weigh_neighbours(row[x], north[x], south[x], row[x - 1], row[x + 1]);
  if (last)
    to[last] = weigh_neighbours(row[last], north[last], south[last], row[last - 1], row[last]);
}

TIDE_INLINE void stencil_all(const struct tide_image *from, const struct tide_image *to) {
  size_t width = from->row / sizeof(uint32_t);
  for (size_t y = 0; y < from->height; y++) {
    const unsigned char *row = from->rows + y * from->row;
    const unsigned char *north = y > 0 ? row - from->row : row;
    const unsigned char *south = y + 1 < from->height ? row + from->row : row;
    stencil_row((const tide_any_u32 *)north, (const tide_any_u32 *)row, (const tide_any_u32 *)south,
                (tide_any_u32 *)(to->rows + y * to->row), width);
  }
}

TIDE_WIDE static void stencil_wide(const struct tide_image *from, const struct tide_image *to) {
  stencil_all(from, to);
}
static void stencil_narrow(const struct tide_image *from, const struct tide_image *to) {
  stencil_all(from, to);
}

enum tide_status tide_body_stencil(void *arguments) {
  const struct tide_argument *a = arguments;
  struct tide_image from, to;
  if (!tide_image_pair(a, sizeof(uint32_t), &from, &to)) return TIDE_INVALID;
  if (tide_wide()) stencil_wide(&from, &to);
  else stencil_narrow(&from, &to);
  return TIDE_OK;
}
