// RUN: opt
// Names stay as they are written; numbers are given anew.
func.func @f(%x: i32, %7: i32, %y-z.w$: i32) -> i32 {
  %42 = arith.addi %x, %7 : i32
  %sum = arith.addi %42, %y-z.w$ : i32
  %c = arith.constant true
  %9:2 = "scf.if"(%c) ({
    %3 = arith.addi %sum, %42 : i32
    "scf.yield"(%3, %sum) : (i32, i32) -> ()
  }, {
    %3 = arith.subi %sum, %42 : i32
    "scf.yield"(%3, %sum) : (i32, i32) -> ()
  }) : (i1) -> (i32, i32)
  func.return %9#1 : i32
}
