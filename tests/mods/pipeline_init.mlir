// RUN: valid
// A pipeline is made by all warps, with counts that its barriers can have.
gpu.module @m attributes {cutlass.cluster_shape = array<i32: 2, 1, 1>} {
  gpu.func @k(%p: !llvm.ptr, %n: i32, %cond: i1, %dyn: i64) kernel {
    %pipe = cutlass.pipeline.init {stages = 4 : i32, producers = 1 : i32, consumers = 128 : i32, tx_bytes = 0 : i32} : !cutlass.pipeline<4>
    %tma = cutlass.pipeline.init {stages = 4 : i32, producers = 1 : i32, consumers = 128 : i32, tx_bytes = 16384 : i32} : !cutlass.pipeline<4>
    gpu.return
  }
}
