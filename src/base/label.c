#include "base/label.h"
#include "base/alloc.h"
#include "base/text.h"

/* True if a character of this size prints, and ends no line. */
static bool is_printable(const unsigned char *c, size_t size) {
  if (size == 1) return c[0] >= ' ' && c[0] <= '~';
  if (size == 2) return c[0] != 0xc2 || c[1] >= 0xa0; /* U+0080 to U+009F are controls */
  return size && !(c[0] == 0xe2 && c[1] == 0x80 && (c[2] == 0xa8 || c[2] == 0xa9));
}

/* `out` never overtakes `label`: a character becomes as many bytes, or one. */
void tide_label_filter(char out[TIDE_LABEL_SIZE], const char *label) {
  size_t at = 0;
  while (*label) {
    size_t size = tide_text_utf8(label);
    bool keeps = is_printable((const unsigned char *)label, size);
    size_t bytes = keeps ? size : 1;
    if (at + bytes >= TIDE_LABEL_SIZE) break;
    if (keeps) memmove(out + at, label, bytes);
    else out[at] = '?';
    at += bytes;
    label += size ? size : 1;
  }
  out[at] = 0;
}

void tide_label_name(char out[TIDE_LABEL_SIZE], const char *label, const char *kind,
                     uint64_t number) {
  struct tide_text text;
  tide_label_copy(out, label);
  if (out[0]) return;
  tide_text_init(&text, out, TIDE_LABEL_SIZE);
  tide_text_format(&text, "%s %llu", kind, (unsigned long long)number);
}

const char *tide_label_operation(char out[TIDE_LABEL_SIZE], const char *body, uint64_t number) {
  char digits[24];
  struct tide_text text;
  tide_text_init(&text, digits, sizeof digits);
  tide_text_format(&text, " #%llu", (unsigned long long)number);
  tide_label_copy(out, body && body[0] ? body : "empty");
  /* A long body's name gives way: the number must stay. */
  size_t room = TIDE_LABEL_SIZE - 1 - text.length, length = strlen(out);
  if (length > room) {
    out[room] = 0;
    tide_text_trim(out);
    length = strlen(out);
  }
  memcpy(out + length, digits, text.length + 1);
  return out;
}
