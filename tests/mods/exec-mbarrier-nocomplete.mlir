// An arrival without completion that completes the phase: undefined on a GPU.
// args: --quiet
// expect: op completes the phase, which an arrival without completion must not
gpu.module @m {
  llvm.mlir.global internal @bar() {addr_space = 3 : i32, alignment = 8 : i64} : !llvm.array<2 x i64>
  gpu.func @k(%out: !llvm.ptr) kernel attributes {tidemark.args = ["out = i64[1x2] zero"], known_block_size = array<i32: 1, 1, 1>} {
    %one = arith.constant 2 : i32
    %b = llvm.mlir.addressof @bar : !llvm.ptr<3>
    "nvvm.mbarrier.init.shared"(%b, %one) : (!llvm.ptr<3>, i32) -> ()
    %t = "nvvm.mbarrier.arrive.nocomplete.shared"(%b, %one) : (!llvm.ptr<3>, i32) -> i64
    gpu.return
  }
}
