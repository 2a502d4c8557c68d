// A mark that lies: the CTAs of a cluster differ in what they read.
// args: --grid 2
// expect: error: 'scf.if' op is marked 'cutlass.cluster_uniform', but goes another way here than in CTA 1, thread 0 of its cluster (CTA 0 (rank 0 of cluster 0), warp 0, lane 0)
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
    %c = arith.cmpi eq, %read, %zero : i32
    cutlass.async.exec {warps = array<i32: 0, 1>} {
      scf.if %c {
        cutlass.tile_scheduler.mods_report_mainloop_start %sched, %mask {is_2cta_mma = false} : !cutlass.tile_scheduler<static_persistent>, i64
        cutlass.tile_scheduler.mods_report_mainloop_end %sched, %mask {is_2cta_mma = false} : !cutlass.tile_scheduler<static_persistent>, i64 -> ()
      } {cutlass.cluster_uniform}
      cutlass.async.yield
    }
    gpu.return
  }
}
