/* What a buffer's past is where all that touches memory names it: the last uses, and no more. */
#include "pool_rig.h"

static const struct tide_pool_params named_chunk = {.struct_size = sizeof named_chunk,
                                                    .limit = 64 * KIB,
                                                    .chunk = 64 * KIB,
                                                    .uses_are_named = true};

TEST(last_use_counts) {
  struct rig rig;
  rig_open(&rig, 8, &named_chunk);
  rig_name(&rig, 4);
  for (int again = 0; again < 2; again++) { /* the second time the axes have been seen */
    struct tide_buffer *b = take_all(&rig, 0);
    uint64_t last = submit(&rig, 0, b);
    submit(&rig, 1, NULL);
    learn(&rig, 0, 1);
    submit(&rig, 0, NULL); /* has nothing to do with it */
    drop(&rig, 0, b);
    tide_frontier_raise(at(&rig, 2)->frontier, axis_of(&rig, 0), last, NULL);
    b = take_all(&rig, 2);
    CHECK_REUSE(b, TIDE_REUSE_KNOWN);
    check_past(&rig, b, last == 1 ? "0@1" : "0@3");
    check_signaller(&rig, b, 0, last);
    drop(&rig, 2, b);
    finish_all(&rig);
  }
  rig_close(&rig);
}

TEST(later_use_stands_for_what_it_knew) {
  struct rig rig;
  rig_open(&rig, 8, &named_chunk);
  rig_name(&rig, 4);
  struct tide_buffer *b = take_all(&rig, 0);
  submit(&rig, 0, b);
  learn(&rig, 1, 0);
  submit(&rig, 1, b);
  drop(&rig, 2, b); /* which knows neither */
  b = take_all(&rig, 3);
  check_past(&rig, b, "1@1");
  check_signaller(&rig, b, 1, 1);
  CHECK_EQ_U64(stats_of(&rig).gap_waits, 1);
  submit(&rig, 2, b); /* these two know nothing of each other */
  submit(&rig, 3, b);
  drop(&rig, 0, b);
  b = take_all(&rig, 1);
  check_past(&rig, b, "2@1 3@1"); /* either implies 1@1, for which it waited */
  check_signaller(&rig, b, -1, 0);
  submit(&rig, 0, b);
  submit(&rig, 1, b);
  submit(&rig, 1, b);
  learn(&rig, 2, 0);
  learn(&rig, 2, 1);
  submit(&rig, 2, NULL);
  drop(&rig, 2, b); /* behind both, so its newest stands for them, too */
  b = take_all(&rig, 3);
  check_past(&rig, b, "0@2 1@3");
  check_signaller(&rig, b, 2, 2);
  drop(&rig, 3, b);
  rig_close(&rig);
}

/* What others than operations may have done with it is known by the position alone. */
TEST(others_are_kept) {
  struct rig rig;
  rig_open(&rig, 8, &named_chunk);
  rig_name(&rig, 2);
  submit(&rig, 4, NULL); /* a host */
  learn(&rig, 0, 4);
  struct tide_buffer *b = take_all(&rig, 0);
  submit(&rig, 0, b);
  submit(&rig, 0, NULL);
  drop(&rig, 0, b);
  b = take_all(&rig, 1);
  check_past(&rig, b, "0@1 4@1");
  check_signaller(&rig, b, 0, 2);
  submit(&rig, 1, b);
  drop(&rig, 4, b); /* the host's own position: all of it */
  b = take_all(&rig, 2);
  check_past(&rig, b, "0@1 1@1 4@1"); /* and the past, which it does not know */
  finish(&rig, 4);
  submit(&rig, 0, b);
  drop(&rig, 0, b); /* what is over need not be kept */
  b = take_all(&rig, 2);
  check_past(&rig, b, "0@3");
  at(&rig, 0)->frontier->tainted = 1; /* some of the others may be missing */
  submit(&rig, 0, b);
  drop(&rig, 0, b);
  struct tide_buffer *none;
  CHECK_STATUS(tide_pool_alloc(rig.pool, 64 * KIB, at(&rig, 2), NULL, &none), TIDE_NOMEM);
  b = take_all(&rig, 0);
  CHECK(tide_buffer_past(b)->tainted);
  drop(&rig, 0, b);
  rig_close(&rig);
}

/* Where nobody says that all uses are named a free comes after all that its queue was given. */
TEST(not_told) {
  struct rig rig;
  rig_open(&rig, 8, &one_chunk);
  rig_name(&rig, 4);
  struct tide_buffer *b = take_all(&rig, 0);
  submit(&rig, 0, b);
  submit(&rig, 0, NULL);
  drop(&rig, 0, b);
  b = take_all(&rig, 1);
  check_past(&rig, b, "0@2");
  drop(&rig, 1, b);
  rig_close(&rig);
}

/* Nobody named it: then it is not known who touched it, if anybody did. */
TEST(unnamed_dies_with_the_position) {
  struct rig rig;
  rig_open(&rig, 8, &named_chunk);
  rig_name(&rig, 4);
  struct tide_buffer *b = take_all(&rig, 0);
  submit(&rig, 0, NULL);
  drop(&rig, 0, b);
  b = take_all(&rig, 1);
  check_past(&rig, b, "0@1");
  drop(&rig, 1, b);
  rig_close(&rig);
}

TEST_MAIN(CASE(last_use_counts), CASE(later_use_stands_for_what_it_knew), CASE(others_are_kept),
          CASE(not_told), CASE(unnamed_dies_with_the_position))
