// A call, and branches between blocks.
// args: --block 1 --print out --arg n=5
// expect: 120
gpu.module @m {
  func.func @factorial(%n: i32) -> i32 {
    %one = arith.constant 1 : i32
    %two = arith.constant 2 : i32
    %end = arith.addi %n, %one : i32
    %r = scf.for %i = %two to %end step %one iter_args(%p = %one) -> (i32) : i32 {
      %q = arith.muli %p, %i : i32
      scf.yield %q : i32
    }
    func.return %r : i32
  }
  gpu.func @k(%out: !llvm.ptr, %n: i32) kernel attributes {tidemark.args = ["out = i32[1] zero"]} {
    %v = func.call @factorial(%n) : (i32) -> i32
    llvm.store %v, %out : i32, !llvm.ptr
    gpu.return
  }
}
