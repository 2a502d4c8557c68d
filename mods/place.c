#include "mods/place.h"
#include "mods/intern.h"
#include "base/alloc.h"
#include "base/text.h"

struct explicit_place {
  tide_ir_string text; /* the contents of `loc(…)`; while `at` is not 0, the name of an alias */
  struct tide_ir_found found;
  uint32_t at; /* offset plus 1 of an alias that is not defined yet; 0: none */
};

struct tide_ir_lines {
  struct tide_chunks starts;    /* offsets of the lines' first bytes; the first at 1 */
  struct tide_chunks explicits; /* struct explicit_place */
  bool found;                   /* starts is filled */
};

static struct tide_ir_lines *lines_of(struct tide_ir *ir) {
  if (ir->lines) return ir->lines;
  struct tide_ir_lines *lines = tide_alloc(ir->allocator, 1, sizeof *lines);
  if (!lines) return NULL;
  ir->lines = lines;
  if (!tide_chunks_init(&lines->starts, ir->allocator, sizeof(uint32_t)) ||
      !tide_chunks_init(&lines->explicits, ir->allocator, sizeof(struct explicit_place))) {
    tide_ir_lines_free(ir);
    return NULL;
  }
  return lines;
}

void tide_ir_lines_free(struct tide_ir *ir) {
  if (!ir->lines) return;
  tide_chunks_fini(&ir->lines->starts);
  tide_chunks_fini(&ir->lines->explicits);
  tide_free(ir->allocator, ir->lines, 1, sizeof *ir->lines);
  ir->lines = NULL;
}

size_t tide_ir_lines_memory(const struct tide_ir *ir) {
  if (!ir->lines) return 0;
  return sizeof *ir->lines + tide_chunks_memory(&ir->lines->starts) +
         tide_chunks_memory(&ir->lines->explicits);
}

static bool add_start(struct tide_ir_lines *lines, size_t offset) {
  uint32_t at = tide_chunks_add(&lines->starts, 1, true);
  if (at) *(uint32_t *)tide_chunks_at(&lines->starts, at) = (uint32_t)offset;
  return at != 0;
}

static bool find_lines(struct tide_ir *ir) {
  struct tide_ir_lines *lines = lines_of(ir);
  if (!lines) return false;
  if (lines->found) return true;
  if (!add_start(lines, 0)) return false;
  for (size_t i = 0; i < ir->length; i++)
    if (ir->text[i] == '\n' && !add_start(lines, i + 1)) return false;
  lines->found = true;
  return true;
}

/* Returns the number of the line at an offset, counted from 0. */
static uint32_t line_at(const struct tide_ir_lines *lines, uint32_t offset) {
  uint32_t low = 1, high = lines->starts.count;
  while (high - low > 1) {
    uint32_t middle = low + (high - low) / 2;
    if (*(uint32_t *)tide_chunks_at(&lines->starts, middle) <= offset) low = middle;
    else high = middle;
  }
  return low - 1;
}

static struct tide_ir_place text_place(struct tide_ir *ir, uint32_t offset) {
  struct tide_ir_place place = {.file = ir->file};
  if (!ir->text || !find_lines(ir)) return place;
  uint32_t line = line_at(ir->lines, offset);
  uint32_t start = *(uint32_t *)tide_chunks_at(&ir->lines->starts, line + 1), end = start;
  while (end < ir->length && ir->text[end] != '\n') end++;
  place.line = ir->first_line + line;
  place.column = offset - start + 1;
  place.source = ir->text + start;
  place.source_length = end - start;
  return place;
}

struct tide_ir_place tide_ir_where(struct tide_ir *ir, tide_ir_location location) {
  if (!location) return (struct tide_ir_place){.file = ir->file};
  if (!(location & TIDE_IR_EXPLICIT)) return text_place(ir, location - 1);
  const struct tide_ir_found found = tide_ir_explicit_found(ir, location);
  return (struct tide_ir_place){.file = found.file ? tide_ir_string_text(ir, found.file, NULL)
                                                   : "<unknown>",
                                .line = found.line,
                                .column = found.column};
}

tide_ir_location tide_ir_location_of(const struct tide_ir *ir, tide_ir_op op) {
  return tide_ir_op_of(ir, op)->location;
}

/* ---- loc(…) ---- */

static struct explicit_place *place_of(const struct tide_ir *ir, tide_ir_location location) {
  return tide_chunks_at(&ir->lines->explicits, location & ~TIDE_IR_EXPLICIT);
}

static tide_ir_location add_place(struct tide_ir *ir, const struct explicit_place *place) {
  struct tide_ir_lines *lines = lines_of(ir);
  uint32_t at = lines ? tide_chunks_add(&lines->explicits, 1, true) : 0;
  if (!at) return tide_ir_give_up(ir, TIDE_NOMEM);
  *(struct explicit_place *)tide_chunks_at(&lines->explicits, at) = *place;
  return at | TIDE_IR_EXPLICIT;
}

tide_ir_location tide_ir_explicit(struct tide_ir *ir, tide_ir_string text,
                                  const struct tide_ir_found *found) {
  return add_place(ir, &(struct explicit_place){.text = text, .found = *found});
}

tide_ir_location tide_ir_explicit_later(struct tide_ir *ir, tide_ir_string name, uint32_t at) {
  return add_place(ir, &(struct explicit_place){.text = name, .at = at});
}

bool tide_ir_explicit_open(const struct tide_ir *ir, tide_ir_location location) {
  return location & TIDE_IR_EXPLICIT && place_of(ir, location)->at;
}

tide_ir_string tide_ir_explicit_text(const struct tide_ir *ir, tide_ir_location location) {
  if (!(location & TIDE_IR_EXPLICIT)) return 0;
  const struct explicit_place *place = place_of(ir, location);
  return place->at ? 0 : place->text;
}

struct tide_ir_found tide_ir_explicit_found(const struct tide_ir *ir, tide_ir_location location) {
  return place_of(ir, location)->found;
}

tide_ir_location tide_ir_caller(const struct tide_ir *ir, tide_ir_location location) {
  return location & TIDE_IR_EXPLICIT ? place_of(ir, location)->found.caller : 0;
}

bool tide_ir_explicit_fill(struct tide_ir *ir, const uint32_t *places, size_t count, bool tell) {
  if (!ir->lines) return true;
  bool good = true;
  for (uint32_t i = 1; i < ir->lines->explicits.count; i++) {
    struct explicit_place *place = tide_chunks_at(&ir->lines->explicits, i);
    if (!place->at) continue;
    tide_ir_location meant = place->text < count ? places[place->text] : 0;
    if (meant && !place_of(ir, meant)->at) {
      *place = *place_of(ir, meant);
      continue;
    }
    uint32_t at = place->at;
    *place = (struct explicit_place){.text = 0};
    if (tell) good = tide_ir_error(ir, at, "operation location alias was never defined");
  }
  return good;
}
