/* program/errors.h: what is wrong, collected. */
#ifndef TIDE_PROGRAM_ERRORS_H
#define TIDE_PROGRAM_ERRORS_H

#include "base/text.h"
#include "tidemark/program.h"

#define TIDE_ERRORS_MAX 20 /* then reading stops, whatever the report has room for */

struct tide_errors {
  struct tide_report *report; /* may be NULL */
  enum tide_status status;    /* the first error's */
  size_t count;
  bool muted; /* what is wrong now has been said already */
};

/* Returns false, so that `return tide_error(…)` reads well. */
bool tide_error(struct tide_errors *errors, enum tide_status status, uint32_t line, uint32_t column,
                const char *format, ...) TIDE_PRINTF(5, 6);
bool tide_error_no_memory(struct tide_errors *errors);
/* Is it time to stop? */
bool tide_errors_enough(const struct tide_errors *errors);

#endif
