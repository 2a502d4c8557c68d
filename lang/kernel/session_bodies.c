/* Bodies that clients of a service may name, besides the service's own. Each body checks every size
 * before it touches a byte, and trusts no byte of a buffer: clients may write into their buffers at
 * any time. */
#include "base/alloc.h"
#include "kernel/builtin_bodies.h"

#define TILE 4u         /* pixels of 4 bytes, in squares of 4 x 4 */
#define SPIN_MOST 20000 /* microseconds */

static enum tide_status body_spin(void *arguments) {
  struct tide_argument *a = arguments;
  if (a[0].integer < 0 || a[0].integer > SPIN_MOST) return TIDE_INVALID;
  return tide_body_spin(arguments);
}

/* Copies rows of pixels to squares of pixels, or back. */
static enum tide_status swizzle_pixels(const struct tide_argument *a, bool back) {
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

static enum tide_status body_tile(void *arguments) { return swizzle_pixels(arguments, false); }
static enum tide_status body_untile(void *arguments) { return swizzle_pixels(arguments, true); }

/* Blends `from` over `onto`: 8-bit RGBA, not multiplied by alpha. */
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

#define IN(name)                                                                                   \
  { name, TIDE_PARAM_IN, false, 0 }
#define OUT(name)                                                                                  \
  { name, TIDE_PARAM_OUT, false, 0 }
#define INOUT(name)                                                                                \
  { name, TIDE_PARAM_INOUT, false, 0 }
#define NUMBER(name)                                                                               \
  { name, TIDE_PARAM_INTEGER, false, 0 }

static const struct tide_param fill[] = {OUT("out"), NUMBER("value")};
static const struct tide_param hash[] = {IN("from"), OUT("out"), NUMBER("seed")};
static const struct tide_param iota[] = {OUT("out"), NUMBER("start")};
static const struct tide_param tile[] = {IN("from"), OUT("to"), NUMBER("width")};
static const struct tide_param over[] = {IN("from"), INOUT("onto")};
static const struct tide_param spin[] = {NUMBER("microseconds")};

#define BODY(number, text, run, params, summary)                                                   \
  [TIDE_SESSION_##number - TIDE_SESSION_BODIES] = {                                                \
      {.name = text, .host = run}, params, sizeof params / sizeof params[0], summary}

static const struct tide_body bodies[] = {
    BODY(FILL, "fill", tide_body_fill, fill, "every byte = value mod 256"),
    BODY(HASH, "hash", tide_body_hash, hash, "out = the 8-byte XXH3 digest of from"),
    BODY(IOTA, "iota", tide_body_iota, iota, "64-bit words start, start + 1, ..."),
    BODY(TILE, "tile", body_tile, tile, "rows of 4-byte pixels to squares of 4 x 4 of them"),
    BODY(UNTILE, "untile", body_untile, tile, "squares of 4 x 4 pixels back to rows"),
    BODY(OVER, "over", body_over, over, "one 8-bit RGBA image over another"),
    BODY(SPIN, "spin", body_spin, spin, "keeps its worker busy, 20 ms at most"),
    [TIDE_SESSION_FAIL - TIDE_SESSION_BODIES] = {{.name = "fail", .host = tide_body_fail},
                                                 NULL,
                                                 0,
                                                 "fails, to see what depends on it"},
};
static const struct tide_body_set set = {bodies, sizeof bodies / sizeof bodies[0]};

const struct tide_body_set *tide_kernel_session_bodies(void) { return &set; }
