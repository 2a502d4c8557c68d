/* Modules: any bytes are refused with an error, or give a program whose two printed forms are read
 * again as the same program, and do not change any more. */
#include "mods/ir.h"

#include <stdlib.h>
#include <string.h>

static void expect(bool holds) {
  if (!holds) abort();
}

static void count(void *self, const struct tide_mods_diagnostic *d) {
  (void)self;
  expect(d->text != NULL && d->file != NULL && (d->line != 0 || d->column == 0));
}

struct buffer {
  char *data;
  size_t length, capacity;
};

static void append(void *self, const char *bytes, size_t size) {
  struct buffer *buffer = self;
  if (buffer->length + size > buffer->capacity) {
    buffer->capacity = 2 * (buffer->length + size);
    buffer->data = realloc(buffer->data, buffer->capacity);
    expect(buffer->data != NULL);
  }
  memcpy(buffer->data + buffer->length, bytes, size);
  buffer->length += size;
}

/* NULL: it is refused, which was told. */
static struct tide_ir *parse(const char *text, size_t length) {
  static const struct tide_mods_sink sink = {count, NULL};
  struct tide_ir_parse_params params = {.text = text, .length = length, .any_operation = true};
  struct tide_ir *ir;
  expect(tide_ir_create(tide_allocator_system(), &ir) == TIDE_OK);
  ir->sink = &sink;
  enum tide_status status = tide_ir_parse(ir, &params);
  if (status == TIDE_OK) return ir;
  expect(status == TIDE_FULL || ir->errors > 0);
  tide_ir_destroy(ir);
  return NULL;
}

static struct buffer print(struct tide_ir *ir, bool generic, bool locations) {
  struct buffer buffer = {malloc(1), 0, 1};
  struct tide_ir_print_params params = {generic, locations};
  struct tide_ir_out out = {append, &buffer};
  enum tide_status status = tide_ir_print(ir, ir->module, &params, &out);
  expect(status == TIDE_OK || (status == TIDE_FULL && buffer.length == 0)); /* aliases everywhere */
  return buffer;
}

static void check_again(struct tide_ir *ir, bool generic) {
  struct buffer first = print(ir, generic, false);
  if (!first.length) {
    free(first.data);
    return;
  }
  struct tide_ir *again = parse(first.data, first.length);
  expect(again != NULL && again->op_count == ir->op_count);
  struct buffer second = print(again, generic, false);
  expect(first.length == second.length && memcmp(first.data, second.data, first.length) == 0);
  free(first.data);
  free(second.data);
  tide_ir_destroy(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct tide_ir *ir = parse((const char *)data, size);
  if (!ir) return 0;
  if (tide_ir_verify(ir, NULL) == TIDE_OK) {
    check_again(ir, false);
    check_again(ir, true);
    free(print(ir, true, true).data);
    tide_ir_throttle(ir);
    tide_ir_fold(ir);
    expect(tide_ir_verify(ir, NULL) == TIDE_OK);
    check_again(ir, false);
  }
  tide_ir_destroy(ir);
  return 0;
}
