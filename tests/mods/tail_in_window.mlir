// RUN: valid
// A window closes on drained pipelines.
gpu.module @m attributes {cutlass.cluster_shape = array<i32: 2, 1, 1>} {
  gpu.func @k(%p: !llvm.ptr, %n: i32, %cond: i1, %dyn: i64) kernel {
    %sched = cutlass.tile_scheduler.static_persistent %n, %n, %n : i32, i32, i32 -> !cutlass.tile_scheduler<static_persistent>
    %mask = arith.constant 3 : i64
    %pipe = cutlass.pipeline.init {stages = 4 : i32, producers = 1 : i32, consumers = 128 : i32, tx_bytes = 0 : i32} : !cutlass.pipeline<4>
    cutlass.async.exec {warps = array<i32: 0, 4>} {
      cutlass.tile_scheduler.mods_report_mainloop_start %sched, %mask {is_2cta_mma = false} : !cutlass.tile_scheduler<static_persistent>, i64
      %s = cutlass.pipeline.state.create %pipe {role = "producer"} : !cutlass.pipeline<4> -> !cutlass.pipeline_state
      cutlass.pipeline.producer_acquire %pipe, %s : !cutlass.pipeline<4>, !cutlass.pipeline_state
      cutlass.pipeline.producer_tail %pipe, %s : !cutlass.pipeline<4>, !cutlass.pipeline_state
      cutlass.tile_scheduler.mods_report_mainloop_end %sched, %mask {is_2cta_mma = false} : !cutlass.tile_scheduler<static_persistent>, i64 -> ()
      cutlass.async.yield
    }
    gpu.return
  }
}

// -----

// A tail in each arm.
gpu.module @m attributes {cutlass.cluster_shape = array<i32: 2, 1, 1>} {
  gpu.func @k(%p: !llvm.ptr, %n: i32, %cond: i1, %dyn: i64) kernel  {
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %four = arith.constant 4 : i32
    %mask = arith.constant 3 : i64
    %sched = cutlass.tile_scheduler.static_persistent %one, %one, %one : i32, i32, i32 -> !cutlass.tile_scheduler<static_persistent>
%pa = cutlass.pipeline.init {consumers = 32 : i32, producers = 32 : i32, stages = 2 : i32, tx_bytes = 0 : i32} : !cutlass.pipeline<2>

cutlass.async.exec {warps = array<i32: 0, 1>} {
cutlass.tile_scheduler.mods_report_mainloop_start %sched, %mask {is_2cta_mma = false} : !cutlass.tile_scheduler<static_persistent>, i64
%a = cutlass.pipeline.state.create %pa {role = "producer"} : !cutlass.pipeline<2> -> !cutlass.pipeline_state
scf.if %cond {
cutlass.pipeline.producer_acquire %pa, %a  : !cutlass.pipeline<2>, !cutlass.pipeline_state
cutlass.pipeline.producer_commit %pa, %a  : !cutlass.pipeline<2>, !cutlass.pipeline_state
cutlass.pipeline.producer_tail %pa, %a  : !cutlass.pipeline<2>, !cutlass.pipeline_state
} else {
cutlass.pipeline.producer_acquire %pa, %a  : !cutlass.pipeline<2>, !cutlass.pipeline_state
cutlass.pipeline.producer_commit %pa, %a  : !cutlass.pipeline<2>, !cutlass.pipeline_state
cutlass.pipeline.producer_tail %pa, %a  : !cutlass.pipeline<2>, !cutlass.pipeline_state
}
cutlass.tile_scheduler.mods_report_mainloop_end %sched, %mask {is_2cta_mma = false} : !cutlass.tile_scheduler<static_persistent>, i64 -> ()

cutlass.async.yield
}

    gpu.return
  }
}

// -----

// Each window has its own tail.
gpu.module @m attributes {cutlass.cluster_shape = array<i32: 2, 1, 1>} {
  gpu.func @k(%p: !llvm.ptr, %n: i32, %cond: i1, %dyn: i64) kernel  {
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %four = arith.constant 4 : i32
    %mask = arith.constant 3 : i64
    %sched = cutlass.tile_scheduler.static_persistent %one, %one, %one : i32, i32, i32 -> !cutlass.tile_scheduler<static_persistent>
%pa = cutlass.pipeline.init {consumers = 32 : i32, producers = 32 : i32, stages = 2 : i32, tx_bytes = 0 : i32} : !cutlass.pipeline<2>

cutlass.async.exec {warps = array<i32: 0, 1>} {
cutlass.tile_scheduler.mods_report_mainloop_start %sched, %mask {is_2cta_mma = false} : !cutlass.tile_scheduler<static_persistent>, i64
%a = cutlass.pipeline.state.create %pa {role = "producer"} : !cutlass.pipeline<2> -> !cutlass.pipeline_state
cutlass.pipeline.producer_acquire %pa, %a  : !cutlass.pipeline<2>, !cutlass.pipeline_state
cutlass.pipeline.producer_commit %pa, %a  : !cutlass.pipeline<2>, !cutlass.pipeline_state
cutlass.pipeline.producer_tail %pa, %a  : !cutlass.pipeline<2>, !cutlass.pipeline_state
cutlass.tile_scheduler.mods_report_mainloop_end %sched, %mask {is_2cta_mma = false} : !cutlass.tile_scheduler<static_persistent>, i64 -> ()
cutlass.tile_scheduler.mods_report_mainloop_start %sched, %mask {is_2cta_mma = false} : !cutlass.tile_scheduler<static_persistent>, i64
cutlass.pipeline.producer_acquire %pa, %a  : !cutlass.pipeline<2>, !cutlass.pipeline_state
cutlass.pipeline.producer_commit %pa, %a  : !cutlass.pipeline<2>, !cutlass.pipeline_state
cutlass.pipeline.producer_tail %pa, %a  : !cutlass.pipeline<2>, !cutlass.pipeline_state
cutlass.tile_scheduler.mods_report_mainloop_end %sched, %mask {is_2cta_mma = false} : !cutlass.tile_scheduler<static_persistent>, i64 -> ()

cutlass.async.yield
}

    gpu.return
  }
}

// -----

// A window in a loop, drained in each turn.
gpu.module @m attributes {cutlass.cluster_shape = array<i32: 2, 1, 1>} {
  gpu.func @k(%p: !llvm.ptr, %n: i32, %cond: i1, %dyn: i64) kernel  {
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %four = arith.constant 4 : i32
    %mask = arith.constant 3 : i64
    %sched = cutlass.tile_scheduler.static_persistent %one, %one, %one : i32, i32, i32 -> !cutlass.tile_scheduler<static_persistent>
%pa = cutlass.pipeline.init {consumers = 32 : i32, producers = 32 : i32, stages = 2 : i32, tx_bytes = 0 : i32} : !cutlass.pipeline<2>

cutlass.async.exec {warps = array<i32: 0, 1>} {
%a = cutlass.pipeline.state.create %pa {role = "producer"} : !cutlass.pipeline<2> -> !cutlass.pipeline_state
scf.for %i = %zero to %four step %one : i32 {
cutlass.tile_scheduler.mods_report_mainloop_start %sched, %mask {is_2cta_mma = false} : !cutlass.tile_scheduler<static_persistent>, i64
cutlass.pipeline.producer_acquire %pa, %a  : !cutlass.pipeline<2>, !cutlass.pipeline_state
cutlass.pipeline.producer_commit %pa, %a  : !cutlass.pipeline<2>, !cutlass.pipeline_state
cutlass.pipeline.producer_tail %pa, %a  : !cutlass.pipeline<2>, !cutlass.pipeline_state
cutlass.tile_scheduler.mods_report_mainloop_end %sched, %mask {is_2cta_mma = false} : !cutlass.tile_scheduler<static_persistent>, i64 -> ()
}

cutlass.async.yield
}

    gpu.return
  }
}
