/* The pool: free against alloc, use against free, and who may touch reused memory. */
#include "causal/context_state.h"
#include "interleave.h"

#include "harness.h"
#include "memory/pool.h"
#include "tidemark/tidemark.h"

#define AXIS 0x0003000000000001ull

struct state {
  struct tide_context *context;
  struct tide_pool *pool;
  struct tide_buffer *buffer;
  unsigned char *memory;
  struct tide_position position;
  TIDE_FRONTIER_STORAGE(knows, 4);
};

static void setup(void *self) {
  struct state *s = self;
  struct tide_context_params context_params = {.struct_size = sizeof context_params,
                                               .frontier_capacity = 4};
  struct tide_pool_params params = {
      .struct_size = sizeof params, .chunk = 4096, .buffers = 4, .limit = 4096};
  EXPECT_OK(tide_context_create(&context_params, &s->context));
  EXPECT_OK(tide_pool_create(s->context, &params, &s->pool));
}

/* ---- blocks ---- */

/* Nobody may have what another one has: a write to it would race. */
static void take_and_give(void *self) {
  struct state *s = self;
  struct tide_buffer *buffer;
  EXPECT_OK(tide_pool_alloc(s->pool, 2000, NULL, NULL, &buffer));
  *(volatile unsigned char *)tide_buffer_data(buffer) = 1;
  tide_pool_free(buffer, NULL);
}
static void all_free(void *self) {
  struct state *s = self;
  EXPECT_OK(tide_pool_destroy(s->pool));
}

/* ---- memory of an operation that still runs ---- */

static void setup_dead(void *self) {
  struct state *s = self;
  setup(self);
  EXPECT_OK(tide_tracker_register(s->context->tracker, AXIS));
  tide_frontier_init(&s->knows.frontier, 4);
  tide_frontier_raise(&s->knows.frontier, AXIS, 1, NULL);
  s->position = (struct tide_position){.axis = AXIS, .epoch = 1, .frontier = &s->knows.frontier};
  EXPECT_OK(tide_pool_alloc(s->pool, 4000, NULL, NULL, &s->buffer));
  s->memory = tide_buffer_data(s->buffer);
}
static void run_and_finish(void *self) {
  struct state *s = self;
  *(volatile unsigned char *)s->memory = 2;
  EXPECT_OK(tide_tracker_advance(s->context->tracker, AXIS, 1));
}
static void free_early(void *self) {
  struct state *s = self;
  tide_pool_free(s->buffer, &s->position);
}
static void take_when_finished(void *self) {
  struct state *s = self;
  struct tide_buffer *buffer;
  enum tide_status status = tide_pool_alloc(s->pool, 4000, NULL, NULL, &buffer);
  EXPECT(status == TIDE_OK || status == TIDE_NOMEM);
  if (status == TIDE_NOMEM || !tide_buffer_ready(buffer)) return;
  *(volatile unsigned char *)tide_buffer_data(buffer) = 3;
}

/* ---- handles ---- */

static void setup_retained(void *self) {
  struct state *s = self;
  setup(self);
  EXPECT_OK(tide_pool_alloc(s->pool, 100, NULL, NULL, &s->buffer));
  tide_buffer_retain(s->buffer);
}
static void free_it(void *self) {
  struct state *s = self;
  tide_pool_free(s->buffer, NULL);
}
static void release_it(void *self) {
  struct state *s = self;
  tide_buffer_release(s->buffer);
}
static void setup_pinned(void *self) {
  struct state *s = self;
  setup(self);
  EXPECT_OK(tide_pool_alloc(s->pool, 100, NULL, NULL, &s->buffer));
  tide_buffer_retain(s->buffer);
  tide_buffer_pin(s->buffer);
}
static void unpin_and_release(void *self) {
  struct state *s = self;
  tide_buffer_unpin(s->buffer);
  tide_buffer_release(s->buffer);
}

static void trim(void *self) {
  struct state *s = self;
  tide_pool_trim(s->pool);
}
static void take_twice(void *self) {
  take_and_give(self);
  take_and_give(self);
}

/* ---- uses told without the lock ---- */

#define OTHER 0x0003000000000002ull

static void setup_repeated(void *self) {
  struct state *s = self;
  setup_dead(self);
  EXPECT_OK(tide_tracker_register(s->context->tracker, OTHER));
  for (uint64_t epoch = 1; epoch <= 2; epoch++) /* the second time there is a place for it */
    tide_buffer_use(s->buffer, &(struct tide_naming){AXIS, epoch, &s->knows.frontier, 1, NULL});
}
static void use_again(void *self) {
  struct state *s = self;
  tide_buffer_use(s->buffer, &(struct tide_naming){AXIS, 3, &s->knows.frontier, 1, NULL});
  tide_buffer_use(s->buffer, &(struct tide_naming){AXIS, 4, &s->knows.frontier, 1, NULL});
}
static void use_other(void *self) {
  struct state *s = self;
  TIDE_FRONTIER_STORAGE(knows, 4);
  tide_frontier_init(&knows.frontier, 4);
  tide_buffer_use(s->buffer, &(struct tide_naming){OTHER, 1, &knows.frontier, 1, NULL});
  tide_buffer_use(s->buffer, &(struct tide_naming){OTHER, 2, &knows.frontier, 2, NULL});
}
static void both_are_kept(void *self) {
  struct state *s = self;
  struct tide_buffer *next;
  tide_pool_free(s->buffer, &s->position);
  EXPECT_OK(tide_pool_alloc(s->pool, 4000, &s->position, NULL, &next));
  EXPECT(tide_frontier_get(tide_buffer_past(next), AXIS) == 4);
  EXPECT(tide_frontier_get(tide_buffer_past(next), OTHER) == 2);
}

/* ---- memory that is on its way ---- */

/* One chunk is somebody's that runs; one more is within the limit, with room for two. */
static void setup_growing(void *self) {
  struct state *s = self;
  struct tide_context_params context_params = {.struct_size = sizeof context_params,
                                               .frontier_capacity = 4};
  struct tide_pool_params params = {
      .struct_size = sizeof params, .chunk = 4096, .buffers = 4, .limit = 8192};
  EXPECT_OK(tide_context_create(&context_params, &s->context));
  EXPECT_OK(tide_pool_create(s->context, &params, &s->pool));
  EXPECT_OK(tide_tracker_register(s->context->tracker, AXIS));
  EXPECT_OK(tide_tracker_register(s->context->tracker, OTHER));
  tide_frontier_init(&s->knows.frontier, 4);
  tide_frontier_raise(&s->knows.frontier, AXIS, 1, NULL);
  s->position = (struct tide_position){.axis = AXIS, .epoch = 1, .frontier = &s->knows.frontier};
  EXPECT_OK(tide_pool_alloc(s->pool, 4096, &s->position, NULL, &s->buffer));
  tide_pool_free(s->buffer, &s->position);
}
/* By another queue, which knows nothing of that one. */
static void take_fresh(void *self) {
  struct state *s = self;
  struct tide_buffer *buffer;
  TIDE_FRONTIER_STORAGE(knows, 4);
  tide_frontier_init(&knows.frontier, 4);
  struct tide_position position = {.axis = OTHER, .frontier = &knows.frontier};
  EXPECT_OK(tide_pool_alloc(s->pool, 2000, &position, NULL, &buffer));
  EXPECT(tide_buffer_reuse(buffer) == TIDE_REUSE_FRESH);
}

INTERLEAVE_CASE(take_two_of_a_chunk, 1, setup_growing, NULL, take_fresh, take_fresh)
INTERLEAVE_CASE(use_use, 2, setup_repeated, both_are_kept, use_again, use_other)
INTERLEAVE_CASE(take_and_give_twice, 1, setup, all_free, take_and_give, take_and_give)
INTERLEAVE_CASE(reuse_when_finished, 2, setup_dead, NULL, run_and_finish, free_early,
                take_when_finished)
INTERLEAVE_CASE(free_release, 2, setup_retained, all_free, free_it, release_it)
INTERLEAVE_CASE(free_unpin, 2, setup_pinned, all_free, free_it, unpin_and_release)
INTERLEAVE_CASE(take_trim, 1, setup, all_free, take_twice, trim)
INTERLEAVE_CASE(take_three, 0, setup, all_free, take_and_give, take_and_give, trim)

TEST_MAIN(CASE(take_trim), CASE_SECONDS(take_three, 300), CASE(take_and_give_twice),
          CASE(take_two_of_a_chunk), CASE(reuse_when_finished), CASE(free_release),
          CASE(free_unpin), CASE(use_use))
