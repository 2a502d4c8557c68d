// RUN: lower
// A branch on the warp.
// CHECK: %[[T:.*]] = "nvvm.read.ptx.sreg.tid.x"
// CHECK: %[[W:.*]] = "arith.shrui"(%[[T]]
// CHECK: %[[O:.*]] = "arith.subi"(%[[W]]
// CHECK: %[[C:.*]] = "arith.cmpi"(%[[O]]
// CHECK: "scf.if"(%[[C]])
// NVVM: llvm.cond_br
gpu.module @m attributes {cutlass.cluster_shape = array<i32: 1, 1, 1>} {
  gpu.func @k(%out: !llvm.ptr, %n: i32) kernel {
    cutlass.async.exec {warps = array<i32: 2, 4>} {
      llvm.store %n, %out : i32, !llvm.ptr
      cutlass.async.yield
    }
    gpu.return
  }
}
