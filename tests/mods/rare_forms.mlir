// RUN: valid
// As mlir-opt writes them.
llvm.func @g(i32) -> i64
llvm.func @h()
llvm.func @f(%p: !llvm.ptr, %a: i32, %f: f32, %s: !llvm.ptr<3>, %t: i64) {
  %r0 = llvm.atomicrmw xchg %p, %a monotonic : !llvm.ptr, i32
  %r1 = llvm.atomicrmw add %p, %a monotonic : !llvm.ptr, i32
  %r2 = llvm.atomicrmw sub %p, %a monotonic : !llvm.ptr, i32
  %r3 = llvm.atomicrmw _and %p, %a monotonic : !llvm.ptr, i32
  %r4 = llvm.atomicrmw nand %p, %a monotonic : !llvm.ptr, i32
  %r5 = llvm.atomicrmw _or %p, %a monotonic : !llvm.ptr, i32
  %r6 = llvm.atomicrmw _xor %p, %a monotonic : !llvm.ptr, i32
  %r7 = llvm.atomicrmw max %p, %a monotonic : !llvm.ptr, i32
  %r8 = llvm.atomicrmw min %p, %a monotonic : !llvm.ptr, i32
  %r9 = llvm.atomicrmw umax %p, %a monotonic : !llvm.ptr, i32
  %r10 = llvm.atomicrmw umin %p, %a monotonic : !llvm.ptr, i32
  %r11 = llvm.atomicrmw fadd %p, %f monotonic : !llvm.ptr, f32
  %r12 = llvm.atomicrmw fsub %p, %f monotonic : !llvm.ptr, f32
  %r13 = llvm.atomicrmw fmax %p, %f monotonic : !llvm.ptr, f32
  %r14 = llvm.atomicrmw fmin %p, %f monotonic : !llvm.ptr, f32
  %r15 = llvm.atomicrmw uinc_wrap %p, %a monotonic : !llvm.ptr, i32
  %r16 = llvm.atomicrmw udec_wrap %p, %a monotonic : !llvm.ptr, i32
  llvm.fence syncscope("agent") seq_cst
  llvm.fence acquire {note = 1 : i64}
  %v = llvm.atomicrmw volatile add %p, %a syncscope("gpu") acq_rel {alignment = 4 : i64} : !llvm.ptr, i32
  %w = llvm.atomicrmw fadd %s, %f release {note} : !llvm.ptr<3>, f32
  %c = llvm.call @g(%a) {note} : (i32) -> i64
  llvm.call @h() : () -> ()
  nvvm.barrier
  nvvm.barrier id = %a
  nvvm.barrier id = %a number_of_threads = %a {note}
  nvvm.mbarrier.init %p, %a : !llvm.ptr, i32
  nvvm.mbarrier.init.shared %s, %a {note} : !llvm.ptr<3>, i32
  nvvm.mbarrier.inval.shared %s : !llvm.ptr<3>
  %m = nvvm.mbarrier.arrive.shared %s : !llvm.ptr<3> -> i64
  %n = nvvm.mbarrier.arrive.nocomplete.shared %s, %a : !llvm.ptr<3>, i32 -> i64
  %o = nvvm.mbarrier.test.wait.shared %s, %t : !llvm.ptr<3>, i64 -> i1
  nvvm.mbarrier.arrive.expect_tx.shared %s, %a : !llvm.ptr<3>, i32
  nvvm.mbarrier.try_wait.parity.shared %s, %a, %a : !llvm.ptr<3>, i32, i32
  llvm.return
}
