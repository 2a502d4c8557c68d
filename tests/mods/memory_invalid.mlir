// RUN: invalid
gpu.module @m {
  gpu.func @k() kernel {
    // expected-error@+1 {{must reference a global defined by 'llvm.mlir.global' or 'llvm.func': 'nothing'}}
    %0 = llvm.mlir.addressof @nothing : !llvm.ptr
    gpu.return
  }
}

// -----

gpu.module @m {
  llvm.mlir.global internal @s() {addr_space = 3 : i32} : i32
  gpu.func @k() kernel {
    // expected-error@+1 {{pointer address space must match address space of the referenced global: 3}}
    %0 = llvm.mlir.addressof @s : !llvm.ptr
    gpu.return
  }
}

// -----

func.func @f(%p: !llvm.ptr, %x: f32) {
  // expected-error@+1 {{operand #1 must be signless integer, but got 'f32'}}
  %0 = llvm.getelementptr %p[%x] : (!llvm.ptr, f32) -> !llvm.ptr, i8
  // expected-error@+1 {{expected as many dynamic indices as specified in 'rawConstantIndices'}}
  %1 = "llvm.getelementptr"(%p) <{elem_type = i8, rawConstantIndices = array<i32: -2147483648>}> : (!llvm.ptr) -> !llvm.ptr
  // expected-error@+1 {{result has another address space than the pointer}}
  %2 = llvm.getelementptr %p[1] : (!llvm.ptr) -> !llvm.ptr<3>, i8
  func.return
}

// -----

func.func @f(%p: !llvm.ptr, %i: index) {
  // expected-error@+1 {{'index' cannot be in memory}}
  %0 = llvm.load %p : !llvm.ptr -> index
  // expected-error@+1 {{operand #0 must be LLVM pointer, but got 'index'}}
  %1 = llvm.load %i : index -> i32
  func.return
}

// -----

func.func @f(%f: f32, %x: index) {
  // expected-error@+1 {{operand #0 must be signless integer or LLVM pointer, but got 'f32'}}
  %0 = "llvm.icmp"(%f, %f) <{predicate = 0 : i64}> : (f32, f32) -> i1
  // expected-error@+1 {{operand #0 must be signless integer or LLVM pointer, but got 'index'}}
  %1 = "llvm.icmp"(%x, %x) <{predicate = 0 : i64}> : (index, index) -> i1
  // expected-error@+1 {{expected integer type}}
  %2 = llvm.mlir.constant(5 : i32) : f32
  // expected-error@+1 {{expected integer type}}
  %3 = llvm.mlir.constant(true) : !llvm.ptr
  // expected-error@+1 {{expected float type of width 64}}
  %4 = llvm.mlir.constant(5.0 : f64) : f32
  // expected-error@+1 {{expected float type of width 32}}
  %5 = llvm.mlir.constant(5.0 : f32) : i64
  // expected-error@+1 {{expected array type of 3 i8 elements for the string constant}}
  %6 = llvm.mlir.constant("abc") : !llvm.array<4 x i8>
  // expected-error@+1 {{expected array type of 3 i8 elements for the string constant}}
  %7 = llvm.mlir.constant("abc") : i32
  // expected-error@+1 {{expected vector or array type}}
  %8 = llvm.mlir.constant(dense<1> : vector<4xi32>) : i32
  // expected-error@+1 {{only supports integer, float, string or elements attributes}}
  %9 = llvm.mlir.constant(unit) : i32
  func.return
}
