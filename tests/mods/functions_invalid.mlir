// RUN: invalid
func.func @f() -> i32 {
  // expected-error@+1 {{has 0 operands, but enclosing function (@f) returns 1}}
  func.return
}

// -----

func.func @f(%l: i64) -> i32 {
  // expected-error@+1 {{type of return operand 0 ('i64') doesn't match function result type ('i32')}}
  func.return %l : i64
}

// -----

func.func @f() {
  // expected-error@+1 {{expects parent op 'gpu.func'}}
  gpu.return
}

// -----

// expected-error@+1 {{expects parent op 'gpu.module'}}
gpu.func @f() {
  gpu.return
}

// -----

gpu.module @m {
  // expected-error@+1 {{expected void return type for kernel functions}}
  gpu.func @f(%a: i32) -> i32 kernel {
    gpu.return %a : i32
  }
}

// -----

gpu.module @m {
  // expected-error@+1 {{memory attributions are not supported}}
  gpu.func @f() workgroup(%x: memref<4xf32, 3>) kernel {
    gpu.return
  }
}

// -----

func.func @f() {
  func.return
}
// expected-error@+1 {{redefinition of symbol named 'f'}}
func.func @f() {
  func.return
}

// -----

func.func @f() {
  // expected-error@+1 {{'g' does not reference a valid function}}
  func.call @g() : () -> ()
  func.return
}

// -----

func.func @f(%a: i32) {
  gpu.barrier
  // expected-error@+1 {{must be the last operation in the parent block}}
  func.return
  gpu.barrier
  func.return
}

// -----

func.func @f(%a: i32) {
  "func.func"() ({
  ^bb0:
    // expected-error@+1 {{use of undeclared SSA value name}}
    %0 = arith.addi %a, %a : i32
    func.return
  }) {sym_name = "g", function_type = () -> ()} : () -> ()
  func.return
}

// -----

gpu.module @m {
// expected-note@+1 {{the function is here}}
  func.func @f(%a: i32) {
    func.return
  }
  func.func @g() -> i32 {
    %x = arith.constant 7 : i32
    func.return %x : i32
  }
  gpu.func @k(%p: !llvm.ptr) kernel attributes {known_block_size = array<i32: 32, 1, 1>, tidemark.args = ["p = i32[4] zero"]} {
    %a = arith.constant 5 : i32
// expected-error@+1 {{has other operands or results than 'f'}}
    %r = func.call @f(%a) : (i32) -> i32
    llvm.store %r, %p : i32, !llvm.ptr
    gpu.return
  }
}

// -----

// expected-note@+1 {{the function is here}}
llvm.func @f(i32) -> i64
llvm.mlir.global external @g() : i32
func.func @other() {
  func.return
}
llvm.func @k(%a: i32, %b: i64) {
  // expected-error@+1 {{'llvm.call' op has other operands or results than 'f'}}
  %0 = "llvm.call"(%b) <{callee = @f}> : (i64) -> i64
  // expected-error@+1 {{'llvm.call' op has other operands or results than 'f'}}
  %1 = "llvm.call"(%a) <{callee = @f}> : (i32) -> i32
  // expected-error@+1 {{'llvm.call' op has other operands or results than 'f'}}
  "llvm.call"(%a) <{callee = @f}> : (i32) -> ()
  // expected-error@+1 {{'nope' does not reference a symbol in the current scope}}
  "llvm.call"() <{callee = @nope}> : () -> ()
  // expected-error@+1 {{'g' does not reference a valid LLVM function}}
  "llvm.call"() <{callee = @g}> : () -> ()
  // expected-error@+1 {{'other' does not reference a valid LLVM function}}
  "llvm.call"() <{callee = @other}> : () -> ()
  // expected-error@+1 {{'k' does not reference a valid function}}
  "func.call"() <{callee = @k}> : () -> ()
  %2 = "llvm.call"(%a) <{callee = @f}> : (i32) -> i64
  llvm.return
}
