/* tidemark/body.h: bodies with described signatures, and tables of them.
 *
 * The model. A *body* is a C function with a described signature. To build an operation, fill one
 * `struct tide_argument` per parameter, in order. The array is copied into the operation and passed
 * to the function. The description allows a check of a program's text, or of another process's
 * command, before the function runs.
 *
 * Tables come from tidemark/kernel.h (the built-in ones), from plugins, or from the caller.
 *
 * Source: docs/programs.md.
 */
#ifndef TIDEMARK_BODY_H
#define TIDEMARK_BODY_H

#include "tidemark/queue.h"

#ifdef __cplusplus
extern "C" {
#endif

enum tide_param_kind {
  TIDE_PARAM_IN,      /* a buffer or slice that is read: data, size */
  TIDE_PARAM_OUT,     /* … written */
  TIDE_PARAM_INOUT,   /* … read and written */
  TIDE_PARAM_FILE,    /* an open file: descriptor */
  TIDE_PARAM_INTEGER, /* integer */
  TIDE_PARAM_TEXT     /* text, size = length; must outlive the operation */
};

struct tide_param {
  const char *name;
  enum tide_param_kind kind;
  bool optional; /* an integer defaults to `fallback`, a buffer to data NULL, size 0 */
  int64_t fallback;
};

struct tide_argument {
  union {
    void *data;
    int64_t integer;
    const char *text;
    int descriptor;
  };
  union {
    uint64_t size;    /* size of data or text, in bytes */
    const char *name; /* name of a descriptor's file, for messages; NULL: none */
  };
};

#define TIDE_PARAMS_MAX (TIDE_ARGUMENTS_MAX / sizeof(struct tide_argument))

struct tide_body {
  struct tide_body_class class_; /* host gets a struct tide_argument[param_count] */
  const struct tide_param *params;
  size_t param_count;  /* at most TIDE_PARAMS_MAX */
  const char *summary; /* a single line for readers */
};

/* A table of bodies. Constant; must outlive the plans and the services made with it. */
struct tide_body_set {
  const struct tide_body *bodies;
  size_t count;
};

#ifdef __cplusplus
}
#endif
#endif
