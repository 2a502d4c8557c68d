/* What commands of clients can do. All bodies look at every size before they touch a byte, and
 * believe no byte: clients may write into their buffers at any time. */
#include "base/memory.h"
#include "kernel/body.h"
#include "service/work.h"

#define TILE 4u         /* pixels of 4 bytes, in squares of 4 x 4 */
#define SPIN_MOST 20000 /* microseconds */

static enum tide_status body_spin(void *arguments) {
  struct tide_argument *a = arguments;
  if (a[0].integer < 0 || a[0].integer > SPIN_MOST) return TIDE_INVALID;
  return tide_body_spin(arguments);
}

/* Rows of pixels to squares of them, or back. */
static enum tide_status swizzle(const struct tide_argument *a, bool back) {
  const struct tide_argument *from = &a[0], *to = &a[1];
  int64_t width = a[2].integer;
  if (!tide_argument_of(from, 4) || !tide_argument_of(to, 4)) return TIDE_INVALID;
  if (from->size != to->size || tide_argument_overlap(from, to)) return TIDE_INVALID;
  if (width < 1 || width > INT32_MAX || width % TILE) return TIDE_INVALID;
  uint64_t row = (uint64_t)width * 4;
  if (from->size % (row * TILE)) return TIDE_INVALID;
  uint64_t squares = (uint64_t)width / TILE, rows = from->size / row;
  const unsigned char *in = from->data;
  unsigned char *out = to->data;
  for (uint64_t y = 0; y < rows; y++) {
    for (uint64_t square = 0; square < squares; square++) {
      uint64_t plain = y * row + square * TILE * 4;
      uint64_t tiled = ((y / TILE * squares + square) * TILE + y % TILE) * TILE * 4;
      memcpy(out + (back ? plain : tiled), in + (back ? tiled : plain), TILE * 4);
    }
  }
  return TIDE_OK;
}

static enum tide_status body_tile(void *arguments) { return swizzle(arguments, false); }
static enum tide_status body_untile(void *arguments) { return swizzle(arguments, true); }

/* from over onto: 8-bit RGBA, not multiplied by alpha. */
static enum tide_status body_over(void *arguments) {
  const struct tide_argument *a = arguments, *from = &a[0], *onto = &a[1];
  if (!tide_argument_of(from, 4) || !tide_argument_of(onto, 4)) return TIDE_INVALID;
  if (from->size != onto->size || tide_argument_overlap(from, onto)) return TIDE_INVALID;
  const unsigned char *s = from->data;
  unsigned char *d = onto->data;
  for (uint64_t i = 0; i < from->size; i += 4) {
    unsigned alpha = s[i + 3];
    for (uint64_t c = 0; c < 3; c++)
      d[i + c] = (unsigned char)((s[i + c] * alpha + d[i + c] * (255 - alpha) + 127) / 255);
    d[i + 3] = (unsigned char)(alpha + d[i + 3] * (255 - alpha) / 255);
  }
  return TIDE_OK;
}

#define FLUSHES TIDE_WIRE_ARGUMENTS /* ranges at a time */

/* All before it is visible to everybody: on this device, memory is coherent, and what orders is the
 * end of the operation. The ranges are still looked at; those that were not given are empty. */
static enum tide_status body_flush(void *arguments) {
  const struct tide_argument *a = arguments;
  for (uint32_t i = 0; i < FLUSHES; i++)
    if (!tide_argument_of(&a[i], 1)) return TIDE_INVALID;
  return TIDE_OK;
}

static const struct tide_served_body bodies[] = {
    [TIDE_SESSION_NOTHING] = {"nothing", tide_body_nop, 0, 0, 0, 0},
    [TIDE_SESSION_FILL] = {"fill", tide_body_fill, 2, 2, 2, 1},
    [TIDE_SESSION_COPY] = {"copy", tide_body_copy, 2, 2, 0, 2},
    [TIDE_SESSION_HASH] = {"hash", tide_body_hash, 3, 3, 4, 2},
    [TIDE_SESSION_IOTA] = {"iota", tide_body_iota, 2, 2, 2, 1},
    [TIDE_SESSION_TILE] = {"tile", body_tile, 3, 3, 4, 2},
    [TIDE_SESSION_UNTILE] = {"untile", body_untile, 3, 3, 4, 2},
    [TIDE_SESSION_OVER] = {"over", body_over, 2, 2, 0, 2},
    [TIDE_SESSION_FLUSH] = {"flush", body_flush, 1, FLUSHES, 0, 0},
    [TIDE_SESSION_SPIN] = {"spin", body_spin, 1, 1, 1, 0},
    [TIDE_SESSION_FAIL] = {"fail", tide_body_fail, 0, 0, 0, 0},
};

const struct tide_served_body *tide_served_body(uint32_t number) {
  return number < sizeof bodies / sizeof *bodies ? &bodies[number] : NULL;
}
