/* How a test steers the GPU driver that is none (tests/plugins/cuda.c): tide_fake_cuda() of the
 * same shared object gives this. Fields are atomic. */
#ifndef TESTS_PLUGINS_CUDA_H
#define TESTS_PLUGINS_CUDA_H

#include <stdint.h>

struct fake_cuda {
  uint32_t calls;     /* that were made */
  uint32_t fail_at;   /* the call of this number, from 1 on, fails; what gives back does so first */
  uint32_t fail_with; /* with this answer */
  uint32_t held;      /* streams start nothing */
  uint32_t broken;  /* what all calls answer, since a kernel failed; streams drop what they have */
  uint32_t wrong;   /* calls that break the driver's rules */
  uint32_t devices; /* GPUs that there are */
  uint32_t version; /* of the driver */
  uint32_t abilities; /* bits: 1 unified addresses, 2 clusters, 4 waits for values */
  uint32_t live;      /* things that were made and not given back */
  uint32_t launched;  /* kernels that ran */
  uint32_t clustered; /* launches with a cluster of two */
};

typedef struct fake_cuda *fake_cuda_function(void);

#endif
