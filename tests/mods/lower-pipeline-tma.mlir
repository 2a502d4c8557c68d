// RUN: lower
// Bytes arrive: the leader says how many, commit is nothing.
// CHECK: nvvm.cluster.arrive
// CHECK-NEXT: nvvm.cluster.wait
// CHECK: nvvm.mbarrier.try_wait.parity.shared
// CHECK: scf.if
// CHECK: "arith.constant"() <{value = 4096 : i32}>
// CHECK-NEXT: nvvm.mbarrier.arrive.expect_tx.shared
// CHECK: "arith.constant"() <{value = 1024 : i32}>
// CHECK-NEXT: nvvm.mbarrier.arrive.expect_tx.shared
// CHECK-NOT: nvvm.mbarrier.arrive.shared
gpu.module @m attributes {cutlass.cluster_shape = array<i32: 2, 1, 1>} {
  gpu.func @k() kernel {
    %pipe = cutlass.pipeline.init {stages = 2 : i32, producers = 1 : i32, consumers = 128 : i32, tx_bytes = 4096 : i32} : !cutlass.pipeline<2>
    cutlass.async.exec {warps = array<i32: 0, 1>} {
      %s = cutlass.pipeline.state.create %pipe {role = "producer"} : !cutlass.pipeline<2> -> !cutlass.pipeline_state
      cutlass.pipeline.producer_acquire %pipe, %s : !cutlass.pipeline<2>, !cutlass.pipeline_state
      cutlass.pipeline.producer_commit %pipe, %s : !cutlass.pipeline<2>, !cutlass.pipeline_state
      %s2 = cutlass.pipeline.state.increment %pipe, %s : !cutlass.pipeline<2>, !cutlass.pipeline_state -> !cutlass.pipeline_state
      cutlass.pipeline.producer_acquire %pipe, %s2 {bytes = 1024 : i32} : !cutlass.pipeline<2>, !cutlass.pipeline_state
      cutlass.pipeline.producer_commit %pipe, %s2 : !cutlass.pipeline<2>, !cutlass.pipeline_state
      cutlass.async.yield
    }
    gpu.return
  }
}
