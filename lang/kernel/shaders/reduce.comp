// reduce: adds the sum of 64-bit words to the result, which is 0 before. Each workgroup adds its own sum.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "slice.glsl"
#define INVOCATIONS 128
layout(local_size_x = INVOCATIONS) in;
layout(push_constant) uniform Arguments { uint from_at, to_at, count; };
BUFFER(0, readonly, from)
RESULT(1)

shared uvec2 sums[INVOCATIONS];

uvec2 add(uvec2 a, uvec2 b) {
  uint carry, low = uaddCarry(a.x, b.x, carry);
  return uvec2(low, a.y + b.y + carry);
}

// Adds to a word of the result. Returns the carry.
uint add_word(uint word, uint value) {
  uint carry, old = atomicAdd(to[word], value);
  uaddCarry(old, value, carry);
  return carry;
}

// Adds to the bits of the mask, which start at bit 0. A carry out of them is lost.
void add_bits(uint word, uint mask, uint value) {
  uint old = to[word], seen;
  for (;;) {
    seen = atomicCompSwap(to[word], old, old & ~mask | old + value & mask);
    if (seen == old) break;
    old = seen;
  }
}

// An unaligned result has bytes of three words. What is added to the first leaves its lower bytes alone, as these get 0.
void add_to_result(uvec2 sum) {
  uint word = to_at >> 2, shift = (to_at & 3u) * 8u, carry;
  uint middle = shift == 0u ? sum.y : sum.x >> (32u - shift) | sum.y << shift;
  middle = uaddCarry(middle, add_word(word, sum.x << shift), carry);
  carry += add_word(word + 1u, middle);
  if (shift != 0u) add_bits(word + 2u, ~(~0u << shift), (sum.y >> (32u - shift)) + carry);
}

void main() {
  uvec2 sum = uvec2(0u);
  SHARE(i, 0u, count) sum = add(sum, uvec2(load_from(2u * i), load_from(2u * i + 1u)));
  uint own = gl_LocalInvocationID.x;
  sums[own] = sum;
  for (uint half_ = INVOCATIONS / 2; half_ > 0u; half_ /= 2u) {
    barrier();
    if (own < half_) sums[own] = add(sums[own], sums[own + half_]);
  }
  if (own == 0u) add_to_result(sums[0]);
}
