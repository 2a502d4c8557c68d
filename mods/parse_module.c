/* Parses a module; the parser's entry point. */
#include "mods/ir_parser.h"
#include "mods/intern.h"
#include "mods/place.h"
#include "base/alloc.h"

static bool parse_top_level(struct tide_parser *parser) {
  bool good = true;
  while (parser->token.kind != TIDE_TOKEN_END) {
    struct tide_token next = tide_lex(parser->text, parser->length, parser->token.end);
    uint32_t start = parser->token.start;
    bool alias = parser->token.kind == TIDE_TOKEN_HASH || parser->token.kind == TIDE_TOKEN_BANG;
    bool fine = alias && next.kind == '=' ? tide_parse_alias(parser) : tide_parse_op(parser);
    if (fine) continue;
    good = false;
    parser->broken = true;
    if (!tide_parse_recover(parser, start)) return false;
    if (parser->token.kind == '}') tide_advance(parser);
  }
  return good;
}

/* Makes a module that is alone at the top level the ir's module. Otherwise `outer` contains all. */
static bool unwrap_module(struct tide_ir *ir, tide_ir_op outer, tide_ir_block block) {
  tide_ir_op only = tide_ir_block_of(ir, block)->first;
  ir->module = outer;
  if (!only || tide_ir_op_of(ir, only)->next || tide_ir_op_kind(ir, only) != TIDE_OP_BUILTIN_MODULE)
    return true;
  tide_ir_remove(ir, only);
  tide_ir_erase(ir, outer);
  ir->module = only;
  return true;
}

static bool parse_module(struct tide_parser *parser) {
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
  bool good = parse_top_level(parser);
  good = tide_scope_close(parser, mark) && good;
  good = tide_ir_explicit_fill(ir, parser->places.data, parser->places.count, good) && good;
  return good && unwrap_module(ir, outer, block);
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
  for (size_t i = 0; i < sizeof stacks / sizeof *stacks; i++) { /* no data is NULL afterwards */
    good = good && tide_push(&parser, stacks[i], 0);
    stacks[i]->count = 0;
  }
  good = good && parse_module(&parser);
  for (size_t i = 0; i < sizeof stacks / sizeof *stacks; i++)
    tide_free(ir->allocator, stacks[i]->data, stacks[i]->capacity, sizeof *stacks[i]->data);
  tide_scope_fini(&parser);
  if (ir->status != TIDE_OK) return ir->status;
  return good && ir->errors == errors ? TIDE_OK : TIDE_CORRUPT;
}
