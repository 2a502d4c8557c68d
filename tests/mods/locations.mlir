// RUN: opt --mlir-print-debuginfo --allow-unregistered-dialect
#file = loc("kernel.cu":12:5)
func.func @f(%a: i32 loc("a.mlir":1:1)) -> i32 {
  %0 = arith.addi %a, %a : i32 loc("gemm.cu":3:14)
  %1 = arith.addi %0, %a : i32 loc(#file)
  %2 = arith.addi %1, %a : i32 loc(unknown)
  %3 = arith.addi %2, %a : i32 loc(fused["x.c":1:2, "y.c":3:4])
  %4 = arith.addi %3, %a : i32 loc(callsite("inner" at #file))
  %5 = arith.addi %4, %a : i32 loc(#later)
  %6 = arith.addi %5, %a : i32 loc(#called)
  %7 = arith.addi %6, %a : i32 loc(#meta)
  %8 = arith.addi %7, %a {mark.at = loc(callsite(#file at #file)), mark.too = #file} : i32 loc("name"(#file))
  func.return %8 : i32 loc("end")
} loc(#file)
#later = loc("later.cu":99:1)
#called = loc(callsite("f"(#file) at #later))
#kind = #my.kind<7>
#meta = loc(fused<{k = #kind}>[unknown, #called])
