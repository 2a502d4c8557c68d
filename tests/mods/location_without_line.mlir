// RUN: invalid
func.func @f(%a: i32) {
  // An error is told where loc(…) says it is.
  // expected-error@unknown {{requires operands #0 and #1 to have the same type}}
  %l = arith.extsi %a : i32 to i64
  %0 = "arith.addi"(%a, %l) : (i32, i64) -> i32 loc("gemm.cu":0:14)
  func.return
}
