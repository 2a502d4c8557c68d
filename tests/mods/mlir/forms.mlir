// accepted
func.func @f(%a: i32, %x: f32, %w: f64) -> bf16 {
  %0 = arith.cmpi "slt", %a, %a : i32
  %1 = arith.cmpf "oeq", %x, %x : f32
  %2 = arith.truncf %x to_nearest_even : f32 to bf16
  %3 = arith.truncf %w toward_zero : f64 to f16
  return %2 : bf16
}

// -----
// accepted
llvm.func @f(%a: i32, %x: f32) {
  %0 = llvm.add %a, %a overflow<nuw,nsw> : i32
  %1 = llvm.sub %0, %a overflow<none> : i32
  %2 = llvm.shl %1, %a overflow<nsw, nsw> : i32
  %3 = llvm.fcmp "_true" %x, %x : f32
  llvm.return
}

// -----
// refused: expected one of none, nsw, nuw in overflow<…>
llvm.func @f(%a: i32) {
  %0 = llvm.add %a, %a overflow<wraps> : i32
  llvm.return
}

// -----
// refused: expected one of none, nsw, nuw in overflow<…>
func.func @f(%a: i32) {
  %0 = arith.addi %a, %a overflow<nsw, 0000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000> : i32
  return
}

// -----
// refused: fast-math flags
func.func @f(%x: f32) {
  %0 = "arith.addf"(%x, %x) <{fastmath = #arith.fastmath<quick>}> : (f32, f32) -> f32
  return
}

// -----
// refused: in fastmath<…>
func.func @f(%x: f32) {
  %0 = arith.addf %x, %x fastmath<nnan, quick> : f32
  return
}

// -----
// outside: 'predicate' is given twice
func.func @f(%a: i32) {
  %0 = arith.cmpi eq, %a, %a {predicate = 3 : i64} : i32
  return
}

// -----
// outside: 'value' is given twice
func.func @f() {
  %0 = arith.constant {value = 3 : i32} 2 : i32
  return
}

// -----
// refused: different number of region iter_args and yielded values: 2 != 1
func.func @f(%a: index, %x: f32) {
  %0:2 = scf.for %i = %a to %a step %a iter_args(%p = %x, %q = %x) -> (f32, f32) {
    scf.yield %p : f32
  }
  return
}

// -----
// refused: 0-th region iter_arg and 0-th yielded value have different type: 'f32' != 'index'
func.func @f(%a: index, %x: f32) {
  %0 = scf.for %i = %a to %a step %a iter_args(%p = %x) -> (f32) {
    scf.yield %i : index
  }
  return
}

// -----
// accepted
func.func @f(%a: i32, %t: tf32) -> f32 {
  %0 = arith.bitcast %a : i32 to tf32
  %1 = arith.bitcast %t : tf32 to f32
  %2 = arith.truncf %t : tf32 to bf16
  return %1 : f32
}

// -----
// refused: operand type 'i19' and result type 'tf32' are cast incompatible
func.func @f(%a: i19) {
  %0 = arith.bitcast %a : i19 to tf32
  return
}

// -----
// refused: result type 'f32' must be wider than operand type 'tf32'
func.func @f(%t: tf32) {
  %0 = arith.extf %t : tf32 to f32
  return
}

// -----
// accepted
func.func @f(%a: i32, %x: f32) -> f64 {
  %0 = arith.extf %x fastmath<nnan> : f32 to f64
  %1 = arith.truncf %x to_nearest_even fastmath<fast> : f32 to f16
  %2 = arith.truncf %x fastmath<contract> {more} : f32 to f16
  %3 = arith.andi %a, %a {overflowFlags = #arith.overflow<nsw>} : i32
  %4 = arith.cmpi eq, %a, %a {fastmath = #arith.fastmath<fast>} : i32
  return %0 : f64
}

// -----
// refused: expected ':'
func.func @f(%a: i32) {
  %0 = arith.andi %a, %a overflow<nsw> : i32
  return
}

// -----
// refused: expected ':'
func.func @f(%a: i32) {
  %0 = arith.addi %a, %a fastmath<fast> : i32
  return
}

// -----
// refused: expected ':'
func.func @f(%x: f32) {
  %0 = llvm.fadd %x, %x overflow<nsw> : f32
  return
}
