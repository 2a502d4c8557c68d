// A CTA has 227 KiB of shared memory; this is four bytes more.
// args: --quiet
// expect: op is executed for shared memory only (addr_space 3, at most 227 KiB)
gpu.module @m {
  llvm.mlir.global internal @s() {addr_space = 3 : i32} : !llvm.array<58113 x i32>
  gpu.func @k() kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %s = llvm.mlir.addressof @s : !llvm.ptr<3>
    gpu.return
  }
}
