/* The scheduler: which waits remain, who is held, what is refused. */
#include "fake_device.h"

#include <stdio.h>

/* ---- the classes ------------------------------------------------------------------------ */

TEST(every_class) {
  struct fake f;
  fake_open(&f, true, 16);
  struct tide_queue *a = fake_queue(&f, "a"), *b = fake_queue(&f, "b");
  struct tide_timeline *t = fake_timeline(&f, "t", true), *u = fake_timeline(&f, "u", true);
  struct tide_timeline *bad = fake_timeline(&f, "bad", false);
  CHECK_OK(SUBMIT(a, .label = "one", SIGNALS({t, 1})));
  CHECK_OK(SUBMIT(b, .label = "first", WAITS({t, 1}), SIGNALS({u, 1})));
  CHECK(fake_class(&f, "first", 0) == TIDE_WAIT_ISSUED);
  CHECK(fake_reason(&f, "first", 0) == TIDE_REASON_UNKNOWN);
  CHECK_OK(SUBMIT(b, .label = "second", WAITS({t, 1}, {u, 1})));
  CHECK(fake_class(&f, "second", 0) == TIDE_WAIT_ELIDED);
  CHECK(fake_reason(&f, "second", 0) == TIDE_REASON_KNOWN);
  CHECK(fake_class(&f, "second", 1) == TIDE_WAIT_ELIDED);
  CHECK_OK(SUBMIT(a, .label = "held", WAITS({t, 2})));
  CHECK(fake_held(&f, "held"));
  tide_timeline_fail(bad, TIDE_IO);
  CHECK_OK(SUBMIT(b, .label = "failed", WAITS({bad, 1}, {t, 2})));
  CHECK(fake_class(&f, "failed", 0) == TIDE_WAIT_FAILED);
  CHECK(!fake_runs(&f, "first"));
  fake_run(&f, "one");
  CHECK_OK(SUBMIT(b, .label = "third", WAITS({t, 1})));
  CHECK(fake_class(&f, "third", 0) == TIDE_WAIT_RESOLVED);
  fake_run(&f, "first");
  fake_run(&f, "second");
  fake_run(&f, "third");
  CHECK_STATUS(fake_status(&f, "failed"), TIDE_IO);
  CHECK(!fake_ran(&f, "failed"));
  struct tide_context_stats stats;
  tide_context_stats(f.context, &stats);
  CHECK_EQ_U64(stats.waits,
               stats.waits_resolved + stats.waits_elided + stats.waits_issued + stats.waits_failed);
  CHECK_EQ_U64(stats.waits_elided, 2);
  CHECK_EQ_U64(stats.held, 1);
  tide_queue_destroy(a);
  tide_queue_destroy(b);
  CHECK_STATUS(fake_status(&f, "held"), TIDE_CANCELLED);
  tide_timeline_destroy(t);
  tide_timeline_destroy(u);
  tide_timeline_destroy(bad);
  fake_close(&f);
}

/* What has finished by the tracker needs no wait, though nobody told this queue. */
TEST(finished_elsewhere) {
  struct fake f;
  fake_open(&f, true, 16);
  struct tide_queue *a = fake_queue(&f, "a"), *b = fake_queue(&f, "b"), *c = fake_queue(&f, "c");
  struct tide_timeline *t = fake_timeline(&f, "t", true), *u = fake_timeline(&f, "u", true);
  CHECK_OK(SUBMIT(a, .label = "one", SIGNALS({t, 1})));
  CHECK_OK(SUBMIT(b, .label = "gate", WAITS({u, 1})));
  CHECK(fake_held(&f, "gate"));
  fake_run(&f, "one");
  CHECK_OK(SUBMIT(b, .label = "late", WAITS({t, 1}), SIGNALS({t, 2})));
  CHECK_OK(SUBMIT(c, .label = "open", SIGNALS({u, 1})));
  CHECK(fake_class(&f, "gate", 0) == TIDE_WAIT_ISSUED);
  CHECK(fake_class(&f, "late", 0) == TIDE_WAIT_RESOLVED);
  fake_run_out(&f);
  CHECK_EQ_U64(tide_timeline_query(t), 2);
  tide_queue_destroy(a);
  tide_queue_destroy(b);
  tide_queue_destroy(c);
  tide_timeline_destroy(t);
  tide_timeline_destroy(u);
  fake_close(&f);
}

/* An operation that must be held has learned nothing meanwhile. */
TEST(two_phases) {
  struct fake f;
  fake_open(&f, true, 16);
  struct tide_queue *a = fake_queue(&f, "a"), *b = fake_queue(&f, "b");
  struct tide_timeline *t = fake_timeline(&f, "t", true), *u = fake_timeline(&f, "u", true);
  TIDE_FRONTIER_STORAGE(known, 16);
  tide_frontier_init(&known.frontier, 16);
  CHECK_OK(SUBMIT(a, .label = "one", SIGNALS({t, 1})));
  CHECK_OK(SUBMIT(b, .label = "held", WAITS({t, 1}, {u, 1})));
  tide_queue_position(b, &known.frontier, NULL);
  CHECK_EQ_U64(known.frontier.count, 0);
  CHECK_OK(SUBMIT(a, .label = "two", SIGNALS({u, 1})));
  CHECK(!fake_held(&f, "held"));
  tide_queue_position(b, &known.frontier, NULL);
  CHECK_EQ_U64(tide_frontier_get(&known.frontier, tide_queue_axis(a)), 2);
  fake_run_out(&f);
  tide_queue_destroy(a);
  tide_queue_destroy(b);
  tide_timeline_destroy(t);
  tide_timeline_destroy(u);
  fake_close(&f);
}

/* Of two waits where one brings the other, the same one stays, however they are listed. */
TEST(siblings) {
  for (int order = 0; order < 2; order++) {
    struct fake f;
    fake_open(&f, true, 16);
    struct tide_queue *a = fake_queue(&f, "a"), *b = fake_queue(&f, "b"), *c = fake_queue(&f, "c");
    struct tide_timeline *t = fake_timeline(&f, "t", true), *u = fake_timeline(&f, "u", true);
    CHECK_OK(SUBMIT(a, .label = "one", SIGNALS({t, 1})));
    CHECK_OK(SUBMIT(b, .label = "two", WAITS({t, 1}), SIGNALS({u, 1})));
    if (order) CHECK_OK(SUBMIT(c, .label = "both", WAITS({u, 1}, {t, 1})));
    else CHECK_OK(SUBMIT(c, .label = "both", WAITS({t, 1}, {u, 1})));
    uint32_t of_t = order ? 1 : 0;
    CHECK(fake_class(&f, "both", of_t) == TIDE_WAIT_ELIDED);
    CHECK(fake_reason(&f, "both", of_t) == TIDE_REASON_SIBLING);
    CHECK(fake_class(&f, "both", 1 - of_t) == TIDE_WAIT_ISSUED);
    CHECK_OK(SUBMIT(c, .label = "twice", WAITS({u, 1}, {u, 1})));
    fake_run_out(&f);
    CHECK(fake_ran(&f, "both"));
    tide_queue_destroy(a);
    tide_queue_destroy(b);
    tide_queue_destroy(c);
    tide_timeline_destroy(t);
    tide_timeline_destroy(u);
    fake_close(&f);
  }
}

/* Many at once: of each queue the last, unless another queue's has waited for it; of one
 * operation's several signals one. Whatever the order. */
TEST(many_siblings) {
  struct fake f;
  fake_open(&f, true, 16);
  struct tide_queue *q[4], *w = fake_queue(&f, "w");
  struct tide_timeline *t[60];
  struct tide_wait waits[60];
  for (int i = 0; i < 4; i++) q[i] = fake_queue(&f, "q");
  for (int i = 0; i < 60; i += 2) {
    t[i] = fake_timeline(&f, "even", true);
    t[i + 1] = fake_timeline(&f, "odd", true);
    struct tide_operation op = OPERATION(.label = "p", SIGNALS({t[i], 1}, {t[i + 1], 1}));
    struct tide_wait knows = {t[i == 58 ? 56 : 0], 1}; /* the last of q[1] knows the last of q[0] */
    op.waits = &knows;
    op.wait_count = i == 58;
    CHECK_OK(tide_queue_submit(q[i / 2 % 4], &op, NULL, NULL));
    waits[i * 7 % 60] = (struct tide_wait){t[i], 1};
    waits[(i + 1) * 7 % 60] = (struct tide_wait){t[i + 1], 1};
  }
  struct tide_operation all = {
      .label = "all", .waits = waits, .wait_count = 60, .body = &fake_body};
  CHECK_OK(tide_queue_submit(w, &all, NULL, NULL));
  uint32_t issued[60] = {0}, sum = 0;
  for (uint32_t i = 0; i < 60; i++) {
    uint32_t which = 0;
    while (t[which] != waits[i].timeline) which++;
    issued[which / 2] += fake_class(&f, "all", i) == TIDE_WAIT_ISSUED;
    sum += fake_class(&f, "all", i) == TIDE_WAIT_ISSUED;
  }
  /* Operations 26 .. 29 are the queues' last; 29 knows 28. */
  CHECK(issued[26] == 1 && issued[27] == 1 && issued[28] == 0 && issued[29] == 1);
  CHECK_EQ_U64(sum, 3);
  fake_run_out(&f);
  CHECK(fake_ran(&f, "all"));
  for (int i = 0; i < 4; i++) tide_queue_destroy(q[i]);
  tide_queue_destroy(w);
  for (int i = 0; i < 60; i++) tide_timeline_destroy(t[i]);
  fake_close(&f);
}

/* Two waits for signals of one operation: one is enough. */
TEST(siblings_of_one_signaller) {
  struct fake f;
  fake_open(&f, true, 16);
  struct tide_queue *a = fake_queue(&f, "a"), *b = fake_queue(&f, "b");
  struct tide_timeline *t = fake_timeline(&f, "t", true), *u = fake_timeline(&f, "u", true);
  CHECK_OK(SUBMIT(a, .label = "one", SIGNALS({t, 1}, {u, 1})));
  CHECK_OK(SUBMIT(b, .label = "both", WAITS({t, 1}, {u, 1})));
  CHECK((fake_class(&f, "both", 0) == TIDE_WAIT_ISSUED) !=
        (fake_class(&f, "both", 1) == TIDE_WAIT_ISSUED));
  CHECK(!fake_runs(&f, "both"));
  fake_run(&f, "one");
  fake_run(&f, "both");
  tide_queue_destroy(a);
  tide_queue_destroy(b);
  tide_timeline_destroy(t);
  tide_timeline_destroy(u);
  fake_close(&f);
}

/* ---- a record above the value ----------------------------------------------------------- */

/* Where only operations signal, the wait is for the record's value, and imports it. */
TEST(raised_wait) {
  struct fake f;
  fake_open(&f, true, 16);
  struct tide_queue *a = fake_queue(&f, "a"), *b = fake_queue(&f, "b");
  struct tide_timeline *t = fake_timeline(&f, "t", true);
  CHECK_OK(SUBMIT(a, .label = "five", SIGNALS({t, 5})));
  CHECK_OK(SUBMIT(b, .label = "two", WAITS({t, 2})));
  const struct fake_event *event = fake_find(&f, TIDE_EVENT_WAIT_CLASS, "two", 0);
  CHECK(fake_class(&f, "two", 0) == TIDE_WAIT_ISSUED);
  CHECK_EQ_U64(event->cause_axis, tide_queue_axis(a));
  CHECK_OK(SUBMIT(b, .label = "again", WAITS({t, 3})));
  CHECK(fake_class(&f, "again", 0) == TIDE_WAIT_ELIDED);
  fake_run_out(&f);
  tide_queue_destroy(a);
  tide_queue_destroy(b);
  tide_timeline_destroy(t);
  fake_close(&f);
}

/* Elsewhere the host may signal in between: then it waits for what was asked, and learns nothing.
 */
TEST(wait_below_the_record) {
  struct fake f;
  fake_open(&f, true, 16);
  struct tide_queue *a = fake_queue(&f, "a"), *b = fake_queue(&f, "b");
  struct tide_timeline *t = fake_timeline(&f, "t", false);
  CHECK_OK(SUBMIT(a, .label = "five", SIGNALS({t, 5})));
  CHECK_OK(SUBMIT(b, .label = "two", WAITS({t, 2})));
  const struct fake_event *event = fake_find(&f, TIDE_EVENT_WAIT_CLASS, "two", 0);
  CHECK(fake_class(&f, "two", 0) == TIDE_WAIT_ISSUED);
  CHECK_EQ_U64(event->cause_axis, 0);
  CHECK(!fake_runs(&f, "two"));
  CHECK_STATUS(tide_timeline_signal_external(t, 5), TIDE_VALUE);
  CHECK_OK(tide_timeline_signal_external(t, 2));
  CHECK(fake_runs(&f, "two"));
  CHECK(!fake_find(&f, TIDE_EVENT_PUBLISH, "five", 0));
  fake_run_out(&f);
  tide_queue_destroy(a);
  tide_queue_destroy(b);
  tide_timeline_destroy(t);
  fake_close(&f);
}

/* A waiter of 2 imports the record of 2, though 5 is reached. */
TEST(late_waiter) {
  struct fake f;
  fake_open(&f, true, 16);
  struct tide_queue *a = fake_queue(&f, "a"), *b = fake_queue(&f, "b"), *c = fake_queue(&f, "c");
  struct tide_timeline *t = fake_timeline(&f, "t", true);
  CHECK_OK(SUBMIT(a, .label = "two", SIGNALS({t, 2})));
  CHECK_OK(SUBMIT(b, .label = "five", WAITS({t, 2}), SIGNALS({t, 5})));
  fake_run(&f, "two");
  fake_run(&f, "five");
  CHECK_EQ_U64(tide_timeline_query(t), 5);
  CHECK_OK(SUBMIT(c, .label = "late", WAITS({t, 1})));
  const struct fake_event *event = fake_find(&f, TIDE_EVENT_WAIT_CLASS, "late", 0);
  CHECK_EQ_U64(event->cause_axis, tide_queue_axis(a));
  TIDE_FRONTIER_STORAGE(known, 16);
  tide_frontier_init(&known.frontier, 16);
  tide_queue_position(c, &known.frontier, NULL);
  CHECK_EQ_U64(tide_frontier_get(&known.frontier, tide_queue_axis(b)), 0);
  fake_run_out(&f);
  tide_queue_destroy(a);
  tide_queue_destroy(b);
  tide_queue_destroy(c);
  tide_timeline_destroy(t);
  fake_close(&f);
}

/* ---- holding ----------------------------------------------------------------------------------
 */

TEST(held_keeps_its_place) {
  struct fake f;
  fake_open(&f, true, 16);
  struct tide_queue *a = fake_queue(&f, "a"), *b = fake_queue(&f, "b");
  struct tide_timeline *t = fake_timeline(&f, "t", true);
  CHECK_OK(SUBMIT(a, .label = "held", WAITS({t, 1})));
  CHECK_OK(SUBMIT(a, .label = "behind"));
  CHECK(fake_held(&f, "behind"));
  CHECK(!fake_runs(&f, "behind"));
  CHECK_OK(SUBMIT(b, .label = "one", SIGNALS({t, 1})));
  fake_run(&f, "one");
  fake_take_all(&f);
  CHECK(fake_out(&f, "held") && !fake_out(&f, "behind"));
  fake_run_out(&f);
  tide_queue_destroy(a);
  tide_queue_destroy(b);
  tide_timeline_destroy(t);
  fake_close(&f);
}

TEST(may_be_passed) {
  struct fake f;
  fake_open(&f, true, 16);
  struct tide_queue *a = fake_queue(&f, "a");
  struct tide_timeline *t = fake_timeline(&f, "t", true), *u = fake_timeline(&f, "u", true);
  struct tide_diag diag;
  CHECK_OK(SUBMIT(a, .label = "held", .flags = TIDE_MAY_BE_PASSED, WAITS({t, 1}), SIGNALS({u, 2})));
  CHECK(fake_held(&f, "held"));
  /* It may not signal above what it passes. */
  CHECK_STATUS(tide_queue_submit(a, &OPERATION(.label = "above", SIGNALS({u, 3})), NULL, &diag),
               TIDE_UNORDERED);
  CHECK(strstr(diag.text, "'above'") && strstr(diag.text, "'held'"));
  CHECK_OK(SUBMIT(a, .label = "later", SIGNALS({t, 1}, {u, 1})));
  CHECK(!fake_held(&f, "held"));
  fake_run(&f, "later");
  fake_run(&f, "held");
  CHECK_EQ_U64(tide_timeline_query(u), 2);
  tide_queue_destroy(a);
  tide_timeline_destroy(t);
  tide_timeline_destroy(u);
  fake_close(&f);
}

TEST(deadlock_in_one_queue) {
  struct fake f;
  struct tide_diag diag;
  fake_open(&f, true, 16);
  struct tide_queue *a = fake_queue(&f, "left");
  struct tide_timeline *t = fake_timeline(&f, "t", true);
  struct tide_context_stats before, after;
  CHECK_OK(SUBMIT(a, .label = "waiter", WAITS({t, 1})));
  tide_context_stats(f.context, &before);
  uint32_t events = f.event_count;
  CHECK_STATUS(tide_queue_submit(a, &OPERATION(.label = "giver", SIGNALS({t, 1})), NULL, &diag),
               TIDE_DEADLOCK);
  CHECK(strstr(diag.text, "'giver'") && strstr(diag.text, "'waiter'") &&
        strstr(diag.text, "'left'"));
  tide_context_stats(f.context, &after);
  CHECK(memcmp(&before, &after, sizeof before) == 0);
  CHECK_EQ_U64(f.event_count, events);
  char text[400];
  tide_context_diagnose(f.context, text, sizeof text);
  CHECK(strstr(text, "'waiter'") && strstr(text, "'t' >= 1"));
  tide_queue_destroy(a);
  tide_timeline_destroy(t);
  fake_close(&f);
}

TEST(deadlock_across_queues) {
  struct fake f;
  struct tide_diag diag;
  fake_open(&f, true, 16);
  struct tide_queue *a = fake_queue(&f, "a"), *b = fake_queue(&f, "b"), *c = fake_queue(&f, "c");
  struct tide_timeline *t = fake_timeline(&f, "t", true), *u = fake_timeline(&f, "u", true);
  struct tide_timeline *v = fake_timeline(&f, "v", true);
  CHECK_OK(SUBMIT(a, .label = "x", WAITS({t, 1}), SIGNALS({u, 1})));
  CHECK_OK(SUBMIT(b, .label = "y", WAITS({u, 1}), SIGNALS({v, 1})));
  CHECK_STATUS(
      tide_queue_submit(c, &OPERATION(.label = "z", WAITS({v, 1}), SIGNALS({t, 1})), NULL, &diag),
      TIDE_DEADLOCK);
  CHECK(strstr(diag.text, "'z'"));
  /* Without its wait it is fine, and all goes on. */
  CHECK_OK(SUBMIT(c, .label = "z", SIGNALS({t, 1})));
  fake_run_out(&f);
  CHECK_EQ_U64(tide_timeline_query(v), 1);
  tide_queue_destroy(a);
  tide_queue_destroy(b);
  tide_queue_destroy(c);
  tide_timeline_destroy(t);
  tide_timeline_destroy(u);
  tide_timeline_destroy(v);
  fake_close(&f);
}

/* What an operation signals itself is not what it waits for: somebody else may come between. */
TEST(waits_below_its_own_signal) {
  struct fake f;
  fake_open(&f, true, 16);
  struct tide_queue *a = fake_queue(&f, "a"), *b = fake_queue(&f, "b");
  struct tide_timeline *t = fake_timeline(&f, "t", false);
  CHECK_OK(SUBMIT(a, .label = "four", WAITS({t, 4})));
  CHECK_OK(SUBMIT(b, .label = "three to five", WAITS({t, 3}), SIGNALS({t, 5})));
  CHECK(fake_held(&f, "three to five"));
  CHECK_OK(tide_timeline_signal_external(t, 3));
  fake_run(&f, "three to five");
  fake_run(&f, "four");
  tide_queue_destroy(a);
  tide_queue_destroy(b);
  tide_timeline_destroy(t);
  fake_close(&f);
}

/* Only a higher value is reserved: others may still signal what is waited for, before that one. */
TEST(a_higher_reservation_is_not_the_only_giver) {
  struct fake f;
  fake_open(&f, true, 16);
  struct tide_queue *a = fake_queue(&f, "a"), *b = fake_queue(&f, "b");
  struct tide_timeline *t = fake_timeline(&f, "t", true), *u = fake_timeline(&f, "u", false);
  CHECK_OK(SUBMIT(a, .label = "waiter", WAITS({t, 1})));
  CHECK_OK(SUBMIT(a, .label = "high", SIGNALS({t, 5})));
  CHECK(fake_held(&f, "waiter") && fake_held(&f, "high"));
  CHECK_OK(SUBMIT(b, .label = "low", SIGNALS({t, 2}))); /* another queue */
  CHECK(!fake_held(&f, "waiter"));
  fake_run_out(&f);
  CHECK_EQ_U64(tide_timeline_query(t), 5);
  CHECK_OK(SUBMIT(a, .label = "asks host", WAITS({u, 1})));
  CHECK_OK(SUBMIT(a, .label = "above host", SIGNALS({u, 2})));
  CHECK_OK(tide_timeline_signal_external(u, 1)); /* a host */
  fake_run_out(&f);
  CHECK_EQ_U64(tide_timeline_query(u), 2);
  tide_queue_destroy(a);
  tide_queue_destroy(b);
  tide_timeline_destroy(t);
  tide_timeline_destroy(u);
  fake_close(&f);
}

/* The same across queues; and what is waited for, once it is reserved, closes the cycle. */
TEST(the_very_value_closes_a_cycle) {
  struct fake f;
  fake_open(&f, true, 16);
  struct tide_queue *a = fake_queue(&f, "a"), *b = fake_queue(&f, "b");
  struct tide_timeline *t = fake_timeline(&f, "t", true), *u = fake_timeline(&f, "u", true);
  CHECK_OK(SUBMIT(a, .label = "x", WAITS({t, 1}), SIGNALS({u, 3})));
  CHECK_OK(SUBMIT(b, .label = "y", WAITS({u, 3}), SIGNALS({t, 4})));
  CHECK_STATUS(SUBMIT(b, .label = "z", SIGNALS({t, 1})), TIDE_VALUE); /* y goes first, with 4 */
  CHECK_STATUS(SUBMIT(a, .label = "z", SIGNALS({t, 1})), TIDE_DEADLOCK);
  struct tide_queue *c = fake_queue(&f, "c");
  CHECK_OK(SUBMIT(c, .label = "giver", SIGNALS({t, 1})));
  fake_run_out(&f);
  CHECK_EQ_U64(tide_timeline_query(t), 4);
  CHECK(fake_ran(&f, "x") && fake_ran(&f, "y"));
  tide_queue_destroy(a);
  tide_queue_destroy(b);
  tide_queue_destroy(c);
  tide_timeline_destroy(t);
  tide_timeline_destroy(u);
  fake_close(&f);
}

/* Nothing may signal 5 before the operation that is to signal 3; nor 4 before the one that is to
 * signal 2. */
TEST(a_lower_value_closes_a_cycle) {
  struct fake f;
  fake_open(&f, true, 16);
  struct tide_queue *a = fake_queue(&f, "a"), *b = fake_queue(&f, "b"), *c = fake_queue(&f, "c");
  struct tide_timeline *t = fake_timeline(&f, "t", true), *u = fake_timeline(&f, "u", true);
  struct tide_timeline *s = fake_timeline(&f, "s", true), *v = fake_timeline(&f, "v", true),
                       *w = fake_timeline(&f, "w", true);
  CHECK_OK(SUBMIT(a, .label = "x", WAITS({t, 5}), SIGNALS({u, 1})));
  CHECK_STATUS(SUBMIT(a, .label = "behind", SIGNALS({t, 3})), TIDE_DEADLOCK);
  CHECK_STATUS(SUBMIT(b, .label = "behind", WAITS({u, 1}), SIGNALS({t, 3})), TIDE_DEADLOCK);
  CHECK_OK(SUBMIT(b, .label = "y", WAITS({u, 1}), SIGNALS({t, 7})));
  CHECK_OK(SUBMIT(c, .label = "giver", SIGNALS({t, 5})));
  fake_run_out(&f);
  CHECK_EQ_U64(tide_timeline_query(t), 7);
  CHECK(fake_ran(&f, "x") && fake_ran(&f, "y"));
  CHECK_OK(SUBMIT(a, .label = "high", WAITS({w, 1}), SIGNALS({s, 4}, {v, 1})));
  CHECK_STATUS(SUBMIT(b, .label = "low", WAITS({v, 1}), SIGNALS({s, 2})), TIDE_DEADLOCK);
  CHECK_OK(SUBMIT(c, .label = "giver", SIGNALS({w, 1})));
  fake_run_out(&f);
  CHECK(fake_ran(&f, "high"));
  tide_queue_destroy(a);
  tide_queue_destroy(b);
  tide_queue_destroy(c);
  struct tide_timeline *all[] = {s, t, u, v, w};
  for (size_t i = 0; i < 5; i++) tide_timeline_destroy(all[i]);
  fake_close(&f);
}

/* All signals of a timeline that belongs to one queue come from behind the waiter. */
TEST(deadlock_on_a_queue_of_its_own) {
  struct fake f;
  fake_open(&f, true, 16);
  struct tide_queue *a = fake_queue(&f, "a");
  struct tide_timeline *t;
  struct tide_timeline_params params = {
      .struct_size = sizeof params, .label = "t", .scope = TIDE_SCOPE_QUEUE};
  CHECK_OK(tide_timeline_create(f.context, &params, &t));
  CHECK_OK(SUBMIT(a, .label = "waiter", .flags = TIDE_MAY_BE_PASSED, WAITS({t, 1})));
  CHECK_OK(SUBMIT(a, .label = "passes", SIGNALS({t, 2})));
  fake_run_out(&f);
  CHECK(fake_ran(&f, "waiter"));
  CHECK_OK(SUBMIT(a, .label = "stays", WAITS({t, 3})));
  CHECK_STATUS(SUBMIT(a, .label = "behind", SIGNALS({t, 4})), TIDE_DEADLOCK);
  tide_queue_destroy(a);
  tide_timeline_destroy(t);
  fake_close(&f);
}

TEST(full) {
  struct fake f;
  fake_open(&f, true, 16);
  struct tide_queue *a = fake_queue_on(f.device, "a", 2);
  struct tide_timeline *t = fake_timeline(&f, "t", true), *u = fake_timeline(&f, "u", false);
  CHECK_OK(SUBMIT(a, .label = "one"));
  CHECK_OK(SUBMIT(a, .label = "two"));
  CHECK_STATUS(SUBMIT(a, .label = "three"), TIDE_FULL);
  fake_run(&f, "one");
  CHECK_OK(SUBMIT(a, .label = "three", WAITS({u, 1})));
  fake_run(&f, "two");
  CHECK_OK(SUBMIT(a, .label = "four"));
  /* The host may still signal u. */
  CHECK_STATUS(SUBMIT(a, .label = "five"), TIDE_FULL);
  CHECK_OK(tide_timeline_signal_external(u, 1));
  fake_run_out(&f);
  /* Nobody but an operation could signal t, and this queue takes none. */
  struct tide_diag diag;
  CHECK_OK(SUBMIT(a, .label = "six", WAITS({t, 1})));
  CHECK_OK(SUBMIT(a, .label = "seven"));
  CHECK_STATUS(tide_queue_submit(a, &OPERATION(.label = "eight"), NULL, &diag), TIDE_DEADLOCK);
  CHECK(strstr(diag.text, "'six'"));
  tide_queue_destroy(a);
  tide_timeline_destroy(t);
  tide_timeline_destroy(u);
  fake_close(&f);
}

/* What fills the queue waits for what is held behind it, or may be passed by what still can go on.
 */
TEST(full_of_each_other) {
  struct fake f;
  struct tide_diag diag;
  fake_open(&f, true, 16);
  struct tide_queue *a = fake_queue_on(f.device, "a", 2), *b = fake_queue(&f, "b");
  struct tide_timeline *t = fake_timeline(&f, "t", true), *u = fake_timeline(&f, "u", false);
  CHECK_OK(SUBMIT(a, .label = "waiter", WAITS({t, 1})));
  CHECK_OK(SUBMIT(a, .label = "high", SIGNALS({t, 5})));
  CHECK_STATUS(tide_queue_submit(a, &OPERATION(.label = "more"), NULL, &diag), TIDE_DEADLOCK);
  CHECK(strstr(diag.text, "'waiter'") && strstr(diag.text, "'high'"));
  CHECK_OK(SUBMIT(b, .label = "low", SIGNALS({t, 1})));
  fake_run_out(&f);
  CHECK_OK(SUBMIT(a, .label = "passable", .flags = TIDE_MAY_BE_PASSED, WAITS({t, 6})));
  CHECK_OK(SUBMIT(a, .label = "for the host", .flags = TIDE_MAY_BE_PASSED, WAITS({u, 1})));
  CHECK_STATUS(SUBMIT(a, .label = "more"), TIDE_FULL);
  CHECK_OK(tide_timeline_signal_external(u, 1));
  fake_run_out(&f);
  CHECK_OK(SUBMIT(a, .label = "asks", .flags = TIDE_MAY_BE_PASSED, WAITS({u, 2})));
  CHECK_OK(SUBMIT(b, .label = "held", WAITS({u, 3}), SIGNALS({t, 6})));
  CHECK_STATUS(SUBMIT(a, .label = "more"), TIDE_FULL); /* a host may let 'held' go */
  CHECK_OK(tide_timeline_signal_external(u, 3));
  fake_run_out(&f);
  tide_queue_destroy(a);
  tide_queue_destroy(b);
  tide_timeline_destroy(t);
  tide_timeline_destroy(u);
  fake_close(&f);
}

/* ---- refusals ----------------------------------------------------------------------------------
 */

TEST(submit_all_or_none) {
  struct fake f;
  fake_open(&f, true, 16);
  struct tide_queue *a = fake_queue_on(f.device, "a", 4);
  struct tide_timeline *t = fake_timeline(&f, "t", true), *narrow;
  struct tide_timeline_params params = {
      .struct_size = sizeof params, .label = "narrow", .scope = TIDE_SCOPE_QUEUE};
  CHECK_OK(tide_timeline_create(f.context, &params, &narrow));
  size_t taken = 99;
  struct tide_operation good[] = {OPERATION(.label = "x", SIGNALS({t, 1})),
                                  OPERATION(.label = "y", SIGNALS({t, 2}))};
  struct tide_operation down[] = {good[0], OPERATION(.label = "z", SIGNALS({t, 1}))};
  struct tide_operation five[5] = {good[0], good[1], OPERATION(), OPERATION(), OPERATION()};
  CHECK_STATUS(tide_queue_submit_all(a, down, 2, &taken, NULL), TIDE_VALUE);
  CHECK_EQ_U64(taken, 0);
  CHECK_STATUS(tide_queue_submit_all(a, five, 5, &taken, NULL), TIDE_INVALID);
  CHECK_EQ_U64(taken, 0);
  CHECK_OK(tide_queue_submit_all(a, good, 2, &taken, NULL));
  CHECK_EQ_U64(taken, 2);
  CHECK_STATUS(tide_queue_submit_all(a, five + 2, 3, &taken, NULL), TIDE_FULL);
  CHECK_EQ_U64(taken, 0);
  fake_run_out(&f);
  /* A value that a held operation has reserved is a value error, too, and found before any is
   * taken. */
  struct tide_operation held[] = {OPERATION(.label = "h", WAITS({t, 9}), SIGNALS({t, 10}))};
  struct tide_operation after[] = {OPERATION(.label = "p"),
                                   OPERATION(.label = "q", SIGNALS({t, 10}))};
  CHECK_OK(tide_queue_submit_all(a, held, 1, &taken, NULL));
  CHECK_STATUS(tide_queue_submit_all(a, after, 2, &taken, NULL), TIDE_VALUE);
  CHECK_EQ_U64(taken, 0);
  tide_queue_destroy(a);
  tide_timeline_destroy(t);
  tide_timeline_destroy(narrow);
  fake_close(&f);
}

TEST(unordered_signallers) {
  struct fake f;
  struct tide_diag diag;
  fake_open(&f, true, 16);
  struct tide_queue *a = fake_queue(&f, "left"), *b = fake_queue(&f, "right");
  struct tide_timeline *t = fake_timeline(&f, "t", false);
  CHECK_OK(SUBMIT(a, .label = "one", SIGNALS({t, 1})));
  CHECK_STATUS(tide_queue_submit(b, &OPERATION(.label = "two", SIGNALS({t, 2})), NULL, &diag),
               TIDE_UNORDERED);
  CHECK(strstr(diag.text, "'one'") && strstr(diag.text, "'two'") && strstr(diag.text, "'left'") &&
        strstr(diag.text, "'right'"));
  CHECK_OK(SUBMIT(b, .label = "two", WAITS({t, 1}), SIGNALS({t, 2})));
  CHECK_OK(SUBMIT(b, .label = "three", SIGNALS({t, 3})));
  CHECK_OK(SUBMIT(a, .label = "four", SIGNALS({t, 4, .external = true})));
  fake_run(&f, "one");
  fake_take(&f, "two");
  fake_take(&f, "four");
  fake_give(&f, "two", TIDE_OK);
  fake_run(&f, "three");
  fake_give(&f, "four", TIDE_OK);
  CHECK_EQ_U64(tide_timeline_query(t), 4);
  struct tide_record_info info;
  CHECK_OK(tide_timeline_frontier_at(t, 4, NULL, &info));
  CHECK(info.external);
  tide_queue_destroy(a);
  tide_queue_destroy(b);
  tide_timeline_destroy(t);
  fake_close(&f);
}

TEST(values_go_up) {
  struct fake f;
  fake_open(&f, true, 16);
  struct tide_queue *a = fake_queue(&f, "a");
  struct tide_timeline *t = fake_timeline(&f, "t", false);
  CHECK_OK(tide_timeline_signal_external(t, 3));
  CHECK_STATUS(SUBMIT(a, SIGNALS({t, 3})), TIDE_VALUE);
  CHECK_OK(SUBMIT(a, SIGNALS({t, 7})));
  CHECK_STATUS(SUBMIT(a, SIGNALS({t, 7})), TIDE_VALUE);
  CHECK_STATUS(SUBMIT(a, SIGNALS({t, 6})), TIDE_VALUE);
  CHECK_STATUS(SUBMIT(a, SIGNALS({t, 8}, {t, 9})), TIDE_INVALID);
  CHECK_STATUS(SUBMIT(a, WAITS({t, 8}), SIGNALS({t, 8})), TIDE_INVALID);
  CHECK_OK(SUBMIT(a, SIGNALS({t, UINT64_MAX})));
  fake_run_out(&f);
  CHECK_EQ_U64(tide_timeline_query(t), UINT64_MAX);
  tide_queue_destroy(a);
  tide_timeline_destroy(t);
  fake_close(&f);
}

TEST(scopes) {
  struct fake f;
  struct tide_diag diag;
  fake_open(&f, true, 16);
  struct tide_queue *a = fake_queue(&f, "left"), *b = fake_queue(&f, "right");
  struct tide_queue *far = fake_queue_on(f.other, "far", 0);
  struct tide_timeline *queue, *device;
  struct tide_timeline_params params = {
      .struct_size = sizeof params, .label = "tiles", .scope = TIDE_SCOPE_QUEUE};
  CHECK_OK(tide_timeline_create(f.context, &params, &queue));
  params = (struct tide_timeline_params){.struct_size = sizeof(struct tide_timeline_params),
                                         .label = "images",
                                         .scope = TIDE_SCOPE_DEVICE};
  CHECK_OK(tide_timeline_create(f.context, &params, &device));
  /* A refused submit binds nothing. */
  CHECK_STATUS(SUBMIT(far, WAITS({queue, 2}), SIGNALS({queue, 2})), TIDE_INVALID);
  struct tide_timeline *t = fake_timeline(&f, "t", true);
  CHECK_OK(SUBMIT(a, .label = "one", SIGNALS({t, 1})));
  CHECK_STATUS(SUBMIT(far, SIGNALS({t, 2}, {queue, 1})), TIDE_UNORDERED);
  CHECK_OK(SUBMIT(a, .label = "two", SIGNALS({queue, 1}, {device, 1})));
  CHECK_STATUS(tide_queue_submit(b, &OPERATION(WAITS({queue, 1})), NULL, &diag), TIDE_SCOPE);
  CHECK(strstr(diag.text,
               "timeline 'tiles' has scope queue; it cannot be waited on from queue 'right'"));
  CHECK_OK(SUBMIT(b, .label = "three", WAITS({device, 1})));
  CHECK_STATUS(SUBMIT(far, WAITS({device, 1})), TIDE_SCOPE);
  CHECK_STATUS(SUBMIT(far, SIGNALS({device, 2})), TIDE_SCOPE);
  CHECK_STATUS(SUBMIT(a, SIGNALS({tide_queue_progress(a), 5})), TIDE_SCOPE);
  CHECK_STATUS(tide_timeline_signal_external(device, 9), TIDE_SCOPE);
  CHECK_STATUS(tide_timeline_wait(device, 9, TIDE_NOW), TIDE_SCOPE);
  CHECK_STATUS(tide_timeline_signal_external(tide_queue_progress(a), 9), TIDE_SCOPE);
  fake_run_out(&f);
  tide_queue_destroy(a);
  tide_queue_destroy(b);
  tide_queue_destroy(far);
  tide_timeline_destroy(t);
  tide_timeline_destroy(queue);
  tide_timeline_destroy(device);
  fake_close(&f);
}

TEST(bad_arguments) {
  struct fake f;
  fake_open(&f, true, 16);
  struct tide_queue *a = fake_queue_on(f.device, "a", 1);
  struct tide_timeline *t = fake_timeline(&f, "t", true);
  struct tide_body_class nobody = {.name = "nobody"};
  unsigned char bytes[TIDE_ARGUMENTS_MAX + 1] = {0};
  CHECK_STATUS(SUBMIT(a, WAITS({NULL, 1})), TIDE_INVALID);
  CHECK_STATUS(SUBMIT(a, SIGNALS({NULL, 1})), TIDE_INVALID);
  CHECK_STATUS(SUBMIT(a, .arguments = bytes, .arguments_size = sizeof bytes), TIDE_INVALID);
  CHECK_STATUS(SUBMIT(a, WAITS({t, 1}, {t, 1}, {t, 1}, {t, 1}, {t, 1})), TIDE_INVALID);
  struct tide_operation operation = {.body = &nobody};
  CHECK_STATUS(tide_queue_submit(a, &operation, NULL, NULL), TIDE_UNSUPPORTED);
  CHECK_STATUS(tide_queue_cancel(a, 1), TIDE_NOT_FOUND);
  tide_queue_destroy(a);
  tide_timeline_destroy(t);
  fake_close(&f);
}

/* ---- order
 * --------------------------------------------------------------------------------------- */

/* Where completion is in any order several run at once; they are published in order. */
TEST(any_order_publishes_in_order) {
  struct fake f;
  fake_open(&f, true, 16);
  struct tide_queue *a = fake_queue_on(f.other, "a", 0);
  struct tide_timeline *t = fake_timeline(&f, "t", true), *u = fake_timeline(&f, "u", true);
  CHECK_OK(SUBMIT(a, .label = "one", SIGNALS({t, 1})));
  CHECK_OK(SUBMIT(a, .label = "two", SIGNALS({u, 1})));
  /* The own epoch is not known here without a wait: this one is real. */
  CHECK_OK(SUBMIT(a, .label = "three", WAITS({t, 1})));
  CHECK(fake_class(&f, "three", 0) == TIDE_WAIT_ISSUED);
  CHECK_OK(SUBMIT(a, .label = "four"));
  fake_take(&f, "one");
  fake_take(&f, "two");
  /* What waits holds up what comes after it. */
  CHECK(!fake_runs(&f, "three") && !fake_runs(&f, "four"));
  fake_give(&f, "two", TIDE_OK);
  CHECK_EQ_U64(tide_timeline_query(u), 0);
  CHECK_EQ_U64(tide_timeline_query(tide_queue_progress(a)), 0);
  fake_give(&f, "one", TIDE_OK);
  CHECK_EQ_U64(tide_timeline_query(t), 1);
  CHECK_EQ_U64(tide_timeline_query(u), 1);
  CHECK_EQ_U64(tide_timeline_query(tide_queue_progress(a)), 2);
  CHECK(fake_runs(&f, "three") && fake_runs(&f, "four"));
  fake_run_out(&f);
  tide_queue_destroy(a);
  tide_timeline_destroy(t);
  tide_timeline_destroy(u);
  fake_close(&f);
}

/* Entries that don't fit leave a taint; it goes once the queue has finished where it arose. */
TEST(taint_heals) {
  struct fake f;
  fake_open(&f, true, 2);
  struct tide_queue *q[5];
  struct tide_timeline *t = fake_timeline(&f, "t", true);
  TIDE_FRONTIER_STORAGE(known, 2);
  tide_frontier_init(&known.frontier, 2);
  char label[2] = "a";
  for (uint64_t i = 0; i < 5; i++, label[0]++) {
    q[i] = fake_queue(&f, label);
    if (i == 0) CHECK_OK(SUBMIT(q[i], .label = label, SIGNALS({t, i + 1})));
    else CHECK_OK(SUBMIT(q[i], .label = label, WAITS({t, i}), SIGNALS({t, i + 1})));
  }
  tide_queue_position(q[4], &known.frontier, NULL);
  CHECK(known.frontier.tainted);
  CHECK(tide_frontier_get(&known.frontier, tide_queue_axis(q[4])) == 1);
  fake_run_out(&f);
  CHECK_OK(SUBMIT(q[4], .label = "after"));
  tide_queue_position(q[4], &known.frontier, NULL);
  CHECK(!known.frontier.tainted);
  fake_run_out(&f);
  for (int i = 0; i < 5; i++) tide_queue_destroy(q[i]);
  tide_timeline_destroy(t);
  fake_close(&f);
}

/* The event of entering shows the taint that the operation's record has: what the queue had before,
 * and what arises when all of it does not fit. */
TEST(taint_is_told) {
  struct fake f;
  fake_open(&f, true, 2);
  struct tide_queue *q[4];
  struct tide_timeline *t = fake_timeline(&f, "t", true), *u = fake_timeline(&f, "u", true);
  char label[2] = "a";
  for (uint64_t i = 0; i < 3; i++, label[0]++) {
    q[i] = fake_queue(&f, label);
    if (i == 0) CHECK_OK(SUBMIT(q[i], .label = label, SIGNALS({t, i + 1})));
    else CHECK_OK(SUBMIT(q[i], .label = label, WAITS({t, i}), SIGNALS({t, i + 1})));
  }
  CHECK(!fake_find(&f, TIDE_EVENT_ENTER, "b", 0)->tainted);
  CHECK(fake_find(&f, TIDE_EVENT_ENTER, "c", 0)->tainted);
  q[3] = fake_queue(&f, "other");
  CHECK_OK(SUBMIT(q[3], .label = "other", SIGNALS({u, 1})));
  CHECK_OK(SUBMIT(q[2], .label = "learns", WAITS({u, 1}), SIGNALS({t, 4})));
  CHECK_OK(SUBMIT(q[2], .label = "learns nothing"));
  CHECK(!fake_find(&f, TIDE_EVENT_ENTER, "other", 0)->tainted);
  CHECK(fake_find(&f, TIDE_EVENT_ENTER, "learns", 0)->tainted);
  CHECK(fake_find(&f, TIDE_EVENT_ENTER, "learns nothing", 0)->tainted);
  fake_run_out(&f);
  TIDE_FRONTIER_STORAGE(known, 2);
  tide_frontier_init(&known.frontier, 2);
  CHECK_OK(tide_timeline_frontier_at(t, 4, &known.frontier, NULL));
  CHECK(known.frontier.tainted);
  for (int i = 0; i < 4; i++) tide_queue_destroy(q[i]);
  tide_timeline_destroy(t);
  tide_timeline_destroy(u);
  fake_close(&f);
}

/* A full queue's reached epochs are not answered for by what still runs. */
TEST(progress_of_a_full_queue) {
  struct fake f;
  fake_open(&f, true, 16);
  struct tide_queue *a = fake_queue_on(f.device, "a", 4), *b = fake_queue(&f, "b");
  CHECK_OK(SUBMIT(a, .label = "one"));
  fake_run(&f, "one");
  for (int i = 0; i < 4; i++) CHECK_OK(SUBMIT(a, .label = "more"));
  CHECK_OK(SUBMIT(b, .label = "late", WAITS({tide_queue_progress(a), 1})));
  TIDE_FRONTIER_STORAGE(known, 16);
  tide_frontier_init(&known.frontier, 16);
  tide_queue_position(b, &known.frontier, NULL);
  CHECK(tide_frontier_get(&known.frontier, tide_queue_axis(a)) <= 1);
  CHECK(fake_runs(&f, "late"));
  fake_run_out(&f);
  tide_queue_destroy(a);
  tide_queue_destroy(b);
  fake_close(&f);
}

/* What may be passed stands in nobody's way: a later held one may signal a smaller value. */
TEST(values_below_one_that_may_be_passed) {
  struct fake f;
  fake_open(&f, true, 16);
  struct tide_queue *a = fake_queue(&f, "a");
  struct tide_timeline *t = fake_timeline(&f, "t", false), *u = fake_timeline(&f, "u", false);
  CHECK_OK(SUBMIT(a, .label = "late", .flags = TIDE_MAY_BE_PASSED, WAITS({t, 2}), SIGNALS({u, 5})));
  CHECK_OK(SUBMIT(a, .label = "soon", WAITS({t, 1}), SIGNALS({u, 3})));
  CHECK(fake_held(&f, "late") && fake_held(&f, "soon"));
  CHECK_OK(tide_timeline_signal(t, 1, NULL));
  fake_run(&f, "soon");
  CHECK_EQ_U64(tide_timeline_query(u), 3);
  CHECK_OK(tide_timeline_signal(t, 2, NULL));
  fake_run(&f, "late");
  CHECK_EQ_U64(tide_timeline_query(u), 5);
  tide_queue_destroy(a);
  tide_timeline_destroy(t);
  tide_timeline_destroy(u);
  fake_close(&f);
}

TEST_MAIN(CASE(values_below_one_that_may_be_passed), CASE(every_class), CASE(finished_elsewhere),
          CASE(two_phases), CASE(siblings), CASE(many_siblings), CASE(siblings_of_one_signaller),
          CASE(raised_wait), CASE(wait_below_the_record), CASE(late_waiter),
          CASE(held_keeps_its_place), CASE(may_be_passed), CASE(deadlock_in_one_queue),
          CASE(deadlock_across_queues), CASE(waits_below_its_own_signal),
          CASE(a_higher_reservation_is_not_the_only_giver), CASE(the_very_value_closes_a_cycle),
          CASE(a_lower_value_closes_a_cycle), CASE(deadlock_on_a_queue_of_its_own), CASE(full),
          CASE(full_of_each_other), CASE(submit_all_or_none), CASE(unordered_signallers),
          CASE(values_go_up), CASE(scopes), CASE(bad_arguments), CASE(any_order_publishes_in_order),
          CASE(taint_heals), CASE(taint_is_told), CASE(progress_of_a_full_queue))
