/* From 64 to a million consumer threads in warps of 32, each warp a fiber: it computes, loads a
 * message of 4 KiB that a producer makes, computes, and is done. All on one core, the producer on
 * the other. */
#ifndef PATTERNS_SCALE_H
#define PATTERNS_SCALE_H

#include "run.h"

struct scale {
  uint32_t warps;
  uint32_t us;  /* that a message's production takes, and a warp's work before and after it */
  bool polls;   /* a warp looks for its message and yields, as in Algorithm 1 */
  bool batched; /* 16 warps' pages are asked for in one call */
  uint32_t outstanding; /* warps that may be under way, and so stalled, at once; 0: all */
};

#define SCALE_WARP 32 /* threads */

struct scale_outcome {
  uint64_t ns, faults;
  bool good;
  const char *said; /* why not; a constant */
};

void scale_run(const struct scale *s, struct scale_outcome *out);

#endif
