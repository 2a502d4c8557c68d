// Division by zero.
// args: --block 1 --arg n=0
// expect: 'arith.divsi' op divides by zero
gpu.module @m {
  gpu.func @k(%n: i32) kernel {
    %v = arith.divsi %n, %n : i32
    gpu.return
  }
}
