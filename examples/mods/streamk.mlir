// A persistent Stream-K GEMM: C = A * B, row by row, f32. Where whole tiles would leave the last wave nearly
// empty, the k tiles of the first tiles are dealt out evenly, and a tile that several CTAs share is *fixed up* in
// the order of its k tiles: the first stores its sums, one in the middle waits for all before it and adds to
// them, the last waits, adds, and writes the result. A tile's lock is how many of its k tiles are in its sums.
//
//   tidemark mods run examples/mods/streamk.mlir --grid 2x4 --explore 20
//
// A CTA is one warp: a tile of 4 x 8 has an element for each thread; a k tile is a slice of 2.
// m and n are counted in tiles, k in k tiles: rows = m * 4, columns = n * 8, depth = k * 2.
gpu.module @streamk attributes {cutlass.cluster_shape = array<i32: 2, 1, 1>} {
  gpu.func @gemm(%A: !llvm.ptr, %B: !llvm.ptr, %C: !llvm.ptr, %sums: !llvm.ptr, %locks: !llvm.ptr, %m: i32, %n: i32, %k: i32) kernel
      attributes {known_block_size = array<i32: 32, 1, 1>,
                  tidemark.args = ["A = f32[8x64] random", "B = f32[64x40] random", "C = f32[8x40] zero",
                                   "sums = f32[10x32] zero", "locks = i32[10] zero", "m = 2", "n = 5", "k = 32"],
                  tidemark.check = "C = A * B"} {
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %two = arith.constant 2 : i32
    %four = arith.constant 4 : i32
    %eight = arith.constant 8 : i32
    %thirty_two = arith.constant 32 : i32
    %columns = arith.muli %n, %eight : i32
    %depth = arith.muli %k, %two : i32
    %thread_index = gpu.thread_id x
    %thread = arith.index_cast %thread_index : index to i32
    %leader = arith.cmpi eq, %thread, %zero : i32
    %nothing = arith.constant 0.0 : f32
    // Both CTAs of the cluster take part.
    %participants = arith.constant 3 : i64
    %sched = cutlass.tile_scheduler.streamk %m, %n, %one, %k, %locks : i32, i32, i32, i32, !llvm.ptr -> !cutlass.tile_scheduler<streamk>

    cutlass.async.exec {warps = array<i32: 0, 1>} {
      cutlass.tile_scheduler.mods_report_mainloop_start %sched, %participants {is_2cta_mma = false} : !cutlass.tile_scheduler<streamk>, i64
      %r = arith.divui %thread, %eight : i32
      %c = arith.remui %thread, %eight : i32
      %first_work = cutlass.tile_scheduler.get_current_work %sched : !cutlass.tile_scheduler<streamk> -> !cutlass.work_tile
      %end = scf.while (%work = %first_work) : (!cutlass.work_tile) -> (!cutlass.work_tile) {
        %valid = cutlass.tile_scheduler.work_get %work {field = "valid"} : !cutlass.work_tile -> i1
        scf.condition(%valid) %work : !cutlass.work_tile
      } do {
      ^bb0(%work: !cutlass.work_tile):
        %tile_m = cutlass.tile_scheduler.work_get %work {field = "m"} : !cutlass.work_tile -> i32
        %tile_n = cutlass.tile_scheduler.work_get %work {field = "n"} : !cutlass.work_tile -> i32
        %k_begin = cutlass.tile_scheduler.work_get %work {field = "k_begin"} : !cutlass.work_tile -> i32
        %k_count = cutlass.tile_scheduler.work_get %work {field = "k_count"} : !cutlass.work_tile -> i32
        %is_first = cutlass.tile_scheduler.work_get %work {field = "first"} : !cutlass.work_tile -> i1
        %is_last = cutlass.tile_scheduler.work_get %work {field = "last"} : !cutlass.work_tile -> i1
        // Tiles that only fill up a cluster lie outside.
        %in_m = arith.cmpi slt, %tile_m, %m : i32
        %in_n = arith.cmpi slt, %tile_n, %n : i32
        %inside = arith.andi %in_m, %in_n : i1
        scf.if %inside {
          %k_end = arith.addi %k_begin, %k_count : i32
          %row_first = arith.muli %tile_m, %four : i32
          %column_first = arith.muli %tile_n, %eight : i32
          %row = arith.addi %row_first, %r : i32
          %column = arith.addi %column_first, %c : i32
          %a_line = arith.muli %row, %depth : i32
          // The k tiles that are this CTA's.
          %i_first = arith.muli %k_begin, %two : i32
          %i_end = arith.muli %k_end, %two : i32
          %own = scf.for %i = %i_first to %i_end step %one iter_args(%acc = %nothing) -> (f32) : i32 {
            %a_i = arith.addi %a_line, %i : i32
            %b_line = arith.muli %i, %columns : i32
            %b_i = arith.addi %b_line, %column : i32
            %a_at = llvm.getelementptr %A[%a_i] : (!llvm.ptr, i32) -> !llvm.ptr, f32
            %b_at = llvm.getelementptr %B[%b_i] : (!llvm.ptr, i32) -> !llvm.ptr, f32
            %a = llvm.load %a_at : !llvm.ptr -> f32
            %b = llvm.load %b_at : !llvm.ptr -> f32
            %product = arith.mulf %a, %b : f32
            %more = arith.addf %acc, %product : f32
            scf.yield %more : f32
          }
          // The fix-up: this element's sum, and the tile's lock.
          %tile_line = arith.muli %tile_m, %n : i32
          %tile = arith.addi %tile_line, %tile_n : i32
          %sum_first = arith.muli %tile, %thirty_two : i32
          %sum_i = arith.addi %sum_first, %thread : i32
          %sum_at = llvm.getelementptr %sums[%sum_i] : (!llvm.ptr, i32) -> !llvm.ptr, f32
          %lock = llvm.getelementptr %locks[%tile] : (!llvm.ptr, i32) -> !llvm.ptr, i32
          %total = scf.if %is_first -> (f32) {
            scf.yield %own : f32
          } else {
            // All k tiles before this CTA's, and no others, are in the sums: one thread looks.
            scf.if %leader {
              scf.while () : () -> () {
                %there = "llvm.atomicrmw"(%lock, %zero) <{bin_op = 1 : i64, ordering = 4 : i64}> : (!llvm.ptr, i32) -> i32
                %wait = arith.cmpi ne, %there, %k_begin : i32
                scf.condition(%wait)
              } do {
                cutlass.tile_scheduler.mods_throttle {profile = 1 : i32}
                scf.yield
              }
            }
            gpu.barrier
            "llvm.fence"() <{ordering = 6 : i64}> : () -> ()
            %before = llvm.load %sum_at : !llvm.ptr -> f32
            %with = arith.addf %before, %own : f32
            scf.yield %with : f32
          }
          scf.if %is_last {
            // The epilogue of a tile.
            %line = arith.muli %row, %columns : i32
            %to_i = arith.addi %line, %column : i32
            %to = llvm.getelementptr %C[%to_i] : (!llvm.ptr, i32) -> !llvm.ptr, f32
            llvm.store %total, %to : f32, !llvm.ptr
          } else {
            llvm.store %total, %sum_at : f32, !llvm.ptr
            // All sums are stored before the lock says so.
            "llvm.fence"() <{ordering = 6 : i64}> : () -> ()
            gpu.barrier
            scf.if %leader {
              %was = "llvm.atomicrmw"(%lock, %k_end) <{bin_op = 0 : i64, ordering = 5 : i64}> : (!llvm.ptr, i32) -> i32
            }
          }
        }
        %next_work = cutlass.tile_scheduler.advance_to_next_work %sched, %work : !cutlass.tile_scheduler<streamk>, !cutlass.work_tile -> !cutlass.work_tile
        scf.yield %next_work : !cutlass.work_tile
      }
      cutlass.tile_scheduler.mods_report_mainloop_end %sched, %participants {is_2cta_mma = false} : !cutlass.tile_scheduler<streamk>, i64 -> ()
      cutlass.async.yield
    }
    gpu.return
  }
}
