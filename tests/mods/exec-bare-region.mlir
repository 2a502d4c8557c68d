// A region without `warps` has all warps of its block: each of 96 threads counts itself.
// args: --block 96 --grid 2 --explore 20 --print n
// expect: 20 schedules, all well
// expect: 192
gpu.module @m {
  gpu.func @k(%n: !llvm.ptr) kernel attributes {tidemark.args = ["n = i32[1x1] zero"]} {
    cutlass.async.exec {
      %one = arith.constant 1 : i32
      %old = llvm.atomicrmw add %n, %one monotonic : !llvm.ptr, i32
      cutlass.async.yield
    }
    gpu.return
  }
}
