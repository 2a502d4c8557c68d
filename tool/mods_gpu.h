/* tool/mods_gpu.h: `tidemark mods run --device cuda`. */
#ifndef TIDE_TOOL_MODS_GPU_H
#define TIDE_TOOL_MODS_GPU_H

#include "tool/mods_launch.h"

struct tide_mods_gpu_choice {
  const char *driver; /* NULL: libcuda.so.1 */
  const char *ptx;    /* a file; NULL: the module is lowered */
  uint64_t repeat;    /* launches that are timed, after the one that is checked */
};

/* Behind a run on the CPU that was well: the same launch on the GPU, whose memory must be the same,
 * byte for byte. The exit status; why it is not 0 was said. No GPU: says so, and that it is
 * skipped. */
int tide_mods_launch_on_gpu(struct tide_mods_launch *launch, struct tide_context *context,
                            const struct tide_mods_gpu_choice *choice, bool quiet);

#endif
