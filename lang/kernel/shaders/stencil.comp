// stencil: a grid of 32-bit words; (4 x centre + 4 neighbours) / 8, edges clamped.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "slice.glsl"
layout(local_size_x = 64) in;
layout(push_constant) uniform Arguments { uint from_at, to_at, width, cells; };
BUFFER(0, readonly, from)
RESULT(1)

// The sum of 35 bits, divided by 8: the eighths and the rests apart. 0 outside of the grid.
uint weigh(uint cell) {
  if (cell >= cells) return 0u;
  uint x = cell % width, centre = load_from(cell);
  uint around[4] = {load_from(cell < width ? cell : cell - width), load_from(cells - cell <= width ? cell : cell + width),
                    load_from(x == 0u ? cell : cell - 1u), load_from(x + 1u == width ? cell : cell + 1u)};
  uint eighths = 4u * (centre >> 3), rests = 4u * (centre & 7u);
  for (int i = 0; i < 4; i++) {
    eighths += around[i] >> 3;
    rests += around[i] & 7u;
  }
  return eighths + (rests >> 3);
}

// A word of an unaligned grid has bytes of two cells.
void main() {
  uint first = first_word(to_at), last = last_word(to_at, cells * 4u), shift = (to_at & 3u) * 8u;
  SHARE(word, first, last - first + 1u) {
    uint cell = word - first, value = weigh(cell) << shift;
    if (shift != 0u) value |= weigh(cell - 1u) >> (32u - shift);
    merge(word, mask_of(word, to_at, cells * 4u), value);
  }
}
