// A count that the threads exceed: with one arrival too many the next phase would be ahead of its data.
// args: 
// expect: commits stage 0 in phase 1, which has all its arrivals: the pipeline has 31 producers
gpu.module @m {
  gpu.func @k() kernel {
    %pipe = cutlass.pipeline.init {stages = 2 : i32, producers = 31 : i32, consumers = 32 : i32, tx_bytes = 0 : i32} : !cutlass.pipeline<2>
    cutlass.async.exec {warps = array<i32: 0, 1>} {
      %s0 = cutlass.pipeline.state.create %pipe {role = "producer"} : !cutlass.pipeline<2> -> !cutlass.pipeline_state
      %z = arith.constant 0 : i32
      %one = arith.constant 1 : i32
      %n = arith.constant 3 : i32
      %end = scf.for %i = %z to %n step %one iter_args(%s = %s0) -> (!cutlass.pipeline_state) : i32 {
        cutlass.pipeline.producer_acquire %pipe, %s : !cutlass.pipeline<2>, !cutlass.pipeline_state
        cutlass.pipeline.producer_commit %pipe, %s : !cutlass.pipeline<2>, !cutlass.pipeline_state
        %next = cutlass.pipeline.state.increment %pipe, %s : !cutlass.pipeline<2>, !cutlass.pipeline_state -> !cutlass.pipeline_state
        scf.yield %next : !cutlass.pipeline_state
      }
      cutlass.pipeline.producer_tail %pipe, %end : !cutlass.pipeline<2>, !cutlass.pipeline_state
      cutlass.async.yield
    }
    cutlass.async.exec {warps = array<i32: 1, 2>} {
      %s0 = cutlass.pipeline.state.create %pipe {role = "consumer"} : !cutlass.pipeline<2> -> !cutlass.pipeline_state
      %z = arith.constant 0 : i32
      %one = arith.constant 1 : i32
      %n = arith.constant 3 : i32
      %end = scf.for %i = %z to %n step %one iter_args(%s = %s0) -> (!cutlass.pipeline_state) : i32 {
        cutlass.pipeline.consumer_wait %pipe, %s : !cutlass.pipeline<2>, !cutlass.pipeline_state
        cutlass.pipeline.consumer_release %pipe, %s : !cutlass.pipeline<2>, !cutlass.pipeline_state
        %next = cutlass.pipeline.state.increment %pipe, %s : !cutlass.pipeline<2>, !cutlass.pipeline_state -> !cutlass.pipeline_state
        scf.yield %next : !cutlass.pipeline_state
      }
      cutlass.async.yield
    }
    gpu.return
  }
}
