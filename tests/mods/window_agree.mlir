// RUN: valid
// A pair agrees on scheduler, mask and flag: one value, or equal constants.
gpu.module @m attributes {cutlass.cluster_shape = array<i32: 2, 1, 1>} {
  gpu.func @k(%p: !llvm.ptr, %n: i32, %cond: i1, %dyn: i64) kernel {
    %sched = cutlass.tile_scheduler.static_persistent %n, %n, %n : i32, i32, i32 -> !cutlass.tile_scheduler<static_persistent>
    %a = arith.constant 3 : i64
    %b = arith.constant 3 : i64
    cutlass.async.exec {warps = array<i32: 0, 4>} {
      cutlass.tile_scheduler.mods_report_mainloop_start %sched, %a {is_2cta_mma = false} : !cutlass.tile_scheduler<static_persistent>, i64
      cutlass.tile_scheduler.mods_report_mainloop_end %sched, %b {is_2cta_mma = false} : !cutlass.tile_scheduler<static_persistent>, i64 -> ()
      cutlass.async.yield
    }
    gpu.return
  }
}
