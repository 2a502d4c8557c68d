// RUN: invalid
gpu.module @m attributes {cutlass.cluster_shape = array<i32: 2, 1, 1>} {
  gpu.func @k(%p: !llvm.ptr, %n: i32, %cond: i1, %dyn: i64) kernel {
    %z = arith.constant 0 : i32
    // expected-error@+1 {{requires size m to be at least 1, but it is 0}}
    %s = cutlass.tile_scheduler.static_persistent %z, %n, %n : i32, i32, i32 -> !cutlass.tile_scheduler<static_persistent>
    gpu.return
  }
}

// -----

gpu.module @m attributes {cutlass.cluster_shape = array<i32: 2, 1, 1>} {
  gpu.func @k(%p: !llvm.ptr, %n: i32, %cond: i1, %dyn: i64) kernel {
    %z = arith.constant -4 : i32
    // expected-error@+1 {{requires size k to be at least 1, but it is -4}}
    %s = cutlass.tile_scheduler.streamk %n, %n, %n, %z, %p : i32, i32, i32, i32, !llvm.ptr -> !cutlass.tile_scheduler<streamk>
    gpu.return
  }
}

// -----

gpu.module @m attributes {cutlass.cluster_shape = array<i32: 2, 1, 1>} {
  gpu.func @k(%p: !llvm.ptr, %n: i32, %cond: i1, %dyn: i64) kernel {
    // expected-error@+1 {{makes a scheduler of another type}}
    %s = cutlass.tile_scheduler.data_parallel %n, %n, %n : i32, i32, i32 -> !cutlass.tile_scheduler<static_persistent>
    gpu.return
  }
}

// -----

gpu.module @m attributes {cutlass.cluster_shape = array<i32: 2, 1, 1>} {
  gpu.func @k(%p: !llvm.ptr, %n: i32, %cond: i1, %dyn: i64) kernel {
    // expected-error@+1 {{requires 'raster' to be "m" or "n", not "z"}}
    %s = cutlass.tile_scheduler.static_persistent %n, %n, %n {raster = "z"} : i32, i32, i32 -> !cutlass.tile_scheduler<static_persistent>
    gpu.return
  }
}

// -----

gpu.module @m attributes {cutlass.cluster_shape = array<i32: 2, 1, 1>} {
  gpu.func @k(%p: !llvm.ptr, %n: i32, %cond: i1, %dyn: i64) kernel {
    // expected-error@+1 {{requires 'swizzle' to be 1, 2, 4 or 8, not 3}}
    %s = cutlass.tile_scheduler.static_persistent %n, %n, %n {swizzle = 3 : i32} : i32, i32, i32 -> !cutlass.tile_scheduler<static_persistent>
    gpu.return
  }
}

// -----

gpu.module @m attributes {cutlass.cluster_shape = array<i32: 3, 1, 1>} {
  gpu.func @k(%p: !llvm.ptr, %n: i32, %cond: i1, %dyn: i64) kernel {
    // expected-error@+1 {{requires a cluster of powers of two, flat in z, not 3x1x1}}
    %sched = cutlass.tile_scheduler.static_persistent %n, %n, %n : i32, i32, i32 -> !cutlass.tile_scheduler<static_persistent>
    gpu.return
  }
}

// -----

gpu.module @m attributes {cutlass.cluster_shape = array<i32: 2, 1, 2>} {
  gpu.func @k(%p: !llvm.ptr, %n: i32, %cond: i1, %dyn: i64) kernel {
    // expected-error@+1 {{requires a cluster of powers of two, flat in z, not 2x1x2}}
    %sched = cutlass.tile_scheduler.static_persistent %n, %n, %n : i32, i32, i32 -> !cutlass.tile_scheduler<static_persistent>
    gpu.return
  }
}

// -----

gpu.module @m attributes {cutlass.cluster_shape = array<i32: 2, 1, 1>} {
  gpu.func @k(%p: !llvm.ptr, %n: i32, %cond: i1, %dyn: i64) kernel {
    %null = llvm.mlir.zero : !llvm.ptr
    // expected-error@+1 {{needs a workspace for partial tiles, not a null pointer}}
    %s = cutlass.tile_scheduler.streamk %n, %n, %n, %n, %null : i32, i32, i32, i32, !llvm.ptr -> !cutlass.tile_scheduler<streamk>
    gpu.return
  }
}

// -----

gpu.module @m attributes {cutlass.cluster_shape = array<i32: 2, 1, 1>} {
  gpu.func @k(%p: !llvm.ptr, %n: i32, %cond: i1, %dyn: i64) kernel {
    // expected-error@+1 {{expected 5 operands, but found 4}}
    %s = "cutlass.tile_scheduler.streamk"(%n, %n, %n, %n) : (i32, i32, i32, i32) -> !cutlass.tile_scheduler<streamk>
    gpu.return
  }
}
