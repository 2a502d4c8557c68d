// RUN: invalid --partial=mbarrier
gpu.module @m attributes {cutlass.cluster_shape = array<i32: 4, 1, 1>} {
  gpu.func @k(%n: i32) kernel {
    %sched = cutlass.tile_scheduler.static_persistent %n, %n, %n : i32, i32, i32 -> !cutlass.tile_scheduler<static_persistent>
    %other = cutlass.tile_scheduler.data_parallel %n, %n, %n : i32, i32, i32 -> !cutlass.tile_scheduler<data_parallel>
    %pairs = arith.constant 3 : i64
    %some = arith.constant 5 : i64
    %one = arith.constant 1 : i32
    %two = arith.constant 2 : i32
    %less = arith.constant -1 : i32
    // expected-error@+1 {{appears only inside 'cutlass.async.exec'}}
    %0 = cutlass.tile_scheduler.mods_query_progress %sched, %one : !cutlass.tile_scheduler<static_persistent>, i32 -> i32
    cutlass.async.exec {
      // expected-error@+1 {{asks for progress outside of a window, where no CTA tells of it}}
      %1 = cutlass.tile_scheduler.mods_query_progress %sched, %one : !cutlass.tile_scheduler<static_persistent>, i32 -> i32
      // expected-note@+1 {{the start is here}}
      cutlass.tile_scheduler.mods_report_mainloop_start %sched, %pairs {is_2cta_mma = true} : !cutlass.tile_scheduler<static_persistent>, i64
      // expected-error@+1 {{does not agree with its window on the scheduler}}
      %2 = cutlass.tile_scheduler.mods_query_progress %other, %one : !cutlass.tile_scheduler<data_parallel>, i32 -> i32
      // expected-error@+1 {{asks for participant 2, but the cluster has 2}}
      %3 = cutlass.tile_scheduler.mods_query_progress %sched, %two : !cutlass.tile_scheduler<static_persistent>, i32 -> i32
      // expected-error@+1 {{asks for participant -1, but the cluster has 2}}
      %4 = cutlass.tile_scheduler.mods_query_progress %sched, %less : !cutlass.tile_scheduler<static_persistent>, i32 -> i32
      cutlass.tile_scheduler.mods_report_mainloop_end %sched, %pairs {is_2cta_mma = true} : !cutlass.tile_scheduler<static_persistent>, i64 -> ()
      // expected-error@+1 {{asks for progress outside of a window, where no CTA tells of it}}
      %5 = cutlass.tile_scheduler.mods_query_progress %sched, %one : !cutlass.tile_scheduler<static_persistent>, i32 -> i32
      cutlass.tile_scheduler.mods_report_mainloop_start %sched, %some {is_2cta_mma = false} : !cutlass.tile_scheduler<static_persistent>, i64
      // expected-error@+1 {{asks for participant 1, which its window's mask leaves out}}
      %6 = cutlass.tile_scheduler.mods_query_progress %sched, %one : !cutlass.tile_scheduler<static_persistent>, i32 -> i32
      cutlass.tile_scheduler.mods_report_mainloop_end %sched, %some {is_2cta_mma = false} : !cutlass.tile_scheduler<static_persistent>, i64 -> ()
      cutlass.async.yield
    }
    gpu.return
  }
}
