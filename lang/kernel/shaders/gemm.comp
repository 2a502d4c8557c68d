// gemm: c += a * b for n x n floats, added in the order of lang/kernel/gemm.c.
//
// A workgroup computes a square tile of c. Each invocation keeps the sums of 4 x 4 cells; the parts of a and b that they
// need come through shared memory. Products and sums are rounded each (`precise`), so the bits are the host's. A driver
// may flush denormal numbers, as Vulkan allows: it gives 0 for these.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "slice.glsl"
#define SIDE 8
#define CELLS 4
#define TILE (SIDE * CELLS)
#define STEP 16   // columns of a, rows of b at a time
#define DEPTH 256 // columns of a whose products are summed before c gets them
layout(local_size_x = SIDE, local_size_y = SIDE) in;
layout(push_constant) uniform Arguments { uint a_at, b_at, to_at, n; };
BUFFER(0, readonly, a)
BUFFER(1, readonly, b)
RESULT(2)

shared float left[TILE][STEP + 1]; // one more: invocations below each other read different banks
shared vec4 right[STEP][SIDE];

float cell_of_a(uint y, uint x) { return y < n && x < n ? uintBitsToFloat(load_a(y * n + x)) : 0.0; }
float cell_of_b(uint y, uint x) { return y < n && x < n ? uintBitsToFloat(load_b(y * n + x)) : 0.0; }

void load_parts(uint row, uint column, uint k) {
  for (uint i = gl_LocalInvocationIndex; i < TILE * STEP; i += SIDE * SIDE) {
    uint y = i / STEP, x = i % STEP;
    left[y][x] = cell_of_a(row + y, k + x);
    y = i / TILE, x = i % TILE;
    right[y][x / 4u][x % 4u] = cell_of_b(k + y, column + x);
  }
}

void main() {
  uint row = gl_WorkGroupID.y * TILE, column = gl_WorkGroupID.x * TILE;
  uvec2 own = gl_LocalInvocationID.xy * uvec2(4u, CELLS), first = uvec2(column, row) + own;
  precise vec4 cells[CELLS], sums[CELLS];
  [[unroll]] for (uint i = 0u; i < CELLS; i++) {
    for (uint j = 0u; j < 4u; j++)
      cells[i][j] = first.y + i < n && first.x + j < n ? uintBitsToFloat(load_to((first.y + i) * n + first.x + j)) : 0.0;
    sums[i] = vec4(0.0);
  }
  for (uint k = 0u; k < n; k += STEP) {
    barrier();
    load_parts(row, column, k);
    barrier();
    for (uint d = 0u; d < STEP; d++)
      [[unroll]] for (uint i = 0u; i < CELLS; i++) {
        precise vec4 products = left[own.y + i][d] * right[d][gl_LocalInvocationID.x];
        sums[i] += products;
      }
    if ((k + STEP) % DEPTH == 0u || k + STEP >= n)
      [[unroll]] for (uint i = 0u; i < CELLS; i++) {
        cells[i] += sums[i];
        sums[i] = vec4(0.0);
      }
  }
  [[unroll]] for (uint i = 0u; i < CELLS; i++)
    for (uint j = 0u; j < 4u; j++)
      if (first.y + i < n && first.x + j < n) store((first.y + i) * n + first.x + j, floatBitsToUint(cells[i][j]));
}
