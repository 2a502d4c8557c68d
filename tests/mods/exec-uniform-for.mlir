// A loop that is marked goes round as often in each CTA, or it is an error.
// args: --grid 2
// expect: error: 'scf.for' op is marked 'cutlass.cluster_uniform', but goes another way here
gpu.module @m attributes {cutlass.cluster_shape = array<i32: 2, 1, 1>} {
  gpu.func @k(%p: !llvm.ptr) kernel attributes {known_block_size = array<i32: 32, 1, 1>, tidemark.args = ["p = i32[64] zero"]} {
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %four = arith.constant 4 : i32
    %mask = arith.constant 3 : i64
    %sched = cutlass.tile_scheduler.static_persistent %four, %four, %one : i32, i32, i32 -> !cutlass.tile_scheduler<static_persistent>
    %x = gpu.block_id x
    %id = arith.index_cast %x : index to i32
    %at = llvm.getelementptr %p[%id] : (!llvm.ptr, i32) -> !llvm.ptr, i32
    llvm.store %id, %at : i32, !llvm.ptr
    %read = llvm.load %at : !llvm.ptr -> i32
    %turns = arith.addi %read, %one : i32
    cutlass.async.exec {warps = array<i32: 0, 1>} {
      scf.for %i = %zero to %turns step %one : i32 {
        cutlass.tile_scheduler.mods_report_mainloop_start %sched, %mask {is_2cta_mma = false} : !cutlass.tile_scheduler<static_persistent>, i64
        cutlass.tile_scheduler.mods_report_mainloop_end %sched, %mask {is_2cta_mma = false} : !cutlass.tile_scheduler<static_persistent>, i64 -> ()
      } {cutlass.cluster_uniform}
      cutlass.async.yield
    }
    gpu.return
  }
}
