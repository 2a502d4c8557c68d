// fill: every byte = value mod 256. `value` has that byte four times.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "slice.glsl"
layout(local_size_x = 64) in;
layout(push_constant) uniform Arguments { uint to_at, size, value; };
RESULT(0)

void main() {
  uint first = first_word(to_at), last = last_word(to_at, size);
  SHARE(word, first, last - first + 1u) merge(word, mask_of(word, to_at, size), value);
}
