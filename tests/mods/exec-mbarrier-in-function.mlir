// mbarriers may be made in a function that the kernel calls; the phase is over after its one arrival.
// args: --print out
// expect: 1 0
gpu.module @m {
  llvm.mlir.global internal @bar() {addr_space = 3 : i32, alignment = 8 : i64} : !llvm.array<2 x i64>
  func.func @init() {
    %one = arith.constant 1 : i32
    %b = llvm.mlir.addressof @bar : !llvm.ptr<3>
    "nvvm.mbarrier.init.shared"(%b, %one) : (!llvm.ptr<3>, i32) -> ()
    func.return
  }
  gpu.func @k(%out: !llvm.ptr) kernel attributes {tidemark.args = ["out = i64[1x2] zero"], known_block_size = array<i32: 1, 1, 1>} {
    func.call @init() : () -> ()
    %b = llvm.mlir.addressof @bar : !llvm.ptr<3>
    %t = "nvvm.mbarrier.arrive.shared"(%b) : (!llvm.ptr<3>) -> i64
    %done = "nvvm.mbarrier.test.wait.shared"(%b, %t) : (!llvm.ptr<3>, i64) -> i1
    %x = arith.extui %done : i1 to i64
    llvm.store %x, %out : i64, !llvm.ptr
    gpu.return
  }
}
