/* mods/place.h: where in a text something stands; `loc(…)`. */
#ifndef TIDE_MODS_PLACE_H
#define TIDE_MODS_PLACE_H

#include "mods/ir.h"

/* A location with this bit is the number of a `loc(…)`. */
#define TIDE_IR_EXPLICIT 0x80000000u

struct tide_ir_lines;
void tide_ir_lines_free(struct tide_ir *ir);
size_t tide_ir_lines_memory(const struct tide_ir *ir);

/* For a `loc(…)`: its text without `loc`, and what it says of a place; file 0: nothing. */
tide_ir_location tide_ir_explicit(struct tide_ir *ir, tide_ir_string text, tide_ir_string file,
                                  uint32_t line, uint32_t column);
/* The places that are `loc(#name)` become what the pairs name, location say. */
bool tide_ir_explicit_fill(struct tide_ir *ir, const uint32_t *pairs, size_t count);
/* What stands in `loc(…)`; 0: it is no explicit one. */
tide_ir_string tide_ir_explicit_text(const struct tide_ir *ir, tide_ir_location location);

#endif
