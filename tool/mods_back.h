/* tool/mods_back.h: from lowered text to LLVM IR and PTX, by the tools of Debian's mlir-19-tools
 * and llvm-19. */
#ifndef TIDE_TOOL_MODS_BACK_H
#define TIDE_TOOL_MODS_BACK_H

#include "tool/mods_commands.h"

struct tide_mods_text {
  char *bytes; /* malloc's, terminated */
  size_t size;
};

struct tide_mods_back {
  const char *chip;    /* "sm_90a" */
  uint32_t cluster[3]; /* added to the PTX, since LLVM does not do so */
  bool ptx;            /* else LLVM IR */
};
/* Replaces the text. False: the reason has been printed. */
bool tide_mods_back(const struct tide_mods_back *back, struct tide_mods_text *text);
/* Emits PTX for sm_90a from a module. False: the reason has been printed. The caller frees `out`,
 * even then. */
bool tide_mods_emit_ptx(struct tide_ir *ir, const char *path, struct tide_mods_text *out);

#endif
