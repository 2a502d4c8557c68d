// Below the start.
// args: --block 1
// expect: 'llvm.load' op accesses 4 bytes at byte -4 of a memory of 16
gpu.module @m {
  gpu.func @k(%out: !llvm.ptr) kernel attributes {tidemark.args = ["out = i32[1x4] zero"]} {
    %c = arith.constant 4 : i64
    %z = arith.constant 0 : i64
    %p0 = llvm.getelementptr %out[%c] : (!llvm.ptr, i64) -> !llvm.ptr, i32
    %p = llvm.getelementptr %p0[-5] : (!llvm.ptr) -> !llvm.ptr, i32
    %v = llvm.load %p : !llvm.ptr -> i32
    gpu.return
  }
}
