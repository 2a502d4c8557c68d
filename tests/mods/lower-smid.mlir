// RUN: lower
// The SM id, outside of a window.
// CHECK: %[[ID:.*]] = "nvvm.read.ptx.sreg.smid"
// CHECK: "llvm.store"(%[[ID]]
// NVVM: llvm.nvvm.read.ptx.sreg.smid
gpu.module @m attributes {cutlass.cluster_shape = array<i32: 1, 1, 1>} {
  gpu.func @k(%out: !llvm.ptr) kernel {
    cutlass.async.exec {warps = array<i32: 0, 1>} {
      %id = cutlass.tile_scheduler.mods_report_smid : i32
      llvm.store %id, %out : i32, !llvm.ptr
      cutlass.async.yield
    }
    gpu.return
  }
}
