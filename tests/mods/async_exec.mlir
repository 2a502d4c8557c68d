// RUN: valid
// Regions of warps stand beside one another, with warps of their own.
gpu.module @m attributes {cutlass.cluster_shape = array<i32: 2, 1, 1>} {
  gpu.func @k(%p: !llvm.ptr, %n: i32, %cond: i1, %dyn: i64) kernel {
    cutlass.async.exec {warps = array<i32: 0, 1>} {
      gpu.barrier
      cutlass.async.yield
    }
    cutlass.async.exec {warps = array<i32: 1, 8>} {
      gpu.barrier
      cutlass.async.yield
    }
    gpu.return
  }
}
