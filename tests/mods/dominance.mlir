// RUN: valid
// Values are there where they are used.
func.func @f(%c: i1, %a: i32) -> i32 {
  cf.cond_br %c, ^left, ^right(%a : i32)
^left:
  %x = arith.addi %a, %a : i32
  cf.br ^right(%x : i32)
^right(%y: i32):
  %z = arith.addi %y, %a : i32
  cf.cond_br %c, ^right(%z : i32), ^out
^out:
  func.return %z : i32
}

// Blocks may stand in any order, as long as what they use comes before on all ways.
func.func @g(%a: i32) -> i32 {
  cf.br ^second
^third:
  func.return %x : i32
^second:
  %x = arith.addi %a, %a : i32
  cf.br ^third
}
