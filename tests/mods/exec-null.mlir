// A null pointer.
// args: --block 1
// expect: through a null pointer
gpu.module @m {
  gpu.func @k() kernel {
    %p = llvm.mlir.zero : !llvm.ptr
    %v = llvm.load %p : !llvm.ptr -> i32
    gpu.return
  }
}
