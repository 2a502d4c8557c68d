// not lowered: has a value of type '() -> ()', which is not lowered; mlir-opt can lower it before
func.func @f(%a: () -> ()) -> (() -> ()) {
  return %a : () -> ()
}

// -----
// not lowered: this is kept as it is written, and outside of what is lowered; mlir-opt can lower it before
func.func @f() {
  %0 = arith.constant dense<[1, 2]> : tensor<2xi64>
  return
}

// -----
// not lowered: has a value of type 'si32'
func.func @f(%a: si32) {
  return
}

// -----
// not lowered: has a rounding mode that llvm.fptrunc lacks
func.func @f(%x: f32) -> bf16 {
  %0 = arith.truncf %x toward_zero : f32 to bf16
  return %0 : bf16
}

// -----
// accepted
func.func @f(%x: f32) -> bf16 {
  %0 = arith.truncf %x to_nearest_even : f32 to bf16
  %1 = arith.maximumf %x, %x : f32
  return %0 : bf16
}

// -----
// not lowered: has a type that no llvm.func has
func.func @f() -> (i32, i32) {
  %0 = arith.constant 1 : i32
  return %0, %0 : i32, i32
}

// -----
// not lowered: redefinition of symbol named 'f'
func.func @f() { return }
gpu.module @m {
  gpu.func @f() kernel { gpu.return }
}

// -----
// not lowered: has 'llvm.emit_c_interface', which is outside of what is lowered
func.func @f() attributes {llvm.emit_c_interface} {
  return
}

// -----
// accepted
module attributes {my.note = 1 : i32, gpu.container_module} {
}

// -----
// not lowered: has an argument or a result with 'nvvm.note'
llvm.func @k(%p: !llvm.ptr {nvvm.note}) attributes {nvvm.kernel} {
  llvm.return
}

// -----
// not lowered: this is kept as it is written
func.func @f() attributes {my.map = affine_map<(d0) -> (d0)>} {
  return
}
