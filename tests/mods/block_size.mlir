// RUN: valid
gpu.module @m {
  gpu.func @k() kernel attributes {known_block_size = array<i32: 160, 1, 1>, nvvm.maxntid = array<i32: 256>} {
    %p = cutlass.pipeline.init {stages = 2 : i32, producers = 32 : i32, consumers = 128 : i32, tx_bytes = 0 : i32} : !cutlass.pipeline<2>
    %s = cutlass.seq_bar.init {depth = 2 : i32, length = 2 : i32, group_size = 160 : i32} : !cutlass.seq_bar<2, 2>
    %id = arith.constant 9 : i32
    %n = arith.constant 160 : i32
    "nvvm.barrier"(%id, %n) <{operandSegmentSizes = array<i32: 1, 1>}> : (i32, i32) -> ()
    cutlass.async.exec {warps = array<i32: 0, 1>} {
      cutlass.async.yield
    }
    cutlass.async.exec {warps = array<i32: 1, 5>} {
      cutlass.async.yield
    }
    gpu.return
  }
  gpu.func @deep() kernel attributes {nvvm.reqntid = array<i32: 32, 4>} {
    gpu.barrier
    gpu.return
  }
}
