// A persistent GEMM: C = A * B, row by row, f32. One CTA stays on each SM and walks over tiles of
// 8 x 16 until no work is left. Warp 0 brings slices of A and B into shared memory, four stages
// ahead at most; warps 1 to 4 multiply them. Both report the main loop's window to the cluster.
//
//   tidemark mods check examples/mods/gemm.mlir
//   tidemark mods opt --fold examples/mods/gemm.mlir
//
// m and n are counted in tiles here: m = rows / 8, n = columns / 16, k = slices of 8.
gpu.module @persistent attributes {cutlass.cluster_shape = array<i32: 2, 1, 1>} {
  // Four stages of 8 x 8 and of 8 x 16.
  llvm.mlir.global internal @a_stages() {addr_space = 3 : i32, alignment = 128 : i64} : !llvm.array<256 x f32>
  llvm.mlir.global internal @b_stages() {addr_space = 3 : i32, alignment = 128 : i64} : !llvm.array<512 x f32>

  gpu.func @gemm(%A: !llvm.ptr, %B: !llvm.ptr, %C: !llvm.ptr, %m: i32, %n: i32, %k: i32) kernel
      attributes {known_block_size = array<i32: 160, 1, 1>,
                  tidemark.args = ["A = f32[64x32] random", "B = f32[32x64] random", "C = f32[64x64] zero",
                                   "m = 8", "n = 4", "k = 4"],
                  tidemark.check = "C = A * B"} {
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %eight = arith.constant 8 : i32
    %sixteen = arith.constant 16 : i32
    %thirty_two = arith.constant 32 : i32
    %columns = arith.muli %n, %sixteen : i32
    %depth = arith.muli %k, %eight : i32
    %thread_index = gpu.thread_id x
    %thread = arith.index_cast %thread_index : index to i32
    %a_stages = llvm.mlir.addressof @a_stages : !llvm.ptr<3>
    %b_stages = llvm.mlir.addressof @b_stages : !llvm.ptr<3>
    // Both CTAs of the cluster take part.
    %participants = arith.constant 3 : i64

    // 1. The setup barrier.
    gpu.barrier
    // 2. The pipeline: 32 threads produce a stage, 128 consume it. No TMA.
    %pipe = cutlass.pipeline.init {consumers = 128 : i32, producers = 32 : i32, stages = 4 : i32, tx_bytes = 0 : i32} : !cutlass.pipeline<4>
    // 3. The tile scheduler.
    %sched = cutlass.tile_scheduler.static_persistent %m, %n, %one : i32, i32, i32 -> !cutlass.tile_scheduler<static_persistent>

    // The producer.
    cutlass.async.exec {warps = array<i32: 0, 1>} {
      // 4. The window opens.
      %t_start = cutlass.tile_scheduler.mods_report_mainloop_start %sched, %participants {is_2cta_mma = false} : !cutlass.tile_scheduler<static_persistent>, i64 -> i64
      // 5. The main loop.
      %first_state = cutlass.pipeline.state.create %pipe {role = "producer"} : !cutlass.pipeline<4> -> !cutlass.pipeline_state
      %first_work = cutlass.tile_scheduler.get_current_work %sched : !cutlass.tile_scheduler<static_persistent> -> !cutlass.work_tile
      %end:2 = scf.while (%work = %first_work, %state = %first_state) : (!cutlass.work_tile, !cutlass.pipeline_state) -> (!cutlass.work_tile, !cutlass.pipeline_state) {
        %valid = cutlass.tile_scheduler.work_get %work {field = "valid"} : !cutlass.work_tile -> i1
        scf.condition(%valid) %work, %state : !cutlass.work_tile, !cutlass.pipeline_state
      } do {
      ^bb0(%work: !cutlass.work_tile, %state: !cutlass.pipeline_state):
        %tile_m = cutlass.tile_scheduler.work_get %work {field = "m"} : !cutlass.work_tile -> i32
        %tile_n = cutlass.tile_scheduler.work_get %work {field = "n"} : !cutlass.work_tile -> i32
        // Tiles that only fill up a cluster lie outside.
        %in_m = arith.cmpi slt, %tile_m, %m : i32
        %in_n = arith.cmpi slt, %tile_n, %n : i32
        %inside = arith.andi %in_m, %in_n : i1
        %slices = arith.select %inside, %k, %zero : i32
        %row = arith.muli %tile_m, %eight : i32
        %column = arith.muli %tile_n, %sixteen : i32
        %next_state = scf.for %slice = %zero to %slices step %one iter_args(%s = %state) -> (!cutlass.pipeline_state) : i32 {
          cutlass.pipeline.producer_acquire %pipe, %s : !cutlass.pipeline<4>, !cutlass.pipeline_state
          %stage = cutlass.pipeline.state.index %s : !cutlass.pipeline_state -> i32
          %k_first = arith.muli %slice, %eight : i32
          %c64 = arith.constant 64 : i32
          %a_first = arith.muli %stage, %c64 : i32
          scf.for %e = %thread to %c64 step %thirty_two : i32 {
            %r = arith.divui %e, %eight : i32
            %c = arith.remui %e, %eight : i32
            %row_e = arith.addi %row, %r : i32
            %k_e = arith.addi %k_first, %c : i32
            %line = arith.muli %row_e, %depth : i32
            %from_i = arith.addi %line, %k_e : i32
            %from = llvm.getelementptr %A[%from_i] : (!llvm.ptr, i32) -> !llvm.ptr, f32
            %value = llvm.load %from : !llvm.ptr -> f32
            %to_i = arith.addi %a_first, %e : i32
            %to = llvm.getelementptr %a_stages[%to_i] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
            llvm.store %value, %to : f32, !llvm.ptr<3>
          }
          %c128 = arith.constant 128 : i32
          %b_first = arith.muli %stage, %c128 : i32
          scf.for %e = %thread to %c128 step %thirty_two : i32 {
            %r = arith.divui %e, %sixteen : i32
            %c = arith.remui %e, %sixteen : i32
            %k_e = arith.addi %k_first, %r : i32
            %column_e = arith.addi %column, %c : i32
            %line = arith.muli %k_e, %columns : i32
            %from_i = arith.addi %line, %column_e : i32
            %from = llvm.getelementptr %B[%from_i] : (!llvm.ptr, i32) -> !llvm.ptr, f32
            %value = llvm.load %from : !llvm.ptr -> f32
            %to_i = arith.addi %b_first, %e : i32
            %to = llvm.getelementptr %b_stages[%to_i] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
            llvm.store %value, %to : f32, !llvm.ptr<3>
          }
          cutlass.pipeline.producer_commit %pipe, %s : !cutlass.pipeline<4>, !cutlass.pipeline_state
          %s_next = cutlass.pipeline.state.increment %pipe, %s : !cutlass.pipeline<4>, !cutlass.pipeline_state -> !cutlass.pipeline_state
          scf.yield %s_next : !cutlass.pipeline_state
        }
        // Progress queries of the cluster are answered here.
        cutlass.tile_scheduler.mods_throttle {profile = 2 : i32}
        %next_work = cutlass.tile_scheduler.advance_to_next_work %sched, %work : !cutlass.tile_scheduler<static_persistent>, !cutlass.work_tile -> !cutlass.work_tile
        scf.yield %next_work, %next_state : !cutlass.work_tile, !cutlass.pipeline_state
      }
      cutlass.pipeline.producer_tail %pipe, %end#1 : !cutlass.pipeline<4>, !cutlass.pipeline_state
      // 6. The window closes.
      cutlass.tile_scheduler.mods_report_mainloop_end %sched, %participants, %t_start {is_2cta_mma = false} : !cutlass.tile_scheduler<static_persistent>, i64, i64 -> ()
      cutlass.async.yield
    }

    // The consumers: each thread has one element of the tile.
    cutlass.async.exec {warps = array<i32: 1, 5>} {
      cutlass.tile_scheduler.mods_report_mainloop_start %sched, %participants {is_2cta_mma = false} : !cutlass.tile_scheduler<static_persistent>, i64
      %own = arith.subi %thread, %thirty_two : i32
      %r = arith.divui %own, %sixteen : i32
      %c = arith.remui %own, %sixteen : i32
      %nothing = arith.constant 0.0 : f32
      %first_state = cutlass.pipeline.state.create %pipe {role = "consumer"} : !cutlass.pipeline<4> -> !cutlass.pipeline_state
      %first_work = cutlass.tile_scheduler.get_current_work %sched : !cutlass.tile_scheduler<static_persistent> -> !cutlass.work_tile
      %end:2 = scf.while (%work = %first_work, %state = %first_state) : (!cutlass.work_tile, !cutlass.pipeline_state) -> (!cutlass.work_tile, !cutlass.pipeline_state) {
        %valid = cutlass.tile_scheduler.work_get %work {field = "valid"} : !cutlass.work_tile -> i1
        scf.condition(%valid) %work, %state : !cutlass.work_tile, !cutlass.pipeline_state
      } do {
      ^bb0(%work: !cutlass.work_tile, %state: !cutlass.pipeline_state):
        %tile_m = cutlass.tile_scheduler.work_get %work {field = "m"} : !cutlass.work_tile -> i32
        %tile_n = cutlass.tile_scheduler.work_get %work {field = "n"} : !cutlass.work_tile -> i32
        %in_m = arith.cmpi slt, %tile_m, %m : i32
        %in_n = arith.cmpi slt, %tile_n, %n : i32
        %inside = arith.andi %in_m, %in_n : i1
        %slices = arith.select %inside, %k, %zero : i32
        %sum:2 = scf.for %slice = %zero to %slices step %one iter_args(%s = %state, %so_far = %nothing) -> (!cutlass.pipeline_state, f32) : i32 {
          cutlass.pipeline.consumer_wait %pipe, %s : !cutlass.pipeline<4>, !cutlass.pipeline_state
          %stage = cutlass.pipeline.state.index %s : !cutlass.pipeline_state -> i32
          %c64 = arith.constant 64 : i32
          %c128 = arith.constant 128 : i32
          %a_first = arith.muli %stage, %c64 : i32
          %b_first = arith.muli %stage, %c128 : i32
          %a_line = arith.muli %r, %eight : i32
          %a_row = arith.addi %a_first, %a_line : i32
          %b_column = arith.addi %b_first, %c : i32
          %part = scf.for %i = %zero to %eight step %one iter_args(%acc = %so_far) -> (f32) : i32 {
            %a_i = arith.addi %a_row, %i : i32
            %b_line = arith.muli %i, %sixteen : i32
            %b_i = arith.addi %b_column, %b_line : i32
            %a_at = llvm.getelementptr %a_stages[%a_i] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
            %b_at = llvm.getelementptr %b_stages[%b_i] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
            %a = llvm.load %a_at : !llvm.ptr<3> -> f32
            %b = llvm.load %b_at : !llvm.ptr<3> -> f32
            %product = arith.mulf %a, %b : f32
            %more = arith.addf %acc, %product : f32
            scf.yield %more : f32
          }
          cutlass.pipeline.consumer_release %pipe, %s : !cutlass.pipeline<4>, !cutlass.pipeline_state
          %s_next = cutlass.pipeline.state.increment %pipe, %s : !cutlass.pipeline<4>, !cutlass.pipeline_state -> !cutlass.pipeline_state
          scf.yield %s_next, %part : !cutlass.pipeline_state, f32
        }
        // 7. The epilogue of a tile.
        scf.if %inside {
          %row_first = arith.muli %tile_m, %eight : i32
          %column_first = arith.muli %tile_n, %sixteen : i32
          %row = arith.addi %row_first, %r : i32
          %column = arith.addi %column_first, %c : i32
          %line = arith.muli %row, %columns : i32
          %to_i = arith.addi %line, %column : i32
          %to = llvm.getelementptr %C[%to_i] : (!llvm.ptr, i32) -> !llvm.ptr, f32
          llvm.store %sum#1, %to : f32, !llvm.ptr
        }
        cutlass.tile_scheduler.mods_throttle {profile = 2 : i32}
        %next_work = cutlass.tile_scheduler.advance_to_next_work %sched, %work : !cutlass.tile_scheduler<static_persistent>, !cutlass.work_tile -> !cutlass.work_tile
        scf.yield %next_work, %sum#0 : !cutlass.work_tile, !cutlass.pipeline_state
      }
      cutlass.tile_scheduler.mods_report_mainloop_end %sched, %participants {is_2cta_mma = false} : !cutlass.tile_scheduler<static_persistent>, i64 -> ()
      cutlass.async.yield
    }
    gpu.return
  }
}
