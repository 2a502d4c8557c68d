// Without an id an arrival is at barrier 0.
// args: --explore 20
// expect: 20 schedules, all well
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
