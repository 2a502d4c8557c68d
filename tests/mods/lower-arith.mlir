// RUN: lower
// arith and gpu; index is i64.
// CHECK: arith.ceildivsi
// NVVM-NOT: arith.
// NVVM: llvm.intr.smax
// NVVM: llvm.sext
// NVVM: llvm.sdiv
gpu.module @m attributes {cutlass.cluster_shape = array<i32: 1, 1, 1>} {
  gpu.func @k(%out: !llvm.ptr, %a: i32, %b: i32, %f: f32) kernel {
    %x = gpu.thread_id x
    %y = gpu.block_id y
    %z = gpu.global_id z
    %lane = gpu.lane_id
    %warps = gpu.num_subgroups
    %c7 = arith.constant 7 : index
    %sum = arith.addi %x, %y : index
    %sum2 = arith.addi %sum, %z : index
    %sum3 = arith.addi %sum2, %lane : index
    %sum4 = arith.addi %sum3, %warps : index
    %sum5 = arith.muli %sum4, %c7 : index
    %n = arith.index_cast %sum5 : index to i32
    %m = arith.maxsi %n, %a : i32
    %m2 = arith.minui %m, %b : i32
    %back = arith.index_cast %m2 : i32 to index
    %wide = arith.index_cast %back : index to i64
    llvm.store %wide, %out : i64, !llvm.ptr
    %up = arith.ceildivsi %a, %b : i32
    %down = arith.floordivsi %a, %b : i32
    %up2 = arith.ceildivui %a, %b : i32
    %p = arith.addi %up, %down : i32
    %q = arith.xori %p, %up2 : i32
    llvm.store %q, %out : i32, !llvm.ptr
    %g = arith.sitofp %q : i32 to f32
    %h = arith.mulf %g, %f fastmath<contract> : f32
    %i = arith.maximumf %h, %f : f32
    %j = arith.extf %i : f32 to f64
    %less = arith.cmpf olt, %i, %f : f32
    %k = arith.select %less, %j, %j : f64
    llvm.store %k, %out : f64, !llvm.ptr
    gpu.barrier
    gpu.return
  }
}
