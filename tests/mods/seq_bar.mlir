// RUN: valid
// Sequence barriers: groups in turn.
gpu.module @m attributes {cutlass.cluster_shape = array<i32: 2, 1, 1>} {
  gpu.func @k(%p: !llvm.ptr, %n: i32, %cond: i1, %dyn: i64) kernel {
    %bar = cutlass.seq_bar.init {depth = 2 : i32, length = 3 : i32, group_size = 128 : i32} : !cutlass.seq_bar<2, 3>
    cutlass.async.exec {warps = array<i32: 0, 4>} {
      %s = cutlass.seq_bar.state %bar {group = 2 : i32} : !cutlass.seq_bar<2, 3> -> !cutlass.pipeline_state
      cutlass.seq_bar.wait %bar, %s {group = 2 : i32} : !cutlass.seq_bar<2, 3>, !cutlass.pipeline_state
      cutlass.seq_bar.arrive %bar, %s {group = 2 : i32} : !cutlass.seq_bar<2, 3>, !cutlass.pipeline_state
      %t = cutlass.pipeline.state.increment %bar, %s : !cutlass.seq_bar<2, 3>, !cutlass.pipeline_state -> !cutlass.pipeline_state
      cutlass.async.yield
    }
    gpu.return
  }
}
