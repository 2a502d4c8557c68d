// RUN: invalid
func.func @f(%a: i32) {
  // An error is told where loc(…) says it is.
  // expected-error@unknown {{requires operands #0 and #1 to have the same type}}
  %l = arith.extsi %a : i32 to i64
  %0 = "arith.addi"(%a, %l) : (i32, i64) -> i32 loc("gemm.cu":3:14)
  func.return
}

// -----

func.func @f(%a: i32) {
  %l = arith.extsi %a : i32 to i64
  // expected-error@unknown {{requires operands #0 and #1 to have the same type}}
  // expected-note@unknown {{called from}}
  // expected-note@unknown {{called from}}
  %0 = "arith.addi"(%a, %l) : (i32, i64) -> i32 loc(#chain)
  // expected-error@unknown {{requires operands #0 and #1 to have the same type}}
  %1 = "arith.addi"(%a, %l) : (i32, i64) -> i32 loc(fused<"why">[unknown, "name"("b.cu":204:1), "c.cu":205:1])
  // expected-error@unknown {{requires operands #0 and #1 to have the same type}}
  %2 = "arith.addi"(%a, %l) : (i32, i64) -> i32 loc(callsite("name" at "d.cu":106:1))
  // expected-error@unknown {{requires operands #0 and #1 to have the same type}}
  %3 = "arith.addi"(%a, %l) : (i32, i64) -> i32 loc(unknown)
  func.return
}
#inner = loc("a.cu":103:4)
#outer = loc(callsite("b.cu":104:1 at "main"("c.cu":105:1)))
#chain = loc(callsite(#inner at #outer))

// -----

func.func @f() {
  // expected-error@+1 {{operation location alias was never defined}}
  gpu.barrier loc(#never)
  func.return
}

// -----

// expected-error@+1 {{undefined symbol alias id 'later'}}
#early = loc(callsite("x" at #later))
#later = loc("x":1:1)

// -----

// expected-error@+1 {{an alias of a location that is not defined yet}}
#early = loc(#later)
#later = loc("x":1:1)

// -----

#twice = loc("x":1:1)
// expected-error@+1 {{redefinition of symbol alias id}}
#twice = loc("x":2:1)

// -----

func.func @f() {
  // expected-error@+1 {{expected location instance}}
  gpu.barrier loc(garbage)
  // expected-error@+1 {{expected ':' in a location of a file}}
  gpu.barrier loc("x":1)
  // expected-error@+1 {{expected integer line number}}
  gpu.barrier loc("x":y:1)
  // expected-error@+1 {{integer value too large}}
  gpu.barrier loc("x":99999999999:1)
  // expected-error@+1 {{expected ')' in location}}
  gpu.barrier loc("x":1:2 more)
  // expected-error@+1 {{expected ')' after child location}}
  gpu.barrier loc("x"("y":1:2 more))
  // expected-error@+1 {{expected 'at'}}
  gpu.barrier loc(callsite("x":1:2))
  // expected-error@+1 {{expected '[' in fused location}}
  gpu.barrier loc(fused)
  // expected-error@+1 {{expected attribute value}}
  gpu.barrier loc(fused<>["x":1:2])
  func.return
}
