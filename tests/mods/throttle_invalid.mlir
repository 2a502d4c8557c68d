// RUN: invalid
gpu.module @m attributes {cutlass.cluster_shape = array<i32: 2, 1, 1>} {
  gpu.func @k(%p: !llvm.ptr, %n: i32, %cond: i1, %dyn: i64) kernel {
    cutlass.async.exec {warps = array<i32: 0, 4>} {
      // expected-error@+1 {{has the cooperative profile 2, which must stand between a matched}}
      cutlass.tile_scheduler.mods_throttle {profile = 2 : i32}
      cutlass.async.yield
    }
    gpu.return
  }
}

// -----

gpu.module @m attributes {cutlass.cluster_shape = array<i32: 2, 1, 1>} {
  gpu.func @k(%p: !llvm.ptr, %n: i32, %cond: i1, %dyn: i64) kernel {
    %sched = cutlass.tile_scheduler.static_persistent %n, %n, %n : i32, i32, i32 -> !cutlass.tile_scheduler<static_persistent>
    %mask = arith.constant 3 : i64
    cutlass.async.exec {warps = array<i32: 0, 4>} {
      cutlass.tile_scheduler.mods_report_mainloop_start %sched, %mask {is_2cta_mma = false} : !cutlass.tile_scheduler<static_persistent>, i64
      cutlass.tile_scheduler.mods_report_mainloop_end %sched, %mask {is_2cta_mma = false} : !cutlass.tile_scheduler<static_persistent>, i64 -> ()
      // expected-error@+1 {{has the cooperative profile 2}}
      cutlass.tile_scheduler.mods_throttle {profile = 2 : i32}
      cutlass.async.yield
    }
    gpu.return
  }
}

// -----

gpu.module @m attributes {cutlass.cluster_shape = array<i32: 2, 1, 1>} {
  gpu.func @k(%p: !llvm.ptr, %n: i32, %cond: i1, %dyn: i64) kernel {
    cutlass.async.exec {warps = array<i32: 0, 4>} {
      // expected-error@+1 {{knows no profile 3, only 0, 1 and 2}}
      cutlass.tile_scheduler.mods_throttle {profile = 3 : i32}
      cutlass.async.yield
    }
    gpu.return
  }
}

// -----

gpu.module @m attributes {cutlass.cluster_shape = array<i32: 2, 1, 1>} {
  gpu.func @k(%p: !llvm.ptr, %n: i32, %cond: i1, %dyn: i64) kernel {
    cutlass.async.exec {warps = array<i32: 0, 4>} {
      // expected-error@+1 {{requires attribute 'profile'}}
      cutlass.tile_scheduler.mods_throttle
      cutlass.async.yield
    }
    gpu.return
  }
}
