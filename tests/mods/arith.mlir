// RUN: valid
// Arithmetic.
func.func @f(%a: i32, %b: i32, %x: f32, %y: f32, %i: index) -> i32 {
  %0 = arith.addi %a, %b overflow<nsw> : i32
  %1 = arith.cmpi ult, %0, %b : i32
  %2 = arith.select %1, %0, %a : i32
  %3 = arith.addf %x, %y fastmath<fast> : f32
  %4 = arith.cmpf oge, %3, %y : f32
  %5 = arith.negf %3 : f32
  %6 = arith.extsi %2 : i32 to i64
  %7 = arith.trunci %6 : i64 to i16
  %8 = arith.index_cast %i : index to i32
  %9 = arith.sitofp %8 : i32 to f16
  %10 = arith.bitcast %a : i32 to f32
  %11 = arith.constant -7 : i8
  %12 = arith.constant 0x7FC00000 : f32
  %13 = arith.constant 0.1 : f64
  %14 = arith.constant false
  %15 = arith.constant 3.14159 : bf16
  func.return %2 : i32
}
