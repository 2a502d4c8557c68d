/* The first cause of a failure reaches everything that fails by it, with its names and numbers. */
#include "fake_device.h"

#include <errno.h>

static void is_cause(struct tide_timeline *timeline, uint64_t value, enum tide_status status,
                     int code, const char *operation, const char *text) {
  struct tide_failure failure;
  CHECK(tide_timeline_failure(timeline, value, NULL));
  CHECK(tide_timeline_failure(timeline, value, &failure));
  CHECK_STATUS(failure.status, status);
  CHECK_EQ_U64((uint64_t)failure.code, (uint64_t)code);
  if (strcmp(failure.operation, operation) != 0)
    FAIL("'%s' and not '%s' failed first", failure.operation, operation);
  if (!strstr(failure.text, text)) FAIL("'%s' does not say '%s'", failure.text, text);
}

static struct tide_work *out(struct fake *f, const char *label) {
  fake_take(f, label);
  struct tide_work *work = fake_out(f, label);
  CHECK(work != NULL);
  return work;
}

/* Through three queues, a timeline that fails late, and waiters of a value in between. */
TEST(travels_down_a_pipeline) {
  struct fake f;
  struct tide_failure why = {.status = TIDE_IO, .code = ENOSPC, .text = "write of bytes 0 to 9"};
  struct tide_failure failure;
  fake_open(&f, true, 16);
  struct tide_queue *a = fake_queue(&f, "disk"), *b = fake_queue(&f, "b"), *c = fake_queue(&f, "c");
  struct tide_timeline *t = fake_timeline(&f, "t", false), *u = fake_timeline(&f, "u", false),
                       *v = fake_timeline(&f, "v", false),
                       *fresh = fake_timeline(&f, "fresh", false);
  CHECK_OK(SUBMIT(a, .label = "good"));
  CHECK_OK(SUBMIT(a, .label = "write", SIGNALS({t, 5})));
  CHECK_OK(SUBMIT(b, .label = "issued", WAITS({t, 5}), SIGNALS({u, 1})));
  CHECK_OK(SUBMIT(b, .label = "elided", WAITS({t, 5}), SIGNALS({v, 1})));
  fake_run(&f, "good");
  tide_work_fail(out(&f, "write"), &why);
  CHECK(!tide_timeline_failure(t, 5, &failure)); /* at its place: it is not handed back yet */
  fake_give(&f, "write", TIDE_IO);
  CHECK_OK(SUBMIT(c, .label = "late", WAITS({u, 1}), SIGNALS({u, 2}, {fresh, 1})));
  is_cause(t, 5, TIDE_IO, ENOSPC, "write", "bytes 0 to 9");
  is_cause(t, 3, TIDE_IO, ENOSPC, "write", "bytes 0 to 9");
  is_cause(u, 1, TIDE_IO, ENOSPC, "write", "bytes 0 to 9");
  is_cause(u, 2, TIDE_IO, ENOSPC, "write", "bytes 0 to 9");
  is_cause(v, 1, TIDE_IO, ENOSPC, "write", "bytes 0 to 9");
  is_cause(fresh, 1, TIDE_IO, ENOSPC, "write", "bytes 0 to 9"); /* by the late operation alone */
  CHECK(tide_timeline_failure(v, 1, &failure));
  CHECK_EQ_U64(failure.sequence, 2);
  CHECK(strcmp(failure.queue, "disk") == 0 &&
        strcmp(failure.device, tide_device_label(f.device)) == 0);
  fake_run_out(&f);
  tide_queue_destroy(a);
  tide_queue_destroy(b);
  tide_queue_destroy(c);
  is_cause(v, 1, TIDE_IO, ENOSPC, "write", "bytes 0 to 9"); /* it outlives its queue */
  tide_timeline_destroy(t);
  tide_timeline_destroy(u);
  tide_timeline_destroy(fresh);
  is_cause(v, 1, TIDE_IO, ENOSPC, "write", "bytes 0 to 9");
  tide_timeline_destroy(v);
  fake_close(&f);
}

/* ---- collectives ------------------------------------------------------------------------------
 */

struct pair {
  struct tide_queue *left, *right;
  struct tide_collective *both;
};

static void open_pair(struct fake *f, struct pair *p) {
  p->left = fake_queue(f, "left");
  p->right = fake_queue(f, "right");
  CHECK_OK(tide_collective_create((struct tide_queue *[]){p->left, p->right}, 2, "both", &p->both));
}

static void close_pair(struct fake *f, struct pair *p) {
  tide_collective_destroy(p->both);
  tide_queue_destroy(p->left);
  tide_queue_destroy(p->right);
  fake_run_out(f);
}

/* One part fails by a timeline: the other part and the progress have the same cause. */
TEST(crosses_a_collective) {
  struct fake f;
  struct pair p;
  struct tide_failure why = {.status = TIDE_IO, .code = ENOSPC, .text = "write of bytes 0 to 9"};
  fake_open(&f, true, 16);
  open_pair(&f, &p);
  struct tide_queue *disk = fake_queue(&f, "disk");
  struct tide_timeline *t = fake_timeline(&f, "t", false), *u = fake_timeline(&f, "u", false),
                       *v = fake_timeline(&f, "v", false);
  CHECK_OK(SUBMIT(disk, .label = "write", SIGNALS({t, 1})));
  CHECK_OK(tide_collective_submit(
      p.both, 0, 0, &OPERATION(.label = "part 0", WAITS({t, 1}), SIGNALS({u, 1})), NULL, NULL));
  CHECK_OK(tide_collective_submit(p.both, 1, 0, &OPERATION(.label = "part 1", SIGNALS({v, 1})),
                                  NULL, NULL));
  tide_work_fail(out(&f, "write"), &why);
  fake_give(&f, "write", TIDE_IO);
  fake_run_out(&f);
  is_cause(u, 1, TIDE_IO, ENOSPC, "write", "bytes 0 to 9");
  is_cause(v, 1, TIDE_IO, ENOSPC, "write", "bytes 0 to 9");
  is_cause(tide_collective_progress(p.both), 1, TIDE_IO, ENOSPC, "write", "bytes 0 to 9");
  close_pair(&f, &p);
  tide_queue_destroy(disk);
  tide_timeline_destroy(t);
  tide_timeline_destroy(u);
  tide_timeline_destroy(v);
  fake_close(&f);
}

/* More failed instances than a collective has slots: a reused slot releases its cause. Only a leak
 * checker sees that. */
TEST(reused_instances_release_it) {
  enum { INSTANCES = 1200 }; /* a collective of these queues has 512 slots */
  struct fake f;
  struct pair p;
  fake_open(&f, true, 16);
  open_pair(&f, &p);
  for (int i = 0; i < INSTANCES; i++) {
    for (size_t member = 0; member < 2; member++)
      CHECK_OK(tide_collective_submit(
          p.both, member, 0, &OPERATION(.label = member ? "part 1" : "part 0"), NULL, NULL));
    fake_take(&f, "part 0");
    fake_give(&f, "part 0", TIDE_IO);
    fake_run(&f, "part 1");
  }
  is_cause(tide_collective_progress(p.both), INSTANCES, TIDE_IO, 0, "part 0", "");
  close_pair(&f, &p);
  fake_close(&f);
}

/* ---- other ways to fail -----------------------------------------------------------------------
 */

/* What no backend has said anything about is named all the same. */
TEST(names_what_was_cancelled_lost_or_refused) {
  struct fake f;
  uint64_t cancelled;
  fake_open(&f, true, 16);
  struct tide_queue *a = fake_queue(&f, "a"), *b = fake_queue(&f, "b");
  struct tide_timeline *t = fake_timeline(&f, "t", false), *u = fake_timeline(&f, "u", false),
                       *v = fake_timeline(&f, "v", false), *w = fake_timeline(&f, "w", false);
  CHECK_OK(
      tide_queue_submit(a, &OPERATION(.label = "cancelled", SIGNALS({t, 1})), &cancelled, NULL));
  CHECK_OK(tide_queue_cancel(a, cancelled));
  is_cause(t, 1, TIDE_CANCELLED, 0, "cancelled", "cancelled");
  CHECK_OK(SUBMIT(b, .label = "silent", SIGNALS({u, 1})));
  fake_take(&f, "silent");
  fake_give(&f, "silent", TIDE_CORRUPT);
  is_cause(u, 1, TIDE_CORRUPT, 0, "silent", tide_status_text(TIDE_CORRUPT));
  CHECK_OK(SUBMIT(b, .label = "lost", SIGNALS({v, 7})));
  CHECK_OK(SUBMIT(b, .label = "held", WAITS({w, 1}), SIGNALS({w, 2})));
  struct tide_failure loss = {.status = TIDE_LOST, .code = 719, .text = "it burns"}, why;
  CHECK(!tide_device_failure(f.device, NULL));
  tide_device_lose_for(f.device, &loss);
  is_cause(v, 7, TIDE_LOST, 719, "",
           "was lost: it burns"); /* no operation failed: the device did */
  is_cause(w, 2, TIDE_LOST, 719, "", "was lost: it burns");
  CHECK(tide_device_failure(f.device, &why) && why.code == 719);
  CHECK(strcmp(why.device, tide_device_label(f.device)) == 0);
  tide_device_certify(f.device);
  tide_queue_destroy(a);
  tide_queue_destroy(b);
  tide_timeline_destroy(t);
  tide_timeline_destroy(u);
  tide_timeline_destroy(w);
  tide_timeline_destroy(v);
  fake_close(&f);
}

/* Where no operation failed, the timeline is named. A reached value has not failed. */
TEST(names_the_timeline_where_a_host_failed_it) {
  struct fake f;
  struct tide_failure failure = {.code = 77};
  fake_open(&f, true, 16);
  struct tide_queue *a = fake_queue(&f, "a");
  struct tide_timeline *t = fake_timeline(&f, "camera", false), *u = fake_timeline(&f, "u", false);
  CHECK_OK(tide_timeline_signal_external(t, 2));
  CHECK_OK(SUBMIT(a, .label = "waits", WAITS({t, 3}), SIGNALS({u, 1})));
  CHECK(!tide_timeline_failure(t, 3, &failure));
  CHECK_EQ_U64((uint64_t)failure.code, 77); /* untouched */
  tide_timeline_fail(t, TIDE_DENIED);
  CHECK(!tide_timeline_failure(t, 2, &failure));
  is_cause(t, 3, TIDE_DENIED, 0, "", "'camera'");
  is_cause(u, 1, TIDE_DENIED, 0, "", "'camera'"); /* what failed by it is not the first */
  tide_queue_destroy(a);
  tide_timeline_destroy(t);
  tide_timeline_destroy(u);
  fake_close(&f);
}

/* The first failure of an operation and of a timeline stays. */
TEST(the_first_one_stays) {
  struct fake f;
  struct tide_failure first = {.status = TIDE_IO, .code = 5, .text = "first"},
                      second = {.status = TIDE_DENIED, .code = 13, .text = "second"};
  fake_open(&f, true, 16);
  struct tide_queue *a = fake_queue(&f, "a"), *b = fake_queue(&f, "b");
  struct tide_timeline *t = fake_timeline(&f, "t", false), *u = fake_timeline(&f, "u", false);
  CHECK_OK(SUBMIT(a, .label = "one", SIGNALS({t, 5})));
  CHECK_OK(SUBMIT(a, .label = "two", SIGNALS({t, 7}, {u, 1})));
  struct tide_work *work = out(&f, "one");
  tide_work_fail(work, &first);
  tide_work_fail(work, &second);
  fake_give(&f, "one", TIDE_DENIED);
  tide_work_fail(out(&f, "two"), &second);
  fake_give(&f, "two", TIDE_DENIED);
  is_cause(t, 7, TIDE_IO, 5, "one", "first");
  is_cause(u, 1, TIDE_DENIED, 13, "two", "second");
  tide_queue_destroy(a);
  tide_queue_destroy(b);
  tide_timeline_destroy(t);
  tide_timeline_destroy(u);
  fake_close(&f);
}

/* ---- bodies -------------------------------------------------------------------------------- */

static enum tide_status reports(void *arguments) {
  int number = *(int *)arguments;
  if (number < 0) { /* it has tried something else since, and went well */
    (void)tide_body_report(TIDE_IO, EIO, "of no account");
    return TIDE_OK;
  }
  if (number == 0) return TIDE_FAILED;
  return tide_body_report(TIDE_IO, number, "part %d of %s", number, "the work");
}
static const struct tide_body_class reports_class = {.name = "reports", .host = reports};
static const struct tide_body_class brief_class = {
    .name = "reports", .host = reports, .non_blocking = true};

TEST(bodies_say_why) {
  for (int brief = 0; brief < 2; brief++) {
    struct tide_context *context;
    struct tide_device *device;
    struct tide_cpu_params params = {.struct_size = sizeof params, .workers = 2};
    struct tide_queue *queue;
    struct tide_timeline *t[3];
    static const int numbers[] = {ENOSPC, -1, 0};
    CHECK_OK(tide_context_create(NULL, &context));
    CHECK_OK(tide_cpu_open(context, &params, &device));
    CHECK_OK(tide_queue_create(device, TIDE_PARAMS(tide_queue_params, .label = "q"), &queue));
    for (int i = 0; i < 3; i++) {
      CHECK_OK(tide_timeline_create(context, NULL, &t[i]));
      struct tide_signal signal = {.timeline = t[i], .value = 1};
      struct tide_operation operation = {.label = i ? "other" : "first",
                                         .body = brief ? &brief_class : &reports_class,
                                         .arguments = &numbers[i],
                                         .arguments_size = sizeof numbers[i],
                                         .signals = &signal,
                                         .signal_count = 1};
      CHECK_OK(tide_queue_submit(queue, &operation, NULL, NULL));
    }
    CHECK_STATUS(tide_timeline_wait(t[0], 1, TIDE_FOREVER), TIDE_IO);
    CHECK_OK(tide_timeline_wait(t[1], 1, TIDE_FOREVER));
    CHECK_STATUS(tide_timeline_wait(t[2], 1, TIDE_FOREVER), TIDE_FAILED);
    is_cause(t[0], 1, TIDE_IO, ENOSPC, "first", "part 28 of the work");
    CHECK(!tide_timeline_failure(t[1], 1, NULL));
    is_cause(t[2], 1, TIDE_FAILED, 0, "other", tide_status_text(TIDE_FAILED));
    /* No body runs on this thread. */
    CHECK_STATUS(tide_body_report(TIDE_IO, 1, "not heard"), TIDE_IO);
    tide_queue_destroy(queue);
    for (int i = 0; i < 3; i++) tide_timeline_destroy(t[i]);
    tide_device_close(device);
    tide_context_destroy(context);
  }
}

/* ---- no memory ------------------------------------------------------------------------------- */

static bool empty;
static void *scarce_alloc(void *self, size_t size, size_t align) {
  const struct tide_allocator *system = tide_allocator_system();
  (void)self;
  return empty ? NULL : system->alloc(system->self, size, align);
}
static void scarce_free(void *self, void *memory, size_t size) {
  const struct tide_allocator *system = tide_allocator_system();
  (void)self;
  system->free(system->self, memory, size);
}

/* The status is never lost. */
TEST(without_memory_the_status_remains) {
  static const struct tide_allocator scarce = {scarce_alloc, scarce_free, NULL};
  struct tide_context *context;
  struct tide_context_params params = {.struct_size = sizeof params, .allocator = &scarce};
  struct tide_device *device;
  struct tide_queue *queue;
  struct tide_timeline *t;
  int number = ENOSPC;
  CHECK_OK(tide_context_create(&params, &context));
  CHECK_OK(tide_cpu_open(context, NULL, &device));
  CHECK_OK(tide_queue_create(device, NULL, &queue));
  CHECK_OK(tide_timeline_create(context, TIDE_PARAMS(tide_timeline_params, .label = "t"), &t));
  struct tide_signal signal = {.timeline = t, .value = 1};
  struct tide_operation operation = {.label = "first",
                                     .body = &reports_class,
                                     .arguments = &number,
                                     .arguments_size = sizeof number,
                                     .signals = &signal,
                                     .signal_count = 1};
  empty = true;
  CHECK_OK(tide_queue_submit(queue, &operation, NULL, NULL));
  CHECK_STATUS(tide_timeline_wait(t, 1, TIDE_FOREVER), TIDE_IO);
  is_cause(t, 1, TIDE_IO, 0, "", "'t'");
  empty = false;
  tide_queue_destroy(queue);
  tide_timeline_destroy(t);
  tide_device_close(device);
  tide_context_destroy(context);
}

TEST_MAIN(CASE(travels_down_a_pipeline), CASE(crosses_a_collective),
          CASE(reused_instances_release_it), CASE(names_what_was_cancelled_lost_or_refused),
          CASE(names_the_timeline_where_a_host_failed_it), CASE(the_first_one_stays),
          CASE(bodies_say_why), CASE(without_memory_the_status_remains))
