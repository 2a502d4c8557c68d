// RUN: lower-fails --partial=mbarrier
// SAYS: all of 8 to 15 are taken
gpu.module @m attributes {cutlass.cluster_shape = array<i32: 4, 1, 1>} {
  gpu.func @k(%n: i32) kernel {
    %sched = cutlass.tile_scheduler.static_persistent %n, %n, %n : i32, i32, i32 -> !cutlass.tile_scheduler<static_persistent>
    %mask = arith.constant 5 : i64
    cutlass.async.exec {warps = array<i32: 0, 1>} {
      cutlass.tile_scheduler.mods_report_mainloop_start %sched, %mask {is_2cta_mma = false} : !cutlass.tile_scheduler<static_persistent>, i64
      cutlass.tile_scheduler.mods_throttle {profile = 2 : i32}
      cutlass.tile_scheduler.mods_report_mainloop_end %sched, %mask {is_2cta_mma = false} : !cutlass.tile_scheduler<static_persistent>, i64 -> ()
      cutlass.async.yield
    }
    cutlass.async.exec {warps = array<i32: 1, 2>} {
      cutlass.tile_scheduler.mods_report_mainloop_start %sched, %mask {is_2cta_mma = false} : !cutlass.tile_scheduler<static_persistent>, i64
      cutlass.tile_scheduler.mods_throttle {profile = 2 : i32}
      cutlass.tile_scheduler.mods_report_mainloop_end %sched, %mask {is_2cta_mma = false} : !cutlass.tile_scheduler<static_persistent>, i64 -> ()
      cutlass.async.yield
    }
    cutlass.async.exec {warps = array<i32: 2, 3>} {
      cutlass.tile_scheduler.mods_report_mainloop_start %sched, %mask {is_2cta_mma = false} : !cutlass.tile_scheduler<static_persistent>, i64
      cutlass.tile_scheduler.mods_throttle {profile = 2 : i32}
      cutlass.tile_scheduler.mods_report_mainloop_end %sched, %mask {is_2cta_mma = false} : !cutlass.tile_scheduler<static_persistent>, i64 -> ()
      cutlass.async.yield
    }
    cutlass.async.exec {warps = array<i32: 3, 4>} {
      cutlass.tile_scheduler.mods_report_mainloop_start %sched, %mask {is_2cta_mma = false} : !cutlass.tile_scheduler<static_persistent>, i64
      cutlass.tile_scheduler.mods_throttle {profile = 2 : i32}
      cutlass.tile_scheduler.mods_report_mainloop_end %sched, %mask {is_2cta_mma = false} : !cutlass.tile_scheduler<static_persistent>, i64 -> ()
      cutlass.async.yield
    }
    cutlass.async.exec {warps = array<i32: 4, 5>} {
      cutlass.tile_scheduler.mods_report_mainloop_start %sched, %mask {is_2cta_mma = false} : !cutlass.tile_scheduler<static_persistent>, i64
      cutlass.tile_scheduler.mods_throttle {profile = 2 : i32}
      cutlass.tile_scheduler.mods_report_mainloop_end %sched, %mask {is_2cta_mma = false} : !cutlass.tile_scheduler<static_persistent>, i64 -> ()
      cutlass.async.yield
    }
    gpu.return
  }
}
