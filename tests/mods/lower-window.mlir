// RUN: lower --mods-end=single
// The emit sets of "MODS Async Dispatch", one CTA a participant, with both timestamps.
// CHECK-LABEL: gpu.func
// CHECK: nvvm.read.ptx.sreg.tid.x
// CHECK: nvvm.cluster.arrive
// CHECK-NEXT: %[[T:.*]] = "nvvm.read.ptx.sreg.globaltimer"
// CHECK-NOT: nvvm.cluster.arrive
// CHECK: "cp.async.bulk.wait_group"() {count = 0 : i32}
// CHECK-NEXT: "nvvm.cluster.wait"
// CHECK-NEXT: %[[E:.*]] = "nvvm.read.ptx.sreg.globaltimer"
// CHECK-NEXT: "arith.subi"(%[[E]], %[[T]])
// CHECK-NOT: cutlass.tile_scheduler
// NVVM: nvvm.cluster.arrive
// NVVM: llvm.nvvm.read.ptx.sreg.globaltimer
// NVVM: nvvm.cp.async.bulk.wait_group
// NVVM-NEXT: nvvm.cluster.wait
gpu.module @m attributes {cutlass.cluster_shape = array<i32: 2, 1, 1>} {
  gpu.func @k(%out: !llvm.ptr, %n: i32) kernel {
    %sched = cutlass.tile_scheduler.static_persistent %n, %n, %n : i32, i32, i32 -> !cutlass.tile_scheduler<static_persistent>
    %mask = arith.constant 3 : i64
    cutlass.async.exec {warps = array<i32: 0, 4>} {
      %t = cutlass.tile_scheduler.mods_report_mainloop_start %sched, %mask {is_2cta_mma = false} : !cutlass.tile_scheduler<static_persistent>, i64 -> i64
      %d = cutlass.tile_scheduler.mods_report_mainloop_end %sched, %mask, %t {is_2cta_mma = false} : !cutlass.tile_scheduler<static_persistent>, i64, i64 -> i64
      llvm.store %d, %out : i64, !llvm.ptr
      cutlass.async.yield
    }
    gpu.return
  }
}
