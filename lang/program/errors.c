#include "program/errors.h"
#include "base/params.h"

static void add_error(struct tide_errors *errors, enum tide_status status, uint32_t line,
                      uint32_t column, const char *format, va_list list) {
  struct tide_report *report = errors->report;
  if (errors->count++ == 0) errors->status = status;
  if (!report) return;
  if (report->count < report->capacity) {
    struct tide_diag *diag = &report->diags[report->count];
    struct tide_text text;
    *diag = (struct tide_diag){.status = status, .line = line, .column = column};
    tide_text_init(&text, diag->text, sizeof diag->text);
    tide_text_format_list(&text, format, list);
  }
  report->count++;
}

static void add_text(struct tide_errors *errors, enum tide_status status, const char *format, ...) {
  va_list list;
  va_start(list, format);
  add_error(errors, status, 0, 0, format, list);
  va_end(list);
}

bool tide_error(struct tide_errors *errors, enum tide_status status, uint32_t line, uint32_t column,
                const char *format, ...) {
  if (errors->muted || tide_errors_enough(errors)) return false;
  va_list list;
  va_start(list, format);
  add_error(errors, status, line, column, format, list);
  va_end(list);
  return false;
}

bool tide_errors_begin(struct tide_errors *errors, struct tide_report *report, void *own,
                       size_t size, const void *given, const char *name) {
  struct tide_diag diag;
  *errors = (struct tide_errors){.report = report};
  if (report) report->count = 0;
  enum tide_status status = tide_params_copy_named(own, size, given, name, &diag);
  return status == TIDE_OK || tide_error(errors, status, 0, 0, "%s", diag.text);
}

bool tide_error_no_memory(struct tide_errors *errors) {
  /* Reported once, and overrides the status of earlier errors: the list of errors is incomplete. */
  if (errors->status != TIDE_NOMEM) {
    add_text(errors, TIDE_NOMEM, "%s", tide_status_text(TIDE_NOMEM));
    errors->status = TIDE_NOMEM;
  }
  return false;
}

bool tide_errors_enough(const struct tide_errors *errors) {
  return errors->count >= TIDE_ERRORS_MAX || errors->status == TIDE_NOMEM;
}

size_t tide_program_diag_print(const char *file_name, const struct tide_diag *diag, char *buffer,
                               size_t size) {
  struct tide_text text;
  tide_text_init(&text, buffer, size);
  tide_text_format(&text, "%s:", file_name);
  if (diag->line) tide_text_format(&text, "%u:%u:", diag->line, diag->column);
  tide_text_format(&text, " %s", diag->text);
  return text.length;
}
