// RUN: valid
// The tail comes once, after the loop.
gpu.module @m attributes {cutlass.cluster_shape = array<i32: 2, 1, 1>} {
  gpu.func @k(%p: !llvm.ptr, %n: i32, %cond: i1, %dyn: i64) kernel {
    %pipe = cutlass.pipeline.init {stages = 4 : i32, producers = 1 : i32, consumers = 128 : i32, tx_bytes = 0 : i32} : !cutlass.pipeline<4>
    cutlass.async.exec {warps = array<i32: 0, 4>} {
      %lo = arith.constant 0 : index
      %hi = arith.constant 8 : index
      %st = arith.constant 1 : index
      %s = cutlass.pipeline.state.create %pipe {role = "producer"} : !cutlass.pipeline<4> -> !cutlass.pipeline_state
      %end = scf.for %i = %lo to %hi step %st iter_args(%a = %s) -> (!cutlass.pipeline_state) {
        cutlass.pipeline.producer_acquire %pipe, %a : !cutlass.pipeline<4>, !cutlass.pipeline_state
        %b = cutlass.pipeline.state.increment %pipe, %a : !cutlass.pipeline<4>, !cutlass.pipeline_state -> !cutlass.pipeline_state
        scf.yield %b : !cutlass.pipeline_state
      }
      cutlass.pipeline.producer_tail %pipe, %end : !cutlass.pipeline<4>, !cutlass.pipeline_state
      cutlass.async.yield
    }
    gpu.return
  }
}
