// RUN: lower
// Profile 2: a barrier of the pool for each region, with a count from a word.
// CHECK: nvvm.fence.mbarrier.init
// CHECK: scf.if
// CHECK: %[[COUNT:.*]] = "llvm.load"({{.*}}volatile_
// CHECK: nvvm.read.ptx.sreg.clock64
// CHECK: %[[ID:.*]] = "arith.constant"() <{value = 8 : i32}>
// CHECK-NEXT: "nvvm.barrier.cta.sync"(%[[ID]], %[[COUNT]])
// CHECK: "arith.constant"() <{value = 9 : i32}>
// CHECK-NEXT: "nvvm.barrier.cta.sync"
// NVVM-COUNT-3: "nvvm.barrier"
gpu.module @m attributes {cutlass.cluster_shape = array<i32: 2, 1, 1>} {
  gpu.func @k(%n: i32) kernel {
    %sched = cutlass.tile_scheduler.static_persistent %n, %n, %n : i32, i32, i32 -> !cutlass.tile_scheduler<static_persistent>
    %mask = arith.constant 3 : i64
    cutlass.async.exec {warps = array<i32: 0, 4>} {
      cutlass.tile_scheduler.mods_report_mainloop_start %sched, %mask {is_2cta_mma = false} : !cutlass.tile_scheduler<static_persistent>, i64
      cutlass.tile_scheduler.mods_throttle {profile = 2 : i32}
      cutlass.tile_scheduler.mods_throttle {profile = 2 : i32}
      cutlass.tile_scheduler.mods_report_mainloop_end %sched, %mask {is_2cta_mma = false} : !cutlass.tile_scheduler<static_persistent>, i64 -> ()
      cutlass.async.yield
    }
    cutlass.async.exec {warps = array<i32: 4, 8>} {
      cutlass.tile_scheduler.mods_report_mainloop_start %sched, %mask {is_2cta_mma = false} : !cutlass.tile_scheduler<static_persistent>, i64
      cutlass.tile_scheduler.mods_throttle {profile = 2 : i32}
      cutlass.tile_scheduler.mods_report_mainloop_end %sched, %mask {is_2cta_mma = false} : !cutlass.tile_scheduler<static_persistent>, i64 -> ()
      cutlass.async.yield
    }
    gpu.return
  }
}
