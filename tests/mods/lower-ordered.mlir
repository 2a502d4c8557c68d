// RUN: lower
// Loads and stores that order others: LLVM 19 has none for this target, fences stand beside them.
// CHECK: llvm.load{{.*}}ordering = 4
// NVVM: llvm.load{{.*}}ordering = 2
// NVVM-NEXT: llvm.nvvm.membar.sys
// NVVM: llvm.nvvm.membar.sys
// NVVM-NEXT: llvm.store{{.*}}ordering = 2
// NVVM: llvm.nvvm.membar.sys
// NVVM-NEXT: llvm.load{{.*}}ordering = 2
// NVVM-NEXT: llvm.nvvm.membar.sys
// NVVM: llvm.load{{.*}}ordering = 2
// NVVM-NOT: membar
gpu.module @m {
  gpu.func @k(%p: !llvm.ptr, %q: !llvm.ptr) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %a = "llvm.load"(%p) <{alignment = 4 : i64, ordering = 4 : i64}> : (!llvm.ptr) -> i32
    "llvm.store"(%a, %q) <{alignment = 4 : i64, ordering = 5 : i64}> : (i32, !llvm.ptr) -> ()
    %b = "llvm.load"(%p) <{alignment = 4 : i64, ordering = 7 : i64}> : (!llvm.ptr) -> i32
    %c = "llvm.load"(%q) <{alignment = 4 : i64, ordering = 2 : i64}> : (!llvm.ptr) -> i32
    %d = arith.addi %b, %c : i32
    llvm.store %d, %p : i32, !llvm.ptr
    gpu.return
  }
}
