/* Sizes and checks of commands and messages. */
#include "service/wire.h"
#include "base/alloc.h"
#include "base/label.h"

static const char *const names[TIDE_WIRE_OPS] = {
    [TIDE_WIRE_NONE] = "UNKNOWN",
    [TIDE_WIRE_FUTURE] = "FUTURE",
    [TIDE_WIRE_PROMISE] = "PROMISE",
    [TIDE_WIRE_FULFIL] = "FULFIL",
    [TIDE_WIRE_BREAK] = "BREAK",
    [TIDE_WIRE_DESTROY] = "DESTROY",
    [TIDE_WIRE_COMPOUND] = "COMPOUND",
    [TIDE_WIRE_ALL] = "ALL",
    [TIDE_WIRE_ANY] = "ANY",
    [TIDE_WIRE_EXPRESSION] = "EXPRESSION",
    [TIDE_WIRE_STATE] = "STATE",
    [TIDE_WIRE_COMPLETE] = "COMPLETE",
    [TIDE_WIRE_SCHEDULABLE] = "SCHEDULABLE",
    [TIDE_WIRE_FORGET] = "FORGET",
    [TIDE_WIRE_GRANT] = "GRANT",
    [TIDE_WIRE_REDEEM] = "REDEEM",
    [TIDE_WIRE_CHANNEL] = "CHANNEL",
    [TIDE_WIRE_SUBMIT] = "SUBMIT",
    [TIDE_WIRE_INCREASE] = "INCREASE",
    [TIDE_WIRE_DECREASE] = "DECREASE",
    [TIDE_WIRE_CANCEL_DECREASE] = "CANCEL_DECREASE",
    [TIDE_WIRE_CANCEL_ALL] = "CANCEL_ALL",
    [TIDE_WIRE_BUFFER] = "BUFFER",
    [TIDE_WIRE_TRUST] = "TRUST",
    [TIDE_WIRE_STATS] = "STATS",
    [TIDE_WIRE_STAND_IN] = "STAND_IN",
    [TIDE_WIRE_REPORT] = "REPORT",
    [TIDE_WIRE_SYNC] = "SYNC",
    [TIDE_WIRE_ALLOCATE] = "ALLOCATE",
};

const char *tide_wire_op_name(uint32_t op) { return op < TIDE_WIRE_OPS ? names[op] : names[0]; }

static size_t points_of(const struct tide_wire_command *command) {
  return (size_t)command->wait_count + command->retire_count +
         !!(command->flags & TIDE_WIRE_HAS_CANCEL) + !!(command->flags & TIDE_WIRE_HAS_CHOOSE);
}

static size_t arguments_of(const struct tide_wire_command *command) {
  return (size_t)command->argument_count + command->other_count;
}

uint32_t tide_wire_cells(const struct tide_wire_command *command) {
  size_t points = points_of(command), arguments = arguments_of(command);
  size_t most = (size_t)TIDE_WIRE_CELLS * TIDE_WIRE_CELL;
  if (points > TIDE_WIRE_POINTS || arguments > 2 * TIDE_WIRE_ARGUMENTS) return 0;
  if (command->text_size > most) return 0;
  size_t size = sizeof *command + points * sizeof(struct tide_wire_point) +
                arguments * sizeof(struct tide_wire_argument) + command->text_size;
  return size > most ? 0 : (uint32_t)((size + TIDE_WIRE_CELL - 1) / TIDE_WIRE_CELL);
}

enum tide_status tide_wire_open(const struct tide_wire_record *record, uint32_t cells,
                                struct tide_wire_view *out_view) {
  const struct tide_wire_command *command = &record->command;
  uint32_t needed = tide_wire_cells(command);
  if (needed == 0 || needed != cells || command->cells != cells) return TIDE_CORRUPT;
  if (command->op == TIDE_WIRE_NONE || command->op >= TIDE_WIRE_OPS) return TIDE_CORRUPT;
  if (command->flags & ~(uint32_t)TIDE_WIRE_FLAGS || command->reserved) return TIDE_CORRUPT;
  if (command->argument_count > TIDE_WIRE_ARGUMENTS || command->other_count > TIDE_WIRE_ARGUMENTS)
    return TIDE_CORRUPT;
  const unsigned char *at = record->bytes + sizeof *command;
  out_view->command = command;
  out_view->points = (const struct tide_wire_point *)(const void *)at;
  out_view->point_count = points_of(command);
  at += out_view->point_count * sizeof(struct tide_wire_point);
  out_view->arguments = (const struct tide_wire_argument *)(const void *)at;
  at += arguments_of(command) * sizeof(struct tide_wire_argument);
  out_view->text = (const char *)at;
  return TIDE_OK;
}

/* Copies a label of another process: other users' tables show it. All bytes are set, since the
 * whole field goes to other processes. */
static void take_label(char out_label[TIDE_WIRE_LABEL], const char *bytes, size_t length) {
  char text[TIDE_WIRE_LABEL];
  if (length >= sizeof text) length = sizeof text - 1;
  memcpy(text, bytes, length);
  text[length] = 0;
  memset(out_label, 0, TIDE_WIRE_LABEL);
  tide_label_copy(out_label, text);
}

void tide_wire_label(const struct tide_wire_view *view, char out_label[TIDE_WIRE_LABEL]) {
  take_label(out_label, view->text, view->command->text_size);
}

void tide_wire_begin(struct tide_wire_message *message, enum tide_wire_kind kind) {
  memset(message, 0, sizeof *message);
  message->magic = TIDE_WIRE_MAGIC;
  message->version = TIDE_WIRE_VERSION;
  message->kind = (uint32_t)kind;
}

enum tide_status tide_wire_check_hello(const void *bytes, size_t size,
                                       struct tide_wire_message *out_hello) {
  if (size != sizeof *out_hello) return TIDE_CORRUPT;
  memcpy(out_hello, bytes, size);
  if (out_hello->magic != TIDE_WIRE_MAGIC) return TIDE_CORRUPT;
  if (out_hello->version != TIDE_WIRE_VERSION) return TIDE_MISMATCH;
  if (out_hello->kind != TIDE_WIRE_HELLO) return TIDE_CORRUPT;
  struct tide_wire_message raw = *out_hello;
  take_label(out_hello->label, raw.label, sizeof raw.label);
  return TIDE_OK;
}
