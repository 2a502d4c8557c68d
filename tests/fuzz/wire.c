/* Commands and hellos: whatever bytes come, what is let through has all its parts within the
 * record; and what a client makes is let through, as it was made. */
#include "base/check.h"
#include "base/alloc.h"
#include "service/wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_view(const struct tide_wire_record *record, const struct tide_wire_view *view) {
  const unsigned char *end = record->bytes + (size_t)record->command.cells * TIDE_WIRE_CELL;
  TIDE_ASSERT(end <= record->bytes + sizeof record->bytes);
  TIDE_ASSERT((const unsigned char *)(view->points + view->point_count) <= end);
  size_t count = (size_t)view->command->argument_count + view->command->other_count;
  TIDE_ASSERT((const unsigned char *)(view->arguments + count) <= end);
  TIDE_ASSERT((const unsigned char *)view->text + view->command->text_size <= end);
  TIDE_ASSERT((const unsigned char *)view->points > (const unsigned char *)view->command);
  /* The last byte may be read. */
  volatile char last = view->command->text_size ? view->text[view->command->text_size - 1] : 0;
  (void)last;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct tide_wire_record record = {0};
  struct tide_wire_view view;
  struct tide_wire_message hello;
  uint32_t cells = size ? data[0] % (TIDE_WIRE_CELLS + 1) : 0;
  if (size) memcpy(record.bytes, data + 1, size - 1 < sizeof record ? size - 1 : sizeof record);
  if (tide_wire_open(&record, cells, &view) == TIDE_OK) {
    TIDE_ASSERT(cells == record.command.cells);
    check_view(&record, &view);
  }
  /* Mended so far that it should pass. */
  record.command.op = (uint16_t)(1 + record.command.op % (TIDE_WIRE_OPS - 1));
  record.command.flags &= TIDE_WIRE_FLAGS;
  record.command.reserved = 0;
  record.command.argument_count %= TIDE_WIRE_ARGUMENTS + 1;
  record.command.other_count %= TIDE_WIRE_ARGUMENTS + 1;
  cells = tide_wire_cells(&record.command);
  TIDE_ASSERT(cells <= TIDE_WIRE_CELLS);
  record.command.cells = (uint16_t)cells;
  enum tide_status status = tide_wire_open(&record, cells, &view);
  TIDE_ASSERT((status == TIDE_OK) == (cells > 0));
  if (status == TIDE_OK) check_view(&record, &view);
  status = tide_wire_check_hello(data, size, &hello);
  TIDE_ASSERT(status == TIDE_OK || status == TIDE_CORRUPT || status == TIDE_MISMATCH);
  if (status == TIDE_OK)
    for (size_t i = 0; hello.label[i]; i++) TIDE_ASSERT(i + 1 < TIDE_WIRE_LABEL);
  return 0;
}
