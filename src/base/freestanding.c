/* The few functions that the compiler and base/alloc.h expect of a C library,
 * for builds that have none (wasm32). */
#include "base/check.h"
#include "base/alloc.h"

#if !__STDC_HOSTED__ || defined(TIDE_FREESTANDING)

#if defined(__wasm_bulk_memory__)

/* Each builtin compiles to one instruction, in line. */
void *memcpy(void *restrict to, const void *restrict from, size_t size) {
  return __builtin_memcpy(to, from, size);
}
void *memmove(void *to, const void *from, size_t size) { return __builtin_memmove(to, from, size); }
void *memset(void *to, int byte, size_t size) { return __builtin_memset(to, byte, size); }

#else

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

#endif

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

#if defined(__wasm__)

/* 64 x 64 -> 128 bits: wasm32 has no instruction for it, and the compiler calls this for
 * __int128 and for products that are checked for overflow. */
__int128 __multi3(__int128 a, __int128 b);

__int128 __multi3(__int128 a, __int128 b) {
  union {
    __int128 all;
    uint64_t half[2];
  } x = {a}, y = {b}, product;
  uint64_t x0 = x.half[0] & 0xffffffffu, x1 = x.half[0] >> 32;
  uint64_t y0 = y.half[0] & 0xffffffffu, y1 = y.half[0] >> 32;
  uint64_t low = x0 * y0;
  uint64_t middle = x1 * y0 + (low >> 32);
  uint64_t carry = x0 * y1 + (middle & 0xffffffffu);
  product.half[0] = carry << 32 | (low & 0xffffffffu);
  product.half[1] =
      x1 * y1 + (middle >> 32) + (carry >> 32) + x.half[1] * y.half[0] + x.half[0] * y.half[1];
  return product.all;
}

#endif

#endif
