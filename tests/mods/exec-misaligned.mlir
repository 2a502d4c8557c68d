// Four bytes at byte 2.
// args: --block 1
// expect: which is misaligned
gpu.module @m {
  gpu.func @k(%out: !llvm.ptr) kernel attributes {tidemark.args = ["out = i32[1x4] zero"]} {
    %p = llvm.getelementptr %out[2] : (!llvm.ptr) -> !llvm.ptr, i8
    %v = llvm.load %p : !llvm.ptr -> i32
    gpu.return
  }
}
