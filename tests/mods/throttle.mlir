// RUN: valid
// Profiles 0 and 1 may stand anywhere in a region, 2 in a window.
gpu.module @m attributes {cutlass.cluster_shape = array<i32: 2, 1, 1>} {
  gpu.func @k(%p: !llvm.ptr, %n: i32, %cond: i1, %dyn: i64) kernel {
    %sched = cutlass.tile_scheduler.static_persistent %n, %n, %n : i32, i32, i32 -> !cutlass.tile_scheduler<static_persistent>
    %mask = arith.constant 3 : i64

    cutlass.async.exec {warps = array<i32: 0, 4>} {
      cutlass.tile_scheduler.mods_report_mainloop_start %sched, %mask {is_2cta_mma = false} : !cutlass.tile_scheduler<static_persistent>, i64
      cutlass.tile_scheduler.mods_throttle {profile = 0 : i32}
      cutlass.tile_scheduler.mods_throttle {profile = 1 : i32}
      cutlass.tile_scheduler.mods_throttle {profile = 2 : i32}
      scf.if %cond {
        cutlass.tile_scheduler.mods_throttle {profile = 2 : i32}
      }
      cutlass.tile_scheduler.mods_report_mainloop_end %sched, %mask {is_2cta_mma = false} : !cutlass.tile_scheduler<static_persistent>, i64 -> ()
      cutlass.async.yield
    }
    gpu.return
  }
}

// -----

gpu.module @m attributes {cutlass.cluster_shape = array<i32: 2, 1, 1>} {
  gpu.func @k(%p: !llvm.ptr, %n: i32, %cond: i1, %dyn: i64) kernel {
    cutlass.async.exec {warps = array<i32: 0, 4>} {
      cutlass.tile_scheduler.mods_throttle {profile = 0 : i32}
      cutlass.tile_scheduler.mods_throttle {profile = 1 : i32}
      %smid = cutlass.tile_scheduler.mods_report_smid : i32
      cutlass.async.yield
    }
    gpu.return
  }
}
