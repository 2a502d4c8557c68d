// RUN: lower
// Profile 0 leaves nothing, profile 1 a sleep.
// CHECK: scf.if
// CHECK-COUNT-1: nanosleep.u32
// CHECK-NOT: nanosleep
// CHECK-NOT: mods_throttle
// NVVM: llvm.inline_asm
gpu.module @m attributes {cutlass.cluster_shape = array<i32: 1, 1, 1>} {
  gpu.func @k() kernel {
    cutlass.async.exec {warps = array<i32: 0, 1>} {
      cutlass.tile_scheduler.mods_throttle {profile = 0 : i32}
      cutlass.tile_scheduler.mods_throttle {profile = 1 : i32}
      cutlass.async.yield
    }
    gpu.return
  }
}
