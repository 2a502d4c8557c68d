// RUN: invalid
func.func @f(%a: i32) {
  // expected-error@+1 {{operand #0 does not dominate this use}}
  %0 = arith.addi %1, %a : i32
  // expected-note@+1 {{operand defined here (op in the same block)}}
  %1 = arith.addi %a, %a : i32
  func.return
}

// -----

func.func @f(%c: i1, %a: i32) -> i32 {
  cf.cond_br %c, ^l, ^r
^l:
  %x = arith.addi %a, %a : i32
  cf.br ^r
^r:
  // expected-error@+1 {{operand #0 does not dominate this use}}
  func.return %x : i32
}

// -----

func.func @f(%c: i1, %a: i32) -> i32 {
  scf.if %c {
    %x = arith.addi %a, %a : i32
  }
  // expected-error@+1 {{use of undeclared SSA value name}}
  func.return %x : i32
}

// -----

func.func @f(%c: i1, %a: i32) {
  scf.if %c {
    // expected-error@+1 {{operand #0 does not dominate this use}}
    %y = arith.addi %x, %a : i32
  }
  %x = arith.constant 1 : i32
  func.return
}

// -----

func.func @f(%a: i32) {
  // expected-note@+1 {{previously defined here}}
  %0 = arith.addi %a, %a : i32
  // expected-error@+1 {{redefinition of SSA value '%0'}}
  %0 = arith.addi %a, %a : i32
  func.return
}

// -----

func.func @f(%a: i32) {
  // expected-error@+1 {{use of value '%a' expects different type than prior uses: 'i64' vs 'i32'}}
  %0 = arith.addi %a, %a : i64
  func.return
}

// -----

func.func @f(%c: i1) {
  // expected-error@+1 {{branch has 0 operands for successor #0, but target block has 1}}
  cf.br ^bb1
^bb1(%x: i32):
  func.return
}

// -----

func.func @f(%c: i1, %l: i64) {
  // expected-error@+1 {{type mismatch for bb argument #0 of successor #0}}
  cf.br ^bb1(%l : i64)
^bb1(%x: i32):
  func.return
}

// -----

func.func @f(%c: i1) {
  // expected-error@+1 {{reference to an undefined block}}
  cf.br ^nowhere
}

// -----

func.func @f(%a: i32) {
  // expected-error@+1 {{operation defines 1 results but was provided 2 to bind}}
  %0:2 = arith.addi %a, %a : i32
  func.return
}

// -----

func.func @f(%a: i32) {
  // expected-error@+1 {{cannot name an operation with no results}}
  %0 = gpu.barrier
  func.return
}
