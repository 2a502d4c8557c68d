/* Parses `loc(…)`. The text is kept as written, but for aliases, which are replaced by their texts.
 * Diagnostics are reported at the innermost position in a file. */
#include "mods/ir_parser.h"
#include "mods/intern.h"
#include "mods/place.h"
#include "base/alloc.h"
#include "base/text.h"

/* A longer text is dropped and only its position kept: nested aliases could make it very long. */
#define TEXT_MAX 4096

struct reader {
  struct tide_parser *parser;
  char text[TEXT_MAX + 1];
  size_t length;
  bool cut;
};

static void put_text(struct reader *reader, const char *bytes, size_t length) {
  reader->cut = reader->cut || length > TEXT_MAX - reader->length;
  if (reader->cut) return;
  memcpy(reader->text + reader->length, bytes, length);
  reader->length += length;
}

static void puts_text(struct reader *reader, const char *text) {
  put_text(reader, text, strlen(text));
}

static void put_token(struct reader *reader, struct tide_token token) {
  put_text(reader, reader->parser->text + token.start, token.end - token.start);
}

/* ---- names ---- */

tide_ir_location tide_find_place(const struct tide_parser *parser, tide_ir_string name) {
  return name < parser->places.count ? parser->places.data[name] : 0;
}

bool tide_parse_location_alias(struct tide_parser *parser, tide_ir_string name) {
  tide_ir_location location = 0;
  uint32_t start = parser->token.start;
  if (!tide_parse_location(parser, &location)) return false;
  if (tide_ir_explicit_open(parser->ir, location)) {
    parser->token.start = start;
    return tide_wrong(parser, "an alias of a location that is not defined yet");
  }
  while (parser->places.count <= name)
    if (!tide_push(parser, &parser->places, 0)) return false;
  parser->places.data[name] = location;
  return true;
}

static tide_ir_string name_of(struct tide_parser *parser) {
  struct tide_token token = parser->token;
  return tide_ir_intern(parser->ir, parser->text + token.start, token.end - token.start);
}

/* ---- a location, with nested ones ---- */

static bool parse_instance(struct reader *reader, struct tide_ir_found *found);

/* Parses `"file":line:column`, `"name"` or `"name"(…)`. */
static bool file_or_name(struct reader *reader, struct tide_ir_found *found) {
  struct tide_parser *parser = reader->parser;
  struct tide_token text = parser->token;
  uint32_t *const numbers[] = {&found->line, &found->column};
  put_token(reader, text);
  tide_advance(parser);
  if (tide_take(parser, '(')) {
    puts_text(reader, "(");
    if (!parse_instance(reader, found) || !tide_expect(parser, ')', "')' after child location"))
      return false;
    puts_text(reader, ")");
    return true;
  }
  if (parser->token.kind != ':') return true;
  for (int i = 0; i < 2; i++) {
    int64_t number;
    puts_text(reader, ":");
    if (!tide_expect(parser, ':', "':' in a location of a file")) return false;
    put_token(reader, parser->token);
    if (parser->token.kind != TIDE_TOKEN_INTEGER)
      return tide_wrong(parser, "expected integer %s number", i ? "column" : "line");
    if (!tide_parse_integer(parser, &number)) return false;
    if (number < 0 || number > UINT32_MAX) return tide_wrong(parser, "integer value too large");
    *numbers[i] = (uint32_t)number;
  }
  found->file = tide_unquote(parser, text.start, text.end);
  return found->file != 0;
}

/* Parses `callsite(callee at caller)`: diagnostics are at the callee, with a note at the caller. */
static bool parse_callsite(struct reader *reader, struct tide_ir_found *found) {
  struct tide_parser *parser = reader->parser;
  struct tide_ir_found caller = {.file = 0};
  tide_advance(parser);
  puts_text(reader, "callsite(");
  if (!tide_expect(parser, '(', "'(' in callsite location") || !parse_instance(reader, found) ||
      !tide_expect_word(parser, "at"))
    return false;
  puts_text(reader, " at ");
  if (!parse_instance(reader, &caller) || !tide_expect(parser, ')', "')' in callsite location"))
    return false;
  puts_text(reader, ")");
  if (!caller.file) return true;
  if (!found->file) {
    *found = caller;
    return true;
  }
  if (!found->caller) found->caller = tide_ir_explicit(parser->ir, 0, &caller);
  return parser->ir->status == TIDE_OK;
}

static void put_out(void *self, const char *bytes, size_t size) { put_text(self, bytes, size); }

/* Parses `fused<metadata>[…, …]`. The first known position counts. */
static bool parse_fused(struct reader *reader, struct tide_ir_found *found) {
  struct tide_parser *parser = reader->parser;
  tide_advance(parser);
  puts_text(reader, "fused");
  if (tide_take(parser, '<')) {
    tide_ir_attr attr = tide_parse_attr(parser);
    struct tide_ir_out out = {put_out, reader};
    if (!attr || !tide_expect(parser, '>', "'>' after fused location metadata")) return false;
    reader->cut = reader->cut || tide_ir_attr_of(parser->ir, attr)->parts > TEXT_MAX;
    puts_text(reader, "<");
    tide_ir_print_attr(parser->ir, attr, TEXT_MAX, &out);
    puts_text(reader, ">");
  }
  puts_text(reader, "[");
  if (!tide_expect(parser, '[', "'[' in fused location")) return false;
  for (bool more = parser->token.kind != ']'; more;) {
    struct tide_ir_found item = {.file = 0};
    if (!parse_instance(reader, &item)) return false;
    if (!found->file) *found = item;
    more = tide_take(parser, ',');
    if (more) puts_text(reader, ", ");
  }
  puts_text(reader, "]");
  return tide_expect(parser, ']', "']' in fused location");
}

/* Parses an alias inside another location. MLIR requires that the alias is defined before. */
static bool parse_named(struct reader *reader, struct tide_ir_found *found) {
  struct tide_parser *parser = reader->parser;
  struct tide_token token = parser->token;
  tide_ir_location location = tide_find_place(parser, name_of(parser));
  if (!location || tide_ir_explicit_open(parser->ir, location))
    return tide_wrong(parser, "undefined symbol alias id '%.*s'",
                      (int)(token.end - token.start < 60 ? token.end - token.start - 1 : 60),
                      parser->text + token.start + 1);
  tide_ir_string text = tide_ir_explicit_text(parser->ir, location);
  if (text) puts_text(reader, tide_ir_string_text(parser->ir, text, NULL));
  else reader->cut = true;
  *found = tide_ir_explicit_found(parser->ir, location);
  tide_advance(parser);
  return true;
}

static bool parse_instance(struct reader *reader, struct tide_ir_found *found) {
  struct tide_parser *parser = reader->parser;
  bool good;
  if (!tide_deeper(parser)) return false;
  if (parser->token.kind == TIDE_TOKEN_STRING) good = file_or_name(reader, found);
  else if (parser->token.kind == TIDE_TOKEN_HASH) good = parse_named(reader, found);
  else if (tide_is_word(parser, "callsite")) good = parse_callsite(reader, found);
  else if (tide_is_word(parser, "fused")) good = parse_fused(reader, found);
  else if (tide_take_word(parser, "unknown")) good = true, puts_text(reader, "unknown");
  else good = tide_wrong(parser, "expected location instance");
  parser->depth--;
  return good;
}

/* ---- loc(…) ---- */

/* Parses an alias that is the whole location. The alias may be defined later; the location is then
 * completed at the end. */
static bool whole_name(struct tide_parser *parser, tide_ir_location *out_location) {
  tide_ir_string name = name_of(parser);
  *out_location = tide_find_place(parser, name);
  if (!*out_location)
    *out_location = tide_ir_explicit_later(parser->ir, name, parser->token.start + 1);
  tide_advance(parser);
  return *out_location != 0;
}

static bool parse_whole(struct tide_parser *parser, tide_ir_location *out_location) {
  struct reader reader = {.parser = parser, .length = 0, .cut = false};
  struct tide_ir_found found = {.file = 0};
  if (!parse_instance(&reader, &found)) return false;
  tide_ir_string text = reader.cut ? 0 : tide_ir_intern(parser->ir, reader.text, reader.length);
  *out_location = tide_ir_explicit(parser->ir, text, &found);
  return *out_location != 0;
}

bool tide_parse_location(struct tide_parser *parser, tide_ir_location *location) {
  if (!tide_take_word(parser, "loc")) return true;
  if (!tide_expect(parser, '(', "'(' in location")) return false;
  bool good = parser->token.kind == TIDE_TOKEN_HASH ? whole_name(parser, location)
                                                    : parse_whole(parser, location);
  return good && tide_expect(parser, ')', "')' in location");
}

tide_ir_attr tide_parse_location_attr(struct tide_parser *parser) {
  struct reader reader = {.parser = parser, .length = 0, .cut = false};
  struct tide_ir_found found = {.file = 0};
  tide_advance(parser);
  puts_text(&reader, "loc(");
  if (!tide_expect(parser, '(', "'(' in location") || !parse_instance(&reader, &found) ||
      !tide_expect(parser, ')', "')' in location"))
    return 0;
  puts_text(&reader, ")");
  if (reader.cut) {
    tide_wrong(parser, "location too long for an attribute");
    return 0;
  }
  return tide_ir_attr_opaque(parser->ir, reader.text, reader.length, 0);
}

tide_ir_attr tide_parse_place_attr(struct tide_parser *parser) {
  struct reader reader = {.parser = parser, .length = 0, .cut = false};
  tide_ir_location location = tide_find_place(parser, name_of(parser));
  tide_ir_string text = location ? tide_ir_explicit_text(parser->ir, location) : 0;
  if (!text) return 0;
  puts_text(&reader, "loc(");
  puts_text(&reader, tide_ir_string_text(parser->ir, text, NULL));
  puts_text(&reader, ")");
  if (reader.cut) return 0;
  tide_advance(parser);
  return tide_ir_attr_opaque(parser->ir, reader.text, reader.length, 0);
}
