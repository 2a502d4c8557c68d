/* program/errors.h: collects the errors of a program. */
#ifndef TIDE_PROGRAM_ERRORS_H
#define TIDE_PROGRAM_ERRORS_H

#include "base/text.h"
#include "tidemark/program.h"

#define TIDE_ERRORS_MAX 20 /* parsing stops at this many, even if the report has more capacity */

struct tide_errors {
  struct tide_report *report; /* may be NULL */
  enum tide_status status;    /* the first error's, unless out of memory */
  size_t count;
  bool muted; /* drop errors: the statement has reported one already */
};

/* Adds an error. Returns false, so that `return tide_error(…)` reads well. */
bool tide_error(struct tide_errors *errors, enum tide_status status, uint32_t line, uint32_t column,
                const char *format, ...) TIDE_PRINTF(5, 6);
/* Begins a report, and copies a parameter struct (base/params.h). False: an error was added. */
bool tide_errors_begin(struct tide_errors *errors, struct tide_report *report, void *own,
                       size_t size, const void *given, const char *name);
bool tide_error_no_memory(struct tide_errors *errors);
/* True if parsing should stop. */
bool tide_errors_enough(const struct tide_errors *errors);

#endif
