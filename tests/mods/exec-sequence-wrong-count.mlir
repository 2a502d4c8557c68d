// More threads take a turn than the group has.
// args:
// expect: arrives at the next group's barrier, which has all its arrivals
gpu.module @m {
  gpu.func @k(%out: !llvm.ptr, %count: !llvm.ptr) kernel attributes {tidemark.args = ["out = i32[1x6] zero", "count = i32[1] zero"]} {
    %bar = cutlass.seq_bar.init {depth = 1 : i32, length = 2 : i32, group_size = 16 : i32} : !cutlass.seq_bar<1, 2>
    cutlass.async.exec {warps = array<i32: 0, 1>} {
      %s0 = cutlass.seq_bar.state %bar {group = 0 : i32} : !cutlass.seq_bar<1, 2> -> !cutlass.pipeline_state
      %z = arith.constant 0 : i32
      %one = arith.constant 1 : i32
      %n = arith.constant 3 : i32
      %me = arith.constant 0 : i32
      %end = scf.for %i = %z to %n step %one iter_args(%s = %s0) -> (!cutlass.pipeline_state) : i32 {
        cutlass.seq_bar.wait %bar, %s {group = 0 : i32} : !cutlass.seq_bar<1, 2>, !cutlass.pipeline_state
        %l = gpu.lane_id
        %c0 = arith.constant 0 : index
        %lead = arith.cmpi eq, %l, %c0 : index
        scf.if %lead {
          %next = llvm.load %count : !llvm.ptr -> i32
          %at = llvm.getelementptr %out[%next] : (!llvm.ptr, i32) -> !llvm.ptr, i32
          llvm.store %me, %at : i32, !llvm.ptr
          %more = arith.addi %next, %one : i32
          llvm.store %more, %count : i32, !llvm.ptr
        }
        cutlass.seq_bar.arrive %bar, %s {group = 0 : i32} : !cutlass.seq_bar<1, 2>, !cutlass.pipeline_state
        %t = cutlass.pipeline.state.increment %bar, %s : !cutlass.seq_bar<1, 2>, !cutlass.pipeline_state -> !cutlass.pipeline_state
        scf.yield %t : !cutlass.pipeline_state
      }
      cutlass.async.yield
    }
    cutlass.async.exec {warps = array<i32: 1, 2>} {
      %s0 = cutlass.seq_bar.state %bar {group = 1 : i32} : !cutlass.seq_bar<1, 2> -> !cutlass.pipeline_state
      %z = arith.constant 0 : i32
      %one = arith.constant 1 : i32
      %n = arith.constant 3 : i32
      %me = arith.constant 1 : i32
      %end = scf.for %i = %z to %n step %one iter_args(%s = %s0) -> (!cutlass.pipeline_state) : i32 {
        cutlass.seq_bar.wait %bar, %s {group = 1 : i32} : !cutlass.seq_bar<1, 2>, !cutlass.pipeline_state
        %l = gpu.lane_id
        %c0 = arith.constant 0 : index
        %lead = arith.cmpi eq, %l, %c0 : index
        scf.if %lead {
          %next = llvm.load %count : !llvm.ptr -> i32
          %at = llvm.getelementptr %out[%next] : (!llvm.ptr, i32) -> !llvm.ptr, i32
          llvm.store %me, %at : i32, !llvm.ptr
          %more = arith.addi %next, %one : i32
          llvm.store %more, %count : i32, !llvm.ptr
        }
        cutlass.seq_bar.arrive %bar, %s {group = 1 : i32} : !cutlass.seq_bar<1, 2>, !cutlass.pipeline_state
        %t = cutlass.pipeline.state.increment %bar, %s : !cutlass.seq_bar<1, 2>, !cutlass.pipeline_state -> !cutlass.pipeline_state
        scf.yield %t : !cutlass.pipeline_state
      }
      cutlass.async.yield
    }
    gpu.return
  }
}
