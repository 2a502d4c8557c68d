// RUN: valid
// Timestamps are the pair's own.
gpu.module @m attributes {cutlass.cluster_shape = array<i32: 2, 1, 1>} {
  gpu.func @k(%p: !llvm.ptr, %n: i32, %cond: i1, %dyn: i64) kernel {
    %sched = cutlass.tile_scheduler.static_persistent %n, %n, %n : i32, i32, i32 -> !cutlass.tile_scheduler<static_persistent>
    %mask = arith.constant 3 : i64
    cutlass.async.exec {warps = array<i32: 0, 4>} {
      %t = cutlass.tile_scheduler.mods_report_mainloop_start %sched, %mask {is_2cta_mma = false} : !cutlass.tile_scheduler<static_persistent>, i64 -> i64
      %d = cutlass.tile_scheduler.mods_report_mainloop_end %sched, %mask, %t {is_2cta_mma = false} : !cutlass.tile_scheduler<static_persistent>, i64, i64 -> i64
      cutlass.async.yield
    }
    gpu.return
  }
}
