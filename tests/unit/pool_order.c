/* The order of reuse: known or finished memory, fresh memory within the budget, gap waits, and an
 * error that names the limit. */
#include "pool_rig.h"

#include "base/random.h"
#include "memory/state.h"
#include <pthread.h>
#include <sched.h>

/* A buffer that one queue used and freed, and nothing has finished. */
static void leave_behind(struct rig *rig, unsigned queue, struct tide_buffer *buffer) {
  submit(rig, queue, buffer);
  drop(rig, queue, buffer);
}

/* A source whose memory is never touched: a test may take as much as it likes. */
struct vast {
  struct tide_memory_source calls;
  uintptr_t next;
  size_t mapped, peak, most; /* most: what there is; 0: no end */
};
static void *vast_map(void *self, size_t size) {
  struct vast *vast = self;
  if (vast->most && size > vast->most - vast->mapped) return NULL;
  vast->next += 4096;
  uintptr_t address = vast->next;
  vast->next += (size + 4095) & ~(uintptr_t)4095;
  vast->mapped += size;
  if (vast->mapped > vast->peak) vast->peak = vast->mapped;
  return (void *)address;
}
static void vast_unmap(void *self, void *memory, size_t size) {
  struct vast *vast = self;
  (void)memory;
  vast->mapped -= size;
}
static void vast_open(struct vast *vast, size_t most) {
  *vast = (struct vast){{vast_map, vast_unmap, vast}, 4096, 0, 0, most};
}

/* ---- each step of the order ---- */

/* Known before finished before fresh before the smallest gap. */
TEST(preference) {
  struct rig rig;
  struct tide_pool_params params = {
      .struct_size = sizeof params, .chunk = 5 * KIB, .limit = 5 * KIB};
  rig_open(&rig, 8, &params);
  struct tide_buffer *gap2 = take(&rig, 0, KIB), *gap1 = take(&rig, 0, KIB),
                     *finished = take(&rig, 0, KIB), *known = take(&rig, 0, KIB);
  char *fresh = (char *)tide_buffer_data(known) + KIB;
  void *data[] = {tide_buffer_data(known), tide_buffer_data(finished), fresh,
                  tide_buffer_data(gap1), tide_buffer_data(gap2)};
  submit(&rig, 0, gap2), submit(&rig, 1, gap2), submit(&rig, 2, gap1);
  submit(&rig, 3, finished), submit(&rig, 4, known);
  finish(&rig, 3);
  drop(&rig, 4, known); /* at 4@1 */
  tide_pool_free(finished, NULL), tide_pool_free(gap1, NULL), tide_pool_free(gap2, NULL);
  learn(&rig, 5, 4);
  static const enum tide_reuse want[] = {TIDE_REUSE_KNOWN, TIDE_REUSE_FINISHED, TIDE_REUSE_FRESH,
                                         TIDE_REUSE_GAP, TIDE_REUSE_GAP};
  struct tide_buffer *b[5];
  for (unsigned i = 0; i < 5; i++) {
    b[i] = take(&rig, 5, KIB);
    CHECK_REUSE(b[i], want[i]);
    CHECK(tide_buffer_data(b[i]) == data[i]);
  }
  CHECK_EQ_U64(stats_of(&rig).gap_waits, 1 + 2);
  for (unsigned i = 0; i < 5; i++) drop(&rig, 5, b[i]);
  rig_close(&rig);
}

/* A block that needs no wait is found behind any number of others, before a wait is made. */
TEST(no_wait_is_overlooked) {
  enum { OTHERS = 90 };
  struct rig rig;
  struct tide_pool_params params = {
      .struct_size = sizeof params, .chunk = 91 * KIB, .limit = 91 * KIB};
  rig_open(&rig, 8, &params);
  struct tide_buffer *b[OTHERS + 1];
  for (unsigned i = 0; i <= OTHERS; i++) b[i] = take(&rig, 0, KIB);
  void *own = tide_buffer_data(b[OTHERS / 2]);
  for (unsigned i = 0; i <= OTHERS; i++) leave_behind(&rig, i == OTHERS / 2 ? 1 : 0, b[i]);
  struct tide_buffer *again = take(&rig, 1, KIB);
  CHECK_REUSE(again, TIDE_REUSE_KNOWN);
  CHECK(tide_buffer_data(again) == own);
  leave_behind(&rig, 1, again);
  rig_close(&rig);
}

/* For a host, a finished block is found behind any number of others, and neighbours stay apart. */
TEST(no_finished_block_is_overlooked_for_a_host) {
  enum { HALF = 300, WHOLE = 450, BLOCKS = 900 };
  struct rig rig;
  struct tide_pool_params params = {
      .struct_size = sizeof params, .chunk = (BLOCKS - 1) * KIB, .limit = (BLOCKS - 1) * KIB};
  rig_open(&rig, 8, &params);
  struct tide_buffer *b[BLOCKS], *again;
  for (unsigned i = 0; i < BLOCKS; i++) b[i] = take(&rig, 0, i / 2 == HALF / 2 ? KIB / 2 : KIB);
  void *whole = tide_buffer_data(b[WHOLE]);
  for (unsigned i = 0; i < BLOCKS; i++) {
    bool is_finished = i / 2 == HALF / 2 || i == WHOLE;
    submit(&rig, is_finished ? 1 : 0, b[i]);
    tide_pool_free(b[i], NULL);
  }
  finish(&rig, 1);
  CHECK_OK(tide_pool_alloc(rig.pool, KIB, NULL, NULL, &again));
  CHECK_REUSE(again, TIDE_REUSE_FINISHED);
  CHECK(tide_buffer_data(again) == whole);
  CHECK_EQ_U64(stats_of(&rig).joins, 0);
  tide_pool_free(again, NULL);
  rig_close(&rig);
}

/* Neighbours that the requester knows are joined before memory is taken from the source, and those
 * that it does not know are left apart. */
TEST(known_neighbours_before_the_source) {
  struct rig rig;
  rig_open(&rig, 8, TIDE_PARAMS(tide_pool_params, .chunk = 64 * KIB));
  struct tide_buffer *b[8], *two, *other;
  for (unsigned i = 0; i < 8; i++) b[i] = take(&rig, i / 4, 8 * KIB);
  void *first = tide_buffer_data(b[0]);
  for (unsigned i = 0; i < 8; i++) leave_behind(&rig, i / 4, b[i]);
  two = take(&rig, 0, 16 * KIB);
  CHECK_REUSE(two, TIDE_REUSE_KNOWN);
  CHECK(tide_buffer_data(two) == first);
  CHECK_EQ_U64(stats_of(&rig).source_bytes, 64 * KIB);
  other = take(&rig, 2, 16 * KIB);
  CHECK_REUSE(other, TIDE_REUSE_FRESH);
  CHECK_EQ_U64(stats_of(&rig).source_bytes, 128 * KIB);
  CHECK_EQ_U64(stats_of(&rig).joins, 1);
  drop(&rig, 0, two);
  drop(&rig, 2, other);
  rig_close(&rig);
}

/* Of runs of neighbours that leave equally many waits, the first is joined; one that leaves fewer
 * is found behind them. */
TEST(first_of_the_runs_with_the_fewest_waits) {
  for (unsigned is_known = 0; is_known < 2; is_known++) {
    struct rig rig;
    struct tide_buffer *b[8], *two;
    rig_open(&rig, 8, &one_chunk);
    for (unsigned i = 0; i < 8; i++) b[i] = take(&rig, i / 4, 8 * KIB);
    void *first = tide_buffer_data(b[0]), *fewer = tide_buffer_data(b[4]);
    for (unsigned i = 0; i < 8; i++) submit(&rig, i / 4, b[i]), submit(&rig, 2, b[i]);
    if (is_known) {
      submit(&rig, 1, b[5]); /* so that all of queue 1's are not alike */
      learn(&rig, 3, 1);
    }
    for (unsigned i = 0; i < 8; i++) drop(&rig, i / 4, b[i]);
    two = take(&rig, 3, 16 * KIB);
    CHECK_REUSE(two, TIDE_REUSE_GAP);
    CHECK(tide_buffer_data(two) == (is_known ? fewer : first));
    CHECK_EQ_U64(stats_of(&rig).joins, 1);
    drop(&rig, 3, two);
    rig_close(&rig);
  }
}

/* ---- the budget ---- */

TEST(budget_follows_the_peak) {
  struct vast vast;
  struct rig rig;
  vast_open(&vast, 0);
  rig_open(&rig, 8, TIDE_PARAMS(tide_pool_params, .source = &vast.calls));
  CHECK_EQ_U64(stats_of(&rig).limit, 0);
  CHECK_EQ_U64(stats_of(&rig).budget, TIDE_POOL_BUDGET_LEAST);
  struct tide_buffer *small = take(&rig, 0, 20 * KIB * KIB);
  CHECK_EQ_U64(stats_of(&rig).budget, TIDE_POOL_BUDGET_LEAST);
  struct tide_buffer *large = take(&rig, 0, 80 * KIB * KIB);
  CHECK_EQ_U64(stats_of(&rig).budget, 200 * KIB * KIB);
  leave_behind(&rig, 0, large);
  leave_behind(&rig, 0, small);
  CHECK_EQ_U64(stats_of(&rig).budget, 200 * KIB * KIB);
  /* As much again for another queue, and no more for a third. */
  large = take(&rig, 1, 80 * KIB * KIB);
  CHECK_REUSE(large, TIDE_REUSE_FRESH);
  small = take(&rig, 1, 20 * KIB * KIB);
  CHECK_REUSE(small, TIDE_REUSE_FRESH);
  leave_behind(&rig, 1, large);
  leave_behind(&rig, 1, small);
  small = take(&rig, 2, 20 * KIB * KIB);
  CHECK_REUSE(small, TIDE_REUSE_GAP);
  CHECK_EQ_U64(vast.peak, 200 * KIB * KIB);
  leave_behind(&rig, 2, small);
  rig_close(&rig);
}

/* What is about to become live counts, too: else a second queue would wait where its own live
 * memory is what raises the peak. */
TEST(budget_counts_the_request) {
  struct vast vast;
  struct rig rig;
  vast_open(&vast, 0);
  rig_open(&rig, 8, TIDE_PARAMS(tide_pool_params, .source = &vast.calls));
  leave_behind(&rig, 0, take(&rig, 0, 48 * KIB * KIB));
  CHECK_EQ_U64(stats_of(&rig).budget, 96 * KIB * KIB);
  struct tide_buffer *a = take(&rig, 1, 40 * KIB * KIB), *b = take(&rig, 1, 30 * KIB * KIB);
  CHECK_REUSE(a, TIDE_REUSE_FRESH);
  CHECK_REUSE(b, TIDE_REUSE_FRESH);
  CHECK_EQ_U64(vast.peak, 118 * KIB * KIB);
  CHECK_EQ_U64(stats_of(&rig).budget, 140 * KIB * KIB);
  drop(&rig, 1, a);
  drop(&rig, 1, b);
  rig_close(&rig);
}

/* A source that is slow: in its second map() another thread's request comes, which has a gap to
 * wait for, and is held until the chunk has come or the request has returned. */
struct slow {
  struct vast vast;
  struct rig *rig;
  pthread_t thread;
  unsigned maps;
  bool is_over; /* atomic */
  struct tide_buffer *taken;
};

static void *take_meanwhile(void *self) {
  struct slow *slow = self;
  slow->taken = take(slow->rig, 2, 16 * KIB * KIB);
  __atomic_store_n(&slow->is_over, true, __ATOMIC_RELEASE);
  return NULL;
}

static bool is_awaiting(struct tide_pool *pool) {
  tide_pool_lock(pool);
  bool awaiting = pool->awaiting != 0;
  tide_pool_unlock(pool);
  return awaiting;
}

static void *slow_map(void *self, size_t size) {
  struct slow *slow = self;
  if (++slow->maps == 2) {
    CHECK(pthread_create(&slow->thread, NULL, take_meanwhile, slow) == 0);
    while (!is_awaiting(slow->rig->pool) && !__atomic_load_n(&slow->is_over, __ATOMIC_ACQUIRE)) {
      sched_yield();
    }
  }
  return vast_map(&slow->vast, size);
}

static void slow_unmap(void *self, void *memory, size_t size) {
  struct slow *slow = self;
  vast_unmap(&slow->vast, memory, size);
}

/* A chunk that is on its way uses up the budget before it has room to give: a request waits for it
 * rather than make a gap wait. */
TEST(a_chunk_on_its_way_spares_a_gap_wait) {
  struct rig rig;
  struct slow slow = {.rig = &rig};
  struct tide_memory_source source = {slow_map, slow_unmap, &slow};
  vast_open(&slow.vast, 0);
  rig_open(&rig, 8, TIDE_PARAMS(tide_pool_params, .source = &source, .chunk = 32 * KIB * KIB));
  leave_behind(&rig, 0, take(&rig, 0, 32 * KIB * KIB));
  struct tide_buffer *own = take(&rig, 1, 16 * KIB * KIB);
  CHECK(pthread_join(slow.thread, NULL) == 0);
  CHECK_REUSE(own, TIDE_REUSE_FRESH);
  CHECK_REUSE(slow.taken, TIDE_REUSE_FRESH);
  CHECK_EQ_U64(slow.maps, 2);
  drop(&rig, 1, own);
  drop(&rig, 2, slow.taken);
  rig_close(&rig);
}

/* Two lanes that take and give scratch where they use it: one of them runs ahead of the other, and
 * nothing has finished. */
static void run_two_lanes(size_t size, unsigned rounds) {
  struct vast vast;
  struct rig rig;
  vast_open(&vast, 0);
  rig_open(&rig, 8, TIDE_PARAMS(tide_pool_params, .source = &vast.calls));
  for (unsigned i = 0; i < rounds; i++) {
    unsigned lane = i % 2;
    struct tide_buffer *scratch = take(&rig, lane, size);
    leave_behind(&rig, lane, scratch);
    CHECK_EQ_U64(stats_of(&rig).reused_gap, 0);
  }
  CHECK_EQ_U64(stats_of(&rig).fresh, 2);
  CHECK(vast.peak <= stats_of(&rig).budget);
  rig_close(&rig);
}

TEST(two_lanes_run_apart) {
  run_two_lanes(64 * KIB, 1000);
  run_two_lanes(48 * KIB * KIB, 1000); /* more than half of the least budget */
}

/* Each lane takes `count` blocks, uses them and frees them, one lane before the other. Where blocks
 * do not divide a chunk, its end is too small for one, and must not cost a wait. */
static void run_in_bulk(const struct tide_pool_params *params, size_t size, unsigned count) {
  enum { MOST = 9000, ROUNDS = 4 };
  struct vast vast;
  struct rig rig;
  struct tide_buffer *b[MOST];
  struct tide_pool_params own = *params;
  vast_open(&vast, 0);
  own.source = &vast.calls;
  rig_open(&rig, 8, &own);
  for (unsigned round = 0; round < ROUNDS; round++) {
    for (unsigned i = 0; i < count; i++) b[i] = take(&rig, round % 2, size);
    for (unsigned i = 0; i < count; i++) leave_behind(&rig, round % 2, b[i]);
    CHECK_EQ_U64(stats_of(&rig).reused_gap, 0);
  }
  CHECK_EQ_U64(stats_of(&rig).fresh, 2 * count);
  CHECK(vast.peak <= 2 * stats_of(&rig).budget);
  rig_close(&rig);
}

TEST(ends_of_chunks_cost_no_waits) {
  static const struct tide_pool_params defaults = {.struct_size = sizeof defaults};
  run_in_bulk(&defaults, 1048577, 64);
  run_in_bulk(&defaults, 2200000, 20);
  run_in_bulk(&defaults, 2621440, 30);
  run_in_bulk(&defaults, 3145728, 40);
  run_in_bulk(&defaults, 4194305, 16);
  run_in_bulk(TIDE_PARAMS(tide_pool_params, .chunk = 64 * KIB * KIB), 3145728, 60);
  /* Blocks that are far larger than what was asked for. */
  run_in_bulk(TIDE_PARAMS(tide_pool_params, .align = 4 * KIB, .buffers = 9000), 100, 9000);
  /* A source that is aligned worse than blocks are. */
  run_in_bulk(TIDE_PARAMS(tide_pool_params, .align = 64 * KIB), 100, 1500);
}

/* The lanes take turns with each block, and neither hears of the other: each alloc would have to
 * wait. What is live is constant, so what is taken is, too. */
TEST(memory_is_bounded) {
  enum { SIZE = 64 * KIB, ROUNDS = 4000 };
  struct vast vast;
  struct rig rig;
  vast_open(&vast, 0);
  rig_open(&rig, 8, TIDE_PARAMS(tide_pool_params, .source = &vast.calls));
  for (unsigned i = 0; i < ROUNDS; i++) {
    struct tide_buffer *b = take(&rig, i % 2, SIZE);
    leave_behind(&rig, 2 + i % 2, b);
    bool within = (uint64_t)(i + 1) * SIZE <= TIDE_POOL_BUDGET_LEAST;
    CHECK_EQ_U64(stats_of(&rig).reused_gap == 0, within);
  }
  CHECK_EQ_U64(vast.peak, TIDE_POOL_BUDGET_LEAST);
  CHECK_EQ_U64(stats_of(&rig).fresh, TIDE_POOL_BUDGET_LEAST / SIZE);
  rig_close(&rig);
}

/* What counts towards the budget is what was cut off the chunks. */
static void check_uncut(const struct rig *rig) {
  uint64_t cut = 0;
  for (struct tide_link *at = rig->pool->chunks.next; at != &rig->pool->chunks; at = at->next) {
    const struct tide_block *block = TIDE_CONTAINER(at, struct tide_chunk, link)->first;
    for (; block; block = block->after) cut += block->state == TIDE_BLOCK_FRESH ? 0 : block->size;
  }
  CHECK_EQ_U64(rig->pool->uncut_bytes, rig->pool->stats.source_bytes - cut);
}

/* Buffers of random sizes, 1 B to 32 MiB, that live for random times. All finishes now and then. */
static void run_random_sizes(bool is_host, unsigned finish_every) {
  enum { SLOTS = 40, STEPS = 40000 };
  struct vast vast;
  struct rig rig;
  struct tide_random random = {5};
  struct tide_buffer *b[SLOTS] = {0};
  vast_open(&vast, 0);
  rig_open(&rig, 8, TIDE_PARAMS(tide_pool_params, .source = &vast.calls));
  for (unsigned i = 0; i < STEPS; i++) {
    unsigned slot = (unsigned)tide_random_below(&random, SLOTS), queue = i % 4;
    if (b[slot]) drop(&rig, queue, b[slot]);
    size_t size = (size_t)1 << tide_random_below(&random, 25);
    size += tide_random_below(&random, size);
    CHECK_OK(tide_pool_alloc(rig.pool, size, is_host ? NULL : at(&rig, queue), NULL, &b[slot]));
    submit(&rig, queue, b[slot]);
    if (i % finish_every == 0) finish_all(&rig);
    if (i % 1000 == 0) check_uncut(&rig);
  }
  uint64_t peak = stats_of(&rig).peak_bytes;
  if (vast.peak > 4 * peak) FAIL("%zu bytes taken, %llu live", vast.peak, (unsigned long long)peak);
  for (unsigned i = 0; i < SLOTS; i++) tide_pool_free(b[i], NULL);
  finish_all(&rig);
  (void)tide_pool_trim(rig.pool);
  check_uncut(&rig);
  rig_close(&rig);
}

TEST(random_sizes_are_bounded) {
  run_random_sizes(false, 1);
  run_random_sizes(false, 100);
  run_random_sizes(true, 1);
  run_random_sizes(true, 100);
}

/* A pool without a limit goes beyond its budget where no free block fits. */
TEST(the_budget_is_no_limit) {
  struct vast vast;
  struct rig rig;
  vast_open(&vast, 0);
  rig_open(&rig, 8, TIDE_PARAMS(tide_pool_params, .source = &vast.calls, .chunk = 8 * KIB * KIB));
  tide_axis stranger = tide_axis_make(9, TIDE_DOMAIN_NETWORK, 9);
  for (unsigned i = 0; i < 9; i++) {
    struct tide_buffer *b = take(&rig, 0, 8 * KIB * KIB);
    CHECK_REUSE(b, TIDE_REUSE_FRESH);
    use_at(b, stranger, 1 + i); /* which no queue can wait for */
    drop(&rig, 0, b);
  }
  CHECK_EQ_U64(vast.peak, 72 * KIB * KIB);
  CHECK_EQ_U64(stats_of(&rig).budget, TIDE_POOL_BUDGET_LEAST);
  CHECK_OK(tide_tracker_register(rig.context->tracker, stranger));
  CHECK_OK(tide_tracker_close(rig.context->tracker, stranger));
  rig_close(&rig);
}

/* A host cannot wait on a device: it gets fresh memory up to the limit. */
TEST(a_host_grows_up_to_the_limit) {
  struct vast vast;
  struct rig rig;
  struct tide_buffer *b;
  vast_open(&vast, 0);
  rig_open(&rig, 8, TIDE_PARAMS(tide_pool_params, .source = &vast.calls, .chunk = 8 * KIB * KIB));
  for (unsigned i = 0; i < 10; i++) {
    CHECK_OK(tide_pool_alloc(rig.pool, 8 * KIB * KIB, NULL, NULL, &b));
    CHECK_REUSE(b, TIDE_REUSE_FRESH);
    leave_behind(&rig, 0, b);
  }
  CHECK_EQ_U64(vast.peak, 80 * KIB * KIB);
  rig_close(&rig);
}

/* ---- the limit ---- */

TEST(limit_then_gap_then_no_memory) {
  struct rig rig;
  struct tide_pool_params params = {
      .struct_size = sizeof params, .chunk = 16 * KIB, .limit = 64 * KIB};
  rig_open(&rig, 8, &params);
  CHECK_EQ_U64(stats_of(&rig).limit, 64 * KIB);
  CHECK_EQ_U64(stats_of(&rig).budget, 64 * KIB);
  struct tide_buffer *b[4], *none = NULL;
  for (unsigned i = 0; i < 4; i++) {
    b[i] = take(&rig, i, 16 * KIB);
    CHECK_REUSE(b[i], TIDE_REUSE_FRESH);
    leave_behind(&rig, i, b[i]);
  }
  for (unsigned i = 0; i < 4; i++) {
    b[i] = take(&rig, 5, 16 * KIB);
    CHECK_REUSE(b[i], TIDE_REUSE_GAP);
  }
  CHECK_EQ_U64(stats_of(&rig).gap_waits, 4);
  CHECK_STATUS(tide_pool_alloc(rig.pool, 1, at(&rig, 5), NULL, &none), TIDE_NOMEM);
  CHECK(none == NULL);
  CHECK_EQ_U64(stats_of(&rig).source_peak, 64 * KIB);
  CHECK_EQ_U64(stats_of(&rig).live_bytes, 64 * KIB);
  for (unsigned i = 0; i < 4; i++) leave_behind(&rig, 5, b[i]);
  rig_close(&rig);
}

/* A source that has no more is waited for no longer than a limit. */
TEST(a_source_that_ends_within_the_budget) {
  struct vast vast;
  struct rig rig;
  vast_open(&vast, 32 * KIB);
  rig_open(&rig, 8, TIDE_PARAMS(tide_pool_params, .source = &vast.calls, .chunk = 16 * KIB));
  struct tide_buffer *a = take(&rig, 0, 16 * KIB), *b = take(&rig, 0, 16 * KIB);
  leave_behind(&rig, 0, a);
  leave_behind(&rig, 0, b);
  a = take(&rig, 1, 16 * KIB);
  CHECK_REUSE(a, TIDE_REUSE_GAP);
  leave_behind(&rig, 1, a);
  rig_close(&rig);
}

/* The other policy: the least memory. */
TEST(wait_first_takes_one_block) {
  struct vast vast;
  struct rig rig;
  vast_open(&vast, 0);
  rig_open(&rig, 8,
           TIDE_PARAMS(tide_pool_params, .source = &vast.calls, .chunk = 64 * KIB,
                       .policy = TIDE_POOL_WAIT_FIRST));
  for (unsigned i = 0; i < 100; i++) leave_behind(&rig, i % 2, take(&rig, i % 2, 64 * KIB));
  CHECK_EQ_U64(vast.peak, 64 * KIB);
  CHECK_EQ_U64(stats_of(&rig).reused_gap, 99);
  rig_close(&rig);
}

/* The same program with just the memory that it used without a limit is served alike. */
TEST(what_was_used_is_enough) {
  size_t limit = 0;
  for (unsigned round = 0; round < 3; round++) {
    struct vast vast;
    struct rig rig;
    vast_open(&vast, 0);
    rig_open(&rig, 8,
             TIDE_PARAMS(tide_pool_params, .source = &vast.calls, .chunk = 100 * KIB,
                         .limit = limit - (round == 2)));
    for (unsigned i = 0; i < 40; i++) {
      struct tide_buffer *b = take(&rig, i % 3, (1 + i % 5) * 8 * KIB);
      leave_behind(&rig, (i + i / 3) % 3, b);
    }
    if (round == 0) limit = stats_of(&rig).source_used;
    CHECK_EQ_U64(stats_of(&rig).reused_gap > 0, round == 2);
    rig_close(&rig);
  }
}

TEST(policies_are_two) {
  struct rig rig;
  struct tide_pool *pool;
  rig_open(&rig, 8, TIDE_PARAMS(tide_pool_params, .limit = 0));
  struct tide_pool_params params = {.struct_size = sizeof params,
                                    .policy = (enum tide_pool_policy)2};
  CHECK_STATUS(tide_pool_create(rig.context, &params, &pool), TIDE_INVALID);
  CHECK(pool == NULL);
  rig_close(&rig);
}

TEST_MAIN(CASE(preference), CASE(no_wait_is_overlooked),
          CASE(no_finished_block_is_overlooked_for_a_host),
          CASE(known_neighbours_before_the_source), CASE(budget_follows_the_peak),
          CASE(two_lanes_run_apart), CASE(memory_is_bounded),
          CASE(first_of_the_runs_with_the_fewest_waits), CASE(budget_counts_the_request),
          CASE(a_chunk_on_its_way_spares_a_gap_wait), CASE(ends_of_chunks_cost_no_waits),
          CASE(random_sizes_are_bounded), CASE(the_budget_is_no_limit),
          CASE(a_host_grows_up_to_the_limit), CASE(limit_then_gap_then_no_memory),
          CASE(a_source_that_ends_within_the_budget), CASE(wait_first_takes_one_block),
          CASE(what_was_used_is_enough), CASE(policies_are_two))
