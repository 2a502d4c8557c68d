// RUN: invalid
gpu.module @m attributes {cutlass.cluster_shape = array<i32: 2, 1, 1>} {
  gpu.func @k(%p: !llvm.ptr, %n: i32, %cond: i1, %dyn: i64) kernel {
    %pipe = cutlass.pipeline.init {stages = 4 : i32, producers = 1 : i32, consumers = 128 : i32, tx_bytes = 0 : i32} : !cutlass.pipeline<4>
    cutlass.async.exec {warps = array<i32: 0, 4>} {
      %s = cutlass.pipeline.state.create %pipe {role = "producer"} : !cutlass.pipeline<4> -> !cutlass.pipeline_state
      // expected-error@+1 {{is a consumer's operation, but takes a producer's state}}
      cutlass.pipeline.consumer_wait %pipe, %s : !cutlass.pipeline<4>, !cutlass.pipeline_state
      cutlass.async.yield
    }
    gpu.return
  }
}

// -----

gpu.module @m attributes {cutlass.cluster_shape = array<i32: 2, 1, 1>} {
  gpu.func @k(%p: !llvm.ptr, %n: i32, %cond: i1, %dyn: i64) kernel {
    %pipe = cutlass.pipeline.init {stages = 4 : i32, producers = 1 : i32, consumers = 128 : i32, tx_bytes = 0 : i32} : !cutlass.pipeline<4>
    cutlass.async.exec {warps = array<i32: 0, 4>} {
      %s = cutlass.pipeline.state.create %pipe {role = "consumer"} : !cutlass.pipeline<4> -> !cutlass.pipeline_state
      // expected-error@+1 {{needs a 'cutlass.pipeline.consumer_wait' of the same pipeline before it}}
      cutlass.pipeline.consumer_release %pipe, %s : !cutlass.pipeline<4>, !cutlass.pipeline_state
      cutlass.pipeline.consumer_wait %pipe, %s : !cutlass.pipeline<4>, !cutlass.pipeline_state
      cutlass.async.yield
    }
    gpu.return
  }
}

// -----

gpu.module @m attributes {cutlass.cluster_shape = array<i32: 2, 1, 1>} {
  gpu.func @k(%p: !llvm.ptr, %n: i32, %cond: i1, %dyn: i64) kernel {
    %pipe = cutlass.pipeline.init {stages = 4 : i32, producers = 1 : i32, consumers = 128 : i32, tx_bytes = 0 : i32} : !cutlass.pipeline<4>
    cutlass.async.exec {warps = array<i32: 0, 1>} {
      %s = cutlass.pipeline.state.create %pipe {role = "consumer"} : !cutlass.pipeline<4> -> !cutlass.pipeline_state
      cutlass.pipeline.consumer_wait %pipe, %s : !cutlass.pipeline<4>, !cutlass.pipeline_state
      cutlass.async.yield
    }
    cutlass.async.exec {warps = array<i32: 1, 2>} {
      %s = cutlass.pipeline.state.create %pipe {role = "consumer"} : !cutlass.pipeline<4> -> !cutlass.pipeline_state
      // expected-error@+1 {{needs a 'cutlass.pipeline.consumer_wait'}}
      cutlass.pipeline.consumer_release %pipe, %s : !cutlass.pipeline<4>, !cutlass.pipeline_state
      cutlass.async.yield
    }
    gpu.return
  }
}
