// RUN: invalid
gpu.module @m attributes {cutlass.cluster_shape = array<i32: 2, 1, 1>} {
  gpu.func @k(%p: !llvm.ptr, %n: i32, %cond: i1) kernel {
    %sched = cutlass.tile_scheduler.static_persistent %n, %n, %n : i32, i32, i32 -> !cutlass.tile_scheduler<static_persistent>
    %mask = arith.constant 3 : i64
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %four = arith.constant 4 : i32
    cutlass.async.exec {warps = array<i32: 0, 4>} {
      // expected-note@+1 {{mark it with 'cutlass.cluster_uniform' if it does not}}
      scf.for %i = %zero to %n step %one : i32 {
        // expected-error@+1 {{stands in a loop whose number of turns may differ between the CTAs of the cluster}}
        cutlass.tile_scheduler.mods_report_mainloop_start %sched, %mask {is_2cta_mma = false} : !cutlass.tile_scheduler<static_persistent>, i64
        cutlass.tile_scheduler.mods_report_mainloop_end %sched, %mask {is_2cta_mma = false} : !cutlass.tile_scheduler<static_persistent>, i64 -> ()
        scf.yield
      }
      cutlass.async.yield
    }
    gpu.return
  }
}
// -----
gpu.module @m attributes {cutlass.cluster_shape = array<i32: 2, 1, 1>} {
  gpu.func @k(%p: !llvm.ptr, %n: i32, %cond: i1) kernel {
    %sched = cutlass.tile_scheduler.static_persistent %n, %n, %n : i32, i32, i32 -> !cutlass.tile_scheduler<static_persistent>
    %mask = arith.constant 3 : i64
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %four = arith.constant 4 : i32
    cutlass.async.exec {warps = array<i32: 0, 4>} {
      // expected-note@+1 {{mark it with 'cutlass.cluster_uniform' if it does not}}
      scf.for %i = %zero to %four step %n : i32 {
        // expected-error@+1 {{stands in a loop whose number of turns may differ between the CTAs of the cluster}}
        cutlass.tile_scheduler.mods_report_mainloop_start %sched, %mask {is_2cta_mma = false} : !cutlass.tile_scheduler<static_persistent>, i64
        cutlass.tile_scheduler.mods_report_mainloop_end %sched, %mask {is_2cta_mma = false} : !cutlass.tile_scheduler<static_persistent>, i64 -> ()
        scf.yield
      }
      cutlass.async.yield
    }
    gpu.return
  }
}
// -----
gpu.module @m attributes {cutlass.cluster_shape = array<i32: 2, 1, 1>} {
  gpu.func @k(%p: !llvm.ptr, %n: i32, %cond: i1) kernel {
    %sched = cutlass.tile_scheduler.static_persistent %n, %n, %n : i32, i32, i32 -> !cutlass.tile_scheduler<static_persistent>
    %mask = arith.constant 3 : i64
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %four = arith.constant 4 : i32
    cutlass.async.exec {warps = array<i32: 0, 4>} {
      // expected-note@+1 {{mark it with 'cutlass.cluster_uniform' if it does not}}
      scf.while () : () -> () {
        scf.condition(%cond)
      } do {
        // expected-error@+1 {{stands in a loop whose number of turns may differ between the CTAs of the cluster}}
        cutlass.tile_scheduler.mods_report_mainloop_start %sched, %mask {is_2cta_mma = false} : !cutlass.tile_scheduler<static_persistent>, i64
        cutlass.tile_scheduler.mods_report_mainloop_end %sched, %mask {is_2cta_mma = false} : !cutlass.tile_scheduler<static_persistent>, i64 -> ()
        scf.yield
      }
      cutlass.async.yield
    }
    gpu.return
  }
}
// -----
// The mark of an inner loop says nothing of the outer one.
gpu.module @m attributes {cutlass.cluster_shape = array<i32: 2, 1, 1>} {
  gpu.func @k(%p: !llvm.ptr, %n: i32, %cond: i1) kernel {
    %sched = cutlass.tile_scheduler.static_persistent %n, %n, %n : i32, i32, i32 -> !cutlass.tile_scheduler<static_persistent>
    %mask = arith.constant 3 : i64
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %four = arith.constant 4 : i32
    cutlass.async.exec {warps = array<i32: 0, 4>} {
      // expected-note@+1 {{mark it with 'cutlass.cluster_uniform' if it does not}}
      scf.for %j = %zero to %n step %one : i32 {
        scf.for %i = %zero to %n step %one : i32 {
          // expected-error@+1 {{stands in a loop whose number of turns may differ between the CTAs of the cluster}}
          cutlass.tile_scheduler.mods_report_mainloop_start %sched, %mask {is_2cta_mma = false} : !cutlass.tile_scheduler<static_persistent>, i64
          cutlass.tile_scheduler.mods_report_mainloop_end %sched, %mask {is_2cta_mma = false} : !cutlass.tile_scheduler<static_persistent>, i64 -> ()
          scf.yield
        } {cutlass.cluster_uniform}
        scf.yield
      }
      cutlass.async.yield
    }
    gpu.return
  }
}
// -----
// Around the region it is the same.
gpu.module @m attributes {cutlass.cluster_shape = array<i32: 2, 1, 1>} {
  gpu.func @k(%p: !llvm.ptr, %n: i32, %cond: i1) kernel {
    %sched = cutlass.tile_scheduler.static_persistent %n, %n, %n : i32, i32, i32 -> !cutlass.tile_scheduler<static_persistent>
    %mask = arith.constant 3 : i64
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %four = arith.constant 4 : i32
    // expected-note@+1 {{mark it with 'cutlass.cluster_uniform' if it does not}}
    scf.if %cond {
    cutlass.async.exec {warps = array<i32: 0, 4>} {
      // expected-error@+1 {{stands under a condition that may differ between the CTAs of the cluster}}
      cutlass.tile_scheduler.mods_report_mainloop_start %sched, %mask {is_2cta_mma = false} : !cutlass.tile_scheduler<static_persistent>, i64
      cutlass.tile_scheduler.mods_report_mainloop_end %sched, %mask {is_2cta_mma = false} : !cutlass.tile_scheduler<static_persistent>, i64 -> ()
      cutlass.async.yield
    }
    }
    gpu.return
  }
}
// -----
gpu.module @m attributes {cutlass.cluster_shape = array<i32: 2, 1, 1>} {
  gpu.func @k(%p: !llvm.ptr, %n: i32, %cond: i1) kernel {
    %sched = cutlass.tile_scheduler.static_persistent %n, %n, %n : i32, i32, i32 -> !cutlass.tile_scheduler<static_persistent>
    %mask = arith.constant 3 : i64
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %four = arith.constant 4 : i32
    // expected-note@+1 {{mark it with 'cutlass.cluster_uniform' if it does not}}
    cf.cond_br %cond, ^one, ^two
  ^one:
    cutlass.async.exec {warps = array<i32: 0, 4>} {
      // expected-error@+1 {{stands behind a branch that may differ between the CTAs of the cluster}}
      cutlass.tile_scheduler.mods_report_mainloop_start %sched, %mask {is_2cta_mma = false} : !cutlass.tile_scheduler<static_persistent>, i64
      cutlass.tile_scheduler.mods_report_mainloop_end %sched, %mask {is_2cta_mma = false} : !cutlass.tile_scheduler<static_persistent>, i64 -> ()
      cutlass.async.yield
    }
    cf.br ^two
  ^two:
    gpu.return
  }
}
// -----
// Behind a way out.
gpu.module @m attributes {cutlass.cluster_shape = array<i32: 2, 1, 1>} {
  gpu.func @k(%p: !llvm.ptr, %n: i32, %cond: i1) kernel {
    %sched = cutlass.tile_scheduler.static_persistent %n, %n, %n : i32, i32, i32 -> !cutlass.tile_scheduler<static_persistent>
    %mask = arith.constant 3 : i64
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %four = arith.constant 4 : i32
    // expected-note@+1 {{mark it with 'cutlass.cluster_uniform' if it does not}}
    cf.cond_br %cond, ^out, ^on
  ^out:
    gpu.return
  ^on:
    cutlass.async.exec {warps = array<i32: 0, 4>} {
      // expected-error@+1 {{stands behind a branch that may differ between the CTAs of the cluster}}
      cutlass.tile_scheduler.mods_report_mainloop_start %sched, %mask {is_2cta_mma = false} : !cutlass.tile_scheduler<static_persistent>, i64
      cutlass.tile_scheduler.mods_report_mainloop_end %sched, %mask {is_2cta_mma = false} : !cutlass.tile_scheduler<static_persistent>, i64 -> ()
      cutlass.async.yield
    }
    gpu.return
  }
}
