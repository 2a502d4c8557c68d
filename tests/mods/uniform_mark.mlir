// RUN: valid
// Marks that hold, and marks that have to be believed: cluster of 2 x 2.
gpu.module @m attributes {cutlass.cluster_shape = array<i32: 2, 2, 1>} {
  gpu.func @k(%n: i32) kernel {
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %two = arith.constant 2 : i32
    %three = arith.constant 3 : i32
    %seven = arith.constant 7 : i32
    %rank = "nvvm.read.ptx.sreg.cluster.ctarank"() : () -> i32
    %cx = gpu.cluster_block_id x
    %cxi = arith.index_cast %cx : index to i32
    %x = "nvvm.read.ptx.sreg.cluster.ctaid.x"() : () -> i32
    %y = "nvvm.read.ptx.sreg.cluster.ctaid.y"() : () -> i32
    %z = "nvvm.read.ptx.sreg.cluster.ctaid.z"() : () -> i32
    %id = gpu.block_id x
    %c0 = arith.cmpi ult, %rank, %seven : i32
    scf.if %c0 {
      gpu.barrier
    } {cutlass.cluster_uniform}
    %c1 = arith.cmpi eq, %z, %zero : i32
    scf.if %c1 {
      gpu.barrier
    } {cutlass.cluster_uniform}
    %c2 = arith.cmpi eq, %n, %rank : i32
    scf.if %c2 {
      gpu.barrier
    } {cutlass.cluster_uniform}
    %four = arith.divui %rank, %zero : i32
    %c4 = arith.cmpi eq, %four, %zero : i32
    scf.if %c4 {
      gpu.barrier
    } {cutlass.cluster_uniform}
    %half = arith.divui %rank, %seven : i32
    %same = arith.subi %rank, %rank : i32
    %c5 = arith.cmpi eq, %half, %same : i32
    scf.if %c5 {
      gpu.barrier
    } {cutlass.cluster_uniform}
    %end = arith.addi %rank, %seven : i32
    scf.for %i = %rank to %end step %two : i32 {
      gpu.barrier
    } {cutlass.cluster_uniform}
    %k = arith.index_cast %id : index to i32
    %c6 = arith.cmpi eq, %k, %zero : i32
    cf.cond_br %c6, ^bb1, ^bb1 {cutlass.cluster_uniform}
  ^bb1:
    gpu.return
  }
}
