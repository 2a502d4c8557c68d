// Floats are printed with as many digits as tell them from their neighbours, and no more.
// args: --print x
// expect: 0.1 16777217 1.0000000000000002
gpu.module @m {
  gpu.func @k(%x: !llvm.ptr) kernel attributes {tidemark.args = ["x = f64[1x3] zero"], known_block_size = array<i32: 1, 1, 1>} {
    %a = arith.constant 0.1 : f64
    %b = arith.constant 16777217.0 : f64
    %c = arith.constant 0x3FF0000000000001 : f64
    llvm.store %a, %x : f64, !llvm.ptr
    %p1 = llvm.getelementptr %x[1] : (!llvm.ptr) -> !llvm.ptr, f64
    llvm.store %b, %p1 : f64, !llvm.ptr
    %p2 = llvm.getelementptr %x[2] : (!llvm.ptr) -> !llvm.ptr, f64
    llvm.store %c, %p2 : f64, !llvm.ptr
    gpu.return
  }
}
