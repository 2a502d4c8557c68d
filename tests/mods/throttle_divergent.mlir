// RUN: valid
// All threads of the region come to a cooperative throttle: what decides is the same for all of them, or marked so.
gpu.module @m attributes {cutlass.cluster_shape = array<i32: 2, 1, 1>} {
  gpu.func @k(%p: !llvm.ptr, %n: i32, %cond: i1, %i: index) kernel {
    %sched = cutlass.tile_scheduler.static_persistent %n, %n, %n : i32, i32, i32 -> !cutlass.tile_scheduler<static_persistent>
    %mask = arith.constant 3 : i64
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    %cta = gpu.block_id x
    %few = arith.cmpi ult, %cta, %i : index
    %t = gpu.thread_id x
    %mine = arith.cmpi eq, %t, %zero : index
    cutlass.async.exec {warps = array<i32: 0, 4>} {
      cutlass.tile_scheduler.mods_report_mainloop_start %sched, %mask {is_2cta_mma = false} : !cutlass.tile_scheduler<static_persistent>, i64
      scf.if %cond {
        cutlass.tile_scheduler.mods_throttle {profile = 2 : i32}
      }
      scf.if %few {
        cutlass.tile_scheduler.mods_throttle {profile = 2 : i32}
      }
      %got = llvm.load %p : !llvm.ptr -> i32
      %c = arith.cmpi eq, %got, %n : i32
      scf.if %c {
        cutlass.tile_scheduler.mods_throttle {profile = 2 : i32}
      }
      scf.if %mine {
        llvm.store %n, %p : i32, !llvm.ptr
        cutlass.tile_scheduler.mods_throttle {profile = 1 : i32}
      }
      %sum = scf.for %j = %zero to %i step %one iter_args(%a = %zero) -> (index) {
        cutlass.tile_scheduler.mods_throttle {profile = 2 : i32}
        %b = arith.addi %a, %j : index
        scf.yield %b : index
      }
      scf.if %mine {
        cutlass.tile_scheduler.mods_throttle {profile = 2 : i32}
      } {cutlass.cluster_uniform}
      cutlass.tile_scheduler.mods_report_mainloop_end %sched, %mask {is_2cta_mma = false} : !cutlass.tile_scheduler<static_persistent>, i64 -> ()
      cutlass.async.yield
    }
    gpu.return
  }
}
