// RUN: invalid
func.func @f(%a: i32) {
  // Several errors of one file are told.
  // expected-error@+1 {{expected SSA operand}}
  %0 = arith.addi %a, 5 : i32
  // expected-error@+1 {{expected ':'}}
  %1 = arith.addi %a, %a i32
  // expected-error@+1 {{expected 2 operands}}
  %2 = arith.addi %a : i32
  // expected-error@+1 {{expected a type}}
  %3 = arith.addi %a, %a : =
  func.return
}

// -----

func.func @f() {
  // expected-error@+1 {{undefined symbol alias id 'nothing'}}
  "arith.constant"() {value = #nothing} : () -> ()
  func.return
}

// -----

// expected-error@+1 {{duplicate key 'a' in dictionary attribute}}
module attributes {a = 1 : i32, a = 2 : i32} {
}

// -----

// expected-error@+1 {{integer types have 1 to 64 bits here, not 128}}
func.func @f(%a: i128) {
  func.return
}

// -----

// expected-error@+2 {{expected '}' at the end of a region}}
func.func @f() {
  func.return

// -----

// expected-error@+1 {{expected operation name in quotes}}
5

// -----

// expected-error@+1 {{expected attribute value}}
module attributes {a = } {
}

// -----

// expected-error@+1 {{integer value too large}}
module attributes {a = 99999999999999999999 : i64} {
}

// -----

// 2^64 bytes, and 2^64 + 64: LLVM's sizes wrap to 0, and to 64.
// expected-error@+1 {{a type of more than 2^48 bytes}}
llvm.mlir.global internal @a() {addr_space = 3 : i32} : !llvm.array<65536 x array<65536 x array<65536 x array<65536 x i8>>>>
// expected-error@+1 {{a type of more than 2^48 bytes}}
llvm.mlir.global internal @b() {addr_space = 3 : i32} : !llvm.array<64 x array<5 x array<107367629 x array<536903681 x i8>>>>
// expected-error@+1 {{a type of more than 2^48 bytes}}
llvm.mlir.global internal @c() : !llvm.array<4294967295 x struct<(array<131072 x i8>, array<4294967295 x vector<4294967295xi64>>)>>
// expected-error@+1 {{a type of more than 2^48 bytes}}
llvm.func @d(!llvm.ptr, !llvm.struct<(array<4294967295 x i64>, array<65536 x array<4294967295 x i8>>)>)

llvm.mlir.global internal @most() : !llvm.array<65536 x array<65536 x array<65536 x i8>>>

// -----

func.func @f(%a: i32) {
  // expected-error@+1 {{attribute 'predicate' is given twice}}
  %0 = "arith.cmpi"(%a, %a) <{predicate = 0 : i64}> {note = 2 : i64, predicate = 1 : i64} : (i32, i32) -> i1
  // expected-error@+1 {{duplicate key 'predicate' in dictionary attribute}}
  %1 = "arith.cmpi"(%a, %a) <{predicate = 0 : i64, predicate = 1 : i64}> : (i32, i32) -> i1
  func.return
}

// -----

llvm.func @f(%p: !llvm.ptr, %a: i32) {
  // expected-error@+1 {{expected what the atomic operation does}}
  %0 = llvm.atomicrmw and %p, %a monotonic : !llvm.ptr, i32
  // expected-error@+1 {{expected an atomic ordering}}
  %1 = llvm.atomicrmw add %p, %a sometime : !llvm.ptr, i32
  // expected-error@+1 {{expected an atomic ordering}}
  %2 = llvm.atomicrmw add %p, %a, %a acquire : !llvm.ptr, i32
  // expected-error@+1 {{a call with a calling convention or a kind of tail call is outside of what is read}}
  %3 = llvm.call tail @f(%p, %a) : (!llvm.ptr, i32) -> i64
  // expected-error@+1 {{'llvm.inline_asm' is read in its generic form only}}
  llvm.inline_asm "nop", "" : () -> ()
  llvm.return
}

// -----

func.func @f() {
  // expected-error@+1 {{null character not allowed in operation name}}
  "test.a\00b"() : () -> ()
  func.return
}

// -----

gpu.module @m {
  gpu.func @f() kernel {
    // expected-error@+1 {{attribute 'warps' is given twice}}
    cutlass.async.exec {warps = array<i32: 0, 1>} { cutlass.async.yield } {warps = array<i32: 1, 2>}
    gpu.return
  }
}
