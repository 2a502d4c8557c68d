// The phase rule of the cluster barrier, broken in a branch: so only a run sees it.
// args: --grid 2
// expect: 'nvvm.cluster.arrive' op arrives at the cluster barrier twice without a wait between
gpu.module @m attributes {cutlass.cluster_shape = array<i32: 2, 1, 1>} {
  gpu.func @k(%c: i1) kernel attributes {tidemark.args = ["c = 1"]} {
    scf.if %c {
      nvvm.cluster.arrive
    }
    nvvm.cluster.arrive
    nvvm.cluster.wait
    gpu.return
  }
}
