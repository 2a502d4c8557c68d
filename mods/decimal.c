#include "mods/decimal.h"
#include "base/alloc.h"
#include "base/text.h"

/* A natural number of up to 4096 bits, 32 at a time, lowest first. */
#define LIMBS 128
struct big {
  uint32_t limbs[LIMBS];
  uint32_t count; /* without leading zeros */
};

static void big_set(struct big *big, uint64_t value) {
  big->limbs[0] = (uint32_t)value;
  big->limbs[1] = (uint32_t)(value >> 32);
  big->count = big->limbs[1] ? 2 : big->limbs[0] ? 1 : 0;
}

static void big_multiply(struct big *big, uint32_t factor) {
  uint64_t carry = 0;
  for (uint32_t i = 0; i < big->count; i++) {
    carry += (uint64_t)big->limbs[i] * factor;
    big->limbs[i] = (uint32_t)carry;
    carry >>= 32;
  }
  if (carry && big->count < LIMBS) big->limbs[big->count++] = (uint32_t)carry;
}

/* Returns the remainder. */
static uint32_t big_divide(struct big *big, uint32_t divisor) {
  uint64_t rest = 0;
  for (uint32_t i = big->count; i-- > 0;) {
    rest = rest << 32 | big->limbs[i];
    big->limbs[i] = (uint32_t)(rest / divisor);
    rest %= divisor;
  }
  while (big->count && !big->limbs[big->count - 1]) big->count--;
  return (uint32_t)rest;
}

static void big_shift(struct big *big, uint32_t bits) {
  uint32_t limbs = bits / 32;
  if (!big->count || big->count + limbs + 1 > LIMBS) return;
  big_multiply(big, 1u << (bits & 31));
  for (uint32_t i = big->count; i-- > 0;) big->limbs[i + limbs] = big->limbs[i];
  for (uint32_t i = 0; i < limbs; i++) big->limbs[i] = 0;
  big->count += limbs;
}

static uint32_t big_bits(const struct big *big) {
  return big->count ? 32 * big->count - (uint32_t)__builtin_clz(big->limbs[big->count - 1]) : 0;
}

static bool big_bit(const struct big *big, uint32_t bit) {
  return big->limbs[bit / 32] >> (bit & 31) & 1;
}

static double power_of_two(int exponent) {
  double result = 1, factor = exponent < 0 ? 0.5 : 2;
  for (unsigned left = (unsigned)(exponent < 0 ? -exponent : exponent); left; left >>= 1) {
    if (left & 1) result *= factor;
    factor *= factor;
  }
  return result;
}

/* Returns big · 2^exponent, and a little more if `more`, rounded to nearest, ties to even. */
static double round_big(const struct big *big, int exponent, bool more) {
  uint32_t bits = big_bits(big), keep = 53;
  if (!bits) return 0;
  int top = (int)bits + exponent; /* the value is below 2^top */
  if (top > 1024) return __builtin_inf();
  if (top < -1074) return 0; /* below half of the least; top = -1074 may round up to it */
  if (top < -1021) keep = (uint32_t)(top + 1074); /* subnormal */
  uint64_t whole = 0;
  uint32_t dropped = bits > keep ? bits - keep : 0;
  for (uint32_t i = bits; i-- > dropped;) whole = whole << 1 | big_bit(big, i);
  if (dropped) {
    bool half = big_bit(big, dropped - 1);
    for (uint32_t i = 0; i + 1 < dropped && !more; i++) more = big_bit(big, i);
    if (half && (more || (whole & 1))) whole++;
  }
  int power = exponent + (int)dropped;
  /* Two steps where one power alone would underflow. */
  if (power < -1000) return (double)whole * power_of_two(-500) * power_of_two(power + 500);
  return (double)whole * power_of_two(power);
}

static double scale_by_ten(uint64_t digits, int exponent, bool more) {
  struct big big;
  int shift = 0;
  if (!digits || exponent < -400) return 0;
  if (exponent > 400) return __builtin_inf();
  big_set(&big, digits);
  for (; exponent >= 9; exponent -= 9) big_multiply(&big, 1000000000u);
  for (; exponent > 0; exponent--) big_multiply(&big, 10);
  if (exponent < 0) {
    shift = 128 + -exponent * 4;
    big_shift(&big, (uint32_t)shift);
    for (; exponent <= -9; exponent += 9) more = big_divide(&big, 1000000000u) || more;
    for (; exponent < 0; exponent++) more = big_divide(&big, 10) || more;
  }
  return round_big(&big, -shift, more);
}

double tide_decimal_parse(const char *text, size_t length) {
  uint64_t digits = 0;
  int exponent = 0, written = 0;
  bool point = false, more = false, negative = false;
  size_t i = 0;
  for (; i < length && (text[i] == '.' || (text[i] >= '0' && text[i] <= '9')); i++) {
    if (text[i] == '.') {
      point = true;
    } else if (digits < 1000000000000000000u) {
      digits = digits * 10 + (uint64_t)(text[i] - '0');
      exponent -= point;
    } else {
      more = more || text[i] != '0';
      if (exponent < 100000) exponent += !point;
    }
  }
  if (i < length) i++; /* e */
  if (i < length && (text[i] == '-' || text[i] == '+')) negative = text[i++] == '-';
  for (; i < length && written < 100000; i++) written = written * 10 + (text[i] - '0');
  return scale_by_ten(digits, exponent + (negative ? -written : written), more);
}

/* Returns the value's first `count` digits, rounded to nearest, and the power of ten of the
 * first. */
static uint64_t first_digits(double number, int count, int *out_power) {
  uint64_t bits, whole;
  struct big big;
  memcpy(&bits, &number, sizeof bits);
  int exponent = (int)(bits >> 52 & 2047);
  whole = bits & ((1ull << 52) - 1);
  if (exponent) whole |= 1ull << 52;
  else exponent = 1;
  exponent -= 1075;
  /* digits = whole · 2^exponent / 10^(power - count + 1), with power estimated from the bits. */
  int power = ((64 - __builtin_clzll(whole) + exponent - 1) * 1233) >> 12;
  for (;; power++) {
    int tens = count - 1 - power; /* multiply by 10^tens */
    int shift = exponent;
    big_set(&big, whole);
    for (int i = 0; i < tens; i++) big_multiply(&big, 10);
    int guard = tens < 0 ? 64 - tens * 4 : 8;
    if (shift > 0) big_shift(&big, (uint32_t)shift), shift = 0;
    big_shift(&big, (uint32_t)guard);
    for (int i = 0; i > tens; i--) big_divide(&big, 10);
    /* big · 2^(shift - guard) is the number. */
    uint32_t down = (uint32_t)(guard - shift), width = big_bits(&big);
    uint64_t value = 0;
    for (uint32_t i = width; i-- > down;) value = value << 1 | big_bit(&big, i);
    if (down && down <= width && big_bit(&big, down - 1)) value++;
    uint64_t limit = 1;
    for (int i = 0; i < count; i++) limit *= 10;
    if (value < limit) {
      *out_power = power;
      return value;
    }
  }
}

static size_t print_digits(double number, int count, char *buffer, size_t size) {
  struct tide_text text;
  int power = 0;
  tide_text_init(&text, buffer, size);
  bool negative = __builtin_signbit(number);
  if (negative) number = -number;
  uint64_t digits = number == 0 ? 0 : first_digits(number, count, &power), unit = 1;
  for (int i = 1; i < count; i++) unit *= 10;
  tide_text_format(&text, "%s%llu.", negative ? "-" : "", (unsigned long long)(digits / unit));
  for (digits %= unit, unit /= 10; unit; digits %= unit, unit /= 10)
    tide_text_format(&text, "%c", (char)('0' + digits / unit));
  unsigned size_of_power = (unsigned)(power < 0 ? -power : power);
  tide_text_format(&text, "e%c%s%u", power < 0 ? '-' : '+', size_of_power < 10 ? "0" : "",
                   size_of_power);
  return text.length;
}

size_t tide_decimal_print(double number, bool single, char *buffer, size_t size) {
  for (int count = 7;; count = count == 7 && single ? 9 : 17) {
    size_t length = print_digits(number, count, buffer, size);
    if (length >= size || count == 17) return length;
    bool negative = buffer[0] == '-';
    double again = tide_decimal_parse(buffer + negative, length - negative);
    if (negative) again = -again;
    if (single ? (float)again == (float)number : again == number) return length;
  }
}
