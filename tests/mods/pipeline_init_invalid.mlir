// RUN: invalid
gpu.module @m attributes {cutlass.cluster_shape = array<i32: 2, 1, 1>} {
  gpu.func @k(%p: !llvm.ptr, %n: i32, %cond: i1, %dyn: i64) kernel {
    // expected-error@+1 {{has 3 stages, but its type says 4}}
    %pipe = cutlass.pipeline.init {stages = 3 : i32, producers = 1 : i32, consumers = 128 : i32, tx_bytes = 0 : i32} : !cutlass.pipeline<4>
    gpu.return
  }
}

// -----

gpu.module @m attributes {cutlass.cluster_shape = array<i32: 2, 1, 1>} {
  gpu.func @k(%p: !llvm.ptr, %n: i32, %cond: i1, %dyn: i64) kernel {
    // expected-error@+1 {{requires 'stages' to be at least 1, but it is 0}}
    %pipe = cutlass.pipeline.init {stages = 0 : i32, producers = 1 : i32, consumers = 128 : i32, tx_bytes = 0 : i32} : !cutlass.pipeline<4>
    gpu.return
  }
}

// -----

gpu.module @m attributes {cutlass.cluster_shape = array<i32: 2, 1, 1>} {
  gpu.func @k(%p: !llvm.ptr, %n: i32, %cond: i1, %dyn: i64) kernel {
    // expected-error@+1 {{requires 'producers' to be at least 1}}
    %pipe = cutlass.pipeline.init {stages = 4 : i32, producers = 0 : i32, consumers = 128 : i32, tx_bytes = 0 : i32} : !cutlass.pipeline<4>
    gpu.return
  }
}

// -----

gpu.module @m attributes {cutlass.cluster_shape = array<i32: 2, 1, 1>} {
  gpu.func @k(%p: !llvm.ptr, %n: i32, %cond: i1, %dyn: i64) kernel {
    // expected-error@+1 {{requires 'consumers' to be at least 1, but it is -1}}
    %pipe = cutlass.pipeline.init {stages = 4 : i32, producers = 1 : i32, consumers = -1 : i32, tx_bytes = 0 : i32} : !cutlass.pipeline<4>
    gpu.return
  }
}

// -----

gpu.module @m attributes {cutlass.cluster_shape = array<i32: 2, 1, 1>} {
  gpu.func @k(%p: !llvm.ptr, %n: i32, %cond: i1, %dyn: i64) kernel {
    // expected-error@+1 {{requires 'tx_bytes' to be 0 (no TMA) or below 2^20}}
    %pipe = cutlass.pipeline.init {stages = 4 : i32, producers = 1 : i32, consumers = 128 : i32, tx_bytes = 1048576 : i32} : !cutlass.pipeline<4>
    gpu.return
  }
}

// -----

gpu.module @m attributes {cutlass.cluster_shape = array<i32: 2, 1, 1>} {
  gpu.func @k(%p: !llvm.ptr, %n: i32, %cond: i1, %dyn: i64) kernel {
    // expected-error@+1 {{requires attribute 'consumers'}}
    %pipe = cutlass.pipeline.init {stages = 4 : i32, producers = 1 : i32, tx_bytes = 0 : i32} : !cutlass.pipeline<4>
    gpu.return
  }
}

// -----

gpu.module @m attributes {cutlass.cluster_shape = array<i32: 2, 1, 1>} {
  gpu.func @k(%p: !llvm.ptr, %n: i32, %cond: i1, %dyn: i64) kernel {
    // expected-error@+1 {{attribute 'stages' failed to satisfy constraint: 32-bit signless integer attribute}}
    %pipe = cutlass.pipeline.init {stages = 4 : i64, producers = 1 : i32, consumers = 128 : i32, tx_bytes = 0 : i32} : !cutlass.pipeline<4>
    gpu.return
  }
}

// -----

gpu.module @m attributes {cutlass.cluster_shape = array<i32: 2, 1, 1>} {
  gpu.func @k(%p: !llvm.ptr, %n: i32, %cond: i1, %dyn: i64) kernel {
    cutlass.async.exec {warps = array<i32: 0, 4>} {
      // expected-error@+1 {{must stand before the regions of warps}}
      %pipe = cutlass.pipeline.init {stages = 4 : i32, producers = 1 : i32, consumers = 128 : i32, tx_bytes = 0 : i32} : !cutlass.pipeline<4>
      cutlass.async.yield
    }
    gpu.return
  }
}

// -----

gpu.module @m attributes {cutlass.cluster_shape = array<i32: 2, 1, 1>} {
  gpu.func @k(%p: !llvm.ptr, %n: i32, %cond: i1, %dyn: i64) kernel {
    // expected-error@+1 {{expected a number from 1 to 65535}}
    %pipe = cutlass.pipeline.init {stages = 4 : i32, producers = 1 : i32, consumers = 128 : i32, tx_bytes = 0 : i32} : !cutlass.pipeline<0>
    gpu.return
  }
}

// -----

gpu.module @m attributes {cutlass.cluster_shape = array<i32: 2, 1, 1>} {
  gpu.func @k(%p: !llvm.ptr, %n: i32, %cond: i1, %dyn: i64) kernel attributes {known_block_size = array<i32: 128, 1, 1>, tidemark.args = ["p = i32[64] zero", "n = 1", "cond = 1", "dyn = 3"]} {
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %four = arith.constant 4 : i32
    %mask = arith.constant 3 : i64
    %sched = cutlass.tile_scheduler.static_persistent %one, %one, %one : i32, i32, i32 -> !cutlass.tile_scheduler<static_persistent>

// expected-note@+1 {{the region is here}}
cutlass.async.exec {warps = array<i32: 0, 4>} {
cutlass.tile_scheduler.mods_report_mainloop_start %sched, %mask {is_2cta_mma = false} : !cutlass.tile_scheduler<static_persistent>, i64
cutlass.tile_scheduler.mods_report_mainloop_end %sched, %mask {is_2cta_mma = false} : !cutlass.tile_scheduler<static_persistent>, i64 -> ()

cutlass.async.yield
}
// expected-error@+1 {{must stand before the regions of warps}}
%late = cutlass.pipeline.init {consumers = 32 : i32, producers = 32 : i32, stages = 2 : i32, tx_bytes = 0 : i32} : !cutlass.pipeline<2>

    gpu.return
  }
}

// -----

gpu.module @m attributes {cutlass.cluster_shape = array<i32: 2, 1, 1>} {
  gpu.func @k(%p: !llvm.ptr, %n: i32, %cond: i1, %dyn: i64) kernel attributes {known_block_size = array<i32: 128, 1, 1>, tidemark.args = ["p = i32[64] zero", "n = 1", "cond = 1", "dyn = 3"]} {
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %four = arith.constant 4 : i32
    %mask = arith.constant 3 : i64
    %sched = cutlass.tile_scheduler.static_persistent %one, %one, %one : i32, i32, i32 -> !cutlass.tile_scheduler<static_persistent>

// expected-note@+1 {{the region is here}}
cutlass.async.exec {warps = array<i32: 0, 2>} {
cutlass.tile_scheduler.mods_report_mainloop_start %sched, %mask {is_2cta_mma = false} : !cutlass.tile_scheduler<static_persistent>, i64
cutlass.tile_scheduler.mods_report_mainloop_end %sched, %mask {is_2cta_mma = false} : !cutlass.tile_scheduler<static_persistent>, i64 -> ()

cutlass.async.yield
}
// expected-error@+1 {{must stand before the regions of warps}}
%pa = cutlass.pipeline.init {consumers = 32 : i32, producers = 32 : i32, stages = 2 : i32, tx_bytes = 0 : i32} : !cutlass.pipeline<2>
cutlass.async.exec {warps = array<i32: 2, 4>} {
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

scf.if %cond {
// expected-error@+1 {{must stand in the function itself, not in 'scf.if'}}
%pa = cutlass.pipeline.init {consumers = 32 : i32, producers = 32 : i32, stages = 2 : i32, tx_bytes = 0 : i32} : !cutlass.pipeline<2>
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

scf.for %i = %zero to %four step %one : i32 {
// expected-error@+1 {{must stand in the function itself, not in 'scf.for'}}
%pa = cutlass.pipeline.init {consumers = 32 : i32, producers = 32 : i32, stages = 2 : i32, tx_bytes = 0 : i32} : !cutlass.pipeline<2>
}

    gpu.return
  }
}
