/* Parses types. */
#include "mods/ir_parser.h"
#include "base/alloc.h"
#include "base/text.h"

static bool token_is(const struct tide_parser *parser, struct tide_token token, const char *text) {
  size_t length = strlen(text);
  return token.end - token.start == length && memcmp(parser->text + token.start, text, length) == 0;
}

/* Parses i32, si8 and the like; 0: no integer type, or one of unsupported width, reported. */
static tide_ir_type integer_type(struct tide_parser *parser, struct tide_token token) {
  const char *text = parser->text + token.start;
  uint32_t length = token.end - token.start, at = 1, bits = 0;
  enum tide_ir_sign sign = TIDE_IR_SIGNLESS;
  if (length > 2 && (text[0] == 's' || text[0] == 'u') && text[1] == 'i') {
    sign = text[0] == 's' ? TIDE_IR_SIGNED : TIDE_IR_UNSIGNED;
    at = 2;
  } else if (text[0] != 'i') {
    return 0;
  }
  if (at >= length || length > 6 || text[at] == '0') return 0;
  for (; at < length; at++) {
    if (text[at] < '0' || text[at] > '9') return 0;
    bits = bits * 10 + (uint32_t)(text[at] - '0');
  }
  if (bits == 0 || bits > 64) {
    tide_wrong(parser, "integer types have 1 to 64 bits here, not %u", bits);
    return 0;
  }
  return tide_ir_type_get(parser->ir, TIDE_IR_INTEGER, bits, sign);
}

static tide_ir_type function_type(struct tide_parser *parser) {
  size_t base = parser->types.count, inputs;
  tide_ir_type type = 0;
  if (!tide_parse_type_parens(parser)) return 0;
  inputs = parser->types.count - base;
  if (tide_expect(parser, TIDE_TOKEN_ARROW, "'->'") && tide_parse_types_or_one(parser))
    type = tide_ir_function_type(parser->ir, parser->types.data + base, inputs,
                                 parser->types.data + base + inputs,
                                 parser->types.count - base - inputs);
  parser->types.count = base;
  return type;
}

/* True for an integer, index or float type, also for a float type that is kept as text. */
static bool is_element(const struct tide_ir *ir, tide_ir_type type) {
  const struct tide_ir_type_record *record = tide_ir_type_of(ir, type);
  if (record->kind != TIDE_IR_OPAQUE)
    return record->kind == TIDE_IR_INTEGER || record->kind == TIDE_IR_INDEX ||
           record->kind == TIDE_IR_FLOAT;
  const char *text = tide_ir_string_text(ir, record->a, NULL);
  return text[0] == 'f' && text[1] >= '0' && text[1] <= '9';
}

/* Parses one `4x` or `[4]x` of a vector's shape. The x may adjoin the next token. */
static bool vector_size(struct tide_parser *parser, int64_t *out_size, bool *out_scalable) {
  *out_scalable = tide_take(parser, '[');
  if (parser->token.kind != TIDE_TOKEN_INTEGER || parser->text[parser->token.start] == '0')
    return tide_wrong(parser, "vector types must have positive constant sizes");
  if (!tide_parse_integer(parser, out_size)) return false;
  if (*out_size < 1 || *out_size > UINT32_MAX) return tide_wrong(parser, "no such length");
  if (*out_scalable && !tide_expect(parser, ']', "']'")) return false;
  if (parser->token.kind != TIDE_TOKEN_WORD || parser->text[parser->token.start] != 'x')
    return tide_wrong(parser, "expected 'x' in a vector's shape");
  parser->token = tide_lex(parser->text, parser->length, parser->token.start + 1);
  return true;
}

/* Parses vector<4xf32>. Vectors with other shapes than one length are kept as text. */
static tide_ir_type vector_type(struct tide_parser *parser) {
  char whole[256];
  struct tide_text text;
  int64_t size = 0;
  bool plain = true, scalable;
  unsigned rank = 0;
  tide_text_init(&text, whole, sizeof whole);
  tide_text_format(&text, "vector<");
  tide_advance(parser);
  if (!tide_expect(parser, '<', "'<' in vector type")) return 0;
  for (; parser->token.kind == TIDE_TOKEN_INTEGER || parser->token.kind == '['; rank++) {
    if (!vector_size(parser, &size, &scalable)) return 0;
    plain = plain && !scalable;
    tide_text_format(&text, scalable ? "[%lld]x" : "%lldx", (long long)size);
  }
  uint32_t start = parser->token.start;
  tide_ir_type type = tide_parse_type(parser);
  if (!type) return 0;
  if (!is_element(parser->ir, type)) {
    parser->token.start = start;
    tide_wrong(parser, "vector elements must be int/index/float type");
    return 0;
  }
  if (!tide_expect(parser, '>', "'>'")) return 0;
  if (rank == 1 && plain) return tide_ir_type_get(parser->ir, TIDE_IR_VECTOR, type, (uint32_t)size);
  tide_text_format(&text, "%s>", tide_ir_type_name(parser->ir, type).text);
  if (tide_text_cut(&text)) {
    tide_wrong(parser, "a vector of too many dimensions");
    return 0;
  }
  return tide_ir_type_get(parser->ir, TIDE_IR_OPAQUE,
                          tide_ir_intern(parser->ir, whole, text.length), 0);
}

static tide_ir_type word_type(struct tide_parser *parser) {
  static const struct {
    const char *name;
    uint32_t kind, a;
  } words[] = {{"index", TIDE_IR_INDEX, 0},           {"none", TIDE_IR_TYPE_NONE, 0},
               {"f16", TIDE_IR_FLOAT, TIDE_IR_F16},   {"bf16", TIDE_IR_FLOAT, TIDE_IR_BF16},
               {"tf32", TIDE_IR_FLOAT, TIDE_IR_TF32}, {"f32", TIDE_IR_FLOAT, TIDE_IR_F32},
               {"f64", TIDE_IR_FLOAT, TIDE_IR_F64}};
  static const char *const others[] = {"memref",   "tensor", "tuple", "complex", "f8E5M2",
                                       "f8E4M3FN", "f8E4M3", "f80",   "f128"};
  struct tide_token token = parser->token;
  uint32_t errors = parser->errors;
  tide_ir_type type = integer_type(parser, token);
  if (parser->errors != errors) return 0;
  if (type) {
    tide_advance(parser);
    return type;
  }
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (token_is(parser, token, words[i].name)) {
      tide_advance(parser);
      return tide_ir_type_get(parser->ir, words[i].kind, words[i].a, 0);
    }
  if (token_is(parser, token, "vector")) return vector_type(parser);
  for (size_t i = 0; i < sizeof others / sizeof *others; i++)
    if (token_is(parser, token, others[i]))
      return tide_parse_opaque_type(parser, token.start, token.end);
  tide_wrong(parser, "expected a type");
  return 0;
}

/* ---- !llvm ---- */

static tide_ir_type llvm_pointer(struct tide_parser *parser) {
  int64_t space = 0;
  tide_advance(parser);
  if (tide_take(parser, '<')) {
    if (!tide_parse_integer(parser, &space) || !tide_expect(parser, '>', "'>'")) return 0;
    if (space < 0 || space > 0xffffff) {
      tide_wrong(parser, "no such address space");
      return 0;
    }
  }
  return tide_ir_type_get(parser->ir, TIDE_IR_LLVM_POINTER, (uint32_t)space, 0);
}

/* Parses array<4 x f32>. The x may adjoin the element type. */
static tide_ir_type llvm_array(struct tide_parser *parser) {
  int64_t length;
  tide_advance(parser);
  if (!tide_expect(parser, '<', "'<'") || !tide_parse_integer(parser, &length)) return 0;
  if (length < 0 || length > UINT32_MAX) {
    tide_wrong(parser, "no such length");
    return 0;
  }
  if (parser->token.kind != TIDE_TOKEN_WORD || parser->text[parser->token.start] != 'x') {
    tide_wrong(parser, "expected 'x'");
    return 0;
  }
  parser->token = tide_lex(parser->text, parser->length, parser->token.start + 1);
  tide_ir_type type = tide_parse_llvm_type(parser);
  if (!type || !tide_expect(parser, '>', "'>'")) return 0;
  return tide_ir_type_get(parser->ir, TIDE_IR_LLVM_ARRAY, type, (uint32_t)length);
}

static bool llvm_types(struct tide_parser *parser, bool *out_variadic) {
  if (!tide_expect(parser, '(', "'('")) return false;
  if (tide_take(parser, ')')) return true;
  do {
    if (out_variadic && tide_take(parser, TIDE_TOKEN_ELLIPSIS)) {
      *out_variadic = true;
      break;
    }
    tide_ir_type type = tide_parse_llvm_type(parser);
    if (!type || !tide_push(parser, &parser->types, type)) return false;
  } while (tide_take(parser, ','));
  return tide_expect(parser, ')', "')'");
}

static tide_ir_type llvm_struct(struct tide_parser *parser, uint32_t start) {
  size_t base = parser->types.count;
  struct tide_token next = tide_lex(parser->text, parser->length, parser->token.end + 1);
  if (next.kind == TIDE_TOKEN_STRING)
    return tide_parse_opaque_type(parser, start, parser->token.end);
  tide_advance(parser);
  if (!tide_expect(parser, '<', "'<'")) return 0;
  bool packed = tide_take_word(parser, "packed"), good = llvm_types(parser, NULL);
  tide_ir_type type = 0;
  if (good && tide_expect(parser, '>', "'>'"))
    type = tide_ir_type_with(parser->ir, TIDE_IR_LLVM_STRUCT, packed, parser->types.data + base,
                             parser->types.count - base);
  parser->types.count = base;
  return type;
}

static tide_ir_type llvm_function(struct tide_parser *parser) {
  size_t base = parser->types.count;
  bool variadic = false;
  tide_ir_type type = 0;
  tide_advance(parser);
  if (!tide_expect(parser, '<', "'<'")) return 0;
  tide_ir_type result = tide_parse_llvm_type(parser);
  if (result && llvm_types(parser, &variadic) && tide_expect(parser, '>', "'>'") &&
      tide_push(parser, &parser->types, result))
    type = tide_ir_type_with(parser->ir, TIDE_IR_LLVM_FUNCTION, variadic, parser->types.data + base,
                             parser->types.count - base);
  parser->types.count = base;
  return type;
}

/* Parses a type from the word behind its `!llvm.`, or any type. `start` is the whole type's offset.
 */
static tide_ir_type llvm_word(struct tide_parser *parser, uint32_t start) {
  tide_ir_type type;
  if (!tide_deeper(parser)) return 0;
  if (tide_is_word(parser, "ptr")) type = llvm_pointer(parser);
  else if (tide_is_word(parser, "array")) type = llvm_array(parser);
  else if (tide_is_word(parser, "struct")) type = llvm_struct(parser, start);
  else if (tide_is_word(parser, "func")) type = llvm_function(parser);
  else if (tide_take_word(parser, "void"))
    type = tide_ir_type_get(parser->ir, TIDE_IR_LLVM_VOID, 0, 0);
  else
    type = start == parser->token.start ? tide_parse_type(parser)
                                        : tide_parse_opaque_type(parser, start, parser->token.end);
  parser->depth--;
  return type;
}

tide_ir_type tide_parse_llvm_type(struct tide_parser *parser) {
  return llvm_word(parser, parser->token.start);
}

/* ---- !cutlass ---- */

static bool small_number(struct tide_parser *parser, uint32_t *out_number) {
  int64_t value;
  if (!tide_parse_integer(parser, &value)) return false;
  if (value < 1 || value > 65535) return tide_wrong(parser, "expected a number from 1 to 65535");
  *out_number = (uint32_t)value;
  return true;
}

static tide_ir_type scheduler_type(struct tide_parser *parser) {
  static const char *const kinds[] = {"streamk", "static_persistent", "data_parallel"};
  if (!tide_expect(parser, '<', "'<'")) return 0;
  for (uint32_t i = 0; i < 3; i++)
    if (tide_take_word(parser, kinds[i])) {
      if (!tide_expect(parser, '>', "'>'")) return 0;
      return tide_ir_type_get(parser->ir, TIDE_IR_TILE_SCHEDULER, i, 0);
    }
  tide_wrong(parser, "expected 'streamk', 'static_persistent' or 'data_parallel'");
  return 0;
}

static tide_ir_type cutlass_type(struct tide_parser *parser, struct tide_token token) {
  uint32_t a = 0, b = 0;
  tide_advance(parser);
  if (token_is(parser, token, "!cutlass.pipeline_state"))
    return tide_ir_type_get(parser->ir, TIDE_IR_PIPELINE_STATE, 0, 0);
  if (token_is(parser, token, "!cutlass.work_tile"))
    return tide_ir_type_get(parser->ir, TIDE_IR_WORK_TILE, 0, 0);
  if (token_is(parser, token, "!cutlass.tile_scheduler")) return scheduler_type(parser);
  if (token_is(parser, token, "!cutlass.pipeline")) {
    if (!tide_expect(parser, '<', "'<'") || !small_number(parser, &a) ||
        !tide_expect(parser, '>', "'>'"))
      return 0;
    return tide_ir_type_get(parser->ir, TIDE_IR_PIPELINE, a, 0);
  }
  if (token_is(parser, token, "!cutlass.seq_bar")) {
    if (!tide_expect(parser, '<', "'<'") || !small_number(parser, &a) ||
        !tide_expect(parser, ',', "','") || !small_number(parser, &b) ||
        !tide_expect(parser, '>', "'>'"))
      return 0;
    return tide_ir_type_get(parser->ir, TIDE_IR_SEQ_BAR, a, b);
  }
  parser->errors++;
  tide_ir_error(parser->ir, token.start + 1, "unknown type '%.*s' in dialect 'cutlass'",
                (int)(token.end - token.start < 60 ? token.end - token.start : 60),
                parser->text + token.start);
  return 0;
}

/* Parses !alias or !dialect.type. */
static tide_ir_type bang_type(struct tide_parser *parser) {
  struct tide_token token = parser->token;
  const char *text = parser->text + token.start;
  uint32_t length = token.end - token.start, type;
  if (length > 9 && memcmp(text, "!cutlass.", 9) == 0) return cutlass_type(parser, token);
  if (length > 6 && memcmp(text, "!llvm.", 6) == 0) {
    parser->token = tide_lex(parser->text, parser->length, token.start + 6);
    return llvm_word(parser, token.start);
  }
  if (tide_names_dialect(parser, token))
    return tide_parse_opaque_type(parser, token.start, token.end);
  if (!tide_find_alias(parser, tide_ir_intern(parser->ir, text, length), &type)) {
    tide_wrong(parser, "undefined symbol alias id '%.*s'", (int)(length < 60 ? length - 1 : 60),
               text + 1);
    return 0;
  }
  tide_advance(parser);
  return type;
}

/* Checks the type that began at `start`. */
static bool fits_memory(struct tide_parser *parser, tide_ir_type type, uint32_t start) {
  if (tide_ir_type_of(parser->ir, type)->bytes <= (uint64_t)1 << TIDE_IR_BYTES_LOG2) return true;
  return tide_ir_error(parser->ir, start + 1, "a type of more than 2^%d bytes", TIDE_IR_BYTES_LOG2);
}

tide_ir_type tide_parse_type(struct tide_parser *parser) {
  tide_ir_type type = 0;
  uint32_t start = parser->token.start;
  if (!tide_deeper(parser)) return 0;
  switch (parser->token.kind) {
    case TIDE_TOKEN_WORD: type = word_type(parser); break;
    case TIDE_TOKEN_BANG: type = bang_type(parser); break;
    case '(': type = function_type(parser); break;
    default: tide_missing(parser, "a type"); break;
  }
  parser->depth--;
  return tide_fits_parts(parser, tide_ir_type_of(parser->ir, type)->parts) &&
                 fits_memory(parser, type, start)
             ? type
             : 0;
}

bool tide_parse_type_list(struct tide_parser *parser) {
  do {
    tide_ir_type type = tide_parse_type(parser);
    if (!type || !tide_push(parser, &parser->types, type)) return false;
  } while (tide_take(parser, ','));
  return true;
}

bool tide_parse_type_parens(struct tide_parser *parser) {
  if (!tide_expect(parser, '(', "'('")) return false;
  if (tide_take(parser, ')')) return true;
  return tide_parse_type_list(parser) && tide_expect(parser, ')', "')'");
}

bool tide_parse_types_or_one(struct tide_parser *parser) {
  if (parser->token.kind == '(') return tide_parse_type_parens(parser);
  tide_ir_type type = tide_parse_type(parser);
  return type && tide_push(parser, &parser->types, type);
}
