/* wic/gpu_ptx.h: the GPU operations that gpu_wait.h needs, as PTX. For clang
 * --target=nvptx64-nvidia-cuda, with -fconvergent-functions; no header of CUDA is needed. Pointers
 * are generic. */
#ifndef TIDE_WIC_GPU_PTX_H
#define TIDE_WIC_GPU_PTX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GPU_KERNEL __attribute__((nvptx_kernel, visibility("default")))
#define GPU_FUNCTION static inline __attribute__((always_inline))
#define GPU_REGISTER(name)                                                                         \
  ({                                                                                               \
    uint32_t value_;                                                                               \
    __asm__ volatile("mov.u32 %0, %%" name ";" : "=r"(value_));                                    \
    value_;                                                                                        \
  })

GPU_FUNCTION uint32_t gpu_lane(void) { return GPU_REGISTER("tid.x") & 31; }
/* GPU_EACH divides a loop's rounds among a warp's lanes; GPU_LANES runs its body once in each
 * lane. */
#define GPU_EACH(i, count) for (uint32_t i = gpu_lane(); i < (count); i += 32)
#define GPU_LANES(lane) for (uint32_t lane = gpu_lane(), once_ = 1; once_; once_ = 0)
#define GPU_ONE() (gpu_lane() == 0)

extern __attribute__((address_space(3), aligned(128))) unsigned char gpu_dynamic[];
GPU_FUNCTION void *gpu_shared_memory(void) { return (void *)gpu_dynamic; }
GPU_FUNCTION uint32_t gpu_shared_address(const void *at) {
  uint64_t address;
  __asm__("cvta.to.shared.u64 %0, %1;" : "=l"(address) : "l"(at));
  return (uint32_t)address;
}

GPU_FUNCTION uint64_t gpu_now(void) { /* ns */
  uint64_t time;
  __asm__ volatile("mov.u64 %0, %%globaltimer;" : "=l"(time)::"memory");
  return time;
}
GPU_FUNCTION uint64_t gpu_clock(void) {
  uint64_t time;
  __asm__ volatile("mov.u64 %0, %%clock64;" : "=l"(time)::"memory");
  return time;
}
GPU_FUNCTION void gpu_pause(uint32_t ns) {
  __asm__ volatile("nanosleep.u32 %0;" ::"r"(ns) : "memory");
}

/* Scopes: _system is the host and all GPUs, _block this block's threads. */
GPU_FUNCTION uint32_t gpu_load_system(const uint32_t *at) {
  uint32_t value;
  __asm__ volatile("ld.acquire.sys.u32 %0, [%1];" : "=r"(value) : "l"(at) : "memory");
  return value;
}
GPU_FUNCTION void gpu_store_system(uint32_t *at, uint32_t value) {
  __asm__ volatile("st.release.sys.u32 [%0], %1;" ::"l"(at), "r"(value) : "memory");
}
GPU_FUNCTION uint32_t gpu_load_block(const uint32_t *at) {
  uint32_t value;
  __asm__ volatile("ld.acquire.cta.u32 %0, [%1];" : "=r"(value) : "l"(at) : "memory");
  return value;
}
GPU_FUNCTION void gpu_store_block(uint32_t *at, uint32_t value) {
  __asm__ volatile("st.release.cta.u32 [%0], %1;" ::"l"(at), "r"(value) : "memory");
}
/* Adds atomically, among the lanes of a warp and the warps of a block. Returns the previous
 * value. */
GPU_FUNCTION uint32_t gpu_add(uint32_t *at, uint32_t value) {
  uint32_t before;
  __asm__ volatile("atom.acq_rel.cta.add.u32 %0, [%1], %2;"
                   : "=r"(before)
                   : "l"(at), "r"(value)
                   : "memory");
  return before;
}

GPU_FUNCTION void gpu_add_wide(uint64_t *at, uint64_t value) {
  __asm__ volatile("red.relaxed.gpu.add.u64 [%0], %1;" ::"l"(at), "l"(value) : "memory");
}

/* A barrier in shared memory, which also counts bytes that are still to arrive. */
GPU_FUNCTION void gpu_barrier_init(uint64_t *barrier, uint32_t count) {
  __asm__ volatile(
      "mbarrier.init.shared::cta.b64 [%0], %1;\n\tfence.mbarrier_init.release.cluster;" ::"r"(
          gpu_shared_address(barrier)),
      "r"(count)
      : "memory");
}
GPU_FUNCTION void gpu_barrier_arrive(uint64_t *barrier) {
  uint64_t state;
  __asm__ volatile("mbarrier.arrive.release.cta.shared::cta.b64 %0, [%1];"
                   : "=l"(state)
                   : "r"(gpu_shared_address(barrier))
                   : "memory");
}
GPU_FUNCTION void gpu_barrier_expect(uint64_t *barrier, uint32_t bytes) {
  uint64_t state;
  __asm__ volatile("mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 %0, [%1], %2;"
                   : "=l"(state)
                   : "r"(gpu_shared_address(barrier)), "r"(bytes)
                   : "memory");
}
/* True if the phase is over. The hardware may suspend the warp for up to `ns` until it is. */
GPU_FUNCTION bool gpu_barrier_try(uint64_t *barrier, uint32_t parity, uint32_t ns) {
  uint32_t over;
  __asm__ volatile("{\n\t.reg .pred p;\n\t"
                   "mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 p, [%1], %2, %3;\n\t"
                   "selp.u32 %0, 1, 0, p;\n\t}"
                   : "=r"(over)
                   : "r"(gpu_shared_address(barrier)), "r"(parity), "r"(ns)
                   : "memory");
  return over;
}
/* Copies to shared memory; `bytes` and both addresses are multiples of 16. The bytes arrive at the
 * barrier. The copy uses another proxy to memory; the fence makes it see data acquired before. */
GPU_FUNCTION void gpu_bulk_copy(void *to, const void *from, uint32_t bytes, uint64_t *barrier) {
  uint64_t global;
  __asm__("cvta.to.global.u64 %0, %1;" : "=l"(global) : "l"(from));
  __asm__ volatile("fence.proxy.async;\n\tcp.async.bulk.shared::cluster.global.mbarrier::"
                   "complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(gpu_shared_address(to)),
                   "l"(global), "r"(bytes), "r"(gpu_shared_address(barrier))
                   : "memory");
}

GPU_FUNCTION void gpu_sync_warp(void) {
  __asm__ volatile("bar.warp.sync 0xffffffff;" ::: "memory");
}
/* Synchronises `threads` threads of this block. */
GPU_FUNCTION void gpu_sync_threads(uint32_t id, uint32_t threads) {
  __asm__ volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}
/* True if the condition holds in any lane. */
GPU_FUNCTION bool gpu_any(bool what) {
  uint32_t any;
  __asm__ volatile("{\n\t.reg .pred p, q;\n\tsetp.ne.u32 p, %1, 0;\n\t"
                   "vote.sync.any.pred q, p, 0xffffffff;\n\tselp.u32 %0, 1, 0, q;\n\t}"
                   : "=r"(any)
                   : "r"((uint32_t)what)
                   : "memory");
  return any;
}

#endif
