// RUN: lower
// scf in scf becomes blocks.
// CHECK: scf.while
// NVVM-NOT: scf
// NVVM: llvm.br
// NVVM: llvm.cond_br
gpu.module @m attributes {cutlass.cluster_shape = array<i32: 1, 1, 1>} {
  gpu.func @k(%out: !llvm.ptr, %n: i32) kernel {
    %true = arith.constant true
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %sum = scf.for %i = %zero to %n step %one iter_args(%s = %zero) -> (i32) : i32 {
      %odd = arith.andi %i, %one : i32
      %is = arith.cmpi eq, %odd, %one : i32
      %add = scf.if %is -> (i32) {
        %twice = arith.addi %i, %i : i32
        scf.yield %twice : i32
      } else {
        %inner = scf.for %j = %zero to %i step %one iter_args(%t = %zero) -> (i32) : i32 {
          %u = arith.addi %t, %j : i32
          scf.yield %u : i32
        }
        scf.yield %inner : i32
      }
      %next = arith.addi %s, %add : i32
      scf.yield %next : i32
    }
    %half = scf.while (%x = %sum) : (i32) -> i32 {
      %more = arith.cmpi sgt, %x, %one : i32
      scf.condition(%more) %x : i32
    } do {
    ^bb0(%x: i32):
      %y = arith.shrsi %x, %one : i32
      scf.yield %y : i32
    }
    scf.if %true {
      llvm.store %half, %out : i32, !llvm.ptr
    }
    gpu.return
  }
}
