/* mods/lower.h: ConvertPipelineToNVVM, and the way from there to what MLIR 19 takes.
 *
 * tide_lower changes a verified ir in place. *Form mods*: every operation of the cutlass dialect is
 * replaced, in one pass that hands out mbarriers and named barriers for all of them; the names are
 * those of "MODS Async Dispatch", and scf, arith and gpu stay. *Form nvvm* goes on: names that MLIR
 * 19 has, scf as branches, arith and gpu as llvm and nvvm, one builtin.module of llvm.funcs. It
 * goes through `mlir-opt-19 --convert-nvvm-to-llvm | mlir-translate-19 --mlir-to-llvmir` as it is.
 *
 * What each operation becomes is listed in docs/mods.md.
 *
 * Source: "MODS Async Dispatch"; "'nvvm' Dialect"; "PTX ISA".
 */
#ifndef TIDE_MODS_LOWER_H
#define TIDE_MODS_LOWER_H

#include "mods/ir.h"

enum tide_lower_form { TIDE_LOWER_MODS, TIDE_LOWER_NVVM };
/* The end of a window. Single (drain, wait), as in "MODS Async Dispatch", proves only that all CTAs
 * have entered; full (drain, wait, arrive, wait) that all have finished. */
enum tide_lower_end { TIDE_LOWER_END_SINGLE, TIDE_LOWER_END_FULL };

struct tide_lower_params {
  enum tide_lower_form form;
  enum tide_lower_end end;
  enum tide_ir_partial partial;
};

/* NULL params: mods, single, refused. TIDE_OK; TIDE_CORRUPT: errors were told, the ir is half done;
 * TIDE_NOMEM, TIDE_FULL. */
enum tide_status tide_lower(struct tide_ir *ir, const struct tide_lower_params *params);

/* How long a throttle of profile 1 sleeps. */
#define TIDE_LOWER_SLEEP_NANOSECONDS 64

#endif
