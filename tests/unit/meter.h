/* An allocator for several threads that counts, and that refuses one allocation. */
#ifndef TESTS_UNIT_METER_H
#define TESTS_UNIT_METER_H

#include "base/atomic.h"
#include "tidemark/base.h"

#include <string.h>

struct meter {
  uint64_t asked, fail_at; /* the allocation that fails; 0: none */
  int64_t out, bytes;      /* not freed */
  uint64_t total;          /* bytes of all allocations so far */
};

static inline void *meter_alloc(void *self, size_t size, size_t align) {
  struct meter *meter = self;
  uint64_t number = tide_fetch_add(&meter->asked, (uint64_t)1) + 1;
  if (number == tide_load_acquire(&meter->fail_at)) return NULL;
  tide_fetch_add(&meter->out, (int64_t)1);
  tide_fetch_add(&meter->bytes, (int64_t)size);
  tide_fetch_add(&meter->total, (uint64_t)size);
  return tide_allocator_system()->alloc(NULL, size, align);
}

static inline void meter_free(void *self, void *memory, size_t size) {
  memset(memory, 0xdd, size);
  tide_fetch_sub(&((struct meter *)self)->out, (int64_t)1);
  tide_fetch_sub(&((struct meter *)self)->bytes, (int64_t)size);
  tide_allocator_system()->free(NULL, memory, size);
}

/* Refuses the allocation after `more` others; returns the number of those that are not freed. */
static inline uint64_t meter_refuse(struct meter *meter, uint64_t more) {
  tide_store_release(&meter->fail_at, tide_load_acquire(&meter->asked) + more + 1);
  return (uint64_t)tide_load_acquire(&meter->out);
}

#endif
