// RUN: lower --partial=mbarrier --mods-end=full
// CTAs 0 and 2 of four: each arrives at both their mbarriers.
// CHECK: "nvvm.mbarrier.init.shared"
// CHECK: nvvm.read.ptx.sreg.cluster.ctarank
// CHECK: nvvm.barrier.cta.sync
// CHECK-COUNT-2: nvvm.mapa
// CHECK-NOT: nvvm.mapa
// CHECK: cp.async.bulk.wait_group
// CHECK: mbarrier.try_wait.parity.acquire.cluster
// CHECK-COUNT-2: nvvm.mapa
// CHECK: mbarrier.try_wait.parity.acquire.cluster
// NVVM-COUNT-2: llvm.nvvm.mapa.shared.cluster
gpu.module @m attributes {cutlass.cluster_shape = array<i32: 4, 1, 1>} {
  gpu.func @k(%n: i32) kernel {
    %sched = cutlass.tile_scheduler.static_persistent %n, %n, %n : i32, i32, i32 -> !cutlass.tile_scheduler<static_persistent>
    %mask = arith.constant 5 : i64
    cutlass.async.exec {warps = array<i32: 0, 4>} {
      cutlass.tile_scheduler.mods_report_mainloop_start %sched, %mask {is_2cta_mma = false} : !cutlass.tile_scheduler<static_persistent>, i64
      cutlass.tile_scheduler.mods_report_mainloop_end %sched, %mask {is_2cta_mma = false} : !cutlass.tile_scheduler<static_persistent>, i64 -> ()
      cutlass.async.yield
    }
    gpu.return
  }
}
