// RUN: lower-fails
// SAYS: first block
gpu.module @m attributes {cutlass.cluster_shape = array<i32: 1, 1, 1>} {
  gpu.func @k(%c: i1) kernel {
    cf.br ^a
  ^a:
    %pipe = cutlass.pipeline.init {stages = 2 : i32, producers = 32 : i32, consumers = 128 : i32, tx_bytes = 0 : i32} : !cutlass.pipeline<2>
    gpu.return
  }
}
