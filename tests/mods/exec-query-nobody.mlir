// A query for a participant that the cluster lacks, which is known at run time only.
// args: --grid 2 --arg whom=1
// expect: exec-query-nobody.mlir:11:12: error: 'cutlass.tile_scheduler.mods_query_progress' op asks for participant 1, but the cluster has 1
gpu.module @m attributes {cutlass.cluster_shape = array<i32: 2, 1, 1>} {
  gpu.func @k(%whom: i32) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %pair = arith.constant 1 : i64
    %one = arith.constant 1 : i32
    %sched = cutlass.tile_scheduler.static_persistent %one, %one, %one : i32, i32, i32 -> !cutlass.tile_scheduler<static_persistent>
    cutlass.async.exec {
      cutlass.tile_scheduler.mods_report_mainloop_start %sched, %pair {is_2cta_mma = true} : !cutlass.tile_scheduler<static_persistent>, i64
      %0 = cutlass.tile_scheduler.mods_query_progress %sched, %whom : !cutlass.tile_scheduler<static_persistent>, i32 -> i32
      cutlass.tile_scheduler.mods_report_mainloop_end %sched, %pair {is_2cta_mma = true} : !cutlass.tile_scheduler<static_persistent>, i64 -> ()
      cutlass.async.yield
    }
    gpu.return
  }
}
