// accepted
llvm.func linkonce_odr @a() { llvm.return }
llvm.func weak_odr hidden local_unnamed_addr fastcc @b(%p: !llvm.ptr) { llvm.return }
llvm.func extern_weak protected unnamed_addr coldcc @c()
llvm.func available_externally @d() { llvm.return }

// -----
// accepted
llvm.func @print(!llvm.ptr, ...) -> i32
llvm.func @any(...)
llvm.func @f(%p: !llvm.ptr, ...) { llvm.return }

// -----
// accepted
llvm.func @noted(!llvm.ptr {llvm.noalias, llvm.align = 16 : i64}, i32 {llvm.signext, llvm.noundef}) -> (!llvm.ptr {llvm.nonnull})
func.func private @index(index {llvm.noalias}, i32 {some.thing = 1 : i32})

// -----
// refused: llvm.noalias
llvm.func @f(i32 {llvm.noalias})

// -----
// refused: is not a valid result attribute
llvm.func @f() -> (!llvm.ptr {llvm.readonly})

// -----
// refused: should be a type attribute
llvm.func @f(!llvm.ptr {llvm.sret})

// -----
// refused: arguments may only have dialect attributes
func.func @f(%a: i32 {bare}) { return }

// -----
// refused: results may only have dialect attributes
llvm.func @f() -> (i32 {bare = 1 : i32})

// -----
// refused: expected non-empty function body
func.func @f() {
}

// -----
// accepted
llvm.func @declared() {}

// -----
// refused: 'sym_name' is given twice
func.func private @f() attributes {sym_name = "g"}

// -----
// refused: 'linkage' is given twice
llvm.func private @f() attributes {linkage = #llvm.linkage<weak>}

// -----
// refused: external functions must have 'external' or 'extern_weak' linkage
llvm.func internal @f()

// -----
// refused: functions cannot have 'common' linkage
llvm.func common @f() { llvm.return }

// -----
// refused: calling convention
"llvm.func"() <{CConv = #llvm.cconv<slow>, function_type = !llvm.func<void ()>, linkage = #llvm.linkage<external>, sym_name = "f"}> ({}) : () -> ()

// -----
// refused: has a type of no llvm.func in its signature: 'index'
llvm.func @f(%a: index) { llvm.return }

// -----
// refused: belongs to an 'llvm.func'
func.func private @f() attributes {nvvm.kernel}

// -----
// refused: nvvm.reqntid
llvm.func @f() attributes {nvvm.kernel, nvvm.reqntid = array<i64: 32>} { llvm.return }

// -----
// refused: expected no operands
llvm.func @f(%a: i32) { llvm.return %a : i32 }

// -----
// refused: expected 1 operand
llvm.func @f() -> i32 { llvm.return }

// -----
// refused: mismatching result types
llvm.func @f(%a: f32) -> i32 { llvm.return %a : f32 }

// -----
// accepted
llvm.func @f(%p: !llvm.ptr, %a: i32) -> i32 {
  %0 = llvm.call %p(%a) : !llvm.ptr, (i32) -> i32
  %1 = llvm.call @print(%p, %0) vararg(!llvm.func<i32 (ptr, ...)>) : (!llvm.ptr, i32) -> i32
  llvm.call %p() : !llvm.ptr, () -> ()
  llvm.return %1 : i32
}
llvm.func @print(!llvm.ptr, ...) -> i32

// -----
// refused: missing var_callee_type
llvm.func @f(%p: !llvm.ptr) {
  %0 = llvm.call @print(%p) : (!llvm.ptr) -> i32
  llvm.return
}
llvm.func @print(!llvm.ptr, ...) -> i32

// -----
// refused: must have either a `callee` attribute or at least an operand
llvm.func @f() {
  "llvm.call"() : () -> ()
  llvm.return
}

// -----
// refused: indirect call expects a pointer as callee: 'i32'
llvm.func @f(%a: i32) {
  "llvm.call"(%a) : (i32) -> ()
  llvm.return
}

// -----
// outside: mlir-opt --mlir-print-op-generic
llvm.func @f() {
  llvm.call fastcc @f() : () -> ()
  llvm.return
}

// -----
// refused: region should have no arguments
builtin.module {
^entry(%a: i32):
}

// -----
// refused: symbol declaration cannot have public visibility
func.func @f()

// -----
// refused: 'sym_visibility' stands before the name
func.func @f() attributes {sym_visibility = "private"}

// -----
// refused: to be array<i32: x, y, z>
func.func @f() attributes {gpu.known_block_size = array<i32: 1, 2>} { return }

// -----
// refused: to be array<i32: x, y, z>
gpu.module @m {
  gpu.func @f() attributes {known_block_size = array<i32: 1, 2>} { gpu.return }
}
