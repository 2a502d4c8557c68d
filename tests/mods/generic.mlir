// RUN: valid
// As MLIR prints it without custom forms.
"builtin.module"() ({
  "gpu.module"() <{sym_name = "m"}> ({
    "gpu.func"() <{function_type = (!llvm.ptr, i1) -> ()}> ({
    ^bb0(%arg0: !llvm.ptr, %arg1: i1):
      %0 = "arith.constant"() <{value = 5 : i32}> : () -> i32
      "cf.cond_br"(%arg1, %0, %0)[^bb1, ^bb2] <{operandSegmentSizes = array<i32: 1, 1, 1>}> : (i1, i32, i32) -> ()
    ^bb1(%1: i32):
      "cf.br"(%1)[^bb2] : (i32) -> ()
    ^bb2(%2: i32):
      %pair = "llvm.mlir.undef"() : () -> !llvm.struct<(i32, ptr<3>)>
      %filled = "llvm.insertvalue"(%pair, %2) <{position = array<i64: 0>}> : (!llvm.struct<(i32, ptr<3>)>, i32) -> !llvm.struct<(i32, ptr<3>)>
      "llvm.store"(%2, %arg0) <{ordering = 0 : i64}> : (i32, !llvm.ptr) -> ()
      "gpu.return"() : () -> ()
    }) {gpu.kernel, sym_name = "k", workgroup_attributions = 0 : i64} : () -> ()
    "gpu.module_end"() : () -> ()
  }) : () -> ()
}) : () -> ()
