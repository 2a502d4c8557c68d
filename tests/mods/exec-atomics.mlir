// Read, change, write: exchanges and extremes of floats, counters that wrap. All 32 lanes of each.
// args: --print out --explore 20
// expect: 20 schedules, all well
// expect: 31 -31 2 30 0 0
gpu.module @m {
  gpu.func @k(%out: !llvm.ptr, %x: !llvm.ptr) kernel attributes {tidemark.args = ["out = i32[1x6] zero", "x = f32[1x3] zero"], known_block_size = array<i32: 32, 1, 1>} {
    %c0 = arith.constant 0 : i32
    %c9 = arith.constant 9 : i32
    %t = nvvm.read.ptx.sreg.tid.x : i32
    %f = arith.sitofp %t : i32 to f32
    %n = arith.negf %f : f32
    %x1 = llvm.getelementptr %x[1] : (!llvm.ptr) -> !llvm.ptr, f32
    %x2 = llvm.getelementptr %x[2] : (!llvm.ptr) -> !llvm.ptr, f32
    %a = "llvm.atomicrmw"(%x, %f) <{bin_op = 13 : i64, ordering = 2 : i64}> : (!llvm.ptr, f32) -> f32
    %b = "llvm.atomicrmw"(%x1, %n) <{bin_op = 14 : i64, ordering = 2 : i64}> : (!llvm.ptr, f32) -> f32
    %p2 = llvm.getelementptr %out[2] : (!llvm.ptr) -> !llvm.ptr, i32
    %p3 = llvm.getelementptr %out[3] : (!llvm.ptr) -> !llvm.ptr, i32
    // 32 times up, 0 after 9: 32 mod 10. 32 times down from 0, to 61 after 0: 61 after the first, and 31 more.
    %c61 = arith.constant 61 : i32
    %c = "llvm.atomicrmw"(%p2, %c9) <{bin_op = 15 : i64, ordering = 2 : i64}> : (!llvm.ptr, i32) -> i32
    %d = "llvm.atomicrmw"(%p3, %c61) <{bin_op = 16 : i64, ordering = 2 : i64}> : (!llvm.ptr, i32) -> i32
    gpu.barrier
    %first = arith.cmpi eq, %t, %c0 : i32
    scf.if %first {
      %zero = arith.constant 0.0 : f32
      %u = "llvm.atomicrmw"(%x, %zero) <{bin_op = 0 : i64, ordering = 2 : i64}> : (!llvm.ptr, f32) -> f32
      %v = llvm.load %x1 : !llvm.ptr -> f32
      %w = llvm.load %x : !llvm.ptr -> f32
      %i = arith.fptosi %u : f32 to i32
      %j = arith.fptosi %v : f32 to i32
      %l = arith.fptosi %w : f32 to i32
      %p1 = llvm.getelementptr %out[1] : (!llvm.ptr) -> !llvm.ptr, i32
      %p4 = llvm.getelementptr %out[4] : (!llvm.ptr) -> !llvm.ptr, i32
      llvm.store %i, %out : i32, !llvm.ptr
      llvm.store %j, %p1 : i32, !llvm.ptr
      llvm.store %l, %p4 : i32, !llvm.ptr
    }
    gpu.return
  }
}
