// An mbarrier that is made where one is: undefined on a GPU.
// args: --quiet
// expect: op initialises an mbarrier that is one already: inval comes first
gpu.module @m {
  llvm.mlir.global internal @bar() {addr_space = 3 : i32, alignment = 8 : i64} : !llvm.array<2 x i64>
  gpu.func @k(%out: !llvm.ptr) kernel attributes {tidemark.args = ["out = i64[1x2] zero"], known_block_size = array<i32: 1, 1, 1>} {
    %one = arith.constant 1 : i32
    %b = llvm.mlir.addressof @bar : !llvm.ptr<3>
    "nvvm.mbarrier.init.shared"(%b, %one) : (!llvm.ptr<3>, i32) -> ()
    "nvvm.mbarrier.init.shared"(%b, %one) : (!llvm.ptr<3>, i32) -> ()
    gpu.return
  }
}
