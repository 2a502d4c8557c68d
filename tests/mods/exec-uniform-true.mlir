// Marks that are true, with more decisions than are remembered; other clusters go their own way.
// args: --grid 4 --explore 20
// expect: 20 schedules, all well
// expect: 200 windows
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
    %two = arith.constant 2 : i32
    %hundred = arith.constant 100 : i32
    %cluster = arith.divui %read, %two : i32
    %c = arith.cmpi eq, %cluster, %zero : i32
    cutlass.async.exec {warps = array<i32: 0, 1>} {
      scf.for %i = %zero to %hundred step %one : i32 {
        scf.if %c {
        cutlass.tile_scheduler.mods_report_mainloop_start %sched, %mask {is_2cta_mma = false} : !cutlass.tile_scheduler<static_persistent>, i64
        cutlass.tile_scheduler.mods_report_mainloop_end %sched, %mask {is_2cta_mma = false} : !cutlass.tile_scheduler<static_persistent>, i64 -> ()
        } {cutlass.cluster_uniform}
      } {cutlass.cluster_uniform}
      cutlass.async.yield
    }
    gpu.return
  }
}
