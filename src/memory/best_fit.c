/* Best fit: the choice among free blocks. */
#include "base/check.h"
#include "memory/state.h"

/* Walks the blocks that are large enough, smallest bins first, and each bin from both ends in turn:
 * the newest blocks are often the requester's own, still in its caches; the users of the oldest
 * have most likely finished. */
struct walk {
  struct tide_bins *bins;
  size_t size;
  unsigned bin;                        /* being walked; TIDE_BINS: done */
  bool backward;                       /* the next one comes from the old end */
  struct tide_link *new_end, *old_end; /* ends of the unexamined part of the bin; NULL: none */
  uint32_t fits, misfits;              /* blocks that may still be examined */
};

static inline void enter_bin(struct walk *walk, unsigned bin) {
  walk->bin = bin;
  walk->new_end = walk->old_end = NULL;
  if (bin >= TIDE_BINS) return;
  walk->new_end = walk->bins->lists[bin].next;
  walk->old_end = walk->bins->lists[bin].prev;
}

static inline struct walk begin_walk(struct tide_bins *bins, size_t size, uint32_t looks) {
  struct walk walk = {.bins = bins, .size = size, .fits = looks, .misfits = looks};
  unsigned bin = tide_bin_of(size);
  enter_bin(&walk, tide_list_empty(&bins->lists[bin]) ? tide_bins_next(bins, bin + 1) : bin);
  return walk;
}

/* Returns the next block that is large enough; NULL: none. Only the bin of `size` itself may hold
 * blocks that are too small. */
static inline struct tide_block *next_block(struct walk *walk) {
  while (walk->fits) {
    if (!walk->new_end || !walk->misfits) {
      enter_bin(walk, tide_bins_next(walk->bins, walk->bin + 1));
      if (walk->bin >= TIDE_BINS) return NULL;
      walk->misfits = 1; /* later bins have no misfits */
    }
    struct tide_link *link = walk->backward ? walk->old_end : walk->new_end;
    if (walk->new_end == walk->old_end) walk->new_end = walk->old_end = NULL;
    else if (walk->backward) walk->old_end = link->prev;
    else walk->new_end = link->next;
    walk->backward = !walk->backward;
    struct tide_block *block = TIDE_CONTAINER(link, struct tide_block, link);
    if (block->size >= walk->size) {
      walk->fits--;
      return block;
    }
    walk->misfits--;
  }
  return NULL;
}

static inline void set_choice(struct tide_choice *out_choice, struct tide_block *block,
                              enum tide_reuse reuse, size_t missing) {
  *out_choice = (struct tide_choice){block, reuse, missing};
}

/* Counts the entries that a requester with `frontier` must wait for. The death is not known. */
static size_t count_missing(struct tide_pool *pool, const struct tide_death *death,
                            const struct tide_frontier *frontier, bool *out_closable) {
  *out_closable = true;
  if (death->axis && !death->frontier.tainted && tide_namers_state(&pool->namers, death->axis)) {
    return 1;
  }
  return tide_death_missing(death, frontier, pool->context->tracker, out_closable);
}

/* Weighs a block that the requester does not know. True if it needs no wait. */
static bool weigh_block(struct tide_pool *pool, struct tide_block *block,
                        const struct tide_request *request, struct tide_choice *out_choice) {
  struct tide_death *death = block->death;
  bool closable;
  if (tide_death_settle(death, &pool->namers)) {
    set_choice(out_choice, block, TIDE_REUSE_FINISHED, 0);
    return true;
  }
  /* Settling may have removed the entries that the requester did not know. */
  if (!death->listed && tide_death_known_with(death, request->known, request->insight)) {
    set_choice(out_choice, block, TIDE_REUSE_KNOWN, 0);
    return true;
  }
  size_t missing = count_missing(pool, death, request->known, &closable);
  bool fewer = !out_choice->block || missing < out_choice->missing;
  if (closable && fewer && tide_death_may_be_awaited(death, request->insight)) {
    set_choice(out_choice, block, TIDE_REUSE_GAP, missing);
  }
  return false;
}

/* Checks the requester's own frontier first: the tracker and the count of waits cost more. */
void tide_best_fit_free(struct tide_pool *pool, const struct tide_request *request, uint32_t looks,
                        struct tide_choice *out_choice) {
  struct tide_block *block, *seen[TIDE_CHOOSE_FEW];
  uint32_t count = 0;
  set_choice(out_choice, NULL, TIDE_REUSE_FRESH, 0);
  struct walk walk = begin_walk(&pool->free, request->size, looks);
  while ((block = next_block(&walk))) {
    if (tide_death_empty(block->death))
      return set_choice(out_choice, block, TIDE_REUSE_FINISHED, 0);
    if (tide_death_known_with(block->death, request->known, request->insight)) {
      return set_choice(out_choice, block, TIDE_REUSE_KNOWN, 0);
    }
    if (count < TIDE_CHOOSE_FEW) seen[count] = block;
    count++;
  }
  if (count > TIDE_CHOOSE_FEW) {
    walk = begin_walk(&pool->free, request->size, looks);
    while ((block = next_block(&walk)) && !weigh_block(pool, block, request, out_choice)) continue;
    return;
  }
  for (uint32_t i = 0; i < count && !weigh_block(pool, seen[i], request, out_choice); i++) continue;
}

void tide_best_fit_fresh(struct tide_pool *pool, size_t size, uint32_t looks,
                         struct tide_choice *out_choice) {
  struct walk walk = begin_walk(&pool->fresh, size, looks);
  set_choice(out_choice, next_block(&walk), TIDE_REUSE_FRESH, 0);
}
