/* mods/ir_parser.h: the parser's state, and the functions that its files share. */
#ifndef TIDE_MODS_IR_PARSER_H
#define TIDE_MODS_IR_PARSER_H

#include "mods/ir.h"
#include "mods/mods_lex.h"

/* A stack of numbers. An operation pops all that it pushed. */
struct tide_stack {
  uint32_t *data;
  size_t count, capacity;
};

/* A name that is defined, or used before its definition. */
struct tide_name {
  uint32_t at;    /* offset of its sigil in the text */
  uint32_t value; /* the first value, or the block; undefined: the first forward, 0: none */
  uint32_t older; /* numbered name: the outer one with that number; written name: its hash */
  uint16_t count; /* number of values; 0: undefined yet */
  bool numbered;  /* found through `numbers`, else through `slots` */
};

/* A use before the definition: `%x#index`. */
struct tide_forward {
  uint32_t next, at, index;
  tide_ir_value value;
};

struct tide_scope {
  struct tide_chunks names;    /* struct tide_name; the names of open regions, in order */
  struct tide_chunks numbers;  /* by number: the newest name with it, as 5 for %5 */
  struct tide_chunks forwards; /* struct tide_forward */
  uint32_t *slots;             /* written names in open addressing */
  uint32_t slot_count, used;
  uint32_t isolated; /* the first visible name */
  uint32_t region;   /* the first name of the innermost region */
};

struct tide_parser {
  struct tide_ir *ir;
  const char *text;
  uint32_t length;
  struct tide_token token; /* the next token */
  bool any_operation;
  bool broken;     /* after a syntax error: names may be missing */
  uint32_t depth;  /* nesting of regions, types, attributes */
  uint32_t errors; /* syntax errors */
  tide_ir_block block;
  struct tide_scope scope;
  struct tide_stack uses;     /* three numbers each: offset, length, index */
  struct tide_stack operands; /* values */
  struct tide_stack types, results;
  struct tide_stack named; /* two numbers each: name, attribute */
  struct tide_stack regions;
  struct tide_stack successors; /* two numbers each: block, operands */
  struct tide_stack names;      /* results to bind: offset, length, count */
  struct tide_stack aliases;    /* definitions `#a = …` and `!t = …`: string, number */
  struct tide_stack places;     /* locations of `#a = loc(…)`, by string; 0: none */
};

/* An operation that is being read: the stacks' counts at its start. */
struct tide_op_state {
  uint16_t kind;
  tide_ir_location location;
  uint32_t at; /* offset of its name */
  size_t uses, operands, types, results, named, regions, successors;
};

/* ---- parse_tokens.c ---- */

static inline void tide_advance(struct tide_parser *parser) {
  parser->token = tide_lex(parser->text, parser->length, parser->token.end);
}
/* Takes the next token if it is of this kind. */
static inline bool tide_take(struct tide_parser *parser, uint32_t kind) {
  if (parser->token.kind != kind) return false;
  tide_advance(parser);
  return true;
}
bool tide_is_word(const struct tide_parser *parser, const char *word);
bool tide_take_word(struct tide_parser *parser, const char *word);
/* Takes a token of this kind. Another token: reports the text `what` as expected; false. */
bool tide_expect(struct tide_parser *parser, uint32_t kind, const char *what);
bool tide_expect_word(struct tide_parser *parser, const char *word);
/* Reports a syntax error at the next token. Returns false. */
bool tide_wrong(struct tide_parser *parser, const char *format, ...) TIDE_PRINTF(2, 3);
/* Reports that `what` is missing, at the end of the last token. Returns false. */
bool tide_missing(struct tide_parser *parser, const char *what);
bool tide_deeper(struct tide_parser *parser); /* false: nested too deep; reported */
/* Parses an integer, with or without a sign. */
bool tide_parse_integer(struct tide_parser *parser, int64_t *out_value);
/* Returns the text between the quotes, unescaped and interned. */
tide_ir_string tide_unquote(struct tide_parser *parser, uint32_t start, uint32_t end);
/* Parses `@name` and returns the name without @. */
tide_ir_string tide_parse_symbol_name(struct tide_parser *parser);

/* ---- parse_type.c ---- */

tide_ir_type tide_parse_type(struct tide_parser *parser); /* 0: a syntax error, reported */
/* Parses a type inside `!llvm.…<>`, where `!llvm.` may be omitted. */
tide_ir_type tide_parse_llvm_type(struct tide_parser *parser);
/* Push the parsed types onto the stack `types`. */
bool tide_parse_type_list(struct tide_parser *parser);    /* t, t */
bool tide_parse_type_parens(struct tide_parser *parser);  /* (t, t) */
bool tide_parse_types_or_one(struct tide_parser *parser); /* (t, t) | t */

/* ---- parse_attr.c ---- */

tide_ir_attr tide_parse_attr(struct tide_parser *parser);
/* False, reported: an attribute or a type of so many parts is too large to be printed. */
bool tide_fits_parts(struct tide_parser *parser, uint32_t parts);
/* Parses the value behind `=` of a constant: `5 : i32`, `true`. */
tide_ir_attr tide_parse_attr_typed(struct tide_parser *parser, tide_ir_type type);
/* Pushes `{a = …, b}` onto `named`; nothing without a `{`. */
bool tide_parse_attr_dict(struct tide_parser *parser);
/* Parses a dictionary behind properties, which lie on `named` from `first` on. No name may be in
 * both. */
bool tide_parse_attrs_behind(struct tide_parser *parser, size_t first);
/* True if a dictionary, and not the region that may follow it, begins at the next token. */
bool tide_dictionary_is_next(const struct tide_parser *parser);
/* Parses a dictionary into one attribute; 0 if empty. */
bool tide_parse_dictionary(struct tide_parser *parser, tide_ir_attr *out_attr);
/* Parses an alias definition, `#a = …` or `!a = …`. */
bool tide_parse_alias(struct tide_parser *parser);
bool tide_find_alias(struct tide_parser *parser, tide_ir_string name, uint32_t *out_number);

/* ---- parse_opaque.c ---- */

/* True if the token, `#…` or `!…`, names a dialect and no alias. */
bool tide_names_dialect(const struct tide_parser *parser, struct tide_token token);
/* Takes the token, the <…> or […] behind it and an optional type as an opaque attribute. */
tide_ir_attr tide_parse_opaque_attr(struct tide_parser *parser);
/* Takes the text from `start` to `end`, and a <…> directly behind it, as an opaque type. */
tide_ir_type tide_parse_opaque_type(struct tide_parser *parser, uint32_t start, uint32_t end);

/* ---- parse_place.c ---- */

/* Parses `loc(…)` if it is next. */
bool tide_parse_location(struct tide_parser *parser, tide_ir_location *location);
/* Parses `loc(…)` as an attribute's value. */
tide_ir_attr tide_parse_location_attr(struct tide_parser *parser);
/* Parses `#name` as an attribute's value if it names a location; else returns 0 and consumes
 * nothing. */
tide_ir_attr tide_parse_place_attr(struct tide_parser *parser);
/* Parses the `loc(…)` behind `#name =`. */
bool tide_parse_location_alias(struct tide_parser *parser, tide_ir_string name);
/* Returns the location that #name names; 0: none so far. */
tide_ir_location tide_find_place(const struct tide_parser *parser, tide_ir_string name);

/* ---- scope.c ---- */

struct tide_scope_mark {
  uint32_t isolated, region;
};
bool tide_scope_init(struct tide_parser *parser);
void tide_scope_fini(struct tide_parser *parser);
struct tide_scope_mark tide_scope_open(struct tide_parser *parser, bool isolated);
bool tide_scope_close(struct tide_parser *parser, struct tide_scope_mark mark);
/* Returns the value of `%name#index`; a forward reference before its definition. 0: an error,
 * reported. */
tide_ir_value tide_scope_use(struct tide_parser *parser, uint32_t at, uint32_t length,
                             uint32_t index, tide_ir_type type);
/* Defines the name for `count` values from `first` on. */
bool tide_scope_define(struct tide_parser *parser, uint32_t at, uint32_t length,
                       tide_ir_value first, uint32_t count);
tide_ir_block tide_scope_block(struct tide_parser *parser, uint32_t at, uint32_t length);
/* Defines a block and returns it: the block of earlier uses, or a new one. */
tide_ir_block tide_scope_define_block(struct tide_parser *parser, uint32_t at, uint32_t length);

/* ---- parse_operands.c ---- */

bool tide_push(struct tide_parser *parser, struct tide_stack *stack, uint32_t number);
/* Pushes `%x` or `%x#1` onto `uses`. */
bool tide_parse_use(struct tide_parser *parser);
bool tide_parse_uses(struct tide_parser *parser);       /* separated by commas; at least one */
bool tide_parse_uses_maybe(struct tide_parser *parser); /* none without a % */
/* Makes use number `index` of this operation its next operand. */
bool tide_operand(struct tide_parser *parser, struct tide_op_state *op, size_t index,
                  tide_ir_type type);
static inline size_t tide_use_count(const struct tide_parser *parser,
                                    const struct tide_op_state *op) {
  return (parser->uses.count - op->uses) / 3;
}
/* Makes all uses operands, with the types from `types` on. Reports an error if the counts differ.
 */
bool tide_operands_of_types(struct tide_parser *parser, struct tide_op_state *op);
bool tide_result(struct tide_parser *parser, tide_ir_type type);
bool tide_add_attr(struct tide_parser *parser, tide_ir_string name, tide_ir_attr value);
bool tide_parse_successor(struct tide_parser *parser, tide_ir_block *out_block);

/* ---- parse_generic.c ---- */

/* Parses the rest of an operation in generic form, behind its name. */
bool tide_parse_generic(struct tide_parser *parser, struct tide_op_state *op);
/* Parses `: (types) -> types`: the types of the named operands and of the results. */
bool tide_parse_function_type_of(struct tide_parser *parser, struct tide_op_state *op);

/* ---- parse_operation.c ---- */

/* Appends the operation at the next token to the current block. */
bool tide_parse_op(struct tide_parser *parser);

/* ---- parse_region.c ---- */

/* Parses a region with its braces and pushes it onto `regions`. The entry block gets `count`
 * arguments: offset, length and type of each, three numbers. */
bool tide_parse_region(struct tide_parser *parser, bool isolated, const uint32_t *arguments,
                       size_t count);
/* Appends an operation of `kind` to the last region unless the region has a terminator. */
bool tide_implicit_end(struct tide_parser *parser, enum tide_ir_kind kind);
/* Skips to the next line that looks like the start of an operation. That line is behind the error
 * and outside of the brackets that the failed operation, which begins at `failed`, opened. False:
 * none. */
bool tide_parse_recover(struct tide_parser *parser, uint32_t failed);

/* ---- forms.c ---- */

/* Parses an operation's custom form, behind its name. */
bool tide_parse_form(struct tide_parser *parser, struct tide_op_state *op);

/* Operations that are printed in generic form but also read in their custom form; parse_rare.c. */
bool tide_has_rare_form(unsigned kind);
bool tide_parse_rare(struct tide_parser *parser, struct tide_op_state *op);

/* Functions and globals; parse_function.c. */
bool tide_parse_function(struct tide_parser *parser, struct tide_op_state *op);
/* Parses `@name` into sym_name. */
bool tide_parse_name(struct tide_parser *parser);
/* What stands before the name of an llvm.func or a global; parse_llvm.c. */
bool tide_parse_llvm_head(struct tide_parser *parser, bool global);
bool tide_parse_global(struct tide_parser *parser, struct tide_op_state *op);
/* Parses syncscope("…")? and an ordering, which becomes the attribute `name`. */
bool tide_parse_scope(struct tide_parser *parser);
bool tide_parse_ordering(struct tide_parser *parser, tide_ir_string name);

#endif
