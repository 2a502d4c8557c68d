// Two windows, one after the other: that a CTA has left the first says nothing of the turns of the second.
// args: --grid 2 --explore 60
// expect: 60 schedules, all well
// expect: 2 CTAs, 64 threads: 2624 instructions, 4 windows
gpu.module @m attributes {cutlass.cluster_shape = array<i32: 2, 1, 1>} {
  gpu.func @k() kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %one = arith.constant 1 : i32
    %four = arith.constant 4 : i32
    %mask = arith.constant 3 : i64
    %sched = cutlass.tile_scheduler.static_persistent %four, %four, %one : i32, i32, i32 -> !cutlass.tile_scheduler<static_persistent>
    cutlass.async.exec {warps = array<i32: 0, 1>} {
      cutlass.tile_scheduler.mods_report_mainloop_start %sched, %mask {is_2cta_mma = false} : !cutlass.tile_scheduler<static_persistent>, i64
      scf.for %i = %one to %four step %one : i32 {
        cutlass.tile_scheduler.mods_throttle {profile = 1 : i32}
      }
      cutlass.tile_scheduler.mods_report_mainloop_end %sched, %mask {is_2cta_mma = false} : !cutlass.tile_scheduler<static_persistent>, i64 -> ()
      cutlass.tile_scheduler.mods_report_mainloop_start %sched, %mask {is_2cta_mma = false} : !cutlass.tile_scheduler<static_persistent>, i64
      scf.for %i = %one to %four step %one : i32 {
        cutlass.tile_scheduler.mods_throttle {profile = 1 : i32}
      }
      cutlass.tile_scheduler.mods_report_mainloop_end %sched, %mask {is_2cta_mma = false} : !cutlass.tile_scheduler<static_persistent>, i64 -> ()
      cutlass.async.yield
    }
    gpu.return
  }
}
