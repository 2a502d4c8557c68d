/* tool/mods_gpu.h: `tidemark mods run --device cuda`. */
#ifndef TIDE_TOOL_MODS_GPU_H
#define TIDE_TOOL_MODS_GPU_H

#include "tool/mods_launch.h"

struct tide_mods_gpu_choice {
  const char *driver; /* NULL: libcuda.so.1 */
  const char *ptx;    /* a file; NULL: the module is lowered */
  uint64_t repeat;    /* timed launches, after the checked one */
};

/* Repeats a launch that was good on the CPU on the GPU. The memory must be the same, byte for byte.
 * Returns the exit status; the reason for a failure has been printed. No GPU: prints that the
 * launch is skipped. */
int tide_mods_launch_on_gpu(struct tide_mods_launch *launch, struct tide_context *context,
                            const struct tide_mods_gpu_choice *choice, bool quiet);

#endif
