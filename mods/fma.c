/* A fused multiply-add of doubles in integers: the exact sum, rounded once. A freestanding build
 * has no fma(), and the processor that the program runs on may have none. */
#include "mods/exec.h"

#define WORDS 4
#define PRODUCT_AT 70   /* lowest bit of the product in a sum: leaves room for a smaller addend */
#define ADDEND_MOST 190 /* so far above, an addend meets no bit of the product */

/* A sum of 256 bits; word 0 is the lowest. */
struct wide {
  uint64_t word[WORDS];
};

/* A finite number but 0: fraction * 2^exponent. The fraction has 53 bits. */
struct parts {
  uint64_t fraction;
  int exponent;
  bool negative;
};

static struct parts split(double value) {
  uint64_t bits = (uint64_t)tide_exec_of_f64(value);
  int biased = (int)(bits >> 52 & 2047);
  struct parts parts = {bits & ((1ull << 52) - 1), biased ? biased - 1075 : -1074, bits >> 63};
  if (biased) parts.fraction |= 1ull << 52;
  while (parts.fraction && !(parts.fraction >> 52)) {
    parts.fraction <<= 1;
    parts.exponent--;
  }
  return parts;
}

static bool is_finite(double value) {
  return ((uint64_t)tide_exec_of_f64(value) >> 52 & 2047) != 2047;
}

/* ---- sums ---- */

/* Returns low + high * 2^64, shifted up. */
static struct wide shifted(uint64_t low, uint64_t high, unsigned by) {
  struct wide wide = {{0}};
  unsigned at = by / 64, bit = by % 64;
  const uint64_t from[] = {low, high};
  for (unsigned i = 0; i < 2; i++) {
    if (at + i < WORDS) wide.word[at + i] |= from[i] << bit;
    if (bit && at + i + 1 < WORDS) wide.word[at + i + 1] |= from[i] >> (64 - bit);
  }
  return wide;
}

static struct wide product_of(uint64_t a, uint64_t b) {
  uint64_t low = (a & 0xffffffff) * (b & 0xffffffff), high = (a >> 32) * (b >> 32);
  uint64_t middle = (a >> 32) * (b & 0xffffffff) + (low >> 32); /* below 2^64: 21 and 32 bits */
  uint64_t other = (a & 0xffffffff) * (b >> 32) + (middle & 0xffffffff);
  high += (middle >> 32) + (other >> 32);
  return shifted(other << 32 | (low & 0xffffffff), high, PRODUCT_AT);
}

static int compare(const struct wide *a, const struct wide *b) {
  for (unsigned i = WORDS; i-- > 0;)
    if (a->word[i] != b->word[i]) return a->word[i] > b->word[i] ? 1 : -1;
  return 0;
}

/* Returns a + b, or a - b where a is not below b. */
static struct wide combine(const struct wide *a, const struct wide *b, bool subtract) {
  struct wide sum;
  uint64_t carry = subtract;
  for (unsigned i = 0; i < WORDS; i++) {
    uint64_t other = subtract ? ~b->word[i] : b->word[i], half = a->word[i] + other;
    sum.word[i] = half + carry;
    carry = (half < other) | (sum.word[i] < half);
  }
  return sum;
}

static bool bit_of(const struct wide *wide, int at) {
  return at >= 0 && at < 64 * WORDS && wide->word[at / 64] >> (at % 64) & 1;
}

static int highest_bit(const struct wide *wide) {
  int at = 64 * WORDS - 1;
  while (at >= 0 && !bit_of(wide, at)) at--;
  return at;
}

/* ---- the result ---- */

/* Rounds a sum other than 0 to the nearest double, halves to even. */
static double round_wide(const struct wide *sum, int exponent, bool negative) {
  int top = highest_bit(sum), unit = top + exponent - 52;
  if (unit < -1074) unit = -1074;
  int cut = unit - exponent; /* bits below it are rounded off */
  uint64_t fraction = 0;
  bool rest = false;
  for (int at = top; at >= cut; at--) fraction = fraction << 1 | bit_of(sum, at);
  for (int at = 0; at < cut - 1 && !rest; at++) rest = bit_of(sum, at);
  if (bit_of(sum, cut - 1) && (rest || fraction & 1)) fraction++;
  /* The fraction's highest bit adds 1 to the exponent, also where rounding has carried. */
  uint64_t bits = ((uint64_t)(unit + 1074) << 52) + fraction;
  if (bits >> 52 >= 2047) bits = 2047ull << 52;
  return tide_exec_f64((int64_t)(bits | (uint64_t)negative << 63));
}

/* Places the addend into a sum. *exponent is that of the sum's lowest bit. */
static struct wide place_addend(struct parts addend, int *exponent) {
  int up = addend.exponent - *exponent;
  if (!addend.fraction) return (struct wide){{0}};
  if (up > ADDEND_MOST) {
    *exponent = addend.exponent - ADDEND_MOST;
    up = ADDEND_MOST;
  }
  if (up >= 0) return shifted(addend.fraction, 0, (unsigned)up);
  /* Below the lowest bit counts only that there is something. */
  if (up <= -64) return (struct wide){{1}};
  uint64_t kept = addend.fraction >> -up;
  return (struct wide){{kept | (kept << -up != addend.fraction)}};
}

double tide_exec_fma(double a, double b, double c) {
  if (is_finite(a) && is_finite(b) && !is_finite(c)) return c + c;
  struct parts x = split(a), y = split(b), z = split(c);
  if (!is_finite(a) || !is_finite(b) || !x.fraction || !y.fraction) return a * b + c;
  struct wide product = product_of(x.fraction, y.fraction);
  int exponent = x.exponent + y.exponent - PRODUCT_AT;
  struct wide addend = place_addend(z, &exponent), sum;
  bool negative = x.negative != y.negative, unlike = negative != z.negative;
  int order = compare(&product, &addend);
  if (unlike && order == 0) return 0;
  if (order >= 0 || !unlike) sum = combine(&product, &addend, unlike && z.fraction);
  else sum = combine(&addend, &product, true);
  return round_wide(&sum, exponent, order < 0 ? z.negative : negative);
}
