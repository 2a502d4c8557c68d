// RUN: invalid
gpu.module @m {
  gpu.func @k() kernel {
    // expected-error@+1 {{requires 'producers' to be below 2^20, an mbarrier's most, but it is 1048576}}
    %p = cutlass.pipeline.init {stages = 2 : i32, producers = 1048576 : i32, consumers = 1 : i32, tx_bytes = 0 : i32} : !cutlass.pipeline<2>
    // expected-error@+1 {{requires 'consumers' to be below 2^20, an mbarrier's most, but it is 2147483647}}
    %q = cutlass.pipeline.init {stages = 2 : i32, producers = 1 : i32, consumers = 2147483647 : i32, tx_bytes = 0 : i32} : !cutlass.pipeline<2>
    // expected-error@+1 {{requires 'group_size' to be below 2^20, an mbarrier's most, but it is 1048576}}
    %s = cutlass.seq_bar.init {depth = 1 : i32, length = 1 : i32, group_size = 1048576 : i32} : !cutlass.seq_bar<1, 1>
    gpu.return
  }
}

// -----

llvm.func @k(%g: !llvm.ptr, %b: !llvm.ptr<3>) {
  %more = llvm.mlir.constant(1048576 : i32) : i32
  %none = llvm.mlir.constant(0 : i32) : i32
  %minus = llvm.mlir.constant(-1 : i32) : i32
  // expected-error@+1 {{has a count of 1048576, but an mbarrier counts 1 to 2^20 - 1}}
  "nvvm.mbarrier.init"(%g, %more) : (!llvm.ptr, i32) -> ()
  // expected-error@+1 {{has a count of 0, but an mbarrier counts 1 to 2^20 - 1}}
  "nvvm.mbarrier.init.shared"(%b, %none) : (!llvm.ptr<3>, i32) -> ()
  // expected-error@+1 {{has a count of 1048576, but}}
  %0 = "nvvm.mbarrier.arrive.nocomplete"(%g, %more) : (!llvm.ptr, i32) -> i64
  // expected-error@+1 {{has a count of -1, but}}
  %1 = "nvvm.mbarrier.arrive.nocomplete.shared"(%b, %minus) : (!llvm.ptr<3>, i32) -> i64
  // expected-error@+1 {{has a transaction of 1048576, but an mbarrier counts 0 to 2^20 - 1}}
  "nvvm.mbarrier.arrive.expect_tx"(%g, %more) : (!llvm.ptr, i32) -> ()
  // expected-error@+1 {{has a transaction of -1, but}}
  "nvvm.mbarrier.arrive.expect_tx.shared"(%b, %minus) : (!llvm.ptr<3>, i32) -> ()
  llvm.return
}
