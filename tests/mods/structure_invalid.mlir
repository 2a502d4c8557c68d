// RUN: invalid
// What only the generic form can say: regions, blocks and types that do not fit each other.
"builtin.module"() ({
  // expected-error@+1 {{expects region #0 to have 0 or 1 blocks}}
  "gpu.module"() <{sym_name = "m"}> ({
    "gpu.module_end"() : () -> ()
  ^bb1:
    "gpu.module_end"() : () -> ()
  }) : () -> ()
}) : () -> ()
// -----
"builtin.module"() ({
  // expected-error@+1 {{has an empty block: expect at least a terminator}}
  "func.func"() <{function_type = () -> (), sym_name = "f"}> ({
    "cf.br"()[^bb1] : () -> ()
  ^bb1:
  }) : () -> ()
}) : () -> ()
// -----
func.func @f() {
  // expected-error@+1 {{requires 1 successor but found 0}}
  "cf.br"() : () -> ()
}
// -----
func.func @f(%c: i1) {
  // expected-error@+1 {{requires 2 regions, but found 1}}
  "scf.if"(%c) ({
    "scf.yield"() : () -> ()
  }) : (i1) -> ()
  return
}
// -----
func.func @f() {
^bb0:
  // expected-error@+1 {{entry block of region may not have predecessors}}
  "cf.br"()[^bb0] : () -> ()
}
// -----
func.func @f(%c: i1) {
  // expected-error@+1 {{expects regions to end with 'scf.yield', found 'scf.condition'}}
  scf.if %c {
    // expected-error@+2 {{expects parent op 'scf.while'}}
    // expected-note@+1 {{in custom textual format, the absence of terminator implies 'scf.yield'}}
    "scf.condition"(%c) : (i1) -> ()
  }
  return
}
// -----
func.func @f(%c: i1) {
  // expected-error@+1 {{expects the 'after' region to terminate with 'scf.yield'}}
  "scf.while"() ({
    "scf.condition"(%c) : (i1) -> ()
  }, {
    // expected-note@+1 {{terminator here}}
    "scf.condition"(%c) : (i1) -> ()
  }) : () -> ()
  return
}
// -----
func.func @f(%c: i1, %i: i32) {
  // expected-error@+1 {{type mismatch between result #0 and argument of 'after'}}
  %0 = "scf.while"(%i) ({
  ^bb0(%a: i32):
    "scf.condition"(%c, %a) : (i1, i32) -> ()
  }, {
  ^bb0(%a: i64):
    "scf.yield"(%i) : (i32) -> ()
  }) : (i32) -> i32
  return
}
// -----
func.func @f(%c: i1, %i: i32) {
  // expected-error@+1 {{expects as many arguments of 'after' as results}}
  %0 = "scf.while"(%i) ({
  ^bb0(%a: i32):
    "scf.condition"(%c, %a) : (i1, i32) -> ()
  }, {
    "scf.yield"(%i) : (i32) -> ()
  }) : (i32) -> i32
  return
}
// -----
func.func @f(%c: i1, %i: i32) {
  // expected-error@+1 {{type mismatch between operand #0 and argument of 'before'}}
  "scf.while"(%i) ({
  ^bb0(%a: i64):
    "scf.condition"(%c) : (i1) -> ()
  }, {
    "scf.yield"(%i) : (i32) -> ()
  }) : (i32) -> ()
  return
}
// -----
func.func @f(%c: i1, %i: i32) {
  // expected-error@+1 {{expects as many arguments of 'before' as operands}}
  "scf.while"(%i) ({
    "scf.condition"(%c) : (i1) -> ()
  }, {
    "scf.yield"(%i) : (i32) -> ()
  }) : (i32) -> ()
  return
}
// -----
func.func @f(%c: i1) {
  // expected-error@+1 {{requires that child entry blocks have no arguments}}
  "scf.if"(%c) ({
  ^bb0(%a: i32):
    "scf.yield"() : () -> ()
  }, {
  }) : (i1) -> ()
  return
}
// -----
func.func @f(%i: i32, %l: i64) {
  // expected-error@+1 {{types mismatch between 0th iter region arg and defined value}}
  %0 = "scf.for"(%i, %i, %i, %i) ({
  ^bb0(%n: i32, %a: i64):
    "scf.yield"(%i) : (i32) -> ()
  }) : (i32, i32, i32, i32) -> i32
  return
}
// -----
func.func @f(%i: i32, %l: i64) {
  // expected-error@+1 {{types mismatch between 0th iter operand and defined value}}
  %0 = "scf.for"(%i, %i, %i, %l) ({
  ^bb0(%n: i32, %a: i32):
    "scf.yield"(%i) : (i32) -> ()
  }) : (i32, i32, i32, i64) -> i32
  return
}
// -----
func.func @f(%i: i32) {
  // expected-error@+1 {{expected induction variable to be same type as bounds and step}}
  "scf.for"(%i, %i, %i) ({
  ^bb0(%n: i64):
    "scf.yield"() : () -> ()
  }) : (i32, i32, i32) -> ()
  return
}
// -----
func.func @f(%i: i32) {
  // expected-error@+1 {{mismatch in number of basic block args and defined values}}
  "scf.for"(%i, %i, %i) ({
  ^bb0(%n: i32, %a: i32):
    "scf.yield"() : () -> ()
  }) : (i32, i32, i32) -> ()
  return
}
// -----
func.func @f(%i: i32) {
  // expected-error@+1 {{mismatch in number of loop-carried values and defined values}}
  "scf.for"(%i, %i, %i, %i) ({
  ^bb0(%n: i32, %a: i32):
    "scf.yield"() : () -> ()
  }) : (i32, i32, i32, i32) -> ()
  return
}
// -----
gpu.module @m {
  gpu.func @k() kernel {
    // expected-error@+1 {{attribute 'dimension' failed to satisfy constraint: a dimension, either 'x', 'y', or 'z'}}
    %0 = "gpu.thread_id"() <{dimension = 7 : i32}> : () -> index
    gpu.return
  }
}
// -----
gpu.module @m {
  gpu.func @k() kernel {
    // expected-error@+1 {{attribute 'dimension' failed to satisfy constraint: a dimension, either 'x', 'y', or 'z'}}
    %0 = "gpu.thread_id"() <{dimension = #gpu<dim w>}> : () -> index
    gpu.return
  }
}
// -----
"builtin.module"() ({
  // expected-error@+1 {{entry block argument #0 is not of LLVM type or not of the signature's}}
  "llvm.func"() <{function_type = !llvm.func<void (i32)>, sym_name = "f"}> ({
  ^bb0(%a: i64):
    "llvm.return"() : () -> ()
  }) : () -> ()
}) : () -> ()
// -----
"builtin.module"() ({
  // expected-error@+1 {{entry block must have 1 arguments to match function signature}}
  "llvm.func"() <{function_type = !llvm.func<void (i32)>, sym_name = "f"}> ({
    "llvm.return"() : () -> ()
  }) : () -> ()
}) : () -> ()
// -----
"builtin.module"() ({
  // expected-error@+1 {{requires 'function_type' to be an LLVM function type}}
  "llvm.func"() <{function_type = () -> (), sym_name = "f"}> ({
    "llvm.return"() : () -> ()
  }) : () -> ()
}) : () -> ()
// -----
"builtin.module"() ({
  // expected-error@+1 {{type of entry block argument #0 must match the type of the corresponding argument in function signature}}
  "func.func"() <{function_type = (i32) -> (), sym_name = "f"}> ({
  ^bb0(%a: i64):
    "func.return"() : () -> ()
  }) : () -> ()
}) : () -> ()
// -----
"builtin.module"() ({
  // expected-error@+1 {{entry block must have 1 arguments to match function signature}}
  "func.func"() <{function_type = (i32) -> (), sym_name = "f"}> ({
    "func.return"() : () -> ()
  }) : () -> ()
}) : () -> ()
// -----
"builtin.module"() ({
  "gpu.module"() <{sym_name = "m"}> ({
    // expected-error@+1 {{expected body with at least one block}}
    "gpu.func"() <{function_type = () -> (), sym_name = "k"}> ({
    }) {gpu.kernel} : () -> ()
    "gpu.module_end"() : () -> ()
  }) : () -> ()
}) : () -> ()
// -----
"builtin.module"() ({
  "gpu.module"() <{sym_name = "m"}> ({
    // expected-error@+1 {{requires attribute 'sym_name'}}
    "gpu.func"() <{function_type = () -> ()}> ({
      "gpu.return"() : () -> ()
    }) {gpu.kernel} : () -> ()
    "gpu.module_end"() : () -> ()
  }) : () -> ()
}) : () -> ()
// -----
func.func @f() {
  // expected-error@+1 {{value must be an integer, float, or elements attribute}}
  %0 = "arith.constant"() <{value = "text"}> : () -> i32
  return
}
