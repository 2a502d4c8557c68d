// RUN: valid
// Work tiles and their fields.
gpu.module @m attributes {cutlass.cluster_shape = array<i32: 2, 1, 1>} {
  gpu.func @k(%p: !llvm.ptr, %n: i32, %cond: i1, %dyn: i64) kernel {
    %sched = cutlass.tile_scheduler.static_persistent %n, %n, %n : i32, i32, i32 -> !cutlass.tile_scheduler<static_persistent>
    %w = cutlass.tile_scheduler.get_current_work %sched : !cutlass.tile_scheduler<static_persistent> -> !cutlass.work_tile
    %f_m = cutlass.tile_scheduler.work_get %w {field = "m"} : !cutlass.work_tile -> i32
    %f_n = cutlass.tile_scheduler.work_get %w {field = "n"} : !cutlass.work_tile -> i32
    %f_l = cutlass.tile_scheduler.work_get %w {field = "l"} : !cutlass.work_tile -> i32
    %f_k_begin = cutlass.tile_scheduler.work_get %w {field = "k_begin"} : !cutlass.work_tile -> i32
    %f_k_count = cutlass.tile_scheduler.work_get %w {field = "k_count"} : !cutlass.work_tile -> i32
    %f_valid = cutlass.tile_scheduler.work_get %w {field = "valid"} : !cutlass.work_tile -> i1
    %f_first = cutlass.tile_scheduler.work_get %w {field = "first"} : !cutlass.work_tile -> i1
    %f_last = cutlass.tile_scheduler.work_get %w {field = "last"} : !cutlass.work_tile -> i1
    %x = cutlass.tile_scheduler.advance_to_next_work %sched, %w : !cutlass.tile_scheduler<static_persistent>, !cutlass.work_tile -> !cutlass.work_tile
    gpu.return
  }
}
