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
 * writer.
 */
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
  CHECK_EQ_U64(rig.findings, 2);
  submit(&rig, rig.right, "ordered", TIDE_READ, 5, 0, 0, 0);
  CHECK_EQ_U64(rig.findings, 2);
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

TEST_MAIN(CASE(a_missing_wait_is_named), CASE(finishing_early_is_no_excuse),
          CASE(a_declared_wait_is_enough), CASE(a_host_that_waited_has_ordered),
          CASE(a_wait_below_the_signal_orders_nothing), CASE(no_host_having_signalled_is_no_excuse),
          CASE(where_only_operations_signal_a_lower_wait_is_enough),
          CASE(a_host_hands_on_what_it_waited_for), CASE(a_signal_of_unknown_order_teaches_nothing),
          CASE(parts_that_do_not_touch_do_not_race), CASE(a_free_that_does_not_cover_is_named),
          CASE(unordered_signals_are_named), CASE(a_use_after_free_is_refused), CASE(many_queues))
