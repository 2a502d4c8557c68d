/* base/params.h: parameter structs of callers that know an older or a newer version of them. */
#ifndef TIDE_BASE_PARAMS_H
#define TIDE_BASE_PARAMS_H

#include "base/sister.h"
#include "tidemark/base.h"

/* Copies `given` to `own`, whose size is `size`; both begin with `size_t struct_size`. Fields that
 * the caller's version lacks become zero, as all of them do if `given` is NULL. TIDE_INVALID: the
 * caller's size is too small to be one; TIDE_UNSUPPORTED: a field that `own` lacks is not zero. */
TIDE_SISTER enum tide_status tide_params_copy(void *own, size_t size, const void *given);

#endif
