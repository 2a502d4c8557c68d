/* Allocator without a C library: size classes, each with a free list. view_heap_begin frees
 * everything at once. */
#include "view_state.h"

#if defined(__wasm__)

#define PAGE 65536u
#define CLASSES 160

extern unsigned char __heap_base;

struct piece {
  struct piece *next;
};

static struct {
  uintptr_t next, end;
  struct piece *given_back[CLASSES];
} heap;

/* Rounds a size up to its class: steps of 16 up to 64, of 64 up to 1024, then four steps per
 * doubling. A full doubling is step 0 of the next one. */
static unsigned class_of(size_t size, size_t *out_whole) {
  if (size <= 64) {
    *out_whole = (size + 15) & ~(size_t)15;
    return (unsigned)(*out_whole / 16); /* 0 … 4 */
  }
  if (size <= 1024) {
    *out_whole = (size + 63) & ~(size_t)63;
    return (unsigned)(4 + *out_whole / 64); /* 6 … 20 */
  }
  unsigned bits = 31 - (unsigned)__builtin_clz((unsigned)size); /* size >= 2^bits >= 1024 */
  size_t step = (size_t)1 << (bits - 2), whole = (size + step - 1) & ~(step - 1);
  *out_whole = whole;
  return 21 + (bits - 10) * 4 + (unsigned)(whole / step - 4);
}

static void *alloc_piece(void *self, size_t size, size_t align) {
  (void)self;
  size_t whole;
  if (size > (size_t)1 << 30) return NULL;
  unsigned class_ = class_of(size, &whole);
  struct piece *piece = heap.given_back[class_];
  if (piece && align <= 64) {
    heap.given_back[class_] = piece->next;
    return piece;
  }
  if (align < (whole >= 64 ? 64u : 16u)) align = whole >= 64 ? 64 : 16;
  uintptr_t at = (heap.next + align - 1) & ~(uintptr_t)(align - 1);
  if (at + whole > heap.end) {
    size_t pages = (at + whole - heap.end + PAGE - 1) / PAGE;
    size_t more = pages < 64 ? 64 : pages;
    if (__builtin_wasm_memory_grow(0, more) == (size_t)-1) return NULL;
    heap.end += more * PAGE;
  }
  heap.next = at + whole;
  return (void *)at;
}

static void free_piece(void *self, void *memory, size_t size) {
  (void)self;
  size_t whole;
  struct piece *piece = memory;
  if (!memory) return;
  unsigned class_ = class_of(size, &whole);
  piece->next = heap.given_back[class_];
  heap.given_back[class_] = piece;
}

static const struct tide_allocator allocator = {alloc_piece, free_piece, NULL};

const struct tide_allocator *view_allocator(void) { return &allocator; }

void view_heap_begin(void) {
  heap.next = (uintptr_t)&__heap_base;
  heap.end = __builtin_wasm_memory_size(0) * PAGE;
  for (unsigned i = 0; i < CLASSES; i++) heap.given_back[i] = NULL;
}

#else

const struct tide_allocator *view_allocator(void) { return tide_allocator_system(); }
void view_heap_begin(void) {}

#endif
