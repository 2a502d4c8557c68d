// RUN: lower
// A fence stays one, and LLVM selects something for it.
// CHECK: llvm.fence
// CHECK: llvm.atomicrmw
// NVVM: llvm.nvvm.membar.sys
// NVVM: llvm.atomicrmw
gpu.module @m {
  gpu.func @k(%p: !llvm.ptr, %one: i32) kernel {
    "llvm.fence"() <{ordering = 5 : i64}> : () -> ()
    %was = "llvm.atomicrmw"(%p, %one) <{bin_op = 0 : i64, ordering = 5 : i64}> : (!llvm.ptr, i32) -> i32
    gpu.return
  }
}
