/* Collectives among other dependencies: crossed orders, memory, cancels, what one entry stands for.
 * The context is paused, so nothing depends on what has ended already. */
#include "base/atomic.h"
#include "harness.h"
#include "tidemark/tidemark.h"

#include <sched.h>
#include <string.h>

enum { MEMBERS = 8 };

struct all {
  struct tide_context *context;
  struct tide_device *cpu;
  struct tide_queue *queues[MEMBERS], *other;
  struct tide_collective *a, *b;
  struct tide_pool *pool;
  struct tide_diag diag;
};

static enum tide_status do_nothing(void *arguments) {
  (void)arguments;
  return TIDE_OK;
}
static const struct tide_body_class nothing = {.name = "nothing", .host = do_nothing};

static void open_all(struct all *all, size_t members, const struct tide_pool_params *pool) {
  struct tide_context_params params = {.struct_size = sizeof params, .paused = true};
  struct tide_cpu_params cpu = {.struct_size = sizeof cpu, .workers = 2};
  *all = (struct all){0};
  CHECK_OK(tide_context_create(&params, &all->context));
  CHECK_OK(tide_cpu_open(all->context, &cpu, &all->cpu));
  for (size_t i = 0; i < members; i++) {
    char label[] = {'q', (char)('0' + i), 0};
    struct tide_queue_params queue = {.struct_size = sizeof queue, .label = label};
    CHECK_OK(tide_queue_create(all->cpu, &queue, &all->queues[i]));
  }
  CHECK_OK(tide_queue_create(all->cpu, NULL, &all->other));
  CHECK_OK(tide_collective_create(all->queues, members, "A", &all->a));
  CHECK_OK(tide_collective_create(all->queues, members, "B", &all->b));
  if (pool) CHECK_OK(tide_pool_create(all->context, pool, &all->pool));
}

static void close_all(struct all *all) { tide_context_destroy(all->context); }

static enum tide_status submit_part(struct all *all, struct tide_collective *collective,
                                    size_t member, const char *label) {
  struct tide_operation part = {.label = label, .body = &nothing};
  return tide_collective_submit(collective, member, 0, &part, NULL, &all->diag);
}

static struct tide_timeline *make_timeline(struct all *all, const char *label) {
  struct tide_timeline_params params = {.struct_size = sizeof params, .label = label};
  struct tide_timeline *timeline;
  CHECK_OK(tide_timeline_create(all->context, &params, &timeline));
  return timeline;
}

static void expect_end(struct all *all, struct tide_collective *collective) {
  tide_context_resume(all->context);
  CHECK_OK(tide_timeline_wait(tide_collective_progress(collective), 1, TIDE_FOREVER));
}

static bool says(const struct all *all, const char *text) {
  return strstr(all->diag.text, text) != NULL;
}

/* ---- cycles ---- */

TEST(crossed_parts_are_refused_at_the_last) {
  struct all all;
  open_all(&all, 2, NULL);
  CHECK_OK(submit_part(&all, all.a, 0, "A0"));
  CHECK_OK(submit_part(&all, all.b, 1, "B1"));
  CHECK_OK(submit_part(&all, all.b, 0, "B0"));
  CHECK_STATUS(submit_part(&all, all.a, 1, "A1"), TIDE_DEADLOCK);
  CHECK(says(&all, "'A1' of queue 'q1'") && says(&all, "comes behind 'B1'") &&
        says(&all, "starts with 'B0'") && says(&all, "comes behind 'A0'"));
  /* Nothing has changed: on another member's queue B's part would have come second, too. */
  tide_collective_destroy(all.a);
  expect_end(&all, all.b);
  close_all(&all);
}

/* A ring of any length: queue i does collective i and then i + 1; the last closes it. */
TEST(a_ring_of_collectives_is_refused) {
  struct all all;
  struct tide_collective *ring[MEMBERS];
  open_all(&all, MEMBERS, NULL);
  for (size_t i = 0; i < MEMBERS; i++) {
    struct tide_queue *pair[] = {all.queues[i], all.queues[(i + 1) % MEMBERS]};
    CHECK_OK(tide_collective_create(pair, 2, "ring", &ring[i]));
  }
  for (size_t i = 0; i < MEMBERS; i++) CHECK_OK(submit_part(&all, ring[i], 0, "first"));
  for (size_t i = 0; i + 1 < MEMBERS; i++) CHECK_OK(submit_part(&all, ring[i], 1, "second"));
  CHECK_STATUS(submit_part(&all, ring[MEMBERS - 1], 1, "second"), TIDE_DEADLOCK);
  for (size_t i = 0; i < MEMBERS; i++) tide_collective_destroy(ring[i]);
  tide_context_resume(all.context);
  for (size_t i = 0; i < MEMBERS; i++) CHECK_OK(tide_queue_drain(all.queues[i], TIDE_FOREVER));
  close_all(&all);
}

/* A part waits for what comes behind another part of its instance: entered, and held. */
TEST(a_part_behind_its_own_instance_is_refused) {
  struct all all;
  open_all(&all, 2, NULL);
  struct tide_timeline *t = make_timeline(&all, "t"), *u = make_timeline(&all, "u");
  struct tide_operation after = {.label = "after", TIDE_SIGNALS(TIDE_SIGNAL(t, 1))};
  struct tide_operation held = {
      .label = "held", TIDE_WAITS({u, 1}), TIDE_SIGNALS(TIDE_SIGNAL(t, 2))};
  CHECK_OK(submit_part(&all, all.a, 0, "A0"));
  CHECK_OK(tide_queue_submit(all.queues[0], &after, NULL, NULL));
  CHECK_OK(tide_queue_submit(all.queues[0], &held, NULL, NULL));
  for (uint64_t value = 1; value <= 2; value++) {
    struct tide_operation part = {.label = "A1", TIDE_WAITS({t, value})};
    CHECK_STATUS(tide_collective_submit(all.a, 1, 0, &part, NULL, &all.diag), TIDE_DEADLOCK);
  }
  CHECK_OK(submit_part(&all, all.a, 1, "A1"));
  CHECK_OK(tide_timeline_signal_external(u, 1));
  expect_end(&all, all.a);
  CHECK_OK(tide_timeline_wait(t, 2, TIDE_FOREVER));
  close_all(&all);
}

/* An operation that is no part closes the cycle: it gives what holds a part back. */
TEST(an_operation_that_frees_a_part_in_vain_is_refused) {
  struct all all;
  open_all(&all, 2, NULL);
  struct tide_timeline *t = make_timeline(&all, "t"), *u = make_timeline(&all, "u");
  struct tide_operation x = {.label = "x", TIDE_SIGNALS(TIDE_SIGNAL(t, 1))};
  struct tide_operation h = {.label = "h", TIDE_WAITS({u, 1})};
  struct tide_operation n = {.label = "n", TIDE_WAITS({t, 1}), TIDE_SIGNALS(TIDE_SIGNAL(u, 1))};
  CHECK_OK(submit_part(&all, all.a, 0, "A0"));
  CHECK_OK(tide_queue_submit(all.queues[0], &x, NULL, NULL));
  CHECK_OK(tide_queue_submit(all.queues[1], &h, NULL, NULL));
  CHECK_OK(submit_part(&all, all.a, 1, "A1"));
  CHECK_STATUS(tide_queue_submit(all.other, &n, NULL, &all.diag), TIDE_DEADLOCK);
  CHECK_OK(tide_timeline_signal_external(u, 1));
  expect_end(&all, all.a);
  close_all(&all);
}

/* Progress that only the waiting operation itself, or one behind it, can bring. */
TEST(a_wait_for_the_progress_of_its_own_queue_is_refused) {
  struct all all;
  open_all(&all, 2, NULL);
  struct tide_wait own = {tide_queue_progress(all.queues[0]), 1};
  struct tide_wait others = {tide_queue_progress(all.queues[1]), 1};
  struct tide_operation o = {.label = "o", .waits = &own, .wait_count = 1};
  CHECK_STATUS(tide_queue_submit(all.queues[0], &o, NULL, &all.diag), TIDE_DEADLOCK);
  o.waits = &others;
  CHECK_OK(tide_queue_submit(all.queues[0], &o, NULL, &all.diag));
  o.waits = &own;
  CHECK_STATUS(tide_queue_submit(all.queues[1], &o, NULL, &all.diag), TIDE_DEADLOCK);
  close_all(&all);
}

/* One that may be passed enters late, and then later parts come behind it. */
TEST(a_passed_operation_that_closes_a_cycle_fails) {
  struct all all;
  open_all(&all, 2, NULL);
  struct tide_timeline *t = make_timeline(&all, "t"), *u = make_timeline(&all, "u"),
                       *v = make_timeline(&all, "v");
  struct tide_operation passed = {.label = "passed",
                                  .flags = TIDE_MAY_BE_PASSED,
                                  TIDE_WAITS({t, 1}),
                                  TIDE_SIGNALS(TIDE_SIGNAL(v, 1))};
  struct tide_operation firm = {.label = "firm", TIDE_WAITS({u, 1})};
  struct tide_operation gives = {.label = "gives", TIDE_SIGNALS(TIDE_SIGNAL(t, 1))};
  CHECK_OK(tide_queue_submit(all.queues[0], &passed, NULL, NULL));
  CHECK_OK(tide_queue_submit(all.queues[0], &firm, NULL, NULL));
  CHECK_OK(submit_part(&all, all.a, 0, "A0"));
  CHECK_OK(submit_part(&all, all.a, 1, "A1"));
  /* `passed` could wait for `gives` behind A1, if it entered behind A0. It enters before A0. */
  CHECK_OK(tide_queue_submit(all.queues[1], &gives, NULL, &all.diag));
  tide_context_resume(all.context);
  CHECK_STATUS(tide_timeline_wait(v, 1, TIDE_FOREVER), TIDE_DEADLOCK);
  struct tide_failure failure;
  CHECK(tide_timeline_failure(v, 1, &failure));
  CHECK(strstr(failure.text, "would wait for itself") != NULL);
  CHECK_OK(tide_timeline_signal_external(u, 1));
  CHECK_OK(tide_timeline_wait(tide_collective_progress(all.a), 1, TIDE_FOREVER));
  close_all(&all);
}

/* Instances end in order: one that fails does not hide that a later one comes after it. */
TEST(an_instance_that_fails_holds_up_later_ones) {
  struct all all;
  open_all(&all, 2, NULL);
  struct tide_timeline *bad = make_timeline(&all, "bad");
  struct tide_operation fails = {.label = "fails", TIDE_WAITS({bad, 1})};
  struct tide_wait second = {tide_collective_progress(all.a), 2};
  struct tide_operation x = {.label = "x", .waits = &second, .wait_count = 1};
  tide_timeline_fail(bad, TIDE_IO);
  CHECK_OK(submit_part(&all, all.a, 0, "one"));
  CHECK_OK(submit_part(&all, all.a, 0, "two"));
  CHECK_OK(tide_queue_submit(all.queues[1], &x, NULL, NULL));
  CHECK_STATUS(tide_collective_submit(all.a, 1, 0, &fails, NULL, &all.diag), TIDE_DEADLOCK);
  CHECK_STATUS(tide_collective_submit(all.a, 1, 7, &fails, NULL, &all.diag), TIDE_DEADLOCK);
  CHECK_OK(tide_queue_cancel(all.queues[1], 1));
  CHECK_OK(submit_part(&all, all.a, 1, "one"));
  expect_end(&all, all.a);
  close_all(&all);
}

/* ---- memory ---- */

static enum tide_status submit_with_workspace(struct all *all, size_t member, size_t size) {
  struct tide_buffer *buffer;
  enum tide_status status =
      tide_queue_alloc(all->queues[member], all->pool, size, "workspace", &buffer);
  if (status != TIDE_OK) return status;
  struct tide_operation part = {
      .label = "part", .body = &nothing, TIDE_USES({.buffer = buffer, .access = TIDE_WRITE})};
  status = tide_collective_submit(all->a, member, 0, &part, NULL, &all->diag);
  tide_queue_free(all->queues[member], buffer);
  return status;
}

/* With stream order a part's workspace is free behind it. No part of the same instance may get that
 * memory: it would wait for the other to end, and they start together. */
TEST(an_instance_reuses_no_memory_of_its_own) {
  static const enum tide_pool_policy policies[] = {TIDE_POOL_GROW_FIRST, TIDE_POOL_WAIT_FIRST};
  for (size_t i = 0; i < sizeof policies / sizeof *policies; i++) {
    struct all all;
    struct tide_pool_params pool = {
        .struct_size = sizeof pool, .policy = policies[i], .chunk = 1 << 20};
    open_all(&all, MEMBERS, &pool);
    for (int round = 0; round < 3; round++)
      for (size_t member = 0; member < MEMBERS; member++)
        CHECK_OK(submit_with_workspace(&all, member, 16 << 20));
    expect_end(&all, all.a);
    close_all(&all);
  }
}

TEST(without_other_memory_it_is_out_of_memory) {
  struct all all;
  struct tide_pool_params pool = {.struct_size = sizeof pool, .limit = 4096, .chunk = 4096};
  open_all(&all, 2, &pool);
  CHECK_OK(submit_with_workspace(&all, 0, 4000));
  CHECK_STATUS(submit_with_workspace(&all, 1, 4000), TIDE_NOMEM);
  CHECK_OK(submit_part(&all, all.a, 1, "part"));
  expect_end(&all, all.a);
  close_all(&all);
}

/* A queue that owes no part may wait for the memory; where it was allocated before, the part that
 * would close the cycle is refused. */
TEST(a_part_that_waits_for_memory_behind_its_instance_is_refused) {
  struct all all;
  struct tide_pool_params pool = {.struct_size = sizeof pool, .limit = 4096, .chunk = 4096};
  struct tide_buffer *buffer;
  open_all(&all, 2, &pool);
  CHECK_OK(submit_with_workspace(&all, 0, 4000));
  CHECK_OK(tide_queue_alloc(all.other, all.pool, 4000, "taken over", &buffer));
  CHECK_EQ_U64(tide_buffer_reuse(buffer), TIDE_REUSE_GAP);
  struct tide_operation part = {
      .label = "part", .body = &nothing, TIDE_USES({.buffer = buffer, .access = TIDE_WRITE})};
  CHECK_STATUS(tide_collective_submit(all.a, 1, 0, &part, NULL, &all.diag), TIDE_DEADLOCK);
  CHECK(says(&all, "reuses the memory of 'part' of queue 'q0'"));
  CHECK_OK(submit_part(&all, all.a, 1, "part"));
  tide_queue_free(all.other, buffer);
  expect_end(&all, all.a);
  close_all(&all);
}

/* Eight members read a buffer; x waits for the collective alone, and that is enough. */
TEST(one_entry_stands_for_all_members) {
  for (int named = 0; named < 2; named++) {
    struct all all;
    struct tide_pool_params pool = {
        .struct_size = sizeof pool, .limit = 4096, .chunk = 4096, .uses_are_named = named};
    struct tide_buffer *gradient, *next;
    open_all(&all, MEMBERS, &pool);
    CHECK_OK(tide_queue_alloc(all.other, all.pool, 4000, "gradient", &gradient));
    for (size_t i = 0; i < MEMBERS; i++) {
      struct tide_operation part = {
          .label = "part", .body = &nothing, TIDE_USES({.buffer = gradient, .access = TIDE_READ})};
      CHECK_OK(tide_collective_submit(all.a, i, 0, &part, NULL, NULL));
    }
    struct tide_wait waits[MEMBERS + 1];
    for (size_t i = 0; i < MEMBERS; i++)
      waits[i] = (struct tide_wait){tide_queue_progress(all.queues[i]), 1};
    waits[MEMBERS] = (struct tide_wait){tide_collective_progress(all.a), 1};
    struct tide_operation x = {.label = "x", .waits = waits, .wait_count = MEMBERS + 1};
    CHECK_OK(tide_queue_submit(all.other, &x, NULL, NULL));
    struct tide_context_stats stats;
    tide_context_stats(all.context, &stats);
    CHECK_EQ_U64(stats.waits_issued, 1);
    CHECK_EQ_U64(stats.waits_elided, MEMBERS);
    /* A later wait for a member's part is known; one for what comes behind it is not. */
    struct tide_operation behind = {.label = "behind"};
    CHECK_OK(tide_queue_submit(all.queues[0], &behind, NULL, NULL));
    struct tide_operation later = {.waits = waits, .wait_count = MEMBERS};
    waits[0].value = 2;
    CHECK_OK(tide_queue_submit(all.other, &later, NULL, NULL));
    tide_context_stats(all.context, &stats);
    CHECK_EQ_U64(stats.waits_issued, 2);
    CHECK_EQ_U64(stats.waits_elided, 2 * MEMBERS - 1);
    tide_queue_free(all.other, gradient);
    CHECK_OK(tide_queue_alloc(all.other, all.pool, 4000, "next", &next));
    CHECK_EQ_U64(tide_buffer_reuse(next), TIDE_REUSE_KNOWN);
    expect_end(&all, all.a);
    close_all(&all);
  }
}

/* ---- cancelling, and the diagnosis ---- */

TEST(a_cancelled_part_ends_its_instance) {
  struct all all;
  open_all(&all, 3, NULL);
  struct tide_timeline *never = make_timeline(&all, "never");
  struct tide_operation held = {.label = "held", TIDE_WAITS({never, 1})};
  CHECK_OK(submit_part(&all, all.a, 0, "A0"));
  CHECK_OK(submit_part(&all, all.a, 1, "A1"));
  CHECK_OK(tide_collective_submit(all.a, 2, 0, &held, NULL, NULL)); /* held for ever */
  tide_context_resume(all.context);
  CHECK_OK(tide_queue_cancel(all.queues[1], 1));
  for (size_t i = 0; i < 3; i++) CHECK_OK(tide_queue_drain(all.queues[i], TIDE_FOREVER));
  CHECK_STATUS(tide_timeline_wait(tide_collective_progress(all.a), 1, TIDE_FOREVER),
               TIDE_CANCELLED);
  close_all(&all);
}

/* The part that is submitted after its instance has failed need not wait, either. */
TEST(a_part_of_a_failed_instance_is_not_held) {
  struct all all;
  open_all(&all, 2, NULL);
  struct tide_timeline *never = make_timeline(&all, "never");
  struct tide_operation late = {.label = "A1", TIDE_WAITS({never, 1})};
  CHECK_OK(submit_part(&all, all.a, 0, "A0"));
  CHECK_OK(tide_queue_cancel(all.queues[0], 1));
  CHECK_OK(tide_collective_submit(all.a, 1, 0, &late, NULL, &all.diag));
  tide_context_resume(all.context);
  CHECK_OK(tide_queue_drain(all.queues[1], TIDE_FOREVER));
  CHECK_STATUS(tide_timeline_wait(tide_collective_progress(all.a), 1, TIDE_FOREVER),
               TIDE_CANCELLED);
  close_all(&all);
}

/* x2 gets the epoch of x1, which is cancelled. It waits for that epoch itself, or for y, which
 * does. y fails at its place, which may be behind `firm`. */
TEST(a_cancel_that_closes_a_cycle_fails_an_operation) {
  enum cyclic { X2, Y, Y_BEHIND_FIRM };
  for (enum cyclic cyclic = X2; cyclic <= Y_BEHIND_FIRM; cyclic++) {
    struct all all;
    open_all(&all, 2, NULL);
    struct tide_timeline *never = make_timeline(&all, "never"), *s = make_timeline(&all, "s"),
                         *t = make_timeline(&all, "t"), *u = make_timeline(&all, "u");
    struct tide_wait epoch = {tide_queue_progress(all.queues[0]), 1}, of_y = {s, 1};
    struct tide_operation x1 = {.label = "x1", TIDE_WAITS({never, 1})};
    struct tide_operation firm = {.label = "firm", TIDE_WAITS({u, 1})};
    struct tide_operation x2 = {.label = "x2",
                                .waits = cyclic == X2 ? &epoch : &of_y,
                                .wait_count = 1,
                                TIDE_SIGNALS(TIDE_SIGNAL(t, 1))};
    struct tide_operation y = {
        .label = "y", .waits = &epoch, .wait_count = 1, TIDE_SIGNALS(TIDE_SIGNAL(s, 1))};
    struct tide_failure failure;
    uint64_t sequence;
    CHECK_OK(tide_queue_submit(all.queues[0], &x1, &sequence, NULL));
    if (cyclic == Y_BEHIND_FIRM) CHECK_OK(tide_queue_submit(all.queues[1], &firm, NULL, NULL));
    if (cyclic != X2) CHECK_OK(tide_queue_submit(all.queues[1], &y, NULL, NULL));
    CHECK_OK(tide_queue_submit(all.queues[0], &x2, NULL, &all.diag));
    tide_context_resume(all.context);
    CHECK_OK(tide_queue_cancel(all.queues[0], sequence));
    if (cyclic == Y_BEHIND_FIRM) {
      CHECK_STATUS(tide_timeline_wait(t, 1, 0), TIDE_TIMEOUT);
      CHECK_OK(tide_timeline_signal_external(u, 1));
    }
    CHECK_STATUS(tide_timeline_wait(t, 1, TIDE_FOREVER), TIDE_DEADLOCK);
    CHECK(tide_timeline_failure(t, 1, &failure));
    CHECK_EQ_STR(failure.text, cyclic == X2
                                   ? "operation 'x2' of queue 'q0' would wait for itself: it waits "
                                     "for a value that comes only after it"
                                   : "operation 'y' of queue 'q1' would wait for itself: it waits "
                                     "for 'x2' of queue 'q0', which waits for it");
    close_all(&all);
  }
}

/* Two parts that fail stand behind each other's instance: neither can arrive, and none has to. */
TEST(parts_that_fail_need_not_arrive) {
  struct all all;
  open_all(&all, 2, NULL);
  struct tide_timeline *bad = make_timeline(&all, "bad");
  struct tide_operation fails = {.label = "fails", TIDE_WAITS({bad, 1})};
  tide_timeline_fail(bad, TIDE_IO);
  CHECK_OK(submit_part(&all, all.a, 0, "A0"));
  CHECK_OK(tide_collective_submit(all.b, 1, 0, &fails, NULL, &all.diag));
  CHECK_OK(tide_collective_submit(all.b, 0, 0, &fails, NULL, &all.diag));
  CHECK_OK(submit_part(&all, all.a, 1, "A1"));
  expect_end(&all, all.a);
  CHECK_STATUS(tide_timeline_wait(tide_collective_progress(all.b), 1, TIDE_FOREVER), TIDE_IO);
  close_all(&all);
}

TEST(the_diagnosis_names_what_lacks) {
  struct all all;
  char text[2000];
  struct tide_pool_params pool = {.struct_size = sizeof pool, .limit = 4096, .chunk = 4096};
  struct tide_buffer *buffer;
  open_all(&all, 2, &pool);
  CHECK_OK(submit_with_workspace(&all, 0, 4000));
  CHECK_OK(tide_queue_alloc(all.other, all.pool, 4000, "taken over", &buffer));
  struct tide_operation o = {
      .label = "o", .body = &nothing, TIDE_USES({.buffer = buffer, .access = TIDE_WRITE})};
  CHECK_OK(tide_queue_submit(all.other, &o, NULL, NULL));
  tide_context_resume(all.context);
  (void)tide_context_diagnose(all.context, text, sizeof text);
  CHECK(strstr(text, "'part' (1) waits for the other parts of instance 1 of 'A': queue 'q1' has "
                     "submitted none") != NULL);
  CHECK(strstr(text, "for the memory of buffer 'taken over', in use by 'part' of queue 'q0'") !=
        NULL);
  CHECK_OK(submit_part(&all, all.a, 1, "A1"));
  expect_end(&all, all.a);
  close_all(&all);
}

/* ---- whether a failure is known already decides nothing ---- */

static enum tide_status fail_at_once(void *arguments) {
  (void)arguments;
  return TIDE_IO;
}
static const struct tide_body_class failing = {.name = "failing", .host = fail_at_once};

static enum tide_status await_flag(void *arguments) {
  const uint32_t *flag = *(uint32_t **)arguments;
  while (!tide_load_acquire(flag)) sched_yield();
  return TIDE_OK;
}
static const struct tide_body_class slow = {.name = "slow", .host = await_flag};

/* x1 fails; x2 waits for it, behind slow work, and x3 for x2. Whether x3 is submitted before or
 * after x1 has failed, it is accepted, and its waiters hear the failure. */
TEST(a_submit_behind_a_failure_is_accepted) {
  for (int late = 0; late < 2; late++) {
    struct all all;
    open_all(&all, 3, NULL);
    struct tide_timeline *m = make_timeline(&all, "M"), *n = make_timeline(&all, "N");
    uint32_t open = 0, *flag = &open;
    struct tide_operation waits = {.label = "slow", .body = &slow, TIDE_ARGUMENTS(flag)};
    struct tide_operation x1 = {.label = "x1", .body = &failing, TIDE_SIGNALS(TIDE_SIGNAL(m, 1))};
    struct tide_operation x2 = {.label = "x2", TIDE_WAITS({m, 1}), TIDE_SIGNALS(TIDE_SIGNAL(m, 2))};
    struct tide_operation x3 = {
        .label = "x3", TIDE_WAITS({m, 2}), TIDE_SIGNALS(TIDE_SIGNAL(m, 3), TIDE_SIGNAL(n, 1))};
    CHECK_OK(tide_queue_submit(all.queues[1], &waits, NULL, &all.diag));
    CHECK_OK(tide_queue_submit(all.queues[0], &x1, NULL, &all.diag));
    CHECK_OK(tide_queue_submit(all.queues[1], &x2, NULL, &all.diag));
    if (!late) CHECK_OK(tide_queue_submit(all.queues[2], &x3, NULL, &all.diag));
    tide_context_resume(all.context);
    CHECK_STATUS(tide_timeline_wait(m, 1, TIDE_FOREVER), TIDE_IO);
    if (late) CHECK_OK(tide_queue_submit(all.queues[2], &x3, NULL, &all.diag));
    tide_store_release(&open, 1u);
    CHECK_STATUS(tide_timeline_wait(n, 1, TIDE_FOREVER), TIDE_IO);
    close_all(&all);
  }
}

/* o2 waits for M >= 1, which held o1 has reserved, and for a value that has failed: it fails, and
 * its failure begins above what o1 is to signal. */
TEST(a_failure_begins_above_reserved_values) {
  struct all all;
  open_all(&all, 2, NULL);
  struct tide_timeline *m = make_timeline(&all, "M"), *e = make_timeline(&all, "E"),
                       *f = make_timeline(&all, "F");
  struct tide_operation o1 = {.label = "o1", TIDE_WAITS({e, 1}), TIDE_SIGNALS(TIDE_SIGNAL(m, 1))};
  struct tide_operation o2 = {
      .label = "o2", TIDE_WAITS({m, 1}, {f, 1}), TIDE_SIGNALS(TIDE_SIGNAL(m, 2))};
  tide_context_resume(all.context);
  tide_timeline_fail(f, TIDE_IO);
  CHECK_OK(tide_queue_submit(all.queues[0], &o1, NULL, &all.diag));
  CHECK_OK(tide_queue_submit(all.queues[1], &o2, NULL, &all.diag));
  CHECK_STATUS(tide_timeline_wait(m, 2, TIDE_FOREVER), TIDE_IO);
  CHECK_OK(tide_timeline_signal_external(e, 1));
  CHECK_OK(tide_timeline_wait(m, 1, TIDE_FOREVER));
  close_all(&all);
}

TEST_MAIN(CASE(crossed_parts_are_refused_at_the_last), CASE(a_ring_of_collectives_is_refused),
          CASE(a_part_behind_its_own_instance_is_refused),
          CASE(an_operation_that_frees_a_part_in_vain_is_refused),
          CASE(a_wait_for_the_progress_of_its_own_queue_is_refused),
          CASE(a_passed_operation_that_closes_a_cycle_fails),
          CASE(an_instance_that_fails_holds_up_later_ones),
          CASE(an_instance_reuses_no_memory_of_its_own),
          CASE(without_other_memory_it_is_out_of_memory),
          CASE(a_part_that_waits_for_memory_behind_its_instance_is_refused),
          CASE(one_entry_stands_for_all_members), CASE(a_cancelled_part_ends_its_instance),
          CASE(a_part_of_a_failed_instance_is_not_held),
          CASE(a_cancel_that_closes_a_cycle_fails_an_operation),
          CASE(parts_that_fail_need_not_arrive), CASE(the_diagnosis_names_what_lacks),
          CASE(a_submit_behind_a_failure_is_accepted), CASE(a_failure_begins_above_reserved_values))
