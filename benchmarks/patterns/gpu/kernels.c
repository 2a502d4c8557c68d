/* The GPU's kernels. Compiled to PTX by scripts/ptx; kernels.ptx beside this is what it gives. */
#include "wic/gpu_ptx.h"

#include "kernels.h"

#include "wic/gpu_wait.h"

#include "consumers.h"

GPU_KERNEL void pattern(struct gpu_arguments a);
GPU_KERNEL void pattern(struct gpu_arguments a) {
  pattern_warp(&a, gpu_shared_memory(), GPU_REGISTER("ctaid.x"), GPU_REGISTER("tid.x") / 32,
               GPU_REGISTER("ntid.x") / 32);
}

GPU_KERNEL void interference(struct gpu_interference a);
GPU_KERNEL void interference(struct gpu_interference a) {
  interference_warp(&a, gpu_shared_memory(), GPU_REGISTER("ctaid.x"), GPU_REGISTER("tid.x") / 32,
                    GPU_REGISTER("ntid.x") / 32);
}
