// RUN: lower
// Two stages of three groups; the last signals the first.
// CHECK-COUNT-6: nvvm.mbarrier.init.shared
// CHECK-NOT: nvvm.mbarrier.init.shared
// CHECK: nvvm.mbarrier.try_wait.parity.shared
// CHECK: nvvm.mbarrier.arrive.shared
gpu.module @m attributes {cutlass.cluster_shape = array<i32: 1, 1, 1>} {
  gpu.func @k() kernel {
    %bar = cutlass.seq_bar.init {depth = 2 : i32, length = 3 : i32, group_size = 64 : i32} : !cutlass.seq_bar<2, 3>
    cutlass.async.exec {warps = array<i32: 0, 2>} {
      %s = cutlass.seq_bar.state %bar {group = 2 : i32} : !cutlass.seq_bar<2, 3> -> !cutlass.pipeline_state
      cutlass.seq_bar.wait %bar, %s {group = 2 : i32} : !cutlass.seq_bar<2, 3>, !cutlass.pipeline_state
      cutlass.seq_bar.arrive %bar, %s {group = 2 : i32} : !cutlass.seq_bar<2, 3>, !cutlass.pipeline_state
      %t = cutlass.pipeline.state.increment %bar, %s : !cutlass.seq_bar<2, 3>, !cutlass.pipeline_state -> !cutlass.pipeline_state
      cutlass.seq_bar.wait %bar, %t {group = 2 : i32} : !cutlass.seq_bar<2, 3>, !cutlass.pipeline_state
      cutlass.seq_bar.arrive %bar, %t {group = 2 : i32} : !cutlass.seq_bar<2, 3>, !cutlass.pipeline_state
      cutlass.async.yield
    }
    gpu.return
  }
}
