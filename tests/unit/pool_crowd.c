/* Buffers that more queues use, and hosts know of, than a frontier lists without a window. */
#define RIG_QUEUES 24
#define RIG_ROOM 32
#include "causal/context_state.h"
#include "causal/frontier.h"
#include "pool_rig.h"

static const struct tide_pool_params named_chunk = {.struct_size = sizeof named_chunk,
                                                    .limit = 64 * KIB,
                                                    .chunk = 64 * KIB,
                                                    .uses_are_named = true};

/* `count` queues that know nothing of each other use it; queue 20 knows what each did before. */
TEST(used_by_many) {
  struct rig rig;
  for (unsigned count = 7; count <= 17; count++) {
    rig_open(&rig, RIG_ROOM, &named_chunk);
    rig_name(&rig, RIG_QUEUES);
    for (unsigned i = 0; i < RIG_QUEUES; i++) submit(&rig, i, NULL);
    for (unsigned i = 0; i < count; i++) learn(&rig, 20, i);
    struct tide_buffer *b = take_all(&rig, 0);
    for (unsigned i = 0; i < count; i++) submit(&rig, i * 19 % count, b); /* in no order */
    drop(&rig, 0, b);
    b = take_all(&rig, 20);
    CHECK(tide_buffer_reuse(b) != TIDE_REUSE_KNOWN);
    CHECK_OK(tide_frontier_validate(tide_buffer_past(b), NULL));
    CHECK_EQ_U64(tide_buffer_past(b)->count, count);
    for (unsigned i = 0; i < count; i++)
      CHECK_EQ_U64(tide_frontier_get(tide_buffer_past(b), axis_of(&rig, i)), 2);
    CHECK(!tide_frontier_dominates(at(&rig, 20)->frontier, tide_buffer_past(b)));
    for (unsigned i = 0; i < count; i++) learn(&rig, 21, i);
    CHECK(tide_frontier_dominates(at(&rig, 21)->frontier, tide_buffer_past(b)));
    drop(&rig, 20, b);
    rig_close(&rig);
  }
}

/* Of what queue 0 knows, hosts did most; one queue besides it uses the buffer, which is freed by
 * queue 0, and is among them. */
TEST(hosts_are_many) {
  struct rig rig;
  for (unsigned hosts = 7; hosts <= 17; hosts++) {
    rig_open(&rig, RIG_ROOM, &named_chunk);
    rig_name(&rig, 2);
    for (unsigned i = 2; i < 2 + hosts; i++) {
      submit(&rig, i, NULL);
      learn(&rig, 0, i);
    }
    struct tide_buffer *b = take_all(&rig, 0);
    submit(&rig, 0, b);
    submit(&rig, 1, b);
    submit(&rig, 0, NULL);
    drop(&rig, 0, b);
    b = take_all(&rig, 20);
    const struct tide_frontier *past = tide_buffer_past(b);
    CHECK_OK(tide_frontier_validate(past, NULL));
    CHECK_EQ_U64(past->count, 2 + hosts);
    for (unsigned i = 0; i < 2 + hosts; i++)
      CHECK_EQ_U64(tide_frontier_get(past, axis_of(&rig, i)), 1);
    learn(&rig, 21, 0);
    CHECK(!tide_frontier_dominates(at(&rig, 21)->frontier, past));
    learn(&rig, 21, 1);
    CHECK(tide_frontier_dominates(at(&rig, 21)->frontier, past));
    drop(&rig, 20, b);
    rig_close(&rig);
  }
}

/* A position with more room than the pool's frontiers have, whose entries reach over more axes than
 * fit there: few enough they are all the same. */
TEST(wide_positions) {
  static const struct tide_pool_params chunk = {
      .struct_size = sizeof chunk, .limit = 64 * KIB, .chunk = 64 * KIB};
  struct rig rig;
  for (unsigned used = 0; used < 2; used++) {
    rig_open(&rig, 12, &chunk);
    struct tide_frontier *known = at(&rig, 0)->frontier;
    tide_axis last = axis_of(&rig, RIG_QUEUES - 1);
    for (unsigned i = 1; i < 10; i++) {
      CHECK_OK(tide_tracker_register(rig.context->tracker, last + 2 * i));
      tide_frontier_raise(known, last + 2 * i, 1, NULL);
    }
    struct tide_buffer *b = take_all(&rig, 0);
    submit(&rig, 0, used ? b : NULL);
    CHECK(!tide_window_fits(known->window, 12));
    drop(&rig, 0, b);
    b = take_all(&rig, 20);
    CHECK(tide_buffer_reuse(b) == TIDE_REUSE_GAP);
    CHECK_OK(tide_frontier_validate(tide_buffer_past(b), NULL));
    CHECK(tide_frontier_compare(tide_buffer_past(b), known) == TIDE_EQUAL);
    drop(&rig, 20, b);
    for (unsigned i = 1; i < 10; i++) (void)tide_tracker_close(rig.context->tracker, last + 2 * i);
    rig_close(&rig);
  }
}

TEST_MAIN(CASE(used_by_many), CASE(hosts_are_many), CASE(wide_positions))
