// RUN: invalid
gpu.module @m {
  gpu.func @k() kernel {
    // expected-error@+1 {{must reference a global defined by 'llvm.mlir.global': 'nothing'}}
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
