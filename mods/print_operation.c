/* Prints operations, blocks and regions. */
#include "mods/print.h"
#include "mods/place.h"
#include "base/alloc.h"
#include "base/text.h"

/* ---- bytes ---- */

static void flush_printer(struct tide_printer *printer) {
  if (printer->used) printer->out->write(printer->out->self, printer->buffer, printer->used);
  printer->used = 0;
}

void tide_put(struct tide_printer *printer, const char *bytes, size_t size) {
  printer->put += size;
  if (size > sizeof printer->buffer - printer->used) flush_printer(printer);
  if (size > sizeof printer->buffer) {
    printer->out->write(printer->out->self, bytes, size);
    return;
  }
  if (size) memcpy(printer->buffer + printer->used, bytes, size);
  printer->used += size;
}

void tide_puts(struct tide_printer *printer, const char *text) {
  tide_put(printer, text, strlen(text));
}

void tide_putf(struct tide_printer *printer, const char *format, ...) {
  char small[512];
  struct tide_text text;
  va_list list;
  va_start(list, format);
  tide_text_init(&text, small, sizeof small);
  tide_text_format_list(&text, format, list);
  va_end(list);
  if (!tide_text_cut(&text)) {
    tide_put(printer, small, text.length);
    return;
  }
  char *large = tide_alloc_unset(printer->ir->allocator, text.length + 1, 1); /* a very long name */
  if (!large) return;
  size_t size = text.length + 1;
  va_start(list, format);
  tide_text_init(&text, large, size);
  tide_text_format_list(&text, format, list);
  va_end(list);
  tide_put(printer, large, size - 1);
  tide_free(printer->ir->allocator, large, size, 1);
}

void tide_put_newline(struct tide_printer *printer) {
  tide_puts(printer, "\n");
  for (uint32_t i = 0; i < printer->indent; i++) tide_puts(printer, "  ");
}

/* ---- operands and results ---- */

void tide_put_operand(struct tide_printer *printer, tide_ir_op op, uint32_t index) {
  tide_put_value(printer, tide_ir_operand(printer->ir, op, index));
}

void tide_put_operands(struct tide_printer *printer, tide_ir_op op, uint32_t first,
                       uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    if (i) tide_puts(printer, ", ");
    tide_put_operand(printer, op, first + i);
  }
}

tide_ir_type tide_print_operand_type(const struct tide_printer *printer, tide_ir_op op,
                                     uint32_t index) {
  return tide_ir_type_of_value(printer->ir, tide_ir_operand(printer->ir, op, index));
}

void tide_put_operand_types(struct tide_printer *printer, tide_ir_op op, uint32_t first,
                            uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    if (i) tide_puts(printer, ", ");
    tide_put_type(printer, tide_print_operand_type(printer, op, first + i));
  }
}

/* Prints t, (t, t) or (). */
void tide_put_result_types(struct tide_printer *printer, tide_ir_op op) {
  const struct tide_ir_op_record *record = tide_ir_op_of(printer->ir, op);
  tide_ir_type first = tide_ir_value_of(printer->ir, record->results)->type;
  bool one = record->result_count == 1 && !tide_ir_type_is(printer->ir, first, TIDE_IR_FUNCTION);
  if (!one) tide_puts(printer, "(");
  for (uint32_t i = 0; i < record->result_count; i++) {
    if (i) tide_puts(printer, ", ");
    tide_put_type(printer, tide_ir_value_of(printer->ir, record->results + i)->type);
  }
  if (!one) tide_puts(printer, ")");
}

/* ---- regions ---- */

static void put_header(struct tide_printer *printer, tide_ir_block block) {
  const struct tide_ir_block_record *record = tide_ir_block_of(printer->ir, block);
  printer->indent--;
  tide_put_newline(printer);
  printer->indent++;
  tide_putf(printer, "^bb%u", printer->block_names[block]);
  for (uint32_t i = 0; i < record->argument_count; i++) {
    tide_puts(printer, i ? ", " : "(");
    tide_put_value(printer, record->arguments + i);
    tide_puts(printer, ": ");
    tide_put_type(printer, tide_ir_value_of(printer->ir, record->arguments + i)->type);
    tide_put_argument_place(printer, record->arguments + i);
  }
  tide_puts(printer, record->argument_count ? "):" : ":");
}

void tide_put_region(struct tide_printer *printer, tide_ir_region region, bool header, bool end) {
  const struct tide_ir *ir = printer->ir;
  tide_ir_block first = tide_ir_region_of(ir, region)->first;
  if (printer->depth >= 2 * TIDE_IR_DEPTH_MAX) {
    printer->too_deep = true;
    return;
  }
  printer->depth++;
  printer->indent++;
  tide_puts(printer, "{");
  for (tide_ir_block block = first; block; block = tide_ir_block_of(ir, block)->next) {
    const struct tide_ir_block_record *record = tide_ir_block_of(ir, block);
    bool empty = !record->first && (printer->generic || record->next);
    if (block != first || (header && record->argument_count) || empty) put_header(printer, block);
    for (tide_ir_op op = record->first; op; op = tide_ir_op_of(ir, op)->next) {
      if (!end && op == record->last && !printer->locations) break;
      tide_put_newline(printer);
      tide_put_op(printer, op);
    }
  }
  printer->indent--;
  printer->depth--;
  tide_put_newline(printer);
  tide_puts(printer, "}");
}

/* ---- operations ---- */

/* Stores the names of the attributes that MLIR keeps as properties, 0 at the end. Operations that
 * MLIR does not know have none. */
static size_t list_properties(const struct tide_ir *ir, tide_ir_op op, uint32_t *names,
                              size_t most) {
  const struct tide_ir_attribute_info *list = tide_ir_op_info(ir, op)->attributes;
  const char *name = tide_ir_op_name(ir, op);
  size_t count = 0;
  bool ours = memcmp(name, "cu", 2) == 0 || memcmp(name, "cp", 2) == 0;
  for (; !ours && list->name && count + 1 < most; list++) names[count++] = list->name;
  names[count] = 0;
  return count;
}

static void put_generic_attrs(struct tide_printer *printer, tide_ir_op op, bool inherent) {
  const struct tide_ir *ir = printer->ir;
  const struct tide_ir_attr_record *all = tide_ir_attr_of(ir, tide_ir_op_of(ir, op)->attributes);
  uint32_t own[32], others[64];
  size_t count = list_properties(ir, op, own, 32), other_count = 0;
  if (!inherent) {
    tide_put_dict(printer, " ", tide_ir_op_of(ir, op)->attributes, own);
    return;
  }
  if (!count || !tide_ir_op_of(ir, op)->attributes) return;
  bool any = false;
  for (uint32_t i = 0; i < all->count; i += 2) {
    uint32_t name = tide_ir_item(ir, all->items, i);
    bool is_own = false;
    for (size_t j = 0; j < count; j++) is_own = is_own || own[j] == name;
    any = any || is_own;
    if (!is_own && other_count + 1 < 64) others[other_count++] = name;
  }
  others[other_count] = 0;
  if (!any) return;
  tide_puts(printer, " <");
  tide_put_dict(printer, "", tide_ir_op_of(ir, op)->attributes, others);
  tide_puts(printer, ">");
}

static void put_generic(struct tide_printer *printer, tide_ir_op op) {
  const struct tide_ir *ir = printer->ir;
  const struct tide_ir_op_record *record = tide_ir_op_of(ir, op);
  tide_putf(printer, "\"%s\"(", tide_ir_op_name(ir, op));
  tide_put_operands(printer, op, 0, record->operand_count);
  tide_puts(printer, ")");
  for (uint32_t i = 0; i < record->successor_count; i++)
    tide_putf(printer, "%s^bb%u", i ? ", " : "[",
              printer->block_names[tide_ir_successor(ir, op, i, NULL, NULL)]);
  if (record->successor_count) tide_puts(printer, "]");
  put_generic_attrs(printer, op, true);
  for (uint32_t i = 0; i < record->region_count; i++) {
    tide_puts(printer, i ? ", " : " (");
    tide_put_region(printer, record->regions + i, true, true);
  }
  if (record->region_count) tide_puts(printer, ")");
  put_generic_attrs(printer, op, false);
  tide_puts(printer, " : (");
  tide_put_operand_types(printer, op, 0, record->operand_count);
  tide_puts(printer, ") -> ");
  tide_put_result_types(printer, op);
}

static void put_location(struct tide_printer *printer, tide_ir_location location) {
  struct tide_ir *ir = printer->ir;
  tide_ir_string text = tide_ir_explicit_text(ir, location);
  struct tide_ir_place place = tide_ir_where(ir, location);
  tide_puts(printer, " loc(");
  if (text) {
    tide_puts(printer, tide_ir_string_text(ir, text, NULL));
  } else if (!location || !place.line) {
    tide_puts(printer, "unknown");
  } else {
    tide_put_string(printer, tide_ir_intern_text(ir, place.file));
    tide_putf(printer, ":%u:%u", place.line, place.column);
  }
  tide_puts(printer, ")");
}

void tide_put_argument_place(struct tide_printer *printer, tide_ir_value argument) {
  tide_ir_location location = tide_ir_argument_place(printer->ir, argument);
  if (printer->locations && location) put_location(printer, location);
}

void tide_put_op(struct tide_printer *printer, tide_ir_op op) {
  const struct tide_ir *ir = printer->ir;
  const struct tide_ir_op_record *record = tide_ir_op_of(ir, op);
  if (record->result_count) {
    uint32_t count = record->result_count;
    struct tide_ir_op_record *mutable_record = tide_ir_op_of(ir, op);
    mutable_record->result_count = 1; /* prints the name without #0 */
    tide_put_value(printer, record->results);
    mutable_record->result_count = (uint16_t)count;
    if (count > 1) tide_putf(printer, ":%u", count);
    tide_puts(printer, " = ");
  }
  if (printer->generic || !tide_print_has_form(ir, op)) put_generic(printer, op);
  else tide_put_form(printer, op);
  if (printer->locations) put_location(printer, tide_ir_location_of(ir, op));
}

/* True if the text stays in proportion to the parsed one: the same alias may stand on every
 * operation. */
static bool is_bounded(const struct tide_ir *ir, tide_ir_op root) {
  uint64_t parts = 0, operations = 0;
  for (tide_ir_op op = root; op; op = tide_ir_walk_next(ir, root, op, true)) {
    const struct tide_ir_op_record *record = tide_ir_op_of(ir, op);
    parts += tide_ir_attr_of(ir, record->attributes)->parts;
    operations++;
    for (uint32_t i = 0; i < record->result_count; i++)
      parts += tide_ir_type_of(ir, tide_ir_value_of(ir, record->results + i)->type)->parts;
  }
  return parts <= 4ull * TIDE_IR_PARTS_MAX + 64ull * ir->length + 64 * operations;
}

enum tide_status tide_ir_print(struct tide_ir *ir, tide_ir_op op,
                               const struct tide_ir_print_params *params,
                               const struct tide_ir_out *out) {
  struct tide_printer printer = {.ir = ir,
                                 .out = out,
                                 .generic = params && params->generic,
                                 .locations = params && params->locations};
  if (!op) return TIDE_INVALID;
  if (!is_bounded(ir, op)) {
    tide_ir_error(ir, 0, "the text is too long when its aliases are spelled out");
    return TIDE_FULL;
  }
  bool good = tide_print_number(&printer, op);
  if (good && !printer.too_deep) {
    tide_put_op(&printer, op);
    tide_puts(&printer, "\n");
  }
  flush_printer(&printer);
  tide_print_free(&printer);
  if (!good) return TIDE_NOMEM;
  return printer.too_deep ? TIDE_FULL : TIDE_OK;
}

void tide_ir_print_attr(struct tide_ir *ir, tide_ir_attr attr, size_t most,
                        const struct tide_ir_out *out) {
  struct tide_printer printer = {.ir = ir, .out = out, .most = most};
  tide_put_attr(&printer, attr);
  flush_printer(&printer);
}

/* ---- for messages ---- */

static void cut_short(void *self, const char *bytes, size_t size) {
  tide_text_bytes(self, bytes, size);
}

struct tide_ir_type_text tide_ir_type_name(const struct tide_ir *ir, tide_ir_type type) {
  struct tide_ir_type_text result;
  struct tide_text text;
  tide_text_init(&text, result.text, sizeof result.text);
  struct tide_ir_out out = {cut_short, &text};
  struct tide_printer printer = {.out = &out, .most = sizeof result.text};
  printer.ir = (struct tide_ir *)(uintptr_t)ir; /* printing a type does not change the ir */
  tide_put_type(&printer, type);
  flush_printer(&printer);
  if (tide_text_cut(&text)) tide_text_trim(result.text);
  return result;
}
