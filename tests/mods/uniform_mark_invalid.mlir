// RUN: invalid
// A mark that lies where it can be seen: cluster of 2 x 2.
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
    %c0 = arith.cmpi eq, %rank, %zero : i32
    // expected-error@+1 {{is marked 'cutlass.cluster_uniform', but the CTAs of the cluster differ in what it depends on}}
    scf.if %c0 {
      gpu.barrier
    } {cutlass.cluster_uniform}
    %c1 = arith.cmpi ne, %cxi, %zero : i32
    // expected-error@+1 {{is marked 'cutlass.cluster_uniform', but the CTAs of the cluster differ in what it depends on}}
    scf.if %c1 {
      gpu.barrier
    } {cutlass.cluster_uniform}
    %c2 = arith.cmpi slt, %x, %one : i32
    // expected-error@+1 {{is marked 'cutlass.cluster_uniform', but the CTAs of the cluster differ in what it depends on}}
    scf.if %c2 {
      gpu.barrier
    } {cutlass.cluster_uniform}
    %c3 = arith.cmpi ugt, %y, %zero : i32
    // expected-error@+1 {{is marked 'cutlass.cluster_uniform', but the CTAs of the cluster differ in what it depends on}}
    scf.if %c3 {
      gpu.barrier
    } {cutlass.cluster_uniform}
    %v4 = arith.remui %rank, %two : i32
    %c4 = arith.cmpi eq, %v4, %zero : i32
    // expected-error@+1 {{is marked 'cutlass.cluster_uniform', but the CTAs of the cluster differ in what it depends on}}
    scf.if %c4 {
      gpu.barrier
    } {cutlass.cluster_uniform}
    %v5 = arith.divui %rank, %two : i32
    %c5 = arith.cmpi eq, %v5, %zero : i32
    // expected-error@+1 {{is marked 'cutlass.cluster_uniform', but the CTAs of the cluster differ in what it depends on}}
    scf.if %c5 {
      gpu.barrier
    } {cutlass.cluster_uniform}
    %v6 = arith.shrui %rank, %one : i32
    %c6 = arith.cmpi eq, %v6, %zero : i32
    // expected-error@+1 {{is marked 'cutlass.cluster_uniform', but the CTAs of the cluster differ in what it depends on}}
    scf.if %c6 {
      gpu.barrier
    } {cutlass.cluster_uniform}
    %v7 = arith.andi %rank, %one : i32
    %c7 = arith.cmpi eq, %v7, %zero : i32
    // expected-error@+1 {{is marked 'cutlass.cluster_uniform', but the CTAs of the cluster differ in what it depends on}}
    scf.if %c7 {
      gpu.barrier
    } {cutlass.cluster_uniform}
    %v8 = arith.xori %rank, %three : i32
    %c8 = arith.cmpi eq, %v8, %two : i32
    // expected-error@+1 {{is marked 'cutlass.cluster_uniform', but the CTAs of the cluster differ in what it depends on}}
    scf.if %c8 {
      gpu.barrier
    } {cutlass.cluster_uniform}
    %v9 = arith.ori %rank, %two : i32
    %c9 = arith.cmpi eq, %v9, %two : i32
    // expected-error@+1 {{is marked 'cutlass.cluster_uniform', but the CTAs of the cluster differ in what it depends on}}
    scf.if %c9 {
      gpu.barrier
    } {cutlass.cluster_uniform}
    %v10 = arith.addi %rank, %one : i32
    %c10 = arith.cmpi eq, %v10, %one : i32
    // expected-error@+1 {{is marked 'cutlass.cluster_uniform', but the CTAs of the cluster differ in what it depends on}}
    scf.if %c10 {
      gpu.barrier
    } {cutlass.cluster_uniform}
    %v11 = arith.subi %rank, %one : i32
    %c11 = arith.cmpi slt, %v11, %zero : i32
    // expected-error@+1 {{is marked 'cutlass.cluster_uniform', but the CTAs of the cluster differ in what it depends on}}
    scf.if %c11 {
      gpu.barrier
    } {cutlass.cluster_uniform}
    %v12 = arith.muli %rank, %two : i32
    %c12 = arith.cmpi eq, %v12, %two : i32
    // expected-error@+1 {{is marked 'cutlass.cluster_uniform', but the CTAs of the cluster differ in what it depends on}}
    scf.if %c12 {
      gpu.barrier
    } {cutlass.cluster_uniform}
    %w = arith.extui %rank : i32 to i64
    %t = arith.trunci %w : i64 to i1
    %true = arith.constant true
    %not = arith.xori %t, %true : i1
    // expected-error@+1 {{is marked 'cutlass.cluster_uniform', but the CTAs of the cluster differ in what it depends on}}
    scf.if %not {
      gpu.barrier
    } {cutlass.cluster_uniform}
    // expected-error@+1 {{is marked 'cutlass.cluster_uniform', but the CTAs of the cluster differ in what it depends on}}
    scf.for %i = %zero to %rank step %one : i32 {
      gpu.barrier
    } {cutlass.cluster_uniform}
    // expected-error@+1 {{is marked 'cutlass.cluster_uniform', but the CTAs of the cluster differ in what it depends on}}
    scf.while : () -> () {
      scf.condition(%t)
    } do {
      scf.yield
    } attributes {cutlass.cluster_uniform}
    // expected-error@+1 {{is marked 'cutlass.cluster_uniform', but the CTAs of the cluster differ in what it depends on}}
    cf.cond_br %t, ^bb1, ^bb1 {cutlass.cluster_uniform}
  ^bb1:
    gpu.return
  }
}
