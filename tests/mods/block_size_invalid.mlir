// RUN: invalid
// What a kernel says of its block is what its regions and barriers have.
gpu.module @m {
  // expected-error@+1 {{requires 'known_block_size' to be array<i32: x, y, z>}}
  gpu.func @a() kernel attributes {known_block_size = 32 : i32} {
    gpu.return
  }
}

// -----

gpu.module @m {
  // expected-error@+1 {{requires 'nvvm.maxntid' to be array<i32: x, y, z>}}
  gpu.func @b() kernel attributes {nvvm.maxntid = array<i64: 32>} {
    gpu.return
  }
  // expected-error@+1 {{has no block of 1 to 1024 threads in 'nvvm.reqntid'}}
  gpu.func @c() kernel attributes {nvvm.reqntid = array<i32: 64, 32>} {
    gpu.return
  }
  // expected-error@+1 {{has no block of 1 to 1024 threads in 'gpu.known_block_size'}}
  gpu.func @d() kernel attributes {gpu.known_block_size = array<i32: 64, 0, 1>} {
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @k() kernel attributes {known_block_size = array<i32: 160, 1, 1>} {
    cutlass.async.exec {warps = array<i32: 0, 1>} {
      cutlass.async.yield
    }
    // expected-error@+1 {{counts on 192 threads, but 'known_block_size' says that a CTA has only 160 threads}}
    cutlass.async.exec {warps = array<i32: 1, 6>} {
      cutlass.async.yield
    }
    gpu.return
  }
  gpu.func @half() kernel attributes {nvvm.maxntid = array<i32: 48>} {
    // expected-error@+1 {{counts on 64 threads, but 'nvvm.maxntid' says that a CTA has at most 48 threads}}
    cutlass.async.exec {warps = array<i32: 0, 2>} {
      cutlass.async.yield
    }
    gpu.return
  }
  gpu.func @deep() kernel attributes {known_block_size = array<i32: 32, 4, 1>} {
    // expected-error@+1 {{needs a block that is flat in y and z: its warps are those of tid.x}}
    cutlass.async.exec {warps = array<i32: 0, 1>} {
      cutlass.async.yield
    }
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @p() kernel attributes {nvvm.reqntid = array<i32: 64>} {
    // expected-error@+1 {{counts on 128 producers, but 'nvvm.reqntid' says that a CTA has only 64 threads}}
    %p = cutlass.pipeline.init {stages = 2 : i32, producers = 128 : i32, consumers = 32 : i32, tx_bytes = 0 : i32} : !cutlass.pipeline<2>
    gpu.return
  }
  gpu.func @c() kernel attributes {known_block_size = array<i32: 64, 1, 1>} {
    // expected-error@+1 {{counts on 65 consumers, but}}
    %p = cutlass.pipeline.init {stages = 2 : i32, producers = 1 : i32, consumers = 65 : i32, tx_bytes = 0 : i32} : !cutlass.pipeline<2>
    gpu.return
  }
  gpu.func @s() kernel attributes {known_block_size = array<i32: 64, 1, 1>} {
    // expected-error@+1 {{counts on 128 threads of a group, but}}
    %s = cutlass.seq_bar.init {depth = 2 : i32, length = 2 : i32, group_size = 128 : i32} : !cutlass.seq_bar<2, 2>
    gpu.return
  }
  gpu.func @b() kernel attributes {known_block_size = array<i32: 32, 2, 1>} {
    %id = arith.constant 9 : i32
    %n = arith.constant 96 : i32
    // expected-error@+1 {{counts on 96 threads, but 'known_block_size' says that a CTA has only 64 threads}}
    "nvvm.barrier"(%id, %n) <{operandSegmentSizes = array<i32: 1, 1>}> : (i32, i32) -> ()
    gpu.return
  }
}
llvm.func @lowered() attributes {nvvm.reqntid = array<i32: 64>} {
  %id = llvm.mlir.constant(9 : i32) : i32
  %n = llvm.mlir.constant(96 : i32) : i32
  // expected-error@+1 {{counts on 96 threads, but 'nvvm.reqntid' says that a CTA has only 64 threads}}
  "nvvm.barrier"(%id, %n) <{operandSegmentSizes = array<i32: 1, 1>}> : (i32, i32) -> ()
  llvm.return
}
