// RUN: invalid
gpu.module @m attributes {cutlass.cluster_shape = array<i32: 2, 1, 1>} {
  gpu.func @k(%p: !llvm.ptr, %n: i32, %cond: i1, %dyn: i64) kernel {
    cutlass.async.exec {warps = array<i32: 0, 2>} {
      gpu.barrier
      cutlass.async.yield
    }
    // expected-error@+1 {{takes warp 1, which another region has}}
    cutlass.async.exec {warps = array<i32: 1, 8>} {
      gpu.barrier
      cutlass.async.yield
    }
    gpu.return
  }
}

// -----

gpu.module @m attributes {cutlass.cluster_shape = array<i32: 2, 1, 1>} {
  gpu.func @k(%p: !llvm.ptr, %n: i32, %cond: i1, %dyn: i64) kernel {
    cutlass.async.exec {warps = array<i32: 0, 4>} {
      // expected-error@+1 {{must not be nested in another one}}
      cutlass.async.exec {warps = array<i32: 1, 2>} {
        gpu.barrier
        cutlass.async.yield
      }
      cutlass.async.yield
    }
    gpu.return
  }
}

// -----

gpu.module @m attributes {cutlass.cluster_shape = array<i32: 2, 1, 1>} {
  gpu.func @k(%p: !llvm.ptr, %n: i32, %cond: i1, %dyn: i64) kernel {
    // expected-error@+1 {{has a range of warps [4, 4) that is empty}}
    cutlass.async.exec {warps = array<i32: 4, 4>} {
      gpu.barrier
      cutlass.async.yield
    }
    gpu.return
  }
}

// -----

gpu.module @m attributes {cutlass.cluster_shape = array<i32: 2, 1, 1>} {
  gpu.func @k(%p: !llvm.ptr, %n: i32, %cond: i1, %dyn: i64) kernel {
    // expected-error@+1 {{not in [0, 32)}}
    cutlass.async.exec {warps = array<i32: 0, 33>} {
      gpu.barrier
      cutlass.async.yield
    }
    gpu.return
  }
}

// -----

gpu.module @m attributes {cutlass.cluster_shape = array<i32: 2, 1, 1>} {
  gpu.func @k(%p: !llvm.ptr, %n: i32, %cond: i1, %dyn: i64) kernel {
    // expected-error@+1 {{requires 'warps' to be array<i32: first, end>}}
    cutlass.async.exec {warps = array<i32: 1>} {
      cutlass.async.yield
    }
    gpu.return
  }
}

// -----

gpu.module @m attributes {cutlass.cluster_shape = array<i32: 2, 1, 1>} {
  gpu.func @k(%p: !llvm.ptr, %n: i32, %cond: i1, %dyn: i64) kernel {
    cutlass.async.exec {warps = array<i32: 31, 32>} {
      cutlass.async.yield
    }
    // expected-error@+1 {{takes warp 31, which another region has}}
    cutlass.async.exec {
      cutlass.async.yield
    }
    gpu.return
  }
}

// -----

gpu.module @m attributes {cutlass.cluster_shape = array<i32: 2, 1, 1>} {
  gpu.func @k(%p: !llvm.ptr, %n: i32, %cond: i1, %dyn: i64) kernel {
    // expected-error@+1 {{region #0 must not be empty}}
    cutlass.async.exec {warps = array<i32: 0, 1>} {
    }
    gpu.return
  }
}

// -----

gpu.module @m attributes {cutlass.cluster_shape = array<i32: 2, 1, 1>} {
  gpu.func @k(%p: !llvm.ptr, %n: i32, %cond: i1, %dyn: i64) kernel {
    cutlass.async.exec {warps = array<i32: 0, 1>} {
      // expected-error@+1 {{block with no terminator, has 'gpu.barrier'}}
      gpu.barrier
    }
    gpu.return
  }
}

// -----

func.func @f() {
// expected-error@+1 {{must be in a 'gpu.func'}}
cutlass.async.exec {warps = array<i32: 0, 4>} {
  gpu.barrier
  cutlass.async.yield
}
func.return
}

// -----

func.func @f() {
  // expected-error@+1 {{expects parent op 'cutlass.async.exec'}}
  cutlass.async.yield
}

// -----

gpu.module @m {
  gpu.func @k() kernel {
    // expected-error@+1 {{requires 'warps' to be array<i32: first, end>}}
    cutlass.async.exec {warps = array<i64: 0, 1>} {
      cutlass.async.yield
    }
    // expected-error@+1 {{requires 'warps' to be array<i32: first, end>}}
    cutlass.async.exec {warps = array<i8: 1, 2>} {
      cutlass.async.yield
    }
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @one_operation() kernel {
    // expected-error@+1 {{block with no terminator, has 'gpu.barrier'}}
    cutlass.async.exec { gpu.barrier }
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @empty() kernel {
    // expected-error@+1 {{region #0 must not be empty}}
    cutlass.async.exec {}
    gpu.return
  }
}
