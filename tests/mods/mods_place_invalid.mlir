// RUN: invalid
gpu.module @m attributes {cutlass.cluster_shape = array<i32: 2, 1, 1>} {
  gpu.func @k(%p: !llvm.ptr, %n: i32, %cond: i1, %dyn: i64) kernel {
    // expected-error@+1 {{appears only inside 'cutlass.async.exec'}}
    %smid = cutlass.tile_scheduler.mods_report_smid : i32
    gpu.return
  }
}

// -----

gpu.module @m attributes {cutlass.cluster_shape = array<i32: 2, 1, 1>} {
  gpu.func @k(%p: !llvm.ptr, %n: i32, %cond: i1, %dyn: i64) kernel {
    // expected-error@+1 {{appears only inside 'cutlass.async.exec'}}
    cutlass.tile_scheduler.mods_throttle {profile = 0 : i32}
    gpu.return
  }
}

// -----

gpu.module @m attributes {cutlass.cluster_shape = array<i32: 2, 1, 1>} {
  gpu.func @k(%p: !llvm.ptr, %n: i32, %cond: i1, %dyn: i64) kernel {
    %sched = cutlass.tile_scheduler.static_persistent %n, %n, %n : i32, i32, i32 -> !cutlass.tile_scheduler<static_persistent>
    %mask = arith.constant 3 : i64
    // expected-error@+1 {{appears only inside 'cutlass.async.exec'}}
    cutlass.tile_scheduler.mods_report_mainloop_start %sched, %mask {is_2cta_mma = false} : !cutlass.tile_scheduler<static_persistent>, i64
    // expected-error@+1 {{appears only inside 'cutlass.async.exec'}}
    cutlass.tile_scheduler.mods_report_mainloop_end %sched, %mask {is_2cta_mma = false} : !cutlass.tile_scheduler<static_persistent>, i64 -> ()
    gpu.return
  }
}

// -----

// expected-error@+1 {{appears only inside 'cutlass.async.exec'}}
%smid = cutlass.tile_scheduler.mods_report_smid : i32
