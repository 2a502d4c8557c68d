/* Sends diagnostics about a module to its sink. */
#include "mods/place.h"
#include "base/text.h"

#define MESSAGE_MAX 1024

static void send_diagnostic(struct tide_ir *ir, enum tide_mods_severity severity,
                            tide_ir_location location, const char *message) {
  struct tide_ir_place place = tide_ir_where(ir, location);
  struct tide_mods_diagnostic diagnostic = {.severity = severity,
                                            .file = place.file,
                                            .line = place.line,
                                            .column = place.line ? place.column : 0,
                                            .text = message,
                                            .source = place.source,
                                            .source_length = place.source_length};
  ir->sink->diagnostic(ir->sink->self, &diagnostic);
}

/* True if the sink gets the diagnostic: it is below the limit, or a note to one that was. */
static bool is_told(struct tide_ir *ir, enum tide_mods_severity severity) {
  uint32_t count = severity == TIDE_MODS_ERROR     ? ir->errors
                   : severity == TIDE_MODS_WARNING ? ir->warnings
                                                   : 0;
  if (severity != TIDE_MODS_NOTE) ir->is_muted = ir->errors_max && count > ir->errors_max;
  return !ir->is_muted;
}

static void emit_message(struct tide_ir *ir, enum tide_mods_severity severity,
                         tide_ir_location location, const char *op_name, const char *format,
                         va_list list) {
  char message[MESSAGE_MAX];
  struct tide_text text;
  if (severity == TIDE_MODS_ERROR) ir->errors++;
  if (severity == TIDE_MODS_WARNING) ir->warnings++;
  if (!ir->sink || !is_told(ir, severity)) return;
  tide_text_init(&text, message, sizeof message);
  if (op_name) tide_text_format(&text, "'%s' op ", op_name);
  tide_text_format_list(&text, format, list);
  if (tide_text_cut(&text)) tide_text_trim(message);
  send_diagnostic(ir, severity, location, message);
  if (severity == TIDE_MODS_NOTE) return;
  for (tide_ir_location at = tide_ir_caller(ir, location); at; at = tide_ir_caller(ir, at))
    send_diagnostic(ir, TIDE_MODS_NOTE, at, "called from");
}

bool tide_ir_error(struct tide_ir *ir, tide_ir_location location, const char *format, ...) {
  va_list list;
  va_start(list, format);
  emit_message(ir, TIDE_MODS_ERROR, location, NULL, format, list);
  va_end(list);
  return false;
}

bool tide_ir_note(struct tide_ir *ir, tide_ir_location location, const char *format, ...) {
  va_list list;
  va_start(list, format);
  emit_message(ir, TIDE_MODS_NOTE, location, NULL, format, list);
  va_end(list);
  return false;
}

bool tide_ir_op_error(struct tide_ir *ir, tide_ir_op op, const char *format, ...) {
  va_list list;
  va_start(list, format);
  emit_message(ir, TIDE_MODS_ERROR, tide_ir_location_of(ir, op), tide_ir_op_name(ir, op), format,
               list);
  va_end(list);
  return false;
}

bool tide_ir_op_warning(struct tide_ir *ir, tide_ir_op op, const char *format, ...) {
  va_list list;
  va_start(list, format);
  emit_message(ir, TIDE_MODS_WARNING, tide_ir_location_of(ir, op), tide_ir_op_name(ir, op), format,
               list);
  va_end(list);
  return false;
}

bool tide_ir_op_remark(struct tide_ir *ir, tide_ir_op op, const char *format, ...) {
  va_list list;
  va_start(list, format);
  emit_message(ir, TIDE_MODS_REMARK, tide_ir_location_of(ir, op), tide_ir_op_name(ir, op), format,
               list);
  va_end(list);
  return false;
}
