// A wait without an arrival.
// args: --grid 2
// expect: waits for the cluster barrier without having arrived
gpu.module @m attributes {cutlass.cluster_shape = array<i32: 2, 1, 1>} {
  gpu.func @k() kernel {
    nvvm.cluster.wait
    gpu.return
  }
}
