// RUN: lower
// The arithmetic of the scheduler.
// CHECK: nvvm.read.ptx.sreg.nctaid.x
// CHECK: nvvm.read.ptx.sreg.ctaid.x
// CHECK: arith.divui
// CHECK-NOT: cutlass.tile_scheduler
// NVVM: llvm.udiv
gpu.module @m attributes {cutlass.cluster_shape = array<i32: 2, 1, 1>} {
  gpu.func @k(%out: !llvm.ptr, %m: i32, %n: i32, %l: i32) kernel {
    %sched = cutlass.tile_scheduler.streamk %m, %n, %l, %n, %out : i32, i32, i32, i32, !llvm.ptr -> !cutlass.tile_scheduler<streamk>
    cutlass.async.exec {warps = array<i32: 0, 1>} {
      %w = cutlass.tile_scheduler.get_current_work %sched : !cutlass.tile_scheduler<streamk> -> !cutlass.work_tile
      %x = cutlass.tile_scheduler.advance_to_next_work %sched, %w : !cutlass.tile_scheduler<streamk>, !cutlass.work_tile -> !cutlass.work_tile
      %f0 = cutlass.tile_scheduler.work_get %x {field = "m"} : !cutlass.work_tile -> i32
      llvm.store %f0, %out : i32, !llvm.ptr
      %f1 = cutlass.tile_scheduler.work_get %x {field = "n"} : !cutlass.work_tile -> i32
      llvm.store %f1, %out : i32, !llvm.ptr
      %f2 = cutlass.tile_scheduler.work_get %x {field = "l"} : !cutlass.work_tile -> i32
      llvm.store %f2, %out : i32, !llvm.ptr
      %f3 = cutlass.tile_scheduler.work_get %x {field = "k_begin"} : !cutlass.work_tile -> i32
      llvm.store %f3, %out : i32, !llvm.ptr
      %f4 = cutlass.tile_scheduler.work_get %x {field = "k_count"} : !cutlass.work_tile -> i32
      llvm.store %f4, %out : i32, !llvm.ptr
      %valid = cutlass.tile_scheduler.work_get %x {field = "valid"} : !cutlass.work_tile -> i1
      llvm.store %valid, %out : i1, !llvm.ptr
      cutlass.async.yield
    }
    gpu.return
  }
}
