// RUN: invalid
gpu.module @m attributes {cutlass.cluster_shape = array<i32: 2, 1, 1>} {
  gpu.func @k(%p: !llvm.ptr, %n: i32, %cond: i1, %i: index) kernel {
    %sched = cutlass.tile_scheduler.static_persistent %n, %n, %n : i32, i32, i32 -> !cutlass.tile_scheduler<static_persistent>
    %mask = arith.constant 3 : i64
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    %t = gpu.thread_id x
    %c = arith.cmpi eq, %t, %zero : index
    cutlass.async.exec {warps = array<i32: 0, 4>} {
      cutlass.tile_scheduler.mods_report_mainloop_start %sched, %mask {is_2cta_mma = false} : !cutlass.tile_scheduler<static_persistent>, i64
      scf.if %c {
        // expected-error@+1 {{profile 2 under a condition that may differ between threads}}
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
  gpu.func @k(%p: !llvm.ptr, %n: i32, %cond: i1, %i: index) kernel {
    %sched = cutlass.tile_scheduler.static_persistent %n, %n, %n : i32, i32, i32 -> !cutlass.tile_scheduler<static_persistent>
    %mask = arith.constant 3 : i64
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    %t = nvvm.read.ptx.sreg.tid.x : i32
    %five = arith.constant 5 : i32
    %w = arith.shrui %t, %five : i32
    %c = arith.cmpi slt, %w, %n : i32
    cutlass.async.exec {warps = array<i32: 0, 4>} {
      cutlass.tile_scheduler.mods_report_mainloop_start %sched, %mask {is_2cta_mma = false} : !cutlass.tile_scheduler<static_persistent>, i64
      scf.if %c {
        // expected-error@+1 {{profile 2 under a condition that may differ between threads}}
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
  gpu.func @k(%p: !llvm.ptr, %n: i32, %cond: i1, %i: index) kernel {
    %sched = cutlass.tile_scheduler.static_persistent %n, %n, %n : i32, i32, i32 -> !cutlass.tile_scheduler<static_persistent>
    %mask = arith.constant 3 : i64
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    %t = gpu.lane_id
    cutlass.async.exec {warps = array<i32: 0, 4>} {
      cutlass.tile_scheduler.mods_report_mainloop_start %sched, %mask {is_2cta_mma = false} : !cutlass.tile_scheduler<static_persistent>, i64
      scf.for %j = %zero to %t step %one {
        // expected-error@+1 {{profile 2 in a loop whose number of turns may differ between threads}}
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
  gpu.func @k(%p: !llvm.ptr, %n: i32, %cond: i1, %i: index) kernel {
    %sched = cutlass.tile_scheduler.static_persistent %n, %n, %n : i32, i32, i32 -> !cutlass.tile_scheduler<static_persistent>
    %mask = arith.constant 3 : i64
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    %t = gpu.thread_id x
    cutlass.async.exec {warps = array<i32: 0, 4>} {
      cutlass.tile_scheduler.mods_report_mainloop_start %sched, %mask {is_2cta_mma = false} : !cutlass.tile_scheduler<static_persistent>, i64
      %r = scf.for %j = %zero to %i step %one iter_args(%a = %zero) -> (index) {
        %c = arith.cmpi eq, %a, %zero : index
        scf.if %c {
          // expected-error@+1 {{profile 2 under a condition that may differ between threads}}
          cutlass.tile_scheduler.mods_throttle {profile = 2 : i32}
        }
        scf.yield %t : index
      }
      cutlass.tile_scheduler.mods_report_mainloop_end %sched, %mask {is_2cta_mma = false} : !cutlass.tile_scheduler<static_persistent>, i64 -> ()
      cutlass.async.yield
    }
    gpu.return
  }
}

// -----

gpu.module @m attributes {cutlass.cluster_shape = array<i32: 2, 1, 1>} {
  gpu.func @k(%p: !llvm.ptr, %n: i32, %cond: i1, %i: index) kernel {
    %sched = cutlass.tile_scheduler.static_persistent %n, %n, %n : i32, i32, i32 -> !cutlass.tile_scheduler<static_persistent>
    %mask = arith.constant 3 : i64
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    %t = gpu.thread_id x
    cutlass.async.exec {warps = array<i32: 0, 4>} {
      cutlass.tile_scheduler.mods_report_mainloop_start %sched, %mask {is_2cta_mma = false} : !cutlass.tile_scheduler<static_persistent>, i64
      %r = scf.while (%a = %zero) : (index) -> index {
        %c = arith.cmpi slt, %a, %t : index
        scf.condition(%c) %a : index
      } do {
      ^bb0(%b: index):
        // expected-error@+1 {{profile 2 in a loop whose number of turns may differ between threads}}
        cutlass.tile_scheduler.mods_throttle {profile = 2 : i32}
        %d = arith.addi %b, %one : index
        scf.yield %d : index
      }
      cutlass.tile_scheduler.mods_report_mainloop_end %sched, %mask {is_2cta_mma = false} : !cutlass.tile_scheduler<static_persistent>, i64 -> ()
      cutlass.async.yield
    }
    gpu.return
  }
}

// -----

gpu.module @m attributes {cutlass.cluster_shape = array<i32: 2, 1, 1>} {
  gpu.func @k(%p: !llvm.ptr, %n: i32, %cond: i1, %i: index) kernel {
    %sched = cutlass.tile_scheduler.static_persistent %n, %n, %n : i32, i32, i32 -> !cutlass.tile_scheduler<static_persistent>
    %mask = arith.constant 3 : i64
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    cutlass.async.exec {warps = array<i32: 0, 4>} {
      cutlass.tile_scheduler.mods_report_mainloop_start %sched, %mask {is_2cta_mma = false} : !cutlass.tile_scheduler<static_persistent>, i64
      %got = llvm.atomicrmw add %p, %n monotonic : !llvm.ptr, i32
      %c = arith.cmpi eq, %got, %n : i32
      %which = scf.if %c -> (index) {
        scf.yield %zero : index
      } else {
        scf.yield %one : index
      }
      scf.for %j = %which to %i step %one {
        // expected-error@+1 {{profile 2 in a loop whose number of turns may differ between threads}}
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
  gpu.func @k(%p: !llvm.ptr, %n: i32, %cond: i1, %i: index) kernel {
    %sched = cutlass.tile_scheduler.static_persistent %n, %n, %n : i32, i32, i32 -> !cutlass.tile_scheduler<static_persistent>
    %mask = arith.constant 3 : i64
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    %t = nvvm.read.ptx.sreg.tid.x : i32
    cutlass.async.exec {warps = array<i32: 0, 4>} {
      cutlass.tile_scheduler.mods_report_mainloop_start %sched, %mask {is_2cta_mma = false} : !cutlass.tile_scheduler<static_persistent>, i64
      %at = llvm.getelementptr %p[%t] : (!llvm.ptr, i32) -> !llvm.ptr, i32
      %got = llvm.load %at : !llvm.ptr -> i32
      %c = arith.cmpi eq, %got, %n : i32
      scf.if %c {
        // expected-error@+1 {{profile 2 under a condition that may differ between threads}}
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
  func.func @mine() -> i1 {
    %c = "nvvm.elect.sync"() : () -> i1
    return %c : i1
  }
  gpu.func @k(%p: !llvm.ptr, %n: i32, %cond: i1, %i: index) kernel {
    %sched = cutlass.tile_scheduler.static_persistent %n, %n, %n : i32, i32, i32 -> !cutlass.tile_scheduler<static_persistent>
    %mask = arith.constant 3 : i64
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    cutlass.async.exec {warps = array<i32: 0, 4>} {
      cutlass.tile_scheduler.mods_report_mainloop_start %sched, %mask {is_2cta_mma = false} : !cutlass.tile_scheduler<static_persistent>, i64
      %c = func.call @mine() : () -> i1
      scf.if %c {
        // expected-error@+1 {{profile 2 under a condition that may differ between threads}}
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
  gpu.func @k(%p: !llvm.ptr, %n: i32, %cond: i1, %i: index) kernel {
    %sched = cutlass.tile_scheduler.static_persistent %n, %n, %n : i32, i32, i32 -> !cutlass.tile_scheduler<static_persistent>
    %mask = arith.constant 3 : i64
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    %t = gpu.thread_id y
    %c = arith.cmpi eq, %t, %zero : index
    cutlass.async.exec {warps = array<i32: 0, 4>} {
      cutlass.tile_scheduler.mods_report_mainloop_start %sched, %mask {is_2cta_mma = false} : !cutlass.tile_scheduler<static_persistent>, i64
      scf.if %c {
        scf.if %cond {
          // expected-error@+1 {{profile 2 under a condition that may differ between threads}}
          cutlass.tile_scheduler.mods_throttle {profile = 2 : i32}
        }
      }
      cutlass.tile_scheduler.mods_report_mainloop_end %sched, %mask {is_2cta_mma = false} : !cutlass.tile_scheduler<static_persistent>, i64 -> ()
      cutlass.async.yield
    }
    gpu.return
  }
}

// -----

gpu.module @m attributes {cutlass.cluster_shape = array<i32: 2, 1, 1>} {
  gpu.func @k(%p: !llvm.ptr, %n: i32, %cond: i1, %i: index) kernel {
    %sched = cutlass.tile_scheduler.static_persistent %n, %n, %n : i32, i32, i32 -> !cutlass.tile_scheduler<static_persistent>
    %mask = arith.constant 3 : i64
    %one = arith.constant 1 : i32
    cutlass.async.exec {warps = array<i32: 0, 4>} {
      cutlass.tile_scheduler.mods_report_mainloop_start %sched, %mask {is_2cta_mma = false} : !cutlass.tile_scheduler<static_persistent>, i64
      %now = cutlass.tile_scheduler.mods_query_progress %sched, %one : !cutlass.tile_scheduler<static_persistent>, i32 -> i32
      %c = arith.cmpi eq, %now, %one : i32
      scf.if %c {
        // expected-error@+1 {{profile 2 under a condition that may differ between threads}}
        cutlass.tile_scheduler.mods_throttle {profile = 2 : i32}
      }
      cutlass.tile_scheduler.mods_report_mainloop_end %sched, %mask {is_2cta_mma = false} : !cutlass.tile_scheduler<static_persistent>, i64 -> ()
      cutlass.async.yield
    }
    gpu.return
  }
}
