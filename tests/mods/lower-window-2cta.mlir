// RUN: lower --mods-end=single
// Pairs of CTAs: the rank tells what a thread adds, not tid.x.
// CHECK: nvvm.cluster.wait
// CHECK: scf.if
// CHECK-NOT: nvvm.read.ptx.sreg.tid.x
// CHECK: %[[R:.*]] = "nvvm.read.ptx.sreg.cluster.ctarank"
// CHECK: "arith.andi"(%[[R]]
// CHECK: nvvm.cluster.arrive
// CHECK-NOT: nvvm.read.ptx.sreg.tid.x
// CHECK: nvvm.cluster.wait
gpu.module @m attributes {cutlass.cluster_shape = array<i32: 2, 2, 1>} {
  gpu.func @k(%n: i32) kernel {
    %sched = cutlass.tile_scheduler.static_persistent %n, %n, %n : i32, i32, i32 -> !cutlass.tile_scheduler<static_persistent>
    %mask = arith.constant 3 : i64
    cutlass.async.exec {warps = array<i32: 0, 4>} {
      cutlass.tile_scheduler.mods_report_mainloop_start %sched, %mask {is_2cta_mma = true} : !cutlass.tile_scheduler<static_persistent>, i64
      cutlass.tile_scheduler.mods_report_mainloop_end %sched, %mask {is_2cta_mma = true} : !cutlass.tile_scheduler<static_persistent>, i64 -> ()
      cutlass.async.yield
    }
    gpu.return
  }
}
