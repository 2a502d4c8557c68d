/* Check mode: it finds the missing wait, names both sides and the wait that mends it; it says
 * nothing of a program that is ordered; and luck in timing hides nothing. */
#include "harness.h"
#include "tidemark/tidemark.h"

#include <pthread.h>
#include <string.h>

struct rig {
  struct tide_context *context;
  struct tide_device *device;
  struct tide_queue *left, *right;
  struct tide_timeline *done;
  struct tide_pool *pool;
  struct tide_buffer *buffer;
  size_t findings;
  struct tide_diag last;
};

static void kick(void *self) { (void)self; }
static enum tide_status nothing(void *arguments) {
  (void)arguments;
  return TIDE_OK;
}
static const struct tide_body_class body = {.name = "nothing", .host = nothing};
static const struct tide_backend backend = {.name = "inline", .in_order = true, .kick = kick};

static void found(void *user, const struct tide_diag *diag) {
  struct rig *rig = user;
  rig->findings++;
  rig->last = *diag;
}

static void open_rig(struct rig *rig, bool covered) {
  memset(rig, 0, sizeof *rig);
  struct tide_context_params params = {
      .struct_size = sizeof params, .check = true, .finding = found, .finding_user = rig};
  struct tide_queue_params left = {.struct_size = sizeof left, .label = "left"},
                           right = {.struct_size = sizeof right, .label = "right"};
  struct tide_timeline_params done = {.struct_size = sizeof done, .label = "done"};
  struct tide_pool_params pool = {.struct_size = sizeof pool, .frees_cover_uses = covered};
  CHECK_OK(tide_context_create(&params, &rig->context));
  CHECK_OK(tide_device_open(rig->context, &backend, "inline", &rig->device));
  CHECK_OK(tide_queue_create(rig->device, &left, &rig->left));
  CHECK_OK(tide_queue_create(rig->device, &right, &rig->right));
  CHECK_OK(tide_timeline_create(rig->context, &done, &rig->done));
  CHECK_OK(tide_pool_create(rig->context, &pool, &rig->pool));
  CHECK_OK(tide_queue_alloc(rig->left, rig->pool, 4096, "tile", &rig->buffer));
}

static void run_ready(struct rig *rig) {
  struct tide_work *work, *done = NULL;
  while (tide_device_exchange(rig->device, &done, done != NULL, &work, 1, NULL)) done = work;
}

static void close_rig(struct rig *rig) {
  run_ready(rig);
  if (rig->buffer) tide_pool_free(rig->buffer, NULL);
  tide_queue_destroy(rig->left);
  tide_queue_destroy(rig->right);
  CHECK_OK(tide_device_settle(rig->device, TIDE_FOREVER));
  tide_device_close(rig->device);
  CHECK_OK(tide_pool_destroy(rig->pool));
  tide_timeline_destroy(rig->done);
  tide_context_destroy(rig->context);
}

static struct tide_queue *new_queue(struct rig *rig, const char *label) {
  struct tide_queue_params params = {.struct_size = sizeof params, .label = label};
  struct tide_queue *queue;
  CHECK_OK(tide_queue_create(rig->device, &params, &queue));
  return queue;
}

static void submit(struct rig *rig, struct tide_queue *queue, const char *label,
                   enum tide_access access, uint64_t wait_for, uint64_t signals, uint64_t offset,
                   uint64_t size) {
  struct tide_wait wait = {rig->done, wait_for};
  struct tide_signal signal = {rig->done, signals, false};
  struct tide_use use = {rig->buffer, access, offset, size};
  struct tide_operation operation = {.label = label,
                                     .waits = &wait,
                                     .wait_count = wait_for > 0,
                                     .signals = &signal,
                                     .signal_count = signals > 0,
                                     .buffers = &use,
                                     .buffer_count = 1,
                                     .body = &body};
  CHECK_OK(tide_queue_submit(queue, &operation, NULL, NULL));
}

TEST(a_missing_wait_is_named) {
  struct rig rig;
  open_rig(&rig, false);
  submit(&rig, rig.left, "fill", TIDE_WRITE, 0, 1, 0, 0);
  submit(&rig, rig.right, "hash", TIDE_READ, 0, 0, 0, 0);
  CHECK_EQ_U64(rig.findings, 1);
  CHECK_STATUS(rig.last.status, TIDE_RACE);
  CHECK(strstr(rig.last.text, "'hash' of queue 'right' reads buffer 'tile'"));
  CHECK(strstr(rig.last.text, "'fill' of queue 'left' writes"));
  CHECK(strstr(rig.last.text, "add a wait for 'done' >= 1"));
  close_rig(&rig);
}

TEST(finishing_early_is_no_excuse) {
  struct rig rig;
  open_rig(&rig, false);
  submit(&rig, rig.left, "fill", TIDE_WRITE, 0, 1, 0, 0);
  run_ready(&rig); /* it has finished; the program still never said that hash comes after */
  submit(&rig, rig.right, "hash", TIDE_READ, 0, 0, 0, 0);
  CHECK_EQ_U64(rig.findings, 1);
  close_rig(&rig);
}

TEST(a_declared_wait_is_enough) {
  struct rig rig;
  open_rig(&rig, false);
  submit(&rig, rig.left, "fill", TIDE_WRITE, 0, 1, 0, 0);
  submit(&rig, rig.right, "hash", TIDE_READ, 1, 0, 0, 0);
  submit(&rig, rig.left, "more", TIDE_READ, 0, 2, 0, 0);
  CHECK_EQ_U64(rig.findings, 0);
  submit(&rig, rig.left, "again", TIDE_WRITE, 0, 3, 0, 0); /* nobody said that hash is over */
  CHECK_EQ_U64(rig.findings, 1);
  CHECK(strstr(rig.last.text, "the progress of 'right' >= 1"));
  close_rig(&rig);
}

TEST(a_host_that_waited_has_ordered) {
  struct rig rig;
  open_rig(&rig, false);
  submit(&rig, rig.left, "fill", TIDE_WRITE, 0, 1, 0, 0);
  run_ready(&rig);
  CHECK_OK(tide_timeline_wait(rig.done, 1, TIDE_FOREVER));
  submit(&rig, rig.right, "hash", TIDE_READ, 0, 0, 0, 0);
  CHECK_EQ_U64(rig.findings, 0);
  close_rig(&rig);
}

/* Where hosts may signal too, a wait for less than the writer signals says nothing about the
 * writer. A wait that was advised counts as made: of the next queue nothing is known. */
TEST(a_wait_below_the_signal_orders_nothing) {
  struct rig rig;
  open_rig(&rig, false);
  submit(&rig, rig.left, "fill", TIDE_WRITE, 0, 5, 0, 0);
  submit(&rig, rig.right, "hash", TIDE_READ, 2, 0, 0, 0);
  CHECK_EQ_U64(rig.findings, 1);
  CHECK(strstr(rig.last.text, "add a wait for 'done' >= 5"));
  CHECK_OK(
      tide_timeline_signal_external(rig.done, 2)); /* hash may start, fill has not even begun */
  submit(&rig, rig.right, "again", TIDE_READ, 2, 0, 0, 0);
  CHECK_EQ_U64(rig.findings, 1);
  struct tide_queue *other = new_queue(&rig, "other");
  submit(&rig, other, "other", TIDE_READ, 2, 0, 0, 0);
  CHECK_EQ_U64(rig.findings, 2);
  submit(&rig, other, "ordered", TIDE_READ, 5, 0, 0, 0);
  CHECK_EQ_U64(rig.findings, 2);
  tide_queue_destroy(other);
  close_rig(&rig);
}

TEST(no_host_having_signalled_is_no_excuse) {
  struct rig rig;
  open_rig(&rig, false);
  submit(&rig, rig.left, "fill", TIDE_WRITE, 0, 5, 0, 0);
  run_ready(&rig);
  submit(&rig, rig.right, "hash", TIDE_READ, 2, 0, 0, 0);
  CHECK_EQ_U64(rig.findings, 1);
  close_rig(&rig);
}

TEST(where_only_operations_signal_a_lower_wait_is_enough) {
  struct rig rig;
  struct tide_timeline_params done = {
      .struct_size = sizeof done, .label = "done", .initial = 3, .operations_only = true};
  open_rig(&rig, false);
  tide_timeline_destroy(rig.done);
  CHECK_OK(tide_timeline_create(rig.context, &done, &rig.done));
  submit(&rig, rig.left, "fill", TIDE_WRITE, 0, 5, 0, 0);
  submit(&rig, rig.right, "start", TIDE_READ, 3, 0, 0, 0); /* it stood at 3 all along */
  CHECK_EQ_U64(rig.findings, 1);
  submit(&rig, rig.right, "hash", TIDE_READ, 4, 0, 0, 0);
  CHECK_EQ_U64(rig.findings, 1);
  close_rig(&rig);
}

struct teller {
  struct tide_timeline *heard, *told;
};
static void *tell(void *self) {
  struct teller *teller = self;
  CHECK_OK(tide_timeline_wait(teller->heard, 1, TIDE_FOREVER));
  CHECK_OK(tide_timeline_signal_external(teller->told, 4));
  return NULL;
}

/* What a host signals teaches what that thread has waited for, also who waits for less. */
TEST(a_host_hands_on_what_it_waited_for) {
  struct rig rig;
  struct tide_timeline_params told = {.struct_size = sizeof told, .label = "told"};
  struct teller teller;
  pthread_t thread;
  open_rig(&rig, false);
  teller.heard = rig.done;
  CHECK_OK(tide_timeline_create(rig.context, &told, &teller.told));
  submit(&rig, rig.left, "fill", TIDE_WRITE, 0, 1, 0, 0);
  run_ready(&rig);
  CHECK(pthread_create(&thread, NULL, tell, &teller) == 0 && pthread_join(thread, NULL) == 0);
  struct tide_wait wait = {teller.told, 3};
  struct tide_use use = {rig.buffer, TIDE_READ, 0, 0};
  struct tide_operation hash = {.label = "hash",
                                .waits = &wait,
                                .wait_count = 1,
                                .buffers = &use,
                                .buffer_count = 1,
                                .body = &body};
  CHECK_OK(tide_queue_submit(rig.right, &hash, NULL, NULL));
  CHECK_EQ_U64(rig.findings, 0);
  run_ready(&rig);
  tide_timeline_destroy(teller.told);
  close_rig(&rig);
}

/* A signal that is ordered by other means hides nobody behind it. */
TEST(a_signal_of_unknown_order_teaches_nothing) {
  struct rig rig;
  struct tide_timeline_params done = {
      .struct_size = sizeof done, .label = "done", .operations_only = true};
  open_rig(&rig, false);
  tide_timeline_destroy(rig.done);
  CHECK_OK(tide_timeline_create(rig.context, &done, &rig.done));
  struct tide_signal two = {rig.done, 2, true};
  struct tide_operation other = {.label = "other", .signals = &two, .signal_count = 1};
  CHECK_OK(tide_queue_submit(rig.right, &other, NULL, NULL));
  submit(&rig, rig.left, "fill", TIDE_WRITE, 2, 5, 0, 0);
  submit(&rig, rig.right, "hash", TIDE_READ, 2, 0, 0, 0);
  CHECK_EQ_U64(rig.findings, 1);
  close_rig(&rig);
}

TEST(parts_that_do_not_touch_do_not_race) {
  struct rig rig;
  open_rig(&rig, false);
  submit(&rig, rig.left, "low", TIDE_WRITE, 0, 1, 0, 2048);
  submit(&rig, rig.right, "high", TIDE_WRITE, 0, 0, 2048, 2048);
  CHECK_EQ_U64(rig.findings, 0);
  submit(&rig, rig.right, "middle", TIDE_READ, 0, 0, 2047, 2);
  CHECK_EQ_U64(rig.findings, 1);
  close_rig(&rig);
}

TEST(a_free_that_does_not_cover_is_named) {
  struct rig rig;
  open_rig(&rig, true);
  submit(&rig, rig.left, "fill", TIDE_WRITE, 0, 1, 0, 0);
  tide_queue_free(rig.right, rig.buffer);
  rig.buffer = NULL;
  CHECK_EQ_U64(rig.findings, 1);
  CHECK(strstr(rig.last.text, "freed on queue 'right' before operation 'fill' of queue 'left'"));
  close_rig(&rig);
}

TEST(unordered_signals_are_named) {
  struct rig rig;
  struct tide_diag diag;
  open_rig(&rig, false);
  struct tide_signal one = {rig.done, 1, false}, two = {rig.done, 2, false};
  struct tide_operation a = {.label = "a", .signals = &one, .signal_count = 1, .body = &body};
  struct tide_operation b = {.label = "b", .signals = &two, .signal_count = 1, .body = &body};
  CHECK_OK(tide_queue_submit(rig.left, &a, NULL, NULL));
  CHECK_STATUS(tide_queue_submit(rig.right, &b, NULL, &diag), TIDE_UNORDERED);
  CHECK(strstr(diag.text, "operation 'b' of queue 'right'") &&
        strstr(diag.text, "operation 'a' of queue 'left'"));
  CHECK(strstr(diag.text, "add a wait for 'done' >= 1"));
  CHECK_EQ_U64(rig.findings, 1);
  close_rig(&rig);
}

TEST(a_use_after_free_is_refused) {
  struct rig rig;
  struct tide_diag diag;
  open_rig(&rig, false);
  submit(&rig, rig.left, "fill", TIDE_WRITE, 0, 1, 0, 0);
  struct tide_use use = {.buffer = rig.buffer, .access = TIDE_READ};
  struct tide_operation late = {.label = "late", .buffers = &use, .buffer_count = 1, .body = &body};
  tide_queue_free(rig.left, rig.buffer); /* 'fill' has not finished: the handle is still there */
  CHECK_STATUS(tide_queue_submit(rig.left, &late, NULL, &diag), TIDE_INVALID);
  CHECK(strstr(diag.text, "'late' names buffer 'tile' after it was freed"));
  rig.buffer = NULL;
  close_rig(&rig);
}

/* What is ordered through the last of many queues is ordered, what is not is found there, too. */
TEST(many_queues) {
  enum { QUEUES = 300 };
  struct rig rig;
  struct tide_queue *queues[QUEUES];
  open_rig(&rig, false);
  submit(&rig, rig.left, "fill", TIDE_WRITE, 0, 1, 0, 0);
  for (size_t i = 0; i < QUEUES; i++) {
    struct tide_wait wait = {rig.done, i + 1};
    struct tide_signal signal = {rig.done, i + 2, false};
    struct tide_operation operation = {
        .waits = &wait, .wait_count = 1, .signals = &signal, .signal_count = 1};
    CHECK_OK(tide_queue_create(rig.device, NULL, &queues[i]));
    CHECK_OK(tide_queue_submit(queues[i], &operation, NULL, NULL));
  }
  submit(&rig, queues[QUEUES - 1], "again", TIDE_WRITE, 0, 0, 0, 0);
  submit(&rig, rig.right, "after", TIDE_READ, QUEUES + 1, 0, 0, 0);
  CHECK_EQ_U64(rig.findings, 1); /* 'after' waits for what was before 'again' */
  CHECK(strstr(rig.last.text, "'after'") && strstr(rig.last.text, "'again'"));
  for (size_t i = 0; i < QUEUES; i++) tide_queue_destroy(queues[i]);
  close_rig(&rig);
}

/* ---- orders of values ---------------------------------------------------------------- */

static void signal_behind(struct rig *rig, struct tide_queue *queue, const char *label,
                          uint64_t wait_for, uint64_t value) {
  struct tide_wait wait = {rig->done, wait_for};
  struct tide_signal signal = {rig->done, value, false};
  struct tide_operation operation = {.label = label,
                                     .waits = &wait,
                                     .wait_count = wait_for > 0,
                                     .signals = &signal,
                                     .signal_count = 1,
                                     .body = &body};
  CHECK_OK(tide_queue_submit(queue, &operation, NULL, NULL));
}

/* Whatever reaches 25 comes after 24: an operation that is ordered so, or a host that may not pass
 * a promised value. */
TEST(a_value_between_orders_behind_the_lower_one) {
  for (uint64_t value = 24; value <= 26; value++)
    for (int only = 0; only < 2; only++) {
      struct rig rig;
      struct tide_timeline_params done = {
          .struct_size = sizeof done, .label = "done", .operations_only = only};
      open_rig(&rig, false);
      tide_timeline_destroy(rig.done);
      CHECK_OK(tide_timeline_create(rig.context, &done, &rig.done));
      submit(&rig, rig.left, "fill", TIDE_WRITE, 0, 0, 0, 0);
      signal_behind(&rig, rig.left, "low", 0, 24);
      signal_behind(&rig, rig.left, "high", 0, 26);
      submit(&rig, rig.right, "hash", TIDE_READ, value, 0, 0, 0);
      CHECK_EQ_U64(rig.findings, 0);
      close_rig(&rig);
    }
}

/* The signaller of 26 was accepted only since 24 had been reached: the values order all the same.
 */
TEST(a_value_orders_behind_all_lower_ones) {
  struct rig rig;
  open_rig(&rig, false);
  submit(&rig, rig.left, "fill", TIDE_WRITE, 0, 24, 0, 0);
  run_ready(&rig);
  struct tide_queue *other = new_queue(&rig, "other");
  signal_behind(&rig, other, "high", 0, 26);
  submit(&rig, rig.right, "hash", TIDE_READ, 26, 0, 0, 0);
  CHECK_EQ_U64(rig.findings, 0);
  tide_queue_destroy(other);
  close_rig(&rig);
}

TEST(a_value_between_says_nothing_of_the_higher_one) {
  struct rig rig;
  open_rig(&rig, false);
  signal_behind(&rig, rig.left, "low", 0, 24);
  submit(&rig, rig.left, "fill", TIDE_WRITE, 0, 26, 0, 0);
  submit(&rig, rig.right, "hash", TIDE_READ, 25, 0, 0, 0);
  CHECK_EQ_U64(rig.findings, 1);
  close_rig(&rig);
}

static void *wait_for_25(void *self) {
  struct rig *rig = self;
  CHECK_OK(tide_timeline_wait(rig->done, 25, TIDE_FOREVER));
  return NULL;
}

/* A host that waited for 25 has not waited for 26, though that is what it saw. */
TEST(a_host_learns_what_it_waited_for) {
  struct rig rig;
  pthread_t thread;
  open_rig(&rig, false);
  signal_behind(&rig, rig.left, "low", 0, 24);
  submit(&rig, rig.left, "fill", TIDE_WRITE, 0, 26, 0, 0);
  run_ready(&rig);
  CHECK(pthread_create(&thread, NULL, wait_for_25, &rig) == 0 && pthread_join(thread, NULL) == 0);
  CHECK_OK(tide_timeline_wait(rig.done, 25, TIDE_FOREVER));
  submit(&rig, rig.right, "hash", TIDE_READ, 0, 0, 0, 0);
  CHECK_EQ_U64(rig.findings, 1);
  close_rig(&rig);
}

/* ---- lives ---------------------------------------------------------------------------------- */

static struct tide_timeline *new_timeline(struct rig *rig, const char *label) {
  struct tide_timeline_params params = {.struct_size = sizeof params, .label = label};
  struct tide_timeline *timeline;
  CHECK_OK(tide_timeline_create(rig->context, &params, &timeline));
  return timeline;
}

static void use_behind(struct tide_queue *queue, struct tide_timeline *gate, const char *label,
                       struct tide_buffer *buffer, enum tide_access access) {
  struct tide_wait wait = {gate, 1};
  struct tide_use use = {buffer, access, 0, 0};
  struct tide_operation operation = {.label = label,
                                     .waits = &wait,
                                     .wait_count = 1,
                                     .buffers = &use,
                                     .buffer_count = 1,
                                     .body = &body};
  CHECK_OK(tide_queue_submit(queue, &operation, NULL, NULL));
}

enum freed { NOT_FREED, BY_LEFT, BY_RIGHT, BY_HOST };

/* The reader is held while the buffer is freed: it races with the writer all the same. */
TEST(a_freed_buffer_is_judged_when_its_held_reader_enters) {
  for (enum freed freed = NOT_FREED; freed <= BY_HOST; freed++) {
    struct rig rig;
    open_rig(&rig, false);
    struct tide_timeline *gate = new_timeline(&rig, "gate");
    submit(&rig, rig.left, "fill", TIDE_WRITE, 0, 1, 0, 0);
    use_behind(rig.right, gate, "hash", rig.buffer, TIDE_READ);
    if (freed == BY_LEFT) tide_queue_free(rig.left, rig.buffer);
    if (freed == BY_RIGHT) tide_queue_free(rig.right, rig.buffer);
    if (freed == BY_HOST) tide_pool_free(rig.buffer, NULL);
    if (freed) rig.buffer = NULL;
    CHECK_EQ_U64(rig.findings, 0);
    CHECK_OK(tide_timeline_signal_external(gate, 1));
    CHECK_EQ_U64(rig.findings, 1);
    CHECK(strstr(rig.last.text, "'hash' of queue 'right' reads buffer 'tile'"));
    run_ready(&rig);
    tide_timeline_destroy(gate);
    close_rig(&rig);
  }
}

/* A new buffer with the same handle and the same memory has no past in check mode. */
TEST(a_next_life_begins_anew) {
  struct rig rig;
  open_rig(&rig, false);
  submit(&rig, rig.left, "fill", TIDE_WRITE, 0, 1, 0, 0);
  tide_queue_free(rig.left, rig.buffer);
  run_ready(&rig);
  CHECK_OK(tide_queue_alloc(rig.right, rig.pool, 4096, "next", &rig.buffer));
  submit(&rig, rig.right, "again", TIDE_WRITE, 0, 0, 0, 0);
  CHECK_EQ_U64(rig.findings, 0);
  close_rig(&rig);
}

/* In a pool whose frees cover the uses, an operation that was held at the free is not covered. */
TEST(a_free_does_not_cover_a_held_use) {
  struct rig rig;
  open_rig(&rig, true);
  struct tide_timeline *gate = new_timeline(&rig, "gate");
  use_behind(rig.right, gate, "fill", rig.buffer, TIDE_WRITE);
  tide_queue_free(rig.left, rig.buffer);
  rig.buffer = NULL;
  CHECK_EQ_U64(rig.findings, 0);
  CHECK_OK(tide_timeline_signal_external(gate, 1));
  CHECK_EQ_U64(rig.findings, 1);
  CHECK(strstr(rig.last.text, "freed on queue 'left' before operation 'fill' of queue 'right'"));
  run_ready(&rig);
  tide_timeline_destroy(gate);
  close_rig(&rig);
}

/* All queues are named that the free does not know, but for those that another one implies. */
TEST(a_free_names_each_missing_wait) {
  struct rig rig;
  open_rig(&rig, true);
  struct tide_queue *other = new_queue(&rig, "other");
  submit(&rig, rig.left, "fill", TIDE_WRITE, 0, 1, 0, 0);
  submit(&rig, rig.right, "hash", TIDE_READ, 1, 0, 0, 0);
  submit(&rig, other, "sum", TIDE_READ, 1, 0, 0, 0);
  tide_pool_free(rig.buffer, NULL);
  rig.buffer = NULL;
  signal_behind(&rig, other, "next", 0, 2); /* frees by hosts are judged with the next operation */
  CHECK_EQ_U64(rig.findings, 2);
  run_ready(&rig);
  tide_queue_destroy(other);
  close_rig(&rig);
}

enum known { NOTHING, THE_VALUE, THE_DRAIN, IDLE, THE_SETTLE };

/* A free by a host comes after what the thread has waited for, in whatever way. */
TEST(a_free_by_a_host_is_judged) {
  for (enum known known = NOTHING; known <= THE_SETTLE; known++) {
    struct rig rig;
    open_rig(&rig, true);
    submit(&rig, rig.left, "fill", TIDE_WRITE, 0, 1, 0, 0);
    run_ready(&rig); /* it has finished: that alone is luck */
    if (known == THE_VALUE) CHECK_OK(tide_timeline_wait(rig.done, 1, TIDE_FOREVER));
    if (known == THE_DRAIN) CHECK_OK(tide_queue_drain(rig.left, TIDE_FOREVER));
    if (known == IDLE) CHECK(tide_buffer_idle(rig.buffer));
    if (known == THE_SETTLE) {
      tide_queue_destroy(rig.left);
      tide_queue_destroy(rig.right);
      CHECK_OK(tide_device_settle(rig.device, TIDE_FOREVER));
      rig.left = new_queue(&rig, "left");
      rig.right = new_queue(&rig, "right");
    }
    tide_pool_free(rig.buffer, NULL);
    rig.buffer = NULL;
    signal_behind(&rig, rig.right, "next", 0, 2);
    CHECK_EQ_U64(rig.findings, known == NOTHING);
    if (known == NOTHING)
      CHECK(strstr(rig.last.text, "freed by a host before operation 'fill' of queue 'left'"));
    close_rig(&rig);
  }
}

/* `hash` of the other device comes behind `fill`. A thread that has seen its end knows that of
 * `fill`, too, and may free its buffer. */
TEST(an_end_tells_of_the_past) {
  for (enum known known = IDLE; known <= THE_SETTLE; known++) {
    struct rig rig;
    struct tide_queue_params params = {.struct_size = sizeof params, .label = "other"};
    struct tide_device *device;
    struct tide_queue *other;
    struct tide_buffer *sum;
    struct tide_work *work, *done = NULL;
    open_rig(&rig, true);
    CHECK_OK(tide_device_open(rig.context, &backend, "second", &device));
    CHECK_OK(tide_queue_create(device, &params, &other));
    CHECK_OK(tide_queue_alloc(other, rig.pool, 4096, "sum", &sum));
    submit(&rig, rig.left, "fill", TIDE_WRITE, 0, 1, 0, 0);
    struct tide_operation hash = {.label = "hash",
                                  .body = &body,
                                  TIDE_WAITS({rig.done, 1}),
                                  TIDE_USES({.buffer = sum, .access = TIDE_WRITE})};
    CHECK_OK(tide_queue_submit(other, &hash, NULL, NULL));
    run_ready(&rig);
    while (tide_device_exchange(device, &done, done != NULL, &work, 1, NULL)) done = work;
    if (known == IDLE) CHECK(tide_buffer_idle(sum));
    tide_queue_destroy(other);
    if (known == THE_SETTLE) CHECK_OK(tide_device_settle(device, TIDE_FOREVER));
    tide_pool_free(rig.buffer, NULL);
    rig.buffer = NULL;
    signal_behind(&rig, rig.right, "next", 0, 2);
    CHECK_EQ_U64(rig.findings, 0);
    tide_pool_free(sum, NULL);
    CHECK_OK(tide_device_settle(device, TIDE_FOREVER));
    tide_device_close(device);
    close_rig(&rig);
  }
}

/* What is left when the context goes is judged, too. */
TEST(the_last_free_is_judged) {
  struct rig rig;
  open_rig(&rig, true);
  submit(&rig, rig.left, "fill", TIDE_WRITE, 0, 1, 0, 0);
  run_ready(&rig);
  tide_pool_free(rig.buffer, NULL);
  tide_context_destroy(rig.context);
  CHECK_EQ_U64(rig.findings, 1);
}

/* ---- bytes that nothing wrote ---------------------------------------------------------------- */

TEST(a_read_of_unwritten_bytes_is_named) {
  struct rig rig;
  open_rig(&rig, false);
  submit(&rig, rig.right, "hash", TIDE_READ, 0, 1, 0, 0);
  CHECK_EQ_U64(rig.findings, 1);
  CHECK(strstr(rig.last.text, "'hash' of queue 'right' reads buffer 'tile', of which nothing has "
                              "written the 4096 bytes from 0 on"));
  submit(&rig, rig.right, "again", TIDE_READ, 0, 2, 0, 0); /* it was said */
  CHECK_EQ_U64(rig.findings, 1);
  close_rig(&rig);
}

TEST(a_change_reads_what_it_changes) {
  struct rig rig;
  open_rig(&rig, false);
  submit(&rig, rig.left, "sort", TIDE_READ_WRITE, 0, 1, 0, 0);
  CHECK_EQ_U64(rig.findings, 1);
  close_rig(&rig);
}

/* Ranges: a declared one is read as a whole, a use without one reads some of the buffer. */
TEST(unwritten_bytes_are_found_by_range) {
  struct rig rig;
  open_rig(&rig, false);
  submit(&rig, rig.left, "high", TIDE_WRITE, 0, 1, 2048, 1024);
  submit(&rig, rig.left, "low", TIDE_WRITE, 0, 2, 0, 1024);
  submit(&rig, rig.left, "middle", TIDE_WRITE, 0, 3, 1024, 1024);
  submit(&rig, rig.left, "hash", TIDE_READ, 0, 4, 512, 2560);
  submit(&rig, rig.left, "any", TIDE_READ, 0, 5, 0, 0);
  CHECK_EQ_U64(rig.findings, 0);
  submit(&rig, rig.left, "beyond", TIDE_READ, 0, 6, 3000, 200);
  CHECK_EQ_U64(rig.findings, 1);
  CHECK(strstr(rig.last.text, "the 128 bytes from 3072 on"));
  close_rig(&rig);
}

TEST(each_life_is_written_anew) {
  struct rig rig;
  open_rig(&rig, false);
  submit(&rig, rig.left, "fill", TIDE_WRITE, 0, 1, 0, 0);
  tide_queue_free(rig.left, rig.buffer);
  CHECK_OK(tide_queue_alloc(rig.left, rig.pool, 4096, "next", &rig.buffer));
  submit(&rig, rig.left, "hash", TIDE_READ, 0, 2, 0, 0);
  CHECK_EQ_U64(rig.findings, 1);
  CHECK(strstr(rig.last.text, "buffer 'next'"));
  close_rig(&rig);
}

/* What the host may have written is no finding: its own allocations, imported memory, and memory of
 * a queue that it was told is ready. */
TEST(the_host_may_have_written) {
  static char memory[4096];
  for (int way = 0; way < 3; way++) {
    struct rig rig;
    open_rig(&rig, false);
    if (way == 0) {
      CHECK(tide_buffer_ready(rig.buffer));
    } else {
      tide_queue_free(rig.left, rig.buffer);
      if (way == 1) CHECK_OK(tide_pool_alloc(rig.pool, 4096, NULL, "own", &rig.buffer));
      if (way == 2)
        CHECK_OK(tide_pool_import(rig.pool, memory, sizeof memory, "imported", &rig.buffer));
    }
    submit(&rig, rig.left, "hash", TIDE_READ, 0, 1, 0, 0);
    CHECK_EQ_U64(rig.findings, 0);
    close_rig(&rig);
  }
}

/* The writer is only held: the wait for it is what is missing. */
TEST(a_held_writer_is_a_conflict) {
  struct rig rig;
  open_rig(&rig, false);
  struct tide_timeline *gate = new_timeline(&rig, "gate");
  use_behind(rig.left, gate, "fill", rig.buffer, TIDE_WRITE);
  submit(&rig, rig.right, "hash", TIDE_READ, 0, 1, 0, 0);
  CHECK_EQ_U64(rig.findings, 0);
  CHECK_OK(tide_timeline_signal_external(gate, 1));
  CHECK_EQ_U64(rig.findings, 1);
  CHECK(strstr(rig.last.text, "nothing orders them"));
  run_ready(&rig);
  tide_timeline_destroy(gate);
  close_rig(&rig);
}

/* ---- advice ------------------------------------------------------------------------------------
 */

/* An operation may read one part of a buffer, and write another. */
TEST(an_operation_does_not_race_with_itself) {
  struct rig rig;
  open_rig(&rig, false);
  submit(&rig, rig.left, "fill", TIDE_WRITE, 0, 1, 0, 0);
  struct tide_use uses[] = {{rig.buffer, TIDE_READ, 0, 3000}, {rig.buffer, TIDE_WRITE, 2000, 500}};
  struct tide_operation move = {.label = "move", .buffers = uses, .buffer_count = 2, .body = &body};
  CHECK_OK(tide_queue_submit(rig.left, &move, NULL, NULL));
  CHECK_EQ_U64(rig.findings, 0);
  close_rig(&rig);
}

/* The wait for the last operation covers the earlier ones, and the writer that the reader has
 * waited for. So obeying once is enough. */
TEST(the_advice_suffices) {
  struct rig rig;
  open_rig(&rig, false);
  submit(&rig, rig.left, "fill", TIDE_WRITE, 0, 1, 0, 0);
  submit(&rig, rig.right, "hash", TIDE_READ, 1, 2, 0, 64);
  submit(&rig, rig.right, "hash", TIDE_READ, 0, 3, 64, 64);
  struct tide_queue *other = new_queue(&rig, "other");
  submit(&rig, other, "again", TIDE_WRITE, 0, 0, 0, 0);
  CHECK_EQ_U64(rig.findings, 1);
  CHECK(strstr(rig.last.text, "which operation 'hash' of queue 'right' reads"));
  CHECK(strstr(rig.last.text, "add a wait for 'done' >= 3"));
  submit(&rig, other, "more", TIDE_READ, 0, 0, 0, 0);
  CHECK_EQ_U64(rig.findings, 1);
  tide_queue_destroy(other);
  close_rig(&rig);
}

TEST(each_missing_wait_is_named) {
  struct rig rig;
  open_rig(&rig, false);
  struct tide_queue *other = new_queue(&rig, "other");
  submit(&rig, rig.left, "fill", TIDE_WRITE, 0, 1, 0, 0);
  submit(&rig, rig.left, "hash", TIDE_READ, 0, 2, 0, 0);
  submit(&rig, rig.right, "sum", TIDE_READ, 1, 0, 0, 0);
  submit(&rig, other, "again", TIDE_WRITE, 0, 0, 0, 0);
  CHECK_EQ_U64(rig.findings, 2);
  tide_queue_destroy(other);
  close_rig(&rig);
}

/* Parts read what other parts of their instance write, at times that the bodies see to. */
TEST(parts_write_for_one_another) {
  struct rig rig;
  struct tide_collective *pair;
  open_rig(&rig, false);
  struct tide_queue *members[] = {rig.left, rig.right};
  CHECK_OK(tide_collective_create(members, 2, "pair", &pair));
  for (int changes = 0; changes < 2; changes++) {
    struct tide_use uses[2] = {{rig.buffer, changes ? TIDE_READ_WRITE : TIDE_WRITE, 0, 64},
                               {rig.buffer, TIDE_READ, 64, 64}};
    for (size_t i = 0; i < 2; i++) {
      struct tide_operation part = {
          .label = "part", .buffers = uses, .buffer_count = 2, .body = &body};
      CHECK_OK(tide_collective_submit(pair, i, 1, &part, NULL, NULL));
      uses[0].offset = 64;
      uses[1].offset = 0;
    }
    CHECK_EQ_U64(rig.findings, changes ? 2 : 0);
    tide_queue_free(rig.left, rig.buffer);
    CHECK_OK(tide_queue_alloc(rig.left, rig.pool, 4096, "tile", &rig.buffer));
  }
  run_ready(&rig);
  tide_collective_destroy(pair);
  close_rig(&rig);
}

TEST_MAIN(CASE(a_missing_wait_is_named), CASE(finishing_early_is_no_excuse),
          CASE(a_declared_wait_is_enough), CASE(a_host_that_waited_has_ordered),
          CASE(a_wait_below_the_signal_orders_nothing), CASE(no_host_having_signalled_is_no_excuse),
          CASE(where_only_operations_signal_a_lower_wait_is_enough),
          CASE(a_host_hands_on_what_it_waited_for), CASE(a_signal_of_unknown_order_teaches_nothing),
          CASE(parts_that_do_not_touch_do_not_race), CASE(a_free_that_does_not_cover_is_named),
          CASE(unordered_signals_are_named), CASE(a_use_after_free_is_refused), CASE(many_queues),
          CASE(a_value_between_orders_behind_the_lower_one),
          CASE(a_value_orders_behind_all_lower_ones),
          CASE(a_value_between_says_nothing_of_the_higher_one),
          CASE(a_host_learns_what_it_waited_for),
          CASE(a_freed_buffer_is_judged_when_its_held_reader_enters), CASE(a_next_life_begins_anew),
          CASE(a_free_does_not_cover_a_held_use), CASE(a_free_names_each_missing_wait),
          CASE(a_free_by_a_host_is_judged), CASE(an_end_tells_of_the_past),
          CASE(the_last_free_is_judged), CASE(a_read_of_unwritten_bytes_is_named),
          CASE(a_change_reads_what_it_changes), CASE(unwritten_bytes_are_found_by_range),
          CASE(each_life_is_written_anew), CASE(the_host_may_have_written),
          CASE(a_held_writer_is_a_conflict), CASE(an_operation_does_not_race_with_itself),
          CASE(the_advice_suffices), CASE(each_missing_wait_is_named),
          CASE(parts_write_for_one_another))
