/* How types are kept in slots and in memory. */
#include "mods/exec.h"

static int slots_of_struct(const struct tide_ir *ir, const struct tide_ir_type_record *record) {
  for (uint32_t i = 0; i < record->count; i++)
    if (tide_exec_slots(ir, tide_ir_item(ir, record->items, i)) != 1) return 0;
  return record->count && record->count <= 16 ? (int)record->count : 0;
}

int tide_exec_slots(const struct tide_ir *ir, tide_ir_type type) {
  const struct tide_ir_type_record *record = tide_ir_type_of(ir, type);
  if (!type) return 0;
  switch (record->kind) {
    case TIDE_IR_INTEGER:
    case TIDE_IR_INDEX:
    case TIDE_IR_FLOAT:
    case TIDE_IR_LLVM_POINTER:
    case TIDE_IR_PIPELINE:
    case TIDE_IR_PIPELINE_STATE:
    case TIDE_IR_SEQ_BAR:
    case TIDE_IR_TILE_SCHEDULER: return 1;
    case TIDE_IR_WORK_TILE: return TIDE_EXEC_WORK_SLOTS;
    case TIDE_IR_LLVM_STRUCT: return slots_of_struct(ir, record);
    default: return 0;
  }
}

static bool float_cell(uint32_t kind, enum tide_exec_cell *cell) {
  switch (kind) {
    case TIDE_IR_F16: *cell = TIDE_CELL_F16; return true;
    case TIDE_IR_BF16: *cell = TIDE_CELL_BF16; return true;
    case TIDE_IR_TF32:
    case TIDE_IR_F32: *cell = TIDE_CELL_F32; return true;
    case TIDE_IR_F64: *cell = TIDE_CELL_F64; return true;
    default: return false;
  }
}

static bool integer_cell(uint32_t bits, enum tide_exec_cell *cell) {
  switch (bits) {
    case 1: *cell = TIDE_CELL_I1; return true;
    case 8: *cell = TIDE_CELL_I8; return true;
    case 16: *cell = TIDE_CELL_I16; return true;
    case 32: *cell = TIDE_CELL_I32; return true;
    case 64: *cell = TIDE_CELL_I64; return true;
    default: return false;
  }
}

bool tide_exec_cell_of(const struct tide_ir *ir, tide_ir_type type, enum tide_exec_cell *cell) {
  const struct tide_ir_type_record *record = tide_ir_type_of(ir, type);
  if (!type) return false;
  switch (record->kind) {
    case TIDE_IR_INTEGER: return integer_cell(record->a, cell);
    case TIDE_IR_FLOAT: return float_cell(record->a, cell);
    case TIDE_IR_INDEX:
    case TIDE_IR_LLVM_POINTER: *cell = TIDE_CELL_I64; return true;
    default: return false;
  }
}

#define SIZE_MAX_BYTES ((uint64_t)1 << 32)

static uint64_t size_of_struct(const struct tide_ir *ir, const struct tide_ir_type_record *record,
                               uint64_t *out_align) {
  uint64_t size = 0, most = 1;
  for (uint32_t i = 0; i < record->count; i++) {
    uint64_t align, item = tide_exec_size_of(ir, tide_ir_item(ir, record->items, i), &align);
    if (!item) return 0;
    if (record->a) align = 1;
    size = (size + align - 1) / align * align + item;
    if (align > most) most = align;
    if (size > SIZE_MAX_BYTES) return 0;
  }
  *out_align = most;
  return (size + most - 1) / most * most;
}

uint64_t tide_exec_size_of(const struct tide_ir *ir, tide_ir_type type, uint64_t *out_align) {
  static const uint8_t sizes[] = {1, 2, 4, 8, 2, 2, 4, 8, 1};
  const struct tide_ir_type_record *record = tide_ir_type_of(ir, type);
  enum tide_exec_cell cell;
  if (!type) return 0;
  if (record->kind == TIDE_IR_LLVM_ARRAY || record->kind == TIDE_IR_VECTOR) {
    uint64_t item = tide_exec_size_of(ir, record->a, out_align);
    return record->b && item && item <= SIZE_MAX_BYTES / record->b ? item * record->b : 0;
  }
  if (record->kind == TIDE_IR_LLVM_STRUCT) return size_of_struct(ir, record, out_align);
  if (!tide_exec_cell_of(ir, type, &cell)) return 0;
  return *out_align = sizes[cell];
}

/* ---- narrow floats ---- */

/* Returns the odd one of the two floats around an inexact value. `bits` is the nearest, without its
 * sign; `below`: the value is below it. The odd bit records the inexactness for a further
 * rounding. */
static uint64_t odd_one(uint64_t bits, bool below) {
  if (bits & 1) return bits;
  return below ? bits - 1 : bits + 1;
}

float tide_exec_odd(double value) {
  float near = (float)value;
  double size = value < 0 ? -value : value, got = near < 0 ? -(double)near : (double)near;
  uint32_t bits = (uint32_t)tide_exec_of_f32(near), sign = bits & 0x80000000;
  if (value != value || got == size) return near;
  return tide_exec_f32((int64_t)(odd_one(bits ^ sign, got > size) | sign));
}

float tide_exec_odd_integer(uint64_t size, bool negative) {
  unsigned cut = size >> 24 ? 40 - (unsigned)__builtin_clzll(size) : 0;
  uint64_t kept = size >> cut;
  if (kept << cut != size) kept |= 1;
  double value = (double)kept * (double)((uint64_t)1 << cut);
  return (float)(negative ? -value : value);
}

double tide_exec_odd_fma(float a, float b, float c) {
  double product = (double)a * (double)b, sum = product + (double)c;
  double part = sum - product, rest = (product - (sum - part)) + ((double)c - part);
  uint64_t bits = (uint64_t)tide_exec_of_f64(sum), sign = bits & (uint64_t)1 << 63;
  if (!(rest < 0 || rest > 0)) return sum; /* exact, or not finite */
  return tide_exec_f64((int64_t)(odd_one(bits ^ sign, (rest < 0) == !sign) | sign));
}

float tide_exec_from_bf16(uint16_t bits) { return tide_exec_f32((int64_t)bits << 16); }

/* Rounds off the lowest `bits` bits, to nearest even. */
static uint32_t round_bits(uint32_t value, unsigned bits) {
  uint32_t half = (1u << (bits - 1)) - 1 + (value >> bits & 1);
  return (value + half) >> bits << bits;
}

static bool is_nan(uint32_t bits) { return (bits & 0x7fffffff) > 0x7f800000; }

/* Returns the highest `kept` bits of a NaN's fraction, so that a NaN which was widened comes back
 * bit by bit. */
static uint32_t payload_of(uint32_t bits, unsigned kept) {
  uint32_t payload = (bits & 0x7fffff) >> (23 - kept);
  return payload ? payload : 1u << (kept - 1);
}

uint16_t tide_exec_to_bf16(float value) {
  uint32_t bits = (uint32_t)tide_exec_of_f32(value);
  if (is_nan(bits)) return (uint16_t)((bits >> 16 & 0xff80) | payload_of(bits, 7));
  return (uint16_t)(round_bits(bits, 16) >> 16);
}

float tide_exec_to_tf32(float value) {
  uint32_t bits = (uint32_t)tide_exec_of_f32(value);
  return tide_exec_f32(is_nan(bits) ? bits : round_bits(bits, 13));
}

float tide_exec_from_f16(uint16_t bits) {
  uint32_t sign = (uint32_t)(bits & 0x8000) << 16, exponent = bits >> 10 & 31,
           fraction = bits & 0x3ff;
  if (exponent == 31) return tide_exec_f32(sign | 0x7f800000 | fraction << 13);
  if (exponent) return tide_exec_f32(sign | (exponent + 112) << 23 | fraction << 13);
  float small = (float)fraction * (1.0f / 16777216.0f); /* 2^-24 */
  return sign ? -small : small;
}

uint16_t tide_exec_to_f16(float value) {
  uint32_t bits = (uint32_t)tide_exec_of_f32(value), sign = bits >> 16 & 0x8000;
  uint32_t rest = bits & 0x7fffffff;
  if (is_nan(bits)) return (uint16_t)(sign | 0x7c00 | payload_of(bits, 10));
  if (rest >= 0x477ff000) return (uint16_t)(sign | 0x7c00); /* rounds to 65536 or more */
  if (rest >= 0x38800000) return (uint16_t)(sign | ((round_bits(rest, 13) >> 13) - (112u << 10)));
  /* Below 2^-14: adding 0.5 leaves the result's bits, rounded, at the end. */
  float shifted = tide_exec_f32(rest) + 0.5f;
  return (uint16_t)(sign | ((uint32_t)tide_exec_of_f32(shifted) - 0x3f000000));
}
