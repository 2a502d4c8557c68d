#include "base/text.h"
#include "base/alloc.h"

void tide_text_init(struct tide_text *text, char *data, size_t size) {
  *text = (struct tide_text){data, size, 0};
  if (size) data[0] = 0;
}

void tide_text_bytes(struct tide_text *text, const char *bytes, size_t size) {
  if (text->length + 1 < text->size) {
    size_t space = text->size - 1 - text->length;
    size_t fits = size < space ? size : space;
    memcpy(text->data + text->length, bytes, fits);
    text->data[text->length + fits] = 0;
  }
  text->length += size;
}

struct directive {
  uint32_t width;
  size_t precision;
  bool zero, has_precision, left;
  int longs; /* 0 int, 1 long or size_t, 2 long long */
};

static const char *parse_directive(const char *at, struct directive *out, va_list *list) {
  *out = (struct directive){0};
  for (;; at++) {
    if (*at == '0') out->zero = true;
    else if (*at == '-') out->left = true;
    else break;
  }
  if (*at == '*') {
    out->width = (uint32_t)va_arg(*list, int);
    at++;
  }
  while (*at >= '0' && *at <= '9') out->width = out->width * 10 + (uint32_t)(*at++ - '0');
  if (*at == '.') {
    out->has_precision = true;
    at++;
    if (*at == '*') {
      int given = va_arg(*list, int);
      out->precision = given < 0 ? 0 : (size_t)given;
      at++;
    }
    while (*at >= '0' && *at <= '9') out->precision = out->precision * 10 + (size_t)(*at++ - '0');
  }
  while (*at == 'l' || *at == 'z') out->longs++, at++;
  return at;
}

static void put_padding(struct tide_text *text, char fill, size_t used, size_t width) {
  for (; used < width; used++) tide_text_bytes(text, &fill, 1);
}

static void put_number(struct tide_text *text, const struct directive *d, uint64_t value,
                       bool negative, uint32_t base) {
  char digits[24];
  size_t at = sizeof digits;
  do {
    digits[--at] = "0123456789abcdef"[value % base];
    value /= base;
  } while (value);
  size_t used = sizeof digits - at + negative;
  if (negative && d->zero) tide_text_bytes(text, "-", 1);
  if (!d->left) put_padding(text, d->zero ? '0' : ' ', used, d->width);
  if (negative && !d->zero) tide_text_bytes(text, "-", 1);
  tide_text_bytes(text, digits + at, sizeof digits - at);
  if (d->left) put_padding(text, ' ', used, d->width);
}

static void put_string(struct tide_text *text, const struct directive *d, const char *string) {
  if (!string) string = "(none)";
  size_t length = 0;
  while ((!d->has_precision || length < d->precision) && string[length]) length++;
  if (!d->left) put_padding(text, ' ', length, d->width);
  tide_text_bytes(text, string, length);
  if (d->left) put_padding(text, ' ', length, d->width);
}

static uint64_t get_unsigned(const struct directive *d, va_list *list) {
  if (d->longs == 0) return va_arg(*list, unsigned);
  if (d->longs == 1) return va_arg(*list, unsigned long);
  return va_arg(*list, unsigned long long);
}

static int64_t get_signed(const struct directive *d, va_list *list) {
  if (d->longs == 0) return va_arg(*list, int);
  if (d->longs == 1) return va_arg(*list, long);
  return va_arg(*list, long long);
}

void tide_text_format_list(struct tide_text *text, const char *format, va_list source) {
  va_list list;
  va_copy(list, source);
  while (*format) {
    const char *start = format;
    while (*format && *format != '%') format++;
    tide_text_bytes(text, start, (size_t)(format - start));
    if (!*format) break;
    struct directive d;
    format = parse_directive(format + 1, &d, &list);
    switch (*format) {
      case 's': put_string(text, &d, va_arg(list, const char *)); break;
      case 'c': {
        char c = (char)va_arg(list, int);
        tide_text_bytes(text, &c, 1);
        break;
      }
      case 'd': {
        int64_t value = get_signed(&d, &list);
        put_number(text, &d, value < 0 ? 0 - (uint64_t)value : (uint64_t)value, value < 0, 10);
        break;
      }
      case 'u': put_number(text, &d, get_unsigned(&d, &list), false, 10); break;
      case 'x': put_number(text, &d, get_unsigned(&d, &list), false, 16); break;
      case '%': tide_text_bytes(text, "%", 1); break;
      default: tide_text_bytes(text, "?", 1); break;
    }
    if (*format) format++;
  }
  va_end(list);
}

void tide_text_format(struct tide_text *text, const char *format, ...) {
  va_list list;
  va_start(list, format);
  tide_text_format_list(text, format, list);
  va_end(list);
}

static void fill_diag(struct tide_diag *diag, enum tide_status status, uint32_t line,
                      uint32_t column, const char *format, va_list list) {
  struct tide_text text;
  diag->status = status;
  diag->line = line;
  diag->column = column;
  tide_text_init(&text, diag->text, sizeof diag->text);
  tide_text_format_list(&text, format, list);
}

enum tide_status tide_diag_set(struct tide_diag *diag, enum tide_status status, const char *format,
                               ...) {
  if (!diag) return status;
  va_list list;
  va_start(list, format);
  fill_diag(diag, status, 0, 0, format, list);
  va_end(list);
  return status;
}

enum tide_status tide_diag_at(struct tide_diag *diag, enum tide_status status, uint32_t line,
                              uint32_t column, const char *format, ...) {
  if (!diag) return status;
  va_list list;
  va_start(list, format);
  fill_diag(diag, status, line, column, format, list);
  va_end(list);
  return status;
}

size_t tide_text_utf8(const char *at) {
  const unsigned char *c = (const unsigned char *)at;
  if (c[0] < 0x80) return c[0] != 0;
  size_t length = c[0] >= 0xf0 ? 4 : c[0] >= 0xe0 ? 3 : 2;
  if (c[0] < 0xc2 || c[0] > 0xf4) return 0;
  for (size_t i = 1; i < length; i++)
    if ((c[i] & 0xc0) != 0x80) return 0;
  /* Overlong, a surrogate, or above U+10FFFF. */
  if ((c[0] == 0xe0 && c[1] < 0xa0) || (c[0] == 0xed && c[1] > 0x9f)) return 0;
  if ((c[0] == 0xf0 && c[1] < 0x90) || (c[0] == 0xf4 && c[1] > 0x8f)) return 0;
  return length;
}

void tide_text_trim(char *data) {
  size_t end = strlen(data), at = end;
  while (at && ((unsigned char)data[at - 1] & 0xc0) == 0x80 && end - at < 3) at--;
  if (at && (unsigned char)data[at - 1] >= 0xc0 && !tide_text_utf8(data + at - 1)) data[at - 1] = 0;
}
