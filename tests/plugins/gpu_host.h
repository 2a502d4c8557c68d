/* What gpu_wait.h needs of a GPU, on the host: a thread is a warp, which does its lanes' rounds one
 * after the other. The same text as a GPU's then runs under the sanitizers. */
#ifndef TESTS_PLUGINS_GPU_HOST_H
#define TESTS_PLUGINS_GPU_HOST_H

#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#define GPU_FUNCTION static inline
#define GPU_EACH(i, count) for (uint32_t i = 0; i < (count); i++)
#define GPU_LANES(lane) for (uint32_t lane = 0; lane < 32; lane++)
#define GPU_ONE() true

/* A block's barriers, for the thread that is one of its warps. */
struct host_block {
  pthread_mutex_t lock;
  struct {
    pthread_cond_t changed;
    uint32_t waiting, generation;
  } barriers[2];
};
static __thread struct host_block *host_block;

GPU_FUNCTION uint32_t gpu_lane(void) { return 0; }
GPU_FUNCTION uint64_t gpu_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}
GPU_FUNCTION uint64_t gpu_clock(void) { return gpu_now(); }
GPU_FUNCTION void gpu_pause(uint32_t ns) {
  (void)ns;
  sched_yield();
}

GPU_FUNCTION uint32_t gpu_load_system(const uint32_t *at) {
  uint32_t value = __atomic_load_n(at, __ATOMIC_ACQUIRE);
  sched_yield(); /* whoever looks in a loop lets others run */
  return value;
}
GPU_FUNCTION void gpu_store_system(uint32_t *at, uint32_t value) {
  __atomic_store_n(at, value, __ATOMIC_RELEASE);
}
GPU_FUNCTION uint32_t gpu_load_block(const uint32_t *at) {
  return __atomic_load_n(at, __ATOMIC_ACQUIRE);
}
GPU_FUNCTION void gpu_store_block(uint32_t *at, uint32_t value) {
  __atomic_store_n(at, value, __ATOMIC_RELEASE);
}
GPU_FUNCTION uint32_t gpu_add(uint32_t *at, uint32_t value) {
  return __atomic_fetch_add(at, value, __ATOMIC_ACQ_REL);
}
GPU_FUNCTION void gpu_add_wide(uint64_t *at, uint64_t value) {
  __atomic_fetch_add(at, value, __ATOMIC_RELAXED);
}

/* An mbarrier: its phase's parity, what the phase still waits for, and what each waits for. A phase
 * ends when no arrival and no byte is missing. */
#define HOST_PHASE (UINT64_C(1) << 63)
#define HOST_BYTES(word) ((uint32_t)((word) >> 32) & 0x7fffffffu)
#define HOST_MISSING(word) ((uint32_t)(word)&0xffffu)
#define HOST_COUNT(word) ((uint32_t)(word) >> 16)

GPU_FUNCTION void gpu_barrier_init(uint64_t *barrier, uint32_t count) {
  __atomic_store_n(barrier, (uint64_t)count << 16 | count, __ATOMIC_RELEASE);
}

GPU_FUNCTION void host_barrier_change(uint64_t *barrier, uint32_t arrivals, uint32_t expected,
                                      uint32_t came) {
  uint64_t old = __atomic_load_n(barrier, __ATOMIC_RELAXED), new;
  do {
    uint32_t bytes = HOST_BYTES(old) + expected - came, missing = HOST_MISSING(old) - arrivals;
    uint64_t phase = old & HOST_PHASE;
    if (!bytes && !missing) {
      phase ^= HOST_PHASE;
      missing = HOST_COUNT(old);
    }
    new = phase | (uint64_t)bytes << 32 | (uint64_t)HOST_COUNT(old) << 16 | missing;
  } while (
      !__atomic_compare_exchange_n(barrier, &old, new, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED));
}

GPU_FUNCTION void gpu_barrier_arrive(uint64_t *barrier) { host_barrier_change(barrier, 1, 0, 0); }
GPU_FUNCTION void gpu_barrier_expect(uint64_t *barrier, uint32_t bytes) {
  host_barrier_change(barrier, 1, bytes, 0);
}
GPU_FUNCTION bool gpu_barrier_try(uint64_t *barrier, uint32_t parity, uint32_t ns) {
  (void)ns;
  for (int i = 0; i < 8; i++) {
    if ((__atomic_load_n(barrier, __ATOMIC_ACQUIRE) & HOST_PHASE ? 1u : 0u) != parity) return true;
    sched_yield();
  }
  return false;
}
GPU_FUNCTION void gpu_bulk_copy(void *to, const void *from, uint32_t bytes, uint64_t *barrier) {
  memcpy(to, from, bytes);
  host_barrier_change(barrier, 0, 0, bytes);
}

GPU_FUNCTION void gpu_sync_warp(void) {}
GPU_FUNCTION void gpu_sync_threads(uint32_t id, uint32_t threads) {
  struct host_block *block = host_block;
  pthread_mutex_lock(&block->lock);
  uint32_t generation = block->barriers[id].generation;
  if (++block->barriers[id].waiting == threads / 32) {
    block->barriers[id].waiting = 0;
    block->barriers[id].generation++;
    pthread_cond_broadcast(&block->barriers[id].changed);
  }
  while (block->barriers[id].generation == generation)
    pthread_cond_wait(&block->barriers[id].changed, &block->lock);
  pthread_mutex_unlock(&block->lock);
}
GPU_FUNCTION bool gpu_any(bool what) { return what; }

#endif
