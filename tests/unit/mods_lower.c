/* Lowering: the schedulers' operations compute what mods/schedule.c computes. */
#include "mods/lower.h"
#include "mods/schedule.h"
#include "harness.h"

#include <stdlib.h>
#include <string.h>

/* ---- a kernel that asks for all its work ---- */

struct shape {
  enum tide_ir_scheduler kind;
  uint32_t cluster[2], swizzle;
  bool along_m;
};

struct kernel {
  struct tide_ir *ir;
  tide_ir_block entry, loop;
};

static const char *const fields[] = {"m", "n", "l", "k_begin", "k_count", "valid", "first", "last"};
enum { FIELDS = 8 };

static tide_ir_attr dictionary(struct tide_ir *ir, const char *name, tide_ir_attr value) {
  struct tide_ir_named named = {tide_ir_intern_text(ir, name), value};
  return tide_ir_attr_dictionary(ir, &named, 1);
}

static tide_ir_block enter(struct tide_ir *ir, tide_ir_op op, const tide_ir_type *types,
                           size_t count) {
  tide_ir_block block = tide_ir_block_create(ir, types, count);
  tide_ir_block_append(ir, tide_ir_region_at(ir, op, 0), block);
  return block;
}

static tide_ir_value one(struct tide_ir_builder *b, enum tide_ir_kind kind,
                         const tide_ir_value *operands, size_t count, tide_ir_type type,
                         tide_ir_attr attributes) {
  return tide_ir_result(b->ir, tide_ir_build(b, kind, operands, count, &type, 1, attributes, 0), 0);
}

static void branch(struct tide_ir_builder *b, tide_ir_block to, tide_ir_value value) {
  struct tide_ir_op_params params = {.kind = TIDE_OP_CF_BR,
                                     .operands = &value,
                                     .operand_count = 1,
                                     .successors = &to,
                                     .successor_counts = (uint32_t[]){1},
                                     .successor_count = 1};
  tide_ir_insert(b->ir, b->block, 0, tide_ir_op_create(b->ir, &params));
}

static tide_ir_op function(struct tide_ir_builder *b, const struct shape *shape) {
  struct tide_ir *ir = b->ir;
  int64_t cluster[] = {shape->cluster[0], shape->cluster[1], 1};
  ir->module = tide_ir_op_create(
      ir, &(struct tide_ir_op_params){.kind = TIDE_OP_BUILTIN_MODULE, .region_count = 1});
  b->block = enter(ir, ir->module, NULL, 0);
  tide_ir_attr dims = tide_ir_attr_dense(ir, tide_ir_integer(ir, 32), cluster, 3);
  tide_ir_op module = tide_ir_build(b, TIDE_OP_GPU_MODULE, NULL, 0, NULL, 0,
                                    dictionary(ir, "cutlass.cluster_shape", dims), 1);
  b->block = enter(ir, module, NULL, 0);
  return tide_ir_build(b, TIDE_OP_GPU_FUNC, NULL, 0, NULL, 0,
                       dictionary(ir, "sym_name", tide_ir_attr_text(ir, "k")), 1);
}

static tide_ir_value scheduler(struct tide_ir_builder *b, const struct shape *shape,
                               tide_ir_type type) {
  static const enum tide_ir_kind kinds[] = {TIDE_OP_SCHED_STREAMK, TIDE_OP_SCHED_STATIC,
                                            TIDE_OP_SCHED_DATA_PARALLEL};
  struct tide_ir_named named[] = {
      {TIDE_NAME_RASTER, tide_ir_attr_text(b->ir, shape->along_m ? "m" : "n")},
      {TIDE_NAME_SWIZZLE, tide_ir_attr_i32(b->ir, (int32_t)shape->swizzle)}};
  tide_ir_value sizes[5];
  for (uint32_t i = 0; i < 5; i++) sizes[i] = tide_ir_argument(b->ir, b->block, i);
  return one(b, kinds[shape->kind], sizes, shape->kind == TIDE_IR_STREAMK ? 5 : 3, type,
             tide_ir_attr_dictionary(b->ir, named, 2));
}

static struct kernel build(const struct shape *shape) {
  struct kernel kernel;
  CHECK_OK(tide_ir_create(tide_allocator_system(), &kernel.ir));
  struct tide_ir *ir = kernel.ir;
  struct tide_ir_builder b = {.ir = ir};
  tide_ir_type i32 = tide_ir_integer(ir, 32);
  tide_ir_type pointer = tide_ir_type_get(ir, TIDE_IR_LLVM_POINTER, 0, 0);
  tide_ir_type type = tide_ir_type_get(ir, TIDE_IR_TILE_SCHEDULER, shape->kind, 0);
  tide_ir_type tile = tide_ir_type_get(ir, TIDE_IR_WORK_TILE, 0, 0);
  tide_ir_op op = function(&b, shape);
  kernel.entry = b.block = enter(ir, op, (tide_ir_type[]){i32, i32, i32, i32, pointer}, 5);
  tide_ir_value to = tide_ir_argument(ir, b.block, 4);
  tide_ir_value sched = scheduler(&b, shape, type);
  tide_ir_value work = one(&b, TIDE_OP_GET_CURRENT_WORK, &sched, 1, tile, 0);
  kernel.loop = enter(ir, op, &tile, 1);
  branch(&b, kernel.loop, work);
  b.block = kernel.loop;
  work = tide_ir_argument(ir, b.block, 0);
  for (int i = 0; i < FIELDS; i++) {
    tide_ir_value got = one(&b, TIDE_OP_WORK_GET, &work, 1, tide_ir_integer(ir, i < 5 ? 32 : 1),
                            dictionary(ir, "field", tide_ir_attr_text(ir, fields[i])));
    tide_ir_build(&b, TIDE_OP_LLVM_STORE, (tide_ir_value[]){got, to}, 2, NULL, 0, 0, 0);
  }
  work = one(&b, TIDE_OP_ADVANCE, (tide_ir_value[]){sched, work}, 2, tile, 0);
  branch(&b, kernel.loop, work);
  CHECK_OK(ir->status);
  CHECK_OK(tide_lower(ir, NULL));
  return kernel;
}

/* ---- what the operations compute ---- */

enum { PARTS = 16 };
struct value {
  uint32_t part[PARTS]; /* of a struct; else the first */
};

struct machine {
  const struct kernel *kernel;
  struct value *values;
  uint32_t block[2], grid[2];
  uint32_t stored[FIELDS];
  int stores;
};

static uint32_t operand(const struct machine *m, tide_ir_op op, uint32_t index) {
  return m->values[tide_ir_operand(m->kernel->ir, op, index)].part[0];
}

static uint32_t binary(unsigned kind, uint32_t a, uint32_t b) {
  switch (kind) {
    case TIDE_OP_ARITH_ADDI: return a + b;
    case TIDE_OP_ARITH_SUBI: return a - b;
    case TIDE_OP_ARITH_MULI: return a * b;
    case TIDE_OP_ARITH_ANDI: return a & b;
    case TIDE_OP_ARITH_ORI: return a | b;
    case TIDE_OP_ARITH_XORI: return a ^ b;
    case TIDE_OP_ARITH_SHLI: CHECK(b < 32); return a << b;
    case TIDE_OP_ARITH_SHRUI: CHECK(b < 32); return a >> b;
    case TIDE_OP_ARITH_DIVUI: CHECK(b); return a / b;
    case TIDE_OP_ARITH_REMUI: CHECK(b); return a % b;
    case TIDE_OP_ARITH_MINUI: return a < b ? a : b;
    case TIDE_OP_ARITH_MAXUI: return a > b ? a : b;
    default: FAIL("kind %u", kind); return 0;
  }
}

static uint32_t compare(int64_t predicate, uint32_t a, uint32_t b) {
  CHECK(predicate == 0 || predicate == 6);
  return predicate ? a < b : a == b;
}

static uint32_t position(const struct tide_ir *ir, tide_ir_op op) {
  return (uint32_t)tide_ir_attr_element(ir, tide_ir_get(ir, op, TIDE_NAME_POSITION), 0);
}

static struct value compute(struct machine *m, tide_ir_op op, unsigned kind) {
  struct tide_ir *ir = m->kernel->ir;
  struct value value = {{0}};
  switch (kind) {
    case TIDE_OP_ARITH_CONSTANT:
      value.part[0] = (uint32_t)tide_ir_get_integer(ir, op, TIDE_NAME_VALUE, 0);
      if (tide_ir_is_integer(ir, tide_ir_type_of_value(ir, tide_ir_result(ir, op, 0)), 1))
        value.part[0] &= 1;
      break;
    case TIDE_OP_ARITH_CMPI:
      value.part[0] = compare(tide_ir_get_integer(ir, op, TIDE_NAME_PREDICATE, -1),
                              operand(m, op, 0), operand(m, op, 1));
      break;
    case TIDE_OP_ARITH_SELECT: value.part[0] = operand(m, op, operand(m, op, 0) ? 1 : 2); break;
    case TIDE_OP_ARITH_EXTUI: value.part[0] = operand(m, op, 0); break;
    case TIDE_OP_LLVM_UNDEF: break;
    case TIDE_OP_LLVM_INSERTVALUE:
      value = m->values[tide_ir_operand(ir, op, 0)];
      value.part[position(ir, op)] = operand(m, op, 1);
      break;
    case TIDE_OP_LLVM_EXTRACTVALUE:
      value.part[0] = m->values[tide_ir_operand(ir, op, 0)].part[position(ir, op)];
      break;
    case TIDE_OP_NVVM_CTAID_X: value.part[0] = m->block[0]; break;
    case TIDE_OP_NVVM_CTAID_Y: value.part[0] = m->block[1]; break;
    case TIDE_OP_NVVM_NCTAID_X: value.part[0] = m->grid[0]; break;
    case TIDE_OP_NVVM_NCTAID_Y: value.part[0] = m->grid[1]; break;
    default: value.part[0] = binary(kind, operand(m, op, 0), operand(m, op, 1)); break;
  }
  return value;
}

/* To the branch at its end, whose value becomes the loop's argument. */
static void run_block(struct machine *m, tide_ir_block block) {
  struct tide_ir *ir = m->kernel->ir;
  for (tide_ir_op op = tide_ir_block_of(ir, block)->first; op; op = tide_ir_op_of(ir, op)->next) {
    unsigned kind = tide_ir_op_kind(ir, op);
    if (kind == TIDE_OP_CF_BR)
      m->values[tide_ir_argument(ir, m->kernel->loop, 0)] = m->values[tide_ir_operand(ir, op, 0)];
    else if (kind == TIDE_OP_LLVM_STORE) m->stored[m->stores++] = operand(m, op, 0);
    else m->values[tide_ir_result(ir, op, 0)] = compute(m, op, kind);
  }
}

/* ---- all small problems ---- */

static void compare_work(const struct machine *m, const struct tide_tile_work *work) {
  const uint32_t want[] = {work->m,       work->n,     work->l,     work->k_begin,
                           work->k_count, work->valid, work->first, work->last};
  for (int i = 0; i < FIELDS; i++)
    if (m->stored[i] != want[i])
      FAIL("CTA %u, %u of %u x %u: %s is %u, not %u", m->block[0], m->block[1], m->grid[0],
           m->grid[1], fields[i], m->stored[i], want[i]);
}

static void run_cta(struct machine *m, const struct tide_schedule *schedule) {
  struct tide_tile_work work;
  uint32_t block[3] = {m->block[0], m->block[1], 0};
  tide_schedule_first(schedule, block, &work);
  run_block(m, m->kernel->entry);
  for (bool more = true; more;) {
    more = work.valid;
    m->stores = 0;
    run_block(m, m->kernel->loop);
    compare_work(m, &work);
    tide_schedule_next(schedule, &work);
  }
}

/* How many CTAs had work to compare; 0: the scheduler does not take this problem. */
static uint64_t run_problem(const struct kernel *kernel, const struct shape *shape,
                            const uint32_t size[4], const uint32_t grid[2], struct value *values) {
  struct tide_schedule schedule;
  struct tide_schedule_params params = {.kind = shape->kind,
                                        .m = size[0],
                                        .n = size[1],
                                        .l = size[2],
                                        .k = size[3],
                                        .along_m = shape->along_m,
                                        .swizzle = shape->swizzle,
                                        .grid = {grid[0], grid[1], 1},
                                        .cluster = {shape->cluster[0], shape->cluster[1], 1}};
  if (tide_schedule_init(&schedule, &params, NULL) != TIDE_OK) return 0;
  struct machine m = {.kernel = kernel, .values = values, .grid = {grid[0], grid[1]}};
  for (uint32_t i = 0; i < 4; i++)
    values[tide_ir_argument(kernel->ir, kernel->entry, i)].part[0] = size[i];
  for (m.block[0] = 0; m.block[0] < grid[0]; m.block[0]++)
    for (m.block[1] = 0; m.block[1] < grid[1]; m.block[1]++) run_cta(&m, &schedule);
  return (uint64_t)grid[0] * grid[1];
}

static uint64_t run_sizes(const struct kernel *kernel, const struct shape *shape,
                          const uint32_t grid[2], const uint32_t most[4], struct value *values) {
  uint64_t done = 0;
  uint32_t size[4];
  for (size[0] = 1; size[0] <= most[0]; size[0]++)
    for (size[1] = 1; size[1] <= most[1]; size[1]++)
      for (size[2] = 1; size[2] <= most[2]; size[2]++)
        for (size[3] = 1; size[3] <= most[3]; size[3] += 4)
          done += run_problem(kernel, shape, size, grid, values);
  return done;
}

static uint64_t run_shape(const struct shape *shape, const uint32_t most[4]) {
  struct kernel kernel = build(shape);
  struct value *values = calloc(kernel.ir->values.count, sizeof *values);
  uint64_t done = 0;
  uint32_t grid[2];
  CHECK(values);
  for (grid[0] = 1; grid[0] <= 5; grid[0]++)
    for (grid[1] = 1; grid[1] <= 4; grid[1]++)
      done += run_sizes(&kernel, shape, grid, most, values);
  free(values);
  tide_ir_destroy(kernel.ir);
  return done;
}

static void run_kind(enum tide_ir_scheduler kind, const uint32_t most[4]) {
  for (uint32_t i = 0; i < 32; i++) {
    struct shape shape = {.kind = kind,
                          .cluster = {1 + (i & 1), 1 + (i >> 1 & 1)},
                          .along_m = i >> 2 & 1,
                          .swizzle = 1u << (i >> 3)};
    if (shape.swizzle > 2 && i & 3) continue; /* nothing small is left */
    CHECK(run_shape(&shape, most) > 0);
  }
}

TEST(static_persistent) { run_kind(TIDE_IR_STATIC_PERSISTENT, (uint32_t[]){5, 3, 2, 1}); }
TEST(data_parallel) { run_kind(TIDE_IR_DATA_PARALLEL, (uint32_t[]){4, 3, 2, 1}); }
TEST(streamk) { run_kind(TIDE_IR_STREAMK, (uint32_t[]){4, 3, 1, 40}); }

TEST_MAIN(CASE(static_persistent), CASE(data_parallel), CASE_SECONDS(streamk, 120))
