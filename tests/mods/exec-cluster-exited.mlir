// Threads that have exited no longer count.
// args: --grid 2 --explore 20
// expect: 20 schedules, all well
gpu.module @m attributes {cutlass.cluster_shape = array<i32: 2, 1, 1>} {
  gpu.func @k() kernel {
    %r = nvvm.read.ptx.sreg.cluster.ctarank : i32
    %z = arith.constant 0 : i32
    %first = arith.cmpi eq, %r, %z : i32
    scf.if %first {
      nvvm.cluster.arrive
      nvvm.cluster.wait
    }
    gpu.return
  }
}
