/* mods/bits.h: counts the set bits without the compiler's library. */
#ifndef TIDE_MODS_BITS_H
#define TIDE_MODS_BITS_H

#include <stdint.h>

static inline uint32_t tide_bits_count(uint64_t bits) {
  bits -= bits >> 1 & 0x5555555555555555u;
  bits = (bits & 0x3333333333333333u) + (bits >> 2 & 0x3333333333333333u);
  bits = (bits + (bits >> 4)) & 0x0f0f0f0f0f0f0f0fu;
  return (uint32_t)(bits * 0x0101010101010101u >> 56);
}

#endif
