/* What a buffer's past is, when memory is handed on, and to whom. */
#include "causal/context_state.h"
#include "pool_rig.h"

TEST(first_is_fresh) {
  struct rig rig;
  rig_open(&rig, 8, &one_chunk);
  struct tide_buffer *buffer;
  CHECK_OK(tide_pool_alloc(rig.pool, 100, at(&rig, 0), "pixels", &buffer));
  CHECK_REUSE(buffer, TIDE_REUSE_FRESH);
  CHECK_EQ_U64(tide_buffer_size(buffer), 100);
  CHECK_EQ_STR(tide_buffer_label(buffer), "pixels");
  CHECK_EQ_U64((uintptr_t)tide_buffer_data(buffer) % 64, 0);
  CHECK(tide_buffer_ready(buffer) && tide_buffer_idle(buffer) && !tide_buffer_freed(buffer));
  check_past(&rig, buffer, "");
  check_signaller(&rig, buffer, -1, 0);
  memset(tide_buffer_data(buffer), 1, 100);
  struct tide_pool_stats stats = stats_of(&rig);
  CHECK(stats.allocs == 1 && stats.fresh == 1 && stats.live_buffers == 1);
  CHECK(stats.live_bytes == 100 && stats.source_bytes == 64 * KIB);
  drop(&rig, 0, buffer);
  rig_close(&rig);
}

TEST(known_to_the_same_queue) {
  struct rig rig;
  rig_open(&rig, 8, &one_chunk);
  struct tide_buffer *a = take_all(&rig, 0);
  void *data = tide_buffer_data(a);
  submit(&rig, 0, a);
  drop(&rig, 0, a);
  struct tide_buffer *b = take_all(&rig, 0);
  CHECK(tide_buffer_data(b) == data);
  CHECK_REUSE(b, TIDE_REUSE_KNOWN);
  check_past(&rig, b, "0@1"); /* other queues may name it, and don't know */
  check_signaller(&rig, b, 0, 1);
  CHECK(!tide_buffer_ready(b) && !tide_buffer_idle(b));
  finish(&rig, 0);
  CHECK(tide_buffer_ready(b) && tide_buffer_idle(b));
  drop(&rig, 0, b);
  rig_close(&rig);
}

TEST(known_gap_finished) {
  struct rig rig;
  rig_open(&rig, 8, &one_chunk);
  struct tide_buffer *b = take_all(&rig, 0);
  submit(&rig, 0, b);
  drop(&rig, 0, b);
  b = take_all(&rig, 1);
  CHECK_REUSE(b, TIDE_REUSE_GAP);
  check_past(&rig, b, "0@1");
  CHECK_EQ_U64(stats_of(&rig).gap_waits, 1);
  drop(&rig, 1, b); /* never named: the past is all there is */
  learn(&rig, 2, 0);
  b = take_all(&rig, 2);
  CHECK_REUSE(b, TIDE_REUSE_KNOWN);
  check_past(&rig, b, "0@1");
  drop(&rig, 2, b);
  finish(&rig, 0);
  b = take_all(&rig, 3);
  CHECK_REUSE(b, TIDE_REUSE_FINISHED);
  check_past(&rig, b, "");
  CHECK(tide_buffer_ready(b));
  drop(&rig, 3, b);
  rig_close(&rig);
}

/* A gap that nobody could wait for is none. */
TEST(gap_needs_known_axes) {
  struct rig rig;
  rig_open(&rig, 8, &one_chunk);
  tide_axis stranger = tide_axis_make(9, TIDE_DOMAIN_NETWORK, 9);
  struct tide_buffer *b = take_all(&rig, 0);
  use_at(b, stranger, 5);
  drop(&rig, 0, b);
  CHECK_STATUS(tide_pool_alloc(rig.pool, 64, at(&rig, 1), NULL, &b), TIDE_NOMEM);
  tide_frontier_raise(at(&rig, 1)->frontier, stranger, 5, NULL);
  b = take_all(&rig, 1);
  CHECK_REUSE(b, TIDE_REUSE_KNOWN);
  drop(&rig, 1, b);
  CHECK_OK(tide_tracker_register(rig.context->tracker, stranger));
  b = take_all(&rig, 2);
  CHECK_REUSE(b, TIDE_REUSE_GAP);
  drop(&rig, 2, b);
  CHECK_OK(tide_tracker_close(rig.context->tracker, stranger));
  rig_close(&rig);
}

TEST(death_has_past_uses_and_knowledge) {
  struct rig rig;
  rig_open(&rig, 8, &one_chunk);
  struct tide_buffer *b = take_all(&rig, 0);
  submit(&rig, 0, b);
  drop(&rig, 0, b);
  b = take_all(&rig, 1); /* a gap: past is 0@1 */
  submit(&rig, 2, b);
  submit(&rig, 2, b);
  submit(&rig, 3, NULL);
  submit(&rig, 4, NULL);
  learn(&rig, 3, 4);
  drop(&rig, 3, b); /* knows of 4, but neither the past nor the use on 2 */
  b = take_all(&rig, 5);
  check_past(&rig, b, "0@1 2@2 3@1 4@1");
  check_signaller(&rig, b, -1, 0);
  CHECK_EQ_U64(stats_of(&rig).gap_waits, 1 + 4);
  drop(&rig, 5, b);
  rig_close(&rig);
}

TEST(signaller_only_if_all_is_known) {
  struct rig rig;
  rig_open(&rig, 8, &one_chunk);
  struct tide_buffer *b = take_all(&rig, 0);
  submit(&rig, 1, b);
  submit(&rig, 0, b);
  drop(&rig, 0, b); /* does not know 1@1 */
  b = take_all(&rig, 0);
  check_past(&rig, b, "0@1 1@1");
  check_signaller(&rig, b, -1, 0);
  learn(&rig, 2, 0);
  learn(&rig, 2, 1);
  submit(&rig, 2, b);
  drop(&rig, 2, b); /* knows past and uses */
  b = take_all(&rig, 3);
  CHECK_REUSE(b, TIDE_REUSE_GAP);
  check_past(&rig, b, "0@1 1@1 2@1");
  check_signaller(&rig, b, 2, 1);
  CHECK_EQ_U64(stats_of(&rig).gap_waits, 1 + 1); /* the signaller stands for all three */
  drop(&rig, 3, b); /* at epoch 0 there is no operation that could stand for anything */
  b = take_all(&rig, 4);
  check_past(&rig, b, "0@1 1@1 2@1");
  check_signaller(&rig, b, -1, 0);
  drop(&rig, 4, b);
  rig_close(&rig);
}

/* Whoever knows the past's signaller knows the past; so does whoever comes after it has finished.
 */
TEST(signaller_over_a_known_past) {
  struct rig rig;
  rig_open(&rig, 8, &one_chunk);
  struct tide_buffer *b = take_all(&rig, 0);
  learn(&rig, 0, 1);
  submit(&rig, 1, NULL);
  learn(&rig, 0, 1);
  submit(&rig, 0, b);
  drop(&rig, 0, b);
  b = take_all(&rig, 2);
  check_past(&rig, b, "0@1 1@1");
  tide_frontier_raise(at(&rig, 2)->frontier, axis_of(&rig, 0), 1, NULL); /* not 1@1 */
  submit(&rig, 2, b);
  drop(&rig, 2, b);
  b = take_all(&rig, 3);
  check_past(&rig, b, "0@1 2@1");
  check_signaller(&rig, b, 2, 1);
  submit(&rig, 3, b);
  finish(&rig, 2);
  drop(&rig, 3, b);
  b = take_all(&rig, 4);
  check_past(&rig, b, "3@1");
  check_signaller(&rig, b, 3, 1);
  drop(&rig, 4, b);
  rig_close(&rig);
}

/* Where completion is not in order, a queue's frontier does not list its own epochs: then those
 * that used the buffer count, not the newest. */
TEST(out_of_order_queue) {
  struct rig rig;
  rig_open(&rig, 8, &one_chunk);
  struct tide_buffer *b = take_all(&rig, 0);
  at(&rig, 0)->epoch = 5;
  use_at(b, axis_of(&rig, 0), 2);
  drop(&rig, 0, b);
  b = take_all(&rig, 0);
  CHECK_REUSE(b, TIDE_REUSE_GAP); /* even of itself it must wait */
  check_past(&rig, b, "0@2");
  check_signaller(&rig, b, -1, 0);
  use_at(b, axis_of(&rig, 0), 4);
  drop(&rig, 0, b);
  tide_frontier_raise(at(&rig, 1)->frontier, axis_of(&rig, 0), 4, NULL);
  b = take_all(&rig, 1);
  CHECK_REUSE(b, TIDE_REUSE_KNOWN); /* though 0@5 is not */
  drop(&rig, 1, b);
  rig_close(&rig);
}

/* What the queue waited for is part of it, and so is a past that only its own epochs imply. */
TEST(out_of_order_queue_knows) {
  struct rig rig;
  rig_open(&rig, 8, &one_chunk);
  struct tide_buffer *b = take_all(&rig, 0);
  submit(&rig, 1, b);
  at(&rig, 0)->epoch = 1;
  tide_frontier_raise(at(&rig, 0)->frontier, axis_of(&rig, 2), 7, NULL);
  drop(&rig, 0, b);
  b = take_all(&rig, 0);
  check_past(&rig, b, "1@1 2@7");
  at(&rig, 0)->epoch = 2; /* an operation that waits for the gap, so this queue learns of it */
  use_at(b, axis_of(&rig, 0), 2);
  drop(&rig, 0, b);
  b = take_all(&rig, 0);
  check_past(&rig, b, "0@2 1@1 2@7");
  at(&rig, 0)->epoch = 3; /* names it not, so waited for nothing */
  drop(&rig, 0, b);
  b = take_all(&rig, 3);
  check_past(&rig, b, "0@2 1@1 2@7");
  check_signaller(&rig, b, -1, 0);
  drop(&rig, 3, b);
  rig_close(&rig);
}

static void finish_to(struct rig *rig, unsigned queue, uint64_t epoch) {
  CHECK_OK(tide_tracker_advance(rig->context->tracker, axis_of(rig, queue), epoch));
}

/* Where entries would not tell all, the newest epoch has to do: it stands for everything. */
TEST(out_of_order_queue_with_taint) {
  struct rig rig;
  rig_open(&rig, 2, &one_chunk);
  struct tide_buffer *b = take_all(&rig, 0);
  at(&rig, 0)->epoch = 5;
  at(&rig, 0)->frontier->tainted = 1;
  use_at(b, axis_of(&rig, 0), 2);
  drop(&rig, 0, b);
  finish_to(&rig, 0, 4);
  struct tide_buffer *none;
  CHECK_STATUS(tide_pool_alloc(rig.pool, 64 * KIB, at(&rig, 1), NULL, &none), TIDE_NOMEM);
  finish_to(&rig, 0, 5);
  b = take_all(&rig, 1);
  CHECK_REUSE(b, TIDE_REUSE_FINISHED);
  at(&rig, 1)->epoch = 5; /* three axes have no room */
  for (unsigned i = 2; i < 4; i++) {
    tide_frontier_raise(at(&rig, 1)->frontier, axis_of(&rig, i), 1, NULL);
  }
  use_at(b, axis_of(&rig, 1), 2);
  drop(&rig, 1, b);
  finish_to(&rig, 1, 4), finish_to(&rig, 2, 1), finish_to(&rig, 3, 1);
  CHECK_STATUS(tide_pool_alloc(rig.pool, 64 * KIB, at(&rig, 0), NULL, &none), TIDE_NOMEM);
  finish_to(&rig, 1, 5);
  b = take_all(&rig, 0);
  CHECK_REUSE(b, TIDE_REUSE_FINISHED);
  tide_pool_free(b, NULL);
  rig_close(&rig);
}

TEST(freed_by_the_host) {
  struct rig rig;
  rig_open(&rig, 8, &one_chunk);
  struct tide_buffer *b = take_all(&rig, 0);
  submit(&rig, 0, b);
  tide_pool_free(b, NULL);
  b = take_all(&rig, 1);
  check_past(&rig, b, "0@1");
  check_signaller(&rig, b, -1, 0);
  learn(&rig, 1, 0);
  submit(&rig, 1, b);
  drop(&rig, 1, b);
  b = take_all(&rig, 2);
  check_signaller(&rig, b, 1, 1);
  tide_pool_free(b, NULL); /* untouched: it stays what it was */
  b = take_all(&rig, 2);
  check_past(&rig, b, "0@1 1@1");
  check_signaller(&rig, b, 1, 1);
  tide_pool_free(b, NULL);
  rig_close(&rig);
}

TEST(host_prefers_fresh_to_a_gap) {
  struct rig rig;
  struct tide_pool_params params = {
      .struct_size = sizeof params, .limit = 8 * KIB, .chunk = 4 * KIB};
  rig_open(&rig, 8, &params);
  struct tide_buffer *b = take(&rig, 0, 4 * KIB), *c;
  submit(&rig, 0, b);
  drop(&rig, 0, b);
  CHECK_OK(tide_pool_alloc(rig.pool, 4 * KIB, NULL, NULL, &b));
  CHECK_REUSE(b, TIDE_REUSE_FRESH);
  CHECK_OK(tide_pool_alloc(rig.pool, 4 * KIB, NULL, NULL, &c));
  CHECK_REUSE(c, TIDE_REUSE_GAP);
  CHECK(!tide_buffer_ready(c));
  finish(&rig, 0);
  CHECK(tide_buffer_ready(c));
  tide_pool_free(b, NULL);
  tide_pool_free(c, NULL);
  CHECK_OK(tide_pool_alloc(rig.pool, 4 * KIB, NULL, NULL, &b));
  CHECK_REUSE(b, TIDE_REUSE_FINISHED);
  tide_pool_free(b, NULL);
  rig_close(&rig);
}

/* Known before finished before the smallest gap before fresh. */
TEST(preference_of_a_pool_that_waits_first) {
  struct rig rig;
  struct tide_pool_params params = {
      .struct_size = sizeof params, .chunk = 64 * KIB, .policy = TIDE_POOL_WAIT_FIRST};
  rig_open(&rig, 8, &params);
  struct tide_buffer *gap2 = take(&rig, 0, KIB), *gap1 = take(&rig, 0, KIB),
                     *finished = take(&rig, 0, KIB), *known = take(&rig, 0, KIB);
  void *data[] = {tide_buffer_data(known), tide_buffer_data(finished), tide_buffer_data(gap1),
                  tide_buffer_data(gap2)};
  submit(&rig, 0, gap2), submit(&rig, 1, gap2), submit(&rig, 2, gap1);
  submit(&rig, 3, finished), submit(&rig, 4, known);
  finish(&rig, 3);
  drop(&rig, 4, known); /* at 4@1 */
  tide_pool_free(finished, NULL), tide_pool_free(gap1, NULL), tide_pool_free(gap2, NULL);
  learn(&rig, 5, 4);
  static const enum tide_reuse want[] = {TIDE_REUSE_KNOWN, TIDE_REUSE_FINISHED, TIDE_REUSE_GAP,
                                         TIDE_REUSE_GAP, TIDE_REUSE_FRESH};
  struct tide_buffer *b[5];
  for (unsigned i = 0; i < 5; i++) {
    b[i] = take(&rig, 5, KIB);
    CHECK_REUSE(b[i], want[i]);
    if (i < 4) CHECK(tide_buffer_data(b[i]) == data[i]);
  }
  CHECK_EQ_U64(stats_of(&rig).gap_waits, 1 + 2);
  for (unsigned i = 0; i < 5; i++) drop(&rig, 5, b[i]);
  rig_close(&rig);
}

TEST(held_operations_pin) {
  struct rig rig;
  rig_open(&rig, 8, &one_chunk);
  struct tide_buffer *b = take_all(&rig, 0), *c;
  submit(&rig, 0, b);
  for (int i = 0; i < 2; i++) tide_buffer_retain(b), tide_buffer_pin(b);
  drop(&rig, 0, b);
  CHECK(tide_buffer_freed(b));
  submit(&rig, 0, NULL); /* after the free: not part of it */
  learn(&rig, 0, 5);
  CHECK_STATUS(tide_pool_alloc(rig.pool, 1, at(&rig, 0), NULL, &c), TIDE_NOMEM);
  CHECK_STATUS(tide_pool_destroy(rig.pool), TIDE_BUSY);
  CHECK_EQ_U64(stats_of(&rig).frees, 1); /* which counts, complete or not */
  submit(&rig, 1, b);
  tide_buffer_unpin(b);
  CHECK_STATUS(tide_pool_alloc(rig.pool, 1, at(&rig, 0), NULL, &c), TIDE_NOMEM);
  CHECK_EQ_U64(stats_of(&rig).live_buffers, 1);
  tide_buffer_unpin(b); /* cancelled: it left without entering */
  CHECK_EQ_U64(stats_of(&rig).live_buffers, 0);
  CHECK_EQ_U64(stats_of(&rig).frees, 1);
  c = take_all(&rig, 2);
  check_past(&rig, c, "0@1 1@1");
  check_signaller(&rig, c, -1, 0);
  tide_buffer_release(b), tide_buffer_release(b);
  drop(&rig, 2, c);
  rig_close(&rig);
}

TEST(deferred_free_keeps_its_signaller) {
  struct rig rig;
  rig_open(&rig, 8, &one_chunk);
  struct tide_buffer *b = take_all(&rig, 0);
  submit(&rig, 1, b);
  tide_buffer_retain(b), tide_buffer_pin(b);
  learn(&rig, 0, 1);
  submit(&rig, 0, NULL);
  drop(&rig, 0, b);
  submit(&rig, 0, NULL);
  tide_buffer_unpin(b);
  tide_buffer_release(b);
  b = take_all(&rig, 2);
  check_past(&rig, b, "0@1 1@1");
  check_signaller(&rig, b, 0, 1);
  tide_buffer_retain(b), tide_buffer_pin(b);
  tide_pool_free(b, NULL); /* the host's free waits, too */
  submit(&rig, 3, b);
  tide_buffer_unpin(b), tide_buffer_release(b);
  b = take_all(&rig, 2);
  check_past(&rig, b, "0@1 1@1 3@1");
  check_signaller(&rig, b, -1, 0);
  tide_pool_free(b, NULL);
  rig_close(&rig);
}

/* An operation's reference keeps the handle and its past, whatever happens to the memory. */
TEST(past_outlives_the_free) {
  struct rig rig;
  rig_open(&rig, 8, &one_chunk);
  struct tide_buffer *a = take_all(&rig, 0);
  submit(&rig, 0, a);
  drop(&rig, 0, a);
  a = take_all(&rig, 1);
  tide_buffer_retain(a);
  submit(&rig, 1, a);
  drop(&rig, 1, a);
  struct tide_buffer *b = take_all(&rig, 2);
  CHECK(a != b);
  submit(&rig, 2, b);
  drop(&rig, 2, b);
  check_past(&rig, a, "0@1");
  finish_all(&rig);
  CHECK_STATUS(tide_pool_destroy(rig.pool), TIDE_BUSY);
  tide_buffer_release(a);
  rig_close(&rig);
}

TEST(split_gives_to_both) {
  struct rig rig;
  rig_open(&rig, 8, &one_chunk);
  struct tide_buffer *b = take_all(&rig, 0);
  submit(&rig, 1, b);
  drop(&rig, 0, b);
  b = take(&rig, 2, 10 * KIB);
  struct tide_buffer *c = take(&rig, 2, 54 * KIB);
  check_past(&rig, b, "1@1");
  check_past(&rig, c, "1@1");
  CHECK_REUSE(c, TIDE_REUSE_GAP);
  learn(&rig, 2, 1);
  submit(&rig, 2, b);
  drop(&rig, 2, b);
  drop(&rig, 2, c);
  b = take(&rig, 3, 100);
  c = take(&rig, 3, 200);
  CHECK((char *)tide_buffer_data(c) == (char *)tide_buffer_data(b) + 128);
  check_past(&rig, b, "1@1 2@1");
  check_past(&rig, c, "1@1 2@1");
  check_signaller(&rig, b, 2, 1);
  check_signaller(&rig, c, 2, 1);
  drop(&rig, 3, b), drop(&rig, 3, c);
  rig_close(&rig);
}

TEST(join_merges) {
  struct rig rig;
  rig_open(&rig, 8, &one_chunk);
  struct tide_buffer *a = take(&rig, 0, 32 * KIB), *b = take(&rig, 0, 32 * KIB);
  submit(&rig, 0, a), submit(&rig, 1, b);
  drop(&rig, 0, a), drop(&rig, 1, b);
  a = take_all(&rig, 2);
  CHECK_REUSE(a, TIDE_REUSE_GAP);
  check_past(&rig, a, "0@1 1@1");
  check_signaller(&rig, a, -1, 0);
  CHECK_EQ_U64(stats_of(&rig).joins, 1);
  finish_all(&rig);
  drop(&rig, 2, a);
  /* Of one queue, one after the other: the later one's signaller serves for both. */
  a = take(&rig, 0, 32 * KIB), b = take(&rig, 0, 32 * KIB);
  submit(&rig, 0, b), drop(&rig, 0, b);
  submit(&rig, 0, a), drop(&rig, 0, a);
  a = take_all(&rig, 2);
  check_signaller(&rig, a, 0, 3);
  drop(&rig, 2, a);
  rig_close(&rig);
}

TEST(join_is_refused_where_it_loses) {
  struct rig rig;
  rig_open(&rig, 1, &one_chunk);
  struct tide_buffer *a = take(&rig, 0, 32 * KIB), *b = take(&rig, 0, 32 * KIB);
  submit(&rig, 0, a), submit(&rig, 1, b);
  drop(&rig, 0, a), drop(&rig, 1, b);
  CHECK_STATUS(tide_pool_alloc(rig.pool, 64 * KIB, at(&rig, 2), NULL, &a), TIDE_NOMEM);
  CHECK(stats_of(&rig).refused_joins > 0 && stats_of(&rig).joins == 0);
  finish(&rig, 0);
  a = take_all(&rig, 2); /* now the two fit */
  check_past(&rig, a, "1@1");
  drop(&rig, 2, a);
  rig_close(&rig);
}

/* ---- taint ---------------------------------------------------------------------- */

struct snapshot {
  struct rig *rig;
  unsigned asked;
  size_t more; /* so many axes besides */
};

static size_t take_snapshot(void *self, tide_axis *axes, uint64_t *epochs, size_t size) {
  struct snapshot *snapshot = self;
  size_t count = RIG_QUEUES + snapshot->more;
  snapshot->asked++;
  for (size_t i = 0; i < size && i < count; i++) {
    axes[i] = axis_of(snapshot->rig, i < RIG_QUEUES ? (unsigned)i : 0);
    epochs[i] = i < RIG_QUEUES ? at(snapshot->rig, (unsigned)i)->epoch : 0;
  }
  return count;
}

/* Two queues use it, of which a frontier of one entry can name one. */
static void drop_tainted(struct rig *rig, struct tide_buffer *b) {
  submit(rig, 0, b), submit(rig, 1, b);
  drop(rig, 0, b);
}

TEST(tainted_with_a_signaller) {
  struct rig rig;
  rig_open(&rig, 2, &one_chunk);
  for (unsigned i = 1; i < 4; i++) submit(&rig, i, NULL), learn(&rig, 0, i);
  struct tide_buffer *b = take_all(&rig, 0);
  submit(&rig, 0, b);
  drop(&rig, 0, b); /* 0 knows four entries: the death frontier cannot hold them */
  CHECK_STATUS(tide_pool_alloc(rig.pool, 1, at(&rig, 5), NULL, &b), TIDE_NOMEM);
  tide_frontier_raise(at(&rig, 5)->frontier, axis_of(&rig, 0), 1, NULL);
  b = take_all(&rig, 5);
  CHECK_REUSE(b, TIDE_REUSE_KNOWN);
  CHECK(tide_buffer_past(b)->tainted && tide_frontier_get(tide_buffer_past(b), axis_of(&rig, 0)));
  check_signaller(&rig, b, 0, 1);
  finish(&rig, 1), finish(&rig, 2), finish(&rig, 3);
  CHECK(!tide_buffer_ready(b));
  finish(&rig, 0);
  CHECK(tide_buffer_ready(b));
  tide_pool_free(b, NULL);
  b = take_all(&rig, 4);
  CHECK_REUSE(b, TIDE_REUSE_FINISHED);
  check_past(&rig, b, "");
  drop(&rig, 4, b);
  rig_close(&rig);
}

TEST(grace_period) {
  struct rig rig;
  struct tide_pool_params params = {
      .struct_size = sizeof params, .limit = 8 * KIB, .chunk = 4 * KIB};
  rig_open(&rig, 1, &params);
  struct snapshot snapshot = {.rig = &rig};
  struct tide_buffer *a = take(&rig, 0, 4 * KIB), *b = take(&rig, 0, 4 * KIB), *c;
  drop_tainted(&rig, a);
  submit(&rig, 3, NULL);
  tide_pool_set_grace(rig.pool, take_snapshot, &snapshot);
  /* Asking starts the period. */
  CHECK_STATUS(tide_pool_alloc(rig.pool, 1, at(&rig, 0), NULL, &c), TIDE_NOMEM);
  CHECK_EQ_U64(snapshot.asked, 1);
  drop_tainted(&rig, b); /* in the next */
  for (unsigned i = 0; i < 2; i++) {
    (void)tide_tracker_advance(rig.context->tracker, axis_of(&rig, i), 1);
    CHECK_STATUS(tide_pool_alloc(rig.pool, 1, at(&rig, 0), NULL, &c), TIDE_NOMEM);
  }
  CHECK_EQ_U64(snapshot.asked, 1); /* shared by all that wait */
  finish(&rig, 3);
  c = take(&rig, 4, 4 * KIB);
  CHECK_REUSE(c, TIDE_REUSE_FINISHED);
  check_past(&rig, c, "");
  CHECK_EQ_U64(snapshot.asked, 2);
  CHECK_STATUS(tide_pool_alloc(rig.pool, 1, at(&rig, 0), NULL, &a), TIDE_NOMEM);
  finish_all(&rig);
  a = take(&rig, 4, 4 * KIB);
  CHECK_REUSE(a, TIDE_REUSE_FINISHED);
  drop(&rig, 4, a), drop(&rig, 4, c);
  rig_close(&rig);
}

TEST(grace_without_a_hook) {
  struct rig rig;
  rig_open(&rig, 1, &one_chunk);
  struct tide_buffer *b = take_all(&rig, 0);
  drop_tainted(&rig, b);
  finish_all(&rig);
  CHECK_STATUS(tide_pool_alloc(rig.pool, 1, at(&rig, 0), NULL, &b), TIDE_NOMEM);
  CHECK_STATUS(tide_pool_destroy(rig.pool), TIDE_BUSY);
  CHECK_EQ_U64(tide_pool_trim(rig.pool), 0);
  rig_close(&rig); /* once no axis lives, all has finished */
}

/* More axes than there is room for: it is asked again when there is. */
TEST(grace_of_many_axes) {
  struct rig rig;
  rig_open(&rig, 1, &one_chunk);
  struct snapshot snapshot = {.rig = &rig, .more = 1000};
  tide_pool_set_grace(rig.pool, take_snapshot, &snapshot);
  struct tide_buffer *b = take_all(&rig, 0);
  drop_tainted(&rig, b);
  CHECK_EQ_U64(snapshot.asked, 1);
  finish_all(&rig);
  rig.fail_at = rig.allocs + 1;
  rig.fail_on = true;
  CHECK_STATUS(tide_pool_alloc(rig.pool, 1, at(&rig, 0), NULL, &b), TIDE_NOMEM);
  rig.fail_at = 0;
  b = take_all(&rig, 0);
  CHECK_REUSE(b, TIDE_REUSE_FINISHED);
  drop(&rig, 0, b);
  rig_close(&rig);
}

TEST(tainted_blocks_are_not_joined) {
  struct rig rig;
  rig_open(&rig, 1, &one_chunk);
  struct tide_buffer *a = take(&rig, 0, 32 * KIB), *b = take(&rig, 0, 32 * KIB), *c;
  drop_tainted(&rig, a);
  drop(&rig, 5, b);
  CHECK_STATUS(tide_pool_alloc(rig.pool, 64 * KIB, at(&rig, 0), NULL, &c), TIDE_NOMEM);
  CHECK(stats_of(&rig).refused_joins > 0);
  b = take(&rig, 0, 32 * KIB);
  drop(&rig, 0, b);
  rig_close(&rig);
}

/* ---- the rest ------------------------------------------------------------------- */

TEST(idle_means_all_uses) {
  struct rig rig;
  rig_open(&rig, 8, &one_chunk);
  struct tide_buffer *b = take_all(&rig, 0);
  tide_buffer_retain(b);
  CHECK(
      tide_buffer_idle(b)); /* named, and in fact nowhere entered or held: submitted is not used */
  tide_buffer_pin(b);
  CHECK(!tide_buffer_idle(b));
  submit(&rig, 0, b);
  tide_buffer_unpin(b);
  CHECK(tide_buffer_ready(b) && !tide_buffer_idle(b));
  finish(&rig, 0);
  CHECK(tide_buffer_idle(b));
  tide_buffer_release(b);
  drop(&rig, 0, b);
  rig_close(&rig);
}

TEST(imported) {
  struct rig rig;
  rig_open(&rig, 8, &one_chunk);
  char mine[256];
  struct tide_buffer *b;
  CHECK_STATUS(tide_pool_import(rig.pool, NULL, 1, NULL, &b), TIDE_INVALID);
  CHECK_STATUS(tide_pool_import(rig.pool, mine, 0, NULL, &b), TIDE_INVALID);
  CHECK_OK(tide_pool_import(rig.pool, mine, sizeof mine, "mine", &b));
  CHECK(tide_buffer_data(b) == mine && tide_buffer_size(b) == 256);
  check_past(&rig, b, "");
  CHECK(tide_buffer_ready(b) && tide_buffer_idle(b));
  tide_buffer_retain(b), tide_buffer_pin(b);
  submit(&rig, 0, b);
  CHECK(!tide_buffer_idle(b));
  CHECK_STATUS(tide_pool_destroy(rig.pool), TIDE_BUSY);
  CHECK_EQ_U64(stats_of(&rig).frees, 0);
  drop(&rig, 0, b);
  CHECK_EQ_U64(stats_of(&rig).frees, 0);
  tide_buffer_unpin(b);
  tide_buffer_release(b);
  struct tide_pool_stats stats = stats_of(&rig);
  CHECK(stats.allocs == 0 && stats.live_bytes == 0 && stats.live_buffers == 0);
  CHECK(stats.frees == 0 && stats.source_bytes == 0);
  rig_close(&rig);
}

TEST(frees_cover_uses) {
  struct rig rig;
  struct tide_pool_params params = one_chunk;
  params.frees_cover_uses = true;
  rig_open(&rig, 8, &params);
  struct tide_buffer *b = take_all(&rig, 0);
  tide_buffer_retain(b);
  submit(&rig, 1, b);
  CHECK(!tide_buffer_idle(b)); /* somebody refers to it, and nobody wrote down who */
  learn(&rig, 0, 1);
  submit(&rig, 0, NULL);
  drop(&rig, 0, b);
  tide_buffer_release(b);
  b = take_all(&rig, 2);
  check_past(&rig, b, "0@1 1@1");
  check_signaller(&rig, b, 0, 1);
  drop(&rig, 2, b);
  rig_close(&rig);
}

TEST(buffers_are_limited) {
  struct rig rig;
  struct tide_pool_params params = {.struct_size = sizeof params, .buffers = 3};
  rig_open(&rig, 8, &params);
  char mine[8];
  struct tide_buffer *b[3], *more;
  for (int i = 0; i < 3; i++) b[i] = take(&rig, 0, 10);
  CHECK_STATUS(tide_pool_alloc(rig.pool, 10, at(&rig, 0), NULL, &more), TIDE_FULL);
  CHECK_STATUS(tide_pool_import(rig.pool, mine, 8, NULL, &more), TIDE_FULL);
  CHECK(more == NULL);
  drop(&rig, 0, b[1]);
  b[1] = take(&rig, 0, 10);
  for (int i = 0; i < 3; i++) drop(&rig, 0, b[i]);
  rig_close(&rig);
}

static void note(void *self, const struct tide_event *event) {
  struct tide_event *notes = self;
  for (int i = 0; i < 4; i++) {
    if (notes[i].kind) continue;
    notes[i] = *event;
    notes[i].value = event->value + 1000 * (event->frontier ? event->frontier->count : 9u);
    return;
  }
}

TEST(events) {
  struct rig rig;
  rig_open(&rig, 8, NULL);
  struct tide_event notes[4] = {{0}};
  struct tide_sink sink = {.event = note, .wants_time = true, .self = notes};
  struct tide_pool_params params = {.struct_size = sizeof params, .label = "tiles"};
  rig.context->sink = &sink;
  CHECK_OK(tide_pool_create(rig.context, &params, &rig.pool));
  struct tide_buffer *b = take(&rig, 0, 100);
  submit(&rig, 0, b);
  drop(&rig, 0, b);
  CHECK_OK(tide_pool_alloc(rig.pool, 100, at(&rig, 0), NULL, &b));
  tide_pool_free(b, NULL);
  CHECK(notes[0].kind == TIDE_EVENT_ALLOC && notes[0].detail == TIDE_REUSE_FRESH);
  CHECK(notes[0].value == 100 && notes[0].time && notes[0].thread);
  CHECK_EQ_STR(notes[0].object_label, "tiles");
  CHECK(notes[1].kind == TIDE_EVENT_FREE && notes[1].axis == axis_of(&rig, 0));
  CHECK(notes[1].epoch == 1 && notes[1].object == notes[0].object && notes[1].value == 1100);
  CHECK(notes[2].detail == TIDE_REUSE_KNOWN && notes[2].value == 1100 &&
        strncmp(notes[2].label, "buffer ", 7) == 0);
  CHECK(notes[2].cause_axis == axis_of(&rig, 0) && notes[2].cause_epoch == 1);
  CHECK(notes[3].kind == TIDE_EVENT_FREE && notes[3].axis == 0 && notes[3].value == 9100);
  rig_close(&rig);
}

TEST_MAIN(CASE(first_is_fresh), CASE(known_to_the_same_queue), CASE(known_gap_finished),
          CASE(gap_needs_known_axes), CASE(death_has_past_uses_and_knowledge),
          CASE(signaller_only_if_all_is_known), CASE(signaller_over_a_known_past),
          CASE(out_of_order_queue), CASE(out_of_order_queue_knows),
          CASE(out_of_order_queue_with_taint), CASE(freed_by_the_host),
          CASE(host_prefers_fresh_to_a_gap), CASE(preference_of_a_pool_that_waits_first),
          CASE(held_operations_pin), CASE(deferred_free_keeps_its_signaller),
          CASE(past_outlives_the_free), CASE(split_gives_to_both), CASE(join_merges),
          CASE(join_is_refused_where_it_loses), CASE(tainted_with_a_signaller), CASE(grace_period),
          CASE(grace_without_a_hook), CASE(grace_of_many_axes), CASE(tainted_blocks_are_not_joined),
          CASE(idle_means_all_uses), CASE(imported), CASE(frees_cover_uses),
          CASE(buffers_are_limited), CASE(events))
