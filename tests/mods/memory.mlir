// RUN: valid
// Memory: llvm pointers, shared globals, getelementptr.
gpu.module @m {
  llvm.mlir.global internal @tile() {addr_space = 3 : i32, alignment = 128 : i64} : !llvm.array<4 x array<8 x f32>>
  llvm.mlir.global external constant @number(7 : i32) : i32
  gpu.func @k(%p: !llvm.ptr, %i: i32) kernel {
    %tile = llvm.mlir.addressof @tile : !llvm.ptr<3>
    %at = llvm.getelementptr inbounds %tile[0, %i, 3] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, !llvm.array<4 x array<8 x f32>>
    %x = llvm.load %at {alignment = 4 : i64} : !llvm.ptr<3> -> f32
    %y = llvm.load volatile %p : !llvm.ptr -> f32
    llvm.store %x, %p : f32, !llvm.ptr
    gpu.return
  }
}
