/* program/json.h: writing JSON, piece by piece, to wherever the caller wants it.
 *
 * Strings are UTF-8; what is not (the name of a file, a text that was cut) has its
 * bytes replaced. Nothing is kept, so nothing can run out. */
#ifndef TIDE_PROGRAM_JSON_H
#define TIDE_PROGRAM_JSON_H

#include "tidemark/base.h"

struct tide_json {
  void (*write)(void *self, const char *bytes, size_t size);
  void *self;
  bool dense; /* no lines and no indentation */
  bool comma; /* the rest begins as zero */
  int depth;
};

/* `key` is NULL in lists, and for the whole. */
void tide_json_open(struct tide_json *json, const char *key, char bracket);
void tide_json_close(struct tide_json *json, char bracket);
void tide_json_text(struct tide_json *json, const char *key, const char *text);
void tide_json_number(struct tide_json *json, const char *key, uint64_t number);
void tide_json_integer(struct tide_json *json, const char *key, int64_t number);
/* As seconds, with nine digits behind the point. */
void tide_json_seconds(struct tide_json *json, const char *key, uint64_t nanoseconds);
void tide_json_bool(struct tide_json *json, const char *key, bool value);

#endif
