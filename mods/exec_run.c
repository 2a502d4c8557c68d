/* Execution: the loop that runs threads. */
#include "mods/exec.h"
#include "base/alloc.h"

typedef uint16_t any_u16 __attribute__((may_alias));
typedef uint32_t any_u32 __attribute__((may_alias));
typedef uint64_t any_u64 __attribute__((may_alias));

static int64_t load_cell(const void *at, unsigned cell) {
  switch (cell) {
    case TIDE_CELL_I8: return *(const int8_t *)at;
    case TIDE_CELL_I16: return (int16_t) * (const any_u16 *)at;
    case TIDE_CELL_I32: return (int32_t) * (const any_u32 *)at;
    case TIDE_CELL_F16: return tide_exec_of_f32(tide_exec_from_f16(*(const any_u16 *)at));
    case TIDE_CELL_BF16: return tide_exec_of_f32(tide_exec_from_bf16(*(const any_u16 *)at));
    case TIDE_CELL_F32: return *(const any_u32 *)at;
    case TIDE_CELL_I1: return -(int64_t)(*(const uint8_t *)at & 1);
    default: return (int64_t) * (const any_u64 *)at;
  }
}

static void store_cell(void *at, unsigned cell, int64_t value) {
  switch (cell) {
    case TIDE_CELL_I8: *(uint8_t *)at = (uint8_t)value; break;
    case TIDE_CELL_I16: *(any_u16 *)at = (uint16_t)value; break;
    case TIDE_CELL_F16: *(any_u16 *)at = tide_exec_to_f16(tide_exec_f32(value)); break;
    case TIDE_CELL_BF16: *(any_u16 *)at = tide_exec_to_bf16(tide_exec_f32(value)); break;
    case TIDE_CELL_I32:
    case TIDE_CELL_F32: *(any_u32 *)at = (uint32_t)value; break;
    case TIDE_CELL_I1: *(uint8_t *)at = (uint8_t)(value & 1); break;
    default: *(any_u64 *)at = (uint64_t)value; break;
  }
}

static const uint8_t cell_sizes[] = {1, 2, 4, 8, 2, 2, 4, 8, 1};

/* Handles the most frequent accesses: a global buffer, or the shared memory of the thread's CTA. */
static inline void *access_fast(struct tide_exec_machine *machine, uint32_t thread,
                                uint64_t pointer, uint32_t size) {
  uint64_t offset = pointer & TIDE_EXEC_OFFSET_MASK;
  uint64_t object = pointer >> TIDE_EXEC_OFFSET_BITS;
  if (offset & (size - 1)) return NULL;
  if (object - (TIDE_EXEC_GLOBAL >> TIDE_EXEC_OFFSET_BITS) < machine->global_count) {
    const struct tide_exec_memory *memory =
        &machine->globals[object - (TIDE_EXEC_GLOBAL >> TIDE_EXEC_OFFSET_BITS)];
    return offset + size <= memory->size ? memory->bytes + offset : NULL;
  }
  uint64_t cta = object - (TIDE_EXEC_SHARED >> TIDE_EXEC_OFFSET_BITS);
  if (cta >= machine->cta_count || cta != tide_exec_cta_of(machine, thread)) return NULL;
  return offset + size <= machine->program->shared_size
             ? machine->shared + cta * machine->shared_stride + offset
             : NULL;
}

/* Returns the accessed bytes. NULL: the access is invalid, and was reported. */
static inline void *access_cell(struct tide_exec_machine *machine, uint32_t thread, uint32_t pc,
                                uint64_t pointer, unsigned cell) {
  void *at = access_fast(machine, thread, pointer, cell_sizes[cell]);
  return at ? at : tide_exec_access(machine, thread, pc, pointer, cell_sizes[cell]);
}

/* ---- arithmetic that has corners ---- */

/* False: MLIR leaves the result undefined: by zero, or too large for the type. */
static bool divide_integers(int64_t *out, unsigned code, int64_t a, int64_t b, unsigned cut) {
  bool is_unsigned =
      code == TIDE_EXEC_DIV_U || code == TIDE_EXEC_REM_U || code == TIDE_EXEC_CEIL_DIV_U;
  if (b == 0 || (!is_unsigned && b == -1 && a == INT64_MIN >> cut)) return false;
  uint64_t ua = tide_exec_unsigned(a, cut), ub = tide_exec_unsigned(b, cut);
  int64_t quotient = b == -1 ? (int64_t)(0 - (uint64_t)a) : a / b;
  int64_t remainder = b == -1 ? 0 : a % b;
  bool inexact = remainder != 0, opposite = (a < 0) != (b < 0);
  switch (code) {
    case TIDE_EXEC_DIV_U: *out = tide_exec_narrow(ua / ub, cut); break;
    case TIDE_EXEC_REM_U: *out = tide_exec_narrow(ua % ub, cut); break;
    case TIDE_EXEC_CEIL_DIV_U: *out = tide_exec_narrow(ua / ub + (ua % ub != 0), cut); break;
    case TIDE_EXEC_DIV_S: *out = tide_exec_narrow((uint64_t)quotient, cut); break;
    case TIDE_EXEC_REM_S: *out = remainder; break;
    case TIDE_EXEC_CEIL_DIV_S:
      *out = tide_exec_narrow((uint64_t)quotient + (inexact && !opposite), cut);
      break;
    default: *out = tide_exec_narrow((uint64_t)quotient - (inexact && opposite), cut); break;
  }
  return true;
}

static bool is_division(unsigned code) {
  return code >= TIDE_EXEC_DIV_S && code <= TIDE_EXEC_FLOOR_DIV_S;
}

/* False: by the width or more, whose result MLIR leaves undefined. */
static bool shift_integer(int64_t *out, unsigned code, int64_t a, int64_t b, unsigned cut) {
  uint64_t by = tide_exec_unsigned(b, cut), width = 64 - cut;
  if (by >= width) return false;
  if (code == TIDE_EXEC_SHL) *out = tide_exec_narrow((uint64_t)a << by, cut);
  else if (code == TIDE_EXEC_SHR_S) *out = a >> by;
  else *out = tide_exec_narrow(tide_exec_unsigned(a, cut) >> by, cut);
  return true;
}

/* Returns why an instruction has no defined result; NULL: another instruction. */
static const char *undefined_reason(const struct tide_exec_instruction *i, int64_t divisor) {
  if (i->code == TIDE_EXEC_SHL || i->code == TIDE_EXEC_SHR_S || i->code == TIDE_EXEC_SHR_U)
    return "shifts by the width of its type or more, which is undefined";
  if (i->code == TIDE_EXEC_F_TO_S || i->code == TIDE_EXEC_F_TO_U)
    return "casts a value that doesn't fit into its type, which is undefined";
  if (!is_division(i->code)) return NULL;
  return divisor ? "divides the smallest number by -1, which overflows: undefined"
                 : "divides by zero";
}

static int64_t compare_floats(double a, double b, unsigned predicate) {
  unsigned is = a == b ? 1 : a > b ? 2 : a < b ? 4 : 8;
  return -(int64_t)((predicate & is) != 0);
}

/* NaN wins in maximum and minimum, and loses in maxnum and minnum; -0 is below 0. */
static double extreme_of(double a, double b, bool most, bool nan_wins) {
  if (a != a) return nan_wins ? a : b;
  if (b != b) return nan_wins ? b : a;
  if (a == b) return (tide_exec_of_f64(a) < 0) == most ? b : a;
  return (a > b) == most ? a : b;
}

/* Computes the remainder exactly: subtracts |b| times powers of two, from above, from |a|. The
 * result has a's sign. */
static double remainder_of(double a, double b) {
  double left = a < 0 ? -a : a, by = b < 0 ? -b : b, power = by;
  const double most = tide_exec_f64(0x7fefffffffffffff);
  if (!(left <= most) || !(by > 0)) return tide_exec_f64(0x7ff8000000000000); /* NaN */
  if (left < by) return a;
  while (power <= left - power) power += power;
  for (; power >= by; power /= 2)
    if (left >= power) left -= power;
  int64_t sign = tide_exec_of_f64(a) & INT64_MIN;
  return tide_exec_f64(tide_exec_of_f64(left) | sign);
}

/* False: the integer part does not fit into the type, or the value is NaN; MLIR leaves the result
 * undefined. */
static bool to_integer(int64_t *out, double value, unsigned cut, bool is_unsigned) {
  double limit = (is_unsigned ? 2.0 : 1.0) * (double)((uint64_t)1 << (63 - cut));
  double least = is_unsigned ? 0 : -limit;
  if (!(value < limit && (value >= least || value > least - 1))) return false;
  *out = is_unsigned && value > 0 ? tide_exec_narrow((uint64_t)value, cut) : (int64_t)value;
  return true;
}

/* Rounds to a narrower type. As any arithmetic, this makes a signalling NaN quiet. */
static float round_to(float value, unsigned kind) {
  if (value != value) value = tide_exec_f32(tide_exec_of_f32(value) | 0x400000);
  if (kind == TIDE_IR_F16) return tide_exec_from_f16(tide_exec_to_f16(value));
  if (kind == TIDE_IR_BF16) return tide_exec_from_bf16(tide_exec_to_bf16(value));
  return tide_exec_to_tf32(value);
}

static int64_t bits_from(int64_t slot, unsigned cell) {
  if (cell == TIDE_CELL_F16) return (int16_t)tide_exec_to_f16(tide_exec_f32(slot));
  if (cell == TIDE_CELL_BF16) return (int16_t)tide_exec_to_bf16(tide_exec_f32(slot));
  return cell == TIDE_CELL_F32 ? (int32_t)slot : slot;
}

static int64_t bits_to(int64_t slot, unsigned cell) {
  if (cell == TIDE_CELL_F16) return tide_exec_of_f32(tide_exec_from_f16((uint16_t)slot));
  if (cell == TIDE_CELL_BF16) return tide_exec_of_f32(tide_exec_from_bf16((uint16_t)slot));
  return cell == TIDE_CELL_F32 ? (int64_t)(uint32_t)slot : slot;
}

/* Adds to a pointer. Offsets are signed: a pointer may lie below its object, as long as it is not
 * accessed. False: beyond 2^39 bytes either way. */
static inline bool step_pointer(int64_t *out, uint64_t pointer, int64_t by) {
  const int64_t reach = (int64_t)1 << (TIDE_EXEC_OFFSET_BITS - 1);
  int64_t offset = tide_exec_narrow(pointer, 64 - TIDE_EXEC_OFFSET_BITS);
  if (by >= 2 * reach || by < -2 * reach || offset + by >= reach || offset + by < -reach)
    return false;
  *out = (int64_t)((pointer & ~TIDE_EXEC_OFFSET_MASK) |
                   ((uint64_t)(offset + by) & TIDE_EXEC_OFFSET_MASK));
  return true;
}

/* Adds `index` elements of `size` bytes to a pointer. */
static inline bool index_pointer(int64_t *out, uint64_t pointer, int64_t index, int64_t size) {
  int64_t by;
  return !__builtin_mul_overflow(index, size, &by) && step_pointer(out, pointer, by);
}

/* Executes simple but infrequent instructions. False: another instruction, or a result that is
 * undefined. */
static bool run_seldom(int64_t *f, const struct tide_exec_instruction *i) {
  int64_t a = f[i->a], b = f[i->b];
  float x = tide_exec_f32(a), y = tide_exec_f32(b);
  double p = tide_exec_f64(a), q = tide_exec_f64(b);
  switch (i->code) {
    case TIDE_EXEC_MOVE_MANY: memmove(&f[i->d], &f[i->a], i->w * sizeof *f); break;
    case TIDE_EXEC_MAX_F32: f[i->d] = tide_exec_of_f32((float)extreme_of(x, y, true, true)); break;
    case TIDE_EXEC_MIN_F32: f[i->d] = tide_exec_of_f32((float)extreme_of(x, y, false, true)); break;
    case TIDE_EXEC_MAXNUM_F32:
      f[i->d] = tide_exec_of_f32((float)extreme_of(x, y, true, false));
      break;
    case TIDE_EXEC_MINNUM_F32:
      f[i->d] = tide_exec_of_f32((float)extreme_of(x, y, false, false));
      break;
    case TIDE_EXEC_NEG_F32: f[i->d] = (int64_t)((uint64_t)a ^ 0x80000000u); break;
    case TIDE_EXEC_REM_F32: f[i->d] = tide_exec_of_f32((float)remainder_of(x, y)); break;
    case TIDE_EXEC_REM_F64: f[i->d] = tide_exec_of_f64(remainder_of(p, q)); break;
    case TIDE_EXEC_COMPARE_F32: f[i->d] = compare_floats(x, y, i->w); break;
    case TIDE_EXEC_MAX_F64: f[i->d] = tide_exec_of_f64(extreme_of(p, q, true, true)); break;
    case TIDE_EXEC_MIN_F64: f[i->d] = tide_exec_of_f64(extreme_of(p, q, false, true)); break;
    case TIDE_EXEC_MAXNUM_F64: f[i->d] = tide_exec_of_f64(extreme_of(p, q, true, false)); break;
    case TIDE_EXEC_MINNUM_F64: f[i->d] = tide_exec_of_f64(extreme_of(p, q, false, false)); break;
    case TIDE_EXEC_NEG_F64: f[i->d] = (int64_t)((uint64_t)a ^ (uint64_t)1 << 63); break;
    case TIDE_EXEC_COMPARE_F64: f[i->d] = compare_floats(p, q, i->w); break;
    case TIDE_EXEC_ROUND: f[i->d] = tide_exec_of_f32(round_to(x, i->w)); break;
    case TIDE_EXEC_F32_TO_F64: f[i->d] = tide_exec_of_f64(x); break;
    case TIDE_EXEC_F64_TO_F32:
      f[i->d] = tide_exec_of_f32(i->imm ? tide_exec_odd(p) : (float)p);
      break;
    case TIDE_EXEC_S_TO_F32:
      f[i->d] = tide_exec_of_f32(
          i->imm ? tide_exec_odd_integer(a < 0 ? 0 - (uint64_t)a : (uint64_t)a, a < 0) : (float)a);
      break;
    case TIDE_EXEC_S_TO_F64: f[i->d] = tide_exec_of_f64((double)a); break;
    case TIDE_EXEC_U_TO_F32: {
      uint64_t size = tide_exec_unsigned(a, i->w);
      f[i->d] = tide_exec_of_f32(i->imm ? tide_exec_odd_integer(size, false) : (float)size);
      break;
    }
    case TIDE_EXEC_U_TO_F64: f[i->d] = tide_exec_of_f64((double)tide_exec_unsigned(a, i->w)); break;
    case TIDE_EXEC_F_TO_S: return to_integer(&f[i->d], i->imm ? p : (double)x, i->w, false);
    case TIDE_EXEC_F_TO_U: return to_integer(&f[i->d], i->imm ? p : (double)x, i->w, true);
    case TIDE_EXEC_BITS_FROM: f[i->d] = bits_from(a, i->w); break;
    case TIDE_EXEC_BITS_TO: f[i->d] = bits_to(a, i->w); break;
    case TIDE_EXEC_STATE_NEXT: {
      uint32_t index = (uint32_t)a + 1;
      int64_t phase = a >> 32 & 1;
      f[i->d] = index < i->w ? (int64_t)index | phase << 32 : (phase ^ 1) << 32;
      break;
    }
    case TIDE_EXEC_STATE_INDEX: f[i->d] = (int32_t)a; break;
    case TIDE_EXEC_STATE_PHASE: f[i->d] = a >> 32; break;
    default: return false;
  }
  return true;
}

#define A f[i->a]
#define B f[i->b]
#define D f[i->d]
#define NARROW(value) tide_exec_narrow((uint64_t)(value), i->w)

/* Executes integer instructions that are less frequent than those of run_thread. False: another
 * instruction, or a result that is undefined. */
static inline bool run_integer(int64_t *f, const struct tide_exec_instruction *i) {
  switch (i->code) {
    case TIDE_EXEC_AND: D = A & B; break;
    case TIDE_EXEC_OR: D = A | B; break;
    case TIDE_EXEC_XOR: D = A ^ B; break;
    case TIDE_EXEC_DIV_S:
    case TIDE_EXEC_DIV_U:
    case TIDE_EXEC_REM_S:
    case TIDE_EXEC_REM_U:
    case TIDE_EXEC_CEIL_DIV_S:
    case TIDE_EXEC_CEIL_DIV_U:
    case TIDE_EXEC_FLOOR_DIV_S: return divide_integers(&D, i->code, A, B, i->w);
    case TIDE_EXEC_SHL:
    case TIDE_EXEC_SHR_S:
    case TIDE_EXEC_SHR_U: return shift_integer(&D, i->code, A, B, i->w);
    case TIDE_EXEC_MAX_S: D = A > B ? A : B; break;
    case TIDE_EXEC_MIN_S: D = A < B ? A : B; break;
    case TIDE_EXEC_MAX_U: D = (uint64_t)A > (uint64_t)B ? A : B; break;
    case TIDE_EXEC_MIN_U: D = (uint64_t)A < (uint64_t)B ? A : B; break;
    case TIDE_EXEC_EQ: D = -(int64_t)(A == B); break;
    case TIDE_EXEC_NE: D = -(int64_t)(A != B); break;
    case TIDE_EXEC_LT_S: D = -(int64_t)(A < B); break;
    case TIDE_EXEC_LE_S: D = -(int64_t)(A <= B); break;
    case TIDE_EXEC_GT_S: D = -(int64_t)(A > B); break;
    case TIDE_EXEC_GE_S: D = -(int64_t)(A >= B); break;
    case TIDE_EXEC_LT_U: D = -(int64_t)((uint64_t)A < (uint64_t)B); break;
    case TIDE_EXEC_LE_U: D = -(int64_t)((uint64_t)A <= (uint64_t)B); break;
    case TIDE_EXEC_GT_U: D = -(int64_t)((uint64_t)A > (uint64_t)B); break;
    case TIDE_EXEC_GE_U: D = -(int64_t)((uint64_t)A >= (uint64_t)B); break;
    case TIDE_EXEC_SELECT:
      if (i->w == 1) D = A ? B : f[i->c];
      else memmove(&D, A ? &B : &f[i->c], i->w * sizeof *f);
      break;
    case TIDE_EXEC_NARROW: D = NARROW(A); break;
    case TIDE_EXEC_WIDEN_U: D = (int64_t)tide_exec_unsigned(A, i->w); break;
    default: return false;
  }
  return true;
}

static inline int64_t fma_f32(int64_t a, int64_t b, int64_t c, bool to_odd) {
  double sum = tide_exec_odd_fma(tide_exec_f32(a), tide_exec_f32(b), tide_exec_f32(c));
  return tide_exec_of_f32(to_odd ? tide_exec_odd(sum) : (float)sum);
}

/* Executes less frequent float instructions. False: another instruction. */
static inline bool run_float(int64_t *f, const struct tide_exec_instruction *i) {
  switch (i->code) {
    case TIDE_EXEC_SUB_F32: D = tide_exec_of_f32(tide_exec_f32(A) - tide_exec_f32(B)); break;
    case TIDE_EXEC_DIV_F32: D = tide_exec_of_f32(tide_exec_f32(A) / tide_exec_f32(B)); break;
    case TIDE_EXEC_ADD_F64: D = tide_exec_of_f64(tide_exec_f64(A) + tide_exec_f64(B)); break;
    case TIDE_EXEC_SUB_F64: D = tide_exec_of_f64(tide_exec_f64(A) - tide_exec_f64(B)); break;
    case TIDE_EXEC_MUL_F64: D = tide_exec_of_f64(tide_exec_f64(A) * tide_exec_f64(B)); break;
    case TIDE_EXEC_DIV_F64: D = tide_exec_of_f64(tide_exec_f64(A) / tide_exec_f64(B)); break;
    case TIDE_EXEC_FMA_F64:
      D = tide_exec_of_f64(
          tide_exec_fma(tide_exec_f64(A), tide_exec_f64(B), tide_exec_f64(f[i->c])));
      break;
    default: return false;
  }
  return true;
}

/* ---- the loop ---- */

/* True if the thread's warp is one of [from, to) of its CTA. */
static inline bool is_in_warps(const struct tide_exec_machine *machine, uint32_t thread,
                               int32_t from, int32_t to) {
  int32_t warp = (int32_t)(thread % machine->block_threads / 32);
  return warp >= from && warp < to;
}

#define FAIL(...)                                                                                  \
  do {                                                                                             \
    tide_exec_fail(machine, thread, (uint32_t)(i - code), __VA_ARGS__);                            \
    goto over;                                                                                     \
  } while (0)

/* Runs one thread for at most `budget` instructions. Returns the number that ran. */
static uint32_t run_thread(struct tide_exec_machine *machine, uint32_t thread, uint32_t budget) {
  const struct tide_exec_instruction *code = machine->program->code.at;
  int64_t *f = tide_exec_frame(machine, thread);
  const struct tide_exec_instruction *i = code + machine->threads[thread].pc;
  uint32_t left = budget;
  uint32_t at;
  void *cell;

  for (; left; left--, i++) {
    switch (i->code) {
      case TIDE_EXEC_MOVE: D = A; break;
      case TIDE_EXEC_ADD: D = NARROW((uint64_t)A + (uint64_t)B); break;
      case TIDE_EXEC_SUB: D = NARROW((uint64_t)A - (uint64_t)B); break;
      case TIDE_EXEC_MUL: D = NARROW((uint64_t)A * (uint64_t)B); break;
      case TIDE_EXEC_ADD_F32: D = tide_exec_of_f32(tide_exec_f32(A) + tide_exec_f32(B)); break;
      case TIDE_EXEC_MUL_F32: D = tide_exec_of_f32(tide_exec_f32(A) * tide_exec_f32(B)); break;
      case TIDE_EXEC_FMA_F32: D = fma_f32(A, B, f[i->c], i->imm); break;
      case TIDE_EXEC_GEP:
        if (!index_pointer(&D, (uint64_t)A, B, i->imm))
          FAIL("moves a pointer out of its object's reach");
        break;
      case TIDE_EXEC_GEP_FIXED:
        if (!step_pointer(&D, (uint64_t)A, i->imm))
          FAIL("moves a pointer out of its object's reach");
        break;
      case TIDE_EXEC_LOAD:
        cell = access_cell(machine, thread, (uint32_t)(i - code), (uint64_t)A, i->w);
        if (!cell) goto over;
        D = load_cell(cell, i->w);
        break;
      case TIDE_EXEC_STORE:
        cell = access_cell(machine, thread, (uint32_t)(i - code), (uint64_t)B, i->w);
        if (!cell) goto over;
        store_cell(cell, i->w, A);
        break;
      case TIDE_EXEC_JUMP: i = code + i->imm - 1; break;
      case TIDE_EXEC_JUMP_ZERO:
        if (!A) i = code + i->imm - 1;
        break;
      case TIDE_EXEC_JUMP_NOT_WARP:
        if (!is_in_warps(machine, thread, i->a, i->b)) i = code + i->imm - 1;
        break;
      case TIDE_EXEC_FOR:
        if (f[i->c] <= 0) FAIL("has a step of %lld", (long long)f[i->c]);
        D = A;
        if (A >= B) i = code + i->imm - 1;
        break;
      case TIDE_EXEC_FOR_NEXT:
        if ((uint64_t)B - (uint64_t)D > (uint64_t)f[i->c]) {
          D += f[i->c];
          i = code + i->imm - 1;
        }
        break;
      default:
        if (run_integer(f, i) || run_float(f, i) || run_seldom(f, i)) break;
        if (undefined_reason(i, B)) FAIL("%s", undefined_reason(i, B));
        at = (uint32_t)(i - code);
        machine->threads[thread].pc = at + 1;
        if (tide_exec_step_wait(machine, thread, at) == TIDE_EXEC_GOES_ON) break;
        return budget - left + 1;
    }
  }
over:
  machine->threads[thread].pc = (uint32_t)(i - code);
  return budget - left;
}

/* ---- turns ---- */

/* Removes a warp without runnable threads from the ready list. */
static void remove_ready_warp(struct tide_exec_machine *machine, uint32_t index) {
  struct tide_exec_warp *warp = &machine->warps[index];
  uint32_t at = warp->ready_at - 1, last = machine->ready[--machine->ready_count];
  machine->ready[at] = last;
  machine->warps[last].ready_at = at + 1;
  warp->ready_at = 0;
}

static uint32_t draw_warp(struct tide_exec_machine *machine) {
  uint32_t at = (uint32_t)tide_random_below(&machine->random, machine->ready_count);
  uint32_t cta = machine->warps[machine->ready[at]].cta;
  /* Delayed CTAs lose most of their time slices, so that others run far ahead of them. */
  if (machine->slow >> cta % 64 & 1 && tide_random_below(&machine->random, 16))
    at = (uint32_t)tide_random_below(&machine->random, machine->ready_count);
  return machine->ready[at];
}

static void run_turn(struct tide_exec_machine *machine) {
  uint32_t index = draw_warp(machine);
  struct tide_exec_warp *warp = &machine->warps[index];
  uint32_t budget =
      1 + (uint32_t)tide_random_below(&machine->random, (uint64_t)1 << machine->turn_bits);
  uint32_t lanes = warp->runnable;
  while (lanes && machine->status == TIDE_OK) {
    uint32_t lane = (uint32_t)__builtin_ctz(lanes);
    lanes &= lanes - 1;
    uint32_t ran = run_thread(machine, warp->first + lane, budget);
    machine->steps += ran;
    if (machine->threads[warp->first + lane].state != TIDE_THREAD_READY)
      warp->runnable &= ~(1u << lane);
  }
  machine->time += budget;
  if (!warp->runnable && warp->ready_at) remove_ready_warp(machine, index);
}

static void out_of_steps(struct tide_exec_machine *machine) {
  if (machine->status != TIDE_OK) return;
  machine->status = TIDE_EXHAUSTED;
  tide_ir_op_error(machine->ir, machine->program->function,
                   "has run %llu instructions and isn't over: it may never be",
                   (unsigned long long)machine->steps);
  tide_exec_report_deadlock(machine);
}

enum tide_status tide_exec_machine_run(struct tide_exec_machine *machine, uint64_t steps) {
  uint64_t until = machine->steps + steps < steps ? UINT64_MAX : machine->steps + steps;
  while (machine->status == TIDE_OK && machine->live_threads) {
    if (machine->parked_count) tide_exec_wake_sleepers(machine);
    if (!machine->ready_count) {
      machine->status = TIDE_DEADLOCK;
      tide_exec_report_deadlock(machine);
      break;
    }
    run_turn(machine);
    if (machine->steps >= machine->steps_max && machine->live_threads) out_of_steps(machine);
    if (machine->steps >= until && machine->live_threads && machine->status == TIDE_OK)
      return TIDE_TIMEOUT;
  }
  return machine->status;
}
