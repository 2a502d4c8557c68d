// A window in a loop: each turn has its own main loop.
// args: --grid 2 --explore 60
// expect: 60 schedules, all well
// expect: 8 windows, 64 tiles
gpu.module @m attributes {cutlass.cluster_shape = array<i32: 2, 1, 1>} {
  gpu.func @k(%p: !llvm.ptr, %n: i32, %cond: i1, %dyn: i64) kernel attributes {known_block_size = array<i32: 128, 1, 1>, tidemark.args = ["p = i32[64] zero", "n = 3", "cond = 1", "dyn = 3"]} {
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %four = arith.constant 4 : i32
    %mask = arith.constant 3 : i64
    %sched = cutlass.tile_scheduler.static_persistent %four, %four, %one : i32, i32, i32 -> !cutlass.tile_scheduler<static_persistent>

cutlass.async.exec {warps = array<i32: 0, 4>} {
scf.for %i = %zero to %four step %one : i32 {
cutlass.tile_scheduler.mods_report_mainloop_start %sched, %mask {is_2cta_mma = false} : !cutlass.tile_scheduler<static_persistent>, i64
%wa = cutlass.tile_scheduler.get_current_work %sched : !cutlass.tile_scheduler<static_persistent> -> !cutlass.work_tile
%ea = scf.while (%w = %wa) : (!cutlass.work_tile) -> (!cutlass.work_tile) {
%v = cutlass.tile_scheduler.work_get %w {field = "valid"} : !cutlass.work_tile -> i1
scf.condition(%v) %w : !cutlass.work_tile
} do {
^bb0(%w: !cutlass.work_tile):
%nx = cutlass.tile_scheduler.advance_to_next_work %sched, %w : !cutlass.tile_scheduler<static_persistent>, !cutlass.work_tile -> !cutlass.work_tile
scf.yield %nx : !cutlass.work_tile
}
cutlass.tile_scheduler.mods_report_mainloop_end %sched, %mask {is_2cta_mma = false} : !cutlass.tile_scheduler<static_persistent>, i64 -> ()
}

cutlass.async.yield
}

    gpu.return
  }
}

