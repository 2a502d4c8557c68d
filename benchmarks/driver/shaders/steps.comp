// steps: computes each word of a slot from those of two other slots, by steps of a linear congruential generator.
#version 450
layout(local_size_x = 32) in;
layout(push_constant) uniform Arguments {
  uint words_at;          // bytes before the slots
  uint to, first, second; // slots, as their first words
  uint steps;
};
layout(std430, set = 0, binding = 0) buffer Words { uint words[]; };

void main() {
  uint i = gl_GlobalInvocationID.x + words_at / 4u;
  uint word = words[first + i] + 3u * words[second + i];
  for (uint step = 0u; step < steps; step++) word = word * 1664525u + 1013904223u;
  words[to + i] = word;
}
