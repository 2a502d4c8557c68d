// RUN: valid
// Structured control flow.
func.func @f(%lo: index, %hi: index, %st: index, %c: i1, %a: i32) -> i32 {
  %0 = scf.for %i = %lo to %hi step %st iter_args(%x = %a) -> (i32) {
    %9 = arith.addi %x, %x : i32
    scf.yield %9 : i32
  }
  scf.for %i = %a to %0 step %a : i32 {
    scf.for %j = %lo to %hi step %st {
    }
  }
  %1:2 = scf.if %c -> (i32, i64) {
    %7 = arith.constant 1 : i64
    scf.yield %0, %7 : i32, i64
  } else {
    %8 = arith.constant 2 : i64
    scf.yield %a, %8 : i32, i64
  }
  scf.if %c {
  }
  %2 = scf.while (%x = %a) : (i32) -> i32 {
    scf.condition(%c) %x : i32
  } do {
  ^bb0(%y: i32):
    %z = arith.addi %y, %1#0 : i32
    scf.yield %z : i32
  }
  scf.while : () -> () {
    scf.condition(%c)
  } do {
    scf.yield
  } attributes {note = "none carried"}
  func.return %2 : i32
}
