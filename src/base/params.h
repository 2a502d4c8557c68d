/* base/params.h: parameter structs of callers that were built with an older or a newer version of
 * them. */
#ifndef TIDE_BASE_PARAMS_H
#define TIDE_BASE_PARAMS_H

#include "base/sister.h"
#include "tidemark/base.h"

/* Copies `given` to `own`, which has `size` bytes; both begin with `size_t struct_size`. Fields
 * that the caller's version lacks become zero; if `given` is NULL, all do. TIDE_INVALID: the
 * caller's struct_size does not cover that field itself; TIDE_UNSUPPORTED: a field that `own` lacks
 * is not zero. */
TIDE_SISTER enum tide_status tide_params_copy(void *own, size_t size, const void *given);
/* The same; a refusal names the struct. `diag` may be NULL. */
TIDE_SISTER enum tide_status tide_params_copy_named(void *own, size_t size, const void *given,
                                                    const char *name, struct tide_diag *diag);

#endif
