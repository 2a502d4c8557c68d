// RUN: lower
// They share one array and one synchronization.
// CHECK-COUNT-8: nvvm.mbarrier.init.shared
// CHECK-COUNT-1: nvvm.barrier0
// CHECK-NOT: nvvm.barrier0
gpu.module @m attributes {cutlass.cluster_shape = array<i32: 1, 1, 1>} {
  gpu.func @k() kernel {
    %pipe = cutlass.pipeline.init {stages = 2 : i32, producers = 32 : i32, consumers = 128 : i32, tx_bytes = 0 : i32} : !cutlass.pipeline<2>
    %other = cutlass.pipeline.init {stages = 2 : i32, producers = 32 : i32, consumers = 128 : i32, tx_bytes = 0 : i32} : !cutlass.pipeline<2>
    cutlass.async.exec {warps = array<i32: 0, 1>} {
      %s = cutlass.pipeline.state.create %pipe {role = "producer"} : !cutlass.pipeline<2> -> !cutlass.pipeline_state
      cutlass.pipeline.producer_acquire %pipe, %s : !cutlass.pipeline<2>, !cutlass.pipeline_state
      cutlass.pipeline.producer_commit %pipe, %s : !cutlass.pipeline<2>, !cutlass.pipeline_state
      %o = cutlass.pipeline.state.create %other {role = "producer"} : !cutlass.pipeline<2> -> !cutlass.pipeline_state
      cutlass.pipeline.producer_acquire %other, %o : !cutlass.pipeline<2>, !cutlass.pipeline_state
      cutlass.pipeline.producer_commit %other, %o : !cutlass.pipeline<2>, !cutlass.pipeline_state
      cutlass.async.yield
    }
    gpu.return
  }
}
