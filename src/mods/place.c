#include "mods/place.h"
#include "mods/intern.h"
#include "base/memory.h"
#include "base/text.h"

struct explicit_place {
  tide_ir_string text, file;
  uint32_t line, column;
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

/* The line that an offset lies in, counted from 0. */
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
  const struct explicit_place *place =
      tide_chunks_at(&ir->lines->explicits, location & ~TIDE_IR_EXPLICIT);
  return (struct tide_ir_place){.file =
                                    place->file ? tide_ir_string_text(ir, place->file, NULL) : "-",
                                .line = place->line,
                                .column = place->column};
}

tide_ir_location tide_ir_location_of(const struct tide_ir *ir, tide_ir_op op) {
  return tide_ir_op_of(ir, op)->location;
}

tide_ir_location tide_ir_explicit(struct tide_ir *ir, tide_ir_string text, tide_ir_string file,
                                  uint32_t line, uint32_t column) {
  struct tide_ir_lines *lines = lines_of(ir);
  uint32_t at = lines ? tide_chunks_add(&lines->explicits, 1, true) : 0;
  if (!at) return tide_ir_give_up(ir, TIDE_NOMEM);
  *(struct explicit_place *)tide_chunks_at(&lines->explicits, at) =
      (struct explicit_place){text, file, line, column};
  return at | TIDE_IR_EXPLICIT;
}

tide_ir_string tide_ir_explicit_text(const struct tide_ir *ir, tide_ir_location location) {
  if (!(location & TIDE_IR_EXPLICIT)) return 0;
  const struct explicit_place *place =
      tide_chunks_at(&ir->lines->explicits, location & ~TIDE_IR_EXPLICIT);
  return place->text;
}

bool tide_ir_explicit_fill(struct tide_ir *ir, const uint32_t *pairs, size_t count) {
  if (!ir->lines) return true;
  struct tide_chunks *places = &ir->lines->explicits;
  uint32_t strings = ir->tables->strings.count;
  uint32_t *meant = tide_alloc(ir->allocator, strings, sizeof *meant);
  if (!meant) return tide_ir_give_up(ir, TIDE_NOMEM);
  for (size_t i = 0; i < count; i++) meant[pairs[2 * i]] = pairs[2 * i + 1] & ~TIDE_IR_EXPLICIT;
  for (uint32_t i = 1; i < places->count; i++) {
    struct explicit_place *place = tide_chunks_at(places, i);
    uint32_t other = tide_ir_string_text(ir, place->text, NULL)[0] == '#' ? meant[place->text] : 0;
    if (other && other != i) *place = *(struct explicit_place *)tide_chunks_at(places, other);
  }
  tide_free(ir->allocator, meant, strings, sizeof *meant);
  return true;
}
