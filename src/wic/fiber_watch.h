/* wic/fiber_watch.h: tells AddressSanitizer and ThreadSanitizer of stack switches. Empty in other
 * builds. */
#ifndef TIDE_WIC_FIBER_WATCH_H
#define TIDE_WIC_FIBER_WATCH_H

#include <stdbool.h>
#include <stddef.h>

#if defined(__SANITIZE_ADDRESS__)
#define TIDE_FIBER_ASAN
#elif defined(__SANITIZE_THREAD__)
#define TIDE_FIBER_TSAN
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TIDE_FIBER_ASAN
#elif __has_feature(thread_sanitizer)
#define TIDE_FIBER_TSAN
#endif
#endif

#if defined(TIDE_FIBER_ASAN)

#include <pthread.h>
#include <sanitizer/common_interface_defs.h>

/* Marks functions that never return: their frames must be on the stack itself. */
#define TIDE_FIBER_BARE __attribute__((no_sanitize("address")))

struct tide_fiber_watch {
  void *frames; /* the sanitizer's record of this stack's frames, while another stack runs */
  const void *stack;
  size_t bytes;
};

static inline void tide_fiber_watch_stack(struct tide_fiber_watch *watch, const void *stack,
                                          size_t bytes) {
  *watch = (struct tide_fiber_watch){NULL, stack, bytes};
}
static inline void tide_fiber_watch_thread(struct tide_fiber_watch *watch) {
  pthread_attr_t attributes;
  void *stack = NULL;
  size_t bytes = 0;
  if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
    pthread_attr_getstack(&attributes, &stack, &bytes);
    pthread_attr_destroy(&attributes);
  }
  tide_fiber_watch_stack(watch, stack, bytes);
}
static inline void tide_fiber_watch_end(struct tide_fiber_watch *watch) { (void)watch; }
/* `ends`: the frames of `from` are not needed any more. */
static inline void tide_fiber_watch_leave(struct tide_fiber_watch *from,
                                          struct tide_fiber_watch *to, bool ends) {
  if (ends) from->frames = NULL;
  __sanitizer_start_switch_fiber(ends ? NULL : &from->frames, to->stack, to->bytes);
}
static inline void tide_fiber_watch_arrive(struct tide_fiber_watch *at) {
  __sanitizer_finish_switch_fiber(at->frames, NULL, NULL);
}

#else

#define TIDE_FIBER_BARE

#if defined(TIDE_FIBER_TSAN)

#include <sanitizer/tsan_interface.h>

struct tide_fiber_watch {
  void *thread; /* the fiber, as the sanitizer knows it */
};

static inline void tide_fiber_watch_stack(struct tide_fiber_watch *watch, const void *stack,
                                          size_t bytes) {
  (void)stack, (void)bytes;
  watch->thread = __tsan_create_fiber(0);
}
static inline void tide_fiber_watch_thread(struct tide_fiber_watch *watch) {
  watch->thread = __tsan_get_current_fiber();
}
static inline void tide_fiber_watch_end(struct tide_fiber_watch *watch) {
  if (watch->thread) __tsan_destroy_fiber(watch->thread);
}
/* Must be the last call before the switch: later accesses are attributed to the other fiber. */
static inline void tide_fiber_watch_leave(struct tide_fiber_watch *from,
                                          struct tide_fiber_watch *to, bool ends) {
  (void)from, (void)ends;
  __tsan_switch_to_fiber(to->thread, 0);
}
static inline void tide_fiber_watch_arrive(struct tide_fiber_watch *at) { (void)at; }

#else

struct tide_fiber_watch {
  char nothing[0];
};

#define tide_fiber_watch_stack(watch, stack, bytes) ((void)0)
#define tide_fiber_watch_thread(watch) ((void)0)
#define tide_fiber_watch_end(watch) ((void)0)
#define tide_fiber_watch_leave(from, to, ends) ((void)(from), (void)(to), (void)(ends))
#define tide_fiber_watch_arrive(at) ((void)0)

#endif
#endif

#endif
