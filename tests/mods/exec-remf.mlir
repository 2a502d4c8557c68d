// What is left of a division of floats is exact, and has the sign of what was divided.
// args: --print out
// expect: 1.5 -1.5 0.5 -0 1 2
gpu.module @m {
  gpu.func @k(%out: !llvm.ptr) kernel attributes {tidemark.args = ["out = f64[1x6] zero"], known_block_size = array<i32: 1, 1, 1>} {
    %a = arith.constant 7.5 : f64
    %b = arith.constant -2.0 : f64
    %na = arith.constant -7.5 : f64
    %x0 = arith.remf %a, %b : f64
    llvm.store %x0, %out : f64, !llvm.ptr
    %x1 = arith.remf %na, %b : f64
    %p1 = llvm.getelementptr %out[1] : (!llvm.ptr) -> !llvm.ptr, f64
    llvm.store %x1, %p1 : f64, !llvm.ptr
    %c = arith.constant 1.0e+31 : f32
    %d = arith.constant 0.75 : f32
    %y = arith.remf %c, %d : f32
    %x2 = arith.extf %y : f32 to f64
    %p2 = llvm.getelementptr %out[2] : (!llvm.ptr) -> !llvm.ptr, f64
    llvm.store %x2, %p2 : f64, !llvm.ptr
    %e = arith.constant -6.0 : f64
    %x3 = arith.remf %e, %b : f64
    %p3 = llvm.getelementptr %out[3] : (!llvm.ptr) -> !llvm.ptr, f64
    llvm.store %x3, %p3 : f64, !llvm.ptr
    %h0 = arith.constant 65.0 : f16
    %h1 = arith.constant 4.0 : f16
    %h = arith.remf %h0, %h1 : f16
    %x4 = arith.extf %h : f16 to f64
    %p4 = llvm.getelementptr %out[4] : (!llvm.ptr) -> !llvm.ptr, f64
    llvm.store %x4, %p4 : f64, !llvm.ptr
    %inf = arith.constant 0x7FF0000000000000 : f64
    %two = arith.constant 2.0 : f64
    %x5 = arith.remf %two, %inf : f64
    %p5 = llvm.getelementptr %out[5] : (!llvm.ptr) -> !llvm.ptr, f64
    llvm.store %x5, %p5 : f64, !llvm.ptr
    gpu.return
  }
}
