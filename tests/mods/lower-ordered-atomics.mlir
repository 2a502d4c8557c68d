// RUN: lower
// What reads and writes at once is relaxed when LLVM 19 is through with it: fences order.
// NVVM: llvm.nvvm.membar.sys
// NVVM-NEXT: llvm.atomicrmw{{.*}}ordering = 6
// NVVM-NEXT: llvm.nvvm.membar.sys
// NVVM-NEXT: llvm.atomicrmw{{.*}}ordering = 4
// NVVM-NEXT: llvm.nvvm.membar.sys
// NVVM-NEXT: llvm.atomicrmw{{.*}}ordering = 2
// NVVM-NEXT: llvm.nvvm.membar.sys
// NVVM-NEXT: llvm.cmpxchg
// NVVM-NEXT: llvm.return
gpu.module @m {
  gpu.func @k(%p: !llvm.ptr, %i: i32, %j: i32) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %a = "llvm.atomicrmw"(%p, %i) <{bin_op = 1 : i64, ordering = 6 : i64}> : (!llvm.ptr, i32) -> i32
    %b = "llvm.atomicrmw"(%p, %i) <{bin_op = 1 : i64, ordering = 4 : i64}> : (!llvm.ptr, i32) -> i32
    %c = "llvm.atomicrmw"(%p, %i) <{bin_op = 1 : i64, ordering = 2 : i64}> : (!llvm.ptr, i32) -> i32
    %d = "llvm.cmpxchg"(%p, %i, %j) <{success_ordering = 5 : i64, failure_ordering = 2 : i64}> : (!llvm.ptr, i32, i32) -> !llvm.struct<(i32, i1)>
    gpu.return
  }
}
