// The phase rule of the cluster barrier.
// args: --grid 2
// expect: 'nvvm.cluster.arrive' op arrives at the cluster barrier twice without a wait between
gpu.module @m attributes {cutlass.cluster_shape = array<i32: 2, 1, 1>} {
  gpu.func @k() kernel {
    nvvm.cluster.arrive
    nvvm.cluster.arrive
    nvvm.cluster.wait
    gpu.return
  }
}
