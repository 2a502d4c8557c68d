// A cast of bits between types of different widths, which mlir-opt lets pass.
// expect: error: 'llvm.bitcast' op casts between types of different widths
gpu.module @m {
  gpu.func @k() kernel attributes {known_block_size = array<i32: 1, 1, 1>} {
    %a = arith.constant 1 : i32
    %b = llvm.bitcast %a : i32 to f64
    gpu.return
  }
}
