/* Calling built-in bodies by name, over slices that end where memory ends. */
#ifndef TESTS_UNIT_KERNEL_CALL_H
#define TESTS_UNIT_KERNEL_CALL_H

#include "harness.h"
#include "tidemark/kernel.h"

#include <string.h>
#include <sys/mman.h>

#define PAGE 4096u

/* A slice with unreadable memory on both sides: flush with the end, or (from_start) `skew` bytes
 * behind the start. Touching the page before or after kills the case. */
static inline struct tide_argument slice_at(size_t size, size_t skew, bool from_start) {
  size_t inner = (size + skew + PAGE - 1) / PAGE * PAGE + PAGE;
  unsigned char *map = mmap(NULL, inner + 2 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(map != MAP_FAILED);
  CHECK(mprotect(map + PAGE, inner, PROT_READ | PROT_WRITE) == 0);
  unsigned char *data = from_start ? map + PAGE + skew : map + PAGE + inner - size;
  return (struct tide_argument){.data = data, .size = size};
}
static inline struct tide_argument slice(size_t size) { return slice_at(size, 0, false); }
static inline struct tide_argument integer(int64_t value) {
  return (struct tide_argument){.integer = value};
}
static inline struct tide_argument descriptor(int value) {
  return (struct tide_argument){.descriptor = value};
}
static inline void slice_drop(struct tide_argument *slice, size_t skew, bool from_start) {
  size_t inner = (slice->size + skew + PAGE - 1) / PAGE * PAGE + PAGE;
  unsigned char *data = slice->data;
  unsigned char *map = from_start ? data - skew - PAGE : data + slice->size - inner - PAGE;
  CHECK(munmap(map, inner + 2 * PAGE) == 0);
}

#define CALL(name, ...)                                                                            \
  call_body(name, (struct tide_argument[]){__VA_ARGS__},                                           \
            sizeof((struct tide_argument[]){__VA_ARGS__}) / sizeof(struct tide_argument))

/* Parameters that are left out get their fallback. */
static inline enum tide_status call_body(const char *name, const struct tide_argument *given,
                                         size_t count) {
  const struct tide_body *body = tide_kernel_find(name);
  if (!body) FAIL("there is no body '%s'", name);
  struct tide_argument arguments[TIDE_PARAMS_MAX];
  memset(arguments, 0, sizeof arguments);
  CHECK(count <= body->param_count);
  for (size_t i = 0; i < body->param_count; i++) {
    if (i < count) arguments[i] = given[i];
    else CHECK(body->params[i].optional);
    if (i >= count && body->params[i].kind == TIDE_PARAM_INTEGER)
      arguments[i].integer = body->params[i].fallback;
  }
  return body->class_.host(arguments);
}

static inline uint32_t u32_at(const struct tide_argument *slice, size_t index) {
  uint32_t word;
  memcpy(&word, (unsigned char *)slice->data + index * sizeof word, sizeof word);
  return word;
}
static inline void u32_set(const struct tide_argument *slice, size_t index, uint32_t word) {
  memcpy((unsigned char *)slice->data + index * sizeof word, &word, sizeof word);
}
static inline uint64_t u64_at(const struct tide_argument *slice, size_t index) {
  uint64_t word;
  memcpy(&word, (unsigned char *)slice->data + index * sizeof word, sizeof word);
  return word;
}
static inline void u64_set(const struct tide_argument *slice, size_t index, uint64_t word) {
  memcpy((unsigned char *)slice->data + index * sizeof word, &word, sizeof word);
}

#endif
