// RUN: lower
// Alone, the operand is the number of threads, and the barrier number 0.
// NVVM: "nvvm.barrier.arrive"(%{{[0-9]+}}) : (i32) -> ()
gpu.module @m {
  gpu.func @k() kernel attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : i32
    %n = arith.constant 64 : i32
    cutlass.async.exec {warps = array<i32: 0, 1>} {
      "nvvm.barrier.arrive"(%n) : (i32) -> ()
      cutlass.async.yield
    }
    cutlass.async.exec {warps = array<i32: 1, 2>} {
      "nvvm.barrier"(%c0, %n) <{operandSegmentSizes = array<i32: 1, 1>}> : (i32, i32) -> ()
      cutlass.async.yield
    }
    gpu.return
  }
}
