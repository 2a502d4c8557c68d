/* The fused multiply-add of runs, against the C library's, bit for bit. */
#include "harness.h"
#include "mods/exec.h"

#include <math.h>
#include <string.h>

static double of_bits(uint64_t bits) {
  double value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

static uint64_t bits_of(double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

static void try_one(double a, double b, double c) {
  double got = tide_exec_fma(a, b, c), want = fma(a, b, c);
  if (bits_of(got) == bits_of(want) || (got != got && want != want)) return;
  FAIL("%a * %a + %a is %a, not %a", a, b, c, got, want);
}

static uint64_t state = 88172645463325252u;
static uint64_t draw(void) {
  state ^= state << 13;
  state ^= state >> 7;
  return state ^= state << 17;
}

/* A double whose exponent is in [least, least + range). */
static double near_one(int least, unsigned range) {
  uint64_t exponent = (uint64_t)(1023 + least) + draw() % range;
  return of_bits((draw() & 0x800fffffffffffffu) | exponent << 52);
}

TEST(edges) {
  static const double values[] = {0.0,
                                  -0.0,
                                  1.0,
                                  -1.0,
                                  0x1p-1074,
                                  -0x1p-1074,
                                  0x1p-1022,
                                  0x1p1023,
                                  -0x1p1023,
                                  0x1p-537,
                                  0x1.fffffffffffffp1023,
                                  0x1p52,
                                  3.0,
                                  INFINITY,
                                  -INFINITY,
                                  NAN,
                                  0x1.0000000000001p0};
  size_t count = sizeof values / sizeof *values;
  for (size_t a = 0; a < count; a++)
    for (size_t b = 0; b < count; b++)
      for (size_t c = 0; c < count; c++) try_one(values[a], values[b], values[c]);
}

/* A product and a sum that are rounded one after the other give another result here. */
TEST(rounds_once) {
  volatile double a = 0x1.0000000000001p0, c = -0x1.0000000000002p0;
  volatile double twice = a * a + c;
  CHECK(tide_exec_fma(a, a, c) == 0x1p-104);
  CHECK(twice == 0);
}

TEST(random_operands) {
  for (int i = 0; i < 300000; i++) {
    double a = near_one(-30, 60), b = near_one(-30, 60);
    try_one(a, b, near_one(-130, 260));
    try_one(a, b, nextafter(-(a * b), draw() % 2 ? 0 : 1e300)); /* almost nothing is left */
    try_one(of_bits(draw()), of_bits(draw()), of_bits(draw()));
    try_one(of_bits(draw() & 0x803fffffffffffffu), near_one(-60, 70),
            of_bits(draw() & 0x803fffffffffffffu)); /* subnormal */
  }
}

TEST_MAIN(CASE(edges), CASE(rounds_once), CASE(random_operands))
