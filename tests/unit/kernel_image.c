/* kernel: blur, downsample, stencil and gemm against the definition, PNG against itself. */
#include "kernel_call.h"

#include "base/random.h"

#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

static unsigned char *bytes(const struct tide_argument *slice) { return slice->data; }

static void scatter(struct tide_random *random, const struct tide_argument *slice) {
  for (size_t i = 0; i < slice->size; i++)
    bytes(slice)[i] = (unsigned char)tide_random_next(random);
}

static int64_t clamp(int64_t x, int64_t limit) { return x < 0 ? 0 : x >= limit ? limit - 1 : x; }

/* ---- blur ---- */

static unsigned blur_at(const struct tide_argument *from, int64_t w, int64_t h, int64_t c,
                        int64_t x, int64_t y, int64_t ch, int64_t r) {
  uint64_t sum = 0, area = (uint64_t)((2 * r + 1) * (2 * r + 1));
  for (int64_t dy = -r; dy <= r; dy++)
    for (int64_t dx = -r; dx <= r; dx++)
      sum += bytes(from)[(clamp(y + dy, h) * w + clamp(x + dx, w)) * c + ch];
  return (unsigned)((sum + area / 2) / area);
}

static void check_blur(struct tide_random *random, int64_t w, int64_t h, int64_t c, int64_t r,
                       int kind) {
  size_t size = (size_t)(w * h * c);
  struct tide_argument from = slice_at(size, 1, true), to = slice(size);
  if (kind == 0) scatter(random, &from);
  else memset(from.data, 255, size);
  CHECK_OK(CALL("blur", from, to, integer(w), integer(r), integer(c)));
  for (int64_t y = 0; y < h; y++)
    for (int64_t x = 0; x < w; x++)
      for (int64_t ch = 0; ch < c; ch++)
        CHECK_EQ_U64(bytes(&to)[(y * w + x) * c + ch], blur_at(&from, w, h, c, x, y, ch, r));
  slice_drop(&from, 1, true), slice_drop(&to, 0, false);
}

TEST(blur_is_the_mean_of_the_box) {
  struct tide_random random = {1};
  static const int64_t radii[] = {0, 1, 2, 3, 7, 12};
  for (int64_t c = 1; c <= 4; c++)
    for (size_t i = 0; i < sizeof radii / sizeof radii[0]; i++)
      for (int64_t w = 1; w < 40; w = w * 2 + 1)
        for (int64_t h = 0; h < 20; h = h * 2 + 1) check_blur(&random, w, h, c, radii[i], 0);
}

/* Where the division changes from floats to integers, and all the way up. */
TEST(blur_rounds_right_at_every_radius) {
  struct tide_random random = {2};
  for (int64_t r = 38; r <= 43; r++) check_blur(&random, 9, 7, 1, r, 0);
  check_blur(&random, 3, 2, 1, 1024, 1);
  check_blur(&random, 3, 2, 3, 500, 0);
  check_blur(&random, 64, 33, 1, 40, 1);
}

TEST(blur_refuses_what_does_not_fit) {
  struct tide_argument from = slice(64), to = slice(64), small = slice(63);
  CHECK_STATUS(CALL("blur", from, to, integer(0), integer(1)), TIDE_INVALID);
  CHECK_STATUS(CALL("blur", from, to, integer(7), integer(1)), TIDE_INVALID);
  CHECK_STATUS(CALL("blur", from, to, integer(8), integer(-1)), TIDE_INVALID);
  CHECK_STATUS(CALL("blur", from, to, integer(8), integer(1025)), TIDE_INVALID);
  CHECK_STATUS(CALL("blur", from, to, integer(8), integer(1), integer(5)), TIDE_INVALID);
  CHECK_STATUS(CALL("blur", from, to, integer(8), integer(1), integer(0)), TIDE_INVALID);
  CHECK_STATUS(CALL("blur", from, small, integer(8), integer(1)), TIDE_INVALID);
  CHECK_STATUS(CALL("blur", from, from, integer(8), integer(1)), TIDE_INVALID);
}

/* ---- downsample ---- */

TEST(downsample_is_the_mean_of_the_square) {
  struct tide_random random = {3};
  for (int64_t c = 1; c <= 4; c++)
    for (int64_t f = 1; f < 9; f++)
      for (int64_t w = 1; w < 50; w += 6)
        for (int64_t h = 0; h < 20; h += 3) {
          struct tide_argument from = slice_at((size_t)(w * h * c), 3, true);
          int64_t ow = w / f, oh = h / f;
          struct tide_argument to = slice((size_t)(ow * oh * c));
          scatter(&random, &from);
          CHECK_OK(CALL("downsample", from, to, integer(w), integer(f), integer(c)));
          for (int64_t y = 0; y < oh; y++)
            for (int64_t i = 0; i < ow * c; i++) {
              int64_t sum = 0;
              for (int64_t k = 0; k < f * f; k++)
                sum += bytes(&from)[((y * f + k / f) * w + i / c * f + k % f) * c + i % c];
              CHECK_EQ_U64(bytes(&to)[y * ow * c + i], (uint64_t)((sum + f * f / 2) / (f * f)));
            }
          slice_drop(&from, 3, true), slice_drop(&to, 0, false);
        }
}

TEST(downsample_bounds_its_factor) {
  struct tide_argument from = slice(256 * 256), to = slice(1), none = slice(0);
  memset(from.data, 255, from.size);
  CHECK_OK(CALL("downsample", from, to, integer(256), integer(256)));
  CHECK_EQ_U64(bytes(&to)[0], 255);
  CHECK_STATUS(CALL("downsample", from, none, integer(256), integer(256)), TIDE_INVALID);
  CHECK_STATUS(CALL("downsample", from, none, integer(256), integer(257)), TIDE_INVALID);
  CHECK_STATUS(CALL("downsample", from, none, integer(256), integer(0)), TIDE_INVALID);
}

/* ---- stencil ---- */

TEST(stencil_weighs_five_points) {
  struct tide_random random = {4};
  for (int64_t w = 1; w < 40; w++)
    for (int64_t h = 0; h < 6; h++) {
      struct tide_argument from = slice_at((size_t)(w * h * 4), 1, true);
      struct tide_argument to = slice((size_t)(w * h * 4));
      scatter(&random, &from);
      CHECK_OK(CALL("stencil", from, to, integer(w)));
      for (int64_t y = 0; y < h; y++)
        for (int64_t x = 0; x < w; x++) {
          uint64_t sum = 4ull * u32_at(&from, (size_t)(y * w + x));
          sum += u32_at(&from, (size_t)(clamp(y - 1, h) * w + x));
          sum += u32_at(&from, (size_t)(clamp(y + 1, h) * w + x));
          sum += u32_at(&from, (size_t)(y * w + clamp(x - 1, w)));
          sum += u32_at(&from, (size_t)(y * w + clamp(x + 1, w)));
          CHECK_EQ_U64(u32_at(&to, (size_t)(y * w + x)), sum / 8);
        }
      slice_drop(&from, 1, true), slice_drop(&to, 0, false);
    }
  struct tide_argument x = slice(24), y = slice(24);
  CHECK_STATUS(CALL("stencil", x, y, integer(4)), TIDE_INVALID);
  CHECK_STATUS(CALL("stencil", x, x, integer(3)), TIDE_INVALID);
  CHECK_STATUS(CALL("stencil", x, y, integer(0)), TIDE_INVALID);
}

/* ---- gemm ---- */

static float float_at(const struct tide_argument *slice, size_t i) {
  float value;
  memcpy(&value, bytes(slice) + i * 4, 4);
  return value;
}

static void floats(struct tide_random *random, const struct tide_argument *slice) {
  for (size_t i = 0; i < slice->size / 4; i++) {
    float value = (float)((int64_t)tide_random_below(random, 2001) - 1000) / 1000.0f;
    memcpy(bytes(slice) + i * 4, &value, 4);
  }
}

TEST(gemm_multiplies) {
  struct tide_random random = {5};
  static const size_t orders[] = {0, 1, 2, 3, 5, 15, 16, 17, 33, 64, 257, 300};
  for (size_t o = 0; o < sizeof orders / sizeof orders[0]; o++) {
    size_t n = orders[o], size = n * n * 4;
    struct tide_argument a = slice_at(size, 1, true), b = slice_at(size, 2, true), c = slice(size);
    struct tide_argument before = slice(size);
    floats(&random, &a), floats(&random, &b), floats(&random, &c);
    memcpy(before.data, c.data, size);
    CHECK_OK(CALL("gemm", a, b, c, integer((int64_t)n)));
    for (size_t i = 0; i < n; i++)
      for (size_t j = 0; j<n; j += n> 64 ? 13 : 1) {
        double want = float_at(&before, i * n + j);
        for (size_t k = 0; k < n; k++)
          want += (double)float_at(&a, i * n + k) * (double)float_at(&b, k * n + j);
        CHECK(fabs(float_at(&c, i * n + j) - want) < 1e-4);
      }
  }
  struct tide_argument a = slice(36), b = slice(36), c = slice(36);
  CHECK_STATUS(CALL("gemm", a, b, c, integer(2)), TIDE_INVALID);
  CHECK_STATUS(CALL("gemm", a, b, a, integer(3)), TIDE_INVALID);
  CHECK_STATUS(CALL("gemm", a, b, c, integer(1ll << 31)), TIDE_INVALID);
  CHECK_STATUS(CALL("gemm", a, b, c, integer(-3)), TIDE_INVALID);
}

/* ---- png ---- */

static int scratch_file(void) {
  char name[] = "/tmp/tidemark-png-XXXXXX";
  int file = mkstemp(name);
  CHECK(file >= 0 && unlink(name) == 0);
  return file;
}

TEST(png_round_trip) {
  struct tide_random random = {6};
  int file = scratch_file();
  for (int64_t channels = 1; channels <= 4; channels++)
    for (int64_t w = 1; w < 70; w = w * 2 + 3)
      for (int64_t h = 1; h < 40; h = h * 3 + 1) {
        struct tide_argument from = slice_at((size_t)(w * h * channels), 1, true);
        struct tide_argument to = slice(from.size), other = slice(from.size + 1);
        scatter(&random, &from);
        CHECK_OK(
            CALL("png_write", from, descriptor(file), integer(w), integer(h), integer(channels)));
        CHECK_OK(CALL("png_read", descriptor(file), to, integer(0), integer(0), integer(channels)));
        CHECK(memcmp(from.data, to.data, from.size) == 0);
        memset(to.data, 0, to.size);
        CHECK_OK(CALL("png_read", descriptor(file), to, integer(w), integer(h), integer(channels)));
        CHECK(memcmp(from.data, to.data, from.size) == 0);
        CHECK_STATUS(
            CALL("png_read", descriptor(file), to, integer(w + 1), integer(h), integer(channels)),
            TIDE_INVALID);
        CHECK_STATUS(
            CALL("png_read", descriptor(file), other, integer(w), integer(h), integer(channels)),
            TIDE_INVALID);
      }
  close(file);
}

TEST(png_converts_channels) {
  int file = scratch_file();
  struct tide_argument gray = slice(4), color = slice(16), alone = slice(4);
  for (unsigned i = 0; i < 4; i++) bytes(&gray)[i] = (unsigned char)(i * 60);
  CHECK_OK(CALL("png_write", gray, descriptor(file), integer(2), integer(2)));
  CHECK_OK(CALL("png_read", descriptor(file), color, integer(2), integer(2), integer(4)));
  for (unsigned i = 0; i < 16; i++) CHECK_EQ_U64(bytes(&color)[i], i % 4 == 3 ? 255 : i / 4 * 60);
  CHECK_OK(CALL("png_write", color, descriptor(file), integer(2), integer(2), integer(4)));
  CHECK_OK(CALL("png_read", descriptor(file), alone));
  CHECK(memcmp(alone.data, gray.data, 4) == 0);
  close(file);
}

/* Any damage is an error or a picture, never a crash; a cut file is always an error. */
TEST(png_read_survives_damage) {
  struct tide_random random = {7};
  int file = scratch_file(), damaged = scratch_file();
  struct tide_argument from = slice(60 * 40), to = slice(60 * 40);
  scatter(&random, &from);
  CHECK_OK(CALL("png_write", from, descriptor(file), integer(60), integer(40)));
  static unsigned char whole[8192], copy[8192];
  ssize_t size = pread(file, whole, sizeof whole, 0);
  CHECK(size > 0 && size < (ssize_t)sizeof whole);
  for (int round = 0; round < 400; round++) {
    memcpy(copy, whole, (size_t)size);
    copy[tide_random_below(&random, (uint64_t)size)] ^=
        (unsigned char)(1 + tide_random_below(&random, 255));
    CHECK(pwrite(damaged, copy, (size_t)size, 0) == size);
    enum tide_status status = CALL("png_read", descriptor(damaged), to);
    CHECK(status == TIDE_OK || status == TIDE_CORRUPT || status == TIDE_INVALID ||
          status == TIDE_IO);
  }
  for (ssize_t cut = 0; cut < size; cut += 1 + cut / 4) {
    CHECK(ftruncate(file, cut) == 0);
    CHECK(CALL("png_read", descriptor(file), to) != TIDE_OK);
  }
  close(file), close(damaged);
}

TEST(png_reports_where_it_cannot_write) {
  struct tide_argument from = slice(100);
  memset(from.data, 1, from.size);
  int full = open("/dev/full", O_WRONLY), read_only = open("/dev/null", O_RDONLY);
  CHECK(full >= 0 && read_only >= 0);
  CHECK_STATUS(CALL("png_write", from, descriptor(full), integer(10), integer(10)), TIDE_IO);
  CHECK_STATUS(CALL("png_write", from, descriptor(read_only), integer(10), integer(10)),
               TIDE_INVALID);
  CHECK_STATUS(CALL("png_write", from, descriptor(-1), integer(10), integer(10)), TIDE_INVALID);
  CHECK_STATUS(CALL("png_write", from, descriptor(full), integer(10), integer(11)), TIDE_INVALID);
  CHECK_STATUS(CALL("png_write", from, descriptor(full), integer(0), integer(10)), TIDE_INVALID);
  CHECK_STATUS(CALL("png_write", from, descriptor(full), integer(5), integer(4), integer(5)),
               TIDE_INVALID);
  CHECK_STATUS(CALL("png_read", descriptor(-1), from), TIDE_INVALID);
  close(full), close(read_only);
}

/* A shorter picture over a longer file leaves no tail. */
TEST(png_write_cuts_the_file) {
  struct tide_random random = {8};
  int file = scratch_file();
  struct tide_argument big = slice(100 * 100), small = slice(1);
  scatter(&random, &big);
  CHECK_OK(CALL("png_write", big, descriptor(file), integer(100), integer(100)));
  off_t before = lseek(file, 0, SEEK_END);
  CHECK_OK(CALL("png_write", small, descriptor(file), integer(1), integer(1)));
  CHECK(lseek(file, 0, SEEK_END) < 100 && before > 10000);
  close(file);
}

TEST_MAIN(CASE(blur_is_the_mean_of_the_box), CASE(blur_rounds_right_at_every_radius),
          CASE(blur_refuses_what_does_not_fit), CASE(downsample_is_the_mean_of_the_square),
          CASE(downsample_bounds_its_factor), CASE(stencil_weighs_five_points),
          CASE(gemm_multiplies), CASE(png_round_trip), CASE(png_converts_channels),
          CASE(png_read_survives_damage), CASE(png_reports_where_it_cannot_write),
          CASE(png_write_cuts_the_file))
