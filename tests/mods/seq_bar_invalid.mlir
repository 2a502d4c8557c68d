// RUN: invalid
gpu.module @m attributes {cutlass.cluster_shape = array<i32: 2, 1, 1>} {
  gpu.func @k(%p: !llvm.ptr, %n: i32, %cond: i1, %dyn: i64) kernel {
    // expected-error@+1 {{requires 'depth' to be at least 1}}
    %bar = cutlass.seq_bar.init {depth = 0 : i32, length = 3 : i32, group_size = 128 : i32} : !cutlass.seq_bar<2, 3>
    gpu.return
  }
}

// -----

gpu.module @m attributes {cutlass.cluster_shape = array<i32: 2, 1, 1>} {
  gpu.func @k(%p: !llvm.ptr, %n: i32, %cond: i1, %dyn: i64) kernel {
    // expected-error@+1 {{requires 'group_size' to be at least 1}}
    %bar = cutlass.seq_bar.init {depth = 2 : i32, length = 3 : i32, group_size = 0 : i32} : !cutlass.seq_bar<2, 3>
    gpu.return
  }
}

// -----

gpu.module @m attributes {cutlass.cluster_shape = array<i32: 2, 1, 1>} {
  gpu.func @k(%p: !llvm.ptr, %n: i32, %cond: i1, %dyn: i64) kernel {
    // expected-error@+1 {{has depth 2 and length 4, but its type says 2 and 3}}
    %bar = cutlass.seq_bar.init {depth = 2 : i32, length = 4 : i32, group_size = 128 : i32} : !cutlass.seq_bar<2, 3>
    gpu.return
  }
}

// -----

gpu.module @m attributes {cutlass.cluster_shape = array<i32: 2, 1, 1>} {
  gpu.func @k(%p: !llvm.ptr, %n: i32, %cond: i1, %dyn: i64) kernel {
    cutlass.async.exec {warps = array<i32: 0, 4>} {
      // expected-error@+1 {{must stand before the regions of warps}}
      %bar = cutlass.seq_bar.init {depth = 2 : i32, length = 3 : i32, group_size = 128 : i32} : !cutlass.seq_bar<2, 3>
      cutlass.async.yield
    }
    gpu.return
  }
}

// -----

gpu.module @m attributes {cutlass.cluster_shape = array<i32: 2, 1, 1>} {
  gpu.func @k(%p: !llvm.ptr, %n: i32, %cond: i1, %dyn: i64) kernel {
    %bar = cutlass.seq_bar.init {depth = 2 : i32, length = 3 : i32, group_size = 128 : i32} : !cutlass.seq_bar<2, 3>
    cutlass.async.exec {warps = array<i32: 0, 4>} {
      // expected-error@+1 {{has group 3, but the barrier's length is 3}}
      %s = cutlass.seq_bar.state %bar {group = 3 : i32} : !cutlass.seq_bar<2, 3> -> !cutlass.pipeline_state
      cutlass.async.yield
    }
    gpu.return
  }
}

// -----

gpu.module @m attributes {cutlass.cluster_shape = array<i32: 2, 1, 1>} {
  gpu.func @k(%p: !llvm.ptr, %n: i32, %cond: i1, %dyn: i64) kernel {
    %bar = cutlass.seq_bar.init {depth = 2 : i32, length = 3 : i32, group_size = 128 : i32} : !cutlass.seq_bar<2, 3>
    cutlass.async.exec {warps = array<i32: 0, 4>} {
      %s = cutlass.seq_bar.state %bar {group = 0 : i32} : !cutlass.seq_bar<2, 3> -> !cutlass.pipeline_state
      // expected-error@+1 {{has group 1, but its state is of group 0}}
      cutlass.seq_bar.wait %bar, %s {group = 1 : i32} : !cutlass.seq_bar<2, 3>, !cutlass.pipeline_state
      cutlass.async.yield
    }
    gpu.return
  }
}

// -----

gpu.module @m attributes {cutlass.cluster_shape = array<i32: 2, 1, 1>} {
  gpu.func @k(%p: !llvm.ptr, %n: i32, %cond: i1, %dyn: i64) kernel {
    %bar = cutlass.seq_bar.init {depth = 2 : i32, length = 3 : i32, group_size = 128 : i32} : !cutlass.seq_bar<2, 3>
    %other = cutlass.seq_bar.init {depth = 2 : i32, length = 3 : i32, group_size = 128 : i32} : !cutlass.seq_bar<2, 3>
    cutlass.async.exec {warps = array<i32: 0, 4>} {
      %s = cutlass.seq_bar.state %bar {group = 0 : i32} : !cutlass.seq_bar<2, 3> -> !cutlass.pipeline_state
      // expected-error@+1 {{takes a state of another barrier}}
      cutlass.seq_bar.arrive %other, %s {group = 0 : i32} : !cutlass.seq_bar<2, 3>, !cutlass.pipeline_state
      cutlass.async.yield
    }
    gpu.return
  }
}

// -----

gpu.module @m attributes {cutlass.cluster_shape = array<i32: 2, 1, 1>} {
  gpu.func @k(%p: !llvm.ptr, %n: i32, %cond: i1, %dyn: i64) kernel {
    %pipe = cutlass.pipeline.init {stages = 4 : i32, producers = 1 : i32, consumers = 128 : i32, tx_bytes = 0 : i32} : !cutlass.pipeline<4>
    %bar = cutlass.seq_bar.init {depth = 2 : i32, length = 3 : i32, group_size = 128 : i32} : !cutlass.seq_bar<2, 3>
    cutlass.async.exec {warps = array<i32: 0, 4>} {
      %s = cutlass.seq_bar.state %bar {group = 0 : i32} : !cutlass.seq_bar<2, 3> -> !cutlass.pipeline_state
      // expected-error@+1 {{takes a state of another pipeline}}
      cutlass.pipeline.consumer_wait %pipe, %s : !cutlass.pipeline<4>, !cutlass.pipeline_state
      cutlass.async.yield
    }
    gpu.return
  }
}

// -----

gpu.module @m attributes {cutlass.cluster_shape = array<i32: 2, 1, 1>} {
  gpu.func @k(%p: !llvm.ptr, %n: i32, %cond: i1, %dyn: i64) kernel  {
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %four = arith.constant 4 : i32
    %mask = arith.constant 3 : i64
    %sched = cutlass.tile_scheduler.static_persistent %one, %one, %one : i32, i32, i32 -> !cutlass.tile_scheduler<static_persistent>

// expected-note@+1 {{the region is here}}
cutlass.async.exec {warps = array<i32: 0, 4>} {
cutlass.tile_scheduler.mods_report_mainloop_start %sched, %mask {is_2cta_mma = false} : !cutlass.tile_scheduler<static_persistent>, i64
cutlass.tile_scheduler.mods_report_mainloop_end %sched, %mask {is_2cta_mma = false} : !cutlass.tile_scheduler<static_persistent>, i64 -> ()

cutlass.async.yield
}
// expected-error@+1 {{must stand before the regions of warps}}
%q = cutlass.seq_bar.init {depth = 1 : i32, group_size = 32 : i32, length = 2 : i32} : !cutlass.seq_bar<1, 2>

    gpu.return
  }
}
