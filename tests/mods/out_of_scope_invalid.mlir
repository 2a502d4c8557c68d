// RUN: invalid
gpu.module @m attributes {cutlass.cluster_shape = array<i32: 2, 1, 1>} {
  gpu.func @k(%p: !llvm.ptr, %n: i32, %cond: i1, %dyn: i64) kernel {
    // expected-error@+1 {{'cutlass.block_striped.load' is of the block_striped family, which is out of scope here}}
    cutlass.block_striped.load %p : !llvm.ptr
    gpu.return
  }
}

// -----

gpu.module @m attributes {cutlass.cluster_shape = array<i32: 2, 1, 1>} {
  gpu.func @k(%p: !llvm.ptr, %n: i32, %cond: i1, %dyn: i64) kernel {
    // expected-error@+1 {{'cutlass.named_barrier.sync' is of the named_barrier family, which is out of scope here}}
    "cutlass.named_barrier.sync"() : () -> ()
    gpu.return
  }
}

// -----

gpu.module @m attributes {cutlass.cluster_shape = array<i32: 2, 1, 1>} {
  gpu.func @k(%p: !llvm.ptr, %n: i32, %cond: i1, %dyn: i64) kernel {
    // expected-error@+1 {{is of the generic_barrier family, which is out of scope here}}
    "cutlass.generic_barrier.arrive"() : () -> ()
    gpu.return
  }
}

// -----

gpu.module @m attributes {cutlass.cluster_shape = array<i32: 2, 1, 1>} {
  gpu.func @k(%p: !llvm.ptr, %n: i32, %cond: i1, %dyn: i64) kernel {
    // expected-error@+1 {{'cutlass.pipeline.get_producer_barrier' is a pipeline operation outside of the subset}}
    "cutlass.pipeline.get_producer_barrier"() : () -> ()
    gpu.return
  }
}

// -----

gpu.module @m attributes {cutlass.cluster_shape = array<i32: 2, 1, 1>} {
  gpu.func @k(%p: !llvm.ptr, %n: i32, %cond: i1, %dyn: i64) kernel {
    // expected-error@+1 {{is a seq_bar operation outside of the subset}}
    "cutlass.seq_bar.advance"() : () -> ()
    gpu.return
  }
}

// -----

gpu.module @m attributes {cutlass.cluster_shape = array<i32: 2, 1, 1>} {
  gpu.func @k(%p: !llvm.ptr, %n: i32, %cond: i1, %dyn: i64) kernel {
    // expected-error@+1 {{'cutlass.tile_scheduler.mods_query' is not one of the MODS operations}}
    "cutlass.tile_scheduler.mods_query"() : () -> ()
    gpu.return
  }
}

// -----

gpu.module @m attributes {cutlass.cluster_shape = array<i32: 2, 1, 1>} {
  gpu.func @k(%p: !llvm.ptr, %n: i32, %cond: i1, %dyn: i64) kernel {
    // expected-error@+1 {{is a tile_scheduler operation outside of the subset}}
    "cutlass.tile_scheduler.fixup"() : () -> ()
    gpu.return
  }
}

// -----

gpu.module @m attributes {cutlass.cluster_shape = array<i32: 2, 1, 1>} {
  gpu.func @k(%p: !llvm.ptr, %n: i32, %cond: i1, %dyn: i64) kernel {
    // expected-error@+1 {{is unknown in dialect 'cutlass'}}
    "cutlass.copy"() : () -> ()
    gpu.return
  }
}

// -----

gpu.module @m attributes {cutlass.cluster_shape = array<i32: 2, 1, 1>} {
  gpu.func @k(%p: !llvm.ptr, %n: i32, %cond: i1, %dyn: i64) kernel {
    // expected-error@+1 {{is unknown in dialect 'nv_tileas'}}
    "nv_tileas.copy"() : () -> ()
    gpu.return
  }
}

// -----

gpu.module @m attributes {cutlass.cluster_shape = array<i32: 2, 1, 1>} {
  gpu.func @k(%p: !llvm.ptr, %n: i32, %cond: i1, %dyn: i64) kernel {
    // expected-error@+1 {{'vector.fma' is not an operation of the supported subset}}
    %0 = vector.fma %n, %n, %n : i32
    gpu.return
  }
}

// -----

gpu.module @m attributes {cutlass.cluster_shape = array<i32: 2, 1, 1>} {
  gpu.func @k(%p: !llvm.ptr, %n: i32, %cond: i1, %dyn: i64) kernel {
    // expected-error@+1 {{'llvm.inline_asm' is read in its generic form only}}
    llvm.inline_asm
    gpu.return
  }
}

// -----

func.func @f() {
  // expected-error@+1 {{unknown type '!cutlass.copy' in dialect 'cutlass'}}
  %0 = "arith.constant"() : () -> !cutlass.copy
  func.return
}
