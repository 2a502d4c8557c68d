// RUN: invalid
gpu.module @m attributes {cutlass.cluster_shape = array<i32: 2, 1, 1>} {
  gpu.func @k(%p: !llvm.ptr, %n: i32, %cond: i1, %dyn: i64) kernel  {
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %four = arith.constant 4 : i32
    %mask = arith.constant 3 : i64
    %sched = cutlass.tile_scheduler.static_persistent %one, %one, %one : i32, i32, i32 -> !cutlass.tile_scheduler<static_persistent>

// expected-note@+1 {{an arrival is here}}
nvvm.cluster.arrive
// expected-error@+1 {{arrives at the cluster barrier again before its last arrival there was waited for}}
nvvm.cluster.arrive
nvvm.cluster.wait

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

// expected-note@+1 {{an arrival is here}}
nvvm.cluster.arrive
cutlass.async.exec {warps = array<i32: 0, 4>} {
// expected-error@+1 {{arrives at the cluster barrier again before its last arrival there was waited for}}
cutlass.tile_scheduler.mods_report_mainloop_start %sched, %mask {is_2cta_mma = false} : !cutlass.tile_scheduler<static_persistent>, i64
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

cutlass.async.exec {warps = array<i32: 0, 4>} {
// expected-note@+1 {{an arrival is here}}
nvvm.cluster.arrive
// expected-error@+1 {{arrives at the cluster barrier again before its last arrival there was waited for}}
cutlass.tile_scheduler.mods_report_mainloop_start %sched, %mask {is_2cta_mma = false} : !cutlass.tile_scheduler<static_persistent>, i64
cutlass.tile_scheduler.mods_report_mainloop_end %sched, %mask {is_2cta_mma = false} : !cutlass.tile_scheduler<static_persistent>, i64 -> ()
nvvm.cluster.wait

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

// expected-note@+1 {{an arrival is here}}
nvvm.cluster.arrive
scf.if %cond {
// expected-error@+1 {{arrives at the cluster barrier again before its last arrival there was waited for}}
nvvm.cluster.arrive
}
nvvm.cluster.wait

    gpu.return
  }
}

// -----

gpu.module @m attributes {cutlass.cluster_shape = array<i32: 2, 1, 1>} {
  gpu.func @k(%c: i1, %n: i32) kernel {
    // expected-note@+1 {{an arrival is here}}
    nvvm.cluster.arrive
    // expected-error@+1 {{arrives at the cluster barrier again before its last arrival there was waited for}}
    %pipe = cutlass.pipeline.init {stages = 2 : i32, producers = 32 : i32, consumers = 32 : i32, tx_bytes = 0 : i32} : !cutlass.pipeline<2>
    nvvm.cluster.wait
    gpu.return
  }
}

// -----

gpu.module @m attributes {cutlass.cluster_shape = array<i32: 2, 1, 1>} {
  gpu.func @k(%c: i1, %n: i32) kernel {
    scf.for %i = %n to %n step %n : i32 {
      // expected-error@+2 {{arrives at the cluster barrier again before its last arrival there was waited for}}
      // expected-note@+1 {{an arrival is here}}
      nvvm.cluster.arrive
    }
    gpu.return
  }
}
