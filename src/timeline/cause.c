#include "timeline/cause.h"
#include "base/atomic.h"
#include "base/alloc.h"

struct tide_cause *tide_cause_create(struct tide_context *context,
                                     const struct tide_failure *failure) {
  struct tide_cause *cause = tide_alloc(context->allocator, 1, sizeof *cause);
  if (!cause) return NULL;
  cause->allocator = context->allocator;
  cause->references = 1;
  cause->failure = *failure;
  return cause;
}

struct tide_cause *tide_cause_retain(struct tide_cause *cause) {
  if (cause) tide_fetch_add(&cause->references, 1u);
  return cause;
}

void tide_cause_release(struct tide_cause *cause) {
  if (cause && tide_fetch_sub(&cause->references, 1u) == 1)
    tide_free(cause->allocator, cause, 1, sizeof *cause);
}
