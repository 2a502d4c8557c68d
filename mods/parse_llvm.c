/* Parses what stands before the name of an llvm.func or a global, and globals. */
#include "mods/ir_parser.h"
#include "mods/intern.h"
#include "mods/words.h"
#include "base/alloc.h"
#include "base/text.h"

/* Takes one of the words, and stores its index. False: the next token is none of them. */
static bool take_one_of(struct tide_parser *parser, const char *const *words, size_t count,
                        int64_t *out_index) {
  for (size_t i = 0; i < count; i++) {
    if (!tide_take_word(parser, words[i])) continue;
    *out_index = (int64_t)i;
    return true;
  }
  return false;
}

/* Adds #llvm.kind<word>. */
static bool add_enum(struct tide_parser *parser, tide_ir_string name, const char *kind,
                     const char *word) {
  char text[64];
  struct tide_text out;
  tide_text_init(&out, text, sizeof text);
  tide_text_format(&out, "#llvm.%s<%s>", kind, word);
  return tide_add_attr(parser, name, tide_ir_attr_opaque(parser->ir, text, out.length, 0));
}

bool tide_parse_llvm_head(struct tide_parser *parser, bool global) {
  struct tide_ir *ir = parser->ir;
  int64_t at;
  bool has_linkage = take_one_of(parser, tide_linkages, TIDE_WORDS(tide_linkages), &at);
  if ((has_linkage || global) &&
      !add_enum(parser, TIDE_NAME_LINKAGE, "linkage", has_linkage ? tide_linkages[at] : "external"))
    return false;
  if (take_one_of(parser, tide_visibilities, TIDE_WORDS(tide_visibilities), &at) &&
      !tide_add_attr(parser, TIDE_NAME_VISIBILITY, tide_ir_attr_i64(ir, at)))
    return false;
  if (global && tide_take_word(parser, "thread_local") &&
      !tide_add_attr(parser, TIDE_NAME_THREAD_LOCAL, tide_ir_attr_unit(ir)))
    return false;
  if (take_one_of(parser, tide_unnamed, TIDE_WORDS(tide_unnamed), &at) &&
      !tide_add_attr(parser, TIDE_NAME_UNNAMED_ADDR, tide_ir_attr_i64(ir, at)))
    return false;
  if (global || !take_one_of(parser, tide_conventions, TIDE_WORDS(tide_conventions), &at))
    return true;
  return add_enum(parser, TIDE_NAME_CCONV, "cconv", tide_conventions[at]);
}

/* Parses `: type`. The type of a string may be left out. */
static bool global_type(struct tide_parser *parser, tide_ir_attr value) {
  struct tide_ir *ir = parser->ir;
  const struct tide_ir_attr_record *record = tide_ir_attr_of(ir, value);
  tide_ir_type type;
  if (parser->token.kind != ':' && value && record->kind == TIDE_IR_ATTR_STRING) {
    size_t length;
    tide_ir_string_text(ir, record->string, &length);
    type = tide_ir_type_get(ir, TIDE_IR_LLVM_ARRAY, tide_ir_integer(ir, 8), (uint32_t)length);
  } else {
    if (!tide_expect(parser, ':', "':' and the global's type")) return false;
    type = tide_parse_type(parser);
  }
  return type && tide_add_attr(parser, TIDE_NAME_GLOBAL_TYPE, tide_ir_attr_type(ir, type));
}

/* Parses head constant? @name(value?) attr-dict (: type)? region? */
bool tide_parse_global(struct tide_parser *parser, struct tide_op_state *op) {
  tide_ir_attr value = 0;
  (void)op;
  if (!tide_parse_llvm_head(parser, true)) return false;
  if (tide_take_word(parser, "constant") &&
      !tide_add_attr(parser, TIDE_NAME_CONSTANT, tide_ir_attr_unit(parser->ir)))
    return false;
  if (!tide_parse_name(parser) || !tide_expect(parser, '(', "'('")) return false;
  if (parser->token.kind != ')') {
    value = tide_parse_attr(parser);
    if (!value || !tide_add_attr(parser, TIDE_NAME_VALUE, value)) return false;
  }
  if (!tide_expect(parser, ')', "')'") || !tide_parse_attr_dict(parser) ||
      !global_type(parser, value))
    return false;
  if (parser->token.kind == '{') return tide_parse_region(parser, true, NULL, 0);
  tide_ir_region region = tide_chunks_add(&parser->ir->regions, 1, true);
  return region && tide_push(parser, &parser->regions, region);
}
