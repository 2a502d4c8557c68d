/* base/check.h: invariants. TIDE_ASSERT stays on in release builds; use it where
 * the test is cheap beside the work that it guards. */
#ifndef TIDE_BASE_CHECK_H
#define TIDE_BASE_CHECK_H

#include "base/sister.h"

TIDE_SISTER _Noreturn void tide_assert_failed(const char *what, const char *file, int line);

#define TIDE_ASSERT(what)                                                                          \
  (__builtin_expect(!(what), 0) ? tide_assert_failed(#what, __FILE__, __LINE__) : (void)0)

#define TIDE_CONTAINER(pointer, type, member)                                                      \
  ((type *)(void *)((char *)(pointer) - __builtin_offsetof(type, member)))

#endif
