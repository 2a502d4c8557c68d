// RUN: invalid
// expected-error@+1 {{requires 'cutlass.cluster_shape' to be array<i32: x, y, z>}}
gpu.module @m attributes {cutlass.cluster_shape = array<i32: 4, 2>} {
}

// -----

// expected-error@+1 {{requires 'cutlass.cluster_shape' to be array<i32: x, y, z>}}
gpu.module @m attributes {cutlass.cluster_shape = 4 : i32} {
}

// -----

// expected-error@+1 {{has a cluster shape with a size of 0}}
gpu.module @m attributes {cutlass.cluster_shape = array<i32: 4, 0, 1>} {
}

// -----

// expected-error@+1 {{has a cluster of more than 16 CTAs}}
gpu.module @m attributes {cutlass.cluster_shape = array<i32: 8, 4, 1>} {
}

// -----

// expected-warning@+1 {{has a cluster of 16 CTAs; more than 8 is not portable}}
gpu.module @m attributes {cutlass.cluster_shape = array<i32: 8, 2, 1>} {
}
