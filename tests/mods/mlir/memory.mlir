// accepted
llvm.func @f(%p: !llvm.ptr, %x: f32, %l: i64) -> i64 {
  %0 = llvm.load %p atomic syncscope("device") acquire {alignment = 8 : i64} : !llvm.ptr -> i64
  llvm.store %0, %p atomic release {alignment = 8 : i64} : i64, !llvm.ptr
  llvm.store volatile %x, %p atomic monotonic {alignment = 4 : i64} : f32, !llvm.ptr
  %1 = llvm.load %p invariant : !llvm.ptr -> i64
  %2 = llvm.load volatile %p atomic seq_cst invariant {alignment = 8 : i64} : !llvm.ptr -> i64
  llvm.return %2 : i64
}

// -----
// refused: ordering that a load cannot have
llvm.func @f(%p: !llvm.ptr) {
  %0 = llvm.load %p atomic release {alignment = 4 : i64} : !llvm.ptr -> i32
  llvm.return
}

// -----
// refused: expected alignment for atomic access
llvm.func @f(%p: !llvm.ptr, %a: i32) {
  llvm.store %a, %p atomic release : i32, !llvm.ptr
  llvm.return
}

// -----
// refused: expected syncscope to be null
llvm.func @f(%p: !llvm.ptr) {
  %0 = llvm.load %p {syncscope = "block"} : !llvm.ptr -> i32
  llvm.return
}

// -----
// refused: cannot be in memory
llvm.func @f(%p: !llvm.ptr) {
  %0 = llvm.load %p : !llvm.ptr -> index
  llvm.return
}

// -----
// accepted
llvm.func @f(%p: !llvm.ptr, %a: i32, %b: i32) {
  %0 = llvm.cmpxchg %p, %a, %b acq_rel monotonic : !llvm.ptr, i32
  %1 = llvm.cmpxchg weak volatile %p, %a, %b syncscope("device") seq_cst acquire {alignment = 4 : i64} : !llvm.ptr, i32
  llvm.return
}

// -----
// refused: failure ordering cannot be 'release' or 'acq_rel'
llvm.func @f(%p: !llvm.ptr, %a: i32) {
  %0 = llvm.cmpxchg %p, %a, %a acq_rel release : !llvm.ptr, i32
  llvm.return
}

// -----
// refused: not 'f32'
llvm.func @f(%p: !llvm.ptr, %a: f32) {
  %0 = llvm.cmpxchg %p, %a, %a acq_rel monotonic : !llvm.ptr, f32
  llvm.return
}

// -----
// accepted
llvm.func @f(%p: !llvm.ptr, %i: i32, %x: f32) {
  %0 = llvm.atomicrmw fadd %p, %x monotonic : !llvm.ptr, f32
  %1 = llvm.atomicrmw max %p, %i seq_cst : !llvm.ptr, i32
  %2 = llvm.atomicrmw xchg %p, %p acquire : !llvm.ptr, !llvm.ptr
  llvm.fence acquire
  llvm.return
}

// -----
// refused: takes a float, not 'i32'
llvm.func @f(%p: !llvm.ptr, %i: i32) {
  %0 = llvm.atomicrmw fadd %p, %i monotonic : !llvm.ptr, i32
  llvm.return
}

// -----
// refused: takes an integer of 8, 16, 32 or 64 bits, not 'f32'
llvm.func @f(%p: !llvm.ptr, %x: f32) {
  %0 = llvm.atomicrmw umin %p, %x monotonic : !llvm.ptr, f32
  llvm.return
}

// -----
// refused: not 'i1'
llvm.func @f(%p: !llvm.ptr, %b: i1) {
  %0 = llvm.atomicrmw xchg %p, %b monotonic : !llvm.ptr, i1
  llvm.return
}

// -----
// refused: must be at least monotonic
llvm.func @f(%p: !llvm.ptr, %i: i32) {
  %0 = llvm.atomicrmw add %p, %i unordered : !llvm.ptr, i32
  llvm.return
}

// -----
// refused: must be at least acquire
llvm.func @f() {
  llvm.fence monotonic
  llvm.return
}

// -----
// accepted
llvm.func @f(%p: !llvm.ptr, %i: i64, %s: !llvm.struct<(i32, array<2 x f32>)>, %x: f32) {
  %0 = llvm.getelementptr %p[%i, 1, 0] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.struct<(i32, array<2 x f32>)>
  %1 = "llvm.extractvalue"(%s) <{position = array<i64: 1, 1>}> : (!llvm.struct<(i32, array<2 x f32>)>) -> f32
  %2 = "llvm.insertvalue"(%s, %x) <{position = array<i64: 1, 0>}> : (!llvm.struct<(i32, array<2 x f32>)>, f32) -> !llvm.struct<(i32, array<2 x f32>)>
  llvm.return
}

// -----
// refused: expected index 1 indexing a struct to be constant
llvm.func @f(%p: !llvm.ptr, %i: i64) {
  %0 = llvm.getelementptr %p[0, %i] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.struct<(i32, i32)>
  llvm.return
}

// -----
// refused: index 2 indexing a struct is out of bounds
llvm.func @f(%p: !llvm.ptr) {
  %0 = llvm.getelementptr %p[0, 1, 2] : (!llvm.ptr) -> !llvm.ptr, !llvm.array<2 x struct<(i8, i8)>>
  llvm.return
}

// -----
// refused: type 'i32' cannot be indexed (index #1)
llvm.func @f(%p: !llvm.ptr) {
  %0 = llvm.getelementptr %p[0, 1] : (!llvm.ptr) -> !llvm.ptr, i32
  llvm.return
}

// -----
// refused: gives 'i32', not 'f32'
llvm.func @f(%s: !llvm.struct<(i32, f32)>) {
  %0 = "llvm.extractvalue"(%s) <{position = array<i64: 0>}> : (!llvm.struct<(i32, f32)>) -> f32
  llvm.return
}

// -----
// refused: position 2 is out of bounds
llvm.func @f(%s: !llvm.struct<(i32, f32)>) {
  %0 = "llvm.extractvalue"(%s) <{position = array<i64: 2>}> : (!llvm.struct<(i32, f32)>) -> f32
  llvm.return
}

// -----
// refused: cannot insert 'i64'
llvm.func @f(%s: !llvm.struct<(i32, f32)>, %l: i64) {
  %0 = "llvm.insertvalue"(%s, %l) <{position = array<i64: 1>}> : (!llvm.struct<(i32, f32)>, i64) -> !llvm.struct<(i32, f32)>
  llvm.return
}

// -----
// outside: generic form only, "llvm.alloca"(…)
llvm.func @f(%n: i64) {
  %0 = llvm.alloca %n x f32 : (i64) -> !llvm.ptr
  llvm.return
}

// -----
// outside: generic form only, "llvm.insertvalue"(…)
llvm.func @f(%s: !llvm.struct<(i32)>, %i: i32) {
  %0 = llvm.insertvalue %i, %s[0] : !llvm.struct<(i32)>
  llvm.return
}

// -----
// accepted
llvm.func @f(%a: i32, %b: i32) {
  nvvm.barrier.arrive id = %a number_of_threads = %b
  llvm.return
}
