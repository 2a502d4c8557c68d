// RUN: valid
// The three tile schedulers.
gpu.module @m attributes {cutlass.cluster_shape = array<i32: 2, 1, 1>} {
  gpu.func @k(%p: !llvm.ptr, %n: i32, %cond: i1, %dyn: i64) kernel {
    %sched = cutlass.tile_scheduler.static_persistent %n, %n, %n : i32, i32, i32 -> !cutlass.tile_scheduler<static_persistent>
    %a = cutlass.tile_scheduler.data_parallel %n, %n, %n {raster = "m", swizzle = 4 : i32} : i32, i32, i32 -> !cutlass.tile_scheduler<data_parallel>
    %b = cutlass.tile_scheduler.streamk %n, %n, %n, %n, %p : i32, i32, i32, i32, !llvm.ptr -> !cutlass.tile_scheduler<streamk>
    gpu.return
  }
}
