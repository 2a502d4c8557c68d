/* mods/place.h: positions in a text, and `loc(…)`. */
#ifndef TIDE_MODS_PLACE_H
#define TIDE_MODS_PLACE_H

#include "mods/ir.h"

/* A location with this bit is the number of a `loc(…)`. */
#define TIDE_IR_EXPLICIT 0x80000000u

struct tide_ir_lines;
void tide_ir_lines_free(struct tide_ir *ir);
size_t tide_ir_lines_memory(const struct tide_ir *ir);

/* The position that a `loc(…)` names. */
struct tide_ir_found {
  tide_ir_string file; /* 0: unknown */
  uint32_t line, column;
  tide_ir_location caller; /* location of the call of this position; 0: unknown */
};

/* Creates the location of a `loc(…)`. `text` is the contents of the parentheses, without aliases;
 * 0: too long to be kept. */
tide_ir_location tide_ir_explicit(struct tide_ir *ir, tide_ir_string text,
                                  const struct tide_ir_found *found);
/* Creates the location of a `loc(#name)` at `at` (offset plus 1) before the name's definition. */
tide_ir_location tide_ir_explicit_later(struct tide_ir *ir, tide_ir_string name, uint32_t at);
/* True if tide_ir_explicit_later() created the location and its name is still undefined. */
bool tide_ir_explicit_open(const struct tide_ir *ir, tide_ir_location location);
/* Replaces all undefined locations. `places` has a location for each name's string, or 0. With
 * `tell`, reports the names that have none. */
bool tide_ir_explicit_fill(struct tide_ir *ir, const uint32_t *places, size_t count, bool tell);
/* Returns the contents of `loc(…)`; 0: not explicit, undefined, or too long. */
tide_ir_string tide_ir_explicit_text(const struct tide_ir *ir, tide_ir_location location);
/* Returns the position that an explicit location names. */
struct tide_ir_found tide_ir_explicit_found(const struct tide_ir *ir, tide_ir_location location);
/* Returns the location of its call; 0: unknown. */
tide_ir_location tide_ir_caller(const struct tide_ir *ir, tide_ir_location location);

#endif
