// lang/kernel/shaders/slice.glsl: slices of bytes as storage buffers of 32-bit words.
//
// A slice starts at any byte: `NAME_at` is the number of bytes before it in its buffer. A word of the buffer that only
// partly belongs to the slice is changed by atomics alone, so that its other bytes may belong to operations that run
// meanwhile.

// Declares a buffer, and functions that load from it: load_NAME(i), the slice's bytes 4 x i .. 4 x i + 3, and
// byte_of_NAME(i).
#define BUFFER(index, access, name)                                                                                    \
  layout(std430, set = 0, binding = index) access buffer Words_##name { uint name[]; };                                \
  uint load_##name(uint i) {                                                                                           \
    uint word = (name##_at >> 2) + i, shift = (name##_at & 3u) * 8u;                                                   \
    if (shift == 0u) return name[word];                                                                                \
    return name[word] >> shift | name[word + 1u] << 32u - shift;                                                       \
  }                                                                                                                    \
  uint byte_of_##name(uint i) { return name[name##_at + i >> 2] >> (name##_at + i & 3u) * 8u & 255u; }

// Declares the buffer `to`, and functions that store to it: the bits of a mask in a word of the buffer, and, as above,
// the slice's bytes 4 x i .. 4 x i + 3.
#define RESULT(index)                                                                                                  \
  BUFFER(index, , to)                                                                                                  \
  void merge(uint word, uint mask, uint value) {                                                                       \
    if (mask == ~0u) {                                                                                                 \
      to[word] = value;                                                                                                \
    } else {                                                                                                           \
      atomicAnd(to[word], ~mask);                                                                                      \
      atomicOr(to[word], value & mask);                                                                                \
    }                                                                                                                  \
  }                                                                                                                    \
  void store(uint i, uint value) {                                                                                     \
    uint word = (to_at >> 2) + i, shift = (to_at & 3u) * 8u;                                                           \
    merge(word, ~0u << shift, value << shift);                                                                         \
    if (shift != 0u) merge(word + 1u, ~(~0u << shift), value >> 32u - shift);                                          \
  }

// The words of the buffer that belong, in part, to `size` bytes at `at`.
uint first_word(uint at) { return at >> 2; }
uint last_word(uint at, uint size) { return at + size - 1u >> 2; }

// The bits of a word that belong to `size` bytes at `at`.
uint mask_of(uint word, uint at, uint size) {
  uint mask = ~0u;
  if (word == first_word(at)) mask = ~0u << (at & 3u) * 8u;
  if (word == last_word(at, size)) mask &= ~0u >> 24u - (at + size - 1u & 3u) * 8u;
  return mask;
}

// The invocations of a dispatch share the work, however few they are.
#define SHARE(i, first, count)                                                                                         \
  for (uint i = (first) + gl_GlobalInvocationID.x; i - (first) < (count); i += gl_NumWorkGroups.x * gl_WorkGroupSize.x)
