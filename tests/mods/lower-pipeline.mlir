// RUN: lower
// Threads produce; one CTA.
// CHECK-COUNT-4: nvvm.mbarrier.init.shared
// CHECK: nvvm.fence.mbarrier.init
// CHECK: nvvm.barrier0
// CHECK: nvvm.mbarrier.try_wait.parity.shared
// CHECK: nvvm.mbarrier.arrive.shared
// CHECK: nvvm.mbarrier.try_wait.parity.shared
// CHECK: nvvm.mbarrier.arrive.shared
gpu.module @m attributes {cutlass.cluster_shape = array<i32: 1, 1, 1>} {
  gpu.func @k() kernel {
    %pipe = cutlass.pipeline.init {stages = 2 : i32, producers = 32 : i32, consumers = 128 : i32, tx_bytes = 0 : i32} : !cutlass.pipeline<2>
    cutlass.async.exec {warps = array<i32: 0, 1>} {
      %s = cutlass.pipeline.state.create %pipe {role = "producer"} : !cutlass.pipeline<2> -> !cutlass.pipeline_state
      cutlass.pipeline.producer_acquire %pipe, %s : !cutlass.pipeline<2>, !cutlass.pipeline_state
      cutlass.pipeline.producer_commit %pipe, %s : !cutlass.pipeline<2>, !cutlass.pipeline_state
      cutlass.async.yield
    }
    cutlass.async.exec {warps = array<i32: 1, 5>} {
      %s = cutlass.pipeline.state.create %pipe {role = "consumer"} : !cutlass.pipeline<2> -> !cutlass.pipeline_state
      cutlass.pipeline.consumer_wait %pipe, %s : !cutlass.pipeline<2>, !cutlass.pipeline_state
      cutlass.pipeline.consumer_release %pipe, %s : !cutlass.pipeline<2>, !cutlass.pipeline_state
      cutlass.async.yield
    }
    gpu.return
  }
}
