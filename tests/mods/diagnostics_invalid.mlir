// RUN: invalid
func.func @f(%a: i32, %f: f32) {
  %0 = arith.addi %f, %f : f32
  // expected-error@-1 {{'arith.addi' op operand #0 must be signless integer or index, but got 'f32'}}
  // expected-error@below {{'arith.muli' op operand #0}}
  %1 = arith.muli %f, %f : f32
  %2 = arith.addf %a, %a : i32 // expected-error {{must be floating-point}}
  func.return
}
