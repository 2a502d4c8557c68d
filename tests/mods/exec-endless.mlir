// A loop that never ends.
// args: --block 1 --steps 10000
// expect: and isn't over: it may never be
// expect: runs here
gpu.module @m {
  gpu.func @k() kernel {
    %z = arith.constant 0 : i32
    %p = scf.while (%x = %z) : (i32) -> (i32) {
      %forever = arith.cmpi eq, %x, %z : i32
      scf.condition(%forever) %x : i32
    } do {
    ^bb0(%x: i32):
      scf.yield %x : i32
    }
    gpu.return
  }
}
