// RUN: valid
// Progress is asked for inside a window, of its participants, with its scheduler.
gpu.module @m attributes {cutlass.cluster_shape = array<i32: 2, 2, 1>} {
  gpu.func @k(%n: i32, %whom: i32) kernel {
    %sched = cutlass.tile_scheduler.static_persistent %n, %n, %n : i32, i32, i32 -> !cutlass.tile_scheduler<static_persistent>
    %pairs = arith.constant 3 : i64
    %one = arith.constant 1 : i32
    cutlass.async.exec {
      cutlass.tile_scheduler.mods_report_mainloop_start %sched, %pairs {is_2cta_mma = true} : !cutlass.tile_scheduler<static_persistent>, i64
      %0 = cutlass.tile_scheduler.mods_query_progress %sched, %one : !cutlass.tile_scheduler<static_persistent>, i32 -> i32
      %1 = cutlass.tile_scheduler.mods_query_progress %sched, %whom : !cutlass.tile_scheduler<static_persistent>, i32 -> i32
      cutlass.tile_scheduler.mods_report_mainloop_end %sched, %pairs {is_2cta_mma = true} : !cutlass.tile_scheduler<static_persistent>, i64 -> ()
      cutlass.async.yield
    }
    gpu.return
  }
}
