/* Parses modules, functions and globals. */
#include "mods/ir_parser.h"
#include "mods/intern.h"
#include "base/alloc.h"

/* The parts of a function's signature. */
struct signature {
  struct tide_stack arguments;       /* offset, length, type of each; offset 0: no name */
  struct tide_stack inputs, results; /* types */
  struct tide_stack input_attrs, result_attrs;
  struct tide_stack locations; /* of the arguments; 0: none is given */
  bool has_input_attrs, has_result_attrs, variadic;
};

static void free_signature(struct tide_parser *parser, struct signature *signature) {
  struct tide_stack *const stacks[] = {&signature->arguments,    &signature->inputs,
                                       &signature->results,      &signature->input_attrs,
                                       &signature->result_attrs, &signature->locations};
  for (size_t i = 0; i < sizeof stacks / sizeof *stacks; i++)
    tide_free(parser->ir->allocator, stacks[i]->data, stacks[i]->capacity, sizeof *stacks[i]->data);
}

/* Pushes a dictionary, empty if absent. Sets *any if one is present. */
static bool dictionary_or_empty(struct tide_parser *parser, struct tide_stack *stack, bool *any) {
  tide_ir_attr attr = 0;
  if (parser->token.kind == '{') *any = true;
  if (!tide_parse_dictionary(parser, &attr)) return false;
  return tide_push(parser, stack, attr ? attr : tide_ir_attr_empty(parser->ir));
}

/* Parses %a: type {attrs}; only a type in a declaration. */
static bool parse_argument(struct tide_parser *parser, struct signature *signature) {
  struct tide_token token = parser->token;
  tide_ir_location location = 0;
  bool named = token.kind == TIDE_TOKEN_VALUE;
  if (named) {
    tide_advance(parser);
    if (!tide_expect(parser, ':', "':'")) return false;
  }
  tide_ir_type type = tide_parse_type(parser);
  if (!type || !tide_push(parser, &signature->inputs, type) ||
      !tide_push(parser, &signature->arguments, named ? token.start : 0) ||
      !tide_push(parser, &signature->arguments, named ? token.end - token.start : 0) ||
      !tide_push(parser, &signature->arguments, type))
    return false;
  return dictionary_or_empty(parser, &signature->input_attrs, &signature->has_input_attrs) &&
         tide_parse_location(parser, &location) &&
         tide_push(parser, &signature->locations, location);
}

static bool parse_result(struct tide_parser *parser, struct signature *signature) {
  tide_ir_type type = tide_parse_type(parser);
  return type && tide_push(parser, &signature->results, type) &&
         dictionary_or_empty(parser, &signature->result_attrs, &signature->has_result_attrs);
}

/* Parses (%a: t, …) (-> t | -> (t, …))?, of an llvm.func also (%a: t, ...). */
static bool parse_signature(struct tide_parser *parser, const struct tide_op_state *op,
                            struct signature *signature) {
  bool llvm = op->kind == TIDE_OP_LLVM_FUNC;
  if (!tide_expect(parser, '(', "'('")) return false;
  if (!tide_take(parser, ')')) {
    do {
      signature->variadic = llvm && tide_take(parser, TIDE_TOKEN_ELLIPSIS);
      if (!signature->variadic && !parse_argument(parser, signature)) return false;
    } while (!signature->variadic && tide_take(parser, ','));
    if (!tide_expect(parser, ')', "')'")) return false;
  }
  if (!tide_take(parser, TIDE_TOKEN_ARROW)) return true;
  if (parser->token.kind != '(') {
    tide_ir_type type = tide_parse_type(parser);
    return type && tide_push(parser, &signature->results, type) &&
           tide_push(parser, &signature->result_attrs, tide_ir_attr_empty(parser->ir));
  }
  tide_advance(parser);
  if (tide_take(parser, ')')) return true;
  do
    if (!parse_result(parser, signature)) return false;
  while (tide_take(parser, ','));
  return tide_expect(parser, ')', "')'");
}

static bool add_array(struct tide_parser *parser, bool wanted, tide_ir_string name,
                      const struct tide_stack *items) {
  return !wanted ||
         tide_add_attr(parser, name, tide_ir_attr_array(parser->ir, items->data, items->count));
}

/* Returns !llvm.func<…>. More than one result is an error; 0. */
static tide_ir_type llvm_type(struct tide_parser *parser, struct signature *signature) {
  tide_ir_type nothing = tide_ir_type_get(parser->ir, TIDE_IR_LLVM_VOID, 0, 0);
  if (signature->results.count > 1) {
    tide_wrong(parser, "an llvm.func has at most one result");
    return 0;
  }
  tide_ir_type last = signature->results.count ? signature->results.data[0] : nothing;
  size_t count = signature->inputs.count;
  if (!tide_push(parser, &signature->inputs, last)) return 0;
  tide_ir_type type = tide_ir_type_with(parser->ir, TIDE_IR_LLVM_FUNCTION, signature->variadic,
                                        signature->inputs.data, count + 1);
  signature->inputs.count = count;
  return type;
}

static bool signature_attrs(struct tide_parser *parser, const struct tide_op_state *op,
                            struct signature *signature) {
  tide_ir_type type =
      op->kind == TIDE_OP_LLVM_FUNC
          ? llvm_type(parser, signature)
          : tide_ir_function_type(parser->ir, signature->inputs.data, signature->inputs.count,
                                  signature->results.data, signature->results.count);
  return type &&
         tide_add_attr(parser, TIDE_NAME_FUNCTION_TYPE, tide_ir_attr_type(parser->ir, type)) &&
         add_array(parser, signature->has_input_attrs, TIDE_NAME_ARG_ATTRS,
                   &signature->input_attrs) &&
         add_array(parser, signature->has_result_attrs, TIDE_NAME_RES_ATTRS,
                   &signature->result_attrs);
}

static bool add_text(struct tide_parser *parser, tide_ir_string name, const char *text) {
  return tide_add_attr(parser, name, tide_ir_attr_text(parser->ir, text));
}

/* Parses public, private or nested; what stands before the name of an llvm.func. */
static bool parse_visibility(struct tide_parser *parser, const struct tide_op_state *op) {
  static const char *const words[] = {"private", "public", "nested"};
  if (op->kind == TIDE_OP_LLVM_FUNC) return tide_parse_llvm_head(parser, false);
  for (size_t i = 0; i < 3; i++)
    if (tide_take_word(parser, words[i]))
      return add_text(parser, TIDE_NAME_SYM_VISIBILITY, words[i]);
  return true;
}

bool tide_parse_name(struct tide_parser *parser) {
  tide_ir_string name = tide_parse_symbol_name(parser);
  size_t length;
  const char *text = tide_ir_string_text(parser->ir, name, &length);
  return name &&
         tide_add_attr(parser, TIDE_NAME_SYM_NAME, tide_ir_attr_string(parser->ir, text, length));
}

static bool parse_attributes(struct tide_parser *parser) {
  return !tide_take_word(parser, "attributes") || tide_parse_attr_dict(parser);
}

/* Parses the attributes of a function. A func.func has its visibility before its name only. */
static bool function_attributes(struct tide_parser *parser, const struct tide_op_state *op) {
  size_t base = parser->named.count;
  if (!parse_attributes(parser)) return false;
  for (size_t i = base; op->kind == TIDE_OP_FUNC_FUNC && i < parser->named.count; i += 2)
    if (parser->named.data[i] == TIDE_NAME_SYM_VISIBILITY)
      return tide_wrong(parser, "'sym_visibility' stands before the name, not in the attributes");
  return true;
}

/* Gives a module's region a block, even if the module is empty. */
static bool one_block(struct tide_parser *parser) {
  struct tide_ir *ir = parser->ir;
  tide_ir_region region = parser->regions.data[parser->regions.count - 1];
  if (tide_ir_region_of(ir, region)->first) return true;
  tide_ir_block block = tide_ir_block_create(ir, NULL, 0);
  tide_ir_block_append(ir, region, block);
  return block != 0;
}

static bool parse_module(struct tide_parser *parser, const struct tide_op_state *op) {
  bool gpu = op->kind == TIDE_OP_GPU_MODULE;
  if ((gpu || parser->token.kind == TIDE_TOKEN_SYMBOL) && !tide_parse_name(parser)) return false;
  if (gpu && parser->token.kind == '[') {
    tide_ir_attr targets = tide_parse_attr(parser);
    if (!targets || !tide_add_attr(parser, TIDE_NAME_TARGETS, targets)) return false;
  }
  if (!parse_attributes(parser) || !tide_parse_region(parser, true, NULL, 0)) return false;
  return gpu ? tide_implicit_end(parser, TIDE_OP_GPU_MODULE_END) : one_block(parser);
}

/* Rejects memory of the function itself: memrefs are not in this subset. */
static bool reject_attributions(struct tide_parser *parser) {
  if (tide_is_word(parser, "workgroup") || tide_is_word(parser, "private"))
    return tide_wrong(parser, "memory attributions are not supported; shared memory is an "
                              "llvm.mlir.global with addr_space = 3 : i32");
  return true;
}

static bool names_are_there(struct tide_parser *parser, const struct signature *signature) {
  for (size_t i = 0; i < signature->arguments.count; i += 3)
    if (!signature->arguments.data[i])
      return tide_wrong(parser, "expected argument names before a body");
  return true;
}

/* Gives the arguments of the last region the locations that the signature has. */
static bool place_arguments(struct tide_parser *parser, const struct signature *signature) {
  struct tide_ir *ir = parser->ir;
  tide_ir_region region = parser->regions.data[parser->regions.count - 1];
  tide_ir_block entry = tide_ir_region_of(ir, region)->first;
  for (uint32_t i = 0; entry && i < signature->locations.count; i++)
    if (!tide_ir_place_argument(ir, tide_ir_argument(ir, entry, i), signature->locations.data[i]))
      return false;
  return true;
}

static bool parse_body(struct tide_parser *parser, const struct tide_op_state *op,
                       const struct signature *signature) {
  if (parser->token.kind != '{') {
    tide_ir_region region = tide_chunks_add(&parser->ir->regions, 1, true);
    return region && tide_push(parser, &parser->regions, region);
  }
  uint32_t start = parser->token.start;
  if (!names_are_there(parser, signature) ||
      !tide_parse_region(parser, true, signature->arguments.data, signature->arguments.count / 3))
    return false;
  tide_ir_region region = parser->regions.data[parser->regions.count - 1];
  if (op->kind == TIDE_OP_FUNC_FUNC && !tide_ir_region_of(parser->ir, region)->first) {
    parser->token.start = start;
    return tide_wrong(parser, "expected non-empty function body");
  }
  return place_arguments(parser, signature);
}

bool tide_parse_function(struct tide_parser *parser, struct tide_op_state *op) {
  struct signature signature = {.has_input_attrs = false};
  if (op->kind == TIDE_OP_BUILTIN_MODULE || op->kind == TIDE_OP_GPU_MODULE)
    return parse_module(parser, op);
  bool good = parse_visibility(parser, op) && tide_parse_name(parser) &&
              parse_signature(parser, op, &signature) && signature_attrs(parser, op, &signature);
  if (good && op->kind == TIDE_OP_GPU_FUNC) {
    good = reject_attributions(parser);
    if (good && tide_take_word(parser, "kernel"))
      good = tide_add_attr(parser, TIDE_NAME_KERNEL, tide_ir_attr_unit(parser->ir));
    good = good &&
           tide_add_attr(parser, TIDE_NAME_WORKGROUP_ATTRIBUTIONS, tide_ir_attr_i64(parser->ir, 0));
  }
  good = good && function_attributes(parser, op) && parse_body(parser, op, &signature);
  free_signature(parser, &signature);
  return good;
}
