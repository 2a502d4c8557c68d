/* Operations, blocks and regions from a text. */
#include "mods/parse.h"
#include "mods/intern.h"
#include "mods/place.h"
#include "base/array.h"
#include "base/memory.h"
#include "base/text.h"

#define ERRORS_MAX 64

bool tide_push(struct tide_parser *parser, struct tide_stack *stack, uint32_t number) {
  if (stack->count == stack->capacity &&
      !tide_array_reserve(parser->ir->allocator, &stack->data, &stack->capacity, stack->count + 1,
                          sizeof *stack->data))
    return tide_ir_give_up(parser->ir, TIDE_NOMEM);
  stack->data[stack->count++] = number;
  return true;
}

/* ---- tokens ---- */

bool tide_is_word(const struct tide_parser *parser, const char *word) {
  size_t length = parser->token.end - parser->token.start;
  return parser->token.kind == TIDE_TOKEN_WORD && strlen(word) == length &&
         memcmp(parser->text + parser->token.start, word, length) == 0;
}

bool tide_take_word(struct tide_parser *parser, const char *word) {
  if (!tide_is_word(parser, word)) return false;
  tide_advance(parser);
  return true;
}

bool tide_wrong(struct tide_parser *parser, const char *format, ...) {
  char message[256];
  struct tide_text text;
  va_list list;
  if (parser->ir->status != TIDE_OK) return false; /* it is not the text's fault */
  tide_text_init(&text, message, sizeof message);
  va_start(list, format);
  tide_text_format_list(&text, format, list);
  va_end(list);
  tide_text_trim(message);
  parser->errors++;
  return tide_ir_error(parser->ir, parser->token.start + 1, "%s", message);
}

bool tide_expect(struct tide_parser *parser, uint32_t kind, const char *what) {
  return tide_take(parser, kind) || tide_wrong(parser, "expected %s", what);
}

bool tide_expect_word(struct tide_parser *parser, const char *word) {
  return tide_take_word(parser, word) || tide_wrong(parser, "expected '%s'", word);
}

bool tide_deeper(struct tide_parser *parser) {
  if (parser->depth >= TIDE_IR_DEPTH_MAX) return tide_wrong(parser, "nested too deep");
  parser->depth++;
  return true;
}

bool tide_parse_integer(struct tide_parser *parser, int64_t *out_value) {
  bool negative = tide_take(parser, '-');
  struct tide_token token = parser->token;
  const char *text = parser->text + token.start;
  uint64_t value = 0;
  if (token.kind != TIDE_TOKEN_INTEGER) return tide_wrong(parser, "expected integer value");
  uint32_t length = token.end - token.start, base = length > 2 && text[1] == 'x' ? 16 : 10;
  for (uint32_t i = base == 16 ? 2 : 0; i < length; i++) {
    uint32_t digit =
        text[i] <= '9' ? (uint32_t)(text[i] - '0') : (uint32_t)(text[i] | 32) - 'a' + 10;
    if (__builtin_mul_overflow(value, (uint64_t)base, &value) ||
        __builtin_add_overflow(value, (uint64_t)digit, &value))
      return tide_wrong(parser, "integer value too large");
  }
  if (negative && value > 1ull << 63) return tide_wrong(parser, "integer value too large");
  tide_advance(parser);
  *out_value = (int64_t)(negative ? 0 - value : value);
  return true;
}

static int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  c |= 32;
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* \n, \t, \", \\ and two hexadecimal digits. */
tide_ir_string tide_unquote(struct tide_parser *parser, uint32_t start, uint32_t end) {
  const char *text = parser->text;
  bool plain = true;
  for (uint32_t i = start + 1; i + 1 < end && plain; i++) plain = text[i] != '\\';
  if (plain) return tide_ir_intern(parser->ir, text + start + 1, end - start - 2);
  char *bytes = tide_alloc_unset(parser->ir->allocator, end - start, 1);
  uint32_t length = 0;
  tide_ir_string string = 0;
  if (!bytes) return tide_ir_give_up(parser->ir, TIDE_NOMEM);
  for (uint32_t i = start + 1; i + 1 < end; i++) {
    char c = text[i];
    if (c == '\\') {
      c = text[++i];
      int high = hex_digit(c), low = i + 2 < end ? hex_digit(text[i + 1]) : -1;
      if (c == 'n') c = '\n';
      else if (c == 't') c = '\t';
      else if (c != '"' && c != '\\') {
        if (high < 0 || low < 0) {
          tide_wrong(parser, "unknown escape in string literal");
          goto end;
        }
        c = (char)(high << 4 | low);
        i++;
      }
    }
    bytes[length++] = c;
  }
  string = tide_ir_intern(parser->ir, bytes, length);
end:
  tide_free(parser->ir->allocator, bytes, end - start, 1);
  return string;
}

tide_ir_string tide_parse_symbol_name(struct tide_parser *parser) {
  struct tide_token token = parser->token;
  if (token.kind != TIDE_TOKEN_SYMBOL) {
    tide_wrong(parser, "expected valid '@'-identifier for symbol name");
    return 0;
  }
  tide_ir_string name =
      parser->text[token.start + 1] == '"'
          ? tide_unquote(parser, token.start + 1, token.end)
          : tide_ir_intern(parser->ir, parser->text + token.start + 1, token.end - token.start - 1);
  if (name) tide_advance(parser);
  return name;
}

/* ---- operands and results ---- */

bool tide_parse_use(struct tide_parser *parser) {
  struct tide_token token = parser->token;
  int64_t index = 0;
  if (token.kind != TIDE_TOKEN_VALUE) return tide_wrong(parser, "expected SSA operand");
  tide_advance(parser);
  if (parser->token.kind == TIDE_TOKEN_HASH && parser->token.start == token.end) {
    parser->token = tide_lex(parser->text, parser->length, token.end + 1);
    if (!tide_parse_integer(parser, &index)) return false;
    if (index > UINT16_MAX) return tide_wrong(parser, "reference to invalid result number");
  }
  return tide_push(parser, &parser->uses, token.start) &&
         tide_push(parser, &parser->uses, token.end - token.start) &&
         tide_push(parser, &parser->uses, (uint32_t)index);
}

bool tide_parse_uses(struct tide_parser *parser) {
  do
    if (!tide_parse_use(parser)) return false;
  while (tide_take(parser, ','));
  return true;
}

bool tide_parse_uses_maybe(struct tide_parser *parser) {
  return parser->token.kind != TIDE_TOKEN_VALUE || tide_parse_uses(parser);
}

bool tide_operand(struct tide_parser *parser, struct tide_op_state *op, size_t index,
                  tide_ir_type type) {
  const uint32_t *use = parser->uses.data + op->uses + 3 * index;
  tide_ir_value value = tide_scope_use(parser, use[0], use[1], use[2], type);
  return value && tide_push(parser, &parser->operands, value);
}

bool tide_operands_of_types(struct tide_parser *parser, struct tide_op_state *op) {
  size_t uses = tide_use_count(parser, op), types = parser->types.count - op->types;
  bool good = true;
  if (uses != types)
    return tide_wrong(parser, "expected %llu operand type%s but had %llu", (unsigned long long)uses,
                      uses == 1 ? "" : "s", (unsigned long long)types);
  for (size_t i = 0; i < uses; i++)
    good = good && tide_operand(parser, op, i, parser->types.data[op->types + i]);
  parser->types.count = op->types;
  return good;
}

bool tide_result(struct tide_parser *parser, tide_ir_type type) {
  return type && tide_push(parser, &parser->results, type);
}

bool tide_parse_successor(struct tide_parser *parser, tide_ir_block *out_block) {
  struct tide_token token = parser->token;
  if (token.kind != TIDE_TOKEN_BLOCK) return tide_wrong(parser, "expected block name");
  tide_advance(parser);
  *out_block = tide_scope_block(parser, token.start, token.end - token.start);
  return *out_block != 0;
}

/* ---- the generic form ---- */

static bool generic_successors(struct tide_parser *parser) {
  if (!tide_take(parser, '[')) return true;
  do {
    tide_ir_block block = 0;
    if (!tide_parse_successor(parser, &block) || !tide_push(parser, &parser->successors, block) ||
        !tide_push(parser, &parser->successors, 0))
      return false;
  } while (tide_take(parser, ','));
  return tide_expect(parser, ']', "']'");
}

/* `<{…}>`: what MLIR calls properties. Ours are in the same dictionary. */
static bool properties(struct tide_parser *parser) {
  if (!tide_take(parser, '<')) return true;
  if (parser->token.kind != '{') return tide_wrong(parser, "expected '{'");
  return tide_parse_attr_dict(parser) && tide_expect(parser, '>', "'>'");
}

static bool generic_regions(struct tide_parser *parser, bool isolated) {
  if (!tide_take(parser, '(')) return true;
  do
    if (!tide_parse_region(parser, isolated, NULL, 0)) return false;
  while (tide_take(parser, ','));
  return tide_expect(parser, ')', "')'");
}

bool tide_parse_function_type_of(struct tide_parser *parser, struct tide_op_state *op) {
  if (!tide_expect(parser, ':', "':'") || !tide_parse_type_parens(parser) ||
      !tide_expect(parser, TIDE_TOKEN_ARROW, "'->'"))
    return false;
  size_t inputs = parser->types.count;
  if (!tide_parse_types_or_one(parser)) return false;
  for (size_t i = inputs; i < parser->types.count; i++)
    if (!tide_result(parser, parser->types.data[i])) return false;
  parser->types.count = inputs;
  return tide_operands_of_types(parser, op);
}

/* How many operands each successor takes: a branch gives all; others say it in their segments. */
static bool generic_segments(struct tide_parser *parser, const struct tide_op_state *op) {
  size_t count = (parser->successors.count - op->successors) / 2;
  uint32_t *successors = parser->successors.data + op->successors;
  if (!count) return true;
  if (op->kind == TIDE_OP_CF_BR || op->kind == TIDE_OP_LLVM_BR) {
    successors[1] = (uint32_t)(parser->operands.count - op->operands);
    return true;
  }
  if (op->kind != TIDE_OP_CF_COND_BR && op->kind != TIDE_OP_LLVM_COND_BR) return true;
  uint64_t sum = 1;
  tide_ir_attr sizes = 0;
  for (size_t i = op->named; i < parser->named.count; i += 2)
    if (parser->named.data[i] == TIDE_NAME_OPERAND_SEGMENTS) sizes = parser->named.data[i + 1];
  for (uint32_t i = 0; sizes && i < count; i++) {
    int64_t size = tide_ir_attr_element(parser->ir, sizes, i + 1);
    if (size < 0 || size > TIDE_IR_OPERANDS_MAX) size = TIDE_IR_OPERANDS_MAX + 1;
    successors[2 * i + 1] = (uint32_t)size;
    sum += (uint64_t)size;
  }
  if (!sizes || count != 2 || sum != parser->operands.count - op->operands)
    return tide_wrong(parser, "'operandSegmentSizes' does not match the operands");
  return true;
}

static bool generic_op(struct tide_parser *parser, struct tide_op_state *op) {
  if (!tide_expect(parser, '(', "'('") || !tide_parse_uses_maybe(parser) ||
      !tide_expect(parser, ')', "')'"))
    return false;
  bool isolated = op->kind < TIDE_IR_KINDS && tide_ir_ops[op->kind].traits & TIDE_IR_ISOLATED;
  size_t first = parser->named.count;
  if (!generic_successors(parser) || !properties(parser) || !generic_regions(parser, isolated) ||
      !tide_parse_attrs_behind(parser, first) || !tide_parse_function_type_of(parser, op))
    return false;
  return generic_segments(parser, op);
}

/* ---- an operation ---- */

static struct tide_op_state begin(const struct tide_parser *parser) {
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

static void end(struct tide_parser *parser, const struct tide_op_state *op) {
  parser->uses.count = op->uses;
  parser->operands.count = op->operands;
  parser->types.count = op->types;
  parser->results.count = op->results;
  parser->named.count = op->named;
  parser->regions.count = op->regions;
  parser->successors.count = op->successors;
}

static tide_ir_op create(struct tide_parser *parser, const struct tide_op_state *op) {
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

/* `%a, %b:2 =` onto `names`; the number of values that they stand for. */
static bool result_names(struct tide_parser *parser, uint32_t *out_count) {
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

/* Dialects whose operations we know, all of them or none. */
static bool unknown_op(struct tide_parser *parser, struct tide_op_state *op, const char *name,
                       uint32_t length) {
  static const struct {
    const char *prefix, *why;
  } families[] = {
      {"cutlass.block_striped.", "is of the block_striped family, which is out of scope here"},
      {"cutlass.named_barrier.", "is of the named_barrier family, which is out of scope here; "
                                 "nvvm.barrier takes a pool id directly"},
      {"cutlass.generic_barrier.", "is of the generic_barrier family, which is out of scope here"},
      {"cutlass.pipeline.", "is a pipeline operation outside of the subset that is supported"},
      {"cutlass.seq_bar.", "is a seq_bar operation outside of the subset that is supported"},
      {"cutlass.tile_scheduler.mods_", "is not one of the four MODS operations"},
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

static bool name_op(struct tide_parser *parser, struct tide_op_state *op, const char *name,
                    uint32_t length) {
  if (length == 20 && memcmp(name, "nv_tileas.async.exec", 20) == 0)
    name = "cutlass.async.exec", length = 18;
  if (length == 21 && memcmp(name, "nv_tileas.async.yield", 21) == 0)
    name = "cutlass.async.yield", length = 19;
  op->kind = tide_ir_kind(parser->ir, name, length);
  if (op->kind < TIDE_IR_KINDS) return op->kind != 0;
  return unknown_op(parser, op, name, length);
}

/* In some regions the dialect of an operation may be left out: func.return as return,
 * builtin.module as module. */
static bool word_name(struct tide_parser *parser, struct tide_op_state *op) {
  const char *text = parser->text + op->at;
  uint32_t length = parser->token.end - parser->token.start;
  if (tide_is_word(parser, "return")) op->kind = TIDE_OP_FUNC_RETURN;
  else if (tide_is_word(parser, "call")) op->kind = TIDE_OP_FUNC_CALL;
  else if (tide_is_word(parser, "module")) op->kind = TIDE_OP_BUILTIN_MODULE;
  else if (!name_op(parser, op, text, length)) return false;
  bool rare = op->kind < TIDE_IR_KINDS && tide_has_rare_form(op->kind);
  if (op->kind >= TIDE_IR_KINDS || (tide_ir_ops[op->kind].form == TIDE_FORM_GENERIC && !rare)) {
    return tide_wrong(parser, "'%.*s' has no custom form; write it as \"%.*s\"(…)",
                      (int)(length < 80 ? length : 80), text, (int)(length < 80 ? length : 80),
                      text);
  }
  tide_advance(parser);
  return rare ? tide_parse_rare(parser, op) : tide_parse_form(parser, op);
}

/* As itself or escaped. */
static bool has_null(const char *name, uint32_t length) {
  for (uint32_t i = 0; i < length; i++) {
    if (name[i] == 0) return true;
    if (name[i] != '\\' || i + 1 == length) continue;
    i++;
    if (name[i] == '0' && i + 1 < length && name[i + 1] == '0') return true;
  }
  return false;
}

static bool string_name(struct tide_parser *parser, struct tide_op_state *op) {
  struct tide_token token = parser->token;
  uint32_t length = token.end - token.start - 2;
  if (length == 0) return tide_wrong(parser, "empty operation name is invalid");
  if (has_null(parser->text + token.start + 1, length))
    return tide_wrong(parser, "null character not allowed in operation name");
  if (!name_op(parser, op, parser->text + token.start + 1, length)) return false;
  parser->token = token;
  tide_advance(parser);
  return generic_op(parser, op);
}

static bool operation_body(struct tide_parser *parser, struct tide_op_state *op) {
  if (parser->token.kind == TIDE_TOKEN_STRING) {
    if (!string_name(parser, op)) return false;
  } else if (parser->token.kind == TIDE_TOKEN_WORD) {
    if (!word_name(parser, op)) return false;
  } else {
    return tide_wrong(parser, "expected operation name in quotes");
  }
  return tide_parse_location(parser, &op->location);
}

static bool operation(struct tide_parser *parser) {
  size_t names = parser->names.count;
  uint32_t wanted = 0;
  bool good = true;
  if (parser->token.kind == TIDE_TOKEN_VALUE) good = result_names(parser, &wanted);
  struct tide_op_state op = begin(parser);
  if (good) good = operation_body(parser, &op);
  if (good) {
    tide_ir_op number = create(parser, &op);
    tide_ir_insert(parser->ir, parser->block, 0, number);
    good = number && bind_results(parser, number, names, wanted);
    if (number && !good) parser->broken = true;
  }
  end(parser, &op);
  parser->names.count = names;
  return good;
}

/* ---- after an error ---- */

static bool begins_line(const struct tide_parser *parser, uint32_t at) {
  while (at && (parser->text[at - 1] == ' ' || parser->text[at - 1] == '\t')) at--;
  return at == 0 || parser->text[at - 1] == '\n';
}

/* Goes on at the next line that looks like the start of an operation, behind what went wrong and
 * outside of what the failed operation, which begins at `failed`, has opened. False: there is none.
 */
static bool recover(struct tide_parser *parser, uint32_t failed) {
  uint32_t depth = 0, wrong = parser->token.start;
  if (parser->ir->status != TIDE_OK || parser->errors >= ERRORS_MAX) return false;
  parser->token = tide_lex(parser->text, parser->length, failed);
  if (wrong == failed && parser->token.kind != '}') wrong++;
  for (;; tide_advance(parser)) {
    struct tide_token token = parser->token;
    bool behind = token.start >= wrong && depth == 0;
    if (token.kind == TIDE_TOKEN_END) return false;
    if (token.kind == '}' && depth == 0) return true;
    if (token.kind == '{' || token.kind == '(' || token.kind == '[') depth++;
    if ((token.kind == '}' || token.kind == ')' || token.kind == ']') && depth) depth--;
    if (behind && begins_line(parser, token.start) &&
        (token.kind == TIDE_TOKEN_VALUE || token.kind == TIDE_TOKEN_WORD ||
         token.kind == TIDE_TOKEN_STRING || token.kind == TIDE_TOKEN_BLOCK))
      return true;
  }
}

/* ---- regions ---- */

/* `(%a: type, …)` behind a block's name. */
static bool block_arguments(struct tide_parser *parser, tide_ir_block block) {
  size_t base = parser->uses.count, types = parser->types.count;
  struct tide_ir *ir = parser->ir;
  if (!tide_take(parser, '(')) return true;
  if (!tide_take(parser, ')')) {
    do {
      tide_ir_type type;
      if (!tide_parse_use(parser) || !tide_expect(parser, ':', "':'") ||
          !(type = tide_parse_type(parser)) || !tide_push(parser, &parser->types, type))
        return false;
      tide_ir_location ignored = 0; /* MLIR lets arguments have places, too */
      if (!tide_parse_location(parser, &ignored)) return false;
    } while (tide_take(parser, ','));
    if (!tide_expect(parser, ')', "')'")) return false;
  }
  size_t count = parser->types.count - types;
  if (count > TIDE_IR_OPERANDS_MAX) return tide_wrong(parser, "too many block arguments");
  tide_ir_block typed = tide_ir_block_create(ir, parser->types.data + types, count);
  if (!typed) return false;
  /* The block may be in use already: it takes over the arguments of the new one. */
  struct tide_ir_block_record *record = tide_ir_block_of(ir, block);
  record->arguments = tide_ir_block_of(ir, typed)->arguments;
  record->argument_count = (uint32_t)count;
  bool good = true;
  for (uint32_t i = 0; i < count; i++) {
    const uint32_t *use = parser->uses.data + base + 3 * (size_t)i;
    tide_ir_value_of(ir, record->arguments + i)->owner = block | TIDE_IR_ARGUMENT;
    good = tide_scope_define(parser, use[0], use[1], record->arguments + i, 1) && good;
  }
  parser->uses.count = base;
  parser->types.count = types;
  return good;
}

static bool block_header(struct tide_parser *parser, tide_ir_region region) {
  struct tide_token token = parser->token;
  tide_advance(parser);
  tide_ir_block block = tide_scope_define_block(parser, token.start, token.end - token.start);
  if (!block) return false;
  tide_ir_block_append(parser->ir, region, block);
  parser->block = block;
  return block_arguments(parser, block) && tide_expect(parser, ':', "':'");
}

static bool operations(struct tide_parser *parser, tide_ir_region region) {
  bool good = true;
  while (parser->token.kind != '}' && parser->token.kind != TIDE_TOKEN_END) {
    bool fine;
    uint32_t start = parser->token.start;
    if (parser->token.kind == TIDE_TOKEN_BLOCK) fine = block_header(parser, region);
    else fine = operation(parser);
    if (fine) continue;
    good = false;
    parser->broken = true;
    if (!recover(parser, start)) return false;
  }
  return good;
}

/* The entry block, with the arguments that the caller has named. */
static bool entry_block(struct tide_parser *parser, tide_ir_region region,
                        const uint32_t *arguments, size_t count) {
  size_t types = parser->types.count;
  struct tide_ir *ir = parser->ir;
  bool good = true;
  size_t base = parser->results.count; /* arguments may point into a stack that moves */
  for (size_t i = 0; i < 3 * count; i++)
    if (!tide_push(parser, &parser->results, arguments[i])) return false;
  for (size_t i = 0; i < count; i++)
    if (!tide_push(parser, &parser->types, parser->results.data[base + 3 * i + 2])) return false;
  tide_ir_block block = tide_ir_block_create(ir, parser->types.data + types, count);
  if (!block) return false;
  tide_ir_block_append(ir, region, block);
  parser->block = block;
  for (size_t i = 0; i < count; i++) {
    const uint32_t *argument = parser->results.data + base + 3 * i;
    good = tide_scope_define(parser, argument[0], argument[1],
                             tide_ir_argument(ir, block, (uint32_t)i), 1) &&
           good;
  }
  parser->types.count = types;
  parser->results.count = base;
  return good;
}

bool tide_parse_region(struct tide_parser *parser, bool isolated, const uint32_t *arguments,
                       size_t count) {
  tide_ir_block outer = parser->block;
  if (!tide_deeper(parser)) return false;
  tide_ir_region region = tide_chunks_add(&parser->ir->regions, 1, true);
  if (!region) return tide_ir_give_up(parser->ir, TIDE_NOMEM);
  struct tide_scope_mark mark = tide_scope_open(parser, isolated);
  uint32_t depth = parser->depth;
  bool good = tide_expect(parser, '{', "'{' to begin a region");
  if (good) {
    parser->block = 0;
    bool named = parser->token.kind == TIDE_TOKEN_BLOCK && !count;
    if (parser->token.kind != '}' || count)
      good = named || entry_block(parser, region, arguments, count);
    good = operations(parser, region) && good;
    parser->depth = depth;
    if (good || parser->token.kind == '}')
      good = tide_expect(parser, '}', "'}' at the end of a region") && good;
  }
  good = tide_scope_close(parser, mark) && good;
  parser->depth--;
  parser->block = outer;
  return good && tide_push(parser, &parser->regions, region);
}

bool tide_implicit_end(struct tide_parser *parser, enum tide_ir_kind kind) {
  struct tide_ir *ir = parser->ir;
  tide_ir_region region = parser->regions.data[parser->regions.count - 1];
  tide_ir_block block = tide_ir_region_of(ir, region)->last;
  if (!block) {
    block = tide_ir_block_create(ir, NULL, 0);
    tide_ir_block_append(ir, region, block);
  }
  tide_ir_op last = tide_ir_terminator(ir, block);
  if (last && tide_ir_op_info(ir, last)->traits & TIDE_IR_TERMINATOR) return true;
  struct tide_ir_builder builder = {.ir = ir, .block = block, .location = parser->token.start + 1};
  return tide_ir_build(&builder, kind, NULL, 0, NULL, 0, 0, 0) != 0;
}

/* ---- the whole ---- */

static bool top_level(struct tide_parser *parser) {
  bool good = true;
  while (parser->token.kind != TIDE_TOKEN_END) {
    struct tide_token next = tide_lex(parser->text, parser->length, parser->token.end);
    uint32_t start = parser->token.start;
    bool alias = parser->token.kind == TIDE_TOKEN_HASH || parser->token.kind == TIDE_TOKEN_BANG;
    bool fine = alias && next.kind == '=' ? tide_parse_alias(parser) : operation(parser);
    if (fine) continue;
    good = false;
    parser->broken = true;
    if (!recover(parser, start)) return false;
    if (parser->token.kind == '}') tide_advance(parser);
  }
  return good;
}

/* One module at the top is the whole; anything else is put into one. */
static bool wrap(struct tide_ir *ir, tide_ir_op outer, tide_ir_block block) {
  tide_ir_op only = tide_ir_block_of(ir, block)->first;
  ir->module = outer;
  if (!only || tide_ir_op_of(ir, only)->next || tide_ir_op_kind(ir, only) != TIDE_OP_BUILTIN_MODULE)
    return true;
  tide_ir_remove(ir, only);
  tide_ir_erase(ir, outer);
  ir->module = only;
  return true;
}

static bool parse_all(struct tide_parser *parser) {
  struct tide_ir *ir = parser->ir;
  struct tide_ir_op_params params = {
      .kind = TIDE_OP_BUILTIN_MODULE, .location = 1, .region_count = 1};
  tide_ir_op outer = tide_ir_op_create(ir, &params);
  parser->block = tide_ir_block_create(ir, NULL, 0);
  tide_ir_block_append(ir, tide_ir_region_at(ir, outer, 0), parser->block);
  tide_ir_block block = parser->block;
  if (!block) return false;
  struct tide_scope_mark mark = tide_scope_open(parser, true);
  tide_advance(parser);
  bool good = top_level(parser);
  good = tide_scope_close(parser, mark) && good;
  good = tide_ir_explicit_fill(ir, parser->places.data, parser->places.count, good) && good;
  return good && wrap(ir, outer, block);
}

enum tide_status tide_ir_parse(struct tide_ir *ir, const struct tide_ir_parse_params *params) {
  if (params->length > TIDE_IR_TEXT_MAX) return TIDE_FULL;
  uint32_t mark = tide_lex_byte_order_mark(params->text, params->length);
  ir->text = params->text + mark;
  ir->length = params->length - mark;
  if (params->file) ir->file = params->file;
  if (params->first_line) ir->first_line = params->first_line;
  struct tide_parser parser = {.ir = ir,
                               .text = ir->text,
                               .length = (uint32_t)ir->length,
                               .any_operation = params->any_operation};
  uint32_t errors = ir->errors;
  struct tide_stack *const stacks[] = {
      &parser.uses,    &parser.operands, &parser.types,      &parser.results, &parser.named,
      &parser.regions, &parser.names,    &parser.successors, &parser.aliases, &parser.places};
  bool good = tide_scope_init(&parser) || tide_ir_give_up(ir, TIDE_NOMEM);
  for (size_t i = 0; i < sizeof stacks / sizeof *stacks; i++) { /* none of them is NULL then */
    good = good && tide_push(&parser, stacks[i], 0);
    stacks[i]->count = 0;
  }
  good = good && parse_all(&parser);
  for (size_t i = 0; i < sizeof stacks / sizeof *stacks; i++)
    tide_free(ir->allocator, stacks[i]->data, stacks[i]->capacity, sizeof *stacks[i]->data);
  tide_scope_fini(&parser);
  if (ir->status != TIDE_OK) return ir->status;
  return good && ir->errors == errors ? TIDE_OK : TIDE_CORRUPT;
}
