// RUN: opt
// The other name of cutlass.async.exec.
gpu.module @m attributes {cutlass.cluster_shape = array<i32: 2, 1, 1>} {
  gpu.func @k(%p: !llvm.ptr, %n: i32, %cond: i1, %dyn: i64) kernel {
    nv_tileas.async.exec {warps = array<i32: 0, 4>} {
      cutlass.tile_scheduler.mods_throttle {profile = 1 : i32}
      nv_tileas.async.yield
    }
    "nv_tileas.async.exec"() ({
      "nv_tileas.async.yield"() : () -> ()
    }) {warps = array<i32: 4, 8>} : () -> ()
    gpu.return
  }
}
