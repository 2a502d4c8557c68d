// RUN: valid
// A window closes on drained pipelines.
gpu.module @m attributes {cutlass.cluster_shape = array<i32: 2, 1, 1>} {
  gpu.func @k(%p: !llvm.ptr, %n: i32, %cond: i1, %dyn: i64) kernel {
    %sched = cutlass.tile_scheduler.static_persistent %n, %n, %n : i32, i32, i32 -> !cutlass.tile_scheduler<static_persistent>
    %mask = arith.constant 3 : i64
    %pipe = cutlass.pipeline.init {stages = 4 : i32, producers = 1 : i32, consumers = 128 : i32, tx_bytes = 0 : i32} : !cutlass.pipeline<4>
    cutlass.async.exec {warps = array<i32: 0, 4>} {
      cutlass.tile_scheduler.mods_report_mainloop_start %sched, %mask {is_2cta_mma = false} : !cutlass.tile_scheduler<static_persistent>, i64
      %s = cutlass.pipeline.state.create %pipe {role = "producer"} : !cutlass.pipeline<4> -> !cutlass.pipeline_state
      cutlass.pipeline.producer_acquire %pipe, %s : !cutlass.pipeline<4>, !cutlass.pipeline_state
      cutlass.pipeline.producer_tail %pipe, %s : !cutlass.pipeline<4>, !cutlass.pipeline_state
      cutlass.tile_scheduler.mods_report_mainloop_end %sched, %mask {is_2cta_mma = false} : !cutlass.tile_scheduler<static_persistent>, i64 -> ()
      cutlass.async.yield
    }
    gpu.return
  }
}
