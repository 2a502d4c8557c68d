// RUN: lower
// A persistent kernel: a TMA pipeline, two roles, the window around both main loops.
module {
  gpu.module @kernels attributes {cutlass.cluster_shape = array<i32: 2, 1, 1>} {
    gpu.func @gemm(%out: !llvm.ptr, %m: i32, %n: i32, %l: i32) kernel {
      %pipe = cutlass.pipeline.init {stages = 4 : i32, producers = 1 : i32, consumers = 128 : i32, tx_bytes = 16384 : i32} : !cutlass.pipeline<4>
      %order = cutlass.seq_bar.init {depth = 2 : i32, length = 2 : i32, group_size = 128 : i32} : !cutlass.seq_bar<2, 2>
      %sched = cutlass.tile_scheduler.static_persistent %m, %n, %l : i32, i32, i32 -> !cutlass.tile_scheduler<static_persistent>
      %mask = arith.constant 3 : i64
      cutlass.async.exec {warps = array<i32: 0, 1>} {
        %t = cutlass.tile_scheduler.mods_report_mainloop_start %sched, %mask {is_2cta_mma = false} : !cutlass.tile_scheduler<static_persistent>, i64 -> i64
        %s0 = cutlass.pipeline.state.create %pipe {role = "producer"} : !cutlass.pipeline<4> -> !cutlass.pipeline_state
        %w0 = cutlass.tile_scheduler.get_current_work %sched : !cutlass.tile_scheduler<static_persistent> -> !cutlass.work_tile
        %last:2 = scf.while (%w = %w0, %s = %s0) : (!cutlass.work_tile, !cutlass.pipeline_state) -> (!cutlass.work_tile, !cutlass.pipeline_state) {
          %valid = cutlass.tile_scheduler.work_get %w {field = "valid"} : !cutlass.work_tile -> i1
          scf.condition(%valid) %w, %s : !cutlass.work_tile, !cutlass.pipeline_state
        } do {
        ^bb0(%w: !cutlass.work_tile, %s: !cutlass.pipeline_state):
          cutlass.pipeline.producer_acquire %pipe, %s : !cutlass.pipeline<4>, !cutlass.pipeline_state
          cutlass.pipeline.producer_commit %pipe, %s : !cutlass.pipeline<4>, !cutlass.pipeline_state
          cutlass.tile_scheduler.mods_throttle {profile = 1 : i32}
          %s1 = cutlass.pipeline.state.increment %pipe, %s : !cutlass.pipeline<4>, !cutlass.pipeline_state -> !cutlass.pipeline_state
          %w1 = cutlass.tile_scheduler.advance_to_next_work %sched, %w : !cutlass.tile_scheduler<static_persistent>, !cutlass.work_tile -> !cutlass.work_tile
          scf.yield %w1, %s1 : !cutlass.work_tile, !cutlass.pipeline_state
        }
        cutlass.pipeline.producer_tail %pipe, %last#1 : !cutlass.pipeline<4>, !cutlass.pipeline_state
        %took = cutlass.tile_scheduler.mods_report_mainloop_end %sched, %mask, %t {is_2cta_mma = false} : !cutlass.tile_scheduler<static_persistent>, i64, i64 -> i64
        llvm.store %took, %out : i64, !llvm.ptr
        cutlass.async.yield
      }
      cutlass.async.exec {warps = array<i32: 4, 8>} {
        cutlass.tile_scheduler.mods_report_mainloop_start %sched, %mask {is_2cta_mma = false} : !cutlass.tile_scheduler<static_persistent>, i64 -> ()
        %s0 = cutlass.pipeline.state.create %pipe {role = "consumer"} : !cutlass.pipeline<4> -> !cutlass.pipeline_state
        %o0 = cutlass.seq_bar.state %order {group = 0 : i32} : !cutlass.seq_bar<2, 2> -> !cutlass.pipeline_state
        %w0 = cutlass.tile_scheduler.get_current_work %sched : !cutlass.tile_scheduler<static_persistent> -> !cutlass.work_tile
        %last:3 = scf.while (%w = %w0, %s = %s0, %o = %o0) : (!cutlass.work_tile, !cutlass.pipeline_state, !cutlass.pipeline_state) -> (!cutlass.work_tile, !cutlass.pipeline_state, !cutlass.pipeline_state) {
          %valid = cutlass.tile_scheduler.work_get %w {field = "valid"} : !cutlass.work_tile -> i1
          scf.condition(%valid) %w, %s, %o : !cutlass.work_tile, !cutlass.pipeline_state, !cutlass.pipeline_state
        } do {
        ^bb0(%w: !cutlass.work_tile, %s: !cutlass.pipeline_state, %o: !cutlass.pipeline_state):
          cutlass.seq_bar.wait %order, %o {group = 0 : i32} : !cutlass.seq_bar<2, 2>, !cutlass.pipeline_state
          cutlass.pipeline.consumer_wait %pipe, %s : !cutlass.pipeline<4>, !cutlass.pipeline_state
          %at = cutlass.pipeline.state.index %s : !cutlass.pipeline_state -> i32
          %m0 = cutlass.tile_scheduler.work_get %w {field = "m"} : !cutlass.work_tile -> i32
          %sum = arith.addi %at, %m0 : i32
          llvm.store %sum, %out : i32, !llvm.ptr
          cutlass.pipeline.consumer_release %pipe, %s : !cutlass.pipeline<4>, !cutlass.pipeline_state
          cutlass.seq_bar.arrive %order, %o {group = 0 : i32} : !cutlass.seq_bar<2, 2>, !cutlass.pipeline_state
          %o1 = cutlass.pipeline.state.increment %order, %o : !cutlass.seq_bar<2, 2>, !cutlass.pipeline_state -> !cutlass.pipeline_state
          cutlass.tile_scheduler.mods_throttle {profile = 2 : i32}
          %s1 = cutlass.pipeline.state.increment %pipe, %s : !cutlass.pipeline<4>, !cutlass.pipeline_state -> !cutlass.pipeline_state
          %w1 = cutlass.tile_scheduler.advance_to_next_work %sched, %w : !cutlass.tile_scheduler<static_persistent>, !cutlass.work_tile -> !cutlass.work_tile
          scf.yield %w1, %s1, %o1 : !cutlass.work_tile, !cutlass.pipeline_state, !cutlass.pipeline_state
        }
        cutlass.tile_scheduler.mods_report_mainloop_end %sched, %mask {is_2cta_mma = false} : !cutlass.tile_scheduler<static_persistent>, i64 -> ()
        cutlass.async.yield
      }
      gpu.return
    }
  }
}
