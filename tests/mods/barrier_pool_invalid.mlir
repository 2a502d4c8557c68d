// RUN: invalid
gpu.module @m attributes {cutlass.cluster_shape = array<i32: 2, 1, 1>} {
  gpu.func @k(%p: !llvm.ptr, %n: i32, %cond: i1, %dyn: i64) kernel {
    %sched = cutlass.tile_scheduler.static_persistent %n, %n, %n : i32, i32, i32 -> !cutlass.tile_scheduler<static_persistent>
    %mask = arith.constant 3 : i64
    %th = arith.constant 128 : i32
    cutlass.async.exec {warps = array<i32: 0, 1>} {
      cutlass.tile_scheduler.mods_report_mainloop_start %sched, %mask {is_2cta_mma = false} : !cutlass.tile_scheduler<static_persistent>, i64
      cutlass.tile_scheduler.mods_throttle {profile = 2 : i32}
      cutlass.tile_scheduler.mods_throttle {profile = 2 : i32}
      cutlass.tile_scheduler.mods_report_mainloop_end %sched, %mask {is_2cta_mma = false} : !cutlass.tile_scheduler<static_persistent>, i64 -> ()
      cutlass.async.yield
    }
    cutlass.async.exec {warps = array<i32: 1, 2>} {
      cutlass.tile_scheduler.mods_report_mainloop_start %sched, %mask {is_2cta_mma = false} : !cutlass.tile_scheduler<static_persistent>, i64
      cutlass.tile_scheduler.mods_throttle {profile = 2 : i32}
      cutlass.tile_scheduler.mods_throttle {profile = 2 : i32}
      cutlass.tile_scheduler.mods_report_mainloop_end %sched, %mask {is_2cta_mma = false} : !cutlass.tile_scheduler<static_persistent>, i64 -> ()
      cutlass.async.yield
    }
    cutlass.async.exec {warps = array<i32: 2, 3>} {
      cutlass.tile_scheduler.mods_report_mainloop_start %sched, %mask {is_2cta_mma = false} : !cutlass.tile_scheduler<static_persistent>, i64
      cutlass.tile_scheduler.mods_throttle {profile = 2 : i32}
      cutlass.tile_scheduler.mods_throttle {profile = 2 : i32}
      cutlass.tile_scheduler.mods_report_mainloop_end %sched, %mask {is_2cta_mma = false} : !cutlass.tile_scheduler<static_persistent>, i64 -> ()
      cutlass.async.yield
    }
    cutlass.async.exec {warps = array<i32: 3, 4>} {
      cutlass.tile_scheduler.mods_report_mainloop_start %sched, %mask {is_2cta_mma = false} : !cutlass.tile_scheduler<static_persistent>, i64
      cutlass.tile_scheduler.mods_throttle {profile = 2 : i32}
      cutlass.tile_scheduler.mods_throttle {profile = 2 : i32}
      cutlass.tile_scheduler.mods_report_mainloop_end %sched, %mask {is_2cta_mma = false} : !cutlass.tile_scheduler<static_persistent>, i64 -> ()
      cutlass.async.yield
    }
    cutlass.async.exec {warps = array<i32: 4, 5>} {
      cutlass.tile_scheduler.mods_report_mainloop_start %sched, %mask {is_2cta_mma = false} : !cutlass.tile_scheduler<static_persistent>, i64
      cutlass.tile_scheduler.mods_throttle {profile = 2 : i32}
      cutlass.tile_scheduler.mods_throttle {profile = 2 : i32}
      cutlass.tile_scheduler.mods_report_mainloop_end %sched, %mask {is_2cta_mma = false} : !cutlass.tile_scheduler<static_persistent>, i64 -> ()
      cutlass.async.yield
    }
    cutlass.async.exec {warps = array<i32: 5, 6>} {
      cutlass.tile_scheduler.mods_report_mainloop_start %sched, %mask {is_2cta_mma = false} : !cutlass.tile_scheduler<static_persistent>, i64
      cutlass.tile_scheduler.mods_throttle {profile = 2 : i32}
      cutlass.tile_scheduler.mods_throttle {profile = 2 : i32}
      cutlass.tile_scheduler.mods_report_mainloop_end %sched, %mask {is_2cta_mma = false} : !cutlass.tile_scheduler<static_persistent>, i64 -> ()
      cutlass.async.yield
    }
    cutlass.async.exec {warps = array<i32: 6, 7>} {
      cutlass.tile_scheduler.mods_report_mainloop_start %sched, %mask {is_2cta_mma = false} : !cutlass.tile_scheduler<static_persistent>, i64
      cutlass.tile_scheduler.mods_throttle {profile = 2 : i32}
      cutlass.tile_scheduler.mods_throttle {profile = 2 : i32}
      cutlass.tile_scheduler.mods_report_mainloop_end %sched, %mask {is_2cta_mma = false} : !cutlass.tile_scheduler<static_persistent>, i64 -> ()
      cutlass.async.yield
    }
    cutlass.async.exec {warps = array<i32: 7, 8>} {
      cutlass.tile_scheduler.mods_report_mainloop_start %sched, %mask {is_2cta_mma = false} : !cutlass.tile_scheduler<static_persistent>, i64
      cutlass.tile_scheduler.mods_throttle {profile = 2 : i32}
      cutlass.tile_scheduler.mods_throttle {profile = 2 : i32}
      cutlass.tile_scheduler.mods_report_mainloop_end %sched, %mask {is_2cta_mma = false} : !cutlass.tile_scheduler<static_persistent>, i64 -> ()
      cutlass.async.yield
    }
    cutlass.async.exec {warps = array<i32: 8, 9>} {
      cutlass.tile_scheduler.mods_report_mainloop_start %sched, %mask {is_2cta_mma = false} : !cutlass.tile_scheduler<static_persistent>, i64
      // expected-error@+1 {{needs a named barrier, but all of the pool's (8 to 15) are taken}}
      cutlass.tile_scheduler.mods_throttle {profile = 2 : i32}
      cutlass.tile_scheduler.mods_throttle {profile = 2 : i32}
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
    %b8 = arith.constant 8 : i32
    %b9 = arith.constant 9 : i32
    %b10 = arith.constant 10 : i32
    %b11 = arith.constant 11 : i32
    %b12 = arith.constant 12 : i32
    %b13 = arith.constant 13 : i32
    %th = arith.constant 128 : i32
    "nvvm.barrier"(%b8, %th) <{operandSegmentSizes = array<i32: 1, 1>}> : (i32, i32) -> ()
    "nvvm.barrier"(%b9, %th) <{operandSegmentSizes = array<i32: 1, 1>}> : (i32, i32) -> ()
    "nvvm.barrier"(%b10, %th) <{operandSegmentSizes = array<i32: 1, 1>}> : (i32, i32) -> ()
    "nvvm.barrier"(%b11, %th) <{operandSegmentSizes = array<i32: 1, 1>}> : (i32, i32) -> ()
    "nvvm.barrier"(%b12, %th) <{operandSegmentSizes = array<i32: 1, 1>}> : (i32, i32) -> ()
    "nvvm.barrier"(%b13, %th) <{operandSegmentSizes = array<i32: 1, 1>}> : (i32, i32) -> ()
    cutlass.async.exec {warps = array<i32: 0, 1>} {
      cutlass.tile_scheduler.mods_report_mainloop_start %sched, %mask {is_2cta_mma = false} : !cutlass.tile_scheduler<static_persistent>, i64
      cutlass.tile_scheduler.mods_throttle {profile = 2 : i32}
      cutlass.tile_scheduler.mods_throttle {profile = 2 : i32}
      cutlass.tile_scheduler.mods_report_mainloop_end %sched, %mask {is_2cta_mma = false} : !cutlass.tile_scheduler<static_persistent>, i64 -> ()
      cutlass.async.yield
    }
    cutlass.async.exec {warps = array<i32: 1, 2>} {
      cutlass.tile_scheduler.mods_report_mainloop_start %sched, %mask {is_2cta_mma = false} : !cutlass.tile_scheduler<static_persistent>, i64
      cutlass.tile_scheduler.mods_throttle {profile = 2 : i32}
      cutlass.tile_scheduler.mods_throttle {profile = 2 : i32}
      cutlass.tile_scheduler.mods_report_mainloop_end %sched, %mask {is_2cta_mma = false} : !cutlass.tile_scheduler<static_persistent>, i64 -> ()
      cutlass.async.yield
    }
    cutlass.async.exec {warps = array<i32: 2, 3>} {
      cutlass.tile_scheduler.mods_report_mainloop_start %sched, %mask {is_2cta_mma = false} : !cutlass.tile_scheduler<static_persistent>, i64
      // expected-error@+1 {{needs a named barrier, but all of the pool's (8 to 15) are taken}}
      cutlass.tile_scheduler.mods_throttle {profile = 2 : i32}
      cutlass.tile_scheduler.mods_throttle {profile = 2 : i32}
      cutlass.tile_scheduler.mods_report_mainloop_end %sched, %mask {is_2cta_mma = false} : !cutlass.tile_scheduler<static_persistent>, i64 -> ()
      cutlass.async.yield
    }
    gpu.return
  }
}

// -----

gpu.module @m attributes {cutlass.cluster_shape = array<i32: 2, 1, 1>} {
  gpu.func @k(%p: !llvm.ptr, %n: i32, %cond: i1, %dyn: i64) kernel {
    %th = arith.constant 128 : i32
    %b = arith.constant 16 : i32
    // expected-error@+1 {{barrier id 16 is not one of 0 to 15}}
    "nvvm.barrier"(%b, %th) <{operandSegmentSizes = array<i32: 1, 1>}> : (i32, i32) -> ()
    gpu.return
  }
}

// -----

gpu.module @m attributes {cutlass.cluster_shape = array<i32: 2, 1, 1>} {
  gpu.func @k(%p: !llvm.ptr, %n: i32, %cond: i1, %dyn: i64) kernel {
    %b = arith.constant 9 : i32
    %odd = arith.constant 33 : i32
    // expected-error@+1 {{number of threads 33 is not a multiple of 32}}
    "nvvm.barrier"(%b, %odd) <{operandSegmentSizes = array<i32: 1, 1>}> : (i32, i32) -> ()
    gpu.return
  }
}

// -----

gpu.module @m attributes {cutlass.cluster_shape = array<i32: 2, 1, 1>} {
  gpu.func @k(%p: !llvm.ptr, %n: i32, %cond: i1, %dyn: i64) kernel  {
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %four = arith.constant 4 : i32
    %mask = arith.constant 3 : i64
    %sched = cutlass.tile_scheduler.static_persistent %one, %one, %one : i32, i32, i32 -> !cutlass.tile_scheduler<static_persistent>

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
cutlass.async.exec {warps = array<i32: 5, 6>} {
cutlass.tile_scheduler.mods_report_mainloop_start %sched, %mask {is_2cta_mma = false} : !cutlass.tile_scheduler<static_persistent>, i64
cutlass.tile_scheduler.mods_throttle {profile = 2 : i32}
cutlass.tile_scheduler.mods_report_mainloop_end %sched, %mask {is_2cta_mma = false} : !cutlass.tile_scheduler<static_persistent>, i64 -> ()

cutlass.async.yield
}
cutlass.async.exec {warps = array<i32: 6, 7>} {
cutlass.tile_scheduler.mods_report_mainloop_start %sched, %mask {is_2cta_mma = false} : !cutlass.tile_scheduler<static_persistent>, i64
cutlass.tile_scheduler.mods_throttle {profile = 2 : i32}
cutlass.tile_scheduler.mods_report_mainloop_end %sched, %mask {is_2cta_mma = false} : !cutlass.tile_scheduler<static_persistent>, i64 -> ()

cutlass.async.yield
}
cutlass.async.exec {warps = array<i32: 7, 8>} {
cutlass.tile_scheduler.mods_report_mainloop_start %sched, %mask {is_2cta_mma = false} : !cutlass.tile_scheduler<static_persistent>, i64
// expected-error@+1 {{needs a named barrier, but all of the pool's (8 to 15) are taken}}
cutlass.tile_scheduler.mods_throttle {profile = 2 : i32}
cutlass.tile_scheduler.mods_report_mainloop_end %sched, %mask {is_2cta_mma = false} : !cutlass.tile_scheduler<static_persistent>, i64 -> ()

cutlass.async.yield
}
%id = arith.constant 8 : i32
%cnt = arith.constant 32 : i32
"nvvm.barrier"(%id, %cnt) <{operandSegmentSizes = array<i32: 1, 1>}> : (i32, i32) -> ()

    gpu.return
  }
}

// -----

gpu.module @m attributes {cutlass.cluster_shape = array<i32: 2, 1, 1>} {
  gpu.func @k(%p: !llvm.ptr, %n: i32, %cond: i1, %dyn: i64) kernel  {
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %four = arith.constant 4 : i32
    %mask = arith.constant 3 : i64
    %sched = cutlass.tile_scheduler.static_persistent %one, %one, %one : i32, i32, i32 -> !cutlass.tile_scheduler<static_persistent>

%id = arith.constant 8 : i32
%cnt = arith.constant 256 : i32
"nvvm.barrier.cta.sync"(%id, %cnt) : (i32, i32) -> ()
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
cutlass.async.exec {warps = array<i32: 5, 6>} {
cutlass.tile_scheduler.mods_report_mainloop_start %sched, %mask {is_2cta_mma = false} : !cutlass.tile_scheduler<static_persistent>, i64
cutlass.tile_scheduler.mods_throttle {profile = 2 : i32}
cutlass.tile_scheduler.mods_report_mainloop_end %sched, %mask {is_2cta_mma = false} : !cutlass.tile_scheduler<static_persistent>, i64 -> ()

cutlass.async.yield
}
cutlass.async.exec {warps = array<i32: 6, 7>} {
cutlass.tile_scheduler.mods_report_mainloop_start %sched, %mask {is_2cta_mma = false} : !cutlass.tile_scheduler<static_persistent>, i64
cutlass.tile_scheduler.mods_throttle {profile = 2 : i32}
cutlass.tile_scheduler.mods_report_mainloop_end %sched, %mask {is_2cta_mma = false} : !cutlass.tile_scheduler<static_persistent>, i64 -> ()

cutlass.async.yield
}
cutlass.async.exec {warps = array<i32: 7, 8>} {
cutlass.tile_scheduler.mods_report_mainloop_start %sched, %mask {is_2cta_mma = false} : !cutlass.tile_scheduler<static_persistent>, i64
// expected-error@+1 {{needs a named barrier, but all of the pool's (8 to 15) are taken}}
cutlass.tile_scheduler.mods_throttle {profile = 2 : i32}
cutlass.tile_scheduler.mods_report_mainloop_end %sched, %mask {is_2cta_mma = false} : !cutlass.tile_scheduler<static_persistent>, i64 -> ()

cutlass.async.yield
}

    gpu.return
  }
}

// -----

gpu.module @m attributes {cutlass.cluster_shape = array<i32: 2, 1, 1>} {
  gpu.func @k(%p: !llvm.ptr, %n: i32, %cond: i1, %dyn: i64) kernel  {
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %four = arith.constant 4 : i32
    %mask = arith.constant 3 : i64
    %sched = cutlass.tile_scheduler.static_persistent %one, %one, %one : i32, i32, i32 -> !cutlass.tile_scheduler<static_persistent>

%id = arith.addi %four, %four : i32
%cnt = arith.constant 256 : i32
// expected-warning@+1 {{computes its id, which may be the one of a cooperative throttle}}
"nvvm.barrier"(%id, %cnt) <{operandSegmentSizes = array<i32: 1, 1>}> : (i32, i32) -> ()
cutlass.async.exec {warps = array<i32: 0, 1>} {
cutlass.tile_scheduler.mods_report_mainloop_start %sched, %mask {is_2cta_mma = false} : !cutlass.tile_scheduler<static_persistent>, i64
// expected-note@+1 {{a throttle is here}}
cutlass.tile_scheduler.mods_throttle {profile = 2 : i32}
cutlass.tile_scheduler.mods_report_mainloop_end %sched, %mask {is_2cta_mma = false} : !cutlass.tile_scheduler<static_persistent>, i64 -> ()

cutlass.async.yield
}

    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @k() kernel {
    %th = arith.constant 128 : i32
    %b = arith.constant 16 : i32
    // expected-error@+1 {{barrier id 16 is not one of 0 to 15}}
    "nvvm.barrier.cta.sync"(%b, %th) : (i32, i32) -> ()
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @k() kernel {
    %th = arith.constant 128 : i32
    %b = arith.constant 9 : i32
    // expected-error@+1 {{takes an id, which may be left out, and a number of threads}}
    "nvvm.barrier.arrive"(%b, %th, %th) : (i32, i32, i32) -> ()
    // expected-error@+1 {{number of threads 9 is not a multiple of 32}}
    "nvvm.barrier.arrive"(%b) : (i32) -> ()
    gpu.return
  }
}

// -----

llvm.func @f(%n: i32) {
  // expected-error@+1 {{barrier id is missing}}
  nvvm.barrier number_of_threads = %n
  llvm.return
}
