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

// -----

// Where nobody would read it.
// expected-error@+1 {{'builtin.module' op has 'cutlass.cluster_shape', which belongs to the 'gpu.module'}}
module attributes {cutlass.cluster_shape = array<i32: 2, 1, 1>} {
  gpu.module @m {
    // expected-error@+1 {{'gpu.func' op has 'cutlass.cluster_shape', which belongs to the 'gpu.module'}}
    gpu.func @k() kernel attributes {cutlass.cluster_shape = array<i32: 2, 1, 1>} {
      gpu.return
    }
    // expected-error@+1 {{'func.func' op has 'cutlass.cluster_shape', which belongs to the 'gpu.module'}}
    func.func @f() attributes {cutlass.cluster_shape = array<i32: 2, 1, 1>} {
      func.return
    }
    // expected-error@+1 {{'llvm.func' op has 'cutlass.cluster_shape', which belongs to the 'gpu.module'}}
    llvm.func @g() attributes {cutlass.cluster_shape = array<i32: 2, 1, 1>}
  }
}

// -----

gpu.module @m attributes {cutlass.cluster_shape = array<i32: 2, 1, 1>} {
  gpu.func @same() kernel attributes {nvvm.cluster_dim = array<i32: 2>} {
    gpu.return
  }
  // expected-error@+1 {{has another 'nvvm.cluster_dim' than its module's cluster shape, 2x1x1}}
  gpu.func @other() kernel attributes {nvvm.cluster_dim = array<i32: 4, 1, 1>} {
    gpu.return
  }
}
