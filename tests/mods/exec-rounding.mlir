// What is narrower than f32, and fma: rounded once. Each value lies just above the middle of two.
// args: --print out
// expect: 15361 16257 19329 1065357313 -17407 963641344
gpu.module @m {
  gpu.func @k(%out: !llvm.ptr) kernel attributes {tidemark.args = ["out = i32[1x6] zero"], known_block_size = array<i32: 1, 1, 1>} {
    %a = arith.constant 0x3FF0020000000400 : f64
    %h = arith.truncf %a : f64 to f16
    %hb = arith.bitcast %h : f16 to i16
    %x0 = arith.extui %hb : i16 to i32
    llvm.store %x0, %out : i32, !llvm.ptr
    %b = arith.constant 0x3FF0100000000400 : f64
    %g = arith.truncf %b : f64 to bf16
    %gb = arith.bitcast %g : bf16 to i16
    %x1 = arith.extui %gb : i16 to i32
    %p1 = llvm.getelementptr %out[1] : (!llvm.ptr) -> !llvm.ptr, i32
    llvm.store %x1, %p1 : i32, !llvm.ptr
    %big = arith.constant 16842753 : i32
    %bf = arith.sitofp %big : i32 to bf16
    %bfb = arith.bitcast %bf : bf16 to i16
    %x2 = arith.extui %bfb : i16 to i32
    %p2 = llvm.getelementptr %out[2] : (!llvm.ptr) -> !llvm.ptr, i32
    llvm.store %x2, %p2 : i32, !llvm.ptr
    // fma f32: (1+2^-12)^2 + 2^-60 : 1 + 2^-11 + 2^-24 + 2^-60 -> tie broken upward
    %m = arith.constant 0x3F800800 : f32
    %t = arith.constant 0x21800000 : f32
    %f = "llvm.intr.fma"(%m, %m, %t) : (f32, f32, f32) -> f32
    %x3 = arith.bitcast %f : f32 to i32
    %p3 = llvm.getelementptr %out[3] : (!llvm.ptr) -> !llvm.ptr, i32
    llvm.store %x3, %p3 : i32, !llvm.ptr
    %neg = arith.negf %a : f64
    %nh = arith.truncf %neg : f64 to f16
    %nb = arith.bitcast %nh : f16 to i16
    %x4 = arith.extsi %nb : i16 to i32
    %p4 = llvm.getelementptr %out[4] : (!llvm.ptr) -> !llvm.ptr, i32
    llvm.store %x4, %p4 : i32, !llvm.ptr
    // fma f64: (1+2^-52)^2 - (1+2^-51) : 2^-104, and 0 where the product is rounded before
    %w = arith.constant 0x3FF0000000000001 : f64
    %less = arith.constant 0xBFF0000000000002 : f64
    %fw = "llvm.intr.fma"(%w, %w, %less) : (f64, f64, f64) -> f64
    %wb = arith.bitcast %fw : f64 to i64
    %half = arith.constant 32 : i64
    %up = arith.shrui %wb, %half : i64
    %x5 = arith.trunci %up : i64 to i32
    %p5 = llvm.getelementptr %out[5] : (!llvm.ptr) -> !llvm.ptr, i32
    llvm.store %x5, %p5 : i32, !llvm.ptr
    gpu.return
  }
}
