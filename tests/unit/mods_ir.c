/* The ir: interning, building, walking, replacing. */
#include "mods/ir.h"
#include "harness.h"

#include <stdio.h>

static struct tide_ir *make(void) {
  struct tide_ir *ir;
  CHECK_OK(tide_ir_create(tide_allocator_system(), &ir));
  return ir;
}

/* A module with one block, and a builder in it. */
static struct tide_ir_builder module_of(struct tide_ir *ir) {
  struct tide_ir_op_params params = {.kind = TIDE_OP_BUILTIN_MODULE, .region_count = 1};
  ir->module = tide_ir_op_create(ir, &params);
  tide_ir_block block = tide_ir_block_create(ir, NULL, 0);
  tide_ir_block_append(ir, tide_ir_region_at(ir, ir->module, 0), block);
  return (struct tide_ir_builder){.ir = ir, .block = block};
}

TEST(equal_things_have_equal_numbers) {
  struct tide_ir *ir = make();
  tide_ir_type i32 = tide_ir_integer(ir, 32);
  CHECK(i32 && i32 == tide_ir_integer(ir, 32) && i32 != tide_ir_integer(ir, 64));
  CHECK_EQ_U64(tide_ir_intern_text(ir, "sym_name"), TIDE_NAME_SYM_NAME);
  CHECK_EQ_U64(tide_ir_kind(ir, "arith.addi", 10), TIDE_OP_ARITH_ADDI);
  CHECK_EQ_U64(tide_ir_kind(ir, "no.such", 7), TIDE_IR_KINDS);
  CHECK_EQ_U64(tide_ir_kind(ir, "no.such", 7), TIDE_IR_KINDS);
  CHECK_EQ_U64(tide_ir_kind(ir, "no.other", 8), TIDE_IR_KINDS + 1);
  struct tide_ir_named ab[] = {{tide_ir_intern_text(ir, "b"), tide_ir_attr_i32(ir, 2)},
                               {tide_ir_intern_text(ir, "a"), tide_ir_attr_i32(ir, 1)}};
  struct tide_ir_named ba[] = {ab[1], ab[0]};
  tide_ir_attr dictionary = tide_ir_attr_dictionary(ir, ab, 2);
  CHECK(dictionary && dictionary == tide_ir_attr_dictionary(ir, ba, 2));
  CHECK_EQ_U64(tide_ir_attr_find(ir, dictionary, ab[0].name), ab[0].value);
  int64_t items[] = {-1, INT64_MAX};
  tide_ir_attr dense = tide_ir_attr_dense(ir, tide_ir_integer(ir, 64), items, 2);
  CHECK(tide_ir_attr_element(ir, dense, 0) == -1 &&
        tide_ir_attr_element(ir, dense, 1) == INT64_MAX);
  tide_ir_destroy(ir);
}

TEST(many_strings_stay_apart) {
  struct tide_ir *ir = make();
  char text[16];
  tide_ir_string first = 0;
  for (int round = 0; round < 2; round++)
    for (uint32_t i = 0; i < 20000; i++) {
      snprintf(text, sizeof text, "name%u", i);
      tide_ir_string string = tide_ir_intern_text(ir, text);
      if (i == 0 && round == 0) first = string;
      CHECK_EQ_U64(string, first + i);
      CHECK_EQ_STR(tide_ir_string_text(ir, string, NULL), text);
    }
  tide_ir_destroy(ir);
}

TEST(replacing_forwards_the_users) {
  struct tide_ir *ir = make();
  struct tide_ir_builder builder = module_of(ir);
  tide_ir_type i32 = tide_ir_integer(ir, 32);
  tide_ir_value one = tide_ir_build_integer(&builder, i32, 1);
  tide_ir_value two = tide_ir_build_integer(&builder, i32, 2);
  tide_ir_op sum =
      tide_ir_build(&builder, TIDE_OP_ARITH_ADDI, (tide_ir_value[]){one, one}, 2, &i32, 1, 0, 0);
  tide_ir_op old = tide_ir_defining_op(ir, one);
  tide_ir_replace_all(ir, one, two);
  tide_ir_erase(ir, old);
  CHECK_EQ_U64(tide_ir_operand(ir, sum, 0), two);
  CHECK_EQ_U64(tide_ir_operand(ir, sum, 1), two);
  CHECK_EQ_U64(tide_ir_value_of(ir, two)->uses, 2);
  int64_t value;
  CHECK(tide_ir_constant(ir, tide_ir_operand(ir, sum, 1), &value) && value == 2);
  CHECK_EQ_U64(ir->op_count, 3); /* the module, two, the sum */
  tide_ir_destroy(ir);
}

TEST(a_walk_sees_parents_before_children) {
  struct tide_ir *ir = make();
  struct tide_ir_builder builder = module_of(ir);
  tide_ir_op outer = tide_ir_build(&builder, TIDE_OP_ASYNC_EXEC, NULL, 0, NULL, 0, 0, 1);
  tide_ir_op after = tide_ir_build(&builder, TIDE_OP_GPU_BARRIER, NULL, 0, NULL, 0, 0, 0);
  builder.block = tide_ir_block_create(ir, NULL, 0);
  tide_ir_block_append(ir, tide_ir_region_at(ir, outer, 0), builder.block);
  tide_ir_op inner = tide_ir_build(&builder, TIDE_OP_ASYNC_YIELD, NULL, 0, NULL, 0, 0, 0);
  tide_ir_op order[] = {ir->module, outer, inner, after};
  size_t at = 0;
  for (tide_ir_op op = ir->module; op; op = tide_ir_walk_next(ir, ir->module, op, true))
    CHECK(at < 4 && op == order[at++]);
  CHECK_EQ_U64(at, 4);
  CHECK_EQ_U64(tide_ir_walk_next(ir, ir->module, outer, false), after);
  CHECK_EQ_U64(tide_ir_ancestor(ir, inner, TIDE_OP_ASYNC_EXEC), outer);
  CHECK(tide_ir_before(ir, outer, after) && !tide_ir_before(ir, after, outer));
  tide_ir_erase(ir, outer);
  CHECK_EQ_U64(ir->op_count, 2);
  tide_ir_destroy(ir);
}

TEST(what_does_not_fit_is_remembered) {
  struct tide_ir *ir = make();
  struct tide_ir_op_params params = {.kind = TIDE_OP_GPU_BARRIER, .region_count = 300};
  CHECK_EQ_U64(tide_ir_op_create(ir, &params), 0);
  CHECK_STATUS(ir->status, TIDE_FULL);
  params.region_count = 0;
  CHECK_EQ_U64(tide_ir_op_create(ir, &params), 0);
  tide_ir_destroy(ir);
}

TEST_MAIN(CASE(equal_things_have_equal_numbers), CASE(many_strings_stay_apart),
          CASE(replacing_forwards_the_users), CASE(a_walk_sees_parents_before_children),
          CASE(what_does_not_fit_is_remembered))
