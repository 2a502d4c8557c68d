/* Buffers from a pool: what a lifecycle costs as its uses grow, against what other pools do about
 * uses (rival_*.h). One trace of eight queues through all of them is in pool_trace.c. */
#include "causal/context_state.h"
#include "bench.h"
#include "rival_pool.h"
#include "rival_rmm.h"

#include "base/atomic.h"
#include "causal/tracker.h"
#include "memory/pool.h"
#include <stdlib.h>

#define QUEUES 4u
#define ROOM 16u
#define SMALLEST 4096u

struct single {
  struct tide_context *context;
  uint64_t cell;
  struct tide_pool *pool, *covered;
  struct tide_position positions[QUEUES]; /* which know nothing of one another */
  TIDE_FRONTIER_STORAGE(frontiers[QUEUES], ROOM);
  struct tide_naming uses[QUEUES]; /* an operation of each */
  struct tide_position last;       /* of the first queue, which has waited for the others */
  TIDE_FRONTIER_STORAGE(all, ROOM);
  struct rival_pool *rival;
  struct rmm_pool *rmm;
};

static void *single_make(void) {
  struct single *s = calloc(1, sizeof *s);
  struct tide_pool_params covered = {.struct_size = sizeof covered, .frees_cover_uses = true};
  BENCH_CHECK(s && tide_context_create(NULL, &s->context) == TIDE_OK);
  BENCH_CHECK(tide_pool_create(s->context, NULL, &s->pool) == TIDE_OK);
  BENCH_CHECK(tide_pool_create(s->context, &covered, &s->covered) == TIDE_OK);
  tide_frontier_init(&s->all.frontier, ROOM);
  for (unsigned i = 0; i < QUEUES; i++) {
    tide_axis axis = tide_axis_make(0, TIDE_DOMAIN_QUEUE, i + 1);
    BENCH_CHECK(tide_tracker_register(s->context->tracker, axis) == TIDE_OK);
    tide_tracker_set_names(tide_tracker_find(s->context->tracker, axis));
    tide_frontier_init(&s->frontiers[i].frontier, ROOM);
    s->positions[i] =
        (struct tide_position){.axis = axis, .epoch = 1, .frontier = &s->frontiers[i].frontier};
    tide_frontier_raise(&s->frontiers[i].frontier, axis, 1, NULL);
    s->uses[i] = (struct tide_naming){axis, 1, s->positions[i].frontier, 1, NULL};
    tide_frontier_raise(&s->all.frontier, axis, 1, NULL);
  }
  tide_frontier_raise(&s->all.frontier, s->positions[0].axis, 1, NULL); /* a queue's own is last */
  s->last = s->positions[0];
  s->last.frontier = &s->all.frontier;
  s->rival = rival_make(SMALLEST);
  s->rmm = rmm_make(s->rival, QUEUES, SMALLEST);
  for (unsigned i = 0; i < QUEUES; i++) s->rival->done[i] = s->positions[i].epoch;
  return s;
}

static void single_drop(void *state) {
  struct single *s = state;
  for (unsigned i = 0; i < QUEUES; i++) {
    BENCH_CHECK(tide_tracker_close(s->context->tracker, s->positions[i].axis) == TIDE_OK);
  }
  BENCH_CHECK(tide_pool_destroy(s->pool) == TIDE_OK);
  BENCH_CHECK(tide_pool_destroy(s->covered) == TIDE_OK);
  tide_context_destroy(s->context);
  free(s->rmm);
  free(s->rival);
  free(s);
}

/* ---- an alloc and a free ------------------------------------------------------------ */

/* The next queue; a division would take longer than the use. */
static inline unsigned turn(unsigned queue, unsigned queues) {
  return queue + 1 == queues ? 0 : queue + 1;
}

static void life_ours(struct single *s, struct tide_pool *pool, unsigned uses, unsigned queues) {
  struct tide_buffer *b;
  if (tide_pool_alloc(pool, SMALLEST, &s->last, NULL, &b) != TIDE_OK) bench_wrong("alloc");
  for (unsigned i = 0, queue = 0; i < uses; i++, queue = turn(queue, queues)) {
    tide_buffer_use(b, &s->uses[queue]);
  }
  tide_pool_free(b, &s->last);
}

static void ours_0(void *state, uint64_t count) {
  struct single *s = state;
  for (uint64_t i = 0; i < count; i++) life_ours(s, s->pool, 0, 1);
}

static void swaps_10(void *state, uint64_t count) {
  struct single *s = state;
  for (uint64_t i = 0; i < count * 10; i++) {
    uint64_t expected = s->cell;
    tide_compare_exchange(&s->cell, &expected, expected + 1);
  }
}

/* The same pool for someone who knows nothing and tells nothing: what tracking adds. */
static void life_untracked(struct single *s) {
  struct tide_buffer *b;
  if (tide_pool_alloc(s->pool, SMALLEST, NULL, NULL, &b) != TIDE_OK) bench_wrong("alloc");
  tide_pool_free(b, NULL);
}

static void untracked_0(void *state, uint64_t count) {
  struct single *s = state;
  for (uint64_t i = 0; i < count; i++) life_untracked(s);
}

static void malloc_0(void *state, uint64_t count) {
  (void)state;
  for (uint64_t i = 0; i < count; i++) {
    void *memory = malloc(SMALLEST);
    bench_keep((uint64_t)(uintptr_t)memory);
    free(memory);
  }
}

/* ---- as uses grow --------------------------------------------------------------------- */

enum policy { OURS, COVERED, USE, RECORD, FREE, RMM, PLAIN, UNKNOWN };

static void life_theirs(struct single *s, enum policy policy, unsigned uses, unsigned queues) {
  struct rival_pool *pool = s->rival;
  static const uint64_t epochs[RIVAL_QUEUES] = {1, 1, 1, 1};
  unsigned from;
  uint64_t epoch;
  struct rival_block *block = policy == USE      ? use_alloc(pool, 0)
                              : policy == RECORD ? record_alloc(pool, 0, 0)
                              : policy == FREE   ? free_alloc(pool, 0, 0, &from, &epoch)
                                                 : plain_alloc(pool, 0);
  for (unsigned i = 0, q = 0; policy == USE && i < uses; i++, q = turn(q, queues))
    use_use(pool, block, q, s->positions[q].epoch);
  for (unsigned i = 0, q = 0; policy == RECORD && i < uses; i++, q = turn(q, queues))
    record_use(pool, block, q);
  if (policy == USE) use_free(pool, block);
  else if (policy == RECORD) record_free(pool, block, epochs);
  else if (policy == FREE) free_free(pool, block, 0, 1);
  else plain_free(pool, block);
}

struct question {
  unsigned uses, queues;
};

static void life_rmm(struct single *s) {
  uintptr_t at = rmm_alloc(s->rmm, SMALLEST, 0, 1);
  bench_keep(at);
  rmm_free(s->rmm, at, SMALLEST, 0, 1);
}

static double life_ns(struct single *s, enum policy policy, unsigned uses, unsigned queues) {
  uint64_t count = bench_smoke() ? 10 : 2000000 / (uses + 20);
  uint64_t start = bench_spent();
  for (uint64_t i = 0; i < count; i++) {
    if (policy == OURS) life_ours(s, s->pool, uses, queues);
    else if (policy == COVERED) life_ours(s, s->covered, uses, queues);
    else if (policy == UNKNOWN) life_untracked(s);
    else if (policy == RMM) life_rmm(s);
    else life_theirs(s, policy, uses, queues);
  }
  return (double)(bench_spent() - start) / (double)count;
}

/* What tracking costs is what a pool takes more than one of the same make that tracks nothing: ours
 * than ours, where nothing is known and no use is told; a list than a list. */
static const char *measure(const void *what, unsigned side, double *out) {
  const struct question *q = what;
  struct single *s = single_make(), *bare = single_make();
  enum policy policy = (enum policy)side;
  out[0] = life_ns(s, policy, q->uses, q->queues);
  out[1] = out[0] - life_ns(bare, policy <= COVERED ? UNKNOWN : PLAIN, q->uses, q->queues);
  if (policy >= PLAIN) out[1] = NAN;
  s->rival->recorded = s->rmm->recorded = 0;
  if (policy == RMM) life_rmm(s);
  else if (policy > COVERED && policy < PLAIN) life_theirs(s, policy, q->uses, q->queues);
  out[2] = (double)(s->rival->recorded + s->rmm->recorded);
  BENCH_CHECK(s->rival->used <= 1); /* nobody had to wait: it was one block */
  single_drop(bare);
  single_drop(s);
  return NULL;
}

#define SINGLE(what, who, a, b)                                                                    \
  {                                                                                                \
    .name = what, .rival = who, .setup = single_make, .teardown = single_drop, .ours = a,          \
    .theirs = b                                                                                    \
  }
#define LIFE(shape, n, in)                                                                         \
  {.name = #shape "_" #n "_uses",                                                                  \
   .contest =                                                                                      \
       &(const struct bench_contest){.sides = {"ours", "ours, frees cover uses", "event a use",    \
                                               "record_stream", "event a free", "RMM",             \
                                               "nothing tracked", "ours, nothing tracked"},        \
                                     .values = {{"a lifecycle", "ns", BENCH_LESS},                 \
                                                {"for tracking", "ns", BENCH_LESS},                \
                                                {"events", "a life", BENCH_LESS}},                 \
                                     .measure = measure,                                           \
                                     .what = &(const struct question){n, in}},                     \
   .curve = #shape,                                                                                \
   .at = n,                                                                                        \
   .along = "uses"},
#define USES(n) LIFE(lifecycle, n, QUEUES) LIFE(one_queue, n, 1)

/* clang-format off */
const struct bench_figure bench_pool[] = {
    SINGLE("alloc_free", "malloc and free", ours_0, malloc_0),
    SINGLE("alloc_free_floor", "10 CAS", ours_0, swaps_10),
    SINGLE("alloc_free_tracking", "the same pool, nothing known", ours_0, untracked_0),
    USES(1) USES(3) USES(10) USES(30) USES(100) USES(300) USES(1000)
    {0}};
