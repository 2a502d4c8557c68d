// One past the end.
// args: --block 1
// expect: 'llvm.store' op accesses 4 bytes at byte 16 of a memory of 16
gpu.module @m {
  gpu.func @k(%out: !llvm.ptr) kernel attributes {tidemark.args = ["out = i32[1x4] zero"]} {
    %c = arith.constant 5 : i32
    %p = llvm.getelementptr %out[4] : (!llvm.ptr) -> !llvm.ptr, i32
    llvm.store %c, %p : i32, !llvm.ptr
    gpu.return
  }
}
