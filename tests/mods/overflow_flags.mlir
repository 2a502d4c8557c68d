// RUN: opt --mlir-print-op-generic
// Overflow flags are properties, of llvm's operations, too.
func.func @flags(%a: i32) -> i32 {
  %0 = llvm.add %a, %a overflow<nsw> : i32
  %1 = llvm.sub %0, %a overflow<nsw, nuw> : i32
  %2 = llvm.mul %1, %a overflow<nuw> : i32
  %3 = llvm.shl %2, %a overflow<nsw> : i32
  %4 = arith.addi %3, %a overflow<nsw> : i32
  func.return %4 : i32
}
