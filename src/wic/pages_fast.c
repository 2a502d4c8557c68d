/* Free runs by size: a ring for each size, newest first, and a bitmap of the sizes with free runs.
 * One word of a level is one bit of the level above, up to a single word. So the next size is found
 * with two reads a level, and mostly in the first word. Linking and unlinking have no branches on
 * the layout: that is random, and a mispredicted branch costs more than a store.
 *
 * Tags lie in an array beside the pages, since no thread may touch those. The first and last page
 * of a free run have FREE and its length. The first page of an allocated run has its length without
 * FREE, and no other page does; its last page has neither. Tags of the inner pages are stale and
 * never read: a run's neighbour begins or ends at the run's edge. */
#include "wic/pages_kind.h"

#include "base/alloc.h"

#define LEVELS 4u /* with 64 bits a word: 2^24 sizes */
#define FREE (1u << 31)
#define NONE TIDE_PAGES_NONE

_Static_assert(1ull << LEVELS * 6 == TIDE_PAGES_MOST, "each size has a bit");

struct link {
  uint32_t next, previous;
};

struct fast {
  struct tide_pages pages;
  uint32_t levels;
  uint32_t words[LEVELS];
  uint64_t *bits[LEVELS]; /* bit s of the first level: runs of s + 1 pages are free */
  uint32_t *tags;         /* page p has tags[p + 1]; one more at each end, which is never free */
  struct link *links; /* indexed by the first page of a free run; then the rings' heads by size - 1,
                         which are valid only where the size's bit is set */
};

static void fast_destroy(struct tide_pages *pages) {
  struct fast *fast = (struct fast *)pages;
  const struct tide_allocator *allocator = pages->allocator;
  uint32_t count = pages->count;
  for (uint32_t i = 0; i < LEVELS; i++)
    tide_free(allocator, fast->bits[i], fast->words[i], sizeof *fast->bits[i]);
  tide_free(allocator, fast->tags, (size_t)count + 2, sizeof *fast->tags);
  tide_free(allocator, fast->links, 2 * (size_t)count, sizeof *fast->links);
  tide_free(allocator, fast, 1, sizeof *fast);
}

/* ---- the bitmap of sizes (size = pages - 1) --------------------------------------------- */

static void mark_above(struct fast *fast, uint32_t at) {
  for (uint32_t level = 1; level < fast->levels; level++) {
    uint64_t *word = &fast->bits[level][at / 64], old = *word;
    *word = old | 1ull << at % 64;
    if (old) return;
    at /= 64;
  }
}

static void unmark_above(struct fast *fast, uint32_t at) {
  for (uint32_t level = 1; level < fast->levels; level++) {
    uint64_t *word = &fast->bits[level][at / 64];
    *word &= ~(1ull << at % 64);
    if (*word) return;
    at /= 64;
  }
}

static inline void unmark_size(struct fast *fast, uint32_t size, bool empty) {
  uint64_t *word = &fast->bits[0][size / 64];
  *word &= ~((uint64_t)empty << size % 64);
  if (!*word) unmark_above(fast, size / 64);
}

/* Marks a size. True: it was marked already. */
static inline bool mark_size(struct fast *fast, uint32_t size) {
  uint64_t *word = &fast->bits[0][size / 64], old = *word, bit = 1ull << size % 64;
  *word = old | bit;
  if (!old) mark_above(fast, size / 64);
  return old & bit;
}

/* Returns the first marked size in the words after this one. */
static uint32_t next_above(const struct fast *fast, uint32_t word) {
  uint32_t at = word + 1;
  for (uint32_t level = 1; level < fast->levels; level++) {
    word = at / 64;
    if (word >= fast->words[level]) return NONE;
    uint64_t bits = fast->bits[level][word] & ~0ull << at % 64;
    if (bits) {
      at = word * 64 + (uint32_t)__builtin_ctzll(bits);
      while (level-- > 0) at = at * 64 + (uint32_t)__builtin_ctzll(fast->bits[level][at]);
      return at;
    }
    at = word + 1;
  }
  return NONE;
}

/* Returns the first marked size >= `from`, which may be the number of sizes. */
static inline uint32_t next_marked(const struct fast *fast, uint32_t from) {
  uint32_t word = from / 64;
  if (word >= fast->words[0]) return NONE;
  uint64_t bits = fast->bits[0][word] & ~0ull << from % 64;
  if (!bits) return next_above(fast, word);
  return word * 64 + (uint32_t)__builtin_ctzll(bits);
}

/* ---- free runs -------------------------------------------------------------------------- */

static inline void put_in(struct fast *fast, uint32_t first, uint32_t count) {
  uint32_t size = count - 1, head = fast->pages.count + size;
  struct link *links = fast->links;
  fast->tags[first + 1] = FREE | count;
  fast->tags[first + count] = FREE | count;
  bool any = mark_size(fast, size);
  uint32_t next = any ? links[head].next : head;
  links[first] = (struct link){next, head};
  links[next].previous = first;
  links[head].next = first;
}

static inline void take_out(struct fast *fast, uint32_t first, uint32_t count) {
  struct link link = fast->links[first];
  fast->links[link.previous].next = link.next;
  fast->links[link.next].previous = link.previous;
  unmark_size(fast, count - 1, link.next == link.previous); /* both are the head */
}

static uint32_t fast_alloc(struct tide_pages *pages, uint32_t count) {
  struct fast *fast = (struct fast *)pages;
  uint32_t size = next_marked(fast, count - 1);
  if (size == NONE) return NONE;
  uint32_t first = fast->links[pages->count + size].next, left = size + 1 - count;
  take_out(fast, first, size + 1);
  if (left) put_in(fast, first + count, left);
  fast->tags[first + count] = 0;
  fast->tags[first + 1] = count;
  return first;
}

static bool fast_free(struct tide_pages *pages, uint32_t first, uint32_t count) {
  struct fast *fast = (struct fast *)pages;
  uint32_t *tag = &fast->tags[first + 1]; /* the first page's */
  uint32_t before = tag[-1], after = tag[count];
  if (*tag != count) return false;
  *tag = 0; /* this page may become an inner page of a free run */
  if (after & FREE) {
    take_out(fast, first + count, after & ~FREE);
    count += after & ~FREE;
  }
  if (before & FREE) {
    before &= ~FREE;
    take_out(fast, first - before, before);
    first -= before;
    count += before;
  }
  put_in(fast, first, count);
  return true;
}

static uint32_t fast_largest(const struct tide_pages *pages) {
  const struct fast *fast = (const struct fast *)pages;
  uint32_t at = 0;
  for (uint32_t level = fast->levels; level-- > 0;) {
    uint64_t bits = fast->bits[level][at];
    if (!bits) return 0; /* only at the highest level: nothing is free */
    at = at * 64 + 63 - (uint32_t)__builtin_clzll(bits);
  }
  return at + 1;
}

/* ---- creation --------------------------------------------------------------------------- */

static struct tide_pages *fast_create(const struct tide_allocator *allocator, uint32_t count) {
  struct fast *fast = tide_alloc(allocator, 1, sizeof *fast);
  if (!fast) return NULL;
  fast->pages.allocator = allocator;
  fast->pages.count = count;
  fast->tags = tide_alloc(allocator, (size_t)count + 2, sizeof *fast->tags);
  fast->links = tide_alloc_unset(allocator, 2 * (size_t)count, sizeof *fast->links);
  bool whole = fast->tags && fast->links;
  uint32_t words = count;
  do { /* until a level is one word */
    uint32_t level = fast->levels++;
    words = (words + 63) / 64;
    fast->words[level] = words;
    fast->bits[level] = tide_alloc(allocator, words, sizeof *fast->bits[level]);
    whole = whole && fast->bits[level];
  } while (words > 1);
  if (!whole) {
    fast_destroy(&fast->pages);
    return NULL;
  }
  put_in(fast, 0, count);
  return &fast->pages;
}

const struct tide_pages_class tide_pages_fast = {.create = fast_create,
                                                 .destroy = fast_destroy,
                                                 .alloc = fast_alloc,
                                                 .free = fast_free,
                                                 .largest = fast_largest};
