// tests/vulkan/small_mix.comp: result = first * 2654435761 + (second ^ value), word by word. In small_mix.h as SPIR-V.
#version 450
layout(local_size_x = 64) in;
layout(std430, set = 0, binding = 0) readonly buffer First { uint words[]; } first;
layout(std430, set = 0, binding = 1) readonly buffer Second { uint words[]; } second;
layout(std430, set = 0, binding = 2) buffer Result { uint words[]; } result;
layout(push_constant) uniform Arguments { uint first_at, second_at, result_at, count, value; } given;
void main() {
  uint i = gl_GlobalInvocationID.x;
  if (i < given.count)
    result.words[given.result_at + i] =
        first.words[given.first_at + i] * 2654435761u + (second.words[given.second_at + i] ^ given.value);
}
