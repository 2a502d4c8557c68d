// RUN: valid
// Bytes are expected exactly where TMA brings them.
gpu.module @m attributes {cutlass.cluster_shape = array<i32: 2, 1, 1>} {
  gpu.func @k(%p: !llvm.ptr, %n: i32, %cond: i1, %dyn: i64) kernel {
    %pipe = cutlass.pipeline.init {stages = 4 : i32, producers = 1 : i32, consumers = 128 : i32, tx_bytes = 4096 : i32} : !cutlass.pipeline<4>
    cutlass.async.exec {warps = array<i32: 0, 4>} {
      %s = cutlass.pipeline.state.create %pipe {role = "producer"} : !cutlass.pipeline<4> -> !cutlass.pipeline_state
      cutlass.pipeline.producer_acquire %pipe, %s : !cutlass.pipeline<4>, !cutlass.pipeline_state
      cutlass.pipeline.producer_acquire %pipe, %s {bytes = 512 : i32} : !cutlass.pipeline<4>, !cutlass.pipeline_state
      cutlass.async.yield
    }
    gpu.return
  }
}
