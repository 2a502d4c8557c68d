/* What the compiler calls in code that was compiled with -fsanitize=thread: here
 * that code meets the explorer. */
#include "core.h"

#include <string.h>

#define CALLER ((uintptr_t)__builtin_return_address(0))

#pragma GCC diagnostic ignored "-Wmissing-prototypes"

void __tsan_init(void) {}
void __tsan_func_entry(void *caller) {
  (void)caller;
  memory_enter((uintptr_t)__builtin_frame_address(0));
}
void __tsan_func_exit(void) { memory_leave(CALLER); }

/* ---- plain accesses ---- */

#define PLAIN(name, size)                                                                          \
  void __tsan_read##name(void *p) { memory_plain((uintptr_t)p, size, false, CALLER); }             \
  void __tsan_write##name(void *p) { memory_plain((uintptr_t)p, size, true, CALLER); }             \
  void __tsan_unaligned_read##name(void *p) { memory_plain((uintptr_t)p, size, false, CALLER); }   \
  void __tsan_unaligned_write##name(void *p) { memory_plain((uintptr_t)p, size, true, CALLER); }   \
  void __tsan_volatile_read##name(void *p) { memory_plain((uintptr_t)p, size, false, CALLER); }    \
  void __tsan_volatile_write##name(void *p) { memory_plain((uintptr_t)p, size, true, CALLER); }
PLAIN(1, 1)
PLAIN(2, 2)
PLAIN(4, 4)
PLAIN(8, 8)
PLAIN(16, 16)

void __tsan_read_range(void *p, size_t size) { memory_plain((uintptr_t)p, size, false, CALLER); }
void __tsan_write_range(void *p, size_t size) { memory_plain((uintptr_t)p, size, true, CALLER); }

/* Interleaved code calls these by the C library's names (-Dmemcpy=interleave_memcpy …; clang:
 * __tsan_…). */
void *interleave_memcpy(void *restrict to, const void *restrict from, size_t size) {
  memory_plain((uintptr_t)from, size, false, CALLER);
  memory_plain((uintptr_t)to, size, true, CALLER);
  return memcpy(to, from, size);
}
void *interleave_memmove(void *to, const void *from, size_t size) {
  memory_plain((uintptr_t)from, size, false, CALLER);
  memory_plain((uintptr_t)to, size, true, CALLER);
  return memmove(to, from, size);
}
void *interleave_memset(void *to, int byte, size_t size) {
  memory_plain((uintptr_t)to, size, true, CALLER);
  return memset(to, byte, size);
}
int interleave_memcmp(const void *a, const void *b, size_t size) {
  memory_plain((uintptr_t)a, size, false, CALLER);
  memory_plain((uintptr_t)b, size, false, CALLER);
  return memcmp(a, b, size);
}
void *__tsan_memcpy(void *to, const void *from, size_t size)
    __attribute__((alias("interleave_memcpy")));
void *__tsan_memmove(void *to, const void *from, size_t size)
    __attribute__((alias("interleave_memmove")));
void *__tsan_memset(void *to, int byte, size_t size) __attribute__((alias("interleave_memset")));

/* ---- atomic ones ---- */

static void step(enum kind kind, const volatile void *p, unsigned size, int order, uintptr_t pc) {
  if (interleave_exploring) interleave_step((struct step){kind, order, (uintptr_t)p, size, pc});
}

/* A lock is taken by an exchange that comes right behind this: it is part of this step. */
static bool taking;
void interleave_lock(uint32_t *word) {
  if (!interleave_exploring) return;
  interleave_step((struct step){LOCK, __ATOMIC_ACQUIRE, (uintptr_t)word, 4, CALLER});
  taking = true;
}
void interleave_unlock(uint32_t *word) {
  if (!interleave_exploring) return;
  interleave_step((struct step){UNLOCK, __ATOMIC_RELEASE, (uintptr_t)word, 4, CALLER});
  taking = true;
}

static void write_step(const volatile void *p, unsigned size, uintptr_t pc) {
  bool part = taking;
  taking = false;
  if (!part) step(WRITE, p, size, 0, pc);
}

#define MODIFY(bits, type, name, how)                                                              \
  type __tsan_atomic##bits##_##name(volatile type *p, type v, int order) {                         \
    write_step(p, sizeof *p, CALLER);                                                              \
    return (type)memory_modify((uintptr_t)p, sizeof *p, how, v, order, CALLER);                    \
  }
#define ATOMIC(bits, type)                                                                         \
  type __tsan_atomic##bits##_load(const volatile type *p, int order) {                             \
    step(READ, p, sizeof *p, order, CALLER);                                                       \
    return (type)memory_load((uintptr_t)p, sizeof *p, order, CALLER);                              \
  }                                                                                                \
  void __tsan_atomic##bits##_store(volatile type *p, type v, int order) {                          \
    write_step(p, sizeof *p, CALLER);                                                              \
    memory_store((uintptr_t)p, sizeof *p, v, order, CALLER);                                       \
  }                                                                                                \
  MODIFY(bits, type, exchange, EXCHANGE)                                                           \
  MODIFY(bits, type, fetch_add, ADD)                                                               \
  MODIFY(bits, type, fetch_sub, SUB)                                                               \
  MODIFY(bits, type, fetch_and, AND)                                                               \
  MODIFY(bits, type, fetch_or, OR)                                                                 \
  MODIFY(bits, type, fetch_xor, XOR)                                                               \
  int __tsan_atomic##bits##_compare_exchange_strong(volatile type *p, type *expected,              \
                                                    type desired, int order, int failure) {        \
    uint64_t old = *expected;                                                                      \
    write_step(p, sizeof *p, CALLER);                                                              \
    bool done =                                                                                    \
        memory_compare_exchange((uintptr_t)p, sizeof *p, &old, desired, order, failure, CALLER);   \
    *expected = (type)old;                                                                         \
    return done;                                                                                   \
  }                                                                                                \
  int __tsan_atomic##bits##_compare_exchange_weak(volatile type *p, type *expected, type desired,  \
                                                  int order, int failure)                          \
      __attribute__((alias("__tsan_atomic" #bits "_compare_exchange_strong")));                    \
  type __tsan_atomic##bits##_compare_exchange_val(volatile type *p, type expected, type desired,   \
                                                  int order, int failure) {                        \
    uint64_t old = expected;                                                                       \
    write_step(p, sizeof *p, CALLER);                                                              \
    memory_compare_exchange((uintptr_t)p, sizeof *p, &old, desired, order, failure, CALLER);       \
    return (type)old;                                                                              \
  }

ATOMIC(8, uint8_t)
ATOMIC(16, uint16_t)
ATOMIC(32, uint32_t)
ATOMIC(64, uint64_t)
