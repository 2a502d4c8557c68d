/* Builds the three tile schedulers: the arithmetic of mods/schedule.c as operations, without
 * branches.
 *
 * A scheduler is a struct of the values that are computed once; a work tile is a struct of a tile's
 * position. All are unsigned and of 32 bits, which is enough for the sizes that mods/schedule.h
 * allows. */
#include "mods/lower_build.h"
#include "base/alloc.h"

#define STREAMK_MIN 8
#define STREAMK_GROUPS_MAX 8

/* Fields of a scheduler. */
enum {
  TILES_M,
  TILES_N,
  MAJOR,
  K,
  PIECES,
  ADVANCE,
  SK_TILES,
  SK_UNITS,
  GROUPS,
  BIG,
  SCHEDULER_FIELDS
};
/* Fields of a work tile; the last three are i1. */
enum {
  LINEAR,
  AT_M,
  AT_N,
  AT_L,
  K_BEGIN,
  K_COUNT,
  UNIT_BEGIN,
  UNIT_REMAINS,
  VALID,
  FIRST,
  LAST,
  TILE_FIELDS
};

typedef tide_ir_value value;

static tide_ir_type struct_of(struct tide_ir *ir, uint32_t fields, uint32_t bools) {
  uint32_t types[TILE_FIELDS];
  for (uint32_t i = 0; i < fields; i++) types[i] = tide_ir_integer(ir, i < fields - bools ? 32 : 1);
  return tide_ir_type_with(ir, TIDE_IR_LLVM_STRUCT, 0, types, fields);
}

tide_ir_type tide_lower_tile_type(struct tide_ir *ir) { return struct_of(ir, TILE_FIELDS, 3); }

tide_ir_type tide_lower_scheduler_type(struct tide_ir *ir) {
  return struct_of(ir, SCHEDULER_FIELDS, 0);
}

/* ---- short names, for the formulas below ---- */

static value number(struct tide_lower *l, uint32_t n) { return tide_lower_i32(l, (int32_t)n); }
#define BINARY(name, kind)                                                                         \
  static value name(struct tide_lower *l, value a, value b) {                                      \
    return tide_lower_binary(l, TIDE_OP_ARITH_##kind, a, b);                                       \
  }
BINARY(add, ADDI)
BINARY(sub, SUBI)
BINARY(mul, MULI)
BINARY(quotient, DIVUI)
BINARY(rest, REMUI)
BINARY(least, MINUI)
BINARY(most, MAXUI)
BINARY(both, ANDI)
BINARY(either, ORI)
#undef BINARY
static value negate(struct tide_lower *l, value a) {
  return tide_lower_binary(l, TIDE_OP_ARITH_XORI, a, tide_lower_bool(l, true));
}
static value below(struct tide_lower *l, value a, value b) {
  return tide_lower_compare(l, TIDE_ULT, a, b);
}
static value same(struct tide_lower *l, value a, value b) {
  return tide_lower_compare(l, TIDE_EQ, a, b);
}
static value choose(struct tide_lower *l, value condition, value a, value b) {
  return tide_lower_select(l, condition, a, b);
}
/* Returns the logarithm of a power of two. */
static uint32_t log_of(uint32_t power) {
  uint32_t log = 0;
  while (power >> (log + 1)) log++;
  return log;
}
static value div_power(struct tide_lower *l, value a, uint32_t power) {
  return tide_lower_binary(l, TIDE_OP_ARITH_SHRUI, a, number(l, log_of(power)));
}
static value mul_power(struct tide_lower *l, value a, uint32_t power) {
  return tide_lower_binary(l, TIDE_OP_ARITH_SHLI, a, number(l, log_of(power)));
}
static value low_bits(struct tide_lower *l, value a, uint32_t power) {
  return power == 1 ? number(l, 0) : both(l, a, number(l, power - 1));
}
/* Rounds up to a multiple of a power of two. */
static value round_up(struct tide_lower *l, value a, uint32_t power) {
  if (power == 1) return a;
  return both(l, add(l, a, number(l, power - 1)), number(l, ~(power - 1)));
}

/* ---- the scheduler ---- */

struct scheduler {
  const struct tide_lower_known *known;
  value field[SCHEDULER_FIELDS];
};

static uint32_t cluster_size(const struct tide_lower *l) { return l->cluster[0] * l->cluster[1]; }
static uint32_t cluster_minor(const struct tide_lower *l, const struct tide_lower_known *known) {
  return l->cluster[known->along_m ? 1 : 0];
}
static uint32_t cluster_major(const struct tide_lower *l, const struct tide_lower_known *known) {
  return l->cluster[known->along_m ? 0 : 1];
}

/* Sets the number of tiles that are dealt out by k tiles, and the number of units. */
static void deal_out(struct tide_lower *l, value tiles, value *field) {
  value wave = field[ADVANCE], zero = number(l, 0), one = number(l, 1), k = field[K];
  uint32_t size = cluster_size(l);
  value full = quotient(l, tiles, wave), tail = rest(l, tiles, wave);
  value whole = sub(l, most(l, full, one), one); /* waves of whole tiles */
  value sk = mul_power(l, div_power(l, sub(l, tiles, mul(l, whole, wave)), size), size);
  value exact = same(l, tail, zero);
  value short_k = below(l, k, number(l, STREAMK_MIN + 1));
  value enough = negate(l, below(l, add(l, tail, tail), wave));
  sk = choose(l, either(l, either(l, exact, short_k), enough), zero, sk);
  value units = least(l, div_power(l, mul(l, sk, k), STREAMK_MIN), wave);
  units = mul_power(l, div_power(l, units, size), size);
  field[SK_UNITS] = units;
  field[SK_TILES] = choose(l, same(l, units, zero), zero, sk);
}

/* Sets the number of groups: the largest that divides units and tiles, else the largest that
 * divides the units, else one. */
static void set_groups(struct tide_lower *l, value *field) {
  uint32_t size = cluster_size(l);
  value zero = number(l, 0), one = number(l, 1);
  value units = div_power(l, field[SK_UNITS], size), tiles = div_power(l, field[SK_TILES], size);
  value even = one, fallback = one;
  for (uint32_t count = 2; count <= STREAMK_GROUPS_MAX; count++) {
    value groups = number(l, count);
    value smallest = mul(l, mul_power(l, quotient(l, tiles, groups), size), field[K]);
    value each = most(l, quotient(l, field[SK_UNITS], groups), one);
    value big_enough = negate(l, below(l, quotient(l, smallest, each), number(l, STREAMK_MIN)));
    value fits =
        both(l, negate(l, below(l, field[MAJOR], groups)), same(l, rest(l, units, groups), zero));
    fits = both(l, fits, big_enough);
    fallback = choose(l, fits, groups, fallback);
    even = choose(l, both(l, fits, same(l, rest(l, tiles, groups), zero)), groups, even);
  }
  value groups = choose(l, same(l, even, one), fallback, even);
  field[GROUPS] = groups;
  field[BIG] = rest(l, tiles, groups);
}

static bool shape_fits(struct tide_lower *l, tide_ir_op op) {
  for (int i = 0; i < 2; i++)
    if (!l->cluster[i] || l->cluster[i] & (l->cluster[i] - 1))
      return tide_lower_error(l, op, "needs a cluster whose sides are powers of two");
  if (l->cluster[2] != 1) return tide_lower_error(l, op, "needs a cluster without a z");
  return true;
}

static void lower_scheduler(struct tide_lower *l, tide_ir_op op) {
  const char *raster = tide_ir_get_text(l->ir, op, TIDE_NAME_RASTER);
  struct tide_lower_known what = {.kind = tide_ir_op_kind(l->ir, op)};
  value field[SCHEDULER_FIELDS];
  if (!shape_fits(l, op)) return;
  what.along_m = raster && raster[0] == 'm';
  what.swizzle = (uint32_t)tide_ir_get_integer(l->ir, op, TIDE_NAME_SWIZZLE, 1);
  value zero = number(l, 0);
  for (int i = 0; i < SCHEDULER_FIELDS; i++) field[i] = zero;
  field[TILES_M] = round_up(l, tide_ir_operand(l->ir, op, 0), what.swizzle * l->cluster[0]);
  field[TILES_N] = round_up(l, tide_ir_operand(l->ir, op, 1), what.swizzle * l->cluster[1]);
  field[MAJOR] = div_power(l, field[what.along_m ? TILES_M : TILES_N], cluster_major(l, &what));
  value plane = mul(l, field[TILES_M], field[TILES_N]);
  value tiles = mul(l, plane, tide_ir_operand(l->ir, op, 2));
  field[ADVANCE] = mul(l, tide_lower_register(l, TIDE_OP_NVVM_NCTAID_X),
                       tide_lower_register(l, TIDE_OP_NVVM_NCTAID_Y));
  field[PIECES] = tiles;
  if (what.kind == TIDE_OP_SCHED_STREAMK) {
    field[K] = tide_ir_operand(l->ir, op, 3);
    deal_out(l, tiles, field);
    set_groups(l, field);
    field[PIECES] = add(l, field[SK_UNITS], sub(l, tiles, field[SK_TILES]));
  }
  what.value = tide_lower_pack(l, tide_lower_scheduler_type(l->ir), field, SCHEDULER_FIELDS);
  *tide_lower_know(l, op, what.value) = what;
  tide_lower_replace(l, op, what.value);
}

static bool scheduler_of(struct tide_lower *l, tide_ir_op op, struct scheduler *s) {
  s->known = tide_lower_known(l, op, 0);
  if (!s->known) return false;
  for (uint32_t i = 0; i < SCHEDULER_FIELDS; i++)
    s->field[i] = tide_lower_field(l, s->known->value, i, l->i32);
  return true;
}

/* ---- a tile's position ---- */

static value offset_in_cluster(struct tide_lower *l, bool in_m) {
  uint32_t size = l->cluster[in_m ? 0 : 1];
  if (size == 1) return number(l, 0);
  return low_bits(l, tide_lower_register(l, in_m ? TIDE_OP_NVVM_CTAID_X : TIDE_OP_NVVM_CTAID_Y),
                  size);
}

static void place_tile(struct tide_lower *l, const struct scheduler *s, value tile, value *work) {
  bool along_m = s->known->along_m;
  uint32_t minor_size = cluster_minor(l, s->known), major_size = cluster_major(l, s->known);
  value plane = mul(l, s->field[TILES_M], s->field[TILES_N]);
  value block = div_power(l, rest(l, tile, plane), minor_size);
  value cluster = div_power(l, block, major_size);
  value row = div_power(l, cluster, s->known->swizzle);
  value minor = add(l, mul_power(l, quotient(l, row, s->field[MAJOR]), s->known->swizzle),
                    low_bits(l, cluster, s->known->swizzle));
  minor = add(l, mul_power(l, minor, minor_size), offset_in_cluster(l, !along_m));
  value major = add(l, mul_power(l, rest(l, row, s->field[MAJOR]), major_size),
                    low_bits(l, block, major_size));
  work[AT_L] = quotient(l, tile, plane);
  work[AT_M] = along_m ? major : minor;
  work[AT_N] = along_m ? minor : major;
}

/* ---- stream-K ---- */

/* Snaps an edge between units, at k tile `at` of a group, to a tile's end if it is near. */
static value snap_edge(struct tide_lower *l, value k, value at) {
  value in_tile = rest(l, at, k), least_split = number(l, STREAMK_MIN);
  value start = sub(l, at, in_tile);
  value near_end = below(l, sub(l, k, least_split), in_tile);
  return choose(l, below(l, in_tile, least_split), start,
                choose(l, near_end, add(l, start, k), at));
}

struct unit {
  value begin, remains, group;
};

/* Returns the k tiles of the unit at `linear`, counted in its group. */
static struct unit deal_unit(struct tide_lower *l, const struct scheduler *s, value linear) {
  uint32_t size = cluster_size(l);
  value one = number(l, 1), k = s->field[K], groups = s->field[GROUPS];
  value cluster = div_power(l, linear, size);
  value group = rest(l, cluster, groups), index = quotient(l, cluster, groups);
  value tiles = quotient(l, div_power(l, s->field[SK_TILES], size), groups);
  tiles = add(l, tiles, tide_lower_extend(l, below(l, group, s->field[BIG]), l->i32));
  value units = most(l, quotient(l, div_power(l, s->field[SK_UNITS], size), groups), one);
  value all = mul(l, tiles, k);
  value share = quotient(l, all, units), big = rest(l, all, units);
  value begin = snap_edge(l, k, add(l, mul(l, share, index), least(l, index, big)));
  index = add(l, index, one);
  value end = snap_edge(l, k, add(l, mul(l, share, index), least(l, index, big)));
  return (struct unit){begin, sub(l, end, begin), group};
}

/* Cuts the last tile off a unit's remaining k tiles; returns the tile's number. */
static value cut_tile(struct tide_lower *l, const struct scheduler *s, const struct unit *unit,
                      value *work) {
  value k = s->field[K];
  value end = add(l, unit->begin, unit->remains);
  value in_group = quotient(l, sub(l, end, number(l, 1)), k);
  value start = mul(l, in_group, k);
  value begin = most(l, start, unit->begin);
  work[K_BEGIN] = sub(l, begin, start);
  work[K_COUNT] = sub(l, end, begin);
  work[FIRST] = same(l, work[K_BEGIN], number(l, 0));
  work[LAST] = same(l, add(l, work[K_BEGIN], work[K_COUNT]), k);
  value tile =
      mul_power(l, add(l, mul(l, in_group, s->field[GROUPS]), unit->group), cluster_size(l));
  value offset = offset_in_cluster(l, s->known->along_m);
  return add(l, tile, mul_power(l, offset, cluster_minor(l, s->known)));
}

/* ---- pieces of work ---- */

/* Packs a work tile; all but `linear` and the unit is 0 or false in an invalid one. */
static value pack_work(struct tide_lower *l, value *work) {
  for (uint32_t i = AT_M; i <= K_COUNT; i++)
    work[i] = choose(l, work[VALID], work[i], number(l, 0));
  for (uint32_t i = FIRST; i <= LAST; i++) work[i] = both(l, work[VALID], work[i]);
  return tide_lower_pack(l, tide_lower_tile_type(l->ir), work, TILE_FIELDS);
}

static value take_piece(struct tide_lower *l, const struct scheduler *s, value linear) {
  value work[TILE_FIELDS], zero = number(l, 0), yes = tide_lower_bool(l, true);
  work[LINEAR] = linear;
  work[K_BEGIN] = work[K_COUNT] = work[UNIT_BEGIN] = work[UNIT_REMAINS] = zero;
  work[FIRST] = work[LAST] = yes;
  work[VALID] = below(l, linear, s->field[PIECES]);
  place_tile(l, s, linear, work);
  return pack_work(l, work);
}

/* Takes the piece at `linear`, or the remainder `rest_of` of a unit if `goes_on`. Skips a unit that
 * lost all k tiles to its neighbours: the next piece is a whole tile, since there are at most as
 * many units as CTAs. */
static value take_streamk(struct tide_lower *l, const struct scheduler *s, value linear,
                          value goes_on, const struct unit *rest_of) {
  value work[TILE_FIELDS], zero = number(l, 0), yes = tide_lower_bool(l, true);
  struct unit unit = deal_unit(l, s, linear);
  unit.begin = choose(l, goes_on, rest_of->begin, unit.begin);
  unit.remains = choose(l, goes_on, rest_of->remains, unit.remains);
  value is_unit = below(l, linear, s->field[SK_UNITS]);
  value is_empty = both(l, is_unit, same(l, unit.remains, zero));
  linear = choose(l, is_empty, add(l, linear, s->field[ADVANCE]), linear);
  is_unit = both(l, is_unit, negate(l, is_empty));
  value tile = cut_tile(l, s, &unit, work);
  value whole = add(l, sub(l, linear, s->field[SK_UNITS]), s->field[SK_TILES]);
  work[LINEAR] = linear;
  work[UNIT_BEGIN] = choose(l, is_unit, unit.begin, zero);
  work[UNIT_REMAINS] = choose(l, is_unit, unit.remains, zero);
  work[K_BEGIN] = choose(l, is_unit, work[K_BEGIN], zero);
  work[K_COUNT] = choose(l, is_unit, work[K_COUNT], s->field[K]);
  work[FIRST] = choose(l, is_unit, work[FIRST], yes);
  work[LAST] = choose(l, is_unit, work[LAST], yes);
  work[VALID] = below(l, linear, s->field[PIECES]);
  place_tile(l, s, choose(l, is_unit, tile, whole), work);
  return pack_work(l, work);
}

static void get_current_work(struct tide_lower *l, tide_ir_op op) {
  struct scheduler s;
  if (!scheduler_of(l, op, &s)) return;
  bool along_m = s.known->along_m;
  value x = tide_lower_register(l, TIDE_OP_NVVM_CTAID_X);
  value y = tide_lower_register(l, TIDE_OP_NVVM_CTAID_Y);
  value width = tide_lower_register(l, along_m ? TIDE_OP_NVVM_NCTAID_Y : TIDE_OP_NVVM_NCTAID_X);
  value linear = along_m ? add(l, mul(l, x, width), y) : add(l, x, mul(l, y, width));
  value zero = number(l, 0);
  value work =
      s.known->kind == TIDE_OP_SCHED_STREAMK
          ? take_streamk(l, &s, linear, tide_lower_bool(l, false), &(struct unit){zero, zero, zero})
          : take_piece(l, &s, linear);
  tide_lower_replace(l, op, work);
}

static value old_field(struct tide_lower *l, tide_ir_op op, uint32_t field) {
  return tide_lower_field(l, tide_ir_operand(l->ir, op, 1), field, field >= VALID ? l->i1 : l->i32);
}

static void lower_advance(struct tide_lower *l, tide_ir_op op) {
  struct scheduler s;
  if (!scheduler_of(l, op, &s)) return;
  value linear = old_field(l, op, LINEAR), valid = old_field(l, op, VALID), further, work;
  if (s.known->kind == TIDE_OP_SCHED_DATA_PARALLEL) {
    work = take_piece(l, &s, s.field[PIECES]);
  } else if (s.known->kind == TIDE_OP_SCHED_STREAMK) {
    value count = old_field(l, op, K_COUNT), remains = old_field(l, op, UNIT_REMAINS);
    value goes_on = both(l, valid, below(l, count, remains));
    struct unit unit = {old_field(l, op, UNIT_BEGIN), sub(l, remains, count), 0};
    further = choose(l, valid, add(l, linear, s.field[ADVANCE]), linear);
    work = take_streamk(l, &s, choose(l, goes_on, linear, further), goes_on, &unit);
  } else {
    further = choose(l, valid, add(l, linear, s.field[ADVANCE]), linear);
    work = take_piece(l, &s, further);
  }
  if (tide_lower_in_window(l, op)) tide_lower_finished(l, tide_lower_in_window(l, op), valid);
  tide_lower_replace(l, op, work);
}

/* ---- fields ---- */

struct name {
  const char *text;
  uint32_t field;
};
static const struct name names[] = {{"m", AT_M},          {"n", AT_N},          {"l", AT_L},
                                    {"k_begin", K_BEGIN}, {"k_count", K_COUNT}, {"valid", VALID},
                                    {"first", FIRST},     {"last", LAST}};

static void work_get(struct tide_lower *l, tide_ir_op op) {
  const char *text = tide_ir_get_text(l->ir, op, TIDE_NAME_FIELD);
  for (size_t i = 0; text && i < sizeof names / sizeof *names; i++) {
    if (strcmp(text, names[i].text) != 0) continue;
    uint32_t field = names[i].field;
    tide_ir_type type = field >= VALID ? l->i1 : l->i32;
    tide_lower_replace(l, op, tide_lower_field(l, tide_ir_operand(l->ir, op, 0), field, type));
    return;
  }
  tide_lower_error(l, op, "has a field that work tiles do not have");
}

void tide_lower_schedule(struct tide_lower *l, tide_ir_op op) {
  switch (tide_ir_op_kind(l->ir, op)) {
    case TIDE_OP_GET_CURRENT_WORK: get_current_work(l, op); break;
    case TIDE_OP_ADVANCE: lower_advance(l, op); break;
    case TIDE_OP_WORK_GET: work_get(l, op); break;
    default: lower_scheduler(l, op); break;
  }
}
