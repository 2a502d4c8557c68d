/* tidemark/mods.h: persistent kernels as text, checked.
 *
 * The model. A *module* is a program in MLIR's textual form: gpu, arith, scf, llvm and the part of
 * the cutlass dialect that persistent kernels are made of. A module is parsed, verified, folded and
 * printed again; what is wrong with it goes to a *sink*, each diagnostic with its place in the
 * text.
 *
 * Inside an async region of such a kernel, `mods_report_mainloop_start` and `_end` open and close a
 * *window* around the main loop: a handshake of the whole cluster, by which its CTAs report their
 * progress. The *participants* are the CTAs, or the pairs of CTAs where one MMA spans two. The
 * calls at the end of this header put probes into a kernel; they derive the participants from the
 * cluster's shape.
 *
 * The operations are described in docs/mods.md.
 *
 * Threads: a module is used by one thread at a time.
 *
 * Source: seed 002; DESIGN 4.9.
 */
#ifndef TIDEMARK_MODS_H
#define TIDEMARK_MODS_H

#include "tidemark/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- diagnostics ---------------------------------------------------------------- */

enum tide_mods_severity {
  TIDE_MODS_ERROR = 1,
  TIDE_MODS_WARNING = 2,
  TIDE_MODS_REMARK = 3,
  TIDE_MODS_NOTE = 4 /* belongs to the diagnostic before it */
};

struct tide_mods_diagnostic {
  enum tide_mods_severity severity;
  const char *file;
  uint32_t line, column; /* 1-based; 0: it has no place */
  const char *text;      /* terminated */
  const char *source;    /* that line of the text, not terminated; NULL: not known */
  size_t source_length;
};

/* Everything in a diagnostic is valid during the call. */
struct tide_mods_sink {
  void (*diagnostic)(void *self, const struct tide_mods_diagnostic *diagnostic);
  void *self;
};

#ifdef __cplusplus
}
#endif
#endif
