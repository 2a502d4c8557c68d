/* Where a pool's memory comes from and goes to: sizes, limits, fragments, failing allocators,
 * threads. */
#include "pool_rig.h"

#include "base/random.h"
#include <pthread.h>

/* A source that gives what it has, off by `skew` bytes, and remembers. */
struct source {
  struct tide_memory_source calls;
  size_t skew, limit, mapped, asked;
};

static void *source_map(void *self, size_t size) {
  struct source *source = self;
  source->asked++;
  if (source->mapped + size > source->limit) return NULL;
  char *memory = aligned_alloc(4096, (size + 2 * 4096) & ~(size_t)4095);
  if (!memory) return NULL;
  source->mapped += size;
  return memory + source->skew;
}

static void source_unmap(void *self, void *memory, size_t size) {
  struct source *source = self;
  source->mapped -= size;
  free((char *)memory - source->skew);
}

static struct source make_source(size_t limit, size_t skew) {
  return (struct source){.calls = {source_map, source_unmap, NULL}, .skew = skew, .limit = limit};
}

TEST(arguments) {
  struct rig rig;
  struct tide_pool *pool;
  struct tide_buffer *b;
  rig_open(&rig, 8, &(struct tide_pool_params){.struct_size = sizeof(struct tide_pool_params)});
  struct tide_memory_source half = {.map = source_map};
  CHECK_STATUS(tide_pool_create(NULL, NULL, &pool), TIDE_INVALID);
  CHECK_STATUS(tide_pool_create(rig.context, TIDE_PARAMS(tide_pool_params, .align = 48), &pool),
               TIDE_INVALID);
  CHECK_STATUS(tide_pool_create(rig.context, TIDE_PARAMS(tide_pool_params, .source = &half), &pool),
               TIDE_INVALID);
  CHECK(pool == NULL);
  CHECK_OK(tide_pool_create(rig.context, NULL, &pool));
  CHECK_OK(tide_pool_destroy(pool));
  CHECK_OK(tide_pool_destroy(NULL));
  tide_pool_free(NULL, NULL);
  CHECK_STATUS(tide_pool_alloc(rig.pool, 0, NULL, NULL, &b), TIDE_INVALID);
  CHECK(b == NULL);
  CHECK_STATUS(tide_pool_alloc(NULL, 1, NULL, NULL, &b), TIDE_INVALID);
  CHECK_STATUS(tide_pool_alloc(rig.pool, 1, NULL, NULL, NULL), TIDE_INVALID);
  rig_close(&rig);
}

TEST(absurd_sizes) {
  static const size_t sizes[] = {SIZE_MAX,     SIZE_MAX - 1,     SIZE_MAX - 63,  SIZE_MAX - 64,
                                 SIZE_MAX / 2, SIZE_MAX / 2 + 1, (size_t)1 << 47};
  struct rig rig;
  struct tide_buffer *b;
  for (int limited = 0; limited < 3; limited++) {
    struct tide_pool_params params = {.struct_size = sizeof params,
                                      .limit = limited == 1 ? 1 << 20
                                               : limited    ? SIZE_MAX
                                                            : 0,
                                      .chunk = limited == 2 ? SIZE_MAX : 0};
    rig_open(&rig, 8, &params);
    for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
      CHECK_STATUS(tide_pool_alloc(rig.pool, sizes[i], at(&rig, 0), NULL, &b), TIDE_NOMEM);
    }
    CHECK_EQ_U64(stats_of(&rig).source_bytes, 0);
    CHECK_OK(tide_pool_alloc(rig.pool, 1, at(&rig, 0), NULL, &b)); /* the chunk gives in */
    drop(&rig, 0, b);
    rig_close(&rig);
  }
}

TEST(alignment) {
  static const size_t aligns[] = {1, 16, 64, 256, 4096, 65536};
  for (unsigned a = 0; a < 6; a++) {
    for (size_t skew = 0; skew < 4096; skew = skew ? skew * 8 : 8) {
      struct rig rig;
      struct source source = make_source(1 << 24, skew);
      source.calls.self = &source;
      struct tide_pool_params params = {.struct_size = sizeof params,
                                        .source = &source.calls,
                                        .align = aligns[a],
                                        .chunk = 256 * KIB};
      rig_open(&rig, 8, &params);
      struct tide_buffer *b[8];
      for (unsigned i = 0; i < 8; i++) {
        b[i] = take(&rig, 0, i == 7 ? 512 * KIB : 1 + 77 * i);
        CHECK_EQ_U64((uintptr_t)tide_buffer_data(b[i]) % aligns[a], 0);
        memset(tide_buffer_data(b[i]), (int)i, tide_buffer_size(b[i]));
      }
      for (unsigned i = 0; i < 8; i++) {
        CHECK(((char *)tide_buffer_data(b[i]))[tide_buffer_size(b[i]) - 1] == (char)i);
        drop(&rig, 0, b[i]);
      }
      CHECK_EQ_U64(stats_of(&rig).source_bytes, source.mapped);
      rig_close(&rig);
      CHECK_EQ_U64(source.mapped, 0);
    }
  }
}

TEST(limit) {
  struct rig rig;
  struct source source = make_source(SIZE_MAX, 0);
  source.calls.self = &source;
  struct tide_pool_params params = {
      .struct_size = sizeof params, .source = &source.calls, .limit = 100 * KIB, .chunk = 64 * KIB};
  rig_open(&rig, 8, &params);
  struct tide_buffer *a = take(&rig, 0, 60 * KIB), *b, *c;
  CHECK_EQ_U64(source.mapped, 64 * KIB);
  CHECK_STATUS(tide_pool_alloc(rig.pool, 37 * KIB, at(&rig, 0), NULL, &b), TIDE_NOMEM);
  b = take(&rig, 0, 20 * KIB); /* a chunk of what the limit leaves */
  CHECK_EQ_U64(source.mapped, 100 * KIB);
  c = take(&rig, 0, 16 * KIB);
  drop(&rig, 0, a), drop(&rig, 0, b), drop(&rig, 0, c);
  CHECK_EQ_U64(tide_pool_trim(rig.pool), 100 * KIB);
  CHECK_EQ_U64(source.mapped, 0);
  a = take(&rig, 0, 90 * KIB); /* more than a chunk: one of its own */
  CHECK_EQ_U64(source.mapped, 90 * KIB);
  drop(&rig, 0, a);
  struct tide_pool_stats stats = stats_of(&rig);
  CHECK(stats.source_peak == 100 * KIB && stats.peak_bytes == 96 * KIB);
  rig_close(&rig);
}

/* The source cannot give a whole chunk, but what is needed. */
TEST(poor_source) {
  struct rig rig;
  struct source source = make_source(10 * KIB, 0);
  source.calls.self = &source;
  struct tide_pool_params params = {.struct_size = sizeof params, .source = &source.calls};
  rig_open(&rig, 8, &params);
  struct tide_buffer *a = take(&rig, 0, 8 * KIB), *b;
  CHECK_STATUS(tide_pool_alloc(rig.pool, 4 * KIB, at(&rig, 0), NULL, &b), TIDE_NOMEM);
  CHECK_EQ_U64(stats_of(&rig).source_bytes, 8 * KIB);
  drop(&rig, 0, a);
  rig_close(&rig);
}

TEST(trim_takes_only_what_is_over) {
  struct rig rig;
  struct source source = make_source(SIZE_MAX, 0);
  source.calls.self = &source;
  struct tide_pool_params params = {
      .struct_size = sizeof params, .source = &source.calls, .chunk = 16 * KIB};
  rig_open(&rig, 8, &params);
  struct tide_buffer *b[3];
  for (unsigned i = 0; i < 3; i++) b[i] = take(&rig, i, 16 * KIB), submit(&rig, i, b[i]);
  CHECK_EQ_U64(tide_pool_trim(rig.pool), 0); /* live */
  drop(&rig, 0, b[0]), drop(&rig, 1, b[1]);
  CHECK_EQ_U64(tide_pool_trim(rig.pool), 0); /* not finished */
  CHECK_STATUS(tide_pool_destroy(rig.pool), TIDE_BUSY);
  finish(&rig, 1);
  CHECK_EQ_U64(tide_pool_trim(rig.pool), 16 * KIB);
  CHECK_EQ_U64(source.mapped, 32 * KIB);
  finish(&rig, 0), finish(&rig, 2);
  CHECK_EQ_U64(tide_pool_trim(rig.pool), 16 * KIB);
  memset(tide_buffer_data(b[2]), 1, 16 * KIB);
  drop(&rig, 2, b[2]);
  CHECK_EQ_U64(stats_of(&rig).source_bytes, 16 * KIB);
  rig_close(&rig);
  CHECK_EQ_U64(source.mapped, 0);
}

/* Small pieces of many sizes come together again when a large one is wanted. */
TEST(fragments_join) {
  enum { COUNT = 400 };
  struct rig rig;
  struct tide_pool_params params = {
      .struct_size = sizeof params, .chunk = 1024 * KIB, .limit = 1024 * KIB};
  rig_open(&rig, 8, &params);
  struct tide_random random = {7};
  struct tide_buffer *b[COUNT] = {0};
  for (unsigned round = 0; round < 20000; round++) {
    unsigned i = (unsigned)tide_random_below(&random, COUNT);
    if (b[i]) {
      submit(&rig, 0, b[i]);
      drop(&rig, 0, b[i]);
      b[i] = NULL;
    } else if (tide_pool_alloc(rig.pool, 1 + tide_random_below(&random, 8000), at(&rig, 0), NULL,
                               &b[i]) != TIDE_OK) {
      b[i] = NULL;
    }
  }
  CHECK(stats_of(&rig).live_buffers > 100);
  for (unsigned i = 0; i < COUNT; i++) {
    if (b[i]) drop(&rig, 0, b[i]);
  }
  b[0] = take(&rig, 0, 1024 * KIB);
  CHECK_REUSE(b[0], TIDE_REUSE_KNOWN);
  drop(&rig, 0, b[0]);
  rig_close(&rig);
}

/* Neighbours that several queues freed are joined before more is taken from the source: those that
 * leave the fewest waits. A host does not wait for devices, and gets new memory. */
TEST(neighbours_before_the_source) {
  struct rig rig;
  struct tide_pool_params params = {
      .struct_size = sizeof params, .chunk = 64 * KIB, .policy = TIDE_POOL_WAIT_FIRST};
  rig_open(&rig, 8, &params);
  struct tide_buffer *b[8], *two, *host;
  for (unsigned i = 0; i < 8; i++) b[i] = take(&rig, i % 5, 8 * KIB);
  for (unsigned i = 0; i < 8; i++) {
    submit(&rig, i % 5, b[i]);
    if (i != 2) drop(&rig, i % 5, b[i]);
  }
  learn(&rig, 5, 4);
  learn(&rig, 5, 1);
  two = take(&rig, 5, 16 * KIB); /* 0 1 | 3 4 | 5 6 | 7: it knows 1, 4 and 6 */
  CHECK_REUSE(two, TIDE_REUSE_GAP);
  CHECK(tide_buffer_data(two) == tide_buffer_data(b[0]) ||
        tide_buffer_data(two) == tide_buffer_data(b[3]) ||
        tide_buffer_data(two) == tide_buffer_data(b[5]));
  CHECK_EQ_U64(tide_buffer_past(two)->count, 2);
  CHECK_EQ_U64(stats_of(&rig).gap_waits, 1);
  CHECK_EQ_U64(stats_of(&rig).source_bytes, 64 * KIB);
  CHECK_OK(tide_pool_alloc(rig.pool, 16 * KIB, NULL, NULL, &host));
  CHECK_REUSE(host, TIDE_REUSE_FRESH);
  CHECK_EQ_U64(stats_of(&rig).source_bytes, 128 * KIB);
  finish_all(&rig);
  tide_pool_free(host, NULL);
  drop(&rig, 5, two);
  drop(&rig, 2, b[2]);
  rig_close(&rig);
}

/* How full a pool of fixed size gets with buffers that live for random times. */
TEST(fragmentation_is_bounded) {
  enum { COUNT = 512 };
  struct rig rig;
  struct tide_pool_params params = {
      .struct_size = sizeof params, .chunk = 4096 * KIB, .limit = 4096 * KIB};
  rig_open(&rig, 8, &params);
  struct tide_random random = {3};
  struct tide_buffer *b[COUNT] = {0};
  uint64_t failed_at = 0, failures = 0;
  for (unsigned round = 0; round < 40000; round++) {
    unsigned i = (unsigned)tide_random_below(&random, COUNT);
    if (b[i]) drop(&rig, 0, b[i]);
    b[i] = NULL;
    size_t size = (size_t)64 << tide_random_below(&random, 10);
    size += tide_random_below(&random, size);
    if (tide_pool_alloc(rig.pool, size, at(&rig, 0), NULL, &b[i]) != TIDE_OK) {
      failed_at += stats_of(&rig).live_bytes + size;
      failures++;
    }
  }
  CHECK(failures > 100);
  uint64_t percent = failed_at / failures * 100 / (4096 * KIB);
  if (percent < 80) FAIL("full at %llu percent", (unsigned long long)percent);
  for (unsigned i = 0; i < COUNT; i++) tide_pool_free(b[i], NULL);
  rig_close(&rig);
}

/* ---- the allocator ---------------------------------------------------------------- */

/* Many buffers, used, freed, taken again; whatever fails must leave all whole. */
static bool exercise(struct rig *rig, unsigned step) {
  enum { COUNT = 150 };
  struct tide_buffer *b[COUNT] = {0};
  bool all = true;
  for (unsigned round = 0; round < 2; round++) {
    for (unsigned i = 0; i < COUNT; i++) {
      enum tide_status status =
          tide_pool_alloc(rig->pool, 3000 + step * i, at(rig, i % 3), NULL, &b[i]);
      CHECK(status == TIDE_OK || (status == TIDE_NOMEM && !b[i]));
      if (b[i]) submit(rig, i % 3, b[i]);
      all = all && b[i];
    }
    for (unsigned i = 0; i < COUNT; i++) tide_pool_free(b[i], at(rig, i % 3));
  }
  return all;
}

TEST(each_allocation_fails_once) {
  struct tide_pool_params params = {.struct_size = sizeof params, .chunk = 32 * KIB};
  for (int on = 0; on < 2; on++) {
    for (uint64_t n = 1;; n++) {
      struct rig rig;
      rig_open(&rig, 8, NULL);
      uint64_t before = rig.allocs;
      rig.fail_at = before + n;
      rig.fail_on = on;
      enum tide_status status = tide_pool_create(rig.context, &params, &rig.pool);
      CHECK(status == TIDE_OK || (status == TIDE_NOMEM && !rig.pool));
      bool all = rig.pool && exercise(&rig, 10);
      bool reached = rig.allocs >= rig.fail_at;
      rig.fail_at = 0;
      if (rig.pool) (void)exercise(&rig, 10);
      rig_close(&rig);
      CHECK(reached || all);
      if (!reached) break;
    }
  }
}

TEST(no_allocation_when_warm) {
  struct rig rig;
  rig_open(&rig, 8, TIDE_PARAMS(tide_pool_params, .chunk = 64 * KIB));
  for (int i = 0; i < 3; i++) (void)exercise(&rig, 0);
  uint64_t before = rig.allocs;
  for (int i = 0; i < 100; i++) {
    if (i % 10 == 0) finish_all(&rig);
    (void)exercise(&rig, 0);
  }
  CHECK_EQ_U64(rig.allocs, before);
  rig_close(&rig);
}

/* ---- threads ---------------------------------------------------------------------- */

#define HAMMERS 2
#define HANDED 64

struct hammer {
  struct rig *rig;
  unsigned queue;
  struct tide_buffer **handed; /* from the other threads, to be freed here */
};

/* What a body would do: nobody else may write it meanwhile. */
static void write_and_look(struct tide_buffer *b, unsigned queue) {
  unsigned char *data = tide_buffer_data(b);
  size_t size = tide_buffer_size(b);
  memset(data, (int)queue + 1, size);
  for (size_t i = 0; i < size; i += 64) CHECK(data[i] == queue + 1);
}

static void *hammer(void *argument) {
  struct hammer *self = argument;
  struct rig *rig = self->rig;
  struct tide_random random = {self->queue};
  for (unsigned i = 0; i < 60000 / test_slowdown(); i++) {
    struct tide_buffer *b;
    enum tide_status status = tide_pool_alloc(rig->pool, 1 + tide_random_below(&random, 2000),
                                              at(rig, self->queue), NULL, &b);
    if (status == TIDE_OK) {
      /* A gap would be a wait; here it is enough not to touch it. */
      if (tide_buffer_reuse(b) != TIDE_REUSE_GAP) write_and_look(b, self->queue);
      tide_buffer_retain(b);
      tide_buffer_pin(b);
      submit(rig, self->queue, b);
      if (i % 16 == 0) finish(rig, self->queue);
      struct tide_buffer **slot = &self->handed[tide_random_below(&random, HANDED)];
      struct tide_buffer *other = __atomic_exchange_n(slot, b, __ATOMIC_ACQ_REL);
      if (other) drop(rig, self->queue, other);
      tide_buffer_unpin(b);
      tide_buffer_release(b);
    }
    if (i % 512 == 0) (void)tide_pool_trim(rig->pool);
  }
  return NULL;
}

TEST(threads) {
  struct rig rig;
  rig_open(&rig, 8, TIDE_PARAMS(tide_pool_params, .chunk = 16 * KIB, .limit = 128 * KIB));
  struct tide_buffer *handed[HANDED] = {0};
  struct hammer hammers[HAMMERS];
  pthread_t threads[HAMMERS];
  for (unsigned i = 0; i < HAMMERS; i++) {
    hammers[i] = (struct hammer){&rig, i, handed};
    CHECK(pthread_create(&threads[i], NULL, hammer, &hammers[i]) == 0);
  }
  for (unsigned i = 0; i < HAMMERS; i++) pthread_join(threads[i], NULL);
  for (unsigned i = 0; i < HANDED; i++) tide_pool_free(handed[i], NULL);
  struct tide_pool_stats stats = stats_of(&rig);
  CHECK_EQ_U64(stats.allocs, stats.frees);
  CHECK(stats.live_bytes == 0 && stats.live_buffers == 0);
  rig_close(&rig);
}

TEST_MAIN(CASE(arguments), CASE(absurd_sizes), CASE(alignment), CASE(limit), CASE(poor_source),
          CASE(trim_takes_only_what_is_over), CASE(fragments_join),
          CASE(neighbours_before_the_source), CASE(fragmentation_is_bounded),
          CASE(each_allocation_fails_once), CASE(no_allocation_when_warm), CASE(threads))
