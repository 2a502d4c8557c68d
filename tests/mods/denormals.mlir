// RUN: opt
// Numbers above half of the least one are the least one; those up to half are 0.
func.func @f() {
  %a = arith.constant 5.0e-324 : f64
  %b = arith.constant 4.0e-324 : f64
  %c = arith.constant 2.4703282292062329e-324 : f64
  %d = arith.constant 2.4703282292062327e-324 : f64
  %e = arith.constant 7.5e-324 : f64
  %f = arith.constant 1.0e-324 : f64
  func.return
}
