// 64 threads add into shared memory.
// args: --block 64 --print out
// expect: 2016
gpu.module @m {
  llvm.mlir.global internal @sum() {addr_space = 3 : i32} : i32
  gpu.func @k(%out: !llvm.ptr) kernel attributes {tidemark.args = ["out = i32[1] zero"]} {
    %t = gpu.thread_id x
    %i = arith.index_cast %t : index to i32
    %s = llvm.mlir.addressof @sum : !llvm.ptr<3>
    %old = "llvm.atomicrmw"(%s, %i) <{bin_op = 1 : i64, ordering = 2 : i64}> : (!llvm.ptr<3>, i32) -> i32
    gpu.barrier
    %v = llvm.load %s : !llvm.ptr<3> -> i32
    llvm.store %v, %out : i32, !llvm.ptr
    gpu.return
  }
}
