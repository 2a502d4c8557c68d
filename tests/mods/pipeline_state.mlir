// RUN: valid
// A state belongs to one pipeline, through increments and loops.
gpu.module @m attributes {cutlass.cluster_shape = array<i32: 2, 1, 1>} {
  gpu.func @k(%p: !llvm.ptr, %n: i32, %cond: i1, %dyn: i64) kernel {
    %pipe = cutlass.pipeline.init {stages = 4 : i32, producers = 1 : i32, consumers = 128 : i32, tx_bytes = 0 : i32} : !cutlass.pipeline<4>
    %other = cutlass.pipeline.init {stages = 4 : i32, producers = 1 : i32, consumers = 128 : i32, tx_bytes = 0 : i32} : !cutlass.pipeline<4>
    %lo = arith.constant 0 : index
    %hi = arith.constant 8 : index
    %st = arith.constant 1 : index
    %s = cutlass.pipeline.state.create %pipe {role = "producer"} : !cutlass.pipeline<4> -> !cutlass.pipeline_state
    %t = cutlass.pipeline.state.increment %pipe, %s : !cutlass.pipeline<4>, !cutlass.pipeline_state -> !cutlass.pipeline_state
    %end = scf.for %i = %lo to %hi step %st iter_args(%a = %s) -> (!cutlass.pipeline_state) {
      %b = cutlass.pipeline.state.increment %pipe, %a : !cutlass.pipeline<4>, !cutlass.pipeline_state -> !cutlass.pipeline_state
      scf.yield %b : !cutlass.pipeline_state
    }
    %i = cutlass.pipeline.state.index %end : !cutlass.pipeline_state -> i32
    %ph = cutlass.pipeline.state.phase %end : !cutlass.pipeline_state -> i32
    gpu.return
  }
}

// -----

// Where ways meet, a state may have been made twice, and a pipeline may come by a branch, too.
gpu.module @m {
  gpu.func @k(%c: i1) kernel {
    %p = cutlass.pipeline.init {consumers = 32 : i32, producers = 32 : i32, stages = 2 : i32, tx_bytes = 0 : i32} : !cutlass.pipeline<2>
    %q = cutlass.pipeline.init {consumers = 32 : i32, producers = 32 : i32, stages = 2 : i32, tx_bytes = 0 : i32} : !cutlass.pipeline<2>
    %a = cutlass.pipeline.state.create %p {role = "consumer"} : !cutlass.pipeline<2> -> !cutlass.pipeline_state
    %b = cutlass.pipeline.state.create %p {role = "consumer"} : !cutlass.pipeline<2> -> !cutlass.pipeline_state
    %t = arith.select %c, %a, %b : !cutlass.pipeline_state
    cf.cond_br %c, ^bb1(%p, %t : !cutlass.pipeline<2>, !cutlass.pipeline_state), ^bb1(%p, %b : !cutlass.pipeline<2>, !cutlass.pipeline_state)
  ^bb1(%r: !cutlass.pipeline<2>, %s: !cutlass.pipeline_state):
    cutlass.async.exec {warps = array<i32: 0, 1>} {
      cutlass.pipeline.consumer_wait %r, %s : !cutlass.pipeline<2>, !cutlass.pipeline_state
      cutlass.pipeline.consumer_release %r, %s : !cutlass.pipeline<2>, !cutlass.pipeline_state
      cutlass.async.yield
    }
    gpu.return
  }
}
