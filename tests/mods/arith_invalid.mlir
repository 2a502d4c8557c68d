// RUN: invalid
func.func @f(%a: i32, %b: i64) {
  // expected-error@+1 {{requires operands #0 and #1 to have the same type}}
  %0 = "arith.addi"(%a, %b) : (i32, i64) -> i32
  func.return
}

// -----

func.func @f(%a: i32) {
  // expected-error@+1 {{requires the same type for operand #0 and result #0}}
  %0 = "arith.addi"(%a, %a) : (i32, i32) -> i64
  func.return
}

// -----

func.func @f(%a: f32) {
  // expected-error@+1 {{operand #0 must be signless integer or index, but got 'f32'}}
  %0 = arith.addi %a, %a : f32
  func.return
}

// -----

func.func @f(%a: i32) {
  // expected-error@+1 {{expected 2 operands, but found 1}}
  %0 = "arith.addi"(%a) : (i32) -> i32
  func.return
}

// -----

func.func @f(%a: i32) {
  // expected-error@+1 {{expected 1 results, but found 0}}
  "arith.addi"(%a, %a) : (i32, i32) -> ()
  func.return
}

// -----

func.func @f(%a: i32) {
  // expected-error@+1 {{result type 'i16' must be wider than operand type 'i32'}}
  %0 = arith.extui %a : i32 to i16
  // expected-error@+1 {{result type 'i64' must be shorter than operand type 'i32'}}
  %1 = arith.trunci %a : i32 to i64
  // expected-error@+1 {{operand type 'i32' and result type 'f64' are cast incompatible}}
  %2 = arith.bitcast %a : i32 to f64
  // expected-error@+1 {{are cast incompatible}}
  %3 = arith.index_cast %a : i32 to i64
  func.return
}

// -----

func.func @f() {
  // expected-error@+1 {{failed to verify that result and attribute have the same type}}
  %0 = "arith.constant"() {value = 5 : i32} : () -> i64
  // expected-error@+3 {{no such predicate}}
  // expected-error@+1 {{requires attribute 'value'}}
  %1 = "arith.constant"() : () -> i32
  %2 = "arith.cmpi"(%1, %1) {predicate = 10 : i64} : (i32, i32) -> i1
  func.return
}

// -----

func.func @f(%a: i32) {
  // expected-error@+1 {{unknown predicate 'less'}}
  %0 = arith.cmpi less, %a, %a : i32
  // expected-error@+1 {{integer constant out of range for attribute}}
  %1 = arith.constant 300 : i8
  func.return
}

// -----

func.func @f() {
  // expected-error@+1 {{integer return type must be signless}}
  %0 = arith.constant 5 : si32
  func.return
}
