/* kernel: bodies that have a path for wide vectors give the same bytes without it. The sources
 * are built here a second time, with that path left out. */
#include "kernel_call.h"

#include "base/random.h"

#define TIDE_NARROW
#define tide_body_blur narrow_blur
#define tide_body_downsample narrow_downsample
#define tide_body_stencil narrow_stencil
#define tide_body_gemm narrow_gemm
#define tide_blur_images narrow_blur_images
#define tide_image_pair narrow_image_pair
#define tide_gemm_is_valid narrow_gemm_is_valid
#include "kernel/blur.c"
#include "kernel/image_bodies.c"
#include "kernel/math.c"

static void scatter(struct tide_random *random, const struct tide_argument *slice) {
  for (size_t i = 0; i < slice->size; i++)
    ((unsigned char *)slice->data)[i] = (unsigned char)tide_random_next(random);
}

static void compare(const char *name, enum tide_status (*narrow)(void *), struct tide_argument *a,
                    size_t out) {
  struct tide_argument other = slice_at(a[out].size, 1, true), mine = a[out];
  memcpy(other.data, mine.data, mine.size);
  CHECK_OK(tide_kernel_find(name)->class_.host(a));
  a[out] = other;
  CHECK_OK(narrow(a));
  CHECK(memcmp(mine.data, other.data, mine.size) == 0);
  slice_drop(&other, 1, true);
  a[out] = mine;
}

TEST(images_are_the_same_bytes) {
  struct tide_random random = {1};
  for (int round = 0; round < 300; round++) {
    int64_t w = 1 + (int64_t)tide_random_below(&random, 90),
            c = 1 + (int64_t)tide_random_below(&random, 4);
    int64_t h = 1 + (int64_t)tide_random_below(&random, 20),
            f = 1 + (int64_t)tide_random_below(&random, 7);
    int64_t r = (int64_t)tide_random_below(&random, 60);
    struct tide_argument from = slice_at((size_t)(w * h * c), 1, true), to = slice(from.size);
    struct tide_argument less = slice((size_t)(w / f * (h / f) * c));
    scatter(&random, &from);
    compare("blur", narrow_blur,
            (struct tide_argument[]){from, to, integer(w), integer(r), integer(c)}, 1);
    compare("downsample", narrow_downsample,
            (struct tide_argument[]){from, less, integer(w), integer(f), integer(c)}, 1);
    struct tide_argument grid = slice((size_t)(w * h * 4)), next = slice(grid.size);
    scatter(&random, &grid);
    compare("stencil", narrow_stencil, (struct tide_argument[]){grid, next, integer(w)}, 1);
    slice_drop(&from, 1, true), slice_drop(&to, 0, false), slice_drop(&less, 0, false);
    slice_drop(&grid, 0, false), slice_drop(&next, 0, false);
  }
}

TEST(gemm_is_the_same_bits) {
  struct tide_random random = {2};
  for (int64_t n = 1; n < 70; n += 5) {
    struct tide_argument a = slice((size_t)(n * n * 4)), b = slice(a.size), c = slice(a.size);
    for (size_t i = 0; i < a.size / 4; i++) {
      float x = (float)tide_random_below(&random, 1000) / 7.0f, y = 1.0f / (x + 1.0f);
      memcpy((char *)a.data + i * 4, &x, 4), memcpy((char *)b.data + i * 4, &y, 4);
      memcpy((char *)c.data + i * 4, &x, 4);
    }
    compare("gemm", narrow_gemm, (struct tide_argument[]){a, b, c, integer(n)}, 2);
  }
}

TEST_MAIN(CASE(images_are_the_same_bytes), CASE(gemm_is_the_same_bits))
