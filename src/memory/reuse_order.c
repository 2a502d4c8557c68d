/* The order of reuse: which kinds of blocks a request is offered, one after the other. */
#include "memory/state.h"

/* An attempt at a request. An order of reuse is a list of attempts: the first that finds a block
 * ends the search. */
struct attempt {
  enum {
    END,
    LOOK,
    LOOK_FURTHER,
    LOOK_AT_ALL,
    JOIN_ALIKE,
    JOIN_RUN,
    JOIN_RUN_OF_ALL,
    JOIN_ALL,
    GROW,
    RECLAIM
  } effort;
  enum { NEVER, AFTER_FRESH, BEFORE_FRESH } gap; /* whether a block with gap waits will do */
  bool beyond; /* GROW, RECLAIM: up to the limit, not the budget */
};

/* Joins that leave waits come after growth: a joined block has the death frontier of all its parts,
 * so its next requester has more to wait for. */
static const struct attempt grow_first[] = {
    {LOOK, NEVER, false}, {LOOK_FURTHER, NEVER, false},       {JOIN_RUN, NEVER, false},
    {GROW, NEVER, false}, {LOOK_FURTHER, AFTER_FRESH, false}, {JOIN_RUN, AFTER_FRESH, false},
    {GROW, NEVER, true},  {JOIN_ALL, AFTER_FRESH, false},     {RECLAIM, NEVER, true},
    {END, NEVER, false},
};
static const struct attempt wait_first[] = {
    {LOOK, BEFORE_FRESH, false},
    {JOIN_ALIKE, BEFORE_FRESH, false},
    {JOIN_RUN, BEFORE_FRESH, false},
    {GROW, NEVER, true},
    {LOOK_AT_ALL, BEFORE_FRESH, false},
    {JOIN_ALL, BEFORE_FRESH, false},
    {RECLAIM, NEVER, true},
    {END, NEVER, false},
};
/* A host cannot wait on a device. Beyond the budget, all finished blocks come before the source:
 * else a block that a bounded search misses would cost memory with each request. */
static const struct attempt of_host[] = {
    {LOOK, NEVER, false},
    {LOOK_FURTHER, NEVER, false},
    {JOIN_RUN, NEVER, false},
    {GROW, NEVER, false},
    {LOOK_AT_ALL, NEVER, false},
    {JOIN_RUN_OF_ALL, NEVER, false},
    {GROW, NEVER, true},
    {RECLAIM, NEVER, true},
    {LOOK_AT_ALL, AFTER_FRESH, false},
    {JOIN_ALL, AFTER_FRESH, false},
    {END, NEVER, false},
};

static const struct attempt *order_of(const struct tide_pool *pool,
                                      const struct tide_request *request) {
  if (request->is_host) return of_host;
  return pool->waits_first ? wait_first : grow_first;
}

/* Searches the existing blocks. */
static bool look_in_blocks(struct tide_pool *pool, const struct tide_request *request,
                           const struct attempt *attempt, uint32_t looks,
                           struct tide_choice *out_choice) {
  struct tide_choice reused;
  tide_best_fit_free(pool, request, looks, &reused);
  *out_choice = reused;
  if (reused.block && (attempt->gap == BEFORE_FRESH || reused.reuse != TIDE_REUSE_GAP)) return true;
  tide_best_fit_fresh(pool, request->size, looks, out_choice);
  if (out_choice->block) return true;
  *out_choice = reused;
  return reused.block && attempt->gap == AFTER_FRESH;
}

/* Takes a chunk from the source. A request does not call a source again that has refused. */
static bool grow_pool(struct tide_pool *pool, const struct tide_request *request,
                      const struct attempt *attempt, bool *has_refused,
                      struct tide_choice *out_choice) {
  size_t most = attempt->beyond ? SIZE_MAX : tide_source_budget(pool, request->size);
  *out_choice = (struct tide_choice){.reuse = TIDE_REUSE_FRESH};
  if (*has_refused || !tide_source_allows(pool, request->size, most)) return false;
  out_choice->block = tide_source_take_locked(pool, request->size, most);
  *has_refused = out_choice->block == NULL;
  return !*has_refused;
}

/* Grows in place of idle chunks, if the limit then allows the size. An ill-aligned source may need
 * more than the size. */
static bool reclaim_chunks(struct tide_pool *pool, const struct tide_request *request,
                           const struct attempt *attempt, bool *has_refused,
                           struct tide_choice *out_choice) {
  uint64_t busy = tide_source_busy_bytes(pool);
  if (pool->limit && (busy > pool->limit || request->size > pool->limit - busy)) return false;
  while (tide_source_give_idle_locked(pool, request->size)) {
    *has_refused = false;
    if (grow_pool(pool, request, attempt, has_refused, out_choice)) return true;
  }
  return false;
}

/* Joins a run of neighbours. The search is bounded only before growth within the budget: once no
 * more memory may be taken within it, all blocks are searched. */
static bool join_run(struct tide_pool *pool, const struct tide_request *request,
                     const struct attempt *attempt) {
  bool waits = attempt->gap != NEVER, is_bounded = !waits && attempt->effort == JOIN_RUN;
  return tide_block_join_run(pool, request, waits ? SIZE_MAX : 0,
                             is_bounded ? TIDE_CHOOSE_MANY : TIDE_CHOOSE_ALL);
}

static bool try_attempt(struct tide_pool *pool, const struct tide_request *request,
                        const struct attempt *attempt, bool *has_refused,
                        struct tide_choice *out_choice) {
  uint32_t looks = TIDE_CHOOSE_FEW;
  switch (attempt->effort) {
    case END: return false;
    case LOOK: break;
    case LOOK_FURTHER: looks = TIDE_CHOOSE_MANY; break;
    case LOOK_AT_ALL: looks = TIDE_CHOOSE_ALL; break;
    case JOIN_ALIKE:
      if (!tide_block_join_free(pool, TIDE_JOIN_ALIKE)) return false;
      break;
    case JOIN_RUN:
    case JOIN_RUN_OF_ALL:
      if (!join_run(pool, request, attempt)) return false;
      looks = TIDE_CHOOSE_ALL;
      break;
    case JOIN_ALL:
      if (!tide_block_join_free(pool, TIDE_JOIN_ALL)) return false;
      looks = TIDE_CHOOSE_ALL;
      break;
    case GROW: return grow_pool(pool, request, attempt, has_refused, out_choice);
    case RECLAIM: return reclaim_chunks(pool, request, attempt, has_refused, out_choice);
  }
  return look_in_blocks(pool, request, attempt, looks, out_choice);
}

bool tide_reuse_choose(struct tide_pool *pool, const struct tide_request *request,
                       struct tide_choice *out_choice) {
  bool has_refused = false;
  tide_pool_step_grace(pool);
  if (tide_grace_starved(&pool->grace)) {
    if (!tide_pool_preallocate_locked(pool)) return false;
    tide_pool_step_grace(pool);
  }
  for (const struct attempt *at = order_of(pool, request); at->effort != END; at++) {
    if (at->gap == AFTER_FRESH && pool->asking) return false;
    if (try_attempt(pool, request, at, &has_refused, out_choice)) return true;
    /* The source is called without the lock, and other threads may have taken the spares meanwhile.
     */
    bool unlocked = at->effort == GROW || at->effort == RECLAIM;
    if (unlocked && !tide_pool_preallocate_locked(pool)) return false;
  }
  return false;
}
