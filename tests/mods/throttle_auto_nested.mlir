// RUN: opt --throttle=auto
// Loops in loops: two times four rounds fill eight stages.
gpu.module @m attributes {cutlass.cluster_shape = array<i32: 2, 1, 1>} {
  gpu.func @k(%p: !llvm.ptr, %n: i32, %cond: i1, %dyn: i64) kernel {
    %sched = cutlass.tile_scheduler.static_persistent %n, %n, %n : i32, i32, i32 -> !cutlass.tile_scheduler<static_persistent>
    %mask = arith.constant 3 : i64
    %pipe = cutlass.pipeline.init {stages = 8 : i32, producers = 1 : i32, consumers = 128 : i32, tx_bytes = 0 : i32} : !cutlass.pipeline<8>
    cutlass.async.exec {warps = array<i32: 0, 4>} {
      cutlass.tile_scheduler.mods_report_mainloop_start %sched, %mask {is_2cta_mma = false} : !cutlass.tile_scheduler<static_persistent>, i64
      %lo = arith.constant 0 : index
      %hi = arith.constant 4 : index
      %st = arith.constant 1 : index
      %two = arith.constant 2 : index
      %s = cutlass.pipeline.state.create %pipe {role = "consumer"} : !cutlass.pipeline<8> -> !cutlass.pipeline_state
      %w = cutlass.tile_scheduler.get_current_work %sched : !cutlass.tile_scheduler<static_persistent> -> !cutlass.work_tile
      %end:2 = scf.while (%tile = %w, %s0 = %s) : (!cutlass.work_tile, !cutlass.pipeline_state) -> (!cutlass.work_tile, !cutlass.pipeline_state) {
        %valid = cutlass.tile_scheduler.work_get %tile {field = "valid"} : !cutlass.work_tile -> i1
        scf.condition(%valid) %tile, %s0 : !cutlass.work_tile, !cutlass.pipeline_state
      } do {
      ^bb0(%tile: !cutlass.work_tile, %s1: !cutlass.pipeline_state):
        %s2 = scf.for %o = %lo to %two step %st iter_args(%c = %s1) -> (!cutlass.pipeline_state) {
        %s3 = scf.for %i = %lo to %hi step %st iter_args(%a = %c) -> (!cutlass.pipeline_state) {
          cutlass.pipeline.consumer_wait %pipe, %a : !cutlass.pipeline<8>, !cutlass.pipeline_state
          cutlass.pipeline.consumer_release %pipe, %a : !cutlass.pipeline<8>, !cutlass.pipeline_state
          %b = cutlass.pipeline.state.increment %pipe, %a : !cutlass.pipeline<8>, !cutlass.pipeline_state -> !cutlass.pipeline_state
          scf.yield %b : !cutlass.pipeline_state
        }
          scf.yield %s3 : !cutlass.pipeline_state
        }
        %next = cutlass.tile_scheduler.advance_to_next_work %sched, %tile : !cutlass.tile_scheduler<static_persistent>, !cutlass.work_tile -> !cutlass.work_tile
        scf.yield %next, %s2 : !cutlass.work_tile, !cutlass.pipeline_state
      }
      cutlass.tile_scheduler.mods_report_mainloop_end %sched, %mask {is_2cta_mma = false} : !cutlass.tile_scheduler<static_persistent>, i64 -> ()
      cutlass.async.yield
    }
    gpu.return
  }
}
