/* mods/print.h: the printer's state, and the functions that its files share. */
#ifndef TIDE_MODS_PRINT_H
#define TIDE_MODS_PRINT_H

#include "mods/ir.h"

struct tide_printer {
  struct tide_ir *ir;
  const struct tide_ir_out *out;
  bool generic, locations;
  bool too_deep;
  uint32_t indent, depth;
  uint32_t *value_names; /* by value: a number + 1, or a string with TIDE_PRINT_NAMED */
  uint32_t *block_names; /* by block: its number in the region */
  uint8_t *taken;        /* by string: a visible value has that name */
  uint32_t value_count, block_count, taken_count;
  size_t most, put; /* most: nothing more is begun behind so many bytes; 0: no limit */
  size_t used;
  char buffer[4096];
};

#define TIDE_PRINT_NAMED 0x80000000u
#define TIDE_PRINT_ARGUMENT 0x40000000u /* %argN */

void tide_put(struct tide_printer *printer, const char *bytes, size_t size);
void tide_puts(struct tide_printer *printer, const char *text);
void tide_putf(struct tide_printer *printer, const char *format, ...) TIDE_PRINTF(2, 3);
void tide_put_string(struct tide_printer *printer, tide_ir_string string); /* in quotes */
void tide_put_symbol(struct tide_printer *printer, tide_ir_string string); /* @name */
void tide_put_newline(struct tide_printer *printer);

/* print_attr.c */
void tide_put_type(struct tide_printer *printer, tide_ir_type type);
void tide_put_attr(struct tide_printer *printer, tide_ir_attr attr);
/* Prints ` {a = …}` without the names in `hidden` (0 ends the list; NULL: none). Prints nothing if
 * all are hidden. */
void tide_put_dict(struct tide_printer *printer, const char *before, tide_ir_attr dictionary,
                   const uint32_t *hidden);

/* print_names.c */
bool tide_print_number(struct tide_printer *printer, tide_ir_op root);
void tide_print_free(struct tide_printer *printer);
void tide_put_value(struct tide_printer *printer, tide_ir_value value);

/* print_operation.c */
void tide_put_operand(struct tide_printer *printer, tide_ir_op op, uint32_t index);
void tide_put_operands(struct tide_printer *printer, tide_ir_op op, uint32_t first, uint32_t count);
void tide_put_operand_types(struct tide_printer *printer, tide_ir_op op, uint32_t first,
                            uint32_t count);
void tide_put_result_types(struct tide_printer *printer, tide_ir_op op);
tide_ir_type tide_print_operand_type(const struct tide_printer *printer, tide_ir_op op,
                                     uint32_t index);
/* Prints `{`, the blocks, `}`. header: with the entry block's arguments; end: with its terminator.
 */
void tide_put_region(struct tide_printer *printer, tide_ir_region region, bool header, bool end);
void tide_put_op(struct tide_printer *printer, tide_ir_op op);
/* Prints ` loc(…)` behind an argument that was given one. */
void tide_put_argument_place(struct tide_printer *printer, tide_ir_value argument);

/* print_forms.c: prints an operation's custom form. */
void tide_put_form(struct tide_printer *printer, tide_ir_op op);
/* print_fits.c: returns the word in an opaque "#dialect<word>" or "#dialect.kind<word>"; NULL:
 * none.
 */
const char *tide_enum_word(const struct tide_ir *ir, tide_ir_op op, tide_ir_string name,
                           size_t *out_length);
/* True if the custom form can express the operation: the operation is well formed and has nothing
 * that the form omits. */
bool tide_print_has_form(const struct tide_ir *ir, tide_ir_op op);

#endif
