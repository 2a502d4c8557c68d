/* Parses regions and blocks, and resumes after errors in them. */
#include "mods/ir_parser.h"
#include "mods/intern.h"

/* ---- after an error ---- */

static bool begins_line(const struct tide_parser *parser, uint32_t at) {
  while (at && (parser->text[at - 1] == ' ' || parser->text[at - 1] == '\t')) at--;
  return at == 0 || parser->text[at - 1] == '\n';
}

bool tide_parse_recover(struct tide_parser *parser, uint32_t failed) {
  uint32_t depth = 0, wrong = parser->token.start;
  uint32_t most = parser->ir->errors_max;
  if (parser->ir->status != TIDE_OK || (most && parser->errors >= most)) return false;
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

/* Parses `(%a: type, …)` behind a block's name. */
static bool parse_block_arguments(struct tide_parser *parser, tide_ir_block block) {
  size_t base = parser->uses.count, types = parser->types.count, places = parser->results.count;
  struct tide_ir *ir = parser->ir;
  if (!tide_take(parser, '(')) return true;
  if (!tide_take(parser, ')')) {
    do {
      tide_ir_type type;
      if (!tide_parse_use(parser) || !tide_expect(parser, ':', "':'") ||
          !(type = tide_parse_type(parser)) || !tide_push(parser, &parser->types, type))
        return false;
      tide_ir_location location = 0;
      if (!tide_parse_location(parser, &location) || !tide_push(parser, &parser->results, location))
        return false;
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
    good =
        tide_ir_place_argument(ir, record->arguments + i, parser->results.data[places + i]) && good;
    good = tide_scope_define(parser, use[0], use[1], record->arguments + i, 1) && good;
  }
  parser->uses.count = base;
  parser->types.count = types;
  parser->results.count = places;
  return good;
}

static bool parse_block_header(struct tide_parser *parser, tide_ir_region region) {
  struct tide_token token = parser->token;
  tide_advance(parser);
  tide_ir_block block = tide_scope_define_block(parser, token.start, token.end - token.start);
  if (!block) return false;
  tide_ir_block_append(parser->ir, region, block);
  parser->block = block;
  return parse_block_arguments(parser, block) && tide_expect(parser, ':', "':'");
}

static bool parse_operations(struct tide_parser *parser, tide_ir_region region) {
  bool good = true;
  while (parser->token.kind != '}' && parser->token.kind != TIDE_TOKEN_END) {
    bool fine;
    uint32_t start = parser->token.start;
    if (parser->token.kind == TIDE_TOKEN_BLOCK) fine = parse_block_header(parser, region);
    else fine = tide_parse_op(parser);
    if (fine) continue;
    good = false;
    parser->broken = true;
    if (!tide_parse_recover(parser, start)) return false;
  }
  return good;
}

/* Creates the entry block, with the arguments that the caller has named. */
static bool create_entry_block(struct tide_parser *parser, tide_ir_region region,
                               const uint32_t *arguments, size_t count) {
  size_t types = parser->types.count;
  struct tide_ir *ir = parser->ir;
  bool good = true;
  size_t base = parser->results.count; /* copied: `arguments` may point into a stack that moves */
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
      good = named || create_entry_block(parser, region, arguments, count);
    good = parse_operations(parser, region) && good;
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
