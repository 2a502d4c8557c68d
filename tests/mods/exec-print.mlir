// Memory is printed as it is: no digit of an integer is lost, and floats can be read back.
// args: --print big
// expect: 9223372036854775807 -1234567 9007199254740993
gpu.module @m {
  gpu.func @k(%big: !llvm.ptr) kernel attributes {tidemark.args = ["big = i64[1x3] zero"], known_block_size = array<i32: 1, 1, 1>} {
    %a = arith.constant 9223372036854775807 : i64
    %b = arith.constant -1234567 : i64
    %c = arith.constant 9007199254740993 : i64
    llvm.store %a, %big : i64, !llvm.ptr
    %p1 = llvm.getelementptr %big[1] : (!llvm.ptr) -> !llvm.ptr, i64
    llvm.store %b, %p1 : i64, !llvm.ptr
    %p2 = llvm.getelementptr %big[2] : (!llvm.ptr) -> !llvm.ptr, i64
    llvm.store %c, %p2 : i64, !llvm.ptr
    gpu.return
  }
}
