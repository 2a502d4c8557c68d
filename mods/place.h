/* mods/place.h: where in a text something stands; `loc(…)`. */
#ifndef TIDE_MODS_PLACE_H
#define TIDE_MODS_PLACE_H

#include "mods/ir.h"

/* A location with this bit is the number of a `loc(…)`. */
#define TIDE_IR_EXPLICIT 0x80000000u

struct tide_ir_lines;
void tide_ir_lines_free(struct tide_ir *ir);
size_t tide_ir_lines_memory(const struct tide_ir *ir);

/* What a `loc(…)` says of a place. */
struct tide_ir_found {
  tide_ir_string file; /* 0: nothing */
  uint32_t line, column;
  tide_ir_location caller; /* that this place was called from; 0: nothing is known of that */
};

/* For a `loc(…)`: what stands in its parentheses, without aliases; 0: too long to be kept. */
tide_ir_location tide_ir_explicit(struct tide_ir *ir, tide_ir_string text,
                                  const struct tide_ir_found *found);
/* For a `loc(#name)` whose name is not defined yet, at `at` (offset plus 1). */
tide_ir_location tide_ir_explicit_later(struct tide_ir *ir, tide_ir_string name, uint32_t at);
/* Is it one of those? */
bool tide_ir_explicit_open(const struct tide_ir *ir, tide_ir_location location);
/* They become what is defined now: `places` has a location for each name's string, or 0. `tell`
 * says which names have none. */
bool tide_ir_explicit_fill(struct tide_ir *ir, const uint32_t *places, size_t count, bool tell);
/* What stands in `loc(…)`; 0: it is no explicit one, or too long. */
tide_ir_string tide_ir_explicit_text(const struct tide_ir *ir, tide_ir_location location);
/* Of an explicit one. */
struct tide_ir_found tide_ir_explicit_found(const struct tide_ir *ir, tide_ir_location location);
/* What it was called from; 0: nothing is known of that. */
tide_ir_location tide_ir_caller(const struct tide_ir *ir, tide_ir_location location);

#endif
