// A kernel's own named barrier is not the throttles'.
// args: --grid 2 --explore 20
// expect: 20 schedules, all well
gpu.module @m attributes {cutlass.cluster_shape = array<i32: 2, 1, 1>} {
  gpu.func @k() kernel attributes {known_block_size = array<i32: 64, 1, 1>} {
    %one = arith.constant 1 : i32
    %four = arith.constant 4 : i32
    %mask = arith.constant 3 : i64
    %id = arith.constant 8 : i32
    %threads = arith.constant 64 : i32
    %sched = cutlass.tile_scheduler.static_persistent %four, %four, %one : i32, i32, i32 -> !cutlass.tile_scheduler<static_persistent>
    cutlass.async.exec {warps = array<i32: 0, 1>} {
      cutlass.tile_scheduler.mods_report_mainloop_start %sched, %mask {is_2cta_mma = false} : !cutlass.tile_scheduler<static_persistent>, i64
      "nvvm.barrier"(%id, %threads) <{operandSegmentSizes = array<i32: 1, 1>}> : (i32, i32) -> ()
      cutlass.tile_scheduler.mods_throttle {profile = 2 : i32}
      cutlass.tile_scheduler.mods_report_mainloop_end %sched, %mask {is_2cta_mma = false} : !cutlass.tile_scheduler<static_persistent>, i64 -> ()
      cutlass.async.yield
    }
    cutlass.async.exec {warps = array<i32: 1, 2>} {
      cutlass.tile_scheduler.mods_report_mainloop_start %sched, %mask {is_2cta_mma = false} : !cutlass.tile_scheduler<static_persistent>, i64
      cutlass.tile_scheduler.mods_throttle {profile = 2 : i32}
      "nvvm.barrier"(%id, %threads) <{operandSegmentSizes = array<i32: 1, 1>}> : (i32, i32) -> ()
      cutlass.tile_scheduler.mods_report_mainloop_end %sched, %mask {is_2cta_mma = false} : !cutlass.tile_scheduler<static_persistent>, i64 -> ()
      cutlass.async.yield
    }
    gpu.return
  }
}
