// RUN: valid
// Clusters have at most 16 CTAs, 8 to be portable.
gpu.module @m attributes {cutlass.cluster_shape = array<i32: 4, 2, 1>} {
}

// -----

gpu.module @m {
}
