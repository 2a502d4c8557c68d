/* Parses attributes and aliases. */
#include "mods/ir_parser.h"
#include "mods/decimal.h"
#include "mods/float_bits.h"
#include "mods/intern.h"
#include "mods/place.h"
#include "base/alloc.h"

bool tide_find_alias(struct tide_parser *parser, tide_ir_string name, uint32_t *out_number) {
  const struct tide_stack *aliases = &parser->aliases;
  for (size_t i = aliases->count; i >= 2; i -= 2)
    if (aliases->data[i - 2] == name) {
      *out_number = aliases->data[i - 1];
      return true;
    }
  return false;
}

/* ---- numbers ---- */

static tide_ir_attr float_attr(struct tide_parser *parser, tide_ir_type type, double value) {
  const struct tide_ir_type_record *record = tide_ir_type_of(parser->ir, type);
  if (record->a == TIDE_IR_F32) value = (double)(float)value;
  return tide_ir_attr_float(parser->ir, type, value);
}

/* Returns the float with these bits. `start`: where the number begins. */
static tide_ir_attr float_of_bits(struct tide_parser *parser, tide_ir_type type, uint64_t bits,
                                  uint32_t start) {
  uint32_t kind = tide_ir_type_of(parser->ir, type)->a;
  unsigned width = tide_float_width(kind);
  const char *why = NULL;
  if (parser->text[start] == '-') why = "literal should not have a leading minus";
  else if (width < 64 && bits >> width) why = "constant out of range for type";
  if (why) {
    parser->token.start = start;
    tide_wrong(parser, "hexadecimal float %s", why);
    return 0;
  }
  return tide_ir_attr_float(parser->ir, type, tide_float_widen(kind, bits));
}

/* True if the value fits the type, signed or unsigned. */
static bool fits_type(const struct tide_ir_type_record *type, int64_t value) {
  unsigned bits = type->kind == TIDE_IR_INTEGER ? type->a : 64;
  if (bits == 64) return true;
  if (value < 0) return value >= -((int64_t)1 << (bits - 1));
  return (uint64_t)value < (uint64_t)1 << bits;
}

/* Returns the value sign-extended from the type's width. */
static int64_t sign_extend(const struct tide_ir_type_record *type, int64_t value) {
  if (type->kind != TIDE_IR_INTEGER || type->a == 64 || type->b == TIDE_IR_UNSIGNED) return value;
  unsigned shift = 64 - type->a;
  return (int64_t)((uint64_t)value << shift) >> shift;
}

static tide_ir_attr integer_of_type(struct tide_parser *parser, tide_ir_type type, int64_t value,
                                    bool hexadecimal, uint32_t start) {
  const struct tide_ir_type_record *record = tide_ir_type_of(parser->ir, type);
  if (record->kind == TIDE_IR_FLOAT && hexadecimal)
    return float_of_bits(parser, type, (uint64_t)value, start);
  if (record->kind != TIDE_IR_INTEGER && record->kind != TIDE_IR_INDEX) {
    parser->token.start = start;
    tide_wrong(parser, "integer literal not valid for specified type");
    return 0;
  }
  if (!fits_type(record, value)) {
    parser->token.start = start;
    tide_wrong(parser, "integer constant out of range for attribute");
    return 0;
  }
  if (record->kind == TIDE_IR_INTEGER && record->a == 1 && record->b == TIDE_IR_SIGNLESS)
    return tide_ir_attr_bool(parser->ir, value & 1);
  return tide_ir_attr_integer(parser->ir, type, sign_extend(record, value));
}

/* Returns `given` if not 0; else the `: type` behind a number, or `fallback`. 0: an error. */
static tide_ir_type number_type(struct tide_parser *parser, tide_ir_type given,
                                tide_ir_type fallback) {
  if (given) return given;
  return tide_take(parser, ':') ? tide_parse_type(parser) : fallback;
}

static tide_ir_attr parse_number(struct tide_parser *parser, tide_ir_type given) {
  bool negative = parser->token.kind == '-';
  uint32_t start = parser->token.start;
  struct tide_token next =
      negative ? tide_lex(parser->text, parser->length, parser->token.end) : parser->token;
  if (next.kind == TIDE_TOKEN_FLOAT) {
    parser->token = next;
    tide_advance(parser);
    double value = tide_decimal_parse(parser->text + next.start, next.end - next.start);
    tide_ir_type type =
        number_type(parser, given, tide_ir_type_get(parser->ir, TIDE_IR_FLOAT, TIDE_IR_F64, 0));
    if (!type) return 0;
    if (tide_ir_type_of(parser->ir, type)->kind != TIDE_IR_FLOAT) {
      tide_wrong(parser, "floating point value not valid for specified type");
      return 0;
    }
    return float_attr(parser, type, negative ? -value : value);
  }
  bool hexadecimal = next.end - next.start > 2 && parser->text[next.start + 1] == 'x';
  int64_t value;
  if (!tide_parse_integer(parser, &value)) return 0;
  tide_ir_type type = number_type(parser, given, parser->ir->tables->i64);
  return type ? integer_of_type(parser, type, value, hexadecimal, start) : 0;
}

/* ---- others ---- */

static tide_ir_attr parse_symbol(struct tide_parser *parser) {
  tide_ir_string path[16];
  size_t count = 0;
  do {
    if (count == 16) {
      tide_wrong(parser, "symbol references nest at most 16 deep");
      return 0;
    }
    path[count] = tide_parse_symbol_name(parser);
    if (!path[count++]) return 0;
  } while (tide_take(parser, TIDE_TOKEN_COLONS));
  return tide_ir_attr_symbol(parser->ir, path, count);
}

static tide_ir_attr parse_array(struct tide_parser *parser) {
  size_t base = parser->operands.count;
  tide_ir_attr attr = 0;
  tide_advance(parser);
  bool good = true;
  if (parser->token.kind != ']') {
    do {
      tide_ir_attr item = tide_parse_attr(parser);
      good = item && tide_push(parser, &parser->operands, item);
    } while (good && tide_take(parser, ','));
  }
  if (good && tide_expect(parser, ']', "']'"))
    attr =
        tide_ir_attr_array(parser->ir, parser->operands.data + base, parser->operands.count - base);
  parser->operands.count = base;
  return attr;
}

/* Parses one element of array<T: …> as a number. */
static bool parse_element(struct tide_parser *parser, tide_ir_type type, int64_t *out_value) {
  if (tide_take_word(parser, "true")) {
    *out_value = 1;
    return true;
  }
  if (tide_take_word(parser, "false")) {
    *out_value = 0;
    return true;
  }
  tide_ir_attr attr = parse_number(parser, type);
  *out_value = tide_ir_attr_of(parser->ir, attr)->integer;
  return attr != 0;
}

/* Parses array<i32: 1, 2>. */
static tide_ir_attr dense_array(struct tide_parser *parser) {
  int64_t few[64];
  size_t count = 0;
  tide_advance(parser);
  if (!tide_expect(parser, '<', "'<'")) return 0;
  tide_ir_type type = tide_parse_type(parser);
  if (!type) return 0;
  if (tide_take(parser, ':')) {
    do {
      if (count == sizeof few / sizeof *few) {
        tide_wrong(parser, "a dense array has at most 64 elements here");
        return 0;
      }
      if (!parse_element(parser, type, &few[count++])) return 0;
    } while (tide_take(parser, ','));
  }
  if (!tide_expect(parser, '>', "'>'")) return 0;
  return tide_ir_attr_dense(parser->ir, type, few, count);
}

static tide_ir_attr parse_hash(struct tide_parser *parser) {
  const char *text = parser->text + parser->token.start;
  uint32_t length = parser->token.end - parser->token.start;
  tide_ir_attr attr;
  if (tide_find_alias(parser, tide_ir_intern(parser->ir, text, length), &attr)) {
    tide_advance(parser);
    return attr;
  }
  if ((attr = tide_parse_place_attr(parser))) return attr;
  if (tide_names_dialect(parser, parser->token)) return tide_parse_opaque_attr(parser);
  tide_wrong(parser, "undefined symbol alias id '%.*s'", (int)(length < 60 ? length - 1 : 60),
             text + 1);
  return 0;
}

/* Parses true, false, unit, array<…>, loc(…), dense<…> and other opaque words, or a type. */
static tide_ir_attr parse_word(struct tide_parser *parser) {
  struct tide_ir *ir = parser->ir;
  struct tide_token next = tide_lex(parser->text, parser->length, parser->token.end);
  if (tide_take_word(parser, "true")) return tide_ir_attr_bool(ir, true);
  if (tide_take_word(parser, "false")) return tide_ir_attr_bool(ir, false);
  if (tide_take_word(parser, "unit")) return tide_ir_attr_unit(ir);
  if (tide_is_word(parser, "array") && next.kind == '<') return dense_array(parser);
  if (tide_is_word(parser, "loc") && next.kind == '(') {
    return tide_parse_location_attr(parser);
  }
  static const char *const opaques[] = {"dense",      "dense_resource", "sparse",  "affine_map",
                                        "affine_set", "strided",        "distinct"};
  for (size_t i = 0; i < sizeof opaques / sizeof *opaques; i++)
    if (tide_is_word(parser, opaques[i])) return tide_parse_opaque_attr(parser);
  tide_ir_type type = tide_parse_type(parser);
  return type ? tide_ir_attr_type(ir, type) : 0;
}

static tide_ir_attr parse_string(struct tide_parser *parser) {
  tide_ir_string text = tide_unquote(parser, parser->token.start, parser->token.end);
  tide_advance(parser);
  /* MLIR allows a typed string; no attribute here has one. */
  size_t length;
  const char *bytes = tide_ir_string_text(parser->ir, text, &length);
  return text ? tide_ir_attr_string(parser->ir, bytes, length) : 0;
}

tide_ir_attr tide_parse_attr_typed(struct tide_parser *parser, tide_ir_type type) {
  switch (parser->token.kind) {
    case '-':
    case TIDE_TOKEN_INTEGER:
    case TIDE_TOKEN_FLOAT: return parse_number(parser, type);
    default: return tide_parse_attr(parser);
  }
}

bool tide_fits_parts(struct tide_parser *parser, uint32_t parts) {
  if (parts <= TIDE_IR_PARTS_MAX + parser->length) return true;
  return tide_wrong(parser, "more than %u parts when its aliases are spelled out",
                    TIDE_IR_PARTS_MAX + parser->length);
}

tide_ir_attr tide_parse_attr(struct tide_parser *parser) {
  tide_ir_attr attr = 0;
  if (!tide_deeper(parser)) return 0;
  switch (parser->token.kind) {
    case '-':
    case TIDE_TOKEN_INTEGER:
    case TIDE_TOKEN_FLOAT: attr = parse_number(parser, 0); break;
    case TIDE_TOKEN_STRING: attr = parse_string(parser); break;
    case TIDE_TOKEN_SYMBOL: attr = parse_symbol(parser); break;
    case TIDE_TOKEN_HASH: attr = parse_hash(parser); break;
    case TIDE_TOKEN_WORD: attr = parse_word(parser); break;
    case '[': attr = parse_array(parser); break;
    case '{':
      if (tide_parse_dictionary(parser, &attr) && !attr) attr = tide_ir_attr_empty(parser->ir);
      break;
    case '(':
    case TIDE_TOKEN_BANG:
      attr = tide_parse_type(parser);
      if (attr) attr = tide_ir_attr_type(parser->ir, attr);
      break;
    default: tide_missing(parser, "attribute value"); break;
  }
  parser->depth--;
  return tide_fits_parts(parser, tide_ir_attr_of(parser->ir, attr)->parts) ? attr : 0;
}

/* ---- dictionaries ---- */

static bool parse_entry(struct tide_parser *parser) {
  struct tide_token token = parser->token;
  tide_ir_string name;
  tide_ir_attr value;
  if (token.kind == TIDE_TOKEN_STRING) name = tide_unquote(parser, token.start, token.end);
  else if (token.kind == TIDE_TOKEN_WORD)
    name = tide_ir_intern(parser->ir, parser->text + token.start, token.end - token.start);
  else return tide_wrong(parser, "expected attribute name");
  tide_advance(parser);
  if (!name) return false;
  value = tide_take(parser, '=') ? tide_parse_attr(parser) : tide_ir_attr_unit(parser->ir);
  return value && tide_add_attr(parser, name, value);
}

bool tide_add_attr(struct tide_parser *parser, tide_ir_string name, tide_ir_attr value) {
  return tide_push(parser, &parser->named, name) && tide_push(parser, &parser->named, value);
}

bool tide_parse_attr_dict(struct tide_parser *parser) {
  return tide_parse_attrs_behind(parser, parser->named.count);
}

bool tide_parse_attrs_behind(struct tide_parser *parser, size_t first) {
  size_t base = parser->named.count;
  if (!tide_take(parser, '{') || tide_take(parser, '}')) return true;
  do {
    struct tide_token token = parser->token;
    size_t last = parser->named.count;
    if (last - base > 2 * 512) return tide_wrong(parser, "too many attributes");
    if (!parse_entry(parser)) return false;
    for (size_t i = first; i < last; i += 2)
      if (parser->named.data[i] == parser->named.data[last]) {
        parser->token = token;
        return tide_wrong(parser,
                          i < base ? "attribute '%s' is given twice"
                                   : "duplicate key '%s' in dictionary attribute",
                          tide_ir_string_text(parser->ir, parser->named.data[i], NULL));
      }
  } while (tide_take(parser, ','));
  return tide_expect(parser, '}', "'}'");
}

enum braces { BRACES_REGION, BRACES_DICTIONARY, BRACES_EITHER };

/* True if the token is the one operation that may be alone in a region. */
static bool is_yield(const struct tide_parser *parser, struct tide_token token) {
  static const char *const names[] = {"cutlass.async.yield", "nv_tileas.async.yield"};
  size_t length = token.end - token.start;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (strlen(names[i]) == length && memcmp(parser->text + token.start, names[i], length) == 0)
      return true;
  return false;
}

/* Classifies the braces at `open` by their first two tokens. No operation's name is followed by `=`
 * or a comma. `{}` and `{name}` may be either; *out_behind is then the offset behind them. */
static enum braces classify_braces(const struct tide_parser *parser, struct tide_token open,
                                   uint32_t *out_behind) {
  struct tide_token first = tide_lex(parser->text, parser->length, open.end);
  *out_behind = first.end;
  if (first.kind == '}') return BRACES_EITHER;
  if (first.kind != TIDE_TOKEN_WORD && first.kind != TIDE_TOKEN_STRING) return BRACES_REGION;
  struct tide_token second = tide_lex(parser->text, parser->length, first.end);
  *out_behind = second.end;
  if (second.kind == '=' || second.kind == ',') return BRACES_DICTIONARY;
  return second.kind == '}' && !is_yield(parser, first) ? BRACES_EITHER : BRACES_REGION;
}

bool tide_dictionary_is_next(const struct tide_parser *parser) {
  uint32_t behind;
  if (parser->token.kind != '{') return false;
  enum braces braces = classify_braces(parser, parser->token, &behind);
  if (braces != BRACES_EITHER) return braces == BRACES_DICTIONARY;
  /* Neither `{}` nor `{name}` is a valid region, so a dictionary must precede a region. */
  return tide_lex(parser->text, parser->length, behind).kind == '{';
}

bool tide_parse_dictionary(struct tide_parser *parser, tide_ir_attr *out_attr) {
  size_t base = parser->named.count;
  bool good = tide_parse_attr_dict(parser);
  *out_attr = 0;
  if (good && parser->named.count > base)
    *out_attr = tide_ir_attr_dictionary(
        parser->ir, (const struct tide_ir_named *)(const void *)(parser->named.data + base),
        (parser->named.count - base) / 2);
  parser->named.count = base;
  return good;
}

/* ---- aliases ---- */

bool tide_parse_alias(struct tide_parser *parser) {
  struct tide_token token = parser->token;
  uint32_t number;
  tide_ir_string name =
      tide_ir_intern(parser->ir, parser->text + token.start, token.end - token.start);
  if (tide_find_alias(parser, name, &number) || tide_find_place(parser, name))
    return tide_wrong(parser, "redefinition of symbol alias id");
  if (tide_names_dialect(parser, token))
    return tide_wrong(parser, "%s names with a '.' are reserved for dialect-defined names",
                      token.kind == TIDE_TOKEN_HASH ? "attribute" : "type");
  tide_advance(parser);
  if (!tide_expect(parser, '=', "'='")) return false;
  if (token.kind == TIDE_TOKEN_HASH && tide_is_word(parser, "loc"))
    return tide_parse_location_alias(parser, name);
  if (parser->aliases.count > 2 * 4096) return tide_wrong(parser, "too many aliases");
  number = token.kind == TIDE_TOKEN_HASH ? tide_parse_attr(parser) : tide_parse_type(parser);
  return number && tide_push(parser, &parser->aliases, name) &&
         tide_push(parser, &parser->aliases, number);
}
