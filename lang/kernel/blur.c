/* blur: the mean of a box of (2r + 1)² pixels, rounded to the nearest.
 *
 * Column sums over the 2r + 1 rows around the current row are updated by the row that enters and
 * the row that leaves the box. A running sum along the row then gives the box. Both cost the same
 * at any radius.
 *
 * Small radii, for which column sums fit 16 bits, take the vector path. There the running sum is a
 * prefix sum within eight lanes plus the carry of the previous lanes. A mean is one multiplication
 * by a float, corrected by one where the float's rounding may be off. */
#include "kernel/image_bodies.h"
#include "kernel/wide.h"

#include <stdlib.h>

#define RADIUS_MOST 1024 /* 255 × (2r + 1)² stays below 2³² */
#define RADIUS_SHORT 128 /* 255 × (2r + 1) stays below 2¹⁶ */
#define RADIUS_EXACT 40  /* up to this radius a float's rounding cannot reach the next integer */
#define SLACK 16         /* elements behind the columns that a vector may read */

struct blur {
  struct tide_image from, to;
  size_t radius, channels;
  size_t margin;    /* radius pixels, in bytes of a row */
  void *columns;    /* margin + one pixel, the row, margin, SLACK: 16 or 32 bits each */
  uint32_t *totals; /* 32-bit path: one for each byte of a row */
};

/* Returns the row `down` below y and `up` above, clamped to the image. */
static const unsigned char *row_at(const struct tide_image *image, size_t y, size_t down,
                                   size_t up) {
  size_t at = y + down < image->height ? y + down : image->height - 1;
  return image->rows + (at > up ? at - up : 0) * image->row;
}

/* Returns the row that leaves the box when y enters. */
static const unsigned char *row_gone(const struct blur *b, size_t y) {
  return b->from.rows + (y > b->radius ? y - b->radius - 1 : 0) * b->from.row;
}

/* ---- short: 16-bit columns ------------------------------------------------------- */

TIDE_INLINE void short_step(uint16_t *columns, const unsigned char *comes,
                            const unsigned char *goes, size_t size) {
  size_t i = 0;
  for (; i + 16 <= size; i += 16) {
    tide_8x16 in, out;
    tide_16x16 sums;
    TIDE_LOAD(in, comes + i);
    TIDE_LOAD(out, goes + i);
    TIDE_LOAD(sums, columns + i);
    sums += __builtin_convertvector(in, tide_16x16) - __builtin_convertvector(out, tide_16x16);
    TIDE_STORE(sums, columns + i);
  }
  for (; i < size; i++) columns[i] = (uint16_t)(columns[i] + comes[i] - goes[i]);
}

static void short_start(const struct blur *b, uint16_t *columns) {
  for (size_t i = 0; i < b->from.row; i++)
    columns[i] = (uint16_t)((b->radius + 1) * b->from.rows[i]);
  for (size_t k = 1; k <= b->radius; k++) {
    const unsigned char *row = row_at(&b->from, 0, k, 0);
    for (size_t i = 0; i < b->from.row; i++) columns[i] = (uint16_t)(columns[i] + row[i]);
  }
}

/* Repeats the edge pixels into the margins. */
static void short_margins(const struct blur *b, uint16_t *columns) {
  size_t c = b->channels, row = b->from.row;
  for (size_t i = 1; i <= b->margin + c; i++) columns[-(ptrdiff_t)i] = columns[(c - i % c) % c];
  for (size_t i = 0; i < b->margin; i++) columns[row + i] = columns[row - c + i % c];
}

#define SHIFT(v, k)                                                                                \
  __builtin_shufflevector((tide_32x8){0}, v, 8 - k, 9 - k, 10 - k, 11 - k, 12 - k, 13 - k, 14 - k, \
                          15 - k)
/* The last `k` lanes, over and over. */
#define REPEAT(v, k)                                                                               \
  __builtin_shufflevector(v, v, 8 - k, 8 - k + 1 % k, 8 - k + 2 % k, 8 - k + 3 % k, 8 - k + 4 % k, \
                          8 - k + 5 % k, 8 - k + 6 % k, 8 - k + 7 % k)

/* lane[i] += lane[i - channels] + lane[i - 2 × channels] + … */
TIDE_INLINE void prefix(tide_32x8 *v, size_t channels) {
  if (channels == 1) *v += SHIFT(*v, 1);
  if (channels <= 2) *v += SHIFT(*v, 2);
  if (channels == 3) *v += SHIFT(*v, 3), *v += SHIFT(*v, 6);
  else *v += SHIFT(*v, 4);
}

TIDE_INLINE void carry_over(tide_32x8 *carry, const tide_32x8 *v, size_t channels) {
  if (channels == 1) *carry = REPEAT(*v, 1);
  if (channels == 2) *carry = REPEAT(*v, 2);
  if (channels == 3) *carry = REPEAT(*v, 3);
  if (channels == 4) *carry = REPEAT(*v, 4);
}

/* round(totals / area) as bytes. The area is odd, so there are no ties. */
TIDE_INLINE void means(const tide_32x8 *totals, int32_t area, bool exact, unsigned char *to) {
  float scale = 1.0f / (float)area;
  tide_float8 scaled = __builtin_convertvector(*totals, tide_float8) * scale;
  tide_32x8 mean = __builtin_convertvector(scaled + 0.5f, tide_32x8);
  if (!exact) {
    tide_32x8 rest = *totals + area / 2 - mean * area;
    mean += (rest < 0) - (rest >= area); /* a true lane is -1 */
  }
  tide_store_bytes(&mean, to);
}

TIDE_INLINE void short_row(const struct blur *b, const uint16_t *columns, unsigned char *to,
                           size_t channels, bool exact) {
  int32_t area = (int32_t)((2 * b->radius + 1) * (2 * b->radius + 1));
  const uint16_t *left = columns - b->margin - channels, *right = columns + b->margin;
  int32_t before[8] = {0}; /* the boxes around the pixel before the first */
  for (size_t i = 0; i < 8; i++)
    for (size_t k = 0; k <= 2 * b->radius; k++) before[i] += left[i % channels + k * channels];
  tide_32x8 carry;
  TIDE_LOAD(carry, before);
  size_t row = b->from.row;
  for (size_t i = 0; i < row; i += 8) {
    tide_16x8 comes, goes;
    TIDE_LOAD(comes, right + i);
    TIDE_LOAD(goes, left + i);
    tide_32x8 totals =
        __builtin_convertvector(comes, tide_32x8) - __builtin_convertvector(goes, tide_32x8);
    prefix(&totals, channels);
    totals += carry;
    carry_over(&carry, &totals, channels);
    if (__builtin_expect(i + 8 <= row, 1)) {
      means(&totals, area, exact, to + i);
    } else {
      unsigned char tail[8];
      means(&totals, area, exact, tail);
      memcpy(to + i, tail, row - i);
    }
  }
}

TIDE_INLINE void short_rows(const struct blur *b, size_t channels, bool exact) {
  uint16_t *columns = (uint16_t *)b->columns + b->margin + channels;
  short_start(b, columns);
  for (size_t y = 0; y < b->from.height; y++) {
    if (y > 0) short_step(columns, row_at(&b->from, y, b->radius, 0), row_gone(b, y), b->from.row);
    short_margins(b, columns);
    short_row(b, columns, b->to.rows + y * b->to.row, channels, exact);
  }
}

TIDE_INLINE void short_all(const struct blur *b) {
  bool exact = b->radius <= RADIUS_EXACT;
  if (b->channels == 1 && exact) short_rows(b, 1, true);
  else if (b->channels == 1) short_rows(b, 1, false);
  else if (b->channels == 2) short_rows(b, 2, false);
  else if (b->channels == 3) short_rows(b, 3, false);
  else short_rows(b, 4, false);
}

TIDE_WIDE static void short_wide(const struct blur *b) { short_all(b); }
static void short_narrow(const struct blur *b) { short_all(b); }

/* ---- long: 32-bit columns -------------------------------------------------------- */

static void long_columns(const struct blur *b, uint32_t *columns, size_t y) {
  if (y > 0) {
    const unsigned char *comes = row_at(&b->from, y, b->radius, 0), *goes = row_gone(b, y);
    for (size_t i = 0; i < b->from.row; i++) columns[i] += (uint32_t)comes[i] - goes[i];
    return;
  }
  for (size_t i = 0; i < b->from.row; i++) columns[i] = (uint32_t)(b->radius + 1) * b->from.rows[i];
  for (size_t k = 1; k <= b->radius; k++) {
    const unsigned char *row = row_at(&b->from, 0, k, 0);
    for (size_t i = 0; i < b->from.row; i++) columns[i] += row[i];
  }
}

static void long_row(const struct blur *b, uint32_t *columns, unsigned char *to) {
  size_t c = b->channels, margin = b->margin, row = b->from.row;
  uint32_t area = (uint32_t)((2 * b->radius + 1) * (2 * b->radius + 1)), *totals = b->totals;
  uint32_t *first = columns - margin;
  for (size_t i = 0; i < margin; i++) first[i] = columns[i % c];
  for (size_t i = 0; i < margin; i++) columns[row + i] = columns[row - c + i % c];
  for (size_t i = 0; i < row; i++) {
    if (i >= c) {
      totals[i] = totals[i - c] + columns[i + margin] - first[i - c];
    } else {
      totals[i] = 0;
      for (size_t k = 0; k <= 2 * b->radius; k++) totals[i] += first[i + k * c];
    }
    to[i] = (unsigned char)(((uint64_t)totals[i] + area / 2) / area);
  }
}

static void long_rows(const struct blur *b) {
  uint32_t *columns = (uint32_t *)b->columns + b->margin;
  for (size_t y = 0; y < b->from.height; y++) {
    long_columns(b, columns, y);
    long_row(b, columns, b->to.rows + y * b->to.row);
  }
}

bool tide_blur_images(const struct tide_argument *a, struct tide_image *out_from,
                      struct tide_image *out_to) {
  int64_t radius = a[3].integer, channels = a[4].integer;
  if (channels < 1 || channels > TIDE_CHANNELS_MOST || radius < 0 || radius > RADIUS_MOST)
    return false;
  return tide_image_pair(a, (size_t)channels, out_from, out_to);
}

enum tide_status tide_body_blur(void *arguments) {
  const struct tide_argument *a = arguments;
  struct blur b;
  if (!tide_blur_images(a, &b.from, &b.to)) return TIDE_INVALID;
  b.radius = (size_t)a[3].integer;
  b.channels = (size_t)a[4].integer;
  b.margin = b.radius * b.channels;
  if (b.from.height == 0) return TIDE_OK;
  size_t columns = b.from.row + 2 * b.margin + b.channels + SLACK;
  b.columns = calloc(columns + b.from.row, sizeof(uint32_t));
  if (!b.columns) return TIDE_NOMEM;
  b.totals = (uint32_t *)b.columns + columns;
  if (b.radius > RADIUS_SHORT) long_rows(&b);
  else if (tide_wide()) short_wide(&b);
  else short_narrow(&b);
  free(b.columns);
  return TIDE_OK;
}
