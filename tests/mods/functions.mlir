// RUN: valid
// Modules and functions.
module @all attributes {my.note = "a module"} {
  func.func private @outside(i32, f32) -> (i32, f32)
  func.func @f(%a: i32 {some.attr}, %x: f32) -> (i32 {other.attr = 1 : i64}, f32) attributes {more = "yes"} {
    %0:2 = func.call @outside(%a, %x) : (i32, f32) -> (i32, f32)
    func.return %0#0, %0#1 : i32, f32
  }
  gpu.module @gpu attributes {cutlass.cluster_shape = array<i32: 1, 1, 1>} {
    gpu.func @device(%a: i32) -> i32 {
      gpu.return %a : i32
    }
    gpu.func @kernel() kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
      %0 = gpu.thread_id x
      %1 = gpu.block_id y
      %2 = gpu.block_dim z
      %3 = gpu.grid_dim x
      %4 = gpu.lane_id
      %5 = gpu.cluster_id x
      gpu.barrier
      gpu.return
    }
    llvm.func @plain(%a: !llvm.ptr) -> i32 {
      %0 = llvm.load %a : !llvm.ptr -> i32
      llvm.return %0 : i32
    }
  }
}
