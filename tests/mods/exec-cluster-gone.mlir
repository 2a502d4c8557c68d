// Shared memory of a CTA that has exited is gone.
// args: --grid 2 --explore 20
// expect: op accesses shared memory of CTA 0, which has exited
gpu.module @m attributes {cutlass.cluster_shape = array<i32: 2, 1, 1>} {
  llvm.mlir.global internal @s() {addr_space = 3 : i32, alignment = 8 : i64} : !llvm.array<2 x i64>
  gpu.func @k(%out: !llvm.ptr) kernel attributes {tidemark.args = ["out = i64[1x2] zero"], known_block_size = array<i32: 32, 1, 1>} {
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %r = nvvm.read.ptx.sreg.cluster.ctarank : i32
    %is = arith.cmpi eq, %r, %one : i32
    scf.if %is {
      %slow = arith.constant 100000 : i32
      "llvm.inline_asm"(%slow) <{asm_string = "nanosleep.u32 $0;", constraints = "r", has_side_effects}> : (i32) -> ()
      %b = llvm.mlir.addressof @s : !llvm.ptr<3>
      %there = "nvvm.mapa"(%b, %zero) : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>
      %v = llvm.load %there : !llvm.ptr<3> -> i32
    }
    gpu.return
  }
}
