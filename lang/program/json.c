#include "program/json.h"
#include "base/alloc.h"
#include "base/text.h"

static void put_bytes(struct tide_json *json, const char *bytes, size_t size) {
  json->write(json->self, bytes, size);
}

static void put_format(struct tide_json *json, const char *format, uint64_t a, uint64_t b) {
  char buffer[64];
  struct tide_text text;
  tide_text_init(&text, buffer, sizeof buffer);
  tide_text_format(&text, format, (unsigned long long)a, (unsigned long long)b);
  put_bytes(json, buffer, text.length);
}

/* Writes a quoted text. Bytes that need no escape are written in one piece. */
static void put_text(struct tide_json *json, const char *text) {
  const char *plain = text, *at = text;
  put_bytes(json, "\"", 1);
  while (*at) {
    unsigned char c = (unsigned char)*at;
    size_t length = tide_text_utf8(at);
    if (c != '"' && c != '\\' && c >= 32 && c != 127 && length) {
      at += length;
      continue;
    }
    put_bytes(json, plain, (size_t)(at - plain));
    if (c == '"') put_bytes(json, "\\\"", 2);
    else if (c == '\\') put_bytes(json, "\\\\", 2);
    else if (c < 32 || c == 127) put_format(json, "\\u%04llx", c, 0);
    else put_bytes(json, "\\ufffd", 6);
    plain = ++at;
  }
  put_bytes(json, plain, (size_t)(at - plain));
  put_bytes(json, "\"", 1);
}

static void new_line(struct tide_json *json) {
  static const char blanks[] = "                                ";
  if (json->dense) return;
  put_bytes(json, "\n", 1);
  for (size_t left = 2 * (size_t)json->depth; left;) {
    size_t some = left < sizeof blanks - 1 ? left : sizeof blanks - 1;
    put_bytes(json, blanks, some);
    left -= some;
  }
}

static void begin_item(struct tide_json *json, const char *key) {
  if (json->comma) put_bytes(json, ",", 1);
  if (json->depth) new_line(json);
  json->comma = true;
  if (!key) return;
  put_text(json, key);
  put_bytes(json, json->dense ? ":" : ": ", json->dense ? 1 : 2);
}

void tide_json_open(struct tide_json *json, const char *key, char bracket) {
  begin_item(json, key);
  put_bytes(json, &bracket, 1);
  json->depth++;
  json->comma = false;
}

void tide_json_close(struct tide_json *json, char bracket) {
  bool any = json->comma;
  json->depth--;
  if (any) new_line(json);
  put_bytes(json, &bracket, 1);
  json->comma = true;
  if (!json->depth && !json->dense) put_bytes(json, "\n", 1);
}

void tide_json_text(struct tide_json *json, const char *key, const char *text) {
  begin_item(json, key);
  put_text(json, text);
}

void tide_json_number(struct tide_json *json, const char *key, uint64_t number) {
  begin_item(json, key);
  put_format(json, "%llu", number, 0);
}

void tide_json_integer(struct tide_json *json, const char *key, int64_t number) {
  begin_item(json, key);
  if (number < 0) put_bytes(json, "-", 1);
  put_format(json, "%llu", number < 0 ? 0 - (uint64_t)number : (uint64_t)number, 0);
}

void tide_json_seconds(struct tide_json *json, const char *key, uint64_t nanoseconds) {
  begin_item(json, key);
  put_format(json, "%llu.%09llu", nanoseconds / 1000000000, nanoseconds % 1000000000);
}

void tide_json_bool(struct tide_json *json, const char *key, bool value) {
  begin_item(json, key);
  put_bytes(json, value ? "true" : "false", value ? 4 : 5);
}
