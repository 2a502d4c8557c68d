/* JSON, as much of it as the tool writes. */
#include "tool/tool.h"

#include "base/text.h"

/* JSON is UTF-8. What is not (the name of a file, a text that was cut) has its bytes replaced. */
static void put_text(FILE *to, const char *text) {
  fputc('"', to);
  for (const char *c = text; *c; c++) {
    size_t length = tide_text_utf8(c);
    if (*c == '"' || *c == '\\') fprintf(to, "\\%c", *c);
    else if ((*c > 0 && *c < 32) || *c == 127) fprintf(to, "\\u%04x", (unsigned)*c);
    else if (!length) fputs("\\ufffd", to);
    else fwrite(c, 1, length, to);
    if (length > 1) c += length - 1;
  }
  fputc('"', to);
}

static void next(struct tide_tool_json *json, const char *key) {
  if (json->comma) fputc(',', json->to);
  if (json->depth) fprintf(json->to, "\n%*s", 2 * json->depth, "");
  json->comma = true;
  if (!key) return;
  put_text(json->to, key);
  fputs(": ", json->to);
}

void tide_json_open(struct tide_tool_json *json, const char *key, char bracket) {
  next(json, key);
  fputc(bracket, json->to);
  json->depth++;
  json->comma = false;
}

void tide_json_close(struct tide_tool_json *json, char bracket) {
  bool any = json->comma;
  json->depth--;
  if (any) fprintf(json->to, "\n%*s", 2 * json->depth, "");
  fputc(bracket, json->to);
  json->comma = true;
  if (!json->depth) fputc('\n', json->to);
}

void tide_json_text(struct tide_tool_json *json, const char *key, const char *text) {
  next(json, key);
  put_text(json->to, text);
}

void tide_json_number(struct tide_tool_json *json, const char *key, uint64_t number) {
  next(json, key);
  fprintf(json->to, "%llu", (unsigned long long)number);
}

void tide_json_seconds(struct tide_tool_json *json, const char *key, uint64_t nanoseconds) {
  next(json, key);
  fprintf(json->to, "%.9f", (double)nanoseconds / 1e9);
}

void tide_json_bool(struct tide_tool_json *json, const char *key, bool value) {
  next(json, key);
  fputs(value ? "true" : "false", json->to);
}
