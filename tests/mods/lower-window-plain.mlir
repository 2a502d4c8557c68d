// RUN: lower --mods-end=single
// No timestamps: no timer, no subtraction.
// CHECK: nvvm.cluster.arrive
// CHECK-NOT: globaltimer
// CHECK: cp.async.bulk.wait_group
// CHECK-NEXT: nvvm.cluster.wait
// CHECK-NOT: globaltimer
// CHECK-NOT: nvvm.cluster
gpu.module @m attributes {cutlass.cluster_shape = array<i32: 4, 1, 1>} {
  gpu.func @k(%n: i32) kernel {
    %sched = cutlass.tile_scheduler.static_persistent %n, %n, %n : i32, i32, i32 -> !cutlass.tile_scheduler<static_persistent>
    %mask = arith.constant 15 : i64
    cutlass.async.exec {warps = array<i32: 0, 1>} {
      cutlass.tile_scheduler.mods_report_mainloop_start %sched, %mask {is_2cta_mma = false} : !cutlass.tile_scheduler<static_persistent>, i64
      cutlass.tile_scheduler.mods_report_mainloop_end %sched, %mask {is_2cta_mma = false} : !cutlass.tile_scheduler<static_persistent>, i64 -> ()
      cutlass.async.yield
    }
    gpu.return
  }
}
