/* program/json.h: writes JSON, piece by piece, through the caller's function.
 *
 * Strings are UTF-8. Invalid bytes (in the name of a file, or where a text was cut) are replaced.
 * Nothing is buffered, so nothing can run out. */
#ifndef TIDE_PROGRAM_JSON_H
#define TIDE_PROGRAM_JSON_H

#include "tidemark/base.h"

struct tide_json {
  void (*write)(void *self, const char *bytes, size_t size);
  void *self;
  bool dense; /* no lines and no indentation */
  bool comma; /* the next item needs a comma; starts as false */
  int depth;
};

/* `key` is NULL in lists, and for the outermost value. */
void tide_json_open(struct tide_json *json, const char *key, char bracket);
void tide_json_close(struct tide_json *json, char bracket);
void tide_json_text(struct tide_json *json, const char *key, const char *text);
void tide_json_number(struct tide_json *json, const char *key, uint64_t number);
void tide_json_integer(struct tide_json *json, const char *key, int64_t number);
/* Writes seconds, with nine decimals. */
void tide_json_seconds(struct tide_json *json, const char *key, uint64_t nanoseconds);
void tide_json_bool(struct tide_json *json, const char *key, bool value);

#endif
