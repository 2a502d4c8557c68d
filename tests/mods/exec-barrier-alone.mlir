// Only one of two warps comes to the barrier.
// args: --block 64
// expect: (deadlock)
// expect: CTA 0, warp 0, 32 lanes from 0: waits here: named barrier 0 has 32 of 64 threads
gpu.module @m {
  gpu.func @k() kernel {
    %t = gpu.thread_id x
    %c32 = arith.constant 32 : index
    %first = arith.cmpi ult, %t, %c32 : index
    scf.if %first {
      gpu.barrier
    }
    gpu.return
  }
}
