/* mods/float_bits.h: the bits of a float type and those of the double that stands for it.
 * Conversions by the compiler would make a signalling NaN quiet. */
#ifndef TIDE_MODS_FLOAT_BITS_H
#define TIDE_MODS_FLOAT_BITS_H

#include "mods/ir.h"
#include "base/alloc.h"

struct tide_float_format {
  unsigned fraction, exponent; /* bits */
};

static inline struct tide_float_format tide_float_format(uint32_t kind) {
  static const struct tide_float_format formats[] = {[TIDE_IR_F16] = {10, 5},
                                                     [TIDE_IR_BF16] = {7, 8},
                                                     [TIDE_IR_TF32] = {10, 8},
                                                     [TIDE_IR_F32] = {23, 8},
                                                     [TIDE_IR_F64] = {52, 11}};
  return formats[kind];
}

static inline unsigned tide_float_width(uint32_t kind) {
  struct tide_float_format format = tide_float_format(kind);
  return 1 + format.exponent + format.fraction;
}

/* Returns the double with the value, or the payload, of these bits. */
static inline double tide_float_widen(uint32_t kind, uint64_t bits) {
  struct tide_float_format format = tide_float_format(kind);
  uint64_t most = (1ull << format.exponent) - 1, fraction = bits & ((1ull << format.fraction) - 1);
  uint64_t exponent = bits >> format.fraction & most;
  uint64_t sign = bits >> (format.fraction + format.exponent) << 63, wide = bits;
  double value, unit;
  if (kind != TIDE_IR_F64) {
    bool special = exponent == most, subnormal = exponent == 0;
    uint64_t shifted = special ? 2047 : exponent + 1023 - most / 2;
    wide = sign | shifted << 52 | fraction << (52 - format.fraction);
    if (subnormal) { /* a multiple of the smallest one */
      uint64_t smallest = (1024 - most / 2 - format.fraction) << 52;
      memcpy(&unit, &smallest, sizeof unit);
      value = (double)fraction * unit;
      return sign ? -value : value;
    }
  }
  memcpy(&value, &wide, sizeof value);
  return value;
}

/* Returns the bits of an infinity or a NaN. */
static inline uint64_t tide_float_narrow(uint32_t kind, double special) {
  struct tide_float_format format = tide_float_format(kind);
  uint64_t wide, all = (1ull << format.exponent) - 1;
  memcpy(&wide, &special, sizeof wide);
  uint64_t whole = wide & ((1ull << 52) - 1), fraction = whole >> (52 - format.fraction);
  if (whole && !fraction) fraction = 1; /* stays a NaN */
  return wide >> 63 << (format.fraction + format.exponent) | all << format.fraction | fraction;
}

#endif
