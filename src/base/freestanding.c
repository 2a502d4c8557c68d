/* The few functions that the compiler and base/memory.h expect of a C library,
 * for builds that have none (wasm32). */
#include "base/check.h"
#include "base/memory.h"

#if !__STDC_HOSTED__ || defined(TIDE_FREESTANDING)

void *memcpy(void *restrict to, const void *restrict from, size_t size) {
  unsigned char *t = to;
  const unsigned char *f = from;
  while (size--) *t++ = *f++;
  return to;
}

void *memmove(void *to, const void *from, size_t size) {
  unsigned char *t = to;
  const unsigned char *f = from;
  if (t <= f) {
    while (size--) *t++ = *f++;
  } else {
    while (size--) t[size] = f[size];
  }
  return to;
}

void *memset(void *to, int byte, size_t size) {
  unsigned char *t = to;
  while (size--) *t++ = (unsigned char)byte;
  return to;
}

int memcmp(const void *a, const void *b, size_t size) {
  const unsigned char *x = a, *y = b;
  for (size_t i = 0; i < size; i++) {
    if (x[i] != y[i]) return x[i] < y[i] ? -1 : 1;
  }
  return 0;
}

size_t strlen(const char *text) {
  size_t length = 0;
  while (text[length]) length++;
  return length;
}

int strcmp(const char *a, const char *b) {
  while (*a && *a == *b) a++, b++;
  return (unsigned char)*a - (unsigned char)*b;
}

_Noreturn void tide_assert_failed(const char *what, const char *file, int line) {
  (void)what, (void)file, (void)line;
  __builtin_trap();
}

#endif
