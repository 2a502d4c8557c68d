// Arithmetic, loops, casts.
// args: --print out
// expect: 42 -7 3 -1 12 0 6 4
gpu.module @m {
  gpu.func @k(%out: !llvm.ptr) kernel attributes {tidemark.args = ["out = i32[1x8] zero"], known_block_size = array<i32: 1, 1, 1>} {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %a = arith.constant -7 : i32
    %b = arith.constant 2 : i32
    %c6 = arith.constant 6 : i32
    %x0 = arith.muli %c6, %a : i32
    %x1 = arith.subi %c0, %x0 : i32
    llvm.store %x1, %out : i32, !llvm.ptr
    %p1 = llvm.getelementptr %out[1] : (!llvm.ptr) -> !llvm.ptr, i32
    llvm.store %a, %p1 : i32, !llvm.ptr
    // A loop with what goes round: 0 + 1 + 2.
    %c3 = arith.constant 3 : i32
    %sum = scf.for %i = %c0 to %c3 step %c1 iter_args(%s = %c0) -> (i32) : i32 {
      %n = arith.addi %s, %i : i32
      scf.yield %n : i32
    }
    %p2 = llvm.getelementptr %out[2] : (!llvm.ptr) -> !llvm.ptr, i32
    llvm.store %sum, %p2 : i32, !llvm.ptr
    %yes = arith.cmpi slt, %a, %b : i32
    %all = arith.extsi %yes : i1 to i32
    %p3 = llvm.getelementptr %out[3] : (!llvm.ptr) -> !llvm.ptr, i32
    llvm.store %all, %p3 : i32, !llvm.ptr
    %f = arith.sitofp %c6 : i32 to f32
    %g = arith.addf %f, %f : f32
    %h = arith.fptosi %g : f32 to i32
    %p4 = llvm.getelementptr %out[4] : (!llvm.ptr) -> !llvm.ptr, i32
    llvm.store %h, %p4 : i32, !llvm.ptr
    %u = arith.cmpi ult, %a, %b : i32
    %one_or_none = arith.extui %u : i1 to i32
    %p5 = llvm.getelementptr %out[5] : (!llvm.ptr) -> !llvm.ptr, i32
    llvm.store %one_or_none, %p5 : i32, !llvm.ptr
    // Two values that change places as they go round.
    %swapped:2 = scf.for %i = %c0 to %c3 step %c1 iter_args(%p = %c6, %q = %c0) -> (i32, i32) : i32 {
      scf.yield %q, %p : i32, i32
    }
    %p6 = llvm.getelementptr %out[6] : (!llvm.ptr) -> !llvm.ptr, i32
    llvm.store %swapped#1, %p6 : i32, !llvm.ptr
    %d = arith.floordivsi %a, %b : i32
    %e = arith.subi %c0, %d : i32
    %p7 = llvm.getelementptr %out[7] : (!llvm.ptr) -> !llvm.ptr, i32
    llvm.store %e, %p7 : i32, !llvm.ptr
    gpu.return
  }
}
