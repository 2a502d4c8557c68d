// RUN: valid
// An mbarrier counts up to 2^20 - 1.
gpu.module @m {
  llvm.mlir.global internal @bar() {addr_space = 3 : i32} : i64
  gpu.func @k(%n: i32) kernel {
    %p = cutlass.pipeline.init {stages = 2 : i32, producers = 1048575 : i32, consumers = 1048575 : i32, tx_bytes = 1048575 : i32} : !cutlass.pipeline<2>
    %s = cutlass.seq_bar.init {depth = 1 : i32, length = 1 : i32, group_size = 1048575 : i32} : !cutlass.seq_bar<1, 1>
    %b = llvm.mlir.addressof @bar : !llvm.ptr<3>
    %most = arith.constant 1048575 : i32
    %none = arith.constant 0 : i32
    "nvvm.mbarrier.init.shared"(%b, %most) : (!llvm.ptr<3>, i32) -> ()
    "nvvm.mbarrier.init.shared"(%b, %n) : (!llvm.ptr<3>, i32) -> ()
    "nvvm.mbarrier.arrive.expect_tx.shared"(%b, %none) : (!llvm.ptr<3>, i32) -> ()
    "nvvm.mbarrier.arrive.expect_tx.shared"(%b, %most) : (!llvm.ptr<3>, i32) -> ()
    gpu.return
  }
}
