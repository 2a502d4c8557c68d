/* Parses one operation: the names of its results, its own name, its parts; then creates it. */
#include "mods/ir_parser.h"
#include "mods/intern.h"
#include "base/alloc.h"

static struct tide_op_state open_op(const struct tide_parser *parser) {
  return (struct tide_op_state){.at = parser->token.start,
                                .location = parser->token.start + 1,
                                .uses = parser->uses.count,
                                .operands = parser->operands.count,
                                .types = parser->types.count,
                                .results = parser->results.count,
                                .named = parser->named.count,
                                .regions = parser->regions.count,
                                .successors = parser->successors.count};
}

static void close_op(struct tide_parser *parser, const struct tide_op_state *op) {
  parser->uses.count = op->uses;
  parser->operands.count = op->operands;
  parser->types.count = op->types;
  parser->results.count = op->results;
  parser->named.count = op->named;
  parser->regions.count = op->regions;
  parser->successors.count = op->successors;
}

static tide_ir_op create_op(struct tide_parser *parser, const struct tide_op_state *op) {
  struct tide_ir *ir = parser->ir;
  tide_ir_block blocks[TIDE_IR_REGIONS_MAX];
  uint32_t counts[TIDE_IR_REGIONS_MAX];
  size_t regions = parser->regions.count - op->regions;
  size_t successors = (parser->successors.count - op->successors) / 2;
  if (successors > TIDE_IR_REGIONS_MAX || regions > TIDE_IR_REGIONS_MAX ||
      parser->operands.count - op->operands > TIDE_IR_OPERANDS_MAX ||
      parser->results.count - op->results > TIDE_IR_OPERANDS_MAX)
    return tide_wrong(parser, "operation has too many operands, results, regions or successors");
  for (size_t i = 0; i < successors; i++) {
    blocks[i] = parser->successors.data[op->successors + 2 * i];
    counts[i] = parser->successors.data[op->successors + 2 * i + 1];
  }
  const void *named = parser->named.data + op->named;
  struct tide_ir_op_params params = {.kind = op->kind,
                                     .location = op->location,
                                     .operands = parser->operands.data + op->operands,
                                     .operand_count = parser->operands.count - op->operands,
                                     .results = parser->results.data + op->results,
                                     .result_count = parser->results.count - op->results,
                                     .region_count = (uint32_t)regions,
                                     .successors = blocks,
                                     .successor_counts = counts,
                                     .successor_count = successors};
  size_t attributes = (parser->named.count - op->named) / 2;
  if (attributes) params.attributes = tide_ir_attr_dictionary(ir, named, attributes);
  tide_ir_op number = tide_ir_op_create(ir, &params);
  for (size_t i = 0; i < regions && number; i++)
    tide_ir_region_take(ir, tide_ir_region_at(ir, number, (uint32_t)i),
                        parser->regions.data[op->regions + i]);
  return number;
}

/* Pushes `%a, %b:2 =` onto `names`. *out_count is the number of values that the names stand for. */
static bool parse_result_names(struct tide_parser *parser, uint32_t *out_count) {
  *out_count = 0;
  do {
    struct tide_token token = parser->token;
    int64_t count = 1;
    if (token.kind != TIDE_TOKEN_VALUE) return tide_wrong(parser, "expected valid SSA identifier");
    tide_advance(parser);
    if (tide_take(parser, ':') && !tide_parse_integer(parser, &count)) return false;
    if (count < 1 || count > TIDE_IR_OPERANDS_MAX)
      return tide_wrong(parser, "expected named operation to have at least 1 result");
    *out_count += (uint32_t)count;
    if (*out_count > TIDE_IR_OPERANDS_MAX) return tide_wrong(parser, "too many results");
    if (!tide_push(parser, &parser->names, token.start) ||
        !tide_push(parser, &parser->names, token.end - token.start) ||
        !tide_push(parser, &parser->names, (uint32_t)count))
      return false;
  } while (tide_take(parser, ','));
  return tide_expect(parser, '=', "'=' after SSA name");
}

static bool bind_results(struct tide_parser *parser, tide_ir_op number, size_t names,
                         uint32_t wanted) {
  const struct tide_ir_op_record *op = tide_ir_op_of(parser->ir, number);
  bool good = true;
  if (parser->names.count == names) return true;
  if (op->result_count == 0)
    return tide_ir_error(parser->ir, parser->names.data[names] + 1,
                         "cannot name an operation with no results");
  if (op->result_count != wanted)
    return tide_ir_error(parser->ir, parser->names.data[names] + 1,
                         "operation defines %u results but was provided %u to bind",
                         op->result_count, wanted);
  tide_ir_value value = op->results;
  for (size_t i = names; i < parser->names.count; i += 3) {
    const uint32_t *name = parser->names.data + i;
    uint32_t count = name[2];
    good = tide_scope_define(parser, name[0], name[1], value, count) && good;
    value += count;
  }
  return good;
}

/* Rejects an unknown operation. The dialects listed here are known in full; another dialect's
 * operation passes with any_operation. */
static bool reject_unknown_op(struct tide_parser *parser, struct tide_op_state *op,
                              const char *name, uint32_t length) {
  static const struct {
    const char *prefix, *why;
  } families[] = {
      {"cutlass.block_striped.", "is of the block_striped family, which is out of scope here"},
      {"cutlass.named_barrier.", "is of the named_barrier family, which is out of scope here; "
                                 "nvvm.barrier takes a pool id directly"},
      {"cutlass.generic_barrier.", "is of the generic_barrier family, which is out of scope here"},
      {"cutlass.pipeline.", "is a pipeline operation outside of the subset that is supported"},
      {"cutlass.seq_bar.", "is a seq_bar operation outside of the subset that is supported"},
      {"cutlass.tile_scheduler.mods_", "is not one of the MODS operations"},
      {"cutlass.tile_scheduler.",
       "is a tile_scheduler operation outside of the subset that is supported"},
      {"cutlass.", "is unknown in dialect 'cutlass'"},
      {"nv_tileas.",
       "is unknown in dialect 'nv_tileas'; only async.exec and async.yield are read"}};
  parser->token.start = op->at;
  for (size_t i = 0; i < sizeof families / sizeof *families; i++) {
    size_t prefix = strlen(families[i].prefix);
    if (length >= prefix && memcmp(name, families[i].prefix, prefix) == 0)
      return tide_wrong(parser, "'%.*s' %s", (int)(length < 80 ? length : 80), name,
                        families[i].why);
  }
  if (parser->any_operation) return true;
  return tide_wrong(parser,
                    "'%.*s' is not an operation of the supported subset; "
                    "--allow-unregistered-dialect takes it in its generic form",
                    (int)(length < 80 ? length : 80), name);
}

static bool find_op_kind(struct tide_parser *parser, struct tide_op_state *op, const char *name,
                         uint32_t length) {
  if (length == 20 && memcmp(name, "nv_tileas.async.exec", 20) == 0)
    name = "cutlass.async.exec", length = 18;
  if (length == 21 && memcmp(name, "nv_tileas.async.yield", 21) == 0)
    name = "cutlass.async.yield", length = 19;
  op->kind = tide_ir_kind(parser->ir, name, length);
  if (op->kind < TIDE_IR_KINDS) return op->kind != 0;
  return reject_unknown_op(parser, op, name, length);
}

/* Parses an operation in custom form. Some dialects may be omitted: return is func.return, call is
 * func.call, module is builtin.module. */
static bool parse_custom(struct tide_parser *parser, struct tide_op_state *op) {
  const char *text = parser->text + op->at;
  uint32_t length = parser->token.end - parser->token.start;
  if (tide_is_word(parser, "return")) op->kind = TIDE_OP_FUNC_RETURN;
  else if (tide_is_word(parser, "call")) op->kind = TIDE_OP_FUNC_CALL;
  else if (tide_is_word(parser, "module")) op->kind = TIDE_OP_BUILTIN_MODULE;
  else if (!find_op_kind(parser, op, text, length)) return false;
  bool rare = op->kind < TIDE_IR_KINDS && tide_has_rare_form(op->kind);
  if (op->kind >= TIDE_IR_KINDS || (tide_ir_ops[op->kind].form == TIDE_FORM_GENERIC && !rare)) {
    return tide_wrong(parser,
                      "'%.*s' is read in its generic form only, \"%.*s\"(…), as mlir-opt "
                      "--mlir-print-op-generic prints it",
                      (int)(length < 80 ? length : 80), text, (int)(length < 80 ? length : 80),
                      text);
  }
  tide_advance(parser);
  return rare ? tide_parse_rare(parser, op) : tide_parse_form(parser, op);
}

/* True if the name has a null character, raw or escaped. */
static bool has_null(const char *name, uint32_t length) {
  for (uint32_t i = 0; i < length; i++) {
    if (name[i] == 0) return true;
    if (name[i] != '\\' || i + 1 == length) continue;
    i++;
    if (name[i] == '0' && i + 1 < length && name[i + 1] == '0') return true;
  }
  return false;
}

static bool parse_quoted(struct tide_parser *parser, struct tide_op_state *op) {
  struct tide_token token = parser->token;
  uint32_t length = token.end - token.start - 2;
  if (length == 0) return tide_wrong(parser, "empty operation name is invalid");
  if (has_null(parser->text + token.start + 1, length))
    return tide_wrong(parser, "null character not allowed in operation name");
  if (!find_op_kind(parser, op, parser->text + token.start + 1, length)) return false;
  parser->token = token;
  tide_advance(parser);
  return tide_parse_generic(parser, op);
}

/* Rejects an attribute that a custom form has in its words and in its braces: one of the two would
 * get lost. */
static bool names_once(struct tide_parser *parser, const struct tide_op_state *op) {
  for (size_t i = op->named; i < parser->named.count; i += 2)
    for (size_t j = op->named; j < i; j += 2) {
      if (parser->named.data[i] != parser->named.data[j]) continue;
      parser->token.start = op->at;
      return tide_wrong(parser, "attribute '%s' is given twice: by the form, and in braces",
                        tide_ir_string_text(parser->ir, parser->named.data[i], NULL));
    }
  return true;
}

static bool parse_op_body(struct tide_parser *parser, struct tide_op_state *op) {
  if (parser->token.kind == TIDE_TOKEN_STRING) {
    if (!parse_quoted(parser, op)) return false;
  } else if (parser->token.kind == TIDE_TOKEN_WORD) {
    if (!parse_custom(parser, op) || !names_once(parser, op)) return false;
  } else {
    return tide_missing(parser, "operation name in quotes");
  }
  return tide_parse_location(parser, &op->location);
}

bool tide_parse_op(struct tide_parser *parser) {
  size_t names = parser->names.count;
  uint32_t wanted = 0;
  bool good = true;
  if (parser->token.kind == TIDE_TOKEN_VALUE) good = parse_result_names(parser, &wanted);
  struct tide_op_state op = open_op(parser);
  if (good) good = parse_op_body(parser, &op);
  if (good) {
    tide_ir_op number = create_op(parser, &op);
    tide_ir_insert(parser->ir, parser->block, 0, number);
    good = number && bind_results(parser, number, names, wanted);
    if (number && !good) parser->broken = true;
  }
  close_op(parser, &op);
  parser->names.count = names;
  return good;
}
