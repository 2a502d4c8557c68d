// RUN: valid
// MODS operations appear only in regions of warps.
gpu.module @m attributes {cutlass.cluster_shape = array<i32: 2, 1, 1>} {
  gpu.func @k(%p: !llvm.ptr, %n: i32, %cond: i1, %dyn: i64) kernel {
    cutlass.async.exec {warps = array<i32: 0, 4>} {
      %smid = cutlass.tile_scheduler.mods_report_smid : i32
      cutlass.tile_scheduler.mods_throttle {profile = 1 : i32}
      cutlass.async.yield
    }
    gpu.return
  }
}
