// One CTA waits for the other, where one lane hangs at another barrier.
// args: --grid 2 --block 32
// expect: (deadlock)
// expect: CTA 0, warp 0, 32 lanes from 0: waits here: the cluster barrier has 63 of 64 threads
// expect: CTA 1, warp 0, 1 lanes from 0: waits here: named barrier 0 has 1 of 32 threads
gpu.module @m attributes {cutlass.cluster_shape = array<i32: 2, 1, 1>} {
  gpu.func @k() kernel {
    %r = nvvm.read.ptx.sreg.cluster.ctarank : i32
    %z = arith.constant 0 : i32
    %first = arith.cmpi eq, %r, %z : i32
    scf.if %first {
      nvvm.cluster.arrive
      nvvm.cluster.wait
    } else {
      %l = gpu.lane_id
      %c0 = arith.constant 0 : index
      %lane0 = arith.cmpi eq, %l, %c0 : index
      scf.if %lane0 {
        gpu.barrier
      } else {
        nvvm.cluster.arrive
        nvvm.cluster.wait
      }
    }
    gpu.return
  }
}
