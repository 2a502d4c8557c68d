// RUN: invalid
gpu.module @m attributes {cutlass.cluster_shape = array<i32: 2, 1, 1>} {
  gpu.func @k(%p: !llvm.ptr, %n: i32, %cond: i1, %dyn: i64) kernel {
    %sched = cutlass.tile_scheduler.static_persistent %n, %n, %n : i32, i32, i32 -> !cutlass.tile_scheduler<static_persistent>
    %w = cutlass.tile_scheduler.get_current_work %sched : !cutlass.tile_scheduler<static_persistent> -> !cutlass.work_tile
    // expected-error@+1 {{knows no field "o" of a work tile}}
    %f_o = cutlass.tile_scheduler.work_get %w {field = "o"} : !cutlass.work_tile -> i32
    gpu.return
  }
}

// -----

gpu.module @m attributes {cutlass.cluster_shape = array<i32: 2, 1, 1>} {
  gpu.func @k(%p: !llvm.ptr, %n: i32, %cond: i1, %dyn: i64) kernel {
    %sched = cutlass.tile_scheduler.static_persistent %n, %n, %n : i32, i32, i32 -> !cutlass.tile_scheduler<static_persistent>
    %w = cutlass.tile_scheduler.get_current_work %sched : !cutlass.tile_scheduler<static_persistent> -> !cutlass.work_tile
    // expected-error@+1 {{field "valid" is an i1, not 'i32'}}
    %f_valid = cutlass.tile_scheduler.work_get %w {field = "valid"} : !cutlass.work_tile -> i32
    gpu.return
  }
}

// -----

gpu.module @m attributes {cutlass.cluster_shape = array<i32: 2, 1, 1>} {
  gpu.func @k(%p: !llvm.ptr, %n: i32, %cond: i1, %dyn: i64) kernel {
    %sched = cutlass.tile_scheduler.static_persistent %n, %n, %n : i32, i32, i32 -> !cutlass.tile_scheduler<static_persistent>
    %other = cutlass.tile_scheduler.static_persistent %n, %n, %n : i32, i32, i32 -> !cutlass.tile_scheduler<static_persistent>
    %w = cutlass.tile_scheduler.get_current_work %sched : !cutlass.tile_scheduler<static_persistent> -> !cutlass.work_tile
    // expected-error@+1 {{takes a work tile of another scheduler}}
    %x = cutlass.tile_scheduler.advance_to_next_work %other, %w : !cutlass.tile_scheduler<static_persistent>, !cutlass.work_tile -> !cutlass.work_tile
    gpu.return
  }
}
