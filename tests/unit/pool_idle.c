/* An idle pool serves any size within its limit: its chunks go back to the source first. */
#include "pool_rig.h"

#include "memory/state.h"
#include <pthread.h>
#include <sched.h>

/* A source that refuses to give more than its limit at a time, and whose memory is off by `skew`
 * bytes. */
struct source {
  struct tide_memory_source calls;
  size_t skew, limit, mapped;
  unsigned unmapped, refused; /* chunks */
  void (*on_unmap)(void *self);
  void *on_unmap_self;
};

static void *source_map(void *self, size_t size) {
  struct source *source = self;
  if (source->mapped + size > source->limit) {
    source->refused++;
    return NULL;
  }
  char *memory = aligned_alloc(4096, (size + 2 * 4096) & ~(size_t)4095);
  CHECK(memory != NULL);
  source->mapped += size;
  return memory + source->skew;
}

static void source_unmap(void *self, void *memory, size_t size) {
  struct source *source = self;
  if (source->on_unmap) source->on_unmap(source->on_unmap_self);
  source->mapped -= size;
  source->unmapped++;
  free((char *)memory - source->skew);
}

static void source_open(struct source *source, size_t limit, size_t skew) {
  *source =
      (struct source){.calls = {source_map, source_unmap, source}, .skew = skew, .limit = limit};
}

/* Each of `count` chunks has two blocks, used by two queues. */
static void use_chunks(struct rig *rig, unsigned count) {
  struct tide_buffer *b[2 * 64];
  for (unsigned i = 0; i < 2 * count; i++) {
    b[i] = take(rig, i % 5, 2 * KIB);
    submit(rig, i % 5, b[i]);
  }
  for (unsigned i = 0; i < 2 * count; i++) drop(rig, i % 5, b[i]);
}

static enum tide_status try_take(struct rig *rig, size_t size, int queue,
                                 struct tide_buffer **out_buffer) {
  return tide_pool_alloc(rig->pool, size, queue < 0 ? NULL : at(rig, (unsigned)queue), NULL,
                         out_buffer);
}

/* One busy chunk takes its bytes from the largest size, and no more. */
TEST(any_size_within_the_limit) {
  for (unsigned mode = 0; mode < 8; mode++) {
    struct source source;
    struct rig rig;
    struct tide_buffer *small, *big;
    int queue = mode & 4 ? -1 : 5;
    source_open(&source, 64 * KIB, 0);
    rig_open(&rig, 8,
             TIDE_PARAMS(tide_pool_params, .source = &source.calls, .limit = 64 * KIB,
                         .chunk = 4 * KIB, .uses_are_named = mode & 2,
                         .policy = mode & 1 ? TIDE_POOL_WAIT_FIRST : TIDE_POOL_GROW_FIRST));
    rig_name(&rig, RIG_QUEUES);
    use_chunks(&rig, 16);
    CHECK_EQ_U64(source.mapped, 64 * KIB);
    CHECK_EQ_U64(stats_of(&rig).busy_bytes, 64 * KIB);
    CHECK_STATUS(try_take(&rig, 5 * KIB, queue, &big), TIDE_NOMEM);
    finish_all(&rig);
    CHECK_EQ_U64(stats_of(&rig).busy_bytes, 0);
    small = take(&rig, 0, 1);
    CHECK_EQ_U64(stats_of(&rig).busy_bytes, 4 * KIB);
    CHECK_STATUS(try_take(&rig, 60 * KIB + 1, queue, &big), TIDE_NOMEM);
    CHECK_EQ_U64(source.unmapped, 0); /* in vain */
    CHECK_OK(try_take(&rig, 9 * KIB, queue, &big));
    CHECK_REUSE(big, TIDE_REUSE_FRESH);
    CHECK_EQ_U64(source.unmapped, 3); /* no more than it needs */
    tide_pool_free(big, NULL);
    CHECK_OK(try_take(&rig, 60 * KIB, queue, &big));
    CHECK_EQ_U64(source.mapped, 64 * KIB);
    CHECK_EQ_U64(stats_of(&rig).source_bytes, 64 * KIB);
    tide_pool_free(big, NULL);
    tide_pool_free(small, NULL);
    CHECK_OK(try_take(&rig, 64 * KIB, queue, &big));
    CHECK_STATUS(try_take(&rig, 1, queue, &small), TIDE_NOMEM);
    tide_pool_free(big, NULL);
    CHECK_EQ_U64(tide_pool_trim(rig.pool), 64 * KIB);
    CHECK_EQ_U64(stats_of(&rig).source_bytes, 0);
    rig_close(&rig);
    CHECK_EQ_U64(source.mapped, 0);
  }
}

/* Without a limit only the source tells what it has. */
TEST(a_source_that_has_no_more) {
  struct source source;
  struct rig rig;
  struct tide_buffer *big, *none;
  source_open(&source, 64 * KIB, 0);
  rig_open(&rig, 8, TIDE_PARAMS(tide_pool_params, .source = &source.calls, .chunk = 4 * KIB));
  use_chunks(&rig, 16);
  CHECK_STATUS(try_take(&rig, 5 * KIB, 5, &big), TIDE_NOMEM);
  finish_all(&rig);
  CHECK_OK(try_take(&rig, 64 * KIB, 5, &big));
  CHECK_REUSE(big, TIDE_REUSE_FRESH);
  CHECK_STATUS(try_take(&rig, 1, 5, &none), TIDE_NOMEM);
  tide_pool_free(big, NULL);
  CHECK_STATUS(try_take(&rig, 65 * KIB, 5, &none), TIDE_NOMEM);
  rig_close(&rig);
  CHECK_EQ_U64(source.mapped, 0);
}

/* Each of its chunks loses some bytes to alignment. */
TEST(an_ill_aligned_source) {
  struct source source;
  struct rig rig;
  struct tide_buffer *big;
  source_open(&source, SIZE_MAX, 16);
  rig_open(&rig, 8,
           TIDE_PARAMS(tide_pool_params, .source = &source.calls, .limit = 64 * KIB,
                       .chunk = 4 * KIB, .align = 4 * KIB));
  struct tide_buffer *b[8];
  for (unsigned i = 0; i < 7; i++) b[i] = take(&rig, i % 5, 4 * KIB);
  for (unsigned i = 0; i < 7; i++) drop(&rig, i % 5, b[i]);
  CHECK_EQ_U64(source.mapped, 7 * (8 * KIB - 1));
  CHECK_OK(try_take(&rig, 24 * KIB, 5, &big));
  drop(&rig, 5, big);
  CHECK_OK(try_take(&rig, 60 * KIB, 5, &big));
  CHECK(source.mapped <= 64 * KIB);
  drop(&rig, 5, big);
  rig_close(&rig);
}

struct snapshot {
  struct rig *rig;
  size_t count; /* live axes */
};

static size_t take_snapshot(void *self, tide_axis *axes, uint64_t *epochs, size_t size) {
  struct snapshot *snapshot = self;
  for (size_t i = 0; i < size && i < snapshot->count; i++) {
    axes[i] = axis_of(snapshot->rig, i % RIG_QUEUES);
    epochs[i] = at(snapshot->rig, i % RIG_QUEUES)->epoch;
  }
  return snapshot->count;
}

/* The second block waits for the period behind the first one's. By then more axes live than a
 * snapshot has capacity for. */
TEST(grace_periods_are_over) {
  struct source source;
  struct rig rig;
  struct snapshot snapshot = {&rig, RIG_QUEUES};
  struct tide_buffer *b[2], *big;
  source_open(&source, 8 * KIB, 0);
  rig_open(
      &rig, 1,
      TIDE_PARAMS(tide_pool_params, .source = &source.calls, .limit = 8 * KIB, .chunk = 4 * KIB));
  tide_pool_set_grace(rig.pool, take_snapshot, &snapshot);
  for (unsigned i = 0; i < 2; i++) b[i] = take(&rig, 0, 4 * KIB);
  for (unsigned i = 0; i < 2; i++) submit(&rig, 0, b[i]), submit(&rig, 1, b[i]);
  for (unsigned i = 0; i < 2; i++) drop(&rig, 0, b[i]);
  CHECK_STATUS(try_take(&rig, 8 * KIB, 5, &big), TIDE_NOMEM);
  CHECK_EQ_U64(stats_of(&rig).busy_bytes, 8 * KIB);
  finish_all(&rig);
  snapshot.count = 500;
  CHECK_OK(try_take(&rig, 8 * KIB, 5, &big));
  drop(&rig, 5, big);
  rig_close(&rig);
}

/* ---- other threads ---- */

struct meanwhile {
  struct rig *rig;
  pthread_t thread;
  struct tide_buffer *buffer;
  enum tide_status status;
  _Atomic bool started, is_over;
};

static void *take_meanwhile(void *self) {
  struct meanwhile *m = self;
  m->status = try_take(m->rig, 8 * KIB, 4, &m->buffer);
  m->is_over = true;
  return NULL;
}

/* Goes on once the other thread has parked, or has an answer. */
static void on_unmap(void *self) {
  struct meanwhile *m = self;
  if (m->started) return;
  m->started = true;
  CHECK(!pthread_create(&m->thread, NULL, take_meanwhile, m));
  for (uint32_t awaiting = 0; !awaiting && !m->is_over; sched_yield()) {
    tide_pool_lock(m->rig->pool);
    awaiting = m->rig->pool->awaiting;
    tide_pool_unlock(m->rig->pool);
  }
}

/* Memory on its way back counts towards the limit. A request awaits it. */
TEST(a_request_awaits_memory_on_its_way_back) {
  struct source source;
  struct rig rig;
  struct meanwhile m = {.rig = &rig};
  source_open(&source, 8 * KIB, 0);
  rig_open(
      &rig, 8,
      TIDE_PARAMS(tide_pool_params, .source = &source.calls, .limit = 8 * KIB, .chunk = 4 * KIB));
  use_chunks(&rig, 2);
  finish_all(&rig);
  source.on_unmap = on_unmap, source.on_unmap_self = &m;
  CHECK_EQ_U64(tide_pool_trim(rig.pool), 8 * KIB);
  CHECK(!pthread_join(m.thread, NULL));
  CHECK_OK(m.status);
  CHECK_EQ_U64(source.mapped, 8 * KIB);
  CHECK_EQ_U64(source.refused, 0); /* and it does not call the source before */
  drop(&rig, 4, m.buffer);
  rig_close(&rig);
}

TEST_MAIN(CASE(any_size_within_the_limit), CASE(a_source_that_has_no_more),
          CASE(an_ill_aligned_source), CASE(grace_periods_are_over),
          CASE(a_request_awaits_memory_on_its_way_back))
