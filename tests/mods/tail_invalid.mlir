// RUN: invalid
gpu.module @m attributes {cutlass.cluster_shape = array<i32: 2, 1, 1>} {
  gpu.func @k(%p: !llvm.ptr, %n: i32, %cond: i1, %dyn: i64) kernel {
    %pipe = cutlass.pipeline.init {stages = 4 : i32, producers = 1 : i32, consumers = 128 : i32, tx_bytes = 0 : i32} : !cutlass.pipeline<4>
    cutlass.async.exec {warps = array<i32: 0, 4>} {
      %lo = arith.constant 0 : index
      %hi = arith.constant 8 : index
      %st = arith.constant 1 : index
      %s = cutlass.pipeline.state.create %pipe {role = "producer"} : !cutlass.pipeline<4> -> !cutlass.pipeline_state
      %end = scf.for %i = %lo to %hi step %st iter_args(%a = %s) -> (!cutlass.pipeline_state) {
        // expected-error@+1 {{must stand after the loop, not in it}}
        cutlass.pipeline.producer_tail %pipe, %a : !cutlass.pipeline<4>, !cutlass.pipeline_state
        scf.yield %a : !cutlass.pipeline_state
      }
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
      cutlass.pipeline.producer_tail %pipe, %s : !cutlass.pipeline<4>, !cutlass.pipeline_state
      // expected-error@+1 {{is the second tail of its pipeline in this region}}
      cutlass.pipeline.producer_tail %pipe, %s : !cutlass.pipeline<4>, !cutlass.pipeline_state
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
      // expected-note@+1 {{the tail is here}}
      cutlass.pipeline.producer_tail %pipe, %s : !cutlass.pipeline<4>, !cutlass.pipeline_state
      // expected-error@+1 {{comes after the tail of its pipeline}}
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
      %s = cutlass.pipeline.state.create %pipe {role = "consumer"} : !cutlass.pipeline<4> -> !cutlass.pipeline_state
      // expected-error@+1 {{is a producer's operation, but takes a consumer's state}}
      cutlass.pipeline.producer_tail %pipe, %s : !cutlass.pipeline<4>, !cutlass.pipeline_state
      cutlass.async.yield
    }
    gpu.return
  }
}
