// A progress query gives what a participant told at its last throttle: CTA 0 waits for the second tile of CTA 1.
// args: --grid 2 --explore 50 --print out
// expect: 50 schedules, all well
// expect: 0 1 2 3 2
gpu.module @m attributes {cutlass.cluster_shape = array<i32: 2, 1, 1>} {
  gpu.func @k(%out: !llvm.ptr) kernel attributes {known_block_size = array<i32: 32, 1, 1>, tidemark.args = ["out = i32[1x5] zero"]} {
    %all = arith.constant 3 : i64
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %two = arith.constant 2 : i32
    %eight = arith.constant 8 : i32
    %t = nvvm.read.ptx.sreg.tid.x : i32
    %rank = nvvm.read.ptx.sreg.cluster.ctarank : i32
    %leads = arith.cmpi eq, %t, %zero : i32
    %second = arith.cmpi eq, %rank, %one : i32
    %first = arith.cmpi eq, %rank, %zero : i32
    %sched = cutlass.tile_scheduler.static_persistent %eight, %one, %one : i32, i32, i32 -> !cutlass.tile_scheduler<static_persistent>
    cutlass.async.exec {
      cutlass.tile_scheduler.mods_report_mainloop_start %sched, %all {is_2cta_mma = false} : !cutlass.tile_scheduler<static_persistent>, i64
      scf.if %first {
        %seen = scf.while (%last = %zero) : (i32) -> i32 {
          %more = arith.cmpi slt, %last, %two : i32
          scf.condition(%more) %last : i32
        } do {
        ^bb0(%last: i32):
          %now = cutlass.tile_scheduler.mods_query_progress %sched, %one : !cutlass.tile_scheduler<static_persistent>, i32 -> i32
          %least = arith.minsi %now, %two : i32
          scf.yield %least : i32
        }
        scf.if %leads {
          %p = llvm.getelementptr %out[4] : (!llvm.ptr) -> !llvm.ptr, i32
          llvm.store %seen, %p : i32, !llvm.ptr
        }
      }
      %work = cutlass.tile_scheduler.get_current_work %sched : !cutlass.tile_scheduler<static_persistent> -> !cutlass.work_tile
      %end:2 = scf.while (%tile = %work, %n = %zero) : (!cutlass.work_tile, i32) -> (!cutlass.work_tile, i32) {
        %valid = cutlass.tile_scheduler.work_get %tile {field = "valid"} : !cutlass.work_tile -> i1
        scf.condition(%valid) %tile, %n : !cutlass.work_tile, i32
      } do {
      ^bb0(%tile: !cutlass.work_tile, %n: i32):
        cutlass.tile_scheduler.mods_throttle {profile = 1 : i32}
        %told = cutlass.tile_scheduler.mods_query_progress %sched, %rank : !cutlass.tile_scheduler<static_persistent>, i32 -> i32
        %mine = arith.andi %second, %leads : i1
        scf.if %mine {
          %p = llvm.getelementptr %out[%n] : (!llvm.ptr, i32) -> !llvm.ptr, i32
          llvm.store %told, %p : i32, !llvm.ptr
        }
        %next = cutlass.tile_scheduler.advance_to_next_work %sched, %tile : !cutlass.tile_scheduler<static_persistent>, !cutlass.work_tile -> !cutlass.work_tile
        %m = arith.addi %n, %one : i32
        scf.yield %next, %m : !cutlass.work_tile, i32
      }
      cutlass.tile_scheduler.mods_report_mainloop_end %sched, %all {is_2cta_mma = false} : !cutlass.tile_scheduler<static_persistent>, i64 -> ()
      cutlass.async.yield
    }
    gpu.return
  }
}
