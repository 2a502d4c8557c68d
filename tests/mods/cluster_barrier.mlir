// RUN: valid
// Whoever has arrived at the cluster barrier waits before it arrives again.
gpu.module @m attributes {cutlass.cluster_shape = array<i32: 2, 1, 1>} {
  gpu.func @k(%c: i1, %n: i32) kernel {
    nvvm.cluster.arrive
    scf.for %i = %n to %n step %n : i32 {
      nvvm.cluster.wait
      nvvm.cluster.arrive
    }
    nvvm.cluster.wait
    gpu.return
  }
}

// -----

gpu.module @m attributes {cutlass.cluster_shape = array<i32: 1, 1, 1>} {
  gpu.func @k(%c: i1, %n: i32) kernel {
    nvvm.cluster.arrive
    %pipe = cutlass.pipeline.init {stages = 2 : i32, producers = 32 : i32, consumers = 32 : i32, tx_bytes = 0 : i32} : !cutlass.pipeline<2>
    nvvm.cluster.wait
    gpu.return
  }
}

// -----

gpu.module @m attributes {cutlass.cluster_shape = array<i32: 2, 1, 1>} {
  gpu.func @k(%c: i1, %n: i32) kernel {
    scf.if %c {
      nvvm.cluster.arrive
    }
    scf.if %c {
      nvvm.cluster.wait
    }
    nvvm.cluster.arrive
    nvvm.cluster.wait
    cutlass.async.exec {warps = array<i32: 0, 2>} {
      nvvm.cluster.arrive
      cutlass.async.yield
    }
    cutlass.async.exec {warps = array<i32: 2, 4>} {
      nvvm.cluster.arrive
      cutlass.async.yield
    }
    nvvm.cluster.wait
    gpu.return
  }
}
