// RUN: valid
// What MLIR takes as a constant of a type.
llvm.func @f(%p: !llvm.ptr, %n: i32) {
  %0 = llvm.mlir.constant(5 : i32) : i64
  %1 = llvm.mlir.constant(5 : index) : i64
  %2 = llvm.mlir.constant(true) : i1
  %3 = llvm.mlir.constant(5.0 : f32) : f32
  %4 = llvm.mlir.constant(5.0 : f32) : i32
  %5 = llvm.mlir.constant("abc") : !llvm.array<3 x i8>
  %6 = llvm.mlir.constant(dense<1> : vector<4xi32>) : vector<4xi32>
  %7 = "llvm.icmp"(%p, %p) <{predicate = 0 : i64}> : (!llvm.ptr, !llvm.ptr) -> i1
  %8 = "llvm.icmp"(%n, %n) <{predicate = 0 : i64}> {note = 1 : i64} : (i32, i32) -> i1
  llvm.return
}
