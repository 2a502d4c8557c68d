// RUN: lower
// Pairs of CTAs: the even one, by its rank, raises the word, and a query for pair p reads that of rank 2p.
// CHECK: nvvm.cluster.wait
// CHECK: %[[R:.*]] = "nvvm.read.ptx.sreg.cluster.ctarank"
// CHECK: %[[ODD:.*]] = "arith.andi"(%[[R]],
// CHECK: %[[OWN:.*]] = "arith.cmpi"(%[[ODD]],
// CHECK: "scf.if"(%[[OWN]])
// CHECK: llvm.atomicrmw
// CHECK: arith.shli
// CHECK: nvvm.mapa
gpu.module @m attributes {cutlass.cluster_shape = array<i32: 4, 1, 1>} {
  gpu.func @k(%n: i32, %whom: i32, %out: !llvm.ptr) kernel attributes {known_block_size = array<i32: 64, 1, 1>} {
    %mask = arith.constant 3 : i64
    %sched = cutlass.tile_scheduler.static_persistent %n, %n, %n : i32, i32, i32 -> !cutlass.tile_scheduler<static_persistent>
    cutlass.async.exec {warps = array<i32: 1, 2>} {
      cutlass.tile_scheduler.mods_report_mainloop_start %sched, %mask {is_2cta_mma = true} : !cutlass.tile_scheduler<static_persistent>, i64
      %first = cutlass.tile_scheduler.get_current_work %sched : !cutlass.tile_scheduler<static_persistent> -> !cutlass.work_tile
      cutlass.tile_scheduler.mods_throttle {profile = 1 : i32}
      %second = cutlass.tile_scheduler.advance_to_next_work %sched, %first : !cutlass.tile_scheduler<static_persistent>, !cutlass.work_tile -> !cutlass.work_tile
      %told = cutlass.tile_scheduler.mods_query_progress %sched, %whom : !cutlass.tile_scheduler<static_persistent>, i32 -> i32
      llvm.store %told, %out : i32, !llvm.ptr
      cutlass.tile_scheduler.mods_report_mainloop_end %sched, %mask {is_2cta_mma = true} : !cutlass.tile_scheduler<static_persistent>, i64 -> ()
      cutlass.async.yield
    }
    gpu.return
  }
}
