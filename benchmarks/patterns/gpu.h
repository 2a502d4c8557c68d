/* The patterns with a GPU's warps as consumers: the host produces, the GPU consumes. */
#ifndef PATTERNS_GPU_H
#define PATTERNS_GPU_H

#include "gpu/kernels.h"
#include "run.h"

/* What a pattern brings for that: a consumer's block of memory, as its kernel has it. */
struct gpu_part {
  enum gpu_pattern number;
  size_t (*size)(const struct settings *s);
  /* Fills in what is not zero; takes out what check looks at. */
  void (*load)(const void *state, uint32_t consumer, void *block);
  void (*store)(void *state, uint32_t consumer, const void *block);
};

struct gpu;

/* Opens the GPU and loads the kernels. NULL: why not is in `said`; *out_none (may be NULL): because
 * there is none. `driver`: as in tidemark/cuda.h. */
struct gpu *gpu_open(const char *driver, char *said, size_t size, bool *out_none);
void gpu_close(struct gpu *gpu);
const char *gpu_name(const struct gpu *gpu);

/* Algorithm 1 of the WIC paper first: the others are compared with it. */
#define GPU_WAY_COUNT 4
extern const struct way gpu_ways[GPU_WAY_COUNT];

/* Runs and checks it. */
void gpu_run(struct gpu *gpu, const struct pattern *pattern, const struct way *way,
             const struct settings *s, const struct pace *pace, enum plant plant,
             struct outcome *out);

/* How much so many waiting warps a block slow the working ones: their clocks, and the looks at
 * tags. Two blocks a multiprocessor. False: why not is in `said`. */
struct gpu_slowing {
  double clocks, looks; /* of one working warp; of one block */
};
bool gpu_interfere(struct gpu *gpu, const struct way *way, uint32_t workers, uint32_t waiters,
                   uint32_t rounds, struct gpu_slowing *out, char *said, size_t size);

#endif
