/* The scheduler and pools: one device's memory, and what recycled memory teaches. */
#include "fake_device.h"

static struct tide_pool *pool_of(struct fake *f, struct tide_device *device) {
  struct tide_pool *pool;
  struct tide_pool_params params = {
      .struct_size = sizeof params, .label = "tiles", .chunk = 4096, .device = device};
  CHECK_OK(tide_pool_create(f->context, &params, &pool));
  return pool;
}

/* A pool of one device is for its queues; a pool of none is for all. */
TEST(pools_of_devices) {
  struct fake f;
  struct tide_diag diag;
  fake_open(&f, true, 16);
  struct tide_queue *near = fake_queue(&f, "near"), *far = fake_queue_on(f.other, "far", 0);
  struct tide_pool *pool = pool_of(&f, f.device), *common = pool_of(&f, NULL);
  struct tide_buffer *tile, *shared, *mapped, *none = (void *)&f;
  char memory[64];
  CHECK_OK(tide_queue_alloc(near, pool, 100, "tile", &tile));
  CHECK_OK(tide_queue_alloc(far, common, 100, "shared", &shared));
  CHECK_OK(tide_pool_import(pool, memory, sizeof memory, "mapped", &mapped));
  CHECK_STATUS(tide_queue_alloc(far, pool, 100, "none", &none), TIDE_SCOPE);
  CHECK(none == NULL);
  struct tide_use uses[2] = {{.buffer = shared, .access = TIDE_READ},
                             {.buffer = tile, .access = TIDE_WRITE}};
  struct tide_operation both = OPERATION(.label = "both", .buffers = uses, .buffer_count = 2);
  CHECK_STATUS(tide_queue_submit(far, &both, NULL, &diag), TIDE_SCOPE);
  CHECK(strstr(diag.text, "buffer 'tile' is of pool 'tiles' of device 'fake'; queue 'far' of "
                          "device 'other' cannot use it"));
  CHECK_STATUS(tide_queue_submit_all(far, &both, 1, NULL, &diag), TIDE_SCOPE);
  CHECK_OK(tide_queue_submit(near, &both, NULL, &diag));
  uses[1].buffer = mapped;
  CHECK_STATUS(tide_queue_submit(far, &both, NULL, &diag), TIDE_SCOPE);
  both.buffer_count = 1;
  CHECK_OK(tide_queue_submit(far, &both, NULL, &diag));
  tide_queue_free(near, tile);
  tide_queue_free(near, mapped);
  tide_queue_free(far, shared);
  fake_run_out(&f);
  tide_queue_destroy(near);
  tide_queue_destroy(far);
  CHECK_OK(tide_pool_destroy(pool));
  CHECK_OK(tide_pool_destroy(common));
  fake_close(&f);
}

/* Whoever gets memory that another queue used last is ordered behind all that this use knew, not
 * behind the use alone: what it knew counts, for waits and for who may signal. */
static void recycled(bool in_order, uint8_t capacity) {
  struct fake f;
  fake_open(&f, in_order, capacity);
  struct tide_queue *first = fake_queue(&f, "first"), *second = fake_queue(&f, "second"),
                    *third = fake_queue(&f, "third");
  struct tide_timeline *steps = fake_timeline(&f, "steps", false);
  struct tide_pool *pool;
  struct tide_pool_params params = {.struct_size = sizeof params,
                                    .label = "pages",
                                    .chunk = 4096,
                                    .limit = 4096,
                                    .uses_are_named = true};
  struct tide_buffer *page, *again;
  CHECK_OK(tide_pool_create(f.context, &params, &pool));
  CHECK_OK(SUBMIT(first, .label = "begin", SIGNALS({steps, 1})));
  CHECK_OK(tide_queue_alloc(second, pool, 4096, "page", &page));
  CHECK_OK(SUBMIT(second)); /* a small frontier keeps the larger epoch */
  CHECK_OK(SUBMIT(second, .label = "fill", WAITS({steps, 1}),
                  .buffers = &(struct tide_use){.buffer = page, .access = TIDE_WRITE},
                  .buffer_count = 1));
  tide_queue_free(second, page);
  CHECK_OK(tide_queue_alloc(third, pool, 4096, "page", &again));
  CHECK(tide_buffer_data(again) == tide_buffer_data(page));
  CHECK_EQ_U64(tide_buffer_reuse(again), TIDE_REUSE_GAP);
  CHECK_OK(SUBMIT(third, .label = "refill",
                  .buffers = &(struct tide_use){.buffer = again, .access = TIDE_WRITE},
                  .buffer_count = 1));
  if (capacity > 2) { /* else the frontier has forgotten it, and the wait would order it */
    CHECK_OK(SUBMIT(third, .label = "wait", WAITS({steps, 1})));
    CHECK_EQ_U64(fake_class(&f, "wait", 0), TIDE_WAIT_ELIDED);
  }
  CHECK(fake_find(&f, TIDE_EVENT_GAP, "refill", 0) && !fake_find(&f, TIDE_EVENT_GAP, "fill", 0));
  CHECK_OK(SUBMIT(third, .label = "end", SIGNALS({steps, 2})));
  tide_queue_free(third, again);
  fake_run_out(&f);
  CHECK_STATUS(fake_status(&f, "end"), TIDE_OK);
  CHECK_EQ_U64(tide_timeline_query(steps), 2);
  tide_timeline_release(steps);
  tide_queue_destroy(first);
  tide_queue_destroy(second);
  tide_queue_destroy(third);
  CHECK_OK(tide_pool_destroy(pool));
  fake_close(&f);
}
TEST(recycled_memory_teaches_all) {
  recycled(true, 16);
  recycled(false, 16);
  recycled(true, 2);
  recycled(false, 2);
}

/* A wait for an old value of the queue's own progress does not make it forget what it is at: memory
 * that it freed itself is its own at once. */
TEST(own_progress_is_no_news) {
  struct fake f;
  fake_open(&f, true, 16);
  struct tide_queue *q = fake_queue(&f, "q");
  struct tide_pool *pool;
  struct tide_pool_params params = {.struct_size = sizeof params, .label = "pages", .chunk = 4096};
  struct tide_buffer *page, *again;
  struct tide_context_stats stats;
  CHECK_OK(tide_pool_create(f.context, &params, &pool));
  CHECK_OK(SUBMIT(q, .label = "first"));
  fake_run(&f, "first");
  CHECK_OK(tide_queue_alloc(q, pool, 4096, "page", &page));
  CHECK_OK(SUBMIT(q, .label = "fill",
                  .buffers = &(struct tide_use){.buffer = page, .access = TIDE_WRITE},
                  .buffer_count = 1));
  tide_queue_free(q, page);
  CHECK_OK(tide_queue_alloc(q, pool, 4096, "page", &again));
  CHECK(tide_buffer_data(again) == tide_buffer_data(page));
  CHECK_OK(SUBMIT(q, .label = "refill", WAITS({tide_queue_progress(q), 1}),
                  .buffers = &(struct tide_use){.buffer = again, .access = TIDE_WRITE},
                  .buffer_count = 1));
  CHECK_EQ_U64(fake_class(&f, "refill", 0), TIDE_WAIT_RESOLVED);
  tide_context_stats(f.context, &stats);
  CHECK_EQ_U64(stats.gap_waits, 0);
  tide_queue_free(q, again);
  fake_run_out(&f);
  tide_queue_destroy(q);
  CHECK_OK(tide_pool_destroy(pool));
  fake_close(&f);
}

/* Memory that two queues used is free when they have, not only when what the queue that freed it
 * was given besides has finished, too. */
TEST(a_gap_is_over_with_the_uses) {
  struct fake f;
  fake_open(&f, true, 16);
  struct tide_queue *first = fake_queue(&f, "first"), *second = fake_queue(&f, "second"),
                    *third = fake_queue(&f, "third");
  struct tide_timeline *steps = fake_timeline(&f, "steps", false);
  struct tide_pool *pool;
  struct tide_pool_params params = {.struct_size = sizeof params,
                                    .label = "pages",
                                    .chunk = 4096,
                                    .limit = 4096,
                                    .uses_are_named = true};
  struct tide_buffer *page, *again;
  CHECK_OK(tide_pool_create(f.context, &params, &pool));
  CHECK_OK(tide_queue_alloc(second, pool, 4096, "page", &page));
  struct tide_use use = {.buffer = page, .access = TIDE_READ};
  CHECK_OK(SUBMIT(first, .label = "one", SIGNALS({steps, 1}), .buffers = &use, .buffer_count = 1));
  CHECK_OK(SUBMIT(second, .label = "two", .buffers = &use, .buffer_count = 1));
  CHECK_OK(SUBMIT(second, .label = "later", WAITS({steps, 1})));
  CHECK_OK(SUBMIT(second, .label = "last"));
  tide_queue_free(second, page);
  CHECK_OK(tide_queue_alloc(third, pool, 4096, "page", &again));
  CHECK_EQ_U64(tide_buffer_reuse(again), TIDE_REUSE_GAP);
  use.buffer = again;
  CHECK_OK(SUBMIT(third, .label = "refill", .buffers = &use, .buffer_count = 1));
  fake_run(&f, "one");
  CHECK(!fake_runs(&f, "refill"));
  fake_run(&f, "two");
  CHECK(fake_runs(&f, "refill"));
  tide_queue_free(third, again);
  fake_run_out(&f);
  tide_timeline_release(steps);
  tide_queue_destroy(first);
  tide_queue_destroy(second);
  tide_queue_destroy(third);
  CHECK_OK(tide_pool_destroy(pool));
  fake_close(&f);
}

/* In a pool whose frees cover all uses, a free behind a held operation covers that one, too. */
TEST(a_covered_free_waits_for_held_operations) {
  struct fake f;
  fake_open(&f, true, 16);
  struct tide_queue *first = fake_queue(&f, "first"), *second = fake_queue(&f, "second");
  struct tide_timeline *steps = fake_timeline(&f, "steps", false);
  struct tide_pool *pool;
  struct tide_pool_params params = {.struct_size = sizeof params,
                                    .label = "pages",
                                    .chunk = 4096,
                                    .limit = 4096,
                                    .frees_cover_uses = true};
  struct tide_buffer *page, *again;
  CHECK_OK(tide_pool_create(f.context, &params, &pool));
  CHECK_OK(tide_queue_alloc(first, pool, 4096, "page", &page));
  struct tide_use use = {.buffer = page, .access = TIDE_WRITE};
  CHECK_OK(SUBMIT(first, .label = "held", WAITS({steps, 1}), .buffers = &use, .buffer_count = 1));
  tide_queue_free(first, page);
  CHECK_OK(tide_timeline_signal_external(steps, 1));
  CHECK_OK(tide_queue_alloc(second, pool, 4096, "page", &again));
  CHECK_EQ_U64(tide_buffer_reuse(again), TIDE_REUSE_GAP);
  use.buffer = again;
  CHECK_OK(SUBMIT(second, .label = "refill", .buffers = &use, .buffer_count = 1));
  CHECK(!fake_runs(&f, "refill"));
  fake_run(&f, "held");
  CHECK(fake_runs(&f, "refill"));
  tide_queue_free(second, again);
  fake_run_out(&f);
  tide_timeline_release(steps);
  tide_queue_destroy(first);
  tide_queue_destroy(second);
  CHECK_OK(tide_pool_destroy(pool));
  fake_close(&f);
}

TEST_MAIN(CASE(pools_of_devices), CASE(recycled_memory_teaches_all), CASE(own_progress_is_no_news),
          CASE(a_gap_is_over_with_the_uses), CASE(a_covered_free_waits_for_held_operations))
