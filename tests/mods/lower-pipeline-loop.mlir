// RUN: lower
// A state goes round a loop as a struct; tail waits for all stages.
// CHECK: "scf.for"({{.*}}) ({
// CHECK-NEXT: ^bb0(%{{.*}}: i32, %[[S:.*]]: !llvm.struct<(i32, i32)>):
// CHECK: "llvm.extractvalue"(%[[S]]) <{position = array<i64: 0>}>
// CHECK: arith.xori
// CHECK: "scf.for"
// CHECK: nvvm.mbarrier.try_wait.parity.shared
// NVVM: llvm.cond_br
gpu.module @m attributes {cutlass.cluster_shape = array<i32: 1, 1, 1>} {
  gpu.func @k(%n: i32) kernel {
    %pipe = cutlass.pipeline.init {stages = 2 : i32, producers = 32 : i32, consumers = 128 : i32, tx_bytes = 0 : i32} : !cutlass.pipeline<2>
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    cutlass.async.exec {warps = array<i32: 0, 1>} {
      %s = cutlass.pipeline.state.create %pipe {role = "producer"} : !cutlass.pipeline<2> -> !cutlass.pipeline_state
      %end = scf.for %i = %zero to %n step %one iter_args(%t = %s) -> (!cutlass.pipeline_state) : i32 {
        cutlass.pipeline.producer_acquire %pipe, %t : !cutlass.pipeline<2>, !cutlass.pipeline_state
        cutlass.pipeline.producer_commit %pipe, %t : !cutlass.pipeline<2>, !cutlass.pipeline_state
        %u = cutlass.pipeline.state.increment %pipe, %t : !cutlass.pipeline<2>, !cutlass.pipeline_state -> !cutlass.pipeline_state
        scf.yield %u : !cutlass.pipeline_state
      }
      cutlass.pipeline.producer_tail %pipe, %end : !cutlass.pipeline<2>, !cutlass.pipeline_state
      cutlass.async.yield
    }
    gpu.return
  }
}
