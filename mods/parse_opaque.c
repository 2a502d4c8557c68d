/* Parses attributes and types that the ir keeps as text: those of other dialects, dense<…>,
 * tensor<…>. Aliases in the text are spelled out, because no definition of an alias is printed. */
#include "mods/ir_parser.h"
#include "mods/intern.h"
#include "mods/place.h"
#include "mods/verify.h"
#include "base/alloc.h"
#include "base/array.h"

#define SPELLED_MAX 65536u /* bytes of a text with aliases */

/* The dialects of mlir-opt 19. */
static const char *const dialects[] = {
    "acc",    "affine",        "amdgpu",     "amx",           "arith", "arm_neon",  "arm_sme",
    "async",  "arm_sve",       "builtin",    "bufferization", "cf",    "complex",   "dlti",
    "emitc",  "func",          "gpu",        "index",         "irdl",  "linalg",    "llvm",
    "math",   "memref",        "mesh",       "ml_program",    "mpi",   "nvgpu",     "nvvm",
    "omp",    "pdl",           "pdl_interp", "polynomial",    "quant", "rocdl",     "scf",
    "shape",  "sparse_tensor", "spirv",      "tensor",        "tosa",  "transform", "ub",
    "vector", "x86vector",     "xegpu"};

bool tide_is_dialect(const char *name, size_t length) {
  for (size_t i = 0; i < sizeof dialects / sizeof *dialects; i++)
    if (strlen(dialects[i]) == length && memcmp(dialects[i], name, length) == 0) return true;
  return false;
}

/* Returns the length of `dialect` in the token `#dialect.name` or `#dialect<`; 0: the token names
 * an alias. */
static size_t dialect_length(const struct tide_parser *parser, struct tide_token token) {
  const char *name = parser->text + token.start + 1;
  size_t length = token.end - token.start - 1;
  for (size_t i = 0; i < length; i++)
    if (name[i] == '.') return i;
  return token.end < parser->length && parser->text[token.end] == '<' ? length : 0;
}

bool tide_names_dialect(const struct tide_parser *parser, struct tide_token token) {
  return dialect_length(parser, token) != 0;
}

/* True if the token's dialect is known, or if any is accepted. */
static bool accept_dialect(struct tide_parser *parser, struct tide_token token) {
  const char *name = parser->text + token.start;
  size_t length = token.end - token.start;
  if (parser->any_operation || tide_is_dialect(name + 1, dialect_length(parser, token)))
    return true;
  parser->token.start = token.start;
  return tide_wrong(parser,
                    "'%.*s' is of a dialect that is not known; --allow-unregistered-dialect takes "
                    "it as it is",
                    (int)(length < 80 ? length : 80), name);
}

/* ---- aliases in a text ---- */

struct spelled {
  struct tide_parser *parser;
  char *bytes;
  size_t count, capacity;
  bool failed, cut;
};

static void put_bytes(void *self, const char *bytes, size_t size) {
  struct spelled *spelled = self;
  if (spelled->failed || spelled->cut) return;
  spelled->cut = size > SPELLED_MAX - spelled->count;
  if (spelled->cut) return;
  spelled->failed = !tide_array_reserve_unset(spelled->parser->ir->allocator, &spelled->bytes,
                                              &spelled->capacity, spelled->count + size + 1, 1);
  if (spelled->failed) return;
  memcpy(spelled->bytes + spelled->count, bytes, size);
  spelled->count += size;
}

/* Appends what the alias stands for. */
static bool put_alias(struct spelled *spelled, struct tide_token token) {
  struct tide_parser *parser = spelled->parser;
  struct tide_ir *ir = parser->ir;
  struct tide_ir_out out = {put_bytes, spelled};
  uint32_t number, length = token.end - token.start;
  tide_ir_string name = tide_ir_intern(ir, parser->text + token.start, length);
  tide_ir_location place = tide_find_place(parser, name);
  if (tide_find_alias(parser, name, &number)) {
    if (token.kind == TIDE_TOKEN_BANG) number = tide_ir_attr_type(ir, number);
    tide_ir_print_attr(ir, number, SPELLED_MAX, &out);
  } else if (place && tide_ir_explicit_text(ir, place)) {
    size_t size;
    const char *text = tide_ir_string_text(ir, tide_ir_explicit_text(ir, place), &size);
    put_bytes(spelled, "loc(", 4);
    put_bytes(spelled, text, size);
    put_bytes(spelled, ")", 1);
  } else {
    parser->token.start = token.start;
    return tide_wrong(parser, "undefined symbol alias id '%.*s'",
                      (int)(length < 60 ? length - 1 : 60), parser->text + token.start + 1);
  }
  return true;
}

/* Returns the offset behind the text of an unknown dialect, in which nothing is an alias. */
static uint32_t behind_raw(const struct tide_parser *parser, struct tide_token token) {
  if (token.end >= parser->length || parser->text[token.end] != '<') return token.end;
  uint32_t close = tide_lex_balanced(parser->text, parser->length, token.end, false);
  return close ? close : token.end;
}

/* Appends the text from `start` to `end`. */
static bool spell_out(struct spelled *spelled, uint32_t start, uint32_t end) {
  struct tide_parser *parser = spelled->parser;
  const char *text = parser->text;
  uint32_t from = start;
  for (uint32_t at = start; at < end;) {
    struct tide_token token = {TIDE_TOKEN_WRONG, at, at + 1};
    if (text[at] == '"' || text[at] == '#' || text[at] == '!')
      token = tide_lex(text, parser->length, at);
    if (text[at] == '/' && at + 1 < end && text[at + 1] == '/')
      while (at < end && text[at] != '\n') token.end = ++at;
    at = token.end;
    if (token.kind != TIDE_TOKEN_HASH && token.kind != TIDE_TOKEN_BANG) continue;
    size_t dialect = dialect_length(parser, token);
    if (dialect && !accept_dialect(parser, token)) return false;
    if (dialect && !tide_is_dialect(text + token.start + 1, dialect))
      at = behind_raw(parser, token);
    if (dialect) continue;
    put_bytes(spelled, text + from, token.start - from);
    if (!put_alias(spelled, token)) return false;
    from = at;
  }
  put_bytes(spelled, text + from, end - from);
  return true;
}

static bool has_sigil(const char *bytes, size_t length) {
  for (size_t i = 0; i < length; i++)
    if (bytes[i] == '#' || bytes[i] == '!') return true;
  return false;
}

/* Returns the text from `start` to `end`, with its aliases spelled out; 0: an error, reported. */
static tide_ir_string intern_spelled(struct tide_parser *parser, uint32_t start, uint32_t end) {
  struct spelled spelled = {.parser = parser};
  tide_ir_string string = 0;
  if (!has_sigil(parser->text + start, end - start))
    return tide_ir_intern(parser->ir, parser->text + start, end - start);
  if (!spell_out(&spelled, start, end)) string = 0;
  else if (spelled.failed) tide_ir_give_up(parser->ir, TIDE_NOMEM);
  else if (spelled.cut)
    tide_wrong(parser, "more than %u bytes when its aliases are spelled out", SPELLED_MAX);
  else string = tide_ir_intern(parser->ir, spelled.bytes, spelled.count);
  tide_free(parser->ir->allocator, spelled.bytes, spelled.capacity, 1);
  return string;
}

/* ---- attributes and types ---- */

/* Remembers where a text begins that no rule here checks. The verifier knows the words of some. */
static void note_unchecked(struct tide_parser *parser, tide_ir_string string, uint32_t start) {
  static const char *const known[] = {"#arith.overflow<",    "#arith.fastmath<", "#llvm.overflow<",
                                      "#llvm.fastmath<",     "#llvm.linkage<",   "#llvm.cconv<",
                                      "#llvm.tailcallkind<", "#gpu<dim ",        "#nvvm<",
                                      "#nvvm.target"};
  struct tide_ir *ir = parser->ir;
  bool checked = ir->unchecked != 0;
  for (size_t i = 0; i < sizeof known / sizeof *known && !checked; i++)
    checked = tide_ir_begins_with(ir, string, known[i]);
  if (!checked) ir->unchecked = start + 1;
}

tide_ir_attr tide_parse_opaque_attr(struct tide_parser *parser) {
  uint32_t start = parser->token.start, end = parser->token.end;
  bool relations = tide_is_word(parser, "affine_set");
  struct tide_token next = tide_lex(parser->text, parser->length, end);
  size_t length;
  while (next.kind == '<' || next.kind == '[') { /* distinct[0]<…> */
    end = tide_lex_balanced(parser->text, parser->length, next.start, relations);
    if (!end) {
      tide_wrong(parser, "unbalanced '%c' in an attribute", parser->text[next.start]);
      return 0;
    }
    next = tide_lex(parser->text, parser->length, end);
  }
  tide_ir_string string = intern_spelled(parser, start, end);
  if (!string) return 0;
  note_unchecked(parser, string, start);
  parser->token.end = end;
  tide_advance(parser);
  tide_ir_type type = 0;
  if (tide_take(parser, ':') && !(type = tide_parse_type(parser))) return 0;
  const char *text = tide_ir_string_text(parser->ir, string, &length);
  return tide_ir_attr_opaque(parser->ir, text, length, type);
}

tide_ir_type tide_parse_opaque_type(struct tide_parser *parser, uint32_t start, uint32_t end) {
  if (end < parser->length && parser->text[end] == '<') {
    uint32_t close = tide_lex_balanced(parser->text, parser->length, end, false);
    if (!close) {
      tide_wrong(parser, "unbalanced '<' in a type");
      return 0;
    }
    end = close;
  }
  tide_ir_string string = intern_spelled(parser, start, end);
  if (!string) return 0;
  note_unchecked(parser, string, start);
  parser->token.end = end;
  tide_advance(parser);
  return tide_ir_type_get(parser->ir, TIDE_IR_OPAQUE, string, 0);
}
