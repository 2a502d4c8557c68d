/* base/text.h: writing text into a buffer of fixed size, without a C library.
 *
 * Text that does not fit is cut, and the buffer stays terminated. `length` counts the whole text,
 * so that a caller can tell whether it was cut. */
#ifndef TIDE_BASE_TEXT_H
#define TIDE_BASE_TEXT_H

#include "base/sister.h"
#include "tidemark/base.h"
#include <stdarg.h>

struct tide_text {
  char *data;
  size_t size;   /* bytes of `data`; 0: only count */
  size_t length; /* bytes of the whole text, cut or not, without the terminator */
};

TIDE_SISTER void tide_text_init(struct tide_text *text, char *data, size_t size);
/* Appends text. Supports %s %.*s %c %d %u %x with l, ll, z; %0Nx and %N widths; %%. No floats. */
TIDE_SISTER void tide_text_format(struct tide_text *text, const char *format, ...)
    TIDE_PRINTF(2, 3);
TIDE_SISTER void tide_text_format_list(struct tide_text *text, const char *format, va_list list);
TIDE_SISTER void tide_text_bytes(struct tide_text *text, const char *bytes, size_t size);
static inline bool tide_text_cut(const struct tide_text *text) {
  return text->length >= text->size;
}

/* Returns the size in bytes of the UTF-8 character at the start of a terminated text; 0: no valid
 * character. */
TIDE_SISTER size_t tide_text_utf8(const char *at);

/* Removes the incomplete UTF-8 character, if any, at the end of a text that was cut. */
TIDE_SISTER void tide_text_trim(char *data);

/* Fills diag (NULL is fine) and returns status, so that `return tide_diag_set(…)` reads well. */
TIDE_SISTER enum tide_status tide_diag_set(struct tide_diag *diag, enum tide_status status,
                                           const char *format, ...) TIDE_PRINTF(3, 4)
    __attribute__((cold));
TIDE_SISTER enum tide_status tide_diag_at(struct tide_diag *diag, enum tide_status status,
                                          uint32_t line, uint32_t column, const char *format, ...)
    TIDE_PRINTF(5, 6);

#endif
