// blur: the mean of a box of (2 x radius + 1) squared pixels of interleaved bytes, rounded to the nearest; edges clamped.
//
// A workgroup computes WIDE columns of words, HIGH words each. Below each word lies that with the same four columns of
// bytes, `down` rows below: 1, 2 or 4, so that `words` = down x row / 4 is whole. The sums of rows that the boxes share
// come through shared memory, HIGH rows at a time. The bytes of a word may belong to two rows, and those at the ends to
// rows outside of the image, which count as the nearest.
//
// The loops of an invocation stay short: llvmpipe ends all loops after 65535 iterations together.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "slice.glsl"
#define WIDE 4
#define HIGH 32
layout(local_size_x = WIDE, local_size_y = HIGH) in;
layout(push_constant) uniform Arguments {
  uint from_at, to_at;
  int size, row; // bytes
  int channels, radius, down, words;
};
BUFFER(0, readonly, from)
RESULT(1)

shared uvec4 rows[HIGH][WIDE];

// The byte of a row's pixel; edges are clamped.
uint pixel_of(int start, int pixel) {
  return byte_of_from(uint(start + clamp(pixel, 0, row / channels - 1) * channels));
}

uint four_pixels(int at) {
  return byte_of_from(uint(at)) + byte_of_from(uint(at + channels)) + byte_of_from(uint(at + 2 * channels)) +
         byte_of_from(uint(at + 3 * channels));
}

// The sum of 2 x radius + 1 pixels from `first` on.
uint row_sum(int start, int first) {
  int i = max(first, 0), end = min(first + 2 * radius + 1, row / channels);
  uint sum = uint(i - first) * pixel_of(start, 0) + uint(first + 2 * radius + 1 - end) * pixel_of(start, row);
  for (; i + 15 < end; i += 16)
    sum += four_pixels(start + i * channels) + four_pixels(start + (i + 4) * channels) +
           four_pixels(start + (i + 8) * channels) + four_pixels(start + (i + 12) * channels);
  for (; i < end; i++) sum += pixel_of(start, i);
  return sum;
}

// The sums around four bytes. Those of neighbours differ by a pixel that enters and one that leaves.
uvec4 row_sums(ivec4 y, ivec4 x) {
  ivec4 start = clamp(y, 0, size / row - 1) * row + x % channels, first = x / channels - radius;
  uvec4 sums;
  [[unroll]] for (int b = 0; b < 4; b++) {
    int before = max(b - channels, 0);
    if (b < channels || y[before] != y[b]) sums[b] = row_sum(start[b], first[b]);
    else sums[b] = sums[before] + pixel_of(start[b], first[b] + 2 * radius) - pixel_of(start[b], first[before]);
  }
  return sums;
}

// Computes the word of each invocation, in the columns from `column` on and the steps down from `top` on.
void blur_words(int column, int top) {
  ivec2 own = ivec2(gl_LocalInvocationID.xy);
  int centre = (top + own.y) * down, area = (2 * radius + 1) * (2 * radius + 1);
  ivec4 at = (column + own.x) * 4 - int(to_at & 3u) + ivec4(0, 1, 2, 3); // of the column's first word; maybe negative
  ivec4 y = mix(at / row, -((row - 1 - at) / row), lessThan(at, ivec4(0))), x = at - y * row;
  uvec4 sums = uvec4(0u);
  int end = (top + HIGH - 1) * down + radius;
  for (int first = top * down - radius; first <= end; first += HIGH) {
    barrier();
    rows[own.y][own.x] = row_sums(y + first + own.y, x);
    barrier();
    int last = min(centre + radius - first, HIGH - 1);
    for (int i = max(centre - radius - first, 0); i <= last; i++) sums += rows[i][own.x];
  }
  uint word = first_word(to_at) + uint(column + own.x) + uint(top + own.y) * uint(words);
  if (column + own.x >= words || word > last_word(to_at, uint(size))) return;
  uvec4 means = (sums + uint(area / 2)) / uint(area) << uvec4(0, 8, 16, 24);
  merge(word, mask_of(word, to_at, uint(size)), means.x | means.y | means.z | means.w);
}

void main() {
  uint across = uint(words + WIDE - 1) / WIDE, steps = last_word(to_at & 3u, uint(size)) / uint(words) + 1u;
  uint groups = across * ((steps + HIGH - 1u) / HIGH);
  uint group = gl_WorkGroupID.x + gl_WorkGroupID.y * gl_NumWorkGroups.x;
  if (group < groups) blur_words(int(group % across) * WIDE, int(group / across) * HIGH);
}
