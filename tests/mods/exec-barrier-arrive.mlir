// Arrivals at named barriers that do not wait, as MLIR writes them; two that hand on, seven times.
// args: --print out --explore 50
// expect: 50 schedules, all well
// expect: 21 28 35 42
gpu.module @m {
  llvm.mlir.global internal @s() {addr_space = 3 : i32, alignment = 8 : i64} : !llvm.array<64 x i32>
  gpu.func @k(%out: !llvm.ptr) kernel attributes {tidemark.args = ["out = i32[1x64] zero"], known_block_size = array<i32: 96, 1, 1>} {
    %c8 = arith.constant 8 : i32
    %c9 = arith.constant 9 : i32
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c32 = arith.constant 32 : i32
    %c7 = arith.constant 7 : i32
    %n = arith.constant 64 : i32
    %t = nvvm.read.ptx.sreg.tid.x : i32
    %s = llvm.mlir.addressof @s : !llvm.ptr<3>
    // producer/consumer with bar.arrive on two ids, 7 rounds: phases wrap
    cutlass.async.exec {warps = array<i32: 0, 1>} {
      %x = arith.constant 0 : i32
      scf.for %i = %c0 to %c7 step %c1 : i32 {
        "nvvm.barrier"(%c8, %n) <{operandSegmentSizes = array<i32: 1, 1>}> : (i32, i32) -> ()
        %p = llvm.getelementptr %s[%t] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32
        %v = arith.addi %i, %t : i32
        llvm.store %v, %p : i32, !llvm.ptr<3>
        "nvvm.barrier.arrive"(%c9, %n) : (i32, i32) -> ()
      }
      cutlass.async.yield
    }
    cutlass.async.exec {warps = array<i32: 1, 2>} {
      %l = arith.subi %t, %c32 : i32
      %r = scf.for %i = %c0 to %c7 step %c1 iter_args(%a = %c0) -> (i32) : i32 {
        "nvvm.barrier.arrive"(%c8, %n) : (i32, i32) -> ()
        "nvvm.barrier"(%c9, %n) <{operandSegmentSizes = array<i32: 1, 1>}> : (i32, i32) -> ()
        %p = llvm.getelementptr %s[%l] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32
        %v = llvm.load %p : !llvm.ptr<3> -> i32
        %b = arith.addi %a, %v : i32
        scf.yield %b : i32
      }
      %q = llvm.getelementptr %out[%l] : (!llvm.ptr, i32) -> !llvm.ptr, i32
      llvm.store %r, %q : i32, !llvm.ptr
      cutlass.async.yield
    }
    gpu.return
  }
}
