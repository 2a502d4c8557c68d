// The predicate of an init and of an arrival: false, and nothing is done. 32 lanes, and one arrives.
// args: --print out --explore 20
// expect: 20 schedules, all well
// expect: 1
gpu.module @m {
  llvm.mlir.global internal @bar() {addr_space = 3 : i32, alignment = 8 : i64} : !llvm.array<1 x i64>
  gpu.func @k(%out: !llvm.ptr) kernel attributes {tidemark.args = ["out = i32[1] zero"], known_block_size = array<i32: 32, 1, 1>} {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %t = nvvm.read.ptx.sreg.tid.x : i32
    %first = arith.cmpi eq, %t, %c0 : i32
    %b = llvm.mlir.addressof @bar : !llvm.ptr<3>
    "nvvm.mbarrier.init.shared"(%b, %c1, %first) : (!llvm.ptr<3>, i32, i1) -> ()
    gpu.barrier
    "nvvm.mbarrier.arrive.expect_tx.shared"(%b, %c0, %first) : (!llvm.ptr<3>, i32, i1) -> ()
    "nvvm.mbarrier.try_wait.parity.shared"(%b, %c0, %c0) : (!llvm.ptr<3>, i32, i32) -> ()
    scf.if %first {
      llvm.store %c1, %out : i32, !llvm.ptr
    }
    gpu.return
  }
}
