// A cast of bits keeps each of them, as a copy in memory does: also between floats, and those of a signalling NaN.
// args: --print out
// expect: 1040187392 32001 -84 1073741825 32001 -127
gpu.module @m {
  gpu.func @k(%out: !llvm.ptr) kernel attributes {tidemark.args = ["out = i32[1x6] zero"], known_block_size = array<i32: 1, 1, 1>} {
    %h = arith.constant 1.5 : f16
    %b = arith.bitcast %h : f16 to bf16
    %w = arith.extf %b : bf16 to f32
    %x0 = arith.bitcast %w : f32 to i32
    llvm.store %x0, %out : i32, !llvm.ptr
    %nan = arith.constant 32001 : i16
    %hn = arith.bitcast %nan : i16 to f16
    %hb = arith.bitcast %hn : f16 to i16
    %x1 = arith.extsi %hb : i16 to i32
    %p1 = llvm.getelementptr %out[1] : (!llvm.ptr) -> !llvm.ptr, i32
    llvm.store %x1, %p1 : i32, !llvm.ptr
    %c84 = arith.constant -84 : i16
    %bn = arith.bitcast %c84 : i16 to bf16
    %bb = arith.bitcast %bn : bf16 to i16
    %x2 = arith.extsi %bb : i16 to i32
    %p2 = llvm.getelementptr %out[2] : (!llvm.ptr) -> !llvm.ptr, i32
    llvm.store %x2, %p2 : i32, !llvm.ptr
    %c = arith.constant 1073741825 : i32
    %t = arith.bitcast %c : i32 to tf32
    %f = arith.bitcast %t : tf32 to f32
    %x3 = arith.bitcast %f : f32 to i32
    %p3 = llvm.getelementptr %out[3] : (!llvm.ptr) -> !llvm.ptr, i32
    llvm.store %x3, %p3 : i32, !llvm.ptr
    %p4 = llvm.getelementptr %out[4] : (!llvm.ptr) -> !llvm.ptr, i32
    llvm.store %hn, %p4 : f16, !llvm.ptr
    %p5 = llvm.getelementptr %out[5] : (!llvm.ptr) -> !llvm.ptr, i32
    %c127 = arith.constant -127 : i16
    %lb = arith.bitcast %c127 : i16 to bf16
    llvm.store %lb, %p5 : bf16, !llvm.ptr
    %p5h = llvm.getelementptr %out[22] : (!llvm.ptr) -> !llvm.ptr, i8
    %ones = arith.constant -1 : i16
    llvm.store %ones, %p5h : i16, !llvm.ptr
    gpu.return
  }
}
