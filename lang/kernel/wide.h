/* kernel/wide.h: loops over vectors, written once.
 *
 * A hot function is TIDE_INLINE and is called from two small functions: a plain one, and a
 * TIDE_WIDE one that the compiler builds with 256-bit instructions. Each body tests once which of
 * the two to run. The vector types work on every machine: the compiler splits them where the
 * registers are smaller. */
#ifndef TIDE_KERNEL_WIDE_H
#define TIDE_KERNEL_WIDE_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#define TIDE_INLINE static inline __attribute__((always_inline))
#if defined(__x86_64__) && !defined(TIDE_NARROW)
#define TIDE_WIDE __attribute__((target("avx2")))
static inline bool tide_wide(void) { return __builtin_cpu_supports("avx2"); }
#else
#define TIDE_WIDE
static inline bool tide_wide(void) { return false; }
#endif

typedef uint8_t tide_8x8 __attribute__((vector_size(8)));
typedef uint8_t tide_8x16 __attribute__((vector_size(16)));
typedef uint16_t tide_16x8 __attribute__((vector_size(16)));
typedef uint16_t tide_16x16 __attribute__((vector_size(32)));
typedef int32_t tide_32x8 __attribute__((vector_size(32)));
typedef float tide_float8 __attribute__((vector_size(32)));

/* Slices start at any byte, so vectors are loaded and stored by memcpy, which compiles to one
 * instruction. */
#define TIDE_LOAD(vector, address) memcpy(&(vector), (address), sizeof(vector))
#define TIDE_STORE(vector, address) memcpy((address), &(vector), sizeof(vector))

/* Stores eight lanes of 0..255 as eight bytes. Two packs replace the lane-by-lane code that the
 * compilers generate here. */
TIDE_INLINE void tide_store_bytes(const tide_32x8 *lanes, unsigned char *to) {
#if defined(__SSE2__)
  __m128i half[2];
  memcpy(half, lanes, sizeof half);
  __m128i words = _mm_packs_epi32(half[0], half[1]);
  _mm_storel_epi64((__m128i *)(void *)to, _mm_packus_epi16(words, words));
#else
  tide_8x8 bytes = __builtin_convertvector(*lanes, tide_8x8);
  TIDE_STORE(bytes, to);
#endif
}

#endif
