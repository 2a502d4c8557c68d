/* mods/lower.h: ConvertPipelineToNVVM, and the rest of the way to input for MLIR 19.
 *
 * tide_lower changes a verified ir in place. *Form mods*: one pass replaces every operation of the
 * cutlass dialect and assigns mbarriers and named barriers for all of them. The names are those of
 * "MODS Async Dispatch"; scf, arith and gpu stay. *Form nvvm* goes on: names that MLIR 19 has, scf
 * as branches, arith and gpu as llvm and nvvm, one builtin.module of llvm.funcs. The result goes
 * unchanged through `mlir-opt-19 --convert-nvvm-to-llvm | mlir-translate-19 --mlir-to-llvmir`.
 *
 * docs/mods.md lists the replacement of each operation.
 *
 * Source: "MODS Async Dispatch"; "'nvvm' Dialect"; "PTX ISA". */
#ifndef TIDE_MODS_LOWER_H
#define TIDE_MODS_LOWER_H

#include "mods/ir.h"

enum tide_lower_form { TIDE_LOWER_MODS, TIDE_LOWER_NVVM };
/* The end of a window. Single (drain, wait), as in "MODS Async Dispatch", proves only that all CTAs
 * have entered; full (drain, wait, arrive, wait) proves that all have finished. */
enum tide_lower_end { TIDE_LOWER_END_SINGLE, TIDE_LOWER_END_FULL };

struct tide_lower_params {
  enum tide_lower_form form;
  enum tide_lower_end end;
  enum tide_ir_partial partial;
};

/* NULL params: form mods, single end, partial masks refused. Returns TIDE_OK; TIDE_CORRUPT after
 * reporting errors, with the ir half lowered; TIDE_NOMEM; TIDE_FULL. */
enum tide_status tide_lower(struct tide_ir *ir, const struct tide_lower_params *params);

/* Sleep of a throttle of profile 1. */
#define TIDE_LOWER_SLEEP_NANOSECONDS 64

#endif
