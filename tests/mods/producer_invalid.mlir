// RUN: invalid
gpu.module @m attributes {cutlass.cluster_shape = array<i32: 2, 1, 1>} {
  gpu.func @k(%p: !llvm.ptr, %n: i32, %cond: i1, %dyn: i64) kernel {
    %pipe = cutlass.pipeline.init {stages = 4 : i32, producers = 1 : i32, consumers = 128 : i32, tx_bytes = 0 : i32} : !cutlass.pipeline<4>
    cutlass.async.exec {warps = array<i32: 0, 4>} {
      %s = cutlass.pipeline.state.create %pipe {role = "consumer"} : !cutlass.pipeline<4> -> !cutlass.pipeline_state
      // expected-error@+1 {{is a producer's operation, but takes a consumer's state}}
      cutlass.pipeline.producer_acquire %pipe, %s : !cutlass.pipeline<4>, !cutlass.pipeline_state
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
      %s = cutlass.pipeline.state.create %pipe {role = "producer"} : !cutlass.pipeline<4> -> !cutlass.pipeline_state
      // expected-error@+1 {{needs a 'cutlass.pipeline.producer_acquire' of the same pipeline before it}}
      cutlass.pipeline.producer_commit %pipe, %s : !cutlass.pipeline<4>, !cutlass.pipeline_state
      cutlass.async.yield
    }
    gpu.return
  }
}

// -----

gpu.module @m attributes {cutlass.cluster_shape = array<i32: 2, 1, 1>} {
  gpu.func @k(%p: !llvm.ptr, %n: i32, %cond: i1, %dyn: i64) kernel {
    %pipe = cutlass.pipeline.init {stages = 4 : i32, producers = 1 : i32, consumers = 128 : i32, tx_bytes = 0 : i32} : !cutlass.pipeline<4>
    %other = cutlass.pipeline.init {stages = 4 : i32, producers = 1 : i32, consumers = 128 : i32, tx_bytes = 0 : i32} : !cutlass.pipeline<4>
    cutlass.async.exec {warps = array<i32: 0, 4>} {
      %s = cutlass.pipeline.state.create %pipe {role = "producer"} : !cutlass.pipeline<4> -> !cutlass.pipeline_state
      // expected-error@+1 {{takes a state of another pipeline}}
      cutlass.pipeline.producer_acquire %other, %s : !cutlass.pipeline<4>, !cutlass.pipeline_state
      cutlass.async.yield
    }
    gpu.return
  }
}

// -----

gpu.module @m attributes {cutlass.cluster_shape = array<i32: 2, 1, 1>} {
  gpu.func @k(%p: !llvm.ptr, %n: i32, %cond: i1, %dyn: i64) kernel {
    %pipe = cutlass.pipeline.init {stages = 4 : i32, producers = 1 : i32, consumers = 128 : i32, tx_bytes = 0 : i32} : !cutlass.pipeline<4>
    %other = cutlass.pipeline.init {stages = 4 : i32, producers = 1 : i32, consumers = 128 : i32, tx_bytes = 0 : i32} : !cutlass.pipeline<4>
    cutlass.async.exec {warps = array<i32: 0, 4>} {
      %o = cutlass.pipeline.state.create %other {role = "producer"} : !cutlass.pipeline<4> -> !cutlass.pipeline_state
      %s = cutlass.pipeline.state.create %pipe {role = "producer"} : !cutlass.pipeline<4> -> !cutlass.pipeline_state
      cutlass.pipeline.producer_acquire %other, %o : !cutlass.pipeline<4>, !cutlass.pipeline_state
      // expected-error@+1 {{needs a 'cutlass.pipeline.producer_acquire' of the same}}
      cutlass.pipeline.producer_commit %pipe, %s : !cutlass.pipeline<4>, !cutlass.pipeline_state
      cutlass.async.yield
    }
    gpu.return
  }
}
