// RUN: invalid
gpu.module @m attributes {cutlass.cluster_shape = array<i32: 2, 1, 1>} {
  gpu.func @k(%p: !llvm.ptr, %n: i32, %cond: i1, %dyn: i64) kernel {
    %sched = cutlass.tile_scheduler.static_persistent %n, %n, %n : i32, i32, i32 -> !cutlass.tile_scheduler<static_persistent>
    %mask = arith.constant 1 : i64
    cutlass.async.exec {warps = array<i32: 0, 4>} {
      // expected-note@+1 {{the start is here}}
      cutlass.tile_scheduler.mods_report_mainloop_start %sched, %mask {is_2cta_mma = true} : !cutlass.tile_scheduler<static_persistent>, i64
      // expected-error@+1 {{does not agree with its start on is_2cta_mma}}
      cutlass.tile_scheduler.mods_report_mainloop_end %sched, %mask {is_2cta_mma = false} : !cutlass.tile_scheduler<static_persistent>, i64 -> ()
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
    %other = cutlass.tile_scheduler.static_persistent %n, %n, %n : i32, i32, i32 -> !cutlass.tile_scheduler<static_persistent>
    cutlass.async.exec {warps = array<i32: 0, 4>} {
      cutlass.tile_scheduler.mods_report_mainloop_start %sched, %mask {is_2cta_mma = false} : !cutlass.tile_scheduler<static_persistent>, i64
      // expected-error@+1 {{does not agree with its start on the scheduler}}
      cutlass.tile_scheduler.mods_report_mainloop_end %other, %mask {is_2cta_mma = false} : !cutlass.tile_scheduler<static_persistent>, i64 -> ()
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
    %b = arith.constant 1 : i64
    cutlass.async.exec {warps = array<i32: 0, 4>} {
      cutlass.tile_scheduler.mods_report_mainloop_start %sched, %mask {is_2cta_mma = false} : !cutlass.tile_scheduler<static_persistent>, i64
      // expected-error@+1 {{does not agree with its start on the participant mask}}
      cutlass.tile_scheduler.mods_report_mainloop_end %sched, %b {is_2cta_mma = false} : !cutlass.tile_scheduler<static_persistent>, i64 -> ()
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
      // expected-warning@+1 {{has a participant mask that is known at run time only; the lowering takes it for all 2 CTAs}}
      cutlass.tile_scheduler.mods_report_mainloop_start %sched, %dyn {is_2cta_mma = false} : !cutlass.tile_scheduler<static_persistent>, i64
      // expected-error@+1 {{does not agree with its start on the participant mask}}
      cutlass.tile_scheduler.mods_report_mainloop_end %sched, %mask {is_2cta_mma = false} : !cutlass.tile_scheduler<static_persistent>, i64 -> ()
      cutlass.async.yield
    }
    gpu.return
  }
}
