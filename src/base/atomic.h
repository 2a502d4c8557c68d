/* base/atomic.h: the only way to touch memory that two threads share.
 *
 * Plain structs over the compiler's atomics, so that public headers stay C++ and
 * an explorer of interleavings can replace this one file. No stand-alone fences:
 * ThreadSanitizer cannot see them. */
#ifndef TIDE_BASE_ATOMIC_H
#define TIDE_BASE_ATOMIC_H

#include <stdbool.h>
#include <stdint.h>

#define tide_load_relaxed(p) __atomic_load_n((p), __ATOMIC_RELAXED)
#define tide_load_acquire(p) __atomic_load_n((p), __ATOMIC_ACQUIRE)
#define tide_load_ordered(p) __atomic_load_n((p), __ATOMIC_SEQ_CST)
#define tide_store_relaxed(p, v) __atomic_store_n((p), (v), __ATOMIC_RELAXED)
#define tide_store_release(p, v) __atomic_store_n((p), (v), __ATOMIC_RELEASE)
#define tide_store_ordered(p, v) __atomic_store_n((p), (v), __ATOMIC_SEQ_CST)
#define tide_exchange(p, v) __atomic_exchange_n((p), (v), __ATOMIC_ACQ_REL)
#define tide_fetch_add(p, v) __atomic_fetch_add((p), (v), __ATOMIC_ACQ_REL)
#define tide_fetch_sub(p, v) __atomic_fetch_sub((p), (v), __ATOMIC_ACQ_REL)
#define tide_fetch_or(p, v) __atomic_fetch_or((p), (v), __ATOMIC_ACQ_REL)

/* True if *p was *expected and is now `desired`; else stores the value of *p in *expected. */
#define tide_compare_exchange(p, expected, desired)                                                \
  __atomic_compare_exchange_n((p), (expected), (desired), false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)

static inline void tide_pause(void) {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#endif
}

#endif
