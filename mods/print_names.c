/* Chooses the printed name of each value: as written if possible, else numbered as in MLIR. */
#include "mods/print.h"
#include "mods/intern.h"
#include "base/alloc.h"
#include "base/text.h"

/* Numbers of the next unnamed value and argument. Inner regions continue the outer region's. */
struct numbers {
  uint32_t value, argument;
};

static bool is_number(const char *text, size_t length) {
  for (size_t i = 0; i < length; i++)
    if (text[i] < '0' || text[i] > '9') return false;
  return length > 0;
}

/* Reserves a name; false: a visible value has it. */
static bool take_name(struct tide_printer *printer, tide_ir_string name) {
  if (name >= printer->taken_count || printer->taken[name]) return false;
  printer->taken[name] = 1;
  return true;
}

/* Gives the value its written name; false: unwritten, or not free. */
static bool name_as_written(struct tide_printer *printer, tide_ir_value value) {
  size_t length;
  const char *text = printer->generic ? NULL : tide_ir_value_name(printer->ir, value, &length);
  if (!text || is_number(text, length)) return false;
  tide_ir_string name = tide_ir_intern(printer->ir, text, length);
  if (!name || !take_name(printer, name)) return false;
  printer->value_names[value] = name | TIDE_PRINT_NAMED;
  return true;
}

static void name_argument(struct tide_printer *printer, tide_ir_value value,
                          struct numbers *numbers) {
  char buffer[24];
  struct tide_text text;
  if (name_as_written(printer, value)) return;
  for (;;) {
    tide_text_init(&text, buffer, sizeof buffer);
    tide_text_format(&text, "arg%u", numbers->argument);
    tide_ir_string string = printer->generic ? 0 : tide_ir_intern(printer->ir, buffer, text.length);
    /* A new string cannot be reserved. */
    if (!string || string >= printer->taken_count || take_name(printer, string)) break;
    numbers->argument++;
  }
  printer->value_names[value] = numbers->argument++ | TIDE_PRINT_ARGUMENT;
}

static void name_results(struct tide_printer *printer, const struct tide_ir_op_record *op,
                         struct numbers *numbers) {
  if (!op->result_count || name_as_written(printer, op->results)) return;
  printer->value_names[op->results] = ++numbers->value;
}

static void name_region(struct tide_printer *printer, tide_ir_region region,
                        struct numbers numbers);

static void name_block(struct tide_printer *printer, tide_ir_block block, struct numbers *numbers) {
  const struct tide_ir_block_record *record = tide_ir_block_of(printer->ir, block);
  for (uint32_t i = 0; i < record->argument_count; i++)
    name_argument(printer, record->arguments + i, numbers);
  for (tide_ir_op op = record->first; op; op = tide_ir_op_of(printer->ir, op)->next)
    name_results(printer, tide_ir_op_of(printer->ir, op), numbers);
}

static void name_inside(struct tide_printer *printer, tide_ir_op op, struct numbers numbers) {
  const struct tide_ir_op_record *record = tide_ir_op_of(printer->ir, op);
  for (uint32_t i = 0; i < record->region_count; i++)
    name_region(printer, record->regions + i, numbers);
}

/* Releases the names of a region's values, at the region's end. */
static void release_names(struct tide_printer *printer, tide_ir_value first, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    uint32_t name = printer->value_names[first + i];
    if (name & TIDE_PRINT_NAMED) printer->taken[name & ~TIDE_PRINT_NAMED] = 0;
  }
}

static void name_region(struct tide_printer *printer, tide_ir_region region,
                        struct numbers numbers) {
  struct tide_ir *ir = printer->ir;
  uint32_t blocks = 0;
  tide_ir_block first = tide_ir_region_of(ir, region)->first;
  if (printer->depth >= 2 * TIDE_IR_DEPTH_MAX) {
    printer->too_deep = true;
    return;
  }
  printer->depth++;
  for (tide_ir_block block = first; block; block = tide_ir_block_of(ir, block)->next) {
    printer->block_names[block] = blocks++;
    name_block(printer, block, &numbers);
  }
  for (tide_ir_block block = first; block; block = tide_ir_block_of(ir, block)->next)
    for (tide_ir_op op = tide_ir_block_of(ir, block)->first; op; op = tide_ir_op_of(ir, op)->next)
      if (tide_ir_op_of(ir, op)->region_count) name_inside(printer, op, numbers);
  for (tide_ir_block block = first; block; block = tide_ir_block_of(ir, block)->next) {
    const struct tide_ir_block_record *record = tide_ir_block_of(ir, block);
    release_names(printer, record->arguments, record->argument_count);
    for (tide_ir_op op = record->first; op; op = tide_ir_op_of(ir, op)->next)
      release_names(printer, tide_ir_op_of(ir, op)->results,
                    tide_ir_op_of(ir, op)->result_count ? 1 : 0);
  }
  printer->depth--;
}

/* Interns all written names, so that each is below `taken_count`. */
static void intern_names(struct tide_ir *ir) {
  size_t length;
  for (tide_ir_value value = 1; value < ir->values.count; value++) {
    const char *text = tide_ir_value_name(ir, value, &length);
    if (text) (void)tide_ir_intern(ir, text, length);
  }
}

bool tide_print_number(struct tide_printer *printer, tide_ir_op root) {
  struct tide_ir *ir = printer->ir;
  struct numbers numbers = {0, 0};
  printer->value_count = ir->values.count;
  printer->block_count = ir->blocks.count;
  if (!printer->generic) intern_names(ir);
  printer->taken_count = ir->tables->strings.count;
  printer->value_names =
      tide_alloc(ir->allocator, printer->value_count, sizeof *printer->value_names);
  printer->block_names =
      tide_alloc(ir->allocator, printer->block_count, sizeof *printer->block_names);
  printer->taken = tide_alloc(ir->allocator, printer->taken_count, 1);
  if (!printer->value_names || !printer->block_names || !printer->taken) return false;
  name_results(printer, tide_ir_op_of(ir, root), &numbers);
  name_inside(printer, root, numbers);
  return true;
}

void tide_print_free(struct tide_printer *printer) {
  const struct tide_allocator *allocator = printer->ir->allocator;
  tide_free(allocator, printer->value_names, printer->value_count, sizeof(uint32_t));
  tide_free(allocator, printer->block_names, printer->block_count, sizeof(uint32_t));
  tide_free(allocator, printer->taken, printer->taken_count, 1);
}

void tide_put_value(struct tide_printer *printer, tide_ir_value value) {
  const struct tide_ir *ir = printer->ir;
  value = tide_ir_resolve(ir, value);
  tide_ir_op op = value ? tide_ir_defining_op(ir, value) : 0;
  tide_ir_value first = op ? tide_ir_op_of(ir, op)->results : value;
  uint32_t name = printer->value_names[first];
  if (!value || !name) tide_puts(printer, "%<<unknown>>");
  else if (name & TIDE_PRINT_NAMED)
    tide_putf(printer, "%%%s", tide_ir_string_text(ir, name & ~TIDE_PRINT_NAMED, NULL));
  else if (name & TIDE_PRINT_ARGUMENT) tide_putf(printer, "%%arg%u", name & ~TIDE_PRINT_ARGUMENT);
  else tide_putf(printer, "%%%u", name - 1);
  if (op && tide_ir_op_of(ir, op)->result_count > 1) tide_putf(printer, "#%u", value - first);
}
