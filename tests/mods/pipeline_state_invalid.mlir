// RUN: invalid
gpu.module @m attributes {cutlass.cluster_shape = array<i32: 2, 1, 1>} {
  gpu.func @k(%p: !llvm.ptr, %n: i32, %cond: i1, %dyn: i64) kernel {
    %pipe = cutlass.pipeline.init {stages = 4 : i32, producers = 1 : i32, consumers = 128 : i32, tx_bytes = 0 : i32} : !cutlass.pipeline<4>
    %other = cutlass.pipeline.init {stages = 4 : i32, producers = 1 : i32, consumers = 128 : i32, tx_bytes = 0 : i32} : !cutlass.pipeline<4>
    %s = cutlass.pipeline.state.create %pipe {role = "producer"} : !cutlass.pipeline<4> -> !cutlass.pipeline_state
    // expected-error@+1 {{takes a state of another pipeline}}
    %t = cutlass.pipeline.state.increment %other, %s : !cutlass.pipeline<4>, !cutlass.pipeline_state -> !cutlass.pipeline_state
    gpu.return
  }
}

// -----

gpu.module @m attributes {cutlass.cluster_shape = array<i32: 2, 1, 1>} {
  gpu.func @k(%p: !llvm.ptr, %n: i32, %cond: i1, %dyn: i64) kernel {
    %pipe = cutlass.pipeline.init {stages = 4 : i32, producers = 1 : i32, consumers = 128 : i32, tx_bytes = 0 : i32} : !cutlass.pipeline<4>
    // expected-error@+1 {{requires 'role' to be "producer" or "consumer", not "boss"}}
    %s = cutlass.pipeline.state.create %pipe {role = "boss"} : !cutlass.pipeline<4> -> !cutlass.pipeline_state
    gpu.return
  }
}

// -----

gpu.module @m attributes {cutlass.cluster_shape = array<i32: 2, 1, 1>} {
  gpu.func @k(%p: !llvm.ptr, %n: i32, %cond: i1, %dyn: i64) kernel {
    %pipe = cutlass.pipeline.init {stages = 4 : i32, producers = 1 : i32, consumers = 128 : i32, tx_bytes = 0 : i32} : !cutlass.pipeline<4>
    %other = cutlass.pipeline.init {stages = 4 : i32, producers = 1 : i32, consumers = 128 : i32, tx_bytes = 0 : i32} : !cutlass.pipeline<4>
    %lo = arith.constant 0 : index
    %hi = arith.constant 8 : index
    %st = arith.constant 1 : index
    // expected-note@+1 {{that one comes from here}}
    %s = cutlass.pipeline.state.create %pipe {role = "producer"} : !cutlass.pipeline<4> -> !cutlass.pipeline_state
    // expected-note@+1 {{this one comes from here}}
    %o = cutlass.pipeline.state.create %other {role = "producer"} : !cutlass.pipeline<4> -> !cutlass.pipeline_state
    %end = scf.for %i = %lo to %hi step %st iter_args(%a = %s) -> (!cutlass.pipeline_state) {
      %b = cutlass.pipeline.state.increment %other, %o : !cutlass.pipeline<4>, !cutlass.pipeline_state -> !cutlass.pipeline_state
      // expected-error@+1 {{hands on value #0 that comes from another place}}
      scf.yield %b : !cutlass.pipeline_state
    }
    gpu.return
  }
}

// -----

gpu.module @m attributes {cutlass.cluster_shape = array<i32: 2, 1, 1>} {
  gpu.func @k(%p: !llvm.ptr, %n: i32, %cond: i1, %dyn: i64) kernel {
    %pipe = cutlass.pipeline.init {stages = 4 : i32, producers = 1 : i32, consumers = 128 : i32, tx_bytes = 0 : i32} : !cutlass.pipeline<4>
    // expected-error@+1 {{operand #1 must be !cutlass.pipeline_state, but got 'i32'}}
    %t = "cutlass.pipeline.state.increment"(%pipe, %n) : (!cutlass.pipeline<4>, i32) -> !cutlass.pipeline_state
    gpu.return
  }
}

// -----

gpu.module @m attributes {cutlass.cluster_shape = array<i32: 2, 1, 1>} {
  gpu.func @k(%p: !llvm.ptr, %n: i32, %cond: i1, %dyn: i64) kernel {
    %pipe = cutlass.pipeline.init {stages = 4 : i32, producers = 1 : i32, consumers = 128 : i32, tx_bytes = 0 : i32} : !cutlass.pipeline<4>
    %s = cutlass.pipeline.state.create %pipe {role = "producer"} : !cutlass.pipeline<4> -> !cutlass.pipeline_state
    // expected-error@+1 {{result #0 must be 32-bit signless integer, but got 'i64'}}
    %t = cutlass.pipeline.state.index %s : !cutlass.pipeline_state -> i64
    gpu.return
  }
}

// -----

gpu.module @m attributes {cutlass.cluster_shape = array<i32: 2, 1, 1>} {
  gpu.func @k(%c: i1) kernel {
    %p = cutlass.pipeline.init {consumers = 32 : i32, producers = 32 : i32, stages = 2 : i32, tx_bytes = 0 : i32} : !cutlass.pipeline<2>
    cutlass.async.exec {warps = array<i32: 0, 1>} {
      // expected-note@+1 {{it comes from here}}
      %a = cutlass.pipeline.state.create %p {role = "producer"} : !cutlass.pipeline<2> -> !cutlass.pipeline_state
      %t = arith.select %c, %a, %a : !cutlass.pipeline_state
      // expected-error@+1 {{is a consumer's operation, but takes a producer's state}}
      cutlass.pipeline.consumer_wait %p, %t : !cutlass.pipeline<2>, !cutlass.pipeline_state
      cutlass.async.yield
    }
    gpu.return
  }
}

// -----

// Through branches.
gpu.module @m {
  gpu.func @k(%c: i1) kernel {
    %p = cutlass.pipeline.init {consumers = 32 : i32, producers = 32 : i32, stages = 2 : i32, tx_bytes = 0 : i32} : !cutlass.pipeline<2>
    // expected-note@+1 {{it comes from here}}
    %a = cutlass.pipeline.state.create %p {role = "producer"} : !cutlass.pipeline<2> -> !cutlass.pipeline_state
    cf.br ^bb1(%a : !cutlass.pipeline_state)
  ^bb1(%s: !cutlass.pipeline_state):
    cutlass.async.exec {warps = array<i32: 0, 1>} {
      // expected-error@+1 {{is a consumer's operation, but takes a producer's state}}
      cutlass.pipeline.consumer_wait %p, %s : !cutlass.pipeline<2>, !cutlass.pipeline_state
      cutlass.async.yield
    }
    gpu.return
  }
}

// -----

// The block that is branched to stands before the branch.
gpu.module @m {
  gpu.func @k(%c: i1) kernel {
    %p = cutlass.pipeline.init {consumers = 32 : i32, producers = 32 : i32, stages = 2 : i32, tx_bytes = 0 : i32} : !cutlass.pipeline<2>
    // expected-note@+1 {{it comes from here}}
    %a = cutlass.pipeline.state.create %p {role = "producer"} : !cutlass.pipeline<2> -> !cutlass.pipeline_state
    cf.br ^bb2
  ^bb1(%s: !cutlass.pipeline_state):
    cutlass.async.exec {warps = array<i32: 0, 1>} {
      // expected-error@+1 {{is a consumer's operation, but takes a producer's state}}
      cutlass.pipeline.consumer_wait %p, %s : !cutlass.pipeline<2>, !cutlass.pipeline_state
      cutlass.async.yield
    }
    gpu.return
  ^bb2:
    %i = cutlass.pipeline.state.increment %p, %a : !cutlass.pipeline<2>, !cutlass.pipeline_state -> !cutlass.pipeline_state
    cf.cond_br %c, ^bb1(%i : !cutlass.pipeline_state), ^bb1(%a : !cutlass.pipeline_state)
  }
}

// -----

gpu.module @m {
  gpu.func @k(%c: i1) kernel {
    %p = cutlass.pipeline.init {consumers = 32 : i32, producers = 32 : i32, stages = 2 : i32, tx_bytes = 0 : i32} : !cutlass.pipeline<2>
    // expected-note@+1 {{that one comes from here}}
    %a = cutlass.pipeline.state.create %p {role = "producer"} : !cutlass.pipeline<2> -> !cutlass.pipeline_state
    // expected-note@+1 {{this one comes from here}}
    %b = cutlass.pipeline.state.create %p {role = "consumer"} : !cutlass.pipeline<2> -> !cutlass.pipeline_state
    // expected-error@+1 {{gives successor #1 a state of another pipeline or role than other branches give it}}
    cf.cond_br %c, ^bb1(%a : !cutlass.pipeline_state), ^bb1(%b : !cutlass.pipeline_state)
  ^bb1(%s: !cutlass.pipeline_state):
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @k(%c: i1) kernel {
    %p = cutlass.pipeline.init {consumers = 32 : i32, producers = 32 : i32, stages = 2 : i32, tx_bytes = 0 : i32} : !cutlass.pipeline<2>
    // expected-note@+1 {{this one comes from here}}
    %a = cutlass.pipeline.state.create %p {role = "producer"} : !cutlass.pipeline<2> -> !cutlass.pipeline_state
    // expected-note@+1 {{that one comes from here}}
    %b = cutlass.pipeline.state.create %p {role = "consumer"} : !cutlass.pipeline<2> -> !cutlass.pipeline_state
    // expected-error@+1 {{chooses between states of different pipelines or roles}}
    %t = arith.select %c, %b, %a : !cutlass.pipeline_state
    gpu.return
  }
}
