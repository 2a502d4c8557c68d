// RUN: lower --partial=mbarrier --mods-end=single
// The second pair only: ranks 2 and 3.
// CHECK: nvvm.read.ptx.sreg.cluster.ctarank
// CHECK-COUNT-2: nvvm.mapa
// CHECK-NOT: nvvm.mapa
gpu.module @m attributes {cutlass.cluster_shape = array<i32: 2, 2, 1>} {
  gpu.func @k(%n: i32) kernel {
    %sched = cutlass.tile_scheduler.static_persistent %n, %n, %n : i32, i32, i32 -> !cutlass.tile_scheduler<static_persistent>
    %mask = arith.constant 2 : i64
    cutlass.async.exec {warps = array<i32: 1, 3>} {
      cutlass.tile_scheduler.mods_report_mainloop_start %sched, %mask {is_2cta_mma = true} : !cutlass.tile_scheduler<static_persistent>, i64
      cutlass.tile_scheduler.mods_report_mainloop_end %sched, %mask {is_2cta_mma = true} : !cutlass.tile_scheduler<static_persistent>, i64 -> ()
      cutlass.async.yield
    }
    gpu.return
  }
}
