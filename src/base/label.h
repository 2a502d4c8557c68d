/* base/label.h: labels, the names that callers give to objects and operations.
 *
 * A label enters the library by tide_label_copy or tide_label_name, and by nothing else. They cut
 * it at 31 bytes, never inside a character, and put '?' in place of control characters, line
 * separators and bytes that are no UTF-8. So a text with a label in it is one line, and a terminal
 * obeys none of it.
 *
 * Without a label, messages use a name:
 *
 *      timeline 3    an object: its kind and its number in its context (a buffer: in its pool)
 *      nap #3        an operation: its body and its number in its queue
 *      empty #3      an operation without a body */
#ifndef TIDE_BASE_LABEL_H
#define TIDE_BASE_LABEL_H

#include "tidemark/base.h"

#define TIDE_LABEL_SIZE 32

/* Copies a label that is not printable ASCII, or too long. `out` may be `label`. */
void tide_label_filter(char out[TIDE_LABEL_SIZE], const char *label);

/* Copies a label; NULL: none, as "". */
static inline void tide_label_copy(char out[TIDE_LABEL_SIZE], const char *label) {
  size_t i = 0;
  unsigned odd = 0;
  for (; label && i < TIDE_LABEL_SIZE - 1 && label[i]; i++) {
    out[i] = label[i];
    odd |= (unsigned)(unsigned char)label[i] - ' ' > '~' - ' ';
  }
  out[i] = 0;
  if (__builtin_expect(odd, 0)) tide_label_filter(out, label);
}

/* Copies the label of an object; without one, its kind and number become its label. */
void tide_label_name(char out[TIDE_LABEL_SIZE], const char *label, const char *kind,
                     uint64_t number);

/* Writes the name of an operation without a label: its body's (NULL: none) and its number. Returns
 * `out`. */
const char *tide_label_operation(char out[TIDE_LABEL_SIZE], const char *body, uint64_t number);

#endif
