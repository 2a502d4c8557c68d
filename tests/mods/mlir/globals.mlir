// accepted
llvm.mlir.global internal constant @words("three words here")
llvm.mlir.global external thread_local @mine(1 : i32) : i32
llvm.mlir.global private unnamed_addr constant @b(1.5 : f32) {alignment = 16 : i64} : f32
llvm.mlir.global weak hidden local_unnamed_addr @c() {addr_space = 3 : i32} : !llvm.array<4 x i64>

// -----
// accepted
llvm.mlir.global internal @g() : i64 {
  %0 = llvm.mlir.constant(1 : i64) : i64
  llvm.return %0 : i64
}

// -----
// refused: initializer region type 'i64' does not match global type 'f32'
llvm.mlir.global internal @g() : f32 {
  %0 = llvm.mlir.constant(1 : i64) : i64
  llvm.return %0 : i64
}

// -----
// refused: initializer region cannot return void
llvm.mlir.global internal @g() : i32 {
  llvm.return
}

// -----
// refused: cannot have both initializer value and region
llvm.mlir.global internal @g(7 : i32) : i32 {
  %0 = llvm.mlir.constant(7 : i32) : i32
  llvm.return %0 : i32
}

// -----
// refused: alignment attribute is not a power of 2
llvm.mlir.global private @g(1 : i32) {alignment = 12 : i64} : i32

// -----
// refused: requires an i8 array type of the length equal
llvm.mlir.global private @g("four") : !llvm.array<5 x i8>

// -----
// refused: expects type to be a valid element type
llvm.mlir.global private @g(1 : index) : index

// -----
// refused: expected zero value for 'common' linkage
llvm.mlir.global common @g(1 : i32) : i32

// -----
// refused: 'sym_name' is given twice
llvm.mlir.global private @g(1 : i32) {sym_name = "h"} : i32

// -----
// refused: linkage attribute
"llvm.mlir.global"() <{global_type = i32, linkage = #llvm.linkage<nowhere>, sym_name = "g"}> ({}) : () -> ()

// -----
// refused: must reference a global
llvm.func @f() {
  %0 = llvm.mlir.addressof @nowhere : !llvm.ptr
  llvm.return
}

// -----
// refused: must reference a global
func.func @other() { return }
llvm.func @f() {
  %0 = llvm.mlir.addressof @other : !llvm.ptr
  llvm.return
}

// -----
// refused: target attributes with at least 1 elements
gpu.module @m [] {
}

// -----
// refused: target attributes with at least 1 elements
gpu.module @m ["nvvm"] {
}

// -----
// accepted
gpu.module @m [#nvvm.target<chip = "sm_90">] {
}

// -----
// refused: negative address space
llvm.mlir.global private @g(1 : i32) {addr_space = -1 : i32} : i32

// -----
// refused: is a symbol, but 'llvm.func' around it has none
llvm.func @f() {
  llvm.mlir.global internal @g(1 : i32) : i32
  llvm.return
}
